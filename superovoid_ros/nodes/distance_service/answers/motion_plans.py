# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Service `plan_kinematic_path`: name and type of move_group's; its motions are proved.

    request -> group, start, goals, conditions -> [thread: plan, times] -> trajectory

What cannot be read, or judged, makes the answer an error with a code and words, never a plan.
"""

from __future__ import annotations

import importlib.util
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import yaml
from builtin_interfaces.msg import Duration
from moveit_msgs.msg import (
    Constraints,
    MotionPlanRequest,
    MotionPlanResponse,
    MoveItErrorCodes,
    RobotTrajectory,
)
from moveit_msgs.srv import GetMotionPlan
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from superovoid.planning import GroupPlanner, PlanningError, SceneValidity, motion_limits
from superovoid.planning.first_path import ACCEPT_SPACING
from superovoid.planning.timing import MotionLimits, Trajectory, along, check_trajectory
from superovoid.robot import Robot
from superovoid.robot.groups import Group
from superovoid_ros.nodes.common.mistakes import InputError, refusals
from superovoid_ros.nodes.common.parameters import text
from superovoid_ros.nodes.distance_service.answers.afterwards import Afterwards
from superovoid_ros.nodes.distance_service.answers.error_codes import CodedError, coded, success
from superovoid_ros.nodes.distance_service.answers.goals import (
    Ranges,
    condition,
    count_of,
    frame_of,
    group_of,
    joint_goals,
    region_of,
    windows_of,
)
from superovoid_ros.nodes.distance_service.answers.kinematics_services import state_message
from superovoid_ros.nodes.distance_service.answers.requested_states import RequestedState, RequestedStates, frame_ids_of
from superovoid_ros.nodes.distance_service.answers.state_validity import evaluate
from superovoid_ros.nodes.distance_service.jobs import Kind
from superovoid_ros.nodes.distance_service.part import Common, Part
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world.current import CurrentModel

DEFAULT_TIME, LONGEST_TIME = 1.0, 600.0  # s, of planning
LONGEST_MOTION = 1e6  # s
MOST_ATTEMPTS, MOST_GOALS = 100, 100
MODULES = ("ompl", "toppra")
"""That planning uses."""
PIPELINES = ("", "ompl", "move_group")
"""What a request may ask for: the others promise motions of another kind."""


def read_mapping(parameter: str, path: str, key: str, *, is_needed: bool = True) -> dict[str, object]:
    """Return the mapping `key` of a YAML file of MoveIt that a parameter names; an empty one for no path.

    Raises
    ------
    InputError
        If the file cannot be read, `key` is no mapping, or it is needed and missing.
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


def read_joint_limits(path: str) -> dict[str, Mapping[str, object]]:
    """Return the limits of a joint_limits.yaml of MoveIt; none for no path. `InputError` if it has none."""
    limits = read_mapping("joint_limits", path, "joint_limits")
    if not all(isinstance(one, Mapping) for one in limits.values()):
        raise InputError(f"joint_limits = {path}: has no mapping 'joint_limits' of joints to their limits")
    return {name: dict(one) for name, one in limits.items()}


@dataclass(frozen=True)
class _Wish:
    """A request, with all that its plan needs."""

    request: MotionPlanRequest
    asked: RequestedState
    frame_ids: Sequence[str]
    """That it names."""
    group: Group
    joint_limits: Mapping[str, Mapping[str, object]]
    seconds: float
    """That it may take, from its turn on."""
    stop: threading.Event


@dataclass(frozen=True)
class Found:
    """What was planned, and the problem that it solves."""

    trajectory: Trajectory
    ranges: Ranges
    """Of joints along the way."""
    conditions: Constraints
    """Of states along the way, in addition to the ranges. They depend on frames, other joints and links."""
    avoids_contact: bool = True


@dataclass(frozen=True)
class Plan:
    """The answer to a request, and how its motion is proved again later."""

    answer: MotionPlanResponse
    asked_now: Callable[[], RequestedState] | None = None
    """Returns the state of the request in the world of now. None if there is no plan."""
    why_not: Callable[[RequestedState, float], str] | None = None
    """Returns why the motion does not hold in such a state, from a time on, s; for any thread."""
    has_changed: Callable[[RequestedState, RequestedState], bool] | None = None
    """Returns whether the motion must be proved again in a state, because it was proved in another one."""


class MotionPlans(Part):
    """Answers with motions of groups, in time."""

    parameters = (
        text(
            "joint_limits",
            "",
            "Path of a joint_limits.yaml in MoveIt's format, for the times of plans; empty: velocities of the URDF, "
            "accelerations of 1 rad/s^2 or m/s^2",
            check=lambda path: read_joint_limits(str(path)),
        ),
    )

    def __init__(self, common: Common, current: CurrentModel, measurements: Measurements) -> None:
        super().__init__(common)
        self._current, self._measurements = current, measurements
        self._states = RequestedStates(measurements, self.value)
        self._afterwards = Afterwards(common, current, self._states)

    def configure(self) -> None:
        """Open the service."""
        # Of its own, in which a long call keeps no other from being begun.
        self.endpoints.serve(GetMotionPlan, "plan_kinematic_path", self._plan)

    async def _plan(self, request: GetMotionPlan.Request, response: GetMotionPlan.Response) -> GetMotionPlan.Response:
        plan = await self.plan("plan_kinematic_path", "GetMotionPlan", request.motion_plan_request, self.jobs.stop)
        response.motion_plan_response = plan.answer
        return response

    async def plan(self, service: str, kind: str, request: MotionPlanRequest, stop: threading.Event) -> Plan:
        """Return the answer to a request; its code is the reason if there is no plan.

        Parameters
        ----------
        service, kind
            Name and type of what is called, for the log and the statistics.
        request
        stop
            Ends the search.
        """
        answer, began = MotionPlanResponse(group_name=request.group_name), time.monotonic()
        plan = Plan(answer)
        with coded(self, answer, f"{service}: no plan", kind=kind):
            self.activity.require()
            stamp = self.node.get_clock().now().to_msg()
            wish = self._wish(request, stop)

            def work() -> Found:
                with refusals("motion_plan_request"):
                    return _planned(wish)

            def why_not(now: RequestedState, after: float = 0.0) -> str:
                with refusals("motion_plan_request"):
                    return _why_not(wish, found, now, after)

            found = await self.jobs.result(Kind.PLAN, work)
            note = await self._afterwards.confirm(
                wish.asked, wish.request.start_state, wish.frame_ids, wish.group.joints, why_not
            )
            self.activity.require()
            robot, trajectory = wish.asked.planning.robot, found.trajectory
            header = Header(stamp=stamp, frame_id=self._measurements.frame_of(robot, robot.root))
            start = state_message(wish.asked, wish.asked.positions, header)
            answer.trajectory_start, answer.trajectory = start, trajectory_message(trajectory, header)
            answer.error_code = success(note, wish.asked.stale)
            plan = Plan(
                answer,
                lambda: self._states.of(self._current.model(), request.start_state, wish.frame_ids),
                why_not,
                lambda before, now: self._afterwards.has_changed(before, now, wish.frame_ids, wish.group.joints),
            )
        answer.planning_time = time.monotonic() - began
        return plan

    def _wish(self, request: MotionPlanRequest, stop: threading.Event) -> _Wish:
        """Check a request and collect its data; `CodedError` if it is invalid."""
        failure, invalid = MoveItErrorCodes.FAILURE, MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS
        model = self._current.model()
        group = group_of(model.robot, request.group_name)
        require_modules(*MODULES)
        if request.pipeline_id not in PIPELINES:
            raise CodedError(
                failure, f"pipeline_id = '{request.pipeline_id}': is not here; those: {', '.join(PIPELINES[1:])}"
            )
        if len(request.trajectory_constraints.constraints):
            raise CodedError(failure, "trajectory_constraints: are not supported, must be empty")
        if request.max_cartesian_speed > 0.0:
            raise CodedError(failure, "max_cartesian_speed: is not supported, must be 0")
        if not len(request.goal_constraints):
            raise CodedError(invalid, "goal_constraints: is empty, expected at least one goal")
        if len(request.goal_constraints) > MOST_GOALS:
            raise CodedError(invalid, f"goal_constraints: {len(request.goal_constraints)}, at most {MOST_GOALS}")
        count_of(*request.goal_constraints, request.path_constraints)
        allowed = request.allowed_planning_time
        if not math.isfinite(allowed):
            raise CodedError(failure, f"allowed_planning_time = {allowed}: must be finite")
        workspace = request.workspace_parameters
        frame_ids = [workspace.header.frame_id, *frame_ids_of(request.path_constraints)]
        for goal in request.goal_constraints:
            frame_ids += frame_ids_of(goal)
        asked = self._states.of(model, request.start_state, frame_ids)
        _check_workspace(request, asked)
        limits = read_joint_limits(str(self.value("joint_limits")))
        seconds = min(allowed if allowed > 0.0 else DEFAULT_TIME, LONGEST_TIME)
        return _Wish(request, asked, frame_ids, group, limits, seconds, stop)


def require_modules(*names: str) -> None:
    """Raise `CodedError` if a module that planning uses is missing."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            words = f"planning needs {name}, which is missing: pip install 'superovoid[plan]'"
            raise CodedError(MoveItErrorCodes.FAILURE, words)


def _check_workspace(request: MotionPlanRequest, asked: RequestedState) -> None:
    """Raise for a workspace that makes no sense. As in MoveIt it bounds floating and planar joints, and no others."""
    workspace = request.workspace_parameters
    corners = [[getattr(corner, axis) for axis in "xyz"] for corner in (workspace.min_corner, workspace.max_corner)]
    if not np.isfinite(corners).all() or any(low > high for low, high in zip(*corners, strict=True)):
        raise CodedError(
            MoveItErrorCodes.FAILURE, f"workspace_parameters: corners {corners}: must be finite, ascending"
        )
    if any(map(any, corners)):
        frame_of(asked, workspace.header.frame_id, "workspace_parameters")


def _planned(wish: _Wish) -> Found:
    """Plan, as often as asked for while there is time; return the shortest in time."""
    for module in MODULES:
        importlib.import_module(module)  # which takes seconds the first time, and is no part of the search
    request, asked, group = wish.request, wish.asked, wish.group
    robot, until = asked.planning.robot, time.monotonic() + wish.seconds
    windows = windows_of(robot, group, asked.positions, request.goal_constraints)
    condition(request.path_constraints, asked, group.joints, wish.stop, "path_constraints")
    path = joint_goals(request.path_constraints.joint_constraints, robot, group, windows)
    rest = Constraints(
        joint_constraints=list(path.others),
        position_constraints=request.path_constraints.position_constraints,
        orientation_constraints=request.path_constraints.orientation_constraints,
        visibility_constraints=request.path_constraints.visibility_constraints,
    )
    accept = condition(rest, asked, group.joints, wish.stop, "path_constraints")
    state = np.array([asked.positions[joint] for joint in group.joints])
    outside = [j for j, (low, high) in path.ranges.items() if not low - 1e-9 <= asked.positions[j] <= high + 1e-9]
    within = [j for j in outside if robot.joint_limits[j][0] <= asked.positions[j] <= robot.joint_limits[j][1]]
    if within or (accept is not None and not accept(state)):
        raise CodedError(
            MoveItErrorCodes.START_STATE_VIOLATES_PATH_CONSTRAINTS, "start_state: does not satisfy path_constraints"
        )
    goals = [region_of(one, asked, group, wish.stop, windows, path.ranges) for one in request.goal_constraints]
    ranges = {**windows, **path.ranges}
    limits = limits_of(robot, group, wish.joint_limits, request)
    planner = GroupPlanner(asked.planning, group.name, positions=asked.positions, base_poses=asked.base_poses)
    best: Trajectory | None = None
    for attempt in range(min(max(1, request.num_planning_attempts), MOST_ATTEMPTS)):
        left = until - time.monotonic()
        if best is not None and (left <= 0.0 or wish.stop.is_set()):
            break
        try:
            motion = planner.plan(
                {},
                goals,
                deadline=max(left, 1e-3),
                seed=attempt + 1,
                ranges=ranges,
                accept=accept,
                stop=wish.stop.is_set,
            )
            trajectory = planner.timed(motion, limits, accept=accept)
        except PlanningError:
            if best is None:
                raise
            break
        if not trajectory.duration <= LONGEST_MOTION:
            words = f"the motion would take {trajectory.duration:.3g} s, at most {LONGEST_MOTION:g} s can be answered"
            raise CodedError(MoveItErrorCodes.FAILURE, words)
        if best is None or trajectory.duration < best.duration:
            best = trajectory
    return Found(best, ranges, rest)


def _why_not(wish: _Wish, found: Found, now: RequestedState, after: float) -> str:
    """Return why a plan is invalid in the present state, from a time on, s; empty if it is proved again."""
    words = blocked(wish.group, found, now, wish.stop, after)
    if words:
        return words
    joints, trajectory = wish.group.joints, found.trajectory
    last = now.at(dict(zip(joints, trajectory.positions[-1].tolist(), strict=True)))
    met = (evaluate(one, last, wish.stop) for one in wish.request.goal_constraints)
    if not any(not words and all(result.result for result in results) for results, words in met):
        return "the motion ends at none of its goals, whose frames have moved"
    return ""


def blocked(group: Group, found: Found, now: RequestedState, stop: threading.Event, after: float = 0.0) -> str:
    """Return why a motion is not proved free in the present state, from a time on, s; empty if it is."""
    # Controllers may be late: the rest begins before the passed point that is nearest to the joints.
    passed = found.trajectory.positions[: max(1, np.searchsorted(found.trajectory.times, after, side="right"))]
    state = np.array([now.positions[joint] for joint in group.joints])
    first = max(0, int(np.abs(passed - state).max(axis=1).argmin()) - 1)
    trajectory = replace(
        found.trajectory,
        times=found.trajectory.times[first:],
        positions=found.trajectory.positions[first:],
        velocities=found.trajectory.velocities[first:],
    )
    start = dict(zip(group.joints, trajectory.positions[0].tolist(), strict=True))
    planner = GroupPlanner(now.planning, group.name, positions={**now.positions, **start}, base_poses=now.base_poses)
    problem = planner.problem({}, found.ranges)
    if found.avoids_contact:
        check = check_trajectory(problem, SceneValidity(problem), trajectory)
        if not check.valid:
            return f"on the way {'limits' if check.pair is None else problem.name_of(check.pair)} are too near"
    accept = condition(found.conditions, now, group.joints, stop, "path_constraints")
    if accept is not None and not all(map(accept, along(problem, trajectory, ACCEPT_SPACING))):
        return "a state on the way does not satisfy path_constraints, whose frames or joints have moved"
    return ""


def limits_of(
    robot: Robot, group: Group, joint_limits: Mapping[str, Mapping[str, object]], request: MotionPlanRequest
) -> MotionLimits:
    """Return the limits of a group's joints, scaled as requested; as in move_group, by 1 for an invalid factor."""
    factors = request.max_velocity_scaling_factor, request.max_acceleration_scaling_factor
    velocity, acceleration = (factor if 0.0 < factor <= 1.0 else 1.0 for factor in factors)
    with refusals("joint_limits"):
        return motion_limits(
            robot, group.joints, joint_limits, velocity_scale=velocity, acceleration_scale=acceleration
        )


def trajectory_message(trajectory: Trajectory, header: Header) -> RobotTrajectory:
    """Return a trajectory as a message without stamp: it begins when it is executed."""
    message = JointTrajectory(joint_names=list(trajectory.joints))
    message.header.frame_id = header.frame_id
    for at, positions, velocities in zip(
        trajectory.times.tolist(), trajectory.positions.tolist(), trajectory.velocities.tolist(), strict=True
    ):
        nanoseconds = round(1e9 * at)
        message.points.append(
            JointTrajectoryPoint(
                positions=positions,
                velocities=velocities,
                time_from_start=Duration(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9),
            )
        )
    return RobotTrajectory(joint_trajectory=message)
