# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Signed distances of samples to several bodies, and the normal equations of a fit.

All bodies but tori are convex.  Then the signed distance of a point p is its largest height above any supporting plane,

    d(p) = max over unit n of  n . p - h(n) = max over surface points x of  n(x) . (p - x),

inside and outside, so every surface point gives a lower bound, and the search below keeps the best.  It runs for 32
samples at once, in SIMD lanes; a lane whose search has ended gets the next sample.  At the maximum, the foot f with
normal n, the derivative needs no second search (the envelope theorem):

    d d / d centre = -n,    d d / d turn = -(f - centre) x n,    d d / d parameter = -d h / d parameter.

For a superovoid with gauge N (see `projection`; N = 1 on the surface) the last one is
(d N / d parameter)(f) / |grad N(f)|.

A body is a row of numbers: kind, three lengths, exponents e1 and e2, tapers Tx and Ty, rotation, centre, and four
derivatives of exponents and tapers by the optimiser's parameters.  A body of any kind has twelve parameters:

====== =======================================================================================
0 - 2  logarithms of the lengths; superovoid and box a1 a2 a3, cylinder and capsule radius (0)
       and half length without caps (2), torus radii of the hole (0) and of the tube (2)
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

from superovoid.compiled.arrays import Floats1, Floats2, Floats3, Ints1
from superovoid.compiled.kernels import bundle, entry_point, kernel
from superovoid.compiled.powers import log
from superovoid.compiled.rows import layout, loader, storer
from superovoid.compiled.simd import exp as exp_in_lanes
from superovoid.compiled.simd import in_lanes
from superovoid.compiled.simd import log as log_in_lanes
from superovoid.compiled.simd import log_1p as log_1p_in_lanes
from superovoid.compiled.simd import rotate as rotate_in_lanes
from superovoid.compiled.vector import Vector, combine, cross, dot, norm, rotate, rotate_back, scale, sub, vector_at
from superovoid.shapes.kernels.surface import (
    A1,
    A2,
    A3,
    INV_P,
    INV_S,
    S_,
    TX,
    TY,
    P,
    SurfacePoint,
    gradient,
    off_zero,
    position,
    ratio_of,
    unit_curve,
)

PARAMETERS = 12
SUPEROVOID, BOX, CYLINDER, CAPSULE, WEDGE, TORUS = 0, 1, 2, 3, 4, 5
KIND, SIZE, EXPONENTS, TAPERS, ROTATION, CENTRE, CHAIN, RADIUS, ROW_LENGTH = 0, 1, 4, 6, 8, 17, 20, 24, 25
FOOT_LENGTH = len(SurfacePoint._fields)
BLOCK = 512
"""Samples that are evaluated together: their feet and derivatives stay in the processor's cache."""

_TINY = 1e-300
_FAR = 1e30
_SHORT = 1e-9  # length of a step, relative to the body's radius, below which a search ends
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


class _Lane(NamedTuple):
    """The search for the foot of one point, in the frame of the body."""

    p: Vector
    x: Vector  # the best surface point
    n: Vector  # its normal
    f: SurfacePoint
    d: float  # the distance that it proves
    share: float  # length of the next step, relative to that to the tangent plane
    step: float  # the same as a length


@kernel
def _untaper(b, x):
    """Return the direction of a point on the untapered unit shape."""
    w = x[2] / b[A3]
    kx, ky = max(1.0 + b[TX] * w, _LEAST_FACTOR), max(1.0 + b[TY] * w, _LEAST_FACTOR)
    return (x[0] / (b[A1] * kx), x[1] / (b[A2] * ky), w)


@kernel
def _direction(b, lane):
    """Return the direction of the next surface point: of a step to the projection of p onto the tangent plane."""
    along = sub(combine(1.0, lane.p, -lane.d, lane.n), lane.x)
    u, v, w = _untaper(b, combine(1.0, lane.x, lane.share, along))
    return off_zero(u, v), v, w


@kernel
def _choose(b, lane, f):
    """Keep a surface point that is better than the best one."""
    x, n = position(b, f), gradient(b, f)
    n = scale(1.0 / norm(n), n)
    d = dot(sub(lane.p, x), n)
    share = min(1.0, _STEP_UP * lane.share)
    if d <= lane.d:
        x, n, f, d, share = lane.x, lane.n, lane.f, lane.d, _STEP_DOWN * lane.share
    step = share * norm(sub(combine(1.0, lane.p, -d, n), x))
    return _Lane(lane.p, x, n, f, d, share, step)


@kernel
def _times_log(product, x):
    return product * log(max(abs(x), _TINY))


class _Slopes(NamedTuple):
    """Derivatives of the distance by the parameters."""

    lengths: Vector
    shape: Vector
    turn: Vector
    centre: Vector


@kernel
def _slopes(b, chain, is_wedge, rotation, f):
    """Return the derivatives of the distance from a superovoid, given the foot."""
    x, n = position(b, f), gradient(b, f)
    per = 1.0 / norm(n)
    n = scale(per, n)
    ring, axial = f.r * f.rd, f.w * f.wd
    first, second = f.C * f.Cd, f.S * f.Sd
    by_x, by_y = -per * ring * first, -per * ring * second
    by_tx, by_ty = by_x * f.w / (1.0 + b[TX] * f.w), by_y * f.w / (1.0 + b[TY] * f.w)
    by_z = -per * axial - b[TX] * by_tx - b[TY] * by_ty
    # dp/de1 = -p^2/2 and ds/de2 = -s^2/2
    by_e1 = -0.5 * per * b[P] * ring * (_times_log(first, f.C) + _times_log(second, f.S))
    by_e2 = -0.5 * per * b[S_] * (_times_log(ring, f.r) + _times_log(axial, f.w))
    by_4 = by_tx * chain[1] if is_wedge else by_e2 * chain[1] + (by_tx + by_ty) * chain[3]
    by_5 = (by_ty if is_wedge else by_tx + by_ty) * chain[2]
    return _Slopes(
        (by_x, by_y, by_z),
        (by_e1 * chain[0], by_4, by_5),
        rotate(rotation, cross(n, x)),
        scale(-1.0, rotate(rotation, n)),
    )


_WIDTH = 32
_ROW = _WIDTH + 8
_AT, _LENGTH = layout(
    _ROW,
    lane=_Lane,
    steps=float,
    foot=SurfacePoint,
    slopes=_Slopes,
    aim=Vector,
    curve=4,
    first=4,
    ratio=float,
    share=float,
    major=float,
)
(_load_lane, _store_lane), (_load_foot, _store_foot), (_load_slopes, _store_slopes), (_load_3, _store_3), (
    _load_4, _store_4
) = ((loader(kind, _ROW), storer(kind, _ROW)) for kind in (_Lane, SurfacePoint, _Slopes, Vector, 4))  # fmt: skip
_direction_in_lanes, _choose_in_lanes, _slopes_in_lanes = map(in_lanes, (_direction, _choose, _slopes))
_ratio_of, _unit_curve = in_lanes(ratio_of), in_lanes(unit_curve)


@kernel
def _unit_curves(lanes, exponent, inverse):
    """`unit_curve_from_point` for all lanes: short loops, whose iterations the processor can overlap."""
    for k in range(_WIDTH):
        lanes[_AT.ratio + k] = ratio = _ratio_of(lanes[_AT.aim + k], lanes[_AT.aim + _ROW + k])
        lanes[_AT.share + k] = exponent * log_in_lanes(ratio)
    for k in range(_WIDTH):
        lanes[_AT.share + k] = exp_in_lanes(lanes[_AT.share + k])
    for k in range(_WIDTH):
        lanes[_AT.major + k] = -inverse * log_1p_in_lanes(lanes[_AT.share + k])
    for k in range(_WIDTH):
        major = exp_in_lanes(lanes[_AT.major + k])
        u, v = lanes[_AT.aim + k], lanes[_AT.aim + _ROW + k]
        _store_4(lanes, _AT.curve + k, _unit_curve(u, v, lanes[_AT.ratio + k], lanes[_AT.share + k], major))


@kernel
def _sweep(b, lanes):
    """Make a step of the search for a foot in all lanes."""
    for k in range(_WIDTH):
        _store_3(lanes, _AT.aim + k, _direction_in_lanes(b, _load_lane(lanes, _AT.lane + k)))
    _unit_curves(lanes, b[P], b[INV_P])
    for k in range(_WIDTH):
        curve, aim = _load_4(lanes, _AT.curve + k), _load_3(lanes, _AT.aim + k)
        _store_4(lanes, _AT.first + k, curve)
        lanes[_AT.aim + k], lanes[_AT.aim + _ROW + k] = aim[0] * curve[2] + aim[1] * curve[3], aim[2]
    _unit_curves(lanes, b[S_], b[INV_S])
    for k in range(_WIDTH):
        f = SurfacePoint(*_load_4(lanes, _AT.first + k), *_load_4(lanes, _AT.curve + k))
        _store_lane(lanes, _AT.lane + k, _choose_in_lanes(b, _load_lane(lanes, _AT.lane + k), f))


@bundle
class Scratch(NamedTuple):
    """Memory of the kernels."""

    lanes: Floats1
    samples: Ints1  # in the lanes
    limits: Floats1
    distances: Floats2  # of the samples of a block from each body; then shares of the bodies in the soft minimum
    feet: Floats3
    slopes: Floats3
    weights: Floats1


def scratch(bodies: int) -> Scratch:
    """Return memory for some bodies."""
    return Scratch(
        np.empty(_LENGTH),
        np.empty(_WIDTH, dtype=np.int64),
        np.empty(BLOCK),
        np.empty((bodies, BLOCK)),
        np.empty((bodies, BLOCK, FOOT_LENGTH)),
        np.empty((bodies, BLOCK, PARAMETERS)),
        np.empty(BLOCK),
    )


@kernel
def _packed_numbers(row):
    """Return the numbers of a superovoid in the order of a packed body."""
    p, s = 2.0 / row[EXPONENTS], 2.0 / row[EXPONENTS + 1]
    a1, a2, a3 = row[SIZE], row[SIZE + 1], row[SIZE + 2]
    # No kernel that is called here reads the dual exponents.
    return (
        a1,
        a2,
        a3,
        row[TAPERS],
        row[TAPERS + 1],
        p,
        s,
        0.0,
        0.0,
        1.0 / p,
        1.0 / s,
        0.0,
        0.0,
        1.0 / a1,
        1.0 / a2,
        1.0 / a3,
    )


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
    """Return signed distance, foot and normal for a cylinder, capsule or torus about z.

    The half length of a torus is the radius of its tube, and the radius is that of its hole.
    """
    across = math.hypot(p[0], p[1])
    ex, ey = (p[0] / across, p[1] / across) if across > 0.0 else (1.0, 0.0)
    if kind == TORUS:
        beyond = across - radius - half
        size = math.hypot(beyond, p[2])
        m, up = (beyond / size, p[2] / size) if size > 0.0 else (1.0, 0.0)
        n = (m * ex, m * ey, up)
        d = size - half
    elif kind == CAPSULE:
        beyond = p[2] - min(max(p[2], -half), half)
        size = math.hypot(across, beyond)
        n = (p[0] / size, p[1] / size, beyond / size) if size > 0.0 else (1.0, 0.0, 0.0)
        d = size - radius
    else:
        d, _, m = _box_distance((radius, 1e30, half), (across, 0.0, p[2]))
        n = (m[0] * ex, m[0] * ey, m[2])
    return d, combine(1.0, p, -d, n), n


@kernel
def _plain_distance(row, p):
    """Return signed distance, foot and normal for a body with a closed form."""
    if row[KIND] == BOX:
        return _box_distance(vector_at(row, SIZE), p)
    return _axial_distance(row[KIND], row[SIZE], row[SIZE + 2], p)


@kernel
def _find_feet(row, points, limits, steps, lanes, samples, distances, feet):
    """Fill in the signed distances of points from a body, and their feet.

    The distance of a point that is farther than its limit is infinite, and its foot is not set.
    """
    is_curved = row[KIND] == SUPEROVOID or row[KIND] == WEDGE
    body, short, centre = _packed_numbers(row), _SHORT * row[RADIUS], vector_at(row, CENTRE)
    rotation = row[ROTATION : ROTATION + 9].reshape(3, 3)
    idle = SurfacePoint(1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0)
    for k in range(_WIDTH):
        _store_lane(lanes, _AT.lane + k, _Lane(centre, centre, (0.0, 0.0, 0.0), idle, -_FAR, 1.0, 0.0))
        samples[k] = -1
    following = busy = 0
    while True:
        for k in range(_WIDTH):
            i = samples[k]
            if i >= 0:
                lane = _load_lane(lanes, _AT.lane + k)
                lanes[_AT.steps + k] -= 1.0
                if lane.d <= limits[i] and lane.step >= short and lanes[_AT.steps + k] > 0.0:
                    continue
                if lane.d <= limits[i]:
                    distances[i] = lane.d
                    feet[i, 0], feet[i, 1], feet[i, 2], feet[i, 3] = lane.f.C, lane.f.S, lane.f.Cd, lane.f.Sd
                    feet[i, 4], feet[i, 5], feet[i, 6], feet[i, 7] = lane.f.r, lane.f.w, lane.f.rd, lane.f.wd
                samples[k] = -1
                busy -= 1
            while following < len(points):
                i = following
                following += 1
                distances[i] = math.inf
                arm = sub(vector_at(points[i], 0), centre)
                # The search raises a lower bound, so it may end at the limit.
                if norm(arm) - row[RADIUS] > limits[i]:
                    continue
                p = rotate_back(rotation, arm)
                if is_curved:
                    _store_lane(lanes, _AT.lane + k, _Lane(p, p, (0.0, 0.0, 0.0), idle, -_FAR, 1.0, 0.0))
                    lanes[_AT.steps + k] = 1.0 + steps
                    samples[k] = i
                    busy += 1
                    break
                d, x, n = _plain_distance(row, p)
                if d <= limits[i]:
                    distances[i] = d
                    feet[i, 0], feet[i, 1], feet[i, 2] = x
                    feet[i, 3], feet[i, 4], feet[i, 5] = n
        if busy == 0:
            break
        _sweep(body, lanes)


@kernel
def _plain_slopes(row, rotation, foot):
    """Return the derivatives of the distance from a body with a closed form, given foot and normal."""
    x, n = vector_at(foot, 0), vector_at(foot, 3)
    by_x, by_y, by_z = -row[SIZE], 0.0, -row[SIZE + 2] * abs(n[2])
    if row[KIND] == BOX:
        by_x, by_y = -row[SIZE] * abs(n[0]), -row[SIZE + 1] * abs(n[1])
    elif row[KIND] == CYLINDER:
        by_x *= math.hypot(n[0], n[1])
    elif row[KIND] == TORUS:
        outwards = (n[0] * x[0] + n[1] * x[1]) / math.hypot(x[0], x[1])
        by_x, by_z = by_x * outwards, -row[SIZE + 2] * (1.0 + outwards)
    lengths = (by_x, by_y, by_z)
    turn, centre = rotate_in_lanes(rotation, cross(n, x)), scale(-1.0, rotate_in_lanes(rotation, n))
    return _Slopes(lengths, (0.0, 0.0, 0.0), turn, centre)


@kernel
def _store(slopes, found):
    for j in range(3):
        slopes[j], slopes[3 + j], slopes[6 + j], slopes[9 + j] = (
            found.lengths[j],
            found.shape[j],
            found.turn[j],
            found.centre[j],
        )


@kernel
def _fill_slopes(row, shares, feet, lanes, samples, slopes):
    """Fill in the derivatives of the distance for the samples in which a body has a share."""
    is_curved, is_wedge = row[KIND] == SUPEROVOID or row[KIND] == WEDGE, row[KIND] == WEDGE
    body = _packed_numbers(row)
    chain = (row[CHAIN], row[CHAIN + 1], row[CHAIN + 2], row[CHAIN + 3])
    rotation = vector_at(row, ROTATION) + vector_at(row, ROTATION + 3) + vector_at(row, ROTATION + 6)
    idle = SurfacePoint(1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0)
    for k in range(_WIDTH):
        _store_foot(lanes, _AT.foot + k, idle)
    count = 0
    for i in range(len(shares)):
        if shares[i] >= _LEAST_SHARE:
            if is_curved:
                for j in range(FOOT_LENGTH):
                    lanes[_AT.foot + j * _ROW + count] = feet[i, j]
                samples[count] = i
                count += 1
            else:
                _store(slopes[i], _plain_slopes(row, rotation, feet[i]))
        if count == _WIDTH or (count > 0 and i == len(shares) - 1):
            for k in range(_WIDTH):
                foot = _load_foot(lanes, _AT.foot + k)
                _store_slopes(lanes, _AT.slopes + k, _slopes_in_lanes(body, chain, is_wedge, rotation, foot))
            for k in range(count):
                for j in range(PARAMETERS):
                    slopes[samples[k], j] = lanes[_AT.slopes + j * _ROW + k]
            count = 0


@entry_point(nogil=True)
def body_distances(
    row: Floats1, points: Floats2, steps: int, distances: Floats1, slopes: Floats2, scratch: Scratch
) -> None:
    """Fill in the signed distance of each point to a body, and its derivatives by the parameters."""
    for first in range(0, len(points), BLOCK):
        end = min(first + BLOCK, len(points))
        scratch.limits[:] = _FAR
        feet, shares = scratch.feet[0], scratch.distances[0, : end - first]
        _find_feet(
            row, points[first:end], scratch.limits, steps, scratch.lanes, scratch.samples, distances[first:end], feet
        )
        shares[:] = 1.0
        _fill_slopes(row, shares, feet, scratch.lanes, scratch.samples, slopes[first:end])


@kernel
def _weigh(samples, loss, scratch, residuals, first):
    """Replace the distances of a block by shares of the bodies; fill in weights and residuals; return the loss."""
    distances, weights = scratch.distances, scratch.weights
    bodies, cost = len(distances), 0.0
    for i in range(len(samples)):
        target, weight, still = samples[i, 3], samples[i, 4], samples[i, 5]
        least = min(loss.band, still)
        for b in range(bodies):
            least = min(least, distances[b, i])
        distance, total = least, 0.0
        if loss.softness > 0.0:
            if still < math.inf:
                total = math.exp((least - still) / loss.softness)
            for b in range(bodies):
                gap = distances[b, i] - least
                distances[b, i] = math.exp(-gap / loss.softness) if gap < math.inf else 0.0
                total += distances[b, i]
            if total > 0.0:
                distance = least - loss.softness * math.log(max(total, 1.0))
        else:
            if still <= least:
                total = 1.0
            for b in range(bodies):  # the first of the nearest bodies
                distances[b, i] = 1.0 if total == 0.0 and distances[b, i] <= least else 0.0
                total += distances[b, i]
        cut = min(max(distance, -loss.band), loss.band)
        residual = cut - min(max(target, -loss.band), loss.band)
        residuals[first + i] = residual
        bend = math.sqrt(1.0 + (residual / loss.knee) ** 2)
        cost += weight * loss.knee * loss.knee * (bend - 1.0)
        counts = cut == distance and total > 0.0 and distance < loss.band
        weights[i] = weight / bend
        for b in range(bodies):
            distances[b, i] = distances[b, i] / total if counts else 0.0
    return cost


@entry_point(nogil=True)
def normal_equations(
    rows: Floats2,
    samples: Floats2,
    loss: Loss,
    matrix: Floats2,
    right: Floats1,
    residuals: Floats1,
    scratch: Scratch,
) -> float:
    """Fill in J^T W J, J^T W r and the residuals of all samples; return the loss.

    A sample is a row: point, target distance, weight, and distance from bodies that do not move (infinite if none).
    """
    bodies = len(rows)
    matrix[:] = 0.0
    right[:] = 0.0
    cost = 0.0
    far = -math.log(_LEAST_SHARE) * loss.softness
    lanes, shares, slopes = scratch.lanes, scratch.distances, scratch.slopes
    for first in range(0, len(samples), BLOCK):
        block = samples[first : first + BLOCK]
        # A body farther away than this changes nothing.
        limits = scratch.limits[: len(block)]
        for i in range(len(block)):
            limits[i] = min(loss.band, block[i, 5]) + far
        for b in range(bodies):
            _find_feet(rows[b], block, limits, loss.steps, lanes, scratch.samples, shares[b], scratch.feet[b])
            for i in range(len(block)):
                limits[i] = min(limits[i], shares[b, i] + far)
        cost += _weigh(block, loss, scratch, residuals, first)
        for b in range(bodies):
            _fill_slopes(rows[b], shares[b, : len(block)], scratch.feet[b], lanes, scratch.samples, slopes[b])
        for i in range(len(block)):
            residual = residuals[first + i]
            for b in range(bodies):
                if shares[b, i] < _LEAST_SHARE:
                    continue
                at = scratch.weights[i] * shares[b, i]
                start = PARAMETERS * b
                for j in range(PARAMETERS):
                    right[start + j] += at * slopes[b, i, j] * residual
                for c in range(b, bodies):
                    if shares[c, i] < _LEAST_SHARE:
                        continue
                    both = at * shares[c, i]
                    for j in range(PARAMETERS):
                        for k in range(PARAMETERS):
                            matrix[start + j, PARAMETERS * c + k] += both * slopes[b, i, j] * slopes[c, i, k]
    for j in range(len(right)):
        for k in range(j):
            matrix[j, k] = matrix[k, j]
    return cost
