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
from superovoid.compiled.kernels import bundle, entry_point, kernel
from superovoid.compiled.rows import layout
from superovoid.contact.columns import RESULT_LENGTH, STATE_LENGTH, VERDICT_LENGTH
from superovoid.contact.compounds import solve_within
from superovoid.contact.inputs import SEARCH_BUDGET
from superovoid.contact.pair import Limit, PlacedBody
from superovoid.shapes.kernels.bodies import MISMATCH, VALID
from superovoid.shapes.kernels.kinds import ROW_LENGTH, PackedBody
from superovoid.shapes.kernels.rounding import RIGID, take_pose
from superovoid.values.checks import MOST_LENGTH

RTOL, POSE_A, POSE_B = 2, 20, 30
# The parts of a `Scratch`.
_AT, WORK_LENGTH = layout(
    1,
    pose_a=16,
    pose_b=16,
    rotation=9,
    result=RESULT_LENGTH,
    verdict=VERDICT_LENGTH,
    direction=3,
    state=STATE_LENGTH,
    inner_a=ROW_LENGTH,
    inner_b=ROW_LENGTH,
)
STATE = slice(_AT.state, _AT.inner_a)
"""Part of the scratch: the state after an answer, for the next one of the pair."""


class Scratch(NamedTuple):
    """Memory for one query."""

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
        work[_AT.pose_a : _AT.pose_b].reshape(4, 4),
        work[_AT.pose_b : _AT.rotation].reshape(4, 4),
        work[_AT.rotation : _AT.result].reshape(3, 3),
        work[_AT.result : _AT.verdict],
        work[_AT.verdict : _AT.direction],
        work[_AT.direction : _AT.state],
        work[_AT.state : _AT.inner_a],
        work[_AT.inner_a : _AT.inner_b],
        work[_AT.inner_b : WORK_LENGTH],
    )


@kernel
def take_poses(pose_a, pose_b, scratch):
    """Copy two poses to the scratch; return a code."""
    found = take_pose(pose_a, scratch.pose_a)
    if found != RIGID:
        return POSE_A + found
    found = take_pose(pose_b, scratch.pose_b)
    return VALID if found == RIGID else POSE_B + found


@kernel
def take_query(a, b, tolerance, scratch):
    """Check a query about two `PlacedBody`; return a code, and the bodies with their poses in the scratch."""
    first, second = PlacedBody(a.row, a.pool, scratch.pose_a), PlacedBody(b.row, b.pool, scratch.pose_b)
    if a.row.shape[0] != ROW_LENGTH or b.row.shape[0] != ROW_LENGTH:
        return MISMATCH, first, second
    if not 1e-12 <= tolerance <= MOST_LENGTH:
        return RTOL, first, second
    return take_poses(a.pose, b.pose, scratch), first, second


@kernel
def solve_from_nothing(first, second, tolerance, scratch, out):
    """Solve two bodies (`PlacedBody`) without storing a state for a later answer."""
    scratch.state[:] = 0.0
    solve_within(
        first, second, Limit(tolerance, SEARCH_BUDGET, math.inf, -math.inf), scratch.state, scratch.rotation, out
    )


@bundle
class Question(NamedTuple):
    """Memory for a question about one pair and its answer."""

    pose_a: Floats2
    """as it was given, shape (4, 4)"""
    pose_b: Floats2
    work: Floats1
    """shape (WORK_LENGTH,); its part `STATE` is what the last answer has left, zeros for none; renewed"""
    out: Floats1
    """shape (RESULT_LENGTH,)"""


@entry_point
def answer_pair(a: PackedBody, b: PackedBody, tolerance: float, question: Question) -> int:
    """Solve a pair at the poses of a `Question`; fill in its `out`."""
    work, out = question.work, question.out
    if work.shape[0] != WORK_LENGTH or out.shape[0] != RESULT_LENGTH:
        return MISMATCH
    scratch = scratch_in(work)
    placed_a, placed_b = PlacedBody(a.row, a.pool, question.pose_a), PlacedBody(b.row, b.pool, question.pose_b)
    found, first, second = take_query(placed_a, placed_b, tolerance, scratch)
    if found == VALID:
        limit = Limit(tolerance, SEARCH_BUDGET, math.inf, -math.inf)
        solve_within(first, second, limit, scratch.state, scratch.rotation, out)
    return found
