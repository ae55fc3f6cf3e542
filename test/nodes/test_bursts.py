# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Objects that are published without a pause are all known; if one is lost, nothing is answered."""

from __future__ import annotations

import pytest
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, PlanningScene, PlanningSceneWorld, RobotState
from moveit_msgs.srv import GetPlanningScene, GetStateValidity
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from superovoid_interfaces.srv import GetMinDistance

import arm
from world import (
    MIN_DISTANCE,
    TOPICS,
    apply_scene,
    attached_object,
    cup,
    is_valid,
    put,
    reset,
    scene_diff,
    sphere,
    thing,
)

DEEP = QoSProfile(depth=2000, reliability=ReliabilityPolicy.RELIABLE)


@pytest.fixture(scope="module")
def service(serve):
    return serve(**arm.DESCRIPTIONS, rate=0.0, stale_timeout=0.0, max_bodies=5000)


@pytest.fixture
def state(service, client):
    put(client, [0.0, 0.0])
    reset(client)
    yield client
    assert apply_scene(client, PlanningScene())


def publish(client, messages):
    publisher = client.publisher(type(messages[0]), TOPICS[type(messages[0])], DEEP)
    for message in [serialize_message(message) for message in messages]:
        publisher.publish(message)


def far_place(index):
    """A place at which an object touches nothing."""
    return {"x": 0.5 * (index % 100), "y": -20.0 - 0.5 * (index // 100)}


WALL = thing("wall", frame="hand", pose=arm.at(0.5, 0.0, 0.0), primitives=[sphere(0.3)])
BURSTS = {
    "300 objects": [*(cup(name=f"cup{i}", **far_place(i)) for i in range(299)), WALL],
    "1000 objects": [*(cup(name=f"cup{i}", **far_place(i)) for i in range(999)), WALL],
    "300 scenes": [*(scene_diff(cup(name=f"cup{i}", **far_place(i))) for i in range(299)), scene_diff(WALL)],
    "300 attached objects": [
        *(attached_object(name=f"cup{i}", link="ground", pose=arm.at(0.0, -20.0 - i, 0.0), primitives=[sphere()])
          for i in range(299)),
        AttachedCollisionObject(link_name="ground", object=WALL),
    ],
    "30 worlds": [
        *(PlanningSceneWorld(collision_objects=[cup(name=f"cup{i}", **far_place(i))]) for i in range(29)),
        PlanningSceneWorld(collision_objects=[WALL]),
    ],
}  # fmt: skip


@pytest.mark.ci
@pytest.mark.parametrize("case", BURSTS)
def test_no_object_of_a_burst_is_lost(state, service, case):
    messages = BURSTS[case]
    assert is_valid(state)
    publish(state, messages)
    state.call_until(lambda r: not r.valid, GetStateValidity, "/check_state_validity",
                     robot_state=RobotState(is_diff=True))  # fmt: skip
    state.call_until(lambda r: r.success and r.distances.pairs[0].distance < 0.0, GetMinDistance, MIN_DISTANCE,
                     links_a=["wall"], links_b=["hand"])  # fmt: skip
    scene = state.call(GetPlanningScene, "/get_planning_scene").scene
    things = [*scene.world.collision_objects, *(one.object for one in scene.robot_state.attached_collision_objects)]
    assert len(things) == (1 if case == "30 worlds" else len(messages))
    assert "were lost" not in service.output() and "lost " not in service.output()


@pytest.mark.ci
def test_an_overflowing_queue_blocks_answers_until_a_whole_scene_comes(start_node, client):
    node = start_node(
        "distance_service",
        "shallow",
        remap=("collision_object:=shallow_object", "planning_scene:=shallow_scene"),
        **arm.DESCRIPTIONS,
        rate=0.0,
        stale_timeout=0.0,
        **{"qos_overrides./shallow_object.subscription.depth": 2},
    )
    objects = client.publisher(CollisionObject, "shallow_object", DEEP)
    scenes = client.publisher(PlanningScene, "shallow_scene", DEEP)
    ask = GetMinDistance, "/shallow/get_min_distance"
    arm.set_state(client, "/shallow", [0.0, 0.0], arm.at(0.0, 0.0, 50.0))
    objects.publish(cup(name="first", **far_place(0)))
    client.call_until(lambda r: r.success and r.distances.pairs_considered > 0, *ask, links_a=["first"])
    while "lost " not in node.output():
        for data in [serialize_message(one) for one in BURSTS["300 objects"]]:
            objects.publish(data)
        client.spin(0.1)
    refused = client.call_until(lambda r: not r.success, *ask)
    assert "messages about objects: send a whole planning scene" in refused.message
    whole = PlanningScene()
    whole.world.collision_objects = [WALL]
    scenes.publish(whole)
    found = client.call_until(lambda r: r.success, *ask, links_a=["wall"], links_b=["hand"])
    assert found.distances.pairs[0].distance < 0.0
