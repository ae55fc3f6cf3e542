# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Services `plan_kinematic_path` and `compute_cartesian_path`, with the names and types of move_group's.

    request -> state, group -> [thread: conditions, goals -> plan, times] -> proved in the present world -> response
               searches.py      constraints.py                               searches.py

A request that cannot be read or evaluated leads to an error with code and message, never to a plan. A Cartesian path is
that of `superovoid.planning.straight_path`: it ends before the first step that has no solution, makes contact, violates
constraints or jumps. `motions.py` executes plans.
"""

from __future__ import annotations

import importlib
import math
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType

import numpy as np
from moveit_msgs.msg import (
    Constraints,
    JointConstraint,
    MotionPlanRequest,
    MotionPlanResponse,
    MoveItErrorCodes,
    OrientationConstraint,
    PositionConstraint,
    RobotTrajectory,
)
from moveit_msgs.srv import GetCartesianPath, GetMotionPlan
from rclpy.duration import Duration
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from superovoid.planning import GoalRegion, JumpLimits, PoseRegion, SceneValidity, Search, motion_limits, straight_path
from superovoid.planning.timing import MotionLimits, Trajectory, time_path
from superovoid.planning.validity import NoContact
from superovoid.robot.groups import Group
from superovoid_ros.nodes.common.conversions import from_pose
from superovoid_ros.nodes.common.mistakes import InputError, refusals
from superovoid_ros.nodes.common.parameters import text
from superovoid_ros.nodes.distance_service.answers.constraints import (
    condition,
    count_of,
    frame_ids_of,
    placed_shapes,
    wanted_positions,
    wanted_rotation,
)
from superovoid_ros.nodes.distance_service.answers.controllers import read_mapping
from superovoid_ros.nodes.distance_service.answers.error_codes import CodedError, coded
from superovoid_ros.nodes.distance_service.answers.requested_states import RequestedState
from superovoid_ros.nodes.distance_service.answers.searches import (
    ProvedMotion,
    Ranges,
    Searches,
    link_of,
    planner_of,
    state_message,
)
from superovoid_ros.nodes.distance_service.jobs import Kind

DEFAULT_TIME, LONGEST_TIME = 1.0, 600.0  # s, planning time
LONGEST_MOTION = 1e6  # s
LONGEST_PATH = 60.0
"""Time limit, s, at which the Cartesian path found so far is returned."""
MOST_ATTEMPTS, MOST_GOALS, MOST_WAYPOINTS = 100, 100, 1000
PIPELINES = ("", "ompl", "move_group")
"""Accepted pipelines; others promise different kinds of motions."""
_LEAST = 1e-9  # rad or m, least half-width of a range
_INVALID = MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS


def read_joint_limits(path: str) -> dict[str, Mapping[str, object]]:
    """Return the limits in a joint_limits.yaml of MoveIt, none if the path is empty; raise `InputError` if invalid."""
    limits = read_mapping("joint_limits", path, "joint_limits")
    if not all(isinstance(one, Mapping) for one in limits.values()):
        raise InputError(f"joint_limits = {path}: has no mapping 'joint_limits' of joints to their limits")
    return {name: dict(one) for name, one in limits.items()}


class PlanningServices(Searches):
    """Part that plans timed motions of groups, freely or with a link on straight lines."""

    parameters = (
        text(
            "joint_limits",
            "",
            "Path of a joint_limits.yaml in MoveIt's format, for the times of plans; empty: velocities of the URDF, "
            "accelerations of 1 rad/s^2 or m/s^2",
            check=lambda path: read_joint_limits(str(path)),
        ),
    )

    def open(self) -> None:
        """Open the services."""
        self.serve(GetMotionPlan, "plan_kinematic_path", self._plan)
        self.serve(GetCartesianPath, "compute_cartesian_path", self._follow)

    async def _plan(self, request: GetMotionPlan.Request, response: GetMotionPlan.Response) -> None:
        response.motion_plan_response, _ = await self.plan(request.motion_plan_request, self.jobs.stop)

    async def plan(self, request: MotionPlanRequest, stop: threading.Event) -> tuple[MotionPlanResponse, ProvedMotion]:
        """Plan the motion of a request; return the response and the motion. `stop` ends the search."""
        answer, began = MotionPlanResponse(group_name=request.group_name), time.monotonic()
        stamp = self.node.get_clock().now().to_msg()
        _check(request)
        frame_ids = frame_ids_of(request.path_constraints, *request.goal_constraints)
        state, group = self.request_of(request.group_name, request.start_state, frame_ids, stop)
        limits = limits_of(state, group, str(self.parameter("joint_limits")), request)
        motion, answer.error_code = await self.find(Kind.PLAN, lambda: _plan_motion(request, state, group, limits))
        answer.trajectory_start = state_message(state, stamp)
        answer.trajectory = trajectory_message(motion.trajectory, state.frame)
        answer.planning_time = time.monotonic() - began
        return answer, motion

    async def _follow(self, request: GetCartesianPath.Request, response: GetCartesianPath.Response) -> None:
        stamp, frame = self.node.get_clock().now().to_msg(), request.header.frame_id
        constraints = request.path_constraints
        state, group = self.request_of(request.group_name, request.start_state, [frame, *frame_ids_of(constraints)])
        link = link_of(state, request.link_name, group)
        if request.max_cartesian_speed > 0.0:
            raise CodedError(MoveItErrorCodes.FAILURE, "max_cartesian_speed: is not supported, must be 0")
        if not 0 < len(request.waypoints) <= MOST_WAYPOINTS:
            words = f"waypoints: {len(request.waypoints)}, expected 1 to {MOST_WAYPOINTS}"
            raise CodedError(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS, words)
        root_from_frame = state.frames.lookup(frame, "header")
        with coded(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS, "waypoints"):
            poses = [root_from_frame @ from_pose(one, f"waypoints[{i}]") for i, one in enumerate(request.waypoints)]
        limits = limits_of(state, group, str(self.parameter("joint_limits")), request)
        fraction = 0.0

        def work() -> ProvedMotion:
            nonlocal fraction
            search = Search(starts=1, until=time.monotonic() + LONGEST_PATH, stop=state.stop.is_set)
            accept = condition(constraints, state, group.joints, "path_constraints")
            with coded(MoveItErrorCodes.FAILURE, "request"):
                jumps = JumpLimits(
                    request.jump_threshold, request.prismatic_jump_threshold, request.revolute_jump_threshold
                )
                problem = planner_of(state, group).problem({})
                validity = SceneValidity(problem) if request.avoid_collisions else None
                options = {"jumps": jumps, "accept": accept, "search": search}
                states, fraction = straight_path(problem, validity, link, poses, request.max_step, **options)
                # A path with one state needs no times.
                timed = states if len(states) > 1 else np.repeat(states, 2, axis=0)
                trajectory = time_path(problem, validity or NoContact(), timed, limits, accept=accept)
            asked = {"conditions": constraints, "targets": [(link, frame)], "avoids_contact": request.avoid_collisions}
            return ProvedMotion(trajectory, problem.ranges, state, group.name, **asked)

        motion, response.error_code = await self.find(Kind.PLAN, work)
        response.start_state = state_message(state, stamp)
        response.solution = trajectory_message(motion.trajectory, state.frame)
        response.fraction = fraction


def _check(request: MotionPlanRequest) -> None:
    """Raise `CodedError` for a request that is invalid or not supported."""
    failure, invalid = MoveItErrorCodes.FAILURE, MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS
    goals, pipeline = len(request.goal_constraints), request.pipeline_id
    if pipeline not in PIPELINES:
        raise CodedError(failure, f"pipeline_id = '{pipeline}': is not available; known: {', '.join(PIPELINES[1:])}")
    if len(request.trajectory_constraints.constraints):
        raise CodedError(failure, "trajectory_constraints: are not supported, must be empty")
    if request.max_cartesian_speed > 0.0:
        raise CodedError(failure, "max_cartesian_speed: is not supported, must be 0")
    if not 0 < goals <= MOST_GOALS:
        raise CodedError(invalid, f"goal_constraints: {goals} goals, expected 1 to {MOST_GOALS}")
    count_of(*request.goal_constraints, request.path_constraints)
    if not math.isfinite(request.allowed_planning_time):
        raise CodedError(failure, f"allowed_planning_time = {request.allowed_planning_time}: must be finite")


def _plan_motion(request: MotionPlanRequest, state: RequestedState, group: Group, limits: MotionLimits) -> ProvedMotion:
    """Plan as many attempts as requested while time remains; return the fastest trajectory."""
    for module in ("ompl", "toppra"):
        with suppress(ModuleNotFoundError):  # the planner says how to install what it needs
            importlib.import_module(module)  # takes seconds the first time, which is not part of the search
    allowed, path = request.allowed_planning_time, request.path_constraints
    until = time.monotonic() + min(allowed if allowed > 0.0 else DEFAULT_TIME, LONGEST_TIME)
    condition(path, state, group.joints, "path_constraints")
    along, _ = joint_ranges(path.joint_constraints, state, group)
    # The planner keeps the joints of the group within ranges; it tests the rest state by state.
    rest = Constraints(
        joint_constraints=[one for one in path.joint_constraints if one.joint_name not in group.joints],
        position_constraints=path.position_constraints,
        orientation_constraints=path.orientation_constraints,
        visibility_constraints=path.visibility_constraints,
    )
    accept = condition(rest, state, group.joints, "path_constraints")
    goals = [region_of(one, state, group, along) for one in request.goal_constraints]
    with refusals("motion_plan_request"):
        planner = planner_of(state, group)
        ranges = planner.problem({}, along).ranges  # with those of joints without limits
        trajectory = planner.plan_trajectory(
            {},
            goals,
            limits,
            attempts=min(max(1, request.num_planning_attempts), MOST_ATTEMPTS),
            deadline=max(until - time.monotonic(), 1e-3),
            ranges=ranges,
            accept=accept,
            stop=state.stop.is_set,
        )
    if not trajectory.duration <= LONGEST_MOTION:
        words = f"the motion would take {trajectory.duration:.3g} s, must be at most {LONGEST_MOTION:g} s"
        raise CodedError(MoveItErrorCodes.FAILURE, words)
    return ProvedMotion(trajectory, ranges, state, group.name, conditions=rest, goals=request.goal_constraints)


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
            if min(one.tolerance_below, math.pi) + min(one.tolerance_above, math.pi) >= 2.0 * math.pi:
                continue
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
