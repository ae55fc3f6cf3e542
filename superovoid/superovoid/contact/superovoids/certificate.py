# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""What proves an answer: a lower bound from the support functions, an upper bound from points or balls.

With sd the signed distance of the convex hulls and h the support functions, every unit n gives

    g(n) = n . c - h_A(n) - h_B(-n) <= sd                                              (lower bound)

Separated bodies: the distance of any two of their points is an upper bound. Overlapping bodies: the Minkowski
difference M = A - B contains the sum of a ball inside A that touches the boundary at x_A and one inside B that
touches it at x_B. With radii r_A and r_B that sum is a ball of radius r_A + r_B which passes through the boundary
point x_A - x_B = depth * n with its centre on that normal. If r_A + r_B >= depth it contains the ball of radius
*depth* about the origin, so no translation shorter than *depth* separates the bodies: the depth is global, and no
other start, however clever, can find a smaller one (derived in docs/solver.md).
"""

from __future__ import annotations

import math

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, combine, dot, norm, rotate_back, scale, sub, tangent_frame
from superovoid.contact.minkowski.on_surfaces import along_to_surface
from superovoid.shapes.kernels.rounding import EPS, allowance
from superovoid.shapes.kernels.support_function import excess_over, slice_support
from superovoid.shapes.kernels.surface import (
    A1,
    A2,
    A3,
    DENT_CURVATURE,
    DENT_HI,
    DENT_LO,
    DENT_NU_HI,
    DENT_NU_LO,
    DENT_R_HI,
    DENT_R_LO,
    DENTED,
    RADIUS,
    S_,
    SIZE,
    TX,
    TY,
    P,
    SurfacePoint,
    position,
    power,
    shape_operator,
)

_ROUNDED = 16.0 * EPS  # of sums of powers, times their exponent, that cancel in a majorant


@kernel
def rises_from(body, f, n, edge, r, nu, sign):
    """Whether phi' at a dent's edge, taken towards f, exceeds what the dent can take away."""
    margin = body[DENT_CURVATURE] * (body[DENT_HI] - body[DENT_LO])
    # First without a power: phi'(w of f) = 0 gives a3 nz, and the section's support g at the edge is at most the one
    # at f times the larger ratio of the tapers, with a logarithmic slope between tx and ty.
    kx = 1.0 + body[TX] * f.w
    ky = 1.0 + body[TY] * f.w
    g = body[A1] * kx * n[0] * f.C + body[A2] * ky * n[1] * f.S
    dg = g * (f.C * f.Cd * body[TX] / kx + f.S * f.Sd * body[TY] / ky)
    kx_edge = 1.0 + body[TX] * edge
    ky_edge = 1.0 + body[TY] * edge
    g_edge = g * max(kx_edge / kx, ky_edge / ky)
    steepest = max(-sign * body[TX] / kx_edge, -sign * body[TY] / ky_edge, 0.0)
    if sign * (f.wd / f.rd * g - f.r * dg) - g_edge * (r * steepest + max(0.0, sign * nu)) >= margin:
        return True
    g, dg, _, _, _, _ = slice_support(body, n, edge)
    return sign * (body[A3] * n[2] + r * dg - nu * g) >= margin


@kernel
def clear_of_dent(body, f, n):
    """Whether f, whose outward normal is n, is the support point of the hull because no dent is near enough.

    The slice profile phi is concave outside the dent. Where phi already rises steeply enough at the dent's edge
    towards f it cannot fall inside, rises on the far side too, and its maximum at f is the global one.
    """
    if body[DENTED] == 0.0:
        return True
    lo = body[DENT_LO]
    hi = body[DENT_HI]
    if f.w > hi:
        return rises_from(body, f, n, hi, body[DENT_R_HI], body[DENT_NU_HI], 1.0)
    if f.w < lo:
        return rises_from(body, f, n, lo, body[DENT_R_LO], body[DENT_NU_LO], -1.0)
    return False


@kernel
def hull_excess(body, f, n):
    """Upper bound of h(n) - n . x(f) for a surface point f whose outward normal is n."""
    return 0.0 if clear_of_dent(body, f, n) else excess_over(body, n, f)


@kernel
def rounding_margin(a, b, centre):
    """Bound of the rounding errors in a separation or a depth of the pair (`rounding`)."""
    return allowance(a[RADIUS], b[RADIUS], norm(centre))


@kernel
def lower_bound(pair, fa, fb, k):
    """Largest of two proved lower bounds of the signed distance of the hulls, and the direction that proves it.

    For a convex A with exact normal n_A at x_A, h_A(n_A) = n_A . x_A; and h_B(-n_A) exceeds -n_A . x_B by no more
    than |n_A - n_B| times the diameter of B, since n_B is exact at x_B. The other bound swaps the roles.
    """
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    mismatch = norm(sub(k.normal_a, k.inward_b))
    local_b = rotate_back(rotation, scale(-1.0, k.inward_b))
    excess = hull_excess(a, fa, k.normal_a) + hull_excess(b, fb, local_b)
    from_a = dot(k.normal_a, k.u) - mismatch * 2.0 * b[RADIUS]
    from_b = dot(k.inward_b, k.u) - mismatch * 2.0 * a[RADIUS]
    bound, n = (from_a, k.normal_a) if from_a > from_b else (from_b, k.inward_b)
    return bound - excess - rounding_margin(a, b, centre), n


@kernel
def _power_curvature(exponent, x, x_to_p):
    """Smallest c with |y|^p <= x^p + p x^(p-1) (y - x) + c (y - x)^2 / 2 for all y in [-1, 1]; 0 <= x <= 1.

    p <= 2: |y|^p is concave in y^2, so the tangent in y^2 majorises it. p > 2: the second derivative grows with
    |y|, so the quotient is largest at y = 1. Its numerator is the small difference of numbers up to p, each rounded.
    """
    p = exponent
    if x < 1e-12:
        return 2.0 if p >= 2.0 else math.inf
    if p <= 2.0:
        return p * x_to_p / (x * x)
    rest = 1.0 - x
    if rest < 0.02:
        return p * (p - 1.0)
    return min(p * (p - 1.0), 2.0 * (1.0 - x_to_p - p * x_to_p / x * rest + _ROUNDED * p) / (rest * rest))


@kernel
def tangent_ball(body, f):
    """Radius of a ball that lies in the body and touches its boundary at the surface point f.

    A function Phi with the body as its sublevel set {Phi <= 0} is majorised on the body by its tangent plus
    L |dX|^2 / 2; the ball of radius |grad Phi| / L that touches at X is then inside. Phi is chosen for each order of
    the exponents such that every term has a closed-form majorant (docs/numerics.md). It need not be convex.
    """
    p = body[P]
    s = body[S_]
    u = f.r * abs(f.C)
    v = f.r * abs(f.S)
    w = min(abs(f.w), 1.0)
    if f.r < 1e-6 and s != p:
        return 0.0  # the pole of unlike exponents has no second-order majorant here
    r_to_s = f.r * f.rd
    rest = 1.0 - w
    if s <= p:
        # Phi = (|u|^p + |v|^p)^(s/p) + |w|^s - 1, concave in its first sum.
        r_to_p = power(f.r, p) if s < p else r_to_s
        chain = s / p * r_to_s / r_to_p if s < p else 1.0
        slope_w = s * abs(f.wd)
        curvature_w = _power_curvature(s, w, w * abs(f.wd))
    else:
        # Phi = |u|^p + |v|^p - (1 - |w|^s)^(p/s); the last term is a series of powers of |w|^s with positive
        # coefficients after the constant, the first of which needs the tangent in w^2 where s < 2.
        if rest < 1e-3:
            return 0.0
        beta = p / s
        r_to_p = power(f.r, p)
        chain = 1.0
        w_to_s = w * abs(f.wd)
        slope_w = p * r_to_p / r_to_s * abs(f.wd)
        curvature_w = _power_curvature(s, w, w_to_s) * beta
        tail_value = -r_to_p + 1.0 - beta * w_to_s
        tail_slope = slope_w - beta * s * abs(f.wd)
        curvature_w += max(0.0, 2.0 * (1.0 - beta - tail_value - tail_slope * rest + _ROUNDED * p) / (rest * rest))
    u_to_p = r_to_p * f.C * f.Cd
    v_to_p = r_to_p * f.S * f.Sd
    slope_u = chain * p * u_to_p / u if u > 1e-12 else 0.0
    slope_v = chain * p * v_to_p / v if v > 1e-12 else 0.0
    curvature_u = chain * _power_curvature(p, u, u_to_p)
    curvature_v = chain * _power_curvature(p, v, v_to_p)
    if not (curvature_u + curvature_v + curvature_w < math.inf):
        return 0.0
    # u = x / (a1 kx(w)): with e its linear part, du = e / (1 + tx dw), so |du| <= stretch |e| and
    # |du - e| <= stretch |tx| |e| |dw|.
    kx = 1.0 + body[TX] * f.w
    ky = 1.0 + body[TY] * f.w
    stretch_x = kx / (1.0 - abs(body[TX]))
    stretch_y = ky / (1.0 - abs(body[TY]))
    tx = body[TX] / kx
    ty = body[TY] / ky
    mixed_x = slope_u * stretch_x * abs(tx)
    mixed_y = slope_v * stretch_y * abs(ty)
    c_u = curvature_u * stretch_x * stretch_x + mixed_x
    c_v = curvature_v * stretch_y * stretch_y + mixed_y
    c_w = curvature_w + mixed_x + mixed_y
    ix = 1.0 / (body[A1] * kx)
    iy = 1.0 / (body[A2] * ky)
    iz = 1.0 / body[A3]
    ux = u * abs(tx) * iz
    vy = v * abs(ty) * iz
    xx = c_u * ix * ix
    yy = c_v * iy * iy
    zz = c_u * ux * ux + c_v * vy * vy + c_w * iz * iz
    xz = c_u * ix * ux
    yz = c_v * iy * vy
    largest = max(xx + xz, yy + yz, zz + xz + yz)  # Gershgorin
    sign_w = 1.0 if f.w >= 0.0 else -1.0
    gz = (sign_w * slope_w * iz) - (slope_u * u * tx + slope_v * v * ty) * iz
    length = math.sqrt((slope_u * ix) ** 2 + (slope_v * iy) ** 2 + gz * gz)
    radius = length / largest
    return radius if radius < math.inf else 0.0


@kernel
def proved_depth(a, b, fa, fb, k):
    """Lower bound of the depth from the two tangent balls, and the sum of their radii.

    Their sum is a ball about -(u + r_A n_A + r_B n_B) with radius r_A + r_B: what Newton has left of an offset between
    u and the normals moves its centre.
    """
    out_of_line()
    r_a = (1.0 - 1e-12) * tangent_ball(a, fa)
    r_b = (1.0 - 1e-12) * tangent_ball(b, fb)
    centre = add(k.u, combine(r_a, k.normal_a, r_b, k.inward_b))
    return r_a + r_b - norm(centre), r_a + r_b


@kernel
def flatness(a, b, rotation, fa, fb, k):
    """Least relative curvature of a contact, 1/m: the determinant of S_A + S_B + d S_B S_A over its trace."""
    t1, t2 = tangent_frame(k.n)
    b1 = rotate_back(rotation, t1)
    b2 = rotate_back(rotation, t2)
    a11, a12, a22 = shape_operator(a, fa, t1, t2, k.per_gradient_a)
    b11, b12, b22 = shape_operator(b, fb, b1, b2, k.per_gradient_b)
    d = max(dot(k.u, k.n), 0.0)
    m11 = a11 + b11 + d * (b11 * a11 + b12 * a12)
    m12 = a12 + b12 + d * (b11 * a12 + b12 * a22)
    m21 = a12 + b12 + d * (b12 * a11 + b22 * a12)
    m22 = a22 + b22 + d * (b12 * a12 + b22 * a22)
    trace = m11 + m22
    return (m11 * m22 - m12 * m21) / trace if trace > 0.0 else 0.0


@kernel
def _off_axis(x, dual, exponent, shift):
    """Coordinate of a unit curve and its dual, moved away from a zero where the curvature vanishes at a point only."""
    if abs(x) >= shift:
        return x, dual
    return math.copysign(shift, x), math.copysign(power(shift, exponent - 1.0), x)


@kernel
def off_axes(body, f):
    """A surface point moved a hundredth off the planes of symmetry, where curvatures vanish or explode at a point."""
    c, cd = _off_axis(f.C, f.Cd, body[P], 0.01)
    s, sd = _off_axis(f.S, f.Sd, body[P], 0.01)
    r, rd = _off_axis(f.r, f.rd, body[S_], 0.01)
    w, wd = _off_axis(f.w, f.wd, body[S_], 0.01)
    return SurfacePoint(c, s, cd, sd, r, w, rd, wd)


@kernel
def height_lost(body, x, n, side):
    """How far the surface of a body lies below the tangent plane of normal n at x, to a side of x."""
    return dot(n, sub(x, along_to_surface(body, add(x, side), n)))


@kernel
def _is_flat_beside(a, b, rotation, fa, fb, k, reach, goal):
    """Whether points a reach to a side of a contact, along a principal direction of the gap, are as good as it."""
    out_of_line()
    t1, t2 = tangent_frame(k.n)
    a11, a12, a22 = shape_operator(a, fa, t1, t2, k.per_gradient_a)
    b11, b12, b22 = shape_operator(b, fb, rotate_back(rotation, t1), rotate_back(rotation, t2), k.per_gradient_b)
    angle = 0.5 * math.atan2(2.0 * (a12 + b12), a11 + b11 - a22 - b22)
    y, m = position(b, fb), rotate_back(rotation, scale(-1.0, k.n))
    for quarter in range(4):
        turn = angle + 0.5 * math.pi * quarter
        side = combine(reach * math.cos(turn), t1, reach * math.sin(turn), t2)
        if height_lost(a, k.x, k.n, side) + height_lost(b, y, m, rotate_back(rotation, side)) < goal:
            return True
    return False


@kernel
def is_flat(a, b, rotation, fa, fb, k, reach, goal):
    """Whether points a reach to the side of a contact are as good as it, to within the goal."""
    if flatness(a, b, rotation, fa, fb, k) * reach * reach >= 2.0 * goal:
        return False
    # Off the planes of symmetry unequal tapers turn the straight lines of a surface; and next to a pole that is round,
    # over sections with straight sides, it is flat but for the corners of these: heights decide.
    beside = flatness(a, b, rotation, off_axes(a, fa), off_axes(b, fb), k) * reach * reach
    if beside >= 2.0 * goal and a[TX] == a[TY] and b[TX] == b[TY]:
        return False
    return _is_flat_beside(a, b, rotation, fa, fb, k, reach, goal)


@kernel
def gap_tolerance(a, b, centre, tolerance):
    """Width of the interval that counts as certified: relative to the smaller body, plus what rounding takes."""
    return tolerance * min(a[SIZE], b[SIZE]) + 4.0 * rounding_margin(a, b, centre)
