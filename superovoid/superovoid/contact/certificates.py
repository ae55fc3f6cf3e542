# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""The proof of an answer as plain data for independent checks (docs/how_to/verify.md).

*Cones.* No translation shorter than rho separates two convex bodies iff h_M(n) >= rho |n| for every n, M = A - B. On a
cone spanned by n1, n2, n3 that holds if a point m of M has n_j . m >= rho |n_j| for j = 1, 2, 3, because
n . m - rho |n| is concave and h_M(n) >= n . m. The octants of A's frame are halved until each cone has its point, a
mean of support points. The tree records the order of the halvings, from which the cones follow without a gap, and the
points of the bodies.

*Pieces.* The search of `nearest_pieces` cuts both bodies at heights until every pair of pieces has a direction n with
g(n) = n . c - h_P(n) - h_Q(-n) >= the lower bound. The tree records the order of its cuts, which shows that no pair is
left out, and the directions.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from superovoid.contact.inputs import MOST_STEPS, SEARCH_BUDGET
from superovoid.contact.pair import OvoidPair
from superovoid.contact.separation import rounding_margin
from superovoid.contact.superovoids.nearest_pieces import Cells, NearestPoints, new_cells, refine_ovoids
from superovoid.contact.superovoids.pair_solver import relative_pose
from superovoid.shapes.kernels.kinds import is_sphere
from superovoid.shapes.kernels.surface import A1, HAS_CONCAVITY, SurfacePoint
from superovoid.values.records import Record

if TYPE_CHECKING:
    from superovoid.contact.results import DistanceResult
    from superovoid.shapes import Superovoid

FloatArray = NDArray[np.float64]

_MOST_CONES = 20_000
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
    result: DistanceResult, a: Superovoid, b: Superovoid, pose_a: FloatArray, pose_b: FloatArray, state: FloatArray
) -> Certificate:
    """Write down the proof of an answer for two superovoids.

    Parameters
    ----------
    result : DistanceResult
    a, b : Superovoid
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
    pair = OvoidPair(a._packed_row, b._packed_row, rotation, relative_pose(pose_a, pose_b, rotation))
    has_concavity = pair.a[HAS_CONCAVITY] + pair.b[HAS_CONCAVITY] > 0.0
    x, y = (pose[:3, :3].T @ (p - pose[:3, 3]) for pose, p in ((pose_a, result.point_a), (pose_b, result.point_b)))
    if result.upper < 0.0 and not has_concavity:
        balls = np.array([is_sphere(row) for row in pair[:2]])
        rho = -result.upper - sum(row[A1] for row, ball in zip(pair[:2], balls, strict=True) if ball)
        if balls.all() or not rho > 0.0:
            return Certificate()
        cones, points = cover_by_cones((a, b), pair, rho, np.where(balls[:, None], 0.0, (x, y)), ~balls)
        return Certificate(cones=cones, points=points)
    if result.lower > 0.0 and has_concavity:
        n, y = pose_a[:3, :3].T @ result.normal, pair.centre + rotation @ y
        surface_points = (SurfacePoint(*state[:8].tolist()), SurfacePoint(*state[8:16].tolist()))
        nearest = NearestPoints(result.distance, tuple(x), tuple(y), *surface_points)
        goal = result.distance - result.lower - _HALF * rounding_margin(pair.a, pair.b, pair.centre)
        cells = new_cells(SEARCH_BUDGET)
        if refine_ovoids(pair, tuple(n / np.linalg.norm(n)), nearest, goal, cells) >= result.distance - goal:
            pieces, heights, directions = _tree_of(cells)
            return Certificate(pieces=pieces, heights=heights, directions=directions)
    return Certificate()


def cover_by_cones(
    shapes: tuple[Superovoid, Superovoid],
    pair: OvoidPair,
    rho: float,
    first: FloatArray,
    has_extent: NDArray[np.bool_],
) -> tuple[str, FloatArray]:
    """Cover all directions with cones, each with a point of M that is no less than rho away along it.

    Parameters
    ----------
    shapes : tuple of Superovoid
    pair : OvoidPair
        Of the same bodies.
    rho : float
        m.
    first : (2, 3) ndarray
        A point of A and one of B, in their frames, that serve the cones about the best direction.
    has_extent : (2,) ndarray of bool
        False for a sphere, which counts as its centre.

    Returns
    -------
    cones : str
        As of `Certificate`; empty if there are too many cones or one is too narrow.
    points : (k, 6) ndarray
    """
    rotation, centre = pair.rotation, np.array(pair.centre)

    def points_along(n: FloatArray) -> FloatArray:
        """Return support points of both bodies in their frames, shape (..., 2, 3)."""
        unit = (n / np.linalg.norm(n, axis=-1, keepdims=True)).reshape(-1, 3)
        points = [shape._support_points(m) for shape, m in zip(shapes, (unit, -unit @ rotation), strict=True)]
        return (np.stack(points, axis=1) * has_extent[:, None]).reshape(*n.shape[:-1], 2, 3)

    def difference(points: FloatArray) -> FloatArray:
        return points[..., 0, :] - points[..., 1, :] @ rotation.T - centre

    signs = np.array(list(itertools.product((1.0, -1.0), repeat=3)))
    n = signs[:, :, None] * np.eye(3)  # three corners of each cone
    xy = points_along(n)
    near = difference(first)
    letters: list[str] = []
    children: list[int] = []  # of each entry, the first of the two that follow it in the next level
    means: list[FloatArray] = []
    for _ in range(MOST_STEPS + 1):
        length = np.linalg.norm(n, axis=2)
        heights = np.einsum("kji,kli->kjl", n, difference(xy)) / length[:, :, None]  # along corner j, of point l
        least, weights = _best_means(heights)
        by_first = ((n @ near) / length).min(axis=1) >= rho
        is_done = by_first | (least >= rho)
        edge = _edges_to_halve(heights)
        level = len(letters) + len(n)
        letters += np.where(by_first, "*", np.where(is_done, ".", edge.astype(str))).tolist()
        children += (level + 2 * (np.cumsum(~is_done) - 1)).tolist()
        means += list(np.einsum("kl,klbi->kbi", weights, xy).reshape(-1, 6))
        which = np.flatnonzero(~is_done)
        if not len(which):
            break
        if level + 2 * len(which) > 2 * _MOST_CONES:
            return "", np.empty((0, 6))
        i, j = edge[which], (edge[which] + 1) % 3
        middle = 0.5 * (n[which, i] + n[which, j])
        at_middle = points_along(middle)
        n, xy = np.repeat(n[which], 2, axis=0), np.repeat(xy[which], 2, axis=0)
        for first_half, corner in ((0, i), (1, j)):
            half = 2 * np.arange(len(which)) + first_half
            n[half, corner], xy[half, corner] = middle, at_middle
    else:
        return "", np.empty((0, 6))
    cones, points, waiting = [], [first.reshape(6)], list(range(7, -1, -1))
    while waiting:
        k = waiting.pop()
        cones.append(letters[k])
        if letters[k] == ".":
            points.append(means[k])
        elif letters[k] != "*":
            waiting += [children[k] + 1, children[k]]
    return "".join(cones), np.array(points)


def _best_means(heights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the least height of the best mean of three points over three corners, and its weights: a game.

    Of [k, j, l], the height of point l along corner j, these are tried: the points themselves, means of two points that
    are as high along two corners, and the mean that is as high along all.
    """
    count, eye = len(heights), np.eye(3)
    tried = [np.broadcast_to(point, (count, 3)) for point in eye]
    with np.errstate(divide="ignore", invalid="ignore"):
        for k, j in itertools.product(range(3), repeat=2):
            change = heights[:, j] - heights[:, j - 1]
            share = change[:, k] / (change[:, k] - change[:, k - 1])
            tried.append((1.0 - share)[:, None] * eye[k] + share[:, None] * eye[k - 1])
        equal = np.cross(heights[:, 1] - heights[:, 0], heights[:, 2] - heights[:, 0])
        tried.append(equal / equal.sum(axis=1, keepdims=True))
        weights = np.stack(tried, axis=1)
        least = np.einsum("kwl,kjl->kwj", weights, heights).min(axis=2)
        least[~(weights >= 0.0).all(axis=2)] = -math.inf
    best, rows = least.argmax(axis=1), np.arange(count)
    return least[rows, best], weights[rows, best]


def _edges_to_halve(heights: FloatArray) -> NDArray[np.int64]:
    """Return the edge of each cone along which the points differ most."""
    i, j = np.arange(3), (np.arange(3) + 1) % 3
    return (heights[:, i, i] - heights[:, i, j] - heights[:, j, i] + heights[:, j, j]).argmax(axis=1)


def _tree_of(cells: Cells) -> tuple[str, FloatArray, FloatArray]:
    """Return the tree of a search: letters of cuts and of pairs of pieces, heights of the cuts, and directions."""
    letters: list[str] = []
    heights: list[float] = []
    directions: list[FloatArray] = []

    def cut(side: int, height: float) -> None:
        letters.append("ab"[side])
        heights.append(height)

    first, end_a, end_b = 0, -1.0, 1.0
    while end_a < 1.0 or end_b < 1.0:  # the first pieces lie above each other, those of B within each of A
        _, end_a, begin_b, end_b = cells.rows[first, :4]
        if begin_b == -1.0 and end_a < 1.0:
            cut(0, end_a)
        if end_b < 1.0:
            cut(1, end_b)
        waiting = [first]
        while waiting:
            i = waiting.pop()
            lower = int(cells.parts[i])
            if lower == 0:
                letters.append(".")
                directions.append(cells.rows[i, 4:7].copy())
                continue
            side = 0 if cells.rows[lower, 1] < cells.rows[i, 1] else 1
            cut(side, cells.rows[lower, 1 + 2 * side])
            waiting += [lower + 1, lower]
        first += 1
    return "".join(letters), np.array(heights), np.array(directions)
