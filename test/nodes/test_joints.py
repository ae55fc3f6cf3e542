"""The latest joint positions, collected from messages."""

import math

import pytest

from superovoid_ros.nodes.errors import InputError
from superovoid_ros.nodes.joints import JointPositions


def test_latest_position_of_each_sender_counts_and_the_oldest_stamp():
    joints = JointPositions()
    joints.update(["a", "b"], [1.0, 2.0], 10, 10)
    joints.update(["b"], [3.0], 20, 20)
    assert joints.of(["a", "b"]) == ({"a": 1.0, "b": 3.0}, 10)
    assert joints.of(["b"]) == ({"b": 3.0}, 20)


def test_no_joint_asked_for_has_no_age():
    assert JointPositions().of([]) == ({}, None)


def test_joint_never_heard_of_is_named():
    joints = JointPositions()
    with pytest.raises(InputError, match=r"no position of joint a .*no message received yet"):
        joints.of(["a"])
    joints.update(["b"], [0.0], 0, 0)
    with pytest.raises(InputError, match=r"no position of joint a .*\(1 messages received\)"):
        joints.of(["a", "b"])


def test_position_that_is_no_number_replaces_an_older_one():
    joints = JointPositions()
    joints.update(["a"], [1.0], 0, 0)
    joints.update(["a"], [math.inf], 1, 1)
    with pytest.raises(InputError, match=r"joint a .*inf: must be finite"):
        joints.of(["a"])


def test_message_of_wrong_length_is_refused_whole():
    joints = JointPositions()
    joints.update(["a"], [1.0], 0, 0)
    with pytest.raises(InputError, match="2 names, 1 positions"):
        joints.update(["a", "b"], [5.0], 1, 1)
    assert joints.of(["a"]) == ({"a": 1.0}, 0)


def test_message_without_positions_says_nothing():
    joints = JointPositions()
    joints.update(["a"], [1.0], 0, 0)
    joints.update(["a"], [], 1, 1)
    assert joints.of(["a"]) == ({"a": 1.0}, 0)


def test_message_that_was_overtaken_changes_nothing():
    joints = JointPositions()
    joints.update(["a", "b"], [1.0, 1.0], 10, 10)
    joints.update(["a"], [2.0], 30, 30)
    joints.update(["a", "b"], [3.0, 3.0], 20, 31)
    assert joints.of(["a", "b"]) == ({"a": 2.0, "b": 3.0}, 20)


def test_stamp_in_the_future_does_not_block_what_comes_after():
    joints = JointPositions()
    joints.update(["a"], [1.0], 10_000, 10)
    joints.update(["a"], [2.0], 20, 20)
    assert joints.of(["a"]) == ({"a": 2.0}, 20)


def test_what_is_measured_later_than_now_is_forgotten_when_time_jumps_back():
    joints = JointPositions()
    joints.update(["a"], [1.0], 10, 100)
    joints.update(["b"], [1.0], 90, 100)
    assert joints.forget_after(50) == 1
    assert joints.of(["a"]) == ({"a": 1.0}, 10)
    with pytest.raises(InputError, match="joint b"):
        joints.of(["b"])
