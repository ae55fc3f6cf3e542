"""What a body is: superovoids and their special cases. Frozen, without pose, without solver."""

from superovoid_ros.shapes._superovoid import (
    BoundingSphere,
    Box,
    ConvexityReport,
    Ellipsoid,
    Sphere,
    Superellipsoid,
    Superovoid,
)

__all__ = [
    "BoundingSphere",
    "Box",
    "ConvexityReport",
    "Ellipsoid",
    "Sphere",
    "Superellipsoid",
    "Superovoid",
]
