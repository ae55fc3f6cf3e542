"""What a body is: superovoids and what stands around them. Frozen, without pose, without solver."""

from superovoid_ros.shapes._primitives import (
    Box,
    Capsule,
    Cone,
    ConvexMesh,
    Cylinder,
    Mesh,
    Plane,
    Shape,
    Torus,
)
from superovoid_ros.shapes._superovoid import (
    BoundingBox,
    BoundingSphere,
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
