# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""GJK over named features: the point of M = A - B nearest to the origin, of two cores of vertices and rims.

A simplex of support points grows by the point that is farthest along the direction from its nearest point to the origin
(Gilbert, Johnson and Keerthi, "A fast procedure for computing the distance between complex objects in three-dimensional
space", 1988). Every support point along n proves sd >= -h_M(n). What GJK cannot close goes to `cores`.

If a vertex of M comes a second time, no other gets nearer. A rim has points of its own for every direction: there
Newton on the features of the simplex follows, or the disc that faces the other core (`rims`). The direction of the
points found proves their distance, or GJK goes on. Cores that overlap go to `epa`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import combine, cross, dot, norm, rotate_back, scale, sub
from superovoid.contact.convex import rims
from superovoid.contact.convex.cores import Cores
from superovoid.contact.convex.epa import expand
from superovoid.contact.convex.features import (
    Corner,
    corner_along,
    corner_for_sure,
    has_rim,
    has_rims,
    means_of,
)
from superovoid.contact.convex.simplex import Simplex, has, name_of, no_simplex, with_vertex
from superovoid.contact.minkowski.exit import NEAR

_STEPS = 48
_WAIT = 2  # steps after a Newton that did not close the interval
_FACING = 0.7  # cosine between a direction and the axis of a disc that is tried
_ASIDE = 0.5


class Descent(NamedTuple):
    """Where GJK has ended; `lower` and `upper` without what rounding takes from them."""

    simplex: Simplex
    lower: float  # proved, along `n`
    n: tuple
    upper: float
    x: tuple  # points that far apart, if `closed`
    y: tuple
    closed: bool  # Newton has closed the interval: the points lie along n
    a: int  # features of the last step
    b: int
    iterations: int


class Touch(NamedTuple):
    """Points that may be nearest, and the support point of M along their line."""

    n: tuple
    x: tuple
    y: tuple
    length: float
    corner: Corner


@kernel
def _nearest_points(pair, simplex, n, goal, a, b):
    """Points from the strata of a simplex, or of a disc that n is nearly normal to."""
    out_of_line()
    bundle = rims.bundle_of(simplex.count, simplex.names[:3], simplex.weights)
    local = rims.nearest_on_one(pair, bundle.names[0], n) if bundle.count == 1 else rims.newton(pair, bundle, n, True)
    x, y = local.x, local.y
    u = sub(y, x)
    length = norm(u)
    if local.gap < math.inf and length > 0.0 and dot(u, n) > 0.0:
        u = scale(1.0 / length, u)
        c = corner_for_sure(pair, u, a, b)
        if length + c.h <= goal:
            return Touch(u, x, y, length, c)
    else:
        u, length = n, math.inf
        c = corner_for_sure(pair, n, a, b)
    for of_b in range(2):
        z = rotate_back(pair.rotation, scale(-1.0, n)) if of_b == 1 else n
        sign = rims.disc_along(pair.b if of_b == 1 else pair.a, z, _FACING)
        if sign != 0.0:
            disc = rims.facing_disc(pair, of_b == 1, sign, a, b, bundle, NEAR * goal)
            between = dot(disc.n, sub(disc.y, disc.x))
            if disc.rest >= 0.0 and between + disc.value <= goal and between > 0.0:
                return Touch(disc.n, disc.x, disc.y, between, corner_for_sure(pair, disc.n, a, b))
    return Touch(u, x, y, length, c)


@kernel(separate=True)
def _descend(pair, n, goal, near, far):
    out_of_line()
    with_rims = has_rims(pair)
    simplex = no_simplex()
    lower, best, upper = -math.inf, n, math.inf
    a = b = np.int64(0)
    iterations, next_newton = 0, 0
    for _ in range(_STEPS):
        iterations += 1
        c = corner_along(pair, n, a, b)
        known = has(simplex, name_of(c.a, c.b))
        if not c.sure and (known or -c.h > far or upper + c.h <= goal):
            c = corner_for_sure(pair, n, c.a, c.b)
            known = has(simplex, name_of(c.a, c.b))
        a, b = c.a, c.b
        if c.sure and -c.h > lower:
            lower, best = -c.h, n
        if (lower > far and simplex.count > 0) or (not with_rims and (known or upper - lower <= goal)):
            break
        stalled = known and not (has_rim(pair.a, a) or has_rim(pair.b, b))
        if not stalled:
            simplex = with_vertex(simplex, c.m, name_of(a, b))
            if simplex.count == 4:
                break
            length = norm(simplex.v)
            stalled = not (length < upper)
            upper = min(upper, length)
            if upper < near or not (length > 0.25 * goal) or (stalled and not with_rims):
                break
        n = scale(-1.0 / norm(simplex.v), simplex.v)
        if with_rims and (stalled or (known and iterations >= next_newton)):
            touch = _nearest_points(pair, simplex, n, goal, a, b)
            iterations += 1
            c = touch.corner
            if -c.h > lower:
                lower, best = -c.h, touch.n
            if touch.length + c.h <= goal:
                return Descent(simplex, -c.h, touch.n, touch.length, touch.x, touch.y, True, c.a, c.b, iterations)
            if stalled or lower > far or touch.length < near:
                upper = min(upper, touch.length)
                break
            next_newton = iterations + _WAIT
            # What Newton has not known of: a support point that GJK gains by.
            if dot(simplex.v, c.m) < 0.99 * dot(simplex.v, simplex.v):
                n = touch.n
    return Descent(simplex, lower, best, upper, n, n, False, a, b, iterations)


@kernel
def _beside(simplex, n):
    """A direction well away from the plane of a triangle, not far from another in it."""
    normal = cross(sub(simplex.q, simplex.p), sub(simplex.r, simplex.p))
    length = norm(normal)
    beside = combine(1.0, n, _ASIDE / length, normal) if length > 0.0 else n
    return scale(1.0 / norm(beside), beside)


@kernel
def descend(pair, n, goal, near, far):
    """GJK from a direction.

    Ends where the interval is closed, the distance is proved to be less than `near` or more than `far`, the simplex
    holds the origin, or nothing moves any more.
    """
    found = _descend(pair, n, goal, near, far)
    with_rims = has_rims(pair)
    if with_rims and found.simplex.count == 3 and found.upper <= 0.25 * goal:
        # The origin is in a plane of symmetry, and so are all points found: once more from beside it.
        return _descend(pair, _beside(found.simplex, found.n), goal, near, far)
    return found


@kernel
def nearest_points(pair, found, goal, margin, far):
    """Answer for cores apart from where GJK has ended; an open interval where it is neither closed nor beyond `far`."""
    out_of_line()
    simplex, n, lower, iterations = found.simplex, found.n, found.lower, found.iterations
    x, y = found.x, found.y
    if not found.closed:
        if has_rims(pair):
            lower = lower - margin if lower > far else -math.inf
            return Cores(found.upper, lower, math.inf, n, n, n, iterations, 0)
        x, y = means_of(pair, simplex.names, simplex.weights)
    length = norm(sub(y, x))
    if simplex.count == 3 and not (length - lower + 2.0 * margin <= goal or lower > far):
        # Near to the origin the nearest point of a face is a worse direction than the normal of that face.
        normal = cross(sub(simplex.q, simplex.p), sub(simplex.r, simplex.p))
        area = norm(normal)
        for sign in (1.0, -1.0):
            direction = scale(sign / area, normal) if area > 0.0 else n
            c = corner_for_sure(pair, direction, found.a, found.b)
            if -c.h > lower:
                n, lower = direction, -c.h
        iterations += 2
    is_open = not (length - lower + 2.0 * margin <= goal or lower > far)
    lower = -math.inf if is_open else min(lower - margin, length)
    return Cores(length, lower, length + margin, x, y, n, iterations, 0)


@kernel
def solve(pair, n, goal, margin, far):
    """Signed distance of two cores of vertices and rims; an open interval where rounding or the budget leaves it open.

    Parameters
    ----------
    n : tuple
        Unit direction to start from.
    goal : float
        Width of the interval to reach, m.
    margin : float
        What rounding takes from the bounds, m.
    far : float
        Give up, with the interval known by then, once the distance is proved to exceed this.
    """
    out_of_line()
    found = descend(pair, n, goal - 2.0 * margin, -math.inf, far)
    if found.simplex.count == 4:
        return expand(pair, found, goal, margin)
    answer = nearest_points(pair, found, goal, margin, far)
    if answer.lower > far:
        return answer
    # An answer is to have its points along its normal.
    u = sub(answer.y, answer.x)
    across = norm(combine(1.0, u, -dot(u, answer.n), answer.n))
    lower = answer.lower if across <= margin else -math.inf
    return Cores(answer.distance, lower, answer.upper, answer.x, answer.y, answer.n, answer.iterations, answer.status)
