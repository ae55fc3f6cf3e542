# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Nearest points of triangles and winding numbers of many points, by a tree of boxes over the triangles.

The triangles are sorted along a Morton curve and put in leaves of `_LEAF`. The tree over the leaves is complete: the
children of node i are 2 i + 1 and 2 i + 2, so that it is built without recursion.

**Winding numbers.** A triangle soup that is open, or whose parts overlap, has no inside. Its winding number about a
point, the sum of the solid angles over 4 pi, is near 1 inside of what it means to enclose and near 0 outside (Jacobson
et al., "Robust inside-outside segmentation using generalized winding numbers", SIGGRAPH 2013). What is far away counts
as one dipole (Barill et al., "Fast winding numbers for soups and clouds", SIGGRAPH 2018, order 1).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.jit import kernel
from superovoid.compiled.vector import combine, cross, dot, norm, sub
from superovoid.contact.minkowski.difference import triangle_weights

FloatArray = NDArray[np.float64]

_LEAF = 4  # triangles
_FAR = 3.0  # radii from which a node is a dipole
_STACK = 128
_TINY = 1e-300
_BOX_LENGTH, _DIPOLE_LENGTH = 6, 7  # lower and upper corner; normal, centre, radius


@kernel
def _corner(row, i):
    return (row[3 * i], row[3 * i + 1], row[3 * i + 2])


@kernel
def _nearest_on_triangle(row, p):
    """Point of a triangle nearest to p."""
    a, b, c = _corner(row, 0), _corner(row, 1), _corner(row, 2)
    s, t, u = triangle_weights(sub(a, p), sub(b, p), sub(c, p))
    return combine(1.0, combine(s, a, t, b), u, c)


@kernel
def _box_gap(box, p):
    """Squared distance of a point from a box."""
    gap = 0.0
    for i in range(3):
        outside = max(box[i] - p[i], p[i] - box[3 + i], 0.0)
        gap += outside * outside
    return gap


@kernel
def _nearest(triangles, boxes, leaves, p, stack, gaps):
    """Squared distance, nearest point and number of its triangle."""
    best, foot, which = np.inf, p, -1
    stack[0], gaps[0], depth = 0, _box_gap(boxes[0], p), 1
    while depth:
        depth -= 1
        node = stack[depth]
        if gaps[depth] >= best:
            continue
        if node >= leaves - 1:
            first = (node - (leaves - 1)) * _LEAF
            for k in range(first, min(first + _LEAF, len(triangles))):
                x = _nearest_on_triangle(triangles[k], p)
                gap = sub(p, x)
                size = dot(gap, gap)
                if size < best:
                    best, foot, which = size, x, k
            continue
        left, right = 2 * node + 1, 2 * node + 2
        gap_left, gap_right = _box_gap(boxes[left], p), _box_gap(boxes[right], p)
        if gap_left < gap_right:  # the nearer child is looked at first
            left, right, gap_left, gap_right = right, left, gap_right, gap_left
        if gap_left < best:
            stack[depth], gaps[depth] = left, gap_left
            depth += 1
        if gap_right < best:
            stack[depth], gaps[depth] = right, gap_right
            depth += 1
    return best, foot, which


@kernel(nogil=True)
def nearest_points(triangles, boxes, leaves, points, feet, numbers, stack, gaps):
    """Fill in the nearest point of the triangles for each point, and which triangle it is of."""
    for i in range(len(points)):
        p = (points[i, 0], points[i, 1], points[i, 2])
        _, foot, numbers[i] = _nearest(triangles, boxes, leaves, p, stack, gaps)
        feet[i, 0], feet[i, 1], feet[i, 2] = foot[0], foot[1], foot[2]


@kernel
def _half_solid_angle(row, p):
    """Half of a triangle's signed solid angle about a point (Van Oosterom and Strackee 1983)."""
    a, b, c = sub(_corner(row, 0), p), sub(_corner(row, 1), p), sub(_corner(row, 2), p)
    la, lb, lc = norm(a), norm(b), norm(c)
    below = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb
    return math.atan2(dot(a, cross(b, c)), below)


@kernel(nogil=True)
def winding_numbers(triangles, dipoles, leaves, points, far, numbers, stack):
    """Fill in winding numbers; nodes beyond `far` radii count as dipoles (infinite: none does)."""
    for i in range(len(points)):
        p = (points[i, 0], points[i, 1], points[i, 2])
        total = 0.0
        stack[0], depth = 0, 1
        while depth:
            depth -= 1
            node = stack[depth]
            row = dipoles[node]
            if row[6] < 0.0:  # an empty node
                continue
            gap = (row[3] - p[0], row[4] - p[1], row[5] - p[2])
            size = norm(gap)
            if size > far * row[6]:
                total += (row[0] * gap[0] + row[1] * gap[1] + row[2] * gap[2]) / (2.0 * size * size * size)
            elif node >= leaves - 1:
                first = (node - (leaves - 1)) * _LEAF
                for k in range(first, min(first + _LEAF, len(triangles))):
                    total += _half_solid_angle(triangles[k], p)
            else:
                stack[depth], stack[depth + 1] = 2 * node + 1, 2 * node + 2
                depth += 2
        numbers[i] = total / (2.0 * math.pi)


@kernel
def _meets_box(box, p, inverse):
    """Whether a ray meets a box, by the slabs between its faces."""
    near, far = 0.0, math.inf
    for i in range(3):
        s, t = (box[i] - p[i]) * inverse[i], (box[3 + i] - p[i]) * inverse[i]
        near, far = max(near, min(s, t)), min(far, max(s, t))
    return near <= far


@kernel
def _meets_triangle(row, p, along):
    """Whether a ray meets a triangle (Moeller and Trumbore 1997)."""
    a = _corner(row, 0)
    ab, ac, ap = sub(_corner(row, 1), a), sub(_corner(row, 2), a), sub(p, a)
    across, turned = cross(along, ac), cross(ap, ab)
    volume = dot(ab, across)
    if volume == 0.0:
        return False
    u, v = dot(ap, across) / volume, dot(along, turned) / volume
    return u >= 0.0 and v >= 0.0 and u + v <= 1.0 and dot(ac, turned) / volume > 0.0


@kernel(nogil=True)
def blocked_rays(triangles, boxes, leaves, points, directions, blocked, stack):
    """Fill in whether the ray from each point meets a triangle."""
    for i in range(len(points)):
        p = (points[i, 0], points[i, 1], points[i, 2])
        along = (directions[i, 0], directions[i, 1], directions[i, 2])
        # Next to a plane of an axis: as good as in it, and no infinity times zero.
        x, y, z = along
        x, y, z = (math.copysign(max(abs(x), _TINY), x), math.copysign(max(abs(y), _TINY), y),
                   math.copysign(max(abs(z), _TINY), z))  # fmt: skip
        inverse = (1.0 / x, 1.0 / y, 1.0 / z)
        blocked[i] = False
        stack[0], depth = 0, 1
        while depth and not blocked[i]:
            depth -= 1
            node = stack[depth]
            if boxes[node, 0] > boxes[node, 3] or not _meets_box(boxes[node], p, inverse):
                continue
            if node >= leaves - 1:
                first = (node - (leaves - 1)) * _LEAF
                for k in range(first, min(first + _LEAF, len(triangles))):
                    if _meets_triangle(triangles[k], p, along):
                        blocked[i] = True
                        break
            else:
                stack[depth], stack[depth + 1] = 2 * node + 1, 2 * node + 2
                depth += 2


class TriangleTree:
    """A tree over triangles.

    Parameters
    ----------
    corners : (m, 3, 3) ndarray
        Corners of the triangles, counter-clockwise seen from outside.
    """

    def __init__(self, corners: FloatArray) -> None:
        centres = corners.mean(axis=1)
        self.order = np.argsort(_morton(centres), kind="stable")
        """Number of each triangle of the tree among those that were given."""
        corners = corners[self.order]
        self._triangles = np.ascontiguousarray(corners.reshape(-1, 9))
        count = -(-len(corners) // _LEAF)
        self._leaves = 1 << max(0, (count - 1).bit_length())
        self._boxes, self._dipoles = _boxes(corners, self._leaves), _dipoles(corners, self._leaves)

    def nearest(self, points: FloatArray) -> tuple[FloatArray, NDArray[np.int64]]:
        """Nearest point of the triangles for rows of points, and the number of its triangle as it was given."""
        points = np.ascontiguousarray(points, dtype=np.float64)
        feet, numbers = np.empty_like(points), np.empty(len(points), dtype=np.int64)
        stack, gaps = np.empty(_STACK, dtype=np.int64), np.empty(_STACK)
        nearest_points(self._triangles, self._boxes, self._leaves, points, feet, numbers, stack, gaps)
        return feet, self.order[numbers]

    def winding(self, points: FloatArray, *, exact: bool = False) -> FloatArray:
        """Winding numbers about rows of points; `exact`: every triangle counts by its own angle."""
        points = np.ascontiguousarray(points, dtype=np.float64)
        numbers, stack = np.empty(len(points)), np.empty(_STACK, dtype=np.int64)
        far = math.inf if exact else _FAR
        winding_numbers(self._triangles, self._dipoles, self._leaves, points, far, numbers, stack)
        return numbers

    def blocked(self, points: FloatArray, directions: FloatArray) -> NDArray[np.bool_]:
        """Whether rays from rows of points meet a triangle."""
        points, directions = (np.ascontiguousarray(rows, dtype=np.float64) for rows in (points, directions))
        found, stack = np.empty(len(points), dtype=np.bool_), np.empty(_STACK, dtype=np.int64)
        blocked_rays(self._triangles, self._boxes, self._leaves, points, directions, found, stack)
        return found


def _morton(points: FloatArray) -> NDArray[np.uint64]:
    """Places along a Morton curve, 20 bits an axis."""
    extent = np.ptp(points, axis=0).max()
    cell = (points - points.min(axis=0)) / (extent if extent > 0.0 else 1.0) * ((1 << 20) - 1)
    code = np.zeros(len(points), dtype=np.uint64)
    for axis in range(3):
        bits = cell[:, axis].astype(np.uint64)
        for mask, shift in ((0x1F00000000FFFF, 32), (0x1F0000FF0000FF, 16), (0x100F00F00F00F00F, 8)):
            bits = (bits | (bits << np.uint64(shift))) & np.uint64(mask)
        for mask, shift in ((0x10C30C30C30C30C3, 4), (0x1249249249249249, 2)):
            bits = (bits | (bits << np.uint64(shift))) & np.uint64(mask)
        code |= bits << np.uint64(axis)
    return code


def _levels(leaves: int) -> list[slice]:
    """Nodes of each level, from the lowest with inner nodes to the root."""
    levels, size = [], leaves // 2
    while size:
        levels.append(slice(size - 1, 2 * size - 1))
        size //= 2
    return levels


def _boxes(corners: FloatArray, leaves: int) -> FloatArray:
    boxes = np.empty((2 * leaves - 1, _BOX_LENGTH))
    boxes[:, :3], boxes[:, 3:] = np.inf, -np.inf
    starts = np.arange(0, len(corners), _LEAF)
    filled = slice(leaves - 1, leaves - 1 + len(starts))
    boxes[filled, :3] = np.minimum.reduceat(corners.min(axis=1), starts)
    boxes[filled, 3:] = np.maximum.reduceat(corners.max(axis=1), starts)
    for level in _levels(leaves):
        children = boxes[2 * level.start + 1 : 2 * level.stop + 1].reshape(-1, 2, _BOX_LENGTH)
        boxes[level, :3], boxes[level, 3:] = children[..., :3].min(axis=1), children[..., 3:].max(axis=1)
    return boxes


def _dipoles(corners: FloatArray, leaves: int) -> FloatArray:
    """Sum of the area vectors, centre by area, and radius about it, of all triangles below a node; -1: none."""
    rows = np.zeros((2 * leaves - 1, _DIPOLE_LENGTH))
    area_vectors = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    # Triangles without area have a place, too.
    weights = np.linalg.norm(area_vectors, axis=1)
    weights = weights + 1e-12 * weights.max() + 1e-300
    sums = np.zeros((2 * leaves - 1, 7))
    starts = np.arange(0, len(corners), _LEAF)
    filled = slice(leaves - 1, leaves - 1 + len(starts))
    moments = np.column_stack([area_vectors, weights[:, None] * corners.mean(axis=1), weights])
    sums[filled] = np.add.reduceat(moments, starts)
    for level in _levels(leaves):
        sums[level] = sums[2 * level.start + 1 : 2 * level.stop + 1].reshape(-1, 2, 7).sum(axis=1)
    used = sums[:, 6] > 0.0
    rows[:, :3] = sums[:, :3]
    rows[used, 3:6] = sums[used, 3:6] / sums[used, 6:]
    rows[~used, 6] = -1.0
    boxes = _boxes(corners, leaves)
    # The farthest corner of the box: no nearer than the farthest point of a triangle.
    reach = np.maximum(np.abs(boxes[:, :3] - rows[:, 3:6]), np.abs(boxes[:, 3:] - rows[:, 3:6]))
    rows[used, 6] = np.linalg.norm(reach[used], axis=1)
    return rows
