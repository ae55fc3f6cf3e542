"""The node `distance_service`."""
