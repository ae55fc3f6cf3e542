# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the distributions of ROS 2 do differently at run time, evened out; of Kilted nothing needs to be."""

from __future__ import annotations

from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.lifecycle import LifecycleNode

from superovoid_ros.nodes.common.mistakes import LOG_PERIOD, shortened


def refuse_impossible_transitions(node: LifecycleNode) -> None:
    """Let a node answer `success: false` to a transition that its state does not have.

    rclpy of Jazzy raises instead, out of the executor: any client could end the node.
    """
    service = node._service_change_state
    change_state = service.callback

    def refusing(request: object, response: object) -> object:
        try:
            return change_state(request, response)
        except rclpy_implementation.RCLError as error:
            node.get_logger().error(f"transition refused: {shortened(error)}", throttle_duration_sec=LOG_PERIOD)
            response.success = False
            return response

    service.callback = refusing
