# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Controllers of a moveit_controllers.yaml, and what each of them does of a trajectory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from control_msgs.action import FollowJointTrajectory, GripperCommand
from control_msgs.msg import GripperCommand as Gripper
from moveit_msgs.msg import MoveItErrorCodes
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from superovoid_ros.nodes.common.mistakes import InputError, listing
from superovoid_ros.nodes.distance_service.answers.error_codes import CodedError
from superovoid_ros.nodes.distance_service.answers.motion_plans import read_mapping

MANAGER = "moveit_simple_controller_manager"
KINDS = {"FollowJointTrajectory": FollowJointTrajectory, "GripperCommand": GripperCommand}


@dataclass(frozen=True)
class Controller:
    """A controller, as moveit_simple_controller_manager describes it."""

    name: str
    kind: type
    """Of its action."""
    action: str
    joints: tuple[str, ...]
    is_default: bool


def read_controllers(path: str) -> tuple[Controller, ...]:
    """Return the controllers of a file, default ones first; none for no path.

    Raises
    ------
    InputError
        If the file cannot be read or describes a controller incompletely.
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
        found.append(Controller(name, kind, action, tuple(map(str, joints)), bool(given.get("default"))))
    return tuple(sorted(found, key=lambda one: not one.is_default))


def shares_of(
    trajectory: JointTrajectory, controllers: Sequence[Controller], passive: Collection[str]
) -> list[tuple[Controller, object]]:
    """Return which controllers follow a trajectory, each with its goal; every joint has one controller.

    Parameters
    ----------
    trajectory
    controllers
        Those to choose from, in the order in which they are preferred.
    passive
        Joints that follow others, which need no controller.

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
            words = f"joint '{joint}' has no controller (parameter controllers, controller_names; those: {known})"
            raise CodedError(MoveItErrorCodes.CONTROL_FAILED, words)
    return [(one, _goal_of(one, trajectory, rows)) for one, rows in columns.items()]


def _goal_of(controller: Controller, trajectory: JointTrajectory, columns: Sequence[int]) -> object:
    last = trajectory.points[-1]
    if controller.kind is GripperCommand:
        effort = last.effort[columns[0]] if len(last.effort) else 0.0
        return GripperCommand.Goal(command=Gripper(position=last.positions[columns[0]], max_effort=effort))
    share = JointTrajectory(header=trajectory.header, joint_names=[trajectory.joint_names[i] for i in columns])
    for point in trajectory.points:
        of_each = {
            name: [getattr(point, name)[i] for i in columns]
            for name in ("positions", "velocities", "accelerations", "effort")
            if len(getattr(point, name))
        }
        share.points.append(JointTrajectoryPoint(time_from_start=point.time_from_start, **of_each))
    return FollowJointTrajectory.Goal(trajectory=share)


def check_trajectory(trajectory: JointTrajectory) -> None:
    """Raise `CodedError` for a trajectory that no controller can follow."""
    count = len(trajectory.joint_names)
    for number, point in enumerate(trajectory.points):
        lengths = {name: len(getattr(point, name)) for name in ("velocities", "accelerations", "effort")}
        wrong = [name for name, length in lengths.items() if length not in (0, count)]
        if len(point.positions) != count or wrong:
            words = f"trajectory: point {number}: {'positions' if not wrong else wrong[0]}: must be {count}, as joints"
            raise CodedError(MoveItErrorCodes.INVALID_MOTION_PLAN, words)
