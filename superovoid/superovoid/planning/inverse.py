# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Joint positions that put links where they are wanted, free of contact: inverse kinematics among obstacles.

From several starts, the given one first, then random ones: damped least squares (`superovoid.robot.reach`) to the
pose, then, where a pair is below its floor, steps along the gradients of the distances that leave the pose as it is
(redundant joints), then the next start. What is returned is proved to keep every pair above its floor, and says by
how much.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from superovoid.contact.inputs import as_poses
from superovoid.planning.motion_check import never
from superovoid.planning.problem import FloatArray, PlanningError, PlanningProblem
from superovoid.planning.validity import Validity
from superovoid.robot.reach import ORIENTATION, POSE, POSITION, Target, reach_all
from superovoid.values.checks import whole
from superovoid.values.records import Statistics

PARTS = {"pose": POSE, "position": POSITION, "orientation": ORIENTATION}
ACCURACY = 1e-6
"""m and rad: a pose that is missed by no more is reached."""
_MOST_STEPS = 120  # of least squares from one start
_MOST_WAYS_OUT = 8  # steps along gradients from one start
_NEAR = 0.05  # m, within which distances are asked for beyond the floors


@dataclass(frozen=True, eq=False)
class PoseGoal:
    """Where a link shall be."""

    link: str
    pose: FloatArray
    """root_from_link, shape (4, 4), m."""
    part: str = "pose"
    """What of it is wanted: "pose", "position" (of the link's origin) or "orientation"."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "pose", as_poses(f"pose of '{self.link}'", self.pose))
        if self.pose.shape != (4, 4):
            raise ValueError(f"pose of '{self.link}': shape {self.pose.shape}, expected (4, 4)")
        if self.part not in PARTS:
            raise ValueError(f"part = {self.part!r}: must be one of {', '.join(PARTS)}")


Draw = Callable[[np.random.Generator | None], Sequence[PoseGoal]]
"""Returns what is wanted: the middle of a region for None, else at random within it; nothing for joints alone."""


def no_poses(random: np.random.Generator | None) -> Sequence[PoseGoal]:
    """Want no pose of a link."""
    return ()


def any_state(state: FloatArray) -> bool:
    """Accept a state whatever it is."""
    return True


@dataclass(frozen=True, eq=False)
class GoalRegion:
    """A goal of any kind: poses of links within regions, joints within ranges, conditions beside."""

    draw: Draw = field(default=no_poses)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Of joints in the goal, rad or m."""
    preferred: Mapping[str, float] = field(default_factory=dict)
    """Positions of joints to try first; of the others that of the start is."""
    accept: Callable[[FloatArray], bool] = field(default=any_state)
    """Whether a state satisfies what is asked beside."""


class NoSolutionError(PlanningError):
    """No state was found; `in_contact` says whether the poses can be reached, only not free of contact."""

    def __init__(self, words: str, in_contact: bool) -> None:
        super().__init__(words)
        self.in_contact = in_contact


@dataclass(frozen=True, eq=False)
class Solution:
    """A state that reaches its goal."""

    state: FloatArray
    """Positions of `PlanningProblem.joints`."""
    clearance: float
    """By so much, at least, every pair looked after is above its floor, m: proved; up to the `clearance_up_to` asked
    for. NaN where contact was not to be avoided."""
    statistics: Statistics
    """``starts``: starting states that were tried."""


@dataclass(frozen=True)
class Search:
    """How long and where solutions are looked for."""

    seed: int = 1
    starts: int = 50
    """Starts at most, the given one included."""
    until: float = np.inf
    """`time.monotonic` at which the search ends, s."""
    stop: Callable[[], bool] = field(default=never)
    """Ends it when true."""
    clearance_up_to: float = 0.1
    """m; clearances beyond are of no interest."""

    def __post_init__(self) -> None:
        whole("starts", self.starts, 1)

    def is_over(self) -> bool:
        """Whether no further start is to be tried."""
        return time.monotonic() >= self.until or self.stop()


def inverse_kinematics(
    problem: PlanningProblem,
    validity: Validity | None,
    start: ArrayLike,
    goals: Sequence[PoseGoal] | Draw,
    *,
    accept: Callable[[FloatArray], bool] = lambda state: True,
    search: Search | None = None,
) -> Solution:
    """Find a state in which links are where they are wanted.

    Parameters
    ----------
    problem : PlanningProblem
        Joints, and pairs with their floors.
    validity : Validity or None
        Where distances come from; None: contact does not matter.
    start : array_like, shape (joints,)
        Where to begin.
    goals : sequence of PoseGoal, or callable
        All of them are wanted at once.
    accept : callable
        Whether a state will do, for conditions beside.
    search : Search, optional
        How long to look.

    Raises
    ------
    NoSolutionError
        If no start led to one; a PlanningError.
    ValueError
        If a link does not exist or the start is no state of the problem.
    """
    return next(solutions(problem, validity, start, goals, accept=accept, search=search))


def solutions(
    problem: PlanningProblem,
    validity: Validity | None,
    start: ArrayLike,
    goals: Sequence[PoseGoal] | Draw,
    *,
    accept: Callable[[FloatArray], bool] = lambda state: True,
    search: Search | None = None,
) -> Iterator[Solution]:
    """Solutions of `inverse_kinematics` one after the other, as long as its search lasts; one at least, or an error."""
    search = Search() if search is None else search
    first = problem.check_state("start", start)
    fixed: Sequence[PoseGoal] = () if callable(goals) else list(goals)
    random = np.random.default_rng(search.seed)
    reached = found = tried = 0
    nearest = np.inf
    worst = ""
    while tried < search.starts and not (tried and search.is_over()):
        guess = first if tried == 0 else np.asarray(random.uniform(*problem.limits))
        wanted = goals(None if tried == 0 else random) if callable(goals) else fixed
        tried += 1
        for goal in wanted:
            if goal.link not in problem.robot.links:
                known = ", ".join(problem.robot.links)
                raise ValueError(f"goal: link '{goal.link}' does not exist (links: {known})")
        state, missed = _reached(problem, wanted, guess, guess)
        nearest = min(nearest, missed)
        if missed > ACCURACY:
            continue
        reached += 1
        free: FloatArray | None = state
        clearance = np.nan
        if validity is not None:
            free, clearance, words = _out_of_contact(problem, validity, wanted, state, search)
            worst = words or worst
        if free is not None and accept(free):
            found += 1
            yield Solution(free, clearance, Statistics(starts=tried))
    if found:
        return
    if reached:
        why = f"in all {reached} found {worst}" if worst else f"none of {reached} found satisfies what is asked beside"
        raise NoSolutionError(f"the goal can be reached, but {why} ({tried} starts)", bool(worst))
    raise NoSolutionError(
        f"the goal is out of reach: missed by {nearest:.3g} (m or rad) at best ({tried} starts)", in_contact=False
    )


def _reached(
    problem: PlanningProblem, goals: Sequence[PoseGoal], guess: FloatArray, comfortable: FloatArray, steps: int = 0
) -> tuple[FloatArray, float]:
    """The state that least squares lead to, and by how much it misses the goals."""
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
        max_iterations=steps or _MOST_STEPS,
    )
    state = np.array([found.positions[joint] for joint in problem.joints])
    return state, max(found.position_error, found.angle_error)


def _out_of_contact(
    problem: PlanningProblem, validity: Validity, goals: Sequence[PoseGoal], state: FloatArray, search: Search
) -> tuple[FloatArray | None, float, str]:
    """The state, or one near it with the same poses, that keeps every pair above its floor, and by how much.

    None where none is found; then words about the pair that was lowest last.
    """
    words = ""
    for way_out in range(_MOST_WAYS_OUT + 1):
        max_distance = np.array([problem.floors.max(initial=0.0) + max(search.clearance_up_to, _NEAR)])
        found = validity.clearances(state[None], max_distance, gradients=True)
        spare = found.lower - problem.floors[found.pair]
        lowest = float(np.min(spare, initial=np.inf))
        if lowest > 0.0:
            return state, min(lowest, search.clearance_up_to), ""
        words = f"{problem.name_of(int(found.pair[np.argmin(spare)]))} are {1e3 * -lowest:.3g} mm too near each other"
        if way_out == _MOST_WAYS_OUT or search.is_over():
            break
        # What is too near, and what would be soon, is to have a little room: least squares of the first order.
        room = 2e-3
        low = spare < room
        assert found.gradient is not None  # asked for
        slopes = found.gradient[low] / problem.weights
        wanted = np.minimum(room - spare[low], 0.05)
        step = slopes.T @ np.linalg.solve(slopes @ slopes.T + 1e-3 * np.eye(len(slopes)), wanted) / problem.weights
        if not np.isfinite(step).all():
            break
        other, missed = _reached(problem, goals, state, np.clip(state + step, *problem.limits), steps=60)
        if missed > ACCURACY or np.abs((other - state) * problem.weights).max() < 1e-5:
            break
        state = other
    return None, np.nan, words
