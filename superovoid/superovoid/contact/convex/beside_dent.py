# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Distance of a non-convex superovoid from a core that may reach into it: nearest points, piece by piece.

`nearest_pieces` finds the distance. If it finds a point of both bodies, a ball about it in one of them bounds the depth
from below: no translation shorter than its radius separates the bodies. So does the ball in the superovoid that touches
its surface at the bodies' own contact (`tangent_balls`), by its depth in the core.

A separating translation t of B bounds the depth from above. Moved by t, B has a gap from A along a direction u, so
t - gap u separates the bodies, too, and lets them touch. There their common normal is u, and the shortest translation
to the same plane is (t . u) u. If this separates the bodies, it is the next t. Otherwise the next t is half way to it.
If nothing is left to gain, t is along u.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, combine, dot, norm, rotate, rotate_back, scale, sub
from superovoid.contact.minkowski.contact_points import holds_means
from superovoid.contact.pair import Pair
from superovoid.contact.separation import is_inside, slack_of_level
from superovoid.contact.superovoids.nearest_pieces import (
    MOST_VIEWS,
    Nearest,
    in_frame_of_b,
    is_in_ovoids,
    nearest_of_pieces,
)
from superovoid.contact.superovoids.newton import retract
from superovoid.contact.superovoids.pieces import NO_POINT
from superovoid.shapes.kernels import kinds
from superovoid.shapes.kernels.surface import SIZE, TX, TY, P, gradient, position

_INWARDS = 24  # steps that move a common point deeper
_HALVINGS = 40  # of a radius
_MOST_STEPS = 16  # of a translation
_SETTLED = 0.1  # of the goal: least gain of a step
_GAP = 0.1  # of the goal: gap left between the bodies


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
def _height_in_core(pair, swapped, p):
    """Return an upper bound of the signed distance of a point from the core, and the normal of the nearest face.

    The bound is infinite outside, and for cores without an inside.
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
    """Return the radius of a ball about a point, proved to lie in the superovoid.

    On a path inside the superovoid, of any length, F rises by at most `slack_of_level`.
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
    """Move a common point p deeper into the core by a few steps; return its height and the point.

    The steps go against the normal of the nearest face or, from an edge, towards the middle of the core.
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
    out_of_line()
    known = Nearest(math.inf, n, n, NO_POINT, NO_POINT)
    found = nearest_of_pieces(pair, n, known, goal, beyond, margin, MOST_VIEWS)
    x, y, upper = found.nearest.x, found.nearest.y, found.nearest.distance + margin
    if found.overlap:
        swapped = pair.b.kind == kinds.SUPEROVOID
        height, x = _deeper(pair, swapped, found.common, margin)
        y, upper = x, min(height + margin, -_radius_in_ovoid(pair, swapped, found.common, margin))
    return Proximity(found.lower, upper, x, y, found.n, found.views)


class Way(NamedTuple):
    """A translation of B, proved to separate the bodies; points in the frame of A."""

    length: float  # infinite if none is known
    x: tuple  # contact on A
    y: tuple  # contact on B before the translation
    n: tuple  # direction of the translation
    normal: tuple  # from A to B at the contact
    views: int


@kernel
def shortest_way(pair, n, length, balls, goal, margin):
    """Shorten a translation of B along n, which may separate the bodies, by following their contacts.

    `balls` is the sum of the radii about both cores.
    """
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    t = scale(length, n)
    way, best = Way(math.inf, n, n, n, n, 0), t
    views = 0
    for _ in range(_MOST_STEPS):
        moved = Pair(a, b, rotation, add(centre, t))
        found = nearest_points(moved, n, _GAP * goal, math.inf, margin)
        views += found.views
        gap = found.lower - balls - _GAP * goal
        if not (gap >= 0.0):
            # Moved along the plane, the bodies meet at another place.
            if way.length == math.inf or norm(sub(t, best)) <= _SETTLED * goal:
                break
            t = combine(0.5, t, 0.5, best)
            continue
        u = sub(found.y, found.x)
        u = scale(1.0 / norm(u), u)
        y = sub(found.y, t)
        t = combine(1.0, t, -gap, u)
        reached = norm(t)
        if not (0.0 < reached < way.length):
            break
        gained = way.length - reached
        way, best, n = Way(reached, found.x, y, scale(1.0 / reached, t), u, 0), t, u
        along = dot(t, u)
        if not (along > 0.0) or reached - along <= _SETTLED * goal or gained <= _SETTLED * goal:
            break
        t = scale(along, u)
    return Way(way.length, way.x, way.y, way.n, way.normal, views)


@kernel
def contact_of(pair, way):
    """Return the superovoid's surface point at the contact of a way, its position and outward normal (frame of A).

    The normal is computed from the surface: that of the way has rounding errors.
    """
    out_of_line()
    swapped = pair.b.kind == kinds.SUPEROVOID
    body, p, n = pair.a.row, way.x, way.normal
    if swapped:
        body, p, n = pair.b.row, in_frame_of_b(pair, way.y), rotate_back(pair.rotation, scale(-1.0, way.normal))
    f = retract(body, p, n, 1.0, True, True)
    x, g = position(body, f), gradient(body, f)
    if swapped:
        x, g = add(pair.centre, rotate(pair.rotation, x)), rotate(pair.rotation, g)
    return f, x, scale(1.0 / norm(g), g)
