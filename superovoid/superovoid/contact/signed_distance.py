# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Public functions of the engine for distances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.arrays import Floats1, Floats2, Ints1
from superovoid.compiled.kernels import entry_point
from superovoid.contact import columns
from superovoid.contact.broadcasting import Pairs, bodies_of, pairs_of, share_pairs
from superovoid.contact.certificates import Certificate, certificate_of
from superovoid.contact.inputs import SEARCH_BUDGET, TOLERANCE, as_poses, check_rtol
from superovoid.contact.lanes import many_pairs
from superovoid.contact.one_pair import STATE, WORK_LENGTH, answer_pair, scratch_in, solve_from_nothing
from superovoid.contact.results import DistanceResult, DistanceResults
from superovoid.shapes import Shape, Superovoid
from superovoid.values.poses import PosesLike, as_matrices

FloatArray = NDArray[np.float64]
BATCH = 512  # pairs of superovoids from which on SIMD lanes are used


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
        first, second = bodies_of(pairs, which[k])
        solve_from_nothing(first, second, tolerance, scratch, out[which[k]])


def distance(
    a: Shape,
    pose_a: PosesLike,
    b: Shape,
    pose_b: PosesLike,
    *,
    rtol: float = TOLERANCE,
    certificate: bool = False,
) -> DistanceResult:
    """Compute the signed distance of two bodies, with witness points, normal and a proved interval.

    Parameters
    ----------
    a, b : Shape
        The bodies, of any kinds of `superovoid.shapes` (docs/reference/shapes.md).
    pose_a, pose_b : (4, 4) array_like or transform
        Poses, body to world, m: 4 x 4 arrays, scipy's `RigidTransform`, objects with ``homogeneous`` (pinocchio), or
        pairs (rotation, translation).
    rtol : float, optional
        Width of the interval [lower, upper] that counts as certified, as a fraction of the smaller body's largest
        semi-axis. An allowance for rounding at large coordinates is added.
    certificate : bool, optional
        Whether to return the proof of the interval for independent checks (docs/how_to/verify.md): cones of directions
        of an overlap, pieces of non-convex bodies. It is empty for other kinds than superovoids.

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
    for name, shape in (("a", a), ("b", b)):
        if not isinstance(shape, Shape):
            raise TypeError(f"{name}: must be a shape of superovoid.shapes, found {type(shape).__name__}")
    work, out = np.zeros(WORK_LENGTH), np.empty(columns.RESULT_LENGTH)
    rtol = check_rtol(rtol)
    wrong = answer_pair(a._body, matrix_a, b._body, matrix_b, rtol, work, out)
    if wrong:  # probably a pose; one refused because of rounding alone is rigid after correction
        matrix_a, matrix_b = as_poses("pose_a", matrix_a), as_poses("pose_b", matrix_b)
        wrong = answer_pair(a._body, matrix_a, b._body, matrix_b, rtol, work, out)
    if wrong:
        raise RuntimeError(f"a question that the engine refuses: {wrong}")
    result = DistanceResult._from_row(out)
    if certificate:
        result.__dict__["certificate"] = Certificate()
        if isinstance(a, Superovoid) and isinstance(b, Superovoid):
            poses = as_poses("pose_a", matrix_a), as_poses("pose_b", matrix_b)
            result.__dict__["certificate"] = certificate_of(result, a._packed, b._packed, *poses, work[STATE])
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
    """Compute the signed distances of many pairs.

    Parameters
    ----------
    a, b : Shape or sequence of Shape
        The bodies of each pair, of any kinds; a single one is used for every pair.
    pose_a, pose_b : (n, 4, 4) or (4, 4) array_like, transform, or sequence of transforms
        Poses, body to world, m, in any form that `distance` takes; a single one is used for every pair.
    rtol : float, optional
        As for `distance`.
    threads : int, optional
        Number of threads for many pairs; None: at most one for each processor, fewer if more would not be faster. The
        results do not depend on it.

    Returns
    -------
    DistanceResults
        Arrays with one row for each pair.

    Raises
    ------
    ValueError
        If lengths do not match, a pose is not a rigid transform, or `threads` is not positive.

    Notes ----- Each answer is that of `distance`, bit by bit, whatever the other pairs and their order. The exception
    is superovoids in calls with 512 pairs of them and more, which are solved in SIMD lanes
    (docs/explanation/search.md): each of their answers is the same in all such calls, and agrees with that of
    `distance` within both intervals.
    """
    pairs, _ = pairs_of(a, pose_a, b, pose_b)
    rtol = check_rtol(rtol)
    n = len(pairs.a)
    out = np.empty((n, columns.RESULT_LENGTH))
    in_lanes = pairs.of_superovoids
    if in_lanes.sum() < BATCH:
        in_lanes[:] = False
    states = np.zeros((n, columns.STATE_LENGTH))
    many_pairs.solve_batch(pairs, np.flatnonzero(in_lanes), rtol, SEARCH_BUDGET, states, out, threads)
    share_pairs(np.flatnonzero(~in_lanes), lambda which, work: answer_pairs(pairs, which, rtol, work, out), threads)
    return DistanceResults.from_rows(out)
