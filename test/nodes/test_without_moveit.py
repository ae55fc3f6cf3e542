# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The distance service where moveit_msgs is not installed."""

from pathlib import Path

import pytest
from superovoid_interfaces.msg import SuperovoidObject
from superovoid_interfaces.srv import ApplyObjects

from superovoid_ros.nodes.common.conversions import to_pose

import arm

pytestmark = pytest.mark.ci  # a process of its own takes more than 2 s

NAME = "/distance_service"


@pytest.fixture(scope="module")
def service(start_node):
    """The service in a process that cannot import moveit_msgs."""
    script = str(Path(__file__).with_name("service_without_moveit.py"))
    return start_node(script, "distance_service", **arm.DESCRIPTIONS, stale_timeout=0.0, rate=0.0)


def test_distances_and_superovoids_are_served_without_moveit(service, client):
    arm.set_state(client, NAME)
    cup = SuperovoidObject(id="cup", size=[0.1] * 3, epsilon=[1.0, 1.0], pose=to_pose(arm.at(5.0, 0.0, 0.0)))
    answer = client.call(ApplyObjects, f"{NAME}/apply_objects", objects=[cup])
    assert answer.success, answer.message
    answer = client.nearest(links_a=["cup"], links_b=["ground"])
    assert answer.distances.pairs[0].distance == pytest.approx(5.0 - 0.1 - 0.1)
    assert service.output().count("moveit_msgs is not installed") == 1
    names = {name for name, _ in client.node.get_service_names_and_types()}
    assert not names & {"/check_state_validity", "/compute_fk", "/plan_kinematic_path", "/get_planning_scene"}
