# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Objects that are published without a pause are all known; if one is lost, nothing is answered."""

import pytest
from moveit_msgs.msg import CollisionObject, PlanningScene
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from superovoid_interfaces.srv import GetMinDistance

import arm
from world import TOPICS, cup, scene_diff, sphere, thing

PARAMETERS = {"max_bodies": 5000}
DEEP = QoSProfile(depth=2000, reliability=ReliabilityPolicy.RELIABLE)


def far_cup(index):
    """Return a cup at a place at which it touches nothing."""
    return cup(name=f"cup{index}", x=0.5 * (index % 100), y=-20.0 - 0.5 * (index // 100))


WALL = thing("wall", frame="hand", pose=arm.at(0.5, 0.0, 0.0), primitives=[sphere(0.3)])
BURSTS = {
    "1000 objects": [*map(far_cup, range(999)), WALL],
    "300 scenes": [*(scene_diff(far_cup(i)) for i in range(299)), scene_diff(WALL)],
}


@pytest.mark.ci
@pytest.mark.parametrize("case", BURSTS)
def test_no_object_of_a_burst_is_lost(state, service, case):
    messages = BURSTS[case]
    assert state.is_valid()
    publisher = state.publisher(type(messages[0]), TOPICS[type(messages[0])], DEEP)
    for data in list(map(serialize_message, messages)):
        publisher.publish(data)
    state.until(lambda r: r.success and r.distances.pairs[0].distance < 0.0, links_a=["wall"], links_b=["hand"])
    assert not state.is_valid()
    assert len(state.scene().world.collision_objects) == len(messages)
    assert "lost " not in service.output()


@pytest.mark.ci
def test_an_overflowing_queue_blocks_answers_until_a_whole_scene_comes(start_node, client):
    remap = ("collision_object:=shallow_object", "planning_scene:=shallow_scene")
    options = {"rate": 0.0, "stale_timeout": 0.0, "qos_overrides./shallow_object.subscription.depth": 2}
    node = start_node("distance_service", "shallow", remap=remap, **arm.DESCRIPTIONS, **options)
    objects = client.publisher(CollisionObject, "shallow_object", DEEP)
    scenes = client.publisher(PlanningScene, "shallow_scene", DEEP)
    ask = GetMinDistance, "/shallow/get_min_distance"
    arm.set_state(client, "/shallow", [0.0, 0.0], arm.at(0.0, 0.0, 50.0))
    objects.publish(far_cup(0))
    client.call_until(lambda r: r.success and r.distances.pairs_considered > 0, *ask, links_a=["cup0"])
    data = [serialize_message(far_cup(i)) for i in range(300)]
    while "lost " not in node.output():
        for one in data:
            objects.publish(one)
        client.spin(0.1)
    refused = client.call_until(lambda r: not r.success, *ask)
    assert "on collision_object" in refused.message and "send a whole planning scene" in refused.message
    whole = PlanningScene()
    whole.world.collision_objects = [WALL]
    scenes.publish(whole)
    found = client.call_until(lambda r: r.success, *ask, links_a=["wall"], links_b=["hand"])
    assert found.distances.pairs[0].distance < 0.0
