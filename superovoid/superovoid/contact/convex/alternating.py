# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Nearest points of separate cores with projections in closed form: points, segments, boxes, cylinders.

Alternating projections on both cores converge to a nearest pair (Cheney and Goldstein, "Proximity maps for convex
sets", Proc. AMS 10, 1959). They end after few steps if one of the points is a vertex. Otherwise the steps of the points
x of A shrink by nearly the same factor each time, and Aitken's method extrapolates their limit from three of them. The
points prove nothing themselves: either the direction y - x proves their distance, or another method takes over.

GJK answers the same pairs. Over all pairs of a chain of 14 boxes or cylinders it takes 1.7 to 2.7 times as long.
"""

from __future__ import annotations

import math

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import add, combine, dot, norm, rotate, rotate_back, scale, sub
from superovoid.contact.convex.cores import Cores
from superovoid.shapes.kernels.kinds import BOX, CAPSULE, CYLINDER, POINT
from superovoid.shapes.kernels.surface import A1, A2, A3

_STEPS = 8
_SLOWEST = 0.95  # factor between steps beyond which no limit is extrapolated
_STILL = 1e-7  # of the distance: largest error of the points in their limit


@kernel(forceinline=True)
def _has_projection(kind):
    """Return whether this module handles a core of this kind."""
    return kind == BOX or kind == CYLINDER or kind == CAPSULE or kind == POINT


@kernel(forceinline=True)
def _project_onto_core(row, kind, p):
    """Return the point of a core nearest to a point; p itself if it is inside."""
    if kind == POINT:
        return (0.0, 0.0, 0.0)
    z = min(max(p[2], -row[A3]), row[A3])
    if kind == BOX:
        return (min(max(p[0], -row[A1]), row[A1]), min(max(p[1], -row[A2]), row[A2]), z)
    if kind == CAPSULE:
        return (0.0, 0.0, z)
    across = math.sqrt(p[0] * p[0] + p[1] * p[1])
    part = row[A1] / across if across > row[A1] else 1.0
    return (part * p[0], part * p[1], z)


@kernel(forceinline=True)
def _support_value(row, kind, n):
    """Return the support value of a core."""
    if kind == POINT:
        return 0.0
    along = row[A3] * abs(n[2])
    if kind == BOX:
        return row[A1] * abs(n[0]) + row[A2] * abs(n[1]) + along
    if kind == CAPSULE:
        return along
    return row[A1] * math.sqrt(n[0] * n[0] + n[1] * n[1]) + along


@kernel(forceinline=True)
def _proof(pair, x, y, margin, steps):
    u = sub(y, x)
    length = norm(u)
    n = scale(1.0 / length, u)
    a, b = pair.a, pair.b
    reach = _support_value(a.row, a.kind, n) + _support_value(b.row, b.kind, rotate_back(pair.rotation, scale(-1.0, n)))
    return Cores(length, min(dot(n, pair.centre) - reach - margin, length), length + margin, x, y, n, steps, 0)


@kernel
def nearest_points(pair, goal, rounding, far):
    """Return the nearest points of two cores, with the interval of the distance.

    The interval is open if this module does not handle the cores, if they overlap, or if the steps run out. The search
    ends as soon as the points are known to a part of their distance, and either the interval is as narrow as `goal` or
    its lower bound exceeds `far`. `rounding`, m, bounds a step due to rounding alone.
    """
    rotation, centre = pair.rotation, pair.centre
    row_a, kind_a = pair.a.row, pair.a.kind
    row_b, kind_b = pair.b.row, pair.b.kind
    found = Cores(0.0, -math.inf, math.inf, centre, centre, centre, 0, 0)
    if not (_has_projection(kind_a) and _has_projection(kind_b)):
        return found
    x = _project_onto_core(row_a, kind_a, centre)
    before = (0.0, 0.0, 0.0)  # the step before
    factor = 0.0
    has_before = has_factor = False
    for k in range(_STEPS):
        y = add(centre, rotate(rotation, _project_onto_core(row_b, kind_b, rotate_back(rotation, sub(x, centre)))))
        new = _project_onto_core(row_a, kind_a, y)
        step = sub(new, x)
        x = new
        apart, moved = sub(y, x), dot(step, step)
        squared = dot(apart, apart)
        if not squared > rounding * rounding:
            break
        rests = moved <= rounding * rounding
        if rests or (has_factor and moved <= (_STILL * (1.0 - abs(factor))) ** 2 * squared):
            found = _proof(pair, x, y, rounding, k + 1)
            if rests or found.upper - found.lower <= goal or found.lower > far:
                break
        if has_before:
            factor = dot(before, step) / dot(before, before)
            has_factor = abs(factor) < _SLOWEST
            if has_factor:
                x = combine(1.0, x, factor / (1.0 - factor), step)
                has_before = False
                continue
        before, has_before = step, True
    return found
