# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Objects and rules outlive the robot: they wait for one, go with the next, and no answer is given without them."""

from __future__ import annotations

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import Transition
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, PlanningScene, RobotState
from moveit_msgs.srv import GetPlanningScene, GetStateValidity
from superovoid_interfaces.srv import GetDistances, GetMinDistance, GetPairRules

import arm
import lifecycle
from parameters import get_parameters, set_parameters
from world import (
    GET_RULES,
    MAP,
    MIN_DISTANCE,
    RELIABLE,
    WALL,
    apply_scene,
    attached,
    cup,
    octomap,
    scene_diff,
    send,
    sphere,
    thing,
    with_octomap,
)

NAME = "/distance_service"
STATE = {"joint_names": arm.JOINTS, "joint_positions": [0.0, 0.0]}
# The arm with another name for its hand; on a pedestal; with an object's name for a link.
NO_HAND = arm.URDF.replace('"hand"', '"claw"')
PEDESTAL = '<link name="floor"/><joint name="pedestal" type="fixed"><parent link="floor"/><child link="ground"/>'
ON_PEDESTAL = arm.URDF.replace("</robot>", f'{PEDESTAL}<origin xyz="0 0 1" rpy="0 0 1"/></joint></robot>')


@pytest.fixture(scope="module")
def service(start_node):
    return start_node("distance_service", rate=0.0, stale_timeout=0.0, **{"diagnostics.period": 0.1})


@pytest.fixture
def bare(service, client):
    """The service at the beginning of a life: without robot and objects."""
    assert client.wait(lambda: lifecycle.state(client, NAME) == "active")
    # A description is latched: this is the one that it finds, and none.
    client.send_text("robot_description", "")
    client.send_transform("ground", "ball", arm.at(0.0, 0.0, 50.0), static=True)
    begin_again(client)
    assert set_parameters(client, NAME, {"max_bodies": 50_000, "padding": 0.0}).successful
    return client


def begin_again(client):
    """Have the node forget everything, and wait until it hears us."""
    for step in (
        Transition.TRANSITION_DEACTIVATE,
        Transition.TRANSITION_CLEANUP,
        Transition.TRANSITION_CONFIGURE,
        Transition.TRANSITION_ACTIVATE,
    ):
        assert lifecycle.change(client, NAME, step)
    for kind, topic in (
        (CollisionObject, "collision_object"),
        (AttachedCollisionObject, "attached_collision_object"),
        (PlanningScene, "planning_scene"),
    ):
        publisher = client.publisher(kind, topic, RELIABLE)
        assert client.wait(lambda p=publisher: p.get_subscription_count() == 1)
    client.spin(0.5)  # until the service knows of them


def ask(client, **request):
    return client.call(GetMinDistance, MIN_DISTANCE, **STATE, **request)


def gap(client, a, b):
    answer = ask(client, links_a=[a], links_b=[b])
    assert answer.success, answer.message
    return answer.distances.pairs[0].distance


def describe(client, text, accept=lambda answer: answer.success):
    """Publish a description and wait for an answer."""
    client.send_text("robot_description", text)
    return client.call_until(accept, GetMinDistance, MIN_DISTANCE, **STATE)


def refused(*words):
    return lambda answer: not answer.success and all(word in answer.message for word in words)


def links_of(answer):
    return {name for pair in answer.distances.pairs for name in (pair.link_a, pair.link_b)}


def is_valid(client):
    state = RobotState(is_diff=True)
    state.joint_state.name, state.joint_state.position = arm.JOINTS, [0.0, 0.0]
    return client.call(GetStateValidity, "/check_state_validity", robot_state=state).valid


def assert_nothing_is_answered(client, *words):
    for kind, name, request in (
        (GetMinDistance, MIN_DISTANCE, STATE),
        (GetMinDistance, MIN_DISTANCE, {**STATE, "links_a": ["ground"], "links_b": ["ball"]}),
        (GetDistances, f"{NAME}/get_distances", STATE),
        (GetPairRules, GET_RULES, {}),
    ):
        assert refused(*words)(client.call(kind, name, **request)), kind
    assert not is_valid(client)
    scene = client.call(GetPlanningScene, "/get_planning_scene").scene
    things = [*scene.world.collision_objects, *(one.object for one in scene.robot_state.attached_collision_objects)]
    without_shapes = [one.id for one in things if not (one.primitives or one.meshes or one.planes)]
    assert scene == PlanningScene() or without_shapes  # those that are missing are named


def wait_until_waiting(client, count):
    """Wait until so many messages wait for a robot."""
    messages = client.collect(DiagnosticArray, "/diagnostics")
    fact = ("waiting for a robot", str(count))
    assert client.wait(
        lambda: any((pair.key, pair.value) == fact for m in messages for s in m.status for pair in s.values)
    )


def hold(client, name="cup"):
    """Have the hand carry something."""
    message = attached(name=name, pose=arm.at(0.6, 0.0, 0.0), frame="hand", primitives=[sphere()])
    state = RobotState(is_diff=True, attached_collision_objects=[message])
    scene = PlanningScene(is_diff=True, robot_state=state)
    assert apply_scene(client, scene)


# --- before the robot ---


@pytest.mark.ci
def test_objects_that_come_before_the_robot_are_there_with_its_first_answer(bare):
    client = bare
    send(client, cup())
    send(client, thing(operation=CollisionObject.MOVE, pose=arm.at(0.0, -3.0, 0.0)))
    send(client, attached(name="tool", pose=arm.at(0.6, 0.0, 0.0), frame="hand", primitives=[sphere()]))
    send(client, with_octomap(octomap(WALL, arm.at(0.0, -20.0, 0.0))))
    send(client, thing("nonsense", pose=arm.at(0.0, 0.0, 0.0), primitives=[sphere(-1.0)]))
    send(client, thing("elsewhere", pose=arm.at(0.0, 0.0, 0.0), frame="nowhere", primitives=[sphere()]))
    wait_until_waiting(client, 6)  # of nonsense, that it could not be read
    assert_nothing_is_answered(client, "no robot")
    # What could not be read, or has no frame on the robot, is missing; without it what comes first has all the rest.
    describe(client, arm.URDF, refused("'nonsense'", "'elsewhere'", "'nowhere'"))
    send(client, thing("nonsense", CollisionObject.REMOVE))
    send(client, thing("elsewhere", CollisionObject.REMOVE))
    answer = client.call_until(lambda answer: answer.success, GetMinDistance, MIN_DISTANCE, **STATE)
    assert links_of(answer) == {"ground", "hand", "thumb", "ball", "cup", "tool", MAP}
    assert gap(client, "ground", "cup") == pytest.approx(2.8, abs=1e-9)
    assert gap(client, "ground", "tool") == pytest.approx(0.4, abs=1e-9)


def test_objects_are_forgotten_with_the_life_of_the_node_and_not_with_the_robot(bare):
    client = bare
    send(client, cup())
    wait_until_waiting(client, 1)
    describe(client, arm.URDF)
    assert gap(client, "ground", "cup") == pytest.approx(1.8, abs=1e-9)
    describe(client, "<robot/>", refused("no robot: URDF"))
    assert_nothing_is_answered(client, "no robot: URDF")
    send(client, cup(name="plate", y=-4.0))
    wait_until_waiting(client, 1)
    describe(client, arm.URDF)
    assert gap(client, "ground", "cup") == pytest.approx(1.8, abs=1e-9)
    assert gap(client, "ground", "plate") == pytest.approx(3.8, abs=1e-9)
    client.send_text("robot_description", "")
    client.call_until(refused("nothing was received on topic"), GetMinDistance, MIN_DISTANCE, **STATE)
    send(client, cup(name="fork"))
    wait_until_waiting(client, 1)
    begin_again(client)
    assert links_of(describe(client, arm.URDF)) == {"ground", "hand", "thumb", "ball"}


# --- another robot ---


@pytest.fixture
def held(bare):
    """The arm with a cup in its hand."""
    describe(bare, arm.URDF)
    hold(bare)
    assert gap(bare, "ground", "cup") == pytest.approx(0.4, abs=1e-9)
    return bare


def test_requests_are_refused_while_an_object_is_on_a_missing_link(held):
    messages = held.collect(DiagnosticArray, "/diagnostics")
    describe(held, NO_HAND, refused("object 'cup': link 'hand' does not exist"))
    assert_nothing_is_answered(held, "object 'cup'", "remove or re-send cup")

    def told(level):
        return any(
            status.name == "distance_service: robot" and status.level == level and "'cup'" in status.message
            for message in messages
            for status in message.status
        )

    assert held.wait(lambda: told(DiagnosticStatus.ERROR))
    describe(held, arm.URDF)  # the link is there again, and what hung on it
    assert gap(held, "ground", "cup") == pytest.approx(0.4, abs=1e-9)


def test_a_description_parameter_is_refused_if_an_object_has_no_place(held):
    result = set_parameters(held, NAME, {"robot_description": NO_HAND})
    assert not result.successful and "object 'cup': link 'hand' does not exist" in result.reason
    assert get_parameters(held, NAME, "robot_description") == [""]
    assert gap(held, "ground", "cup") == pytest.approx(0.4, abs=1e-9)


def test_objects_of_the_world_stay_if_the_root_link_changes(bare):
    describe(bare, arm.URDF)
    assert apply_scene(bare, scene_diff(cup()))
    bare.send_transform("floor", "ground", arm.at(0.0, 0.0, 1.0), static=True)
    describe(bare, ON_PEDESTAL, lambda answer: answer.success and answer.distances.header.frame_id == "floor")
    assert gap(bare, "ground", "cup") == pytest.approx(1.8, abs=1e-9)
    describe(bare, arm.URDF.replace('"ground"', '"earth"'), refused("object 'cup': stands in the frame of link"))
    assert_nothing_is_answered(bare, "object 'cup'")


def test_objects_beyond_the_limits_of_a_larger_robot_keep_it_from_answering_until_there_is_room(bare):
    describe(bare, arm.URDF)
    assert apply_scene(bare, scene_diff(cup()))
    assert set_parameters(bare, NAME, {"max_bodies": 5}).successful
    body = '<contact_geometry><sphere radius="0.1"/></contact_geometry>'
    describe(bare, arm.URDF.replace('<link name="slider"/>', f'<link name="slider">{body}</link>'), refused("6 bodies"))
    assert_nothing_is_answered(bare, "object 'cup'", "at most 5")
    assert set_parameters(bare, NAME, {"max_bodies": 6}).successful
    assert gap(bare, "ground", "cup") == pytest.approx(1.8, abs=1e-9)
