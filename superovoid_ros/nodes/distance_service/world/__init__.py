"""What there is: the robot, objects, rules."""
