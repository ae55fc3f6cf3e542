# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Signed distances of samples to several bodies, and the normal equations of a fit.

All bodies are convex.  Then the signed distance of a point p is its largest height above any supporting plane,

    d(p) = max over unit n of  n . p - h(n) = max over surface points x of  n(x) . (p - x),

inside and outside, so every surface point gives a lower bound, and the search below keeps the best.  At the maximum,
the foot f with normal n, the derivative needs no second search (the envelope theorem):

    d d / d centre = -n,    d d / d turn = -(f - centre) x n,    d d / d parameter = -d h / d parameter.

For a superovoid with gauge N (see `projection`; N = 1 on the surface) the last one is
(d N / d parameter)(f) / |grad N(f)|.

A body is a row of numbers: kind, three lengths, exponents e1 and e2, tapers Tx and Ty, rotation, centre, and four
derivatives of exponents and tapers by the optimiser's parameters.  A body of any kind has twelve parameters:

====== =======================================================================================
0 - 2  logarithms of the lengths; superovoid and box a1 a2 a3, cylinder and capsule radius (0)
       and half length without caps (2)
3 - 5  substitutions that keep the values in bounds, superovoid: exponents e1 and e2 and the taper, equal in x and y;
       wedge (a superovoid with e2 = 1): exponent e1 and tapers Tx and Ty
6 - 8  rotation vector about the centre, applied to the rotation
9 - 11 centre
====== =======================================================================================
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.arrays import Floats1, Floats2
from superovoid.compiled.kernels import entry_point, kernel
from superovoid.compiled.vector import combine, cross, dot, norm, rotate, rotate_back, sub

PARAMETERS = 12
SUPEROVOID, BOX, CYLINDER, CAPSULE, WEDGE = 0, 1, 2, 3, 4
KIND, SIZE, EXPONENTS, TAPERS, ROTATION, CENTRE, CHAIN, RADIUS, ROW_LENGTH = 0, 1, 4, 6, 8, 17, 20, 24, 25
FOOT_LENGTH = 6

_TINY = 1e-300
_LEAST_FACTOR = 0.02  # smallest taper factor 1 + T w, for points far outside
_STEP_DOWN, _STEP_UP = 0.3, 1.6
_LEAST_SHARE = 1e-4  # of a body in the soft minimum, below which its derivatives count as 0


class Loss(NamedTuple):
    """Parameters of the loss. Lengths are in the unit of the samples."""

    band: float
    """distances are clipped to [-band, band]"""
    softness: float
    """smoothing length of the minimum over bodies; 0: the exact minimum"""
    knee: float
    """the loss is quadratic for differences below it, and linear above"""
    steps: int
    """largest number of steps in the search for a foot"""
    fill: float
    """weight of the logarithms of the lengths, which shrinks bodies where no samples determine them"""


class Surface(NamedTuple):
    """A surface point of an untapered unit shape, with derivatives of the gauge."""

    u: tuple
    radial: float  # d N / d r
    gu: float
    gv: float
    gw: float


@kernel
def _ratio_power(ratio, exponent):
    return math.exp(exponent * math.log(ratio)) if ratio > 0.0 else 0.0


@kernel
def _pair_norm(x, y, power):
    """Return (x^power + y^power)^(1/power) for x, y >= 0, scaled by the larger to avoid overflow."""
    large, small = max(x, y), min(x, y)
    if large <= 0.0:
        return 0.0
    return large * math.exp(math.log1p(_ratio_power(small / large, power)) / power)


@kernel
def _unit_surface(row, u):
    """Return the point of the unit surface along u, with derivatives."""
    p, s = 2.0 / row[EXPONENTS], 2.0 / row[EXPONENTS + 1]
    x, y, z = abs(u[0]), abs(u[1]), abs(u[2])
    r = _pair_norm(x, y, p)
    n = _pair_norm(r, z, s)
    if n < _TINY:
        return Surface((0.0, 0.0, 1.0), 0.0, 0.0, 0.0, 1.0)
    radial = _ratio_power(r / n, s - 1.0)
    gu = gv = 0.0
    if r > 0.0:
        gu = math.copysign(radial * _ratio_power(x / r, p - 1.0), u[0])
        gv = math.copysign(radial * _ratio_power(y / r, p - 1.0), u[1])
    gw = math.copysign(_ratio_power(z / n, s - 1.0), u[2])
    return Surface((u[0] / n, u[1] / n, u[2] / n), radial, gu, gv, gw)


@kernel
def _untaper(row, x):
    w = x[2] / row[SIZE + 2]
    kx, ky = max(1.0 + row[TAPERS] * w, _LEAST_FACTOR), max(1.0 + row[TAPERS + 1] * w, _LEAST_FACTOR)
    return (x[0] / (row[SIZE] * kx), x[1] / (row[SIZE + 1] * ky), w)


@kernel
def _surface_point(row, unit):
    """Return point, unit normal and |grad N| in the frame of the body."""
    u = unit.u
    tx, ty = row[TAPERS], row[TAPERS + 1]
    kx, ky = 1.0 + tx * u[2], 1.0 + ty * u[2]
    x = (row[SIZE] * kx * u[0], row[SIZE + 1] * ky * u[1], row[SIZE + 2] * u[2])
    g = (
        unit.gu / (row[SIZE] * kx),
        unit.gv / (row[SIZE + 1] * ky),
        (unit.gw - unit.gu * u[0] * tx / kx - unit.gv * u[1] * ty / ky) / row[SIZE + 2],
    )
    length = norm(g)
    return x, (g[0] / length, g[1] / length, g[2] / length), length


@kernel
def _superovoid_distance(row, p, steps, enough):
    """Return signed distance, foot and normal; or, if the distance is above `enough`, a lower bound above it."""
    unit = _unit_surface(row, _untaper(row, p))
    x, n, _ = _surface_point(row, unit)
    d = dot(sub(p, x), n)
    share = 1.0
    for _ in range(steps):
        if d > enough:
            break
        # Step towards the projection of p onto the tangent plane at the best point, with an adaptive step length.
        along = sub(combine(1.0, p, -d, n), x)
        if share * norm(along) < 1e-9 * row[RADIUS]:
            break
        trial = _unit_surface(row, _untaper(row, combine(1.0, x, share, along)))
        x_trial, n_trial, _ = _surface_point(row, trial)
        d_trial = dot(sub(p, x_trial), n_trial)
        if d_trial > d:
            x, n, d = x_trial, n_trial, d_trial
            share = min(1.0, _STEP_UP * share)
        else:
            share *= _STEP_DOWN
    return d, x, n


@kernel
def _superovoid_slopes(row, foot, out):
    """Fill in the derivatives of the distance by the first six parameters."""
    unit = _unit_surface(row, _untaper(row, foot))
    _, _, slope = _surface_point(row, unit)
    u = unit.u
    p, s = 2.0 / row[EXPONENTS], 2.0 / row[EXPONENTS + 1]
    by_tx = -unit.gu * u[0] * u[2] / (1.0 + row[TAPERS] * u[2]) / slope
    by_ty = -unit.gv * u[1] * u[2] / (1.0 + row[TAPERS + 1] * u[2]) / slope
    out[0] = -unit.gu * u[0] / slope
    out[1] = -unit.gv * u[1] / slope
    out[2] = -unit.gw * u[2] / slope - row[TAPERS] * by_tx - row[TAPERS + 1] * by_ty
    x, y, z = abs(u[0]), abs(u[1]), abs(u[2])
    r = _pair_norm(x, y, p)
    by_e1 = by_e2 = 0.0
    if r > 0.0:
        total = 0.0
        if x > 0.0:
            total += math.exp(p * math.log(x / r)) * math.log(x / r)
        if y > 0.0:
            total += math.exp(p * math.log(y / r)) * math.log(y / r)
        by_e1 = unit.radial * r / p * total * (-2.0 / (row[EXPONENTS] * row[EXPONENTS])) / slope
        by_e2 = math.exp(s * math.log(r)) * math.log(r)
    if z > 0.0:
        by_e2 += math.exp(s * math.log(z)) * math.log(z)
    by_e2 *= -2.0 / (row[EXPONENTS + 1] * row[EXPONENTS + 1]) / s / slope
    out[3] = by_e1 * row[CHAIN]
    if row[KIND] == WEDGE:
        out[4], out[5] = by_tx * row[CHAIN + 1], by_ty * row[CHAIN + 2]
    else:
        out[4] = by_e2 * row[CHAIN + 1] + (by_tx + by_ty) * row[CHAIN + 3]
        out[5] = (by_tx + by_ty) * row[CHAIN + 2]


@kernel
def _box_distance(a, p):
    """Return signed distance, foot and normal for a box of half lengths a about the origin."""
    q = (abs(p[0]) - a[0], abs(p[1]) - a[1], abs(p[2]) - a[2])
    out = (max(q[0], 0.0), max(q[1], 0.0), max(q[2], 0.0))
    d = norm(out)
    if d > 0.0:
        n = (math.copysign(out[0] / d, p[0]), math.copysign(out[1] / d, p[1]), math.copysign(out[2] / d, p[2]))
    else:
        d = max(q[0], q[1], q[2])
        n = (
            math.copysign(1.0, p[0]) if q[0] == d else 0.0,
            math.copysign(1.0, p[1]) if q[1] == d and q[0] != d else 0.0,
            math.copysign(1.0, p[2]) if q[2] == d and q[0] != d and q[1] != d else 0.0,
        )
    return d, combine(1.0, p, -d, n), n


@kernel
def _axial_distance(kind, radius, half, p):
    """Return signed distance, foot and normal for a cylinder or capsule about z."""
    across = math.hypot(p[0], p[1])
    ex, ey = (p[0] / across, p[1] / across) if across > 0.0 else (1.0, 0.0)
    if kind == CAPSULE:
        beyond = p[2] - min(max(p[2], -half), half)
        size = math.hypot(across, beyond)
        n = (p[0] / size, p[1] / size, beyond / size) if size > 0.0 else (1.0, 0.0, 0.0)
        d = size - radius
    else:
        d, _, m = _box_distance((radius, 1e30, half), (across, 0.0, p[2]))
        n = (m[0] * ex, m[0] * ey, m[2])
    return d, combine(1.0, p, -d, n), n


@kernel
def _body_distance(row, p, steps, enough, foot):
    """Return the signed distance of a point to a body, and fill in foot and normal in the frame of the body.

    If the distance is above `enough`, a lower bound above it may be returned instead.
    """
    rotation = row[ROTATION : ROTATION + 9].reshape(3, 3)
    local = rotate_back(rotation, sub(p, (row[CENTRE], row[CENTRE + 1], row[CENTRE + 2])))
    kind = row[KIND]
    if kind == SUPEROVOID or kind == WEDGE:
        d, x, n = _superovoid_distance(row, local, steps, enough)
    elif kind == BOX:
        d, x, n = _box_distance((row[SIZE], row[SIZE + 1], row[SIZE + 2]), local)
    else:
        d, x, n = _axial_distance(kind, row[SIZE], row[SIZE + 2], local)
    foot[0], foot[1], foot[2] = x
    foot[3], foot[4], foot[5] = n
    return d


@kernel
def _body_slopes(row, foot, out):
    """Fill in the derivatives of the distance by the parameters, given foot and normal."""
    x, n = (foot[0], foot[1], foot[2]), (foot[3], foot[4], foot[5])
    kind = row[KIND]
    if kind == SUPEROVOID or kind == WEDGE:
        _superovoid_slopes(row, x, out)
    else:
        out[1] = out[3] = out[4] = out[5] = 0.0
        if kind == BOX:
            out[0], out[1] = -row[SIZE] * abs(n[0]), -row[SIZE + 1] * abs(n[1])
        else:
            out[0] = -row[SIZE] * (1.0 if kind == CAPSULE else math.hypot(n[0], n[1]))
        out[2] = -row[SIZE + 2] * abs(n[2])
    rotation = row[ROTATION : ROTATION + 9].reshape(3, 3)
    turned, normal = rotate(rotation, cross(x, n)), rotate(rotation, n)
    out[6], out[7], out[8] = -turned[0], -turned[1], -turned[2]
    out[9], out[10], out[11] = -normal[0], -normal[1], -normal[2]


@entry_point(nogil=True)
def body_distances(
    row: Floats1, points: Floats2, steps: int, distances: Floats1, slopes: Floats2, foot: Floats1
) -> None:
    """Fill in the signed distance of each point to a body, and its derivatives by the parameters.

    `foot` has room for the foot and the normal of one point.
    """
    for i in range(len(points)):
        distances[i] = _body_distance(row, (points[i, 0], points[i, 1], points[i, 2]), steps, math.inf, foot)
        _body_slopes(row, foot, slopes[i])


@entry_point(nogil=True)
def normal_equations(
    rows: Floats2,
    samples: Floats2,
    loss: Loss,
    matrix: Floats2,
    right: Floats1,
    residuals: Floats1,
    slopes: Floats2,
    values: Floats1,
    feet: Floats2,
) -> float:
    """Fill in J^T W J, J^T W r and the residuals of all samples; return the loss.

    A sample is a row: point, target distance, weight. The last three arguments have a row for each body.
    """
    bodies = len(rows)
    matrix[:] = 0.0
    right[:] = 0.0
    cost = 0.0
    far = -math.log(_LEAST_SHARE) * loss.softness
    for i in range(len(samples)):
        p = (samples[i, 0], samples[i, 1], samples[i, 2])
        target, weight = samples[i, 3], samples[i, 4]
        least = loss.band
        for b in range(bodies):
            row = rows[b]
            # A body farther away than this changes nothing; the search for the foot raises a lower bound.
            enough = least + far
            values[b] = norm(sub(p, (row[CENTRE], row[CENTRE + 1], row[CENTRE + 2]))) - row[RADIUS]
            if values[b] <= enough:
                values[b] = _body_distance(row, p, loss.steps, enough, feet[b])
            if values[b] > enough:
                values[b] = np.inf
            least = min(least, values[b])
        distance, total = least, 0.0
        if loss.softness > 0.0:
            for b in range(bodies):
                values[b] = math.exp(-(values[b] - least) / loss.softness) if values[b] < np.inf else 0.0
                total += values[b]
            if total > 0.0:
                distance = least - loss.softness * math.log(max(total, 1.0))
        else:
            for b in range(bodies):  # the first of the nearest bodies
                values[b] = 1.0 if total == 0.0 and values[b] <= least else 0.0
                total += values[b]
        cut = min(max(distance, -loss.band), loss.band)
        residual = cut - min(max(target, -loss.band), loss.band)
        residuals[i] = residual
        bend = math.sqrt(1.0 + (residual / loss.knee) ** 2)
        cost += weight * loss.knee * loss.knee * (bend - 1.0)
        if cut != distance or total == 0.0 or distance >= loss.band:
            continue
        weight /= bend
        for b in range(bodies):
            if values[b] / total >= _LEAST_SHARE:
                _body_slopes(rows[b], feet[b], slopes[b])
        for b in range(bodies):
            share_b = values[b] / total
            if share_b < _LEAST_SHARE:
                continue
            first = PARAMETERS * b
            for j in range(PARAMETERS):
                at = weight * share_b * slopes[b, j]
                right[first + j] += at * residual
                for c in range(b + 1):
                    share_c = values[c] / total
                    if share_c < _LEAST_SHARE:
                        continue
                    for k in range(PARAMETERS):
                        matrix[first + j, PARAMETERS * c + k] += at * share_c * slopes[c, k]
    for j in range(len(right)):
        for k in range(j):
            matrix[k, j] = matrix[j, k]
    return cost
