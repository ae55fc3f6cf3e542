# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Culling of pairs before the schemes (Gonçalves et al. 2017, sections 3.5 and 5): spheres, boxes, trees of boxes.

The authors' program separates two spheres if r1^2 + r2^2 < d^2, which misses overlaps; the test needs (r1 + r2)^2.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.vector import sub
from superovoid.compiler.jit import kernel
from superovoid_papers.methods.goncalves2017.first_guess import boxes_gap
from superovoid_papers.methods.goncalves2017.superovoid_surface import BOX, BOX_HALF, SPHERE_RADIUS, SPHERE_Z, to_world

_SLACK = 1e-12  # of the sizes: bound of the rounding error of a gap
_TREE_STACK = 256


@kernel
def spheres_meet(a, b, pose_a, pose_b):
    """Return whether the bounding spheres have a common point."""
    d = sub(to_world(pose_b, (0.0, 0.0, b[SPHERE_Z])), to_world(pose_a, (0.0, 0.0, a[SPHERE_Z])))
    reach = (1.0 + _SLACK) * (a[SPHERE_RADIUS] + b[SPHERE_RADIUS])
    return d[0] * d[0] + d[1] * d[1] + d[2] * d[2] <= reach * reach


@kernel
def _box_centre(b):
    return (b[BOX], b[BOX + 1], b[BOX + 2])


@kernel
def _box_half(b):
    return (b[BOX_HALF], b[BOX_HALF + 1], b[BOX_HALF + 2])


@kernel
def obbs_meet(a, b, pose_a, pose_b):
    """Return whether the boxes along the bodies' axes have a common point."""
    half_a, half_b = _box_half(a), _box_half(b)
    d = sub(to_world(pose_b, _box_centre(b)), to_world(pose_a, _box_centre(a)))
    return boxes_gap(d, pose_a, pose_b, half_a, half_b) <= _SLACK * (max(half_a) + max(half_b))


@kernel
def box_of(b, pose, out):
    """Write the box along the world's axes around the body's own box, lower and upper corner, into `out` (6,)."""
    centre = to_world(pose, _box_centre(b))
    for k in range(3):
        half = (1.0 + _SLACK) * (
            abs(pose[k, 0]) * b[BOX_HALF] + abs(pose[k, 1]) * b[BOX_HALF + 1] + abs(pose[k, 2]) * b[BOX_HALF + 2]
        )
        out[k], out[3 + k] = centre[k] - half, centre[k] + half


@kernel
def boxes_meet(a, b):
    """Return whether two boxes along the world's axes, (6,) each, have a common point."""
    apart = False
    for k in range(3):
        apart |= (a[3 + k] < b[k]) | (b[3 + k] < a[k])
    return not apart


@kernel(nogil=True)
def cull_rows(first, last, a, b, poses_a, poses_b, near):
    """Cull a range of rows by bounding spheres, then by boxes along the bodies' axes."""
    for i in range(first, last):
        near[i] = spheres_meet(a[i], b[i], poses_a[i], poses_b[i]) and obbs_meet(a[i], b[i], poses_a[i], poses_b[i])


@kernel
def refit(rows, poses, order, boxes):
    """Compute the boxes of a tree: leaf i is node leaves - 1 + i, the children of node k are 2k + 1 and 2k + 2."""
    leaves = order.shape[0]
    for i in range(leaves):
        if order[i] >= 0:
            box_of(rows[order[i]], poses[order[i]], boxes[leaves - 1 + i])
    for node in range(leaves - 2, -1, -1):
        for k in range(3):
            boxes[node, k] = min(boxes[2 * node + 1, k], boxes[2 * node + 2, k])
            boxes[node, 3 + k] = max(boxes[2 * node + 1, 3 + k], boxes[2 * node + 2, 3 + k])


@kernel
def overlaps(boxes_a, order_a, boxes_b, order_b, stack, pairs):
    """Write the pairs of bodies of two trees whose boxes meet into `pairs` (n, 2); return their number."""
    leaves_a, leaves_b = order_a.shape[0], order_b.shape[0]
    found = 0
    stack[0, 0], stack[0, 1] = 0, 0
    depth = 1
    while depth > 0:
        depth -= 1
        i, j = stack[depth, 0], stack[depth, 1]
        if not boxes_meet(boxes_a[i], boxes_b[j]):
            continue
        leaf_a, leaf_b = i >= leaves_a - 1, j >= leaves_b - 1
        if leaf_a and leaf_b:
            pairs[found, 0], pairs[found, 1] = order_a[i - leaves_a + 1], order_b[j - leaves_b + 1]
            found += 1
            continue
        divide_a = leaf_b or (not leaf_a and i <= j)
        for half in range(1, 3):
            stack[depth, 0] = 2 * i + half if divide_a else i
            stack[depth, 1] = j if divide_a else 2 * j + half
            depth += 1
    return found


def _order_by_halving(centres: NDArray[np.float64], members: NDArray[np.int64], capacity: int) -> list[int]:
    """Return the order of leaves by repeated halving along the widest direction; -1 for an empty leaf."""
    if capacity == 1:
        return [int(members[0])] if len(members) else [-1]
    if len(members):
        axis = int(np.ptp(centres[members], axis=0).argmax())
        members = members[np.argsort(centres[members, axis], kind="stable")]
    middle = (len(members) + 1) // 2
    return _order_by_halving(centres, members[:middle], capacity // 2) + _order_by_halving(
        centres, members[middle:], capacity // 2
    )


class AabbTree:
    """Arrays of a tree of boxes over the rows of bodies."""

    def __init__(self, rows: NDArray[np.float64]) -> None:
        self.rows = rows
        leaves = 1 << math.ceil(math.log2(len(rows)))
        self.order = np.empty(0, dtype=np.int64)
        self.boxes = np.empty((2 * leaves - 1, 6))
        self.boxes[:, :3], self.boxes[:, 3:] = math.inf, -math.inf
        self._leaves = leaves

    def update(self, poses: NDArray[np.float64]) -> None:
        """Compute the boxes at new poses (n, 4, 4); the first poses determine the neighbours in the tree."""
        if not len(self.order):
            self.order = np.array(_order_by_halving(poses[:, :3, 3], np.arange(len(poses)), self._leaves))
        refit(self.rows, poses, self.order, self.boxes)

    def overlaps(self, other: AabbTree) -> NDArray[np.int64]:
        """Return the pairs (n, 2) of a body of this tree and one of the other whose boxes meet."""
        pairs = np.empty((len(self.rows) * len(other.rows), 2), dtype=np.int64)
        stack = np.empty((_TREE_STACK, 2), dtype=np.int64)
        return pairs[: overlaps(self.boxes, self.order, other.boxes, other.order, stack, pairs)]
