# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Goals of the actions `move_action` and `execute_trajectory`, and trajectories of a Panda."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import panda
import yaml
from moveit_msgs.action import ExecuteTrajectory, MoveGroup
from moveit_msgs.msg import RobotState
from panda_service import joint_goal
from rclpy.action import ActionClient
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint


def controllers_file(
    path: Path, controllers: Mapping[str, tuple[str, str, Sequence[str]]], limits: object = None
) -> str:
    """Write a file of MoveIt's controllers: type, name of the action and joints by name; return its path."""
    manager: dict[str, object] = {"controller_names": list(controllers)}
    for name, (kind, action, joints) in controllers.items():
        manager[name] = {"type": kind, "action_ns": action, "default": True, "joints": list(joints)}
    content = {"moveit_simple_controller_manager": manager, "trajectory_execution": limits or {}}
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return str(path)


class Goal:
    """A goal of an action, accepted."""

    clients: dict = {}  # noqa: RUF012

    def __init__(self, client, kind: type, name: str, goal: object) -> None:
        self._client, self.states = client, []
        if (client.node, name) not in self.clients:
            self.clients[client.node, name] = ActionClient(client.node, kind, name)
        action = self.clients[client.node, name]
        client.wait(action.server_is_ready)
        told = lambda message: self.states.append(message.feedback.state)  # noqa: E731
        self.handle = client.answer(action.send_goal_async(goal, feedback_callback=told))
        assert self.handle.accepted
        self.future = self.handle.get_result_async()

    def has_reached(self, state: str) -> bool:
        """Wait for a state of the feedback or the end; return whether it is the state."""
        self._client.wait(lambda: state in self.states or self.future.done())
        return state in self.states

    def wait_for(self, state: str) -> None:
        """Wait for a state of the feedback."""
        assert self.has_reached(state), self.code()

    def result(self) -> tuple[int, object]:
        """Return status and result."""
        found = self._client.answer(self.future)
        return found.status, found.result

    def code(self) -> object:
        """Return the error code of the result."""
        return self.result()[1].error_code


def move_goal(
    values: Iterable[float], names: Iterable[str] = panda.ARM, group: str = "panda_arm", scale: float = 1.0
) -> MoveGroup.Goal:
    """Return a goal to joint positions from the measured state."""
    goal = MoveGroup.Goal()
    goal.request.group_name, goal.request.allowed_planning_time = group, 20.0
    goal.request.start_state = RobotState(is_diff=True)
    goal.request.max_velocity_scaling_factor = goal.request.max_acceleration_scaling_factor = scale
    goal.request.goal_constraints = [joint_goal(values, names=names)]
    scene = goal.planning_options.planning_scene_diff
    scene.is_diff = scene.robot_state.is_diff = True
    return goal


def move(client, values: Iterable[float], **options: object) -> Goal:
    """Begin a planned motion."""
    return Goal(client, MoveGroup, "move_action", move_goal(values, **options))


def trajectory(
    *points: tuple[float, Sequence[float]], joints: Sequence[str] = panda.ARM, **fields: object
) -> JointTrajectory:
    """Return a trajectory of pairs of a time and positions."""
    message = JointTrajectory(joint_names=list(joints))
    for seconds, positions in points:
        point = JointTrajectoryPoint(positions=list(map(float, positions)), **fields)
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(round(1e9 * seconds), 10**9)
        message.points.append(point)
    return message


def execute(client, message: JointTrajectory, controllers: Sequence[str] = ()) -> Goal:
    """Begin to execute a trajectory."""
    goal = ExecuteTrajectory.Goal(controller_names=list(controllers))
    goal.trajectory.joint_trajectory = message
    return Goal(client, ExecuteTrajectory, "execute_trajectory", goal)
