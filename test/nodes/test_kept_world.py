# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Objects and rules outlive the robot: they wait for one, go with the next, and no answer is given without them."""

import numpy as np
import pytest
from moveit_msgs.msg import CollisionObject
from scipy.spatial.transform import Rotation
from test_orders_of_events import EARTH, Service, check_refusal

from superovoid_ros.nodes.common.mistakes import InputError

import arm
from world import MAP, WALL, attached_object, cup, octomap, sphere, thing, with_octomap

# The arm with another name for its hand; on a pedestal; with a larger number of bodies.
NO_HAND = arm.URDF.replace('"hand"', '"claw"')
PEDESTAL = '<link name="floor"/><joint name="pedestal" type="fixed"><parent link="floor"/><child link="ground"/>'
ON_PEDESTAL = arm.URDF.replace("</robot>", f'{PEDESTAL}<origin xyz="0 0 1" rpy="0 0 1"/></joint></robot>')
BODY = '<contact_geometry><sphere radius="0.1"/></contact_geometry>'
WITH_SLIDER = arm.URDF.replace('<link name="slider"/>', f'<link name="slider">{BODY}</link>')
TOOL = attached_object(name="tool", pose=arm.at(0.6, 0.0, 0.0), frame="hand", primitives=[sphere()])


@pytest.fixture
def service():
    """The parts that build the model, without a robot."""
    return Service()


@pytest.fixture
def arm_with_tool(service):
    """The arm with a tool in its hand."""
    describe(service, arm.URDF)
    service.send(TOOL)
    service.jobs.finish()
    assert links(service) == {"tool": "hand"}
    return service


def describe(service, text):
    service.describe(text)
    service.jobs.finish()


def places(service):
    """Where objects of the world are."""
    return {name: thing.pose[:3, 3].tolist() for name, thing in service.current.model().planning.objects.items()}


def links(service):
    return {name: thing.link for name, thing in service.current.model().planning.objects.items()}


def test_objects_that_come_before_the_robot_are_there_with_its_first_answer(service):
    service.send(cup())
    service.send(thing(operation=CollisionObject.MOVE, pose=arm.at(0.0, -3.0, 0.0)))
    service.send(TOOL)
    service.send(with_octomap(octomap(WALL, arm.at(0.0, -20.0, 0.0))))
    service.send(thing("nonsense", pose=arm.at(0.0, 0.0, 0.0), primitives=[sphere(-1.0)]))
    service.send(thing("elsewhere", pose=arm.at(0.0, 0.0, 0.0), frame="nowhere", primitives=[sphere()]))
    describe(service, "nonsense")
    check_refusal(service, "no robot")
    assert len(service.current.snapshot.waiting) == 6  # of nonsense, that it could not be read
    describe(service, arm.URDF)
    check_refusal(service, "'nonsense'", "'elsewhere'", "'nowhere'")
    for name in ("nonsense", "elsewhere"):
        service.send(thing(name, CollisionObject.REMOVE))
    service.jobs.finish()
    assert links(service) == {"cup": None, "tool": "hand", MAP: None}
    assert places(service)["cup"] == [0.0, -3.0, 0.0]


def test_objects_are_forgotten_with_the_life_of_the_node_and_not_with_the_robot(service):
    service.send(cup())
    describe(service, arm.URDF)
    assert places(service) == {"cup": [0.0, -2.0, 0.0]}
    describe(service, "<robot/>")
    check_refusal(service, "no robot: URDF")
    service.send(cup(name="plate", y=-4.0))
    describe(service, arm.URDF)
    assert places(service) == {"cup": [0.0, -2.0, 0.0], "plate": [0.0, -4.0, 0.0]}
    describe(service, "")
    check_refusal(service, "nothing was received on topic")
    service.send(cup(name="fork"))
    service.jobs.finish()
    service.source.clean_up()
    describe(service, arm.URDF)
    assert places(service) == {}


def test_requests_are_refused_while_an_object_is_on_a_missing_link(arm_with_tool):
    describe(arm_with_tool, NO_HAND)
    check_refusal(arm_with_tool, "object 'tool': link 'hand' does not exist", "remove or re-send tool")
    describe(arm_with_tool, arm.URDF)  # the link is there again, and what hung on it
    assert links(arm_with_tool) == {"tool": "hand"}


def test_a_description_parameter_is_refused_if_an_object_has_no_place(arm_with_tool):
    with pytest.raises(InputError, match="object 'tool': link 'hand' does not exist"):
        arm_with_tool.set(robot_description=NO_HAND)
    assert links(arm_with_tool) == {"tool": "hand"}


def test_objects_of_the_world_stay_if_the_root_link_changes(service):
    service.send(cup())
    describe(service, arm.URDF)
    describe(service, ON_PEDESTAL)
    expected = Rotation.from_rotvec([0.0, 0.0, 1.0]).apply([0.0, -2.0, 0.0]) + np.array([0.0, 0.0, 1.0])
    np.testing.assert_allclose(places(service)["cup"], expected, atol=1e-12)
    describe(service, EARTH)
    check_refusal(service, "object 'cup': stands in the frame of link")


def test_objects_beyond_the_limits_of_a_larger_robot_keep_it_from_answering_until_there_is_room(service):
    service.send(cup())
    describe(service, arm.URDF)
    service.set(max_bodies=5)
    describe(service, WITH_SLIDER)
    check_refusal(service, "object 'cup'", "6 bodies", "at most 5")
    service.set(max_bodies=6)
    assert places(service) == {"cup": [0.0, -2.0, 0.0]}
