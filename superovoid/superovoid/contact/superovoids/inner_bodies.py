# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Convex bodies inside a non-convex body that share its surface at a height.

The section S_w of a body at height w is scaled by a share alpha(w) <= 1, with alpha = 1 at the height of a contact and
alpha' = 0 there. The bound of da/dT, a = |alpha'| / alpha and T the distance from the contact's height, that keeps the
scaled body convex is derived in docs/explanation/search.md ("Pairs of pieces: overlapping superovoids"), with the
symbols of `shapes.kernels.concavities`. On intervals of the height it is bounded, and a grows by as much.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.kernels import kernel
from superovoid.compiled.powers import exp, power
from superovoid.compiled.vector import add, dot, rotate, rotate_back, scale, sub
from superovoid.contact.inputs import MOST_STEPS, TOLERANCE
from superovoid.contact.minkowski.difference import LOSS
from superovoid.contact.superovoids.direction_lanes import OF_BODY, in_lane, put_in_lane
from superovoid.shapes.kernels.concavities import defect_between, largest_bump, slice_defect
from superovoid.shapes.kernels.rounding import WIDENED
from superovoid.shapes.kernels.support_function import LOOSE, point_at_height, slice_at, support_candidate
from superovoid.shapes.kernels.surface import (
    A3,
    CONCAVITY_HI,
    CONCAVITY_LO,
    HAS_CONCAVITY,
    S_,
    SIZE,
    T_,
    TX,
    TY,
    P,
    Q,
    is_polar,
    position,
)

NODES = 96  # intervals of a side at most
COLUMNS = 4  # height where an interval begins, -log alpha and a there, da/dT on it
_PARTS = 24  # of a concavity, on which the growth of a is bounded
_MOST_STEPS = 400  # most intervals to try
_STEEPEST = 8.0  # a
_SLACK = 0.02  # of a bracket: how far from its ends it is cut
_EXACT = 1e-13  # of a body, by which a point may fall short of the farthest


class InnerShare(NamedTuple):
    """The share of the sections that an inner body takes."""

    lo: float  # lowest height at which the share is 1
    hi: float  # highest such height
    rows: NDArray[np.float64]  # intervals downwards from `lo`, and upwards from `hi`


@kernel
def _interval_growth(v1, v2, big_1, big_2, defect, s, s_1, unlike, x, y, outwards, a, most):
    """Bound of da/dT over the heights [v1, v2] of one side of the equator, a between `a` and `most` there."""
    y_1, y_2 = 1.0 - big_1, 1.0 - big_2
    tx_1, tx_2 = x / (1.0 + x * v2), x / (1.0 + x * v1)
    ty_1, ty_2 = y / (1.0 + y * v2), y / (1.0 + y * v1)
    steep = max(abs(tx_1), abs(tx_2), abs(ty_1), abs(ty_2))
    if v1 > 0.0:
        # N plus what a adds to it, times y^2 v^(2-s): no term grows towards the pole.
        stretch = y_1 * y_1 * max(v1 * v1 / big_1, v2 * v2 / big_2)
        added = stretch * (most * most + 2.0 * most * steep) + (2.0 * most * y_1 * v2 if outwards else 0.0)
        if defect + WIDENED * added <= 0.0:
            return 0.0
    if not (y_2 > 0.0):
        return math.inf
    # Each term by itself; u = v^(s-1) / y grows with v, X/kx falls.
    u_1, u_2 = (big_1 / v1 if v1 > 0.0 else 0.0) / y_1, big_2 / v2 / y_2
    low = big_1 / (v1 * v1) if v1 > 0.0 else (1.0 if s == 2.0 else (0.0 if s > 2.0 else math.inf))
    high = big_2 / (v2 * v2)
    own = most * most + (2.0 * most * u_2 if outwards else -2.0 * a * u_1)
    z_1, z_2 = (u_1 + a, u_2 + most) if outwards else (u_1 - most, u_2 - a)
    p = max(-z_1 * tx_1, -z_1 * tx_2, -z_2 * tx_1, -z_2 * tx_2)
    q = max(-z_1 * ty_1, -z_1 * ty_2, -z_2 * ty_1, -z_2 * ty_2)
    k = unlike / (min(1.0 + x * v1, 1.0 + x * v2) * min(1.0 + y * v1, 1.0 + y * v2)) ** 2
    bent = s_1 * min(low, high) / (y_1 * y_1)
    growth = own + largest_bump(p, q, k) - bent + 1e-9 * (abs(p) + abs(q) + k + bent + abs(own))
    return 0.0 if growth <= 0.0 else growth


@kernel
def _end_of_growth(v1, v2, defect, s, s_1, unlike, x, y, outwards, a):
    """Bound of da/dT over an interval from the slope a at its beginning; infinite if none is found."""
    width = v2 - v1
    big_1, big_2 = power(v1, s), power(v2, s)
    most = a
    for _ in range(6):
        growth = _interval_growth(v1, v2, big_1, big_2, defect, s, s_1, unlike, x, y, outwards, a, most)
        if a + growth * width <= most or growth == 0.0:
            return growth
        if not (growth < math.inf):
            return math.inf
        most = a + 1.25 * growth * width
        if most > _STEEPEST:
            return math.inf
    return math.inf


@kernel
def _fill(b, start, upwards, rows):
    """Intervals of the share on one side of a height where it is 1; returns whether it could be bounded to the pole."""
    s = b[S_]
    s_1 = s / b[T_]  # s - 1 and q - 1 without cancellation
    unlike = b[Q] / b[P] * (b[TX] - b[TY]) ** 2
    finest = (b[CONCAVITY_HI] - b[CONCAVITY_LO]) / _PARTS
    far = b[CONCAVITY_HI] if upwards else b[CONCAVITY_LO]
    w, spent, a, step = start, 0.0, 0.0, finest
    count = 0
    for _ in range(_MOST_STEPS):
        beyond = w >= far if upwards else w <= far
        if beyond and a == 0.0:
            break  # concave from here on
        side = 1.0 if w > 0.0 or (w == 0.0 and upwards) else -1.0
        v = abs(w)
        if v >= 1.0:
            break
        outwards = upwards == (side > 0.0)
        x, y = side * b[TX], side * b[TY]
        reach = 1.0 - v if outwards else v
        step = min(step, reach)
        last = step == reach
        other = (1.0 if outwards else 0.0) if last else (v + step if outwards else v - step)
        v1, v2 = min(v, other), max(v, other)
        defect = math.inf
        if v1 > 0.0:
            at_1, at_2 = slice_defect(v1, s, s_1, unlike, x, y), slice_defect(v2, s, s_1, unlike, x, y)
            defect = defect_between(v1, v2, at_1, at_2, s, s_1, unlike, x, y)
        growth = _end_of_growth(v1, v2, defect, s, s_1, unlike, x, y, outwards, a)
        if growth > 0.0 and step > finest:
            step = max(finest, 0.5 * step)
            continue
        if not (growth < math.inf) or count + 1 >= NODES:
            return False
        rows[count, 0], rows[count, 1], rows[count, 2], rows[count, 3] = w, spent, a, growth
        count += 1
        width = v2 - v1
        spent += (a + 0.5 * growth * width) * width
        a += growth * width
        w = side * other
        step = 2.0 * width if growth == 0.0 else max(width, finest)
    beyond = w >= far if upwards else w <= far
    if not (beyond and (a == 0.0 or abs(w) >= 1.0)):
        return False
    rows[count, 0], rows[count, 1], rows[count, 2], rows[count, 3] = w, spent, 0.0, 0.0
    for i in range(count + 1, NODES):
        rows[i, 0] = 2.0 if upwards else -2.0
    return True


@kernel
def fill_shares(b, w, rows):
    """Find a convex body inside a body that shares its surface at a height.

    Parameters
    ----------
    w : float
        The height.
    rows : array, shape (2, NODES, COLUMNS)
        Filled in.

    Returns
    -------
    tuple
        Lowest and highest height between which the share is 1, and whether it could be bounded elsewhere. A body
        without a concavity is all of it.
    """
    if b[HAS_CONCAVITY] == 0.0:
        return -1.0, 1.0, True
    if w >= b[CONCAVITY_HI]:
        return b[CONCAVITY_HI], 1.0, _fill(b, b[CONCAVITY_HI], False, rows[0])
    if w <= b[CONCAVITY_LO]:
        return -1.0, b[CONCAVITY_LO], _fill(b, b[CONCAVITY_LO], True, rows[1])
    return w, w, _fill(b, w, False, rows[0]) and _fill(b, w, True, rows[1])


@kernel
def share_at(inner, w):
    """The share alpha of the section at a height, which rounding may put beyond a pole, and a = |alpha'| / alpha."""
    w = min(max(w, -1.0), 1.0)
    if inner.lo <= w <= inner.hi:
        return 1.0, 0.0
    upwards = w > inner.hi
    rows = inner.rows[1 if upwards else 0]
    i = 0
    while i + 1 < NODES and (rows[i + 1, 0] <= w if upwards else rows[i + 1, 0] >= w):
        i += 1
    t = abs(w - rows[i, 0])
    return exp(-(rows[i, 1] + (rows[i, 2] + 0.5 * rows[i, 3] * t) * t)), rows[i, 2] + rows[i, 3] * t


class _Section(NamedTuple):
    """A section of an inner body for a direction."""

    w: float
    value: float
    slope: float


@kernel
def _section_at(b, inner, n, w):
    rise = b[A3] * n[2]
    full = slice_at(b, n, w)
    share, a = share_at(inner, w)
    across = full.phi - rise * w
    down = -a if w > inner.hi else a
    return _Section(w, rise * w + share * across, rise + share * (full.slope - rise + down * across))


@kernel
def inner_point(b, inner, f):
    """The point of an inner body next to a surface point of the body, at its height."""
    x = position(b, f)
    share, _ = share_at(inner, f.w)
    return (share * x[0], share * x[1], x[2])


@kernel
def inner_height(b, inner, n, start, loss):
    """Return the height of the farthest point of an inner body along n, to within about a loss, and its value.

    The values are concave in the height, so the slope at a height where the share is 1 tells the side of the farthest
    point; it is often between this height and a height `start`, that of the farthest point of the body or a near one.
    The direction is not that of a pole.

    Between two heights the values are highest below where the tangents at both meet. A bracket is cut where the slope
    vanishes if it changes evenly, and where the tangents meet, which finds a kink, in turn.
    """
    pole = 1.0 - TOLERANCE
    start = min(max(start, -pole), pole)
    near = _section_at(b, inner, n, min(max(start, inner.lo), inner.hi))
    side = 1.0 if near.slope > 0.0 else -1.0
    far = near
    for w in (start, side * pole):
        if side * far.slope > 0.0 and side * (w - far.w) > 0.0:
            near, far = far, _section_at(b, inner, n, w)
    left, right = (near, far) if side > 0.0 else (far, near)
    best = left if left.value > right.value else right
    for i in range(MOST_STEPS):
        wide = right.w - left.w
        if not (left.slope > 0.0 and right.slope < 0.0 and wide > 0.0):
            break
        meet = (right.value - left.value - right.slope * wide) / (left.slope - right.slope)
        if left.value + left.slope * meet <= best.value + loss:
            break
        step = meet if i % 2 == 1 else wide * left.slope / (left.slope - right.slope)
        slack = _SLACK * wide
        middle = _section_at(b, inner, n, left.w + min(max(step, slack), wide - slack))
        best = middle if middle.value > best.value else best
        if middle.slope > 0.0:
            left = middle
        else:
            right = middle
    return best.w, best.value


@kernel
def inner_support(b, inner, n, loss):
    """Point of an inner body the farthest along n, to within about a loss, and the surface point of the body there."""
    f = support_candidate(b, n, LOOSE)
    x = inner_point(b, inner, f)
    if not (inner.lo <= f.w <= inner.hi or is_polar(b, n)):
        w, value = inner_height(b, inner, n, f.w, loss)
        if dot(n, x) < value:
            f = point_at_height(b, n, w)
            x = inner_point(b, inner, f)
    return x, f


@kernel
def inner_difference(pair, inner_a, inner_b, n):
    """Point of the difference of two inner bodies the farthest along n, in the frame of A, and surface points there."""
    a, b, rotation = pair.a, pair.b, pair.rotation
    x, fa = inner_support(a, inner_a, n, _EXACT * a[SIZE])
    y, fb = inner_support(b, inner_b, rotate_back(rotation, scale(-1.0, n)), _EXACT * b[SIZE])
    return sub(x, add(pair.centre, rotate(rotation, y))), fa, fb


@kernel
def put_inside(b, inner, rows, gaps, count):
    """Put points of an inner body in place of the surface points in lanes, the farthest to within a part of a gap."""
    for i in range(count):
        n, loss = in_lane(rows, i), LOSS * gaps[i]
        full = in_lane(rows, OF_BODY.x + i)
        share, _ = share_at(inner, rows[OF_BODY.height + i])
        x = (share * full[0], share * full[1], full[2])
        if not (rows[OF_BODY.lack + i] + dot(n, sub(full, x)) <= loss) and not is_polar(b, n):
            w, value = inner_height(b, inner, n, rows[OF_BODY.height + i], loss)
            if dot(n, x) < value:
                x = inner_point(b, inner, point_at_height(b, n, w))
        put_in_lane(rows, OF_BODY.x + i, x)
