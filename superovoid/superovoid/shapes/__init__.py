# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Shapes of bodies: superovoids, primitives and meshes. Immutable, without pose and without solver."""

from superovoid.shapes.compounds import Compound
from superovoid.shapes.meshes import ConvexMesh, Mesh, Shell
from superovoid.shapes.primitives import Box, Capsule, Cone, Cylinder, HalfSpace, Torus
from superovoid.shapes.shape import Shape
from superovoid.shapes.shape_array import ShapeArray
from superovoid.shapes.superovoid import Ellipsoid, Sphere, Superellipsoid, Superovoid

__all__ = [
    "Box",
    "Capsule",
    "Compound",
    "Cone",
    "ConvexMesh",
    "Cylinder",
    "Ellipsoid",
    "HalfSpace",
    "Mesh",
    "Shape",
    "ShapeArray",
    "Shell",
    "Sphere",
    "Superellipsoid",
    "Superovoid",
    "Torus",
]
