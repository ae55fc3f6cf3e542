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

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import cross, dot, norm, scale, sub
from superovoid.contact.minkowski.difference import (
    FACES,
    SIMPLEX_LENGTH,
    VERTICES,
    WORKSPACE_LENGTH,
    Found,
    M,
    X,
    Y,
    difference_support,
    mean_point,
    polished,
    put,
    row_point,
    take,
    weigh,
    well_away,
)
from superovoid.contact.minkowski.exit import NEAR
from superovoid.contact.minkowski.on_surfaces import off_line
from superovoid.shapes.kernels.kinds import SUPEROVOID, TORUS
from superovoid.shapes.kernels.rounding import EPS
from superovoid.shapes.kernels.surface import RADIUS

# Columns of the row of a triangle: the rows of its corners, its unit vector, and their least height along that. The
# list of open edges is beside the triangles: the rows of both ends.
_CORNERS, _UNIT, _HEIGHT, _EDGE = 0, 3, 6, 7
_DETERMINANT = 32.0 * EPS  # of the product of three lengths: what their determinant may round
_VISIBLE = 16.0 * EPS  # of both radii: height above a face from which a vertex sees it


@kernel
def are_sharp(pair):
    """Whether the cores of a pair are hulls of vertices and rims."""
    a, b = pair.a.kind, pair.b.kind
    return a != SUPEROVOID and a != TORUS and b != SUPEROVOID and b != TORUS


@kernel
def _copy_row(w, to, row):
    for i in range(SIMPLEX_LENGTH):
        w[to, i] = w[row, i]


@kernel
def _lay(w, face, i, j, k):
    """Write a triangle with the corners in rows i, j, k."""
    p, q, r = row_point(w, i, M), row_point(w, j, M), row_point(w, k, M)
    u = cross(sub(q, p), sub(r, p))
    length = norm(u)
    u = scale(1.0 / length, u) if length > 0.0 else u
    w[face, _CORNERS], w[face, _CORNERS + 1], w[face, _CORNERS + 2] = i, j, k
    w[face, _UNIT], w[face, _UNIT + 1], w[face, _UNIT + 2] = u
    w[face, _HEIGHT] = min(dot(u, p), dot(u, q), dot(u, r))


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
def begin(w):
    """Lay the tetrahedron of the first four rows of a workspace, outward; whether it is proved to hold the origin."""
    p, q, r, s = row_point(w, 0, M), row_point(w, 1, M), row_point(w, 2, M), row_point(w, 3, M)
    first, second = (0, 1) if dot(sub(q, p), cross(sub(r, p), sub(s, p))) >= 0.0 else (1, 0)
    for k, row in enumerate((first, second, 2, 3)):
        _copy_row(w, VERTICES + k, row)
    _lay(w, FACES, VERTICES, VERTICES + 2, VERTICES + 1)
    _lay(w, FACES + 1, VERTICES, VERTICES + 1, VERTICES + 3)
    _lay(w, FACES + 2, VERTICES, VERTICES + 3, VERTICES + 2)
    _lay(w, FACES + 3, VERTICES + 1, VERTICES + 2, VERTICES + 3)
    return _holds_origin(p, q, r, s)


@kernel
def height_of_tetrahedron(w):
    """Radius of a ball about the origin in a tetrahedron of rows; -inf if it is not proved to hold the origin."""
    out_of_line()
    if not begin(w):
        return -math.inf
    return w[_nearest_to_origin(w, FACES + 4), _HEIGHT]


@kernel
def _note_edge(w, count, i, j):
    """Add an edge to the list of open ones, or take its reverse from it; return how many there are."""
    for e in range(FACES, FACES + count):
        if w[e, _EDGE] == j and w[e, _EDGE + 1] == i:
            last = FACES + count - 1
            w[e, _EDGE], w[e, _EDGE + 1] = w[last, _EDGE], w[last, _EDGE + 1]
            return count - 1
    w[FACES + count, _EDGE], w[FACES + count, _EDGE + 1] = i, j
    return count + 1


@kernel
def take_in(w, vertex, end, visible):
    """Put a vertex in place of the triangles it sees, before row `end`; return their end then, -1 if that fails."""
    out_of_line()
    m = row_point(w, vertex, M)
    count, left = 0, FACES
    for face in range(FACES, end):
        if dot(row_point(w, face, _UNIT), m) - w[face, _HEIGHT] > visible:
            if FACES + count + 3 > WORKSPACE_LENGTH:
                return -1
            for i in range(3):
                count = _note_edge(w, count, w[face, _CORNERS + i], w[face, _CORNERS + (i + 1) % 3])
        else:
            if left < face:
                for i in range(_EDGE):
                    w[left, i] = w[face, i]
            left += 1
    if left + count > WORKSPACE_LENGTH or left == end:
        return -1
    for e in range(count):
        _lay(w, left + e, int(w[FACES + e, _EDGE]), int(w[FACES + e, _EDGE + 1]), vertex)
    return left + count


@kernel
def _nearest_to_origin(w, end):
    nearest = FACES
    for face in range(FACES + 1, end):
        if w[face, _HEIGHT] < w[nearest, _HEIGHT]:
            nearest = face
    return nearest


@kernel
def _gather_corners(w, face):
    """Copy the corners of a triangle to the first rows of a workspace."""
    for i in range(3):
        _copy_row(w, i, int(w[face, _CORNERS + i]))


@kernel
def _exit_through(w, end, found, goal):
    """Give the least h_M found points of A and B with x - y along its direction.

    The foot of the origin is on one of the triangles in the plane of the nearest one.
    """
    best, off = found, math.inf
    foot = scale(found.value, found.n)
    for face in range(FACES, end):
        if w[face, _HEIGHT] > found.value + NEAR * goal or well_away(row_point(w, face, _UNIT), found.n):
            continue
        _gather_corners(w, face)
        weigh(w, 0, 3, foot)
        beside = norm(sub(mean_point(w, 3, M), foot))
        if beside < off:
            off = beside
            x, y = mean_point(w, 3, X), mean_point(w, 3, Y)
            best = Found(found.value, found.proved, found.n, x, y, True, found.spent, found.rival)
    return best


@kernel(separate=True)
def expand(pair, n, w, goal, margin):
    """The least h_M from a tetrahedron in a workspace that holds the origin.

    Returns a `Found`, and whether it is proved and its points are one depth apart along the direction. `margin` is what
    rounding may take from the height of a triangle: cores that overlap by less are left to others.
    """
    out_of_line()
    found = Found(math.inf, -math.inf, n, n, n, False, 0, math.inf)
    if not begin(w):
        return found, False
    visible = _VISIBLE * (pair.a.row[RADIUS] + pair.b.row[RADIUS])
    end = FACES + 4
    for vertex in range(VERTICES + 4, FACES):
        nearest = _nearest_to_origin(w, end)
        n, height = row_point(w, nearest, _UNIT), w[nearest, _HEIGHT]
        if not height > margin:
            return found, False
        c = difference_support(pair, n)
        found = take(found, n, c)
        if found.value - height <= 0.5 * goal:
            break
        if not c.h - height > visible:
            return found, False
        put(w, vertex, c)
        end = take_in(w, vertex, end, visible)
        if end < 0:
            return found, False
    nearest = _nearest_to_origin(w, end)
    height = w[nearest, _HEIGHT]
    if not found.value - height <= 0.5 * goal:
        return found, False
    other, least = -1, found.value + goal
    for face in range(FACES, end):
        if w[face, _HEIGHT] <= least and well_away(row_point(w, face, _UNIT), found.n):
            other, least = face, w[face, _HEIGHT]
    if other >= 0:
        _gather_corners(w, other)
        found = polished(pair, row_point(w, other, _UNIT), 3, found, w)
    _gather_corners(w, nearest)
    found = polished(pair, found.n, 3, found, w)
    found = Found(found.value, min(height, found.value), found.n, found.x, found.y, True, found.spent, found.rival)
    if off_line(found.x, found.y, found.value, found.n) > NEAR * goal:
        found = _exit_through(w, end, found, goal)
    return found, off_line(found.x, found.y, found.value, found.n) <= 0.5 * goal
