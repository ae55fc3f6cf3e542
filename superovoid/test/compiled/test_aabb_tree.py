# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The tree of boxes over bodies and triangles: invariants of every traversal."""

from __future__ import annotations

import numpy as np
import pytest

from superovoid.compiled.aabb_tree import LEAF, NODE, NODE_LENGTH, arrange, node_count, tree_of_triangles

COUNTS = (1, 2, 4, 5, 8, 9, 17, 18, 33, 100, 1023, 1024, 1025)


def walk(nodes, node=0, depth=0):
    """Yield a node and all below it, with their depths."""
    yield node, depth
    if nodes[node, NODE.second] > 0.0:
        yield from walk(nodes, node + 1, depth + 1)
        yield from walk(nodes, node + int(nodes[node, NODE.second]), depth + 1)


@pytest.mark.parametrize("count", COUNTS)
def test_each_triangle_is_in_one_leaf_and_all_boxes_above(count):
    corners = np.random.default_rng(count).normal(size=(count, 1, 3)) + np.random.default_rng(1).normal(size=(3, 3))
    corners[::3] = corners[0]  # equal points
    order, nodes = tree_of_triangles(corners)
    assert sorted(order) == list(range(count)) and len(nodes) == node_count(count)
    found = list(walk(nodes))
    assert [node for node, _ in found] == list(range(len(nodes)))  # preorder, each once
    assert max(depth for _, depth in found) <= np.ceil(np.log2(count))
    leaves = [nodes[node] for node, _ in found if nodes[node, NODE.second] == 0.0]
    assert [row[NODE.first] for row in leaves[1:]] == [row[NODE.end] for row in leaves[:-1]]
    assert leaves[0][NODE.first] == 0 and leaves[-1][NODE.end] == count
    assert all(1 <= row[NODE.end] - row[NODE.first] <= LEAF for row in leaves)
    for row in nodes:
        inside = corners[order[int(row[NODE.first]) : int(row[NODE.end])]].reshape(-1, 3)
        assert np.array_equal(row[NODE.lower : NODE.upper], inside.min(axis=0))
        assert np.array_equal(row[NODE.upper : NODE.upper + 3], inside.max(axis=0))


def test_halves_are_split_by_the_coordinate_of_largest_spread():
    points = np.random.default_rng(2).normal(size=(200, 4)) * (1.0, 1.0, 1.0, 3.0)
    order = np.arange(200, dtype=np.int32)
    nodes = np.empty((node_count(200), NODE_LENGTH))
    arrange(points, order, nodes)
    for i, row in enumerate(nodes):
        if row[NODE.second] == 0.0:
            continue
        first, middle, end = int(row[NODE.first]), int(nodes[i + 1, NODE.end]), int(row[NODE.end])
        axis = np.argmax(np.ptp(points[order[first:end]], axis=0))
        assert middle == (first + end) // 2
        assert points[order[first:middle], axis].max() <= points[order[middle:end], axis].min()


def test_rows_of_points_other_than_items_are_left_out():
    points = np.random.default_rng(3).normal(size=(50, 3))
    order = np.arange(10, 40, dtype=np.int32)
    nodes = np.empty((100, NODE_LENGTH))  # more than the tree needs
    arrange(points, order, nodes)
    assert sorted(order) == list(range(10, 40)) and nodes[0, NODE.end] == 30
