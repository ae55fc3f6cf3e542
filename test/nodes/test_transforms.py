# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The tree of transforms that stands in for tf2_ros."""

import math
import sys
import types

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from scipy.spatial.transform import Rotation

from superovoid_ros.nodes.common.conversions import to_transform
from superovoid_ros.nodes.common.endpoints import Endpoints
from superovoid_ros.nodes.common.mistakes import InputError
from superovoid_ros.nodes.distance_service.robot_state import latest as module
from superovoid_ros.nodes.distance_service.robot_state.transforms import (
    Transforms,
    listen_to_transforms,
    transform_source,
)


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
    tree = Transforms()
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


class TransformException(Exception):
    """What every exception of tf2 derives from."""


class ExtrapolationException(TransformException):
    """A chain has no time at which all of its links are known."""


class Buffer:
    """Knows that world - left is static, world - right was seen at 5 s, and right - camera at 9 s."""

    LINKS = {("world", "left"): (1, 0), ("world", "right"): (2, 5), ("right", "camera"): (3, 9)}  # noqa: RUF012

    def set_transform(self, stamped, authority):
        """Keep to what it knows."""

    set_transform_static = set_transform

    def clear(self):
        """Keep to what it knows."""

    def lookup_transform(self, target, source, time):
        """Return what tf2 would."""
        assert time.nanoseconds == 0
        if (target, source) in self.LINKS:
            seed, sec = self.LINKS[target, source]
            return to_transform(target, source, pose(seed), Time(sec=sec))
        if {target, source} <= {"world", "left", "right", "camera"}:
            raise ExtrapolationException("Lookup would require extrapolation at time 5.0, but only time 9.0 is in ...")
        raise TransformException(f'"{source}" passed to lookupTransform argument source_frame does not exist. ')


@pytest.fixture
def with_tf2(monkeypatch):
    """The source of transforms where `import tf2_ros` finds the double."""
    double = types.ModuleType("tf2_ros")
    for kind in (Buffer, TransformException, ExtrapolationException):
        setattr(double, kind.__name__, kind)
    monkeypatch.setitem(sys.modules, "tf2_ros", double)
    source = transform_source("/test_client")
    for (parent, child), (seed, sec) in Buffer.LINKS.items():
        source.store(to_transform(parent, child, pose(seed), Time(sec=sec)), static=sec == 0)
    return source


@pytest.mark.parametrize("number", [np.inf, np.nan])
def test_every_source_refuses_an_infinite_transform(with_tf2, number):
    matrix = np.eye(4)
    matrix[0, 3] = number
    for source in (with_tf2, Transforms()):
        with pytest.raises(InputError, match=r"transform from 'left' to 'world': translation .*: must be finite"):
            source.store(to_transform("world", "left", matrix, Time()), static=False)


def test_a_missing_frame_is_named_with_the_known_ones(with_tf2):
    words = r"no transform from 'tool' to 'world' on .*; known frames: camera, left, right, world"
    with pytest.raises(InputError, match=words):
        with_tf2.lookup("world", "tool")


def test_a_chain_without_common_time_has_each_newest_link(with_tf2):
    found = with_tf2.lookup("left", "camera")
    assert found.target_from_source == pytest.approx(np.linalg.inv(pose(1)) @ pose(2) @ pose(3), abs=1e-13)
    assert oldest(found) == 5_000_000_000
    assert with_tf2.forget_after(0) == 2  # of these links


def test_tf2_and_our_listener_agree(client):
    """Where the real tf2_ros is installed: the same messages to both."""
    pytest.importorskip("tf2_ros", reason="tf2_ros is not installed: the double has to do")
    both = transform_source("/test_client"), Transforms()
    for source in both:
        listen_to_transforms(Endpoints(client.node), "/test_client", source, print, lambda: math.inf)

    def answers(target, source):
        first, second = (transforms.lookup(target, source) for transforms in both)
        assert first.target_from_source == pytest.approx(second.target_from_source, abs=1e-12)
        assert oldest(first) == oldest(second)
        return first

    client.send_transform("world", "left", pose(1), static=True)
    for parent, child, seed, sec in (("left", "finger", 2, 100), ("world", "right", 3, 99), ("world", "right", 4, 100)):
        client.send_transform(parent, child, pose(seed), stamp=Time(sec=sec))
    client.spin(0.3)
    assert oldest(answers("world", "left")) is None and oldest(answers("right", "finger")) == 100_000_000_000
    right_from_finger = np.linalg.inv(pose(4)) @ pose(1) @ pose(2)
    assert answers("right", "finger").target_from_source == pytest.approx(right_from_finger, abs=1e-12)
    assert [transforms.forget_after(10_000_000_000) for transforms in both] == [2, 2]
    for transforms in both:
        with pytest.raises(InputError):
            transforms.lookup("world", "right")
    client.send_transform("world", "right", pose(2), stamp=Time(sec=11))
    client.spin(0.3)
    assert answers("world", "right").target_from_source == pytest.approx(pose(2), abs=1e-12)


def test_later_transforms_do_not_change_a_copy(tree):
    before = tree.copy()
    put(tree, "world", "right", pose(7), 300)
    assert np.array_equal(before.lookup("world", "right").target_from_source, pose(3))
    assert np.array_equal(tree.lookup("world", "right").target_from_source, pose(7))


def test_old_frames_give_way_to_others_and_static_ones_stay(monkeypatch):
    monkeypatch.setattr(module, "MOST_NAMES", 5)
    now = [0.0]
    tree = Transforms(lambda: now[0])
    put(tree, "world", "base", pose(1), None)
    for i in range(4):
        put(tree, "world", f"old {i}", pose(2), 100)
        now[0] += 1.0
    with pytest.raises(InputError, match="'new': 5 names are known"):
        put(tree, "world", "new", pose(3), 200)
    put(tree, "world", "old 0", pose(3), 300)  # a frame that is known is always taken
    now[0] = 1.0 + module.KEPT
    put(tree, "world", "new", pose(3), 200)
    for frame in ("base", "old 0", "old 2", "old 3", "new"):
        assert tree.lookup("world", frame).target_from_source.shape == (4, 4)
    with pytest.raises(InputError, match="no transform from 'old 1'"):
        tree.lookup("world", "old 1")
