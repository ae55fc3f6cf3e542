# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Superovoids, superellipsoids, ellipsoids and spheres: geometry only, no pose and no solver."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.shapes import superovoid_integrals
from superovoid.shapes.kernels import bodies, kinds, surface
from superovoid.shapes.kernels.bodies import MAX_EPSILON, MAX_TAPER, MIN_EPSILON
from superovoid.shapes.lazy import cached_property
from superovoid.shapes.shape import (
    ABOVE_ROUNDING,
    EMPTY_POOL,
    TESSELLATION_RESOLUTION,
    BoundingSphere,
    Shape,
    check_length,
    faces_around_z,
    numbers,
    points_of,
)
from superovoid.values.checks import floats, whole_number

FloatArray = NDArray[np.float64]

_SPHERE_HEIGHTS = 1201  # heights from the equator to a pole, for the bounding sphere
_SPHERE_STEP = 20  # the search for its centre uses every 20th of them


class ConvexityReport(NamedTuple):
    """Whether a body is convex, and how far it is from its convex hull."""

    convex: bool
    """True: proved. False: the body has a concavity, or is so close to having one that rounding decides."""
    concavity: float
    """Largest distance of the surface from the boundary of the convex hull, m, as measured on a grid of 49 azimuths and
    2001 heights: an estimate, which overlooks concavities of less than about 1e-7 of the body; 0 for a convex one."""


@dataclass(frozen=True)
class Superovoid(Shape):
    r"""Superellipsoid with a linear taper (Barr 1981; Gonçalves et al. 2017, eq. 5).

    The body is the set of points of its local frame with

    .. math::  F = \left(\left|\frac{x}{a_1 k_x}\right|^{2/\varepsilon_1} +
               \left|\frac{y}{a_2 k_y}\right|^{2/\varepsilon_1}\right)^{\varepsilon_1/\varepsilon_2}
               + \left|\frac{z}{a_3}\right|^{2/\varepsilon_2} - 1 \le 0,
               \qquad k_x = 1 + T_x z/a_3, \quad k_y = 1 + T_y z/a_3

    (eq. 5 as printed lacks the :math:`-1`).

    Parameters
    ----------
    semi_axes : (3,) array_like
        Semi-axes a1, a2, a3 along x, y, z, m; from 1e-30 to 1e30. They are half lengths, like those of an ellipsoid.
    section_exponent : float
        Exponent epsilon_1 of the sections z = const, in [1e-6, 1.999999], the limits of the arithmetic
        (docs/explanation/numerics.md). Towards 0 a rectangle, 1 an ellipse, towards 2 a rhombus.
    profile_exponent : float
        Exponent epsilon_2 of the profile along z, the half-width of the sections over z, in the same range. The two
        exponents have names because authors disagree on their order: `from_goncalves` and `from_barr` take pairs.
    taper : (2,) array_like
        Tapers Tx, Ty of the section's two half-widths, in [-0.5, 0.5]; positive widens towards +z.

    Raises
    ------
    ValueError
        If a parameter is out of range. The message has its name, its value and the allowed range.

    Notes
    -----
    Every combination of parameters is allowed; not every one is convex (`convexity`). With Tx = Ty = T the body is
    convex iff abs(T) <= (1 - epsilon_2 / 2) 2**(epsilon_2 / 2); the range of abs(T) <= 0.5 that the paper gives is not
    enough for epsilon_2 above 1.38, and with Tx != Ty and epsilon_2 < 1 a body is never convex, though the concavity is
    often microscopic (docs/explanation/numerics.md).

    Examples
    --------
    >>> finger_tip = Superovoid((0.006, 0.007, 0.011), section_exponent=0.9, profile_exponent=0.8, taper=(0.1, 0.1))
    >>> finger_tip.convexity().convex
    True
    """

    semi_axes: tuple[float, float, float]
    section_exponent: float = field(default=1.0, kw_only=True)
    profile_exponent: float = field(default=1.0, kw_only=True)
    taper: tuple[float, float] = field(default=(0.0, 0.0), kw_only=True)
    _kind: ClassVar[int] = kinds.SUPEROVOID

    if TYPE_CHECKING:  # the constructor accepts more types than the fields have

        def __init__(
            self,
            semi_axes: ArrayLike,
            *,
            section_exponent: float = 1.0,
            profile_exponent: float = 1.0,
            taper: ArrayLike = (0.0, 0.0),
        ) -> None: ...

    def __post_init__(self) -> None:
        owner = type(self).__name__
        for name, count in (("semi_axes", 3), ("taper", 2)):
            object.__setattr__(self, name, numbers(owner, name, getattr(self, name), count))
        for i, a in enumerate(self.semi_axes):
            check_length(f"{owner}.semi_axes[{i}]", a)
        for name in ("section_exponent", "profile_exponent"):
            object.__setattr__(self, name, _exponent(f"{owner}.{name}", getattr(self, name)))
        for i, t in enumerate(self.taper):
            if not abs(t) <= MAX_TAPER:
                raise ValueError(f"{owner}.taper[{i}] = {t}: must be in [-{MAX_TAPER}, {MAX_TAPER}]")

    @classmethod
    def from_goncalves(
        cls, semi_axes: ArrayLike, epsilon: ArrayLike = (1.0, 1.0), taper: ArrayLike = (0.0, 0.0)
    ) -> Superovoid:
        """Make a body from a pair of exponents in the order of Gonçalves et al. 2017: section, then profile.

        The URDF elements `superovoid` and `superellipsoid` and the messages have this order too.

        Parameters
        ----------
        semi_axes : (3,) array_like
            Semi-axes along x, y, z, m.
        epsilon : (2,) array_like
            ``(section_exponent, profile_exponent)``.
        taper : (2,) array_like
            As for `Superovoid`.

        Returns
        -------
        Superovoid
            A `Superellipsoid` if called on that class, which has no taper.

        Raises
        ------
        TypeError
            If called on a class without exponents.
        ValueError
            As for `Superovoid`, or if a `Superellipsoid` is given a taper.

        Examples
        --------
        >>> Superovoid.from_goncalves((1.0, 1.0, 2.0), (0.2, 1.0)).section_exponent
        0.2
        """
        section, profile = cls._exponents(epsilon)
        return cls._of_exponents(semi_axes, section, profile, taper)

    @classmethod
    def from_barr(
        cls, semi_axes: ArrayLike, epsilon: ArrayLike = (1.0, 1.0), taper: ArrayLike = (0.0, 0.0)
    ) -> Superovoid:
        """Make a body from a pair of exponents in the order of Barr 1981: profile, then section.

        Most libraries of superquadrics have this order (PCL, Open3D).

        Parameters
        ----------
        semi_axes : (3,) array_like
            Semi-axes along x, y, z, m.
        epsilon : (2,) array_like
            ``(profile_exponent, section_exponent)``: north-south, then east-west.
        taper : (2,) array_like
            As for `Superovoid`.

        Returns
        -------
        Superovoid
            As for `from_goncalves`.

        Raises
        ------
        TypeError, ValueError
            As for `from_goncalves`.

        Examples
        --------
        >>> Superovoid.from_barr((1.0, 1.0, 2.0), (0.2, 1.0)).section_exponent
        1.0
        """
        profile, section = cls._exponents(epsilon)
        return cls._of_exponents(semi_axes, section, profile, taper)

    @classmethod
    def _exponents(cls, epsilon: ArrayLike) -> list[float]:
        values = numbers(cls.__name__, "epsilon", epsilon, 2)
        return [_exponent(f"{cls.__name__}.epsilon[{i}]", value) for i, value in enumerate(values)]

    @classmethod
    def _of_exponents(cls, semi_axes: ArrayLike, section: float, profile: float, taper: ArrayLike) -> Superovoid:
        if cls is Superovoid:
            return cls(semi_axes, section_exponent=section, profile_exponent=profile, taper=taper)
        if cls is not Superellipsoid:
            raise TypeError(f"{cls.__name__}: has no exponents to choose; use Superovoid or Superellipsoid")
        if numbers(cls.__name__, "taper", taper, 2) != (0.0, 0.0):
            raise ValueError(f"Superellipsoid.taper = {taper!r}: must be (0, 0); use Superovoid")
        return Superellipsoid(semi_axes, section_exponent=section, profile_exponent=profile)

    # -- implicit form ---------------------------------------------------------------------------------------

    def _unit_coordinates(self, points: ArrayLike) -> tuple[FloatArray, ...]:
        p = points_of(points)
        w = p[..., 2] / self.semi_axes[2]
        kx = 1.0 + self.taper[0] * w
        ky = 1.0 + self.taper[1] * w
        with np.errstate(divide="ignore", invalid="ignore"):
            u = p[..., 0] / (self.semi_axes[0] * kx)
            v = p[..., 1] / (self.semi_axes[1] * ky)
        return u, v, w, kx, ky

    def implicit(self, points: ArrayLike) -> FloatArray:
        """Compute the inside-outside function F: negative inside, zero on the surface, positive outside.

        Parameters
        ----------
        points : (..., 3) array_like
            Points in the frame of the body, m.

        Returns
        -------
        (...) ndarray
            F, dimensionless. Infinite if the taper folds space there (k_x <= 0 or k_y <= 0): such points are outside.
        """
        u, v, w, kx, ky = self._unit_coordinates(points)
        s = 2.0 / self.profile_exponent
        with np.errstate(over="ignore", invalid="ignore"):
            value = self._ring(u, v)[0] ** s + np.abs(w) ** s - 1.0
        return np.where((kx > 0.0) & (ky > 0.0), value, np.inf)

    def gradient(self, points: ArrayLike) -> FloatArray:
        """Compute the gradient of F, derived from `implicit`.

        Gonçalves et al. 2017, eq. 6, has the same components if its eq. 4 (powers that keep the sign of their base)
        applies only to the powers (2/e - 1) of the coordinates, and all other powers are of absolute values.

        Parameters
        ----------
        points : (..., 3) array_like
            Points in the frame of the body, m.

        Returns
        -------
        (..., 3) ndarray
            1/m. Where a power has no finite derivative (an exponent below 1 at zero) the component is 0.
        """
        u, v, w, kx, ky = self._unit_coordinates(points)
        fu, fv, fw = self._unit_gradient(u, v, w)
        a1, a2, a3 = self.semi_axes
        tx, ty = self.taper[0] / kx, self.taper[1] / ky
        return np.stack([fu / (a1 * kx), fv / (a2 * ky), (fw - fu * u * tx - fv * v * ty) / a3], axis=-1)

    def _ring(self, u: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return r = (|u|^p + |v|^p)^(1/p), |u|/r and |v|/r, without powers of u and v, which underflow for large p."""
        au, av = np.abs(u), np.abs(v)
        larger = np.maximum(au, av)
        p = 2.0 / self.section_exponent
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            r = larger * (1.0 + np.where(larger > 0.0, np.minimum(au, av) / larger, 0.0) ** p) ** (1.0 / p)
            return r, np.where(r > 0.0, au / r, 0.0), np.where(r > 0.0, av / r, 0.0)

    def _unit_gradient(self, u: FloatArray, v: FloatArray, w: FloatArray) -> tuple[FloatArray, ...]:
        """Return the partial derivatives of F by u = x/(a1 kx), v = y/(a2 ky) and w = z/a3."""
        e1, e2 = self.section_exponent, self.profile_exponent
        p, s = 2.0 / e1, 2.0 / e2
        r, cu, cv = self._ring(u, v)
        fu = s * r ** (s - 1.0) * np.sign(u) * cu ** (p - 1.0)
        fv = s * r ** (s - 1.0) * np.sign(v) * cv ** (p - 1.0)
        fw = s * np.sign(w) * np.abs(w) ** (s - 1.0)
        return fu, fv, fw

    def hessian(self, points: ArrayLike) -> FloatArray:
        """Compute the Hessian of F.

        Parameters
        ----------
        points : (..., 3) array_like
            Points in the frame of the body, m.

        Returns
        -------
        (..., 3, 3) ndarray
            1/m^2. Infinite entries (exponents above 1 on a coordinate plane) are set to 0.
        """
        u, v, w, kx, ky = self._unit_coordinates(points)
        e1, e2 = self.section_exponent, self.profile_exponent
        p, s = 2.0 / e1, 2.0 / e2
        r, cu, cv = self._ring(u, v)
        fu, fv, _ = self._unit_gradient(u, v, w)
        outer, du, dv = s * _safe_power(r, s - 2.0), cu ** (p - 1.0), cv ** (p - 1.0)
        fuu = outer * ((p - 1.0) * _safe_power(cu, p - 2.0) + (s - p) * du * du)
        fvv = outer * ((p - 1.0) * _safe_power(cv, p - 2.0) + (s - p) * dv * dv)
        fuv = outer * (s - p) * du * dv * np.sign(u) * np.sign(v)
        fww = s * (s - 1.0) * _safe_power(np.abs(w), s - 2.0)
        a1, a2, a3 = self.semi_axes
        ix, iy, iz = 1.0 / (a1 * kx), 1.0 / (a2 * ky), 1.0 / a3
        tx, ty = self.taper[0] / kx, self.taper[1] / ky
        # u depends on x and z: du/dx = ix, du/dz = -u tx iz, d2u/dxdz = -tx ix iz, d2u/dz2 = 2 u tx^2 iz^2.
        uz, vz = -u * tx * iz, -v * ty * iz
        hxx, hyy, hxy = fuu * ix * ix, fvv * iy * iy, fuv * ix * iy
        hxz = ix * (fuu * uz + fuv * vz) - fu * tx * ix * iz
        hyz = iy * (fuv * uz + fvv * vz) - fv * ty * iy * iz
        hzz = fuu * uz * uz + 2.0 * fuv * uz * vz + fvv * vz * vz + fww * iz * iz
        hzz = hzz + 2.0 * (fu * u * tx * tx + fv * v * ty * ty) * iz * iz
        rows = [np.stack(r, axis=-1) for r in ((hxx, hxy, hxz), (hxy, hyy, hyz), (hxz, hyz, hzz))]
        return np.stack(rows, axis=-2)

    # -- parametric form --------------------------------------------------------------------------------------

    def surface_point(self, eta: ArrayLike, omega: ArrayLike) -> FloatArray:
        """Compute the surface point at two angles (Gonçalves et al. 2017, eqs. 3 and 4: sign(x) abs(x)**g powers).

        Parameters
        ----------
        eta : array_like
            Meridian angle in [-pi/2, pi/2], rad; z = a3 sin(eta)**epsilon_2.
        omega : array_like
            Angle around z in [-pi, pi], rad.

        Returns
        -------
        (..., 3) ndarray
            Points in the frame of the body, m.
        """
        eta, omega = np.broadcast_arrays(floats("eta", eta), floats("omega", omega))
        e1, e2 = self.section_exponent, self.profile_exponent
        r = _signed_power(np.cos(eta), e2)
        w = _signed_power(np.sin(eta), e2)
        a1, a2, a3 = self.semi_axes
        x = a1 * (1.0 + self.taper[0] * w) * r * _signed_power(np.cos(omega), e1)
        y = a2 * (1.0 + self.taper[1] * w) * r * _signed_power(np.sin(omega), e1)
        return np.stack([x, y, a3 * w], axis=-1)

    def normal(self, points: ArrayLike) -> FloatArray:
        """Compute the unit outward normal at points of the surface.

        Parameters
        ----------
        points : (..., 3) array_like
            Points of the surface in the frame of the body, m.

        Returns
        -------
        (..., 3) ndarray
            Unit vectors. For exponents above 1.5, a normal computed from a rounded point can be far off near the
            creases; use the normals in the results of `superovoid.distance` instead.
        """
        p = points_of(points)
        g = self.gradient(p)
        length = np.linalg.norm(g, axis=-1, keepdims=True)
        poles = np.zeros_like(g)
        poles[..., 2] = np.copysign(1.0, p[..., 2])
        with np.errstate(invalid="ignore"):
            return np.where(length == 0.0, poles, g / length)

    # -- support ----------------------------------------------------------------------------------------------

    @cached_property
    def _packed_row(self) -> FloatArray:
        """Numbers of the kernel row."""
        return self._row[: surface.BODY_LENGTH]

    def _holds(self, points: FloatArray) -> NDArray[np.bool_]:
        return self.implicit(points) <= 0.0

    def _fill(self, row: FloatArray) -> FloatArray:
        # Without the array of parameters: many pairs of new bodies take 0.7 of the time.
        bodies.pack(row, *self.semi_axes, self.section_exponent, self.profile_exponent, *self.taper)
        return EMPTY_POOL

    # -- bounding volumes ---------------------------------------------------------------------------------------

    @cached_property
    def _bounding_sphere(self) -> BoundingSphere:
        a1, a2, a3 = self.semi_axes
        p, s = 2.0 / self.section_exponent, 2.0 / self.profile_exponent
        if self.taper == (0.0, 0.0):
            radius = float(_farthest_distance(_farthest_distance(a1, a2, p), a3, s))
            return BoundingSphere(np.zeros(3), ABOVE_ROUNDING * radius)
        # Between two heights on one side of the equator the meridian radius r is at most that of the one closer to the
        # equator; the farthest point of the section for r = 1 is a norm of (a1 kx, a2 ky), convex in the height, and so
        # is |z - z0|. So both are at most the larger of their values at the two heights (docs/explanation/numerics.md).
        upper = np.sin(np.linspace(0.0, 0.5 * math.pi, _SPHERE_HEIGHTS))
        with np.errstate(divide="ignore"):
            r = (-np.expm1(s * np.log(upper))) ** (1.0 / s)
        w, r = np.concatenate([-upper[:0:-1], upper]), np.concatenate([r[:0:-1], r])
        z = a3 * w
        across = _farthest_distance(a1 * (1.0 + self.taper[0] * w), a2 * (1.0 + self.taper[1] * w), p)
        z0 = _middle((r * across)[::_SPHERE_STEP] / a3, w[::_SPHERE_STEP]) * a3
        across = np.maximum(r[1:], r[:-1]) * np.maximum(across[1:], across[:-1])
        along = np.abs(z - z0)
        radius = float(np.hypot(across, np.maximum(along[1:], along[:-1])).max())
        return BoundingSphere(np.array([0.0, 0.0, z0]), ABOVE_ROUNDING * radius)

    def bounding_sphere(self) -> BoundingSphere:
        """Return a sphere around the body, centred on its z axis (`BoundingSphere.centre`, `.radius`, m).

        It contains the body. Without taper the radius is exact; with a taper it is an upper bound, at most a thousandth
        too large.
        """
        return self._bounding_sphere._replace(centre=self._bounding_sphere.centre.copy())

    @cached_property
    def _integrals(self) -> tuple[float, FloatArray, FloatArray]:
        return superovoid_integrals.moments(self.semi_axes, self.section_exponent, self.profile_exponent, self.taper)

    def volume(self) -> float:
        """Return the volume, m^3."""
        return self._integrals[0]

    def _moments(self) -> tuple[FloatArray, FloatArray]:
        return self._integrals[1:]

    @cached_property
    def _surface(self) -> superovoid_integrals.Surface:
        return superovoid_integrals.Surface(self.semi_axes, self.section_exponent, self.profile_exponent, self.taper)

    def area(self) -> float:
        """Compute the area of the surface by quadrature, m^2, to a relative error of about 1e-12."""
        return self._surface.area()

    def _draw_surface(self, count: int, rng: np.random.Generator) -> FloatArray:
        return self._surface.draw(count, rng)

    # -- convexity ---------------------------------------------------------------------------------------------

    @cached_property
    def _concavity(self) -> float:
        """Return the largest gap between the section supports and their concave envelope, across the envelope.

        For an azimuth (nx, ny) the body's support is h = max_w a3 nz w + f(w) with f = r(w) g(w): the hull replaces f
        by its concave envelope, and the gap along a hull edge of slope df/dz is multiplied by the cosine of its
        inclination.
        """
        e2 = self.profile_exponent
        q = 2.0 / (2.0 - self.section_exponent)
        u = np.linspace(-1.0, 1.0, 2001)
        w = np.sign(u) * np.abs(u) ** 1.5
        r = (1.0 - np.abs(w) ** (2.0 / e2)).clip(0.0) ** (0.5 * e2)
        z = self.semi_axes[2] * w
        deepest = 0.0
        for angle in np.linspace(0.0, 0.5 * math.pi, 49):
            ax = abs(self.semi_axes[0] * math.cos(angle)) * (1.0 + self.taper[0] * w)
            ay = abs(self.semi_axes[1] * math.sin(angle)) * (1.0 + self.taper[1] * w)
            long, short = np.maximum(ax, ay), np.minimum(ax, ay)
            # q tends to infinity as e1 tends to 2; a power of a ratio below 1 does not overflow.
            ratio = np.divide(short, long, out=np.zeros_like(long), where=long > 0.0)
            f = r * long * (1.0 + ratio**q) ** (1.0 / q)
            keep = _upper_hull(z, f)
            gap = np.interp(z, z[keep], f[keep]) - f
            slope = np.interp(z, 0.5 * (z[keep][1:] + z[keep][:-1]), np.diff(f[keep]) / np.diff(z[keep]))
            deepest = max(deepest, float((gap / np.hypot(1.0, slope)).max()))
        return deepest

    def is_convex(self) -> bool:
        """Return whether the body equals its convex hull."""
        return bool(self._packed_row[surface.HAS_CONCAVITY] == 0.0)

    def convexity(self) -> ConvexityReport:
        """Return whether the body is convex, and how deep its concavity is (`ConvexityReport`)."""
        return ConvexityReport(True, 0.0) if self.is_convex() else ConvexityReport(False, self._concavity)

    # -- tessellation --------------------------------------------------------------------------------------------

    def triangles(self, resolution: int = TESSELLATION_RESOLUTION) -> tuple[FloatArray, NDArray[np.int64]]:
        """A closed mesh with its corners on the surface; see `Shape.triangles`."""
        meridians = whole_number("resolution", resolution, 4)
        parallels = max(3, meridians // 2)
        # Use even steps along the untapered curves: even angles would put too many or too few vertices at the corners.
        eta = even_angles(self.profile_exponent, parallels + 1, half=True, turn=0.5)[1:-1]
        omega = even_angles(self.section_exponent, meridians + 1, half=False, turn=0.5)[:-1]
        grid = self.surface_point(eta[:, None], omega[None, :]).reshape(-1, 3)
        poles = self.surface_point([-0.5 * math.pi, 0.5 * math.pi], [0.0, 0.0])
        vertices = np.vstack([grid, poles])
        return vertices, faces_around_z(len(eta), meridians)


def _exponent(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
        raise ValueError(f"{name} = {value!r}: must be a number")
    if not MIN_EPSILON <= value <= MAX_EPSILON:
        raise ValueError(f"{name} = {value}: must be in [{MIN_EPSILON}, {MAX_EPSILON}]")
    return float(value)


def _farthest_distance(a: ArrayLike, b: ArrayLike, p: float) -> FloatArray:
    """Return the largest distance from the origin on abs(x/a)**p + abs(y/b)**p = 1.

    By Hölder's inequality it is a norm of (a, b).
    """
    long, short = np.maximum(a, b), np.minimum(a, b)
    if p <= 2.0:
        return long
    k = 2.0 * p / (p - 2.0)
    return long * (1.0 + (short / long) ** k) ** (1.0 / k)


def _middle(across: FloatArray, along: FloatArray) -> float:
    """Return the place on an axis, in [-1, 1], where an approximately smallest sphere around points has its centre."""
    middle, half = 0.0, 1.0
    for _ in range(3):
        places = middle + half * np.linspace(-1.0, 1.0, 41)
        radii = np.hypot(across, along - places[:, None]).max(axis=1)  # convex in the place
        middle, half = float(places[radii.argmin()]), half / 20.0
    return middle


def _safe_power(base: FloatArray, exponent: float) -> FloatArray:
    """Return base**exponent for base >= 0, and 0 for a negative power of zero."""
    if exponent >= 0.0:
        return np.asarray(base**exponent)
    with np.errstate(divide="ignore"):
        value = base**exponent
    return np.where(np.isfinite(value), value, 0.0)


def _signed_power(base: FloatArray, exponent: float) -> FloatArray:
    """Return sign(x) abs(x)**g (Gonçalves et al. 2017, eq. 4); cos(pi/2) counts as 0."""
    base = np.where(np.abs(base) < 1e-15, 0.0, base)
    return np.sign(base) * np.abs(base) ** exponent


def _upper_hull(x: FloatArray, y: FloatArray) -> NDArray[np.int64]:
    """Return the indices of the upper convex hull of points with ascending x (Andrew's monotone chain)."""
    xs, ys = x.tolist(), y.tolist()  # single numbers are several times faster in Python than in numpy
    hull: list[int] = []
    for i in range(len(xs)):
        while len(hull) >= 2:
            a, b = hull[-2], hull[-1]
            if (xs[b] - xs[a]) * (ys[i] - ys[a]) - (ys[b] - ys[a]) * (xs[i] - xs[a]) < 0.0:
                break
            hull.pop()
        hull.append(i)
    return np.array(hull)


def even_angles(epsilon: float, count: int, half: bool, turn: float = 0.0) -> FloatArray:
    """Return the angles of points at even steps on abs(x)**(2/e) + abs(y)**(2/e) = 1, symmetric about the axes.

    The step between two points is a weighted sum of the turn of the tangent (weight `turn`) and the arc length. With
    arc length alone, a rounded corner would get a single edge; with the turn alone, a nearly flat side would.
    """
    t = np.linspace(0.0, 0.5 * math.pi, 2049)
    x, y = _signed_power(np.cos(t), epsilon), _signed_power(np.sin(t), epsilon)
    steps = np.diff(x), np.diff(y)
    length = np.concatenate([[0.0], np.cumsum(np.hypot(*steps))])
    length /= length[-1]
    if turn:
        way = np.unwrap(np.arctan2(steps[1], steps[0]))
        turned = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(way, prepend=way[0])))])
        if turned[-1] > 0.0:
            length = (1.0 - turn) * length + turn * turned / turned[-1]
    s = np.linspace(-1.0, 1.0, count) if half else np.linspace(-2.0, 2.0, count)
    quarter, rest = np.divmod(s, 1.0)
    return quarter * 0.5 * math.pi + np.interp(rest, length, t)


class Superellipsoid(Superovoid):
    """Superovoid without taper.

    Parameters
    ----------
    semi_axes : (3,) array_like
        Semi-axes along x, y, z, m; from 1e-30 to 1e30.
    section_exponent, profile_exponent : float
        Exponents in [1e-6, 1.999999], as for `Superovoid`.
    """

    def __init__(self, semi_axes: ArrayLike, *, section_exponent: float = 1.0, profile_exponent: float = 1.0) -> None:
        super().__init__(semi_axes, section_exponent=section_exponent, profile_exponent=profile_exponent)

    def __repr__(self) -> str:
        exponents = f"section_exponent={self.section_exponent}, profile_exponent={self.profile_exponent}"
        return f"Superellipsoid(semi_axes={self.semi_axes}, {exponents})"


class Ellipsoid(Superellipsoid):
    """Ellipsoid.

    Parameters
    ----------
    semi_axes : (3,) array_like
        Semi-axes along x, y, z, m; from 1e-30 to 1e30.
    """

    def __init__(self, semi_axes: ArrayLike) -> None:
        super().__init__(semi_axes)

    def __repr__(self) -> str:
        return f"Ellipsoid(semi_axes={self.semi_axes})"


class Sphere(Ellipsoid):
    """Sphere.

    Parameters
    ----------
    radius : float
        Radius, m; positive.
    """

    def __init__(self, radius: float) -> None:
        check_length("Sphere.radius", radius)
        super().__init__((radius, radius, radius))

    @property
    def radius(self) -> float:
        """Radius, m."""
        return self.semi_axes[0]

    def __repr__(self) -> str:
        return f"Sphere(radius={self.radius})"
