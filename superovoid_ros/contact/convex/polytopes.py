# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Signed distance of two cores that are hulls of vertices: points, segments, boxes, convex meshes.

The functions of `cores` for these, lean enough for robots of hundreds of pairs. What they cannot close goes there.

descend    GJK over vertices of M = A - B that are named by the two they come from. Hulls are climbed from the vertex of
           the step before. A climb need not end at the highest vertex where it goes on: only a bound that decides has
           to be a proved support value, and there the climb is sure of itself or all vertices are looked at.
expand     The polytope of the vertices found is expanded where it comes nearest to the origin (EPA: van den Bergen,
           "Proximity queries and penetration depth computation on 3D game objects", GDC 2001), until no vertex of M
           lies beyond the nearest face.

**Proof of a depth.** The faces are triangles of points of M that close around the origin: then a ball about it lies in
M whose radius is the least distance of a triangle from the origin, and no translation shorter than that parts the
bodies. For a unit vector u, however far from the normal of a triangle, no point of it is nearer than the least u . p
over its corners p: this is what counts, for every triangle, so the faces need not be convex. They close around the
origin for as long as (1) the first tetrahedron holds it, by four determinants beyond what these round, and (2) every
triangle that is taken away has u . p > 0 at its corners and at the new vertex, so that the origin is in none of the
tetrahedra that are added. The edges of what is taken away cancel in pairs, those that are left get a triangle with the
new vertex: a closed surface stays one, in whatever order triangles are found to be visible.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid_ros.compiled.jit import kernel, out_of_line
from superovoid_ros.compiled.vector import add, combine, cross, dot, norm, rotate, rotate_back, scale, sub
from superovoid_ros.contact.convex.cores import Cores
from superovoid_ros.contact.minkowski.difference import segment_weights, triangle_weights, well_away
from superovoid_ros.contact.minkowski.exit import NEAR
from superovoid_ros.contact.status import ARBITRARY_NORMAL
from superovoid_ros.shapes.kernels.kinds import (
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
from superovoid_ros.shapes.kernels.rounding import EPS
from superovoid_ros.shapes.kernels.surface import A3, RADIUS

_STEPS = 48  # of GJK
_POINTS, _FACES = 80, 192  # of the polytope, at most
_DETERMINANT = 32.0 * EPS  # of the product of three lengths: what their determinant may round
_VISIBLE = 16.0 * EPS  # of both radii: height above a face from which a vertex sees it


# --- vertices -----------------------------------------------------------------------------------------------------


@kernel
def is_polytope(kind):
    """Whether a core is the hull of vertices."""
    return kind == CONVEX_MESH or kind == BOX or kind == CAPSULE or kind == POINT


@kernel(forceinline=True)
def _vertex_of(core, i):
    """Vertex of a polytope by its number."""
    if core.kind == CONVEX_MESH:
        return vertex(core.row, core.pool, i)
    if core.kind == BOX:
        return box_vertex(core.row, i)
    if core.kind == CAPSULE:
        return (0.0, 0.0, -core.row[A3] if i == 1 else core.row[A3])
    return (0.0, 0.0, 0.0)


@kernel(forceinline=True)
def _vertex_along(core, n, start):
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
    x, y = _vertex_of(pair.a, a), _vertex_of(pair.b, b)
    m = sub(x, add(pair.centre, rotate(pair.rotation, y)))
    return Corner(m, a, b, dot(n, x) + dot(inward, y) - dot(n, pair.centre), sure)


@kernel(forceinline=True)
def corner_along(pair, n, a, b):
    """Vertex of M far along n, climbed to from two vertices."""
    inward = rotate_back(pair.rotation, scale(-1.0, n))
    a, sure_a = _vertex_along(pair.a, n, a)
    b, sure_b = _vertex_along(pair.b, inward, b)
    return _corner_of(pair, n, inward, a, b, sure_a and sure_b)


@kernel
def corner_for_sure(pair, n, a, b):
    """Support point of M along n: where the climb is not sure that it has reached one, all vertices are looked at."""
    out_of_line()
    inward = rotate_back(pair.rotation, scale(-1.0, n))
    a, sure = _vertex_along(pair.a, n, a)
    if not sure:
        a = highest_vertex(pair.a.row, pair.a.pool, n)
    b, sure = _vertex_along(pair.b, inward, b)
    if not sure:
        b = highest_vertex(pair.b.row, pair.b.pool, inward)
    return _corner_of(pair, n, inward, a, b, True)


# --- simplices ----------------------------------------------------------------------------------------------------


class Simplex(NamedTuple):
    """Up to four vertices of M, what they come from, and the weights of the point nearest to the origin."""

    count: int  # type: ignore[assignment] # a number of vertices, not the method of tuples
    p: tuple
    q: tuple
    r: tuple
    s: tuple
    names: tuple  # of p, q, r, s: both numbers in one
    weights: tuple  # of p, q, r
    v: tuple  # that point


@kernel
def _name(a, b):
    return (a << 32) | b


@kernel
def _one(p, name):
    o = (0.0, 0.0, 0.0)
    return Simplex(1, p, o, o, o, (name, -1, -1, -1), (1.0, 0.0, 0.0), p)


@kernel
def _two(p, q, name_p, name_q):
    s, t = segment_weights(p, q)
    if t <= 0.0:
        return _one(p, name_p)
    if s <= 0.0:
        return _one(q, name_q)
    o = (0.0, 0.0, 0.0)
    return Simplex(2, p, q, o, o, (name_p, name_q, -1, -1), (s, t, 0.0), combine(s, p, t, q))


@kernel
def _three(p, q, r, name_p, name_q, name_r):
    """Nearest point of a triangle, of which p is new: it is not on the edge of the other two."""
    u, v = sub(q, p), sub(r, p)
    normal = cross(u, v)
    area = dot(normal, normal)
    if area > 0.0:
        # The origin's foot, as in `triangle_weights`.
        wq = dot(cross(v, p), normal) / area
        wr = dot(cross(p, u), normal) / area
        wp = 1.0 - wq - wr
        if wp > 0.0 and wq > 0.0 and wr > 0.0:
            x = add(combine(wp, p, wq, q), scale(wr, r))
            return Simplex(3, p, q, r, p, (name_p, name_q, name_r, -1), (wp, wq, wr), x)
    one, other = _two(p, q, name_p, name_q), _two(p, r, name_p, name_r)
    return one if dot(one.v, one.v) <= dot(other.v, other.v) else other


@kernel
def _beyond(p, q, r, opposite):
    """Whether the origin is not on the side of the opposite vertex of a face."""
    normal = cross(sub(q, p), sub(r, p))
    return not dot(normal, sub(opposite, p)) * dot(normal, p) < 0.0


@kernel
def _four(p, old, name_p):
    """Nearest point of a tetrahedron, of which p is new: it is not on the face of the other three."""
    q, r, s = old.p, old.q, old.r
    name_q, name_r, name_s, _ = old.names
    best, least = old, math.inf
    for f in range(3):
        if f == 0:
            i, j, opposite, name_i, name_j = q, r, s, name_q, name_r
        elif f == 1:
            i, j, opposite, name_i, name_j = r, s, q, name_r, name_s
        else:
            i, j, opposite, name_i, name_j = s, q, r, name_s, name_q
        if _beyond(p, i, j, opposite):
            face = _three(p, i, j, name_p, name_i, name_j)
            length = dot(face.v, face.v)
            if length < least:
                best, least = face, length
    if least < math.inf or _beyond(q, r, s, p):
        return best
    return Simplex(4, p, q, r, s, (name_p, name_q, name_r, name_s), old.weights, (0.0, 0.0, 0.0))


@kernel
def _with(simplex, p, name):
    """The vertices that the nearest point of a simplex and one more vertex needs."""
    out_of_line()
    if simplex.count == 0:
        return _one(p, name)
    if simplex.count == 1:
        return _two(p, simplex.p, name, simplex.names[0])
    if simplex.count == 2:
        return _three(p, simplex.p, simplex.q, name, simplex.names[0], simplex.names[1])
    return _four(p, simplex, name)


@kernel
def _has(simplex, name):
    i, j, k, _ = simplex.names
    return name == i or name == j or name == k


@kernel
def _means(pair, names, weights):
    """Means of vertices of A and of B (in the frame of A)."""
    x = y = (0.0, 0.0, 0.0)
    for i in range(3):
        if weights[i] > 0.0:
            x = combine(1.0, x, weights[i], _vertex_of(pair.a, names[i] >> 32))
            y = combine(1.0, y, weights[i], _vertex_of(pair.b, names[i] & 0xFFFFFFFF))
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


@kernel
def descend(pair, n, a, b, goal, near, far):
    """GJK from a direction and two vertices.

    Ends where the interval is closed, the distance is proved to be less than `near` or more than `far`, the simplex
    holds the origin, or nothing moves any more.
    """
    out_of_line()
    o = (0.0, 0.0, 0.0)
    simplex = Simplex(0, o, o, o, o, (-1, -1, -1, -1), (0.0, 0.0, 0.0), o)
    lower, best, upper = -math.inf, n, math.inf
    iterations = 0
    for _ in range(_STEPS):
        iterations += 1
        c = corner_along(pair, n, a, b)
        known = _has(simplex, _name(c.a, c.b))
        if not c.sure and (known or -c.h > far or upper + c.h <= goal):
            c = corner_for_sure(pair, n, c.a, c.b)
            known = _has(simplex, _name(c.a, c.b))
        a, b = c.a, c.b
        if c.sure and -c.h > lower:
            lower, best = -c.h, n
        if upper - lower <= goal or (lower > far and simplex.count > 0) or known:
            break
        simplex = _with(simplex, c.m, _name(a, b))
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


@kernel
def _lay(faces, planes, k, points, i, j, h):
    """Write triangle k: its corners, a unit vector, and the least height of a corner along it."""
    p, q, r = (
        (points[i, 0], points[i, 1], points[i, 2]),
        (points[j, 0], points[j, 1], points[j, 2]),
        (points[h, 0], points[h, 1], points[h, 2]),
    )
    u = cross(sub(q, p), sub(r, p))
    length = norm(u)
    u = scale(1.0 / length, u) if length > 0.0 else u
    faces[k, 0], faces[k, 1], faces[k, 2] = i, j, h
    planes[k, 0], planes[k, 1], planes[k, 2] = u
    planes[k, 3] = min(dot(u, p), dot(u, q), dot(u, r))


@kernel
def _normal(planes, k):
    return (planes[k, 0], planes[k, 1], planes[k, 2])


@kernel
def _point(points, i):
    return (points[i, 0], points[i, 1], points[i, 2])


@kernel
def _height_of_face(p, q, r, opposite):
    """Least height of a corner of a face along its outward normal, in a tetrahedron."""
    u = cross(sub(q, p), sub(r, p))
    length = norm(u)
    if not (length > 0.0):
        return -math.inf
    u = scale(1.0 / length, u)
    if dot(u, sub(opposite, p)) > 0.0:
        u = scale(-1.0, u)
    return min(dot(u, p), dot(u, q), dot(u, r))


@kernel
def _volumes_of(p, q, r, s):
    """Whether four determinants prove that a tetrahedron holds the origin (module docstring, 1).

    The origin is sum l_i p_i with sum l_i = 1, where l_i is in proportion to the determinant of the other three points,
    with alternating signs (Cramer's rule).
    """
    a, b, c, d = norm(p), norm(q), norm(r), norm(s)
    least = _DETERMINANT * max(b * c * d, a * c * d, a * b * d, a * b * c)
    d1, d2, d3, d4 = dot(q, cross(r, s)), -dot(p, cross(r, s)), dot(p, cross(q, s)), -dot(p, cross(q, r))
    return min(d1, d2, d3, d4) > least or max(d1, d2, d3, d4) < -least


@kernel
def height_of_tetrahedron(p, q, r, s):
    """Radius of a ball about the origin that lies in a tetrahedron; -inf where the origin is not proved to be in it."""
    out_of_line()
    if not _volumes_of(p, q, r, s):
        return -math.inf
    return min(
        min(_height_of_face(p, q, r, s), _height_of_face(q, r, s, p)),
        min(_height_of_face(r, s, p, q), _height_of_face(s, p, q, r)),
    )


@kernel
def _begin_polytope(simplex, points, names, faces, planes):
    """The tetrahedron of a simplex, outward; whether it is proved to hold the origin."""
    first, second = 0, 1
    u, v, w = sub(simplex.q, simplex.p), sub(simplex.r, simplex.p), sub(simplex.s, simplex.p)
    if dot(u, cross(v, w)) < 0.0:
        first, second = 1, 0
    for i in range(3):
        points[first, i], points[second, i] = simplex.p[i], simplex.q[i]
        points[2, i], points[3, i] = simplex.r[i], simplex.s[i]
    names[first], names[second], names[2], names[3] = simplex.names
    _lay(faces, planes, 0, points, 0, 2, 1)
    _lay(faces, planes, 1, points, 0, 1, 3)
    _lay(faces, planes, 2, points, 0, 3, 2)
    _lay(faces, planes, 3, points, 1, 2, 3)
    return _volumes_of(simplex.p, simplex.q, simplex.r, simplex.s)


@kernel
def _note_edge(edges, count, i, j):
    """Add an edge to a list, or take its reverse from it; return how many there are."""
    for k in range(count):
        if edges[k, 0] == j and edges[k, 1] == i:
            edges[k, 0], edges[k, 1] = edges[count - 1, 0], edges[count - 1, 1]
            return count - 1
    edges[count, 0], edges[count, 1] = i, j
    return count + 1


@kernel
def _nearest_face(planes, count):
    nearest = 0
    for k in range(1, count):
        if planes[k, 3] < planes[nearest, 3]:
            nearest = k
    return nearest


@kernel(_nrt=True)
def expand(pair, descent, goal, margin):
    """Depth of two polytopes from a tetrahedron that holds the origin; an open interval where that does not succeed."""
    out_of_line()
    points, names = np.empty((_POINTS, 3)), np.empty(_POINTS, np.int64)
    faces, planes = np.empty((_FACES, 3), np.int64), np.empty((_FACES, 4))
    edges = np.empty((3 * _FACES, 2), np.int64)
    n = descent.n
    failed = Cores(0.0, -math.inf, math.inf, n, n, n, descent.iterations, 0)
    if not _begin_polytope(descent.simplex, points, names, faces, planes):
        return failed
    a, b, spent = descent.a, descent.b, descent.iterations
    visible = _VISIBLE * (pair.a.row[RADIUS] + pair.b.row[RADIUS])
    count, used = 4, 4
    value = math.inf
    while True:
        k = _nearest_face(planes, count)
        n, depth = _normal(planes, k), planes[k, 3]
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
        if used == _POINTS or not value - depth > visible:
            return failed
        for i in range(3):
            points[used, i] = c.m[i]
        names[used] = _name(a, b)
        # Take away what the new vertex sees.
        rims, left = 0, 0
        for f in range(count):
            height = dot(_normal(planes, f), c.m)
            if height - planes[f, 3] > visible:
                for i in range(3):
                    rims = _note_edge(edges, rims, faces[f, i], faces[f, (i + 1) % 3])
            else:
                if left < f:
                    for i in range(3):
                        faces[left, i] = faces[f, i]
                    for i in range(4):
                        planes[left, i] = planes[f, i]
                left += 1
        if left + rims > _FACES or left == count:
            return failed
        for e in range(rims):
            _lay(faces, planes, left + e, points, edges[e, 0], edges[e, 1], used)
        count = left + rims
        used += 1
    # The foot of the origin is on one of the triangles of the nearest plane.
    x = y = n
    off = math.inf
    rival = math.inf
    foot = scale(value, n)
    for f in range(count):
        if planes[f, 3] > value + goal:
            continue
        u = _normal(planes, f)
        if well_away(u, n):
            other = corner_for_sure(pair, u, a, b)
            rival = min(rival, other.h)
        elif planes[f, 3] <= value + NEAR * goal:
            p, q, r = _point(points, faces[f, 0]), _point(points, faces[f, 1]), _point(points, faces[f, 2])
            weights = triangle_weights(sub(p, foot), sub(q, foot), sub(r, foot))
            m = add(combine(weights[0], p, weights[1], q), scale(weights[2], r))
            beside = norm(sub(m, foot))
            if beside < off:
                off = beside
                three = (names[faces[f, 0]], names[faces[f, 1]], names[faces[f, 2]])
                x, y = _means(pair, three, weights)
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
    x, y = _means(pair, found.simplex.names, found.simplex.weights)
    u = sub(y, x)
    length = norm(u)
    across = norm(combine(1.0, u, -dot(u, found.n), found.n))
    lower = min(found.lower - margin, length)
    if not (length - found.lower <= goal - 2.0 * margin and across <= margin) and not found.lower > far:
        lower = -math.inf
    return Cores(length, lower, length + margin, x, y, found.n, found.iterations, 0)
