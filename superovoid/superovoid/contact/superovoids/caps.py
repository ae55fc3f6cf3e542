# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Local proof of a depth: no direction in a cap around the contact normal is shallower.

Along a great circle that leaves n with angle phi the support function of the Minkowski difference M = A - B obeys
h'' + h = R(phi), R the radius of curvature of M in the direction of travel. With h'(0) = 0 and h(0) = depth,

    h(phi) - depth = integral_0^phi sin(phi - psi) (R(psi) - depth) dpsi,

so it is enough to bound R from below on the way. For one body (symbols of shapes.kernels.surface)

    hess h = alpha e e^T + beta Z Z^T
    alpha = r (q-1) |Cd Sd|^(q-2) ky^2 / g,                      e = (a1 kx/ky Sd, -a2 Cd, 0)
    beta = r / ((s-1) |w|^(s-2) g + 2 r wd rd g' - r^2 rd^2 g''),  Z = (a1 kx mx C, a2 ky my S, a3 rd)
    mx = r^s (tx + (q-1)(tx-ty) S Sd) - wd,                      my = r^s (ty - (q-1)(tx-ty) C Cd) - wd

the sum of two squares: one along the section, one along the meridian (docs/explanation/search.md). Every factor is
monotone in the direction of n, so its range over the cap follows from the extreme ratios of the components of n. With
lower bounds of alpha and beta and the deviations |de . t|, |dZ . t| over the cap, the triangle inequality for the norm
(sum_i c_i (v_i . t)^2)^(1/2) gives R^(1/2) >= (lowest at the centre)^(1/2) cos - (sum_i c_i |dv_i . t|^2)^(1/2). If
e and Z turn far, as about a pole, R >= |e x Z|^2 / (|e|^2 / beta + |Z|^2 / alpha) serves: the smaller of two radii is
at least their product divided by their sum.

    angle --spans_of--> ranges of directions --heights_*--> support points between --radii_over_cap--> radii of a body

None of these functions has loops. `cap_lanes` compiles them for caps of several angles at once.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel
from superovoid.compiled.powers import exp, log, log_1p, power
from superovoid.compiled.vector import LEAST_DIVISOR, Vector, dot
from superovoid.shapes.kernels.rounding import EPS
from superovoid.shapes.kernels.surface import (
    A1,
    A2,
    A3,
    DENT_HI,
    DENT_LO,
    DENTED,
    INV_Q,
    INV_T,
    S_,
    T_,
    TX,
    TY,
    Q,
    unit_curve_from_normal,
)

_BEYOND, _LEAST_SLOPE = 0.1, 0.05  # relative to the step, and to the decrease of phi' without a taper
_STEEPEST = 1e6  # slope of a meridian near a pole
_ROUNDED = 16.0 * EPS
BELOW_ROUNDING = 1.0 - 1e-8  # s - 1 and q - 1 have relative errors of up to 5e-10 at the ends of the exponents


class Radii(NamedTuple):
    """Lower bound alpha e e^T + beta Z Z^T of the radius matrix over a cap, and the deviations of e and Z."""

    alpha: float
    stray_e: float
    beta: float
    stray_z: float
    least: float  # lower bound of the radius in every direction


class Spans(NamedTuple):
    """Ranges over a cap of the components of the direction times the semi-axes; the first two are magnitudes."""

    n1_lo: float
    n1_hi: float
    n2_lo: float
    n2_hi: float
    n3_lo: float
    n3_hi: float


class Height(NamedTuple):
    """A height of a body: the curve point of its meridian."""

    r: float
    w: float
    rd: float
    wd: float


class Heights(NamedTuple):
    """Least and largest height of the support points of a cap on a body."""

    are_known: bool
    lower: Height
    upper: Height


class Axes(NamedTuple):
    """The vectors e and Z of a surface point, with their factors."""

    ratio: float  # kx / ky
    kmx: float  # kx mx
    kmy: float
    e: Vector
    z: Vector


@kernel
def _span(value, slack):
    """Return the range of |x| for x within a slack of a value."""
    return max(0.0, abs(value) - slack), abs(value) + slack


@kernel
def _deviation(lo, hi, value):
    return max(hi - value, value - lo)


@kernel
def _product_deviation(a_lo, a_hi, b_lo, b_hi, value):
    """Return the largest deviation of a product of two ranges from a value."""
    p, q, r, s = a_lo * b_lo, a_lo * b_hi, a_hi * b_lo, a_hi * b_hi
    return _deviation(min(p, q, r, s), max(p, q, r, s), value)


@kernel
def _min_max(x, y):
    return min(x, y), max(x, y)


@kernel
def _norm(n1, n2, q, inv_q):
    """Return the dual norm of a section, for non-negative components."""
    larger = max(n1, n2)
    share = power(min(n1, n2) / larger, q) if larger > 0.0 else 0.0
    return larger * exp(inv_q * log_1p(share))


@kernel
def _fall(taper, w, wd):
    """Return Tx (1 - 2 |w|^s) - w^(s-1), the part of kx mx (module docstring) that depends on the height only."""
    return taper * (1.0 - 2.0 * w * wd) - wd


@kernel
def _skew_range(factor, skew_lo, skew_hi, least, most):
    """Return the range of factor times skew times a number between `least` and `most`, both non-negative."""
    return factor * min(skew_lo * least, skew_lo * most), factor * max(skew_hi * least, skew_hi * most)


@kernel
def _bound_across(n, d, angle):
    """Bound |v . t| for directions t across any direction within an angle of n, and |v_i| <= d_i."""
    p1, p2, p3 = abs(n[0]) * d[0], abs(n[1]) * d[1], abs(n[2]) * d[2]
    along = p1 + p2 + p3
    least = max(0.0, 2.0 * max(p1, p2, p3) - along)  # of |v . n| at a corner of the box
    square = dot(d, d)
    return min(math.sqrt(square), math.sqrt(max(0.0, square - least * least)) + min(1.0, angle) * along)


@kernel
def _bound_slope(body, sign, w, r, nu, spans, n3):
    """Bound phi' from above over a cap, at a height of a body mirrored by a sign; also return its g and g' / g.

    phi' = n3 + g (r g' / g - nu), and g' / g = tx C Cd + ty S Sd is monotone in the ratio of n1 and n2.
    """
    kx, ky = 1.0 + sign * body[TX] * w, 1.0 + sign * body[TY] * w
    lean = sign * body[TX] / kx
    if body[TX] != body[TY]:
        more = sign * body[TY] / ky - lean
        m1 = spans.n1_lo if more > 0.0 else spans.n1_hi
        m2 = spans.n2_hi if more > 0.0 else spans.n2_lo
        _, s, _, sd = unit_curve_from_normal(kx * m1, ky * m2, body[Q], body[INV_Q])
        lean += more * s * sd
    factor = r * lean - nu
    m1 = spans.n1_hi if factor > 0.0 else spans.n1_lo
    m2 = spans.n2_hi if factor > 0.0 else spans.n2_lo
    g = _norm(kx * m1, ky * m2, body[Q], body[INV_Q])
    return n3 + factor * g, g, lean


@kernel
def _height_of(body, nu):
    """Return the height at which the meridian of a body has a slope."""
    r, w, rd, wd = unit_curve_from_normal(1.0, nu, body[T_], body[INV_T])
    return Height(r, w, rd, wd)


@kernel
def _step_from(body, sign, height, nu, spans, n3):
    """Return whether all support points of a cap lie below a height of slope nu, and Newton's step to a higher slope.

    The body is mirrored by a sign.
    """
    rise, g, lean = _bound_slope(body, sign, height.w, height.r, nu, spans, n3)
    fall = g * max(1.0 + 2.0 * lean * (body[T_] - 1.0) * height.w * height.r * height.rd, _LEAST_SLOPE)
    return rise < -_ROUNDED * (abs(n3) + (1.0 + abs(nu)) * g), rise / fall


@kernel
def _height_above(body, f, sign, spans):
    """Bound the heights of the support points of a cap from above, and return whether a bound was found.

    The body is mirrored by a sign. phi is concave, so it is largest below any height at which phi' is negative. A
    slightly lengthened Newton step on the upper bound of phi' leads to such a height from the surface point f.
    """
    n3 = spans.n3_hi if sign > 0.0 else -spans.n3_lo
    holds_pole = spans.n1_lo == 0.0 and spans.n2_lo == 0.0 and n3 > 0.0
    nu = min(_STEEPEST, max(-_STEEPEST, sign * f.wd / max(f.rd, LEAST_DIVISOR)))
    _, step = _step_from(body, sign, Height(f.r, sign * f.w, f.rd, sign * f.wd), nu, spans, n3)
    nu += (1.0 + _BEYOND) * step
    height = _height_of(body, nu)
    is_above, _ = _step_from(body, sign, height, nu, spans, n3)
    pole = Height(0.0, 1.0, 0.0, 1.0)
    return (pole if holds_pole else height), holds_pole or is_above


@kernel
def heights_with_taper(body, f, spans):
    """Bound the heights of the support points of a cap about the normal at f; none if no bound is found."""
    upper, has_upper = _height_above(body, f, 1.0, spans)
    lower, has_lower = _height_above(body, f, -1.0, spans)
    return Heights(has_upper and has_lower, Height(lower.r, -lower.w, lower.rd, -lower.wd), upper)


@kernel
def heights_without_taper(body, spans):
    """Bound the heights of the support points of a cap in closed form, for a body without a taper."""
    g_lo = _norm(spans.n1_lo, spans.n2_lo, body[Q], body[INV_Q])
    g_hi = _norm(spans.n1_hi, spans.n2_hi, body[Q], body[INV_Q])
    nu_lo = spans.n3_lo / (g_lo if spans.n3_lo < 0.0 else g_hi)
    nu_hi = spans.n3_hi / (g_hi if spans.n3_hi < 0.0 else g_lo)
    return Heights(g_hi > 0.0, _height_of(body, nu_lo), _height_of(body, nu_hi))


@kernel
def spans_of(body, n, angle):
    """Return the ranges of the components of a direction times the semi-axes, for directions within an angle of n."""
    n1_lo, n1_hi = _span(body[A1] * n[0], body[A1] * angle)
    n2_lo, n2_hi = _span(body[A2] * n[1], body[A2] * angle)
    return Spans(n1_lo, n1_hi, n2_lo, n2_hi, body[A3] * (n[2] - angle), body[A3] * (n[2] + angle))


@kernel
def axes_at(body, f):
    """Return the vectors e and Z at a surface point."""
    ratio = (1.0 + body[TX] * f.w) / (1.0 + body[TY] * f.w)
    r_to_s = (body[Q] - 1.0) * f.r * f.rd
    kmx = _fall(body[TX], f.w, f.wd) + r_to_s * (body[TX] - body[TY] * ratio) * f.S * f.Sd
    kmy = _fall(body[TY], f.w, f.wd) + r_to_s * (body[TY] - body[TX] / ratio) * f.C * f.Cd
    e = (body[A1] * ratio * f.Sd, -body[A2] * f.Cd, 0.0)
    z = (body[A1] * kmx * f.C, body[A2] * kmy * f.S, body[A3] * f.rd)
    return Axes(ratio, kmx, kmy, e, z)


@kernel
def radii_over_cap(body, f, axes, n, angle, heights):
    """Bound the radius matrix of a body over the directions within an angle of the normal n at f.

    Parameters
    ----------
    heights : Heights
        Bounds of the heights of the support points of these directions.

    Returns
    -------
    Radii
        Lower bound, with alpha = beta = least = 0 if none is known: without heights, or with a concavity between them.
    """
    spans, lower, upper = spans_of(body, n, angle), heights.lower, heights.upper
    s, q = body[S_], body[Q]
    a1, a2, a3 = body[A1], body[A2], body[A3]
    n1_lo, n1_hi, n2_lo, n2_hi, n3_lo, n3_hi = spans
    r_1, w_1, rd_1, wd_1 = lower
    r_2, w_2, rd_2, wd_2 = upper
    tapers = body[TX], body[TY]
    ratio, kmx, kmy = axes.ratio, axes.kmx, axes.kmy
    kx_1, kx_2, ky_1, ky_2 = 1.0 + tapers[0] * w_1, 1.0 + tapers[0] * w_2, 1.0 + tapers[1] * w_1, 1.0 + tapers[1] * w_2
    kx_lo, kx_hi = _min_max(kx_1, kx_2)
    ky_lo, ky_hi = _min_max(ky_1, ky_2)
    ratio_lo, ratio_hi = _min_max(kx_1 / ky_1, kx_2 / ky_2)
    # Section: |Cd| and |Sd| grow and fall with the ratio of the components; g is largest at a corner of their box.
    c_hi, s_lo, cd_hi, sd_lo = unit_curve_from_normal(ratio_hi * n1_hi, n2_lo, q, body[INV_Q])
    c_lo, s_hi, cd_lo, sd_hi = unit_curve_from_normal(ratio_lo * n1_lo, n2_hi, q, body[INV_Q])
    g_hi = _norm(kx_hi * n1_hi, ky_hi * n2_hi, q, body[INV_Q])
    c_share_lo, c_share_hi = c_lo * cd_lo, c_hi * cd_hi
    s_share_lo, s_share_hi = s_lo * sd_lo, s_hi * sd_hi
    crosses = w_1 * w_2 <= 0.0
    near = lower if abs(w_1) < abs(w_2) else upper
    w_near, w_far = 0.0 if crosses else abs(near.w), max(abs(w_1), abs(w_2))
    r_lo, r_hi = min(r_1, r_2), 1.0 if crosses else max(r_1, r_2)
    rd_lo, rd_hi = min(rd_1, rd_2), 1.0 if crosses else max(rd_1, rd_2)
    near_to_s, far_to_s = 0.0 if crosses else near.w * near.wd, max(w_1 * wd_1, w_2 * wd_2)
    # g' / g lies between the relative tapers.
    tx_lo, tx_hi = _min_max(tapers[0] / kx_lo, tapers[0] / kx_hi)
    ty_lo, ty_hi = _min_max(tapers[1] / ky_lo, tapers[1] / ky_hi)
    lean_lo, lean_hi = min(tx_lo, ty_lo), max(tx_hi, ty_hi)
    # r / g: with a3 nz + r g' = nu g also (|w|^(s-1) r^(2-s) - r^2 g' / g) / |a3 nz|, least at the equator if s >= 2.
    per_g = r_lo / g_hi
    if s >= 2.0 and not crosses and near.rd > 0.0:
        lean = lean_hi if near.w > 0.0 else -lean_lo
        numerator = abs(near.wd) * near.r / near.rd - near.r * near.r * max(0.0, lean)
        per_g = max(per_g, numerator / max(abs(n3_lo), abs(n3_hi)))
    # alpha: |x|^(q-2) is least at the largest |x| for q < 2, at the smallest for q > 2.
    if q <= 2.0:
        section = power(cd_hi, 2.0 - q) * power(sd_hi, 2.0 - q)
        section = 1.0 / section if section > 0.0 else 0.0
    else:
        section = power(cd_lo, q - 2.0) * power(sd_lo, q - 2.0)
    alpha = min(per_g * (q - 1.0) * section * ky_lo * ky_lo, 1e300)
    if s >= 2.0:
        bend = power(w_far, s - 2.0)
    elif w_near > 0.0:
        bend = exp((s - 2.0) * log(w_near))  # `power` treats an x below 1e-200 as 0
    else:
        bend = math.inf
    # beta: unequal tapers add a term of g'' to its denominator, which only lowers the denominator, and is left out.
    lift = max(wd_1 * lean_lo, wd_1 * lean_hi, wd_2 * lean_lo, wd_2 * lean_hi)
    lift *= r_hi * rd_hi if lift > 0.0 else r_lo * rd_lo
    beta = min(per_g / ((s - 1.0) * bend + 2.0 * lift), 1e300)
    # kx mx and ky my.
    skew_lo, skew_hi = _min_max(tapers[0] - tapers[1] * ratio_lo, tapers[0] - tapers[1] * ratio_hi)
    other_lo, other_hi = _min_max(tapers[1] - tapers[0] / ratio_lo, tapers[1] - tapers[0] / ratio_hi)
    kmx_lo, kmx_hi = _min_max(tapers[0] * (1.0 - 2.0 * near_to_s), tapers[0] * (1.0 - 2.0 * far_to_s))
    kmy_lo, kmy_hi = _min_max(tapers[1] * (1.0 - 2.0 * near_to_s), tapers[1] * (1.0 - 2.0 * far_to_s))
    rise_lo, rise_hi = _skew_range(q - 1.0, skew_lo, skew_hi, r_lo * rd_lo * s_share_lo, r_hi * rd_hi * s_share_hi)
    kmx_lo, kmx_hi = kmx_lo - wd_2 + rise_lo, kmx_hi - wd_1 + rise_hi
    rise_lo, rise_hi = _skew_range(q - 1.0, other_lo, other_hi, r_lo * rd_lo * c_share_lo, r_hi * rd_hi * c_share_hi)
    kmy_lo, kmy_hi = kmy_lo - wd_2 + rise_lo, kmy_hi - wd_1 + rise_hi
    kmx_most, kmy_most = max(abs(kmx_lo), abs(kmx_hi)), max(abs(kmy_lo), abs(kmy_hi))
    # In any direction: the product of both radii by their sum, (e x Z)^2 / (e^2 / beta + Z^2 / alpha).
    least = 0.0
    if alpha > 0.0 and beta > 0.0:
        least_e = (a1 * ratio_lo * sd_lo) ** 2 + (a2 * cd_lo) ** 2
        most_e = (a1 * ratio_hi * sd_hi) ** 2 + (a2 * cd_hi) ** 2
        most_z = (a1 * kmx_most * c_hi) ** 2 + (a2 * kmy_most * s_hi) ** 2 + (a3 * rd_hi) ** 2
        least_m = max(0.0, min(kmx_lo, ratio_lo * kmy_lo, ratio_hi * kmy_lo))
        least_m = max(least_m, -max(kmx_hi, ratio_lo * kmy_hi, ratio_hi * kmy_hi))
        product = (a3 * rd_lo) ** 2 * least_e + (a1 * a2 * least_m) ** 2
        least = product / (most_e / beta + most_z / alpha)
    sign_c = 1.0 if f.Cd >= 0.0 else -1.0
    sign_s = 1.0 if f.Sd >= 0.0 else -1.0
    # If a component of n may change sign, its curve point may be on either side of zero.
    if n1_lo == 0.0:
        c_lo, cd_lo = -c_hi, -cd_hi
    if n2_lo == 0.0:
        s_lo, sd_lo = -s_hi, -sd_hi
    e_1 = a1 * _product_deviation(ratio_lo, ratio_hi, sd_lo, sd_hi, ratio * f.Sd * sign_s)
    e_2 = a2 * _deviation(cd_lo, cd_hi, f.Cd * sign_c)
    z_1 = a1 * _product_deviation(kmx_lo, kmx_hi, c_lo, c_hi, kmx * f.C * sign_c)
    z_2 = a2 * _product_deviation(kmy_lo, kmy_hi, s_lo, s_hi, kmy * f.S * sign_s)
    z_3 = a3 * _deviation(rd_lo, rd_hi, f.rd)
    stray_e, stray_z = _bound_across(n, (e_1, e_2, 0.0), angle), _bound_across(n, (z_1, z_2, z_3), angle)
    nowhere = n1_hi * n2_hi == 0.0 or (n1_lo == 0.0 and n2_lo == 0.0 and n3_lo * n3_hi <= 0.0)
    over_dent = body[DENTED] != 0.0 and w_1 < body[DENT_HI] and w_2 > body[DENT_LO]
    if nowhere or over_dent or not heights.are_known:
        alpha = beta = least = 0.0
    return Radii(alpha, stray_e, beta, stray_z, least)


class _Squares(NamedTuple):
    """Sum of squares c (v . t)^2 in a tangent frame, and its loss by the deviations of v."""

    xx: float
    xy: float
    yy: float
    loss: float


@kernel
def _with_square(sum_, c, v, stray, t1, t2, most):
    c = min(c, most / max(dot(v, v), LEAST_DIVISOR))
    v1, v2 = dot(v, t1), dot(v, t2)
    return _Squares(sum_.xx + c * v1 * v1, sum_.xy + c * v1 * v2, sum_.yy + c * v2 * v2, sum_.loss + c * stray * stray)


@kernel
def _least_of(xx, xy, yy, loss, cosine):
    """Bound a sum of squares from below in any direction across one of a cap."""
    # The smaller eigenvalue, from the determinant if the two lie far apart.
    half = 0.5 * (xx + yy)
    root = math.sqrt(0.25 * (xx - yy) ** 2 + xy * xy)
    lowest = (xx * yy - xy * xy) / (half + root) if half > 0.0 else 0.0
    reach = math.sqrt(lowest) * cosine - math.sqrt(loss) if lowest > 0.0 else 0.0
    return reach * reach if reach > 0.0 else 0.0


@kernel
def radius_of_both(ra, axes_a, rb, e_b, z_b, t1, t2, cosine, most):
    """Bound the radius of curvature of M from below, in any direction of travel across one of a cap.

    If a square has a huge coefficient and its vector deviates, most of the square is lost: a smaller coefficient gives
    a lower bound too.

    Parameters
    ----------
    ra, rb : Radii
    axes_a : Axes
    e_b, z_b : Vector
        The vectors e and Z of B, in the frame of A.
    t1, t2 : Vector
        Unit vectors across the direction in the middle of the cap.
    cosine : float
        Cosine of the angle of the cap.
    most : float
        Radius to which coefficients are lowered, m.
    """
    none = _Squares(0.0, 0.0, 0.0, 0.0)
    of_a = _with_square(none, ra.alpha, axes_a.e, ra.stray_e, t1, t2, most)
    of_a = _with_square(of_a, ra.beta, axes_a.z, ra.stray_z, t1, t2, most)
    of_b = _with_square(none, rb.alpha, e_b, rb.stray_e, t1, t2, most)
    of_b = _with_square(of_b, rb.beta, z_b, rb.stray_z, t1, t2, most)
    both = _least_of(of_a.xx + of_b.xx, of_a.xy + of_b.xy, of_a.yy + of_b.yy, of_a.loss + of_b.loss, cosine)
    one = _least_of(of_a.xx, of_a.xy, of_a.yy, of_a.loss, cosine) + rb.least
    other = _least_of(of_b.xx, of_b.xy, of_b.yy, of_b.loss, cosine) + ra.least
    return max(both, one, other, ra.least + rb.least)


class Cap(NamedTuple):
    """Directions within an angle of a contact normal, none of them shallower than `floor`."""

    angle: float  # rad; 0: none
    floor: float  # lower bound of h_M on the cap, m
