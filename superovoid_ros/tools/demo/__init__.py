"""The demo: a motion through the services of two nodes."""
