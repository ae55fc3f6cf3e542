# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""GJK: the point of M = A - B nearest to the origin, over growing simplices of support points (`cores`).

Every support point along n proves sd >= -h_M(n); apart, the nearest point proves sd <= its distance. Ends where the
cores overlap.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import norm, scale
from superovoid.contact.minkowski.difference import (
    LOSS,
    Corner,
    M,
    difference_point,
    difference_support,
    mean_point,
    nearest_of_simplex,
    put,
    towards,
)
from superovoid.shapes.kernels.surface import RADIUS


class Descent(NamedTuple):
    """Where GJK has ended."""

    count: int  # type: ignore[assignment] # hides tuple.count; rows of the simplex in the workspace
    lower: float  # best proved -h_M, and its direction
    n: tuple
    upper: float  # distance of the nearest point of the simplex
    overlap: bool
    stalled: bool
    iterations: int


@kernel
def nothing_known(n):
    """Where GJK starts, with a direction."""
    return Descent(0, -math.inf, n, math.inf, False, False, 0)


@kernel
def descend(pair, start, goal, near, beyond, w, limit, roughly):
    """GJK over a simplex in the workspace (its `count` rows are kept).

    Stops if the interval is closed, the cores overlap, nothing moves any more, the distance is proved to be less than
    `near`, or the lower bound exceeds `beyond`. `roughly` takes points near to support points, which prove no lower
    bound unless it may exceed `beyond`.
    """
    out_of_line()
    a = pair.a.row
    b = pair.b.row
    count, lower, best, upper = start.count, start.lower, start.n, start.upper
    n = start.n
    if count > 0:
        v = mean_point(w, count, M)
        length = norm(v)
        if length > 0.0:
            n = scale(-1.0 / length, v)
    iterations = start.iterations
    c = Corner(n, n, n, 0, 0, 0.0, 0.0, 1.0)
    for _ in range(limit):
        iterations += 1
        rough = roughly and iterations > start.iterations + 1
        if rough:
            loss = LOSS * min(upper, a[RADIUS], b[RADIUS])
            c = difference_point(pair, n, c.height, c.radius, loss)
        if not rough or -c.h > beyond:
            rough = False
            c = difference_support(pair, n)
        if not rough and -c.h > lower:
            lower, best = -c.h, n
        if upper - lower <= goal or lower > beyond:
            return Descent(count, lower, best, upper, False, False, iterations)
        for k in range(count):
            if w[k, M] == c.m[0] and w[k, M + 1] == c.m[1] and w[k, M + 2] == c.m[2]:
                return Descent(count, lower, best, upper, False, True, iterations)
        put(w, count, c)
        count = nearest_of_simplex(w, count + 1)
        v = mean_point(w, count, M)
        length = norm(v)
        if count == 4 or not (length > 0.25 * goal):
            upper = min(upper, length)
            if count == 3:
                # The origin is in the plane of three points: its normal is the direction of bodies that touch.
                n = towards(w, count, v)
                for sign in (1.0, -1.0):
                    c = difference_support(pair, scale(sign, n))
                    if -c.h > lower:
                        lower, best = -c.h, scale(sign, n)
            return Descent(count, lower, best, upper, not (upper - lower <= goal), False, iterations)
        stalled = not (length < upper)
        upper = length
        n = towards(w, count, v)
        if stalled or upper < near:
            return Descent(count, lower, best, upper, False, True, iterations)
    return Descent(count, lower, best, upper, False, False, iterations)
