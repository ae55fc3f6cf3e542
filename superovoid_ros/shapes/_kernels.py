r"""Kernels of the superovoid: surface points with their duals, gradient, Hessian, support function.

Symbols (local frame of the body; Gonçalves et al. 2017 eq. 5, with the ``- 1`` its print lacks):

    F = (|x/(a1 kx)|^p + |y/(a2 ky)|^p)^(s/p) + |w|^s - 1,   kx = 1 + Tx w,  ky = 1 + Ty w,  w = z/a3
    p = 2/e1, s = 2/e2          exponents of the two layers
    q = 2/(2-e1), t = 2/(2-e2)  their duals: 1/p + 1/q = 1, 1/s + 1/t = 1

A surface point is two points of untapered unit curves, each with its dual (the gradient of the curve's norm):

    layer 1  |C|^p + |S|^p = 1,   Cd = C^(p-1), Sd = S^(p-1)      (signed powers)
    layer 2  |r|^s + |w|^s = 1,   rd = r^(s-1), wd = w^(s-1)
    x = a1 kx r C,  y = a2 ky r S,  z = a3 w

so that C Cd + S Sd = 1 and r rd + w wd = 1. A coordinate that has been rounded to nothing still has its exact
dual and the other way round: for e > 1.5 the normal can no longer be had from the point, nor for e < 0.5 the
point from the normal. Keeping both is what makes machine precision possible over the whole range of exponents.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid_ros._jit import kernel, out_of_line
from superovoid_ros.shapes._dents import dent_curvature, dent_interval

# Layout of a packed body (one row of float64).
A1, A2, A3, TX, TY = 0, 1, 2, 3, 4
P, S_, Q, T_ = 5, 6, 7, 8
INV_P, INV_S, INV_Q, INV_T = 9, 10, 11, 12
INV_A1, INV_A2, INV_A3 = 13, 14, 15
RADIUS = 16  # upper bound of |x| over the body, about the origin of its frame
SIZE = 17  # largest semi-axis: the unit in which tolerances are stated
DENTED = 18  # 0: convex; 1: not convex
DENT_LO, DENT_HI = 19, 20  # w interval outside which every slice profile is concave
DENT_CURVATURE = 21  # bound of the positive second derivative of the slice profile inside it, per |n|
DENT_R_LO, DENT_NU_LO, DENT_R_HI, DENT_NU_HI = 22, 23, 24, 25  # meridian radius and slope at its two ends
DENT_DEFICIT = 26  # bound of h(n) / |n| of the convex hull less that of a convex body inside the body
BODY_LENGTH = 27

_EPS = 2.220446049250313e-16
_DENT_SAMPLES = 9
_DENT_STACK = 64
_DENT_EVALUATIONS, _EXCESS_EVALUATIONS = np.int64(400), np.int64(32)
EXACT, LOOSE = 1e-13, 1e-10  # of the slope at a support point
_NEAR_STEPS = 4
_TINY = 1e-200  # below this a power is zero to every use made of it
_MAX_CURVATURE_RATIO = 1e8  # of the dual to the point; keeps the Newton system finite at a crease


class SurfacePoint(NamedTuple):
    """A point of the surface as two unit-curve points with their duals (module docstring)."""

    C: float
    S: float
    Cd: float
    Sd: float
    r: float
    w: float
    rd: float
    wd: float


class Hessian(NamedTuple):
    """Symmetric 3 x 3 matrix."""

    xx: float
    xy: float
    yy: float
    xz: float
    yz: float
    zz: float


@kernel
def power(x, exponent):
    """Return ``x**exponent`` for ``x >= 0`` and a positive exponent; 0 for an x below 1e-200."""
    if x < _TINY:
        return 0.0
    return math.exp(exponent * math.log(x))


@kernel
def unit_curve_from_point(u, v, p, inv_p):
    """Scale (u, v) onto |C|^p + |S|^p = 1; return the point and its dual."""
    larger = max(abs(u), abs(v))
    if larger == 0.0:
        return 1.0, 0.0, 1.0, 0.0
    ratio = min(abs(u), abs(v)) / larger
    share = power(ratio, p)
    return unit_curve(u, v, ratio, share, math.exp(-inv_p * math.log(1.0 + share)))


@kernel
def unit_curve(u, v, ratio, share, major):
    """Point and dual from the ratio of the smaller to the larger coordinate.

    With share = ratio^p the larger coordinate is major = (1 + share)^(-1/p), its dual 1 / ((1 + share) major), and the
    smaller's dual share / ratio of that: no power leaves the range of numbers.
    """
    minor = ratio * major
    major_dual = 1.0 / ((1.0 + share) * major)
    minor_dual = share / ratio * major_dual if ratio > _TINY else 0.0
    first = abs(u) >= abs(v)
    c, cd = (major if first else minor), (major_dual if first else minor_dual)
    s, sd = (minor if first else major), (minor_dual if first else major_dual)
    return math.copysign(c, u), math.copysign(s, v), math.copysign(cd, u), math.copysign(sd, v)


@kernel
def unit_curve_from_normal(n1, n2, q, inv_q):
    """Point of |C|^p + |S|^p = 1 with normal along (n1, n2), 1/p + 1/q = 1; return the point and its dual."""
    cd, sd, c, s = unit_curve_from_point(n1, n2, q, inv_q)
    return c, s, cd, sd


@kernel
def _point_from_normal_at(b, n, kx, ky, r):
    n1 = b[A1] * kx * n[0]
    n2 = b[A2] * ky * n[1]
    if abs(n1) + abs(n2) < 1e-100:
        n1 = 1e-100
    c, s, cd, sd = unit_curve_from_normal(n1, n2, b[Q], b[INV_Q])
    slice_support = n1 * c + n2 * s
    n3 = b[A3] * n[2] + slice_support * r * (c * cd * b[TX] / kx + s * sd * b[TY] / ky)
    r, w, rd, wd = unit_curve_from_normal(slice_support, n3, b[T_], b[INV_T])
    return SurfacePoint(c, s, cd, sd, r, w, rd, wd)


@kernel
def surface_point_towards(b, direction):
    """Surface point whose untapered image lies along a direction given on the unit shape."""
    u, v, w = direction
    if abs(u) + abs(v) < 1e-100:
        u = 1e-100
    c, s, cd, sd = unit_curve_from_point(u, v, b[P], b[INV_P])
    m = u * cd + v * sd
    r, w, rd, wd = unit_curve_from_point(m, w, b[S_], b[INV_S])
    return SurfacePoint(c, s, cd, sd, r, w, rd, wd)


@kernel
def position(b, f):
    """Local coordinates of a surface point."""
    return (
        b[A1] * (1.0 + b[TX] * f.w) * f.r * f.C,
        b[A2] * (1.0 + b[TY] * f.w) * f.r * f.S,
        b[A3] * f.w,
    )


@kernel
def gradient(b, f):
    """Gradient of F at a surface point, divided by s (its length is of no use to anyone)."""
    kx = 1.0 + b[TX] * f.w
    ky = 1.0 + b[TY] * f.w
    taper = f.r * f.rd * (f.C * f.Cd * b[TX] / kx + f.S * f.Sd * b[TY] / ky)
    return (f.rd * f.Cd * b[INV_A1] / kx, f.rd * f.Sd * b[INV_A2] / ky, (f.wd - taper) * b[INV_A3])


@kernel
def _ratio(dual, point, exponent):
    """dual / point = |point|^(exponent - 2), clipped where the curvature is infinite."""
    if abs(point) < 1e-140:
        if exponent == 2.0:
            return 1.0
        return 0.0 if abs(dual) < 1e-100 else _MAX_CURVATURE_RATIO
    return min(dual / point, _MAX_CURVATURE_RATIO)


@kernel
def hessian(b, f):
    """Hessian of F at a surface point, divided by s; needs no power beyond the stored duals.

    Derived from F with r^s = (|u|^p + |v|^p)^(s/p); checked against finite differences in the tests.
    """
    p = b[P]
    s = b[S_]
    kx = 1.0 + b[TX] * f.w
    ky = 1.0 + b[TY] * f.w
    ix = b[INV_A1] / kx
    iy = b[INV_A2] / ky
    iz = b[INV_A3]
    tx = b[TX] / kx
    ty = b[TY] / ky
    alpha = f.C * f.Cd
    beta = f.S * f.Sd
    d = s - p
    ring = _ratio(f.rd, f.r, s)
    xx = ring * _ratio(f.Cd, f.C, p) * ((p - 1.0) + d * alpha) * ix * ix
    yy = ring * _ratio(f.Sd, f.S, p) * ((p - 1.0) + d * beta) * iy * iy
    xy = ring * d * f.Cd * f.Sd * ix * iy
    xz = -ix * iz * f.rd * f.Cd * (tx * (p + d * alpha) + ty * d * beta)
    yz = -iy * iz * f.rd * f.Sd * (ty * (p + d * beta) + tx * d * alpha)
    taper = (
        f.r
        * f.rd
        * (
            alpha * tx * tx * ((p + 1.0) + d * alpha)
            + beta * ty * ty * ((p + 1.0) + d * beta)
            + 2.0 * d * alpha * beta * tx * ty
        )
    )
    zz = ((s - 1.0) * _ratio(f.wd, f.w, s) + taper) * iz * iz
    return Hessian(xx, xy, yy, xz, yz, zz)


@kernel
def bilinear(h, u, v):
    """Return ``u^T H v``."""
    return (
        u[0] * (h.xx * v[0] + h.xy * v[1] + h.xz * v[2])
        + u[1] * (h.xy * v[0] + h.yy * v[1] + h.yz * v[2])
        + u[2] * (h.xz * v[0] + h.yz * v[1] + h.zz * v[2])
    )


@kernel
def shape_operator(b, f, t1, t2, per_gradient):
    """Entries 11, 12, 22 of the shape operator in a tangent frame; `per_gradient` is 1 / |grad F|."""
    h = hessian(b, f)
    return per_gradient * bilinear(h, t1, t1), per_gradient * bilinear(h, t1, t2), per_gradient * bilinear(h, t2, t2)


# --- support function ------------------------------------------------------------------------------------------
#
# h(n) = max over w of phi(w) = a3 nz w + r(w) g(w),  g(w) = ||(a1 kx nx, a2 ky ny)||_q: the support of the slice.
# With nu = -dr/dw, the slope of the meridian, as the unknown, phi'(w) = a3 nz + r g' - nu g is bounded and well
# scaled at the poles (nu -> +-inf is never reached by a bracket) and at the equator alike.


@kernel
def slice_support(b, n, w):
    """g(w), g'(w) and the layer-1 point that attains them."""
    kx = 1.0 + b[TX] * w
    ky = 1.0 + b[TY] * w
    n1 = b[A1] * kx * n[0]
    n2 = b[A2] * ky * n[1]
    if abs(n1) + abs(n2) < 1e-100:
        n1 = 1e-100
    c, s, cd, sd = unit_curve_from_normal(n1, n2, b[Q], b[INV_Q])
    g = n1 * c + n2 * s
    dg = g * (c * cd * b[TX] / kx + s * sd * b[TY] / ky)
    return g, dg, c, s, cd, sd


@kernel
def slice_profile(b, n, w):
    """phi(w), the support of the slice at height w, for |w| <= 1."""
    g, _, _, _, _, _ = slice_support(b, n, w)
    r = power(max(0.0, 1.0 - power(abs(w), b[S_])), b[INV_S])
    return b[A3] * n[2] * w + r * g


@kernel
def slope_at(b, w):
    """nu = -dr/dw at height w, -1 < w < 1."""
    ratio = abs(w) / power(1.0 - power(abs(w), b[S_]), b[INV_S])
    return math.copysign(power(ratio, b[S_] - 1.0), w)


class _Section(NamedTuple):
    """What all slices of a body have in common for a direction."""

    equal: bool  # tapers: then g is linear in w and its layer-1 point the same for all slices
    g: float  # at w = 0
    c: float
    s: float
    cd: float
    sd: float


@kernel
def _section(b, n):
    g, _, c, s, cd, sd = slice_support(b, n, 0.0)
    return _Section(b[TX] == b[TY], g, c, s, cd, sd)


@kernel
def _profile_at(b, n, nu, section):
    """Surface point at slope nu; phi', d(phi')/dnu and dw/dnu there.

    With dw/dnu = (t-1) w r^s / nu and dr/dnu = -nu dw/dnu, d(phi')/dnu = -g - 2 nu g' dw/dnu + r g'' dw/dnu.
    """
    r, w, rd, wd = unit_curve_from_normal(1.0, nu, b[T_], b[INV_T])
    if section.equal:
        g, dg, bend = section.g * (1.0 + b[TX] * w), section.g * b[TX], 0.0
        c, s, cd, sd = section.c, section.s, section.cd, section.sd
    else:
        g, dg, c, s, cd, sd = slice_support(b, n, w)
        difference = b[TX] / (1.0 + b[TX] * w) - b[TY] / (1.0 + b[TY] * w)
        bend = (b[Q] - 1.0) * c * cd * s * sd * difference * difference * g
    f = b[A3] * n[2] + r * dg - nu * g
    w_nu = (b[T_] - 1.0) * w * r * rd / nu if nu != 0.0 else 0.0
    slope = -g - 2.0 * nu * dg * w_nu + r * bend * w_nu
    return SurfacePoint(c, s, cd, sd, r, w, rd, wd), f, slope, w_nu


@kernel
def support_between(b, n, nu_lo, nu_hi, tolerance):
    """Maximiser of phi over the slopes [nu_lo, nu_hi], ends infinite or not, on which phi must be concave.

    Newton on phi'(nu) = a3 nz + r g' - nu g, kept inside a shrinking bracket by bisection: it cannot fail, and the
    surface point it returns carries its exact dual. A looser tolerance, relative to the slope, makes it the support
    point of a direction that far away. phi' changes sign where |nu| g <= |a3 nz| + |g'|, which is the bracket to begin
    with.
    """
    out_of_line()
    section = _section(b, n)
    worst = max(abs(b[TX]), abs(b[TY]))
    reach = 1.01 * (b[A3] * abs(n[2]) / section.g + worst) / (1.0 - worst) + 1e-300
    lo, hi = min(max(nu_lo, -reach), nu_hi), max(min(nu_hi, reach), nu_lo)
    lo_tried = hi_tried = False
    change = math.inf
    nu = min(max(b[A3] * n[2] / section.g, lo), hi)
    point, f, slope, _ = _profile_at(b, n, nu, section)
    for _ in range(60):
        if f > 0.0:
            lo = nu
            lo_tried = True
        else:
            hi = nu
            hi_tried = True
        following = nu - f / slope
        # An end that has not been tried yet may itself be the maximum; after that only its inside can be.
        if following >= hi:
            following = 0.5 * (lo + hi) if hi_tried else hi
        elif following <= lo:
            following = 0.5 * (lo + hi) if lo_tried else lo
        elif abs(following - nu) > 0.5 * change and lo_tried and hi_tried:
            following = 0.5 * (lo + hi)  # Newton goes round in a circle
        change = abs(following - nu)
        if change <= tolerance * (1.0 + abs(nu)) and tolerance > EXACT:
            break
        nu = following
        point, f, slope, _ = _profile_at(b, n, nu, section)
        if change <= tolerance * (1.0 + abs(nu)):
            break
    return point


@kernel
def profile_value(b, n, f):
    """n . x of a surface point."""
    x = position(b, f)
    return n[0] * x[0] + n[1] * x[1] + n[2] * x[2]


@kernel
def support_convex(b, n, tolerance):
    """Surface point of a convex body with the largest n . x."""
    if b[TX] == 0.0 and b[TY] == 0.0:
        return _point_from_normal_at(b, n, 1.0, 1.0, 1.0)
    if b[A1] * abs(n[0]) + b[A2] * abs(n[1]) < 1e-15 * b[A3] * abs(n[2]):
        # At a pole the slices shrink to a point, and the slope of the bracket would be infinite.
        return _point_from_normal_at(b, n, 1.0, 1.0, 0.0)
    return support_between(b, n, -math.inf, math.inf, tolerance)


class _Slice(NamedTuple):
    """A slice of a body for a direction."""

    w: float
    phi: float
    slope: float  # phi'
    r: float
    nu: float
    g: float


@kernel
def _slice_at(b, n, w):
    out_of_line()
    g, dg, _, _, _, _ = slice_support(b, n, w)
    y = 1.0 - power(abs(w), b[S_])
    r = power(y, b[INV_S])
    nu = math.copysign(power(abs(w) / r, b[S_] - 1.0), w)
    return _Slice(w, b[A3] * n[2] * w + r * g, b[A3] * n[2] + r * dg - nu * g, r, nu, g)


@kernel
def _parabola_bound(left, right, k):
    """Upper bound of phi between two slices, given phi'' <= k.

    phi lies below both parabolas of curvature k that touch it at the ends. A parabola open upwards is highest at the
    ends of its part, so wherever the interval is cut in two, the left one bounds phi on the left and the right one on
    the right; the bound is least where they cross, and holds wherever rounding puts that.
    """
    width = right.w - left.w
    denominator = left.slope - right.slope + k * width
    step = 0.5 * width
    if denominator > 0.0:
        at = right.phi - left.phi - right.slope * width + 0.5 * k * width * width
        step = min(max(at / denominator, 0.0), width)
    back = width - step
    from_left = left.phi + left.slope * step + 0.5 * k * step * step
    from_right = right.phi - right.slope * back + 0.5 * k * back * back
    return max(left.phi, right.phi, from_left, from_right)


@kernel
def _highest_product(rise, r, nu, g, dg, width):
    """Largest rise u + (r - nu u) (g + dg u) over u in [0, width] (or in [width, 0])."""
    best = max(r * g, rise * width + (r - nu * width) * (g + dg * width))
    curve = nu * dg  # minus half of the second derivative
    if curve > 0.0:
        u = 0.5 * (rise + r * dg - nu * g) / curve
        if 0.0 < u / width < 1.0:
            best = max(best, rise * u + (r - nu * u) * (g + dg * u))
    return best


@kernel
def _product_bound(left, right, rise):
    """Upper bound of phi = rise w + r g between two slices on one side of the equator.

    r is concave and lies below its tangents at both ends, g is convex and lies below its chord: with either tangent
    phi lies below a quadratic, wherever the interval is cut in two.
    """
    width = right.w - left.w
    dg = (right.g - left.g) / width
    turn = right.nu - left.nu
    step = 0.5 * width
    if turn > 0.0:
        step = min(max((right.r - left.r + right.nu * width) / turn, 0.0), width)
    back = step - width
    from_left = rise * left.w + _highest_product(rise, left.r, left.nu, left.g, dg, step)
    from_right = rise * right.w + _highest_product(rise, right.r, right.nu, right.g, dg, back)
    return max(left.phi, right.phi, from_left, from_right)


@kernel
def support_dented(b, n):
    """Surface point of a body with a dent with the largest n . x, and an upper bound of h(n) that is proved.

    phi is concave outside the dent interval [lo, hi] of w; inside, phi'' <= K |n|. The maximum of the two outer
    pieces is exact; inside, interval bisection with the bounds above.
    """
    out_of_line()
    n_len = math.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
    if b[A1] * abs(n[0]) + b[A2] * abs(n[1]) < 1e-15 * b[A3] * abs(n[2]):
        best = _point_from_normal_at(b, n, 1.0, 1.0, 0.0)
        return best, profile_value(b, n, best)
    best = support_candidate(b, n, EXACT)  # exact for the two outer pieces
    _, upper, w_best = _dent_summit(b, n, profile_value(b, n, best), 1e-13 * b[SIZE] * n_len, _DENT_EVALUATIONS)
    if w_best <= 1.0:
        best = point_at_height(b, n, w_best)
    return best, upper


@kernel
def _push(stack, depth, left, right):
    for i in range(6):
        stack[depth, i], stack[depth, 6 + i] = left[i], right[i]


@kernel
def _pop(stack, depth, i):
    row = stack[depth]
    return _Slice(row[i], row[i + 1], row[i + 2], row[i + 3], row[i + 4], row[i + 5])


@kernel(_nrt=True)
def _dent_summit(b, n, value, goal, evaluations):
    """Largest phi found over the dent, if larger than a value, an upper bound of both, and its height (else 2)."""
    out_of_line()
    k = b[DENT_CURVATURE] * math.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
    rise = b[A3] * n[2]
    upper = value
    stack = np.empty((_DENT_STACK, 12))
    depth = 0
    left = _slice_at(b, n, b[DENT_LO])
    for w in (0.0, b[DENT_HI]):
        # The slope changes fastest at the equator, so that is one of the ends.
        if not (left.w < w <= b[DENT_HI]):
            continue
        right = _slice_at(b, n, w)
        _push(stack, depth, left, right)
        depth += 1
        left = right
    w_best = 2.0
    while depth > 0:
        depth -= 1
        left, right = _pop(stack, depth, 0), _pop(stack, depth, 6)
        if max(left.phi, right.phi) > value:
            value = max(left.phi, right.phi)
            w_best = left.w if left.phi >= right.phi else right.w
        bound = min(_parabola_bound(left, right, k), _product_bound(left, right, rise))
        w = 0.5 * (left.w + right.w)
        if bound <= value + goal or depth + 2 > _DENT_STACK or evaluations <= 0 or not (left.w < w < right.w):
            upper = max(upper, bound)
            continue
        evaluations -= 1
        middle = _slice_at(b, n, w)
        _push(stack, depth, left, middle)
        _push(stack, depth + 1, middle, right)
        depth += 2
    return value, max(upper, value), w_best


@kernel
def excess_over(b, n, f):
    """Upper bound of h(n) - n . x(f), where n is the normal at f, for a body with a dent; a dent's depth at most."""
    out_of_line()
    own = profile_value(b, n, f)
    if b[A1] * abs(n[0]) + b[A2] * abs(n[1]) < 1e-15 * b[A3] * abs(n[2]):
        return max(0.0, profile_value(b, n, _point_from_normal_at(b, n, 1.0, 1.0, 0.0)) - own)
    other = other_support(b, n, f)
    value = max(own, profile_value(b, n, other))
    if b[DENT_LO] < f.w < b[DENT_HI]:
        value = max(value, profile_value(b, n, other_support(b, n, other)))
    goal = max(1e-12 * b[SIZE], 0.05 * (value - own))
    _, upper, _ = _dent_summit(b, n, value, goal, _EXCESS_EVALUATIONS)
    return upper - own


@kernel
def other_support(b, n, f):
    """Best surface point along n on the other side of the dent from f; f itself where there is no dent."""
    out_of_line()
    if b[DENTED] == 0.0 or b[A1] * abs(n[0]) + b[A2] * abs(n[1]) < 1e-15 * b[A3] * abs(n[2]):
        return f
    if f.w > 0.5 * (b[DENT_LO] + b[DENT_HI]):
        return support_between(b, n, -math.inf, b[DENT_NU_LO], EXACT)
    return support_between(b, n, b[DENT_NU_HI], math.inf, EXACT)


@kernel
def point_at_height(b, n, w):
    """Surface point of the slice at height w that is extreme in the direction n."""
    _, _, c, s, cd, sd = slice_support(b, n, w)
    r = power(max(0.0, 1.0 - power(abs(w), b[S_])), b[INV_S])
    rd = power(r, b[S_] - 1.0)
    wd = math.copysign(power(abs(w), b[S_] - 1.0), w)
    return SurfacePoint(c, s, cd, sd, r, w, rd, wd)


@kernel
def support_candidate(b, n, tolerance):
    """Surface point with the largest n . x as far as a few samples of the dent tell: a point, not a proof."""
    out_of_line()
    if b[DENTED] == 0.0:
        return support_convex(b, n, tolerance)
    if b[A1] * abs(n[0]) + b[A2] * abs(n[1]) < 1e-15 * b[A3] * abs(n[2]):
        return _point_from_normal_at(b, n, 1.0, 1.0, 0.0)
    # phi is concave on either side of the dent: a side has a maximum of its own where phi rises into it.
    slope_lo, slope_hi = _slice_at(b, n, b[DENT_LO]).slope, _slice_at(b, n, b[DENT_HI]).slope
    if slope_hi > 0.0:
        above = support_between(b, n, b[DENT_NU_HI], math.inf, tolerance)
        if slope_lo >= 0.0:
            return above
        below = support_between(b, n, -math.inf, b[DENT_NU_LO], tolerance)
        return above if profile_value(b, n, above) > profile_value(b, n, below) else below
    if slope_lo < 0.0:
        return support_between(b, n, -math.inf, b[DENT_NU_LO], tolerance)
    # Inside the dent: phi is concave about its highest sample or bent so little that the summit found is as good.
    width = (b[DENT_HI] - b[DENT_LO]) / _DENT_SAMPLES
    top = b[DENT_LO]
    value = slice_profile(b, n, top)
    for i in range(1, _DENT_SAMPLES + 1):
        w = b[DENT_LO] + i * width
        phi = slice_profile(b, n, w)
        if phi > value:
            value = phi
            top = w
    lo = slope_at(b, max(top - width, b[DENT_LO]))
    hi = slope_at(b, min(top + width, b[DENT_HI]))
    best = support_between(b, n, lo, hi, tolerance)
    return best if profile_value(b, n, best) >= value else point_at_height(b, n, top)


@kernel
def support_near(b, n, w, r, loss):
    """Surface point that falls short of h(n) by about a loss at most, from height w and radius r of one close by.

    Where phi' vanishes nu = (a3 nz + r g') / g, a fixed point that a step nears by a factor of a few times the taper;
    what phi then lacks is of second order in the step (an estimate: the point is one of the body whatever it is worth).
    """
    out_of_line()
    if b[TX] == 0.0 and b[TY] == 0.0:
        return _point_from_normal_at(b, n, 1.0, 1.0, 1.0)
    on_dent = b[DENT_DEFICIT] > loss and b[DENT_LO] <= w <= b[DENT_HI]
    if on_dent or b[A1] * abs(n[0]) + b[A2] * abs(n[1]) < 1e-15 * b[A3] * abs(n[2]):
        return support_candidate(b, n, LOOSE)
    for _ in range(_NEAR_STEPS):
        kx = 1.0 + b[TX] * w
        ky = 1.0 + b[TY] * w
        f = _point_from_normal_at(b, n, kx, ky, r)
        step = f.w - w
        g = b[A1] * kx * n[0] * f.C + b[A2] * ky * n[1] * f.S
        steep = max(abs(b[TX]) / kx, abs(b[TY]) / ky)
        bend = 2.0 * (b[T_] - 1.0) * f.w * f.wd + 0.125 * (b[Q] - 1.0)
        if bend * max(r, f.r) * g * (steep * step) ** 2 <= loss:
            return f
        w, r = f.w, f.r
    return support_candidate(b, n, LOOSE)


@kernel
def support(b, n):
    """Surface point with the largest n . x (n of any length but zero) and a proved upper bound of h(n)."""
    if b[DENTED] == 0.0:
        f = support_convex(b, n, EXACT)
        return f, profile_value(b, n, f)
    return support_dented(b, n)


# --- packing ------------------------------------------------------------------------------------------------------


@kernel
def pack(b, a1, a2, a3, e1, e2, tx, ty):
    """Fill one packed body; where it may be dented, and how much, is proved (`_dents`)."""
    b[A1], b[A2], b[A3], b[TX], b[TY] = a1, a2, a3, tx, ty
    b[P], b[S_], b[Q], b[T_] = 2.0 / e1, 2.0 / e2, 2.0 / (2.0 - e1), 2.0 / (2.0 - e2)
    b[INV_P], b[INV_S], b[INV_Q], b[INV_T] = 0.5 * e1, 0.5 * e2, 1.0 - 0.5 * e1, 1.0 - 0.5 * e2
    b[INV_A1], b[INV_A2], b[INV_A3] = 1.0 / a1, 1.0 / a2, 1.0 / a3
    x = a1 * (1.0 + abs(tx))
    y = a2 * (1.0 + abs(ty))
    b[RADIUS] = math.sqrt(x * x + y * y + a3 * a3)
    b[SIZE] = max(a1, a2, a3)
    b[DENTED] = 0.0
    b[DENT_LO], b[DENT_HI], b[DENT_CURVATURE], b[DENT_DEFICIT] = 1.0, -1.0, 0.0, 0.0
    if tx == ty:
        # Closed form: the tapered meridian is concave iff |T| <= (1 - e2/2) 2^(e2/2). On the border it has a dent.
        limit = (1.0 - 0.5 * e2) * math.pow(2.0, 0.5 * e2)
        if abs(tx) < limit * (1.0 - 8.0 * _EPS):
            return
    s_1, unlike = (2.0 - e2) / e2, e1 / (2.0 - e1) * (tx - ty) * (tx - ty)  # s - 1 and q - 1 without cancellation
    lo, hi = dent_interval(b[S_], s_1, unlike, tx, ty)
    curvature = dent_curvature(lo, hi, b[S_], s_1, unlike, tx, ty, a1, a2, e1 >= 1.0) if lo <= hi else 0.0
    if curvature == 0.0:
        return
    b[DENTED] = 1.0
    b[DENT_LO], b[DENT_HI] = lo, hi
    b[DENT_R_LO] = power(1.0 - power(abs(lo), b[S_]), b[INV_S])
    b[DENT_R_HI] = power(1.0 - power(abs(hi), b[S_]), b[INV_S])
    b[DENT_NU_LO] = slope_at(b, lo)
    b[DENT_NU_HI] = slope_at(b, hi)
    b[DENT_CURVATURE] = curvature
    # The slope of a profile grows by no more than K (hi - lo) over the dent, so the bitangent, at most 2 long, lies
    # no more than half of that above it; shrinking all sections of the hull by this much in proportion to their
    # least half-width leaves a convex body inside.
    rise = 0.5 * b[DENT_CURVATURE] * (hi - lo)
    narrow = min(a1 * min(1.0 + tx * lo, 1.0 + tx * hi), a2 * min(1.0 + ty * lo, 1.0 + ty * hi))
    thin = narrow * min(b[DENT_R_LO], b[DENT_R_HI]) * min(1.0, 2.0 ** (0.5 - 0.5 * e1))
    b[DENT_DEFICIT] = (1.0 + 1e-6) * rise / (thin + rise) * math.sqrt(x * x + y * y)


@kernel
def pack_many(out, parameters):
    """Pack rows of (a1, a2, a3, e1, e2, Tx, Ty)."""
    for i in range(parameters.shape[0]):
        pack(
            out[i],
            parameters[i, 0],
            parameters[i, 1],
            parameters[i, 2],
            parameters[i, 3],
            parameters[i, 4],
            parameters[i, 5],
            parameters[i, 6],
        )


@kernel
def support_points(b, directions, points, values):
    """Support point and a proved upper bound of the support value for each row of directions."""
    for i in range(directions.shape[0]):
        f, upper = support(b, (directions[i, 0], directions[i, 1], directions[i, 2]))
        points[i, 0], points[i, 1], points[i, 2] = position(b, f)
        values[i] = upper
