# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Is a distance below a threshold? Proofs in the order of their cost, until one decides.

bounding spheres               |c| - R_A - R_B <= sd
a direction                    g(n) = n . c - h_A(n) - h_B(-n) <= sd, for the line of centres and the line between
the two support points; these are points of the bodies, so sd <= |x_B - x_A|
a common point                 the middle of two such points inside both bodies: sd < 0
the contact                    the engine's interval, with its global search only where the rest was not enough
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.compiled.arrays import Floats1, Floats2, Floats3
from superovoid.compiled.kernels import entry_point, kernel
from superovoid.compiled.vector import add, combine, dot, norm, scale, sub
from superovoid.contact.broadcasting import CHUNK, packed_rows, pair_count, which_superovoids
from superovoid.contact.columns import (
    DISTANCE,
    LOWER,
    NORMAL,
    POINT_A,
    POINT_B,
    PROOF,
    RESULT_LENGTH,
    STATE_LENGTH,
    UPPER,
    VERDICT_LENGTH,
)
from superovoid.contact.inputs import SEARCH_BUDGET, TOLERANCE, as_poses, check_rtol, packed_row
from superovoid.contact.pair import Limit, Posed
from superovoid.contact.separation import is_common, rounding, separation
from superovoid.contact.signed_distance import distance, solve_of_kinds
from superovoid.contact.superovoids.pair_solver import solve_pair
from superovoid.shapes import Mesh, Shape, Superovoid
from superovoid.shapes.kernels.rounding import allowance
from superovoid.shapes.kernels.surface import DENTED, RADIUS
from superovoid.values.checks import floats, number
from superovoid.values.poses import PosesLike
from superovoid.values.records import Record, Statistics, Table
from superovoid.values.status import Words

FloatArray = NDArray[np.float64]


BY_SPHERES, BY_DIRECTION, BY_POINT, BY_CONTACT, BY_SEARCH, BY_SURFACES = 0, 1, 2, 3, 4, 5

# Columns of a row of `compare_pairs`: 1 closer, -1 not closer, 0 undecided; what is proved; by what; solver calls.
ANSWER, PROVED_LOWER, PROVED_UPPER, PROVED_BY, SOLVES = 0, 1, 2, 3, 4

CLOSER, UNDECIDED, FARTHER = 1, 0, -1

_DIRECTIONS = 2  # tried before the solver
WITHIN = 1.0 - 1e-15  # by which a body inside is smaller than it need be, for what rounding takes


@kernel
def verdict_of(lower, upper, threshold):
    """What an interval says about a threshold."""
    if lower >= threshold:
        return FARTHER
    return CLOSER if upper < threshold else UNDECIDED


@kernel
def _decide(lower, upper, common, threshold):
    if lower >= threshold:
        return -1
    if upper < threshold or (common and threshold >= 0.0):
        return 1
    return 0


@kernel
def compare_pair(first, second, threshold, limit, direction, state, scratch, out):
    """Decide whether the signed distance is below a threshold, by the cheapest proof.

    Parameters
    ----------
    first, second : Posed
    threshold : float
        m.
    limit : Limit
    state : as for `solve_pair`
    direction : array, shape (3,)
        A guess of the normal (world, unit), zeros for none; renewed by the best direction found.
    scratch : arrays, shapes (3, 3) and (RESULT_LENGTH,)
        For `solve_pair`.
    out : array, shape (VERDICT_LENGTH,)
    """
    (a, pose_a), (b, pose_b) = first, second
    rotation, row = scratch
    offset = (pose_b[0, 3] - pose_a[0, 3], pose_b[1, 3] - pose_a[1, 3], pose_b[2, 3] - pose_a[2, 3])
    length = norm(offset)
    margin = rounding(a, b, length)
    lower = length - a[RADIUS] - b[RADIUS] - margin
    upper = length + margin  # the origins are points of the bodies
    common = False
    by = BY_SPHERES
    solves = 0
    answer = _decide(lower, upper, common, threshold)
    if answer == 0:
        n = (direction[0], direction[1], direction[2])
        if dot(n, n) == 0.0:
            n = scale(1.0 / length, offset) if length > 0.0 else (0.0, 0.0, 1.0)
        for _ in range(_DIRECTIONS):
            s = separation(a, b, pose_a, pose_b, offset, n)
            u = sub(add(offset, s.y), s.x)
            span = norm(u)
            if s.lower > lower:
                lower = s.lower
                direction[0], direction[1], direction[2] = n
            upper = min(upper, span + margin)
            by = BY_DIRECTION
            answer = _decide(lower, upper, common, threshold)
            if answer != 0:
                break
            if (
                s.lower < 0.0
                and threshold >= 0.0
                and is_common(a, b, pose_a, pose_b, offset, combine(0.5, u, 1.0, s.x))
            ):
                common = True
                upper = min(upper, 0.0)
                by = BY_POINT
                answer = 1
                break
            if not (span > 0.0):
                break
            n = scale(1.0 / span, u)
    # First without the global search, which only the depth of an overlap needs.
    while answer == 0 and solves < 2:
        state[PROOF] = 0.0  # a search cut short is no proof to build on
        budget = 0 if solves == 0 else limit.budget
        solve_pair(a, b, pose_a, pose_b, limit.tolerance, budget, state, rotation, row)
        solves += 1
        lower = max(lower, row[LOWER])
        upper = min(upper, row[UPPER])
        for i in range(3):
            direction[i] = row[NORMAL + i]
        by = BY_CONTACT if solves == 1 else BY_SEARCH
        answer = _decide(lower, upper, common, threshold)
        if answer == 0 and threshold >= 0.0 and row[DISTANCE] < 0.0:
            x = (row[POINT_A] - pose_a[0, 3], row[POINT_A + 1] - pose_a[1, 3], row[POINT_A + 2] - pose_a[2, 3])
            y = (row[POINT_B] - pose_a[0, 3], row[POINT_B + 1] - pose_a[1, 3], row[POINT_B + 2] - pose_a[2, 3])
            if is_common(a, b, pose_a, pose_b, offset, combine(0.5, x, 0.5, y)):
                upper = min(upper, 0.0)
                answer = 1
    out[ANSWER] = answer
    out[PROVED_LOWER] = lower
    out[PROVED_UPPER] = upper
    out[PROVED_BY] = by
    out[SOLVES] = solves


@entry_point(nogil=True, _nrt=True)
def compare_pairs(
    a: Floats2,
    b: Floats2,
    poses_a: Floats3,
    poses_b: Floats3,
    thresholds: Floats1,
    tolerance: float,
    budget: int,
    directions: Floats2,
    states: Floats2,
    out: Floats2,
) -> None:
    """`compare_pair` for rows of bodies and poses."""
    rotation = np.empty((3, 3))
    row = np.empty(RESULT_LENGTH)
    for i in range(a.shape[0]):
        first, second = Posed(a[i], poses_a[i]), Posed(b[i], poses_b[i])
        limit = Limit(tolerance, budget, math.inf)
        compare_pair(first, second, thresholds[i], limit, directions[i], states[i], (rotation, row), out[i])


# --- as a person calls it ------------------------------------------------------------------------------------------


class Proof(Words, IntEnum):
    """What decided a comparison, cheapest first."""

    SPHERES = BY_SPHERES
    """The bounding spheres, or the distance of the origins."""
    DIRECTION = BY_DIRECTION
    """Support points along one or two directions."""
    POINT = BY_POINT
    """A point inside both bodies."""
    CONTACT = BY_CONTACT
    """The engine's contact without a global search."""
    SEARCH = BY_SEARCH
    """The engine with all its means. An undecided answer ends here too, and so does every answer of the solver about
    a pair that is not two superovoids."""
    SURFACES = BY_SURFACES
    """Of a mesh that is not convex: its hull, one of its triangles, or what lies inside, without the solver."""


class UndecidedError(RuntimeError):
    """The truth value of an answer that is undecided.

    One rule holds for `Verdict`, for each row of `Verdicts` and for `Impact`: `bool` is True if the answer is proved
    to be yes and False if it is proved to be no. An undecided answer has no safe truth value: False would say that two
    bodies are not close, and "not" would turn True into the same. So it raises this error.
    """


@dataclass(frozen=True, eq=False, repr=False)
class Verdict(Record):
    """Whether the signed distance is below a threshold.

    ``bool(verdict)`` is True if `closer` is proved, False if `farther` is proved, and raises `UndecidedError` if
    neither is. ``verdict.closer``, ``verdict.undecided`` and ``not verdict.farther`` never raise; the last one is the
    safe question for a collision check.
    """

    closer: bool
    """Proved: the signed distance is below the threshold."""
    farther: bool
    """Proved: it is not below. Where neither is proved the threshold lies in [lower, upper]."""
    lower: float
    """Proved lower bound of the signed distance, m; no tighter than the decision needed."""
    upper: float
    """Proved upper bound, m."""
    proof: Proof
    """What decided."""
    statistics: Statistics
    """``solves``: calls of the pair solver, 0 if bounds were enough, 2 if the global search was needed."""

    @property
    def undecided(self) -> bool:
        """Neither `closer` nor `farther` is proved: touch, or a distance that equals the threshold."""
        return not (self.closer or self.farther)

    def __bool__(self) -> bool:
        if self.undecided:
            raise UndecidedError(
                f"the signed distance is in [{self.lower:.17g}, {self.upper:.17g}] m, which leaves open whether it is "
                "below the threshold: ask for `.closer` (proved), or for `not .farther` (to be on the safe side)"
            )
        return self.closer


@dataclass(frozen=True, eq=False, repr=False)
class Verdicts(Table):
    """`Verdict` as arrays, one row a pair; ``verdicts[0]`` is a row."""

    closer: NDArray[np.bool_]
    farther: NDArray[np.bool_]
    lower: FloatArray
    upper: FloatArray
    proof: NDArray[np.uint8]
    """`Proof` of each row, as a number."""
    statistics: Statistics
    """``solves`` of each row."""

    PER_ROW: ClassVar[tuple[str, ...]] = ("closer", "farther", "lower", "upper", "proof", "statistics")

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """Rows of which neither `closer` nor `farther` is proved."""
        return ~(self.closer | self.farther)

    def _row(self, row: int) -> Verdict:
        return self._made(Verdict, row, proof=Proof(int(self.proof[row])))

    def __bool__(self) -> bool:
        raise TypeError(
            "verdicts of many pairs have no truth value, and some may be undecided: ask for `.closer.any()` (proved "
            "closer, or overlapping), for `.farther.all()` (proved not to be), or for `.undecided`"
        )


@overload
def are_closer(
    a: Shape,
    pose_a: PosesLike,
    b: Shape,
    pose_b: PosesLike,
    threshold: float,
    *,
    direction: ArrayLike | None = ...,
    rtol: float = ...,
) -> Verdict: ...


@overload
def are_closer(
    a: Shape | Sequence[Shape],
    pose_a: PosesLike,
    b: Shape | Sequence[Shape],
    pose_b: PosesLike,
    threshold: ArrayLike,
    *,
    direction: ArrayLike | None = ...,
    rtol: float = ...,
) -> Verdicts: ...


def are_closer(
    a: Shape | Sequence[Shape],
    pose_a: PosesLike,
    b: Shape | Sequence[Shape],
    pose_b: PosesLike,
    threshold: ArrayLike,
    *,
    direction: ArrayLike | None = None,
    rtol: float = TOLERANCE,
) -> Verdict | Verdicts:
    """Decide whether the signed distance of two bodies is below a threshold, by the cheapest proof.

    Two shapes are one pair, which has one `Verdict`. If `a` or `b` is a sequence of shapes, there is one pair for each
    of them, and the answer is `Verdicts`.

    Parameters
    ----------
    a, b : Shape or sequence of Shape
        The bodies, of any kinds. With a sequence on the other side, a single shape is used in every pair.
    pose_a, pose_b : (4, 4) array_like or transform
        Poses, body to world, m, in any form that `distance` takes. Of many pairs also (n, 4, 4) or a sequence of
        transforms; a single one is used in every pair.
    threshold : float
        Signed distance to compare with, m. Negative: whether the bodies overlap deeper than that. Of many pairs also
        (n,) array_like.
    direction : (3,) array_like, optional
        A guess of the normal from A to B, world, such as that of an earlier result; default: the line of the origins.
        A good one decides most pairs of superovoids that are apart without the solver; a bad one costs time, never
        truth. Pairs of other kinds do not need it. Of many pairs (n, 3) array_like.
    rtol : float, optional
        How near the threshold the solver decides: a width of the interval as a fraction of the smaller body's largest
        semi-axis, as for `distance`.

    Returns
    -------
    Verdict or Verdicts
        One verdict can be used as ``if are_closer(...)``: true only if that is proved. A distance that equals the
        threshold to within `rtol` is neither closer nor farther, and then has no truth value (`UndecidedError`).

    Raises
    ------
    ValueError
        If lengths do not match, a pose is not a rigid transform, or a number is not finite.
    TypeError
        If a shape is none of ours.

    Examples
    --------
    >>> import numpy as np
    >>> from superovoid import Ellipsoid, are_closer
    >>> body, apart = Ellipsoid((1.0, 2.0, 3.0)), np.eye(4)
    >>> apart[0, 3] = 3.0
    >>> verdict = are_closer(body, np.eye(4), body, apart, 0.5)
    >>> verdict.farther, verdict.proof.name, verdict.statistics.solves
    (True, 'DIRECTION', 0)
    >>> bool(verdict)
    False
    >>> are_closer([body, body], [np.eye(4), apart], body, np.eye(4), 0.5).closer.tolist()
    [True, False]
    """
    if isinstance(a, Shape) and isinstance(b, Shape):
        return _is_pair_closer(a, pose_a, b, pose_b, threshold, direction, rtol)
    return _are_pairs_closer(a, pose_a, b, pose_b, threshold, direction, rtol)


@overload
def are_intersecting(  # type: ignore[overload-overlap]
    a: Shape,
    pose_a: PosesLike,
    b: Shape,
    pose_b: PosesLike,
    *,
    direction: ArrayLike | None = ...,
    rtol: float = ...,
) -> Verdict: ...


@overload
def are_intersecting(
    a: Shape | Sequence[Shape],
    pose_a: PosesLike,
    b: Shape | Sequence[Shape],
    pose_b: PosesLike,
    *,
    direction: ArrayLike | None = ...,
    rtol: float = ...,
) -> Verdicts: ...


def are_intersecting(
    a: Shape | Sequence[Shape],
    pose_a: PosesLike,
    b: Shape | Sequence[Shape],
    pose_b: PosesLike,
    *,
    direction: ArrayLike | None = None,
    rtol: float = TOLERANCE,
) -> Verdict | Verdicts:
    """Decide whether two bodies overlap: `are_closer` with the threshold 0, for one pair or many.

    Returns
    -------
    Verdict or Verdicts
        One verdict can be used as ``if are_intersecting(...)``. `closer`: the bodies have an inner point in common.
        `farther`: they have none. Neither: they touch, to within `rtol`.
    """
    return are_closer(a, pose_a, b, pose_b, 0.0, direction=direction, rtol=rtol)


def _is_pair_closer(
    a: Shape,
    pose_a: PosesLike,
    b: Shape,
    pose_b: PosesLike,
    threshold: ArrayLike,
    direction: ArrayLike | None,
    rtol: float,
) -> Verdict:
    """`are_closer` for one pair."""
    pose_a, pose_b = as_poses("pose_a", pose_a), as_poses("pose_b", pose_b)
    for name, pose in (("pose_a", pose_a), ("pose_b", pose_b)):
        if pose.shape != (4, 4):
            raise ValueError(
                f"{name}: must have shape (4, 4) for two shapes, found {pose.shape}; for many pairs, a or b must be a "
                "sequence with a shape for each pair"
            )
    limit = number("threshold", threshold, "metres")
    guess = np.zeros(3) if direction is None else _unit_directions("direction", direction, (3,))
    row_a, row_b = packed_row("a", a), packed_row("b", b)
    rtol = check_rtol(rtol)
    out = np.empty((1, VERDICT_LENGTH))
    if isinstance(a, Superovoid) and isinstance(b, Superovoid):
        compare_pairs(  # of one row: `compare_pair` is no entry point
            row_a[None],
            row_b[None],
            pose_a[None],
            pose_b[None],
            np.array([limit]),
            rtol,
            SEARCH_BUDGET,
            guess[None],
            np.zeros((1, STATE_LENGTH)),
            out,
        )
    else:
        _compare_kinds(a, pose_a, b, pose_b, limit, rtol, out[0])
    _look_inside(a, pose_a, b, pose_b, limit, rtol, out[0])
    return _verdicts(out)[0]


def _are_pairs_closer(
    a: Shape | Sequence[Shape],
    pose_a: PosesLike,
    b: Shape | Sequence[Shape],
    pose_b: PosesLike,
    threshold: ArrayLike,
    direction: ArrayLike | None,
    rtol: float,
) -> Verdicts:
    """`are_closer` for many pairs."""
    pose_a, pose_b = as_poses("pose_a", pose_a), as_poses("pose_b", pose_b)
    limits = floats("threshold", threshold)
    counts = {}
    for name, array, plain in (("pose_a", pose_a, 2), ("pose_b", pose_b, 2), ("threshold", limits, 0)):
        if array.ndim not in (plain, plain + 1) or not np.isfinite(array).all():
            raise ValueError(f"{name}: must be finite and one per pair, found shape {array.shape}")
        if array.ndim > plain:
            counts[name] = len(array)
    for name, shapes in (("a", a), ("b", b)):
        if not isinstance(shapes, Shape):
            if not hasattr(shapes, "__len__"):
                raise TypeError(f"{name}: must be a shape or a sequence of shapes, found {type(shapes).__name__}")
            counts[name] = len(shapes)
    n = pair_count(counts)
    guesses = np.zeros((n, 3)) if direction is None else _unit_directions("direction", direction, (n, 3))
    all_a, all_b = _each("a", a, n), _each("b", b, n)
    rtol = check_rtol(rtol)
    out = np.empty((n, VERDICT_LENGTH))
    pose_a, pose_b = (np.broadcast_to(pose, (n, 4, 4)) for pose in (pose_a, pose_b))
    limits = np.broadcast_to(limits, (n,))
    some = which_superovoids(all_a, all_b)
    for first in range(0, len(some), CHUNK):
        chunk = some[first : first + CHUNK]
        decided = np.empty((len(chunk), VERDICT_LENGTH))
        compare_pairs(
            packed_rows(all_a, chunk),
            packed_rows(all_b, chunk),
            pose_a[chunk],
            pose_b[chunk],
            limits[chunk],
            rtol,
            SEARCH_BUDGET,
            guesses[chunk],
            np.zeros((len(chunk), STATE_LENGTH)),
            decided,
        )
        out[chunk] = decided
    for i in np.delete(np.arange(n), some):
        poses = pose_a[i].copy(), pose_b[i].copy()
        _compare_kinds(all_a[i], poses[0], all_b[i], poses[1], float(limits[i]), rtol, out[i])
    for i in np.flatnonzero(out[:, ANSWER] == UNDECIDED):
        _look_inside(all_a[i], pose_a[i].copy(), all_b[i], pose_b[i].copy(), float(limits[i]), rtol, out[i])
    return _verdicts(out)


def _compare_kinds(
    a: Shape, pose_a: FloatArray, b: Shape, pose_b: FloatArray, threshold: float, rtol: float, out: FloatArray
) -> None:
    """`compare_pair` for a pair that is not two superovoids: by their bounding spheres, else by the solver.

    A mesh that is not convex is asked for its surface in between, which mostly saves the depth.
    """
    (centre_a, radius_a), (centre_b, radius_b) = a.bounding_sphere(), b.bounding_sphere()
    out[:] = 0.0, -np.inf, np.inf, BY_SPHERES, 0
    if radius_a + radius_b < np.inf:
        between = pose_b[:3, 3] - pose_a[:3, 3] + pose_b[:3, :3] @ centre_b - pose_a[:3, :3] @ centre_a
        # Centres turn with their bodies: as far as rounding goes they are points of these.
        outer = radius_a + np.linalg.norm(centre_a), radius_b + np.linalg.norm(centre_b)
        margin = allowance(*outer, np.linalg.norm(pose_b[:3, 3] - pose_a[:3, 3]))
        out[PROVED_LOWER] = np.linalg.norm(between) - radius_a - radius_b - margin
        if out[PROVED_LOWER] >= threshold:
            out[ANSWER] = -1.0
            return
    known = out[PROVED_LOWER], np.inf
    if isinstance(a, Mesh) or isinstance(b, Mesh):
        from superovoid.contact.deciding import bounds_of_shapes  # late: it imports this module

        surfaces = bounds_of_shapes(a, pose_a, b, pose_b, threshold, rtol)
        known = max(known[0], surfaces[0]), surfaces[1]
        answer = verdict_of(*known, threshold)
        if answer != UNDECIDED:
            out[:] = answer, *known, BY_SURFACES, 0
            return
    row = np.empty(RESULT_LENGTH)
    solve_of_kinds(a, pose_a, b, pose_b, rtol, row)
    lower, upper = max(known[0], row[LOWER]), min(known[1], row[UPPER])
    out[:] = (upper < threshold) - float(lower >= threshold), lower, upper, BY_SEARCH, 1


def _body_inside(shape: Shape) -> Shape:
    """Return a convex body inside one with a dent: its section at each height is no smaller than without the taper."""
    if not (isinstance(shape, Superovoid) and shape._packed[DENTED]):
        return shape
    x, y = (WITHIN * a * (1.0 - abs(t)) for a, t in zip(shape.semi_axes[:2], shape.taper, strict=True))
    return Superovoid(
        (x, y, shape.semi_axes[2]), section_exponent=shape.section_exponent, profile_exponent=shape.profile_exponent
    )


def _look_inside(
    a: Shape, pose_a: FloatArray, b: Shape, pose_b: FloatArray, threshold: float, rtol: float, out: FloatArray
) -> None:
    """Ask the convex bodies inside bodies with a dent, which are no closer than these, where a verdict is open."""
    if out[ANSWER] != UNDECIDED:
        return
    inner_a, inner_b = _body_inside(a), _body_inside(b)
    if inner_a is a and inner_b is b:
        return
    upper = distance(inner_a, pose_a, inner_b, pose_b, rtol=rtol).upper
    out[PROVED_UPPER] = min(out[PROVED_UPPER], max(upper, out[PROVED_LOWER]))
    out[SOLVES] += 1
    if out[PROVED_UPPER] < threshold:
        out[ANSWER], out[PROVED_BY] = CLOSER, BY_SEARCH


def _verdicts(rows: FloatArray) -> Verdicts:
    return Verdicts(
        rows[:, ANSWER] > 0.0,
        rows[:, ANSWER] < 0.0,
        rows[:, PROVED_LOWER],
        rows[:, PROVED_UPPER],
        rows[:, PROVED_BY].astype(np.uint8),
        Statistics(solves=rows[:, SOLVES].astype(np.uint8)),
    )


def _unit_directions(name: str, directions: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    guesses = floats(name, directions)
    if guesses.shape != shape:
        raise ValueError(f"{name}: must be numbers of shape {shape}, found shape {guesses.shape}")
    if not np.isfinite(guesses).all():
        raise ValueError(f"{name}: must be finite, found nan or inf")
    largest = np.abs(guesses).max(axis=-1, keepdims=True, initial=0.0)
    if not (largest > 0.0).all():
        raise ValueError(f"{name}: must not be zero")
    guesses = guesses / largest  # squares of what is left neither vanish nor overflow
    return guesses / np.linalg.norm(guesses, axis=-1, keepdims=True)


def _each(name: str, shapes: Shape | Sequence[Shape], n: int) -> list[Shape]:
    if isinstance(shapes, Shape):
        return [shapes] * n
    for i, shape in enumerate(shapes):
        packed_row(f"{name}[{i}]", shape)
    return list(shapes)
