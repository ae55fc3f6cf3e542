# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Balls that touch superovoids from inside, and the depth proved by two of them.

A parabola majorises a function Phi with the body as its sublevel set {Phi <= 0}. For a ball of radius r only the part
of the body in the box of the ball matters: on that box exponents and tapers bend Phi less than on the whole body.

    Phi(x + d) <= g . d + d^T Q d / 2 for x + d in the box and the body  =>  radius min(r, |g| / largest(Q)),

since a ball that touches at the same point and is narrower lies in the same box. (On the ball -n . d >= |d|^2 / (2 r).)

With x the surface point, u = x / (a1 kx), e = dx / (a1 kx) - u tx dw and k = kx(x) / kx(x + d), which lies between its
values at the ends of the box, du = k e; and a term of Phi with the slope U' and second derivatives of at most c adds

    U' du + c du^2 / 2 <= U' e - U' tx k e dw + c k^2 e^2 / 2.

Convexity is not used: the balls lie in bodies with concavities too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.powers import power
from superovoid.compiled.vector import add, combine, dot, norm
from superovoid.contact.superovoids.ellipsoid_pairs import are_ellipsoids, cap_by_ellipsoid
from superovoid.shapes.kernels.rounding import EPS, WIDENED
from superovoid.shapes.kernels.surface import A1, A2, A3, S_, TX, TY, P

_ROUNDED = 16.0 * EPS  # rounding error of sums of powers, times their exponent, that cancel in a majorant
_SMALLEST = 1e-100  # least coordinate with a slope
_SMALLEST_POWER = 1e-280  # least divisor: below, numbers lose their digits
_ROUNDS = 3  # balls to try in each body
OTHER_NORMAL = 5e-3  # least 1 - cos of the angle between distinct normals
_BEYOND = 1.01  # times the least radius beyond the depth with which no other normal is as good
_LACK = 0.1  # largest gap between the depth and the floor of a ball narrower than the depth, relative to the goal


@kernel
def _bend(p, x, x_to_p, least, most):
    """Return a small c with |y|^p <= x^p + p x^(p-1) (y - x) + c (y - x)^2 / 2 for y >= least, |y| <= most.

    The quotient of (y - x)^2 / 2 is a mean of second derivatives between x and y. For p > 2 these grow with |y|, so
    the quotient is largest at the largest |y|, and at most the second derivative there. For p <= 2 they fall: then
    the least y counts, if it is >= 0. If it is negative, the tangent in y^2 is a majorant: |y|^p is concave in y^2.
    """
    if p > 2.0:
        to_p = power(most, p)
        bend = p * (p - 1.0) * to_p / (most * most)
        rest = most - x
        slope = p * x_to_p / x if x > _SMALLEST else 0.0
        mean = 2.0 * (to_p - x_to_p - slope * rest + _ROUNDED * p) / (rest * rest)
        return mean if mean < bend else bend  # NaN if the two coincide
    if x < 1e-12:
        return 2.0 if p == 2.0 else math.inf
    bend = p * x_to_p / (x * x)
    if least >= 0.0:
        to_p = power(least, p)
        rest = x - least
        mean = 2.0 * (to_p - x_to_p + p * x_to_p / x * rest + _ROUNDED * p) / (rest * rest)
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
    mean = 2.0 * (rise + _ROUNDED * s * beta) / (rest * rest)
    bend = math.inf
    if y > 1e-6:
        scale = beta * s * to_s / (most * most)
        bend = scale * ((s - 1.0) * (left / y - 1.0) + (1.0 - beta) * s * to_s * left / (y * y))
        bend += 1e-9 * scale * s
    return max(0.0, mean if mean < bend else bend)


@kernel
def _bound_eigenvalue(xx, yy, zz, xz, yz):
    """Return a close upper bound of the largest eigenvalue of [[xx, 0, xz], [0, yy, yz], [xz, yz, zz]].

    The eigenvalue is the zero beyond xx and yy of l - zz - xz^2 / (l - xx) - yz^2 / (l - yy), which grows with l and is
    concave: tangents meet zero below the eigenvalue, chords above.
    """
    high = max(xx + abs(xz), yy + abs(yz), zz + abs(xz) + abs(yz))
    bound = max(xx, yy)
    p, q = xz * xz, yz * yz
    for _ in range(3):
        above, beside = high - xx, high - yy
        value = high - zz - p / above - q / beside
        slope = 1.0 + p / (above * above) + q / (beside * beside)
        low = high - value / slope
        low = low if low > bound else bound + 0.125 * (high - bound)
        above, beside = low - xx, low - yy
        under = low - zz - p / above - q / beside
        lower = low if under >= 0.0 else high - value * (high - low) / (value - under)
        high = lower if bound < lower < high else high
    return high


@kernel
def _bends_of_norm(p, s, r, bend_u, bend_v, shared, u_most, v_most):
    """Bound the bends along u and along v of N(u, v)^s times `shared`, N the p-norm and s > p.

    For p >= 2 the second derivatives of N^s are s N^(s-2) ((s - p) g g^T + (p - 1) diag(|u/N|^(p-2), |v/N|^(p-2))) with
    |g| <= 1. For p < 2 with A = |u|^p + |v|^p: (A - A0)^2 <= (L |du| + K |dv|)^2, with L, K the largest slopes of A,
    times half of the mean second derivative of A^(s/p). That grows with A for s >= 2 p, and falls for s < 2 p.
    """
    u_to_p, v_to_p = power(u_most, p), power(v_most, p)
    most = min(1.0, u_to_p + v_to_p)
    if p >= 2.0:
        one, other = s * (s - p) * power(most, (s - 2.0) / p), s * (p - 1.0) * power(most, (s - p) / p)
        if p == 2.0:
            return shared * (one + other), shared * (one + other)
        return (
            shared * (one + other * u_to_p / (u_most * u_most)),
            shared * (one + other * v_to_p / (v_most * v_most)),
        )
    if s >= 2.0 * p:
        mean = s / p * (s / p - 1.0) * power(most, s / p - 2.0)
    else:
        mean = 2.0 * (s / p - 1.0) / power(r, 2.0 * p - s)
    slope_u, slope_v = p * u_to_p / u_most, p * v_to_p / v_most
    mean *= shared * (slope_u + slope_v)
    return bend_u + mean * slope_u, bend_v + mean * slope_v


class _Taper(NamedTuple):
    """Dependence of u, v and w on x, y and z: the linear parts, and the terms of the tapers."""

    ux: float  # slopes of u along x, of v along y, of w along z
    vy: float
    wz: float
    uz: float  # slopes of u and v along z
    vz: float
    pull_x: float  # slope times relative taper
    pull_y: float
    most_x: float  # largest and smallest ratio of the width at the surface point to those in the box
    least_x: float
    most_y: float
    least_y: float


@kernel
def _largest_bend(bend_u, bend_v, bend_w, taper):
    """Bound the largest eigenvalue of Q from above."""
    out_of_line()
    if not (bend_u + bend_v + bend_w < math.inf):
        return math.inf
    ix, iy, iz, ez, hz = taper.ux, taper.vy, taper.wz, taper.uz, taper.vz
    middle_x, spread_x = 0.5 * (taper.most_x + taper.least_x), 0.5 * (taper.most_x - taper.least_x)
    middle_y, spread_y = 0.5 * (taper.most_y + taper.least_y), 0.5 * (taper.most_y - taper.least_y)
    share_x, share_y = iz / math.sqrt(ix * ix + ez * ez), iz / math.sqrt(iy * iy + hz * hz)
    loose_x, loose_y = abs(taper.pull_x) * (spread_x + 1e-12), abs(taper.pull_y) * (spread_y + 1e-12)
    c_x = bend_u * taper.most_x * taper.most_x + loose_x * share_x
    c_y = bend_v * taper.most_y * taper.most_y + loose_y * share_y
    c_w = bend_w + loose_x / share_x + loose_y / share_y
    mixed_x, mixed_y = taper.pull_x * middle_x * iz, taper.pull_y * middle_y * iz
    xz, yz = (c_x * ez - mixed_x) * ix, (c_y * hz - mixed_y) * iy
    zz = c_x * ez * ez - 2.0 * mixed_x * ez + c_y * hz * hz - 2.0 * mixed_y * hz + c_w * iz * iz
    lost = c_x * ez * ez + abs(mixed_x * ez) + c_y * hz * hz + abs(mixed_y * hz) + c_w * iz * iz
    rounding = 1e-12 * (lost + abs(mixed_x) * ix + abs(mixed_y) * iy)
    return _bound_eigenvalue(c_x * ix * ix, c_y * iy * iy, zz, xz, yz) + rounding


@kernel
def tangent_ball(body, f, radius):
    """Return the radius of a ball in the body that touches it at the surface point f; at most `radius`.

    The ball of the requested radius lies in the body if that radius is returned. A smaller requested radius may give a
    larger result.
    """
    out_of_line()
    p, s = body[P], body[S_]
    a1, a2, a3 = body[A1], body[A2], body[A3]
    # Mirror the body so that no coordinate of the point is negative.
    sign = 1.0 if f.w >= 0.0 else -1.0
    u, v, w = f.r * abs(f.C), f.r * abs(f.S), min(abs(f.w), 1.0)
    is_clear = f.r >= 1e-6 or s == p  # no early return: LLVM would not vectorise loops over lanes
    taper_x, taper_y = sign * body[TX], sign * body[TY]
    kx, ky = 1.0 + taper_x * w, 1.0 + taper_y * w
    tx, ty = taper_x / kx, taper_y / ky
    ix, iy, iz = 1.0 / (a1 * kx), 1.0 / (a2 * ky), 1.0 / a3
    r_to_s = f.r * f.rd
    w_to_s = w * abs(f.wd)
    r_to_p = r_to_s if s == p else power(f.r, p)
    is_clear &= r_to_p > _SMALLEST_POWER and r_to_s > _SMALLEST_POWER
    chain = s / p * r_to_s / r_to_p if s <= p else 1.0
    slope_w = s * abs(f.wd) if s <= p else p * r_to_p / r_to_s * abs(f.wd)
    u_to_p, v_to_p = r_to_p * f.C * f.Cd, r_to_p * f.S * f.Sd
    slope_u = chain * p * u_to_p / u if u > _SMALLEST else 0.0
    slope_v = chain * p * v_to_p / v if v > _SMALLEST else 0.0
    gx, gy = slope_u * ix, slope_v * iy
    gz = slope_w * iz - (slope_u * u * tx + slope_v * v * ty) * iz
    steep = math.sqrt(gx * gx + gy * gy + gz * gz)
    is_clear &= steep < math.inf  # near the middle of a flat end squares of slopes underflow and prove nothing
    # The box of the ball, slightly widened, and the part of it that can be in the body.
    reach = WIDENED * radius
    from_centre = radius / steep
    w_most = min(1.0, w + (reach - from_centre * gz) * iz + 1e-9)
    w_least = max(-1.0, w - (reach + from_centre * gz) * iz - 1e-9)
    kx_1, kx_2 = 1.0 + taper_x * w_least, 1.0 + taper_x * w_most
    ky_1, ky_2 = 1.0 + taper_y * w_least, 1.0 + taper_y * w_most
    kx_least, kx_most, ky_least, ky_most = min(kx_1, kx_2), max(kx_1, kx_2), min(ky_1, ky_2), max(ky_1, ky_2)
    x_most, x_least = a1 * kx * u + reach - from_centre * gx, a1 * kx * u - reach - from_centre * gx
    y_most, y_least = a2 * ky * v + reach - from_centre * gy, a2 * ky * v - reach - from_centre * gy
    u_most = min(1.0, max(abs(x_most), abs(x_least)) / (a1 * kx_least) + 1e-9)
    v_most = min(1.0, max(abs(y_most), abs(y_least)) / (a2 * ky_least) + 1e-9)
    u_least = min(u, x_least / (a1 * kx_most) - 1e-9)
    v_least = min(v, y_least / (a2 * ky_most) - 1e-9)
    u_most, v_most, w_most = max(u, u_most), max(v, v_most), max(w, w_most, -w_least)
    taper = _Taper(
        ix,
        iy,
        iz,
        -u * tx * iz,
        -v * ty * iz,
        slope_u * tx,
        slope_v * ty,
        kx / kx_least,
        kx / kx_most,
        ky / ky_least,
        ky / ky_most,
    )
    bend_u, bend_v = _bend(p, u, u_to_p, u_least, u_most), _bend(p, v, v_to_p, v_least, v_most)
    bend_w = _bend(s, w, w_to_s, w_least, w_most)
    if s <= p:
        largest = _largest_bend(chain * bend_u, chain * bend_v, bend_w, taper)
    else:
        beta, slope = p / s, slope_w - p * abs(f.wd)
        rest = _bend_of_rest(s, beta, r_to_p, w, w_to_s, slope, w_most) if 1.0 - w > 1e-3 else math.inf
        largest = _largest_bend(bend_u, bend_v, beta * bend_w + rest, taper)
        # Alternatively use the norm of (u, v) to the power s, times a factor that makes the gradients equal.
        shared = beta * r_to_p / r_to_s
        more_u, more_v = _bends_of_norm(p, s, f.r, bend_u, bend_v, shared, u_most, v_most)
        other = _largest_bend(more_u, more_v, shared * bend_w, taper)
        largest = other if other < largest else largest
    return min(radius, steep / (WIDENED * largest)) if is_clear and 0.0 < largest < math.inf else 0.0


@kernel
def widest_ball(body):
    """Bound the radii of all balls in a body from above."""
    return min(body[A1] * (1.0 + abs(body[TX])), body[A2] * (1.0 + abs(body[TY])), body[A3])


@kernel
def wider_balls(pair, fa, fb, r_a, r_b, wanted):
    """Return radii of balls of both bodies: at least r_a and r_b, each requested as the rest of the sum `wanted`."""
    r_a = max(r_a, tangent_ball(pair.a, fa, wanted - r_b))
    return r_a, max(r_b, tangent_ball(pair.b, fb, wanted - r_a) if r_a < wanted else 0.0)


@kernel
def depth_of_balls(k, r_a, r_b):
    """Bound the depth from below by two tangent balls.

    Their sum is a ball about -(u + r_A n_A + r_B n_B) with radius r_A + r_B: the offset between u and the normals that
    remains after Newton's method moves its centre.
    """
    return r_a + r_b - norm(add(k.u, combine(r_a, k.normal_a, r_b, k.inward_b)))


@kernel
def radius_wanted(k, goal):
    """Return the radius of a ball in M at an overlapping contact that proves its normal unique, to within the goal.

    At an angle to the normal h_M is then at least the depth plus (radius - depth) (1 - cosine).
    """
    return _BEYOND * goal / OTHER_NORMAL - dot(k.u, k.n)


@kernel
def proved_depth(pair, fa, fb, k, goal):
    """Bound the depth at a contact from below in closed form, and return whether its normal is proved unique.

    Parameters
    ----------
    fa, fb : SurfacePoint
        The contact.
    k : Contact
        Its geometry (`newton.observe`).
    goal : float
        Width of the interval, m.
    """
    out_of_line()
    wanted = radius_wanted(k, goal)
    r_a = r_b = 0.0
    for _ in range(_ROUNDS):
        r_a, r_b = wider_balls(pair, fa, fb, r_a, r_b, wanted)
        if r_a + r_b >= wanted:
            return depth_of_balls(k, r_a, r_b), True
    depth = depth_of_balls(k, r_a, r_b)
    if are_ellipsoids(pair):
        # If another normal is as good, no ball is wider than the depth.
        for is_unique in (True, False):
            radius = wanted if is_unique else -dot(k.u, k.n) - _LACK * goal
            cap = cap_by_ellipsoid(pair, k.n, radius)
            if cap.angle == math.pi and cap.floor > depth:
                return cap.floor, is_unique
    return depth, False
