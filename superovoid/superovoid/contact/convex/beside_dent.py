# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Distance of a superovoid that has a dent from a core that may reach into it: nearest points, piece by piece.

The distance is that of `nearest_pieces`. If a point of both bodies is found, a ball about it that lies in one of them
bounds the depth from below: no translation shorter than its radius parts the bodies.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, combine, norm, rotate, sub
from superovoid.contact.minkowski.contact_points import holds_means
from superovoid.contact.separation import is_inside, slack_of_level
from superovoid.contact.superovoids.nearest_pieces import Nearest, in_frame_of_b, is_in_ovoids, nearest_of_pieces
from superovoid.contact.superovoids.pieces import NO_POINT
from superovoid.shapes.kernels import kinds
from superovoid.shapes.kernels.surface import SIZE, TX, TY, P

_VIEWS = 2000  # directions that may be looked at
_INWARDS = 24  # steps of a common point to where it is deeper
_HALVINGS = 40  # of a radius


class Proximity(NamedTuple):
    """What is known of a superovoid and a convex core; all points in the frame of A."""

    lower: float  # proved lower bound of the signed distance; -inf: unknown
    upper: float  # proved upper bound of it
    x: tuple  # point of A
    y: tuple  # point of B; one with x where the bodies overlap
    n: tuple  # direction that proves the least bound of a piece
    views: int


@kernel
def is_for(pair):
    """Whether a pair is a superovoid with a dent and a convex core of another kind, or a circle."""
    a, b = pair.a.kind, pair.b.kind
    if holds_means(pair.a.row, a) and holds_means(pair.b.row, b):
        return False
    return not ((a == kinds.SUPEROVOID and b == kinds.SUPEROVOID) or a == kinds.MESH or b == kinds.MESH)


@kernel
def _height_in_core(pair, swapped, p):
    """Signed distance of a point from the core, no less than it is, and the normal of the nearest face.

    Infinite outside, and of cores that have no inside.
    """
    core, q = (pair.a, p) if swapped else (pair.b, in_frame_of_b(pair, p))
    kind = core.kind
    if not (kind == kinds.BOX or kind == kinds.CYLINDER or kind == kinds.CONE or kind == kinds.CONVEX_MESH):
        return math.inf, p
    height, normal, _, _ = kinds.point_to_core(core, q)
    height += core.row[kinds.PLANE_LOSS]
    return (height if height <= 0.0 else math.inf), (normal if swapped else rotate(pair.rotation, normal))


@kernel
def _radius_in_ovoid(pair, swapped, p, margin):
    """Radius of a ball about a point that is proved to lie in the superovoid.

    On a way that stays inside F rises by no more than `slack_of_level` says, however long it is.
    """
    body, q = (pair.b.row, in_frame_of_b(pair, p)) if swapped else (pair.a.row, p)
    radius = body[SIZE]
    for _ in range(_HALVINGS):
        if is_inside(body, q, slack_of_level(body, radius + margin)):
            return radius
        radius *= 0.5
    return 0.0


@kernel
def _deeper(pair, swapped, p, margin):
    """A point of both bodies as deep in the core as a few steps from p lead, and how deep.

    Against the normal of the nearest face or, from an edge, towards the middle of the core.
    """
    out_of_line()
    core = pair.a if swapped else pair.b
    middle = (core.row[TX], core.row[TY], core.row[P]) if core.kind == kinds.CONVEX_MESH else (0.0, 0.0, 0.0)
    if not swapped:
        middle = add(pair.centre, rotate(pair.rotation, middle))
    height, normal = _height_in_core(pair, swapped, p)
    step = 0.5 * core.row[SIZE]
    for _ in range(_INWARDS):
        deeper = False
        for way in range(2):
            away = sub(p, middle)
            length = norm(away)
            if way == 1 and length > 0.0:
                q = combine(1.0, p, -min(step, length) / length, away)
            else:
                q = combine(1.0, p, -step, normal)
            other, turned = _height_in_core(pair, swapped, q)
            if other < height and is_in_ovoids(pair, q, margin):
                p, height, normal, deeper = q, other, turned, True
        if not deeper:
            step *= 0.5
    return height, p


@kernel
def nearest_points(pair, n, goal, beyond, margin):
    """Nearest points of a superovoid with a dent and a core, proved piece by piece.

    Parameters
    ----------
    pair : Pair
        Of two cores that it is for (`is_for`).
    n, goal, beyond, margin
        As of `nearest_of_pieces`.

    Returns
    -------
    Proximity
        Apart, an interval of the distance; else a point of both, or no positive lower bound.
    """
    out_of_line()
    known = Nearest(math.inf, n, n, NO_POINT, NO_POINT)
    found = nearest_of_pieces(pair, n, known, goal, beyond, margin, _VIEWS)
    x, y, upper = found.nearest.x, found.nearest.y, found.nearest.distance + margin
    if found.overlap:
        swapped = pair.b.kind == kinds.SUPEROVOID
        height, x = _deeper(pair, swapped, found.common, margin)
        y, upper = x, min(height + margin, -_radius_in_ovoid(pair, swapped, found.common, margin))
    return Proximity(found.lower, upper, x, y, found.n, found.views)
