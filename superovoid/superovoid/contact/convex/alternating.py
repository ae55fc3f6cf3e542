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
from superovoid.contact.convex.projections import has_projection, project_onto_core, support_value

_STEPS = 8
_SLOWEST = 0.95  # factor between steps beyond which no limit is extrapolated
_STILL = 1e-7  # of the distance: largest error of the points in their limit


@kernel(forceinline=True)
def _proof(pair, x, y, margin, steps):
    u = sub(y, x)
    length = norm(u)
    n = scale(1.0 / length, u)
    a, b = pair.a, pair.b
    reach = support_value(a.row, a.kind, n) + support_value(b.row, b.kind, rotate_back(pair.rotation, scale(-1.0, n)))
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
    if not (has_projection(kind_a) and has_projection(kind_b)):
        return found
    x = project_onto_core(row_a, kind_a, centre)
    before = (0.0, 0.0, 0.0)  # the step before
    factor = 0.0
    has_before = has_factor = False
    for k in range(_STEPS):
        y = add(centre, rotate(rotation, project_onto_core(row_b, kind_b, rotate_back(rotation, sub(x, centre)))))
        new = project_onto_core(row_a, kind_a, y)
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
