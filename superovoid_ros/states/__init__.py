"""Signed distances in many states of a robot at once, for planners and optimisers."""

from superovoid_ros.states.state_query import StateQuery, state_distances
from superovoid_ros.states.state_results import StateDistances

__all__ = ["StateDistances", "StateQuery", "state_distances"]
