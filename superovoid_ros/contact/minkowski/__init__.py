"""The Minkowski difference of two bodies, and where a line leaves it."""
