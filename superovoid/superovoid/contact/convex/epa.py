# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""EPA over named features: the depth of two cores of vertices and rims that overlap.

The polytope of the support points found is expanded where it comes nearest to the origin (van den Bergen, "Proximity
queries and penetration depth computation on 3D game objects", GDC 2001). What that proves: `closed_surface`.

Of vertices alone, it ends when no vertex of M lies beyond the nearest face. With rims, Newton or a disc finds the least
h_M from a face that is near to M, and a cap of directions about it in which there is no less (`rims`): triangles need
to be far enough from the origin outside the cap only, which ends it sooner by far.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, combine, norm, rotate_back, scale, sub
from superovoid.contact.convex import rims
from superovoid.contact.convex.closed_surface import (
    POINTS,
    VISIBLE,
    begin,
    new_surface,
    normal_of,
    point_of,
    take_in,
)
from superovoid.contact.convex.cores import Cores
from superovoid.contact.convex.features import corner_along, corner_for_sure, has_rims, means_of
from superovoid.contact.convex.simplex import name_of
from superovoid.contact.minkowski.difference import triangle_weights, well_away
from superovoid.contact.minkowski.exit import NEAR, TILT, tilted
from superovoid.shapes.kernels.surface import RADIUS
from superovoid.values.status import ARBITRARY_NORMAL

_EXPANSIONS = 40  # with rims
_FACING = 0.7  # cosine between a direction and the axis of a disc that is tried
_ROUNDS = 4  # of Newton, with a feature more each
_ROUGH = 0.3  # of h_M: height of M above a face from which Newton is tried


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
        found = corner_for_sure(pair, local.n, c.a, c.b)
        if not found.h < c.h + NEAR * goal:
            return rough
        if found.h - local.value > NEAR * goal:
            # Another stratum is higher there.
            bundle = rims.with_stratum(bundle, local.weights, name_of(found.a, found.b))
        elif local.gap > NEAR * goal:
            # The least of these strata, whose points leave the line aside: one on its other side.
            side = combine(1.0, sub(local.x, local.y), -local.value, local.n)
            beside = corner_along(pair, tilted(local.n, side, TILT), c.a, c.b)
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
def _on_facet(pair, surface, count, n, value, goal):
    """The way out through a facet of M of vertices: the foot of the origin is on one of the triangles in its plane."""
    out_of_line()
    x = y = n
    off, foot = math.inf, scale(value, n)
    for f in range(count):
        if surface.planes[f, 3] > value + NEAR * goal or well_away(normal_of(surface, f), n):
            continue
        i, j, k = surface.faces[f, 0], surface.faces[f, 1], surface.faces[f, 2]
        p, q, r = point_of(surface, i), point_of(surface, j), point_of(surface, k)
        weights = triangle_weights(sub(p, foot), sub(q, foot), sub(r, foot))
        m = add(combine(weights[0], p, weights[1], q), scale(weights[2], r))
        beside = norm(sub(m, foot))
        if beside < off:
            off = beside
            x, y = means_of(pair, (surface.names[i], surface.names[j], surface.names[k]), weights)
    return _Exit(n, x, y, value, off <= NEAR * goal, rims.no_cap(n))


@kernel
def _nearest(surface, count, cap):
    """Triangle that comes nearest to the origin outside a cap, and how near."""
    nearest, least = 0, math.inf
    for k in range(count):
        height = rims.height_with_cap(cap, normal_of(surface, k), surface.planes[k, 3])
        if height < least:
            nearest, least = k, height
    return nearest, least


@kernel
def _features_of(surface, f, n, value, name):
    """Bundle of the corners of a triangle that the point `value` n needs, and of one feature more."""
    i, j, k = surface.faces[f, 0], surface.faces[f, 1], surface.faces[f, 2]
    foot = scale(value, n)
    p, q, r = point_of(surface, i), point_of(surface, j), point_of(surface, k)
    weights = rims.weights_to(3, sub(p, foot), sub(q, foot), sub(r, foot))
    bundle = rims.bundle_without_idle(3, (surface.names[i], surface.names[j], surface.names[k]), weights)
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
    surface = new_surface()
    seen, looks = np.empty((2 * _EXPANSIONS, 4)), 0  # directions, and h_M along them
    n = descent.n
    failed = Cores(0.0, -math.inf, math.inf, n, n, n, descent.iterations, 0)
    if not begin(surface, descent.simplex):
        return failed
    a, b, spent = descent.a, descent.b, descent.iterations
    visible = VISIBLE * (pair.a.row[RADIUS] + pair.b.row[RADIUS])
    with_rims = has_rims(pair)
    count, used = 4, 4
    out = _Exit(n, n, n, math.inf, False, rims.no_cap(n))
    depth = 0.0
    for _ in range(_EXPANSIONS if with_rims else POINTS):
        k, depth = _nearest(surface, count, out.cap)
        n, height = normal_of(surface, k), surface.planes[k, 3]
        if not height > margin:
            return failed
        if out.whole and depth >= out.value - 0.5 * goal:
            break
        spent += 1
        c = corner_along(pair, n, a, b)
        if not c.sure and (with_rims or c.h - height <= 0.5 * goal):
            c = corner_for_sure(pair, n, c.a, c.b)
        a, b = c.a, c.b
        if not with_rims:
            if c.h - height <= 0.5 * goal:
                out = _on_facet(pair, surface, count, n, c.h, goal)
                break
        elif c.h - height <= _ROUGH * c.h and (
            c.h < out.value - NEAR * goal or (not out.whole and c.h <= out.value + NEAR * goal)
        ):
            bundle = _features_of(surface, k, n, c.h, name_of(a, b))
            found = way_out(pair, bundle, c, n, goal)
            spent += 2
            if found.value < out.value or (found.whole and not out.whole and found.value <= out.value + NEAR * goal):
                looks = _add_look(seen, looks, out.n, out.value)
                out = found
                if found.whole:
                    continue
        else:
            looks = _add_look(seen, looks, n, c.h)
        if used == POINTS or not c.h - height > visible:
            return failed
        for i in range(3):
            surface.points[used, i] = c.m[i]
        surface.names[used] = name_of(a, b)
        count = take_in(surface, used, count, visible)
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
        u = normal_of(surface, f)
        if well_away(u, out.n) and rims.height_with_cap(out.cap, u, surface.planes[f, 3]) <= value + goal:
            rival = min(rival, corner_for_sure(pair, u, a, b).h)
    proved = min(depth, value)
    if out.cap.tangent > 0.0:
        proved = min(proved, out.cap.least)
    status = ARBITRARY_NORMAL if rival <= value + goal else 0
    return Cores(-value, -value - margin, max(-value, margin - proved), out.x, out.y, out.n, spent, status)
