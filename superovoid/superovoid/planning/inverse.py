# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Inverse kinematics among obstacles: find joint positions that bring links to given poses without contact.

The search uses several starts: the given one, then random ones. From each, damped least squares
(`superovoid.robot.reach`) solves for the poses. If a pair is below its floor, steps along the distance gradients that
keep the poses (redundant joints) follow; if these fail, the next start. The returned state is proved to keep every
pair above its floor, with a proved clearance.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from superovoid.planning.goals import PARTS, PoseGoal, PoseRegion, any_state
from superovoid.planning.motion_check import never_stop
from superovoid.planning.problem import FloatArray, PlanningError, PlanningProblem
from superovoid.planning.validity import Validity
from superovoid.robot.reach import Target, reach_all
from superovoid.values.checks import whole_number
from superovoid.values.records import Statistics

ACCURACY = 1e-6
"""A goal pose is reached if it is missed by at most this, m and rad."""
_MAX_STEPS = 120  # least-squares steps per start
_MAX_CONTACT_STEPS = 8  # steps along distance gradients per start
_NEAR = 0.05  # m, minimum distance beyond the floors within which pairs are queried


class NoSolutionError(PlanningError):
    """No state was found; `in_contact` is true if the poses can be reached, but only in contact."""

    def __init__(self, words: str, in_contact: bool) -> None:
        super().__init__(words)
        self.in_contact = in_contact


class RangeError(NoSolutionError):
    """The range of a joint at a goal excludes its range along the motion."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A state that reaches its goal."""

    state: FloatArray
    """Positions of `PlanningProblem.joints`."""
    clearance: float
    """Proved: every checked pair exceeds its floor by at least this, m; capped at `clearance_up_to` of the search. NaN
    if contact was not checked."""
    statistics: Statistics
    """``starts``: number of starting states tried."""


@dataclass(frozen=True)
class Search:
    """Effort and scope of a search for solutions."""

    seed: int = 1
    starts: int = 50
    """Maximum number of starts, including the given one."""
    until: float = np.inf
    """Value of `time.monotonic` at which the search ends, s."""
    stop: Callable[[], bool] = field(default=never_stop)
    """Ends the search when it returns true."""
    clearance_up_to: float = 0.1
    """Largest clearance to determine, m."""

    def __post_init__(self) -> None:
        whole_number("starts", self.starts, 1)

    def is_over(self) -> bool:
        """Return whether to stop trying further starts."""
        return time.monotonic() >= self.until or self.stop()


def inverse_kinematics(
    problem: PlanningProblem,
    validity: Validity | None,
    start: ArrayLike,
    goals: Sequence[PoseGoal | PoseRegion],
    *,
    accept: Callable[[FloatArray], bool] = any_state,
    search: Search | None = None,
) -> Solution:
    """Find a state in which links reach given poses.

    Parameters
    ----------
    problem : PlanningProblem
        Joints, and pairs with their floors.
    validity : Validity or None
        Answers the distance queries; None to ignore contact.
    start : array_like, shape (joints,)
        First start.
    goals : sequence of PoseGoal or PoseRegion
        Poses to reach, all at once.
    accept : callable
        Returns whether a state satisfies additional conditions.
    search : Search, optional
        Effort of the search.

    Raises
    ------
    NoSolutionError
        If no start led to a solution; a PlanningError.
    ValueError
        If a link does not exist, or the start is not a state of the problem.
    """
    return next(solutions(problem, validity, start, goals, accept=accept, search=search))


def solutions(
    problem: PlanningProblem,
    validity: Validity | None,
    start: ArrayLike,
    goals: Sequence[PoseGoal | PoseRegion],
    *,
    accept: Callable[[FloatArray], bool] = any_state,
    search: Search | None = None,
) -> Iterator[Solution]:
    """Yield solutions of `inverse_kinematics` until its search ends; raise an error if there are none."""
    search = Search() if search is None else search
    first = problem.check_state("start", start)
    random = np.random.default_rng(search.seed)
    reached = found = tried = 0
    nearest = np.inf
    worst = ""
    while tried < search.starts and not (tried and search.is_over()):
        guess = first if tried == 0 else np.asarray(random.uniform(*problem.limits))
        wanted = [goal.draw(random if tried else None) for goal in goals]
        tried += 1
        for goal in wanted:
            if goal.link not in problem.robot.links:
                known = ", ".join(problem.robot.links)
                raise ValueError(f"goal: link '{goal.link}' does not exist (links: {known})")
        state, missed = _solve_poses(problem, wanted, guess, guess, stop=never_stop if tried == 1 else search.is_over)
        nearest = min(nearest, missed)
        if missed > ACCURACY:
            continue
        reached += 1
        free: FloatArray | None = state
        clearance = np.nan
        if validity is not None:
            free, clearance, words = _remove_contact(problem, validity, wanted, state, search)
            worst = words or worst
        if free is not None and accept(free):
            found += 1
            yield Solution(free, clearance, Statistics(starts=tried))
    if found:
        return
    if reached:
        why = f"in all {reached} found {worst}" if worst else f"none of {reached} found satisfies `accept`"
        raise NoSolutionError(f"the goal can be reached, but {why} ({tried} starts)", bool(worst))
    raise NoSolutionError(
        f"the goal is out of reach: missed by {nearest:.3g} (m or rad) at best ({tried} starts)", in_contact=False
    )


def _solve_poses(
    problem: PlanningProblem,
    goals: Sequence[PoseGoal],
    guess: FloatArray,
    comfortable: FloatArray,
    steps: int = 0,
    stop: Callable[[], bool] = never_stop,
) -> tuple[FloatArray, float]:
    """Return the least-squares state, and the distance by which it misses the goals."""
    if not goals:
        return np.clip(comfortable, *problem.limits), 0.0
    targets = [Target(problem.robot.root, goal.link, goal.pose, PARTS[goal.part]) for goal in goals]
    found = reach_all(
        problem.robot,
        targets,
        problem.positions_at(guess),
        problem.joints,
        base_poses=problem.base_poses,
        limits=dict(zip(problem.joints, problem.limits.T.tolist(), strict=True)),
        comfortable=dict(zip(problem.joints, comfortable.tolist(), strict=True)),
        atol=0.1 * ACCURACY,
        settle=bool(steps),
        max_iterations=steps or _MAX_STEPS,
        stop=stop,
    )
    state = np.array([found.positions[joint] for joint in problem.joints])
    return state, max(found.position_error, found.angle_error)


def _remove_contact(
    problem: PlanningProblem, validity: Validity, goals: Sequence[PoseGoal], state: FloatArray, search: Search
) -> tuple[FloatArray | None, float, str]:
    """Find a state with the same poses that keeps every pair above its floor, and its clearance.

    If there is none, return None, NaN and a text about the pair with the smallest distance.
    """
    words = ""
    for attempt in range(_MAX_CONTACT_STEPS + 1):
        max_distance = np.array([problem.floors.max(initial=0.0) + max(search.clearance_up_to, _NEAR)])
        found = validity.clearances(state[None], max_distance, gradients=True)
        spare = found.lower - problem.floors[found.pair]
        lowest = float(np.min(spare, initial=np.inf))
        if lowest > 0.0:
            return state, min(lowest, search.clearance_up_to), ""
        words = f"{problem.name_of(int(found.pair[np.argmin(spare)]))} are {1e3 * -lowest:.3g} mm too near each other"
        if attempt == _MAX_CONTACT_STEPS or search.is_over():
            break
        # Give pairs below or just above their floors a little room by a first-order least-squares step.
        room = 2e-3
        low = spare < room
        assert found.gradient is not None  # requested above
        slopes = found.gradient[low] / problem.weights
        wanted = np.minimum(room - spare[low], 0.05)
        step = slopes.T @ np.linalg.solve(slopes @ slopes.T + 1e-3 * np.eye(len(slopes)), wanted) / problem.weights
        if not np.isfinite(step).all():
            break
        other, missed = _solve_poses(problem, goals, state, np.clip(state + step, *problem.limits), steps=60)
        if missed > ACCURACY or np.abs((other - state) * problem.weights).max() < 1e-5:
            break
        state = other
    return None, np.nan, words
