# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Check why a running distance service cannot answer, and suggest remedies."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.srv import GetState
from rclpy.node import Node
from superovoid_interfaces.srv import GetMinDistance

from superovoid_ros.nodes.common.caller import Caller
from superovoid_ros.nodes.common.mistakes import Code

_OWN_TYPE = "superovoid_interfaces/srv/GetMinDistance"
_NEW_NODE = "ros2 launch superovoid_ros distance_service.launch.py urdf:=/path/to/robot.urdf"
_INPUTS = {
    "std_msgs/msg/String": "robot_state_publisher publishes it; or launch the service with urdf:=/path/to/robot.urdf",
    "sensor_msgs/msg/JointState": "a driver, a simulator or joint_state_publisher publishes it",
    "tf2_msgs/msg/TFMessage": "robot_state_publisher, localisation or a static transform publishes it",
}
"""How to provide the input, by type of its topic."""
_ALWAYS = frozenset(_INPUTS) - {"std_msgs/msg/String"}
"""Types of inputs to which every active node subscribes; a robot description may be a parameter."""
_DISCOVERY = 3.0  # s, longest time in which Fast DDS discovers an endpoint
_REMEDIES = {
    Code.NO_ROBOT: _INPUTS["std_msgs/msg/String"],
    Code.READING: "wait until the robot description has been read",
    Code.NOT_MEASURED: "publish the missing input; for joints, the parameter unmeasured_joints can be set to default",
    Code.INCOMPLETE_WORLD: "re-send the objects or a whole planning scene, or remove the objects",
    Code.BUSY: "wait, or send fewer requests",
    Code.INTERNAL: "report this bug with the output of the node",
}


@dataclass(frozen=True)
class Check:
    """The result of one check."""

    name: str
    """Subject of the check: ``node``, ``state``, a topic, a diagnostic task, or ``distance``."""
    ok: bool
    found: str
    remedy: str = ""
    """How to provide what is missing; empty if nothing is missing."""


def check_service(service: str, timeout: float) -> list[Check]:
    """Check a distance service, from its node to a first answer.

    Parameters
    ----------
    service : str
        Full name of the node, such as ``/distance_service``.
    timeout : float
        Time limit for each of: finding the node, its diagnostics, an answer; s.

    Returns
    -------
    list of Check
        In the order in which a user should fix them. If the node is active, the last one is an answer of the node.
    """
    with Caller("superovoid_node_check", global_arguments=False) as caller:
        diagnostics: dict[str, DiagnosticStatus] = {}
        caller.node.create_subscription(DiagnosticArray, "/diagnostics", _keeper(service, diagnostics), 10)
        state = caller.client(GetState, f"{service}/get_state")
        namespace, _, name = service.rpartition("/")
        full_name = (name, namespace or "/")

        def is_known() -> bool:
            # A node's services are discovered shortly before its name.
            return state.service_is_ready() and full_name in caller.node.get_node_names_and_namespaces()

        if not caller.wait(is_known, timeout):
            return [_missing_node(caller.node, service)]
        checks = [Check("node", True, service)]
        try:
            label = caller.ask(state, GetState.Request(), timeout).current_state.label
        except TimeoutError as error:
            return [*checks, Check("state", False, str(error), "see the log of the node; it may be stopped or busy")]
        checks.append(_state_check(service, label))
        if label != "active":
            return checks
        caller.wait(lambda: bool(diagnostics), timeout)
        checks += topic_checks(caller, *full_name, min(timeout, _DISCOVERY))
        checks += [
            Check(task, status.level == DiagnosticStatus.OK, status.message)
            for task, status in diagnostics.items()
            if task in ("robot", "measurements")
        ]
        return [*checks, _answer_check(caller, service, timeout)]


def _keeper(service: str, kept: dict[str, DiagnosticStatus]) -> Callable[[DiagnosticArray], None]:
    """Return a callback that stores the last status of each diagnostic task of the node."""
    prefix = f"{service.lstrip('/')}: "

    def keep(message: DiagnosticArray) -> None:
        kept.update({s.name.removeprefix(prefix): s for s in message.status if s.name.startswith(prefix)})

    return keep


def _missing_node(node: Node, service: str) -> Check:
    services = node.get_service_names_and_types()
    others = sorted(name.rpartition("/")[0] for name, types in services if _OWN_TYPE in types)
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    found = f"no node {service} in ROS domain {domain}"
    if others:
        return Check("node", False, found, f"use one of: {', '.join(others)}")
    return Check("node", False, found, f"start it ({_NEW_NODE}), or set ROS_DOMAIN_ID to that of the node")


def _state_check(service: str, label: str) -> Check:
    steps = {"unconfigured": "configure, then activate", "inactive": "activate"}
    remedy = f"ros2 lifecycle set {service} {steps[label]}" if label in steps else "wait for the transition"
    return Check("state", label == "active", label, "" if label == "active" else remedy)


def topic_checks(caller: Caller, name: str, namespace: str, timeout: float) -> list[Check]:
    """Check that the inputs to which a node subscribes have publishers, and wait up to `timeout` until all are found.

    Endpoints are discovered one by one, so one that is missing may not have been discovered yet.
    """
    checks: list[Check] = []

    def are_found() -> bool:
        node, kinds = caller.node, set()
        checks.clear()
        for topic, types in sorted(node.get_subscriber_names_and_types_by_node(name, namespace)):
            kind = next((kind for kind in types if kind in _INPUTS), None)
            if kind is None or topic.endswith(("_static", "_semantic", "_event")):
                continue
            senders = node.get_publishers_info_by_topic(topic)  # the node itself may be one, on /tf
            count = sum((sender.node_name, sender.node_namespace) != (name, namespace) for sender in senders)
            found = f"{count} publisher{'' if count == 1 else 's'}"
            checks.append(Check(topic, count > 0, found, "" if count else _INPUTS[kind]))
            kinds.add(kind)
        return kinds >= _ALWAYS and all(check.ok for check in checks)

    caller.wait(are_found, timeout)
    return checks


def _answer_check(caller: Caller, service: str, timeout: float) -> Check:
    client = caller.client(GetMinDistance, f"{service}/get_min_distance")
    try:
        answer = caller.ask(client, GetMinDistance.Request(max_results=1), timeout)
    except TimeoutError as error:
        return Check("distance", False, str(error), "see the log of the node")
    if not answer.success:
        code = Code(answer.error_code.value)
        return Check("distance", False, f"{code.name}: {answer.message}", _REMEDIES.get(code, "see the message"))
    if not answer.distances.pairs:
        return Check("distance", True, "no pair of bodies is checked")
    pair = answer.distances.pairs[0]
    return Check("distance", True, f"{pair.link_a} - {pair.link_b}: {1e3 * pair.distance:.3f} mm")
