# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The latest joint positions, collected from messages."""

import math
from types import SimpleNamespace

import pytest
from builtin_interfaces.msg import Time
from moveit_msgs.msg import PlanningScene, RobotState
from sensor_msgs.msg import JointState

from superovoid_ros.nodes.common.conversions import to_time, to_transform
from superovoid_ros.nodes.distance_service.robot_state.latest import RESTART, TransformTree
from superovoid_ros.nodes.distance_service.robot_state.measured import Joints, Measured
from superovoid_ros.nodes.distance_service.robot_state.measurements import store_joint_states

import arm
from monitor import Monitor

AHEAD = JointState(name=["slide"], position=[1.0])


ROBOT = SimpleNamespace(joint_names=("a", "b"), joint_limits={"a": (-1.0, 1.0), "b": (2.0, 4.0)})


def store(joints, names, positions, stamp, now):
    """Store a message that comes at the time `now`."""
    message = JointState(name=list(names), position=positions)
    message.header.stamp = to_time(stamp)
    store_joint_states(joints, message, now)


def joints_after(*messages):
    """Of messages: names, positions, stamp, and the time at which each comes."""
    joints = Joints()
    for message in messages:
        store(joints, *message)
    return joints


def positions_of(joints, names):
    """Return the positions of joints, and the stamp of the oldest."""
    measured = Measured({"unmeasured_joints": "refuse"}.__getitem__, joints, TransformTree())
    positions, stamps = measured.positions(ROBOT, names)
    return positions, min(stamps, default=None)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        # Of each sender the latest counts; the stamp is the oldest of the joints in question.
        ([("ab", [1.0, 2.0], 10, 10), ("b", [3.0], 20, 20)], ({"a": 1.0, "b": 3.0}, 10)),
        # A message that was overtaken changes only what is older than it.
        ([("ab", [1.0, 1.0], 10, 10), ("a", [2.0], 30, 30), ("ab", [3.0, 3.0], 20, 31)], ({"a": 2.0, "b": 3.0}, 20)),
        # A stamp in the future does not block what comes after.
        ([("a", [1.0], 10_000, 10), ("a", [2.0], 20, 20)], ({"a": 2.0}, 20)),
        # Stamps that never change: the order of arrival.
        ([("a", [1.0], 20, 20), ("a", [2.0], 20, 30)], ({"a": 2.0}, 20)),
        # Velocities only, or a late message without a number.
        ([("a", [1.0], 20, 20), ("a", [], 30, 30), ("a", [math.nan], 10, 30)], ({"a": 1.0}, 20)),
        ([], ({}, None)),
    ],
)
def test_positions_are_those_of_the_newest_messages(messages, expected):
    assert positions_of(joints_after(*messages), expected[0]) == expected


def test_a_sender_with_restarted_time_is_used():
    begin, second = 50 * RESTART, RESTART
    joints = joints_after(("a", [1.0], begin, begin), ("a", [2.0], begin - second, begin))
    assert positions_of(joints, ["a"]) == ({"a": 1.0}, begin)
    store(joints, "a", [3.0], 10, begin + second)
    assert positions_of(joints, ["a"]) == ({"a": 3.0}, 10)


@pytest.mark.ci
def test_unmeasured_joints_are_assumed_if_the_parameter_allows_it(serve, client):
    serve(robot_description=arm.URDF, rate=0.0, **{"diagnostics.period": 0.1})
    monitor, ball = Monitor(client), to_transform("ground", "ball", arm.at(0.0, 0.0, 50.0), Time())
    # A joint state in a scene was not measured.
    assert client.apply_scene(PlanningScene(is_diff=True, robot_state=RobotState(is_diff=True, joint_state=AHEAD)))
    refused = client.nearest(base_poses=[ball])
    assert not refused.success and "no position of joint" in refused.message
    client.set(unmeasured_joints="default")
    assert client.gap("ball", "hand", base_poses=[ball]) == pytest.approx(math.hypot(0.5, 50.0) - 0.15, abs=1e-9)
    monitor.wait_for_value("robot", "assumed joints", "slide, wrist")
