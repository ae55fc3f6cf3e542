# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Nearest points of triangles, winding numbers and ray queries for many points, by a tree of boxes (`aabb_tree`).

**Winding numbers.** An open triangle soup, or one with overlapping parts, has no inside. Its winding number about a
point, the sum of the solid angles divided by 4 pi, is near 1 inside of the intended solid and near 0 outside (Jacobson
et al., "Robust inside-outside segmentation using generalized winding numbers", SIGGRAPH 2013). Distant nodes of the
tree are replaced by the first two terms of their expansions (Barill et al., "Fast winding numbers for soups and
clouds", SIGGRAPH 2018). With area vectors a and centres c of triangles below a node with centre m, r = m - p,

    4 pi w = v . r / |r|^3 + tr(M) / |r|^3 - 3 r . M r / |r|^5,    v = sum of a,  M = sum of a (c - m)^T.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.aabb_tree import NODE, tree_of_triangles
from superovoid.compiled.arrays import Bools1, Floats1, Floats2, Ints1
from superovoid.compiled.kernels import entry_point, kernel
from superovoid.compiled.vector import combine, cross, dot, norm, sub
from superovoid.contact.minkowski.difference import triangle_weights

FloatArray = NDArray[np.float64]

_FAR = 2.4  # distance, in radii of a node, beyond which it is replaced by its expansion
_STACK = 128
_TINY = 1e-300


@kernel
def _corner(row, i):
    return (row[3 * i], row[3 * i + 1], row[3 * i + 2])


@kernel
def _nearest_on_triangle(row, p):
    """Return the point of a triangle nearest to p."""
    a, b, c = _corner(row, 0), _corner(row, 1), _corner(row, 2)
    s, t, u = triangle_weights(sub(a, p), sub(b, p), sub(c, p))
    return combine(1.0, combine(s, a, t, b), u, c)


@kernel
def _box_gap(box, p):
    """Return the squared distance of a point from a box."""
    gap = 0.0
    for i in range(3):
        outside = max(box[NODE.lower + i] - p[i], p[i] - box[NODE.upper + i], 0.0)
        gap += outside * outside
    return gap


@kernel
def _nearest_point(triangles, nodes, p, stack, gaps):
    """Return squared distance, nearest point and the number of its triangle."""
    best, foot, which = np.inf, p, -1
    stack[0], gaps[0], depth = 0, _box_gap(nodes[0], p), 1
    while depth:
        depth -= 1
        node = stack[depth]
        if gaps[depth] >= best:
            continue
        second = int(nodes[node, NODE.second])
        if second == 0:
            for k in range(int(nodes[node, NODE.first]), int(nodes[node, NODE.end])):
                x = _nearest_on_triangle(triangles[k], p)
                gap = sub(p, x)
                size = dot(gap, gap)
                if size < best:
                    best, foot, which = size, x, k
            continue
        left, right = node + 1, node + second
        gap_left, gap_right = _box_gap(nodes[left], p), _box_gap(nodes[right], p)
        if gap_left < gap_right:  # visit the nearer child first
            left, right, gap_left, gap_right = right, left, gap_right, gap_left
        if gap_left < best:
            stack[depth], gaps[depth] = left, gap_left
            depth += 1
        if gap_right < best:
            stack[depth], gaps[depth] = right, gap_right
            depth += 1
    return best, foot, which


@entry_point(nogil=True)
def nearest_points(
    triangles: Floats2, nodes: Floats2, points: Floats2, feet: Floats2, numbers: Ints1, stack: Ints1, gaps: Floats1
) -> None:
    """Fill in the nearest point of the triangles for each point, and the number of its triangle."""
    for i in range(len(points)):
        p = (points[i, 0], points[i, 1], points[i, 2])
        _, foot, numbers[i] = _nearest_point(triangles, nodes, p, stack, gaps)
        feet[i, 0], feet[i, 1], feet[i, 2] = foot[0], foot[1], foot[2]


@kernel
def _half_solid_angle(row, p):
    """Return half of a triangle's signed solid angle about a point (Van Oosterom and Strackee 1983)."""
    a, b, c = sub(_corner(row, 0), p), sub(_corner(row, 1), p), sub(_corner(row, 2), p)
    la, lb, lc = norm(a), norm(b), norm(c)
    below = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb
    return math.atan2(dot(a, cross(b, c)), below)


@entry_point(nogil=True)
def sum_below(moments: Floats2, nodes: Floats2, sums: Floats2) -> None:
    """Fill in the sums of the moments of all triangles below each node."""
    for node in range(len(nodes) - 1, -1, -1):
        second = int(nodes[node, NODE.second])
        for i in range(moments.shape[1]):
            if second > 0:
                sums[node, i] = sums[node + 1, i] + sums[node + second, i]
            else:
                sums[node, i] = 0.0
                for k in range(int(nodes[node, NODE.first]), int(nodes[node, NODE.end])):
                    sums[node, i] += moments[k, i]


@entry_point(nogil=True)
def winding_numbers(
    triangles: Floats2, nodes: Floats2, expansions: Floats2, points: Floats2, numbers: Floats1, stack: Ints1
) -> None:
    """Fill in winding numbers, with expansions of distant nodes."""
    for i in range(len(points)):
        p = (points[i, 0], points[i, 1], points[i, 2])
        total = 0.0
        stack[0], depth = 0, 1
        while depth:
            depth -= 1
            node = stack[depth]
            row = expansions[node]
            gap = (row[3] - p[0], row[4] - p[1], row[5] - p[2])
            square = dot(gap, gap)
            if square > row[6]:
                x, y, z = gap
                bent = x * (row[8] * x + row[11] * y + row[12] * z) + y * (row[9] * y + row[13] * z) + row[10] * z * z
                first = row[0] * x + row[1] * y + row[2] * z + row[7]
                total += (first - 3.0 * bent / square) / (2.0 * square * math.sqrt(square))
            elif nodes[node, NODE.second] == 0.0:
                for k in range(int(nodes[node, NODE.first]), int(nodes[node, NODE.end])):
                    total += _half_solid_angle(triangles[k], p)
            else:
                stack[depth], stack[depth + 1] = node + 1, node + int(nodes[node, NODE.second])
                depth += 2
        numbers[i] = total / (2.0 * math.pi)


@entry_point(nogil=True)
def exact_winding_numbers(triangles: Floats2, points: Floats2, numbers: Floats1) -> None:
    """Fill in winding numbers by the solid angle of every triangle."""
    for i in range(len(points)):
        p = (points[i, 0], points[i, 1], points[i, 2])
        total = 0.0
        for k in range(len(triangles)):
            total += _half_solid_angle(triangles[k], p)
        numbers[i] = total / (2.0 * math.pi)


@kernel
def _meets_box(box, p, inverse):
    """Return whether a ray meets a box (slab test)."""
    near, far = 0.0, math.inf
    for i in range(3):
        s, t = (box[NODE.lower + i] - p[i]) * inverse[i], (box[NODE.upper + i] - p[i]) * inverse[i]
        near, far = max(near, min(s, t)), min(far, max(s, t))
    return near <= far


@kernel
def _meets_triangle(row, p, along):
    """Return whether a ray meets a triangle (Moeller and Trumbore 1997)."""
    a = _corner(row, 0)
    ab, ac, ap = sub(_corner(row, 1), a), sub(_corner(row, 2), a), sub(p, a)
    across, turned = cross(along, ac), cross(ap, ab)
    volume = dot(ab, across)
    if volume == 0.0:
        return False
    u, v = dot(ap, across) / volume, dot(along, turned) / volume
    return u >= 0.0 and v >= 0.0 and u + v <= 1.0 and dot(ac, turned) / volume > 0.0


@entry_point(nogil=True)
def blocked_rays(
    triangles: Floats2, nodes: Floats2, points: Floats2, directions: Floats2, blocked: Bools1, stack: Ints1
) -> None:
    """Fill in whether the ray from each point meets a triangle."""
    for i in range(len(points)):
        p = (points[i, 0], points[i, 1], points[i, 2])
        along = (directions[i, 0], directions[i, 1], directions[i, 2])
        # Replace zero components by tiny ones, to avoid infinity times zero.
        x, y, z = along
        x, y, z = (math.copysign(max(abs(x), _TINY), x), math.copysign(max(abs(y), _TINY), y),
                   math.copysign(max(abs(z), _TINY), z))  # fmt: skip
        inverse = (1.0 / x, 1.0 / y, 1.0 / z)
        blocked[i] = False
        stack[0], depth = 0, 1
        while depth and not blocked[i]:
            depth -= 1
            node = stack[depth]
            if not _meets_box(nodes[node], p, inverse):
                continue
            if nodes[node, NODE.second] == 0.0:
                for k in range(int(nodes[node, NODE.first]), int(nodes[node, NODE.end])):
                    if _meets_triangle(triangles[k], p, along):
                        blocked[i] = True
                        break
            else:
                stack[depth], stack[depth + 1] = node + 1, node + int(nodes[node, NODE.second])
                depth += 2


class TriangleTree:
    """A tree over triangles.

    Parameters
    ----------
    corners : (m, 3, 3) ndarray
        Corners of the triangles, counter-clockwise seen from outside.
    """

    def __init__(self, corners: FloatArray) -> None:
        order, self._nodes = tree_of_triangles(corners)
        self.order = order.astype(np.int64)
        """Index into `corners` of each triangle of the tree."""
        corners = np.ascontiguousarray(corners[order])
        self._triangles = corners.reshape(-1, 9)
        self._expansions = _expansions(corners, self._nodes)

    def nearest_points(self, points: FloatArray) -> tuple[FloatArray, NDArray[np.int64]]:
        """Return the nearest point of the triangles for rows of points, and the index of its triangle in `corners`."""
        points = np.ascontiguousarray(points, dtype=np.float64)
        feet, numbers = np.empty_like(points), np.empty(len(points), dtype=np.int64)
        stack, gaps = np.empty(_STACK, dtype=np.int64), np.empty(_STACK)
        nearest_points(self._triangles, self._nodes, points, feet, numbers, stack, gaps)
        return feet, self.order[numbers]

    def winding(self, points: FloatArray, *, exact: bool = False) -> FloatArray:
        """Return winding numbers about rows of points; `exact`: by the solid angle of every triangle."""
        points = np.ascontiguousarray(points, dtype=np.float64)
        numbers = np.empty(len(points))
        if exact:
            exact_winding_numbers(self._triangles, points, numbers)
        else:
            stack = np.empty(_STACK, dtype=np.int64)
            winding_numbers(self._triangles, self._nodes, self._expansions, points, numbers, stack)
        return numbers

    def is_blocked(self, points: FloatArray, directions: FloatArray) -> NDArray[np.bool_]:
        """Return whether rays from rows of points meet a triangle."""
        points, directions = (np.ascontiguousarray(rows, dtype=np.float64) for rows in (points, directions))
        found, stack = np.empty(len(points), dtype=np.bool_), np.empty(_STACK, dtype=np.int64)
        blocked_rays(self._triangles, self._nodes, points, directions, found, stack)
        return found


def _expansions(corners: FloatArray, nodes: FloatArray) -> FloatArray:
    """Return the rows that `winding_numbers` reads for each node.

    They are the area vector v and centre m of its triangles, the squared distance for the expansion, the trace of M,
    its diagonal, and the sums of its elements xy, xz and yz with the opposite ones.
    """
    area_vectors = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    # A small extra weight gives degenerate triangles a centre, too.
    weights = np.linalg.norm(area_vectors, axis=1)
    weights = weights + 1e-12 * weights.max() + 1e-300
    middles = corners.mean(axis=1)
    # The centre is subtracted below. Moments about the middle of all triangles keep rounding errors small.
    origin = middles.mean(axis=0)
    products = area_vectors[:, :, None] * (middles - origin)[:, None, :]
    moments = np.column_stack([area_vectors, weights[:, None] * middles, weights, products.reshape(-1, 9)])
    sums = np.empty((len(nodes), moments.shape[1]))
    sum_below(moments, nodes, sums)
    vectors, centres = sums[:, :3], sums[:, 3:6] / sums[:, 6:7]
    about = sums[:, 7:].reshape(-1, 3, 3) - vectors[:, :, None] * (centres - origin)[:, None, :]
    # The farthest corner of the box is no closer than any point of its triangles.
    reach = np.maximum(
        np.abs(nodes[:, NODE.lower : NODE.upper] - centres), np.abs(nodes[:, NODE.upper : NODE.upper + 3] - centres)
    )
    diagonal = about[:, (0, 1, 2), (0, 1, 2)]
    mixed = about[:, (0, 0, 1), (1, 2, 2)] + about[:, (1, 2, 2), (0, 0, 1)]
    far = _FAR**2 * (reach**2).sum(axis=1)
    return np.column_stack([vectors, centres, far, diagonal.sum(axis=1), diagonal, mixed])
