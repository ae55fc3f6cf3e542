# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Two robots in one system: two nodes, two descriptions, namespaces, and frames that differ by prefix or by topic."""

import pytest
from sensor_msgs.msg import JointState
from superovoid_interfaces.msg import DistanceArray
from superovoid_interfaces.srv import GetMinDistance
from tf2_msgs.msg import TFMessage

from superovoid_ros.nodes.common.conversions import to_transform

import arm

pytestmark = pytest.mark.ci  # a process of its own takes more than 2 s

LEFT, RIGHT = "/left/distance_service/get_min_distance", "/right/distance_service/get_min_distance"
FRAMES = {"left": "left/ground", "right": "ground"}


def descriptions(name, radius):
    """Return the descriptions of a robot with a ball on its hand; links and joints are named alike."""
    urdf, srdf = (text.replace('name="arm"', f'name="{name}"') for text in (arm.URDF, arm.SRDF))
    return {
        "robot_description": urdf.replace('radius="0.05"', f'radius="{radius}"'),
        "robot_description_semantic": srdf,
    }


@pytest.fixture(scope="module")
def robots(start_node):
    """The left robot has its frames on the common /tf under a prefix; the right one has a /tf of its own."""
    common = {"rate": 20.0, "max_distance": 0.0, "diagnostics.period": 0.2}
    own = ("/tf:=tf", "/tf_static:=tf_static")
    start_node("distance_service", namespace="/left", frame_prefix="left/", **descriptions("arm", 0.05), **common)
    start_node("distance_service", namespace="/right", remap=own, **descriptions("big_arm", 0.25), **common)


def send(client, side, positions, ball):
    """Publish the state of one robot until its service answers from it."""
    stamp, prefix, topic = client.now(), *(("left/", "/tf") if side == "left" else ("", "/right/tf"))
    joints = JointState(name=arm.JOINTS, position=positions)
    joints.header.stamp = stamp
    transform = to_transform(f"{prefix}ground", f"{prefix}ball", arm.at(ball, 0.0, 0.0), stamp)

    def answers_from_it(response):
        client.publisher(JointState, f"/{side}/joint_states").publish(joints)
        client.publisher(TFMessage, topic, 100).publish(TFMessage(transforms=[transform]))
        return response.success and response.distances.header.stamp == stamp

    return client.call_until(answers_from_it, GetMinDistance, LEFT if side == "left" else RIGHT)


def test_each_node_answers_and_publishes_about_its_own_robot(robots, client):
    published = {side: client.collect(DistanceArray, f"/{side}/distance_service/distances") for side in FRAMES}
    still = send(client, "right", [0.0, 0.0], 2.0)
    for positions, ball, expected in (([0.0, 0.0], 2.0, 1.35), ([0.5, 0.0], 3.0, 1.85)):
        moved = send(client, "left", positions, ball)
        assert moved.distances.pairs[0].distance == pytest.approx(expected, abs=1e-12)
        for answer in (still, client.call(GetMinDistance, RIGHT)):
            assert answer.distances.pairs[0].distance == pytest.approx(1.15, abs=1e-12)
    assert (moved.distances.header.frame_id, still.distances.header.frame_id) == tuple(FRAMES.values())
    assert client.wait(lambda: all(published.values()))
    for side, messages in published.items():
        assert {message.header.frame_id for message in messages} == {FRAMES[side]}
