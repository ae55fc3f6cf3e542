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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import cross, dot, norm, scale, sub
from superovoid.shapes.kernels.rounding import EPS

POINTS, FACES = 80, 192  # at most
_EDGES = 3 * FACES
_DETERMINANT = 32.0 * EPS  # of the product of three lengths: what their determinant may round
VISIBLE = 16.0 * EPS  # of both radii: height above a face from which a vertex sees it


class Surface(NamedTuple):
    """Room for vertices and triangles. All arrays change as the surface grows."""

    points: NDArray[np.float64]
    names: NDArray[np.int64]  # of the vertices, as of `simplex.name_of`
    faces: NDArray[np.int64]  # corners of a triangle
    planes: NDArray[np.float64]  # a unit vector, and the least height of a corner along it
    edges: NDArray[np.int64]  # scratch


@kernel(_nrt=True)
def new_surface():
    """A surface without triangles."""
    return Surface(
        np.empty((POINTS, 3)),
        np.empty(POINTS, np.int64),
        np.empty((FACES, 3), np.int64),
        np.empty((FACES, 4)),
        np.empty((_EDGES, 2), np.int64),
    )


@kernel
def normal_of(surface, k):
    """Unit vector of triangle k."""
    return (surface.planes[k, 0], surface.planes[k, 1], surface.planes[k, 2])


@kernel
def point_of(surface, i):
    """Vertex i."""
    return (surface.points[i, 0], surface.points[i, 1], surface.points[i, 2])


@kernel
def _lay(surface, k, i, j, h):
    """Write triangle k with the corners i, j, h."""
    p, q, r = point_of(surface, i), point_of(surface, j), point_of(surface, h)
    u = cross(sub(q, p), sub(r, p))
    length = norm(u)
    u = scale(1.0 / length, u) if length > 0.0 else u
    faces, planes = surface.faces, surface.planes
    faces[k, 0], faces[k, 1], faces[k, 2] = i, j, h
    planes[k, 0], planes[k, 1], planes[k, 2] = u
    planes[k, 3] = min(dot(u, p), dot(u, q), dot(u, r))


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
def begin(surface, simplex):
    """The tetrahedron of a simplex, outward; whether it is proved to hold the origin."""
    first, second = 0, 1
    u, v, w = sub(simplex.q, simplex.p), sub(simplex.r, simplex.p), sub(simplex.s, simplex.p)
    if dot(u, cross(v, w)) < 0.0:
        first, second = 1, 0
    points, names = surface.points, surface.names
    for i in range(3):
        points[first, i], points[second, i] = simplex.p[i], simplex.q[i]
        points[2, i], points[3, i] = simplex.r[i], simplex.s[i]
    names[first], names[second], names[2], names[3] = simplex.names
    _lay(surface, 0, 0, 2, 1)
    _lay(surface, 1, 0, 1, 3)
    _lay(surface, 2, 0, 3, 2)
    _lay(surface, 3, 1, 2, 3)
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
def take_in(surface, used, count, visible):
    """Put vertex `used` in place of the triangles it sees; return how many there are then, -1 where that fails."""
    out_of_line()
    faces, planes, edges = surface.faces, surface.planes, surface.edges
    m = point_of(surface, used)
    rims, left = 0, 0
    for f in range(count):
        height = dot(normal_of(surface, f), m)
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
        _lay(surface, left + e, edges[e, 0], edges[e, 1], used)
    return left + rims
