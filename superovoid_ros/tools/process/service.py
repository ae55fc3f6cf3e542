# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A distance service in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from superovoid_ros.client import DistanceClient, ServiceUnavailableError
from superovoid_ros.resources import robot_documents
from superovoid_ros.tools.process.child import PATIENCE, NodeProcess, remapping_rules, wait_for
from superovoid_ros.tools.process.network import own_network

_LOOK = 0.5  # s between two checks whether the starting node works


@contextmanager
def distance_service(use: str, robot: str, **parameters: object) -> Iterator[tuple[NodeProcess, str, DistanceClient]]:
    """Run a distance service about a robot of this package in a separate ROS domain.

    Parameters
    ----------
    use
        First part of its namespace.
    robot
        Name of the robot's files.
    **parameters
        Further parameters of the node.

    Yields
    ------
    process, name, client
        Its process, full name, and a client; it has read the robot.

    Raises
    ------
    NodeError
        If the node ends, or is late.
    """
    urdf, srdf = robot_documents(robot)
    parameters |= {"rate": 0.0, "robot_description": urdf, "robot_description_semantic": srdf}
    with ExitStack() as stack:
        namespace = stack.enter_context(own_network(use))
        name = f"{namespace}/distance_service"
        node = NodeProcess("superovoid_ros.nodes.distance_service", parameters, remapping_rules(namespace))
        stack.callback(node.stop)
        client = stack.enter_context(DistanceClient(service=name, timeout=PATIENCE))
        wait_for(node, lambda: _is_ready(client), f"{name} did not answer")
        yield node, name, client


def _is_ready(client: DistanceClient) -> bool:
    try:
        client.wait(_LOOK, ready=True)
    except ServiceUnavailableError:
        return False
    return True
