# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Support function of the superovoid: the point furthest along a direction, and how high it reaches."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.kernels import kernel
from superovoid.compiled.powers import power
from superovoid.compiled.vector import dot, norm
from superovoid.shapes.kernels.surface import (
    A1,
    A2,
    A3,
    CONCAVITY_DEFICIT,
    CONCAVITY_HI,
    CONCAVITY_LO,
    CONCAVITY_NU_HI,
    CONCAVITY_NU_LO,
    HAS_CONCAVITY,
    INV_Q,
    INV_S,
    INV_T,
    S_,
    SIZE,
    T_,
    TX,
    TY,
    Q,
    SurfacePoint,
    _point_from_normal_at,
    is_polar,
    off_zero,
    position,
    unit_curve_from_normal,
)

_CONCAVITY_SAMPLES = 9
_CONCAVITY_STACK = 64
_CONCAVITY_EVALUATIONS, _EXCESS_EVALUATIONS = np.int64(400), np.int64(32)
EXACT, LOOSE = 1e-13, 1e-10  # of the slope at a support point
OF_PIECES = 2e-13  # the same; a last Newton step shorter than this is not taken
_NEAR_STEPS = 4


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
    n2 = b[A2] * ky * n[1]
    n1 = off_zero(b[A1] * kx * n[0], n2)
    c, s, cd, sd = unit_curve_from_normal(n1, n2, b[Q], b[INV_Q])
    g = n1 * c + n2 * s
    dg = g * (c * cd * b[TX] / kx + s * sd * b[TY] / ky)
    return g, dg, c, s, cd, sd


@kernel
def slope_at(b, w):
    """nu = -dr/dw at height w, -1 < w < 1."""
    ratio = abs(w) / power(1.0 - power(abs(w), b[S_]), b[INV_S])
    return math.copysign(power(ratio, b[S_] - 1.0), w)


class _Section(NamedTuple):
    """What all slices of a body have in common for a direction."""

    equal: bool  # tapers: then g is linear in w and its layer-1 point the same for all slices
    g: float  # at w = 0
    dg: float
    c: float
    s: float
    cd: float
    sd: float


@kernel
def _section(b, n):
    g, dg, c, s, cd, sd = slice_support(b, n, 0.0)
    return _Section(b[TX] == b[TY], g, dg, c, s, cd, sd)


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


@kernel(separate=True)
def support_between(b, n, nu_lo, nu_hi, tolerance):
    """Maximiser of phi over the slopes [nu_lo, nu_hi], ends infinite or not, on which phi must be concave.

    Newton on phi'(nu) = a3 nz + r g' - nu g, kept inside a shrinking bracket by bisection: it cannot fail, and the
    surface point it returns carries its exact dual. A looser tolerance, relative to the slope, makes it the support
    point of a direction that far away. phi' changes sign where |nu| g <= |a3 nz| + |g'|, which is the bracket to begin
    with. The first nu has phi' = 0 with g linear in w, at the height of an elliptic meridian without a taper.
    """
    section = _section(b, n)
    worst = max(abs(b[TX]), abs(b[TY]))
    reach = 1.01 * (b[A3] * abs(n[2]) / section.g + worst) / (1.0 - worst) + 1e-300
    lo, hi = min(max(nu_lo, -reach), nu_hi), max(min(nu_hi, reach), nu_lo)
    lo_tried = hi_tried = False
    before = change = math.inf
    nu = b[A3] * n[2] / section.g
    r = 1.0 / math.sqrt(1.0 + nu * nu)
    nu = min(max((b[A3] * n[2] + r * section.dg) / (section.g + nu * r * section.dg), lo), hi)
    point, f, slope, _ = _profile_at(b, n, nu, section)
    for _ in range(60):
        if f > 0.0:
            lo = nu
            lo_tried = True
        else:
            hi = nu
            hi_tried = True
        if f == 0.0 or (nu == nu_hi and f >= 0.0) or (nu == nu_lo and f <= 0.0):
            break  # the maximum, or an end beyond which phi rises
        following = nu - f / slope
        # An end that has not been tried yet may itself be the maximum; after that only its inside can be.
        if abs(following - nu) <= tolerance * (1.0 + abs(nu)):
            # Rounding may take a last step out of the bracket: no reason to cut that in halves.
            if tolerance > EXACT or following == nu:
                break
            following = min(max(following, lo), hi)
        elif following >= hi:
            following = 0.5 * (lo + hi) if hi_tried else hi
        elif following <= lo:
            following = 0.5 * (lo + hi) if lo_tried else lo
        elif abs(following - nu) > 0.5 * before and lo_tried and hi_tried:
            following = 0.5 * (lo + hi)  # Newton goes round in a circle
        before, change = change, abs(following - nu)
        nu = following
        point, f, slope, _ = _profile_at(b, n, nu, section)
        if change <= tolerance * (1.0 + abs(nu)):
            break
    return point


@kernel
def profile_value(b, n, f):
    """n . x of a surface point."""
    return dot(n, position(b, f))


@kernel
def support_convex(b, n, tolerance):
    """Surface point of a convex body with the largest n . x."""
    if b[TX] == 0.0 and b[TY] == 0.0:
        return _point_from_normal_at(b, n, 1.0, 1.0, 1.0)
    if is_polar(b, n):
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


class Ring(NamedTuple):
    """Layer 2 of a body at a height between the poles: what the slice there has in common for all directions."""

    w: float
    r: float
    rd: float
    wd: float


@kernel
def ring_at(b, w):
    """Ring at a height: r^s = 1 - |w|^s, with the duals r^(s-1) and |w|^(s-1)."""
    wd = power(abs(w), b[S_] - 1.0)
    y = 1.0 - abs(w) * wd
    r = power(y, b[INV_S])
    return Ring(w, r, y / r if r > 0.0 else 0.0, math.copysign(wd, w))


@kernel
def slice_of(b, n, ring):
    """Return the slice of a ring for a direction, and its farthest point along it."""
    g, dg, c, s, cd, sd = slice_support(b, n, ring.w)
    nu, rise = ring.wd / ring.rd, b[A3] * n[2]
    found = _Slice(ring.w, rise * ring.w + ring.r * g, rise + ring.r * dg - nu * g, ring.r, nu, g)
    return found, SurfacePoint(c, s, cd, sd, ring.r, ring.w, ring.rd, ring.wd)


@kernel
def slice_at(b, n, w):
    """Slice at a height between the poles, for a direction."""
    found, _ = slice_of(b, n, ring_at(b, w))
    return found


@kernel
def _largest_known(left, right, from_left, from_right):
    """Return the largest value, infinite if one is nan, which `max` would ignore."""
    if from_left < math.inf and from_right < math.inf:
        return max(left.phi, right.phi, from_left, from_right)
    return math.inf


@kernel
def parabola_bound(left, right, k):
    """Upper bound of phi between two slices, given phi'' <= k.

    phi lies below both parabolas of curvature k that touch it at the ends. A parabola open upwards is highest at the
    ends of its part, so wherever the interval is cut in two, the left one bounds phi on the left and the right one on
    the right. The bound is least at their crossing, and valid wherever rounding places it.
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
    return _largest_known(left, right, from_left, from_right)


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
def product_bound(left, right, rise):
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
    return _largest_known(left, right, from_left, from_right)


@kernel(separate=True)
def support_non_convex(b, n):
    """Return the surface point of a non-convex body with the largest n . x, and a proved upper bound of h(n).

    phi is concave outside the interval of the concavity [lo, hi] of w. The maximum of the two outer pieces is exact;
    inside, interval bisection with `product_bound`.
    """
    if is_polar(b, n):
        best = _point_from_normal_at(b, n, 1.0, 1.0, 0.0)
        return best, profile_value(b, n, best)
    best = support_candidate(b, n, EXACT)  # exact for the two outer pieces
    _, upper, w_best = _summit_in_concavity(
        b, n, profile_value(b, n, best), 1e-13 * b[SIZE] * norm(n), _CONCAVITY_EVALUATIONS
    )
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
def _summit_in_concavity(b, n, value, goal, evaluations):
    """Largest phi found over the concavity, if larger than a value, an upper bound of both, and its height (else 2)."""
    rise = b[A3] * n[2]
    upper = value
    stack = np.empty((_CONCAVITY_STACK, 12))
    depth = 0
    left = slice_at(b, n, b[CONCAVITY_LO])
    for w in (0.0, b[CONCAVITY_HI]):
        # The slope changes fastest at the equator, so that is one of the ends.
        if not (left.w < w <= b[CONCAVITY_HI]):
            continue
        right = slice_at(b, n, w)
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
        bound = product_bound(left, right, rise)
        w = 0.5 * (left.w + right.w)
        if bound <= value + goal or depth + 2 > _CONCAVITY_STACK or evaluations <= 0 or not (left.w < w < right.w):
            upper = max(upper, bound)
            continue
        evaluations -= 1
        middle = slice_at(b, n, w)
        _push(stack, depth, left, middle)
        _push(stack, depth + 1, middle, right)
        depth += 2
    return value, max(upper, value), w_best


@kernel
def excess_over(b, n, f):
    """Return an upper bound of h(n) - n . x(f), n the normal at f: at most the concavity's depth."""
    own = profile_value(b, n, f)
    if is_polar(b, n):
        return max(0.0, profile_value(b, n, _point_from_normal_at(b, n, 1.0, 1.0, 0.0)) - own)
    other = other_support(b, n, f)
    value = max(own, profile_value(b, n, other))
    if b[CONCAVITY_LO] < f.w < b[CONCAVITY_HI]:
        value = max(value, profile_value(b, n, other_support(b, n, other)))
    goal = max(1e-12 * b[SIZE], 0.05 * (value - own))
    _, upper, _ = _summit_in_concavity(b, n, value, goal, _EXCESS_EVALUATIONS)
    return upper - own


@kernel
def other_support(b, n, f):
    """Return the best surface point along n on the other side of the concavity from f; f itself if there is none."""
    if b[HAS_CONCAVITY] == 0.0 or is_polar(b, n):
        return f
    if f.w > 0.5 * (b[CONCAVITY_LO] + b[CONCAVITY_HI]):
        return support_between(b, n, -math.inf, b[CONCAVITY_NU_LO], EXACT)
    return support_between(b, n, b[CONCAVITY_NU_HI], math.inf, EXACT)


@kernel
def point_at_height(b, n, w):
    """Return the surface point of the slice at height w that is extreme along n."""
    _, _, c, s, cd, sd = slice_support(b, n, w)
    ring = ring_at(b, w)
    return SurfacePoint(c, s, cd, sd, ring.r, w, ring.rd, ring.wd)


@kernel(separate=True)
def support_candidate(b, n, tolerance):
    """Return a surface point with a large n . x, the largest of a few samples of the concavity; not a proof."""
    if b[HAS_CONCAVITY] == 0.0:
        return support_convex(b, n, tolerance)
    if is_polar(b, n):
        return _point_from_normal_at(b, n, 1.0, 1.0, 0.0)
    # phi is concave on either side of the concavity: a side has a maximum of its own where phi rises into it.
    slope_lo, slope_hi = slice_at(b, n, b[CONCAVITY_LO]).slope, slice_at(b, n, b[CONCAVITY_HI]).slope
    if slope_hi > 0.0:
        above = support_between(b, n, b[CONCAVITY_NU_HI], math.inf, tolerance)
        if slope_lo >= 0.0:
            return above
        below = support_between(b, n, -math.inf, b[CONCAVITY_NU_LO], tolerance)
        return above if profile_value(b, n, above) > profile_value(b, n, below) else below
    if slope_lo < 0.0:
        return support_between(b, n, -math.inf, b[CONCAVITY_NU_LO], tolerance)
    # Inside the concavity: phi is concave about its highest sample or bent so little that the summit found is as good.
    width = (b[CONCAVITY_HI] - b[CONCAVITY_LO]) / _CONCAVITY_SAMPLES
    top = b[CONCAVITY_LO]
    value = slice_at(b, n, top).phi
    for i in range(1, _CONCAVITY_SAMPLES + 1):
        w = b[CONCAVITY_LO] + i * width
        phi = slice_at(b, n, w).phi
        if phi > value:
            value = phi
            top = w
    lo = slope_at(b, max(top - width, b[CONCAVITY_LO]))
    hi = slope_at(b, min(top + width, b[CONCAVITY_HI]))
    best = support_between(b, n, lo, hi, tolerance)
    return best if profile_value(b, n, best) >= value else point_at_height(b, n, top)


@kernel
def near_step(b, n, w, r):
    """One step of `support_near`: the surface point, and what it may lack of h(n)."""
    kx = 1.0 + b[TX] * w
    ky = 1.0 + b[TY] * w
    f = _point_from_normal_at(b, n, kx, ky, r)
    step = f.w - w
    g = b[A1] * kx * n[0] * f.C + b[A2] * ky * n[1] * f.S
    steep = max(abs(b[TX]) / kx, abs(b[TY]) / ky)
    bend = 2.0 * (b[T_] - 1.0) * f.w * f.wd + 0.125 * (b[Q] - 1.0)
    return f, bend * max(r, f.r) * g * (steep * step) * (steep * step)


@kernel
def support_near(b, n, w, r, loss):
    """Surface point that falls short of h(n) by about a loss at most, from height w and radius r of one close by.

    Where phi' vanishes nu = (a3 nz + r g') / g, a fixed point that a step nears by a factor of a few times the taper;
    what phi then lacks is of second order in the step (an estimate: the point is one of the body whatever it is worth).
    """
    if b[TX] == 0.0 and b[TY] == 0.0:
        return _point_from_normal_at(b, n, 1.0, 1.0, 1.0)
    on_concavity = b[CONCAVITY_DEFICIT] > loss and b[CONCAVITY_LO] <= w <= b[CONCAVITY_HI]
    if on_concavity or is_polar(b, n):
        return support_candidate(b, n, LOOSE)
    for _ in range(_NEAR_STEPS):
        f, lack = near_step(b, n, w, r)
        if lack <= loss:
            return f
        w, r = f.w, f.r
    return support_candidate(b, n, LOOSE)


@kernel
def support(b, n):
    """Surface point with the largest n . x (n of any length but zero) and a proved upper bound of h(n)."""
    if b[HAS_CONCAVITY] == 0.0:
        f = support_convex(b, n, EXACT)
        return f, profile_value(b, n, f)
    return support_non_convex(b, n)
