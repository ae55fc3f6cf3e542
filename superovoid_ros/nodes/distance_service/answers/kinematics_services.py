# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Services `compute_fk`, `compute_ik` and `get_urdf`, with the names and types of move_group's."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
from moveit_msgs.msg import MoveItErrorCodes, PositionIKRequest, RobotState
from moveit_msgs.srv import GetGroupUrdf, GetPositionFK, GetPositionIK
from std_msgs.msg import Header

from superovoid.planning import GroupPlanner, MotionValidator, PoseGoal, SceneValidity, Search
from superovoid.planning.inverse import Solution, any_state
from superovoid.robot.groups import Group
from superovoid_ros.nodes.common.conversions import from_pose, to_pose
from superovoid_ros.nodes.common.mistakes import listing, refusals
from superovoid_ros.nodes.distance_service.answers.error_codes import CodedError, success
from superovoid_ros.nodes.distance_service.answers.goals import (
    GroupRequest,
    frame_of,
    link_of,
    unreadable_goals,
)
from superovoid_ros.nodes.distance_service.answers.requested_states import RequestedState, frame_ids_of
from superovoid_ros.nodes.distance_service.answers.searches import REACH, Searches, motion_between
from superovoid_ros.nodes.distance_service.answers.state_validity import count_of
from superovoid_ros.nodes.distance_service.jobs import Kind
from superovoid_ros.nodes.distance_service.part import Common
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world.current import CurrentModel
from superovoid_ros.nodes.distance_service.world.current_scene import attached_messages, joints_message

DEFAULT_TIMEOUT, LONGEST_TIMEOUT = 1.0, 60.0  # s
MOST_POSES = 50  # in a request; with more, a single start takes longer than most timeouts


class KinematicsServices(Searches):
    """Part that answers requests for link poses, inverse kinematics, and the URDF of a group.

    Parameters
    ----------
    common, current, measurements
        As for every part.
    urdf
        Returns the URDF of the robot.
    """

    def __init__(
        self, common: Common, current: CurrentModel, measurements: Measurements, urdf: Callable[[], str]
    ) -> None:
        super().__init__(common, current, measurements)
        self._urdf = urdf

    def configure(self) -> None:
        """Open the services."""
        self.serve(GetPositionFK, "compute_fk", self._compute_fk)
        self.serve(GetPositionIK, "compute_ik", self._inverse)
        self.serve(GetGroupUrdf, "get_urdf", self._describe)

    def _describe(self, request: GetGroupUrdf.Request, response: GetGroupUrdf.Response) -> None:
        robot = self._current.model().robot
        if request.group_name not in robot.groups:
            words = f"group_name: '{request.group_name}' is no group (groups: {listing(robot.groups)})"
            raise CodedError(MoveItErrorCodes.FAILURE, words)
        response.urdf_string = _urdf_of_links(self._urdf(), request.group_name, robot.group(request.group_name).links)
        response.error_code = success()

    def _compute_fk(self, request: GetPositionFK.Request, response: GetPositionFK.Response) -> None:
        request_state = self.state_of(request.robot_state, [request.header.frame_id])
        if not len(request.fk_link_names):
            raise CodedError(MoveItErrorCodes.INVALID_LINK_NAME, "fk_link_names: is empty, expected links")
        links = [link_of(request_state, name) for name in request.fk_link_names]
        frame_from_root = np.linalg.inv(frame_of(request_state, request.header.frame_id, "header"))
        for link in links:
            stamped = PoseStamped(pose=to_pose(frame_from_root @ request_state.poses[link]))
            stamped.header.frame_id = request.header.frame_id or request_state.frame
            stamped.header.stamp = self.node.get_clock().now().to_msg()
            response.pose_stamped.append(stamped)
        response.fk_link_names, response.error_code = links, success(request_state.stale)

    async def _inverse(self, request: GetPositionIK.Request, response: GetPositionIK.Response) -> None:
        wanted = request.ik_request
        several = list(wanted.pose_stamped_vector) or [wanted.pose_stamped]
        named = [*(stamped.header.frame_id for stamped in several), *frame_ids_of(wanted.constraints)]
        stamp = self.node.get_clock().now().to_msg()
        group_request = self.request_of(wanted.group_name, wanted.robot_state, named)
        state, joints = group_request.state, group_request.group.joints
        goals = _goals_of(wanted, several, state, group_request.group)
        is_judged = (
            wanted.avoid_collisions
            or count_of(wanted.constraints) > 0
            or any(stamped.header.frame_id not in ("", state.frame) for stamped in several)
        )
        tolerance = float(self.value("frame_tolerance"))
        seconds = wanted.timeout.sec + 1e-9 * wanted.timeout.nanosec
        seconds = min(seconds if seconds > 0.0 else DEFAULT_TIMEOUT, LONGEST_TIMEOUT)

        def work() -> Solution:
            accept = group_request.condition(wanted.constraints, "constraints") or any_state
            # The time limit starts when the search does.
            search = Search(until=time.monotonic() + seconds, starts=10_000, stop=group_request.stop.is_set)
            with refusals("ik_request"):
                return _seed_planner(group_request).inverse_kinematics(
                    {}, goals, avoid_contact=wanted.avoid_collisions, accept=accept, search=search
                )

        found = await self.search(Kind.INVERSE, work)
        reached = dict(zip(joints, found.state.tolist(), strict=True))

        def refutation(now: RequestedState) -> str:
            """Return the pair in contact, or the violated part of the request."""
            before = now.with_positions({joint: state.positions[joint] for joint in joints})
            link = _missed_link(
                _goals_of(wanted, several, before, group_request.group), now.with_positions(reached), tolerance
            )
            if link:
                return f"link '{link}' is not at its pose, whose frame has moved"
            again = replace(group_request, state=now)
            accept = again.condition(wanted.constraints, "constraints")
            if accept is not None and not accept(found.state):
                return "it does not satisfy the constraints, whose frames or joints have moved"
            if not wanted.avoid_collisions:
                return ""
            problem = _seed_planner(again).problem({})
            check = MotionValidator(problem, SceneValidity(problem)).check_state(found.state)
            return "" if check.valid or check.pair is None else f"{problem.name_of(check.pair)} are too near"

        note = await self.confirm(state, wanted.robot_state, named, joints, refutation) if is_judged else ""
        response.solution = state_message(state, {**state.positions, **reached}, stamp)
        response.error_code = success(note, state.stale)


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


def _seed_planner(group_request: GroupRequest) -> GroupPlanner:
    """Return a planner from a state with the group's joints moved into their limits: a search may start anywhere."""
    positions, limits = group_request.state.positions, group_request.robot.joint_limits
    within = {name: float(np.clip(positions[name], *limits[name])) for name in group_request.group.joints}
    return replace(group_request, state=replace(group_request.state, positions={**positions, **within})).planner()


def _missed_link(goals: Iterable[PoseGoal], request_state: RequestedState, tolerance: float) -> str:
    """Return the first link that is farther from its goal than the tolerance of points near it, m; empty if none is."""
    for goal in goals:
        if not motion_between(request_state.poses[goal.link], goal.pose, np.zeros(3), REACH) <= tolerance:
            return goal.link
    return ""


def _goals_of(
    wanted: PositionIKRequest, several: Iterable[PoseStamped], request_state: RequestedState, group: Group
) -> list[PoseGoal]:
    """Return the poses in a request, each with its link."""
    several = list(several)
    names = list(wanted.ik_link_names) if len(wanted.pose_stamped_vector) else [wanted.ik_link_name]
    if len(wanted.pose_stamped_vector) == 1 and not names:
        names = [wanted.ik_link_name]
    if len(names) != len(several):
        raise CodedError(
            MoveItErrorCodes.INVALID_LINK_NAME,
            f"ik_link_names: {len(names)} links, {len(several)} poses: must be the same number",
        )
    if len(several) > MOST_POSES:
        words = f"pose_stamped_vector: {len(several)} poses, at most {MOST_POSES}"
        raise CodedError(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS, words)
    goals = []
    for name, stamped in zip(names, several, strict=True):
        root_from_frame = frame_of(request_state, stamped.header.frame_id, "pose_stamped")
        link = link_of(request_state, name, group)
        with unreadable_goals("pose_stamped"):
            goals.append(PoseGoal(link, root_from_frame @ from_pose(stamped.pose, "pose_stamped")))
    return goals


def state_message(request_state: RequestedState, positions: Mapping[str, float], stamp: Time) -> RobotState:
    """Return a whole state, with attached objects, which is the same when it is asked about again."""

    def pose_of(parent: str, child: str) -> np.ndarray:
        return np.linalg.inv(request_state.poses[parent]) @ request_state.poses[child]

    header = Header(stamp=stamp, frame_id=request_state.frame)
    message = joints_message(request_state.planning.robot, positions, pose_of, header)
    message.attached_collision_objects = attached_messages(request_state.planning, lambda link: Header(frame_id=link))
    return message
