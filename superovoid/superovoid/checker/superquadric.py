# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Formulas of a superovoid in ball arithmetic, derived independently of the engine.

The body is the set of (x, y, z) = (a1 kx u, a2 ky v, a3 w) with kx = 1 + Tx w, ky = 1 + Ty w and gauge(u, v, w) <= 1,

    gauge = ((|u|^p + |v|^p)^(s/p) + |w|^s)^(1/s),   p = 2/e1, s = 2/e2,

a norm of (u, v, w). Its support function is a maximum over the height,

    h(n) = max of phi(w) = a3 n3 w + r(w) G(w) for w in [-1, 1],
    r(w) = (1 - |w|^s)^(1/s),   G(w) = (|a1 kx n1|^q + |a2 ky n2|^q)^(1/q),   q = 2/(2-e1),

since the section at height w is r(w) times a ball of the norm with exponent p, scaled by a1 kx and a2 ky, and the
support function of that ball is the norm with the conjugate exponent q.
"""

from __future__ import annotations

import heapq
import math
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from superovoid.checker.balls import Vector

FloatArray = NDArray[np.float64]

EXACT = 1e-12
"""Slope to which support points are accurate in doubles."""
_LEAST_EXPONENT, _LARGEST_EXPONENT = 1e-6, 1.999999
_HEIGHTS = 2000  # maximum number of height intervals for one support value
_LEAST = 5e-16  # accuracy of a support value, relative to the size along the direction
_INTERVALS = 2000  # maximum number of height intervals in a proof of concavity
_FINEST_RANGE = 2.0**-8  # shortest height interval to bisect when locating non-convex ranges


class Segment:
    """A segment on z, or a point: the core of a capsule or a sphere. It provides points only."""

    def __init__(self, half: float) -> None:
        self.half = half

    def point_inside(self, point: Vector) -> Vector | None:
        """Return a point of the segment near a given point."""
        z, half = point[2].mid(), arb(self.half)
        return [arb(0), arb(0), half if z > half else -half if z < -half else z]

    def support_points(self, n: FloatArray, small: float = EXACT) -> FloatArray:
        """Return the farthest ends along directions, (k, 3)."""
        points = np.zeros_like(n)
        points[:, 2] = np.copysign(self.half, n[:, 2])
        return points


def norm_of_two(x: arb, y: arb, power: arb) -> arb:
    """Return (x^p + y^p)^(1/p) of nonnegative numbers."""
    if x.is_zero():
        return y
    if y.is_zero():
        return x
    return (x**power + y**power) ** (1 / power)


class Superquadric:
    """A superovoid, superellipsoid, ellipsoid or sphere."""

    def __init__(
        self, size: tuple[float, ...], epsilon: tuple[float, ...] = (1.0, 1.0), taper: tuple[float, ...] = (0.0, 0.0)
    ) -> None:
        self.numbers = (*map(float, size), *map(float, epsilon), *map(float, taper))
        a1, a2, a3, e1, e2, tx, ty = self.numbers
        sound = min(a1, a2, a3) > 0.0 and max(abs(tx), abs(ty)) <= 0.5
        if not (sound and min(e1, e2) >= _LEAST_EXPONENT and max(e1, e2) <= _LARGEST_EXPONENT):
            range_ = f"[{_LEAST_EXPONENT:g}, {_LARGEST_EXPONENT:.6f}]"
            raise ValueError(f"{self.numbers}: sizes must be positive, exponents in {range_}, tapers within 0.5")
        self.a = [arb(a1), arb(a2), arb(a3)]
        self.p, self.s = 2 / arb(e1), 2 / arb(e2)
        self.q, self.t = 2 / (2 - arb(e1)), 2 / (2 - arb(e2))
        self.section_power = self.s / self.p
        self.tapers = arb(tx), arb(ty)
        self.steep = e2 <= 1.0
        self.tapered = tx != 0.0 or ty != 0.0
        self.extent = max(a1, a2, a3)
        self._convex: bool | None = None
        self._ranges: list[tuple[float, float, bool]] | None = None
        self._proved: dict[tuple[float, float], bool] = {}

    @property
    def size(self) -> float:
        """Largest semi-axis, m."""
        return self.extent

    @property
    def reach(self) -> float:
        """Upper bound of the distance of any point of the body from its origin, m."""
        a1, a2, a3, _, _, tx, ty = self.numbers
        return 1.000001 * math.hypot(a1 * (1.0 + abs(tx)), a2 * (1.0 + abs(ty)), a3)

    @property
    def convex(self) -> bool:
        """Whether the body is proved convex (see `is_convex`)."""
        if self._convex is None:
            self._convex = is_convex(self)
        return self._convex

    def core(self) -> tuple[Any, arb]:
        """Return a core and a radius (see `Solid.core`); the core of a sphere is its centre."""
        a1, a2, a3, e1, e2, tx, ty = self.numbers
        if a1 == a2 == a3 and e1 == e2 == 1.0 and tx == ty == 0.0:
            return Segment(0.0), self.a[0]
        return self, arb(0)

    # -- points -------------------------------------------------------------------------------------------------

    def gauge(self, u: arb, v: arb, w: arb) -> arb:
        """Return the gauge of nonnegative unit coordinates."""
        return norm_of_two(norm_of_two(u, v, self.p), w, self.s)

    def _is_within(self, u: arb, v: arb, w: arb) -> bool:
        """Return whether the gauge is proved to be at most 1, without computing roots."""
        return bool((u**self.p + v**self.p) ** self.section_power + w**self.s <= 1)

    def holds(self, box: Vector) -> bool | None:
        """Return True if all points of a box are proved inside the body, False if all outside, otherwise None.

        The gauge grows with |u|, |v| and |w|; it is evaluated for the largest and the smallest of each.
        """
        w = box[2] / self.a[2]
        kx, ky = 1 + self.tapers[0] * w, 1 + self.tapers[1] * w
        if w.abs_lower() > 1:
            return False
        if not (kx > 0 and ky > 0):
            return None
        u, v = box[0] / (self.a[0] * kx), box[1] / (self.a[1] * ky)
        if self._is_within(u.abs_upper(), v.abs_upper(), w.abs_upper()):
            return True
        return False if self.gauge(u.abs_lower(), v.abs_lower(), w.abs_lower()) > 1 else None

    def point_inside(self, point: Vector) -> Vector | None:
        """Return a point of the body near a given point that should belong to it.

        Unit coordinates with a gauge above 1 are divided by it, which puts them in the unit ball of the gauge; the
        result belongs to the body, convex or not.
        """
        w = (point[2] / self.a[2]).mid()
        kx, ky = 1 + self.tapers[0] * w, 1 + self.tapers[1] * w
        if not (kx > 0 and ky > 0):
            return None
        u, v = (point[0] / (self.a[0] * kx)).mid(), (point[1] / (self.a[1] * ky)).mid()
        if not self._is_within(abs(u), abs(v), abs(w)):
            gauge = self.gauge(abs(u), abs(v), abs(w))
            shrink = (1 / gauge).lower()
            u, v, w = u * shrink, v * shrink, w * shrink
            kx, ky = 1 + self.tapers[0] * w, 1 + self.tapers[1] * w
        return [self.a[0] * kx * u, self.a[1] * ky * v, self.a[2] * w]

    # -- support function ---------------------------------------------------------------------------------------

    def support_above(self, n: Vector) -> arb:
        """Return an upper bound of h(n), with a relative excess below 1e-15 unless the effort is exhausted."""
        b1, b2 = (self.a[0] * n[0]).abs_upper(), (self.a[1] * n[1]).abs_upper()
        lift = self.a[2] * n[2]
        if not self.tapered:
            # w occurs only in r^s + |w|^s = 1, so the maximum is the norm with the conjugate exponent t.
            return norm_of_two(norm_of_two(b1, b2, self.q), lift.abs_upper(), self.t)
        if b1.is_zero() and b2.is_zero():
            return lift.abs_upper()
        if self.convex:
            return self._bound_by_tangents(b1, b2, lift)
        best: arb | None = None
        for low, high, concave in sorted(self.ranges(), key=lambda part: not part[2]):
            best = self._bound_in_range(b1, b2, lift, (low, high), concave, best)
        return best

    def slab_above(self, n: Vector, low: float, high: float) -> arb:
        """Return a tight upper bound of n . x over the points between two heights w."""
        if low == -1.0 and high == 1.0:
            return self.support_above(n)
        b1, b2 = (self.a[0] * n[0]).abs_upper(), (self.a[1] * n[1]).abs_upper()
        lift = self.a[2] * n[2]
        if b1.is_zero() and b2.is_zero():
            return (lift * arb(low)).max(lift * arb(high))
        return self._bound_in_range(b1, b2, lift, (low, high), self.convex or self._concave_between(low, high), None)

    def _bound_in_range(
        self, b1: arb, b2: arb, lift: arb, ends: tuple[float, float], concave: bool, known: arb | None
    ) -> arb:
        """Return an upper bound of phi between two heights and of what is known."""
        if concave:
            found = self._bound_by_one_tangent(b1, b2, lift, *ends)
            if found is not None:
                return found if known is None else found.max(known)
        return self._bound_by_bisection(b1, b2, lift, *ends, known)

    def ranges(self) -> list[tuple[float, float, bool]]:
        """Return ranges of height from -1 to 1, each with whether phi is proved concave in it for every n."""
        if self._ranges is None:
            concavities = []
            for sign in (-1.0, 1.0):
                left = _unproved_intervals(self, sign, _FINEST_RANGE)
                if left:
                    ends = sorted((sign * left[0][0], sign * left[-1][1]))
                    concavities.append((ends[0], ends[1]))
            self._ranges, at = [], -1.0
            for low, high in concavities:
                if at < low:
                    self._ranges.append((at, low, True))
                self._ranges.append((low, high, False))
                at = high
            if at < 1.0:
                self._ranges.append((at, 1.0, True))
        return self._ranges

    def _concave_between(self, low: float, high: float) -> bool:
        """Return whether phi is proved concave between two heights for every n."""
        if any(concave and low >= start and high <= end for start, end, concave in self.ranges()):
            return True
        key = (low, high)
        if key not in self._proved:
            if low < 0.0 < high:
                self._proved[key] = False
            else:
                near, far = sorted((abs(low), abs(high)))
                sign = -1.0 if low < 0.0 else 1.0
                self._proved[key] = not _unproved_intervals(self, sign, (far - near) / 8.0, near, far, 40)
        return self._proved[key]

    def _section(self, b1: arb, b2: arb, w: arb) -> tuple[arb, arb]:
        """Return G and its derivative by height."""
        x, y = b1 * (1 + self.tapers[0] * w), b2 * (1 + self.tapers[1] * w)
        g = norm_of_two(x, y, self.q)
        slope = arb(0)
        for part, width, taper in ((x, b1, self.tapers[0]), (y, b2, self.tapers[1])):
            if not part.is_zero():
                slope += (part / g) ** (self.q - 1) * width * taper
        return g, slope

    def _bound_by_tangents(self, b1: arb, b2: arb, lift: arb) -> arb:
        """Return h(n) of a convex body, for which phi is concave for every n.

        A concave function lies below its tangents: with phi' >= 0 at w0 and phi' <= 0 at w1 > w0 it is at most
        phi(w0) + phi'(w0) (w1 - w0), where phi' = a3 n3 + r G' - nu G with nu = -dr/dw = (w/r)^(s-1). Heights are
        parametrised by x = w/r if s >= 2, with r = (1 + x^s)^(-1/s), and otherwise by x = nu, with
        r = (1 + x^t)^(-1/s) and w = x^(t-1) r; in each case both w and nu vary smoothly.
        """

        def at(x: arb) -> tuple[arb, arb, arb]:
            size = abs(x)
            if self.steep:
                r = (1 + size**self.s) ** (-1 / self.s)
                w, nu = size * r, size ** (self.s - 1)
            else:
                r = (1 + size**self.t) ** (-1 / self.s)
                w, nu = size ** (self.t - 1) * r, size
            if x < 0:
                w, nu = -w, -nu
            g, slope = self._section(b1, b2, w)
            return w, lift * w + r * g, lift + r * slope - nu * g

        middle = arb(math.tan(self._angle(float(b1), float(b2), float(lift), 1e-15)))
        for share in (1e-14, 1e-10, 1e-6, 1e-2):
            ends = [at(middle - share * (abs(middle) + share)), at(middle + share * (abs(middle) + share))]
            (w0, value0, slope0), (w1, _, slope1) = ends
            if slope0 >= 0 and slope1 <= 0:
                return value0 + slope0 * (w1 - w0)
        return self._bound_by_bisection(b1, b2, lift)  # the maximum is elsewhere

    def _bound_by_one_tangent(self, b1: arb, b2: arb, lift: arb, low: float, high: float) -> arb | None:
        """Return the same bound between two heights, from one tangent near the maximum; None if it is not tight."""
        ends = self._angle_at(low), self._angle_at(high)
        angle = self._angle(float(b1), float(b2), float(lift), 1e-15, *ends)
        if angle in ends and abs(low if angle == ends[0] else high) < 1.0:
            w = arb(low if angle == ends[0] else high)
            size = abs(w)
            r = (1 - size**self.s) ** (1 / self.s)
            nu = (size / r) ** (self.s - 1) if not w.is_zero() else arb(0)
            nu = -nu if w < 0 else nu
        else:
            x = arb(math.tan(angle))
            size = abs(x)
            if self.steep:
                r = (1 + size**self.s) ** (-1 / self.s)
                w, nu = size * r, size ** (self.s - 1)
            else:
                r = (1 + size**self.t) ** (-1 / self.s)
                w, nu = size ** (self.t - 1) * r, size
            if x < 0:
                w, nu = -w, -nu
        if not ((low == -1.0 or w >= low) and (high == 1.0 or w <= high)):
            return None
        g, slope = self._section(b1, b2, w)
        rise = lift + r * slope - nu * g
        beyond = (rise * (arb(high) - w)).max(rise * (arb(low) - w))
        value = lift * w + r * g + beyond
        return value.upper() if beyond <= 1e-15 * (b1 + b2 + abs(lift)) else None

    def _angle_at(self, w: float) -> float:
        """Return the angle of `_meridian` at a height."""
        if abs(w) == 1.0:
            return math.copysign(0.5 * math.pi, w)
        if w == 0.0:
            return 0.0
        s = 2.0 / self.numbers[4]
        ratio = abs(w) / (-math.expm1(s * math.log(abs(w)))) ** (1.0 / s)
        return math.copysign(math.atan(ratio if self.steep else ratio ** (s - 1.0)), w)

    def _angle(
        self,
        b1: float,
        b2: float,
        lift: float,
        small: float,
        low: float = -0.5 * math.pi,
        high: float = 0.5 * math.pi,
    ) -> float:
        """Return the angle of `_meridian` at the maximum of phi, in doubles: a root of phi' by the Illinois method."""

        def derivative(angle: float) -> float:
            r, w, across, along = self._meridian(angle)
            g, slope = self._float_section(b1, b2, w)[:2]
            return (lift + r * slope) * across - g * along

        f_low, f_high = derivative(low), derivative(high)
        if f_low <= 0.0:
            return low
        if f_high >= 0.0:
            return high
        side, best, before = 0, low, high - low
        enough = small * (abs(lift) + b1 + b2)
        for step in range(90):
            width = f_low - f_high
            share = f_low / width if width > 0.0 else 0.5
            if step % 3 == 2:  # bisect if three steps have not halved the interval
                share = 0.5 if high - low > 0.5 * before else share
                before = high - low
            best = min(max(low + (high - low) * share, low), high)
            value = derivative(best)
            if abs(value) <= enough:
                break
            if value > 0.0:
                low, f_low = best, value
                f_high *= 0.5 if side > 0 else 1.0
                side = 1
            else:
                high, f_high = best, value
                f_low *= 0.5 if side < 0 else 1.0
                side = -1
        return best

    def _bound_by_bisection(
        self, b1: arb, b2: arb, lift: arb, low: float = -1.0, high: float = 1.0, known: arb | None = None
    ) -> arb:
        """Bound the maximum of phi between two heights, and what is known, by bisecting the interval of highest bound.

        r is concave for s >= 1 and lies below each of its tangents. G, a norm of a linear function of w, is convex and
        lies below its chords. Both bounds are positive, so phi is at most a quadratic on the interval, which is at
        most the largest of its three Bernstein coefficients.
        """
        s, inverse = self.s, 1 / self.s

        def bound(w0: arb, w1: arb, g0: arb, g1: arb) -> tuple[arb, arb, arb]:
            middle = ((w0 + w1) / 2).mid()
            size = abs(middle)
            if size.is_zero():
                r, steep = arb(1), arb(0)
            else:
                r = (1 - size**s) ** inverse
                steep = -((size / r) ** (s - 1))
                steep = -steep if middle < 0 else steep
            r0, r1 = r + steep * (w0 - middle), r + steep * (w1 - middle)
            g_middle = self._section(b1, b2, middle)[0]
            tops = (
                lift * w0 + r0 * g0,
                lift * (w0 + w1) / 2 + (r0 * g1 + r1 * g0) / 2,
                lift * w1 + r1 * g1,
            )
            highest = max((top.upper() for top in tops), key=float)
            for top in tops:
                highest = highest.max(top.upper())
            return highest, g_middle, (lift * middle + r * g_middle).lower()

        ends = [arb(low), arb(0), arb(high)] if low < 0.0 < high else [arb(low), arb(high)]
        sections = [self._section(b1, b2, end)[0] for end in ends]
        found = arb("-inf") if known is None else known.lower()
        for w, g in zip(ends, sections, strict=True):
            r = (1 - abs(w) ** s) ** inverse if abs(w) < 1 else arb(0)
            found = found.max((lift * w + r * g).lower())
        least = _LEAST * (abs(lift) + b1 + b2).upper()
        heap: list[tuple[float, int, tuple[arb, ...]]] = []

        def push(w0: arb, w1: arb, g0: arb, g1: arb) -> None:
            nonlocal found, number
            highest, g_middle, value = bound(w0, w1, g0, g1)
            found = found.max(value)
            number += 1
            heapq.heappush(heap, (-float(highest), number, (highest, w0, w1, g0, g1, g_middle)))

        number = 0
        for i in range(len(ends) - 1):
            push(ends[i], ends[i + 1], sections[i], sections[i + 1])
        for _ in range(_HEIGHTS):
            highest, w0, w1, g0, g1, g_middle = heap[0][2]
            if highest - found <= least:
                break
            heapq.heappop(heap)
            middle = ((w0 + w1) / 2).mid()
            push(w0, middle, g0, g_middle)
            push(middle, w1, g_middle, g1)
        result = found if known is None else found.max(known.upper())
        for _, _, entry in heap:  # the heap is ordered by doubles only, so compare all balls
            result = result.max(entry[0])
        return result

    # -- searches in doubles for directions and points; no proof relies on them ---------------------------------------

    def _meridian(self, angle: float) -> tuple[float, float, float, float]:
        """Return the meridian's point (r, w) and a normal: at a polar angle, or with this normal angle if s < 2."""
        _, _, _, _, e2, _, _ = self.numbers
        x, y = math.cos(angle), math.sin(angle)
        if not self.steep:
            return *_curve_point(x, y, e2), x, y
        return *_curve_point(x, y, 2.0 - e2, 0.5 * e2), *_curve_point(x, y, 2.0 - e2)

    def _float_section(self, b1: float, b2: float, w: float) -> tuple[float, float, float, float]:
        _, _, _, e1, _, tx, ty = self.numbers
        x, y = b1 * (1.0 + tx * w), b2 * (1.0 + ty * w)
        c, s = _curve_point(x, y, e1)
        return x * c + y * s, c * b1 * tx + s * b2 * ty, c, s

    def support_points(self, n: FloatArray, small: float = EXACT) -> FloatArray:
        """Return points of the body, (k, 3), nearly farthest along directions (k, 3), to a slope of the profile."""
        return np.array([self._support_point(*direction, small) for direction in n.tolist()]).reshape(-1, 3)

    def _support_point(self, n1: float, n2: float, n3: float, small: float) -> tuple[float, float, float]:
        a1, a2, a3, _, e2, tx, ty = self.numbers
        b1, b2, lift = abs(a1 * n1), abs(a2 * n2), a3 * n3
        if self.tapered:
            r, w = self._meridian(self._angle(b1, b2, lift, small))[:2]
        else:
            r, w = _curve_point(self._float_section(b1, b2, 0.0)[0], lift, e2)
        _, _, c, s = self._float_section(b1, b2, w)
        return (
            a1 * (1.0 + tx * w) * r * math.copysign(c, n1),
            a2 * (1.0 + ty * w) * r * math.copysign(s, n2),
            a3 * w,
        )


def _curve_point(x: float, y: float, e: float, power: float | None = None) -> tuple[float, float]:
    """Return the point (c, s) of |c|^(2/e) + |s|^(2/e) = 1 with its normal along (x, y), for x >= 0.

    With a `power`, return (x, y) / (|x|^q + |y|^q)^power with q = 2 / (2 - e), after scaling (x, y) to a larger
    component of 1.
    """
    u, v = abs(x), abs(y)
    big, small = (v, u) if v > u else (u, v)
    share = small / big if big > 0.0 else 0.0
    first, second = 1.0, 0.0
    if share > 0.0:
        ratio = math.log(share)
        total = math.log1p(math.exp(2.0 / (2.0 - e) * ratio))
        first = math.exp(-(0.5 * e if power is None else power) * total)
        second = first * math.exp((e / (2.0 - e) if power is None else 1.0) * ratio)
    return (second, math.copysign(first, y)) if v > u else (first, math.copysign(second, y))


def is_convex(body: Superquadric) -> bool:
    """Return whether a body is proved convex: phi, or r k for equal tapers, is concave.

    Without taper the body is a ball of a norm. For Tx = Ty = T, phi = a3 n3 w + r k G0 with k = 1 + T w, concave for
    all n iff r k is: r'' k + 2 r' T <= 0. With r' = -v^(s-1) r^(1-s), r'' = -(s-1) v^(s-2) r^(1-2s) for w = v > 0,
    and T < 0 (the other signs are mirror images), this is |T| v (s + 1 - 2 v^s) <= s - 1. The left side is largest
    at v^s = 1/2, so the body is convex iff |T| s 2^(-1/s) <= s - 1.

    For other tapers, with c = (X/G)^q the share of the first term and X' / X = Tx / kx, Y' / Y = Ty / ky,

        phi'' / (r G) = r''/r + 2 (r'/r) (c tx + (1-c) ty) + (q-1) c (1-c) (tx - ty)^2,

    times v^(2-s) r^(2s), y = r^s = 1 - v^s, from either side of the equator (X, Y the tapers with the sign of w):

        N(v, c) = -(s-1) - 2 v y (c X/kx + (1-c) Y/ky) + (q-1) c (1-c) (X-Y)^2 (v^(1-s/2) y / (kx ky))^2.

    N <= 0 is proved for all c (N is a quadratic in c), and for intervals of v, bisected where the proof fails.
    """
    _, _, _, _, _, tx, ty = body.numbers
    s = body.s
    if tx == ty:
        return bool(tx == 0.0 or abs(body.tapers[0]) * s * arb(2) ** (-1 / s) <= s - 1)
    if not s <= 2:  # at the equator only the last term remains, and c takes every value
        return False
    return not any(_unproved_intervals(body, sign, 1e-6, most=1) for sign in (1.0, -1.0))


def _unproved_intervals(
    body: Superquadric, sign: float, finest: float, start: float = 0.0, end: float = 1.0, most: int = 2000
) -> list[tuple[float, float]]:
    """Return ascending intervals of v, on one side of the equator, in which N <= 0 of `is_convex` is not proved.

    Intervals shorter than `finest` are not bisected. The search ends after `most` intervals, or if it takes too long;
    the part not yet examined counts as not proved.
    """
    s, q = body.s, body.q
    x, y = (taper if sign > 0.0 else -taper for taper in body.tapers)
    open_ = [(start, end)]
    left: list[tuple[float, float]] = []
    for _ in range(_INTERVALS):
        if not open_ or len(left) == most:
            break
        v0, v1 = open_.pop()
        low, high = arb(v0), arb(v1)
        v = low.union(high)
        rest = (1 - low**s).union(1 - high**s)
        kx, ky = 1 + x * v, 1 + y * v
        if low.is_zero() and not s <= 2:  # the power is unbounded there
            power = None
        else:
            first_power = low ** (1 - s / 2) if not low.is_zero() else arb(1) if s == 2 else arb(0)
            power = first_power.union(high ** (1 - s / 2))
        first, second = -2 * v * rest * x / kx, -2 * v * rest * y / ky
        if power is None:
            bend = arb(0) if body.numbers[5] == body.numbers[6] else arb("inf")
        else:
            bend = (q - 1) * ((x - y) * power * rest / (kx * ky)) ** 2
        # second + c d + c (1-c) bend with d = first - second is largest at an end if |d| >= bend, otherwise at the zero
        # of its derivative, with mean + bend/4 + d^2/(4 bend), which grows with bend from |d| on.
        difference, most_bend = first - second, bend.abs_upper()
        if difference.abs_lower() >= most_bend:
            top = first.upper().max(second.upper())
        else:
            most_bend = most_bend.max(difference.abs_upper())
            top = ((first + second) / 2 + difference.abs_upper() ** 2 / (4 * most_bend)).upper() + most_bend / 4
        if top <= s - 1:
            continue
        middle = 0.5 * (v0 + v1)
        if v1 - v0 < finest or not v0 < middle < v1:
            left.append((v0, v1))
        else:
            open_ += [(middle, v1), (v0, middle)]
    return left + open_[::-1]
