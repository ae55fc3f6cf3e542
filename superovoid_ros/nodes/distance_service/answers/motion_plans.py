# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Service `plan_kinematic_path`, with the name and type of move_group's; its motions are proved.

    request -> state, group -> [thread: conditions, goals -> plan, times] -> confirmed in the present world -> response
               searches.py      constraints.py, goals.py                     searches.py

A request that cannot be read or evaluated leads to an error with code and message, never to a plan. `motions.py`
executes plans.
"""

from __future__ import annotations

import importlib
import math
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
from moveit_msgs.msg import (
    Constraints,
    MotionPlanRequest,
    MotionPlanResponse,
    MoveItErrorCodes,
    RobotTrajectory,
)
from moveit_msgs.srv import GetCartesianPath, GetMotionPlan
from rclpy.duration import Duration
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from superovoid.planning import SceneValidity, motion_limits
from superovoid.planning.first_path import ACCEPT_SPACING
from superovoid.planning.scene_problem import SceneProblem, ranges_without_limits
from superovoid.planning.timing import MotionLimits, Trajectory, check_trajectory, states_along
from superovoid.robot.groups import Group
from superovoid_ros.nodes.common.mistakes import InputError, refusals
from superovoid_ros.nodes.common.parameters import text
from superovoid_ros.nodes.distance_service.answers.constraints import are_satisfied, condition, count_of, frame_ids_of
from superovoid_ros.nodes.distance_service.answers.controllers import lead_from, read_mapping
from superovoid_ros.nodes.distance_service.answers.error_codes import CodedError, success
from superovoid_ros.nodes.distance_service.answers.goals import (
    Ranges,
    joint_ranges,
    region_of,
)
from superovoid_ros.nodes.distance_service.answers.requested_states import RequestedState
from superovoid_ros.nodes.distance_service.answers.searches import Searches, planner_of, state_message
from superovoid_ros.nodes.distance_service.jobs import Kind

DEFAULT_TIME, LONGEST_TIME = 1.0, 600.0  # s, planning time
LONGEST_MOTION = 1e6  # s
MOST_ATTEMPTS, MOST_GOALS = 100, 100
PIPELINES = ("", "ompl", "move_group")
"""Accepted pipelines; others promise different kinds of motions."""
_MEASURED_BEYOND, _BEYOND_LIMIT = 0.01, 1e-6  # rad or m
_FOLLOWING = 1e-6  # rad or m, largest error of a mimic joint in a trajectory


def read_joint_limits(path: str) -> dict[str, Mapping[str, object]]:
    """Return the limits in a joint_limits.yaml of MoveIt, none if the path is empty; raise `InputError` if invalid."""
    limits = read_mapping("joint_limits", path, "joint_limits")
    if not all(isinstance(one, Mapping) for one in limits.values()):
        raise InputError(f"joint_limits = {path}: has no mapping 'joint_limits' of joints to their limits")
    return {name: dict(one) for name, one in limits.items()}


@dataclass(frozen=True)
class ProvedMotion:
    """A motion, and the conditions for which it is proved in a world that may change."""

    trajectory: Trajectory
    ranges: Ranges
    """Ranges of joints along the motion; each joint without finite limits has one."""
    state: RequestedState
    """State of the request, completed by the measured state."""
    conditions: Constraints = field(default_factory=Constraints)
    """Conditions on states along the motion, in addition to the ranges. They depend on frames, other joints and links.
    """
    goals: Sequence[Constraints] = ()
    """If there are any, the last state satisfies one of them."""
    avoids_contact: bool = True

    def refutation(self, now: RequestedState, after: float = 0.0) -> str:
        """Return why the rest of the motion is not proved in a state, empty if it is; may be called from any thread.

        Parameters
        ----------
        now
            The state of the request in the present world.
        after
            Time since the start of the motion, s.
        """
        joints = self.trajectory.joints
        rest = self.trajectory.remaining(after, [now.positions[joint] for joint in joints])
        positions = now.with_row(joints, rest.positions[0]).positions
        with refusals("trajectory"):
            problem = SceneProblem(
                now.robot, joints, positions, now.base_poses, clearance=0.0, ranges=self.ranges, planning=now.planning
            )
            if self.avoids_contact:
                check = check_trajectory(problem, SceneValidity(problem), rest)
                if check.pair is not None:
                    return f"during the motion {problem.name_of(check.pair)} are too near each other"
                if not check.valid:
                    return "during the motion a joint leaves its limits"
            accept = condition(self.conditions, now, joints, "path_constraints")
            if accept is not None and not all(map(accept, states_along(problem, rest, ACCEPT_SPACING))):
                return "a state of the motion does not satisfy path_constraints, whose frames or joints have moved"
            last = now.with_row(joints, rest.positions[-1])
            if self.goals and not any(are_satisfied(goal, last) for goal in self.goals):
                return "the motion ends at none of its goals, whose frames have moved"
        return ""


def motion_of(given: Trajectory, now: RequestedState) -> ProvedMotion:
    """Return the motion with which controllers follow a trajectory from the measured state.

    Positions slightly beyond joint limits, as from sensors and rounding, count as at the limits.

    Raises
    ------
    CodedError
        If a joint does not exist, its motion cannot be proved, or a mimic joint does not follow its master.
    """
    robot, words = now.robot, ""
    measured = {name: now.positions[name] for name in given.joints if name in robot.joint_names}
    if not measured:
        words = "moves no joint"
    for name, column in zip(given.joints, given.positions.T, strict=True):
        if name not in measured and name not in robot.mimic:
            words = f"joint '{name}' is not a joint of '{robot.name}' whose motion can be proved"
        elif name in robot.mimic and not words:
            states = ({**now.positions, **dict(zip(given.joints, row, strict=True))} for row in given.positions)
            followed = np.array([robot.position_of(name, state) for state in states])
            if not (np.abs(followed - column) <= _FOLLOWING).all():
                words = f"joint '{name}' does not follow joint '{robot.mimic[name].joint}'"
    if words:
        raise CodedError(MoveItErrorCodes.INVALID_MOTION_PLAN, f"trajectory: {words}")
    trajectory = lead_from(measured, given)
    within = np.clip(trajectory.positions, *np.array([robot.joint_limits[joint] for joint in measured]).T)
    beyond = np.full((len(within), 1), _BEYOND_LIMIT)
    beyond[0] = _MEASURED_BEYOND
    within = np.where(np.abs(within - trajectory.positions) <= beyond, within, trajectory.positions)
    ranges = ranges_without_limits(robot, dict(zip(measured, within.T.tolist(), strict=True)))
    return ProvedMotion(replace(trajectory, positions=within), ranges, now)


class MotionPlans(Searches):
    """Part that plans timed motions of groups."""

    parameters = (
        text(
            "joint_limits",
            "",
            "Path of a joint_limits.yaml in MoveIt's format, for the times of plans; empty: velocities of the URDF, "
            "accelerations of 1 rad/s^2 or m/s^2",
            check=lambda path: read_joint_limits(str(path)),
        ),
    )

    def configure(self) -> None:
        """Open the service."""
        self.serve(GetMotionPlan, "plan_kinematic_path", self._plan)

    async def _plan(self, request: GetMotionPlan.Request, response: GetMotionPlan.Response) -> None:
        response.motion_plan_response, _ = await self.plan(request.motion_plan_request, self.jobs.stop)

    async def plan(self, request: MotionPlanRequest, stop: threading.Event) -> tuple[MotionPlanResponse, ProvedMotion]:
        """Plan the motion of a request; return the response and the motion. `stop` ends the search."""
        answer, began = MotionPlanResponse(group_name=request.group_name), time.monotonic()
        stamp = self.node.get_clock().now().to_msg()
        _check(request)
        frame_ids = frame_ids_of(request.path_constraints, *request.goal_constraints)
        state, group = self.request_of(request.group_name, request.start_state, frame_ids, stop)
        limits = limits_of(state, group, str(self.value("joint_limits")), request)
        motion = await self.search(Kind.PLAN, lambda: _plan_motion(request, state, group, limits))
        note = await self.confirm(state, group.joints, motion.refutation)
        answer.trajectory_start = state_message(state, stamp)
        answer.trajectory = trajectory_message(motion.trajectory, state.frame)
        answer.error_code = success(note, state.stale)
        answer.planning_time = time.monotonic() - began
        return answer, motion


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
    return ProvedMotion(trajectory, ranges, state, rest, list(request.goal_constraints))


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
