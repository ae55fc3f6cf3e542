# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A node that stands in for controllers and a robot: it follows trajectories exactly, and publishes the joints.

ros2 run superovoid_ros simulated_controllers --ros-args -p controllers:=moveit_controllers.yaml

For demos and tests of clients of `move_action`. Joints have no dynamics, and contact does not stop them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from control_msgs.action import FollowJointTrajectory, GripperCommand
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from rclpy.task import Future
from scipy.interpolate import CubicHermiteSpline
from sensor_msgs.msg import JointState

from superovoid_ros.nodes.common.endpoints import Endpoints
from superovoid_ros.nodes.common.main import run
from superovoid_ros.nodes.common.mistakes import InputError
from superovoid_ros.nodes.common.parameters import Parameters, text
from superovoid_ros.nodes.distance_service.answers.controllers import Controller, read_controllers, read_mapping

PERIOD = 0.01
"""s, between two states."""
GRIPPER_SPEED = 0.1
"""rad/s or m/s"""


class _Share:
    """Joints that one controller leads, over time."""

    def __init__(self, handle: ServerGoalHandle, joints: Sequence[str], began: float) -> None:
        self.handle, self.joints, self.began, self.ended = handle, joints, began, Future()
        self.duration = 0.0
        self.at: Callable[[float], Any] = lambda _: ()


class SimulatedControllers(Node):
    """Serves the actions of controllers, and publishes `joint_states`."""

    def __init__(self) -> None:
        super().__init__("simulated_controllers")
        parameters = Parameters(self)
        parameters.declare(
            [
                text("controllers", "", "Path of a moveit_controllers.yaml, as for distance_service"),
                text("initial_positions", "", "Path of an initial_positions.yaml of MoveIt; empty: all joints at 0"),
            ]
        )
        controllers, initial = (str(parameters.value(name)) for name in ("controllers", "initial_positions"))
        self._endpoints = Endpoints(self)
        self._shares: dict[str, _Share] = {}
        described = read_controllers(controllers)
        self._positions = {joint: 0.0 for one in described for joint in one.joints}
        for joint, position in read_mapping("initial_positions", initial, "initial_positions").items():
            self._positions[joint] = float(position)
        self._publisher = self._endpoints.advertise(JointState, "joint_states", 10)
        for one in described:
            self._endpoints.act(one.kind, one.action, partial(self._follow, one), lambda _: None)
        self._endpoints.every(PERIOD, self._step, steady=False)
        self.get_logger().info(f"controllers: {', '.join(one.name for one in described)}")

    def _now(self) -> float:
        return 1e-9 * self.get_clock().now().nanoseconds

    def _step(self) -> None:
        now = self._now()
        for name, share in list(self._shares.items()):
            after = now - share.began
            if share.handle.is_cancel_requested:
                self._end(name)
                continue
            self._positions.update(zip(share.joints, map(float, share.at(min(after, share.duration))), strict=True))
            if after >= share.duration:
                self._end(name)
        message = JointState(name=list(self._positions), position=list(self._positions.values()))
        message.header.stamp = self.get_clock().now().to_msg()
        self._publisher.publish(message)

    def _end(self, name: str) -> None:
        self._shares.pop(name).ended.set_result(None)

    async def _follow(self, controller: Controller, handle: ServerGoalHandle) -> Any:
        """Lead joints until the goal ends; a new goal of the same controller takes its place."""
        result = controller.kind.Result()
        try:
            share = self._share(controller, handle)
        except InputError as error:
            self.get_logger().warning(f"{controller.name}: {error}")
            if controller.kind is FollowJointTrajectory:
                result.error_code, result.error_string = FollowJointTrajectory.Result.INVALID_GOAL, str(error)
            handle.abort()
            return result
        if controller.name in self._shares:
            self._end(controller.name)
        self._shares[controller.name] = share
        await share.ended
        if handle.is_cancel_requested:
            handle.canceled()
        elif self._now() - share.began < share.duration:
            handle.abort()
        else:
            if controller.kind is GripperCommand:
                result.position, result.reached_goal = handle.request.command.position, True
            handle.succeed()
        return result

    def _share(self, controller: Controller, handle: ServerGoalHandle) -> _Share:
        if controller.kind is GripperCommand:
            share = _Share(handle, controller.joints, self._now())
            first = np.array([self._positions[joint] for joint in controller.joints])
            way = handle.request.command.position - first
            share.duration = float(np.abs(way).max()) / GRIPPER_SPEED
            share.at = lambda after: first + way * (after / share.duration if share.duration else 1.0)
            return share
        trajectory = handle.request.trajectory
        share = _Share(handle, tuple(trajectory.joint_names), self._now())
        unknown = [joint for joint in share.joints if joint not in controller.joints]
        if unknown or not len(trajectory.points):
            raise InputError(f"joint '{unknown[0]}' is not its own" if unknown else "the trajectory is empty")
        first = [self._positions[joint] for joint in share.joints]
        times, positions = [0.0], [first]
        velocities = [np.zeros(len(first))]
        for point in trajectory.points:
            time = point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec
            if time <= times[-1]:
                times.pop(), positions.pop(), velocities.pop()
            times.append(time)
            positions.append(list(point.positions))
            velocities.append(np.array(point.velocities) if len(point.velocities) else np.zeros(len(first)))
        share.duration = times[-1]
        last = positions[-1]
        if len(times) > 1:
            share.at = CubicHermiteSpline(times, positions, velocities)
        else:
            share.at = lambda _: last
        return share


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until Ctrl-C."""
    return run(SimulatedControllers, args)
