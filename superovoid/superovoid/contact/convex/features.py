# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Cores of vertices and rims, and support points of M = A - B that name the features they lie on.

==================  =======================================
core                features by their numbers
==================  =======================================
point, segment      one vertex, two vertices
box, convex mesh    vertices
cylinder            rims at +z (0) and -z (1)
cone                apex (0), rim (1)
==================  =======================================
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, combine, dot, rotate, rotate_back, scale, sub
from superovoid.shapes.kernels.kinds import (
    BOX,
    CAPSULE,
    CONE,
    CONVEX_MESH,
    CYLINDER,
    POINT,
    box_vertex,
    highest_vertex,
    rim_point,
    vertex,
)
from superovoid.shapes.kernels.surface import A1, A3

_ON_AXIS = 1e-140  # length across an axis whose square is lost


@kernel
def is_polytope(kind):
    """Whether a core is the hull of vertices."""
    return kind == CONVEX_MESH or kind == BOX or kind == CAPSULE or kind == POINT


@kernel
def is_rimmed(kind):
    """Whether a core has rims and vertices as features, at least one rim among them."""
    return kind == CYLINDER or kind == CONE


@kernel
def has_rims(pair):
    """Whether a core of a pair has rims."""
    return is_rimmed(pair.a.kind) or is_rimmed(pair.b.kind)


@kernel
def are_sharp(kind_a, kind_b):
    """Whether the features of two cores are vertices and rims alone."""
    return (is_polytope(kind_a) or is_rimmed(kind_a)) and (is_polytope(kind_b) or is_rimmed(kind_b))


@kernel(forceinline=True)
def has_rim(core, feature):
    """Whether a feature of a core is a rim."""
    return core.kind == CYLINDER or (core.kind == CONE and feature == 1)


@kernel(forceinline=True)
def vertex_of(core, i):
    """Vertex of a core by its number, none on a rim."""
    if core.kind == CONVEX_MESH:
        return vertex(core.row, core.pool, i)
    if core.kind == BOX:
        return box_vertex(core.row, i)
    if core.kind == CAPSULE:
        return (0.0, 0.0, -core.row[A3] if i == 1 else core.row[A3])
    return (0.0, 0.0, core.row[A3] if core.kind == CONE else 0.0)


@kernel
def means_of(pair, names, weights):
    """Means of vertices of A and of B (in the frame of A)."""
    x = y = (0.0, 0.0, 0.0)
    for i in range(3):
        if weights[i] > 0.0:
            x = combine(1.0, x, weights[i], vertex_of(pair.a, names[i] >> 32))
            y = combine(1.0, y, weights[i], vertex_of(pair.b, names[i] & 0xFFFFFFFF))
    return x, add(pair.centre, rotate(pair.rotation, y))


@kernel(forceinline=True)
def length_across(n):
    """Length of the part of a unit vector across z."""
    across = math.sqrt(n[0] * n[0] + n[1] * n[1])
    return across if across > _ON_AXIS else 0.0


class Corner(NamedTuple):
    """Point of M far along a direction, with the features and the points it comes from."""

    m: tuple
    x: tuple
    y: tuple  # in the frame of A
    a: int
    b: int
    h: float  # h_M, where it is sure
    sure: bool


@kernel(forceinline=True)
def _point_along(core, n, start, for_sure):
    """Point of a core far along n, its feature, and whether none is farther."""
    row, kind, pool = core
    if kind == CYLINDER or kind == CONE:
        across = length_across(n)
        if kind == CYLINDER:
            feature = np.int64(1 if n[2] < 0.0 else 0)
        else:
            feature = np.int64(1 if row[A1] * across > 2.0 * row[A3] * n[2] else 0)
        return rim_point(row, kind, feature, n, across), feature, True
    i, sure = np.int64(0), True
    if kind == CONVEX_MESH:
        i = highest_vertex(row, pool, n)
    elif kind == BOX:
        i = np.int64((1 if n[0] < 0.0 else 0) + (2 if n[1] < 0.0 else 0) + (4 if n[2] < 0.0 else 0))
    elif kind == CAPSULE:
        i = np.int64(1 if n[2] < 0.0 else 0)
    return vertex_of(core, i), i, sure


@kernel(forceinline=True)
def _corner(pair, n, a, b, for_sure):
    inward = rotate_back(pair.rotation, scale(-1.0, n))
    x, a, sure_a = _point_along(pair.a, n, a, for_sure)
    y, b, sure_b = _point_along(pair.b, inward, b, for_sure)
    h = dot(n, x) + dot(inward, y) - dot(n, pair.centre)
    y = add(pair.centre, rotate(pair.rotation, y))
    return Corner(sub(x, y), x, y, a, b, h, sure_a and sure_b)


@kernel(forceinline=True)
def corner_along(pair, n, a, b):
    """Point of M far along n; hulls are climbed from vertices a and b, and need not end at the highest."""
    return _corner(pair, n, a, b, False)


@kernel(separate=True)
def corner_for_sure(pair, n, a, b):
    """Support point of M along n."""
    out_of_line()
    return _corner(pair, n, a, b, True)
