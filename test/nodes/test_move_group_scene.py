# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The whole planning scene is asked of a move_group: at the start, after a gap, and when something did not fit."""

from contextlib import contextmanager

import numpy as np
import pytest
from moveit_msgs.msg import CollisionObject, PlanningScene
from moveit_msgs.srv import GetPlanningScene
from shape_msgs.msg import SolidPrimitive

import arm
from monitor import Monitor
from world import RELIABLE, cup, scene_diff, sphere, thing

pytestmark = pytest.mark.ci  # a process of its own takes more than 2 s

MONITORED = "monitored_planning_scene"
FLAT = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[float("nan")])
STONE = thing("stone", pose=arm.at(0.0, 3.0, 0.0), primitives=[sphere()])
WORDS = "planning scene of another node"


class MoveGroup:
    """What a move_group does for those who follow its scene."""

    def __init__(self, client, *objects, while_answering=lambda group: None):
        self.client, self.objects, self.asked, self.name = client, list(objects), 0, "arm"
        self.publisher = client.node.create_publisher(PlanningScene, MONITORED, RELIABLE)
        self.service = client.node.create_service(GetPlanningScene, "/get_planning_scene", self._answer)
        self._while_answering = while_answering

    def _answer(self, request, response):
        self.asked += 1
        assert request.components.components & request.components.WORLD_OBJECT_GEOMETRY
        response.scene.robot_model_name = self.name
        response.scene.world.collision_objects = list(self.objects)
        self._while_answering(self)
        return response

    def say(self, message):
        """Publish a difference, or bytes, once the service listens."""
        assert self.client.wait(lambda: self.publisher.get_subscription_count() >= 1)
        self.publisher.publish(message if isinstance(message, bytes) else scene_diff(message))

    def is_asked(self, count):
        """Wait until this number of requests was answered, and see that no more come."""
        assert self.client.wait(lambda: self.asked >= count), self.asked
        self.client.spin(1.5)
        return self.asked == count


@pytest.fixture(scope="module")
def service(start_node):
    remap = ("get_planning_scene:=~/get_planning_scene", f"planning_scene:={MONITORED}")
    options = {"rate": 0.0, "stale_timeout": 0.0, "diagnostics.period": 0.1}
    return start_node("distance_service", remap=remap, **arm.DESCRIPTIONS, **options)


@pytest.fixture
def begin(service, client):
    """Return what begins a move_group; it is gone at the end."""
    client.put([0.0, 0.0])

    @contextmanager
    def begin(*objects, **options):
        made = MoveGroup(client, *objects, **options)
        yield made
        client.node.destroy_service(made.service)
        client.node.destroy_publisher(made.publisher)

    return begin


@pytest.fixture
def move_group(begin, client):
    """One that has a cup, which the service knows."""
    with begin(cup()) as made:
        has_cup(client)
        yield made


def has_cup(client, y=2.0):
    client.wait_for_distance("cup", "hand", np.hypot(0.5, y) - 0.15)


def has_stone(client):
    client.wait_for_distance("stone", "hand", np.hypot(0.5, 3.0) - 0.15)


def test_objects_from_before_the_node_listened_are_there(begin, client):
    monitor = Monitor(client)
    monitor.wait_for_value("robot", WORDS, "no service /get_planning_scene")
    with begin(cup()) as made:
        has_cup(client)
        monitor.wait_for_value("robot", WORDS, "received 1 times from /get_planning_scene")
        made.say(cup(y=-1.0))  # later messages are followed
        has_cup(client, 1.0)
        assert made.is_asked(1)


def test_a_scene_older_than_later_messages_removes_nothing(begin, client):
    def say_stone(made):
        if made.asked == 1:  # while the first answer is on its way
            made.objects.append(STONE)
            made.publisher.publish(scene_diff(STONE))

    with begin(cup(), while_answering=say_stone):
        has_cup(client)
        for _ in range(2):
            has_stone(client)
            client.spin(0.5)


def test_after_a_gap_the_scene_is_requested_again(begin, client):
    for objects, y in (((cup(),), 2.0), ((cup(y=-1.0), STONE), 1.0)):
        with begin(*objects):
            has_cup(client, y)
            if STONE in objects:
                has_stone(client)


@pytest.mark.parametrize("event", [thing("stone", CollisionObject.MOVE, pose=arm.at(0.0, 3.0, 0.0)), b"\0\1\0\3"])
def test_a_misfit_and_a_lost_message_repeat_the_request(client, move_group, event):
    client.wait_for_distance("stone", "hand", None)
    move_group.objects.append(STONE)  # not received
    move_group.say(event)
    has_stone(client)


def test_an_unreadable_scene_is_requested_once_and_is_not_whole(client, move_group):
    count, bad = move_group.asked, thing("bad", primitives=[FLAT])
    move_group.objects.append(bad)
    move_group.say(bad)
    assert move_group.is_asked(count + 1)
    assert "'bad'" in client.until(lambda r: not r.success).message
    move_group.objects.pop()
    move_group.say(thing("bad", CollisionObject.REMOVE))
    has_cup(client)


def test_an_answer_without_a_robot_is_no_empty_world(client, move_group):
    count, move_group.name, move_group.objects = move_group.asked, "", []
    move_group.say(thing("ghost", CollisionObject.MOVE))
    assert client.wait(lambda: move_group.asked >= count + 2) and not client.nearest().success
    move_group.name, move_group.objects = "arm", [cup()]
    has_cup(client)


def test_no_scene_is_requested_without_the_parameter(start_node, client):
    options = {"planning_scene_service": "", "diagnostics.period": 0.1}
    start_node("distance_service", "alone", **arm.DESCRIPTIONS, **options)
    Monitor(client, "alone").wait_for_value("robot", WORDS, "not requested")
