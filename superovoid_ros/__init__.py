"""Exact distances between superovoids: a plain library, and a ROS 2 distance service on top of it."""

from superovoid_ros.contact import (
    Derivatives,
    DerivativeStatus,
    DistanceResult,
    DistanceResults,
    Status,
    derivatives,
    distance,
    distances,
    pose_gradients,
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
    "Scene",
    "SceneResult",
    "Sphere",
    "Status",
    "Superellipsoid",
    "Superovoid",
    "derivatives",
    "distance",
    "distances",
    "pose_gradients",
]
