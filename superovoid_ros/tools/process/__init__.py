"""Nodes as processes: start them, wait for them, on a network of their own."""
