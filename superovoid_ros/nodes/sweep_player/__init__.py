"""The node `sweep_player`."""
