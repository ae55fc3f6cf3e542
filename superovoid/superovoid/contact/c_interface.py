# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Further entry points of the C interface (superovoid.h), which check their arguments; `one_pair` has the first.

Each returns a code, as the functions of `one_pair` do; the caller provides the scratch memory.
"""

from __future__ import annotations

import math

import numpy as np

from superovoid.compiled.arrays import Floats1, Floats2
from superovoid.compiled.kernels import entry_point, kernel
from superovoid.contact.columns import RESULT, RESULT_LENGTH
from superovoid.contact.deciding import decide_from_nothing
from superovoid.contact.impact import LARGEST, LONGEST, SMALLEST, find_impact
from superovoid.contact.jacobians import twist_gradient
from superovoid.contact.one_pair import WORK_LENGTH, scratch_in, take_poses, take_query
from superovoid.contact.pair import UNDECIDED, PlacedBody
from superovoid.shapes.kernels.bodies import MISMATCH, VALID

THRESHOLD, DURATION, EVALUATIONS, MOTION_A, MOTION_B = 3, 6, 7, 26, 36


@entry_point(nogil=True)
def decide_pair(a: PlacedBody, b: PlacedBody, threshold: float, tolerance: float, work: Floats1) -> tuple[int, int]:
    """Decide whether the signed distance is below a threshold; return a code, and CLOSER, FARTHER or UNDECIDED."""
    if work.shape[0] != WORK_LENGTH:
        return MISMATCH, UNDECIDED
    scratch = scratch_in(work)
    found, first, second = take_query(a, b, tolerance, scratch)
    if found == VALID and not math.isfinite(threshold):
        found = THRESHOLD
    if found != VALID:
        return found, UNDECIDED
    scratch.direction[:] = 0.0
    return VALID, decide_from_nothing(first, second, threshold, tolerance, scratch, scratch.verdict)


@entry_point(nogil=True)
def differentiate(out: Floats1, pose_a: Floats2, pose_b: Floats2, work: Floats1, by_poses: Floats2) -> int:
    """Compute the derivatives of a distance (a result row) by the poses, as `pose_gradients`, shape (2, 6)."""
    if work.shape[0] != WORK_LENGTH or out.shape[0] != RESULT_LENGTH:
        return MISMATCH
    found = take_poses(pose_a, pose_b, scratch_in(work))
    if found != VALID:
        return found
    for body in range(2):
        pose, point, sign = (pose_a, RESULT.point_a, -1.0) if body == 0 else (pose_b, RESULT.point_b, 1.0)
        linear, angular = twist_gradient(out, pose, point, sign)
        for i in range(3):
            by_poses[body, i], by_poses[body, 3 + i] = linear[i], angular[i]
    return VALID


@kernel
def _take_motion(given, start, motion):
    """Fill in a motion for `find_impact` from velocity, angular velocity and their point; return whether it is one."""
    for i in range(9):
        value = given[i]
        if not abs(value) <= LARGEST:
            return False
        value = 0.0 if abs(value) < SMALLEST else value
        if i < 6:
            motion[3 + i] = value
        else:
            motion[i - 6] = start[i - 6, 3] - value
    return True


@entry_point(nogil=True, _nrt=True)
def time_impact(
    a: PlacedBody,
    b: PlacedBody,
    motions: Floats2,
    end: float,
    tolerance: float,
    most: int,
    work: Floats1,
    out: Floats1,
) -> tuple[int, int, float, float, int]:
    """Compute the first time at which two moving bodies touch, as `time_of_impact`.

    Parameters
    ----------
    a, b : PlacedBody
        At time 0.
    motions : array, shape (2, 9)
        For each body: velocity of a point, angular velocity, and that point at time 0.
    end : float
    tolerance : float
    most : int
        Largest number of evaluations of the distance.
    work : array, shape (WORK_LENGTH,)
    out : array, shape (RESULT_LENGTH,)

    Returns
    -------
    code, status, time, time of a proved overlap, evaluations
    """
    if work.shape[0] != WORK_LENGTH or out.shape[0] != RESULT_LENGTH:
        return MISMATCH, 0, 0.0, 0.0, 0
    scratch = scratch_in(work)
    found, _, _ = take_query(a, b, tolerance, scratch)
    if found == VALID:
        if not 0.0 < end <= LONGEST:
            found = DURATION
        elif most < 1:
            found = EVALUATIONS
    first = PlacedBody(a.row, a.pool, scratch.pose_a.copy())
    second = PlacedBody(b.row, b.pool, scratch.pose_b.copy())
    motion_a, motion_b = np.empty(9), np.empty(9)
    if found == VALID and not _take_motion(motions[0], first.pose, motion_a):
        found = MOTION_A
    if found == VALID and not _take_motion(motions[1], second.pose, motion_b):
        found = MOTION_B
    if found != VALID:
        return found, 0, 0.0, 0.0, 0
    status, time, overlap, solves, _ = find_impact(
        first, second, motion_a, motion_b, end, tolerance, most, scratch, out
    )
    return VALID, status, time, overlap, solves
