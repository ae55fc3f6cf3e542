# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The distance service as a managed node: what is there and what is answered in each of its states."""

from __future__ import annotations

import pytest
import rclpy
from lifecycle_msgs.msg import Transition
from rclpy.lifecycle import TransitionCallbackReturn
from std_srvs.srv import Trigger
from superovoid_interfaces.msg import DistanceArray
from superovoid_interfaces.srv import GetMinDistance, GetPenetration

from superovoid_ros.nodes.common.mistakes import InputError
from superovoid_ros.nodes.distance_service.distance_service import DistanceService
from superovoid_ros.nodes.distance_service.part import Part

import arm
import lifecycle

NAME = "/managed"
SERVICE = "/managed/get_min_distance"
OWN_TOPICS = {"/managed/distances", "/managed/markers", "/joint_states", "/robot_description", "/tf"}


@pytest.fixture(scope="module")
def managed(start_node):
    """A node that waits for its manager; each test takes it to the state that it begins with."""
    return start_node(
        "distance_service", name="managed", autostart=False, **arm.DESCRIPTIONS, rate=50.0, max_distance=0.0
    )


def services_of(client):
    """Return the names of all services of the node that are not ROS's own."""
    known = client.node.get_service_names_and_types_by_node("managed", "/")
    return {name for name, kinds in known if any("superovoid_interfaces" in kind for kind in kinds)}


def topics_of(client):
    """Return the names of the node's topics that are not ROS's own."""
    listens = client.node.get_subscriber_names_and_types_by_node("managed", "/")
    speaks = client.node.get_publisher_names_and_types_by_node("managed", "/")
    return {name for name, _ in listens + speaks} & OWN_TOPICS


def subscriptions(client, topic):
    """Return to how many subscriptions of the node a topic goes."""
    ends = client.node.get_subscriptions_info_by_topic(topic)
    return sum(end.node_name == "managed" for end in ends)


@pytest.mark.ci
def test_a_node_opens_when_configured_and_answers_when_activated(managed, client):
    lifecycle.bring(client, NAME, "unconfigured")
    assert client.wait(lambda: "managed" in client.node.get_node_names())
    assert client.wait(lambda: not services_of(client) and not topics_of(client))
    assert lifecycle.change(client, NAME, Transition.TRANSITION_CONFIGURE)
    assert lifecycle.state(client, NAME) == "inactive"
    assert client.wait(lambda: topics_of(client) == OWN_TOPICS)
    messages = client.collect(DistanceArray, "/managed/distances")
    arm.send_state(client)
    for kind, service in ((GetMinDistance, SERVICE), (GetPenetration, "/managed/get_penetration")):
        response = client.call(kind, service)
        assert not response.success and not response.distances.pairs
        assert "ros2 lifecycle set /managed activate" in response.message
    client.spin(0.5)
    assert not messages
    for _ in range(2):
        assert lifecycle.change(client, NAME, Transition.TRANSITION_ACTIVATE)
        # What was measured before is the state to answer from; on a slow machine it is still on its way.
        response = client.call_until(lambda response: response.success, GetMinDistance, SERVICE)
        assert response.distances.pairs[0].distance == pytest.approx(1.35, abs=1e-12)
        assert client.wait(lambda: bool(messages))
        assert lifecycle.change(client, NAME, Transition.TRANSITION_DEACTIVATE)
        assert "inactive" in client.call(GetMinDistance, SERVICE).message
        client.wait_for_silence(messages)


def test_a_cleaned_up_node_is_closed_and_forgets_in_each_life(managed, client):
    lifecycle.bring(client, NAME, "active")
    assert not lifecycle.change(client, NAME, Transition.TRANSITION_CLEANUP)  # not from active
    assert client.wait(lambda: bool(services_of(client)))
    services = services_of(client)
    for life in range(5):
        arm.set_state(client, NAME)
        for transition in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP):
            assert lifecycle.change(client, NAME, transition)
        if not life:
            assert client.wait(lambda: not services_of(client) and not topics_of(client))
        for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
            assert lifecycle.change(client, NAME, transition)
        client.call_until(lambda answer: "no message received yet" in answer.message, GetMinDistance, SERVICE)
    assert client.wait(lambda: services_of(client) == services)
    for topic in OWN_TOPICS - {"/managed/distances", "/managed/markers"}:
        assert client.wait(lambda topic=topic: subscriptions(client, topic) == 1), topic
    assert "Traceback" not in managed.output()


def test_node_shut_down_by_its_manager_stays_until_it_is_interrupted(managed, client):
    lifecycle.bring(client, NAME, "active")
    assert lifecycle.change(client, NAME, Transition.TRANSITION_ACTIVE_SHUTDOWN)
    assert lifecycle.state(client, NAME) == "finalized"
    assert client.wait(lambda: not services_of(client) and not topics_of(client))
    assert managed.interrupt() == 0
    assert "Traceback" not in managed.output()


class FragilePart(Part):
    """A part that opens a service and then fails in the requested way."""

    error: Exception | None = None
    fails_in = "configure"

    def configure(self):
        self.node.create_service(Trigger, "~/fragile", lambda request, response: response)
        self._break("configure")

    def activate(self):
        self._break("activate")

    def _break(self, where):
        if self.error is not None and where == self.fails_in:
            raise self.error


@pytest.fixture(scope="module")
def fragile_node():
    """A node in this process with a fragile part."""
    rclpy.init(args=["--ros-args", "-p", "autostart:=false", "-r", "__node:=fragile"])
    node = DistanceService()
    part = FragilePart(node.common)
    node.parts += (part,)
    yield node, part
    node.destroy_node()
    rclpy.shutdown()  # of the default context, so that another test can make one


def is_closed(node):
    """Whether all that `configure` opens is closed again."""
    names = {service.srv_name for service in node.services}
    return "/fragile/fragile" not in names and "/fragile/get_min_distance" not in names


def trigger(node, part, transition, error=None):
    """Request a transition in which the part raises an error; return the result and the label of the state."""
    part.error, part.fails_in = error, transition
    result = getattr(node, f"trigger_{transition}")()
    return result, node._state_machine.current_state[1]


def test_a_mistake_in_a_transition_closes_everything(fragile_node):
    node, part = fragile_node
    mistake = RuntimeError("a mistake")
    for transition in ("configure", "activate"):
        assert trigger(node, part, transition, mistake) == (TransitionCallbackReturn.ERROR, "unconfigured")
        assert is_closed(node) and not node.common.activity.is_active
        assert trigger(node, part, "configure") == (TransitionCallbackReturn.SUCCESS, "inactive")
    node.trigger_cleanup()


def test_wrong_input_refuses_a_transition_and_leaves_the_state(fragile_node):
    node, part = fragile_node
    wrong = InputError("a parameter without sense")
    assert trigger(node, part, "configure", wrong) == (TransitionCallbackReturn.FAILURE, "unconfigured")
    assert is_closed(node)
    assert trigger(node, part, "configure") == (TransitionCallbackReturn.SUCCESS, "inactive")
    assert trigger(node, part, "activate", wrong) == (TransitionCallbackReturn.FAILURE, "inactive")
    assert not node.common.activity.is_active
    assert trigger(node, part, "activate") == (TransitionCallbackReturn.SUCCESS, "active")


@pytest.mark.ci
def test_without_planning_there_are_neither_kinematics_nor_plans(start_node, client):
    node = start_node("distance_service", "plain", planning=False, rate=0.0, robot_description=arm.URDF)
    node.wait_for_output("robot 'arm'")

    def services():
        if ("plain", "/") not in client.node.get_node_names_and_namespaces():
            return set()
        return {name for name, _ in client.node.get_service_names_and_types_by_node("plain", "/")}

    assert client.wait(lambda: "/check_state_validity" in services())
    assert not {"/compute_fk", "/compute_ik", "/plan_kinematic_path"} & services()
