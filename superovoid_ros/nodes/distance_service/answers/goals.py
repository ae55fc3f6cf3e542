# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Conversion of constraints in requests to goals and conditions of the planner, `superovoid.planning`."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from moveit_msgs.msg import (
    Constraints,
    JointConstraint,
    MoveItErrorCodes,
    OrientationConstraint,
    PositionConstraint,
    RobotState,
)

from superovoid.planning import GoalRegion, GroupPlanner, PoseGoal
from superovoid.robot import Robot
from superovoid.robot.groups import Group
from superovoid.shapes import Shape
from superovoid_ros.nodes.common.mistakes import InputError, listing, refusals
from superovoid_ros.nodes.distance_service.answers.error_codes import CodedError, moveit_code
from superovoid_ros.nodes.distance_service.answers.requested_states import RequestedState
from superovoid_ros.nodes.distance_service.answers.state_validity import (
    count_of,
    evaluate,
    placed_shapes,
    wanted_rotation,
)

_DRAWS = 200  # number of attempts to draw a point within a region
_LEAST = 1e-9  # rad or m, least half-width of a range
Accept = Callable[[np.ndarray], bool]
Ranges = Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class GroupRequest:
    """Common fields of requests about a group."""

    group: Group
    state: RequestedState
    start: RobotState
    """The message from which `state` was read."""
    frame_ids: Sequence[str]
    """Frames that other fields of the request name."""
    stop: threading.Event
    """Ends the search when set."""

    @property
    def robot(self) -> Robot:
        """Return the robot."""
        return self.state.planning.robot

    def planner(self) -> GroupPlanner:
        """Return a planner for the group, starting from the state."""
        state = self.state
        return GroupPlanner(state.planning, self.group.name, positions=state.positions, base_poses=state.base_poses)

    def condition(self, constraints: Constraints, what: str) -> Accept | None:
        """Return the test of constraints as the function `condition` does."""
        return condition(constraints, self.state, self.group.joints, self.stop, what)

    def windows(self, goals: Iterable[Constraints] = ()) -> Ranges:
        """Return `windows_of` the start and of goals for joints without limits."""
        ends = {joint: [self.state.positions[joint]] for joint in self.group.joints}
        for one in (one for goal in goals for one in goal.joint_constraints):
            if one.joint_name in ends and self.robot.joints[one.joint_name].kind != "continuous":
                ends[one.joint_name] += [one.position] if math.isfinite(one.position) else []
        return windows_of(self.robot, ends)


def condition(
    constraints: Constraints, request_state: RequestedState, joints: Sequence[str], stop: threading.Event, what: str
) -> Accept | None:
    """Return a test whether a state of planned joints satisfies constraints; None if there are none.

    Raises
    ------
    CodedError
        If a constraint cannot be evaluated, which is tested in the state of the request.
    """
    if not count_of(constraints):
        return None
    _, problems = evaluate(constraints, request_state, stop)
    if problems:
        code = moveit_code(problems[0], MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS)
        raise CodedError(code, f"{what}: {problems[0]}")

    def accept(state: np.ndarray) -> bool:
        at = request_state.with_positions(dict(zip(joints, state.tolist(), strict=True)))
        results, problems = evaluate(constraints, at, stop)
        return not problems and all(result.result for result in results)

    return accept


@dataclass(frozen=True)
class JointGoals:
    """Joint constraints, converted to ranges."""

    ranges: Ranges
    """Ranges of planned joints, rad or m."""
    preferred: Mapping[str, float]
    """Preferred positions within the ranges, rad or m."""
    others: Sequence[JointConstraint]
    """Constraints of joints that are not planned."""


def windows_of(robot: Robot, ends: Mapping[str, Sequence[float]]) -> Ranges:
    """Return ranges of joints without limits: half a turn beyond the given positions of each joint, rad or m."""
    windows = {}
    for joint, positions in ends.items():
        lower, upper = robot.joint_limits[joint]
        if not (math.isfinite(lower) and math.isfinite(upper)):
            windows[joint] = max(lower, min(positions) - math.pi), min(upper, max(positions) + math.pi)
    return windows


def joint_goals(
    constraints: Sequence[JointConstraint], group_request: GroupRequest, windows: Ranges, path: Ranges | None = None
) -> JointGoals:
    """Convert joint constraints to ranges; `condition` has already checked their numbers.

    Parameters
    ----------
    constraints
        Joint constraints.
    group_request
        The request.
    windows
        Ranges of joints without limits in the request. A constraint of such a joint selects the nearest turn.
    path
        Ranges of the path constraints, which also limit a goal; None: `constraints` are the path constraints.

    Raises
    ------
    CodedError
        If no position satisfies all constraints.
    """
    robot = group_request.robot
    ranges: dict[str, tuple[float, float]] = {}
    preferred: dict[str, float] = {}
    others = []
    bounds = {**windows, **(path or {})}
    for one in constraints:
        name = one.joint_name
        if name not in group_request.group.joints:
            others.append(one)
            continue
        wanted, below, above = one.position, one.tolerance_below, one.tolerance_above
        lower, upper = windows.get(name, robot.joint_limits[name])
        if robot.joints[name].kind == "continuous":
            lower, upper = bounds[name]
            middle = 0.5 * (lower + upper)
            wanted = middle + math.remainder(wanted - middle, 2.0 * math.pi)
            below, above = min(below, math.pi), min(above, math.pi)
            if path is None:
                # The path constraint is one range around the start, without a choice of turns.
                lower, upper = wanted - below, wanted + above
                if upper - lower >= 2.0 * math.pi:
                    continue
        low, high = ranges.get(name, (lower, upper))
        # As in check_state_validity, a position beyond the joint's limits is moved to the limit.
        low, high = max(low, min(wanted - below, upper)), min(high, max(wanted + above, lower))
        if low > high:
            raise CodedError(
                MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS, f"joint '{name}': no position satisfies all constraints"
            )
        ranges[name] = _wide_enough(low, high, lower, upper)
        preferred[name] = min(max(wanted, low), high)
    for name in ranges.keys() & (path or {}).keys():
        low, high = max(ranges[name][0], path[name][0]), min(ranges[name][1], path[name][1])
        if low > high:
            raise CodedError(
                MoveItErrorCodes.GOAL_VIOLATES_PATH_CONSTRAINTS,
                f"goal_constraints: joint '{name}': no position satisfies path_constraints as well",
            )
        ranges[name] = _wide_enough(low, high, *path[name])
        preferred[name] = min(max(preferred[name], low), high)
    return JointGoals(ranges, preferred, others)


def _wide_enough(low: float, high: float, lower: float, upper: float) -> tuple[float, float]:
    """Return a range within limits that is wide enough for planning."""
    middle, half = 0.5 * (low + high), max(0.5 * (high - low), _LEAST)
    low, high = max(lower, middle - half), min(upper, middle + half)
    if low >= high:
        return (lower, lower + _LEAST) if middle <= lower else (upper - _LEAST, upper)
    return low, high


def region_of(constraints: Constraints, group_request: GroupRequest, windows: Ranges, path: Ranges) -> GoalRegion:
    """Return the goal region that constraints describe; `windows` and `path` as for `joint_goals`.

    Raises
    ------
    CodedError
        If the constraints are empty, contradict each other or cannot be evaluated.
    """
    if not count_of(constraints):
        raise CodedError(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS, "goal_constraints: a goal has no constraint")
    accept = group_request.condition(constraints, "goal_constraints")
    joints = joint_goals(constraints.joint_constraints, group_request, windows, path)
    places: dict[str, tuple[PositionConstraint | None, OrientationConstraint | None]] = {}
    for position in constraints.position_constraints:
        before = places.get(position.link_name, (None, None))
        places[position.link_name] = position, before[1]
    for orientation in constraints.orientation_constraints:
        before = places.get(orientation.link_name, (None, None))
        places[orientation.link_name] = before[0], orientation
    with unreadable_goals("goal_constraints"):
        samplers = [_Sampler(group_request.state, link, *both) for link, both in places.items()]
        for sampler in samplers:
            sampler.draw(None)

    def draw(random: np.random.Generator | None) -> list[PoseGoal]:
        return [sampler.draw(random) for sampler in samplers]

    return GoalRegion(draw, joints.ranges, joints.preferred, accept)


@contextmanager
def unreadable_goals(what: str) -> Iterator[None]:
    """Convert errors about a goal, including those of the library, to `CodedError`."""
    try:
        with refusals(what):
            yield
    except CodedError:
        raise
    except InputError as error:
        raise CodedError(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS, str(error)) from error


class _Sampler:
    """Sampler of poses of a link that satisfy a position constraint, an orientation constraint, or both."""

    def __init__(
        self,
        request_state: RequestedState,
        link: str,
        position: PositionConstraint | None,
        orientation: OrientationConstraint | None,
    ) -> None:
        self._link, self._orientation = link, orientation
        self._now = request_state.frames.link(link)
        self._regions: list[tuple[np.ndarray, Shape]] = []
        self._offset = np.zeros(3)
        if position is not None:
            offset = position.target_point_offset
            self._offset = np.array([offset.x, offset.y, offset.z])
            self._regions = placed_shapes(position, request_state.frames)
        if orientation is not None:
            self._header_from_wanted, self._wanted = wanted_rotation(orientation, request_state.frames)

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
        tolerances = np.abs(
            [one.absolute_x_axis_tolerance, one.absolute_y_axis_tolerance, one.absolute_z_axis_tolerance]
        )
        angles = random.uniform(-1.0, 1.0, 3) * np.minimum(tolerances, math.pi)
        if one.parameterization == OrientationConstraint.ROTATION_VECTOR:
            return self._wanted @ Rotation.from_rotvec(self._header_from_wanted.T @ angles).as_matrix()
        # As in the test of the constraint: about the rotating axes x, y, z.
        return self._wanted @ Rotation.from_euler("XYZ", angles).as_matrix()

    def _point(self, random: np.random.Generator | None) -> np.ndarray:
        pose, shape = self._regions[0 if random is None else int(random.integers(len(self._regions)))]
        if random is None:
            return pose[:3, 3]
        low, high = shape.aabb(np.eye(3))
        for _ in range(_DRAWS):
            point = random.uniform(low, high)
            if shape.contains(point):
                return pose[:3, :3] @ point + pose[:3, 3]
        return pose[:3, 3]


def group_of(robot: Robot, name: str) -> Group:
    """Return the group of a request.

    Raises
    ------
    CodedError
        If the group does not exist, none of its joints can be planned, or joints that move its links cannot.
    """
    invalid = MoveItErrorCodes.INVALID_GROUP_NAME
    if name not in robot.groups:
        raise CodedError(
            invalid, f"group_name: '{name}' is not a group of '{robot.name}' (groups: {listing(robot.groups)})"
        )
    group = robot.group(name)
    if not group.joints:
        raise CodedError(invalid, f"group_name: group '{name}' has no joint that can be planned")
    if group.outside:
        raise CodedError(
            invalid,
            f"group_name: group '{name}' has joint '{group.outside[0]}': floating and planar joints cannot be planned",
        )
    return group


def link_of(request_state: RequestedState, name: str, group: Group | None = None) -> str:
    """Return the link that a request names, or the tip of a group if the name is empty; raise `CodedError` if none."""
    links, words = request_state.planning.robot.links, ""
    if not name and group is not None:
        name = group.tip or ""
        words = "" if name else f"group '{group.name}' has no tip: the request must name a link"
    if name not in links:
        words = words or f"link '{name}' does not exist; links: {listing(links)}"
        raise CodedError(MoveItErrorCodes.INVALID_LINK_NAME, words)
    return name


def frame_of(request_state: RequestedState, frame: str, what: str) -> np.ndarray:
    """Return root_from_frame; raise `CodedError` for an unknown frame."""
    try:
        return request_state.frames.lookup(frame, what)
    except InputError as error:
        raise CodedError(MoveItErrorCodes.FRAME_TRANSFORM_FAILURE, str(error)) from error
