"""Programs that start nodes and ask them: the demo, load tests, call times, planning through the service."""
