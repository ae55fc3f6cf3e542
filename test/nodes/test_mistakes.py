# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The node reports a bug as a bug and continues; long calls end when the node ends."""

from pathlib import Path

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from moveit_msgs.msg import PlanningScene
from moveit_msgs.srv import ApplyPlanningScene, GetPlanningScene, GetStateValidity
from std_msgs.msg import String
from std_srvs.srv import Trigger
from superovoid_interfaces.srv import GetMinDistance

import arm
import lifecycle

FAULTY = str(Path(__file__).with_name("faulty_service.py"))


@pytest.fixture
def faulty_service(start_node, client, request):
    """The service with mistakes, and its name."""
    name = f"faulty_{request.node.callspec.id if hasattr(request.node, 'callspec') else request.node.name}"
    name = "".join(c if c.isalnum() else "_" for c in name)
    node = start_node(FAULTY, name, **arm.DESCRIPTIONS, autostart=False, rate=0.0, stale_timeout=0.0)
    node.wait_for_output("robot 'arm'")
    yield node, f"/{name}"
    node.is_tested = False
    node.kill()  # a call that does not end would keep it from ending


def queries_of(client, name):
    """Collect the diagnostics of queries by key, from now on."""
    messages = client.collect(DiagnosticArray, "/diagnostics")

    def latest_status():
        return [status for message in messages for status in message.status if status.name == f"{name[1:]}: queries"]

    def has_told(key, value):
        return client.wait(
            lambda: latest_status() and {v.key: v.value for v in latest_status()[-1].values}.get(key) == value
        )

    return has_told


@pytest.mark.ci
def test_errors_in_callbacks_are_logged_once_counted_and_survived(faulty_service, client):
    node, name = faulty_service
    told = queries_of(client, name)
    publisher = client.publisher(String, f"{name}/fail_topic")
    for _ in range(3):
        response = client.call(Trigger, f"{name}/fail")
        assert not response.success
        assert response.message.startswith("INTERNAL: ValueError('operands could not be broadcast")
        publisher.publish(String())
    assert told("internal errors", "6")
    assert told("calls of Trigger refused", "3")
    arm.set_state(client, name, [0.0, 0.0])
    assert client.call(GetMinDistance, f"{name}/get_min_distance").success
    output = node.output()
    assert output.count("Traceback") == 1  # all of them were made at one place
    assert "fail_topic" in output


@pytest.mark.ci
def test_a_state_that_a_mistake_leaves_unjudged_is_not_valid(faulty_service, client):
    node, name = faulty_service
    told = queries_of(client, name)
    arm.set_state(client, name, [0.0, 0.0])
    assert client.call(GetStateValidity, "/check_state_validity").valid
    assert client.call(Trigger, f"{name}/break_contacts").success
    response = client.call(GetStateValidity, "/check_state_validity")
    assert not response.valid and not response.contacts
    assert client.call(Trigger, f"{name}/break_objects").success
    assert not client.call(ApplyPlanningScene, "/apply_planning_scene", scene=PlanningScene()).success
    assert client.call(GetPlanningScene, "/get_planning_scene").scene.robot_model_name == "arm"
    for key, value in {
        "calls of GetStateValidity": "2",
        "calls of GetStateValidity refused": "1",
        "calls of ApplyPlanningScene": "1",
        "calls of ApplyPlanningScene refused": "1",
        "calls of GetPlanningScene": "1",
        "calls of GetPlanningScene refused": "0",
        "internal errors": "2",
    }.items():
        assert told(key, value), key
    assert "LinAlgError" in node.output()


@pytest.mark.ci
def test_clean_up_does_not_wait_for_an_endless_call(faulty_service, client):
    node, name = faulty_service
    sleeping = client.node.create_client(Trigger, f"{name}/sleep_aside")
    assert client.wait(sleeping.service_is_ready)
    sleeping.call_async(Trigger.Request())
    assert client.wait(lambda: "sleeping" in node.output())
    for transition in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP):
        assert lifecycle.change(client, name, transition)
    for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
        assert lifecycle.change(client, name, transition)
    arm.set_state(client, name, [0.0, 0.0])
    assert client.call(GetMinDistance, f"{name}/get_min_distance").success
