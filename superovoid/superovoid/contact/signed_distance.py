# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The engine as a person calls it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.threads import workers
from superovoid.contact import columns
from superovoid.contact.broadcasting import CHUNK, packed_rows, pair_count, which_superovoids
from superovoid.contact.certificate_writing import certificate_of
from superovoid.contact.certificates import Certificate
from superovoid.contact.inputs import SEARCH_BUDGET, TOLERANCE, as_poses, check_rtol, packed_row
from superovoid.contact.kind_table import kernel_for
from superovoid.contact.lanes import many_pairs
from superovoid.contact.one_pair import STATE, WORK_LENGTH, answer_pair
from superovoid.contact.results import DistanceResult, DistanceResults
from superovoid.contact.superovoids import pair_solver
from superovoid.shapes import Shape, Superovoid
from superovoid.values.poses import PosesLike, as_matrices

FloatArray = NDArray[np.float64]
BATCH = 512  # pairs from which on SIMD lanes are used, and that a thread is started for


def solve_of_kinds(a: Shape, pose_a: FloatArray, b: Shape, pose_b: FloatArray, rtol: float, out: FloatArray) -> None:
    """Answer for a pair that is not two superovoids."""
    row_a, row_b = a._row, b._row
    kernel_for(row_a, row_b)(
        row_a,
        row_b,
        a._pool,
        b._pool,
        pose_a,
        pose_b,
        rtol,
        SEARCH_BUDGET,
        np.zeros(columns.STATE_LENGTH),
        out,
    )


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
        The bodies, of any kinds of `superovoid.shapes` (docs/shapes.md says how each pair is solved).
    pose_a, pose_b : (4, 4) array_like or transform
        Poses, body to world, m: 4 x 4 arrays, scipy's `RigidTransform`, objects with ``homogeneous`` (pinocchio), or
        pairs (rotation, translation).
    rtol : float, optional
        Width of the interval [lower, upper] that counts as certified, as a fraction of the smaller body's largest
        semi-axis. What rounding takes at large coordinates is allowed on top.
    certificate : bool, optional
        Whether to write down what proves the interval, for others to check (docs/verify.md): cones of directions of an
        overlap, pieces of bodies with a dent. Of other kinds than superovoids it is empty.

    Returns
    -------
    DistanceResult
        `status` says what could not be proved; no answer is ever a sentinel.

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
        The bodies of each pair; a single one stands in every pair.
    pose_a, pose_b : (n, 4, 4) or (4, 4) array_like, transform, or sequence of transforms
        Poses, body to world, m, in any form that `distance` takes; a single one stands in every pair.
    rtol : float, optional
        As for `distance`.
    threads : int, optional
        Threads to share the pairs of a large batch among; None: as many as there are processors and as pay. The
        answers are the same for any number.

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
    Batches of 512 pairs and more are solved in SIMD lanes (docs/batch.md). Their answers agree with those of
    `distance` within both intervals, not bit by bit.
    """
    most = workers(threads)
    pose_a, pose_b = as_poses("pose_a", pose_a), as_poses("pose_b", pose_b)
    counts = {}
    for name, value in (("a", a), ("b", b)):
        if not isinstance(value, Shape):
            if not hasattr(value, "__len__"):
                raise TypeError(f"{name}: must be a shape or a sequence of shapes, found {type(value).__name__}")
            counts[name] = len(value)
    for name, pose in (("pose_a", pose_a), ("pose_b", pose_b)):
        if pose.ndim == 3:
            counts[name] = len(pose)
        elif pose.ndim != 2:
            raise ValueError(f"{name}: must have shape (n, 4, 4) or (4, 4), found {pose.shape}")
    n = pair_count(counts)

    def each(name: str, shapes: Shape | Sequence[Shape]) -> list[Shape]:
        if isinstance(shapes, Shape):
            return [shapes] * n
        for i, shape in enumerate(shapes):
            packed_row(f"{name}[{i}]", shape)
        return list(shapes)

    all_a, all_b = each("a", a), each("b", b)
    pose_a, pose_b = (np.broadcast_to(pose, (n, 4, 4)) for pose in (pose_a, pose_b))
    rtol = check_rtol(rtol)
    out = np.empty((n, columns.RESULT_LENGTH))
    some = which_superovoids(all_a, all_b)
    in_lanes = len(some) >= BATCH  # of all pairs, not of a chunk: the answers do not depend on chunks
    for first in range(0, len(some), CHUNK):
        chunk = some[first : first + CHUNK]
        rows_a, rows_b = packed_rows(all_a, chunk), packed_rows(all_b, chunk)
        states, solved = columns.unkept_states(len(chunk)), np.empty((len(chunk), columns.RESULT_LENGTH))
        arguments = (rows_a, rows_b, pose_a[chunk], pose_b[chunk], rtol, SEARCH_BUDGET, states, solved)
        if in_lanes:
            many_pairs.solve_batch(*arguments, threads=max(1, min(most, len(some) // BATCH)))
        else:
            pair_solver.solve_pairs(*arguments)
        out[chunk] = solved
    for i in np.delete(np.arange(n), some):
        solve_of_kinds(all_a[i], pose_a[i].copy(), all_b[i], pose_b[i].copy(), rtol, out[i])
    return DistanceResults.from_rows(out)
