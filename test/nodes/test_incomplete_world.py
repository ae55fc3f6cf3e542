# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What could not be read of the world is never forgotten: no answer is given without it, unless that is asked for."""

from __future__ import annotations

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from moveit_msgs.msg import CollisionObject, LinkPadding, PlanningScene
from shape_msgs.msg import SolidPrimitive
from superovoid_interfaces.srv import ApplyObjects, GetDistances
from visualization_msgs.msg import Marker, MarkerArray

import arm
from monitor import Monitor
from world import (
    APPLY,
    DISTANCES,
    NAME,
    apply,
    apply_scene,
    ask,
    ask_until,
    attached_object,
    cup,
    gap,
    is_valid,
    ovoid,
    put,
    refused,
    reset,
    scene_diff,
    scene_of,
    send,
    set_values,
    sphere,
    thing,
)

FLAT = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[float("nan")])


@pytest.fixture(scope="module")
def service(serve):
    return serve(**arm.DESCRIPTIONS, rate=20.0, stale_timeout=0.0, **{"diagnostics.period": 0.1})


@pytest.fixture
def state(service, client):
    """The service with a state and a complete world without objects."""
    set_values(client, incomplete_world="refuse")
    assert apply_scene(client, PlanningScene())
    put(client, [0.0, 0.0])
    reset(client)
    return client


def is_answered(client):
    return ask_until(client).success and is_valid(client)


def test_what_is_missing_is_in_diagnostics_scene_and_markers(state):
    markers, monitor = state.collect(MarkerArray, f"{NAME}/markers"), Monitor(state)

    def texts():
        return [one for message in markers for one in message.markers if one.ns == "incomplete"]

    send(state, cup(frame="nowhere"))
    refused(state)
    _, values = monitor.wait_for("robot", lambda s: s.level == DiagnosticStatus.ERROR and "'nowhere'" in s.message)
    assert "'nowhere'" in values["unreadable objects"]
    (listed,) = scene_of(state).world.collision_objects
    assert listed.id == "cup" and not listed.primitives
    assert state.wait(lambda: len(texts()) > 0 and "nowhere" in texts()[-1].text)
    assert texts()[-1].header.frame_id == "ground"
    send(state, thing("cup", CollisionObject.REMOVE))
    assert is_answered(state) and state.wait(lambda: texts()[-1].action == Marker.DELETE)
    _, values = monitor.wait_for("robot", lambda s: s.level == DiagnosticStatus.OK)
    assert values["unreadable objects"] == "nothing"


def test_with_the_parameter_warn_requests_are_answered_with_a_warning(state):
    apply(state, cup())
    send(state, cup(y=-1.0, frame="nowhere"))
    refused(state)
    set_values(state, incomplete_world="warn")
    assert gap(state) == pytest.approx(1.8)  # the cup is as it was
    assert "'nowhere'" in ask(state).message and "'nowhere'" in state.call(GetDistances, DISTANCES).message
    assert is_valid(state)
    set_values(state, incomplete_world="refuse")
    assert not ask(state).success


@pytest.mark.ci
@pytest.mark.parametrize("by_topic", [True, False])
def test_an_unusable_object_of_a_scene_drops_no_others(service, state, by_topic):
    attached = [
        attached_object(name="tool", link="elbow", primitives=[sphere()]),
        attached_object(name="fork", pose=arm.at(0.7, 0.0, 0.0), frame="hand", primitives=[sphere()]),
    ]
    objects = thing("cup", primitives=[FLAT]), cup(name="plate"), cup(name="lost", frame="nowhere")
    message, before = scene_diff(*objects, attached=attached), len(service.output())
    if by_topic:
        send(state, message)
    else:
        assert not apply_scene(state, message)
    refused(state, "radius", "'nowhere'", "'elbow'")
    assert state.wait(lambda: "the rest is applied, not: " in service.output()[before:], 5.0)
    # A missing object is removed, sent again, or absent from a full scene.
    apply(state, thing("lost", CollisionObject.REMOVE), cup(y=-9.0))
    refused(state, "'elbow'")
    apply(state, thing("tool", CollisionObject.REMOVE))
    assert [gap(state, name) for name in ("plate", "cup", "fork")] == pytest.approx([1.8, 8.8, 0.5])
    assert apply_scene(state, PlanningScene()) and is_answered(state)


def test_a_refused_request_leaves_nothing_missing(state):
    assert not apply_scene(state, scene_diff(link_padding=[LinkPadding(link_name="hand", padding=-1.0)]))
    assert not state.call(ApplyObjects, APPLY, objects=[ovoid(attach_link="nowhere")]).success
    assert is_answered(state)


def test_too_many_objects_block_answers_until_a_whole_scene_comes(state):
    set_values(state, max_objects=3)
    crowd = scene_diff(*(cup(name=f"cup{i}", x=3.0 + i) for i in range(4)))
    assert not apply_scene(state, crowd)
    assert ask(state).success  # a service reports to its client, so nothing is missing
    send(state, crowd)
    refused(state, "adds 4 objects, at most 3 are allowed (max_objects)")
    assert apply_scene(state, PlanningScene()) and is_answered(state)
    set_values(state, max_objects=4)
    assert apply_scene(state, crowd)
    with pytest.raises(AssertionError, match="max_objects"):
        set_values(state, max_objects=3)
    assert apply_scene(state, PlanningScene()) and not scene_of(state).world.collision_objects
