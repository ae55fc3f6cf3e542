# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Certificates written down: `distance(..., certificate=True)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from superovoid.contact.certificates import Certificate
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids import cone_tree, piece_tree
from superovoid.contact.superovoids.certificate import rounding_margin
from superovoid.contact.superovoids.nearest_pieces import Nearest
from superovoid.contact.superovoids.pair_solver import relative_pose
from superovoid.shapes.kernels.kinds import is_sphere
from superovoid.shapes.kernels.surface import A1, DENTED, SurfacePoint

if TYPE_CHECKING:
    from superovoid.contact.results import DistanceResult

FloatArray = NDArray[np.float64]

_MOST_CONES, _MOST_PIECES = 20_000, 4_000
_CONE_LETTERS, _PIECE_LETTERS = "012.*", "ab."
_HALF = 0.5  # of the allowance for rounding, which is in the interval and lets a check round


def certificate_of(
    result: DistanceResult,
    row_a: FloatArray,
    row_b: FloatArray,
    pose_a: FloatArray,
    pose_b: FloatArray,
    state: FloatArray,
) -> Certificate:
    """Write down what proves an answer to two superovoids.

    Parameters
    ----------
    result : DistanceResult
    row_a, row_b : array
        The packed bodies.
    pose_a, pose_b : array, shape (4, 4)
    state : array
        What the solver left: the surface points of the contact.

    Returns
    -------
    Certificate
        Empty if there is nothing to add to normal and points, or if nothing better was found: bodies with a dent
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
    nearest = Nearest(result.distance, tuple(x), tuple(y), *points)
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
