# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Separation of two bodies along one direction, and points common to both."""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import dot, norm, rotate, rotate_back, scale, sub
from superovoid.shapes.kernels.kinds import HALF_SPACE, SUPPORT_LOSS, body_support
from superovoid.shapes.kernels.rounding import allowance
from superovoid.shapes.kernels.surface import INV_A1, INV_A2, INV_A3, INV_P, RADIUS, S_, TX, TY, P, power


@kernel
def rounding(a, b, distance):
    """Bound of the rounding errors in a separation of two packed bodies so far apart (`rounding`)."""
    return allowance(a[RADIUS], b[RADIUS], distance)


@kernel
def radii(a, b):
    """Radii of two `Core` that rounding is in proportion to: of a half-space that of the other body."""
    of_a, of_b = a.row[RADIUS], b.row[RADIUS]
    if a.kind == HALF_SPACE:
        of_a = 0.0 if b.kind == HALF_SPACE else of_b
    return of_a, of_a if b.kind == HALF_SPACE else of_b


@kernel
def _extent(core, pose, n):
    """Bound of the support function of a whole body about its origin along n (world), and a support point from there.

    A half-space is asked along its own normal.
    """
    if core.kind == HALF_SPACE:
        return 0.0, (0.0, 0.0, 0.0)
    h, x = body_support(core, rotate_back(pose, n))
    return h + core.row[SUPPORT_LOSS], rotate(pose, x)


class Separation(NamedTuple):
    """What a direction proves, with the support points relative to the origins of the bodies, world axes."""

    lower: float
    x: tuple
    y: tuple


@kernel
def separation(a, b, pose_a, pose_b, offset, n):
    """g(n) of two `Core` with their balls, less what rounding may have added.

    For a unit n (world), that of a half-space if one is, and the offset of the origins.
    """
    h_a, x = _extent(a, pose_a, n)
    h_b, y = _extent(b, pose_b, scale(-1.0, n))
    of_a, of_b = radii(a, b)
    return Separation(dot(n, offset) - h_a - h_b - allowance(of_a, of_b, norm(offset)), x, y)


@kernel
def level(body, x):
    """F + 1 of a local point: below 1 inside; infinite above and below the body."""
    w = x[2] * body[INV_A3]
    if abs(w) >= 1.0:
        return math.inf
    u = abs(x[0] * body[INV_A1] / (1.0 + body[TX] * w))
    v = abs(x[1] * body[INV_A2] / (1.0 + body[TY] * w))
    larger = max(u, v)  # taken out first: powers of large exponents would vanish together
    share = power(min(u, v) / larger, body[P]) if larger > 0.0 else 0.0
    r = larger * math.exp(body[INV_P] * math.log(1.0 + share))
    return power(r, body[S_]) + power(abs(w), body[S_])


@kernel
def is_inside(body, x, slack):
    """Whether a local point is inside a body by more than a slack of F."""
    return level(body, x) < 1.0 - slack


@kernel
def slack_of_level(body, error):
    """Bound of what a step of that length can change in F, and of what rounding does, wherever F < 1.

    With u, v, r, |w| <= 1 and |T| <= 1/2 the derivatives of r^s + |w|^s by x and y are at most s / (a k), that by z at
    most 3 s / a3, so the gradient is no longer than sqrt(11) s / min(a k).
    """
    steepest = max(body[INV_A1], body[INV_A2], body[INV_A3]) / (1.0 - max(abs(body[TX]), abs(body[TY])))
    return 1e-12 + 8.0 * error * max(body[P], body[S_]) * steepest


@kernel
def is_in_both(pair, p, loss=0.0):
    """Whether a point in the frame of A is proved to be inside both bodies.

    `loss` is how far the bodies may be from where their poses put them, m.
    """
    out_of_line()
    a, b = pair.a, pair.b
    error = rounding(a, b, norm(pair.centre)) + loss
    if not is_inside(a, p, slack_of_level(a, error)):
        return False
    return is_inside(b, rotate_back(pair.rotation, sub(p, pair.centre)), slack_of_level(b, error))
