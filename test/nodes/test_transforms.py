"""The tree of transforms that stands in for tf2_ros."""

from __future__ import annotations

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from scipy.spatial.transform import Rotation

from superovoid_ros.nodes.conversions import from_transform, to_transform
from superovoid_ros.nodes.errors import InputError
from superovoid_ros.nodes.transforms import TransformTree


def pose(seed):
    """Return some pose."""
    generator = np.random.default_rng(seed)
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.random(random_state=seed).as_matrix()
    matrix[:3, 3] = generator.normal(size=3)
    return matrix


@pytest.fixture
def tree():
    """world - left - finger, world - right; left is static."""
    tree = TransformTree()
    tree.set("world", "left", pose(1), None)
    tree.set("left", "finger", pose(2), 200)
    tree.set("world", "right", pose(3), 100)
    return tree


def test_chain_is_the_product_of_its_transforms(tree):
    assert tree.lookup("world", "finger").target_from_source == pytest.approx(pose(1) @ pose(2))


def test_frames_are_connected_through_their_common_ancestor(tree):
    expected = np.linalg.inv(pose(3)) @ pose(1) @ pose(2)
    assert tree.lookup("right", "finger").target_from_source == pytest.approx(expected)
    assert tree.lookup("finger", "right").target_from_source == pytest.approx(np.linalg.inv(expected))


def test_stamp_is_the_oldest_of_the_chain_and_static_transforms_have_none(tree):
    assert tree.lookup("right", "finger").stamp == 100
    assert tree.lookup("world", "finger").stamp == 200
    assert tree.lookup("world", "left").stamp is None


def test_a_direct_transform_is_returned_unchanged(tree):
    assert np.array_equal(tree.lookup("world", "right").target_from_source, pose(3))


def test_a_new_parent_replaces_the_old_one(tree):
    tree.set("right", "finger", pose(4), 300)
    assert tree.lookup("world", "finger").target_from_source == pytest.approx(pose(3) @ pose(4))


def test_frames_that_are_not_connected_are_named_with_those_known(tree):
    tree.set("map", "robot", pose(5), 0)
    with pytest.raises(InputError, match=r"'map' to 'world'.*finger, left, map, right, robot, world"):
        tree.lookup("world", "map")


def test_a_loop_is_told_and_not_followed_for_ever(tree):
    tree.set("finger", "world", pose(6), 0)
    with pytest.raises(InputError, match="loop"):
        tree.lookup("right", "left")


@pytest.mark.parametrize(("parent", "child"), [("", "a"), ("a", ""), ("a", "a")])
def test_transform_without_two_frames_is_refused(tree, parent, child):
    with pytest.raises(InputError, match="two different frames"):
        tree.set(parent, child, pose(1), 0)


def test_pose_survives_the_way_through_a_message():
    for seed in range(20):
        stamped = to_transform("a", "b", pose(seed), Time())
        assert from_transform(stamped.transform, "a to b") == pytest.approx(pose(seed), abs=1e-14)
