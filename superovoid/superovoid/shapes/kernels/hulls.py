# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Row and pool of a convex hull that is given by its vertices and its triangles.

All vertices are kept, so that support points are those of the hull without loss. Each triangle has a plane: its normal
n with the offset max n . v over all vertices, so that the hull lies below all planes. What these may misjudge of the
depth of a point (PLANE_LOSS; `superovoid.shapes.hull`) is measured: how far a corner of the triangle lies below its
plane, and how far the normal may be off, which a triangle of area A and edges e, e' tells to 16 EPS e e' / (2 A); a
needle comes within its width of an edge, where its neighbours say as much.

The triangles cover the boundary of the hull once: every edge has as many triangles one way as the other, and their
solid angles about a point inside, all positive, add up to 4 pi.
"""

from __future__ import annotations

import math

import numpy as np

from superovoid.compiled.arrays import Floats1, Floats2, Int32s2
from superovoid.compiled.kernels import entry_point, kernel
from superovoid.compiled.vector import combine, cross, dot, norm, scale, sub
from superovoid.shapes.kernels.bodies import MISMATCH, VALID
from superovoid.shapes.kernels.kinds import (
    BLOCKS,
    CONVEX_MESH,
    KIND,
    LINKS,
    PLANE_COUNT,
    PLANE_LOSS,
    PLANES,
    ROW_LENGTH,
    VERTEX_COUNT,
    VERTICES,
)
from superovoid.shapes.kernels.rounding import EPS
from superovoid.shapes.kernels.surface import A1, RADIUS, S_, SIZE, TX
from superovoid.shapes.kernels.vertex_scan import BLOCK, LANES
from superovoid.values.checks import LEAST_LENGTH, MOST_LENGTH

BAD_VERTICES, BAD_FACES, BAD_HULL = 14, 15, 16

_MOST_LOSS = 1e-6  # of the radius
_FULL = 4.0 * math.pi


@kernel
def _point(rows, i):
    return (rows[i, 0], rows[i, 1], rows[i, 2])


@kernel
def _corners(vertices, faces, k):
    return _point(vertices, faces[k, 0]), _point(vertices, faces[k, 1]), _point(vertices, faces[k, 2])


@kernel
def _extent(vertices, axis):
    low, high = math.inf, -math.inf
    for i in range(vertices.shape[0]):
        low, high = min(low, vertices[i, axis]), max(high, vertices[i, axis])
    return low, high


@kernel
def _check_numbers(vertices, faces):
    count = vertices.shape[0]
    if count < 4:
        return BAD_VERTICES
    widest = 0.0
    for j in range(3):
        for i in range(count):
            if not abs(vertices[i, j]) <= MOST_LENGTH:
                return BAD_VERTICES
        low, high = _extent(vertices, j)
        widest = max(widest, high - low)
    if not widest >= LEAST_LENGTH:
        return BAD_VERTICES
    if faces.shape[0] < 4:
        return BAD_FACES
    for k in range(faces.shape[0]):
        for j in range(3):
            if not 0 <= faces[k, j] < count:
                return BAD_FACES
    return VALID


@kernel(_nrt=True)
def _are_edges_shared(faces, count):
    """Whether there are as many triangles on one side of each edge as on the other."""
    # Edges by their first vertex.
    starts = np.zeros(count + 2, dtype=np.int64)
    for k in range(faces.shape[0]):
        for j in range(3):
            starts[faces[k, j] + 2] += 1
    for i in range(count):
        starts[i + 2] += starts[i + 1]
    ends = np.empty(3 * faces.shape[0], dtype=np.int64)
    for k in range(faces.shape[0]):
        for j in range(3):
            first = faces[k, j] + 1
            ends[starts[first]] = faces[k, (j + 1) % 3]
            starts[first] += 1
    for i in range(count):
        for at in range(starts[i], starts[i + 1]):
            other = ends[at]
            balance = 0
            for k in range(starts[i], starts[i + 1]):
                balance += 1 if ends[k] == other else 0
            for k in range(starts[other], starts[other + 1]):
                balance -= 1 if ends[k] == i else 0
            if balance != 0 or other == i:
                return False
    return True


@kernel
def _measure(vertices, faces, middle, planes):
    """Fill in the planes; return what they may misjudge, m, infinite if these are not the triangles of the hull."""
    count = vertices.shape[0]
    radius = 0.0
    for i in range(count):
        radius = max(radius, norm(_point(vertices, i)))
    loss, angle = 0.0, 0.0
    for k in range(faces.shape[0]):
        a, b, c = _corners(vertices, faces, k)
        e, f, g = sub(b, a), sub(c, a), sub(c, b)
        own = cross(e, f)
        area = norm(own)
        if not area > 0.0:
            return math.inf
        n = scale(1.0 / area, own)
        offset = -math.inf
        for i in range(count):
            offset = max(offset, dot(n, _point(vertices, i)))
        tilt = 16.0 * EPS * norm(e) * norm(f) / area
        width = area / max(norm(e), norm(f), norm(g))
        below = offset - min(dot(n, a), dot(n, b), dot(n, c))
        loss = max(loss, below + min(2.0 * radius * tilt, 2.0 * width))
        u, v, w = sub(a, middle), sub(b, middle), sub(c, middle)
        volume = dot(u, cross(v, w))
        if not volume > 0.0:
            return math.inf
        lu, lv, lw = norm(u), norm(v), norm(w)
        angle += 2.0 * math.atan2(volume, lu * lv * lw + dot(u, v) * lw + dot(v, w) * lu + dot(w, u) * lv)
        planes[4 * k], planes[4 * k + 1], planes[4 * k + 2] = n
        planes[4 * k + 3] = offset
    if not abs(angle - _FULL) < 1.0:
        return math.inf
    loss += 16.0 * EPS * radius
    return loss if loss <= _MOST_LOSS * radius else math.inf


@kernel
def _pack_vertices(vertices, pool, at, blocks_at):
    count = vertices.shape[0]
    for i in range(count):
        for j in range(3):
            pool[at + 3 * i + j] = vertices[i, j]
    for i in range((count + LANES - 1) // LANES * LANES):
        k = i if i < count else 0
        for j in range(3):
            pool[blocks_at + i // LANES * BLOCK + j * LANES + i % LANES] = vertices[k, j]


@entry_point(nogil=True)
def pack_hull(vertices: Floats2, faces: Int32s2, row: Floats1, pool: Floats1) -> int:
    """Fill in row and pool of the convex hull of points.

    Parameters
    ----------
    vertices : array, shape (n, 3)
    faces : array of int32, shape (m, 3)
        The triangles of the hull, counter-clockwise seen from outside.
    row : array, shape (ROW_LENGTH,)
        Zeros.
    pool : array, shape (1 + 3 n + 4 m + BLOCK ceil(n / LANES),)

    Returns
    -------
    int
        VALID, or what is wrong: BAD_VERTICES, BAD_FACES (numbers out of range), BAD_HULL.
    """
    count, facets = vertices.shape[0], faces.shape[0]
    planes_at = 1 + 3 * count
    blocks_at = planes_at + 4 * facets
    if row.shape[0] != ROW_LENGTH or pool.shape[0] != blocks_at + BLOCK * ((count + LANES - 1) // LANES):
        return MISMATCH
    found = _check_numbers(vertices, faces)
    if found != VALID:
        return found
    middle = (0.0, 0.0, 0.0)
    for i in range(count):
        middle = combine(1.0, middle, 1.0 / count, _point(vertices, i))
    if not _are_edges_shared(faces, count):
        return BAD_HULL
    loss = _measure(vertices, faces, middle, pool[planes_at:blocks_at])
    if not loss < math.inf:
        return BAD_HULL
    _pack_vertices(vertices, pool, 1, blocks_at)
    row[KIND] = CONVEX_MESH
    for i in range(count):
        row[RADIUS] = max(row[RADIUS], norm(_point(vertices, i)))
    # Half extents, centre and volume tell hulls apart where the order of two bodies is decided.
    for j in range(3):
        low, high = _extent(vertices, j)
        row[A1 + j] = 0.5 * (high - low)
        row[TX + j] = 0.5 * (low + high)
        row[SIZE] = max(row[SIZE], row[A1 + j])
    for k in range(facets):
        a, b, c = _corners(vertices, faces, k)
        row[S_] += dot(a, cross(b, c)) / 6.0
    row[VERTICES], row[VERTEX_COUNT] = 1, count
    row[PLANES], row[PLANE_COUNT] = planes_at, facets
    row[BLOCKS], row[LINKS] = blocks_at, -1.0
    row[PLANE_LOSS] = loss
    pool[0] = 0.0
    return VALID
