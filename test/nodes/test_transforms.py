# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The tree of transforms."""

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from scipy.spatial.transform import Rotation

from superovoid_ros.nodes.common.conversions import to_transform
from superovoid_ros.nodes.common.mistakes import InputError
from superovoid_ros.nodes.distance_service.robot_state import latest as module
from superovoid_ros.nodes.distance_service.robot_state.latest import TransformTree
from superovoid_ros.nodes.distance_service.robot_state.measurements import store_transform


def pose(seed):
    """Return some pose."""
    generator, matrix = np.random.default_rng(seed), np.eye(4)
    matrix[:3, :3] = Rotation.random(random_state=seed).as_matrix()
    matrix[:3, 3] = generator.normal(size=3)
    return matrix


def put(tree, parent, child, matrix, stamp):
    """Store a transform measured at `stamp`, ns; None: a static one."""
    tree.put([(child, (parent, matrix))], stamp)


def oldest(found):
    """Return the stamp of the oldest link in a chain; None if all are static."""
    return min(found.stamps, default=None)


@pytest.fixture
def tree():
    """world - left - finger, world - right; left is static."""
    tree = TransformTree()
    put(tree, "world", "left", pose(1), None)
    put(tree, "left", "finger", pose(2), 200)
    put(tree, "world", "right", pose(3), 100)
    return tree


@pytest.mark.parametrize(
    ("target", "source", "expected", "stamp"),
    [
        ("world", "left", pose(1), None),  # static
        ("world", "finger", pose(1) @ pose(2), 200),
        ("right", "finger", np.linalg.inv(pose(3)) @ pose(1) @ pose(2), 100),  # the oldest of the chain
        ("finger", "right", np.linalg.inv(pose(1) @ pose(2)) @ pose(3), 100),
    ],
)
def test_frames_are_connected_through_their_common_ancestor(tree, target, source, expected, stamp):
    found = tree.lookup(target, source)
    assert found.target_from_source == pytest.approx(expected) and oldest(found) == stamp


def test_unconnected_frames_are_named_with_the_known_ones(tree):
    put(tree, "map", "robot", pose(5), 0)
    with pytest.raises(InputError, match=r"'map' to 'world'.*finger, left, map, right, robot, world"):
        tree.lookup("world", "map")


def test_a_loop_is_reported_and_not_followed_for_ever(tree):
    put(tree, "finger", "world", pose(6), 0)
    with pytest.raises(InputError, match="loop"):
        tree.lookup("right", "left")


@pytest.mark.parametrize("number", [np.inf, np.nan])
def test_an_infinite_transform_is_refused(number):
    matrix = np.eye(4)
    matrix[0, 3] = number
    with pytest.raises(InputError, match=r"transform from 'left' to 'world': translation .*: must be finite"):
        store_transform(TransformTree(), to_transform("world", "left", matrix, Time()), static=False)


def test_later_transforms_do_not_change_a_copy(tree):
    before = tree.copy()
    put(tree, "world", "right", pose(7), 300)
    assert np.array_equal(before.lookup("world", "right").target_from_source, pose(3))
    assert np.array_equal(tree.lookup("world", "right").target_from_source, pose(7))


def test_old_frames_give_way_to_others_and_static_ones_stay(monkeypatch):
    monkeypatch.setattr(module, "MOST_NAMES", 3)
    tree = TransformTree()
    put(tree, "world", "base", pose(1), None)
    for frame in ("old", "slow", "old", "new"):
        put(tree, "world", frame, pose(2), 100)
    assert tree.latest.keys() == {"base", "old", "new"}
    for frame in ("old", "new"):
        put(tree, "world", frame, pose(3), None)
    with pytest.raises(InputError, match="'more': 3 names are known"):
        put(tree, "world", "more", pose(3), 200)
