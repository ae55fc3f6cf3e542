# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Quadratic majorants of a superovoid next to a surface point, and so ellipsoids inside the body that touch it there.

A body is a sublevel set {Phi <= 0}. If Phi(x + d) <= g . d + d^T Q d / 2 for all d in a box about 0 for which x + d is
in the body, the points of the box where the right side is negative lie in the body. Convexity is not used, so this
holds next to concavities too. The terms of Phi and Q are derived in docs/explanation/solver.md ("Upper bound of
overlapping superovoids: tangent balls").

With chain = (s/p) r^(s-p) at x and r(w) = (1 - |w|^s)^(1/s), Phi is

    chain (|u|^p + |v|^p - r(w)^p),

which has the sublevel set and, at x, the gradient of (|u|^p + |v|^p)^(s/p) + |w|^s - 1. For s <= p that function, with
its concave power replaced by the tangent, is a majorant with the same terms of u and v; the better term of w counts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel
from superovoid.compiled.powers import power
from superovoid.shapes.kernels.rounding import ROUNDED
from superovoid.shapes.kernels.surface import A1, A2, A3, ON_AXIS, S_, TX, TY, P

_SMALLEST_POWER = 1e-280  # least divisor: below, numbers lose their digits
_WIDENED = 1e-9  # of a unit coordinate, by which a box is widened


@kernel
def _bend(p, x, x_to_p, least, most):
    """Return a small c with |y|^p <= x^p + p x^(p-1) (y - x) + c (y - x)^2 / 2 for y >= least, |y| <= most.

    The quotient of (y - x)^2 / 2 is a mean of second derivatives between x and y. For p > 2 these grow with |y|, so
    the quotient is largest at the largest |y|, and at most the second derivative there. For p <= 2 they fall: then
    the least y counts, if it is > 0. Otherwise the tangent in y^2 is a majorant: |y|^p is concave in y^2.
    """
    if p > 2.0:
        to_p = power(most, p)
        bend = p * (p - 1.0) * to_p / (most * most)
        rest = most - x
        slope = p * x_to_p / x if x > ON_AXIS else 0.0
        mean = 2.0 * (to_p - x_to_p - slope * rest + ROUNDED * p) / (rest * rest)
        return mean if mean < bend else bend  # NaN if the two coincide
    if x < 1e-12:
        return 2.0 if p == 2.0 else math.inf
    bend = p * x_to_p / (x * x)
    if least > 0.0:
        to_p = power(least, p)
        rest = x - least
        mean = 2.0 * (to_p - x_to_p + p * x_to_p / x * rest + ROUNDED * p) / (rest * rest)
        bend = min(bend, p * (p - 1.0) * to_p / (least * least))
        bend = mean if mean < bend else bend
    return bend


@kernel
def _bend_of_rest(s, beta, r_to_p, w, w_to_s, slope, most):
    """Do as `_bend` for -(1 - |w|^s)^beta - beta |w|^s, beta < 1: powers of |w| from 2 s on with positive factors.

    `r_to_p` is (1 - w^s)^beta, `slope` the first derivative.
    """
    to_s = power(most, s)
    y = 1.0 - to_s - 1e-14  # rounded down, so that the bend is rounded up
    left = power(y, beta) if y > 0.0 else 0.0
    rest = most - w
    rise = (beta * w_to_s + r_to_p) - (beta * to_s + left) - slope * rest
    mean = 2.0 * (rise + ROUNDED * s * beta) / (rest * rest)
    bend = math.inf
    if y > 1e-6:
        scale = beta * s * to_s / (most * most)
        bend = scale * ((s - 1.0) * (left / y - 1.0) + (1.0 - beta) * s * to_s * left / (y * y))
        bend += 1e-9 * scale * s
    return max(0.0, mean if mean < bend else bend)


@kernel
def _bend_of_graph(p, s, near, far):
    """Bound the second derivatives of -(1 - |w|^s)^(p/s) from above, for |w| between two values and p >= s.

    With y = |w|^s they are p |w|^(s-2) (1 - y)^(p/s-2) ((s - 1) - (p - 1) y), a product of monotone factors.
    """
    y_1, y_2 = power(near, s), power(far, s)
    rest_1, rest_2 = 1.0 - y_1 + 1e-15, 1.0 - y_2 - 1e-15
    w_1 = y_1 / (near * near) if near > 0.0 else (1.0 if s == 2.0 else (0.0 if s > 2.0 else math.inf))
    w_2 = y_2 / (far * far) if far > 0.0 else w_1
    r_1 = power(rest_1, p / s) / (rest_1 * rest_1)
    r_2 = power(rest_2, p / s) / (rest_2 * rest_2) if rest_2 > 0.0 else (0.0 if p > 2.0 * s else math.inf)
    factor = (s - 1.0) - (p - 1.0) * y_1 + 1e-14 * p
    w_part = max(w_1, w_2) if factor > 0.0 else min(w_1, w_2)
    r_part = max(r_1, r_2) if factor > 0.0 else min(r_1, r_2)
    bend = p * factor * w_part * r_part
    return bend if abs(bend) < math.inf else math.inf  # NaN if one part is infinite and the other 0


class Outline(NamedTuple):
    """A surface point, mirrored so that no coordinate is negative, and the gradient of Phi there."""

    u: float
    v: float
    w: float
    kx: float  # widths of the section
    ky: float
    taper_x: float  # tapers of the mirrored body
    taper_y: float
    u_to_p: float
    v_to_p: float
    w_to_s: float
    r_to_p: float
    chain: float
    slope_u: float
    slope_v: float
    slope_w: float
    gx: float
    gy: float
    gz: float
    steep: float  # length of the gradient
    is_clear: bool  # whether the numbers above have digits left


class Box(NamedTuple):
    """Ranges of the offsets from a mirrored surface point, m."""

    x_least: float
    x_most: float
    y_least: float
    y_most: float
    z_least: float
    z_most: float


class Majorant(NamedTuple):
    """Coefficients of c_x e^2 + c_y h^2 + c_w k^2 - 2 skew_x e k - 2 skew_y h k, for the offsets of a `Shear`."""

    c_x: float
    c_y: float
    c_w: float
    skew_x: float
    skew_y: float


class Shear(NamedTuple):
    """Linear parts of u, v and w: e = ix dx + ez dz, h = iy dy + hz dz and k = iz dz."""

    ix: float
    iy: float
    iz: float
    ez: float
    hz: float


class _Taper(NamedTuple):
    """Ratios of the width at the surface point to those in the box: the largest and the smallest."""

    most_x: float
    least_x: float
    most_y: float
    least_y: float


@kernel
def signs_of(f):
    """Return the signs of a surface point's coordinates: one that underflows to 0 has that of its dual."""
    return math.copysign(1.0, f.C + f.Cd), math.copysign(1.0, f.S + f.Sd), math.copysign(1.0, f.w + f.wd)


@kernel
def outline_of(body, f):
    """Return the outline of a surface point."""
    p, s = body[P], body[S_]
    _, _, sign = signs_of(f)
    u, v, w = f.r * abs(f.C), f.r * abs(f.S), min(abs(f.w), 1.0)
    taper_x, taper_y = sign * body[TX], sign * body[TY]
    kx, ky = 1.0 + taper_x * w, 1.0 + taper_y * w
    r_to_s, w_to_s = f.r * f.rd, w * abs(f.wd)
    r_to_p = r_to_s if s == p else power(f.r, p)
    is_clear = (f.r >= 1e-6 or s == p) and r_to_p > _SMALLEST_POWER and r_to_s > _SMALLEST_POWER
    chain = s / p * r_to_s / r_to_p
    u_to_p, v_to_p = r_to_p * f.C * f.Cd, r_to_p * f.S * f.Sd
    slope_u, slope_v, slope_w = s * f.rd * abs(f.Cd), s * f.rd * abs(f.Sd), s * abs(f.wd)
    gx, gy = slope_u / (body[A1] * kx), slope_v / (body[A2] * ky)
    gz = (slope_w - slope_u * u * taper_x / kx - slope_v * v * taper_y / ky) / body[A3]
    steep = math.sqrt(gx * gx + gy * gy + gz * gz)
    # Near the middle of a flat end squares of slopes underflow and prove nothing.
    is_clear &= 0.0 < steep < math.inf
    return Outline(
        u,
        v,
        w,
        kx,
        ky,
        taper_x,
        taper_y,
        u_to_p,
        v_to_p,
        w_to_s,
        r_to_p,
        chain,
        slope_u,
        slope_v,
        slope_w,
        gx,
        gy,
        gz,
        steep,
        is_clear,
    )


@kernel
def shear_at(body, o):
    """Return the linear parts of u, v and w at a surface point."""
    iz = 1.0 / body[A3]
    ez, hz = -o.u * o.taper_x / o.kx * iz, -o.v * o.taper_y / o.ky * iz
    return Shear(1.0 / (body[A1] * o.kx), 1.0 / (body[A2] * o.ky), iz, ez, hz)


@kernel
def _majorant_of(o, shear, bend_u, bend_v, bend_w, taper):
    """Return the majorant with the given bends along u, v and w."""
    ix, iy, iz, ez, hz = shear
    pull_x, pull_y = o.slope_u * o.taper_x / o.kx, o.slope_v * o.taper_y / o.ky
    share_x, share_y = iz / math.sqrt(ix * ix + ez * ez), iz / math.sqrt(iy * iy + hz * hz)
    loose_x = abs(pull_x) * (0.5 * (taper.most_x - taper.least_x) + 1e-12)
    loose_y = abs(pull_y) * (0.5 * (taper.most_y - taper.least_y) + 1e-12)
    return Majorant(
        bend_u * taper.most_x * taper.most_x + loose_x * share_x,
        bend_v * taper.most_y * taper.most_y + loose_y * share_y,
        bend_w + loose_x / share_x + loose_y / share_y,
        pull_x * 0.5 * (taper.most_x + taper.least_x),
        pull_y * 0.5 * (taper.most_y + taper.least_y),
    )


@kernel
def majorant_over(body, o, shear, box):
    """Return the majorant of Phi on a box about a surface point, which contains the point."""
    p, s, a1, a2, a3 = body[P], body[S_], body[A1], body[A2], body[A3]
    u, v, w = o.u, o.v, o.w
    # The part of the box that can be in the body.
    w_most = min(1.0, w + box.z_most / a3 + _WIDENED)
    w_least = max(-1.0, w + box.z_least / a3 - _WIDENED)
    kx_1, kx_2 = 1.0 + o.taper_x * w_least, 1.0 + o.taper_x * w_most
    ky_1, ky_2 = 1.0 + o.taper_y * w_least, 1.0 + o.taper_y * w_most
    kx_least, kx_most, ky_least, ky_most = min(kx_1, kx_2), max(kx_1, kx_2), min(ky_1, ky_2), max(ky_1, ky_2)
    x_most, x_least = a1 * o.kx * u + box.x_most, a1 * o.kx * u + box.x_least
    y_most, y_least = a2 * o.ky * v + box.y_most, a2 * o.ky * v + box.y_least
    u_most = max(u, min(1.0, max(abs(x_most), abs(x_least)) / (a1 * kx_least) + _WIDENED))
    v_most = max(v, min(1.0, max(abs(y_most), abs(y_least)) / (a2 * ky_least) + _WIDENED))
    # Of a negative least coordinate only the sign matters.
    u_least = min(u, x_least / (a1 * kx_most) - _WIDENED)
    v_least = min(v, y_least / (a2 * ky_most) - _WIDENED)
    far = max(w, w_most, -w_least)
    bend_u, bend_v = _bend(p, u, o.u_to_p, u_least, u_most), _bend(p, v, o.v_to_p, v_least, v_most)
    bend_w = _bend(s, w, o.w_to_s, w_least, far)
    if s <= p:
        bend_w = min(_bend_of_graph(p, s, max(0.0, w_least), far), bend_w / o.chain)
    else:
        beta, slope = p / s, o.slope_w / o.chain - p / s * o.slope_w
        rest = _bend_of_rest(s, beta, o.r_to_p, w, o.w_to_s, slope, far) if 1.0 - w > 1e-3 else math.inf
        bend_w = beta * bend_w + rest
    taper = _Taper(o.kx / kx_least, o.kx / kx_most, o.ky / ky_least, o.ky / ky_most)
    return _majorant_of(o, shear, o.chain * bend_u, o.chain * bend_v, o.chain * bend_w, taper)
