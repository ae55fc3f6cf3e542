# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Move a link along straight lines, with every step proved free of contact.

Between two poses, the link's origin moves on a line while the link rotates about a fixed axis. Inverse kinematics is
solved from each pose to the next, so a redundant robot stays near its previous state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from superovoid.contact.impact import Motion
from superovoid.planning.goals import PoseGoal, any_state
from superovoid.planning.group_planner import start_state
from superovoid.planning.inverse import NoSolutionError, Search, inverse_kinematics
from superovoid.planning.motion_check import MotionValidator
from superovoid.planning.problem import FloatArray, PlanningProblem
from superovoid.planning.validity import NoContact, Validity
from superovoid.values.checks import positive

ROTATION_PER_STEP = 3.5
"""Largest rotation of a step divided by the largest step, rad/m, as in MoveIt."""
_MOST_STEPS = 20_000
_FEWEST_STEPS = 10  # between two poses, for a comparison with the mean step


@dataclass(frozen=True)
class JumpLimits:
    """Largest motions of the joints in one step; a limit of 0 allows any."""

    of_mean: float = 0.0
    """Largest norm of the joints' motion, relative to the mean of all steps."""
    prismatic: float = 0.0
    """Largest motion of a prismatic joint, m."""
    revolute: float = 0.0
    """Largest motion of any other joint, rad."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (math.isfinite(value) and value >= 0.0):
                raise ValueError(f"{name} = {value!r}: must be finite and not negative")

    def states_before(self, path: FloatArray, problem: PlanningProblem) -> int:
        """Return the number of states of a path before its first jump."""
        moves = np.abs(np.diff(path, axis=0))
        lengths = np.linalg.norm(moves, axis=1)
        slides = np.array([problem.robot.joints[joint].kind == "prismatic" for joint in problem.joints])
        jumps = np.zeros(len(moves), dtype=bool)
        if self.of_mean and len(moves):
            jumps |= lengths > self.of_mean * lengths.mean()
        for which, most in ((slides, self.prismatic), (~slides, self.revolute)):
            if most:
                jumps |= (moves[:, which] > most).any(axis=1)
        return int(np.argmax(jumps)) + 1 if jumps.any() else len(path)


class StraightPath(NamedTuple):
    """States that move a link through poses."""

    states: FloatArray
    """Shape (k, joints), rad or m; the first is the start. Straight motions between them are proved."""
    fraction: float
    """Part of the steps that these states reach, from 0 to 1."""


def straight_path(
    problem: PlanningProblem,
    validity: Validity | None,
    link: str,
    poses: Sequence[FloatArray],
    max_step: float,
    *,
    jumps: JumpLimits | None = None,
    accept: Callable[[FloatArray], bool] | None = None,
    search: Search | None = None,
) -> StraightPath:
    """Find states that move a link through poses, up to the first step that is not possible.

    A step is not possible if it has no solution, makes contact, violates a condition or jumps.

    Parameters
    ----------
    problem : PlanningProblem
        Joints, and pairs with their floors. Its positions are the start.
    validity : Validity or None
        Answers the distance queries; None to ignore contact.
    link : str
        Link to move.
    poses : sequence of array, shape (4, 4)
        root_from_link, m, in order.
    max_step : float
        Largest distance between two states, m. `ROTATION_PER_STEP` limits the rotation.
    jumps : JumpLimits, optional
    accept : callable, optional
        Returns whether a state satisfies additional conditions; called for each state.
    search : Search, optional
        Effort of each inverse kinematics, and when to end; default: from the state before alone.

    Raises
    ------
    StartError
        If the start is not valid.
    ValueError
        If a number is out of range, or there would be too many steps.
    """
    search, jumps = search or Search(starts=1), jumps or JumpLimits()
    max_step = positive("max_step", max_step, "metres")
    validator = MotionValidator(problem, NoContact() if validity is None else validity)
    states = [start_state(problem, validator, accept)]
    first = problem.robot.forward_kinematics(problem.positions, problem.base_poses)[link]
    steps = list(_steps([first, *poses], max_step, _FEWEST_STEPS if jumps.of_mean else 1))
    for pose in steps:
        if search.is_over():
            break
        try:
            found = inverse_kinematics(
                problem, validity, states[-1], [PoseGoal(link, pose)], accept=accept or any_state, search=search
            )
        except NoSolutionError:
            break
        if not validator.is_valid(states[-1], found.state):
            break
        states.append(found.state)
    kept = jumps.states_before(np.array(states), problem)
    return StraightPath(np.array(states[:kept]), (kept - 1) / len(steps) if steps else 1.0)


def _steps(poses: Sequence[FloatArray], max_step: float, fewest: int) -> Iterator[FloatArray]:
    """Yield the poses on lines between poses, without the first."""
    total = 0
    for before, after in pairwise(poses):
        motion = Motion.from_poses(before, after)
        length, angle = float(np.linalg.norm(motion.linear)), float(np.linalg.norm(motion.angular))
        count = math.ceil(max(length, angle / ROTATION_PER_STEP) / max_step - 1e-9)
        count = max(count, fewest) if count else 0
        total += count
        if total > _MOST_STEPS:
            raise ValueError(f"max_step = {max_step!r}: the path has more than {_MOST_STEPS} steps")
        yield from (motion.pose(number / count) for number in range(1, count + 1))
