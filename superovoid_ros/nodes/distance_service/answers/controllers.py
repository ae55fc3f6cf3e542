# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Controllers in a moveit_controllers.yaml, limits of execution, and splitting of trajectories among controllers."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import yaml
from control_msgs.action import FollowJointTrajectory, GripperCommand
from control_msgs.msg import GripperCommand as Gripper
from moveit_msgs.msg import MoveItErrorCodes
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from superovoid.planning.timing import Trajectory
from superovoid_ros.nodes.common.mistakes import InputError, listing
from superovoid_ros.nodes.distance_service.answers.error_codes import CodedError, coded

_AT_REST = 1e-3  # rad or m, as little as a joint at rest may move in a trajectory
_AT_ONCE = 1e-9  # s, from the measured state to a point at time 0
MANAGER, EXECUTION = "moveit_simple_controller_manager", "trajectory_execution"
KINDS = {"FollowJointTrajectory": FollowJointTrajectory, "GripperCommand": GripperCommand}


@dataclass(frozen=True)
class Controller:
    """A controller as described for moveit_simple_controller_manager."""

    name: str
    kind: type
    """Type of its action."""
    action: str
    joints: tuple[str, ...]
    is_default: bool
    max_effort: float = 0.0
    """Of a gripper, N or Nm, unless the trajectory has efforts; 0: that of its controller."""


@dataclass(frozen=True)
class ExecutionLimits:
    """Limits of the execution of a trajectory: the mapping `trajectory_execution` of a moveit_controllers.yaml."""

    execution_duration_monitoring: bool = True
    """If true, a motion that takes too long is stopped."""
    allowed_execution_duration_scaling: float = 1.2
    allowed_goal_duration_margin: float = 0.5
    """Margin in addition to the scaled duration, s."""
    allowed_start_tolerance: float = 0.01
    """Largest distance of a joint from the first point of its trajectory, rad or m. As in MoveIt, 0 disables this
    check; it also disables the check for stale joint states."""
    allowed_path_tolerance: float = 0.05
    """Largest distance of a joint from the states of its trajectory up to the present time, and from its end when its
    controller has ended, rad or m; 0: not checked. MoveIt does not have this limit."""

    def seconds(self, duration: float) -> float:
        """Return the time limit for a trajectory of a duration, s; infinite without monitoring."""
        if not self.execution_duration_monitoring:
            return math.inf
        return self.allowed_execution_duration_scaling * duration + self.allowed_goal_duration_margin

    def check_start(self, joint: str, measured: float, position: float) -> None:
        """Raise `CodedError` if a joint is too far from the first point of its trajectory."""
        tolerance = self.allowed_start_tolerance
        if tolerance and not abs(measured - position) <= tolerance:
            words = f"joint '{joint}' is at {measured:.4g}, its trajectory starts at {position:.4g}"
            raise CodedError(MoveItErrorCodes.CONTROL_FAILED, f"{words}: must be within {tolerance:g}")

    def off_path(self, ways: Mapping[str, float]) -> str:
        """Return which joint is too far from its trajectory, or nothing; `ways` are the distances, rad or m."""
        joint, way = max(ways.items(), key=lambda each: each[1])
        words = f"joint '{joint}' is {way:.3g} away from it: must be within {self.allowed_path_tolerance:g}"
        return "" if way <= self.allowed_path_tolerance else f"{words} (allowed_path_tolerance)"


def read_mapping(parameter: str, path: str, key: str, *, is_needed: bool = True) -> dict[str, object]:
    """Return the mapping `key` in the YAML file of MoveIt that a parameter names; empty if the path is empty.

    Raises
    ------
    InputError
        If the file cannot be read, or `key` is not a mapping, or is required but missing.
    """
    if not path:
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            document = yaml.safe_load(file)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{parameter} = {path}: cannot be read: {error}") from error
    found = document.get(key, None if is_needed else {}) if isinstance(document, Mapping) else None
    if not isinstance(found, Mapping):
        raise InputError(f"{parameter} = {path}: has no mapping '{key}'")
    return {str(name): one for name, one in found.items()}


def read_execution_limits(path: str) -> ExecutionLimits:
    """Return the limits in a file; missing ones have their defaults, all of them if the path is empty.

    Raises
    ------
    InputError
        If the file cannot be read, or a limit has the wrong type or is negative.
    """
    given = read_mapping("controllers", path, EXECUTION, is_needed=False)
    limits = {name: given[name] for name in ExecutionLimits.__dataclass_fields__.keys() & given.keys()}
    for name, value in limits.items():
        if not isinstance(value, int | float) or not 0 <= value < math.inf:
            words = f"{name} = {value!r}: must be true or false, or a finite number that is not negative"
            raise InputError(f"controllers = {path}: {EXECUTION}: {words}")
    return ExecutionLimits(**limits)


def read_controllers(path: str) -> tuple[Controller, ...]:
    """Return the controllers in a file, default controllers first; none if the path is empty.

    Raises
    ------
    InputError
        If the file cannot be read, or the description of a controller is incomplete.
    """
    manager = read_mapping("controllers", path, MANAGER)
    names, found = manager.get("controller_names", []), []
    if not isinstance(names, list):
        raise InputError(f"controllers = {path}: controller_names: must be a list")
    for name in map(str, names):
        given = manager.get(name)
        kind = KINDS.get(str(given.get("type"))) if isinstance(given, Mapping) else None
        if kind is None:
            raise InputError(f"controllers = {path}: {name}: type: must be one of {', '.join(KINDS)}")
        joints = given.get("joints")
        if not isinstance(joints, list) or not joints:
            raise InputError(f"controllers = {path}: {name}: joints: must be a list of joints")
        space = str(given.get("action_ns") or "")
        action = f"{name}/{space}" if space else name
        effort = given.get("max_effort", 0.0)
        if isinstance(effort, bool) or not isinstance(effort, int | float) or not 0.0 <= effort < math.inf:
            words = f"max_effort = {effort!r}: must be a finite number that is not negative"
            raise InputError(f"controllers = {path}: {name}: {words}")
        is_default = bool(given.get("default"))
        found.append(Controller(name, kind, action, tuple(map(str, joints)), is_default, float(effort)))
    return tuple(sorted(found, key=lambda one: not one.is_default))


def shares_of(
    trajectory: JointTrajectory, controllers: Sequence[Controller], passive: Collection[str]
) -> list[tuple[Controller, object]]:
    """Split a trajectory among controllers: return each with its goal; every joint has one controller.

    Parameters
    ----------
    trajectory
        The trajectory of a plan.
    controllers
        Available controllers, in order of preference.
    passive
        Mimic joints, which need no controller.

    Raises
    ------
    CodedError
        If a joint has no controller.
    """
    columns: dict[Controller, list[int]] = {}
    for column, joint in enumerate(trajectory.joint_names):
        chosen = next((one for one in controllers if joint in one.joints), None)
        if chosen is not None:
            columns.setdefault(chosen, []).append(column)
        elif joint not in passive:
            known = listing([one.name for one in controllers])
            words = f"joint '{joint}' has no controller (parameter controllers, controller_names; known: {known})"
            raise CodedError(MoveItErrorCodes.CONTROL_FAILED, words)
    return [(one, _goal_of(one, trajectory, rows)) for one, rows in columns.items()]


def check_grippers(trajectory: Trajectory, controllers: Sequence[Controller]) -> None:
    """Raise `CodedError` if a gripper would move together with other joints: it moves at a speed of its own."""
    ways = np.ptp(trajectory.positions, axis=0).tolist()
    moved = {joint for joint, way in zip(trajectory.joints, ways, strict=True) if way > _AT_REST}
    for one in controllers:
        if one.kind is not GripperCommand or not moved & set(one.joints):
            continue
        words = f"controller '{one.name}' moves a gripper "
        if moved - set(one.joints):
            words += "at its own speed, so no other joint may move meanwhile"
            raise CodedError(MoveItErrorCodes.CONTROL_FAILED, words)
        ends = trajectory.positions[-1, [trajectory.joints.index(joint) for joint in one.joints if joint in moved]]
        if np.ptp(ends) > _AT_REST:
            words += "to one position, so its joints must not end at different ones"
            raise CodedError(MoveItErrorCodes.CONTROL_FAILED, words)


def _goal_of(controller: Controller, trajectory: JointTrajectory, columns: Sequence[int]) -> object:
    last = trajectory.points[-1]
    if controller.kind is GripperCommand:
        first = min(columns, key=lambda column: controller.joints.index(trajectory.joint_names[column]))
        effort = last.effort[first] if len(last.effort) else controller.max_effort
        return GripperCommand.Goal(command=Gripper(position=last.positions[first], max_effort=effort))
    share = JointTrajectory(header=trajectory.header, joint_names=[trajectory.joint_names[i] for i in columns])
    for point in trajectory.points:
        of_each = {
            name: [getattr(point, name)[i] for i in columns]
            for name in ("positions", "velocities", "accelerations", "effort")
            if len(getattr(point, name))
        }
        share.points.append(JointTrajectoryPoint(time_from_start=point.time_from_start, **of_each))
    return FollowJointTrajectory.Goal(trajectory=share)


def read_trajectory(message: JointTrajectory) -> Trajectory:
    """Return the trajectory in a message; without velocities, joints stop at each point.

    Raises
    ------
    CodedError
        If controllers could not follow it, or would follow it in different ways.
    """
    names, given = list(message.joint_names), {}
    with coded(MoveItErrorCodes.INVALID_MOTION_PLAN, "trajectory"):
        for name in ("positions", "velocities", "accelerations", "effort"):
            rows = [getattr(point, name).tolist() for point in message.points]
            # Controllers differ in how they interpolate between a point with velocities and one without.
            needed = any(rows) or name == "positions"
            for number, row in enumerate(rows):
                if needed and len(row) != len(names) and (row or name != "effort"):
                    raise InputError(f"point {number}: {name}: {len(row)} numbers, expected {len(names)}")
                if not all(map(math.isfinite, row)):
                    raise InputError(f"point {number}: {name}: must be finite")
            if needed:
                given[name] = rows
        if "accelerations" in given and "velocities" not in given:
            raise InputError("accelerations: require velocities")
        given.setdefault("velocities", np.zeros((len(message.points), len(names))))
        given.pop("effort", None)
        stamps = [point.time_from_start for point in message.points]
        return Trajectory(tuple(names), np.array([at.sec + 1e-9 * at.nanosec for at in stamps]), **given)


def lead_from(measured: Mapping[str, float], trajectory: Trajectory) -> Trajectory:
    """Return the motion of some joints of a trajectory that begins at rest at measured positions, rad or m.

    Between the points, joints move as joint_trajectory_controller interpolates.
    """
    columns = [trajectory.joints.index(joint) for joint in measured]

    def rows(name: str, begin: Sequence[float]) -> np.ndarray:
        return np.vstack([begin, getattr(trajectory, name)[:, columns]])

    rest = np.zeros(len(columns))
    return Trajectory(
        tuple(measured),
        np.array([0.0, *np.maximum(trajectory.times, _AT_ONCE)]),
        rows("positions", list(measured.values())),
        rows("velocities", rest),
        accelerations=None if trajectory.accelerations is None else rows("accelerations", rest),
    )
