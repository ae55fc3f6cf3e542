# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A tree of boxes whose bodies come and go without being built anew; `refit` has to follow.

A body that is added stands behind the tree beside the half-spaces: a query takes it through the tree, and tests it
against the others behind it. A body that is removed leaves its leaf. What is in `box_tree` stays as it is; this module
has no kernels.
"""

from __future__ import annotations

import math

import numpy as np

from superovoid.compiled.aabb_tree import END, FIRST, LEAF, SECOND
from superovoid.scene.box_tree import BODIES, ENDLESS, NODES, Tree

MOST_LOOSE = 32
"""Bodies behind the tree, half-spaces among them; in a tree of n bodies, the root of n where that is more. To build a
tree takes some us a body, and to test each of those behind it against all others behind it some 10 ns a pair."""


def with_bodies(tree: Tree | None, first: int, count: int) -> Tree | None:
    """The tree with so many bodies more, of the rows from one on; None: it is to be built."""
    if tree is None or tree.head[ENDLESS] + count > max(MOST_LOOSE, math.isqrt(int(tree.head[BODIES]))):
        return None
    tree.head[ENDLESS] += count
    return tree._replace(order=np.concatenate([tree.order, np.arange(first, first + count, dtype=np.int32)]))


def without_loose(tree: Tree | None, gone: int) -> Tree | None:
    """The tree without a body if that is behind it; the indices of others stay as they are."""
    if tree is None:
        return None
    places = np.flatnonzero(tree.order[tree.head[BODIES] :] == gone)
    if not len(places):
        return tree
    tree.head[ENDLESS] -= 1
    return tree._replace(order=np.delete(tree.order, tree.head[BODIES] + places[0]))


def without_body(tree: Tree | None, gone: int) -> Tree | None:
    """The tree without a body, the indices behind it smaller by one; None: it is to be built."""
    if tree is None:
        return None
    places = np.flatnonzero(tree.order == gone)
    order = np.delete(tree.order, places)
    order -= order > gone
    if not len(places):  # it was behind the tree, and has left already
        return tree._replace(order=order)
    place = int(places[0])
    if place >= tree.head[BODIES]:
        tree.head[ENDLESS] -= 1
        return tree._replace(order=order)
    nodes = tree.nodes[: tree.head[NODES]]
    ranges = nodes[:, FIRST : END + 1]
    ranges -= ranges > place
    # `cull_tree` opens the node with more bodies: that an inner one always has more than a leaf lets it end.
    if (nodes[:, END] - nodes[:, FIRST] <= np.where(nodes[:, SECOND] > 0.0, LEAF, 0)).any():
        return None
    tree.head[BODIES] -= 1
    return tree._replace(order=order)
