# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compare the distances of one or many pairs of bodies with thresholds. `deciding` has the proofs."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.contact.broadcasting import Shapes, one_a_pair, pairs_of, share_pairs
from superovoid.contact.columns import VERDICT, VERDICT_LENGTH
from superovoid.contact.deciding import Proof, decide_pairs
from superovoid.contact.inputs import TOLERANCE, check_rtol
from superovoid.shapes import Shape
from superovoid.shapes.shape import unit_directions
from superovoid.values.poses import ORIGIN, PoseLike, PosesLike
from superovoid.values.records import Record, Statistics, Table

FloatArray = NDArray[np.float64]


class UndecidedError(RuntimeError):
    """Raised by `bool` of an undecided answer.

    `Verdict`, each row of `Verdicts`, and `Impact` follow one rule: `bool` is True if yes is proved and False if no is
    proved. An undecided answer has no safe truth value, because callers use both ``if close`` and ``if not close``.
    """


@dataclass(frozen=True, eq=False, repr=False)
class Verdict(Record):
    """The answer to whether the signed distance is below a threshold.

    ``bool(verdict)`` is True if `closer` is proved, False if `farther` is proved, and raises `UndecidedError` if
    neither is. ``verdict.closer``, ``verdict.undecided`` and ``not verdict.farther`` never raise. Use
    ``not verdict.farther`` in a collision check: it is true unless the clearance is proved.
    """

    closer: bool
    """Proved: the signed distance is below the threshold."""
    farther: bool
    """Proved: it is not below. If neither is proved, the threshold lies in [lower, upper]."""
    lower: float
    """Proved lower bound of the signed distance, m; no tighter than the decision needed."""
    upper: float
    """Proved upper bound, m."""
    proof: Proof
    """The deciding proof."""
    statistics: Statistics
    """``solves``: calls of the pair solver, 0 if bounds were enough, and 2 if convex bodies inside those with a
    concavity were solved too."""

    @classmethod
    def _from_row(cls, row: FloatArray) -> Verdict:
        answer, lower, upper, proof, solves = row.tolist()
        return cls(answer > 0.0, answer < 0.0, lower, upper, Proof(int(proof)), Statistics(solves=int(solves)))

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
    """`Verdict` as arrays, one row for each pair; ``verdicts[0]`` is a row."""

    closer: NDArray[np.bool_]
    farther: NDArray[np.bool_]
    lower: FloatArray
    upper: FloatArray
    proof: NDArray[np.uint8]
    """`Proof` of each row, as a number."""
    statistics: Statistics
    """``solves`` of each row."""

    PER_ROW: ClassVar[tuple[str, ...]] = ("closer", "farther", "lower", "upper", "proof", "statistics")
    ENUMS = MappingProxyType({"proof": Proof})

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """Rows for which neither `closer` nor `farther` is proved."""
        return ~(self.closer | self.farther)

    def _row(self, row: int) -> Verdict:
        return self._make_row(Verdict, row)

    def __bool__(self) -> bool:
        raise TypeError(
            "verdicts of many pairs have no truth value, and some may be undecided: ask for `.closer.any()` (proved "
            "closer, or overlapping), for `.farther.all()` (proved not to be), or for `.undecided`"
        )


class Options(TypedDict, total=False):
    """Optional arguments of `are_closer` and `are_intersecting`."""

    direction: ArrayLike | None
    rtol: float
    threads: int | None


@overload
def are_closer(
    a: Shape, pose_a: PoseLike, b: Shape, pose_b: PoseLike, threshold: float, **options: Unpack[Options]
) -> Verdict: ...


@overload
def are_closer(
    a: Shapes, pose_a: PosesLike, b: Shapes, pose_b: PosesLike, threshold: ArrayLike, **options: Unpack[Options]
) -> Verdicts: ...


def are_closer(
    a: Shapes,
    pose_a: PosesLike,
    b: Shapes,
    pose_b: PosesLike,
    threshold: ArrayLike,
    *,
    direction: ArrayLike | None = None,
    rtol: float = TOLERANCE,
    threads: int | None = None,
) -> Verdict | Verdicts:
    """Decide whether the signed distance of two bodies is below a threshold, by the cheapest proof.

    Two shapes at one pose each, with one threshold, are one pair, and the result is a `Verdict`. If shapes, poses or
    thresholds are given for many pairs, the result is `Verdicts`. A pair has the same result, bit by bit, alone and
    among others.

    Parameters
    ----------
    a, b : Shape, ShapeArray or sequence of Shape
        The bodies of each pair, of any kinds; a single one is used for every pair.
    pose_a, pose_b : pose, or many of these
        Poses, body to world, m, in any form that `distances` takes; a single one is used for every pair.
    threshold : float or (n,) array_like
        Signed distance to compare with, m. Negative: whether the bodies overlap deeper than that.
    direction : (3,) or (n, 3) array_like, optional
        A guess of the normal from A to B, world, such as that of an earlier result; default: the line of the origins.
        With a good guess most separate pairs of superovoids are decided without the solver. A bad guess costs time
        but does not change the answer.
    rtol : float, optional
        Width of the interval below which the solver stops, as a fraction of the smaller body's largest semi-axis, as
        for `distance`. Distances closer to the threshold than this stay undecided.
    threads : int, optional
        Number of threads for many pairs; None: at most one for each processor, fewer if more would not be faster. The
        results do not depend on it.

    Returns
    -------
    Verdict or Verdicts
        A single verdict can be used as ``if are_closer(...)``. A distance that equals the threshold to within `rtol` is
        neither closer nor farther, and `bool` raises `UndecidedError`.

    Raises
    ------
    ValueError
        If lengths do not match, a pose is not a rigid transform, a number is not finite, or `threads` is not positive.
    TypeError
        If a shape is not a `Shape`.

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
    counts: dict[str, int] = {}
    thresholds = one_a_pair("threshold", threshold, "metres", counts)
    guesses = np.zeros((1, 3))
    if direction is not None:
        guesses, _, shape = unit_directions(direction)
        if len(shape) > 1:
            counts["direction"] = len(guesses)
    pairs, is_single = pairs_of(a, pose_a, b, pose_b, counts)
    rtol = check_rtol(rtol)
    out = np.empty((pairs.length, VERDICT_LENGTH))
    asked = thresholds, guesses, rtol
    share_pairs(np.arange(len(out)), lambda which, work: decide_pairs(pairs, which, *asked, work, out), threads)
    if is_single:
        return Verdict._from_row(out[0])
    return Verdicts(
        out[:, VERDICT.answer] > 0.0,
        out[:, VERDICT.answer] < 0.0,
        out[:, VERDICT.lower],
        out[:, VERDICT.upper],
        out[:, VERDICT.proof].astype(np.uint8),
        Statistics(solves=out[:, VERDICT.solves].astype(np.uint8)),
    )


@overload
def are_intersecting(  # type: ignore[overload-overlap]
    a: Shape, pose_a: PoseLike, b: Shape, pose_b: PoseLike = ORIGIN, **options: Unpack[Options]
) -> Verdict: ...


@overload
def are_intersecting(
    a: Shapes, pose_a: PosesLike, b: Shapes, pose_b: PosesLike = ORIGIN, **options: Unpack[Options]
) -> Verdicts: ...


def are_intersecting(
    a: Shapes,
    pose_a: PosesLike,
    b: Shapes,
    pose_b: PosesLike = ORIGIN,
    *,
    direction: ArrayLike | None = None,
    rtol: float = TOLERANCE,
    threads: int | None = None,
) -> Verdict | Verdicts:
    """Decide whether two bodies overlap: `are_closer` with the threshold 0, for one pair or many.

    Returns
    -------
    Verdict or Verdicts
        A single verdict can be used as ``if are_intersecting(...)``. `closer`: the bodies have an inner point in
        common. `farther`: they have none. Neither: they touch, to within `rtol`.
    """
    return are_closer(a, pose_a, b, pose_b, 0.0, direction=direction, rtol=rtol, threads=threads)
