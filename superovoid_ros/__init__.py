"""Exact distances between superovoids: a plain library, and a ROS 2 distance service on top of it."""

from superovoid_ros.contact import (
    Derivatives,
    DerivativeStatus,
    DistanceResult,
    DistanceResults,
    Impact,
    ImpactStatus,
    Motion,
    Proof,
    Status,
    Verdict,
    are_closer,
    derivatives,
    distance,
    distances,
    intersects,
    is_closer,
    pose_gradients,
    time_of_impact,
)
from superovoid_ros.scene import Body, Scene, SceneResult
from superovoid_ros.shapes import Ellipsoid, Sphere, Superellipsoid, Superovoid

__version__ = "0.1.0"

__all__ = [
    "Body",
    "DerivativeStatus",
    "Derivatives",
    "DistanceResult",
    "DistanceResults",
    "Ellipsoid",
    "Impact",
    "ImpactStatus",
    "Motion",
    "Proof",
    "Scene",
    "SceneResult",
    "Sphere",
    "Status",
    "Superellipsoid",
    "Superovoid",
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
