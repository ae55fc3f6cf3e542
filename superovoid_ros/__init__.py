"""Exact distances between superovoids: a plain library, and a ROS 2 distance service on top of it."""

from superovoid_ros.contact import DistanceResult, DistanceResults, Status, distance, distances
from superovoid_ros.scene import Body, Scene, SceneResult
from superovoid_ros.shapes import Ellipsoid, Sphere, Superellipsoid, Superovoid

__version__ = "0.1.0"

__all__ = [
    "Body",
    "DistanceResult",
    "DistanceResults",
    "Ellipsoid",
    "Scene",
    "SceneResult",
    "Sphere",
    "Status",
    "Superellipsoid",
    "Superovoid",
    "distance",
    "distances",
]
