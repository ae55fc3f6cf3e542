# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Signed distance of two cores of vertices and rims, of which one at least has a rim: a cylinder or a cone.

As `polytopes`, with what `rims` knows of strata. What they cannot close goes to `cores`.

descend    GJK until a stratum comes a second time: then Newton on those of the simplex, or the disc that faces the
           other body. The direction of the points found proves their distance, or GJK goes on.
expand     The polytope of the points found, expanded where it comes nearest to the origin. From a face that is near to
           M, Newton, or a disc, finds the least h_M nearby, and a cap of directions about it in which there is no less.
           Where triangles lie outside the cap, they are far enough from the origin sooner by far.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import combine, cross, dot, norm, rotate_back, scale, sub
from superovoid.contact.convex import closed_surface, polytopes, rims
from superovoid.contact.convex.cores import Cores
from superovoid.contact.convex.simplex import Simplex, has, name_of, no_simplex, with_vertex
from superovoid.contact.minkowski.difference import well_away
from superovoid.contact.minkowski.exit import NEAR, TILT, tilted
from superovoid.shapes.kernels.surface import RADIUS
from superovoid.values.status import ARBITRARY_NORMAL

_STEPS = 32  # of GJK
_WAIT = 2  # steps after a Newton that did not close the interval
_FACING = 0.7  # cosine between a direction and the axis of a disc that is tried
_ASIDE = 0.5
_EXPANSIONS = 40
_ROUNDS = 4  # of Newton, with a stratum more each
_ROUGH = 0.3  # of h_M: height of M above a face from which Newton is tried


@kernel
def is_pair(kind_a, kind_b):
    """Whether this module is for two cores of these kinds."""
    a, b = rims.is_rimmed(kind_a), rims.is_rimmed(kind_b)
    return (a or b) and (a or polytopes.is_polytope(kind_a)) and (b or polytopes.is_polytope(kind_b))


# --- apart --------------------------------------------------------------------------------------------------------


class Descent(NamedTuple):
    """Where GJK has ended; `lower` and `upper` without what rounding takes from them."""

    simplex: Simplex
    lower: float  # proved, along `n`
    n: tuple
    upper: float
    x: tuple  # points that far apart, where `closed`
    y: tuple
    closed: bool  # the interval is, and the points lie along n
    a: int  # strata of the last step
    b: int
    iterations: int


class Touch(NamedTuple):
    """Points that may be nearest, and the support point of M along their line."""

    n: tuple
    x: tuple
    y: tuple
    length: float
    corner: rims.Corner


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
        c = rims.corner_for_sure(pair, u, a, b)
        if length + c.h <= goal:
            return Touch(u, x, y, length, c)
    else:
        u, length = n, math.inf
        c = rims.corner_for_sure(pair, n, a, b)
    for of_b in range(2):
        z = rotate_back(pair.rotation, scale(-1.0, n)) if of_b == 1 else n
        sign = rims.disc_along(pair.b if of_b == 1 else pair.a, z, _FACING)
        if sign != 0.0:
            disc = rims.facing_disc(pair, of_b == 1, sign, a, b, bundle, NEAR * goal)
            between = dot(disc.n, sub(disc.y, disc.x))
            if disc.rest >= 0.0 and between + disc.value <= goal and between > 0.0:
                return Touch(disc.n, disc.x, disc.y, between, rims.corner_for_sure(pair, disc.n, a, b))
    return Touch(u, x, y, length, c)


@kernel
def _descend(pair, n, goal, near, far):
    out_of_line()
    simplex = no_simplex()
    lower, best, upper = -math.inf, n, math.inf
    a = b = np.int64(0)
    iterations, next_newton = 0, 0
    for _ in range(_STEPS):
        iterations += 1
        c = rims.corner_along(pair, n, a, b)
        known = has(simplex, name_of(c.a, c.b))
        if not c.sure and (known or -c.h > far or upper + c.h <= goal):
            c = rims.corner_for_sure(pair, n, c.a, c.b)
            known = has(simplex, name_of(c.a, c.b))
        a, b = c.a, c.b
        if c.sure and -c.h > lower:
            lower, best = -c.h, n
        if lower > far and simplex.count > 0:
            break
        stalled = known and not (rims.has_rim(pair.a, a) or rims.has_rim(pair.b, b))
        if not stalled:
            simplex = with_vertex(simplex, c.m, name_of(a, b))
            if simplex.count == 4:
                break
            length = norm(simplex.v)
            stalled = not (length < upper)
            upper = min(upper, length)
            if upper < near or not (length > 0.25 * goal):
                break
        n = scale(-1.0 / norm(simplex.v), simplex.v)
        if stalled or (known and iterations >= next_newton):
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
    if found.simplex.count == 3 and found.upper <= 0.25 * goal:
        # The origin is in a plane of symmetry, and so are all points found: once more from beside it.
        return _descend(pair, _beside(found.simplex, found.n), goal, near, far)
    return found


# --- overlapping --------------------------------------------------------------------------------------------------


class _Exit(NamedTuple):
    """The best way out that is known: a direction, points, h_M along it, and the cap about it."""

    n: tuple
    x: tuple
    y: tuple
    value: float
    whole: bool  # x - y is value n
    cap: rims.Cap


@kernel
def way_out(pair, bundle, c, n, goal):
    """The least h_M near a direction, as far as the strata of a bundle or a disc tell; `c` is the support point there.

    Returns the exit and how many support points it took.
    """
    out_of_line()
    rough = _Exit(n, c.x, c.y, c.h, False, rims.no_cap(n))
    for of_b in range(2):
        z = rotate_back(pair.rotation, scale(-1.0, n)) if of_b == 1 else n
        sign = rims.disc_along(pair.b if of_b == 1 else pair.a, z, _FACING)
        if sign != 0.0:
            disc = rims.facing_disc(pair, of_b == 1, sign, c.a, c.b, bundle, NEAR * goal)
            if disc.rest > 0.0 and disc.value <= c.h:
                off = norm(combine(1.0, sub(disc.x, disc.y), -disc.value, disc.n))
                return _Exit(disc.n, disc.x, disc.y, disc.value, off <= NEAR * goal, rims.cap_of_disc(disc))
    found = c
    for _ in range(_ROUNDS):
        local = rims.newton(pair, bundle, n, False)
        if not local.gap < math.inf:
            return rough
        found = rims.corner_for_sure(pair, local.n, c.a, c.b)
        if not found.h < c.h + NEAR * goal:
            return rough
        if found.h - local.value > NEAR * goal:
            # Another stratum is higher there.
            bundle = rims.with_stratum(bundle, local.weights, name_of(found.a, found.b))
        elif local.gap > NEAR * goal:
            # The least of these strata, whose points leave the line aside: one on its other side.
            side = combine(1.0, sub(local.x, local.y), -local.value, local.n)
            beside = rims.corner_along(pair, tilted(local.n, side, TILT), c.a, c.b)
            name = name_of(beside.a, beside.b)
            if rims.holds(bundle, name):
                break
            bundle = rims.with_stratum(bundle, local.weights, name)
        else:
            off = norm(combine(1.0, sub(local.x, local.y), -found.h, local.n))
            cap = rims.cap_of(pair, bundle, local)
            return _Exit(local.n, local.x, local.y, found.h, off <= NEAR * goal, cap)
        n = local.n
    return _Exit(local.n, found.x, found.y, found.h, False, rims.no_cap(local.n))


@kernel
def _nearest(planes, count, cap):
    """Triangle that comes nearest to the origin outside a cap, and how near."""
    nearest, least = 0, math.inf
    for k in range(count):
        height = rims.height_with_cap(cap, closed_surface.normal_of(planes, k), planes[k, 3])
        if height < least:
            nearest, least = k, height
    return nearest, least


@kernel
def _strata_of(points, names, face, n, value, name):
    """Bundle of the corners of a triangle that the point `value` n needs, and of one stratum more."""
    i, j, k = face[0], face[1], face[2]
    foot = scale(value, n)
    p, q, r = (
        closed_surface.point_of(points, i),
        closed_surface.point_of(points, j),
        closed_surface.point_of(points, k),
    )
    weights = rims.weights_to(3, sub(p, foot), sub(q, foot), sub(r, foot))
    bundle = rims.bundle_without_idle(3, (names[i], names[j], names[k]), weights)
    return rims.with_stratum(bundle, bundle.weights, name)


@kernel
def _add_look(seen, looks, n, value):
    """Keep a direction and h_M along it; returns how many are kept."""
    seen[looks, 0], seen[looks, 1], seen[looks, 2] = n
    seen[looks, 3] = value
    return looks + 1


@kernel(_nrt=True, separate=True)
def expand(pair, descent, goal, margin):
    """Depth from a tetrahedron that holds the origin; an open interval where that does not succeed."""
    out_of_line()
    points, names = np.empty((closed_surface.POINTS, 3)), np.empty(closed_surface.POINTS, np.int64)
    faces, planes = np.empty((closed_surface.FACES, 3), np.int64), np.empty((closed_surface.FACES, 4))
    edges = np.empty((closed_surface.EDGES, 2), np.int64)
    seen, looks = np.empty((2 * _EXPANSIONS, 4)), 0  # directions, and h_M along them
    n = descent.n
    failed = Cores(0.0, -math.inf, math.inf, n, n, n, descent.iterations, 0)
    if not closed_surface.begin(descent.simplex, points, names, faces, planes):
        return failed
    a, b, spent = descent.a, descent.b, descent.iterations
    visible = closed_surface.VISIBLE * (pair.a.row[RADIUS] + pair.b.row[RADIUS])
    count, used = 4, 4
    out = _Exit(n, n, n, math.inf, False, rims.no_cap(n))
    depth = 0.0
    for _ in range(_EXPANSIONS):
        k, depth = _nearest(planes, count, out.cap)
        if not planes[k, 3] > margin:
            return failed
        if out.whole and depth >= out.value - 0.5 * goal:
            break
        n, height = closed_surface.normal_of(planes, k), planes[k, 3]
        spent += 1
        c = rims.corner_for_sure(pair, n, a, b)
        a, b = c.a, c.b
        closer = c.h < out.value - NEAR * goal or (not out.whole and c.h <= out.value + NEAR * goal)
        if closer and c.h - height <= _ROUGH * c.h:
            bundle = _strata_of(points, names, faces[k], n, c.h, name_of(a, b))
            found = way_out(pair, bundle, c, n, goal)
            spent += 2
            if found.value < out.value or (found.whole and not out.whole and found.value <= out.value + NEAR * goal):
                looks = _add_look(seen, looks, out.n, out.value)
                out = found
                if found.whole:
                    continue
        else:
            looks = _add_look(seen, looks, n, c.h)
        if used == closed_surface.POINTS or not c.h - height > visible:
            return failed
        for i in range(3):
            points[used, i] = c.m[i]
        names[used] = name_of(a, b)
        count = closed_surface.take_in(points, used, faces, planes, count, edges, visible)
        if count < 0:
            return failed
        used += 1
    if not (out.whole and depth >= out.value - 0.5 * goal):
        return failed
    value = out.value
    rival = math.inf
    for i in range(looks):
        if well_away((seen[i, 0], seen[i, 1], seen[i, 2]), out.n):
            rival = min(rival, seen[i, 3])
    for f in range(count):
        u = closed_surface.normal_of(planes, f)
        if well_away(u, out.n) and rims.height_with_cap(out.cap, u, planes[f, 3]) <= value + goal:
            rival = min(rival, rims.corner_for_sure(pair, u, a, b).h)
    proved = min(depth, value)
    if out.cap.tangent > 0.0:
        proved = min(proved, out.cap.least)
    status = ARBITRARY_NORMAL if rival <= value + goal else 0
    return Cores(-value, -value - margin, max(-value, margin - proved), out.x, out.y, out.n, spent, status)


# --- both ---------------------------------------------------------------------------------------------------------


@kernel
def solve(pair, n, goal, margin, far):
    """Signed distance of two such cores, parameters as of `polytopes.solve`; an open interval where it is left open."""
    out_of_line()
    found = descend(pair, n, goal - 2.0 * margin, -math.inf, far)
    if found.simplex.count == 4:
        return expand(pair, found, goal, margin)
    n = found.n
    if not found.closed:
        lower = found.lower - margin if found.lower > far else -math.inf
        return Cores(found.upper, lower, math.inf, n, n, n, found.iterations, 0)
    u = sub(found.y, found.x)
    length = norm(u)
    across = norm(combine(1.0, u, -dot(u, n), n))
    lower = min(found.lower - margin, length) if across <= margin else -math.inf
    return Cores(length, lower, length + margin, found.x, found.y, n, found.iterations, 0)
