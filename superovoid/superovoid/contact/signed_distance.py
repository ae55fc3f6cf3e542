# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The engine as a person calls it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.arrays import Floats1, Floats2, Ints1
from superovoid.compiled.kernels import entry_point
from superovoid.compiled.threads import workers
from superovoid.contact import columns
from superovoid.contact.broadcasting import Pairs, pairs_of, place_pair, poses_of_pairs, share_pairs
from superovoid.contact.certificate_writing import certificate_of
from superovoid.contact.certificates import Certificate
from superovoid.contact.inputs import SEARCH_BUDGET, TOLERANCE, as_poses, check_rtol, packed_row
from superovoid.contact.lanes import many_pairs
from superovoid.contact.one_pair import STATE, WORK_LENGTH, answer_pair, scratch_in, solve_from_nothing
from superovoid.contact.results import DistanceResult, DistanceResults
from superovoid.shapes import Shape, Superovoid
from superovoid.values.poses import PosesLike, as_matrices

FloatArray = NDArray[np.float64]
BATCH = 512  # pairs of superovoids from which on SIMD lanes are used, and that a thread is started for
CHUNK = 1 << 14  # pairs solved at once, which takes 18 MB besides their answers


@entry_point(nogil=True)
def answer_pairs(pairs: Pairs, which: Ints1, tolerance: float, work: Floats1, out: Floats2) -> None:
    """Solve the given pairs, each without a warm start, as `answer_pair` does.

    Parameters
    ----------
    pairs : Pairs
    which : array, shape (m,)
    tolerance : float
    work : array, shape (WORK_LENGTH,)
    out : array, shape (n, RESULT_LENGTH)
        A row for each pair; those of the given pairs are filled in.
    """
    scratch = scratch_in(work)
    for k in range(which.shape[0]):
        i = which[k]
        a, b = place_pair(pairs, i, scratch)
        solve_from_nothing(pairs.rows[a], pairs.pool, pairs.rows[b], pairs.pool, tolerance, scratch, out[i])


def distance(
    a: Shape,
    pose_a: PosesLike,
    b: Shape,
    pose_b: PosesLike,
    *,
    rtol: float = TOLERANCE,
    certificate: bool = False,
) -> DistanceResult:
    """Signed distance of two bodies, with witness points, normal and a proved interval.

    Parameters
    ----------
    a, b : Shape
        The bodies, of any kinds of `superovoid.shapes` (docs/reference/shapes.md).
    pose_a, pose_b : (4, 4) array_like or transform
        Poses, body to world, m: 4 x 4 arrays, scipy's `RigidTransform`, objects with ``homogeneous`` (pinocchio), or
        pairs (rotation, translation).
    rtol : float, optional
        Width of the interval [lower, upper] that counts as certified, as a fraction of the smaller body's largest
        semi-axis. What rounding takes at large coordinates is allowed on top.
    certificate : bool, optional
        Whether to write down what proves the interval, for others to check (docs/how_to/verify.md): cones of directions
        of an overlap, pieces of bodies with a dent. Of other kinds than superovoids it is empty.

    Returns
    -------
    DistanceResult
        `status` names what could not be proved. No value is a sentinel.

    Raises
    ------
    ValueError
        If a pose is not a rigid transform.
    TypeError
        If a shape is none of ours.

    Notes
    -----
    Swapping the bodies swaps the points and turns the normal, bit by bit, and nothing else. Only two identical bodies
    at identical poses have no order, so their arbitrary normal cannot turn.

    Examples
    --------
    >>> import numpy as np
    >>> from superovoid import Sphere, distance
    >>> apart = np.eye(4)
    >>> apart[0, 3] = 3.0
    >>> float(round(distance(Sphere(1.0), np.eye(4), Sphere(0.5), apart).distance, 12))
    1.5
    """
    matrix_a, matrix_b = as_matrices("pose_a", pose_a), as_matrices("pose_b", pose_b)
    if matrix_a.ndim != 2 or matrix_b.ndim != 2:
        name, pose = ("pose_a", matrix_a) if matrix_a.ndim != 2 else ("pose_b", matrix_b)
        raise ValueError(f"{name}: must have shape (4, 4), found {pose.shape}; distances() takes arrays")
    row_a, row_b = packed_row("a", a), packed_row("b", b)
    work, out = np.empty(WORK_LENGTH), np.empty(columns.RESULT_LENGTH)
    rtol = check_rtol(rtol)
    wrong = answer_pair(a._body, matrix_a, b._body, matrix_b, rtol, work, out)
    if wrong:  # a pose, most likely; one that rounding alone has refused is rigid once it was straightened
        matrix_a, matrix_b = as_poses("pose_a", matrix_a), as_poses("pose_b", matrix_b)
        wrong = answer_pair(a._body, matrix_a, b._body, matrix_b, rtol, work, out)
    if wrong:
        raise RuntimeError(f"a question that the engine refuses: {wrong}")
    result = DistanceResult._from_row(out)
    if certificate:
        result.__dict__["certificate"] = Certificate()
        if isinstance(a, Superovoid) and isinstance(b, Superovoid):
            poses = as_poses("pose_a", matrix_a), as_poses("pose_b", matrix_b)
            result.__dict__["certificate"] = certificate_of(result, row_a, row_b, *poses, work[STATE])
    return result


def distances(
    a: Shape | Sequence[Shape],
    pose_a: PosesLike,
    b: Shape | Sequence[Shape],
    pose_b: PosesLike,
    *,
    rtol: float = TOLERANCE,
    threads: int | None = None,
) -> DistanceResults:
    """Signed distances of many pairs.

    Parameters
    ----------
    a, b : Shape or sequence of Shape
        The bodies of each pair, of any kinds; a single one stands in every pair.
    pose_a, pose_b : (n, 4, 4) or (4, 4) array_like, transform, or sequence of transforms
        Poses, body to world, m, in any form that `distance` takes; a single one stands in every pair.
    rtol : float, optional
        As for `distance`.
    threads : int, optional
        Threads to share the pairs of a large batch among, of whatever kinds; None: as many as there are processors and
        as pay. The answers are the same for any number.

    Returns
    -------
    DistanceResults
        Arrays with one row a pair.

    Raises
    ------
    ValueError
        If lengths do not match, a pose is not a rigid transform, or `threads` is not positive.

    Notes
    -----
    Each answer is that of `distance`, bit by bit, whatever else is asked and in whatever order. The exception are
    superovoids in calls with 512 pairs of them and more, which are solved in SIMD lanes
    (docs/explanation/search.md): each of their answers is the same in all such calls, and agrees with that of
    `distance` within both intervals.
    """
    pairs, _ = pairs_of(a, pose_a, b, pose_b)
    rtol = check_rtol(rtol)
    n = len(pairs.a)
    out = np.empty((n, columns.RESULT_LENGTH))
    in_lanes = pairs.of_superovoids
    if in_lanes.sum() < BATCH:  # of all pairs, not of a chunk: the answers do not depend on chunks
        in_lanes[:] = False
    _solve_in_lanes(pairs, np.flatnonzero(in_lanes), rtol, out, threads)
    share_pairs(np.flatnonzero(~in_lanes), lambda which, work: answer_pairs(pairs, which, rtol, work, out), threads)
    return DistanceResults.from_rows(out)


def _solve_in_lanes(pairs: Pairs, which: NDArray[np.int64], rtol: float, out: FloatArray, threads: int | None) -> None:
    """Answer the pairs named, of superovoids, in SIMD lanes."""
    for first in range(0, len(which), CHUNK):
        chunk = which[first : first + CHUNK]
        rows_a, rows_b = pairs.rows[pairs.a[chunk]], pairs.rows[pairs.b[chunk]]
        poses_a, poses_b = (poses_of_pairs(poses, chunk) for poses in (pairs.poses_a, pairs.poses_b))
        states = np.zeros((len(chunk), columns.STATE_LENGTH))
        solved = np.empty((len(chunk), columns.RESULT_LENGTH))
        arguments = (rows_a, rows_b, poses_a, poses_b, rtol, SEARCH_BUDGET, states, solved)
        many_pairs.solve_batch(*arguments, threads=max(1, min(workers(threads), len(which) // BATCH)))
        out[chunk] = solved
