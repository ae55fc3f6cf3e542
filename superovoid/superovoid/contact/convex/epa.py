# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""EPA: the depth of two cores of vertices and rims, proved by a closed surface of triangles of points of M = A - B.

The surface starts as a tetrahedron of points of M that contains the origin. Each step adds the support point of M along
the normal of the triangle nearest to the origin (van den Bergen, "Proximity queries and penetration depth computation
on 3D game objects", GDC 2001), until M reaches no farther along that normal. A rim has a different support point for
every direction: each step then halves a triangle, and quarters the gap that it leaves.

**Proof of a depth.** A ball about the origin lies in M if its radius is the least distance of a triangle from the
origin, and no translation shorter than that separates the bodies. For any unit vector u, however far from the normal of
a triangle, no point of the triangle is nearer than the least u . p over its corners p. The proof uses this bound for
every triangle, so the surface need not be convex. It encloses the origin as long as (1) the tetrahedron contains it, by
four determinants that exceed their rounding errors, and (2) every removed triangle has u . p > 0 at its corners and at
the new vertex, so that no added tetrahedron contains the origin. The edges of removed triangles cancel in pairs, and
each remaining edge gets a triangle with the new vertex: the surface stays closed, whatever the order in which triangles
are found visible.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.kernels import kernel
from superovoid.compiled.rows import layout
from superovoid.compiled.vector import Vector, cross, dot, norm, scale, sub, vector_in
from superovoid.contact.inputs import MOST_STEPS
from superovoid.contact.minkowski.difference import (
    SIMPLEX,
    SIMPLEX_LENGTH,
    SearchResult,
    are_well_apart,
    copy_row,
    difference_support,
    keep_better,
    polish_result,
    put,
)
from superovoid.shapes.kernels.kinds import SUPEROVOID, TORUS
from superovoid.shapes.kernels.rounding import ROUNDED
from superovoid.shapes.kernels.surface import RADIUS

MOST_FACES = 2 * MOST_STEPS  # a step adds a vertex, and a closed surface of n vertices has 2 n - 4 triangles
# Rows of `Surface.faces`: of each triangle the rows of its corners, its unit vector, the least height of a corner along
# it, and the height of a vertex above that. The last two rows list the open edges, by the corners at both ends.
FACE, FACE_LENGTH = layout(1, corners=3, unit=Vector, height=float, above=float, edge=2)


@kernel
def are_sharp(pair):
    """Return whether the cores of a pair are hulls of vertices and rims."""
    a, b = pair.a.kind, pair.b.kind
    return a != SUPEROVOID and a != TORUS and b != SUPEROVOID and b != TORUS


class Surface(NamedTuple):
    """Memory for vertices and triangles. All arrays change as the surface grows."""

    vertices: NDArray[np.float64]  # rows as of a simplex
    faces: NDArray[np.float64]  # one column per triangle: a vector instruction handles several of them


@kernel(_nrt=True)
def new_surface():
    """Return a surface without triangles."""
    split = MOST_STEPS * SIMPLEX_LENGTH
    memory = np.empty(split + FACE_LENGTH * MOST_FACES)
    return Surface(memory[:split].reshape(MOST_STEPS, SIMPLEX_LENGTH), memory[split:].reshape(FACE_LENGTH, MOST_FACES))


@kernel
def _unit(faces, f):
    """Return the unit vector of a triangle."""
    return (faces[FACE.unit, f], faces[FACE.unit + 1, f], faces[FACE.unit + 2, f])


@kernel
def _lay(surface, f, i, j, k):
    """Write a triangle with the vertices i, j, k."""
    vertices, faces = surface
    p, q, r = vector_in(vertices, i, SIMPLEX.m), vector_in(vertices, j, SIMPLEX.m), vector_in(vertices, k, SIMPLEX.m)
    u = cross(sub(q, p), sub(r, p))
    length = norm(u)
    u = scale(1.0 / length, u) if length > 0.0 else u
    faces[FACE.corners, f], faces[FACE.corners + 1, f], faces[FACE.corners + 2, f] = i, j, k
    faces[FACE.unit, f], faces[FACE.unit + 1, f], faces[FACE.unit + 2, f] = u
    faces[FACE.height, f] = min(dot(u, p), dot(u, q), dot(u, r))


@kernel
def _holds_origin(p, q, r, s):
    """Return whether four determinants prove that a tetrahedron contains the origin (module docstring, 1).

    The origin is sum l_i p_i with sum l_i = 1. Each l_i is proportional to the determinant of the other three points,
    with alternating signs (Cramer's rule).
    """
    a, b, c, d = norm(p), norm(q), norm(r), norm(s)
    least = ROUNDED * max(b * c * d, a * c * d, a * b * d, a * b * c)
    d1, d2, d3, d4 = dot(q, cross(r, s)), -dot(p, cross(r, s)), dot(p, cross(q, s)), -dot(p, cross(q, r))
    return min(d1, d2, d3, d4) > least or max(d1, d2, d3, d4) < -least


@kernel
def _nearest_triangle(faces, count):
    """Return the triangle nearest to the origin."""
    nearest = 0
    for f in range(1, count):
        nearest = f if faces[FACE.height, f] < faces[FACE.height, nearest] else nearest
    return nearest


@kernel
def begin(surface, w):
    """Write the tetrahedron of the first four rows of a workspace, with outward triangles.

    Returns its triangle nearest to the origin; -1 if the tetrahedron is not proved to contain the origin.
    """
    p, q, r, s = (
        vector_in(w, 0, SIMPLEX.m),
        vector_in(w, 1, SIMPLEX.m),
        vector_in(w, 2, SIMPLEX.m),
        vector_in(w, 3, SIMPLEX.m),
    )
    first, second = (0, 1) if dot(sub(q, p), cross(sub(r, p), sub(s, p))) >= 0.0 else (1, 0)
    for k, row in enumerate((first, second, 2, 3)):
        copy_row(w, row, surface.vertices, k)
    for f, (i, j, k) in enumerate(((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))):
        _lay(surface, f, i, j, k)
    return _nearest_triangle(surface.faces, 4) if _holds_origin(p, q, r, s) else -1


@kernel(_nrt=True)
def height_of_tetrahedron(w):
    """Return the radius of a ball about the origin in a tetrahedron of rows; -inf if no such ball is proved."""
    surface = new_surface()
    nearest = begin(surface, w)
    return surface.faces[FACE.height, nearest] if nearest >= 0 else -math.inf


@kernel
def _note_edge(faces, count, i, j):
    """Add an edge to the list of open edges, or remove its reverse; return the number of open edges."""
    for e in range(count):
        if faces[FACE.edge, e] == j and faces[FACE.edge + 1, e] == i:
            faces[FACE.edge, e], faces[FACE.edge + 1, e] = faces[FACE.edge, count - 1], faces[FACE.edge + 1, count - 1]
            return count - 1
    faces[FACE.edge, count], faces[FACE.edge + 1, count] = i, j
    return count + 1


@kernel
def take_in(surface, vertex, count, visible):
    """Replace the triangles visible from a vertex; return the new number of triangles, 0 on failure."""
    faces, m, before = surface.faces, vector_in(surface.vertices, vertex, SIMPLEX.m), count
    for f in range(count):
        faces[FACE.above, f] = dot(_unit(faces, f), m) - faces[FACE.height, f]
    edges = 0
    for f in range(count - 1, -1, -1):
        if faces[FACE.above, f] > visible:
            if edges + 3 > MOST_FACES:
                return 0
            for i in range(3):
                edges = _note_edge(faces, edges, faces[FACE.corners + i, f], faces[FACE.corners + (i + 1) % 3, f])
            count -= 1
            for i in range(FACE.above):
                faces[i, f] = faces[i, count]
    if count + edges > MOST_FACES or count == before:
        return 0
    for e in range(edges):
        _lay(surface, count + e, int(faces[FACE.edge, e]), int(faces[FACE.edge + 1, e]), vertex)
    return count + edges


@kernel(_nrt=True, separate=True)
def expand(pair, n, w, goal, margin):
    """Find the least h_M, from a tetrahedron in a workspace that contains the origin.

    Returns a `SearchResult`, whose `proved` is -inf unless it is within half the goal of the value. `margin` bounds the
    rounding error of a triangle's height: other methods solve cores that overlap by less.
    """
    found = SearchResult(math.inf, -math.inf, n, n, n, False, 0, math.inf)
    surface = new_surface()
    nearest = begin(surface, w)
    visible = ROUNDED * (pair.a.row[RADIUS] + pair.b.row[RADIUS])
    faces, count, height = surface.faces, 4, -math.inf
    for vertex in range(4, MOST_STEPS):
        if nearest < 0 or not faces[FACE.height, nearest] > margin:
            return found
        n, height = _unit(faces, nearest), faces[FACE.height, nearest]
        c = difference_support(pair, n)
        found = keep_better(found, n, c)
        if found.value - height <= 0.5 * goal:
            break
        if not c.h - height > visible:
            return found
        put(surface.vertices, vertex, c)
        count = take_in(surface, vertex, count, visible)
        nearest = _nearest_triangle(faces, count) if count > 0 else -1
    if not found.value - height <= 0.5 * goal:
        return found
    other, least = -1, found.value + goal
    for f in range(count):
        if faces[FACE.height, f] <= least and are_well_apart(_unit(faces, f), found.n):
            other, least = f, faces[FACE.height, f]
    for f in (other, nearest):
        if f >= 0:
            for i in range(3):
                copy_row(surface.vertices, int(faces[FACE.corners + i, f]), w, i)
            found = polish_result(pair, _unit(faces, f) if f == other else found.n, 3, found, w)
    value, _, n, x, y, _, spent, rival = found
    return SearchResult(value, min(height, value), n, x, y, True, spent, rival)
