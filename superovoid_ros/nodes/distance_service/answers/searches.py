# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Re-validate slow results against the world at the time of the response.

Objects, rules, the robot's base, its other joints and the frames of the request may have moved during the search. If
they have, the result is validated again, so that no response describes an outdated world without a warning.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from moveit_msgs.msg import MoveItErrorCodes, RobotState

from superovoid_ros.nodes.common.mistakes import InputError
from superovoid_ros.nodes.distance_service.answers.error_codes import OF_PLANNERS, CodedError, code_of
from superovoid_ros.nodes.distance_service.answers.goals import GroupRequest, group_of
from superovoid_ros.nodes.distance_service.answers.requested_states import RequestedState, RequestedStates
from superovoid_ros.nodes.distance_service.jobs import Kind

Result = TypeVar("Result")
_MOST_TIMES = 5  # largest number of validations of a result
REACH = 1.0
"""Radius around a frame's origin that contains whatever refers to the frame, m."""


class Searches(RequestedStates):
    """Base class of parts whose results (states, motions) must be valid in the world at the time of the response."""

    def refuse(self, name: str, response: Any, error: Exception) -> None:
        """Fill a response with the reason of its refusal, as a code of MoveIt."""
        getattr(response, "motion_plan_response", response).error_code = code_of(error)

    def request_of(
        self, group: str, start: RobotState, frame_ids: Sequence[str], stop: threading.Event | None = None
    ) -> GroupRequest:
        """Return the group and state of a request; `stop` ends its search (default: the event that ends all)."""
        found = group_of(self._current.model().robot, group)
        return GroupRequest(found, self.state_of(start, frame_ids), start, frame_ids, stop or self.jobs.stop)

    async def search(self, kind: Kind, work: Callable[[], Result]) -> Result:
        """Return the result of a search in a thread; errors of its planner become `CodedError`."""
        try:
            return await self.jobs.result(kind, work)
        except Exception as error:
            for planner_error, code, in_contact in OF_PLANNERS:
                if isinstance(error, planner_error):
                    # As in move_group, compute_ik has one code for poses without a solution.
                    touches = kind is Kind.PLAN and getattr(error, "in_contact", False)
                    raise CodedError(in_contact if touches else code, str(error)) from error
            raise

    async def confirm(
        self,
        before: RequestedState,
        message: RobotState,
        frame_ids: Collection[str],
        moved: Collection[str],
        refutation: Callable[[RequestedState], str],
    ) -> str:
        """Re-validate a result in the present world; return a note for the response, or an empty string.

        Parameters
        ----------
        before
            State for which the result was found.
        message, frame_ids
            State and frames of the request, as for `state_of`.
        moved
            Joints whose positions are part of the result.
        refutation
            Returns why the result is invalid in the present state, empty if it is valid; called in another thread.

        Raises
        ------
        CodedError
            If the result is not valid in the present world.
        InputError
            If the present state is unknown.
        """
        for time in range(_MOST_TIMES):
            self.activity.require()
            model = self._current.model()
            changed = model is not before.model
            if changed and model.robot is not before.model.robot:
                raise _outdated_error("the robot description was replaced in the meantime")
            if not changed and time:
                return ""
            now = self.state_of(message, frame_ids)
            if not self.has_changed(before, now, frame_ids, moved):
                return ""
            words = await self.jobs.result(Kind.QUERY, lambda now=now: refutation(now))
            if words:
                raise _outdated_error(words)
            before = now
        return "the world keeps changing: proved for one of its last states"

    def has_changed(
        self, before: RequestedState, now: RequestedState, frame_ids: Collection[str], moved: Collection[str]
    ) -> bool:
        """Return whether objects, rules, the base, frames, or joints other than `moved` have changed."""
        if now.model is not before.model:
            return True
        there, tolerance = (
            now.with_positions({joint: before.positions[joint] for joint in moved}),
            float(self.value("frame_tolerance")),
        )
        return _has_moved(before, there, tolerance) or _have_moved(frame_ids, before, there, tolerance)


def _outdated_error(words: str) -> CodedError:
    return CodedError(
        MoveItErrorCodes.MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE,
        f"the world has changed since the request, and the result is no longer valid: {words}",
    )


def _has_moved(before: RequestedState, now: RequestedState, tolerance: float) -> bool:
    """Return whether a body of the robot has moved by more than a tolerance, m."""
    for body in before.planning.robot.bodies:
        sphere = body.shape.bounding_sphere()
        poses = [each.poses[body.link] @ body.link_from_body for each in (before, now)]
        if not motion_between(*poses, sphere.centre, sphere.radius) <= tolerance:
            return True
    return False


def _have_moved(frame_ids: Iterable[str], before: RequestedState, now: RequestedState, tolerance: float) -> bool:
    """Return whether a point within `REACH` of the origin of a frame has moved by more than a tolerance, m."""
    for frame in frame_ids:
        poses = [_pose_of(frame, each) for each in (before, now)]
        if any(pose is None for pose in poses) or not motion_between(*poses, np.zeros(3), REACH) <= tolerance:
            return True
    return False


def _pose_of(frame: str, request_state: RequestedState) -> np.ndarray | None:
    try:
        return request_state.frames.lookup(frame, "frame")
    except InputError:
        return None


def motion_between(before: np.ndarray, now: np.ndarray, centre: np.ndarray, radius: float) -> float:
    """Return a bound on how far the points of a ball move between two poses, m."""
    first, second = (pose[:3, :3] @ centre + pose[:3, 3] for pose in (before, now))
    turned = np.linalg.norm(now[:3, :3] - before[:3, :3]) / np.sqrt(2.0)  # at least 2 sin(angle / 2)
    return float(np.linalg.norm(second - first) + turned * radius)
