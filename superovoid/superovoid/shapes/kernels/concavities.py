# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Where a superovoid is not convex, and how far from it: proved on intervals of the height, not sampled.

For a direction n the support of the section at height w is phi(w) = a3 nz w + r(w) g(w), and the body is convex iff
phi'' <= 0 for every n. With v = |w|, V = v^s, y = 1 - V, and the tapers X, Y as seen from the side of w (X = Tx for
w > 0, -Tx for w < 0), kx = 1 + X v, ky = 1 + Y v, and c in [0, 1] the share of the x term in g^q,

    phi'' = r g v^(s-2) / y^2 N,    N(v, c) = -(s-1) + 2 c P + 2 (1-c) Q + c (1-c) k
    P = -X v y / kx,    Q = -Y v y / ky,    k = (q-1) (X-Y)^2 m^2,    m = v^(1-s/2) y / (kx ky).

Every c belongs to some n. On an interval of length h a function lies no higher than the higher of its ends plus h^2 / 8
times a bound of minus its second derivative; those of P, Q and k are bounded in closed form
(docs/explanation/numerics.md, "Convexity"). So N < 0 is proved on a few intervals, from the poles inwards; what is left
is the concavity.
"""

from __future__ import annotations

import math

from superovoid.compiled.kernels import kernel
from superovoid.compiled.powers import power
from superovoid.shapes.kernels.rounding import EPS

_NEAREST = 1e-12  # height below which the rest up to the equator is one interval
_FINEST = 2.0**-26  # length of an interval on which nothing was proved, relative to its distance from equator or pole
_MOST_STEPS = 4000
_PARTS = 16  # by which an interval of the bound of the curvature is shorter than its distance from equator or pole
_ROUNDING = 64.0 * EPS
_POWERS = 1e-12  # relative error of any power here: 2 eps times the logarithm of the result, which is at most 745


@kernel
def largest_bump(p, q, k):
    """Largest 2 c p + 2 (1-c) q + c (1-c) k over c in [0, 1], for k >= 0."""
    if not (k > 0.0):
        return 2.0 * max(p, q)
    c = min(1.0, max(0.0, 0.5 + (p - q) / k))
    return 2.0 * (c * p + (1.0 - c) * q) + c * (1.0 - c) * k


@kernel
def slice_defect(v, s, s_1, unlike, x, y):
    """Upper bound, but for rounding sharp, of N at height 0 < v <= 1 over all azimuths.

    `s_1` is s - 1 and `unlike` (q-1) (X-Y)^2, both without cancellation.
    """
    log_v = math.log(v)
    big, rest = math.exp(s * log_v), -math.expm1(s * log_v)
    kx, ky = 1.0 + x * v, 1.0 + y * v
    p, q = -x * v * rest / kx, -y * v * rest / ky
    square = rest * (rest / big) if big > 0.0 else math.inf  # v^s may underflow
    k = unlike * (v / (kx * ky)) ** 2 * square if unlike > 0.0 else 0.0
    rounding = _ROUNDING * (s_1 + abs(p) + abs(q) + (1.0 - s * log_v) * k)
    return -s_1 + largest_bump(p, q, k) + rounding


@kernel
def _bend_of_linear(lo, hi, big_lo, big_hi, s, x):
    """Bound of -P'' over an interval: P' = -X (y - s V kx) / kx^2."""
    k_least = min(1.0 + x * lo, 1.0 + x * hi)
    k_most = max(1.0 + x * lo, 1.0 + x * hi)
    rise = s * big_hi / hi  # s v^(s-1), which grows with v
    first = rise * (1.0 + s * k_most + abs(x) * hi) / (k_least * k_least)
    second = 2.0 * abs(x) * (1.0 - big_lo + s * big_hi * k_most) / (k_least * k_least * k_least)
    return abs(x) * (first + second)


@kernel
def _bend_of_product(lo, hi, big_lo, big_hi, s, unlike, x, y):
    """Bound of -k'' over an interval with lo > 0: -k'' <= 2 (q-1) (X-Y)^2 m (-m''), with m = (v^a - v^b) / (kx ky)."""
    half = 0.5 * s
    root_lo, root_hi = math.sqrt(big_lo), math.sqrt(big_hi)
    # v^(a-1) = 1 / v^(s/2) falls, v^a = v / v^(s/2) is extreme at an end, as is v^(b-2) = v^(s/2) / v.
    e = 1.0 / (min(1.0 + x * lo, 1.0 + x * hi) * min(1.0 + y * lo, 1.0 + y * hi))
    e_slope = e * (abs(x) / min(1.0 + x * lo, 1.0 + x * hi) + abs(y) / min(1.0 + y * lo, 1.0 + y * hi))
    most = max(lo / root_lo, hi / root_hi) * (1.0 - big_lo) * e
    bend = max(0.0, half * (1.0 - half)) / (lo * root_lo) + half * (1.0 + half) * max(root_lo / lo, root_hi / hi)
    slope = abs(1.0 - half) / root_lo + (1.0 + half) * root_hi
    return 2.0 * unlike * most * (bend * e + 2.0 * slope * e_slope)


@kernel
def _equator_defect(hi, s, s_1, unlike, x, y):
    """Upper bound of N over [0, hi] and all azimuths."""
    kx, ky = min(1.0, 1.0 + x * hi), min(1.0, 1.0 + y * hi)
    k = 0.0
    if unlike > 0.0:
        k = math.inf if s > 2.0 else unlike * math.exp((2.0 - s) * math.log(hi)) / (kx * ky * kx * ky)
    return -s_1 + largest_bump(max(0.0, -x) * hi / kx, max(0.0, -y) * hi / ky, k) * (1.0 + _ROUNDING) + _ROUNDING * s_1


@kernel
def defect_between(lo, hi, at_lo, at_hi, s, s_1, unlike, x, y):
    """Upper bound of N over [lo, hi], lo > 0, and all azimuths, from those at its ends."""
    big_lo, big_hi = power(lo, s), power(hi, s)
    bend = 2.0 * max(_bend_of_linear(lo, hi, big_lo, big_hi, s, x), _bend_of_linear(lo, hi, big_lo, big_hi, s, y))
    if unlike > 0.0:
        bend += 0.25 * _bend_of_product(lo, hi, big_lo, big_hi, s, unlike, x, y)
    return max(at_lo, at_hi) + 0.125 * (1.0 + 1e-6) * bend * (hi - lo) * (hi - lo)


@kernel
def _proved_to(v, outwards, s, s_1, unlike, x, y):
    """Height up to which N < 0 is proved on one side of the equator, from a height v on; 0 if all the way to that."""
    at, step = slice_defect(v, s, s_1, unlike, x, y), v if outwards else 0.25 * v
    for _ in range(_MOST_STEPS):
        if outwards:
            if v >= 1.0:
                return 1.0
            other = min(v + step, 1.0)
        else:
            if v <= _NEAREST:
                return 0.0 if _equator_defect(v, s, s_1, unlike, x, y) < 0.0 else v
            other = max(v - step, 0.25 * v, 0.5 * _NEAREST)
        at_other = slice_defect(other, s, s_1, unlike, x, y)
        if defect_between(min(v, other), max(v, other), at, at_other, s, s_1, unlike, x, y) < 0.0:
            step = 2.0 * abs(other - v)
            v, at = other, at_other
        else:
            step = 0.5 * abs(other - v)
            if step < _FINEST * min(v, 1.0 - v):
                return v
    return v


@kernel
def _concavity_of_side(s, s_1, unlike, x, y):
    """Heights on one side of the equator between which N < 0 is not proved; 0 and 0 if it is on all of that side."""
    outer = _proved_to(1.0, False, s, s_1, unlike, x, y)
    if outer > 0.0 and _equator_defect(_NEAREST, s, s_1, unlike, x, y) < 0.0:
        return _proved_to(_NEAREST, True, s, s_1, unlike, x, y), outer
    return 0.0, outer


@kernel
def concavity_interval(s, s_1, unlike, tx, ty):
    """Interval of w outside which every slice profile is concave; empty, (1, -1), for a body proved convex."""
    inner_above, above = _concavity_of_side(s, s_1, unlike, tx, ty)
    inner_below, below = _concavity_of_side(s, s_1, unlike, -tx, -ty)
    if above == 0.0 and below == 0.0:
        return 1.0, -1.0
    return (-below if below > 0.0 else inner_above), (above if above > 0.0 else -inner_below)


@kernel
def _curvature_between(lo, hi, at_lo, at_hi, s, s_1, unlike, x, y):
    """Bound of phi'' / g over [lo, hi], of all azimuths: r v^(s-2) / y^2 N, its terms each at its largest."""
    big_lo, big_hi = power(lo, s), power(hi, s)
    rest = 1.0 - big_lo
    kx, ky = min(1.0 + x * lo, 1.0 + x * hi), min(1.0 + y * lo, 1.0 + y * hi)
    # v^(s-2) and v^(s-1); the first is extreme at an end, infinite at the equator for s < 2.
    low = big_lo / (lo * lo) if lo > 0.0 else (1.0 if s == 2.0 else (0.0 if s > 2.0 else math.inf))
    high = big_hi / (hi * hi)
    rise_lo, rise_hi = big_lo / lo if lo > 0.0 else 0.0, big_hi / hi
    p = max(-x * rise_hi * rest / kx, -x * rise_lo * (1.0 - big_hi) / max(1.0 + x * lo, 1.0 + x * hi))
    q = max(-y * rise_hi * rest / ky, -y * rise_lo * (1.0 - big_hi) / max(1.0 + y * lo, 1.0 + y * hi))
    negative, k = s_1 * min(low, high), unlike * (rest / (kx * ky)) ** 2
    bound = largest_bump(p, q, k) - negative + _POWERS * (negative + abs(p) + abs(q) + k)
    if lo > 0.0:
        other = defect_between(lo, hi, at_lo, at_hi, s, s_1, unlike, x, y) * max(low, high)
        if other < bound:
            bound = other
    if bound <= 0.0:
        return 0.0
    # r / y^2 = y^(1/s - 2), which grows towards the pole, and has no bound at it.
    curvature = bound * math.exp((1.0 / s - 2.0) * math.log(1.0 - big_hi)) if big_hi < 1.0 else math.inf
    return curvature if curvature < math.inf else math.inf


@kernel
def _side_curvature(lo, hi, s, s_1, unlike, x, y, a1, a2, wide):
    """Bound of phi'' / |n| over the heights [lo, hi] of one side."""
    worst = 0.0
    longest = (hi - lo) / (4.0 * _PARTS)
    at_lo = slice_defect(lo, s, s_1, unlike, x, y) if lo > 0.0 else 0.0
    while lo < hi:
        step = min(min(lo, 1.0 - lo) / _PARTS, longest) if lo > 0.0 else longest
        after = lo + step
        if not (lo < after < hi - 0.5 * step):
            after = hi
        at_after = slice_defect(after, s, s_1, unlike, x, y)
        bx, by = a1 * max(1.0 + x * lo, 1.0 + x * after), a2 * max(1.0 + y * lo, 1.0 + y * after)
        # g is a dual norm of the section: with |n| = 1 at most its larger half-width for q >= 2, or its diagonal.
        g = max(bx, by) if wide else math.hypot(bx, by)
        worst = max(worst, g * _curvature_between(lo, after, at_lo, at_after, s, s_1, unlike, x, y))
        lo, at_lo = after, at_after
    return worst


@kernel
def concavity_curvature(lo, hi, s, s_1, unlike, tx, ty, a1, a2, wide):
    """Return a bound of phi'' / |n| over the heights [lo, hi], for all directions; `wide` if q >= 2."""
    worst = 0.0
    if hi > 0.0:
        worst = _side_curvature(max(lo, 0.0), hi, s, s_1, unlike, tx, ty, a1, a2, wide)
    if lo < 0.0:
        worst = max(worst, _side_curvature(max(-hi, 0.0), -lo, s, s_1, unlike, -tx, -ty, a1, a2, wide))
    return (1.0 + 1e-6) * worst
