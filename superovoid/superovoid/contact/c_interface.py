# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Further entry points of the C interface (superovoid.h), beside `one_pair`: arguments are checked, and answered.

Each returns a code of `superovoid.h`: VALID, or the first thing that is wrong; of a pose POSE_A or POSE_B plus what
`rounding.take_pose` finds. Scratch memory is the caller's, so that a question takes none from the system unless a
pair is searched.
"""

from __future__ import annotations

import math

import numpy as np

from superovoid.compiled.arrays import Floats1, Floats2
from superovoid.compiled.kernels import entry_point, kernel
from superovoid.compiled.vector import cross, norm
from superovoid.contact.columns import (
    NORMAL,
    POINT_A,
    POINT_B,
    RESULT_LENGTH,
    STATUS,
    UPPER,
)
from superovoid.contact.deciding import decide_within
from superovoid.contact.impact import (
    GIVEN_UP,
    IMPACT,
    LARGEST,
    LONGEST,
    SMALLEST,
    STARTS_IN_CONTACT,
    find_impact,
    pose_at,
)
from superovoid.contact.inputs import SEARCH_BUDGET
from superovoid.contact.one_pair import WORK_LENGTH, scratch_in, solve_from_nothing, take, take_poses
from superovoid.contact.pair import Asked, Limit, Placed, Posed
from superovoid.contact.thresholds import (
    ANSWER,
    CLOSER,
    FARTHER,
    UNDECIDED,
    WITHIN,
    compare_pair,
)
from superovoid.shapes.kernels.bodies import MISMATCH, VALID
from superovoid.shapes.kernels.kinds import KIND, ROW_LENGTH, SUPEROVOID
from superovoid.shapes.kernels.packing import pack
from superovoid.shapes.kernels.rounding import allowance
from superovoid.shapes.kernels.surface import A1, A2, A3, DENTED, INV_P, INV_S, RADIUS, TX, TY
from superovoid.values.status import UNPROVEN

THRESHOLD, DURATION, EVALUATIONS, KINDS, MOTION_A, MOTION_B = 3, 6, 7, 17, 26, 36


@kernel
def _fill_inside(row, inner):
    """Fill the row of a convex body inside a superovoid with a dent (`thresholds.body_inside`); copy other bodies."""
    if not (row[KIND] == SUPEROVOID and row[DENTED] != 0.0):
        for i in range(ROW_LENGTH):
            inner[i] = row[i]
        return
    inner[:] = 0.0
    x, y = WITHIN * row[A1] * (1.0 - abs(row[TX])), WITHIN * row[A2] * (1.0 - abs(row[TY]))
    pack(inner, x, y, row[A3], 2.0 * row[INV_P], 2.0 * row[INV_S], 0.0, 0.0)


@kernel
def _verdict(a, b, threshold, tolerance, scratch):
    pose_a, pose_b = scratch.pose_a, scratch.pose_b
    apart = norm((pose_b[0, 3] - pose_a[0, 3], pose_b[1, 3] - pose_a[1, 3], pose_b[2, 3] - pose_a[2, 3]))
    radius_a, radius_b = a.body.row[RADIUS], b.body.row[RADIUS]
    if apart - radius_a - radius_b - allowance(radius_a, radius_b, apart) >= threshold:
        return FARTHER
    state, rotation, result, verdict = scratch.state, scratch.rotation, scratch.result, scratch.verdict
    state[:] = 0.0
    limit = Limit(tolerance, SEARCH_BUDGET, math.inf)
    if a.body.row[KIND] == SUPEROVOID and b.body.row[KIND] == SUPEROVOID:
        scratch.direction[:] = 0.0
        first, second = Posed(a.body.row, pose_a), Posed(b.body.row, pose_b)
        compare_pair(first, second, threshold, limit, scratch.direction, state, (rotation, result), verdict)
        found = int(verdict[ANSWER])
    else:
        placed_a, placed_b = Placed(a.body.row, a.body.pool, pose_a), Placed(b.body.row, b.body.pool, pose_b)
        found = decide_within(placed_a, placed_b, threshold, limit, 0.0, state, rotation, result)
    if found == UNDECIDED and (a.body.row[DENTED] != 0.0 or b.body.row[DENTED] != 0.0):
        _fill_inside(a.body.row, scratch.inner_a)
        _fill_inside(b.body.row, scratch.inner_b)
        solve_from_nothing(scratch.inner_a, a.body.pool, scratch.inner_b, b.body.pool, tolerance, scratch, result)
        if result[UPPER] < threshold:
            found = CLOSER
    return found


@entry_point(nogil=True)
def decide_pair(a: Asked, b: Asked, threshold: float, tolerance: float, work: Floats1) -> tuple[int, int]:
    """Whether the signed distance is below a threshold: a code, and CLOSER, FARTHER or UNDECIDED."""
    if work.shape[0] != WORK_LENGTH:
        return MISMATCH, UNDECIDED
    scratch = scratch_in(work)
    found = take(a, b, tolerance, scratch)
    if found == VALID and not math.isfinite(threshold):
        found = THRESHOLD
    return found, (_verdict(a, b, threshold, tolerance, scratch) if found == VALID else UNDECIDED)


@entry_point(nogil=True)
def differentiate(out: Floats1, pose_a: Floats2, pose_b: Floats2, work: Floats1, by_poses: Floats2) -> int:
    """Derivatives of a distance (a result row) by the poses, as `pose_gradients` has them, shape (2, 6)."""
    if work.shape[0] != WORK_LENGTH or out.shape[0] != RESULT_LENGTH:
        return MISMATCH
    found = take_poses(pose_a, pose_b, scratch_in(work))
    if found != VALID:
        return found
    n = (out[NORMAL], out[NORMAL + 1], out[NORMAL + 2])
    for body in range(2):
        pose, point, sign = (pose_a, POINT_A, -1.0) if body == 0 else (pose_b, POINT_B, 1.0)
        arm = (out[point] - pose[0, 3], out[point + 1] - pose[1, 3], out[point + 2] - pose[2, 3])
        turn = cross(arm, n)
        for i in range(3):
            by_poses[body, i], by_poses[body, 3 + i] = sign * n[i], sign * turn[i]
    return VALID


@kernel
def _take_motion(given, start, motion):
    """Fill in a motion as `find_impact` takes it from velocity, angular velocity and the point they are of.

    Return whether it is one.
    """
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
    a: Asked,
    b: Asked,
    motions: Floats2,
    end: float,
    tolerance: float,
    most: int,
    work: Floats1,
    out: Floats1,
) -> tuple[int, int, float, float, int]:
    """First time at which two moving superovoids touch, as `time_of_impact` finds it.

    Parameters
    ----------
    a, b : Asked
        At time 0.
    motions : array, shape (2, 9)
        Of each body: velocity of a point, angular velocity, and that point at time 0.
    end : float
    tolerance : float
    most : int
        Evaluations of the distance after which to give up.
    work : array, shape (WORK_LENGTH,)
    out : array, shape (RESULT_LENGTH,)

    Returns
    -------
    code, status, time, time of a proved overlap, evaluations
    """
    if work.shape[0] != WORK_LENGTH or out.shape[0] != RESULT_LENGTH:
        return MISMATCH, 0, 0.0, 0.0, 0
    scratch = scratch_in(work)
    found = take(a, b, tolerance, scratch)
    start_a, start_b = scratch.pose_a.copy(), scratch.pose_b.copy()
    motion_a, motion_b = np.empty(9), np.empty(9)
    if found == VALID:
        if a.body.row[KIND] != SUPEROVOID or b.body.row[KIND] != SUPEROVOID:
            found = KINDS
        elif not 0.0 < end <= LONGEST:
            found = DURATION
        elif most < 1:
            found = EVALUATIONS
        elif not _take_motion(motions[0], start_a, motion_a):
            found = MOTION_A
        elif not _take_motion(motions[1], start_b, motion_b):
            found = MOTION_B
    if found != VALID:
        return found, 0, 0.0, 0.0, 0
    # Seen from where A starts, as `time_of_impact` does.
    origin = (start_a[0, 3], start_a[1, 3], start_a[2, 3])
    for i in range(3):
        start_a[i, 3] -= origin[i]
        start_b[i, 3] -= origin[i]
    limit = Limit(tolerance, SEARCH_BUDGET, math.inf)
    status, time, overlap, solves, _ = find_impact(
        a.body.row, b.body.row, start_a, start_b, motion_a, motion_b, end, limit, most, out
    )
    for i in range(3):
        out[POINT_A + i] += origin[i]
        out[POINT_B + i] += origin[i]
    if overlap == math.inf and (status == GIVEN_UP or status == STARTS_IN_CONTACT) and int(out[STATUS]) & UNPROVEN:
        for i in range(3):
            start_a[i, 3] += origin[i]
            start_b[i, 3] += origin[i]
        pose_at(start_a, motion_a, time, scratch.pose_a)
        pose_at(start_b, motion_b, time, scratch.pose_b)
        if _verdict(a, b, 0.0, tolerance, scratch) == CLOSER:
            status, overlap = (STARTS_IN_CONTACT if time == 0.0 else IMPACT), time
    return VALID, status, time, overlap, solves
