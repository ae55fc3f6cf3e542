# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Whether a motion between two states is free of unwanted contact: proved, not sampled.

Let q go straight from q0 to q1. No point of one body of pair p moves farther against the other than

    s_p = sum over joints of v_pj abs(q1_j - q0_j)

with the bounds v of `Robot.relative_speeds`, and half of that from the middle to either end. So the whole motion keeps
the pair farther apart than its floor f_p when the proved distance at the middle exceeds f_p + s_p / 2. Where it does
not, both halves are asked (Schwarzer, Saha, Latombe 2005, here with certified distances). There is nothing to tunnel
through: what is not proved is not valid. All middles of one size are asked for in one call, the widest first, which
finds contacts early and lets a service answer many at once. Asked is whether (`verdicts_of`), not how far; distances
are looked at for the name of a pair alone.
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
from superovoid.values.checks import floats
from superovoid.values.records import Record, Statistics

RESOLUTION = 1e-5
"""m. A motion that can bring no pair closer than this is not divided again: undecided counts as not valid."""
_ROUNDING = 1e-12  # m, of poses computed from a state
_CHUNK = 256  # states asked for in one call,
_MOST_NUMBERS = 4_000_000  # fewer where they have more pairs together


@dataclass(frozen=True, eq=False, repr=False)
class MotionCheck(Record):
    """Answer for a motion."""

    valid: bool
    """Proved: every state of the motion keeps every pair above its floor."""
    statistics: Statistics
    """``states``: states that were examined."""
    state: FloatArray | None = None
    """If not valid: a state below a floor or outside the limits, or one without a proof."""
    pair: int | None = None
    """If not valid: the pair; None if the limits are the reason, or the check was stopped."""


class _Look(NamedTuple):
    """Answer for a motion, with what else a name for the pair takes."""

    valid: bool
    states: int
    state: FloatArray | None = None
    pair: int | None = None
    least: FloatArray | None = None
    """m, what the distance of each pair was to exceed there."""


def never() -> bool:
    """Return false: nothing ends what asks this."""
    return False


class MotionValidator:
    """Proves states, motions and paths of a problem.

    Parameters
    ----------
    problem : PlanningProblem
        Joints, pairs and their floors.
    validity : Validity
        Where distances come from.
    stop : callable, optional
        Where it is true a check under way ends: what is not proved by then is not valid.
    """

    def __init__(self, problem: PlanningProblem, validity: Validity, stop: Callable[[], bool] = never) -> None:
        self._problem, self._validity, self._stop = problem, validity, stop
        self.states = 0
        """States looked at so far, by all calls."""

    def check_state(self, state: ArrayLike) -> MotionCheck:
        """Whether a state is within the limits and keeps all pairs above their floors."""
        return self._named(self._look_at_state(state))

    def check(self, start: ArrayLike, end: ArrayLike) -> MotionCheck:
        """Whether the straight motion from one state to another does, ends included."""
        return self._named(self._look_along([self._state("start", start), self._state("end", end)], None))

    def check_path(self, path: ArrayLike, floors: ArrayLike | None = None) -> MotionCheck:
        """Whether all straight motions between the states of a path do.

        Parameters
        ----------
        path : array_like, shape (k, joints)
            k at least 2.
        floors : array_like, shape (k - 1, pairs), optional
            m, of each motion, instead of the problem's.
        """
        return self._named(self._look_along(path, floors))

    def is_state_valid(self, state: ArrayLike) -> bool:
        """`check_state` without the name of a pair, which takes longer to find than that there is one."""
        return self._look_at_state(state).valid

    def is_valid(self, start: ArrayLike, end: ArrayLike) -> bool:
        """`check` without the name of a pair."""
        return self.is_path_valid([self._state("start", start), self._state("end", end)])

    def is_path_valid(self, path: ArrayLike, floors: ArrayLike | None = None) -> bool:
        """`check_path` without the name of a pair."""
        return self._look_along(path, floors).valid

    def _look_at_state(self, state: ArrayLike) -> _Look:
        return self._look_at_states(self._state("state", state)[None], self._problem.floors[None])

    def _state(self, name: str, state: ArrayLike) -> FloatArray:
        array = floats(name, state)
        if array.shape != (len(self._problem.joints),):
            raise ValueError(f"{name}: must have shape ({len(self._problem.joints)},), found {array.shape}")
        return array

    def _look_along(self, path: ArrayLike, floors: ArrayLike | None) -> _Look:
        path = floats("path", path)
        joints = len(self._problem.joints)
        if path.ndim != 2 or len(path) < 2 or path.shape[1] != joints:
            raise ValueError(f"path: must have shape (k, {joints}) with k at least 2, found {path.shape}")
        shape = len(path) - 1, len(self._problem.pairs)
        floors = np.broadcast_to(self._problem.floors, shape) if floors is None else np.asarray(floors, dtype=float)
        if floors.shape != shape:
            raise ValueError(f"floors: shape {floors.shape}, expected {shape}, one a motion and pair")
        # At a state the floors of both motions that meet there.
        at_states = np.maximum(np.concatenate([floors[:1], floors]), np.concatenate([floors, floors[-1:]]))
        ends = self._look_at_states(path, at_states)
        if not ends.valid:
            return ends
        looked = ends.states
        chunk = max(1, min(_CHUNK, _MOST_NUMBERS // max(1, shape[1])))
        waiting = [(path[:-1], path[1:], floors)]  # the widest first
        while waiting:
            first, last, floors = waiting.pop(0)
            if len(first) > chunk:
                parts = [(first[rows], last[rows], floors[rows]) for rows in (slice(chunk), slice(chunk, None))]
                waiting[:0] = parts
                continue
            middle = 0.5 * (first + last)
            if self._stop():
                return _Look(False, looked, middle[0])
            half = 0.5 * np.abs(last - first) @ self._problem.speeds.T + _ROUNDING
            verdicts, pairs = self._ask(middle, floors, half)
            looked += len(verdicts)
            if len(verdicts) and verdicts[-1] == BELOW:
                at = len(verdicts) - 1
                return _Look(False, looked, middle[at], int(pairs[at]), floors[at])
            short = np.flatnonzero(verdicts != CLEAR)
            stuck = short[2.0 * half[short].max(axis=1, initial=0.0) < RESOLUTION]
            if len(stuck):
                at = int(stuck[0])
                return _Look(False, looked, middle[at], int(pairs[at]), floors[at] + half[at])
            if len(short):
                halves = np.stack([first[short], middle[short]], axis=1), np.stack([middle[short], last[short]], axis=1)
                starts, stops = (half.reshape(-1, path.shape[1]) for half in halves)
                waiting.append((starts, stops, np.repeat(floors[short], 2, axis=0)))
        return _Look(True, looked)

    def _look_at_states(self, states: FloatArray, floors: FloatArray) -> _Look:
        outside = ((states < self._problem.lower) | (states > self._problem.upper)).any(axis=1)
        if outside.any():
            return _Look(False, 0, states[int(np.argmax(outside))])
        verdicts, pairs = self._ask(states, floors, np.zeros_like(floors))
        if len(verdicts) and verdicts[-1] != CLEAR:
            at = len(verdicts) - 1
            return _Look(False, len(verdicts), states[at], int(pairs[at]), floors[at])
        return _Look(True, len(verdicts))

    def _ask(self, states: FloatArray, floors: FloatArray, half: FloatArray) -> FloorVerdicts:
        found = verdicts_of(self._validity, states, floors, half)
        self.states += len(found.verdicts)
        return found

    def _named(self, look: _Look) -> MotionCheck:
        """The answer with the nearest of the pairs that lack something, for a person to read."""
        pair = look.pair
        if look.state is not None and look.least is not None:
            found = self._validity.clearances(look.state[None], look.least.max(initial=0.0, keepdims=True))
            lacking = np.flatnonzero(~(found.lower > look.least[found.pair]))
            pair = int(found.pair[lacking[0]]) if len(lacking) else pair
        return MotionCheck(look.valid, Statistics(states=look.states), look.state, pair)
