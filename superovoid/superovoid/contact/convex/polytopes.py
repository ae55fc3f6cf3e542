# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Signed distance of two cores that are hulls of vertices: points, segments, boxes, convex meshes.

The functions of `cores` for these, lean enough for robots of hundreds of pairs. What they cannot close goes there.

descend    GJK over vertices of M = A - B that are named by the two they come from. Hulls are climbed from the vertex of
           the step before. A climb need not end at the highest vertex where it goes on: only a bound that decides has
           to be a proved support value, and there the climb is sure of itself or all vertices are looked at.
expand     The polytope of the vertices found is expanded where it comes nearest to the origin (EPA: van den Bergen,
           "Proximity queries and penetration depth computation on 3D game objects", GDC 2001), until no vertex of M
           lies beyond the nearest face. What that proves: `closed_surface`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, combine, dot, norm, rotate, rotate_back, scale, sub
from superovoid.contact.convex.closed_surface import (
    EDGES,
    FACES,
    POINTS,
    VISIBLE,
    begin,
    nearest_face,
    normal_of,
    point_of,
    take_in,
)
from superovoid.contact.convex.cores import Cores
from superovoid.contact.convex.simplex import Simplex, has, name_of, no_simplex, with_vertex
from superovoid.contact.minkowski.difference import triangle_weights, well_away
from superovoid.contact.minkowski.exit import NEAR
from superovoid.shapes.kernels.kinds import (
    BOX,
    CAPSULE,
    CONVEX_MESH,
    LINKS,
    POINT,
    box_vertex,
    climbed_vertex,
    highest_vertex,
    vertex,
)
from superovoid.shapes.kernels.surface import A3, RADIUS
from superovoid.values.status import ARBITRARY_NORMAL

_STEPS = 48  # of GJK


# --- vertices -----------------------------------------------------------------------------------------------------


@kernel
def is_polytope(kind):
    """Whether a core is the hull of vertices."""
    return kind == CONVEX_MESH or kind == BOX or kind == CAPSULE or kind == POINT


@kernel(forceinline=True)
def vertex_of(core, i):
    """Vertex of a polytope by its number."""
    if core.kind == CONVEX_MESH:
        return vertex(core.row, core.pool, i)
    if core.kind == BOX:
        return box_vertex(core.row, i)
    if core.kind == CAPSULE:
        return (0.0, 0.0, -core.row[A3] if i == 1 else core.row[A3])
    return (0.0, 0.0, 0.0)


@kernel(forceinline=True)
def vertex_along(core, n, start):
    """Number of a vertex far along n, and whether none is farther: hulls with many are climbed."""
    row, kind, pool = core
    if kind == CONVEX_MESH:
        if row[LINKS] >= 0.0:
            return climbed_vertex(row, pool, n, start)
        return highest_vertex(row, pool, n), True
    if kind == BOX:
        return np.int64((1 if n[0] < 0.0 else 0) + (2 if n[1] < 0.0 else 0) + (4 if n[2] < 0.0 else 0)), True
    if kind == CAPSULE:
        return np.int64(1 if n[2] < 0.0 else 0), True
    return np.int64(0), True


class Corner(NamedTuple):
    """Vertex of M."""

    m: tuple
    a: int  # numbers of the vertices it comes from
    b: int
    h: float  # h_M, where it is sure
    sure: bool


@kernel(forceinline=True)
def _corner_of(pair, n, inward, a, b, sure):
    x, y = vertex_of(pair.a, a), vertex_of(pair.b, b)
    m = sub(x, add(pair.centre, rotate(pair.rotation, y)))
    return Corner(m, a, b, dot(n, x) + dot(inward, y) - dot(n, pair.centre), sure)


@kernel(forceinline=True)
def corner_along(pair, n, a, b):
    """Vertex of M far along n, climbed to from two vertices."""
    inward = rotate_back(pair.rotation, scale(-1.0, n))
    a, sure_a = vertex_along(pair.a, n, a)
    b, sure_b = vertex_along(pair.b, inward, b)
    return _corner_of(pair, n, inward, a, b, sure_a and sure_b)


@kernel(separate=True)
def corner_for_sure(pair, n, a, b):
    """Support point of M along n: where the climb is not sure that it has reached one, all vertices are looked at."""
    out_of_line()
    inward = rotate_back(pair.rotation, scale(-1.0, n))
    a, sure = vertex_along(pair.a, n, a)
    if not sure:
        a = highest_vertex(pair.a.row, pair.a.pool, n)
    b, sure = vertex_along(pair.b, inward, b)
    if not sure:
        b = highest_vertex(pair.b.row, pair.b.pool, inward)
    return _corner_of(pair, n, inward, a, b, True)


# --- simplices ----------------------------------------------------------------------------------------------------


@kernel
def means_of(pair, names, weights):
    """Means of vertices of A and of B (in the frame of A)."""
    x = y = (0.0, 0.0, 0.0)
    for i in range(3):
        if weights[i] > 0.0:
            x = combine(1.0, x, weights[i], vertex_of(pair.a, names[i] >> 32))
            y = combine(1.0, y, weights[i], vertex_of(pair.b, names[i] & 0xFFFFFFFF))
    return x, add(pair.centre, rotate(pair.rotation, y))


# --- apart --------------------------------------------------------------------------------------------------------


class Descent(NamedTuple):
    """Where GJK has ended; `lower` and `upper` without what rounding takes from them."""

    simplex: Simplex
    lower: float  # proved, along `n`
    n: tuple
    upper: float
    a: int  # vertices of the last step
    b: int
    iterations: int


@kernel(separate=True)
def descend(pair, n, a, b, goal, near, far):
    """GJK from a direction and two vertices.

    Ends where the interval is closed, the distance is proved to be less than `near` or more than `far`, the simplex
    holds the origin, or nothing moves any more.
    """
    out_of_line()
    simplex = no_simplex()
    lower, best, upper = -math.inf, n, math.inf
    iterations = 0
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
        if upper - lower <= goal or (lower > far and simplex.count > 0) or known:
            break
        simplex = with_vertex(simplex, c.m, name_of(a, b))
        if simplex.count == 4:
            break
        length = norm(simplex.v)
        stalled = not (length < upper)
        upper = min(upper, length)
        if stalled or upper < near or lower > far or not (length > 0.25 * goal):
            break
        n = scale(-1.0 / length, simplex.v)
    return Descent(simplex, lower, best, upper, a, b, iterations)


# --- overlapping --------------------------------------------------------------------------------------------------


@kernel(_nrt=True, separate=True)
def expand(pair, descent, goal, margin):
    """Depth of two polytopes from a tetrahedron that holds the origin; an open interval where that does not succeed."""
    out_of_line()
    points, names = np.empty((POINTS, 3)), np.empty(POINTS, np.int64)
    faces, planes = np.empty((FACES, 3), np.int64), np.empty((FACES, 4))
    edges = np.empty((EDGES, 2), np.int64)
    n = descent.n
    failed = Cores(0.0, -math.inf, math.inf, n, n, n, descent.iterations, 0)
    if not begin(descent.simplex, points, names, faces, planes):
        return failed
    a, b, spent = descent.a, descent.b, descent.iterations
    visible = VISIBLE * (pair.a.row[RADIUS] + pair.b.row[RADIUS])
    count, used = 4, 4
    value = math.inf
    while True:
        k = nearest_face(planes, count)
        n, depth = normal_of(planes, k), planes[k, 3]
        if not depth > margin:
            return failed
        spent += 1
        c = corner_along(pair, n, a, b)
        if not c.sure and c.h - depth <= 0.5 * goal:
            c = corner_for_sure(pair, n, c.a, c.b)
        value = c.h
        if value - depth <= 0.5 * goal:
            break
        a, b = c.a, c.b
        if used == POINTS or not value - depth > visible:
            return failed
        for i in range(3):
            points[used, i] = c.m[i]
        names[used] = name_of(a, b)
        count = take_in(points, used, faces, planes, count, edges, visible)
        if count < 0:
            return failed
        used += 1
    # The foot of the origin is on one of the triangles of the nearest plane.
    x = y = n
    off = math.inf
    rival = math.inf
    foot = scale(value, n)
    for f in range(count):
        if planes[f, 3] > value + goal:
            continue
        u = normal_of(planes, f)
        if well_away(u, n):
            other = corner_for_sure(pair, u, a, b)
            rival = min(rival, other.h)
        elif planes[f, 3] <= value + NEAR * goal:
            p, q, r = point_of(points, faces[f, 0]), point_of(points, faces[f, 1]), point_of(points, faces[f, 2])
            weights = triangle_weights(sub(p, foot), sub(q, foot), sub(r, foot))
            m = add(combine(weights[0], p, weights[1], q), scale(weights[2], r))
            beside = norm(sub(m, foot))
            if beside < off:
                off = beside
                three = (names[faces[f, 0]], names[faces[f, 1]], names[faces[f, 2]])
                x, y = means_of(pair, three, weights)
    if not off <= NEAR * goal:
        return failed
    status = ARBITRARY_NORMAL if rival <= value + goal else 0
    return Cores(-value, -value - margin, max(-value, margin - depth), x, y, n, spent, status)


# --- both ---------------------------------------------------------------------------------------------------------


@kernel
def solve(pair, n, goal, margin, far):
    """Signed distance of two polytopes; an open interval where rounding or the budget leaves it open.

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
    found = descend(pair, n, np.int64(0), np.int64(0), goal - 2.0 * margin, -math.inf, far)
    if found.simplex.count == 4:
        return expand(pair, found, goal, margin)
    x, y = means_of(pair, found.simplex.names, found.simplex.weights)
    u = sub(y, x)
    length = norm(u)
    across = norm(combine(1.0, u, -dot(u, found.n), found.n))
    lower = min(found.lower - margin, length)
    if not (length - found.lower <= goal - 2.0 * margin and across <= margin) and not found.lower > far:
        lower = -math.inf
    return Cores(length, lower, length + margin, x, y, found.n, found.iterations, 0)
