# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What could not be read of the world is never forgotten: no answer is given without it, unless that is asked for."""

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from moveit_msgs.msg import CollisionObject, LinkPadding, PlanningScene
from shape_msgs.msg import SolidPrimitive
from superovoid_interfaces.srv import ApplyObjects, GetDistances
from visualization_msgs.msg import Marker, MarkerArray

import arm
from monitor import Monitor
from world import APPLY, DISTANCES, NAME, attached_object, cup, ovoid, scene_diff, sphere, thing

PARAMETERS = {"rate": 20.0, "diagnostics.period": 0.1}
FLAT = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[float("nan")])


def is_answered(client):
    return client.until().success and client.is_valid()


def test_what_is_missing_is_in_diagnostics_scene_and_markers(state):
    markers, monitor = state.collect(MarkerArray, f"{NAME}/markers"), Monitor(state)

    def texts():
        return [one for message in markers for one in message.markers if one.ns == "incomplete"]

    state.send(cup(frame="nowhere"))
    state.refused()
    _, values = monitor.wait_for("robot", lambda s: s.level == DiagnosticStatus.ERROR and "'nowhere'" in s.message)
    assert "'nowhere'" in values["unreadable objects"]
    (listed,) = state.scene().world.collision_objects
    assert listed.id == "cup" and not listed.primitives
    assert state.wait(lambda: len(texts()) > 0 and "nowhere" in texts()[-1].text)
    assert texts()[-1].header.frame_id == "ground"
    state.send(thing("cup", CollisionObject.REMOVE))
    assert is_answered(state) and state.wait(lambda: texts()[-1].action == Marker.DELETE)
    _, values = monitor.wait_for("robot", lambda s: s.level == DiagnosticStatus.OK)
    assert values["unreadable objects"] == "nothing"


def test_with_the_parameter_warn_requests_are_answered_with_a_warning(state):
    state.apply(cup())
    state.send(cup(y=-1.0, frame="nowhere"))
    state.refused()
    state.set(incomplete_world="warn")
    assert state.gap() == pytest.approx(1.8)  # the cup is as it was
    assert "'nowhere'" in state.nearest().message and "'nowhere'" in state.call(GetDistances, DISTANCES).message
    assert state.is_valid()
    state.set(incomplete_world="refuse")
    assert not state.nearest().success


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
        state.send(message)
    else:
        assert not state.apply_scene(message)
    state.refused("radius", "'nowhere'", "'elbow'")
    assert state.wait(lambda: "the rest is applied, not: " in service.output()[before:], 5.0)
    # A missing object is removed, sent again, or absent from a full scene.
    state.apply(thing("lost", CollisionObject.REMOVE), cup(y=-9.0))
    state.refused("'elbow'")
    remove = CollisionObject.REMOVE
    state.apply(thing("tool", remove), attached=[attached_object(remove, name="tool", link="elbow")])
    assert [state.gap(name) for name in ("plate", "cup", "fork")] == pytest.approx([1.8, 8.8, 0.5])
    assert state.apply_scene(PlanningScene()) and is_answered(state)


def test_a_refused_request_leaves_nothing_missing(state):
    assert not state.apply_scene(scene_diff(link_padding=[LinkPadding(link_name="hand", padding=-1.0)]))
    assert not state.call(ApplyObjects, APPLY, objects=[ovoid(attach_link="nowhere")]).success
    assert is_answered(state)


def test_too_many_objects_block_answers_until_a_whole_scene_comes(state):
    state.set(max_objects=3)
    crowd = scene_diff(*(cup(name=f"cup{i}", x=3.0 + i) for i in range(4)))
    assert not state.apply_scene(crowd)
    assert state.nearest().success  # a service reports to its client, so nothing is missing
    state.send(crowd)
    state.refused("adds 4 objects, at most 3 are allowed (max_objects)")
    assert state.apply_scene(PlanningScene()) and is_answered(state)
    state.set(max_objects=4)
    assert state.apply_scene(crowd)
    state.set(max_objects=3)
    state.refused("cup3", "at most 3")
    state.set(max_objects=4)
    assert is_answered(state)
    assert state.apply_scene(PlanningScene()) and not state.scene().world.collision_objects
