# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What could not be read of the world is never forgotten: no answer is given without it, unless that is asked for."""

from __future__ import annotations

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from moveit_msgs.msg import CollisionObject, LinkPadding, PlanningScene, RobotState
from moveit_msgs.srv import GetPlanningScene
from shape_msgs.msg import SolidPrimitive
from superovoid_interfaces.srv import ApplyObjects, GetDistances, GetMinDistance
from visualization_msgs.msg import Marker, MarkerArray

import arm
from parameters import set_parameters
from world import (
    APPLY,
    MIN_DISTANCE,
    RELIABLE,
    apply_scene,
    attached_object,
    cup,
    is_valid,
    ovoid,
    put,
    reset,
    scene_diff,
    send,
    sphere,
    thing,
)

NAME = "/distance_service"
FLAT = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[float("nan")])


@pytest.fixture(scope="module")
def service(serve):
    return serve(**arm.DESCRIPTIONS, rate=20.0, stale_timeout=0.0, **{"diagnostics.period": 0.1})


@pytest.fixture
def state(service, client):
    """The service with a state and a complete world without objects."""
    for kind in (CollisionObject, PlanningScene):
        topic = "collision_object" if kind is CollisionObject else "planning_scene"
        publisher = client.publisher(kind, topic, RELIABLE)
        assert client.wait(lambda p=publisher: p.get_subscription_count() == 1)
    assert set_parameters(client, NAME, {"incomplete_world": "refuse"}).successful
    assert apply_scene(client, PlanningScene())
    put(client, [0.0, 0.0])
    reset(client)
    return client


def ask(client):
    return client.call(GetMinDistance, MIN_DISTANCE)


def wait_refused(client, *words):
    """Wait until no question about the world is answered, for reasons with these words."""
    return client.call_until(
        lambda r: not r.success and all(word in r.message for word in ("not ready", *words)),
        GetMinDistance,
        MIN_DISTANCE,
    )


def wait_answered(client):
    client.call_until(lambda r: r.success, GetMinDistance, MIN_DISTANCE)
    assert is_valid(client)


def test_what_is_missing_is_in_diagnostics_scene_and_markers(state):
    markers = state.collect(MarkerArray, f"{NAME}/markers")
    found = state.collect(DiagnosticArray, "/diagnostics")

    def on_robot():
        tasks = [one for message in found for one in message.status if one.name == "distance_service: robot"]
        return tasks[-1] if tasks else DiagnosticStatus()

    send(state, cup(frame="nowhere"))
    wait_refused(state)
    assert state.wait(lambda: on_robot().level == DiagnosticStatus.ERROR and "'nowhere'" in on_robot().message)
    assert "'nowhere'" in {one.key: one.value for one in on_robot().values}["unreadable objects"]
    (listed,) = state.call(GetPlanningScene, "/get_planning_scene").scene.world.collision_objects
    assert listed.id == "cup" and not listed.primitives

    def texts():
        return [one for message in markers for one in message.markers if one.ns == "incomplete"]

    assert state.wait(lambda: len(texts()) > 0 and "nowhere" in texts()[-1].text)
    assert texts()[-1].header.frame_id == "ground"
    send(state, thing("cup", CollisionObject.REMOVE))
    wait_answered(state)
    assert state.wait(lambda: texts()[-1].action == Marker.DELETE)
    assert state.wait(lambda: on_robot().level == DiagnosticStatus.OK)
    assert {one.key: one.value for one in on_robot().values}["unreadable objects"] == "nothing"


def test_with_the_parameter_warn_requests_are_answered_with_a_warning(state):
    send(state, cup())
    state.call_until(lambda r: r.success, GetMinDistance, MIN_DISTANCE, links_a=["cup"])
    send(state, cup(y=-1.0, frame="nowhere"))
    wait_refused(state)
    assert set_parameters(state, NAME, {"incomplete_world": "warn"}).successful
    answer = state.call(GetMinDistance, MIN_DISTANCE, links_a=["cup"], links_b=["ground"])
    assert answer.success and "'nowhere'" in answer.message
    assert answer.distances.pairs[0].distance == pytest.approx(1.8)  # the cup is as it was
    assert "'nowhere'" in state.call(GetDistances, f"{NAME}/get_distances").message and is_valid(state)
    assert set_parameters(state, NAME, {"incomplete_world": "refuse"}).successful
    assert not ask(state).success
    answer = set_parameters(state, NAME, {"incomplete_world": "perhaps"})
    assert not answer.successful and "one of refuse, warn" in answer.reason


@pytest.mark.ci
def test_an_unusable_object_of_a_scene_drops_no_others(service, state):
    for by_topic in (True, False):
        message = scene_diff(thing("cup", primitives=[FLAT]), cup(name="plate"), cup(name="lost", frame="nowhere"))
        message.robot_state.attached_collision_objects = [
            attached_object(name="tool", link="elbow", primitives=[sphere()]),
            attached_object(name="fork", pose=arm.at(0.7, 0.0, 0.0), frame="hand", primitives=[sphere()]),
        ]
        before = len(service.output())
        if by_topic:
            send(state, message)
        else:
            assert not apply_scene(state, message)
        wait_refused(state, "radius", "'nowhere'", "'elbow'")
        assert state.wait(lambda n=before: "the rest is applied, not: " in service.output()[n:], 5.0)
        # A missing object is removed, sent again, or absent from a full scene.
        assert apply_scene(state, scene_diff(thing("lost", CollisionObject.REMOVE), cup(y=-9.0)))
        wait_refused(state, "'elbow'")
        assert apply_scene(state, scene_diff(thing("tool", CollisionObject.REMOVE)))
        for name, gap in (("plate", 1.8), ("cup", 8.8), ("fork", 0.5)):
            answer = state.call(GetMinDistance, MIN_DISTANCE, links_a=[name], links_b=["ground"])
            assert answer.distances.pairs[0].distance == pytest.approx(gap)
        assert apply_scene(state, PlanningScene())
        wait_answered(state)


def test_a_refused_request_leaves_nothing_missing(state):
    unknown = PlanningScene(is_diff=True, robot_state=RobotState(is_diff=True))
    unknown.link_padding = [LinkPadding(link_name="hand", padding=-1.0)]
    assert not apply_scene(state, unknown)
    assert not state.call(ApplyObjects, APPLY, objects=[ovoid(attach_link="nowhere")]).success
    wait_answered(state)


def test_too_many_objects_block_answers_until_a_whole_scene_comes(state):
    before = state.call(GetPlanningScene, "/get_planning_scene").scene.world.collision_objects
    assert set_parameters(state, NAME, {"max_objects": 3}).successful
    crowd = scene_diff(*(cup(name=f"cup{i}", x=3.0 + i) for i in range(4)))
    assert not apply_scene(state, crowd)
    assert ask(state).success  # a service reports to its client, so nothing is missing
    send(state, crowd)
    wait_refused(state, "adds 4 objects, at most 3 are allowed (max_objects)")
    assert apply_scene(state, PlanningScene())
    wait_answered(state)
    assert set_parameters(state, NAME, {"max_objects": 4}).successful
    assert apply_scene(state, crowd)
    assert not set_parameters(state, NAME, {"max_objects": 3}).successful
    assert apply_scene(state, PlanningScene())
    assert state.call(GetPlanningScene, "/get_planning_scene").scene.world.collision_objects == before
