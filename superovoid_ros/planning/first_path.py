"""A first path, by a planner of the Open Motion Planning Library (OMPL) over the certified validator.

Sucan, Moll, Kavraki 2012; RRT-Connect: Kuffner, LaValle 2000. The space is that of the joints in metres of
`PlanningProblem.weights`, so that a palm's turn and a finger's are as long as what they move.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from superovoid_ros.contact.records import Record
from superovoid_ros.planning.motion_check import MotionCheck, MotionValidator
from superovoid_ros.planning.problem import FloatArray, PlanningError, PlanningProblem
from superovoid_ros.planning.validity import Validity


@dataclass(frozen=True, eq=False, repr=False)
class FoundPath(Record):
    """A valid path, all of its motions proved."""

    states: FloatArray
    """As the planner found it, shape (k, joints)."""
    shortened: FloatArray
    """With the states left out that it does not need, shape (m, joints)."""
    motions: int
    """Motions the planner asked for."""
    checked: int
    """States that were looked at for them."""


def find_path(
    problem: PlanningProblem,
    validity: Validity,
    start: ArrayLike,
    goal: ArrayLike,
    *,
    seed: int = 1,
    time_limit: float = 60.0,
    stride: float = 0.06,
    on_motion: Callable[[int, int], None] | None = None,
) -> FoundPath:
    """Plan from one state to another.

    Parameters
    ----------
    problem : PlanningProblem
        Joints, obstacles, pairs.
    validity : Validity
        Where distances come from.
    start, goal : array_like, shape (joints,)
        Valid states.
    seed : int
        Of the planner, at least 1. OMPL counts its random generators by process: the same seed gives the same path as
        the first plan of a process.
    time_limit : float
        s. It ends with the first path.
    stride : float
        Longest motion that is tried at once, m in the metric of the weights.
    on_motion : callable, optional
        Called with the numbers of motions and states so far.

    Raises
    ------
    PlanningError
        If an end is not valid or no path is found in time.
    ValueError
        If an end is no state of the problem or a number is out of range.
    ModuleNotFoundError
        If OMPL is missing.
    """
    try:
        from ompl import base, geometric, util
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"planning needs OMPL: no module {error.name!r}: pip install ompl") from error
    if not isinstance(seed, int) or seed < 1:
        raise ValueError(f"seed = {seed!r}: must be an integer of at least 1")
    if not (time_limit > 0.0 and stride > 0.0):
        raise ValueError(f"time_limit = {time_limit!r}, stride = {stride!r}: must be positive")
    validator = MotionValidator(problem, validity)
    ends = {"start": problem.check_state("start", start), "goal": problem.check_state("goal", goal)}
    for name, state in ends.items():
        check = validator.check_state(state)
        if not check.valid:
            raise PlanningError(f"{name}: {_reason(problem, check)}")
    count, weights = len(problem.joints), problem.weights
    motions = 0

    def read(state) -> FloatArray:
        return np.clip(np.array([state[i] for i in range(count)]) / weights, *problem.limits)

    class States(base.StateValidityChecker):
        def isValid(self, state) -> bool:
            return validator.check_state(read(state)).valid

    class Motions(base.MotionValidator):
        def checkMotion(self, first, last) -> bool:
            nonlocal motions
            motions += 1
            valid = validator.check(read(first), read(last)).valid
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
    states = []
    for state in ends.values():
        states.append(space.allocState())
        for i in range(count):
            states[-1][i] = float(state[i] * weights[i])
    definition.setStartAndGoalStates(*states)
    planner = geometric.RRTConnect(information)
    planner.setRange(stride)
    planner.setProblemDefinition(definition)
    planner.setup()
    solved = planner.solve(float(time_limit))
    if not definition.hasExactSolution():
        raise PlanningError(
            f"no path found in {time_limit:g} s ({solved}; {motions} motions, {validator.states} states)"
        )
    path = definition.getSolutionPath()
    found = np.array([read(path.getState(k)) for k in range(path.getStateCount())])
    found[[0, -1]] = ends["start"], ends["goal"]
    return FoundPath(found, _shortened(validator, problem, found, seed), motions, validator.states)


def _shortened(validator: MotionValidator, problem: PlanningProblem, path: FloatArray, seed: int) -> FloatArray:
    """Straight motions in the place of stretches of the path, wherever they are proved, at random (300 tries)."""
    random = np.random.default_rng(seed)
    kept, refused = list(range(len(path))), set()
    for _ in range(300):
        if len(kept) < 3:
            break
        i, j = sorted(random.choice(len(kept), size=2, replace=False).tolist())
        motion = kept[i], kept[j]
        if j - i < 2 or motion in refused:
            continue
        if validator.check(*path[list(motion)]).valid:
            kept[i + 1 : j] = []
        else:
            refused.add(motion)
    return path[kept]


def _reason(problem: PlanningProblem, check: MotionCheck) -> str:
    if check.pair is None:
        return "is outside the limits"
    wanted = problem.is_wanted[check.pair]
    return f"{problem.name_of(check.pair)} " + ("overlap" if wanted else "are nearer than the clearance")
