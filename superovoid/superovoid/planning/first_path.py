# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Find a first path with a planner of the Open Motion Planning Library (OMPL) and the certified validator.

Sucan, Moll, Kavraki 2012; RRT-Connect: Kuffner, LaValle 2000. The search space is the joint space scaled to metres by
`PlanningProblem.weights`, so that a turn of a palm and of a finger count by the motion that they cause.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superovoid.planning.motion_check import MotionCheck, MotionValidator
from superovoid.planning.problem import FloatArray, PlanningError, PlanningProblem
from superovoid.planning.trail import densify
from superovoid.planning.validity import Validity
from superovoid.values.checks import positive
from superovoid.values.records import Record, Statistics

ACCEPT_SPACING = 0.005
"""Largest spacing of states at which `find_path` calls `accept`, m in the metric of the weights."""


class NoPathError(PlanningError):
    """The search ended without finding a path."""


@dataclass(frozen=True, eq=False, repr=False)
class FoundPath(Record):
    """A valid path whose motions are all proved."""

    states: FloatArray
    """The planner's path, shape (k, joints)."""
    shortened: FloatArray
    """The path without the states that it does not need, shape (m, joints)."""
    statistics: Statistics
    """``motions`` that the planner checked; ``states`` examined for them."""


def find_path(
    problem: PlanningProblem,
    validity: Validity,
    start: ArrayLike,
    goal: ArrayLike,
    *,
    seed: int = 1,
    deadline: float = 60.0,
    stride: float = 0.06,
    on_motion: Callable[[int, int], None] | None = None,
    accept: Callable[[FloatArray], bool] | None = None,
    stop: Callable[[], bool] | None = None,
) -> FoundPath:
    """Plan from one state to another, or to any of several.

    Parameters
    ----------
    problem : PlanningProblem
        Joints, obstacles, pairs.
    validity : Validity
        Answers the distance queries.
    start : array_like, shape (joints,)
        A valid state.
    goal : array_like, shape (joints,) or (goals, joints)
        One or several valid states; the path ends at one of them.
    seed : int
        Seed of the planner, at least 1. OMPL numbers its random generators per process, so the same seed gives the
        same path only for the first plan of a process.
    deadline : float
        Time limit of the search, s. The search ends earlier if it finds a path.
    stride : float
        Longest motion tried in one step, m in the metric of the weights.
    on_motion : callable, optional
        Called with the numbers of checked motions and states.
    accept : callable, optional
        Returns whether a state satisfies additional conditions. It is called for states no farther apart than
        `ACCEPT_SPACING`; it is not proved between them.
    stop : callable, optional
        Ends the search when it returns true.

    Raises
    ------
    PlanningError
        If an end is not valid, or no path is found in time.
    ValueError
        If an end is not a state of the problem, or a number is out of range.
    ModuleNotFoundError
        If OMPL is missing.
    """
    ompl = _import_ompl()
    if not isinstance(seed, int) or seed < 1:
        raise ValueError(f"seed = {seed!r}: must be an integer of at least 1")
    until = time.monotonic() + positive("deadline", deadline, "seconds")
    stride = positive("stride", stride, "metres")

    def is_over() -> bool:
        return time.monotonic() >= until or (stop is not None and stop())

    path = _Conditions(problem, MotionValidator(problem, validity, is_over), accept, on_motion, is_over)
    several = np.ndim(goal) == 2
    goals = [problem.check_state(f"goal[{k}]" if several else "goal", row) for k, row in enumerate(np.atleast_2d(goal))]
    if not goals:
        raise ValueError("goal: is empty, expected at least one state")
    first = problem.check_state("start", start)
    path.check_end("start", first)
    for k, state in enumerate(goals):
        path.check_end(f"goal[{k}]" if several else "goal", state)
    ompl.util.setLogLevel(ompl.util.LogLevel.LOG_NONE)
    ompl.util.RNG.setSeed(seed)
    found, result = _search(ompl, path, first, goals, stride)
    if found is None:
        counts = f"{path.motions} motions, {path.validator.states} states"
        raise NoPathError(f"no path found in {deadline:g} s ({result}; {counts})")
    nearest = min(goals, key=lambda state: float(np.abs((state - found[-1]) * problem.weights).max()))
    found[[0, -1]] = first, nearest  # exact, without rounding by the weights
    shortened = _shorten(path.keeps, found, seed, is_over)
    return FoundPath(found, shortened, Statistics(motions=path.motions, states=path.validator.states))


def _import_ompl() -> Any:
    """Return the package `ompl` with the modules of this search."""
    try:
        import ompl.base
        import ompl.geometric
        import ompl.util
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"planning needs OMPL: no module {error.name!r}: pip install 'superovoid[plan]'", name=error.name
        ) from error
    return ompl


class _Conditions:
    """Conditions on the states and motions of a path, and how many motions the planner has checked."""

    def __init__(
        self,
        problem: PlanningProblem,
        validator: MotionValidator,
        accept: Callable[[FloatArray], bool] | None,
        on_motion: Callable[[int, int], None] | None,
        is_over: Callable[[], bool],
    ) -> None:
        self.problem, self.validator, self.is_over = problem, validator, is_over
        self._accept, self._on_motion = accept, on_motion
        self.motions = 0

    def _accepts(self, *states: FloatArray) -> bool:
        """Return whether states, and those along the motions between them, satisfy the additional conditions."""
        if self._accept is None:
            return True
        return all(map(self._accept, densify(self.problem, states, ACCEPT_SPACING) if len(states) > 1 else states))

    def check_end(self, name: str, state: FloatArray) -> None:
        """Raise `PlanningError` unless the path may begin or end with a state."""
        check = self.validator.check_state(state)
        if not check.valid:
            raise PlanningError(f"{name}: {_reason(self.problem, check)}")
        if not self._accepts(state):
            raise PlanningError(f"{name}: does not satisfy the conditions on every state (accept)")

    def allows(self, state: FloatArray) -> bool:
        """Return whether the path may lead through a state."""
        return self.validator.is_state_valid(state) and self._accepts(state)

    def keeps(self, first: FloatArray, last: FloatArray) -> bool:
        """Return whether a motion is valid."""
        return self.validator.is_valid(first, last) and self._accepts(first, last)

    def check_motion(self, first: FloatArray, last: FloatArray) -> bool:
        """Return whether a motion of the planner is valid; none is once the search is over."""
        self.motions += 1
        valid = not self.is_over() and self.keeps(first, last)
        if self._on_motion is not None:
            self._on_motion(self.motions, self.validator.states)
        return valid


def _search(
    ompl: Any, path: _Conditions, start: FloatArray, goals: list[FloatArray], stride: float
) -> tuple[FloatArray | None, Any]:
    """Return the states of a path that RRT-Connect finds, None without one, and the planner's result."""
    base, problem, count = ompl.base, path.problem, len(path.problem.joints)

    def read(state: Any) -> FloatArray:
        return np.clip(np.array([state[i] for i in range(count)]) / problem.weights, *problem.limits)

    class States(base.StateValidityChecker):  # type: ignore[name-defined]
        def isValid(self, state: Any) -> bool:
            return path.allows(read(state))

    class Motions(base.MotionValidator):  # type: ignore[name-defined]
        def checkMotion(self, first: Any, last: Any) -> bool:
            return path.check_motion(read(first), read(last))

    space, bounds = base.RealVectorStateSpace(count), base.RealVectorBounds(count)
    for i in range(count):
        bounds.setLow(i, float(problem.lower[i] * problem.weights[i]))
        bounds.setHigh(i, float(problem.upper[i] * problem.weights[i]))
    space.setBounds(bounds)
    information = base.SpaceInformation(space)
    information.setStateValidityChecker(States(information))
    information.setMotionValidator(Motions(information))
    information.setup()

    def allocate(state: FloatArray) -> Any:
        new = space.allocState()
        for i in range(count):
            new[i] = float(state[i] * problem.weights[i])
        return new

    definition, region = base.ProblemDefinition(information), base.GoalStates(information)
    definition.addStartState(allocate(start))
    for state in goals:
        region.addState(allocate(state))
    definition.setGoal(region)
    planner = ompl.geometric.RRTConnect(information)
    planner.setRange(stride)
    planner.setProblemDefinition(definition)
    planner.setup()
    result = planner.solve(base.PlannerTerminationCondition(path.is_over))
    if not definition.hasExactSolution():
        return None, result
    found = definition.getSolutionPath()
    return np.array([read(found.getState(k)) for k in range(found.getStateCount())]), result


def _shorten(
    is_valid: Callable[[FloatArray, FloatArray], bool], path: FloatArray, seed: int, is_over: Callable[[], bool]
) -> FloatArray:
    """Replace stretches of the path by straight motions if these are proved; tries 300 at random."""
    random = np.random.default_rng(seed)
    kept, refused = list(range(len(path))), set()
    for _ in range(300):
        if len(kept) < 3 or is_over():
            break
        i, j = sorted(random.choice(len(kept), size=2, replace=False).tolist())
        motion = kept[i], kept[j]
        if j - i < 2 or motion in refused:
            continue
        if is_valid(*path[list(motion)]):
            kept[i + 1 : j] = []
        else:
            refused.add(motion)
    return path[kept]


def _reason(problem: PlanningProblem, check: MotionCheck) -> str:
    if check.pair is None:
        return "is outside the limits"
    wanted = problem.is_wanted[check.pair]
    return f"{problem.name_of(check.pair)} " + ("overlap" if wanted else "are nearer than the clearance")
