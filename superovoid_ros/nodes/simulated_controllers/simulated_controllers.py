# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Node that simulates controllers and a robot: it follows trajectories exactly and publishes the joints.

ros2 run superovoid_ros simulated_controllers --ros-args -p controllers:=moveit_controllers.yaml

Use it in demos, and to test clients of `move_action`. Joints have no dynamics, and contact does not stop them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from control_msgs.action import FollowJointTrajectory, GripperCommand
from rclpy.action.server import ServerGoalHandle
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.task import Future
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from superovoid.planning.timing import Trajectory
from superovoid_ros.nodes.common.endpoints import Endpoints
from superovoid_ros.nodes.common.main import run
from superovoid_ros.nodes.common.mistakes import InputError
from superovoid_ros.nodes.common.parameters import Parameters, text
from superovoid_ros.nodes.distance_service.answers.controllers import (
    Controller,
    lead_from,
    read_controllers,
    read_mapping,
    read_trajectory,
)

PERIOD = 0.01
"""Time between two published states, s."""
GRIPPER_SPEED = 0.1
"""Speed of gripper joints, rad/s or m/s."""


@dataclass(frozen=True)
class _Share:
    """A goal under way: the motion of one controller's joints."""

    handle: ServerGoalHandle
    motion: Trajectory
    began: float
    ended: Future = field(default_factory=Future)


class SimulatedControllers(Node):
    """Node that serves the actions of controllers and publishes `joint_states`."""

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
        self._endpoints.start_timer(PERIOD, self._step, steady=False)
        self.get_logger().info(f"controllers: {', '.join(one.name for one in described)}")

    def _clock_time(self) -> float:
        return 1e-9 * self.get_clock().now().nanoseconds

    def _step(self) -> None:
        now = self._clock_time()
        for name, share in list(self._shares.items()):
            after = now - share.began
            if share.handle.is_cancel_requested:
                self._end(name)
                continue
            motion = share.motion
            self._positions.update(zip(motion.joints, motion.evaluate(after).tolist(), strict=True))
            if after >= motion.duration:
                self._end(name)
        message = JointState(name=list(self._positions), position=list(self._positions.values()))
        message.header.stamp = self.get_clock().now().to_msg()
        self._publisher.publish(message)

    def _end(self, name: str) -> None:
        self._shares.pop(name).ended.set_result(None)

    async def _follow(self, controller: Controller, handle: ServerGoalHandle) -> Any:
        """Move the joints until the goal ends; a new goal of the same controller replaces it."""
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
        elif self._clock_time() - share.began < share.motion.duration:
            handle.abort()
        else:
            if controller.kind is GripperCommand:
                result.position, result.reached_goal = handle.request.command.position, True
            handle.succeed()
        return result

    def _share(self, controller: Controller, handle: ServerGoalHandle) -> _Share:
        if controller.kind is GripperCommand:
            wanted = handle.request.command.position
            way = max(abs(wanted - self._positions[joint]) for joint in controller.joints)
            point = JointTrajectoryPoint(positions=[wanted] * len(controller.joints))
            point.time_from_start = Duration(seconds=way / GRIPPER_SPEED).to_msg()
            message = JointTrajectory(joint_names=controller.joints, points=[point])
        else:
            message = handle.request.trajectory
        unknown = [joint for joint in message.joint_names if joint not in controller.joints]
        if unknown or not len(message.points):
            raise InputError(f"it does not control joint '{unknown[0]}'" if unknown else "the trajectory is empty")
        measured = {joint: self._positions[joint] for joint in message.joint_names}
        return _Share(handle, lead_from(measured, read_trajectory(message)), self._clock_time())


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until Ctrl-C."""
    return run(SimulatedControllers, args)
