# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Shapes made larger or smaller by one factor, as MoveIt scales the bodies of a link."""

from __future__ import annotations

import math

from superovoid.shapes.meshes import ConvexMesh, Mesh
from superovoid.shapes.primitives import Box, Capsule, Cone, Cylinder, HalfSpace, Torus
from superovoid.shapes.shape import Shape
from superovoid.shapes.superovoid import Ellipsoid, Sphere, Superellipsoid, Superovoid


def scaled(shape: Shape, factor: float) -> Shape:
    """Return a shape with all lengths multiplied.

    A mesh grows about the mean of its vertices, everything else about its origin. A plane has no length and stays.

    Parameters
    ----------
    shape : Shape
    factor : float
        Positive and finite.

    Raises
    ------
    ValueError
        If the factor is not positive and finite, or a length leaves what a shape may have.
    """
    if not (factor > 0.0 and math.isfinite(factor)):
        raise ValueError(f"scale = {factor}: must be positive and finite")
    if isinstance(shape, Sphere):
        return Sphere(factor * shape.radius)
    if isinstance(shape, Superovoid):
        semi_axes = [factor * a for a in shape.semi_axes]
        if isinstance(shape, Ellipsoid):
            return Ellipsoid(semi_axes)
        if isinstance(shape, Superellipsoid):
            return Superellipsoid(
                semi_axes, section_exponent=shape.section_exponent, profile_exponent=shape.profile_exponent
            )
        return Superovoid(
            semi_axes,
            section_exponent=shape.section_exponent,
            profile_exponent=shape.profile_exponent,
            taper=shape.taper,
        )
    if isinstance(shape, Box):
        return Box([factor * a for a in shape.lengths])
    if isinstance(shape, Capsule | Cylinder | Cone):
        return type(shape)(factor * shape.radius, factor * shape.length)
    if isinstance(shape, Torus):
        return Torus(factor * shape.major_radius, factor * shape.minor_radius)
    if isinstance(shape, ConvexMesh | Mesh):
        centre = shape.vertices.mean(axis=0)
        vertices = centre + factor * (shape.vertices - centre)
        return ConvexMesh(vertices) if isinstance(shape, ConvexMesh) else type(shape)(vertices, shape.faces)
    if isinstance(shape, HalfSpace):
        return shape
    raise TypeError(f"{type(shape).__name__} cannot be scaled")
