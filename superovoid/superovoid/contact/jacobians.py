# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Many pairs with the Jacobians of their distances, in one call of a kernel.

A row of a pair has the columns of a result (`columns`), then those of its Jacobians by the pose matrices of A and B, 16
each, then those by the parameters of A and B. A row that ends after the result has no Jacobians.

The Jacobian by a pose M = [R, o] is the matrix G with <G, dM> = gradient . twist for each tangent dM = [skew(w) R, v]
of the rigid transforms: G = [skew(angular) R / 2, linear], because <skew(g) R, skew(w) R> = 2 g . w.

By a parameter of a body it is -dh/dtheta = -n . dx/dtheta at the contact, for the point x and the outward normal n in
the frame of the body. A box, a cylinder and a cone stretch with their parameters, so x scales with them. A capsule is a
segment and a ball, a torus a circle and a ball: x = c + r n. `differentiation` has the formulas for superovoids.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.arrays import Floats1, Floats2, Floats3, Ints1
from superovoid.compiled.kernels import bundle, entry_point, kernel
from superovoid.compiled.vector import cross, rotate_back, scale, vector_at
from superovoid.contact.broadcasting import Pairs, Side, own_or_only, share_pairs
from superovoid.contact.columns import RESULT, RESULT_LENGTH
from superovoid.contact.differentiation import by_shape, surface_point_at
from superovoid.contact.inputs import TOLERANCE
from superovoid.contact.lanes.many_pairs import CHUNK
from superovoid.contact.one_pair import scratch_in, solve_from_nothing, take_poses
from superovoid.contact.pair import PlacedBody
from superovoid.contact.separation import from_origin
from superovoid.contact.signed_distance import answer_rows
from superovoid.shapes.kernels.bodies import VALID
from superovoid.shapes.kernels.kinds import BOX, CAPSULE, KIND, SUPEROVOID, TORUS
from superovoid.shapes.kernels.surface import A1, A2, A3
from superovoid.shapes.poses import as_poses

FloatArray = NDArray[np.float64]
POSE_LENGTH = 16
"""Number of columns of the Jacobian by a pose."""


@bundle
class BodyRows(NamedTuple):
    """The first or the second bodies of pairs, as kernels read them."""

    rows: Floats2
    """packed bodies, shape (m, ROW_LENGTH)"""
    pool: Floats1
    """what does not fit in the rows"""
    body: Ints1
    """row of the body of each pair, shape (n,)"""
    parameters: int
    """number of their parameters by which there are Jacobians"""


@kernel
def twist_gradient(row, pose, place, sign):
    """Return the gradient by a twist, linear and angular, of the body whose contact point is at a place of a row.

    `sign` is -1 for body A, and 1 for body B.
    """
    n = scale(sign, vector_at(row, RESULT.normal))
    return n, cross(from_origin(pose, row, place), n)


@kernel
def _put_by_pose(row, pose, place, sign, first):
    """Write the Jacobian G (module docstring) by a pose at a place of the same row."""
    linear, angular = twist_gradient(row, pose, place, sign)
    for j in range(3):
        column = cross(scale(0.5, angular), (pose[0, j], pose[1, j], pose[2, j]))
        for i in range(3):
            row[first + 4 * i + j] = column[i]
        row[first + 4 * j + 3], row[first + 12 + j] = linear[j], 0.0
    row[first + 15] = 0.0


@kernel
def _put_by_parameters(body, count, row, pose, place, sign, first):
    """Write the Jacobian by the parameters of a body (module docstring)."""
    x = rotate_back(pose, from_origin(pose, row, place))
    n = rotate_back(pose, scale(-sign, vector_at(row, RESULT.normal)))
    kind = body[KIND]
    if kind == SUPEROVOID:
        by = by_shape(body, surface_point_at(body, x, n))
        for i in range(count):
            row[first + i] = by[i]
        if count == 1:  # the radius of a sphere: all semi-axes
            row[first] = by[0] + by[1] + by[2]
    elif kind == BOX:
        row[first] = -0.5 * n[0] * x[0] / body[A1]
        row[first + 1] = -0.5 * n[1] * x[1] / body[A2]
        row[first + 2] = -0.5 * n[2] * x[2] / body[A3]
    elif kind == TORUS:
        major, minor = body[A1], body[A2]
        on_circle = n[0] * (x[0] - minor * n[0]) + n[1] * (x[1] - minor * n[1]) + n[2] * (x[2] - minor * n[2])
        row[first], row[first + 1] = -on_circle / major, -1.0
    elif kind == CAPSULE:
        radius, length = body[A1], 2.0 * body[A3]
        row[first], row[first + 1] = -1.0, -n[2] * (x[2] - radius * n[2]) / length
    else:
        row[first] = -(n[0] * x[0] + n[1] * x[1]) / body[A1]
        row[first + 1] = -0.5 * n[2] * x[2] / body[A3]


@kernel
def _put_jacobians(a, b, count_a, count_b, row):
    """Write the Jacobians of two `PlacedBody` after their result."""
    first = RESULT_LENGTH + 2 * POSE_LENGTH
    _put_by_pose(row, a.pose, RESULT.point_a, -1.0, RESULT_LENGTH)
    _put_by_pose(row, b.pose, RESULT.point_b, 1.0, RESULT_LENGTH + POSE_LENGTH)
    if count_a > 0:
        _put_by_parameters(a.row, count_a, row, a.pose, RESULT.point_a, -1.0, first)
    if count_b > 0:
        _put_by_parameters(b.row, count_b, row, b.pose, RESULT.point_b, 1.0, first + count_a)


@kernel
def _place_bodies(a, b, i, scratch):
    """Return the bodies of a pair at the poses in the scratch."""
    first = PlacedBody(a.rows[a.body[i]], a.pool, scratch.pose_a)
    return first, PlacedBody(b.rows[b.body[i]], b.pool, scratch.pose_b)


@entry_point(nogil=True)
def answer_with_jacobians(
    a: BodyRows,
    b: BodyRows,
    pose_a: Floats3,
    pose_b: Floats3,
    which: Ints1,
    tolerance: float,
    work: Floats1,
    out: Floats2,
) -> int:
    """Solve the given pairs, each without a warm start, and write the Jacobians if rows have columns for them.

    Parameters
    ----------
    a, b : BodyRows
    pose_a, pose_b : array, shape (n, 4, 4) or (1, 4, 4)
    which : array, shape (m,)
    tolerance : float
    work : array, shape (WORK_LENGTH,)
    out : array, shape (n, columns)
        A row for each pair (module docstring); those of the given pairs are filled in.

    Returns
    -------
    int
        VALID, or the code of the first invalid pose (`one_pair`).
    """
    scratch = scratch_in(work)
    for k in range(which.shape[0]):
        i = which[k]
        found = take_poses(pose_a[own_or_only(pose_a, i)], pose_b[own_or_only(pose_b, i)], scratch)
        if found != VALID:
            return found
        first, second = _place_bodies(a, b, i, scratch)
        solve_from_nothing(first, second, tolerance, scratch, out[i])
        if out.shape[1] > RESULT_LENGTH:
            _put_jacobians(first, second, a.parameters, b.parameters, out[i])
    return VALID


@entry_point(nogil=True)
def put_jacobians(
    a: BodyRows, b: BodyRows, pose_a: Floats3, pose_b: Floats3, which: Ints1, work: Floats1, out: Floats2
) -> None:
    """Do as `answer_with_jacobians` for rows that have their results, at rigid poses."""
    scratch = scratch_in(work)
    for k in range(which.shape[0]):
        i = which[k]
        take_poses(pose_a[own_or_only(pose_a, i)], pose_b[own_or_only(pose_b, i)], scratch)
        first, second = _place_bodies(a, b, i, scratch)
        _put_jacobians(first, second, a.parameters, b.parameters, out[i])


def fill_rows(
    a: BodyRows,
    b: BodyRows,
    pose_a: FloatArray,
    pose_b: FloatArray,
    which: NDArray[np.int64],
    out: FloatArray,
    threads: int | None = None,
) -> None:
    """Solve pairs; write results, and Jacobians if rows have columns for them (module docstring).

    Parameters
    ----------
    a, b : BodyRows
    pose_a, pose_b : (n, 4, 4) or (1, 4, 4) ndarray
    which : (n,) ndarray of int
        The numbers from 0 to n - 1.
    out : (n, columns) ndarray
    threads : int, optional
        As for `distances`, whose answers these are.

    Raises
    ------
    ValueError
        If a pose is not a rigid transform.
    """
    if len(which) < CHUNK:
        wrong: list[int] = []

        def answer(some: NDArray[np.int64], work: FloatArray) -> None:
            wrong.append(answer_with_jacobians(a, b, pose_a, pose_b, some, TOLERANCE, work, out))

        share_pairs(which, answer, threads)
        if any(wrong):
            as_poses("pose_a", pose_a)
            as_poses("pose_b", pose_b)
            raise RuntimeError(f"poses that the engine refuses: {wrong}")
        return
    pose_a, pose_b = as_poses("pose_a", pose_a), as_poses("pose_b", pose_b)
    pairs = Pairs(*(Side(each.rows, each.pool, each.body, poses) for each, poses in ((a, pose_a), (b, pose_b))))
    out[:, :RESULT_LENGTH] = answer_rows(pairs, TOLERANCE, threads)
    if out.shape[1] > RESULT_LENGTH:
        share_pairs(which, lambda some, work: put_jacobians(a, b, pose_a, pose_b, some, work, out), threads)
