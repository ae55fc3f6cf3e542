# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The proof of an answer as plain data for independent checks (docs/how_to/verify.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from superovoid.contact.pair import Pair
from superovoid.contact.separation import rounding_margin
from superovoid.contact.superovoids import cone_tree, piece_tree
from superovoid.contact.superovoids.nearest_pieces import NearestPoints
from superovoid.contact.superovoids.pair_solver import relative_pose
from superovoid.shapes.kernels.kinds import is_sphere
from superovoid.shapes.kernels.surface import A1, DENTED, SurfacePoint
from superovoid.values.records import Record

if TYPE_CHECKING:
    from superovoid.contact.results import DistanceResult

FloatArray = NDArray[np.float64]

_MOST_CONES, _MOST_PIECES = 20_000, 4_000
_CONE_LETTERS, _PIECE_LETTERS = "012.*", "ab."
_HALF = 0.5  # of the allowance for rounding, which is in the interval and lets a check round


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Record):
    """The proof of an interval, in addition to the normal and the points of the answer. Empty if these prove it.

    Directions are in the frame of A, trees are in preorder: an inner entry is followed by its first half, then by its
    second.
    """

    cones: str = ""
    """Overlapping: halvings of the octants (+++, ++-, ..., ---), letters ``0``, ``1`` and ``2`` for the edge from that
    corner to the next, whose middle replaces its first end in the first half and its second end in the other; ``.`` for
    a cone with a point, ``*`` for one with the first point."""
    points: FloatArray = field(default_factory=lambda: np.empty((0, 6)))
    """Points of A and of B, in their frames, m, shape (k, 6): the first, then those of the cones, in order."""
    pieces: str = ""
    """Apart, with a concavity: cuts across the axis z of A (``a``) and B (``b``), at first of the two whole bodies, the
    lower part first; ``.`` for a pair of pieces with a direction."""
    heights: FloatArray = field(default_factory=lambda: np.empty(0))
    """Heights z / a3 of the cuts, in order, shape (k,)."""
    directions: FloatArray = field(default_factory=lambda: np.empty((0, 3)))
    """Directions from A to B of the pairs of pieces, in order, shape (k, 3)."""


def certificate_of(
    result: DistanceResult,
    row_a: FloatArray,
    row_b: FloatArray,
    pose_a: FloatArray,
    pose_b: FloatArray,
    state: FloatArray,
) -> Certificate:
    """Write down the proof of an answer for two superovoids.

    Parameters
    ----------
    result : DistanceResult
    row_a, row_b : array
        The packed bodies.
    pose_a, pose_b : array, shape (4, 4)
    state : array
        State of the solver after the answer: the surface points of the contact.

    Returns
    -------
    Certificate
        Empty if normal and points prove the interval, or if nothing better was found: non-convex bodies
        that overlap, a search that takes too long.
    """
    rotation = np.empty((3, 3))
    pair = Pair(row_a, row_b, rotation, relative_pose(pose_a, pose_b, rotation))
    dented = row_a[DENTED] + row_b[DENTED] > 0.0
    if result.upper < 0.0 and not dented:
        return _by_cones(pair, result, pose_a, pose_b)
    if result.lower > 0.0 and dented:
        return _by_pieces(pair, result, pose_a, state)
    return Certificate()


def _by_cones(pair: Pair, result: DistanceResult, pose_a: FloatArray, pose_b: FloatArray) -> Certificate:
    balls = [bool(is_sphere(body)) for body in (pair.a, pair.b)]
    rho = -result.upper - sum(body[A1] for body, ball in zip((pair.a, pair.b), balls, strict=True) if ball)
    if all(balls) or not rho > 0.0:
        return Certificate()
    first = tuple(
        tuple(pose[:3, :3].T @ (point - pose[:3, 3]))
        for pose, point in ((pose_a, result.point_a), (pose_b, result.point_b))
    )
    tree, points = np.empty(2 * _MOST_CONES, np.int8), np.empty((_MOST_CONES, 6))
    cores = tuple(0.0 if ball else 1.0 for ball in balls)
    entries, found = cone_tree.grow(pair, rho, first, cores, tree, points)
    if not entries:
        return Certificate()
    return Certificate(cones="".join(_CONE_LETTERS[k] for k in tree[:entries]), points=points[:found].copy())


def _by_pieces(pair: Pair, result: DistanceResult, pose_a: FloatArray, state: FloatArray) -> Certificate:
    n, x, y = (
        v @ pose_a[:3, :3] for v in (result.normal, *(p - pose_a[:3, 3] for p in (result.point_a, result.point_b)))
    )
    points = (SurfacePoint(*state[:8].tolist()), SurfacePoint(*state[8:16].tolist()))
    nearest = NearestPoints(result.distance, tuple(x), tuple(y), *points)
    goal = result.distance - result.lower - _HALF * rounding_margin(pair.a, pair.b, pair.centre)
    tree, heights = np.empty(2 * _MOST_PIECES, np.int8), np.empty(_MOST_PIECES)
    directions = np.empty((_MOST_PIECES, 3))
    entries, cuts, found = piece_tree.cut(pair, tuple(n / np.linalg.norm(n)), nearest, goal, tree, heights, directions)
    if not entries:
        return Certificate()
    return Certificate(
        pieces="".join(_PIECE_LETTERS[k] for k in tree[:entries]),
        heights=heights[:cuts].copy(),
        directions=directions[:found].copy(),
    )
