# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Services of kinematics and plans, with the names and types of move_group's.

    request -> state, group -> [thread: conditions, goals -> motion] -> proved in the present world -> response
               searches.py      constraints.py, motion_goals.py         searches.py

A request that cannot be read or evaluated leads to an error with code and message, never to a plan. A solution of
inverse kinematics is a motion of one state. A Cartesian path is that of `superovoid.planning.straight_path`: it ends
before the first step that has no solution, makes contact, violates constraints or jumps. `motions.py` executes plans.
"""

from __future__ import annotations

import copy
import importlib
import math
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from xml.etree import ElementTree

import numpy as np
from geometry_msgs.msg import PoseStamped
from moveit_msgs.msg import MotionPlanRequest, MotionPlanResponse, MoveItErrorCodes
from moveit_msgs.srv import GetCartesianPath, GetGroupUrdf, GetMotionPlan, GetPositionFK, GetPositionIK

from superovoid.planning import JumpLimits, SceneValidity, Search, straight_path
from superovoid.planning.goals import any_state
from superovoid.planning.timing import MotionLimits, Trajectory, time_path
from superovoid.planning.validity import NoContact
from superovoid.robot.groups import Group
from superovoid_ros.nodes.common.conversions import to_pose
from superovoid_ros.nodes.common.mistakes import refusals
from superovoid_ros.nodes.common.parameters import text
from superovoid_ros.nodes.distance_service.answers.constraints import condition, count_of, frame_ids_of
from superovoid_ros.nodes.distance_service.answers.error_codes import CodedError, coded, success
from superovoid_ros.nodes.distance_service.answers.motion_goals import (
    joint_ranges,
    limits_of,
    link_of,
    poses_in,
    read_joint_limits,
    region_of,
    trajectory_message,
)
from superovoid_ros.nodes.distance_service.answers.requested_states import RequestedState
from superovoid_ros.nodes.distance_service.answers.searches import ProvedMotion, Searches, planner_of, state_message
from superovoid_ros.nodes.distance_service.jobs import Kind
from superovoid_ros.nodes.distance_service.part import Common
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world.current_model import CurrentModel

INVERSE_TIME, LONGEST_INVERSE = 1.0, 60.0  # s, time of a search of inverse kinematics: default, largest
DEFAULT_TIME, LONGEST_TIME = 1.0, 600.0  # s, planning time
LONGEST_MOTION = 1e6  # s
LONGEST_PATH = 60.0
"""Time limit, s, at which the Cartesian path found so far is returned."""
MOST_ATTEMPTS, MOST_GOALS = 100, 100
PIPELINES = ("", "ompl", "move_group")
"""Accepted pipelines; others promise different kinds of motions."""
_FAILURE, _INVALID = MoveItErrorCodes.FAILURE, MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS


class PlanningServices(Searches):
    """Part that finds states and timed motions of groups, freely or with a link on straight lines.

    Parameters
    ----------
    common, current, measurements
        As for every part.
    urdf
        Returns the URDF of the robot.
    """

    parameters = (
        text(
            "joint_limits",
            "",
            "Path of a joint_limits.yaml in MoveIt's format, for the times of plans; empty: velocities of the URDF, "
            "accelerations of 1 rad/s^2 or m/s^2",
            check=lambda path: read_joint_limits(str(path)),
        ),
    )

    def __init__(
        self, common: Common, current: CurrentModel, measurements: Measurements, urdf: Callable[[], str]
    ) -> None:
        super().__init__(common, current, measurements)
        self._urdf = urdf

    def open(self) -> None:
        """Open the services."""
        self.serve(GetPositionFK, "compute_fk", self._compute_fk)
        self.serve(GetPositionIK, "compute_ik", self._inverse)
        self.serve(GetGroupUrdf, "get_urdf", self._describe)
        self.serve(GetMotionPlan, "plan_kinematic_path", self._plan)
        self.serve(GetCartesianPath, "compute_cartesian_path", self._follow)

    def _describe(self, request: GetGroupUrdf.Request, response: GetGroupUrdf.Response) -> None:
        robot = self._current.model().robot
        with coded(_FAILURE, "group_name"):
            links = robot.group(request.group_name).links
        response.urdf_string = _urdf_of_links(self._urdf(), request.group_name, links)
        response.error_code = success()

    async def _compute_fk(self, request: GetPositionFK.Request, response: GetPositionFK.Response) -> None:
        state = await self.state_of(request.robot_state, [request.header.frame_id])
        if not len(request.fk_link_names):
            raise CodedError(MoveItErrorCodes.INVALID_LINK_NAME, "fk_link_names: is empty, expected links")
        links = [link_of(state, name) for name in request.fk_link_names]
        frame_from_root = np.linalg.inv(state.frames.lookup(request.header.frame_id, "header"))
        for link in links:
            stamped = PoseStamped(pose=to_pose(frame_from_root @ state.poses[link]))
            stamped.header.frame_id = request.header.frame_id or state.frame
            stamped.header.stamp = self.node.get_clock().now().to_msg()
            response.pose_stamped.append(stamped)
        response.fk_link_names, response.error_code = links, success(state.stale)

    async def _inverse(self, request: GetPositionIK.Request, response: GetPositionIK.Response) -> None:
        wanted, stamp = request.ik_request, self.node.get_clock().now().to_msg()
        several, names = list(wanted.pose_stamped_vector), list(wanted.ik_link_names)
        several = several or [wanted.pose_stamped]
        if len(several) == 1:
            names = names or [wanted.ik_link_name]
        if len(names) != len(several):
            words = f"ik_link_names: {len(names)} links, {len(several)} poses: must be the same number"
            raise CodedError(MoveItErrorCodes.INVALID_LINK_NAME, words)
        frames = [stamped.header.frame_id for stamped in several]
        frame_ids = [*frames, *frame_ids_of(wanted.constraints)]
        state, group = await self.request_of(wanted.group_name, wanted.robot_state, frame_ids)
        links = [link_of(state, name, group) for name in names]
        goals = poses_in(state, frames, [stamped.pose for stamped in several], links)
        seconds = wanted.timeout.sec + 1e-9 * wanted.timeout.nanosec
        seconds = min(seconds if seconds > 0.0 else INVERSE_TIME, LONGEST_INVERSE)

        def work() -> ProvedMotion:
            accept = condition(wanted.constraints, state, group.joints, "constraints") or any_state
            # The time limit starts when the search does.
            search = Search(until=time.monotonic() + seconds, starts=10_000, stop=state.stop.is_set)
            with refusals("ik_request"):
                planner, avoids = planner_of(state, group), wanted.avoid_collisions
                found = planner.inverse_kinematics({}, goals, avoid_contact=avoids, accept=accept, search=search)
            solution = Trajectory(group.joints, np.zeros(1), found.state[None], np.zeros((1, len(group.joints))))
            targets = list(zip(links, frames, strict=True))
            asked = {"conditions": wanted.constraints, "targets": targets, "avoids_contact": avoids}
            return ProvedMotion(solution, planner.problem({}).ranges, state, group.name, **asked)

        motion, response.error_code = await self.find(Kind.INVERSE, work)
        response.solution = state_message(state.with_row(group.joints, motion.trajectory.positions[0]), stamp)

    async def _plan(self, request: GetMotionPlan.Request, response: GetMotionPlan.Response) -> None:
        response.motion_plan_response = await self.plan(request.motion_plan_request, self.jobs.stop)

    async def plan(self, request: MotionPlanRequest, stop: threading.Event) -> MotionPlanResponse:
        """Plan the motion of a request; `stop` ends the search."""
        answer, began = MotionPlanResponse(group_name=request.group_name), time.monotonic()
        stamp = self.node.get_clock().now().to_msg()
        _check(request)
        frame_ids = frame_ids_of(request.path_constraints, *request.goal_constraints)
        state, group = await self.request_of(request.group_name, request.start_state, frame_ids, stop)
        limits = limits_of(state, group, str(self.parameter("joint_limits")), request)
        motion, answer.error_code = await self.find(Kind.PLAN, lambda: _plan_motion(request, state, group, limits))
        answer.trajectory_start = state_message(state, stamp)
        answer.trajectory = trajectory_message(motion.trajectory, state.frame)
        answer.planning_time = time.monotonic() - began
        return answer

    async def _follow(self, request: GetCartesianPath.Request, response: GetCartesianPath.Response) -> None:
        stamp, frame = self.node.get_clock().now().to_msg(), request.header.frame_id
        constraints, avoids = request.path_constraints, request.avoid_collisions
        frame_ids = [frame, *frame_ids_of(constraints)]
        state, group = await self.request_of(request.group_name, request.start_state, frame_ids)
        link = link_of(state, request.link_name, group)
        if request.max_cartesian_speed > 0.0:
            raise CodedError(_FAILURE, "max_cartesian_speed: is not supported, must be 0")
        waypoints, count = request.waypoints, len(request.waypoints)
        poses = [goal.pose for goal in poses_in(state, [frame] * count, waypoints, [link] * count, most=1000)]
        limits = limits_of(state, group, str(self.parameter("joint_limits")), request)
        fraction = 0.0

        def work() -> ProvedMotion:
            nonlocal fraction
            search = Search(starts=1, until=time.monotonic() + LONGEST_PATH, stop=state.stop.is_set)
            accept = condition(constraints, state, group.joints, "path_constraints")
            with coded(_FAILURE, "request"):
                jumps = JumpLimits(
                    request.jump_threshold, request.prismatic_jump_threshold, request.revolute_jump_threshold
                )
                problem = planner_of(state, group).problem({})
                validity = SceneValidity(problem) if avoids else None
                options = {"jumps": jumps, "accept": accept, "search": search}
                states, fraction = straight_path(problem, validity, link, poses, request.max_step, **options)
                # A path with one state needs no times.
                timed = states if len(states) > 1 else np.repeat(states, 2, axis=0)
                trajectory = time_path(problem, validity or NoContact(), timed, limits, accept=accept)
            asked = {"conditions": constraints, "targets": [(link, frame)], "avoids_contact": avoids}
            return ProvedMotion(trajectory, problem.ranges, state, group.name, **asked)

        motion, response.error_code = await self.find(Kind.PLAN, work)
        response.start_state = state_message(state, stamp)
        response.solution = trajectory_message(motion.trajectory, state.frame)
        response.fraction = fraction


def _urdf_of_links(urdf: str, name: str, links: Collection[str]) -> str:
    """Return the URDF of some links and the joints that lead to them; other parent links have no content."""
    robot = ElementTree.fromstring(urdf)
    kept = ElementTree.Element("robot", name=name)
    joints = [one for one in robot.findall("joint") if one.find("child").get("link") in links]
    kept.extend(one for one in robot.findall("link") if one.get("name") in links)
    others = dict.fromkeys(one.find("parent").get("link") for one in joints)
    kept.extend(ElementTree.Element("link", name=other) for other in others if other not in links)
    kept.extend(joints)
    return ElementTree.tostring(kept, encoding="unicode")


def _check(request: MotionPlanRequest) -> None:
    """Raise `CodedError` for a request that is invalid or not supported."""
    goals, pipeline = len(request.goal_constraints), request.pipeline_id
    if pipeline not in PIPELINES:
        raise CodedError(_FAILURE, f"pipeline_id = '{pipeline}': is not available; known: {', '.join(PIPELINES[1:])}")
    if len(request.trajectory_constraints.constraints):
        raise CodedError(_FAILURE, "trajectory_constraints: are not supported, must be empty")
    if request.max_cartesian_speed > 0.0:
        raise CodedError(_FAILURE, "max_cartesian_speed: is not supported, must be 0")
    if not 0 < goals <= MOST_GOALS:
        raise CodedError(_INVALID, f"goal_constraints: {goals} goals, expected 1 to {MOST_GOALS}")
    count_of(*request.goal_constraints, request.path_constraints)
    if not math.isfinite(request.allowed_planning_time):
        raise CodedError(_FAILURE, f"allowed_planning_time = {request.allowed_planning_time}: must be finite")


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
    rest = copy.copy(path)
    rest.joint_constraints = [one for one in path.joint_constraints if one.joint_name not in group.joints]
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
        raise CodedError(_FAILURE, words)
    return ProvedMotion(trajectory, ranges, state, group.name, conditions=rest, goals=request.goal_constraints)
