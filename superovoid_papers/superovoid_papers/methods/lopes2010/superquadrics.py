# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The surfaces of Lopes et al. 2010, section 4: quadrics by their coefficients, superquadrics with three exponents."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar

from superovoid.compiled.powers import power
from superovoid.compiler.jit import kernel
from superovoid.shapes import Shape, Superovoid
from superovoid.shapes.shape import numbers

FloatArray = NDArray[np.float64]

# Layout of a packed surface: a11, a22, a33, a1, a2, a3, gamma1, gamma2, gamma3, the radius of a sphere around it, and
# its smallest dimension, which converts angles to lengths.
SQUARE, LINEAR, EXPONENT, RADIUS, SIZE = 0, 3, 6, 9, 10


@kernel
def _term(row, axis, x):
    """Return value, first and second derivative of ``a_ii |x|^gamma_i + a_i x``, from one power.

    In eqs. 37 to 39, (x^2)^(1/epsilon - 1) is |x|^(gamma - 2): at x = 0 it is 1 for gamma = 2, 0 above.
    """
    square, linear, exponent = row[SQUARE + axis], row[LINEAR + axis], row[EXPONENT + axis]
    bend = square if exponent == 2.0 else square * power(abs(x), exponent - 2.0)
    return (bend * x + linear) * x, exponent * bend * x + linear, exponent * (exponent - 1.0) * bend


@kernel
def surface(row, x):
    """Return F, its gradient and the diagonal of its diagonal Hessian: eqs. 25, 31, 32 and 37, 38, 39."""
    f1, g1, h1 = _term(row, 0, x[0])
    f2, g2, h2 = _term(row, 1, x[1])
    f3, g3, h3 = _term(row, 2, x[2])
    return f1 + f2 + f3 - 1.0, (g1, g2, g3), (h1, h2, h3)


@kernel
def is_closed(row):
    """Return whether the surface is an ellipsoid or superellipsoid: closed, convex, and symmetric about the origin."""
    return row[RADIUS] < math.inf


class _Surface(ABC):
    """Common interface of both kinds of surfaces."""

    @property
    @abstractmethod
    def _numbers(self) -> tuple[float, ...]:
        """Coefficients, linear coefficients and exponents."""

    @property
    @abstractmethod
    def dimensions(self) -> tuple[float, float, float]:
        """a, b, c, m."""

    @abstractmethod
    def bounding_radius(self) -> float:
        """Return the radius of a sphere about the origin around the surface, m; infinite for an open surface."""

    @cached_property
    def _row(self) -> FloatArray:
        """The row of numbers for the kernels."""
        return np.array((*self._numbers, self.bounding_radius(), min(self.dimensions)))

    def _evaluate(self, points: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        p = np.asarray(points, dtype=np.float64)
        if p.shape[-1:] != (3,):
            raise ValueError(f"points: must have shape (..., 3), found {p.shape}")
        values, gradients, bends = zip(*(surface(self._row, x) for x in p.reshape(-1, 3)), strict=True)
        return np.reshape(values, p.shape[:-1]), np.reshape(gradients, p.shape), np.reshape(bends, p.shape)

    def implicit(self, points: ArrayLike) -> FloatArray:
        """Return F (eqs. 25 and 37): negative inside, zero on the surface, positive outside.

        Parameters
        ----------
        points : (..., 3) array_like
            Points in the frame of the surface, m.

        Returns
        -------
        (...) ndarray
            Dimensionless.
        """
        return self._evaluate(points)[0]

    def gradient(self, points: ArrayLike) -> FloatArray:
        """Return the gradient of F (eqs. 31 and 38), 1/m; shapes as for `implicit`, with three components."""
        return self._evaluate(points)[1]

    def hessian(self, points: ArrayLike) -> FloatArray:
        """Return the diagonal of the Hessian of F (eqs. 32 and 39), 1/m^2; its other entries are zero."""
        return self._evaluate(points)[2]


def _dimensions(coefficients: tuple[float, ...], exponents: tuple[float, ...]) -> tuple[float, float, float]:
    pairs = zip(coefficients, exponents, strict=True)
    return tuple(abs(a) ** (-1.0 / gamma) if a else math.inf for a, gamma in pairs)


@dataclass(frozen=True)
class Quadric(_Surface):
    """Quadric in canonical form, eq. 25: a11 x^2 + a22 y^2 + a33 z^2 + a1 x + a2 y + a3 z - 1 = 0.

    Parameters
    ----------
    coefficients : (3,) array_like
        a11, a22, a33, 1/m^2.
    linear : (3,) array_like
        a1, a2, a3, 1/m; each must be 0 unless its square's coefficient is (eq. 26). In the paper they are 0, 1 or -1.

    Raises
    ------
    ValueError
        If a coordinate has both coefficients, or if no coordinate has a square.

    Examples
    --------
    >>> Quadric((1.0, 0.25, 0.25)).family
    'ellipsoid'
    >>> Quadric((1.0, 1.0, 0.0), (0.0, 0.0, -1.0)).family
    'elliptic paraboloid'
    """

    coefficients: tuple[float, float, float]
    linear: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        for name in ("coefficients", "linear"):
            object.__setattr__(self, name, numbers("Quadric", name, getattr(self, name), 3))
        for i, (square, linear) in enumerate(zip(self.coefficients, self.linear, strict=True)):
            if square and linear:
                raise ValueError(
                    f"Quadric.linear[{i}] = {linear}: must be 0 where coefficients[{i}] is not, found {square}"
                )
        if not any(self.coefficients):
            raise ValueError("Quadric.coefficients = (0, 0, 0): must not all be zero")

    @classmethod
    def ellipsoid(cls, dimensions: ArrayLike) -> Quadric:
        """Return the ellipsoid with semi-axes a, b, c, m (eq. 27)."""
        return cls([a**-2.0 for a in _positive("Quadric", dimensions)])

    @property
    def dimensions(self) -> tuple[float, float, float]:
        """a, b, c of eq. 27, m; infinite along an axis without a square."""
        return _dimensions(self.coefficients, (2.0, 2.0, 2.0))

    @property
    def family(self) -> str:
        """Row of table 3, up to the order of the axes and the side of the opening; "other" if it is missing there."""
        signs = sorted(float(np.sign(a)) for a in self.coefficients)
        opening = any(self.linear)
        names = {
            (1.0, 1.0, 1.0): "ellipsoid",
            (-1.0, 1.0, 1.0): "hyperboloid of one sheet",
            (-1.0, -1.0, 1.0): "hyperboloid of two sheets",
        }
        if opening and signs in ([0.0, 1.0, 1.0], [-1.0, -1.0, 0.0]):
            return "elliptic paraboloid"
        if opening and signs == [-1.0, 0.0, 1.0]:
            return "hyperbolic paraboloid"
        return names.get(tuple(signs), "other")

    @property
    def matrix(self) -> FloatArray:
        """Q of eq. 28, (4, 4): F = x^T Q x for x = (x, y, z, 1)."""
        q = np.diag((*self.coefficients, -1.0))
        q[3, :3] = q[:3, 3] = 0.5 * np.array(self.linear)
        return q

    @property
    def _numbers(self) -> tuple[float, ...]:
        return (*self.coefficients, *self.linear, 2.0, 2.0, 2.0)

    def bounding_radius(self) -> float:
        """Return the largest semi-axis of an ellipsoid, m; infinite for the other quadrics."""
        return max(self.dimensions) if self.family == "ellipsoid" else math.inf


@dataclass(frozen=True)
class Superquadric(_Surface):
    """Superquadric with an exponent for each axis, eq. 37: a11 |x|^g1 + a22 |y|^g2 + a33 |z|^g3 - 1 = 0.

    With g1 = g2 = g3 = g and positive coefficients it is a `superovoid.Superellipsoid` with both exponents 2/g. With
    three different exponents it is neither a shape of `superovoid.shapes` nor one of Barr's (eq. 33).

    Parameters
    ----------
    coefficients : (3,) array_like
        a11, a22, a33; positive for a superellipsoid (table 4). Their units are m^-g.
    exponents : (3,) array_like
        g1, g2, g3, at least 2. Below 2, F has no second derivative on a coordinate plane.

    Raises
    ------
    ValueError
        If a coefficient is zero or an exponent less than 2.
    """

    coefficients: tuple[float, float, float]
    exponents: tuple[float, float, float]

    def __post_init__(self) -> None:
        for name in ("coefficients", "exponents"):
            object.__setattr__(self, name, numbers("Superquadric", name, getattr(self, name), 3))
        for i, (a, gamma) in enumerate(zip(self.coefficients, self.exponents, strict=True)):
            if a == 0.0:
                raise ValueError(f"Superquadric.coefficients[{i}] = {a}: must not be zero")
            if not gamma >= 2.0:
                raise ValueError(f"Superquadric.exponents[{i}] = {gamma}: must be at least 2")

    @classmethod
    def superellipsoid(cls, dimensions: ArrayLike, exponents: ArrayLike) -> Superquadric:
        """Return the superellipsoid with semi-axes a, b, c, m, and exponents g1, g2, g3: the numbers of table 6."""
        sizes = _positive("Superquadric", dimensions)
        gammas = numbers("Superquadric", "exponents", exponents, 3)
        try:
            return cls([a**-gamma for a, gamma in zip(sizes, gammas, strict=True)], gammas)
        except OverflowError:
            raise ValueError(
                f"Superquadric.dimensions = {sizes}: with exponents {gammas} the coefficients are too large"
            ) from None

    @property
    def dimensions(self) -> tuple[float, float, float]:
        """a, b, c, m, of eq. 34."""
        return _dimensions(self.coefficients, self.exponents)

    @property
    def _numbers(self) -> tuple[float, ...]:
        return (*self.coefficients, 0.0, 0.0, 0.0, *self.exponents)

    def bounding_radius(self) -> float:
        """Return the radius of a sphere about a superellipsoid, m, which may exceed its largest semi-axis.

        With u_i = a_ii |x_i|^g_i the largest |x|^2 is that of sum a_i^2 u_i^(2/g_i) with u_i >= 0 and sum u_i = 1. For
        any multiplier mu of the sum, mu + sum_i max over u in [0, 1] of (a_i^2 u^(2/g_i) - mu u) is an upper bound
        (weak duality); the best multiplier gives equality.
        """
        if min(self.coefficients) < 0.0:
            return math.inf
        squares = np.square(self.dimensions)
        shares = 2.0 / np.array(self.exponents)

        def bound(price: float) -> float:
            with np.errstate(divide="ignore", over="ignore"):
                best = np.where(shares < 1.0, (squares * shares / price) ** (1.0 / (1.0 - shares)), squares > price)
            u = np.minimum(best, 1.0)
            return price + float((squares * u**shares - price * u).sum())

        found = minimize_scalar(bound, bounds=(0.0, float(squares.max())), method="bounded", options={"xatol": 1e-12})
        return math.sqrt(min(bound(float(found.x)), bound(float(squares.max())))) * (1.0 + 1e-12)


def _positive(owner: str, dimensions: ArrayLike) -> tuple[float, ...]:
    sizes = numbers(owner, "dimensions", dimensions, 3)
    for i, a in enumerate(sizes):
        if not a > 0.0:
            raise ValueError(f"{owner}.dimensions[{i}] = {a}: must be positive (metres)")
    return sizes


Body = Quadric | Superquadric | Superovoid


def pack(name: str, body: Body) -> FloatArray:
    """Return the row of a body: one of the paper's own kinds, or an equivalent shape of `superovoid.shapes`.

    Raises
    ------
    ValueError
        If a superovoid's surface is not of the form of eq. 37 with exponents of at least 2.
    TypeError
        If a body has another type.
    """
    if isinstance(body, _Surface):
        return body._row
    if not isinstance(body, Superovoid):
        kind = type(body).__name__
        hint = " (its surface is none of the paper's)" if isinstance(body, Shape) else ""
        raise TypeError(f"{name}: must be Quadric, Superquadric, Ellipsoid or Superellipsoid, found {kind}{hint}")
    if body.taper != (0.0, 0.0):
        raise ValueError(f"{name}.taper = {body.taper}: must be (0, 0)")
    first, second = body.section_exponent, body.profile_exponent
    if not first == second <= 1.0:
        raise ValueError(f"{name}: exponents must be the same, at most 1, found {first} and {second}")
    if first == 1.0:
        return Quadric.ellipsoid(body.semi_axes)._row
    return Superquadric.superellipsoid(body.semi_axes, np.full(3, 2.0 / first))._row
