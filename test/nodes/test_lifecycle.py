# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The distance service as a managed node: what is there and what is answered in each of its states."""

from __future__ import annotations

import pytest
import rclpy
from lifecycle_msgs.msg import Transition
from rclpy.action import ActionClient
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
from std_msgs.msg import Empty
from superovoid_interfaces.msg import DistanceArray, SuperovoidObject
from superovoid_interfaces.srv import ApplyObjects, GetMinDistance, GetPairRules, GetPenetration

from superovoid_ros.nodes.common.mistakes import Code, InputError
from superovoid_ros.nodes.distance_service.distance_service import DistanceService
from superovoid_ros.nodes.distance_service.jobs import Kind
from superovoid_ros.nodes.distance_service.part import Part
from superovoid_ros.tools.process.network import own_network

import arm
import lifecycle
from node_processes import ROOT

NAME = "/managed"
SERVICE = "/managed/get_min_distance"
OWN_SERVICES = {
    f"/managed/{name}"
    for name in (
        "apply_objects",
        "get_distances",
        "get_min_distance",
        "get_pair_rules",
        "get_penetration",
        "set_pair_rules",
    )
}
OWN_TOPICS = {
    *("/managed/distances", "/managed/markers"),
    *("/joint_states", "/robot_description", "/tf", "/collision_object", "/planning_scene"),
}


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


@pytest.mark.ci
def test_a_node_listens_when_configured_and_answers_when_activated(managed, client):
    lifecycle.bring(client, NAME, "unconfigured")
    assert client.wait(lambda: "managed" in client.node.get_node_names())
    assert client.wait(lambda: services_of(client) == OWN_SERVICES and not topics_of(client))
    refused = client.call(GetMinDistance, SERVICE)
    assert refused.error_code.value == Code.INACTIVE and "ros2 lifecycle set /managed configure" in refused.message
    lifecycle.bring(client, NAME, "inactive")
    assert client.wait(lambda: topics_of(client) == OWN_TOPICS)
    messages = client.collect(DistanceArray, "/managed/distances")
    arm.send_state(client)
    for kind, name in ((GetMinDistance, "min_distance"), (GetPenetration, "penetration"), (GetPairRules, "pair_rules")):
        response = client.call(kind, f"/managed/get_{name}")
        assert not response.success and "ros2 lifecycle set /managed activate" in response.message
    client.spin(0.5)
    assert not messages
    for _ in range(2):
        lifecycle.bring(client, NAME, "active")
        # What was measured before is the state to answer from; on a slow machine it is still on its way.
        response = client.call_until(lambda response: response.success, GetMinDistance, SERVICE)
        assert response.distances.pairs[0].distance == pytest.approx(1.35, abs=1e-12)
        assert client.wait(lambda: bool(messages))
        lifecycle.bring(client, NAME, "inactive")
        assert "inactive" in client.call(GetMinDistance, SERVICE).message
        client.wait_for_silence(messages)


def test_a_change_is_answered_as_it_ended_although_the_node_was_deactivated(managed, client):
    objects = [SuperovoidObject(id=f"egg{i}", size=[0.01] * 3, epsilon=[1.0, 1.0]) for i in range(400)]
    for egg in objects:
        egg.pose.position.z, egg.pose.orientation.w = 5.0, 1.0
    lifecycle.bring(client, NAME, "active")
    arm.send_state(client)
    client.call_until(lambda response: response.success, GetMinDistance, SERVICE)
    apply = client.node.create_client(ApplyObjects, f"{NAME}/apply_objects")
    assert client.wait(apply.service_is_ready)
    answer = apply.call_async(ApplyObjects.Request(objects=objects))
    client.spin(0.02)  # it is being applied
    lifecycle.bring(client, NAME, "inactive")
    assert client.wait(answer.done)
    lifecycle.bring(client, NAME, "active")
    found = client.call(GetMinDistance, SERVICE, links_a=["egg0"], max_results=1)
    assert answer.result().success == found.success, (answer.result().message, found.message)


def test_a_cleaned_up_node_is_silent_and_forgets_in_each_life(managed, client):
    lifecycle.bring(client, NAME, "active")
    assert not lifecycle.change(client, NAME, Transition.TRANSITION_CLEANUP)  # not from active
    for life in range(5):
        arm.set_state(client, NAME)
        lifecycle.bring(client, NAME, "unconfigured")
        if not life:
            assert client.wait(lambda: not topics_of(client))
        lifecycle.bring(client, NAME, "active")
        client.call_until(lambda answer: "no message received yet" in answer.message, GetMinDistance, SERVICE)
    assert client.wait(lambda: services_of(client) == OWN_SERVICES)
    for topic in OWN_TOPICS - {"/managed/distances", "/managed/markers"}:
        # One subscription of the node, though it had five lives.
        ends = lambda topic=topic: client.node.get_subscriptions_info_by_topic(topic)  # noqa: E731
        assert client.wait(lambda ends=ends: sum(end.node_name == "managed" for end in ends()) == 1), topic
    assert "Traceback" not in managed.output()


def test_every_call_around_a_clean_up_has_an_answer(managed, client):
    lifecycle.bring(client, NAME, "active")
    arm.set_state(client, NAME)
    asking = client.client(GetMinDistance, SERVICE)
    assert client.wait(asking.service_is_ready)
    calls = []
    for label in ("inactive", "unconfigured", "inactive", "active"):
        calls += [asking.call_async(GetMinDistance.Request()) for _ in range(30)]
        lifecycle.bring(client, NAME, label)
    assert client.wait(lambda: all(call.done() for call in calls))
    codes = {call.result().error_code.value for call in calls}
    assert Code.INACTIVE in codes, codes


def test_node_shut_down_by_its_manager_stays_until_it_is_interrupted(managed, client):
    lifecycle.bring(client, NAME, "active")
    assert lifecycle.change(client, NAME, Transition.TRANSITION_ACTIVE_SHUTDOWN)
    assert lifecycle.state(client, NAME) == "finalized"
    assert client.wait(lambda: not topics_of(client))
    assert client.call(GetMinDistance, SERVICE).message == "/managed is finalized and answers nothing"
    assert managed.interrupt() == 0
    assert "Traceback" not in managed.output()


class FragilePart(Part):
    """A part that opens a topic and then raises an error in a transition."""

    errors: dict[str, Exception] = {}  # noqa: RUF012

    def configure(self):
        self.endpoints.advertise(Empty, "~/own", 1)
        self.activate("configure")

    def activate(self, transition="activate"):
        if transition in self.errors:
            raise self.errors[transition]


@pytest.fixture(scope="module")
def fragile_node():
    """A node in this process with a fragile part."""
    # In a domain of its own: a destroyed rclpy.lifecycle.LifecycleNode is visible to others until it is collected.
    with own_network("fragile"):
        rclpy.init(args=["--ros-args", "-p", "autostart:=false", "-r", "__node:=fragile"])
    node = DistanceService()
    node.parts += (FragilePart(node.common),)
    yield node
    node.destroy_node()
    rclpy.shutdown()  # of the default context, so that another test can make one


@pytest.mark.parametrize(
    ("transition", "error", "result", "state"),
    [
        ("configure", RuntimeError("a mistake"), TransitionCallbackReturn.ERROR, "unconfigured"),
        ("configure", InputError("wrong"), TransitionCallbackReturn.FAILURE, "unconfigured"),
        ("activate", RuntimeError("a mistake"), TransitionCallbackReturn.ERROR, "unconfigured"),
        ("activate", InputError("wrong"), TransitionCallbackReturn.FAILURE, "inactive"),
    ],
)
def test_an_error_in_a_transition_leaves_a_usable_state(fragile_node, transition, error, result, state):
    FragilePart.errors = {transition: error}
    if transition == "activate":
        fragile_node.trigger_configure()
    assert getattr(fragile_node, f"trigger_{transition}")() == result
    assert fragile_node._state_machine.current_state[1] == state and not fragile_node.common.activity.is_active
    opened = [publisher.topic_name for publisher in fragile_node.publishers]
    assert sum(name.endswith(("/own", "/markers")) for name in opened) == (2 if state == "inactive" else 0)
    FragilePart.errors = {}
    if state == "unconfigured":
        assert fragile_node.trigger_configure() == TransitionCallbackReturn.SUCCESS
    assert fragile_node.trigger_activate() == TransitionCallbackReturn.SUCCESS
    fragile_node.trigger_deactivate(), fragile_node.trigger_cleanup()


def test_clients_of_controllers_that_a_configuration_lacks_are_closed(fragile_node):
    for path in (str(ROOT / "config" / "moveit_controllers.yaml"), ""):
        fragile_node.set_parameters([Parameter("controllers", value=path)])
        assert fragile_node.trigger_configure() == TransitionCallbackReturn.SUCCESS
        clients = [one for one in fragile_node.waitables if isinstance(one, ActionClient)]
        assert bool(clients) == bool(path)
        fragile_node.trigger_cleanup()


def test_the_end_of_the_node_cancels_jobs_of_each_kind(fragile_node):
    futures = [fragile_node.common.jobs.result(kind, lambda: None) for kind in Kind]
    assert fragile_node.end() and [one.exception().code for one in futures] == [Code.CANCELLED] * len(Kind)


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
