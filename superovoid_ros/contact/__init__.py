"""The engine: signed distance of a pair of shapes at two poses. Knows nothing of robots or ROS."""

from superovoid_ros.contact._api import DistanceResult, DistanceResults, Status, distance, distances

__all__ = ["DistanceResult", "DistanceResults", "Status", "distance", "distances"]
