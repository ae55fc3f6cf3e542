# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Goals, limits and links in requests for motions as those of `superovoid.planning`, and motions as messages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from geometry_msgs.msg import Pose
from moveit_msgs.msg import (
    Constraints,
    JointConstraint,
    MotionPlanRequest,
    MoveItErrorCodes,
    OrientationConstraint,
    PositionConstraint,
    RobotTrajectory,
)
from moveit_msgs.srv import GetCartesianPath
from rclpy.duration import Duration
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from superovoid.planning import GoalRegion, PoseGoal, PoseRegion, motion_limits
from superovoid.planning.timing import MotionLimits, Trajectory
from superovoid.robot.groups import Group
from superovoid_ros.nodes.common.conversions import from_pose
from superovoid_ros.nodes.common.mistakes import InputError, listing, refusals
from superovoid_ros.nodes.distance_service.answers.constraints import (
    condition,
    placed_shapes,
    wanted_positions,
    wanted_rotation,
)
from superovoid_ros.nodes.distance_service.answers.controllers import read_mapping
from superovoid_ros.nodes.distance_service.answers.error_codes import CodedError, coded
from superovoid_ros.nodes.distance_service.answers.requested_states import RequestedState

MOST_POSES = 50  # for inverse kinematics; with more, a single start takes longer than most timeouts
_LEAST = 1e-9  # rad or m, least half-width of a range
_INVALID = MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS
Ranges = Mapping[str, tuple[float, float]]


def read_joint_limits(path: str) -> dict[str, Mapping[str, object]]:
    """Return the limits in a joint_limits.yaml of MoveIt, none if the path is empty; raise `InputError` if invalid."""
    limits = read_mapping("joint_limits", path, "joint_limits")
    if not all(isinstance(one, Mapping) for one in limits.values()):
        raise InputError(f"joint_limits = {path}: has no mapping 'joint_limits' of joints to their limits")
    return {name: dict(one) for name, one in limits.items()}


def link_of(state: RequestedState, name: str, group: Group | None = None) -> str:
    """Return the link that a request names, or the tip of a group if the name is empty; raise `CodedError` if none."""
    links, words = state.robot.links, ""
    if not name and group is not None:
        name = group.tip or ""
        words = "" if name else f"group '{group.name}' has no tip: the request must name a link"
    if name not in links:
        words = words or f"link '{name}' does not exist; links: {listing(links)}"
        raise CodedError(MoveItErrorCodes.INVALID_LINK_NAME, words)
    return name


def poses_in(
    state: RequestedState, frames: Sequence[str], poses: Sequence[Pose], links: Sequence[str], most: int = MOST_POSES
) -> list[PoseGoal]:
    """Return the poses in a request, each with its frame and link; raise `CodedError` if there are none or too many."""
    if not 0 < len(poses) <= most:
        raise CodedError(_INVALID, f"{len(poses)} poses, expected 1 to {most}")
    goals = []
    for number, (frame, pose, link) in enumerate(zip(frames, poses, links, strict=True)):
        root_from_frame = state.frames.lookup(frame, "pose")
        with coded(_INVALID):
            goals.append(PoseGoal(link, root_from_frame @ from_pose(pose, f"pose {number}")))
    return goals


def limits_of(
    state: RequestedState, group: Group, path: str, request: MotionPlanRequest | GetCartesianPath.Request
) -> MotionLimits:
    """Return the limits of a group's joints from a joint_limits.yaml, scaled by the request's factors.

    As in MoveIt, an invalid factor counts as 1.
    """
    factors = request.max_velocity_scaling_factor, request.max_acceleration_scaling_factor
    velocity, acceleration = (factor if 0.0 < factor <= 1.0 else 1.0 for factor in factors)
    limits = read_joint_limits(path)
    with refusals("joint_limits"):
        return motion_limits(
            state.robot, group.joints, limits, velocity_scale=velocity, acceleration_scale=acceleration
        )


def trajectory_message(trajectory: Trajectory, frame: str) -> RobotTrajectory:
    """Return a trajectory as a message without stamp, so that it starts when it is executed."""
    message = JointTrajectory(joint_names=list(trajectory.joints))
    message.header.frame_id = frame
    rows = (each.tolist() for each in (trajectory.times, trajectory.positions, trajectory.velocities))
    for at, positions, velocities in zip(*rows, strict=True):
        point = JointTrajectoryPoint(positions=positions, velocities=velocities)
        point.time_from_start = Duration(nanoseconds=round(1e9 * at)).to_msg()
        message.points.append(point)
    return RobotTrajectory(joint_trajectory=message)


def joint_ranges(
    constraints: Sequence[JointConstraint], state: RequestedState, group: Group, path: Ranges = MappingProxyType({})
) -> tuple[dict[str, tuple[float, float]], dict[str, float]]:
    """Convert joint constraints of planned joints, whose numbers `condition` has checked, to ranges.

    Parameters
    ----------
    constraints
        Joint constraints; those of other joints are left out.
    state, group
        The request.
    path
        Ranges along the path. A constraint of a continuous joint means the turn nearest to the middle of its range, or
        to its position if it has none.

    Returns
    -------
    ranges, preferred
        Range of each constrained joint, and the preferred position in it, rad or m.

    Raises
    ------
    CodedError
        If no position satisfies all constraints.
    """
    robot, ranges, preferred = state.robot, {}, {}
    for one in (one for one in constraints if one.joint_name in group.joints):
        name = one.joint_name
        before = ranges.get(name, robot.joint_limits[name])
        low, wanted, high = wanted_positions(
            one, robot.joints[name], float(np.mean(path.get(name, state.positions[name])))
        )
        if robot.joints[name].kind == "continuous":
            low, high = max(low, wanted - math.pi), min(high, wanted + math.pi)
        low, high = max(before[0], low), min(before[1], high)
        if low > high:
            raise CodedError(_INVALID, f"joint '{name}': no position satisfies all constraints")
        ranges[name] = _wide_enough(low, high, *before)
        preferred[name] = min(max(wanted, low), high)
    return ranges, preferred


def _wide_enough(low: float, high: float, lower: float, upper: float) -> tuple[float, float]:
    """Return a range within limits that is wide enough for planning."""
    middle, half = 0.5 * (low + high), max(0.5 * (high - low), _LEAST)
    low, high = max(lower, middle - half), min(upper, middle + half)
    if low >= high:
        return (lower, lower + _LEAST) if middle <= lower else (upper - _LEAST, upper)
    return low, high


def region_of(constraints: Constraints, state: RequestedState, group: Group, path: Ranges) -> GoalRegion:
    """Return the goal region that constraints describe; the other arguments are those of `joint_ranges`.

    Raises
    ------
    CodedError
        If the constraints are empty, contradict each other or cannot be evaluated.
    """
    accept = condition(constraints, state, group.joints, "goal_constraints")
    if accept is None:
        raise CodedError(_INVALID, "goal_constraints: a goal has no constraint")
    ranges, preferred = joint_ranges(constraints.joint_constraints, state, group, path)
    positions = {one.link_name: one for one in constraints.position_constraints}
    orientations = {one.link_name: one for one in constraints.orientation_constraints}
    with coded(_INVALID, "goal_constraints"):
        poses = [
            _pose_region(state, link, positions.get(link), orientations.get(link)) for link in positions | orientations
        ]
    return GoalRegion(poses, ranges, preferred, accept)


def _pose_region(
    state: RequestedState, link: str, position: PositionConstraint | None, orientation: OrientationConstraint | None
) -> PoseRegion:
    rotation, tolerances, axes, shapes, point = state.frames.link(link)[:3, :3], None, None, [], np.zeros(3)
    if orientation is not None:
        header_from_wanted, rotation = wanted_rotation(orientation, state.frames)
        tolerances = np.abs([getattr(orientation, f"absolute_{axis}_axis_tolerance") for axis in "xyz"])
        if orientation.parameterization == OrientationConstraint.ROTATION_VECTOR:
            axes = header_from_wanted.T
    if position is not None:
        offset, shapes = position.target_point_offset, placed_shapes(position, state.frames)
        point = np.array([offset.x, offset.y, offset.z])
    region = PoseRegion(link, rotation, shapes, point, tolerances, axes)
    region.draw(None)  # refuses poses that are too far away
    return region
