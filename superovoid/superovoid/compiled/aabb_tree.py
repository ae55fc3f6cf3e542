# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A binary tree of boxes along the axes (an AABB tree) over items with a point and a box each.

The nodes are rows of an array of float64, shape (n, NODE_LENGTH), so that the pool of a body can hold them:

lower, upper  the corners of the node's box, three numbers each
first, end    the places of its items: first <= place < end
second        by how many rows the second child follows the node; 0 for a leaf

Nodes lie in preorder. The first child of node i is i + 1, and children follow their parents, so that one backward loop
fits all boxes. A node of more than LEAF items is halved at the median of the coordinate in which their points spread
most. So the number of items determines the number of nodes, and bounds the depth by log2 n.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.arrays import Floats2, Floats3, Int32s1
from superovoid.compiled.kernels import entry_point, inline, kernel
from superovoid.compiled.rows import layout
from superovoid.compiled.vector import Vector

NODE, NODE_LENGTH = layout(1, lower=Vector, upper=Vector, first=float, end=float, second=float)
LEAF = 4  # items


@kernel
def node_count(items):
    """Return the number of nodes of a tree over a number of items, at least one."""
    inner, width = 0, 1
    # The nodes of a level have items // width items, and items % width of them have one more.
    while items > LEAF * width:
        inner += width if items // width > LEAF else items % width
        width *= 2
    return 2 * inner + 1


@kernel
def _widest_axis(order, points, first, end):
    """Return the coordinate in which the points spread most."""
    widest, axis = -1.0, 0
    for i in range(points.shape[1]):
        low, high = math.inf, -math.inf
        for k in range(first, end):
            value = points[order[k], i]
            low, high = min(low, value), max(high, value)
        if high - low > widest:
            widest, axis = high - low, i
    return axis


@kernel
def _select(order, points, axis, first, end, middle):
    """Partition places so that none before `middle` has a larger coordinate than one from there on (Hoare)."""
    low, high = first, end - 1
    while low < high:
        pivot = points[order[(low + high) >> 1], axis]
        i, j = low, high
        while i <= j:
            while points[order[i], axis] < pivot:
                i += 1
            while points[order[j], axis] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@entry_point(nogil=True)
def arrange(points: Floats2, order: Int32s1, nodes: Floats2) -> None:
    """Sort items into the places of a tree, and fill in its nodes except for their boxes.

    Parameters
    ----------
    points : array, shape (m, k)
        One point an item; any number of coordinates.
    order : array of int32, shape (n,)
        Rows of `points`; permuted.
    nodes : array, shape (>= node_count(n), NODE_LENGTH)
    """
    nodes[0, NODE.first], nodes[0, NODE.end] = 0, len(order)
    for node in range(node_count(len(order))):
        first, end = int(nodes[node, NODE.first]), int(nodes[node, NODE.end])
        if end - first <= LEAF:
            nodes[node, NODE.second] = 0.0
            continue
        middle = first + (end - first) // 2
        _select(order, points, _widest_axis(order, points, first, end), first, end, middle)
        second = node + 1 + node_count(middle - first)
        nodes[node, NODE.second] = second - node
        nodes[node + 1, NODE.first], nodes[node + 1, NODE.end] = first, middle
        nodes[second, NODE.first], nodes[second, NODE.end] = middle, end


@kernel
def _set(box, other):
    for i in range(6):
        box[i] = other[i]


@kernel
def _join(box, other):
    for i in range(3):
        box[NODE.lower + i] = min(box[NODE.lower + i], other[NODE.lower + i])
        box[NODE.upper + i] = max(box[NODE.upper + i], other[NODE.upper + i])


@inline
def fit_node(nodes, node, order, boxes, bounds):
    """Fit the box of a node to its children, or to its items.

    Row i of `boxes` has the box of item i; the box of the item at place i is copied to row i of `bounds`.
    """
    box = nodes[node]
    second = int(box[NODE.second])
    if second > 0:
        _set(box, nodes[node + 1])
        _join(box, nodes[node + second])
        return
    first, end = int(box[NODE.first]), int(box[NODE.end])
    for place in range(first, end):
        _set(bounds[place], boxes[order[place]])
    _set(box, bounds[first])
    for place in range(first + 1, end):
        _join(box, bounds[place])


@entry_point(nogil=True, _nrt=True)
def arrange_triangles(corners: Floats3, order: Int32s1, nodes: Floats2) -> None:
    """Sort triangles, shape (m, 3, 3), into the places of a tree, and fill in its nodes."""
    count = corners.shape[0]
    middles, boxes = np.empty((count, 3)), np.empty((count, 6))
    for k in range(count):
        order[k] = k
        for j in range(3):
            x, y, z = corners[k, 0, j], corners[k, 1, j], corners[k, 2, j]
            middles[k, j] = (x + y + z) / 3.0
            boxes[k, NODE.lower + j], boxes[k, NODE.upper + j] = min(x, y, z), max(x, y, z)
    arrange(middles, order, nodes)
    bounds = np.empty((count, 6))
    for node in range(node_count(count) - 1, -1, -1):
        fit_node(nodes, node, order, boxes, bounds)


def tree_of_triangles(corners: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the triangle at each place of a tree over triangles (m, 3, 3), and the nodes."""
    order, nodes = np.empty(len(corners), dtype=np.int32), np.empty((node_count(len(corners)), NODE_LENGTH))
    arrange_triangles(np.ascontiguousarray(corners), order, nodes)
    return order, nodes
