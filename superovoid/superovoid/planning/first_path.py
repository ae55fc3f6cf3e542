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
    try:
        from ompl import base, geometric, util
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"planning needs OMPL: no module {error.name!r}: pip install 'superovoid[plan]'", name=error.name
        ) from error
    if not isinstance(seed, int) or seed < 1:
        raise ValueError(f"seed = {seed!r}: must be an integer of at least 1")
    until = time.monotonic() + positive("deadline", deadline, "seconds")
    stride = positive("stride", stride, "metres")

    def is_over() -> bool:
        return time.monotonic() >= until or (stop is not None and stop())

    validator = MotionValidator(problem, validity, is_over)
    several = np.ndim(goal) == 2
    goals = [problem.check_state(f"goal[{k}]" if several else "goal", row) for k, row in enumerate(np.atleast_2d(goal))]
    if not goals:
        raise ValueError("goal: is empty, expected at least one state")
    ends = {"start": problem.check_state("start", start)}
    ends |= {f"goal[{k}]" if several else "goal": state for k, state in enumerate(goals)}
    for name, state in ends.items():
        check = validator.check_state(state)
        if not check.valid:
            raise PlanningError(f"{name}: {_reason(problem, check)}")
        if accept is not None and not accept(state):
            raise PlanningError(f"{name}: does not satisfy the conditions on every state (accept)")

    def is_valid(first: FloatArray, last: FloatArray) -> bool:
        return validator.is_valid(first, last) and _accepts_motion(problem, accept, first, last)

    count, weights = len(problem.joints), problem.weights
    motions = 0

    def read(state) -> FloatArray:
        return np.clip(np.array([state[i] for i in range(count)]) / weights, *problem.limits)

    class States(base.StateValidityChecker):
        def isValid(self, state) -> bool:
            at = read(state)
            return validator.is_state_valid(at) and (accept is None or bool(accept(at)))

    class Motions(base.MotionValidator):
        def checkMotion(self, first, last) -> bool:
            nonlocal motions
            motions += 1
            valid = not is_over() and is_valid(read(first), read(last))
            if on_motion is not None:
                on_motion(motions, validator.states)
            return valid

    util.setLogLevel(util.LogLevel.LOG_NONE)
    util.RNG.setSeed(seed)
    space = base.RealVectorStateSpace(count)
    bounds = base.RealVectorBounds(count)
    for i in range(count):
        bounds.setLow(i, float(problem.lower[i] * weights[i]))
        bounds.setHigh(i, float(problem.upper[i] * weights[i]))
    space.setBounds(bounds)
    information = base.SpaceInformation(space)
    information.setStateValidityChecker(States(information))
    information.setMotionValidator(Motions(information))
    information.setup()
    definition = base.ProblemDefinition(information)

    def allocate(state: FloatArray):
        new = space.allocState()
        for i in range(count):
            new[i] = float(state[i] * weights[i])
        return new

    definition.addStartState(allocate(ends["start"]))
    region = base.GoalStates(information)
    for state in goals:
        region.addState(allocate(state))
    definition.setGoal(region)
    planner = geometric.RRTConnect(information)
    planner.setRange(stride)
    planner.setProblemDefinition(definition)
    planner.setup()
    solved = planner.solve(base.PlannerTerminationCondition(is_over))
    if not definition.hasExactSolution():
        raise NoPathError(f"no path found in {deadline:g} s ({solved}; {motions} motions, {validator.states} states)")
    path = definition.getSolutionPath()
    found = np.array([read(path.getState(k)) for k in range(path.getStateCount())])
    nearest = min(goals, key=lambda state: float(np.abs((state - found[-1]) * weights).max()))
    found[[0, -1]] = ends["start"], nearest  # exact, without rounding by the weights
    shortened = _shorten(is_valid, found, seed, is_over)
    return FoundPath(found, shortened, Statistics(motions=motions, states=validator.states))


def _accepts_motion(
    problem: PlanningProblem, accept: Callable[[FloatArray], bool] | None, first: FloatArray, last: FloatArray
) -> bool:
    if accept is None:
        return True
    return all(accept(state) for state in densify(problem, [first, last], ACCEPT_SPACING))


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
