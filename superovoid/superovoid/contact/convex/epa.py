# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""EPA: the depth of two cores of vertices and rims, proved by a closed surface of triangles of points of M = A - B.

The surface starts as a tetrahedron of points of M that holds the origin. It grows where it comes nearest to the origin,
by the support point of M along the normal of the nearest triangle (van den Bergen, "Proximity queries and penetration
depth computation on 3D game objects", GDC 2001), until M reaches no farther along that normal. A rim has a support
point of its own for every direction: each step then halves a triangle, and quarters what it leaves open.

**Proof of a depth.** A ball about the origin lies in M if its radius is the least distance of a triangle from the
origin, and no translation shorter than that parts the bodies. For a unit vector u, however far from the normal of a
triangle, no point of it is nearer than the least u . p over its corners p: this is what counts, for every triangle, so
the surface need not be convex. It closes around the origin for as long as (1) the tetrahedron holds it, by four
determinants beyond what these round, and (2) every triangle that is taken away has u . p > 0 at its corners and at the
new vertex, so that the origin is in none of the tetrahedra that are added. The edges of what is taken away cancel in
pairs, those that are left get a triangle with the new vertex: a closed surface stays one, in whatever order triangles
are found to be visible.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import combine, cross, dot, norm, scale, sub
from superovoid.contact.minkowski.contact_points import NEAR
from superovoid.contact.minkowski.difference import (
    SIMPLEX_LENGTH,
    Found,
    M,
    X,
    Y,
    difference_support,
    polished,
    put,
    row_point,
    take,
    triangle_weights,
    well_away,
)
from superovoid.contact.minkowski.on_surfaces import off_line
from superovoid.shapes.kernels.kinds import SUPEROVOID, TORUS
from superovoid.shapes.kernels.rounding import EPS
from superovoid.shapes.kernels.surface import RADIUS

POINTS = 96  # at most; a rim against a rim takes about 50
FACES = 2 * POINTS  # a closed surface of n vertices has 2 n - 4 triangles
_DETERMINANT = 32.0 * EPS  # of the product of three lengths: what their determinant may round
_VISIBLE = 16.0 * EPS  # of both radii: height above a face from which a vertex sees it


@kernel
def are_sharp(pair):
    """Whether the cores of a pair are hulls of vertices and rims."""
    a, b = pair.a.kind, pair.b.kind
    return a != SUPEROVOID and a != TORUS and b != SUPEROVOID and b != TORUS


class Surface(NamedTuple):
    """Room for vertices and triangles. All arrays change as the surface grows."""

    points: NDArray[np.float64]  # vertices, as rows of a simplex
    faces: NDArray[np.int64]  # corners of a triangle
    planes: NDArray[np.float64]  # a unit vector, and the least height of a corner along it
    edges: NDArray[np.int64]  # scratch


@kernel(_nrt=True)
def new_surface():
    """A surface without triangles."""
    return Surface(
        np.empty((POINTS, SIMPLEX_LENGTH)),
        np.empty((FACES, 3), np.int64),
        np.empty((FACES, 4)),
        np.empty((3 * FACES, 2), np.int64),
    )


@kernel
def normal_of(surface, k):
    """Unit vector of triangle k."""
    return (surface.planes[k, 0], surface.planes[k, 1], surface.planes[k, 2])


@kernel
def _corner(surface, k, i, column):
    """Corner i of triangle k: the point of M, or of a body."""
    return row_point(surface.points, surface.faces[k, i], column)


@kernel
def _mean(surface, k, weights, column):
    """Weighted mean of the corners of triangle k."""
    mean = scale(weights[0], _corner(surface, k, 0, column))
    for i in range(1, 3):
        mean = combine(1.0, mean, weights[i], _corner(surface, k, i, column))
    return mean


@kernel
def _lay(surface, k, i, j, h):
    """Write triangle k with the corners i, j, h."""
    faces, planes = surface.faces, surface.planes
    faces[k, 0], faces[k, 1], faces[k, 2] = i, j, h
    p, q, r = _corner(surface, k, 0, M), _corner(surface, k, 1, M), _corner(surface, k, 2, M)
    u = cross(sub(q, p), sub(r, p))
    length = norm(u)
    u = scale(1.0 / length, u) if length > 0.0 else u
    planes[k, 0], planes[k, 1], planes[k, 2] = u
    planes[k, 3] = min(dot(u, p), dot(u, q), dot(u, r))


@kernel
def _holds_origin(p, q, r, s):
    """Whether four determinants prove that a tetrahedron holds the origin (module docstring, 1).

    The origin is sum l_i p_i with sum l_i = 1, where l_i is in proportion to the determinant of the other three points,
    with alternating signs (Cramer's rule).
    """
    a, b, c, d = norm(p), norm(q), norm(r), norm(s)
    least = _DETERMINANT * max(b * c * d, a * c * d, a * b * d, a * b * c)
    d1, d2, d3, d4 = dot(q, cross(r, s)), -dot(p, cross(r, s)), dot(p, cross(q, s)), -dot(p, cross(q, r))
    return min(d1, d2, d3, d4) > least or max(d1, d2, d3, d4) < -least


@kernel
def begin(surface, w):
    """Lay the tetrahedron of the first four rows of a workspace, outward; whether it is proved to hold the origin."""
    p, q, r, s = row_point(w, 0, M), row_point(w, 1, M), row_point(w, 2, M), row_point(w, 3, M)
    first, second = (0, 1) if dot(sub(q, p), cross(sub(r, p), sub(s, p))) >= 0.0 else (1, 0)
    for i in range(SIMPLEX_LENGTH):
        surface.points[first, i], surface.points[second, i] = w[0, i], w[1, i]
        surface.points[2, i], surface.points[3, i] = w[2, i], w[3, i]
    _lay(surface, 0, 0, 2, 1)
    _lay(surface, 1, 0, 1, 3)
    _lay(surface, 2, 0, 3, 2)
    _lay(surface, 3, 1, 2, 3)
    return _holds_origin(p, q, r, s)


@kernel(_nrt=True)
def height_of_tetrahedron(w):
    """Radius of a ball about the origin in a tetrahedron of rows; -inf if it is not proved to hold the origin."""
    out_of_line()
    surface = new_surface()
    if not begin(surface, w):
        return -math.inf
    return min(surface.planes[0, 3], surface.planes[1, 3], surface.planes[2, 3], surface.planes[3, 3])


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
    m = row_point(surface.points, used, M)
    open_edges, left = 0, 0
    for f in range(count):
        height = dot(normal_of(surface, f), m)
        if height - planes[f, 3] > visible:
            for i in range(3):
                open_edges = _note_edge(edges, open_edges, faces[f, i], faces[f, (i + 1) % 3])
        else:
            if left < f:
                for i in range(3):
                    faces[left, i] = faces[f, i]
                for i in range(4):
                    planes[left, i] = planes[f, i]
            left += 1
    if left + open_edges > FACES or left == count:
        return -1
    for e in range(open_edges):
        _lay(surface, left + e, edges[e, 0], edges[e, 1], used)
    return left + open_edges


@kernel
def _nearest_to_origin(surface, count):
    nearest = 0
    for k in range(1, count):
        if surface.planes[k, 3] < surface.planes[nearest, 3]:
            nearest = k
    return nearest


@kernel
def _gather_corners(surface, k, w):
    """Copy the corners of a triangle to the first rows of a workspace."""
    for corner in range(3):
        for i in range(SIMPLEX_LENGTH):
            w[corner, i] = surface.points[surface.faces[k, corner], i]


@kernel
def _exit_through(surface, count, found, goal):
    """Give the least h_M found points of A and B with x - y along its direction.

    The foot of the origin is on one of the triangles in the plane of the nearest one.
    """
    best, off = found, math.inf
    foot = scale(found.value, found.n)
    for k in range(count):
        if surface.planes[k, 3] > found.value + NEAR * goal or well_away(normal_of(surface, k), found.n):
            continue
        p, q, r = _corner(surface, k, 0, M), _corner(surface, k, 1, M), _corner(surface, k, 2, M)
        weights = triangle_weights(sub(p, foot), sub(q, foot), sub(r, foot))
        beside = norm(sub(_mean(surface, k, weights, M), foot))
        if beside < off:
            off = beside
            x, y = _mean(surface, k, weights, X), _mean(surface, k, weights, Y)
            best = Found(found.value, found.proved, found.n, x, y, True, found.spent, found.rival)
    return best


@kernel(_nrt=True, separate=True)
def expand(pair, n, w, goal, margin):
    """The least h_M from a tetrahedron in a workspace that holds the origin.

    Returns a `Found`, and whether it is proved and its points are one depth apart along the direction. `margin` is what
    rounding may take from the height of a triangle: cores that overlap by less are left to others.
    """
    out_of_line()
    surface = new_surface()
    found = Found(math.inf, -math.inf, n, n, n, False, 0, math.inf)
    if not begin(surface, w):
        return found, False
    visible = _VISIBLE * (pair.a.row[RADIUS] + pair.b.row[RADIUS])
    count = 4
    for used in range(4, POINTS):
        k = _nearest_to_origin(surface, count)
        n, height = normal_of(surface, k), surface.planes[k, 3]
        if not height > margin:
            return found, False
        c = difference_support(pair, n)
        found = take(found, n, c)
        if found.value - height <= 0.5 * goal:
            break
        if not c.h - height > visible:
            return found, False
        put(surface.points, used, c)
        count = take_in(surface, used, count, visible)
        if count < 0:
            return found, False
    k = _nearest_to_origin(surface, count)
    height = surface.planes[k, 3]
    if not found.value - height <= 0.5 * goal:
        return found, False
    other, least = -1, found.value + goal
    for f in range(count):
        if surface.planes[f, 3] <= least and well_away(normal_of(surface, f), found.n):
            other, least = f, surface.planes[f, 3]
    if other >= 0:
        _gather_corners(surface, other, w)
        found = polished(pair, normal_of(surface, other), 3, found, w)
    _gather_corners(surface, k, w)
    found = polished(pair, found.n, 3, found, w)
    found = Found(found.value, min(height, found.value), found.n, found.x, found.y, True, found.spent, found.rival)
    if off_line(found.x, found.y, found.value, found.n) > NEAR * goal:
        found = _exit_through(surface, count, found, goal)
    return found, off_line(found.x, found.y, found.value, found.n) <= 0.5 * goal
