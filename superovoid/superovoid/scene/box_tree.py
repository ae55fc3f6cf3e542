# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The tree of the bodies of a scene (`aabb_tree`): refitted when bodies have moved, rebuilt when its boxes have grown.

The points of the bodies are their bounding spheres, x, y, z and the radius. The fourth coordinate keeps bodies of very
different size in different branches.

Half-spaces are listed behind the tree: a query tests each against all bodies before it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.aabb_tree import NODE, NODE_LENGTH, arrange, fit_node, node_count
from superovoid.compiled.arrays import Bools1, Floats1, Floats2, Int32s1, Int32s2, Ints1, Ints2, zeros
from superovoid.compiled.kernels import bundle, entry_point, kernel
from superovoid.scene.culling import LocalBodies, World, is_within
from superovoid.scene.pair_table import ALLOWED, FORBIDDEN, Rules, rule

# A node pair is replaced by at most four, 2 log2 n times: enough for 2^60 bodies.
_STACK = 512

# Entries of `Tree.head`.
BODIES, NODES = 0, 1


@bundle
class Tree(NamedTuple):
    """Bodies in the order of the tree, and nodes."""

    order: Int32s1  # body at each position of the order; half-spaces come last
    bounds: Floats2  # of the body at each position
    nodes: Floats2
    link: Int32s1  # the one link of all bodies of a node, -1 for several
    stack: Int32s2
    cost: Floats1  # one number: the sum of the extents of all boxes
    head: Ints1


def tree_for(count: int) -> Tree:
    """Return memory for a tree of `count` bodies."""
    nodes = node_count(count)
    return zeros(Tree, count, (count, 6), (nodes, NODE_LENGTH), nodes, (_STACK, 2), 1, 2)


@entry_point(nogil=True)
def build(tree: Tree, spheres: Floats2, links: Ints1) -> None:
    """Arrange the bodies; call `refit` of all links afterwards."""
    order, nodes = tree.order, tree.nodes
    n = spheres.shape[0]
    count, endless = 0, n
    for k in range(n):
        if spheres[k, 3] < math.inf:
            order[count] = k
            count += 1
        else:
            endless -= 1
            order[endless] = k
    total = 0
    if count > 0:
        total = node_count(count)
        arrange(spheres, order[:count], nodes)
    for node in range(total - 1, -1, -1):
        second = int(nodes[node, NODE.second])
        if second == 0:
            first = int(nodes[node, NODE.first])
            link = links[order[first]]
            for k in range(first + 1, int(nodes[node, NODE.end])):
                if links[order[k]] != link:
                    link = -1
        else:
            link = tree.link[node + 1]
            if tree.link[node + second] != link:
                link = -1
        tree.link[node] = link
        nodes[node, :6] = 0.0
    tree.cost[0] = 0.0
    tree.head[BODIES], tree.head[NODES] = count, total


@kernel
def _extent(box):
    return box[3] - box[0] + box[4] - box[1] + box[5] - box[2]


@entry_point(nogil=True)
def refit(tree: Tree, bounds: Floats2, moved: Bools1) -> None:
    """Fit the boxes of moved links to the bodies' bounds: `moved` has an entry for each link."""
    cost = tree.cost[0]
    for node in range(tree.head[NODES] - 1, -1, -1):
        if tree.link[node] >= 0 and not moved[tree.link[node]]:
            continue
        box = tree.nodes[node]
        cost -= _extent(box)
        fit_node(tree.nodes, node, tree.order, bounds, tree.bounds)
        cost += _extent(box)
    tree.cost[0] = cost


def spacing(tree: Tree) -> float:
    """Estimate the distance between neighbours among bodies that lie close together; inf without bodies.

    The measured node has about sqrt(n) of the n bodies. The smaller child at each level leaves out the few bodies
    that are far from the others.
    """
    if tree.head[NODES] == 0:
        return math.inf
    node, count = 0, int(tree.head[BODIES])
    while tree.nodes[node, NODE.second] > 0.0 and count * count > tree.head[BODIES]:
        first, second = node + 1, node + int(tree.nodes[node, NODE.second])
        node = first if _extent(tree.nodes[first]) < _extent(tree.nodes[second]) else second
        count = int(tree.nodes[node, NODE.end] - tree.nodes[node, NODE.first])
    return float(_extent(tree.nodes[node]) / count ** (1.0 / 3.0))


@kernel
def _are_apart(a, b, limit):
    """Return whether two boxes are farther apart than the limit along an axis of the world."""
    return (
        a[0] - b[3] > limit
        or b[0] - a[3] > limit
        or a[1] - b[4] > limit
        or b[1] - a[4] > limit
        or a[2] - b[5] > limit
        or b[2] - a[5] > limit
    )


@kernel
def _consider(local, world, rules, a, b, limit, candidates, found, counts):
    """Test the rules and volumes of a pair, and append it to the candidates if it passes; return their number."""
    a, b = np.int64(a), np.int64(b)
    says = rule(rules, a, b)
    if says == FORBIDDEN or not is_within(local, world, a, b, limit, counts):
        return found
    if found < candidates.shape[0]:
        straight = (a < b) == (says == ALLOWED)
        candidates[found, 0] = a if straight else b
        candidates[found, 1] = b if straight else a
    return found + 1


@entry_point(nogil=True)
def cull_tree(
    local: LocalBodies,
    rules: Rules,
    tree: Tree,
    limit: float,
    world: World,
    candidates: Ints2,
    counts: Ints1,
) -> int:
    """Find all allowed pairs whose volumes are within the limit, and write those that the memory has room for.

    Return the number found.
    """
    counts[:] = 0
    order, nodes, stack, reach, found = tree.order, tree.nodes, tree.stack, limit + world.rounding[0], 0
    stack[0, 0] = stack[0, 1] = 0
    top = 1 if tree.head[NODES] > 0 else 0
    while top > 0:
        top -= 1
        m, n = stack[top, 0], stack[top, 1]
        box, other = nodes[m], nodes[n]
        if tree.link[m] >= 0 and tree.link[m] == tree.link[n] and not rules.within_links:
            continue
        second = int(box[NODE.second])
        if m == n and second > 0:
            stack[top, 0], stack[top, 1] = m + 1, m + second
            stack[top + 1, 0], stack[top + 1, 1] = m + second, m + second
            stack[top + 2, 0], stack[top + 2, 1] = m + 1, m + 1
            top += 3
        elif _are_apart(box, other, reach):
            continue
        elif second == 0 and other[NODE.second] == 0.0:
            for i in range(int(box[NODE.first]), int(box[NODE.end])):
                for j in range(i + 1 if m == n else int(other[NODE.first]), int(other[NODE.end])):
                    if not _are_apart(tree.bounds[i], tree.bounds[j], reach):
                        found = _consider(local, world, rules, order[i], order[j], limit, candidates, found, counts)
        else:
            # Open the node with more bodies.
            if box[NODE.end] - box[NODE.first] < other[NODE.end] - other[NODE.first]:
                m, n, second = n, m, int(other[NODE.second])
            stack[top, 0], stack[top, 1] = m + 1, n
            stack[top + 1, 0], stack[top + 1, 1] = m + second, n
            top += 2
    for i in range(tree.head[BODIES], order.shape[0]):
        for j in range(i):
            found = _consider(local, world, rules, order[i], order[j], limit, candidates, found, counts)
    return found
