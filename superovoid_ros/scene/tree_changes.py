# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A tree of boxes whose bodies come and go without being built anew; `refit` has to follow.

A body that is added stands behind the tree beside the half-spaces, and is tested against every other one. A body that
is removed leaves its leaf. What is in `box_tree` stays as it is; this module has no kernels.
"""

from __future__ import annotations

import numpy as np

from superovoid_ros.scene.box_tree import _LEAF as LEAF
from superovoid_ros.scene.box_tree import BODIES, ENDLESS, NODES, Tree

MOST_LOOSE = 32
"""Bodies behind the tree, half-spaces among them. To build a tree takes some 10 us a body, to test a body against
another some 10 ns: with so many both are about the same for each that is added."""


def with_bodies(tree: Tree | None, count: int) -> Tree | None:
    """The tree with so many bodies more, of the indices behind the others; None: it is to be built."""
    if tree is None or tree.head[ENDLESS] + count > MOST_LOOSE:
        return None
    last = len(tree.order)
    tree.head[ENDLESS] += count
    return tree._replace(order=np.concatenate([tree.order, np.arange(last, last + count, dtype=np.int32)]))


def without_body(tree: Tree | None, gone: int) -> Tree | None:
    """The tree without a body, the indices behind it smaller by one; None: it is to be built."""
    if tree is None:
        return None
    place = int(np.flatnonzero(tree.order == gone)[0])
    order = np.delete(tree.order, place)
    order -= order > gone
    if place >= tree.head[BODIES]:
        tree.head[ENDLESS] -= 1
        return tree._replace(order=order)
    first, last = tree.first[: tree.head[NODES]], tree.last[: tree.head[NODES]]
    first -= first > place
    last -= last > place
    # `cull_tree` opens the node with more bodies: that an inner one always has more than a leaf lets it end.
    is_inner = tree.right[: tree.head[NODES]] > 0
    if (last - first <= np.where(is_inner, LEAF, 0)).any():
        return None
    tree.head[BODIES] -= 1
    return tree._replace(order=order)
