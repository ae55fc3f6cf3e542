# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Improve postures and paths with the gradients of the distances.

A **grasp** is the posture near a guess in which every wanted contact is as near as `gap` and all other pairs keep their
clearance. A **path** is shortened and kept away from contact: the variables are its inner states x_1 ... x_(N-1), and
the objective to minimise is

    N sum over k of |W (x_(k+1) - x_k)|^2 + mu sum over k and p of max(0, t_pk - d_p(x_k))^2

with the weights W of `PlanningProblem.weights`, the signed distances d_p and their targets t_pk: the margin, or less
near the ends of the path (`targets_along`). The first sum is the squared length of the path if its states are evenly
spaced, and its minimum makes them so. mu grows, and states between the x_k join the second sum, until
`MotionValidator` proves that the motions keep `KEPT` of the targets; no path is returned without this proof.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from superovoid.planning.motion_check import MotionCheck, MotionValidator
from superovoid.planning.problem import FloatArray, PlanningError, PlanningProblem
from superovoid.planning.validity import Validity
from superovoid.values.records import Record, Statistics

KEPT = 0.9
"""Fraction of the targets proved for an optimised path."""
_MOST_PARTS = 8
_FIRST_REACH = 0.05  # m, initial search distance for the pairs of wanted contacts


def grasp(problem: PlanningProblem, validity: Validity, guess: ArrayLike, gap: float = 2e-4) -> FloatArray:
    """Find a posture near a guess that makes all wanted contacts.

    Parameters
    ----------
    problem : PlanningProblem
        Brings its `wanted` pairs together; all others keep their clearance.
    validity : Validity
        Answers the queries for distances and gradients.
    guess : array_like, shape (joints,)
        Initial posture.
    gap : float
        Distance that counts as contact, m; choose it so small that rounding and the softness of skin bridge it.

    Returns
    -------
    array, shape (joints,)
        A posture with the closest pair of every wanted entry within (0, 2 `gap`), all other pairs above their floors.

    Raises
    ------
    PlanningError
        If there is none near the guess; the message names the missed contact or the pair closer than its floor.
    """
    from scipy.optimize import minimize  # imported late because it is slow and most programs do not need it

    if not problem.wanted:
        raise ValueError("problem.wanted: is empty, expected the contacts of the grasp")
    if not gap > 0.0:
        raise ValueError(f"gap = {gap!r}: must be positive")
    x0 = problem.check_state("guess", guess)
    # Aim slightly above the floor, because the result must be valid and not lie on the boundary.
    targets = np.where(problem.is_wanted, gap, 1.1 * problem.clearance + 1e-5)
    reach = _FIRST_REACH

    def pairs_in_reach(x: FloatArray, gradients: bool) -> tuple[FloatArray, FloatArray]:
        """Return distances and gradients of all pairs in reach; enlarge the reach to include every wanted contact."""
        nonlocal reach
        while True:
            found = validity.clearances(x[None], np.array([reach]), gradients=gradients)
            distance = np.full(len(problem.pairs), np.inf)
            gradient = np.zeros((len(problem.pairs), len(x)))
            distance[found.pair], gradient[found.pair] = found.distance, found.gradient if gradients else 0.0
            farthest = max(distance[row].min() for row in problem.wanted_pairs)
            if farthest < np.inf:
                reach = max(2.0 * farthest, 2.0 * targets.max())
                return distance, gradient
            reach *= 4.0

    def value(x: FloatArray) -> tuple[float, FloatArray]:
        distance, gradient = pairs_in_reach(x, gradients=True)
        total, slope = 0.0, 1e-6 * problem.weights**2 * (x - x0)
        total += 0.5 * float((x - x0) @ slope)
        for row in problem.wanted_pairs:
            nearest = int(np.argmin(np.where(row, distance, np.inf)))
            error = distance[nearest] - gap
            total, slope = total + 0.5 * error**2, slope + error * gradient[nearest]
        short = np.minimum(distance - targets, 0.0)
        short[problem.is_wanted] = 0.0
        total += 50.0 * float(short @ short)
        return 1e6 * total, 1e6 * (slope + 100.0 * short @ gradient)

    bounds = list(zip(*problem.limits, strict=True))
    scale = 1.0 / problem.weights
    for _ in range(4):
        # Scale the variables to metres of the weights, so that joints of palm and fingers count alike.
        found = minimize(
            lambda y: _evaluate_scaled(value, y, scale),
            x0 / scale,
            jac=True,
            method="L-BFGS-B",
            bounds=[(low / s, high / s) for (low, high), s in zip(bounds, scale, strict=True)],
            options={"maxiter": 500, "maxcor": 30, "ftol": 1e-14, "gtol": 1e-9},
        )
        x0 = np.clip(found.x * scale, *problem.limits)
    distance, _ = pairs_in_reach(x0, gradients=False)
    for (a, b), row in zip(problem.wanted, problem.wanted_pairs, strict=True):
        nearest = distance[row].min()
        if not 0.0 < nearest < 2.0 * gap:
            raise PlanningError(f"no grasp near the guess: {a} and {b} are {1e3 * nearest:.2f} mm apart")
    check = MotionValidator(problem, validity).check_state(x0)
    if not check.valid:
        where = "it is outside the limits"
        if check.pair is not None:
            where = f"{problem.name_of(check.pair)} are too near each other"
        raise PlanningError(f"no grasp near the guess: {where}")
    return x0


def retreat(problem: PlanningProblem, validity: Validity, state: ArrayLike, clearance: float = 0.006) -> FloatArray:
    """Move a posture out of contact until everything is clear; random steps of a planner rarely find such a motion.

    Parameters
    ----------
    problem : PlanningProblem
        Problem of the posture.
    validity : Validity
        Answers the queries for distances and gradients.
    state : array_like, shape (joints,)
        A valid posture.
    clearance : float
        Distance to reach, m, for the wanted pairs and all others with an obstacle. All other pairs, such as
        neighbouring fingers, only have to come no nearer than they are.

    Returns
    -------
    array, shape (k, joints)
        States from the posture on; every motion is proved. If blocked, the path ends before everything is clear.

    Raises
    ------
    PlanningError
        If no first step can be proved.
    """
    from scipy.optimize import minimize

    path = [problem.check_state("state", state)]
    validator = MotionValidator(problem, validity)
    scale, reach = 1.0 / problem.weights, np.array([clearance])
    most = _capped_distances(problem, validity, path[0][None], clearance)[0]
    most[problem.is_wanted | (problem.pairs >= len(problem.robot.bodies)).any(axis=1)] = clearance

    def value(y: FloatArray, y0: FloatArray, target: float) -> tuple[float, FloatArray]:
        found = validity.clearances((y * scale)[None], reach, gradients=True)
        short = np.minimum(found.distance - np.minimum(target, most[found.pair]), 0.0)
        away = y - y0
        slope = 1e-3 * away + 100.0 * (short @ found.gradient) * scale
        return 1e6 * float(0.5e-3 * away @ away + 50.0 * short @ short), 1e6 * slope

    bounds = np.column_stack([limit * problem.weights for limit in problem.limits])
    # Begin with small steps, then grow; shrink the growth if a motion is not proved.
    reached, growth = clearance / 32.0, 2.0
    while reached < clearance and growth > 1.05:
        y0, target = path[-1] * problem.weights, min(reached * growth, clearance)
        found = minimize(value, y0, args=(y0, target), jac=True, method="L-BFGS-B", bounds=bounds)
        x = np.clip(found.x * scale, *problem.limits)
        if validator.is_valid(path[-1], x):
            path.append(x)
            reached = target
        else:
            growth = growth**0.5
    if len(path) == 1:
        raise PlanningError("no retreat from the posture is proved, not even a short one")
    return np.array(path)


def _evaluate_scaled(value: Callable, y: FloatArray, scale: FloatArray) -> tuple[float, FloatArray]:
    total, slope = value(y * scale)
    return total, slope * scale


@dataclass(frozen=True, eq=False, repr=False)
class OptimisedPath(Record):
    """A shortened path, proved valid."""

    states: FloatArray
    """Shape (n, joints)."""
    floors: FloatArray
    """Distance that each pair is proved to exceed on each motion, shape (n - 1, pairs), m."""
    check: MotionCheck
    statistics: Statistics
    """``rounds``: number of optimisations; ``evaluations`` of the objective, each for all inner states."""


def _capped_distances(problem: PlanningProblem, validity: Validity, states: FloatArray, most: float) -> FloatArray:
    """Return the lower bound of each pair's distance in each state, capped at `most`: shape (states, pairs), m."""
    distance = np.full((len(states), len(problem.pairs)), most)
    found = validity.clearances(states, np.full(len(states), most))
    np.minimum.at(distance, (found.state, found.pair), found.lower)
    return distance


def targets_along(
    problem: PlanningProblem, validity: Validity, path: FloatArray, margin: float, opening: float
) -> FloatArray:
    """Return the target distance of each pair at each state of a path, shape (k, pairs), m.

    The target is the margin. For a pair nearer than that at one end, it is the distance there plus `opening` per metre
    of path from that end; for a pair nearer at both ends, the smaller of its two distances.
    """
    ends = _capped_distances(problem, validity, path[[0, -1]], margin)
    along = problem.path_lengths(path)[:, None]
    grown = np.minimum(ends[0] + opening * along, ends[1] + opening * (along[-1] - along))
    both = (ends < margin).all(axis=0)
    return np.minimum(np.where(both, ends.min(axis=0), grown), margin)


def resample(problem: PlanningProblem, path: ArrayLike, count: int) -> FloatArray:
    """Return states of a path evenly spaced in the metric of the weights, shape (count, joints)."""
    path = np.asarray(path, dtype=float)
    along = problem.path_lengths(path)
    keep = np.concatenate([[True], np.diff(along) > 0.0])
    at = np.linspace(0.0, along[-1], count)
    return np.column_stack([np.interp(at, along[keep], column[keep]) for column in path.T])


def optimise_path(
    problem: PlanningProblem,
    validity: Validity,
    path: ArrayLike,
    *,
    margin: float = 0.003,
    opening: float = 0.1,
    states: int = 41,
    rounds: int = 6,
    on_round: Callable[[int], None] | None = None,
) -> OptimisedPath:
    """Shorten a path and keep a margin of distance along it.

    Parameters
    ----------
    problem : PlanningProblem
        Problem of the path.
    validity : Validity
        Answers the queries for distances and gradients.
    path : array_like, shape (k, joints)
        Path to shorten; its first and last state are kept.
    margin : float
        Target distance of all pairs, m; less near the ends for pairs nearer there (`targets_along`).
    opening : float
        Rate at which the target of such a pair grows from that end, m per metre of path.
    states : int
        Number of states of the optimised path.
    rounds : int
        Maximum number of optimisations; each multiplies the weight of the margin by ten and checks more states.
    on_round : callable, optional
        Called with the number of each round.

    Returns
    -------
    OptimisedPath
        Path proved to keep `KEPT` of the targets.

    Raises
    ------
    PlanningError
        If no round gives a path that can be proved.
    """
    from scipy.optimize import minimize

    problem.check_margin(margin)
    if states < 3:
        raise ValueError(f"states = {states}: must be at least 3")
    given = problem.check_path(path)
    x = resample(problem, given, states)
    ends, scale = x[[0, -1]] * problem.weights, 1.0 / problem.weights
    low, high = (np.tile(limit / scale, states - 2) for limit in problem.limits)
    evaluations = 0

    def value(flat: FloatArray, mu: float, targets: FloatArray, part: FloatArray) -> tuple[float, FloatArray]:
        nonlocal evaluations
        evaluations += 1
        y = np.concatenate([ends[:1], flat.reshape(states - 2, -1), ends[1:]])
        steps = np.diff(y, axis=0)
        total = (states - 1) * float((steps**2).sum())
        slope = np.zeros_like(y)
        slope[1:-1] = 2.0 * (states - 1) * (steps[:-1] - steps[1:])
        examined = (y[:-1, None] + part[:, None] * steps[:, None]).reshape(-1, y.shape[1])
        found = validity.clearances(examined * scale, np.full(len(examined), margin), gradients=True)
        assert found.gradient is not None  # requested above
        short = np.minimum(found.distance - targets[found.state, found.pair], 0.0)
        near = short < 0.0
        total += mu * float(short @ short)
        push = 2.0 * mu * short[near, None] * found.gradient[near] * scale
        motion, share = found.state[near] // len(part), part[found.state[near] % len(part), None]
        np.add.at(slope, motion, (1.0 - share) * push)
        np.add.at(slope, motion + 1, share * push)
        return total, slope[1:-1].ravel()

    validator, check, mu = MotionValidator(problem, validity), MotionCheck(False, Statistics(states=0)), 1e3
    for number in range(rounds):
        if on_round is not None:
            on_round(number)
        # Evaluate the first state of each motion, and in later rounds also states in between, to catch cut corners.
        part = np.arange(min(2**number, _MOST_PARTS)) / min(2**number, _MOST_PARTS)
        steps = np.diff(x, axis=0)[:, None]
        examined = np.concatenate([(x[:-1, None] + part[:, None] * steps).reshape(-1, x.shape[1]), x[-1:]])
        targets = targets_along(problem, validity, examined, margin, opening)
        found = minimize(
            value,
            (x[1:-1] * problem.weights).ravel(),
            args=(mu, targets[:-1], part),
            jac=True,
            method="L-BFGS-B",
            bounds=np.column_stack([low, high]),
            options={"maxiter": 150, "maxcor": 20},
        )
        x[1:-1] = np.clip(found.x.reshape(states - 2, -1) * scale, *problem.limits)
        at_states = targets[:: len(part)]
        floors = np.maximum(KEPT * np.minimum(at_states[:-1], at_states[1:]), problem.floors)
        check = validator.check_path(x, floors)
        if check.valid:
            return OptimisedPath(x, floors, check, Statistics(rounds=number + 1, evaluations=evaluations))
        mu *= 10.0
    where = "the limits" if check.pair is None else problem.name_of(check.pair)
    raise PlanningError(
        f"no proof of {KEPT:.0%} of the margin of {1e3 * margin:g} mm after {rounds} rounds: it fails at {where}"
    )
