# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""A closed surface of triangles around the origin whose corners are points of M = A - B: it proves a depth.

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

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import cross, dot, norm, scale, sub
from superovoid.shapes.kernels.rounding import EPS

POINTS, FACES = 80, 192  # at most
EDGES = 3 * FACES
_DETERMINANT = 32.0 * EPS  # of the product of three lengths: what their determinant may round
VISIBLE = 16.0 * EPS  # of both radii: height above a face from which a vertex sees it


@kernel
def lay(faces, planes, k, points, i, j, h):
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
def normal_of(planes, k):
    """Unit vector of triangle k."""
    return (planes[k, 0], planes[k, 1], planes[k, 2])


@kernel
def point_of(points, i):
    """Vertex i."""
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
def begin(simplex, points, names, faces, planes):
    """The tetrahedron of a simplex, outward; whether it is proved to hold the origin."""
    first, second = 0, 1
    u, v, w = sub(simplex.q, simplex.p), sub(simplex.r, simplex.p), sub(simplex.s, simplex.p)
    if dot(u, cross(v, w)) < 0.0:
        first, second = 1, 0
    for i in range(3):
        points[first, i], points[second, i] = simplex.p[i], simplex.q[i]
        points[2, i], points[3, i] = simplex.r[i], simplex.s[i]
    names[first], names[second], names[2], names[3] = simplex.names
    lay(faces, planes, 0, points, 0, 2, 1)
    lay(faces, planes, 1, points, 0, 1, 3)
    lay(faces, planes, 2, points, 0, 3, 2)
    lay(faces, planes, 3, points, 1, 2, 3)
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
def nearest_face(planes, count):
    """Triangle whose corners are least far along its unit vector."""
    nearest = 0
    for k in range(1, count):
        if planes[k, 3] < planes[nearest, 3]:
            nearest = k
    return nearest


@kernel
def take_in(points, used, faces, planes, count, edges, visible):
    """Put vertex `used` in place of the triangles it sees; return how many there are then, -1 where that fails."""
    out_of_line()
    m = point_of(points, used)
    rims, left = 0, 0
    for f in range(count):
        height = dot(normal_of(planes, f), m)
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
    if left + rims > FACES or left == count:
        return -1
    for e in range(rims):
        lay(faces, planes, left + e, points, edges[e, 0], edges[e, 1], used)
    return left + rims
