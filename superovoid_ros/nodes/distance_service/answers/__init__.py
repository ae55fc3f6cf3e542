"""What the node answers and publishes: services, topics, markers."""
