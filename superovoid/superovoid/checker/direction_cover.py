# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A lower bound of the penetration depth of two overlapping convex bodies, from a cover of all directions by cones.

Let M = A - B, the set of x - y, and h its support function. No translation shorter than rho separates convex bodies iff
h(n) >= rho |n| for every n. On a cone spanned by n1, n2, n3 this holds if one point m of M satisfies

    n_j . m >= rho |n_j|   for j = 1, 2, 3,

because n . m - rho |n| is concave and positively homogeneous in n, hence nonnegative on the cone if it is so at the
three corners, and h(n) >= n . m. For negative rho, a single m with |m| <= -rho serves all cones, since
n . m >= -|n| |m|.

The eight octants are bisected repeatedly, so the cones leave no gap. A corner is code . frame, a combination of three
directions of a frame with doubles as coefficients. The middle (code_i + code_j) / 2 is an exact double, because
each bisection adds one binary digit to a coefficient and there are at most `_DIGITS` of them; after that, the corners,
which are doubles in the frame of the octants, become the frame of further bisections, once. Points are proposed in
doubles and verified in balls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from flint import arb
from numpy.typing import NDArray

from superovoid.checker.balls import Vector, dot, exact_vector, norm

FloatArray = NDArray[np.float64]

_DIGITS = 50
_DEEPEST = 2 * _DIGITS
_LARGE = 0.6  # rad; cones with a longer edge are always bisected along it


class Cover(NamedTuple):
    """The result of covering all directions."""

    proved: bool
    """Whether h(n) >= rho |n| for every n."""
    direction: FloatArray | None
    """If not proved: the direction with the smallest h(n) - rho |n|, in doubles."""
    cones: int
    """Number of cones judged in balls."""


class Points(NamedTuple):
    """Functions that construct points of M from points of both bodies, in doubles and in balls."""

    at: Callable[[FloatArray, float], tuple[FloatArray, FloatArray]]
    """Returns points of A and B, (k, 3) each in its own frame, for world directions (k, 3), to the given slope."""
    difference: Callable[[FloatArray, FloatArray], FloatArray]
    """Returns x - y in world axes."""
    proved: Callable[[FloatArray, FloatArray], Vector | None]
    """Returns an enclosure of x - y for one point of each body, after moving both inside the bodies."""
    exceeded: Callable[[FloatArray], bool]
    """Returns whether h(n) < rho is proved for a world direction."""


class _Cones(NamedTuple):
    """Open cones: their corners, rounded and exact, and at each corner the points of both bodies and of M."""

    corner: FloatArray  # (k, 3, 3), one corner per row
    code: FloatArray
    frame: FloatArray
    x: FloatArray
    y: FloatArray
    m: FloatArray
    depth: NDArray[np.int64]

    def take(self, chosen: Any) -> _Cones:
        return _Cones(*(part[chosen] for part in self))

    def exact_corners(self, k: int) -> list[Vector]:
        """Return enclosures of the corners of a cone."""
        if self.depth[k] < _DIGITS:  # the frame has entries 0, 1 and -1, so these corners are exact
            return [exact_vector(row) for row in self.corner[k]]
        first, second, third = (exact_vector(row) for row in self.frame[k])
        corners = []
        for row in self.code[k]:
            c = exact_vector(row)
            corners.append([c[0] * first[i] + c[1] * second[i] + c[2] * third[i] for i in range(3)])
        return corners


def _slope_at(depth: int) -> float:
    """Return the required accuracy of support points: h - n . x shrinks with the area, which each bisection halves."""
    return max(1e-12, 1e-2 * 2.0**-depth)


def _octants(points: Points) -> _Cones:
    corner = np.array(
        [[(i, 0.0, 0.0), (0.0, j, 0.0), (0.0, 0.0, k)] for i in (1.0, -1.0) for j in (1.0, -1.0) for k in (1.0, -1.0)]
    )
    x, y = (part.reshape(8, 3, 3) for part in points.at(corner.reshape(-1, 3), _slope_at(0)))
    m = points.difference(x.reshape(-1, 3), y.reshape(-1, 3)).reshape(8, 3, 3)
    code = np.tile(np.eye(3), (8, 1, 1))
    return _Cones(corner, code, corner.copy(), x, y, m, np.zeros(8, dtype=np.int64))


def _weights(value: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weights of the three points of each cone, and the minimum of n_j . m / |n_j| for their mean.

    `value` has n_j . m_i / |n_j| at [k, j, i]. This solves a 3 x 3 matrix game: the best mean makes all corners equal
    if its weights are nonnegative; otherwise it is a mean of two points that makes two corners equal, or one point.
    """
    count = len(value)
    trials = [np.broadcast_to(np.eye(3), (count, 3, 3)).transpose(1, 0, 2)]
    rows = value
    with np.errstate(all="ignore"):
        equal = np.stack([np.cross(rows[:, 1] - rows[:, 0], rows[:, 2] - rows[:, 0])])
        equal = equal / equal.sum(axis=2, keepdims=True)
        pairs = []
        for i, j in ((0, 1), (1, 2), (2, 0)):
            for first, second in ((i, j), (j, 3 - i - j), (3 - i - j, i)):
                fall = rows[:, first, i] - rows[:, second, i]
                rise = rows[:, second, j] - rows[:, first, j]
                share = fall / (fall + rise)  # of point j
                weight = np.zeros((count, 3))
                weight[:, i], weight[:, j] = 1.0 - share, share
                pairs.append(weight)
    trial = np.concatenate([*trials, equal, np.array(pairs)])
    good = np.isfinite(trial).all(axis=2) & (trial >= 0.0).all(axis=2)
    trial = np.where(good[:, :, None], trial, np.eye(3)[0])
    least = np.einsum("kji,tki->tkj", rows, trial).min(axis=2)
    best = least.argmax(axis=0)
    here = np.arange(count)
    return trial[best, here], least[best, here]


def cover(
    points: Points, rho: arb, witness: tuple[FloatArray, FloatArray] | None, scale: float, most: int = 20_000
) -> Cover:
    """Prove that no translation shorter than rho separates two convex bodies.

    Parameters
    ----------
    points : Points
    rho : arb
        Depth to prove, m.
    witness : tuple of ndarray, optional
        Points of A and of B, each in its own frame, whose difference is nearly the point of M's boundary closest to
        the origin: it serves all cones near that direction.
    scale : float
        Size of the bodies, m; doubles have errors of a few eps relative to it.
    most : int
        Maximum number of cones to judge; at most a quarter of it may be open at a time.

    Returns
    -------
    Cover
    """
    near_ball = None if witness is None else points.proved(*witness)
    near = None if near_ball is None else np.array([float(part) for part in near_ball])
    if not rho >= 0:
        return Cover(near_ball is not None and bool(norm(near_ball) <= -rho), None, 0)
    square, rho = rho**2, float(rho)
    open_ = _octants(points)
    judged = 0
    worst, direction = np.inf, None
    while len(open_.depth):
        length = np.linalg.norm(open_.corner, axis=2)
        value = np.einsum("kjd,kid->kji", open_.corner, open_.m) / length[:, :, None]
        own = np.einsum("kjj->kj", value)
        low = own.min()
        if low < worst:
            at = np.unravel_index(own.argmin(), own.shape)
            worst, direction = low, open_.corner[at] / length[at]
            if worst < rho - 1e-15 * scale and points.exceeded(direction):
                return Cover(False, direction, judged)
        weight, least = _weights(value)
        promising = least >= rho
        by_witness = np.zeros(len(least), dtype=bool)
        if near is not None:
            by_witness = ((open_.corner @ near) / length).min(axis=1) >= rho
        done = np.zeros(len(least), dtype=bool)
        for k in np.flatnonzero(promising | by_witness):
            judged += 1
            if by_witness[k] and _reaches(open_.exact_corners(k), near_ball, square):
                done[k] = True
            elif promising[k]:
                m = points.proved(weight[k] @ open_.x[k], weight[k] @ open_.y[k])
                done[k] = m is not None and _reaches(open_.exact_corners(k), m, square)
        open_ = open_.take(~done)
        value, length = value[~done], length[~done]
        if not len(open_.depth):
            return Cover(True, None, judged)
        if judged > most or len(open_.depth) > most // 4 or open_.depth.max() >= _DEEPEST:
            return Cover(False, direction, judged)
        open_ = _bisect(open_, value, length, points)
    return Cover(True, None, judged)


def _reaches(corners: list[Vector], m: Vector, square: arb) -> bool:
    """Return whether n . m >= rho |n| at the three corners of a cone, without square roots."""
    for n in corners:
        along = dot(n, m)
        if not (along >= 0 and along * along >= square * dot(n, n)):
            return False
    return True


def _bisect(cones: _Cones, value: FloatArray, length: FloatArray, points: Points) -> _Cones:
    """Bisect each cone: large ones along their longest edge, others along the edge with the largest bend."""
    count = len(cones.depth)
    here = np.arange(count)
    first, second = np.array([0, 1, 2]), np.array([1, 2, 0])
    unit = cones.corner / length[:, :, None]
    edge = np.linalg.norm(unit[:, first] - unit[:, second], axis=2)
    # (n_i - n_j) . (m_i - m_j): curvature of the surface along the edge
    bend = value[:, first, first] - value[:, first, second] - value[:, second, first] + value[:, second, second]
    chosen = np.where(edge.max(axis=1) > _LARGE, edge.argmax(axis=1), bend.argmax(axis=1))
    i, j = first[chosen], second[chosen]
    middle = 0.5 * (cones.corner[here, i] + cones.corner[here, j])
    middle_code = 0.5 * (cones.code[here, i] + cones.code[here, j])
    x, y = points.at(middle, _slope_at(int(cones.depth.min())))
    m = points.difference(x, y)
    halves = []
    for gone in (i, j):
        parts = []
        for part, new in (
            *((cones.corner, middle), (cones.code, middle_code), (cones.frame, None)),
            *((cones.x, x), (cones.y, y), (cones.m, m)),
        ):
            part = part.copy()
            if new is not None:
                part[here, gone] = new
            parts.append(part)
        halves.append(parts)
    both = [np.concatenate(pair) for pair in zip(*halves, strict=True)]
    depth = np.concatenate([cones.depth, cones.depth]) + 1
    # The frame of the octants has entries 0, 1 and -1, so corners in it are doubles.
    full = depth == _DIGITS
    both[2][full], both[1][full] = both[0][full], np.eye(3)
    return _Cones(*both, depth)
