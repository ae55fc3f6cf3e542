# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Service `compute_cartesian_path`, with the name and type of move_group's; every step is proved free of contact.

The path is that of `superovoid.planning.straight_path`: it ends before the first step that has no solution, makes
contact, violates constraints or jumps.
"""

from __future__ import annotations

import time

import numpy as np
from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetCartesianPath

from superovoid.planning import JumpLimits, SceneValidity, Search, straight_path
from superovoid.planning.timing import time_path
from superovoid.planning.validity import NoContact
from superovoid_ros.nodes.common.conversions import from_pose
from superovoid_ros.nodes.distance_service.answers.constraints import condition, frame_ids_of
from superovoid_ros.nodes.distance_service.answers.error_codes import CodedError, coded, success
from superovoid_ros.nodes.distance_service.answers.motion_plans import ProvedMotion, limits_of, trajectory_message
from superovoid_ros.nodes.distance_service.answers.requested_states import RequestedState
from superovoid_ros.nodes.distance_service.answers.searches import (
    Searches,
    link_of,
    motion_between,
    planner_of,
    state_message,
)
from superovoid_ros.nodes.distance_service.jobs import Kind

MOST_WAYPOINTS = 1000
LONGEST_TIME = 60.0
"""Time limit, s, at which the path found so far is returned."""


class CartesianPaths(Searches):
    """Part that computes joint positions that move a link along straight lines."""

    def configure(self) -> None:
        """Open the service."""
        self.serve(GetCartesianPath, "compute_cartesian_path", self._answer)

    async def _answer(self, request: GetCartesianPath.Request, response: GetCartesianPath.Response) -> None:
        stamp, frame = self.node.get_clock().now().to_msg(), request.header.frame_id
        constraints, tolerance = request.path_constraints, float(self.value("frame_tolerance"))
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
        limits = limits_of(state, group, str(self.value("joint_limits")), request)

        def work() -> tuple[ProvedMotion, float]:
            search = Search(starts=1, until=time.monotonic() + LONGEST_TIME, stop=state.stop.is_set)
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
            avoids = bool(request.avoid_collisions)
            return ProvedMotion(trajectory, problem.ranges, state, constraints, avoids_contact=avoids), fraction

        motion, fraction = await self.search(Kind.PLAN, work)

        def refutation(now: RequestedState) -> str:
            there = now.with_positions({joint: state.positions[joint] for joint in group.joints})
            if not motion_between(root_from_frame, there.frames.lookup(frame, "header")) <= tolerance:
                return f"frame '{frame}' of the waypoints has moved"
            return motion.refutation(now)

        note = await self.confirm(state, group.joints, refutation)
        response.start_state = state_message(state, stamp)
        response.solution = trajectory_message(motion.trajectory, state.frame)
        response.fraction, response.error_code = fraction, success(note, state.stale)
