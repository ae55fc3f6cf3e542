# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The sweep of the hands moved by the arms, player and distance service together as processes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from superovoid_interfaces.srv import GetMinDistance, PlayFrame
from tf2_msgs.msg import TFMessage

from superovoid_ros.motions.arm_sweep import upper_body
from superovoid_ros.motions.grasp_sweep import shipped
from superovoid_ros.nodes.common.conversions import to_nanoseconds

import sweeps

HANDS = {"links_a": ["left_hand"], "links_b": ["right_hand"]}


@pytest.fixture(scope="module")
def player(start_node):
    """A player that moves arms, waits for requests and publishes the upper body."""
    node = start_node("sweep_player", paused=True, motion="arms", publish_robot_description=True)
    node.wait_for_output("by the arms: frames 0 to 213 of 214, paused")
    return node


@pytest.fixture(scope="module")
def both(start_node, player, client):
    """The client, once a service knows the upper body's URDF and SRDF from the player's topics."""
    node = start_node("distance_service", rate=0.0)
    node.wait_for_output("robot 'icub_upper_body'")
    expected = f"{len(upper_body().body_pairs())} allowed pairs"
    client.call_until(lambda _: expected in node.output(), PlayFrame, "/sweep_player/play_frame")
    return client


def ask(client, index, **request):
    """Have a frame played and return the service's answer about it, known by its stamp."""
    service = "/distance_service/get_min_distance"
    return sweeps.answer_of_frame(client, index, GetMinDistance, service, **request).distances


@pytest.mark.parametrize("step", [20, pytest.param(1, marks=pytest.mark.slow)])
def test_distances_of_frames_are_those_of_the_sweep_without_arms(both, step):
    # The library's answers about floating hands against those that came over DDS about the arms' joint states.
    hands, sweep = shipped()
    scene, pairs = hands.scene(), hands.body_pairs(["left_hand"], ["right_hand"])
    for frame in itertools.islice(sweep, 0, None, step):
        answer = ask(both, frame.index, **HANDS)
        scene.set_link_poses(hands.forward_kinematics(frame.positions, frame.base_poses))
        expected = scene.query(pairs=pairs)
        found = {(pair.body_a, pair.body_b): pair for pair in answer.pairs}
        assert len(found) == len(expected) == 576
        names = [
            (scene.bodies[a].name, scene.bodies[b].name) for a, b in zip(expected.body_a, expected.body_b, strict=True)
        ]
        distances = np.array([found[name].distance for name in names])
        np.testing.assert_allclose(distances, expected.distance, rtol=0, atol=1e-12, err_msg=f"frame {frame.index}")
        # Both are certified: their intervals overlap, but for what the arms' last digits move the palms.
        assert all(found[name].lower <= upper + 1e-12 for name, upper in zip(names, expected.upper, strict=True))
        assert all(found[name].upper >= lower - 1e-12 for name, lower in zip(names, expected.lower, strict=True))
        assert answer.intersecting == expected.statistics.intersecting


def test_state_comes_from_joint_states_alone(both):
    joints = both.collect(JointState, "/joint_states")
    transforms = both.collect(TFMessage, "/tf", 100)
    both.call_until(lambda _: joints, PlayFrame, "/sweep_player/play_frame", frame=77)
    answer = ask(both, 77, max_results=1, **HANDS)
    assert answer.header.frame_id == "base_link"
    assert answer.uses_joint_states and not answer.uses_transforms
    assert set(joints[-1].name) == set(upper_body().joint_names)
    assert to_nanoseconds(joints[-1].header.stamp) == to_nanoseconds(answer.header.stamp)
    # The frames of the markers are the service's own; no transform gives the robot's pose.
    assert {end.node_name for end in both.node.get_publishers_info_by_topic("/tf")} <= {"distance_service"}
    frames = {one.child_frame_id for message in transforms for one in message.transforms}
    assert not frames & set(upper_body().links)
