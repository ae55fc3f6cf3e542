"""The distance service under load and faults."""
