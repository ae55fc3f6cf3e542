# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Conversion of constraints in requests to goals and conditions of the planner, `superovoid.planning`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from moveit_msgs.msg import (
    Constraints,
    JointConstraint,
    MoveItErrorCodes,
    OrientationConstraint,
    PositionConstraint,
)

from superovoid.planning import GoalRegion, PoseGoal
from superovoid.planning.scene_problem import ranges_without_limits
from superovoid.robot.groups import Group
from superovoid.shapes import Shape
from superovoid_ros.nodes.distance_service.answers.error_codes import CodedError, coded, moveit_code
from superovoid_ros.nodes.distance_service.answers.requested_states import RequestedState
from superovoid_ros.nodes.distance_service.answers.state_validity import (
    count_of,
    evaluate,
    placed_shapes,
    wanted_rotation,
)

_DRAWS = 200  # number of attempts to draw a point within a region
_LEAST = 1e-9  # rad or m, least half-width of a range
_INVALID = MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS
Accept = Callable[[np.ndarray], bool]
Ranges = Mapping[str, tuple[float, float]]


def condition(constraints: Constraints, state: RequestedState, joints: Sequence[str], what: str) -> Accept | None:
    """Return a test whether a state of planned joints satisfies constraints; None if there are none.

    Raises
    ------
    CodedError
        If a constraint cannot be evaluated, which is tested in the state of the request.
    """
    if not count_of(constraints):
        return None
    _, problems = evaluate(constraints, state)
    if problems:
        raise CodedError(moveit_code(problems[0], _INVALID), f"{what}: {problems[0]}")

    def accept(at: np.ndarray) -> bool:
        results, problems = evaluate(constraints, state.with_row(joints, at))
        return not problems and all(result.result for result in results)

    return accept


def windows_of(state: RequestedState, group: Group, goals: Sequence[Constraints] = ()) -> Ranges:
    """Return ranges, around the start and goals, of a group's joints without limits."""
    ends = {joint: [state.positions[joint]] for joint in group.joints}
    for one in (one for goal in goals for one in goal.joint_constraints):
        if one.joint_name in ends and state.robot.joints[one.joint_name].kind != "continuous":
            ends[one.joint_name] += [one.position] if math.isfinite(one.position) else []
    return ranges_without_limits(state.robot, ends)


def joint_ranges(
    constraints: Sequence[JointConstraint],
    state: RequestedState,
    group: Group,
    windows: Ranges,
    path: Ranges | None = None,
) -> tuple[dict[str, tuple[float, float]], dict[str, float]]:
    """Convert joint constraints of planned joints, whose numbers `condition` has checked, to ranges.

    Parameters
    ----------
    constraints
        Joint constraints; those of other joints are left out.
    state, group
        The request.
    windows
        Ranges of joints without limits in the request. A constraint of such a joint selects the nearest turn.
    path
        Ranges of the path constraints, which also limit a goal; None: `constraints` are the path constraints.

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
        name, wanted, below, above = one.joint_name, one.position, one.tolerance_below, one.tolerance_above
        lower, upper = windows.get(name, robot.joint_limits[name])
        if robot.joints[name].kind == "continuous":
            lower, upper = (path or {}).get(name, (lower, upper))
            middle = 0.5 * (lower + upper)
            wanted = middle + math.remainder(wanted - middle, 2.0 * math.pi)
            below, above = min(below, math.pi), min(above, math.pi)
            if path is None:
                # The path constraint is one range around the start, without a choice of turns.
                lower, upper = wanted - below, wanted + above
                if upper - lower >= 2.0 * math.pi:
                    continue
        within = ranges.get(name) or (path or {}).get(name, (lower, upper))
        # As in check_state_validity, a position beyond the joint's limits is moved to the limit.
        low = max(within[0], min(wanted - below, upper))
        high = min(within[1], max(wanted + above, lower))
        if low > high:
            of_path, words = name in (path or {}), f"joint '{name}': no position satisfies all constraints"
            code = MoveItErrorCodes.GOAL_VIOLATES_PATH_CONSTRAINTS if of_path else _INVALID
            raise CodedError(code, f"goal_constraints: {words} and path_constraints" if of_path else words)
        ranges[name] = _wide_enough(low, high, *within)
        preferred[name] = min(max(wanted, low), high)
    return ranges, preferred


def _wide_enough(low: float, high: float, lower: float, upper: float) -> tuple[float, float]:
    """Return a range within limits that is wide enough for planning."""
    middle, half = 0.5 * (low + high), max(0.5 * (high - low), _LEAST)
    low, high = max(lower, middle - half), min(upper, middle + half)
    if low >= high:
        return (lower, lower + _LEAST) if middle <= lower else (upper - _LEAST, upper)
    return low, high


def region_of(
    constraints: Constraints, state: RequestedState, group: Group, windows: Ranges, path: Ranges
) -> GoalRegion:
    """Return the goal region that constraints describe; the other arguments are those of `joint_ranges`.

    Raises
    ------
    CodedError
        If the constraints are empty, contradict each other or cannot be evaluated.
    """
    accept = condition(constraints, state, group.joints, "goal_constraints")
    if accept is None:
        raise CodedError(_INVALID, "goal_constraints: a goal has no constraint")
    ranges, preferred = joint_ranges(constraints.joint_constraints, state, group, windows, path)
    positions = {one.link_name: one for one in constraints.position_constraints}
    orientations = {one.link_name: one for one in constraints.orientation_constraints}
    with coded(_INVALID, "goal_constraints"):
        samplers = [
            _Sampler(state, link, positions.get(link), orientations.get(link)) for link in positions | orientations
        ]
        for sampler in samplers:
            sampler.draw(None)
    return GoalRegion(lambda random: [sampler.draw(random) for sampler in samplers], ranges, preferred, accept)


class _Sampler:
    """Sampler of poses of a link that satisfy a position constraint, an orientation constraint, or both."""

    def __init__(
        self,
        state: RequestedState,
        link: str,
        position: PositionConstraint | None,
        orientation: OrientationConstraint | None,
    ) -> None:
        self._link, self._orientation = link, orientation
        self._now = state.frames.link(link)
        self._regions: list[tuple[np.ndarray, Shape]] = []
        self._offset = np.zeros(3)
        if position is not None:
            offset = position.target_point_offset
            self._offset = np.array([offset.x, offset.y, offset.z])
            self._regions = placed_shapes(position, state.frames)
        if orientation is not None:
            self._header_from_wanted, self._wanted = wanted_rotation(orientation, state.frames)

    def draw(self, random: np.random.Generator | None) -> PoseGoal:
        """Return a random pose, or its constrained part; for `random` None the middle of the region."""
        pose, turned = self._now.copy(), self._orientation is not None
        if turned:
            pose[:3, :3] = self._rotation(random)
        elif self._offset.any() and random is not None:
            from scipy.spatial.transform import Rotation  # imported here, since it is slow

            pose[:3, :3] = Rotation.random(random_state=random).as_matrix()
        if not self._regions:
            return PoseGoal(self._link, pose, "orientation")
        pose[:3, 3] = self._point(random) - pose[:3, :3] @ self._offset
        return PoseGoal(self._link, pose, "pose" if turned or self._offset.any() else "position")

    def _rotation(self, random: np.random.Generator | None) -> np.ndarray:
        if random is None:
            return self._wanted
        from scipy.spatial.transform import Rotation  # imported here, since it is slow

        one = self._orientation
        tolerances = np.abs([getattr(one, f"absolute_{axis}_axis_tolerance") for axis in "xyz"])
        angles = random.uniform(-1.0, 1.0, 3) * np.minimum(tolerances, math.pi)
        if one.parameterization == OrientationConstraint.ROTATION_VECTOR:
            return self._wanted @ Rotation.from_rotvec(self._header_from_wanted.T @ angles).as_matrix()
        # As in the test of the constraint: about the rotating axes x, y, z.
        return self._wanted @ Rotation.from_euler("XYZ", angles).as_matrix()

    def _point(self, random: np.random.Generator | None) -> np.ndarray:
        pose, shape = self._regions[0 if random is None else int(random.integers(len(self._regions)))]
        low, high = shape.aabb(np.eye(3))
        for _ in range(0 if random is None else _DRAWS):
            point = random.uniform(low, high)
            if shape.contains(point):
                return pose[:3, :3] @ point + pose[:3, 3]
        return pose[:3, 3]
