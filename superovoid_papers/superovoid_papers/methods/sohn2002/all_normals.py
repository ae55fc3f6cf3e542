# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""All common normals: the two equations as polynomials on both patches of an ellipsoid, and the feet of their roots.

Without the common factor of its coordinates, L(u, v) becomes (W D, M) with D, W of degree 2 and M of degree 4. F and G
of eqs. 38 and 39 then lose the factors W and W^2, and have degrees 6 and 12, as in the paper's footnote 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from superovoid.values.records import Record
from superovoid_papers.methods.sohn2002.bernstein import Polynomial, common_roots
from superovoid_papers.methods.sohn2002.congruences import (
    CIRCLE,
    CONE,
    CYLINDER,
    GENERAL,
    POINT,
    ROUND_X,
    ellipsoid_kind,
)
from superovoid_papers.methods.sohn2002.pluecker import ellipsoid_point

FloatArray = NDArray[np.float64]
Polynomials = tuple[Polynomial, Polynomial, Polynomial]

_OFF = 1e-6
"""Largest distance of the feet of a root from their common normal, relative to the bodies' size: double and nearly
double roots have only half of the digits."""
_SAME, _SAME_MULTIPLE = 1e-7, 1e-5
"""Pairs of feet closer than this, relative to the size, count as one; the latter if undecided parts remain."""


@dataclass(frozen=True, eq=False, repr=False)
class CommonNormals(Record):
    """Common normals of two bodies, one row for each pair of feet; a line with more feet has more rows."""

    point_a: FloatArray
    """Feet on A, (n, 3), world, m."""
    point_b: FloatArray
    """Feet on B, (n, 3), world, m."""
    normal_a: FloatArray
    """Outward unit normals of A at the feet, (n, 3), world; at a rim or an apex one of its normals."""
    normal_b: FloatArray
    """Outward unit normals of B at the feet, (n, 3), world: plus or minus `normal_a`."""
    gap: FloatArray
    """(point_b - point_a) . normal_a, (n,), m."""
    complete: bool
    """If true, the rows are proved to be all common normals, up to rounding. Otherwise there are multiple roots or
    curves of roots; the rows contain those found, with samples of curves."""

    def __len__(self) -> int:
        return len(self.gap)

    @property
    def are_opposite(self) -> NDArray[np.bool_]:
        """Whether the outward normals are opposite, as those of the closest points and the deepest contact."""
        return np.einsum("ij,ij->i", self.normal_a, self.normal_b) < 0.0


@dataclass(frozen=True)
class Congruence:
    """Lines (W D, M) with D, M and W polynomial on the unit square."""

    d: Polynomials
    m: Polynomials
    w: Polynomial

    def move(self, rotation: FloatArray, translation: FloatArray) -> Congruence:
        """Return the lines after a displacement x -> R x + t: direction R d, moment R m + t x R d."""
        d, m = ([_sum(row, p) for row in rotation] for p in (self.d, self.m))
        wd = [self.w * p for p in d]
        x, y, z = translation.tolist()
        return Congruence(
            tuple(d),
            (m[0] + (y * wd[2] - z * wd[1]), m[1] + (z * wd[0] - x * wd[2]), m[2] + (x * wd[1] - y * wd[0])),
            self.w,
        )


def _sum(factors: Sequence[float], polynomials: Sequence[Polynomial]) -> Polynomial:
    a, b, c = (float(f) * p for f, p in zip(factors, polynomials, strict=True))
    return a + b + c


def ellipsoid_congruence(radii: Sequence[float], pole: float) -> Congruence:
    """Return the normals of an ellipsoid (eq. 15) on the square around the unit disc, u = 2 s - 1, v = 2 t - 1."""
    a, b, c = radii
    u, v = Polynomial([[-1.0], [1.0]]), Polynomial([[-1.0, 1.0]])
    w, d = 1.0 + u * u + v * v, 1.0 - u * u - v * v
    return Congruence(
        (2.0 * b * c * u, 2.0 * a * c * v, pole * a * b * d),
        (
            2.0 * pole * (b * b - c * c) * a * v * d,
            2.0 * pole * (c * c - a * a) * b * u * d,
            4.0 * (a * a - b * b) * c * u * v,
        ),
        w,
    )


def congruence_equations(kind: int, parameters: Sequence[float], lines: Congruence) -> tuple[Polynomial, Polynomial]:
    """Return F and G of `congruences.equations` on polynomial lines, without the factors W and W^2."""
    (d1, d2, d3), (m1, m2, m3), ww = lines.d, lines.m, lines.w * lines.w
    if kind == CYLINDER:
        return d3, m3
    if kind == CONE:
        return d3 * d3 - parameters[0] * (d1 * d1 + d2 * d2), m3
    if kind == CIRCLE:
        m1, m2 = m1 + parameters[1] * (lines.w * d2), m2 - parameters[1] * (lines.w * d1)
        return m1 * m1 + m2 * m2 - parameters[0] ** 2 * (ww * (d3 * d3)), m3
    return squares_equations(kind, [float(r) ** 2 for r in parameters], lines)


def squares_equations(kind: int, squares: Sequence[float], lines: Congruence) -> tuple[Polynomial, Polynomial]:
    """Return F and G of x^2/A + y^2/B + z^2/C = 1 on polynomial lines; A, B, C of any sign (`quadric_pairs`)."""
    (d1, d2, d3), (m1, m2, m3), ww = lines.d, lines.m, lines.w * lines.w
    aa, bb, cc = squares
    p, q, r = d1 * d1, d2 * d2, d3 * d3
    g = (m1 * m1 + m2 * m2 + m3 * m3) * (aa * p + bb * q + cc * r)
    g = g - ww * ((aa - bb) ** 2 * (p * q) + (bb - cc) ** 2 * (q * r) + (cc - aa) ** 2 * (r * p))
    if kind == GENERAL:
        return (aa - bb) * (d2 * m2) + (aa - cc) * (d3 * m3), g
    return (m1, m2, m3)[kind - ROUND_X], g


def roots_on_ellipsoid(
    kind: int, parameters: Sequence[float], radii: FloatArray, rotation: FloatArray, translation: FloatArray
) -> tuple[list[tuple[FloatArray, FloatArray]], bool]:
    """Return points and outward unit normals of an ellipsoid for the lines of a congruence, in its frame.

    `rotation` and `translation` are the pose of the ellipsoid. The second result is true if these are proved to be all.
    """
    found, complete = [], True
    for pole in (1.0, -1.0):
        lines = ellipsoid_congruence(radii.tolist(), pole).move(rotation, translation)
        roots = common_roots(*congruence_equations(kind, parameters, lines))
        complete &= roots.complete
        for u, v in 2.0 * roots.points - 1.0:
            if u * u + v * v <= 1.0 + 1e-9:
                x, n = (np.array(y) for y in ellipsoid_point(tuple(radii.tolist()), u, v, pole))
                found.append((rotation @ x + translation, rotation @ n / np.linalg.norm(n)))
    return found, complete


Feet = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Point and outward normal on A, the same on B, in the frame of A."""


def ellipsoid_feet(
    a: FloatArray, b: FloatArray, rotation: FloatArray, translation: FloatArray
) -> tuple[list[Feet], bool]:
    """Return all pairs of feet of common normals of two ellipsoids of radii a and b; B at a pose in the frame of A."""
    kind = ellipsoid_kind(tuple(a.tolist()))
    if kind == POINT:
        if ellipsoid_kind(tuple(b.tolist())) == POINT:
            return sphere_feet(a[0], b[0], translation)
        # The sphere's normals have the simpler parametrisation, the other's the two equations.
        found, complete = ellipsoid_feet(b, a, rotation.T, -rotation.T @ translation)
        back = [(*(rotation @ v for v in (q, m, p, n)),) for p, n, q, m in found]
        return [(p + translation, n, q + translation, m) for p, n, q, m in back], complete
    found, complete = roots_on_ellipsoid(kind, a, b, rotation, translation)
    feet = []
    for x, n in found:
        y = a**2 * n / np.sqrt(n @ (a**2 * n))
        feet += [(sign * y, sign * n, x, n) for sign in (1.0, -1.0)]
    return feet, complete


def sphere_feet(a: float, b: float, translation: FloatArray) -> tuple[list[Feet], bool]:
    """Return the feet of two spheres: on the line of their centres, or on all lines through the common one."""
    length = np.linalg.norm(translation)
    if not length > 0.0:
        return [], False
    n = translation / length
    signs = [(s, t) for s in (1.0, -1.0) for t in (1.0, -1.0)]
    return [(s * a * n, s * n, translation + t * b * n, t * n) for s, t in signs], True


def _azimuth(x: FloatArray, n: FloatArray, size: float) -> FloatArray:
    """Return the horizontal unit vector from the axis to a point, or along a direction if the point is on the axis."""
    across = np.hypot(x[0], x[1])
    v = x if across > 1e-9 * size else n
    return np.array([v[0], v[1], 0.0]) / max(np.hypot(v[0], v[1]), 1e-300)


def _circle_feet(radius: float, height: float, x: FloatArray, n: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Generate the possible points of a line on a circle about z, each with the outward radial direction."""
    e = _azimuth(x, n, radius)
    for side in (1.0, -1.0):
        yield side * radius * e + np.array([0.0, 0.0, height]), side * e


def round_feet(
    kind: int, size: tuple[float, float], b: FloatArray, rotation: FloatArray, translation: FloatArray
) -> tuple[list[Feet], bool]:
    """Return all pairs of feet of common normals of a solid about z and an ellipsoid of radii b.

    The solid is that of `one_root.nearest_point`. The parts of a cylinder or a cone are its side, its flat ends, its
    rims and its apex.
    """
    radius, h = size
    feet: list[Feet] = []

    def solve(part: int, parameters: Sequence[float]) -> Iterator[tuple[FloatArray, FloatArray]]:
        nonlocal complete
        found, all_found = roots_on_ellipsoid(part, parameters, b, rotation, translation)
        complete &= all_found
        yield from found

    complete = True
    if kind == CIRCLE:
        for x, n in solve(CIRCLE, (radius, 0.0, 0.0)):
            for p, _ in _circle_feet(radius, 0.0, x, n):
                feet += [(p + s * h * n, s * n, x, n) for s in (1.0, -1.0)]
        return feet, complete
    rims = {CYLINDER: (h, -h), CONE: (-h,)}[kind]
    if kind == CYLINDER:
        for x, n in solve(CYLINDER, (0.0, 0.0, 0.0)):
            if abs(x[2]) <= h:
                feet += [(p, e, x, n) for p, e in _circle_feet(radius, x[2], x, n)]
    else:
        slope = np.array([2.0 * h, radius]) / np.hypot(2.0 * h, radius)  # outward: radial, up
        for x, n in solve(CONE, ((0.5 * radius / h) ** 2, 0.0, 0.0)):
            n_side = n if n[2] > 0.0 else -n
            e = np.array([n_side[0], n_side[1], 0.0]) / np.hypot(n_side[0], n_side[1])
            # Radial and axial position along the line from x; the side is slope . (radial, z - h) = 0.
            p = x - (slope @ (x @ e, x[2] - h)) * n_side
            if abs(p[2]) <= h:
                feet.append((p, slope[0] * e + np.array([0.0, 0.0, slope[1]]), x, n))
        feet += _apex_feet(radius, h, b, rotation, translation)
    for height in rims:
        up = np.sign(height)
        for x, n in solve(CIRCLE, (radius, height, 0.0)):
            for p, e in _circle_feet(radius, height, x, n):
                for normal in (n, -n):
                    # The normals of a rim lie between those of the end and the side.
                    tilt = 2.0 * h * normal[2] <= radius * (normal @ e) if kind == CONE else up * normal[2] >= 0.0
                    if normal @ e >= 0.0 and tilt:
                        feet.append((p, normal, x, n))
    for height in rims:
        up = np.array([0.0, 0.0, np.sign(height)])
        n_own = rotation.T @ up
        y = rotation @ (b**2 * n_own) / np.sqrt(n_own @ (b**2 * n_own))
        for s in (1.0, -1.0):
            x = translation + s * y
            if np.hypot(x[0], x[1]) <= radius:
                feet.append((np.array([x[0], x[1], height]), up, x, s * up))
    return feet, complete


def _apex_feet(radius: float, h: float, b: FloatArray, rotation: FloatArray, translation: FloatArray) -> Iterator[Feet]:
    """Generate the normals of the ellipsoid through a cone's apex: its common normals with a sphere around the apex."""
    apex = np.array([0.0, 0.0, h])
    found, complete = ellipsoid_feet(np.full(3, 0.1 * h), b, rotation, translation - apex)
    for _, n, x, m in _distinct_feet(found, complete, 0.1 * h + max(b)):
        if 2.0 * h * n[2] >= radius * np.hypot(n[0], n[1]):
            yield apex, n, x + apex, m


def _distinct_feet(feet: Sequence[Feet], complete: bool, size: float) -> list[Feet]:
    """Return the pairs of feet on a common normal, each once."""
    kept: list[Feet] = []
    same_within = _SAME if complete else _SAME_MULTIPLE
    for p, n, x, m in feet:
        between = x - p
        off = max(np.linalg.norm(np.cross(between, n)), np.linalg.norm(np.cross(between, m)), 0.0)
        if not off <= _OFF * size or not np.linalg.norm(np.cross(n, m)) <= _OFF:
            continue
        same = (
            max(np.abs(p - q).max(), np.abs(x - y).max()) <= same_within * size and n @ o > 0.0 for q, o, y, _ in kept
        )
        if not any(same):
            kept.append((p, n, x, m))
    return kept


def collect(feet: Sequence[Feet], complete: bool, size: float, pose: FloatArray) -> CommonNormals:
    """Return the distinct pairs of feet in the world: first those with opposite normals, closest first."""
    rows = np.array([np.concatenate(pair) for pair in _distinct_feet(feet, complete, size)]).reshape(-1, 4, 3)
    p, n, x, m = rows.transpose(1, 0, 2)
    gap = np.einsum("ij,ij->i", x - p, n)
    opposed = np.einsum("ij,ij->i", n, m) < 0.0
    order = np.lexsort((np.linalg.norm(x - p, axis=1), ~opposed))
    rotation, origin = pose[:3, :3], pose[:3, 3]
    world = [v[order] @ rotation.T + shift for v, shift in ((p, origin), (x, origin), (n, 0.0), (m, 0.0))]
    return CommonNormals(*world, gap[order], complete)
