"""What tools need that takes part in ROS itself: clients of the nodes, senders, and a stand-in for a service."""
