# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Polynomials in two variables in Bernstein form, and all common roots of two of them in the unit square.

Sohn et al. 2002, section 3.1, recommend this form, but do not specify a search for all roots. This module subdivides
the square. It discards a part if all coefficients of one polynomial have the same sign, or if Krawczyk's operator maps
it off itself. The differences of the coefficients bound the Jacobian by J0 +- R. With the centre c and the predicted
root p = c - J0^-1 (f, g)(c),

    a root x of the part has |x - p| <= |J0^-1| R |x - c|.

If |J0^-1| R is small, the part has at most one root, and Newton's method refines its prediction. The root may lie
beyond the edge; the neighbouring part then finds it, too. Parts still undecided at the least width surround multiple
roots, or a curve of roots.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiler.jit import kernel

FloatArray = NDArray[np.float64]

_HALVINGS = 26
"""Limit of each variable."""
_ROUNDING = 1e-14
"""Relative to the largest coefficient: magnitude below which a sign is uncertain."""
_NEARLY_LINEAR = 0.05
"""Largest |J0^-1| R of a part with a predicted root."""
_ROOTS, _BOX = 256, 4


@cache
def _binomials(degree: int) -> FloatArray:
    return np.array([math.comb(degree, i) for i in range(degree + 1)], dtype=np.float64)


class Polynomial:
    """Polynomial in (s, t) on the unit square, given by its coefficients (n + 1, m + 1) in Bernstein form."""

    __array_ufunc__ = None  # numpy numbers on the left leave the operation to this class

    def __init__(self, coefficients: FloatArray) -> None:
        self.coefficients = np.asarray(coefficients, dtype=np.float64)

    @property
    def degree(self) -> tuple[int, int]:
        """Degree in s and in t, as represented."""
        return self.coefficients.shape[0] - 1, self.coefficients.shape[1] - 1

    def _scale(self) -> FloatArray:
        n, m = self.degree
        return self.coefficients * np.outer(_binomials(n), _binomials(m))

    def __mul__(self, other: Polynomial | float) -> Polynomial:
        if not isinstance(other, Polynomial):
            return Polynomial(self.coefficients * other)
        a, b = self._scale(), other._scale()
        shape = a.shape[0] + b.shape[0] - 1, a.shape[1] + b.shape[1] - 1
        # Rows padded to the length of the product's make a convolution of two variables one of one variable.
        rows = [np.pad(c, ((0, 0), (0, shape[1] - c.shape[1]))).ravel() for c in (a, b)]
        product = np.convolve(*rows)[: shape[0] * shape[1]].reshape(shape)
        return Polynomial(product / np.outer(_binomials(shape[0] - 1), _binomials(shape[1] - 1)))

    __rmul__ = __mul__

    def elevate(self, degree: tuple[int, int]) -> Polynomial:
        """Return the same polynomial with coefficients of a higher degree."""
        n, m = self.degree
        if degree == (n, m):
            return self
        return self * Polynomial(np.ones((degree[0] - n + 1, degree[1] - m + 1)))

    def __add__(self, other: Polynomial | float) -> Polynomial:
        if not isinstance(other, Polynomial):
            return Polynomial(self.coefficients + other)
        degree = max(self.degree[0], other.degree[0]), max(self.degree[1], other.degree[1])
        return Polynomial(self.elevate(degree).coefficients + other.elevate(degree).coefficients)

    __radd__ = __add__

    def __neg__(self) -> Polynomial:
        return Polynomial(-self.coefficients)

    def __sub__(self, other: Polynomial | float) -> Polynomial:
        return self + -other

    def __rsub__(self, other: Polynomial | float) -> Polynomial:
        return -self + other

    def derivative(self, variable: int) -> Polynomial:
        """Return the partial derivative by s (0) or t (1)."""
        degree = self.degree[variable]
        if degree == 0:
            return Polynomial(np.zeros((1, 1)))
        return Polynomial(degree * np.diff(self.coefficients, axis=variable))

    def __call__(self, s: FloatArray, t: FloatArray) -> FloatArray:
        """Evaluate at points; s and t have the same shape."""
        n, m = self.degree
        return np.einsum("...i,ij,...j->...", _basis(n, s), self.coefficients, _basis(m, t))


def _basis(degree: int, s: FloatArray) -> FloatArray:
    s = np.asarray(s, dtype=np.float64)[..., None]
    i = np.arange(degree + 1)
    return _binomials(degree) * s**i * (1.0 - s) ** (degree - i)


class Roots(NamedTuple):
    """Common roots of two polynomials in the unit square."""

    points: FloatArray
    """(n, 2): one row per simple root; multiple roots have one for each undecided part around them."""
    complete: bool
    """Whether every part of the square was decided. Otherwise there are multiple roots, perhaps curves."""
    parts: int
    """Number of examined parts of the square."""


@kernel
def _halve(c, upper, rows):
    """Apply de Casteljau's algorithm at 1/2 to the rows or columns of coefficients: `c` keeps the lower half."""
    n, m = c.shape
    length = n if rows else m
    for k in range(m if rows else n):
        for step in range(length):
            # The first coefficient of every step belongs to the lower half, the final ones to the upper.
            last = length - 1 - step
            if rows:
                upper[last, k] = c[length - 1, k]
                for i in range(length - 1, step, -1):
                    c[i, k] = 0.5 * (c[i, k] + c[i - 1, k])
            else:
                upper[k, last] = c[k, length - 1]
                for i in range(length - 1, step, -1):
                    c[k, i] = 0.5 * (c[k, i] + c[k, i - 1])


@kernel
def _sign(c, slack):
    """Return 1 or -1 if all coefficients have that sign and exceed slack in magnitude, otherwise 0."""
    n, m = c.shape
    lower = upper = c[0, 0]
    for i in range(n):
        for j in range(m):
            lower, upper = min(lower, c[i, j]), max(upper, c[i, j])
    return 1 if lower > slack else -1 if upper < -slack else 0


@kernel
def _slopes(c):
    """Return middle and half width of both derivatives' ranges over the unit square, and the value at its centre."""
    n, m = c.shape
    lower_s = lower_t = math.inf
    upper_s = upper_t = -math.inf
    value, row_weight = 0.0, 0.5 ** (n - 1)
    for i in range(n):
        weight = row_weight * 0.5 ** (m - 1)
        for j in range(m):
            value += weight * c[i, j]
            weight *= (m - 1.0 - j) / (j + 1.0)
            if i + 1 < n:
                step = (n - 1) * (c[i + 1, j] - c[i, j])
                lower_s, upper_s = min(lower_s, step), max(upper_s, step)
            if j + 1 < m:
                step = (m - 1) * (c[i, j + 1] - c[i, j])
                lower_t, upper_t = min(lower_t, step), max(upper_t, step)
        row_weight *= (n - 1.0 - i) / (i + 1.0)
    return (
        0.5 * (lower_s + upper_s),
        0.5 * (upper_s - lower_s),
        0.5 * (lower_t + upper_t),
        0.5 * (upper_t - lower_t),
        value,
    )


@kernel
def _krawczyk(f, g):
    """Judge a part: -1 no root, 1 at most one, 0 undecided; with its prediction in coordinates from -1 to 1."""
    fs, fs_range, ft, ft_range, f0 = _slopes(f)
    gs, gs_range, gt, gt_range, g0 = _slopes(g)
    determinant = fs * gt - ft * gs
    if not abs(determinant) > 1e-14 * (abs(fs) + abs(ft)) * (abs(gs) + abs(gt)):
        return 0, 0.0, 0.0
    i00, i01, i10, i11 = gt / determinant, -ft / determinant, -gs / determinant, fs / determinant
    s, t = -2.0 * (i00 * f0 + i01 * g0), -2.0 * (i10 * f0 + i11 * g0)
    range_s = abs(i00) * (fs_range + ft_range) + abs(i01) * (gs_range + gt_range)
    range_t = abs(i10) * (fs_range + ft_range) + abs(i11) * (gs_range + gt_range)
    if abs(s) > 1.0 + range_s or abs(t) > 1.0 + range_t:
        return -1, s, t
    return (1 if max(range_s, range_t) < _NEARLY_LINEAR else 0), s, t


@kernel
def _search(fs, gs, boxes, max_evaluations, roots, left):
    """Search the unit square; the first entries of the stacks are the polynomials, with largest coefficient 1.

    Fill in predicted roots and centres of undecided parts (the last of them if there are too many). Return their
    numbers, the number of examined parts, and whether these were all.
    """
    boxes[0, 0], boxes[0, 1], boxes[0, 2], boxes[0, 3] = 0.5, 0.5, 0.5, 0.5  # centre, half widths
    top, found, undecided, parts = 0, 0, 0, 0
    least = 0.5 ** (_HALVINGS + 1)
    while top >= 0 and found < roots.shape[0] and parts < max_evaluations:
        parts += 1
        f, g = fs[top], gs[top]
        s, t, half_s, half_t = boxes[top, 0], boxes[top, 1], boxes[top, 2], boxes[top, 3]
        if _sign(g, _ROUNDING) != 0 or _sign(f, _ROUNDING) != 0:
            top -= 1
            continue
        verdict, root_s, root_t = _krawczyk(f, g)
        if verdict == 1:
            roots[found, 0], roots[found, 1] = s + half_s * root_s, t + half_t * root_t
            found += 1
        elif verdict == 0 and half_t <= least:
            left[undecided % left.shape[0], 0], left[undecided % left.shape[0], 1] = s, t
            undecided += 1
        if verdict != 0 or half_t <= least:
            top -= 1
            continue
        rows = half_s >= half_t
        _halve(f, fs[top + 1], rows)
        _halve(g, gs[top + 1], rows)
        if rows:
            half_s *= 0.5
        else:
            half_t *= 0.5
        for k in range(2):
            sign = 2.0 * k - 1.0
            boxes[top + k, 0] = s + sign * half_s if rows else s
            boxes[top + k, 1] = t if rows else t + sign * half_t
            boxes[top + k, 2], boxes[top + k, 3] = half_s, half_t
        top += 1
    return found, undecided, parts, top < 0


def common_roots(f: Polynomial, g: Polynomial, max_evaluations: int = 100_000) -> Roots:
    """Find all common roots of two polynomials in the unit square.

    Parameters
    ----------
    f, g : Polynomial
    max_evaluations : int
        Largest number of parts of the square to evaluate.
    """
    stacks = []
    for polynomial in (f, g):
        stack = np.empty((2 * _HALVINGS + 3, *polynomial.coefficients.shape))
        stack[0] = polynomial.coefficients
        largest = np.abs(stack[0]).max()
        if not largest > 0.0:
            return Roots(np.empty((0, 2)), False, 0)
        stack[0] /= largest
        stacks.append(stack)
    roots, left = np.empty((_ROOTS, 2)), np.empty((_ROOTS, 2))
    boxes = np.empty((len(stacks[0]), _BOX))
    found, undecided, parts, all_seen = _search(*stacks, boxes, max_evaluations, roots, left)
    points = np.vstack([_polish(f, g, roots[:found]), left[: min(undecided, len(left))]])
    return Roots(points, bool(all_seen and undecided == 0), int(parts))


def _polish(f: Polynomial, g: Polynomial, points: FloatArray) -> FloatArray:
    """Refine roots by Newton's method on the whole polynomials."""
    if not len(points):
        return points
    derivatives = [[p.derivative(0), p.derivative(1)] for p in (f, g)]
    x = points.copy()
    for _ in range(40):  # only nearly double roots need many
        (fs, ft), (gs, gt) = ([d(x[:, 0], x[:, 1]) for d in row] for row in derivatives)
        f0, g0 = f(x[:, 0], x[:, 1]), g(x[:, 0], x[:, 1])
        determinant = fs * gt - ft * gs
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.stack([(ft * g0 - gt * f0) / determinant, (gs * f0 - fs * g0) / determinant], axis=1)
        step[~np.isfinite(step).all(axis=1)] = 0.0
        x += step
        if np.abs(step).max() < 1e-15:
            break
    return x
