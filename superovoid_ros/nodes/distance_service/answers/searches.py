# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Searches for motions and states of a group, and proofs of what they find in the world at the time of the response.

Objects, rules, the robot's base, its other joints and the frames of the request may have moved during the search. If
they have, the result is proved again, so that no response describes an outdated world without a warning.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from moveit_msgs.msg import Constraints, MoveItErrorCodes, RobotState
from std_msgs.msg import Header

from superovoid.planning import GroupPlanner, SceneValidity
from superovoid.planning.first_path import ACCEPT_SPACING
from superovoid.planning.scene_problem import SceneProblem, ranges_without_limits
from superovoid.planning.timing import Trajectory, check_trajectory, states_along
from superovoid.robot.groups import Group
from superovoid_ros.nodes.common.mistakes import InputError, refusals
from superovoid_ros.nodes.distance_service.answers.constraints import are_satisfied, condition
from superovoid_ros.nodes.distance_service.answers.controllers import lead_from
from superovoid_ros.nodes.distance_service.answers.error_codes import OF_PLANNERS, CodedError, code_of, coded, success
from superovoid_ros.nodes.distance_service.answers.requested_states import RequestedState, RequestedStates
from superovoid_ros.nodes.distance_service.jobs import Kind
from superovoid_ros.nodes.distance_service.world.planning_scene_service import attached_messages, joints_message

_MOST_TIMES = 5  # largest number of validations of a result
INVALIDATED = MoveItErrorCodes.MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE
_REACH = 1.0  # m, radius around a frame's origin that contains whatever refers to the frame
_MEASURED_BEYOND, _BEYOND_LIMIT = 0.01, 1e-6  # rad or m
_FOLLOWING = 1e-6  # rad or m, largest error of a mimic joint in a trajectory


def motion_between(
    before: np.ndarray, now: np.ndarray, centre: Sequence[float] = (0.0, 0.0, 0.0), radius: float = _REACH
) -> float:
    """Return a bound on how far the points of a ball (default: around the origin) move between two poses, m."""
    first, second = (pose[:3, :3] @ centre + pose[:3, 3] for pose in (before, now))
    turned = np.linalg.norm(now[:3, :3] - before[:3, :3]) / np.sqrt(2.0)  # at least 2 sin(angle / 2)
    return float(np.linalg.norm(second - first) + turned * radius)


@dataclass(frozen=True)
class ProvedMotion:
    """A motion, and the conditions for which it is proved in a world that may change; also a state, without times."""

    trajectory: Trajectory
    ranges: Mapping[str, tuple[float, float]]
    """Ranges of joints along the motion; each joint without finite limits has one."""
    state: RequestedState
    """State of the request, completed by the measured state."""
    group: str = ""
    """Group whose pairs are checked; empty: the pairs that the motion moves relative to each other."""
    conditions: Constraints = field(default_factory=Constraints)
    """Conditions on states along the motion, in addition to the ranges. They depend on frames, other joints and links.
    """
    goals: Sequence[Constraints] = ()
    """If there are any, the last state satisfies one of them."""
    targets: Sequence[tuple[str, str]] = ()
    """Links, each with the frame in which the request gives its pose at the end. Frames of moved links are those of the
    request's state."""
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
        joints, begin = self.trajectory.joints, self.state
        rest = self.trajectory.remaining(after, [now.positions[joint] for joint in joints])
        last = now.with_row(joints, rest.positions[-1])
        there = now.with_positions({joint: begin.positions[joint] for joint in joints})
        expected = begin.with_row(joints, rest.positions[-1])
        for link, frame in self.targets:
            before = np.linalg.inv(begin.frames.lookup(frame, "frame")) @ expected.poses[link]
            at = np.linalg.inv(there.frames.lookup(frame, "frame")) @ last.poses[link]
            if not motion_between(before, at) <= begin.tolerance:
                return f"link '{link}' would not be at its pose in frame '{frame}', which has moved"
        with refusals("trajectory"):
            problem = SceneProblem(
                now.robot,
                joints,
                now.with_row(joints, rest.positions[0]).positions,
                now.base_poses,
                clearance=0.0,
                ranges=self.ranges,
                planning=now.planning,
                group=self.group,
            )
            if self.avoids_contact:
                check = check_trajectory(problem, SceneValidity(problem), rest)
                if check.pair is not None:
                    return f"{problem.name_of(check.pair)} are too near each other"
                if not check.valid:
                    return "a joint leaves its limits"
            accept = condition(self.conditions, now, joints, "constraints")
            if accept is not None and not all(map(accept, states_along(problem, rest, ACCEPT_SPACING))):
                return "a state does not satisfy path_constraints or constraints, whose frames or joints have moved"
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


class Searches(RequestedStates):
    """Base class of parts whose results (states, motions) must be valid in the world at the time of the response."""

    def refuse(self, name: str, response: Any, error: Exception) -> None:
        """Fill a response with the reason of its refusal, as a code of MoveIt."""
        getattr(response, "motion_plan_response", response).error_code = code_of(error)

    async def request_of(
        self, name: str, start: RobotState, frame_ids: Sequence[str], stop: threading.Event | None = None
    ) -> tuple[RequestedState, Group]:
        """Return the state and group of a request; arguments as for `state_of`.

        Raises
        ------
        CodedError
            If the group does not exist, none of its joints can be planned, or joints that move its links cannot.
        """
        robot = self._current.model().robot
        with coded(MoveItErrorCodes.INVALID_GROUP_NAME, "group_name"):
            group = robot.group(name)
            if not group.joints:
                raise InputError(f"group '{name}' has no joint that can be planned")
            if group.outside:
                words = f"group '{name}' has joint '{group.outside[0]}'"
                raise InputError(f"{words}: floating and planar joints cannot be planned")
        return await self.state_of(start, frame_ids, stop=stop), group

    def require_robot_of(self, before: RequestedState) -> None:
        """Raise `CodedError` if the robot of a state was replaced."""
        if self._current.model().robot is not before.model.robot:
            raise CodedError(INVALIDATED, "the robot description was replaced in the meantime")

    async def find(self, kind: Kind, work: Callable[[], ProvedMotion]) -> tuple[ProvedMotion, MoveItErrorCodes]:
        """Search in a thread, and prove the result in the present world; return it and the code of the response.

        Raises
        ------
        CodedError
            If nothing is found, or the result is not valid in the present world.
        InputError
            If the present state is unknown.
        """
        try:
            motion = await self.jobs.result(kind, work)
        except Exception as error:
            for planner_error, *codes in OF_PLANNERS:
                if isinstance(error, planner_error):
                    # As in move_group, compute_ik has one code for poses without a solution.
                    touches = kind is Kind.PLAN and getattr(error, "in_contact", False)
                    raise CodedError(codes[-1 if touches else 0], str(error)) from error
            raise
        words, _, note = await self.prove(motion.refutation, motion, motion.state)
        if words:
            begin = "the world has changed since the request, and the result is no longer valid"
            raise CodedError(INVALIDATED, f"{begin}: {words}")
        return motion, success(note, motion.state.stale)

    async def prove(
        self,
        refutation: Callable[[RequestedState], str],
        motion: ProvedMotion,
        before: RequestedState | None = None,
        most: int = _MOST_TIMES,
        kind: Kind = Kind.QUERY,
    ) -> tuple[str, RequestedState, str]:
        """Prove a motion in the present world until the world does not change during the proof.

        Parameters
        ----------
        refutation
            Returns why the motion is not proved in a state, empty if it is; called in a thread.
        motion
            The motion, whose joints may move meanwhile.
        before
            State in which the motion is proved already, if there is one.
        most
            Largest number of proofs.
        kind
            Kind of job of a proof.

        Returns
        -------
        words, state, note
            Why the motion is not proved, empty if it is; the state of the last proof; a warning if the world keeps
            changing.
        """
        request = motion.state.message, motion.state.frame_ids, True, motion.state.stop
        for _ in range(most):
            self.activity.require()
            self.require_robot_of(motion.state)
            if before is not None:
                # Found at once, so that nothing changes before the caller goes on. The request's objects are the same.
                present = self.state_without_objects(*request).with_objects_of(before)
                if not has_changed(before, present, motion.trajectory.joints):
                    return "", before, ""
            now = await self.state_of(*request)
            words = await self.jobs.result(kind, lambda now=now: refutation(now))
            before = now
            if words:
                return words, before, ""
        return "", before, "the world keeps changing: proved for one of its last states"


def has_changed(before: RequestedState, now: RequestedState, moved: Collection[str]) -> bool:
    """Return whether objects, rules, the base, frames, or joints other than `moved` have changed.

    Raise `InputError` if the pose of a frame is no longer known.
    """
    if now.model is not before.model:
        return True
    there = now.with_positions({joint: before.positions[joint] for joint in moved})
    motions = []
    for body in (body for body in before.planning.scene.bodies if body.link != before.robot.root):
        first, second = (state.poses[body.link] @ body.link_from_body for state in (before, there))
        sphere = body.shape.bounding_sphere()
        motions.append(motion_between(first, second, sphere.centre, sphere.radius))
    for frame in before.frame_ids:
        motions.append(motion_between(*(state.frames.lookup(frame, "frame") for state in (before, there))))
    return not all(motion <= before.tolerance for motion in motions)


def planner_of(state: RequestedState, group: Group) -> GroupPlanner:
    """Return a planner for a group, starting from the state of a request."""
    return GroupPlanner(state.planning, group.name, positions=state.positions, base_poses=state.base_poses)


def state_message(state: RequestedState, stamp: Time) -> RobotState:
    """Return a whole state, with attached objects, which is the same when it is asked about again."""
    robot, poses = state.robot, state.poses
    carried = [joint for joint in robot.joints.values() if joint.child in robot.base_links]
    base_poses = {joint.child: np.linalg.inv(poses[joint.parent]) @ poses[joint.child] for joint in carried}
    header = Header(stamp=stamp, frame_id=state.frame)
    message = joints_message(robot, state.positions, base_poses, header)
    message.attached_collision_objects = attached_messages(state.planning, lambda link: Header(frame_id=link))
    return message
