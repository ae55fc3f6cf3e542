# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Public functions of the engine for distances."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.arrays import Floats1, Floats2, Ints1
from superovoid.compiled.kernels import entry_point
from superovoid.contact.broadcasting import Pairs, Shapes, bodies_of, pairs_of, share_pairs
from superovoid.contact.certificates import Certificate, certificate_of
from superovoid.contact.columns import RESULT_LENGTH, STATE_LENGTH
from superovoid.contact.compounds import solve_within
from superovoid.contact.inputs import SEARCH_BUDGET, TOLERANCE, check_rtol
from superovoid.contact.lanes import many_pairs
from superovoid.contact.one_pair import STATE, WORK_LENGTH, Question, answer_pair, scratch_in
from superovoid.contact.pair import Limit
from superovoid.contact.results import DistanceResult, DistanceResults
from superovoid.shapes import Shape, Superovoid
from superovoid.shapes.poses import as_poses
from superovoid.values.poses import ORIGIN, PosesLike, as_matrices

FloatArray = NDArray[np.float64]


@entry_point(nogil=True)
def answer_pairs(
    pairs: Pairs, which: Ints1, tolerance: float, budget: int, states: Floats2, work: Floats1, out: Floats2
) -> None:
    """Solve the given pairs; others are as for `many_pairs.solve_batch`.

    Parameters
    ----------
    pairs : Pairs
    which : array, shape (m,)
    tolerance : float
    budget : int
    states : array, shape (n, STATE_LENGTH)
    work : array, shape (WORK_LENGTH,)
    out : array, shape (n, RESULT_LENGTH)
        A row for each pair; those of the given pairs are filled in.
    """
    limit, rotation = Limit(tolerance, budget, math.inf, -math.inf), scratch_in(work).rotation
    for k in range(which.shape[0]):
        i = which[k]
        first, second = bodies_of(pairs, i)
        solve_within(first, second, limit, states[i], rotation, out[i])


class _Memory:
    """Memory of one call of `distance`.

    Making it takes 16 us, a solve 2 us, so calls pass it on. A call takes one from `_FREE`, or makes one if there is
    none, and returns it at its end: calls in several threads, or in a signal handler during another one, share none.
    `question` is a bundle, whose addresses are looked up once.
    """

    def __init__(self) -> None:
        self.pose_a, self.pose_b, self.out = np.empty((4, 4)), np.empty((4, 4)), np.empty(RESULT_LENGTH)
        work = np.zeros(WORK_LENGTH)
        self.state = work[STATE]
        self.question = Question(self.pose_a, self.pose_b, work, self.out)


_DOUBLE = np.dtype(np.float64)
_FREE: list[_Memory] = []


def _matrix(name: str, given: PosesLike) -> FloatArray:
    """Return one pose as a matrix, whose numbers the kernel checks."""
    if type(given) is np.ndarray and given.shape == (4, 4) and given.dtype is _DOUBLE:
        return given
    matrix = as_matrices(name, given)
    if matrix.ndim != 2:
        raise ValueError(f"{name}: must have shape (4, 4), found {matrix.shape}; distances() takes arrays")
    return matrix


def distance(
    a: Shape,
    pose_a: PosesLike,
    b: Shape,
    pose_b: PosesLike = ORIGIN,
    *,
    rtol: float = TOLERANCE,
    certificate: bool = False,
) -> DistanceResult:
    """Compute the signed distance of two bodies, with witness points, normal and a proved interval.

    Parameters
    ----------
    a, b : Shape
        The bodies, of any kinds of `superovoid.shapes` (docs/reference/shapes.md).
    pose_a, pose_b : (4, 4), (3,) or (7,) array_like, or transform
        Poses, body to world, m: 4 x 4 arrays, (x, y, z), (x, y, z, qx, qy, qz, qw), scipy's `RigidTransform`, objects
        with ``homogeneous`` (pinocchio), or pairs (rotation, translation). Default of `pose_b`: the origin.
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
        If a shape is not one of `superovoid.shapes`.

    Notes
    -----
    Swapping the bodies swaps the points and negates the normal, bit by bit, and nothing else. Only two identical bodies
    at identical poses have no order, so their arbitrary normal cannot turn.

    Examples
    --------
    >>> from superovoid import Sphere, distance
    >>> float(round(distance(Sphere(1.0), (0.0, 0.0, 0.0), Sphere(0.5), (3.0, 0.0, 0.0)).distance, 12))
    1.5
    """
    rtol = check_rtol(rtol)
    try:
        memory = _FREE.pop()
    except IndexError:
        memory = _Memory()
    try:
        memory.pose_a[...] = _matrix("pose_a", pose_a)
        memory.pose_b[...] = _matrix("pose_b", pose_b)
        memory.state.fill(0.0)
        wrong = answer_pair(a._body, b._body, rtol, memory.question)
        if wrong:  # a pose, most likely; one that rounding alone has refused is rigid once it was straightened
            memory.pose_a[...], memory.pose_b[...] = as_poses("pose_a", pose_a), as_poses("pose_b", pose_b)
            wrong = answer_pair(a._body, b._body, rtol, memory.question)
        if wrong:
            raise RuntimeError(f"internal error: the engine refuses its input with the code {wrong}; please report it")
        result = DistanceResult._from_row(memory.out.copy())
        if certificate:
            result.__dict__["certificate"] = Certificate()
            if isinstance(a, Superovoid) and isinstance(b, Superovoid):
                poses, state = (as_poses("pose_a", pose_a), as_poses("pose_b", pose_b)), memory.state.copy()
                result.__dict__["certificate"] = certificate_of(result, a, b, *poses, state)
        return result
    except AttributeError:
        for name, shape in (("a", a), ("b", b)):
            if not isinstance(shape, Shape):
                found = f"the class {shape.__name__}" if isinstance(shape, type) else type(shape).__name__
                raise TypeError(f"{name}: must be a shape of superovoid.shapes, found {found}") from None
        raise
    finally:
        _FREE.append(memory)


def distances(
    a: Shapes,
    pose_a: PosesLike,
    b: Shapes,
    pose_b: PosesLike = ORIGIN,
    *,
    rtol: float = TOLERANCE,
    threads: int | None = None,
) -> DistanceResults:
    """Compute the signed distances of many pairs.

    Parameters
    ----------
    a, b : Shape, ShapeArray or sequence of Shape
        The bodies of each pair, of any kinds; a single one is used for every pair.
    pose_a, pose_b : (n, 4, 4), (n, 3) or (n, 7) array_like, or one pose
        Poses, body to world, m, in any form that `distance` takes, or a sequence of these; a single one stands in every
        pair. Default of `pose_b`: the origin.
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

    Notes
    -----
    Each answer is that of `distance`, bit by bit, whatever the other pairs and their order. Calls with 512 pairs of
    superovoids and more, or 512 pairs of a superovoid and a box, capsule or cylinder, solve these in SIMD lanes
    (docs/explanation/search.md): each of their answers is the same in all such calls, and agrees with that of
    `distance` within both intervals.
    """
    pairs, _ = pairs_of(a, pose_a, b, pose_b)
    return DistanceResults.from_rows(answer_rows(pairs, check_rtol(rtol), threads))


def answer_rows(pairs: Pairs, rtol: float, threads: int | None) -> FloatArray:
    """Return the result rows of pairs, shape (n, RESULT_LENGTH): in SIMD lanes, if there are many for them."""
    n = pairs.length
    out, states = np.empty((n, RESULT_LENGTH)), np.zeros((n, STATE_LENGTH))
    is_left = np.ones(n, dtype=np.bool_)
    if n >= many_pairs.CHUNK:
        classes = np.empty(n, dtype=np.int64)
        many_pairs.lane_classes(pairs, classes)
        for lane_class in (many_pairs.OVOIDS, many_pairs.TO_CORES):
            which = np.flatnonzero(classes == lane_class)
            if len(which) >= many_pairs.CHUNK:
                is_left[which] = False
                to_cores = lane_class == many_pairs.TO_CORES
                many_pairs.solve_batch(pairs, which, to_cores, rtol, SEARCH_BUDGET, states, out, threads)
    left = np.flatnonzero(is_left)
    share_pairs(left, lambda which, work: answer_pairs(pairs, which, rtol, SEARCH_BUDGET, states, work, out), threads)
    return out
