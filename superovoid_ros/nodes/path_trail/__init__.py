"""The node `path_trail`."""
