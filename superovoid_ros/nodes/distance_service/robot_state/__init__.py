"""Where the robot is: joint states and transforms."""
