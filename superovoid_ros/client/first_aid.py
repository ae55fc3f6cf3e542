# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""First aid for a running distance service: find out what prevents it from answering, and how to fix it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from superovoid_ros.client import DistanceClient, RequestRefusedError, ServiceFailedError, ServiceUnavailableError
from superovoid_ros.client.caller import Caller
from superovoid_ros.nodes.common.mistakes import Code

_NEW_NODE = "ros2 launch superovoid_ros distance_service.launch.py urdf:=/path/to/robot.urdf"
_TASKS = "robot", "measurements"  # of the diagnostics
_REMEDIES = {
    Code.NO_ROBOT: "robot_state_publisher publishes it; or launch the service with urdf:=/path/to/robot.urdf",
    Code.READING: "wait until the robot description has been read",
    Code.NOT_MEASURED: "publish joint states (a driver, a simulator or joint_state_publisher) and transforms "
    "(robot_state_publisher, localisation); or set the parameter unmeasured_joints to default",
    Code.INCOMPLETE_WORLD: "re-send the objects or a whole planning scene, or remove the objects",
    Code.BUSY: "wait, or send fewer requests",
}


@dataclass(frozen=True)
class Check:
    """The result of one check."""

    name: str
    """Subject of the check: ``node``, a diagnostic task, or ``distance``."""
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
        In the order in which a user should fix them. If the node is configured, the last one is an answer of the node.
    """
    with Caller("superovoid_node_check") as caller:
        diagnostics: dict[str, DiagnosticStatus] = {}
        arrived, prefix = threading.Event(), f"{service.lstrip('/')}: "

        def keep(message: DiagnosticArray) -> None:
            diagnostics.update({s.name.removeprefix(prefix): s for s in message.status if s.name.startswith(prefix)})
            if diagnostics:
                arrived.set()

        caller.node.create_subscription(DiagnosticArray, "/diagnostics", keep, 10)
        caller.spin_aside()
        with DistanceClient(caller.node, service, timeout=timeout) as client:
            try:
                client.wait()
            except ServiceUnavailableError as error:
                return [Check("node", False, str(error), f"start it ({_NEW_NODE})")]
            arrived.wait(timeout)
            found = ((task, diagnostics[task]) for task in _TASKS if task in diagnostics)
            checks = [Check(task, status.level == DiagnosticStatus.OK, status.message) for task, status in found]
            failed = [number for number, check in enumerate(checks, 1) if not check.ok]
            del checks[failed[0] if failed else len(checks) :]  # nothing is measured of a missing robot
            return [Check("node", True, service), *checks, _answer_check(client, [check.found for check in checks])]


def _answer_check(client: DistanceClient, known: Sequence[str]) -> Check:
    """Ask for a distance; a reason for the refusal that is known is not repeated."""
    try:
        pairs = client.distances(max_results=1)
    except RequestRefusedError as error:
        words = "as above" if str(error) in known else str(error)
        return Check("distance", False, f"{error.code.name}: {words}", _REMEDIES.get(error.code, "see the message"))
    except (ServiceFailedError, ServiceUnavailableError) as error:
        return Check("distance", False, str(error), "see the log of the node: it may be stopped or busy, or have a bug")
    if not len(pairs):
        return Check("distance", True, "no pair of bodies is checked")
    pair = pairs[0]
    return Check("distance", True, f"{pair.link_a} - {pair.link_b}: {1e3 * pair.distance:.3f} mm")
