# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The node reports a bug as a bug and continues; its clean-up does not wait for a call that does not end."""

import pytest
from holding import SERVICE
from moveit_msgs.msg import PlanningScene
from std_msgs.msg import String
from std_srvs.srv import Trigger

import arm
from monitor import Monitor
from world import NAME

pytestmark = pytest.mark.ci  # each has a process of its own


@pytest.fixture
def faulty(serve, client):
    """The service with mistakes."""
    node = serve(SERVICE, **arm.DESCRIPTIONS, rate=0.0, stale_timeout=0.0)
    arm.set_state(client, NAME)
    yield node
    node.is_tested = False
    node.kill()  # a call that does not end would keep it from ending


def test_errors_in_callbacks_are_logged_once_counted_and_survived(faulty, client):
    monitor, publisher = Monitor(client), client.publisher(String, f"{NAME}/fail_topic")
    for _ in range(3):
        response = client.call(Trigger, f"{NAME}/fail")
        assert not response.success
        assert response.message.startswith("INTERNAL: ValueError('operands could not be broadcast")
        publisher.publish(String())
    monitor.wait_for_value("queries", "internal errors", "6")
    monitor.wait_for_value("queries", "calls of Trigger refused", "3")
    assert client.nearest().success
    assert faulty.output().count("Traceback") == 1  # all of them were made at one place
    assert "fail_topic" in faulty.output()


def test_a_state_that_a_mistake_leaves_unjudged_is_not_valid(faulty, client):
    assert client.is_valid()
    assert client.call(Trigger, f"{NAME}/break_contacts").success
    assert not client.is_valid()
    assert client.call(Trigger, f"{NAME}/break_objects").success
    assert not client.apply_scene(PlanningScene())
    assert client.scene().robot_model_name == "arm"
    monitor = Monitor(client)
    for kind, calls, refused in (("GetStateValidity", 2, 1), ("ApplyPlanningScene", 1, 1), ("GetPlanningScene", 1, 0)):
        monitor.wait_for_value("queries", f"calls of {kind}", str(calls))
        monitor.wait_for_value("queries", f"calls of {kind} refused", str(refused))
    monitor.wait_for_value("queries", "internal errors", "2")
    assert "LinAlgError" in faulty.output()


def test_clean_up_does_not_wait_for_an_endless_call(faulty, client):
    sleeping = client.client(Trigger, f"{NAME}/sleep_aside")
    assert client.wait(sleeping.service_is_ready)
    sleeping.call_async(Trigger.Request())
    faulty.wait_for_output("sleeping")
    client.bring("unconfigured")
    client.bring("active")
    arm.set_state(client, NAME)
