# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Whether a motion between two states is free of unwanted contact: proved, not sampled.

Let q go straight from q0 to q1. No point of one body of pair p moves farther against the other than

    s_p = sum over joints of v_pj abs(q1_j - q0_j)

with the bounds v of `Robot.relative_speeds`, and half of that from the middle to either end. So the whole motion keeps
the pair farther apart than its floor f_p when the proved distance at the middle exceeds f_p + s_p / 2. Where it does
not, both halves are asked (Schwarzer, Saha, Latombe 2005, here with certified distances). There is nothing to tunnel
through: what is not proved is not valid. All middles of one size are asked for in one call, the widest first, which
finds contacts early and lets a service answer many at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from superovoid_ros.contact.records import Record
from superovoid_ros.planning.problem import FloatArray, PlanningProblem
from superovoid_ros.planning.validity import Validity

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
    states: int
    """States that were looked at."""
    state: FloatArray | None = None
    """Where it is not: a state found below a floor or outside the limits, or where no proof was found."""
    pair: int | None = None
    """And of which pair; None where it is the limits, or the check was stopped."""


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
        return self._check_states(np.asarray(state, dtype=float)[None], self._problem.floors[None])

    def check(self, start: ArrayLike, end: ArrayLike) -> MotionCheck:
        """Whether the straight motion from one state to another does, ends included."""
        return self.check_path(np.stack([np.asarray(start, dtype=float), np.asarray(end, dtype=float)]))

    def check_path(self, path: ArrayLike, floors: ArrayLike | None = None) -> MotionCheck:
        """Whether all straight motions between the states of a path do.

        Parameters
        ----------
        path : array_like, shape (k, joints)
        floors : array_like, shape (k - 1, pairs), optional
            m, of each motion, instead of the problem's.
        """
        path = np.asarray(path, dtype=float)
        shape = len(path) - 1, len(self._problem.pairs)
        floors = np.broadcast_to(self._problem.floors, shape) if floors is None else np.asarray(floors, dtype=float)
        if floors.shape != shape:
            raise ValueError(f"floors: shape {floors.shape}, expected {shape}, one a motion and pair")
        # At a state the floors of both motions that meet there.
        at_states = np.maximum(np.concatenate([floors[:1], floors]), np.concatenate([floors, floors[-1:]]))
        ends = self._check_states(path, at_states)
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
                return MotionCheck(False, looked, middle[0])
            half = 0.5 * np.abs(last - first) @ self._problem.speeds.T + _ROUNDING
            below, open_ = self._look(middle, floors, half)
            looked += len(middle)
            if below is None:
                stuck = [row for row, pair in open_.items() if 2.0 * half[row].max() < RESOLUTION]
                below = (stuck[0], open_[stuck[0]]) if stuck else None
            if below is not None:
                return MotionCheck(False, looked, middle[below[0]], below[1])
            if open_:
                rows = list(open_)
                halves = np.stack([first[rows], middle[rows]], axis=1), np.stack([middle[rows], last[rows]], axis=1)
                starts, stops = (half.reshape(-1, path.shape[1]) for half in halves)
                waiting.append((starts, stops, np.repeat(floors[rows], 2, axis=0)))
        return MotionCheck(True, looked)

    def _check_states(self, states: FloatArray, floors: FloatArray) -> MotionCheck:
        outside = ((states < self._problem.lower) | (states > self._problem.upper)).any(axis=1)
        if outside.any():
            return MotionCheck(False, 0, states[int(np.argmax(outside))])
        below, _ = self._look(states, floors, np.zeros_like(floors))
        if below is not None:
            return MotionCheck(False, len(states), states[below[0]], below[1])
        return MotionCheck(True, len(states))

    def _look(
        self, states: FloatArray, floors: FloatArray, half: FloatArray
    ) -> tuple[tuple[int, int] | None, dict[int, int]]:
        """The first state and pair below a floor, and the states that prove too little, each with such a pair."""
        self.states += len(states)
        needed = floors + half
        found = self._validity.clearances(states, needed.max(axis=1, initial=0.0))
        below = np.flatnonzero(~(found.lower > floors[found.state, found.pair]))
        if len(below):
            return (int(found.state[below[0]]), int(found.pair[below[0]])), {}
        short = ~(found.lower > needed[found.state, found.pair])
        return None, dict(zip(found.state[short].tolist(), found.pair[short].tolist(), strict=True))
