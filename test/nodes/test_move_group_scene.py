# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The whole planning scene is asked of a move_group: at the start, after a gap, and when something did not fit."""

from __future__ import annotations

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from moveit_msgs.msg import CollisionObject, PlanningScene
from moveit_msgs.srv import GetPlanningScene
from shape_msgs.msg import SolidPrimitive
from superovoid_interfaces.srv import GetMinDistance

import arm
from parameters import set_parameters
from world import MIN_DISTANCE, RELIABLE, cup, distance, put, scene_diff, sphere, thing

pytestmark = pytest.mark.ci  # a process of its own takes more than 2 s

MONITORED = "monitored_planning_scene"
FLAT = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[float("nan")])


class MoveGroup:
    """What a move_group does for those who follow its scene."""

    def __init__(self, client):
        self.client, self.objects, self.asked, self.name = client, [], 0, "arm"
        self.publisher = client.node.create_publisher(PlanningScene, MONITORED, RELIABLE)
        self.service = client.node.create_service(GetPlanningScene, "/get_planning_scene", self._answer)

    def _answer(self, request, response):
        self.asked += 1
        assert request.components.components & request.components.WORLD_OBJECT_GEOMETRY
        response.scene.robot_model_name = self.name
        response.scene.world.collision_objects = list(self.objects)
        return response

    def say(self, *objects):
        """Publish a difference."""
        self.publisher.publish(scene_diff(*objects))

    def stop(self):
        self.client.node.destroy_service(self.service)
        self.client.node.destroy_publisher(self.publisher)


@pytest.fixture(scope="module")
def service(start_node):
    return start_node(
        "distance_service",
        remap=("get_planning_scene:=~/get_planning_scene", f"planning_scene:={MONITORED}"),
        **arm.DESCRIPTIONS,
        rate=0.0,
        stale_timeout=0.0,
        **{"diagnostics.period": 0.1},
    )


@pytest.fixture
def move_group(service, client):
    """One that has a cup; gone at the end."""
    put(client, [0.0, 0.0])
    made = MoveGroup(client)
    made.objects = [cup()]
    yield made
    made.stop()


def wait_taken(client, move_group, count):
    """Wait until this number of requests for the scene was answered."""
    assert client.wait(lambda: move_group.asked >= count), move_group.asked


def collect_diagnostics(client):
    """Return the diagnostics about it, as a growing list."""
    found = client.collect(DiagnosticArray, "/diagnostics")
    return lambda: [
        one.value
        for message in found
        for status in message.status
        for one in status.values
        if one.key == "planning scene of another node"
    ]


def is_there(client, name, expected):
    def is_right(_):
        found = distance(client, name, "hand")
        return found is None if expected is None else found == pytest.approx(expected)

    return client.call_until(is_right, GetMinDistance, MIN_DISTANCE)


CUP = np.hypot(0.5, 2.0) - 0.15


def test_objects_from_before_the_node_listened_are_there(client, service):
    put(client, [0.0, 0.0])
    words = collect_diagnostics(client)
    assert client.wait(lambda: "no service /get_planning_scene" in words())
    made = MoveGroup(client)
    made.objects = [cup()]
    is_there(client, "cup", CUP)
    assert made.asked == 1
    assert client.wait(lambda: "received 1 times from /get_planning_scene" in words())
    made.say(cup(y=-1.0))  # later messages are followed
    is_there(client, "cup", np.hypot(0.5, 1.0) - 0.15)
    client.spin(1.5)
    assert made.asked == 1
    made.stop()


def test_a_scene_older_than_later_messages_removes_nothing(client, service):
    put(client, [0.0, 0.0])
    made = MoveGroup(client)
    stone = thing("stone", pose=arm.at(0.0, 3.0, 0.0), primitives=[sphere()])

    def answer(request, response):
        first = not made.asked
        made._answer(request, response)
        if first:
            made.objects.append(stone)  # while the first answer is on its way
            made.say(stone)
        return response

    client.node.destroy_service(made.service)
    assert client.wait(lambda: made.publisher.get_subscription_count() >= 1)
    made.objects = [cup()]
    made.service = client.node.create_service(GetPlanningScene, "/get_planning_scene", answer)
    is_there(client, "cup", CUP)
    is_there(client, "stone", np.hypot(0.5, 3.0) - 0.15)
    client.spin(0.5)
    is_there(client, "stone", np.hypot(0.5, 3.0) - 0.15)
    made.stop()


def test_after_a_gap_the_scene_is_requested_again(client, move_group):
    is_there(client, "cup", CUP)
    move_group.stop()
    other = MoveGroup(client)
    other.objects = [cup(y=-1.0), thing("stone", pose=arm.at(0.0, 3.0, 0.0), primitives=[sphere()])]
    is_there(client, "cup", np.hypot(0.5, 1.0) - 0.15)
    is_there(client, "stone", np.hypot(0.5, 3.0) - 0.15)
    move_group.service, move_group.publisher = other.service, other.publisher


@pytest.mark.parametrize("event", [thing("stone", CollisionObject.MOVE, pose=arm.at(0.0, 3.0, 0.0)), b"\0\1\0\3"])
def test_a_misfit_and_a_lost_message_repeat_the_request(client, move_group, event):
    is_there(client, "cup", CUP)
    is_there(client, "stone", None)
    count = move_group.asked
    assert client.wait(lambda: move_group.publisher.get_subscription_count() >= 1)
    move_group.objects.append(thing("stone", pose=arm.at(0.0, 3.0, 0.0), primitives=[sphere()]))  # not received
    move_group.publisher.publish(event if isinstance(event, bytes) else scene_diff(event))
    wait_taken(client, move_group, count + 1)
    is_there(client, "stone", np.hypot(0.5, 3.0) - 0.15)


def test_an_unreadable_scene_is_requested_once_and_is_not_whole(client, move_group):
    is_there(client, "cup", CUP)
    count = move_group.asked
    bad = thing("bad", primitives=[FLAT])
    move_group.objects.append(bad)
    assert client.wait(lambda: move_group.publisher.get_subscription_count() >= 1)
    move_group.say(bad)
    wait_taken(client, move_group, count + 1)
    answer = client.call_until(lambda r: not r.success, GetMinDistance, MIN_DISTANCE)
    assert "'bad'" in answer.message
    client.spin(2.0)
    assert move_group.asked == count + 1
    assert not client.call(GetMinDistance, MIN_DISTANCE).success
    move_group.objects.pop()
    move_group.say(thing("bad", CollisionObject.REMOVE))
    is_there(client, "cup", CUP)


def test_an_answer_without_a_robot_is_no_empty_world(client, move_group):
    is_there(client, "cup", CUP)
    count, move_group.name, move_group.objects = move_group.asked, "", []
    assert client.wait(lambda: move_group.publisher.get_subscription_count() >= 1)
    move_group.say(thing("ghost", CollisionObject.MOVE))
    wait_taken(client, move_group, count + 2)
    assert not client.call(GetMinDistance, MIN_DISTANCE).success
    move_group.name, move_group.objects = "arm", [cup()]
    is_there(client, "cup", CUP)


def test_no_scene_is_requested_without_the_parameter(client, service):
    assert set_parameters(client, "/distance_service", {"planning_scene_service": ""}).successful
    words = collect_diagnostics(client)
    assert client.wait(lambda: "not requested" in words())
    put(client, [0.0, 0.0])
    made = MoveGroup(client)
    made.objects = [thing("late", primitives=[sphere()])]
    client.spin(1.5)
    assert made.asked == 0
    assert set_parameters(client, "/distance_service", {"planning_scene_service": "get_planning_scene"}).successful
    assert client.wait(lambda: made.asked == 1)
    made.stop()
