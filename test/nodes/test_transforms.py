"""The tree of transforms that stands in for tf2_ros."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from scipy.spatial.transform import Rotation

from superovoid_ros.nodes.conversions import from_transform, to_transform
from superovoid_ros.nodes.errors import InputError
from superovoid_ros.nodes.transforms import BufferTransforms, TransformTree, transform_source


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


# --- with tf2_ros, here a double of it with the same interface ---


class TransformException(Exception):
    """What every exception of tf2 derives from."""


class Buffer:
    """Knows that world - left is static and world - right moves."""

    def clear(self):
        """Forget everything."""

    def lookup_transform(self, target, source, time):
        """Return what tf2 would."""
        assert time.nanoseconds == 0
        if target != "world" or source not in ("left", "right"):
            raise TransformException(f'"{source}" passed to lookupTransform argument source_frame does not exist.')
        return to_transform(target, source, pose(1), Time(sec=5 if source == "right" else 0))


@pytest.fixture
def with_tf2(client, monkeypatch):
    """The source of transforms where tf2_ros can be imported."""
    double = types.ModuleType("tf2_ros")
    double.Buffer, double.TransformException = Buffer, TransformException
    double.TransformListener = lambda buffer, node: None
    monkeypatch.setitem(sys.modules, "tf2_ros", double)
    return transform_source(client.node)


def test_tf2_is_used_where_it_is_installed(with_tf2):
    assert isinstance(with_tf2, BufferTransforms)
    found = with_tf2.lookup("world", "right")
    assert found.target_from_source == pytest.approx(pose(1), abs=1e-14)
    assert found.stamp == 5_000_000_000
    assert with_tf2.lookup("world", "left").stamp is None


def test_what_tf2_says_of_a_missing_frame_is_passed_on(with_tf2):
    with pytest.raises(InputError, match=r"no transform from 'tool' to 'world': .*does not exist"):
        with_tf2.lookup("world", "tool")


# --- order of arrival ---


def test_older_transform_that_comes_late_is_not_taken_for_the_present(tree):
    tree.set("world", "right", pose(7), 50)
    found = tree.lookup("world", "right")
    assert np.array_equal(found.target_from_source, pose(3)) and found.stamp == 100


def test_older_transforms_are_believed_when_the_clock_began_again(tree):
    tree.forget_after(60)
    tree.set("world", "right", pose(7), 50)
    found = tree.lookup("world", "right")
    assert np.array_equal(found.target_from_source, pose(7)) and found.stamp == 50
