# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Conversion of constraints in requests to goals and conditions of the planner, `superovoid.planning`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from moveit_msgs.msg import (
    Constraints,
    JointConstraint,
    MoveItErrorCodes,
    OrientationConstraint,
    PositionConstraint,
)

from superovoid.planning import GoalRegion, PoseRegion
from superovoid.robot.groups import Group
from superovoid_ros.nodes.distance_service.answers.constraints import (
    condition,
    placed_shapes,
    wanted_positions,
    wanted_rotation,
)
from superovoid_ros.nodes.distance_service.answers.error_codes import CodedError, coded
from superovoid_ros.nodes.distance_service.answers.requested_states import RequestedState

_LEAST = 1e-9  # rad or m, least half-width of a range
_INVALID = MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS
Ranges = Mapping[str, tuple[float, float]]


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
            if high - low >= 2.0 * math.pi:
                continue
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
