"""The engine: signed distance of a pair of shapes at two poses. Knows nothing of robots or ROS."""

from superovoid_ros.contact._api import DistanceResult, DistanceResults, Status, distance, distances
from superovoid_ros.contact._derivatives import Derivatives, DerivativeStatus, derivatives, pose_gradients
from superovoid_ros.contact._queries import (
    Impact,
    ImpactStatus,
    Motion,
    Proof,
    Verdict,
    are_closer,
    intersects,
    is_closer,
    time_of_impact,
)

__all__ = [
    "DerivativeStatus",
    "Derivatives",
    "DistanceResult",
    "DistanceResults",
    "Impact",
    "ImpactStatus",
    "Motion",
    "Proof",
    "Status",
    "Verdict",
    "are_closer",
    "derivatives",
    "distance",
    "distances",
    "intersects",
    "is_closer",
    "pose_gradients",
    "time_of_impact",
]
