# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Quality of service: the defaults that docs/reference/ros.md states, overrides, remapping, and many calls at once."""

import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String

import arm

pytestmark = pytest.mark.ci  # a process of its own takes more than 2 s

RELIABLE, BEST_EFFORT = ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT
VOLATILE, TRANSIENT_LOCAL = DurabilityPolicy.VOLATILE, DurabilityPolicy.TRANSIENT_LOCAL


@pytest.fixture(scope="module")
def plain_node(start_node):
    """A node with every default."""
    return start_node("distance_service", name="plain", robot_description=arm.URDF)


@pytest.fixture(scope="module")
def tuned_node(start_node):
    """A node with overrides and other names."""
    overrides = {
        "/arm/joints.subscription.reliability": "reliable",
        "/arm/joints.subscription.depth": 100,
        "/robot_description.subscription.durability": "volatile",
        "/tf.subscription.reliability": "best_effort",
        "/near.publisher.durability": "transient_local",
        "/near.publisher.depth": 1,
        "/tuned/markers.publisher.reliability": "best_effort",
    }
    return start_node(
        "distance_service",
        name="tuned",
        remap=("joint_states:=/arm/joints", "~/distances:=/near", "~/get_min_distance:=/how_far"),
        robot_description=arm.URDF,
        **{f"qos_overrides.{name}": value for name, value in overrides.items()},
    )


def offered(client, node, topic):
    """Return reliability and durability of a node's end of a topic; where it has both, of that which listens."""
    found = []

    def is_there():
        for ends in client.node.get_publishers_info_by_topic, client.node.get_subscriptions_info_by_topic:
            found.extend(end.qos_profile for end in ends(topic) if end.node_name == node)
        return bool(found)

    assert client.wait(is_there, 60.0), f"{node} is not on {topic}"
    return found[-1].reliability, found[-1].durability


DEFAULTS = {
    "/joint_states": (BEST_EFFORT, VOLATILE),
    "/robot_description": (RELIABLE, TRANSIENT_LOCAL),
    "/robot_description_semantic": (RELIABLE, TRANSIENT_LOCAL),
    "/tf": (RELIABLE, VOLATILE),
    "/tf_static": (RELIABLE, TRANSIENT_LOCAL),
    "/plain/distances": (RELIABLE, VOLATILE),
    "/plain/markers": (RELIABLE, VOLATILE),
    "/diagnostics": (RELIABLE, VOLATILE),
}
TUNED = {
    "/arm/joints": (RELIABLE, VOLATILE),
    "/robot_description": (RELIABLE, VOLATILE),
    "/robot_description_semantic": (RELIABLE, TRANSIENT_LOCAL),
    "/tf": (BEST_EFFORT, VOLATILE),
    "/near": (RELIABLE, TRANSIENT_LOCAL),
    "/tuned/markers": (BEST_EFFORT, VOLATILE),
}


@pytest.mark.parametrize(("node", "expected"), [("plain", DEFAULTS), ("tuned", TUNED)])
def test_qos_is_that_of_the_documentation_or_of_the_overrides(plain_node, tuned_node, client, node, expected):
    assert {topic: offered(client, node, topic) for topic in expected} == expected


def test_a_publisher_that_does_not_fit_is_reported_once(plain_node, client):
    volatile = QoSProfile(depth=1)  # late subscribers miss it
    client.node.create_publisher(JointState, "/joint_states", volatile)  # fits
    client.node.create_publisher(String, "/robot_description", volatile)

    def lines():
        return [line for line in plain_node.output().splitlines() if "nothing is received" in line]

    assert client.wait(lines, 60.0), plain_node.output()
    (line,) = lines()
    assert "DURABILITY" in line and "qos_overrides./robot_description.subscription" in line
