# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Upper bounds of the support function of a superovoid that may have a dent, in numpy; no code shared with the engine.

With samples of its heights a support function is only known from below, and g(n) = n . c - h_A(n) - h_B(-n) from above:
a sampled g can say that a direction does not prove a lower bound, never that it refutes an upper one. For that h must
be bounded from above: between two heights on one side of the equator the radius r of the meridian is concave, so below
its tangents at both, and the support g of the section is convex in the height, so below its chord. a3 nz w + r g lies
below a quadratic for either tangent. Intervals whose bound exceeds the best sample are halved.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from superovoid.testing.independent import E1, E2, EPS, SIZE, TX, TY, _curve_support

FloatArray = NDArray[np.float64]

_HALVINGS = 60


def _meridian(w: FloatArray, s: float) -> tuple[FloatArray, FloatArray]:
    """Radius of r^s + |w|^s = 1 and its slope, -inf at the poles."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        r = np.exp(np.log(-np.expm1(s * np.log(np.abs(w)))) / s)
        slope = -np.sign(w) * np.exp((s - 1.0) * (np.log(np.abs(w)) - np.log(r)))
    return r, np.where(w == 0.0, 0.0, slope)


def _section(row: FloatArray, n: FloatArray, w: FloatArray) -> FloatArray:
    """Support along n of the section at height w for the radius 1."""
    e1 = np.full_like(w, row[E1])
    return _curve_support(row[0] * (1.0 + row[TX] * w) * n[0], row[1] * (1.0 + row[TY] * w) * n[1], e1).g


def support_bound(row: FloatArray, n: FloatArray, relative: float = 1e-13) -> float:
    """Upper bound of h(n) of one body.

    Parameters
    ----------
    row : (7,) ndarray
        Semi-axes, exponents and tapers.
    n : (3,) ndarray
        Unit direction in the frame of the body.
    relative : float
        Excess over the support function, relative to the largest semi-axis, that ends the halving.
    """
    s, lift = 2.0 / row[E2], row[2] * n[2]
    size = float(row[SIZE].max())
    inner = np.linspace(0.0, 1.0, 65)
    outer = -np.expm1(-np.arange(3.0, 37.0) * np.log(2.0))
    half = np.unique(np.concatenate([inner, outer, 1.0 - outer]))
    heights = np.concatenate([-half[:0:-1], half])
    left, right = heights[:-1], heights[1:]
    best = -np.inf
    for step in range(_HALVINGS):
        r0, slope0 = _meridian(left, s)
        r1, slope1 = _meridian(right, s)
        g0, g1 = _section(row, n, left), _section(row, n, right)
        best = max(best, float((lift * left + r0 * g0).max()), float((lift * right + r1 * g1).max()))
        width = right - left
        chord = (g1 - g0) / width
        # No tangent, as at a pole: the larger radius and the larger section.
        bound = lift * np.where(lift > 0.0, right, left) + np.maximum(r0, r1) * np.maximum(g0, g1)
        for r, slope, at in ((r0, slope0, 0.0 * width), (r1, slope1, width)):
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                # lift (left + t) + (r + slope (t - at)) (g0 + chord t), 0 <= t <= width.
                bend = slope * chord
                start = lift * left + (r - slope * at) * g0
                rise = lift + slope * g0 + (r - slope * at) * chord
                top = np.clip(np.where(bend < 0.0, -0.5 * rise / bend, 0.0), 0.0, width)
                values = [start + rise * t + bend * t * t for t in (0.0 * width, width, top)]
            most = np.max(values, axis=0)
            bound = np.minimum(bound, np.where(np.isfinite(most), most, np.inf))
        left, right, bound = (x[bound > best + relative * size] for x in (left, right, bound))
        if not len(left):
            return best + (relative + 16.0 * EPS) * size
        middle = 0.5 * (left + right)
        fine = (middle > left) & (middle < right)
        if step == _HALVINGS - 1 or not fine.all():
            break
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
    return float(bound.max()) + 16.0 * EPS * size
