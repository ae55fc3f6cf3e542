"""What a body is: superovoids and what stands around them. Frozen, without pose, without solver."""

from superovoid_ros.shapes._primitives import (
    Box,
    Capsule,
    Cone,
    ConvexMesh,
    Cylinder,
    Mesh,
    Plane,
    Torus,
)
from superovoid_ros.shapes._shape import BoundingBox, BoundingSphere, Shape
from superovoid_ros.shapes._superovoid import (
    ConvexityReport,
    Ellipsoid,
    Sphere,
    Superellipsoid,
    Superovoid,
)

__all__ = [
    "BoundingBox",
    "BoundingSphere",
    "Box",
    "Capsule",
    "Cone",
    "ConvexMesh",
    "ConvexityReport",
    "Cylinder",
    "Ellipsoid",
    "Mesh",
    "Plane",
    "Shape",
    "Sphere",
    "Superellipsoid",
    "Superovoid",
    "Torus",
]
