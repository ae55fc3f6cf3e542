# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Signed distance of two superovoids by a slow method in numpy that shares no code with the engine.

It uses the support function h of a body, g(n) = n . (t_B - t_A) - h_A(n) - h_B(-n) of a pair at world poses, and ascent
of g on the unit sphere. For every unit n, g(n) is at most the signed distance of the convex hulls; its maximum equals
that distance. `random_pairs` uses it to place bodies, and tests use it as a reference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

EPS = float(np.finfo(np.float64).eps)
SIZE, E1, E2, TX, TY = slice(0, 3), 3, 4, 5, 6  # columns of a body: a1, a2, a3, e1, e2, Tx, Ty


# -- support function -----------------------------------------------------------------------------------------------


class _Curve(NamedTuple):
    """Support value g of |C|^p + |S|^p <= 1 scaled to unit axes, and the point of the curve that attains it."""

    g: FloatArray
    c: FloatArray
    s: FloatArray


def _curve_support(n1: FloatArray, n2: FloatArray, e: FloatArray) -> _Curve:
    """Return the support of |C|^(2/e) + |S|^(2/e) <= 1 along (n1, n2): the dual norm with exponent 2/(2-e)."""
    q = 2.0 / (2.0 - e)
    u, v = np.abs(n1), np.abs(n2)
    swap = v > u
    big, small = np.where(swap, v, u), np.where(swap, u, v)
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        ratio = np.where(big > 0.0, small / big, 0.0)
        log_ratio = np.log(ratio)
        log_sum = np.log1p(np.exp(q * log_ratio))
        g = big * np.exp(log_sum / q)
        first = np.exp(-0.5 * e * log_sum)
        second = first * np.exp((q - 1.0) * log_ratio)
    return _Curve(g, np.copysign(np.where(swap, second, first), n1), np.copysign(np.where(swap, first, second), n2))


def _profile(rows: FloatArray, n: FloatArray, r: FloatArray, w: FloatArray) -> FloatArray:
    """Return the support of the section at height w with half-width r, along n."""
    kx, ky = 1.0 + rows[:, TX] * w, 1.0 + rows[:, TY] * w
    g = _curve_support(rows[:, 0] * kx * n[:, 0], rows[:, 1] * ky * n[:, 1], rows[:, E1]).g
    return rows[:, 2] * n[:, 2] * w + r * g


def _meridian(slope: FloatArray, e2: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the point (r, w) of the meridian r^(2/e2) + |w|^(2/e2) = 1 with normal along (1, slope)."""
    curve = _curve_support(np.ones_like(slope), slope, e2)
    return curve.c, curve.s


def _slope_excess(rows: FloatArray, n: FloatArray, slope: FloatArray) -> FloatArray:
    """Return the derivative of the profile by height at the point where the meridian has slope -dr/dw = slope."""
    r, w = _meridian(slope, rows[:, E2])
    kx, ky = 1.0 + rows[:, TX] * w, 1.0 + rows[:, TY] * w
    n1, n2 = rows[:, 0] * kx * n[:, 0], rows[:, 1] * ky * n[:, 1]
    curve = _curve_support(n1, n2, rows[:, E1])
    # By the envelope theorem, the section's support changes with w as at its fixed point (C, S).
    dg = rows[:, 0] * n[:, 0] * rows[:, TX] * curve.c + rows[:, 1] * n[:, 1] * rows[:, TY] * curve.s
    return rows[:, 2] * n[:, 2] + r * dg - slope * curve.g


def _root_slope(rows: FloatArray, n: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the slope of the maximum of a convex body's profile, by Chandrupatla's method between `low` and `high`."""
    count = len(rows)
    result = np.empty(count)
    index = np.arange(count)
    a, b = high.copy(), low.copy()
    fa, fb = _slope_excess(rows, n, a), _slope_excess(rows, n, b)
    outside = (fa > 0.0) | (fb < 0.0)
    result[outside] = np.where(fa > 0.0, a, b)[outside]
    keep = ~outside
    index, rows, n, a, b, fa, fb = (x[keep] for x in (index, rows, n, a, b, fa, fb))
    c, fc = a.copy(), fa.copy()
    t = np.full(len(index), 0.5)
    for _ in range(80):
        if not len(index):
            return result
        x = a + t * (b - a)
        fx = _slope_excess(rows, n, x)
        same = np.sign(fx) == np.sign(fa)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, fx
        best = np.where(np.abs(fa) < np.abs(fb), a, b)
        width = 2.0 * EPS * np.abs(best) + 1e-300
        limit = width / np.abs(b - a)
        done = (limit > 0.5) | (fa == 0.0)
        result[index[done]] = best[done]
        with np.errstate(divide="ignore", invalid="ignore"):
            xi = (a - b) / (c - b)
            phi = (fa - fb) / (fc - fb)
            quadratic = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        t = np.where((phi**2 < xi) & ((1.0 - phi) ** 2 < 1.0 - xi), quadratic, 0.5)
        t = np.clip(np.where(np.isfinite(t), t, 0.5), limit, 1.0 - limit)
        keep = ~done
        index, rows, n, a, b, c, fa, fb, fc, t = (x[keep] for x in (index, rows, n, a, b, c, fa, fb, fc, t))
    result[index] = np.where(np.abs(fa) < np.abs(fb), a, b)
    return result


def _slope_reach(rows: FloatArray, n: FloatArray) -> FloatArray:
    g = _curve_support(rows[:, 0] * n[:, 0], rows[:, 1] * n[:, 1], rows[:, E1]).g
    worst = np.abs(rows[:, 5:7]).max(axis=1)
    with np.errstate(divide="ignore", over="ignore"):
        reach = (rows[:, 2] * np.abs(n[:, 2]) / g + worst) / (1.0 - worst)
    return np.minimum(1.01 * reach, 1e120)


def _global_slope(rows: FloatArray, n: FloatArray, samples: int) -> FloatArray:
    """Return the slope of the global maximum of the profile of a body that may be non-convex: sample, then bracket."""
    count = len(rows)
    reach = _slope_reach(rows, n)
    w = np.linspace(-1.0, 1.0, samples)[1:-1]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # Slopes of equally spaced heights, and logarithmically spaced slopes to resolve the rims in between.
        s = 2.0 / rows[:, E2, None]
        radius = -np.expm1(s * np.log(np.abs(w)))
        heights = np.sign(w) * np.exp((s - 1.0) * (np.log(np.abs(w)) - np.log(radius) / s))
        decades = np.exp(np.linspace(-30.0, 0.0, samples // 3)) * reach[:, None]
    grid = np.concatenate([np.where(w == 0.0, 0.0, heights), decades, -decades, 0.0 * reach[:, None]], axis=1)
    grid = np.sort(np.clip(np.nan_to_num(grid, posinf=1e120, neginf=-1e120), -reach[:, None], reach[:, None]), axis=1)
    columns = grid.shape[1]
    each = np.repeat(rows, columns, axis=0), np.repeat(n, columns, axis=0)
    r, height = _meridian(grid.ravel(), each[0][:, E2])
    value = _profile(*each, r, height).reshape(count, columns)
    # The bracket must not be empty if samples are equal (the clipped ends, the equator twice).
    top = value.argmax(axis=1)
    last = columns - 1 - value[:, ::-1].argmax(axis=1)
    here = np.arange(count)
    low, high = grid[here, np.maximum(top - 1, 0)], grid[here, np.minimum(last + 1, columns - 1)]
    root = _root_slope(rows, n, low, high)
    found = _profile(rows, n, *_meridian(root, rows[:, E2]))
    return np.where(found >= value[here, top], root, grid[here, top])


def support(
    rows: FloatArray, n: FloatArray, convex: BoolArray | None = None, samples: int = 30
) -> tuple[FloatArray, FloatArray]:
    """Return the support function and support points of superovoids, one direction per body.

    Parameters
    ----------
    rows : (k, 7) ndarray
        Semi-axes, exponents and tapers.
    n : (k, 3) ndarray
        Directions in the frames of the bodies.
    convex : (k,) ndarray of bool, optional
        False if the body may be non-convex. Default: all convex.
    samples : int
        Number of heights sampled first on a body that may be non-convex.

    Returns
    -------
    value : (k,) ndarray
    point : (k, 3) ndarray
        With n . point = value.
    """
    slope = np.zeros(len(rows))
    ring = _curve_support(rows[:, 0] * n[:, 0], rows[:, 1] * n[:, 1], rows[:, E1]).g
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        slope = np.where(ring > 0.0, rows[:, 2] * n[:, 2] / ring, np.copysign(np.inf, n[:, 2]))
    slope = np.clip(slope, -1e120, 1e120)
    tapered = (rows[:, TX] != 0.0) | (rows[:, TY] != 0.0)
    pole = ring <= 1e-15 * rows[:, 2] * np.abs(n[:, 2])
    non_convex = np.zeros(len(rows), dtype=bool) if convex is None else ~convex
    chosen = tapered & ~pole & ~non_convex
    if chosen.any():
        reach = _slope_reach(rows[chosen], n[chosen])
        slope[chosen] = _root_slope(rows[chosen], n[chosen], -reach, reach)
    chosen = non_convex & ~pole
    if chosen.any():
        slope[chosen] = _global_slope(rows[chosen], n[chosen], samples)
    r, w = _meridian(slope, rows[:, E2])
    kx, ky = 1.0 + rows[:, TX] * w, 1.0 + rows[:, TY] * w
    curve = _curve_support(rows[:, 0] * kx * n[:, 0], rows[:, 1] * ky * n[:, 1], rows[:, E1])
    point = np.stack([rows[:, 0] * kx * r * curve.c, rows[:, 1] * ky * r * curve.s, rows[:, 2] * w], axis=1)
    return rows[:, 2] * n[:, 2] * w + r * curve.g, point


def concavity(rows: FloatArray, heights: int = 2001) -> FloatArray:
    """Return the maximum of r^2 phi''/phi of each body's slice profile; at most 0 if convex.

    docs/explanation/numerics.md, section 1, has the derivation.
    """
    return least_concave(rows, heights)[0]


def least_concave(rows: FloatArray, heights: int = 2001) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return `concavity`, and the height w and the share of the x term in the section's support at the maximum."""
    beta = np.linspace(-0.5 * math.pi, 0.5 * math.pi, heights)[1:-1]
    worst, height, at = np.full(len(rows), -np.inf), np.zeros(len(rows)), np.zeros(len(rows))
    s, q = 2.0 / rows[:, E2], 2.0 / (2.0 - rows[:, E1])
    for slope in np.tan(beta):
        r, w = _meridian(np.full(len(rows), slope), rows[:, E2])
        tx, ty = rows[:, TX] / (1.0 + rows[:, TX] * w), rows[:, TY] / (1.0 + rows[:, TY] * w)
        with np.errstate(divide="ignore", over="ignore"):
            bend = -(s - 1.0) * np.abs(w) ** (s - 2.0) * r ** (2.0 - 2.0 * s)  # r r''; r' = -slope
        # A parabola in the share, so use its maximum: sampling the share misses concavities of a few thousandths.
        apart = (q - 1.0) * (tx - ty) * r
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            share = 0.5 - slope / apart
        share = np.clip(np.where(apart == 0.0, 0.5, share), 0.0, 1.0)
        mean = share * tx + (1.0 - share) * ty
        cross = (q - 1.0) * share * (1.0 - share) * (tx - ty) ** 2
        value = bend - 2.0 * slope * r * mean + cross * r * r
        value[np.isnan(value)] = -np.inf
        more = value > worst
        worst, height = np.where(more, value, worst), np.where(more, w, height)
        at = np.where(more, share, at)
    return worst, height, at


def normal_at(rows: FloatArray, w: FloatArray, share: FloatArray) -> FloatArray:
    """Return outward unit normals, x and y >= 0, at heights w and shares of the x term in the section's support."""
    s, q = 2.0 / rows[:, E2], 2.0 / (2.0 - rows[:, E1])
    kx, ky = 1.0 + rows[:, TX] * w, 1.0 + rows[:, TY] * w
    n = np.stack(
        [share ** (1.0 / q) / (rows[:, 0] * kx), (1.0 - share) ** (1.0 / q) / (rows[:, 1] * ky), 0.0 * w], axis=1
    )
    curve = _curve_support(rows[:, 0] * kx * n[:, 0], rows[:, 1] * ky * n[:, 1], rows[:, E1])
    r = (-np.expm1(s * np.log(np.abs(w)))) ** (1.0 / s)
    nu = np.copysign((np.abs(w) / r) ** (s - 1.0), w)
    dg = rows[:, 0] * n[:, 0] * rows[:, TX] * curve.c + rows[:, 1] * n[:, 1] * rows[:, TY] * curve.s
    n[:, 2] = (nu * curve.g - r * dg) / rows[:, 2]
    return _unit(n)


def taper_limit(e2: FloatArray) -> FloatArray:
    """Return the largest |T| of a convex body with equal tapers."""
    return np.minimum(0.5, (1.0 - 0.5 * e2) * 2.0 ** (0.5 * e2))


def surface_error(rows: FloatArray, x: FloatArray) -> FloatArray:
    """Return the distance of points in the frames of the bodies from their surfaces, to first order."""
    return np.abs(surface_height(rows, x))


def surface_height(rows: FloatArray, x: FloatArray) -> FloatArray:
    """Return the height of points in the frames of the bodies above their surfaces, to first order; negative inside.

    It follows from a gauge of degree one, the norm that is 1 on the untapered unit shape. The gauge is well conditioned
    even if F, with its very high or low powers, is not.
    """

    def norm(first: FloatArray, second: FloatArray, e: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the norm of two nonnegative coordinates, and its gradient."""
        big, small = np.maximum(first, second), np.minimum(first, second)
        ratio = small / np.where(big > 0.0, big, 1.0)
        value = big * np.exp(0.5 * e * np.log1p(ratio ** (2.0 / e)))
        scale = np.where(value > 0.0, value, 1.0)
        return value, (first / scale) ** (2.0 / e - 1.0), (second / scale) ** (2.0 / e - 1.0)

    w = x[:, 2] / rows[:, 2]
    kx, ky = 1.0 + rows[:, TX] * w, 1.0 + rows[:, TY] * w
    u, v = np.abs(x[:, 0] / (rows[:, 0] * kx)), np.abs(x[:, 1] / (rows[:, 1] * ky))
    ring, ring_u, ring_v = norm(u, v, rows[:, E1])
    gauge, gauge_ring, gauge_w = norm(ring, np.abs(w), rows[:, E2])
    by_u, by_v = gauge_ring * ring_u, gauge_ring * ring_v
    by_w = gauge_w * np.sign(w) - by_u * u * rows[:, TX] / kx - by_v * v * rows[:, TY] / ky
    gradient = np.stack([by_u / (rows[:, 0] * kx), by_v / (rows[:, 1] * ky), by_w / rows[:, 2]], axis=1)
    return (gauge - 1.0) / np.linalg.norm(gradient, axis=1)


# -- pairs ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Batch:
    """Pairs of bodies at poses; `convex` is true if both bodies of a pair are convex."""

    rows: FloatArray  # (2, n, 7)
    rotation: FloatArray  # (2, n, 3, 3), body to world
    position: FloatArray  # (2, n, 3)
    convex: BoolArray  # (n,)

    def __len__(self) -> int:
        return self.rows.shape[1]

    def take(self, index: NDArray[np.int64] | BoolArray) -> Batch:
        """Return a subset of the pairs."""
        return Batch(self.rows[:, index], self.rotation[:, index], self.position[:, index], self.convex[index])

    def poses(self) -> FloatArray:
        """Return homogeneous transforms (2, n, 4, 4)."""
        poses = np.zeros((2, len(self), 4, 4))
        poses[..., :3, :3] = self.rotation
        poses[..., :3, 3] = self.position
        poses[..., 3, 3] = 1.0
        return poses

    def unit(self) -> FloatArray:
        """Return the size of the smaller body of each pair: its largest semi-axis."""
        return self.rows[..., SIZE].max(axis=2).min(axis=0)

    def reach(self) -> FloatArray:
        """Return the sum of the bodies' sizes and the distance of their centres: the scale of rounding errors."""
        apart = np.linalg.norm(self.position[1] - self.position[0], axis=1)
        return self.rows[..., SIZE].max(axis=2).sum(axis=0) * math.sqrt(3.0) + apart


def turn(rotation: FloatArray, x: FloatArray) -> FloatArray:
    """Rotate vectors (n, 3) from the axes of the bodies to those of the world."""
    return np.einsum("nij,nj->ni", rotation, x)


def turn_back(rotation: FloatArray, x: FloatArray) -> FloatArray:
    """Rotate vectors (n, 3) from the axes of the world to those of the bodies."""
    return np.einsum("nji,nj->ni", rotation, x)


# -- the dual function and its ascents ------------------------------------------------------------------------------


def separation(batch: Batch, n: FloatArray, samples: int = 30) -> tuple[FloatArray, FloatArray]:
    """Return g(n) of each pair in its world direction, and the vector u between the support points, with n . u = g."""
    h_a, x = support(batch.rows[0], turn_back(batch.rotation[0], n), batch.convex, samples)
    h_b, y = support(batch.rows[1], turn_back(batch.rotation[1], -n), batch.convex, samples)
    offset = batch.position[1] - batch.position[0]
    g = (n * offset).sum(axis=1) - h_a - h_b
    return g, offset + turn(batch.rotation[1], y) - turn(batch.rotation[0], x)


def _unit(n: FloatArray) -> FloatArray:
    return n / np.linalg.norm(n, axis=1)[:, None]


def _tangents(n: FloatArray, old: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a tangent frame whose first vector is the old one projected onto the new tangent plane."""
    first = _unit(old - (old * n).sum(axis=1)[:, None] * n)
    return first, np.cross(n, first)


def ascend(batch: Batch, n: FloatArray, steps: int) -> tuple[FloatArray, FloatArray]:
    """Maximise g on the sphere from given directions by BFGS in the tangent plane; shorten steps that do not climb.

    Returns
    -------
    g, n : ndarray
        Best value and direction of each pair.
    """
    count = len(batch)
    best_g, best_n = np.empty(count), n.copy()
    index = np.arange(count)
    n = _unit(n)
    g, u = separation(batch, n)
    best_g[:] = g
    t1, t2 = _tangents(n, np.eye(3)[np.abs(n).argmin(axis=1)])
    slope = np.stack([(u * t1).sum(axis=1), (u * t2).sum(axis=1)], axis=1)
    scale = batch.reach()
    inverse = np.eye(2) / scale[:, None, None]
    part = np.ones(count)
    for _ in range(steps):
        step = np.einsum("nij,nj->ni", inverse, slope)
        gain = (step * slope).sum(axis=1)
        uphill = gain > 0.0
        step = np.where(uphill[:, None], step, slope / scale[:, None])
        length = np.linalg.norm(step, axis=1)
        step = step * np.minimum(1.0, 0.7 / np.maximum(length, 1e-300))[:, None] * part[:, None]
        alive = (np.abs((step * slope).sum(axis=1)) > 0.05 * EPS * scale) & (part > 1e-9)
        if not alive.all():
            index, n, g, t1, t2, slope, scale, inverse, part, step = (
                x[alive] for x in (index, n, g, t1, t2, slope, scale, inverse, part, step)
            )
            batch = batch.take(alive)
        if not len(index):
            break
        trial = _unit(n + step[:, :1] * t1 + step[:, 1:] * t2)
        trial_g, trial_u = separation(batch, trial)
        climbs = trial_g > g + 1e-4 * (step * slope).sum(axis=1)
        new_t1, new_t2 = _tangents(trial, t1)
        new_slope = np.stack([(trial_u * new_t1).sum(axis=1), (trial_u * new_t2).sum(axis=1)], axis=1)
        fall = slope - new_slope
        curvature = (fall * step).sum(axis=1)
        usable = climbs & (curvature > 1e-14 * np.linalg.norm(fall, axis=1) * np.linalg.norm(step, axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            rho = 1.0 / curvature
            shift = np.eye(2) - rho[:, None, None] * step[:, :, None] * fall[:, None, :]
            updated = (
                shift @ inverse @ shift.transpose(0, 2, 1) + rho[:, None, None] * step[:, :, None] * step[:, None, :]
            )
        usable &= np.isfinite(updated).all(axis=(1, 2))
        inverse = np.where(usable[:, None, None], updated, inverse)
        part = np.where(climbs, 1.0, 0.3 * part)
        keep = climbs[:, None]
        n, t1, t2 = np.where(keep, trial, n), np.where(keep, new_t1, t1), np.where(keep, new_t2, t2)
        slope, g = np.where(keep, new_slope, slope), np.where(climbs, trial_g, g)
        best_g[index], best_n[index] = g, n
    return best_g, best_n
