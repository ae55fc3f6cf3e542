# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Service `compute_cartesian_path`: name and type of move_group's; every step is proved free of contact.

The poses between waypoints lie on straight lines, and turn about fixed axes, in steps of `max_step`. Inverse kinematics
lead from each to the next. The path ends before the first step without a solution, with contact, against the
constraints, or with a jump.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetCartesianPath
from std_msgs.msg import Header

from superovoid.planning import GroupPlanner, MotionValidator, PoseGoal, SceneValidity, Search, inverse_kinematics
from superovoid.planning.inverse import NoSolutionError, any_state
from superovoid.planning.problem import PlanningProblem
from superovoid.planning.timing import MotionLimits, time_path
from superovoid.planning.validity import NoContact
from superovoid.robot.groups import Group
from superovoid_ros.nodes.common.conversions import from_pose
from superovoid_ros.nodes.common.mistakes import refusals
from superovoid_ros.nodes.distance_service.answers.afterwards import REACH, Afterwards, motion_between
from superovoid_ros.nodes.distance_service.answers.error_codes import CodedError, coded, success
from superovoid_ros.nodes.distance_service.answers.goals import (
    condition,
    count_of,
    frame_of,
    group_of,
    link_of,
    unreadable_goals,
    windows_of,
)
from superovoid_ros.nodes.distance_service.answers.kinematics_services import state_message
from superovoid_ros.nodes.distance_service.answers.motion_plans import (
    Found,
    blocked,
    limits_of,
    read_joint_limits,
    require_modules,
    trajectory_message,
)
from superovoid_ros.nodes.distance_service.answers.requested_states import RequestedState, RequestedStates, frame_ids_of
from superovoid_ros.nodes.distance_service.jobs import Kind
from superovoid_ros.nodes.distance_service.part import Common, Part
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world.current import CurrentModel

MOST_WAYPOINTS, MOST_STEPS = 1000, 20_000
LONGEST_TIME = 60.0
"""s; the path of what was followed until then is returned."""
TURN_PER_STEP = 3.5
"""rad/m: a step turns at most this times `max_step`, as in MoveIt."""
FEWEST_STEPS = 10  # if jumps are compared with the mean step


@dataclass(frozen=True)
class _Wish:
    """A request, with all that its path needs."""

    request: GetCartesianPath.Request
    asked: RequestedState
    group: Group
    link: str
    poses: Sequence[np.ndarray]
    """root_from_link at the waypoints."""
    limits: MotionLimits
    stop: threading.Event


class CartesianPaths(Part):
    """Answers with joint positions that lead a link in straight lines."""

    def __init__(self, common: Common, current: CurrentModel, measurements: Measurements) -> None:
        super().__init__(common)
        self._current, self._measurements = current, measurements
        self._states = RequestedStates(measurements, self.value)
        self._afterwards = Afterwards(common, current, self._states)

    def configure(self) -> None:
        """Open the service."""
        self.endpoints.serve(GetCartesianPath, "compute_cartesian_path", self._answer)

    async def _answer(
        self, request: GetCartesianPath.Request, response: GetCartesianPath.Response
    ) -> GetCartesianPath.Response:
        with coded(self, response, "compute_cartesian_path: no path"):
            self.activity.require()
            stamp = self.node.get_clock().now().to_msg()
            named = [request.header.frame_id, *frame_ids_of(request.path_constraints)]
            wish = self._wish(request, named)

            def work() -> tuple[Found, float]:
                with refusals("request"):
                    return _followed(wish)

            def why_not(now: RequestedState) -> str:
                there = now.at({joint: wish.asked.positions[joint] for joint in wish.group.joints})
                frames = [frame_of(asked, request.header.frame_id, "header") for asked in (wish.asked, there)]
                if not motion_between(*frames, np.zeros(3), REACH) <= float(self.value("frame_tolerance")):
                    return f"frame '{request.header.frame_id}' of the waypoints has moved"
                with refusals("request"):
                    return blocked(wish.group, found, now, wish.stop)

            found, fraction = await self.jobs.result(Kind.PLAN, work)
            note = await self._afterwards.confirm(wish.asked, request.start_state, named, wish.group.joints, why_not)
            self.activity.require()
            robot = wish.asked.planning.robot
            header = Header(stamp=stamp, frame_id=self._measurements.frame_of(robot, robot.root))
            start = state_message(wish.asked, wish.asked.positions, header)
            solution = trajectory_message(found.trajectory, header)
            response.start_state, response.solution, response.fraction = start, solution, fraction
            response.error_code = success(note, wish.asked.stale)
        return response

    def _wish(self, request: GetCartesianPath.Request, named: Sequence[str]) -> _Wish:
        """Check a request and take down what it needs; an error with a code if it cannot be read."""
        model = self._current.model()
        group = group_of(model.robot, request.group_name)
        require_modules("toppra")
        asked = self._states.of(model, request.start_state, named)
        if not request.link_name and group.tip is None:
            words = f"group '{request.group_name}' has no tip: name link_name"
            raise CodedError(MoveItErrorCodes.INVALID_LINK_NAME, words)
        link = link_of(asked, request.link_name or group.tip)
        thresholds = {
            name: getattr(request, name)
            for name in ("jump_threshold", "prismatic_jump_threshold", "revolute_jump_threshold")
        }
        if not (math.isfinite(request.max_step) and request.max_step > 0.0):
            raise CodedError(MoveItErrorCodes.FAILURE, f"max_step = {request.max_step}: must be positive and finite")
        for name, value in thresholds.items():
            if not (math.isfinite(value) and value >= 0.0):
                raise CodedError(MoveItErrorCodes.FAILURE, f"{name} = {value}: must be finite and not negative")
        if request.max_cartesian_speed > 0.0:
            raise CodedError(MoveItErrorCodes.FAILURE, "max_cartesian_speed: is not supported, must be 0")
        if not 0 < len(request.waypoints) <= MOST_WAYPOINTS:
            words = f"waypoints: {len(request.waypoints)}, expected 1 to {MOST_WAYPOINTS}"
            raise CodedError(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS, words)
        count_of(request.path_constraints)
        root_from_frame = frame_of(asked, request.header.frame_id, "header")
        with unreadable_goals("waypoints"):
            poses = [root_from_frame @ from_pose(pose, f"waypoints[{i}]") for i, pose in enumerate(request.waypoints)]
        joint_limits = read_joint_limits(str(self.value("joint_limits")))
        limits = limits_of(model.robot, group, joint_limits, request)
        return _Wish(request, asked, group, link, poses, limits, self.jobs.stop)


def _followed(wish: _Wish) -> tuple[Found, float]:
    """Follow the waypoints as far as possible; return the timed motion, and its share of the path."""
    request, asked, group = wish.request, wish.asked, wish.group
    until = time.monotonic() + LONGEST_TIME
    windows = windows_of(asked.planning.robot, group, asked.positions, ())
    accept = condition(request.path_constraints, asked, group.joints, wish.stop, "path_constraints")
    planner = GroupPlanner(asked.planning, group.name, positions=asked.positions, base_poses=asked.base_poses)
    problem = planner.problem({}, windows)
    validity = SceneValidity(problem) if request.avoid_collisions else NoContact()
    validator = MotionValidator(problem, validity)
    first = problem.state(problem.positions)
    check = validator.check_state(first)
    if check.pair is not None:
        words = f"start_state: {problem.name_of(check.pair)} are too near each other"
        raise CodedError(MoveItErrorCodes.START_STATE_IN_COLLISION, words)
    if not check.valid:
        raise CodedError(MoveItErrorCodes.START_STATE_INVALID, "start_state: a joint is beyond its limits")
    if accept is not None and not accept(first):
        words = "start_state: does not satisfy path_constraints"
        raise CodedError(MoveItErrorCodes.START_STATE_VIOLATES_PATH_CONSTRAINTS, words)
    steps = list(_steps([asked.poses[wish.link], *wish.poses], request))
    path = [first]
    search = Search(starts=1, until=until, stop=wish.stop.is_set)
    for pose in steps:
        if search.is_over():
            break
        goal = [PoseGoal(wish.link, pose)]
        try:
            found = inverse_kinematics(
                problem,
                validity if request.avoid_collisions else None,
                path[-1],
                goal,
                accept=any_state if accept is None else accept,
                search=search,
            )
        except NoSolutionError:
            break
        if not validator.is_valid(path[-1], found.state):
            break
        path.append(found.state)
    kept = _before_jump(np.array(path), problem, request)
    # A path of one state has no motion to be timed.
    timed = kept if len(kept) > 1 else np.repeat(kept, 2, axis=0)
    trajectory = time_path(problem, validity, timed, wish.limits, accept=accept)
    fraction = (len(kept) - 1) / len(steps) if steps else 1.0
    return Found(trajectory, windows, request.path_constraints, bool(request.avoid_collisions)), fraction


def _steps(poses: Sequence[np.ndarray], request: GetCartesianPath.Request) -> Iterator[np.ndarray]:
    """Yield the poses along lines between poses, the first one left out."""
    from scipy.spatial.transform import Rotation, Slerp  # late: the import is slow

    total = 0
    for before, after in itertools.pairwise(poses):
        turns = Rotation.from_matrix([before[:3, :3], after[:3, :3]])
        length = float(np.linalg.norm(after[:3, 3] - before[:3, 3]))
        angle = float((turns[0].inv() * turns[1]).magnitude())
        count = math.ceil(max(length, angle / TURN_PER_STEP) / request.max_step - 1e-9)
        if request.jump_threshold > 0.0 and count:
            count = max(count, FEWEST_STEPS)
        total += count
        if total > MOST_STEPS:
            words = f"max_step = {request.max_step}: the path has more than {MOST_STEPS} steps"
            raise CodedError(MoveItErrorCodes.FAILURE, words)
        between = Slerp([0.0, 1.0], turns)
        for number in range(1, count + 1):
            part = number / count
            pose = np.eye(4)
            pose[:3, :3] = between(part).as_matrix()
            pose[:3, 3] = (1.0 - part) * before[:3, 3] + part * after[:3, 3]
            yield pose


def _before_jump(path: np.ndarray, problem: PlanningProblem, request: GetCartesianPath.Request) -> np.ndarray:
    """Return a path up to the first jump by the thresholds of a request."""
    moves = np.abs(np.diff(path, axis=0))
    jumps = np.zeros(len(moves), dtype=bool)
    lengths = np.linalg.norm(moves, axis=1)
    if request.jump_threshold > 0.0 and len(moves):
        jumps |= lengths > request.jump_threshold * lengths.mean()
    kinds = np.array([problem.robot.joints[joint].kind for joint in problem.joints])
    for is_kind, most in (
        (kinds == "prismatic", request.prismatic_jump_threshold),
        (kinds != "prismatic", request.revolute_jump_threshold),
    ):
        if most > 0.0:
            jumps |= (moves[:, is_kind] > most).any(axis=1)
    return path[: int(np.argmax(jumps)) + 1] if jumps.any() else path
