# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Depth of the overlap of a superovoid that has a dent and a convex core, about the bodies' own contact.

From above: a translation t of B that parts the bodies. Moved by t, B is a gap away along a direction u, and comes back
by that gap: t - gap u parts them, too, to touch. There the bodies that touch have the common normal u, and the shortest
translation to the same plane is (t . u) u. If it parts the bodies it is the next t, else one half way to it. Where
nothing is left to gain, t is along u.

From below: the ball in the superovoid that touches its surface at that contact (`tangent_balls`). Its depth
in the core is no more than that of the superovoid.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, combine, dot, norm, rotate, rotate_back, scale, sub
from superovoid.contact.convex.beside_dent import nearest_points
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids.newton import retract
from superovoid.shapes.kernels.kinds import SUPEROVOID
from superovoid.shapes.kernels.surface import SurfacePoint, gradient, position

_MOST_STEPS = 16
_SETTLED = 0.1  # of the goal: what a step is to gain
_GAP = 0.1  # of the goal: that is left between the bodies


class Way(NamedTuple):
    """A translation of B that is proved to part the bodies; points in the frame of A."""

    length: float  # infinite where none is known
    x: tuple  # contact on A
    y: tuple  # contact on B, where it is without the translation
    n: tuple  # direction of the translation
    normal: tuple  # from A to B at the contact
    views: int


@kernel
def shortest_way(pair, n, length, balls, goal, margin):
    """Shorten a translation of B along n, which may part the bodies, as far as their contacts lead.

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
            # The bodies meet elsewhere on the way along the plane.
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


class Contact(NamedTuple):
    """A point of the surface of the superovoid, in the frame of A."""

    f: SurfacePoint
    x: tuple
    normal: tuple  # outwards


@kernel
def _surface_at(pair, p, n):
    """The point of the surface of the superovoid that is radially above p, from a normal n; both in the frame of A."""
    out_of_line()
    rotation, centre = pair.rotation, pair.centre
    if pair.a.kind == SUPEROVOID:
        f = retract(pair.a.row, p, n, 1.0, True, True)
        g = gradient(pair.a.row, f)
        return Contact(f, position(pair.a.row, f), scale(1.0 / norm(g), g))
    f = retract(pair.b.row, rotate_back(rotation, sub(p, centre)), rotate_back(rotation, n), 1.0, True, True)
    g = rotate(rotation, gradient(pair.b.row, f))
    return Contact(f, add(centre, rotate(rotation, position(pair.b.row, f))), scale(1.0 / norm(g), g))


@kernel
def contact_of(pair, way):
    """The contact of a way on the superovoid, with the surface's own normal: that of the way is known to rounding."""
    if pair.a.kind == SUPEROVOID:
        return _surface_at(pair, way.x, way.normal)
    return _surface_at(pair, way.y, scale(-1.0, way.normal))
