# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Prove, rather than sample, that a motion between two states is free of unwanted contact.

Let q move straight from q0 to q1. The distance of the two bodies of pair p changes by no more than

    s_p = sum over joints of v_pj abs(q1_j - q0_j)

with the bounds v of `PlanningProblem.speeds`, and by at most half of that between the middle and either end. So the
whole motion keeps the pair farther apart than its floor f_p if the proved distance at the middle exceeds f_p + s_p / 2.
If it does not, both halves are checked (Schwarzer, Saha, Latombe 2005, here with certified distances). Tunnelling is
impossible: an unproved motion is not valid. The middles of all motions of one size are queried in one call,
largest motions first; this finds contacts early and lets a service answer many states per call. The queries are yes/no
(`verdicts_of`); distances are computed only to name the pair of a failed check.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from superovoid.planning.problem import FloatArray, PlanningProblem
from superovoid.planning.validity import Validity, verdicts_of
from superovoid.states.verdicts import BELOW, CLEAR, FloorVerdicts
from superovoid.values.checks import floats, floats_without_nan
from superovoid.values.records import Record, Statistics

RESOLUTION = 1e-5
"""m. A motion that can bring no pair closer than this is not split further; undecided counts as not valid."""
_ROUNDING = 1e-12  # m, rounding errors of poses computed from a state
_CHUNK = 256  # maximum number of states in one call
_MOST_NUMBERS = 4_000_000  # maximum number of states times pairs in one call


@dataclass(frozen=True, eq=False, repr=False)
class MotionCheck(Record):
    """Result of checking a motion."""

    valid: bool
    """Proved: every state of the motion keeps every pair above its floor."""
    statistics: Statistics
    """``states``: number of examined states."""
    state: FloatArray | None = None
    """If not valid: a state below a floor, outside the limits, or without a proof."""
    pair: int | None = None
    """If not valid: the pair; None if the limits are the reason or the check was stopped."""


class _Outcome(NamedTuple):
    """Result of checking a motion, with the data needed to name the pair."""

    valid: bool
    states: int
    state: FloatArray | None = None
    pair: int | None = None
    least: FloatArray | None = None
    """Distance that each pair must exceed at `state`, m."""


def never_stop() -> bool:
    """Return False; the default of functions that stop a search."""
    return False


class MotionValidator:
    """Proves states, motions and paths of a problem valid.

    Parameters
    ----------
    problem : PlanningProblem
        Joints, pairs and their floors.
    validity : Validity
        Answers the distance queries.
    stop : callable, optional
        Ends a running check when it returns true; what is not proved by then is not valid.
    """

    def __init__(self, problem: PlanningProblem, validity: Validity, stop: Callable[[], bool] = never_stop) -> None:
        self._problem, self._validity, self._stop = problem, validity, stop
        self.states = 0
        """Number of states examined in all calls."""

    def check_state(self, state: ArrayLike) -> MotionCheck:
        """Check whether a state is within the limits and keeps all pairs above their floors."""
        return self._with_pair(self._evaluate_state(state))

    def check(self, start: ArrayLike, end: ArrayLike) -> MotionCheck:
        """Check the straight motion from one state to another, ends included."""
        return self._with_pair(self._evaluate_path([self._state("start", start), self._state("end", end)], None))

    def check_path(self, path: ArrayLike, floors: ArrayLike | None = None) -> MotionCheck:
        """Check all straight motions between the states of a path.

        Parameters
        ----------
        path : array_like, shape (k, joints)
            k at least 2.
        floors : array_like, shape (k - 1, pairs), optional
            Floors of each motion, m; default: those of the problem.
        """
        return self._with_pair(self._evaluate_path(path, floors))

    def is_state_valid(self, state: ArrayLike) -> bool:
        """Return `check_state(state).valid`, without the longer search for the name of a pair."""
        return self._evaluate_state(state).valid

    def is_valid(self, start: ArrayLike, end: ArrayLike) -> bool:
        """Return `check(start, end).valid`, without the name of a pair."""
        return self.is_path_valid([self._state("start", start), self._state("end", end)])

    def is_path_valid(self, path: ArrayLike, floors: ArrayLike | None = None) -> bool:
        """Return `check_path(path, floors).valid`, without the name of a pair."""
        return self._evaluate_path(path, floors).valid

    def _evaluate_state(self, state: ArrayLike) -> _Outcome:
        return self._evaluate_states(self._state("state", state)[None], self._problem.floors[None])

    def _state(self, name: str, state: ArrayLike) -> FloatArray:
        array = floats(name, state)
        if array.shape != (len(self._problem.joints),):
            raise ValueError(f"{name}: must have shape ({len(self._problem.joints)},), found {array.shape}")
        return array

    def _evaluate_path(self, path: ArrayLike, floors: ArrayLike | None) -> _Outcome:
        path = floats("path", path)
        joints = len(self._problem.joints)
        if path.ndim != 2 or len(path) < 2 or path.shape[1] != joints:
            raise ValueError(f"path: must have shape (k, {joints}) with k at least 2, found {path.shape}")
        shape = len(path) - 1, len(self._problem.pairs)
        floors = (
            np.broadcast_to(self._problem.floors, shape) if floors is None else floats_without_nan("floors", floors)
        )
        if floors.shape != shape:
            raise ValueError(f"floors: shape {floors.shape}, expected {shape}, one per motion and pair")
        # At each state, the larger of the floors of the two motions that meet there.
        at_states = np.maximum(np.concatenate([floors[:1], floors]), np.concatenate([floors, floors[-1:]]))
        ends = self._evaluate_states(path, at_states)
        if not ends.valid:
            return ends
        examined = ends.states
        chunk = max(1, min(_CHUNK, _MOST_NUMBERS // max(1, shape[1])))
        waiting = [(path[:-1], path[1:], floors)]  # largest motions first
        while waiting:
            first, last, floors = waiting.pop(0)
            if len(first) > chunk:
                parts = [(first[rows], last[rows], floors[rows]) for rows in (slice(chunk), slice(chunk, None))]
                waiting[:0] = parts
                continue
            middle = 0.5 * (first + last)
            if self._stop():
                return _Outcome(False, examined, middle[0])
            half = 0.5 * self._problem.relative_motions(last - first) + _ROUNDING
            verdicts, pairs = self._query(middle, floors, half)
            examined += len(verdicts)
            if len(verdicts) and verdicts[-1] == BELOW:
                at = len(verdicts) - 1
                return _Outcome(False, examined, middle[at], int(pairs[at]), floors[at])
            short = np.flatnonzero(verdicts != CLEAR)
            largest = 2.0 * half[short].max(axis=1, initial=0.0)
            stuck = short[~((largest >= RESOLUTION) & (largest < np.inf))]  # no number of parts proves infinite bounds
            if len(stuck):
                at = int(stuck[0])
                return _Outcome(False, examined, middle[at], int(pairs[at]), floors[at] + half[at])
            if len(short):
                halves = np.stack([first[short], middle[short]], axis=1), np.stack([middle[short], last[short]], axis=1)
                starts, stops = (half.reshape(-1, path.shape[1]) for half in halves)
                waiting.append((starts, stops, np.repeat(floors[short], 2, axis=0)))
        return _Outcome(True, examined)

    def _evaluate_states(self, states: FloatArray, floors: FloatArray) -> _Outcome:
        outside = ~((states >= self._problem.lower) & (states <= self._problem.upper)).all(axis=1)
        if outside.any():
            floats_without_nan("state", states)
            return _Outcome(False, 0, states[int(np.argmax(outside))])
        verdicts, pairs = self._query(states, floors, np.zeros_like(floors))
        if len(verdicts) and verdicts[-1] != CLEAR:
            at = len(verdicts) - 1
            return _Outcome(False, len(verdicts), states[at], int(pairs[at]), floors[at])
        return _Outcome(True, len(verdicts))

    def _query(self, states: FloatArray, floors: FloatArray, half: FloatArray) -> FloorVerdicts:
        found = verdicts_of(self._validity, states, floors, half)
        self.states += len(found.verdicts)
        return found

    def _with_pair(self, outcome: _Outcome) -> MotionCheck:
        """Return the check, with the nearest of the pairs that violate their bound as its pair."""
        pair = outcome.pair
        if outcome.state is not None and outcome.least is not None:
            found = self._validity.clearances(outcome.state[None], outcome.least.max(initial=0.0, keepdims=True))
            lacking = np.flatnonzero(~(found.lower > outcome.least[found.pair]))
            pair = int(found.pair[lacking[0]]) if len(lacking) else pair
        return MotionCheck(outcome.valid, Statistics(states=outcome.states), outcome.state, pair)
