# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Rows and pools of bodies given by vertices and triangles: convex hulls, and meshes with their hulls.

Each triangle of a hull has a plane: its normal n with the offset max n . v over all vertices, so that the hull lies
below all planes. What these may misjudge of the depth of a point (PLANE_LOSS) is how far a corner of the triangle lies
below its plane, whatever the rounding of the normal (`superovoid.shapes.hull`).

The triangles cover the boundary of the hull once: every edge has two triangles, turned the same way, and their
solid angles about a point inside, all positive, add up to 4 pi.

Of the vertices the hull keeps those that the planes do not prove to lie inside: deeper than PLANE_LOSS. So support
points are those of the hull without loss.
"""

from __future__ import annotations

import math

import numpy as np

from superovoid.compiled.aabb_tree import NODE_LENGTH, arrange_triangles, node_count
from superovoid.compiled.arrays import Floats1, Floats2, Int32s2
from superovoid.compiled.kernels import entry_point, kernel
from superovoid.compiled.vector import LEAST_DIVISOR, combine, cross, dot, norm, put_vector, scale, sub, vector_at
from superovoid.compiled.vertex_scan import BLOCK, LANES
from superovoid.shapes.kernels import kinds
from superovoid.shapes.kernels.bodies import MISMATCH, VALID
from superovoid.shapes.kernels.kinds import ROW_LENGTH
from superovoid.shapes.kernels.rounding import EPS
from superovoid.shapes.kernels.surface import A1, RADIUS, S_, SIZE, TX
from superovoid.values.checks import LEAST_LENGTH, MOST_LENGTH

BAD_VERTICES, BAD_FACES, BAD_HULL, BAD_SURFACE = 14, 15, 16, 18

# What the difference of two heights above a plane rounds, in units of the radius. A mesh whose vertices lie above its
# triangles' planes by at most this counts as its hull: the allowance for cores has a larger reserve (`rounding`),
# 64 EPS less 44.1 EPS.
HEIGHT_ROUNDING = 16.0 * EPS
_MOST_LOSS = 1e-6  # of the radius
_FULL = 4.0 * math.pi


@kernel
def _corners(vertices, faces, k):
    return vector_at(vertices[faces[k, 0]], 0), vector_at(vertices[faces[k, 1]], 0), vector_at(vertices[faces[k, 2]], 0)


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
    """Return whether each edge has two triangles, one on either side."""
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
            ahead = back = 0
            for k in range(starts[i], starts[i + 1]):
                ahead += 1 if ends[k] == other else 0
            for k in range(starts[other], starts[other + 1]):
                back += 1 if ends[k] == i else 0
            if not ahead == back == 1:
                return False
    return True


@kernel
def _measure(vertices, faces, middle, planes):
    """Fill in the planes; return what they may misjudge, m, infinite if these are not the triangles of the hull."""
    count = vertices.shape[0]
    radius = 0.0
    for i in range(count):
        radius = max(radius, norm(vector_at(vertices[i], 0)))
    loss, angle = 0.0, 0.0
    for k in range(faces.shape[0]):
        a, b, c = _corners(vertices, faces, k)
        own = cross(sub(b, a), sub(c, a))
        area = norm(own)
        if not area > 0.0:
            return math.inf
        n = scale(1.0 / area, own)
        offset = -math.inf
        for i in range(count):
            offset = max(offset, dot(n, vector_at(vertices[i], 0)))
        loss = max(loss, offset - min(dot(n, a), dot(n, b), dot(n, c)))
        u, v, w = sub(a, middle), sub(b, middle), sub(c, middle)
        volume = dot(u, cross(v, w))
        if not (volume > 0.0 and min(dot(n, u), dot(n, v), dot(n, w)) > 0.0):
            return math.inf
        lu, lv, lw = norm(u), norm(v), norm(w)
        angle += 2.0 * math.atan2(volume, lu * lv * lw + dot(u, v) * lw + dot(v, w) * lu + dot(w, u) * lv)
        planes[4 * k], planes[4 * k + 1], planes[4 * k + 2] = n
        planes[4 * k + 3] = offset
    if not abs(angle - _FULL) < 1.0:
        return math.inf
    loss += HEIGHT_ROUNDING * radius
    return loss if loss <= _MOST_LOSS * radius else math.inf


@kernel
def _pack_vertex(vertices, v, row, pool):
    """Append a vertex to those of a row, and to their blocks; copies of the first vertex fill the last block."""
    k = int(row[kinds.VERTEX_COUNT])
    block = int(row[kinds.BLOCKS]) + k // LANES * BLOCK
    for j in range(3):
        pool[int(row[kinds.VERTICES]) + 3 * k + j] = vertices[v, j]
        for lane in range(k % LANES, LANES):
            at = block + j * LANES + lane
            pool[at] = vertices[v, j] if lane == k % LANES else pool[int(row[kinds.BLOCKS]) + j * LANES]
    row[kinds.VERTEX_COUNT] = k + 1


@kernel
def _height(planes, count, p):
    """Return the largest height of a point above planes."""
    height = -math.inf
    for k in range(count):
        height = max(height, dot(vector_at(planes, 4 * k), p) - planes[4 * k + 3])
    return height


@kernel
def _volume(vertices, faces):
    volume = 0.0
    for k in range(faces.shape[0]):
        a, b, c = _corners(vertices, faces, k)
        volume += dot(a, cross(b, c)) / 6.0
    return volume


@kernel
def _lay_out(row, vertices, planes):
    """Note in a row where its pool has the parts of a hull; vertices are packed afterwards."""
    row[kinds.VERTICES], row[kinds.VERTEX_COUNT] = 1, 0
    row[kinds.PLANES], row[kinds.PLANE_COUNT] = 1 + 3 * vertices, planes
    row[kinds.BLOCKS] = row[kinds.PLANES] + 4 * planes


@kernel
def _pack_planes(vertices, faces, row, pool):
    """Fill in planes and sizes of a hull; return what is wrong."""
    count, facets = vertices.shape[0], faces.shape[0]
    found = _check_numbers(vertices, faces)
    if found != VALID:
        return found
    if not _are_edges_shared(faces, count):
        return BAD_HULL
    middle = (0.0, 0.0, 0.0)
    for i in range(count):
        middle = combine(1.0, middle, 1.0 / count, vector_at(vertices[i], 0))
        row[RADIUS] = max(row[RADIUS], norm(vector_at(vertices[i], 0)))
    _lay_out(row, count, facets)
    loss = _measure(vertices, faces, middle, pool[int(row[kinds.PLANES]) : int(row[kinds.BLOCKS])])
    if not loss < math.inf:
        return BAD_HULL
    row[kinds.PLANE_LOSS] = loss
    # Half extents, centre and volume distinguish hulls when two bodies are put in order.
    for j in range(3):
        low, high = _extent(vertices, j)
        row[A1 + j] = 0.5 * (high - low)
        row[TX + j] = 0.5 * (low + high)
        row[SIZE] = max(row[SIZE], row[A1 + j])
    row[S_] = _volume(vertices, faces)
    pool[0] = 0.0
    return VALID


@kernel
def room_of(vertices, planes, triangles):
    """Return the length of a pool for at most these numbers of vertices and planes of a hull, and surface triangles."""
    return 1 + 3 * vertices + 4 * planes + BLOCK * ((vertices + LANES - 1) // LANES) + 21 * triangles


@kernel
def _pack_corners(vertices, row, pool):
    """Fill in the vertices that may be those of the hull; a corner of a triangle is less than PLANE_LOSS below it."""
    planes = pool[int(row[kinds.PLANES]) : int(row[kinds.BLOCKS])]
    for i in range(vertices.shape[0]):
        if _height(planes, int(row[kinds.PLANE_COUNT]), vector_at(vertices[i], 0)) > -2.0 * row[kinds.PLANE_LOSS]:
            _pack_vertex(vertices, i, row, pool)


@kernel(_nrt=True)
def _pack_shells(vertices, faces, row, pool):
    """Fill in a vertex of each connected part of a surface; return whether every vertex is on it."""
    count = vertices.shape[0]
    parts = np.arange(count)  # a forest: of each vertex another one of its part, or itself
    used = np.zeros(count, dtype=np.bool_)
    for k in range(faces.shape[0]):
        for j in range(3):
            used[faces[k, j]] = True
            a, b = int(faces[k, j]), int(faces[k, (j + 1) % 3])
            while parts[a] != a:
                parts[a] = parts[parts[a]]
                a = parts[a]
            while parts[b] != b:
                parts[b] = parts[parts[b]]
                b = parts[b]
            parts[max(a, b)] = min(a, b)
    shells = 0
    for i in range(count):
        if not used[i]:
            return False
        if parts[i] == i:
            for j in range(3):
                pool[int(row[kinds.SHELLS]) + 3 * shells + j] = vertices[i, j]
            shells += 1
    row[kinds.SHELL_COUNT] = shells
    return True


@kernel(_nrt=True)
def _pack_tree(vertices, faces, row, pool):
    """Fill in the triangles in the order of a tree of boxes, and its nodes."""
    count, nodes = faces.shape[0], node_count(faces.shape[0])
    first, behind = int(row[kinds.TRIANGLES]), int(row[kinds.NODES])
    corners, order = np.empty((count, 3, 3)), np.empty(count, dtype=np.int32)
    for k in range(count):
        for corner in range(3):
            put_vector(corners[k, corner], 0, vector_at(vertices[faces[k, corner]], 0))
    arrange_triangles(corners, order, pool[behind : behind + NODE_LENGTH * nodes].reshape(nodes, NODE_LENGTH))
    for place in range(count):
        for corner in range(3):
            put_vector(pool, first + 9 * place + 3 * corner, vector_at(corners[order[place], corner], 0))
    row[kinds.TRIANGLE_COUNT], row[kinds.NODE_COUNT] = count, nodes


@kernel(_nrt=True, separate=True)
def _pack_surface(vertices, faces, room, row, pool):
    """Fill in triangles, tree and shells behind the hull's room of the pool; return whether every vertex is on it."""
    count = faces.shape[0]
    row[kinds.TRIANGLES], row[kinds.NODES] = room, room + 9 * count
    row[kinds.SHELLS] = room + 9 * count + NODE_LENGTH * node_count(count)
    _pack_tree(vertices, faces, row, pool)
    return _pack_shells(vertices, faces, row, pool)


@entry_point(nogil=True)
def pack_parts(
    corners: Floats2, planes: Floats2, vertices: Floats2, faces: Int32s2, row: Floats1, pool: Floats1
) -> int:
    """Fill in the pool of a body whose hull is known, and where its row has the parts; return how long the pool is.

    Parameters
    ----------
    corners : array, shape (n, 3)
        Of the hull.
    planes : array, shape (k, 4)
        Normals and offsets of its facets.
    vertices : array, shape (l, 3)
    faces : array of int32, shape (m, 3)
        The triangles of the surface; none of a body that is its hull.
    row : array, shape (ROW_LENGTH,)
    pool : array, shape (room_of(n, k, m),)
    """
    _lay_out(row, corners.shape[0], planes.shape[0])
    pool[0] = 0.0
    for k in range(planes.shape[0]):
        for j in range(4):
            pool[int(row[kinds.PLANES]) + 4 * k + j] = planes[k, j]
    for i in range(corners.shape[0]):
        _pack_vertex(corners, i, row, pool)
    room = room_of(corners.shape[0], planes.shape[0], 0)
    if faces.shape[0] == 0:
        return room
    _pack_surface(vertices, faces, room, row, pool)
    return int(row[kinds.SHELLS]) + 3 * int(row[kinds.SHELL_COUNT])


@kernel
def _is_convex(vertices, faces, row):
    """Return whether no vertex lies above the plane of a triangle by more than rounding (`meshes.Mesh.is_convex`)."""
    if not abs(_volume(vertices, faces) - row[S_]) <= 0.5 * row[S_]:
        return False
    for k in range(faces.shape[0]):
        a, b, c = _corners(vertices, faces, k)
        up = cross(sub(b, a), sub(c, a))
        up = scale(1.0 / max(norm(up), LEAST_DIVISOR), up)
        level = min(dot(up, a), dot(up, b), dot(up, c)) + HEIGHT_ROUNDING * row[RADIUS]
        for i in range(vertices.shape[0]):
            if dot(up, vector_at(vertices[i], 0)) > level:
                return False
    return True


@entry_point(nogil=True)
def pack_mesh(vertices: Floats2, faces: Int32s2, hull: Int32s2, row: Floats1, pool: Floats1) -> int:
    """Fill in row and pool of a body bounded by a closed surface, or of a convex hull.

    Parameters
    ----------
    vertices : array, shape (n, 3)
    faces : array of int32, shape (m, 3)
        The triangles of the surface, counter-clockwise seen from outside; none of a body that is its hull.
    hull : array of int32, shape (k, 3)
        Those of the convex hull of the vertices.
    row : array, shape (ROW_LENGTH,)
        Zeros.
    pool : array, shape (room_of(n, k, m),)

    Returns
    -------
    int
        VALID, or what is wrong: BAD_VERTICES, BAD_FACES (numbers out of range), BAD_HULL; BAD_SURFACE if the surface
        is not closed, is inside out, or leaves out a vertex.
    """
    if row.shape[0] != ROW_LENGTH or pool.shape[0] != room_of(vertices.shape[0], hull.shape[0], faces.shape[0]):
        return MISMATCH
    has_surface = faces.shape[0] > 0
    found = _check_numbers(vertices, faces) if has_surface else VALID
    if found == VALID:
        found = _pack_planes(vertices, hull, row, pool)
    if found != VALID:
        return found
    _pack_corners(vertices, row, pool)
    row[kinds.KIND] = kinds.MESH if has_surface else kinds.CONVEX_MESH
    if not has_surface:
        return VALID
    is_closed = _are_edges_shared(faces, vertices.shape[0]) and _volume(vertices, faces) > 0.0
    if not (is_closed and _pack_surface(vertices, faces, room_of(vertices.shape[0], hull.shape[0], 0), row, pool)):
        return BAD_SURFACE
    row[kinds.IS_CONVEX] = 1.0 if _is_convex(vertices, faces, row) else 0.0
    row[S_] = _volume(vertices, faces)
    return VALID
