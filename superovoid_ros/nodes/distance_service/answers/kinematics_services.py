# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Services `compute_fk`, `compute_ik` and `get_urdf`, with the names and types of move_group's."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from xml.etree import ElementTree

import numpy as np
from geometry_msgs.msg import PoseStamped
from moveit_msgs.msg import MoveItErrorCodes, PositionIKRequest
from moveit_msgs.srv import GetGroupUrdf, GetPositionFK, GetPositionIK

from superovoid.planning import PoseGoal, Search
from superovoid.planning.goals import any_state
from superovoid.planning.timing import Trajectory
from superovoid.robot.groups import Group
from superovoid_ros.nodes.common.conversions import from_pose, to_pose
from superovoid_ros.nodes.common.mistakes import listing, refusals
from superovoid_ros.nodes.distance_service.answers.constraints import condition, frame_ids_of
from superovoid_ros.nodes.distance_service.answers.error_codes import CodedError, coded, success
from superovoid_ros.nodes.distance_service.answers.requested_states import RequestedState
from superovoid_ros.nodes.distance_service.answers.searches import (
    ProvedMotion,
    Searches,
    link_of,
    planner_of,
    state_message,
)
from superovoid_ros.nodes.distance_service.jobs import Kind
from superovoid_ros.nodes.distance_service.part import Common
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world.current_model import CurrentModel

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

    def open(self) -> None:
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
        state = self.state_of(request.robot_state, [request.header.frame_id])
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
        wanted = request.ik_request
        several = list(wanted.pose_stamped_vector) or [wanted.pose_stamped]
        frame_ids = [*(stamped.header.frame_id for stamped in several), *frame_ids_of(wanted.constraints)]
        stamp = self.node.get_clock().now().to_msg()
        state, group = self.request_of(wanted.group_name, wanted.robot_state, frame_ids)
        goals = _goals_of(wanted, several, state, group)
        seconds = wanted.timeout.sec + 1e-9 * wanted.timeout.nanosec
        seconds = min(seconds if seconds > 0.0 else DEFAULT_TIMEOUT, LONGEST_TIMEOUT)

        def work() -> ProvedMotion:
            accept = condition(wanted.constraints, state, group.joints, "constraints") or any_state
            # The time limit starts when the search does.
            search = Search(until=time.monotonic() + seconds, starts=10_000, stop=state.stop.is_set)
            with refusals("ik_request"):
                planner, avoids = planner_of(state, group), wanted.avoid_collisions
                found = planner.inverse_kinematics({}, goals, avoid_contact=avoids, accept=accept, search=search)
            targets = [(goal.link, one.header.frame_id) for goal, one in zip(goals, several, strict=True)]
            solution = Trajectory(group.joints, np.zeros(1), found.state[None], np.zeros((1, len(group.joints))))
            asked = {"conditions": wanted.constraints, "targets": targets, "avoids_contact": avoids}
            return ProvedMotion(solution, planner.problem({}).ranges, state, group.name, **asked)

        motion, response.error_code = await self.find(Kind.INVERSE, work)
        response.solution = state_message(state.with_row(group.joints, motion.trajectory.positions[0]), stamp)


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


def _goals_of(
    wanted: PositionIKRequest, several: Sequence[PoseStamped], state: RequestedState, group: Group
) -> list[PoseGoal]:
    """Return the poses in a request, each with its link."""
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
        root_from_frame = state.frames.lookup(stamped.header.frame_id, "pose_stamped")
        link = link_of(state, name, group)
        with coded(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS, "pose_stamped"):
            goals.append(PoseGoal(link, root_from_frame @ from_pose(stamped.pose, "pose_stamped")))
    return goals
