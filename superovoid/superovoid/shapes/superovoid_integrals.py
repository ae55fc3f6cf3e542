# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Integrals over superovoids: moments of the volume in closed form, the area of the surface by quadrature.

With w = z / a3, p = 2 / epsilon_1 and s = 2 / epsilon_2, the section at w is a superellipse of semi-axes a1 kx r and
a2 ky r, where kx = 1 + Tx w, ky = 1 + Ty w and r = (1 - abs(w)**s)**(1/s). The integrals of 1 and x^2 over the
superellipse of semi-axes a and b are, by Dirichlet's formula,

    a b c_0,    c_0 = 4 Gamma(1 + 1/p)^2 / Gamma(1 + 2/p),
    a^3 b c_2,  c_2 = 4/3 Gamma(1 + 3/p) Gamma(1 + 1/p) / Gamma(1 + 4/p),

and the remaining integrals over w are, for even k (odd powers of w vanish),

    int w^k r^m dw = 2/(k + 1) Gamma(1 + (k + 1)/s) Gamma(1 + m/s) / Gamma(1 + (k + 1 + m)/s).

The parameters of the surface are t and u, with r = (1 + e^2t)^(-epsilon_2/2), abs(w) = (1 + e^-2t)^(-epsilon_2/2), and
the same for the two sides of the section. Both ends of an octant are then at infinity, and t = sinh(v) makes the
integrand fall double exponentially there: the trapezoidal rule converges for edges and corners too (Takahasi and Mori
1974).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Taper = tuple[float, float]

_DECAY = 40.0  # the nodes end where the integrand has fallen to e^-40, far below rounding
_STEP = 0.04  # step of v: half of it changes areas by less than 1e-13
_MOST_GROWTH = 2.0  # bound of the growth of the density of area in a cell; cells with 1e-8 of the area exceed it


def _over_heights(factors: Polynomial, m: int, profile_exponent: float) -> float:
    """Return the integral of a polynomial in w times r^m, for w from -1 to 1."""
    e = 0.5 * profile_exponent
    return sum(
        float(c) * 2.0 / (k + 1) * math.gamma(1 + (k + 1) * e) * math.gamma(1 + m * e) / math.gamma(1 + (k + 1 + m) * e)
        for k, c in enumerate(factors.coef)
        if k % 2 == 0
    )


def moments(
    semi_axes: tuple[float, float, float], section_exponent: float, profile_exponent: float, taper: Taper
) -> tuple[float, FloatArray, FloatArray]:
    """Compute volume, first moments and second moments about the origin.

    Returns
    -------
    volume : float
        m^3.
    first : (3,) ndarray
        m^4.
    second : (3, 3) ndarray
        m^5.
    """
    a1, a2, a3 = semi_axes
    e = 0.5 * section_exponent
    c_0 = 4.0 * math.gamma(1.0 + e) ** 2 / math.gamma(1.0 + 2.0 * e)
    c_2 = 4.0 / 3.0 * math.gamma(1.0 + 3.0 * e) * math.gamma(1.0 + e) / math.gamma(1.0 + 4.0 * e)
    w, kx, ky = Polynomial([0.0, 1.0]), Polynomial([1.0, taper[0]]), Polynomial([1.0, taper[1]])
    volume = a1 * a2 * a3

    def integrate(factors: Polynomial, m: int) -> float:
        return _over_heights(factors, m, profile_exponent)

    first = np.array([0.0, 0.0, volume * c_0 * a3 * integrate(w * kx * ky, 2)])
    xx, yy = (volume * c_2 * a**2 * integrate(kx * ky * k**2, 4) for a, k in ((a1, kx), (a2, ky)))
    zz = volume * c_0 * a3**2 * integrate(w**2 * kx * ky, 2)
    return volume * c_0 * integrate(kx * ky, 2), first, np.diag([xx, yy, zz])


def _nodes(epsilon: float) -> FloatArray:
    end = math.asinh(_DECAY / epsilon + _DECAY)
    return np.arange(-end, end + _STEP, _STEP)


def _sides(v: FloatArray, epsilon: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return both coordinates of abs(x)**(2/epsilon) + abs(y)**(2/epsilon) = 1 at nodes, and their derivatives by v."""
    t = np.sinh(v)
    x, y = (np.exp(-0.5 * epsilon * np.logaddexp(0.0, sign * 2.0 * t)) for sign in (1.0, -1.0))
    slope = epsilon * np.cosh(v)
    # e^2t / (1 + e^2t) without overflow, and its complement
    up, down = (np.exp(-np.logaddexp(0.0, sign * 2.0 * t)) for sign in (-1.0, 1.0))
    return x, y, -slope * x * up, slope * y * down


class Surface:
    """The surface of an octant and of its mirror image in the equatorial plane, over two parameters.

    Parameters
    ----------
    semi_axes, section_exponent, profile_exponent, taper
        As for `Superovoid`.
    """

    def __init__(
        self, semi_axes: tuple[float, float, float], section_exponent: float, profile_exponent: float, taper: Taper
    ) -> None:
        self._semi_axes, self._taper = semi_axes, taper
        self._section, self._profile = section_exponent, profile_exponent
        self._across, self._up = _nodes(section_exponent), _nodes(profile_exponent)

    def _points(self, across: FloatArray, up: FloatArray, sign: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return points at parameters, shape (..., 3), and the surface area per unit area of the parameters."""
        a1, a2, a3 = self._semi_axes
        c, s, dc, ds = _sides(across, self._section)
        r, w, dr, dw = _sides(up, self._profile)
        kx, ky = (1.0 + sign * taper * w for taper in self._taper)
        x_t, y_t = (c * (kx * dr + sign * self._taper[0] * dw * r), s * (ky * dr + sign * self._taper[1] * dw * r))
        x_u, y_u = kx * r * dc, ky * r * ds
        area = np.sqrt((a2 * a3 * dw * y_u) ** 2 + (a1 * a3 * dw * x_u) ** 2 + (a1 * a2 * (x_t * y_u - y_t * x_u)) ** 2)
        points = np.stack(np.broadcast_arrays(a1 * kx * r * c, a2 * ky * r * s, a3 * sign * w), axis=-1)
        return points, area

    def _grid(self) -> FloatArray:
        sign = np.array([-1.0, 1.0])[:, None, None]
        return self._points(self._across[:, None], self._up, sign)[1]

    def area(self) -> float:
        """Return the area of the whole surface, m^2."""
        return 4.0 * _STEP**2 * float(self._grid().sum())

    def draw(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Draw points, uniform by area: cells by their area, and in a cell by rejection."""
        density = self._grid()
        total = np.cumsum(density)
        parts = [np.empty((0, 3))]
        left = count
        while left > 0:
            cell = np.searchsorted(total, total[-1] * rng.random(2 * left + 16), side="right").clip(max=total.size - 1)
            half, across, up = np.unravel_index(cell, density.shape)
            jitter = _STEP * rng.uniform(-0.5, 0.5, (2, len(cell)))
            sign = 2.0 * half - 1.0
            points, found = self._points(self._across[across] + jitter[0], self._up[up] + jitter[1], sign)
            taken = _MOST_GROWTH * rng.random(len(cell)) * density.ravel()[cell] < found
            points = points[taken][:left]
            points[:, :2] *= rng.choice([-1.0, 1.0], (len(points), 2))  # the four octants of this half
            parts.append(points)
            left -= len(points)
        return np.concatenate(parts)
