"""The latest joint positions, collected from messages."""

import math

import pytest

from superovoid_ros.nodes.common.mistakes import InputError
from superovoid_ros.nodes.distance_service.robot_state.joints import JointPositions


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


class Steady:
    """A clock that a test turns by hand."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time [s]."""
        return self.now


def test_message_that_comes_twice_changes_nothing():
    joints = JointPositions()
    for position, stamp in ((1.0, 20), (2.0, 30), (1.0, 20), (2.0, 30)):
        joints.update(["a"], [position], stamp, 40)
    assert joints.of(["a"]) == ({"a": 2.0}, 30)


def test_late_position_that_is_no_number_does_no_harm():
    joints = JointPositions()
    joints.update(["a"], [1.0], 20, 20)
    joints.update(["a"], [math.nan], 10, 30)
    assert joints.of(["a"]) == ({"a": 1.0}, 20)


def test_sender_whose_stamps_never_change_is_believed_in_the_order_of_arrival():
    joints = JointPositions()
    joints.update(["a"], [1.0], 20, 20)
    joints.update(["a"], [2.0], 20, 30)
    assert joints.of(["a"]) == ({"a": 2.0}, 20)


def test_sender_whose_time_began_again_is_believed_after_a_second():
    steady = Steady()
    joints = JointPositions(steady=steady)
    joints.update(["a"], [1.0], 1000, 5000)
    for steady.now, stamp, expected in (
        (5.0, 10, 1000),
        (5.9, 11, 1000),
        (6.1, 12, 12),
        (6.2, 13, 13),
    ):
        joints.update(["a"], [1.0], stamp, 5000)
        assert joints.of(["a"])[1] == expected


def test_late_sender_is_never_believed_while_a_newer_one_is_heard():
    steady = Steady()
    joints = JointPositions(steady=steady)
    for k in range(100):
        steady.now = 0.1 * k
        joints.update(["a"], [1.0], 1000 + k, 5000)
        joints.update(["a"], [9.0], k, 5000)
        assert joints.of(["a"]) == ({"a": 1.0}, 1000 + k)


def test_names_that_nobody_uses_do_not_pile_up_and_displace_no_joint_that_is_heard():
    joints = JointPositions()
    for k in range(3000):
        joints.update(["a"], [float(k)], k, k)
        joints.update([f"noise_{k}_{i}" for i in range(10)], [0.0] * 10, k, k)
    assert len(joints) <= 10_000
    assert joints.of(["a"]) == ({"a": 2999.0}, 2999)
