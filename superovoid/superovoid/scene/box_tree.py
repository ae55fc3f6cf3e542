# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A tree of boxes along the world's axes: refitted whenever bodies have moved, rebuilt when its boxes have grown.

Nodes lie in preorder: the left child of node i is i + 1, and children come after their parents, so that refitting is
one backward loop. A node is split at the median of the widest of four coordinates of its bounding spheres: x, y, z and
the radius. The fourth keeps bodies of very different size in different branches, and the median bounds the depth by
log2 n.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.jit import kernel
from superovoid.scene.culling import PAST_OBB, PAST_SPHERE, bounding_spheres_within, oriented_boxes_within
from superovoid.scene.pair_table import ALLOWED, FORBIDDEN, rule

_LEAF = 4  # bodies
# A node pair is replaced by at most four, 2 log2 n times: enough for 2^60 bodies.
_STACK = 512

# Entries of `Tree.head`.
BODIES, NODES, ENDLESS = 0, 1, 2


class Tree(NamedTuple):
    """Bodies in the order of the tree, and nodes."""

    order: NDArray[np.int32]  # body at each place; half-spaces stand behind the others
    bounds: NDArray[np.float64]  # of the body at each place
    first: NDArray[np.int32]  # places of each node
    last: NDArray[np.int32]
    right: NDArray[np.int32]  # second child; 0 for a leaf
    link: NDArray[np.int32]  # the one link of all bodies of a node, -1 for several
    boxes: NDArray[np.float64]  # of each node: lower and upper corner
    stack: NDArray[np.int32]
    cost: NDArray[np.float64]  # one number: the sum of the extents of all boxes
    head: NDArray[np.int64]


def tree_for(count: int) -> Tree:
    """Memory for a tree of so many bodies."""
    nodes = max(1, 2 * count)
    return Tree(
        np.empty(count, dtype=np.int32),
        np.empty((count, 6)),
        np.empty(nodes, dtype=np.int32),
        np.empty(nodes, dtype=np.int32),
        np.empty(nodes, dtype=np.int32),
        np.empty(nodes, dtype=np.int32),
        np.empty((nodes, 6)),
        np.empty((_STACK, 3), dtype=np.int32),
        np.zeros(1),
        np.zeros(3, dtype=np.int64),
    )


@kernel
def _widest(order, points, first, last):
    """Coordinate in which the points spread most."""
    widest, axis = -1.0, 0
    for i in range(4):
        low, high = math.inf, -math.inf
        for k in range(first, last):
            value = points[order[k], i]
            low, high = min(low, value), max(high, value)
        if high - low > widest:
            widest, axis = high - low, i
    return axis


@kernel
def _select(order, points, axis, first, last, middle):
    """Partition places so that none before `middle` has a larger coordinate than one from there on (Hoare)."""
    low, high = first, last - 1
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


@kernel(nogil=True)
def build(tree, spheres, links):
    """Arrange the bodies; `refit` of all links has to follow."""
    order, stack = tree.order, tree.stack
    n = spheres.shape[0]
    count, endless = 0, n
    for k in range(n):
        if spheres[k, 3] < math.inf:
            order[count] = k
            count += 1
        else:
            endless -= 1
            order[endless] = k
    nodes = 0
    top = 0
    if count > 0:
        stack[0, 0], stack[0, 1], stack[0, 2] = 0, count, -1
        top = 1
    while top > 0:
        top -= 1
        first, last, parent = stack[top, 0], stack[top, 1], stack[top, 2]
        node = nodes
        nodes += 1
        if parent >= 0:
            tree.right[parent] = node
        tree.first[node], tree.last[node], tree.right[node] = first, last, 0
        if last - first > _LEAF:
            middle = first + (last - first) // 2
            _select(order, spheres, _widest(order, spheres, first, last), first, last, middle)
            stack[top, 0], stack[top, 1], stack[top, 2] = middle, last, node
            stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = first, middle, -1
            top += 2
    for node in range(nodes - 1, -1, -1):
        if tree.right[node] == 0:
            link = links[order[tree.first[node]]]
            for k in range(tree.first[node] + 1, tree.last[node]):
                if links[order[k]] != link:
                    link = -1
        else:
            link = tree.link[node + 1]
            if tree.link[tree.right[node]] != link:
                link = -1
        tree.link[node] = link
        tree.boxes[node, :] = 0.0
    tree.cost[0] = 0.0
    tree.head[BODIES], tree.head[NODES], tree.head[ENDLESS] = count, nodes, n - endless


@kernel
def _set(box, other):
    for i in range(6):
        box[i] = other[i]


@kernel
def _join(box, other):
    for i in range(3):
        box[i] = min(box[i], other[i])
        box[3 + i] = max(box[3 + i], other[3 + i])


@kernel
def _extent(box):
    return box[3] - box[0] + box[4] - box[1] + box[5] - box[2]


@kernel(nogil=True)
def refit(tree, bounds, moved):
    """Fit boxes to the bodies' bounds where bodies of a link have moved: `moved` has an entry for each link."""
    cost = tree.cost[0]
    for node in range(tree.head[NODES] - 1, -1, -1):
        if tree.link[node] >= 0 and not moved[tree.link[node]]:
            continue
        box = tree.boxes[node]
        cost -= _extent(box)
        if tree.right[node] == 0:
            first = tree.first[node]
            for place in range(first, tree.last[node]):
                _set(tree.bounds[place], bounds[tree.order[place]])
            _set(box, tree.bounds[first])
            for place in range(first + 1, tree.last[node]):
                _join(box, tree.bounds[place])
        else:
            _set(box, tree.boxes[node + 1])
            _join(box, tree.boxes[tree.right[node]])
        cost += _extent(box)
    tree.cost[0] = cost


@kernel
def _apart(a, b, limit):
    """Whether an axis of the world shows two boxes farther apart than the limit."""
    return (
        a[0] - b[3] > limit
        or b[0] - a[3] > limit
        or a[1] - b[4] > limit
        or b[1] - a[4] > limit
        or a[2] - b[5] > limit
        or b[2] - a[5] > limit
    )


@kernel
def _consider(local, world, rules, a, b, limit, rounding, candidates, found, counts):
    """Rules and volumes for one pair; append it to the candidates if it passes. Returns their number."""
    a, b = np.int64(a), np.int64(b)
    if not bounding_spheres_within(world, a, b, limit + rounding):
        return found
    says = rule(rules, a, b)
    if says == FORBIDDEN:
        return found
    counts[PAST_SPHERE] += 1
    if limit < math.inf and not oriented_boxes_within(local, world, a, b, limit, rounding):
        return found
    if found < candidates.shape[0]:
        straight = (a < b) == (says == ALLOWED)
        candidates[found, 0] = a if straight else b
        candidates[found, 1] = b if straight else a
    return found + 1


@kernel(nogil=True)
def cull_tree(local, world, rules, tree, limit, rounding, candidates, counts):
    """Find all allowed pairs whose volumes are within the limit, and write them as far as `candidates` reaches.

    Returns how many there are.
    """
    counts[:] = 0
    order, bounds, boxes, stack = tree.order, tree.bounds, tree.boxes, tree.stack
    reach = limit + rounding
    found = 0
    top = 0
    if tree.head[NODES] > 0:
        stack[0, 0], stack[0, 1] = 0, 0
        top = 1
    while top > 0:
        top -= 1
        m, n = stack[top, 0], stack[top, 1]
        if tree.link[m] >= 0 and tree.link[m] == tree.link[n] and not rules.within_links:
            continue
        if m == n:
            if tree.right[m] > 0:
                left, right = m + 1, tree.right[m]
                stack[top, 0], stack[top, 1] = left, right
                stack[top + 1, 0], stack[top + 1, 1] = right, right
                stack[top + 2, 0], stack[top + 2, 1] = left, left
                top += 3
                continue
            for i in range(tree.first[m], tree.last[m]):
                for j in range(i + 1, tree.last[m]):
                    if not _apart(bounds[i], bounds[j], reach):
                        found = _consider(
                            local, world, rules, order[i], order[j], limit, rounding, candidates, found, counts
                        )
            continue
        if _apart(boxes[m], boxes[n], reach):
            continue
        if tree.right[m] == 0 and tree.right[n] == 0:
            for i in range(tree.first[m], tree.last[m]):
                if _apart(bounds[i], boxes[n], reach):
                    continue
                for j in range(tree.first[n], tree.last[n]):
                    if not _apart(bounds[i], bounds[j], reach):
                        found = _consider(
                            local, world, rules, order[i], order[j], limit, rounding, candidates, found, counts
                        )
            continue
        # The node with more bodies is opened.
        if tree.last[m] - tree.first[m] < tree.last[n] - tree.first[n]:
            m, n = n, m
        stack[top, 0], stack[top, 1] = m + 1, n
        stack[top + 1, 0], stack[top + 1, 1] = tree.right[m], n
        top += 2
    for i in range(tree.head[BODIES], order.shape[0]):
        body = order[i]
        first = tree.head[BODIES]
        if world.spheres[body, 3] == math.inf:
            first = 0
        elif tree.head[NODES] > 0:
            stack[0, 0] = 0
            top = 1
        box = world.bounds[body]
        while top > 0:
            top -= 1
            m = stack[top, 0]
            if tree.link[m] >= 0 and tree.link[m] == rules.link[body] and not rules.within_links:
                continue
            if _apart(box, boxes[m], reach):
                continue
            if tree.right[m] > 0:
                stack[top, 0] = m + 1
                stack[top + 1, 0] = tree.right[m]
                top += 2
                continue
            for j in range(tree.first[m], tree.last[m]):
                if not _apart(box, bounds[j], reach):
                    found = _consider(local, world, rules, body, order[j], limit, rounding, candidates, found, counts)
        for j in range(first, i):
            found = _consider(local, world, rules, body, order[j], limit, rounding, candidates, found, counts)
    counts[PAST_OBB] = found
    return found
