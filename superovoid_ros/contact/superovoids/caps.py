# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Local proof of a depth: on a cap of directions around the contact normal nothing is shallower.

Along a great circle that leaves n with angle phi the support function of the Minkowski difference M = A - B obeys
h'' + h = R(phi), R the radius of curvature of M in the direction of travel. With h'(0) = 0 and h(0) = depth,

    h(phi) - depth = integral_0^phi sin(phi - psi) (R(psi) - depth) dpsi,

so it is enough to bound R from below on the way. For one body (symbols of shapes.kernels.surface)

    hess h = alpha e e^T + beta Z Z^T
    alpha = r (q-1) |Cd Sd|^(q-2) / g,                           e = (a1 kx Sd, -a2 ky Cd, 0)
    beta = r / ((s-1) |w|^(s-2) g + 2 r wd rd g' - r^2 rd^2 g''),  Z = (a1 kx mx C, a2 ky my S, a3 rd)
    mx = r^s (tx + (q-1)(tx-ty) S Sd) - wd,                      my = r^s (ty - (q-1)(tx-ty) C Cd) - wd

the sum of two squares: one along the section, one along the meridian (derived in docs/numerics.md). Every factor is
monotone in the direction of n, so its range over the cap follows from the extreme ratios of the components of n. With
lower bounds of alpha and beta and the deviations |de|, |dZ| over the cap, the triangle inequality for the norm
(sum_i c_i (v_i . t)^2)^(1/2) gives R^(1/2) >= (lowest at the centre)^(1/2) cos - (sum_i c_i |dv_i|^2)^(1/2).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid_ros.compiled.jit import kernel, out_of_line
from superovoid_ros.compiled.vector import combine, dot, norm, rotate, rotate_back, scale, sub, tangent_frame
from superovoid_ros.contact.superovoids.newton import observe
from superovoid_ros.shapes.kernels.rounding import EPS
from superovoid_ros.shapes.kernels.surface import (
    A1,
    A2,
    A3,
    DENT_HI,
    DENT_LO,
    DENTED,
    INV_Q,
    INV_S,
    INV_T,
    S_,
    T_,
    TX,
    TY,
    Q,
    power,
    unit_curve_from_normal,
)

_RADIUS_OF_USE = 32.0  # in depths
_WIDER = 30.0  # steps of the radius of use
_FIRST_TRY, _WIDER_TRY, _NARROWER_TRY = 0.1, 2.0, 0.4  # rad, and steps, of the first ring
_RING_RATIO = 1.5
_NARROWEST, WIDEST = 2e-5, 0.8  # rad
_HEIGHT_STEPS = np.int64(6)
_BEYOND, _LEAST_SLOPE = 0.03, 0.05  # of the first step, and of what phi' would fall by without a taper
_STEEPEST = 1e6  # slope of a meridian near a pole
_ROUNDED = 16.0 * EPS
_BELOW_ROUNDING = 1.0 - 1e-8  # s - 1 and q - 1 are rounded by up to 5e-10 of themselves at the ends of the exponents


class Radii(NamedTuple):
    """Lower bound alpha e e^T + beta Z Z^T of the radius matrix over a cap, and how far e and Z stray."""

    alpha: float
    e: tuple
    stray_e: float
    beta: float
    z: tuple
    stray_z: float


@kernel
def _span(value, slack):
    """Range of |x| for x within a slack of a value."""
    return max(0.0, abs(value) - slack), abs(value) + slack


@kernel
def _stray(lo, hi, value):
    return max(hi - value, value - lo)


@kernel
def _product_stray(a_lo, a_hi, b_lo, b_hi, value):
    """Largest deviation of a product of two ranges from a value."""
    p, q, r, s = a_lo * b_lo, a_lo * b_hi, a_hi * b_lo, a_hi * b_hi
    return _stray(min(p, q, r, s), max(p, q, r, s), value)


@kernel
def _ordered(x, y):
    return min(x, y), max(x, y)


@kernel
def _norm(n1, n2, q, inv_q):
    """Dual norm of a section, for components that are not negative."""
    larger = max(n1, n2)
    share = power(min(n1, n2) / larger, q) if larger > 0.0 else 0.0
    return larger * power(1.0 + share, inv_q)


@kernel
def _meridian_slope(f, own, other, other_share, q):
    """Factor of a C (or a S) in Z: r^s (tx + (q-1) (tx - ty) S Sd) - wd, and the same with x and y exchanged."""
    return f.r * f.rd * (own + (q - 1.0) * (own - other) * other_share) - f.wd


class _Height(NamedTuple):
    """A height of a body: the curve point of its meridian."""

    found: bool
    r: float
    w: float
    rd: float
    wd: float


@kernel
def _steepest(body, sign, w, r, nu, spans, n3):
    """Upper bound over a cap of phi' at a height of a body, mirrored by a sign; and the g and g' / g that go with it.

    phi' = n3 + g (r g' / g - nu), where g' / g = tx C Cd + ty S Sd falls or grows with the ratio of n1 and n2.
    """
    n1_lo, n1_hi, n2_lo, n2_hi = spans
    kx, ky = 1.0 + sign * body[TX] * w, 1.0 + sign * body[TY] * w
    lean = sign * body[TX] / kx
    if body[TX] != body[TY]:
        more = sign * body[TY] / ky - lean
        m1, m2 = (n1_lo, n2_hi) if more > 0.0 else (n1_hi, n2_lo)
        _, s, _, sd = unit_curve_from_normal(kx * m1, ky * m2, body[Q], body[INV_Q])
        lean += more * s * sd
    factor = r * lean - nu
    m1, m2 = (n1_hi, n2_hi) if factor > 0.0 else (n1_lo, n2_lo)
    g = _norm(kx * m1, ky * m2, body[Q], body[INV_Q])
    return n3 + factor * g, g, lean


@kernel
def _highest(body, f, sign, spans, n3):
    """Height of a tapered body, mirrored by a sign, above which no support point of a cap lies; and whether found.

    phi is concave, so that it is largest below any height at which phi' is negative. Newton on the upper bound of phi'
    leads there.
    """
    height = _Height(False, f.r, sign * f.w, f.rd, sign * f.wd)
    nu, beyond = height.wd / height.rd, 0.0
    for i in range(_HEIGHT_STEPS):
        _, r, w, rd, wd = height
        rise, g, lean = _steepest(body, sign, w, r, nu, spans, n3)
        if rise < -_ROUNDED * (abs(n3) + (1.0 + abs(nu)) * g):
            return _Height(True, r, sign * w, rd, sign * wd)
        step = rise / (g * max(1.0 + 2.0 * lean * (body[T_] - 1.0) * w * r * rd, _LEAST_SLOPE))
        beyond = _BEYOND * step if i == 0 else beyond
        nu += step + beyond
        r, w, rd, wd = unit_curve_from_normal(1.0, nu, body[T_], body[INV_T])
        height = _Height(False, r, w, rd, wd)
    return height


@kernel
def cap_radii(body, f, n, angle):
    """Bound the radius matrix of a body over the directions within an angle of the normal n at f.

    Returns a `Radii` with alpha = beta = 0 where no bound is known.
    """
    out_of_line()
    none = Radii(0.0, (0.0, 0.0, 0.0), 0.0, 0.0, (0.0, 0.0, 0.0), 0.0)
    s, q = body[S_], body[Q]
    a1, a2, a3 = body[A1], body[A2], body[A3]
    n1_lo, n1_hi = _span(a1 * n[0], a1 * angle)
    n2_lo, n2_hi = _span(a2 * n[1], a2 * angle)
    n3_lo, n3_hi = a3 * (n[2] - angle), a3 * (n[2] + angle)
    if n1_hi * n2_hi == 0.0 or (n1_lo == 0.0 and n2_lo == 0.0):
        return none
    kx_lo = kx_hi = kx = 1.0 + body[TX] * f.w
    ky_lo = ky_hi = ky = 1.0 + body[TY] * f.w
    ratio_lo = ratio_hi = 1.0
    tapered = body[TX] != 0.0 or body[TY] != 0.0
    if tapered:
        # The slice of a support point depends on its height. Between which heights the support points lie is looked
        # for; phi is concave there, and has one maximum.
        if not (abs(f.wd) < _STEEPEST * f.rd):
            return none
        spans = n1_lo, n1_hi, n2_lo, n2_hi
        upper = _highest(body, f, 1.0, spans, n3_hi)
        if not upper.found:
            return none
        lower = _highest(body, f, -1.0, spans, -n3_lo)
        if not lower.found:
            return none
        _, r_1, w_1, rd_1, wd_1 = lower
        _, r_2, w_2, rd_2, wd_2 = upper
        kx_1, kx_2, ky_1, ky_2 = 1.0 + body[TX] * w_1, 1.0 + body[TX] * w_2, 1.0 + body[TY] * w_1, 1.0 + body[TY] * w_2
        kx_lo, kx_hi = _ordered(kx_1, kx_2)
        ky_lo, ky_hi = _ordered(ky_1, ky_2)
        ratio_lo, ratio_hi = _ordered(kx_1 / ky_1, kx_2 / ky_2)
    # Section: |Cd| and |Sd| grow and fall with the ratio of the components; g is extreme at the corners of their box.
    c_hi, s_lo, cd_hi, sd_lo = unit_curve_from_normal(ratio_hi * n1_hi, n2_lo, q, body[INV_Q])
    c_lo, s_hi, cd_lo, sd_hi = unit_curve_from_normal(ratio_lo * n1_lo, n2_hi, q, body[INV_Q])
    g_lo = _norm(kx_lo * n1_lo, ky_lo * n2_lo, q, body[INV_Q])
    g_hi = _norm(kx_hi * n1_hi, ky_hi * n2_hi, q, body[INV_Q])
    if g_lo == 0.0:
        return none
    c_share_lo, c_share_hi = c_lo * cd_lo, c_hi * cd_hi
    s_share_lo, s_share_hi = s_lo * sd_lo, s_hi * sd_hi
    dg_lo = dg_hi = 0.0  # g' = Tx a1 |nx| |C| + Ty a2 |ny| |S|, since g is stationary in its section point
    if tapered:
        x_lo, x_hi = _ordered(body[TX] * n1_lo * c_lo, body[TX] * n1_hi * c_hi)
        y_lo, y_hi = _ordered(body[TY] * n2_lo * s_lo, body[TY] * n2_hi * s_hi)
        dg_lo, dg_hi = x_lo + y_lo, x_hi + y_hi
    else:
        nu_lo = n3_lo / g_lo if n3_lo < 0.0 else n3_lo / g_hi
        nu_hi = n3_hi / g_hi if n3_hi < 0.0 else n3_hi / g_lo
        r_1, w_1, rd_1, wd_1 = unit_curve_from_normal(1.0, nu_lo, body[T_], body[INV_T])
        r_2, w_2, rd_2, wd_2 = unit_curve_from_normal(1.0, nu_hi, body[T_], body[INV_T])
    if body[DENTED] != 0.0 and w_1 < body[DENT_HI] and w_2 > body[DENT_LO]:
        return none  # over a dent there is no radius
    crosses = w_1 * w_2 <= 0.0
    w_near = 0.0 if crosses else min(abs(w_1), abs(w_2))
    w_far = max(abs(w_1), abs(w_2))
    r_lo, r_hi = min(r_1, r_2), 1.0 if crosses else max(r_1, r_2)
    rd_lo, rd_hi = min(rd_1, rd_2), 1.0 if crosses else max(rd_1, rd_2)
    # alpha: |x|^(q-2) is least at the largest |x| for q < 2, at the smallest for q > 2.
    if q <= 2.0:
        section = power(cd_hi, 2.0 - q) * power(sd_hi, 2.0 - q)
        section = 1.0 / section if section > 0.0 else 0.0
    else:
        section = power(cd_lo, q - 2.0) * power(sd_lo, q - 2.0)
    alpha = r_lo * (q - 1.0) * section / g_hi
    if s >= 2.0:
        bend = power(w_far, s - 2.0)
    elif w_near > 0.0:
        bend = math.exp((s - 2.0) * math.log(w_near))  # `power` takes a height below 1e-200 for 0
    else:
        bend = math.inf
    # beta: the term of g'' that unequal tapers add to its denominator only lowers that, and is left out.
    lift = max(wd_1 * dg_lo, wd_1 * dg_hi, wd_2 * dg_lo, wd_2 * dg_hi)
    lift *= r_hi * rd_hi if lift > 0.0 else r_lo * rd_lo
    beta = r_lo / ((s - 1.0) * bend * g_hi + 2.0 * lift)
    # Where a component of n may change sign its curve point may be on either side of zero.
    sign_c = 1.0 if f.Cd >= 0.0 else -1.0
    sign_s = 1.0 if f.Sd >= 0.0 else -1.0
    if n1_lo == 0.0:
        c_lo, cd_lo = -c_hi, -cd_hi
    if n2_lo == 0.0:
        s_lo, sd_lo = -s_hi, -sd_hi
    e = (a1 * kx * f.Sd, -a2 * ky * f.Cd, 0.0)
    mx = _meridian_slope(f, body[TX] / kx, body[TY] / ky, f.S * f.Sd, q)
    my = _meridian_slope(f, body[TY] / ky, body[TX] / kx, f.C * f.Cd, q)
    z = (a1 * kx * mx * f.C, a2 * ky * my * f.S, a3 * f.rd)
    mx_lo, mx_hi, my_lo, my_hi = -wd_2, -wd_1, -wd_2, -wd_1
    if tapered:
        r_s_lo, r_s_hi = r_lo * rd_lo, r_hi * rd_hi
        tx_lo, tx_hi = _ordered(body[TX] / kx_lo, body[TX] / kx_hi)
        ty_lo, ty_hi = _ordered(body[TY] / ky_lo, body[TY] / ky_hi)
        d_lo, d_hi = (q - 1.0) * (tx_lo - ty_hi), (q - 1.0) * (tx_hi - ty_lo)
        x_lo = tx_lo + min(d_lo * s_share_lo, d_lo * s_share_hi)
        x_hi = tx_hi + max(d_hi * s_share_lo, d_hi * s_share_hi)
        y_lo = ty_lo - max(d_hi * c_share_lo, d_hi * c_share_hi)
        y_hi = ty_hi - min(d_lo * c_share_lo, d_lo * c_share_hi)
        mx_lo += min(r_s_lo * x_lo, r_s_hi * x_lo)
        mx_hi += max(r_s_lo * x_hi, r_s_hi * x_hi)
        my_lo += min(r_s_lo * y_lo, r_s_hi * y_lo)
        my_hi += max(r_s_lo * y_hi, r_s_hi * y_hi)
    kmx_lo, kmx_hi = min(kx_lo * mx_lo, kx_hi * mx_lo), max(kx_lo * mx_hi, kx_hi * mx_hi)
    kmy_lo, kmy_hi = min(ky_lo * my_lo, ky_hi * my_lo), max(ky_lo * my_hi, ky_hi * my_hi)
    e_1 = a1 * _product_stray(kx_lo, kx_hi, sd_lo, sd_hi, kx * f.Sd * sign_s)
    e_2 = a2 * _product_stray(ky_lo, ky_hi, cd_lo, cd_hi, ky * f.Cd * sign_c)
    z_1 = a1 * _product_stray(kmx_lo, kmx_hi, c_lo, c_hi, kx * mx * f.C * sign_c)
    z_2 = a2 * _product_stray(kmy_lo, kmy_hi, s_lo, s_hi, ky * my * f.S * sign_s)
    z_3 = a3 * _stray(rd_lo, rd_hi, f.rd)
    return Radii(
        min(alpha, 1e300),
        e,
        math.sqrt(e_1 * e_1 + e_2 * e_2),
        min(beta, 1e300),
        z,
        math.sqrt(z_1 * z_1 + z_2 * z_2 + z_3 * z_3),
    )


@kernel
def least_radius(a, b, rotation, fa, fb, n, depth, angle):
    """Lower bound of the radius of curvature of M, in any direction of travel, within an angle of n."""
    out_of_line()
    m = rotate_back(rotation, scale(-1.0, n))
    ra = cap_radii(a, fa, n, angle)
    rb = cap_radii(b, fb, m, angle)
    if ra.alpha + ra.beta + rb.alpha + rb.beta == 0.0:
        return 0.0
    t1, t2 = tangent_frame(n)
    e_b = rotate(rotation, rb.e)
    z_b = rotate(rotation, rb.z)
    best = 0.0
    most = _RADIUS_OF_USE * depth
    for _ in range(4):
        # Most of a square is lost where its coefficient is huge and its vector strays: a smaller coefficient is a
        # lower bound too. But where two squares point almost the same way, only a huge one reaches across.
        xx = xy = yy = loss = 0.0
        for i in range(4):
            if i == 0:
                c, v, stray = ra.alpha, ra.e, ra.stray_e
            elif i == 1:
                c, v, stray = ra.beta, ra.z, ra.stray_z
            elif i == 2:
                c, v, stray = rb.alpha, e_b, rb.stray_e
            else:
                c, v, stray = rb.beta, z_b, rb.stray_z
            c = min(c, most / max(dot(v, v), 1e-300))
            v1, v2 = dot(v, t1), dot(v, t2)
            xx += c * v1 * v1
            xy += c * v1 * v2
            yy += c * v2 * v2
            loss += c * stray * stray
        # The smaller eigenvalue, from the determinant where the two lie far apart.
        half = 0.5 * (xx + yy)
        root = math.sqrt(0.25 * (xx - yy) ** 2 + xy * xy)
        lowest = (xx * yy - xy * xy) / (half + root) if half > 0.0 else 0.0
        if lowest > 0.0:
            reach = math.sqrt(lowest) * math.cos(angle) - math.sqrt(loss)
            if reach > 0.0:
                best = max(best, _BELOW_ROUNDING * reach * reach)
        most *= _WIDER
    return best


class Cap(NamedTuple):
    """Directions within an angle of a contact normal, where no direction is shallower than `floor`."""

    angle: float  # rad; 0: none
    floor: float  # lower bound of h_M on the cap, m


@kernel
def largest_cap(pair, fa, fb):
    """Largest cap on which the depth of a contact is proved to be the least; angle 0 where none is.

    h_A(m) = m . x_A + the integral of sin R_A from the exact normal n_A of x_A on, and the same for B. So with
    h_M(m) >= m . (x_A - x_B) + both integrals, y = h_M - depth obeys y'' + y = R - depth with y = 0 at n, and starts
    no steeper downwards than -drop: what Newton has left of the tangential offset and, times R, of the mismatch of the
    normals. R is bounded below ring by ring, on each ring by the least radius of the cap that it ends. The first is as
    wide as R is found to exceed the depth on; from there on R falls, and what y has gained carries it over the rim.
    With a surplus of R over the depth y falls by no more than sqrt(surplus^2 + drop^2) - surplus before it rises.
    """
    out_of_line()
    a, b, rotation = pair.a, pair.b, pair.rotation
    k = observe(pair, fa, fb, 1.0)
    none = Cap(0.0, 0.0)
    depth = -dot(k.u, k.n)
    if not (depth > 0.0):
        return none
    offset = norm(combine(1.0, k.u, depth, k.n))
    mismatch = norm(sub(k.normal_a, k.inward_b))
    most = _RADIUS_OF_USE * depth
    drop = offset + most * mismatch
    inner = _FIRST_TRY
    surplus = min(least_radius(a, b, rotation, fa, fb, k.n, depth, inner), most) - depth
    while surplus > 0.0 and _WIDER_TRY * inner < WIDEST:
        wider = min(least_radius(a, b, rotation, fa, fb, k.n, depth, _WIDER_TRY * inner), most) - depth
        if not (wider > 0.0):
            break
        inner, surplus = _WIDER_TRY * inner, wider
    while not (surplus > 0.0):
        inner *= _NARROWER_TRY
        if inner < _NARROWEST:
            return none
        surplus = min(least_radius(a, b, rotation, fa, fb, k.n, depth, inner), most) - depth
    y = surplus * (1.0 - math.cos(inner)) - drop * math.sin(inner)
    slope = surplus * math.sin(inner) - drop * math.cos(inner)
    if not (y >= 0.0 and slope >= 0.0):
        return none
    floor = depth - drop * drop / (surplus + math.sqrt(surplus * surplus + drop * drop))
    while inner < WIDEST:
        outer = min(_RING_RATIO * inner, WIDEST)
        surplus = min(least_radius(a, b, rotation, fa, fb, k.n, depth, outer), most) - depth
        width = outer - inner
        y_next = surplus * (1.0 - math.cos(width)) + y * math.cos(width) + slope * math.sin(width)
        if y_next < 0.0:
            # y is concave where it falls back to zero: it is not negative up to any point at which it is not.
            lo, hi = 0.0, width
            for _ in range(6):
                width = 0.5 * (lo + hi)
                if surplus * (1.0 - math.cos(width)) + y * math.cos(width) + slope * math.sin(width) >= 0.0:
                    lo = width
                else:
                    hi = width
            return Cap(inner + lo, floor)
        slope = (surplus - y) * math.sin(width) + slope * math.cos(width)
        y = y_next
        inner = outer
    return Cap(inner, floor)
