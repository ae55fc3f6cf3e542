# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Distance of a non-convex superovoid from a core that may reach into it: nearest points, piece by piece.

`nearest_pieces` finds the distance. If it finds a point of both bodies, a ball about it in one of them bounds the depth
from below: no translation shorter than its radius separates the bodies.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import add, rotate
from superovoid.contact.inputs import MOST_STEPS
from superovoid.contact.minkowski.contact_points import holds_means
from superovoid.contact.separation import is_inside, slack_of_level
from superovoid.contact.superovoids.nearest_pieces import (
    MOST_VIEWS,
    NearestPoints,
    in_frame_of_b,
    is_in_ovoids,
    nearest_of_pieces,
)
from superovoid.contact.superovoids.pieces import NO_POINT
from superovoid.shapes.kernels import kinds
from superovoid.shapes.kernels.surface import SIZE, TX, TY, P


class Proximity(NamedTuple):
    """Bounds and points of a superovoid and a convex core; all points in the frame of A."""

    lower: float  # proved lower bound of the signed distance; -inf: unknown
    upper: float  # proved upper bound of it
    x: tuple  # point of A
    y: tuple  # point of B; equal to x if the bodies overlap
    n: tuple  # direction that proves the least bound of a piece
    views: int


@kernel
def is_for(pair):
    """Return whether a pair is a non-convex superovoid and a convex core of another kind, or a circle."""
    a, b = pair.a.kind, pair.b.kind
    if holds_means(pair.a.row, a) and holds_means(pair.b.row, b):
        return False
    return not ((a == kinds.SUPEROVOID and b == kinds.SUPEROVOID) or a == kinds.MESH or b == kinds.MESH)


@kernel
def _middle_of_core(pair, swapped):
    """Return the origin of the core, of a hull the middle of its box."""
    core = pair.a if swapped else pair.b
    p = (core.row[TX], core.row[TY], core.row[P]) if core.kind == kinds.CONVEX_MESH else (0.0, 0.0, 0.0)
    return p if swapped else add(pair.centre, rotate(pair.rotation, p))


@kernel
def _height_in_core(pair, swapped, p):
    """Bound the signed distance of a point from the core from above; infinite outside, and without an inside."""
    core, q = (pair.a, p) if swapped else (pair.b, in_frame_of_b(pair, p))
    kind = core.kind
    if not (kind == kinds.BOX or kind == kinds.CYLINDER or kind == kinds.CONE or kind == kinds.CONVEX_MESH):
        return math.inf
    height, _, _, _ = kinds.point_to_core(core, q)
    height += core.row[kinds.PLANE_LOSS]
    return height if height <= 0.0 else math.inf


@kernel
def _radius_in_ovoid(pair, swapped, p, margin):
    """Return the radius of a ball about a point, proved to lie in the superovoid.

    On a path inside the superovoid, of any length, F rises by at most `slack_of_level`.
    """
    body, q = (pair.b.row, in_frame_of_b(pair, p)) if swapped else (pair.a.row, p)
    radius = body[SIZE]
    for _ in range(MOST_STEPS):
        if is_inside(body, q, slack_of_level(body, radius + margin)):
            return radius
        radius *= 0.5
    return 0.0


@kernel
def nearest_points(pair, n, goal, beyond, margin):
    """Find the nearest points of a non-convex superovoid and a core, proved piece by piece.

    Parameters
    ----------
    pair : Pair
        Two cores for which `is_for` is true.
    n, goal, beyond, margin
        As of `nearest_of_pieces`.

    Returns
    -------
    Proximity
        An interval of the distance if they are separate; otherwise a common point, or no positive lower bound.
    """
    known = NearestPoints(math.inf, n, n, NO_POINT, NO_POINT)
    found = nearest_of_pieces(pair, n, known, goal, beyond, margin, MOST_VIEWS)
    x, y, upper = found.nearest.x, found.nearest.y, found.nearest.distance + margin
    if found.overlap:
        swapped = pair.b.kind == kinds.SUPEROVOID
        x = y = found.common
        middle = _middle_of_core(pair, swapped)
        deepest = middle if is_in_ovoids(pair, middle, margin) else x
        upper = min(_height_in_core(pair, swapped, deepest) + margin, -_radius_in_ovoid(pair, swapped, x, margin))
    return Proximity(found.lower, upper, x, y, found.n, found.views)
