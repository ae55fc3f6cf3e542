"""The engine: signed distance of a pair of shapes at two poses. Knows nothing of robots or ROS."""

from superovoid_ros.contact._api import DistanceResult, DistanceResults, Status, distance, distances
from superovoid_ros.contact._derivatives import Derivatives, DerivativeStatus, derivatives, pose_gradients

__all__ = [
    "DerivativeStatus",
    "Derivatives",
    "DistanceResult",
    "DistanceResults",
    "Status",
    "derivatives",
    "distance",
    "distances",
    "pose_gradients",
]
