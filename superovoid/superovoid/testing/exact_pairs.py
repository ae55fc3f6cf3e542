# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Signed distance of two superovoids with 40 digits, by the formulas of `independent`; no code of the engine."""

from __future__ import annotations

import mpmath

from superovoid.testing.independent import Batch, FloatArray

DIGITS = 40
Mp = mpmath.mpf
MpVector = list[mpmath.mpf]


def _mp_curve(n1: mpmath.mpf, n2: mpmath.mpf, e: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf, mpmath.mpf]:
    """`_curve_support` with all digits."""
    u, v = abs(n1), abs(n2)
    big, small = max(u, v), min(u, v)
    if big == 0:
        return Mp(0), Mp(1), Mp(0)
    q = 2 / (2 - e)
    ratio = small / big
    total = 1 + ratio**q
    g = big * total ** (1 / q)
    first = total ** (-e / 2)
    second = first * ratio ** (q - 1) if ratio > 0 else Mp(0)
    c, s = (second, first) if v > u else (first, second)
    return g, c * mpmath.sign(n1), s * mpmath.sign(n2)


class _MpBody:
    """One body at its pose with all digits; the matrix is taken as it is, rigid to rounding."""

    def __init__(self, row: FloatArray, rotation: FloatArray, position: FloatArray) -> None:
        self.row = row
        self.a1, self.a2, self.a3, self.e1, self.e2, self.tx, self.ty = (Mp(float(v)) for v in row)
        self.rotation = [[Mp(float(v)) for v in line] for line in rotation]
        self.position = [Mp(float(v)) for v in position]
        self._last = Mp(0)  # root of the last call

    def _section(self, slope: mpmath.mpf, n: MpVector) -> tuple[mpmath.mpf, ...]:
        r, w = _mp_curve(Mp(1), slope, self.e2)[1:]
        kx, ky = 1 + self.tx * w, 1 + self.ty * w
        g, c, s = _mp_curve(self.a1 * kx * n[0], self.a2 * ky * n[1], self.e1)
        dg = self.a1 * n[0] * self.tx * c + self.a2 * n[1] * self.ty * s
        return self.a3 * n[2] + r * dg - slope * g, r, w, g, c, s

    def support(self, n: MpVector) -> tuple[mpmath.mpf, MpVector]:
        """Support value and point about the body's centre, in the axes of the world."""
        m = [sum(self.rotation[i][j] * n[i] for i in range(3)) for j in range(3)]
        ring = _mp_curve(self.a1 * m[0], self.a2 * m[1], self.e1)[0]
        if ring == 0:
            sign = mpmath.sign(m[2])
            local, value = [Mp(0), Mp(0), sign * self.a3], abs(self.a3 * m[2])
        else:
            slope = self.a3 * m[2] / ring
            if self.tx != 0 or self.ty != 0:
                slope = self._root(m, slope)
            _, r, w, g, c, s = self._section(slope, m)
            local = [self.a1 * (1 + self.tx * w) * r * c, self.a2 * (1 + self.ty * w) * r * s, self.a3 * w]
            value = self.a3 * m[2] * w + r * g
        point = [sum(self.rotation[i][j] * local[j] for j in range(3)) for i in range(3)]
        return value, point

    def _root(self, m: MpVector, middle: mpmath.mpf) -> mpmath.mpf:
        """Slope of the highest section of a convex body: false position (Illinois) in a bracket about the last root."""
        worst = max(abs(self.tx), abs(self.ty))
        reach = (abs(middle) + worst) / (1 - worst) * Mp("1.01")
        if abs(self._last) >= reach:
            self._last = Mp(0)
        width = (abs(self._last) + reach * Mp("1e-6")) * Mp("1e-6")
        while True:
            low, high = max(-reach, self._last - width), min(reach, self._last + width)
            f_low, f_high = self._section(low, m)[0], self._section(high, m)[0]
            if (f_low > 0 or low == -reach) and (f_high < 0 or high == reach):
                break
            width *= 1000
        if f_low <= 0:
            return low
        if f_high >= 0:
            return high
        side = 0
        for step in range(1, 300):
            x = (low * f_high - high * f_low) / (f_high - f_low) if step % 8 else (low + high) / 2
            f = self._section(x, m)[0]
            # The value is flat at the root: half of the digits of the slope give all of the value.
            if abs(x - self._last) <= Mp(10) ** (-DIGITS // 2 - 4) * (abs(x) + Mp(10) ** -DIGITS) or f == 0:
                break
            self._last = x
            if f > 0:
                low, f_low = x, f
                f_high = f_high / 2 if side == 1 else f_high
                side = 1
            else:
                high, f_high = x, f
                f_low = f_low / 2 if side == -1 else f_low
                side = -1
        self._last = x
        return x


class MpPair:
    """g(n) of a convex pair with 40 digits, and its ascent."""

    def __init__(self, batch: Batch, index: int) -> None:
        self.a, self.b = (
            _MpBody(batch.rows[k, index], batch.rotation[k, index], batch.position[k, index]) for k in range(2)
        )
        self.offset = [y - x for x, y in zip(self.a.position, self.b.position, strict=True)]

    def separation(self, n: MpVector) -> tuple[mpmath.mpf, MpVector]:
        """g(n) for a unit n and the vector between the support points."""
        h_a, x = self.a.support(n)
        h_b, y = self.b.support([-v for v in n])
        u = [o + q - p for o, p, q in zip(self.offset, x, y, strict=True)]
        return _mp_dot(n, self.offset) - h_a - h_b, u

    def value(self, n: FloatArray) -> mpmath.mpf:
        """g at a direction given in double precision, made a unit vector with all digits."""
        with mpmath.workdps(DIGITS):
            return self.separation(_mp_unit([Mp(float(v)) for v in n]))[0]

    def climb(self, n: FloatArray, steps: int = 60) -> tuple[mpmath.mpf, mpmath.mpf, MpVector]:
        """Local maximum of g from a direction near it: Newton with differences of 40 digits, then halving.

        Returns
        -------
        g : mpf
        gap : mpf
            |u|: for bodies apart, an upper bound of the distance.
        n : list of mpf
        """
        with mpmath.workdps(DIGITS):
            m = _mp_unit([Mp(float(v)) for v in n])
            g, u = self.separation(m)
            tilt = Mp(10) ** (-DIGITS // 3)
            reach = mpmath.sqrt(_mp_dot(self.offset, self.offset)) + 2 * sum(
                max(b.a1, b.a2, b.a3) for b in (self.a, self.b)
            )
            settled = 0
            for _ in range(steps):
                t1, t2 = _mp_tangents(m)
                slope = [_mp_dot(u, t1), _mp_dot(u, t2)]
                size = mpmath.sqrt(slope[0] ** 2 + slope[1] ** 2)
                if size < Mp(10) ** (-DIGITS // 2 - 6) * reach:
                    break
                columns = []
                for t in (t1, t2):
                    moved = [a + tilt * b for a, b in zip(m, t, strict=True)]
                    v = self.separation(_mp_unit(moved))[1]
                    # Of the homogeneous function; its sphere part subtracts g, its tangents do not turn.
                    columns.append([(_mp_dot(v, s) - k) / tilt for s, k in zip((t1, t2), slope, strict=True)])
                h11, h22 = columns[0][0] - g, columns[1][1] - g
                h12 = (columns[0][1] + columns[1][0]) / 2
                step = _mp_ascent_step(h11, h12, h22, slope, reach)
                part = Mp(1)
                for _ in range(60):
                    trial = _mp_unit(
                        [a + part * (step[0] * b + step[1] * c) for a, b, c in zip(m, t1, t2, strict=True)]
                    )
                    trial_g, trial_u = self.separation(trial)
                    if trial_g > g:
                        break
                    part /= 4
                else:
                    break
                # On a flat face g has a sharp ridge: the direction settles slowly, the value at once.
                settled = settled + 1 if trial_g - g < Mp("1e-19") * reach else 0
                m, g, u = trial, trial_g, trial_u
                if settled == 2:
                    break
            return g, mpmath.sqrt(_mp_dot(u, u)), m


def _mp_dot(a: MpVector, b: MpVector) -> mpmath.mpf:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _mp_unit(a: MpVector) -> MpVector:
    length = mpmath.sqrt(_mp_dot(a, a))
    return [x / length for x in a]


def _mp_tangents(n: MpVector) -> tuple[MpVector, MpVector]:
    k = min(range(3), key=lambda i: abs(n[i]))
    t1 = _mp_unit([(1 if i == k else 0) - n[k] * n[i] for i in range(3)])
    t2 = [n[1] * t1[2] - n[2] * t1[1], n[2] * t1[0] - n[0] * t1[2], n[0] * t1[1] - n[1] * t1[0]]
    return t1, t2


def _mp_ascent_step(
    h11: mpmath.mpf, h12: mpmath.mpf, h22: mpmath.mpf, slope: list[mpmath.mpf], reach: mpmath.mpf
) -> list[mpmath.mpf]:
    """Newton's step where g is concave, else along the slope; no longer than half a radian."""
    determinant = h11 * h22 - h12 * h12
    if determinant > 0 and h11 < 0:
        step = [-(h22 * slope[0] - h12 * slope[1]) / determinant, -(h11 * slope[1] - h12 * slope[0]) / determinant]
    else:
        step = [s / reach for s in slope]
    length = mpmath.sqrt(step[0] ** 2 + step[1] ** 2)
    limit = Mp("0.5")
    return [s * limit / length for s in step] if length > limit else step
