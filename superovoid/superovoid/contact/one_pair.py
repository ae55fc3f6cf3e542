# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Entry points that check their arguments and solve one pair of bodies, for `distance` and for superovoid.h.

Each returns a code of `superovoid.h`: VALID, or that of the first invalid argument; for a pose POSE_A or POSE_B plus
the code of `rounding.take_pose`. The caller provides scratch memory, so that a call allocates none unless a pair is
searched.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.arrays import Floats1, Floats2
from superovoid.compiled.kernels import entry_point, kernel
from superovoid.contact.columns import RESULT_LENGTH, STATE_LENGTH, VERDICT_LENGTH
from superovoid.contact.inputs import SEARCH_BUDGET
from superovoid.contact.kind_table import solve_within
from superovoid.contact.pair import Asked, Limit, Placed
from superovoid.shapes.kernels.bodies import MISMATCH, VALID
from superovoid.shapes.kernels.kinds import ROW_LENGTH, Packed
from superovoid.shapes.kernels.rounding import RIGID, take_pose
from superovoid.values.checks import MOST_LENGTH

RTOL, POSE_A, POSE_B = 2, 20, 30
# Places of the scratch.
_POSE_A, _POSE_B, _ROTATION, _RESULT = 0, 16, 32, 41
_VERDICT = _RESULT + RESULT_LENGTH
_DIRECTION = _VERDICT + VERDICT_LENGTH
_STATE = _DIRECTION + 3
_INNER_A = _STATE + STATE_LENGTH
_INNER_B = _INNER_A + ROW_LENGTH
WORK_LENGTH = _INNER_B + ROW_LENGTH
STATE = slice(_STATE, _INNER_A)
"""Of the scratch: what `answer_pair` leaves of a pair."""


class Scratch(NamedTuple):
    """Memory for one question."""

    pose_a: NDArray[np.float64]
    pose_b: NDArray[np.float64]
    rotation: NDArray[np.float64]
    result: NDArray[np.float64]
    verdict: NDArray[np.float64]
    direction: NDArray[np.float64]
    state: NDArray[np.float64]
    inner_a: NDArray[np.float64]  # rows of bodies
    inner_b: NDArray[np.float64]


@kernel
def scratch_in(work):
    """Return the parts of some memory."""
    return Scratch(
        work[_POSE_A : _POSE_A + 16].reshape(4, 4),
        work[_POSE_B : _POSE_B + 16].reshape(4, 4),
        work[_ROTATION : _ROTATION + 9].reshape(3, 3),
        work[_RESULT : _RESULT + RESULT_LENGTH],
        work[_VERDICT : _VERDICT + VERDICT_LENGTH],
        work[_DIRECTION : _DIRECTION + 3],
        work[_STATE : _STATE + STATE_LENGTH],
        work[_INNER_A : _INNER_A + ROW_LENGTH],
        work[_INNER_B : _INNER_B + ROW_LENGTH],
    )


@kernel
def take_poses(pose_a, pose_b, scratch):
    """Copy two poses to the scratch; return what is wrong."""
    found = take_pose(pose_a, scratch.pose_a)
    if found != RIGID:
        return POSE_A + found
    found = take_pose(pose_b, scratch.pose_b)
    return VALID if found == RIGID else POSE_B + found


@kernel
def take(a, b, tolerance, scratch):
    """Check a question and copy its poses to the scratch; return what is wrong."""
    if a.body.row.shape[0] != ROW_LENGTH or b.body.row.shape[0] != ROW_LENGTH:
        return MISMATCH
    if not 1e-12 <= tolerance <= MOST_LENGTH:
        return RTOL
    return take_poses(a.pose, b.pose, scratch)


@kernel
def solve_from_nothing(first, second, tolerance, scratch, out):
    """Answer two bodies (`Placed`); nothing is kept that only a later answer would need."""
    scratch.state[:] = 0.0
    solve_within(
        first, second, Limit(tolerance, SEARCH_BUDGET, math.inf, -math.inf), scratch.state, scratch.rotation, out
    )


@entry_point
def answer_pair(
    a: Packed, pose_a: Floats2, b: Packed, pose_b: Floats2, tolerance: float, work: Floats1, out: Floats1
) -> int:
    """Solve a pair without a warm start.

    Parameters
    ----------
    a, b : Packed
    pose_a, pose_b : array, shape (4, 4)
        As they were given.
    tolerance : float
    work : array, shape (WORK_LENGTH,)
    out : array, shape (RESULT_LENGTH,)
    """
    if work.shape[0] != WORK_LENGTH or out.shape[0] != RESULT_LENGTH:
        return MISMATCH
    scratch = scratch_in(work)
    found = take(Asked(a, pose_a), Asked(b, pose_b), tolerance, scratch)
    if found == VALID:
        first, second = Placed(a.row, a.pool, scratch.pose_a), Placed(b.row, b.pool, scratch.pose_b)
        solve_from_nothing(first, second, tolerance, scratch, out)
    return found


@entry_point(nogil=True)
def answer_again(a: Asked, b: Asked, tolerance: float, state: Floats1, work: Floats1, out: Floats1) -> int:
    """Answer a pair from what its last answer has left in `state`, zeros for none."""
    if work.shape[0] != WORK_LENGTH or out.shape[0] != RESULT_LENGTH or state.shape[0] != STATE_LENGTH:
        return MISMATCH
    scratch = scratch_in(work)
    found = take(a, b, tolerance, scratch)
    if found == VALID:
        first = Placed(a.body.row, a.body.pool, scratch.pose_a)
        second = Placed(b.body.row, b.body.pool, scratch.pose_b)
        limit = Limit(tolerance, SEARCH_BUDGET, math.inf, -math.inf)
        solve_within(first, second, limit, state, scratch.rotation, out)
    return found
