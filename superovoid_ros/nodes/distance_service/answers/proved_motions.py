# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Motions of planned joints, and their proofs in the present world: of plans, paths, trajectories and single states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from moveit_msgs.msg import Constraints, MoveItErrorCodes

from superovoid.planning import SceneValidity
from superovoid.planning.first_path import ACCEPT_SPACING
from superovoid.planning.scene_problem import SceneProblem, ranges_without_limits
from superovoid.planning.timing import Trajectory, check_trajectory, states_along
from superovoid_ros.nodes.common.mistakes import refusals
from superovoid_ros.nodes.distance_service.answers.constraints import are_satisfied, condition
from superovoid_ros.nodes.distance_service.answers.controllers import lead_from
from superovoid_ros.nodes.distance_service.answers.error_codes import CodedError
from superovoid_ros.nodes.distance_service.answers.goals import Ranges
from superovoid_ros.nodes.distance_service.answers.requested_states import RequestedState

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
    ranges: Ranges
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
