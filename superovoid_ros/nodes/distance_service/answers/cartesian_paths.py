# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Service `compute_cartesian_path`, with the name and type of move_group's; every step is proved free of contact.

The poses between waypoints lie on straight lines and rotate about fixed axes, in steps of `max_step`. Inverse
kinematics is solved from each to the next. The path ends before the first step that has no solution, makes contact,
violates constraints or jumps.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Sequence

import numpy as np
from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetCartesianPath

from superovoid.planning import MotionValidator, PoseGoal, SceneValidity, Search, inverse_kinematics
from superovoid.planning.inverse import NoSolutionError, any_state
from superovoid.planning.problem import PlanningProblem
from superovoid.planning.timing import MotionLimits, time_path
from superovoid.planning.validity import NoContact
from superovoid_ros.nodes.common.conversions import from_pose
from superovoid_ros.nodes.common.mistakes import refusals
from superovoid_ros.nodes.distance_service.answers.error_codes import CodedError, success
from superovoid_ros.nodes.distance_service.answers.goals import (
    GroupRequest,
    frame_of,
    link_of,
    unreadable_goals,
)
from superovoid_ros.nodes.distance_service.answers.kinematics_services import state_message
from superovoid_ros.nodes.distance_service.answers.motion_plans import (
    ProvedMotion,
    limits_of,
    require_modules,
    trajectory_message,
)
from superovoid_ros.nodes.distance_service.answers.requested_states import RequestedState, frame_ids_of
from superovoid_ros.nodes.distance_service.answers.searches import REACH, Searches, motion_between
from superovoid_ros.nodes.distance_service.answers.state_validity import count_of
from superovoid_ros.nodes.distance_service.jobs import Kind

MOST_WAYPOINTS, MOST_STEPS = 1000, 20_000
LONGEST_TIME = 60.0
"""Time limit, s, at which the path found so far is returned."""
TURN_PER_STEP = 3.5
"""Largest rotation of a step divided by `max_step`, rad/m, as in MoveIt."""
FEWEST_STEPS = 10  # for a comparison of jumps with the mean step


class CartesianPaths(Searches):
    """Part that computes joint positions that move a link along straight lines."""

    def configure(self) -> None:
        """Open the service."""
        self.serve(GetCartesianPath, "compute_cartesian_path", self._answer)

    async def _answer(self, request: GetCartesianPath.Request, response: GetCartesianPath.Response) -> None:
        stamp, frame = self.node.get_clock().now().to_msg(), request.header.frame_id
        require_modules("toppra")
        named = [frame, *frame_ids_of(request.path_constraints)]
        group_request = self.request_of(request.group_name, request.start_state, named)
        state, joints = group_request.state, group_request.group.joints
        link = link_of(state, request.link_name, group_request.group)
        _check(request)
        root_from_frame = frame_of(state, frame, "header")
        with unreadable_goals("waypoints"):
            poses = [root_from_frame @ from_pose(one, f"waypoints[{i}]") for i, one in enumerate(request.waypoints)]
        limits = limits_of(group_request, str(self.value("joint_limits")), request)
        tolerance = float(self.value("frame_tolerance"))

        def work() -> tuple[ProvedMotion, float]:
            with refusals("request"):
                return _follow_poses(request, group_request, link, poses, limits)

        motion, fraction = await self.search(Kind.PLAN, work)

        def refutation(now: RequestedState) -> str:
            there = now.with_positions({joint: state.positions[joint] for joint in joints})
            moved = motion_between(root_from_frame, frame_of(there, frame, "header"), np.zeros(3), REACH)
            if not moved <= tolerance:
                return f"frame '{frame}' of the waypoints has moved"
            return motion.refutation(now)

        note = await self.confirm(state, request.start_state, named, joints, refutation)
        response.start_state = state_message(state, state.positions, stamp)
        response.solution = trajectory_message(motion.trajectory, state.frame)
        response.fraction, response.error_code = fraction, success(note, state.stale)


def _check(request: GetCartesianPath.Request) -> None:
    """Raise `CodedError` for a request that is invalid or not supported."""
    failure = MoveItErrorCodes.FAILURE
    if not (math.isfinite(request.max_step) and request.max_step > 0.0):
        raise CodedError(failure, f"max_step = {request.max_step}: must be positive and finite")
    for name in ("jump_threshold", "prismatic_jump_threshold", "revolute_jump_threshold"):
        value = getattr(request, name)
        if not (math.isfinite(value) and value >= 0.0):
            raise CodedError(failure, f"{name} = {value}: must be finite and not negative")
    if request.max_cartesian_speed > 0.0:
        raise CodedError(failure, "max_cartesian_speed: is not supported, must be 0")
    if not 0 < len(request.waypoints) <= MOST_WAYPOINTS:
        words = f"waypoints: {len(request.waypoints)}, expected 1 to {MOST_WAYPOINTS}"
        raise CodedError(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS, words)
    count_of(request.path_constraints)


def _follow_poses(
    request: GetCartesianPath.Request,
    group_request: GroupRequest,
    link: str,
    poses: Sequence[np.ndarray],
    limits: MotionLimits,
) -> tuple[ProvedMotion, float]:
    """Move a link through poses until a step fails; return the timed motion, and the fraction of the path."""
    until, windows = time.monotonic() + LONGEST_TIME, group_request.windows()
    accept = group_request.condition(request.path_constraints, "path_constraints")
    planner = group_request.planner()
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
    steps = list(_steps([group_request.state.poses[link], *poses], request))
    path = [first]
    search = Search(starts=1, until=until, stop=group_request.stop.is_set)
    for pose in steps:
        if search.is_over():
            break
        goal = [PoseGoal(link, pose)]
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
    # A path with one state needs no times.
    timed = kept if len(kept) > 1 else np.repeat(kept, 2, axis=0)
    trajectory = time_path(problem, validity, timed, limits, accept=accept)
    fraction = (len(kept) - 1) / len(steps) if steps else 1.0
    conditions, avoids = request.path_constraints, bool(request.avoid_collisions)
    motion = ProvedMotion(
        trajectory,
        windows,
        group_request.start,
        group_request.frame_ids,
        group_request.stop,
        conditions,
        avoids_contact=avoids,
    )
    return motion, fraction


def _steps(poses: Sequence[np.ndarray], request: GetCartesianPath.Request) -> Iterator[np.ndarray]:
    """Yield the poses on lines between poses, without the first."""
    from scipy.spatial.transform import Rotation, Slerp  # imported here, since it is slow

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
    """Return a path up to the first jump, according to the thresholds in a request."""
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
