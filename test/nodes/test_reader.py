# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Long messages are parsed in a background thread: the node still answers, in order, and ends on request."""

from __future__ import annotations

import pytest
from holding import SERVICE, hold
from lifecycle_msgs.msg import Transition
from moveit_msgs.msg import PlanningScene
from moveit_msgs.srv import ApplyPlanningScene
from superovoid_interfaces.srv import GetMinDistance

from superovoid_ros.nodes.common.conversions import to_pose

import arm
import lifecycle
from parameters import set_parameters
from world import MIN_DISTANCE, apply_scene, distance, put, scene_diff, sphere, thing


@pytest.fixture(scope="module")
def service(serve):
    """The service with the arm, and with a service that holds what is to be read."""
    return serve(SERVICE, rate=0.0, stale_timeout=0.0)


@pytest.fixture
def state(service, client):
    """The arm, described by topic, with its joints at 0 and the ball far away, and no objects."""
    client.send_text("robot_description", arm.URDF)
    service.wait_for_output("robot 'arm'")
    # A whole scene first: what an earlier test left unread keeps questions from being answered.
    assert apply_scene(client, PlanningScene())
    put(client, [0.0, 0.0])
    return client


@pytest.fixture
def state_to_hold(state):
    """The same, whose reader may work at the end, however the test ended."""
    yield state
    hold(state, "read", False)


def ask_often(state):
    """Ask for distances more often than what waits already could explain."""
    for _ in range(5):
        response = state.call(GetMinDistance, MIN_DISTANCE, links_a=["hand"], links_b=["ball"])
        assert response.success, response.message


def heavy_description(count=4000):
    """The arm with this number of balls, each of its own size, on a link far away: it takes long to read."""
    balls = "".join(
        f'<collision><origin xyz="0 0 {0.3 * i}"/><geometry><sphere radius="{0.1 + 1e-6 * i}"/></geometry></collision>'
        for i in range(count)
    )
    joint = '<joint name="heap_joint" type="fixed"><parent link="ground"/><child link="heap"/><origin xyz="0 0 900"/>'
    return arm.URDF.replace("</robot>", f'<link name="heap">{balls}</link>{joint}</joint></robot>')


def large(count, name="pile"):
    """A scene with an object of this number of balls, each of its own size, far away."""
    return scene_diff(
        thing(
            name=name,
            pose=arm.at(0.0, -20.0, 0.0),
            primitives=[sphere(0.1 + 1e-6 * i) for i in range(count)],
            primitive_poses=[to_pose(arm.at(0.0, -0.3 * i, 0.0)) for i in range(count)],
        )
    )


@pytest.mark.ci
def test_questions_are_answered_while_scenes_are_read_in_order(state_to_hold):
    calls = state_to_hold.node.create_client(ApplyPlanningScene, "/apply_planning_scene")
    assert state_to_hold.wait(calls.service_is_ready)
    hold(state_to_hold, "read", True)
    reading = calls.call_async(ApplyPlanningScene.Request(scene=large(400)))
    behind = calls.call_async(ApplyPlanningScene.Request(scene=large(1, "cup")))
    ask_often(state_to_hold)
    assert not reading.done() and not behind.done()
    hold(state_to_hold, "read", False)
    assert state_to_hold.wait(reading.done) and reading.result().success
    assert state_to_hold.wait(behind.done) and behind.result().success
    assert distance(state_to_hold, "ground", "pile") == pytest.approx(19.8, abs=1e-9)


@pytest.mark.ci
def test_a_description_is_checked_while_the_node_is_unconfigured(start_node, client):
    start_node("distance_service", "bare", autostart=False, remap=("/tf:=/bare_tf", "/robot_description:=/nothing"))
    for transitions in ((), (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_CLEANUP)):
        for transition in transitions:
            assert lifecycle.change(client, "/bare", transition)
        assert not set_parameters(client, "/bare", {"robot_description": "<robot"}).successful
        assert set_parameters(client, "/bare", {"robot_description": arm.URDF}).successful


@pytest.mark.ci
def test_calls_and_ctrl_c_do_not_wait_for_a_description(state, service):
    heavy = heavy_description()
    state.send_text("robot_description", heavy)
    while "4004 bodies" not in service.output():
        response = state.call(GetMinDistance, MIN_DISTANCE, links_a=["hand"], links_b=["ball"])
        assert response.success, response.message  # of one robot or the other
    before = hold(state, "read", True)
    state.send_text("robot_description", heavy + "<!-- another text -->")
    while hold(state, "read", True) == before:
        state.spin(0.02)
    hold(state, "read", False)
    assert service.interrupt() == 0
    assert "Traceback" not in service.output()
