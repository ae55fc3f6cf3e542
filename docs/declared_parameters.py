# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Print as JSON which parameters the nodes declare: each node is made, with what it declares written down.

A program of its own, since the wheels of ROS 2 start Python again to find their libraries.
"""

from __future__ import annotations

import json
import os
import sys

import rclpy
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node

from superovoid_ros.nodes.distance_service.distance_service import DistanceService
from superovoid_ros.nodes.simulated_controllers.simulated_controllers import SimulatedControllers
from superovoid_ros.nodes.sweep_player import SweepPlayer
from superovoid_ros.resources import share_directory

NODES = {
    "distance_service": DistanceService,
    "sweep_player": SweepPlayer,
    "simulated_controllers": SimulatedControllers,
}
SHARE = "(share)"
"""Stands for the folder of the package's files, which differs from one installation to the next."""


def constraints(descriptor: ParameterDescriptor) -> str:
    """Say in words which values are accepted."""
    words = [f"{one.from_value:,} to {one.to_value:,}" for one in descriptor.integer_range]
    words += [f"{one.from_value:g} to {one.to_value:g}" for one in descriptor.floating_point_range]
    if descriptor.additional_constraints:  # more exact than a range
        words = [descriptor.additional_constraints]
    return "; ".join([*words, *(["read-only"] if descriptor.read_only else [])])


def parameters_of(kind: type[Node]) -> dict[str, dict[str, str]]:
    """Make a node and return what it declares, by name."""
    found: dict[str, dict[str, str]] = {}
    declare = Node.declare_parameter

    def write_down(node: Node, name: str, value: object = None, *rest: object, **options: object) -> object:
        descriptor = rest[0] if rest else options.get("descriptor") or ParameterDescriptor()
        shown = value if isinstance(value, bool | int | float | str | list) else None
        text = json.dumps(shown, ensure_ascii=False).replace(str(share_directory()), SHARE)
        found[name] = {
            "default": text,
            "description": descriptor.description,
            "constraints": constraints(descriptor),
        }
        return declare(node, name, value, *rest, **options)

    Node.declare_parameter = write_down
    try:
        kind().destroy_node()
    finally:
        Node.declare_parameter = declare
    return found


def main() -> None:
    """Print a JSON object: node, parameter, {default, description, constraints}."""
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "OFF"
    rclpy.init(args=["--ros-args", "-p", "autostart:=false", "--log-level", "warn"])
    try:
        json.dump({name: parameters_of(kind) for name, kind in NODES.items()}, sys.stdout)
    finally:
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
