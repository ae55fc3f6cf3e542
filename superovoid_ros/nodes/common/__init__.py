"""What all nodes share: conversions, parameters, quality of service, the life of a process."""
