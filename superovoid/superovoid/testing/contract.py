# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Check the promises of an answer about its points, with formulas that share no code with the engine.

Let u = point_b - point_a, n be the normal, d the distance, and [lower, upper] the interval. The following holds for
every status. Bodies count as apart if d > 0, otherwise (also at touch) as overlapping:

apart         lower <= |u| <= upper: the points realise the distance up to the interval; if the answer is proved, u is
              along n up to ten times the tolerance (exceptions far apart and with PRECISION:
              docs/explanation/numerics.md, 2)
overlapping   u = d n up to ten times the tolerance, if the answer is proved
both          the points lie on the surfaces up to the tolerance; for convex bodies
              g(n) = n . c - h_A(n) - h_B(-n) is at least `lower` up to the tolerance, so that a translation by -lower
              along n separates them; for a half-space, n is the normal of its plane
at touch      (lower <= 0 <= upper) of a convex and a non-convex body: if the answer is certified, the point of the
              convex body is its farthest along n up to ten times the tolerance

The distance of a point from a surface has a closed form for boxes, cylinders, cones, capsules and tori; it is computed
triangle by triangle for a mesh, and to first order from the gauge for a superovoid (`independent.surface_error`).

Unlike the checker (`superovoid.checker`), these formulas cover non-convex meshes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from superovoid.contact import DistanceResult, Status
from superovoid.shapes import Box, Capsule, Cone, Cylinder, HalfSpace, Mesh, Shape, Superovoid, Torus
from superovoid.testing import independent

FloatArray = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)
ROUNDING = 128.0 * EPS  # rounding errors of rotated, translated and compared points, relative to coordinates

KINDS = {
    "length": "apart, and |point_b - point_a| not within [lower, upper]",
    "surface": "a point off its surface by more than the tolerance",
    "along": "apart and proved, and point_b - point_a not along the normal",
    "depth": "overlapping and proved, and point_a - point_b not the depth along the normal",
    "farthest": "at touch and certified, and the point of the convex body not its farthest along the normal",
    "normal": "n no unit vector, not that of a plane, or g(n) < lower by more than the tolerance",
}


def in_frame(pose: FloatArray, point: FloatArray) -> FloatArray:
    """Transform a world point to the frame of a body."""
    return (point - pose[:3, 3]) @ pose[:3, :3]


def row_of(shape: Superovoid) -> FloatArray:
    """Return semi-axes, exponents and tapers in the format of `independent`."""
    return np.array([[*shape.semi_axes, shape.section_exponent, shape.profile_exponent, *shape.taper]])


@lru_cache(maxsize=4096)
def holds_its_hull(shape: Shape) -> bool:
    """Return whether a body is convex, by its kind or by an independent formula."""
    if isinstance(shape, Superovoid):
        tx, ty = shape.taper
        if tx == ty:
            return bool(abs(tx) <= independent.taper_limit(np.array(shape.profile_exponent)))
        return bool(independent.concavity(row_of(shape), 801)[0] <= 0.0)
    return not isinstance(shape, Torus) and not (isinstance(shape, Mesh) and not shape.is_convex())


def extent(shape: Shape) -> float:
    """Return the largest half extent of a body along the axes of its frame; 0 for a plane."""
    if isinstance(shape, HalfSpace):
        return 0.0
    if isinstance(shape, Superovoid):
        return max(shape.semi_axes)
    axes = np.concatenate([np.eye(3), -np.eye(3)])
    return max(support_value(shape, n) for n in axes)


def support_value(shape: Shape, n: FloatArray) -> float:
    """Return the support value h(n) of a body for a unit vector n in its frame."""
    if isinstance(shape, Superovoid):
        return float(independent.support(row_of(shape), n[None])[0][0])
    across = math.hypot(n[0], n[1])
    if isinstance(shape, Box):
        return float(0.5 * np.abs(n) @ np.asarray(shape.lengths))
    if isinstance(shape, Capsule):
        return shape.radius + 0.5 * shape.length * abs(n[2])
    if isinstance(shape, Cylinder):
        return shape.radius * across + 0.5 * shape.length * abs(n[2])
    if isinstance(shape, Cone):
        return max(0.5 * shape.length * n[2], shape.radius * across - 0.5 * shape.length * n[2])
    if isinstance(shape, Torus):
        return shape.major_radius * across + shape.minor_radius
    if isinstance(shape, HalfSpace):
        return 0.0 if across < 1e-9 and n[2] > 0.0 else math.inf
    return float((np.asarray(shape.vertices) @ n).max())


def _to_profile(rho: float, z: float, profile: list[tuple[float, float]]) -> float:
    """Return the distance of (rho, z) from a chain of segments."""
    best = math.inf
    for (r0, z0), (r1, z1) in itertools.pairwise(profile):
        dr, dz = r1 - r0, z1 - z0
        square = dr * dr + dz * dz
        t = min(1.0, max(0.0, ((rho - r0) * dr + (z - z0) * dz) / square)) if square > 0.0 else 0.0
        best = min(best, math.hypot(rho - r0 - t * dr, z - z0 - t * dz))
    return best


def _to_triangles(p: FloatArray, corners: FloatArray) -> float:
    """Return the distance of a point from triangles (k, 3, 3)."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    best = math.inf
    for start, end in ((a, b), (b, c), (c, a)):
        edge = end - start
        t = np.clip(np.einsum("ij,ij->i", p - start, edge) / np.einsum("ij,ij->i", edge, edge), 0.0, 1.0)
        best = min(best, float(np.linalg.norm(p - start - t[:, None] * edge, axis=1).min()))
    normal = np.cross(b - a, c - a)
    length = np.linalg.norm(normal, axis=1)
    flat = length > 0.0
    unit = normal[flat] / length[flat, None]
    inside = np.ones(int(flat.sum()), dtype=bool)
    for start, end in ((a, b), (b, c), (c, a)):
        edge = (end - start)[flat]
        inside &= np.einsum("ij,ij->i", np.cross(edge, p - start[flat]), unit) >= 0.0
    if inside.any():
        best = min(best, float(np.abs(np.einsum("ij,ij->i", p - a[flat], unit))[inside].min()))
    return best


def surface_distance(shape: Shape, p: FloatArray) -> float:
    """Return the distance of a point in the frame of a body from its surface; to first order for a superovoid."""
    if isinstance(shape, Superovoid):
        return float(independent.surface_error(row_of(shape), p[None])[0])
    if isinstance(shape, Box):
        gap = np.abs(p) - 0.5 * np.asarray(shape.lengths)
        outside = float(np.linalg.norm(np.maximum(gap, 0.0)))
        return outside if outside > 0.0 else float(-gap.max())
    rho, z = math.hypot(p[0], p[1]), float(p[2])
    if isinstance(shape, Capsule):
        half = 0.5 * shape.length
        return abs(math.hypot(rho, z - min(half, max(-half, z))) - shape.radius)
    if isinstance(shape, Cylinder):
        r, half = shape.radius, 0.5 * shape.length
        return _to_profile(rho, z, [(0.0, half), (r, half), (r, -half), (0.0, -half)])
    if isinstance(shape, Cone):
        half = 0.5 * shape.length
        return _to_profile(rho, z, [(0.0, half), (shape.radius, -half), (0.0, -half)])
    if isinstance(shape, Torus):
        return abs(math.hypot(rho - shape.major_radius, z) - shape.minor_radius)
    if isinstance(shape, HalfSpace):
        return abs(z)
    return _to_triangles(p, np.asarray(shape.vertices)[np.asarray(shape.faces)])


@dataclass(frozen=True)
class Breach:
    """A broken promise of an answer."""

    kind: str
    by: float  # m beyond the allowed error

    def __str__(self) -> str:
        return f"{self.kind} by {self.by:.3g} m: {KINDS[self.kind]}"


def breaches(
    a: Shape, pose_a: FloatArray, b: Shape, pose_b: FloatArray, result: DistanceResult, rtol: float = 1e-9
) -> Iterator[Breach]:
    """Yield the promises that an answer breaks.

    Parameters
    ----------
    a, b : Shape
    pose_a, pose_b : (4, 4) ndarray
        Body to world, m.
    result : DistanceResult
        Answer of `distance` for them.
    rtol : float
        The `rtol` of the query, as a fraction of the smaller body's largest semi-axis.
    """
    if result.status & Status.UNBOUNDED:
        return
    sizes = [extent(shape) for shape in (a, b)]
    unit = min(size for size in sizes if size > 0.0) if any(sizes) else 1.0
    coordinates = max(np.abs(pose_a[:3, 3]).max(), np.abs(pose_b[:3, 3]).max(), np.abs(result.point_a).max())
    rounding = ROUNDING * (sum(sizes) + float(np.linalg.norm(pose_b[:3, 3] - pose_a[:3, 3])) + coordinates)
    goal = rtol * unit + rounding
    n, u = result.normal, result.point_b - result.point_a
    length, width = float(np.linalg.norm(u)), result.upper - result.lower
    proved = not result.status & Status.UNPROVEN

    def breach(kind: str, by: float) -> Iterator[Breach]:
        if not by <= 0.0:
            yield Breach(kind, by)

    if result.distance > 0.0:
        yield from breach("length", max(result.lower - length, length - result.upper) - rounding)
        # n . u >= lower and |u| <= upper bound the part of u across the normal; nearby bodies must be more accurate.
        across = 10.0 * goal
        far = result.status != Status.CERTIFIED and result.distance > 10.0 * unit
        if not proved or far or result.status & Status.PRECISION:
            across += math.sqrt(width * (result.upper + max(result.lower, 0.0)))
        yield from breach("along", float(np.linalg.norm(u - max(u @ n, 0.0) * n)) - across)
    else:
        # The line along n leaves the Minkowski difference within the interval of the depth.
        slack = 10.0 * goal if proved else max(10.0 * goal, width + rounding)
        yield from breach("depth", float(np.linalg.norm(u - result.distance * n)) - slack)
    for shape, pose, point in ((a, pose_a, result.point_a), (b, pose_b, result.point_b)):
        yield from breach("surface", surface_distance(shape, in_frame(pose, point)) - goal)
    yield from breach("normal", abs(float(np.linalg.norm(n)) - 1.0) - 1e-12)
    planes = [
        sign * pose[:3, 2]
        for shape, pose, sign in ((a, pose_a, 1.0), (b, pose_b, -1.0))
        if isinstance(shape, HalfSpace)
    ]
    if planes:
        yield from breach("normal", float(np.linalg.norm(n - planes[0])) - 1e-12)
    hulls = holds_its_hull(a), holds_its_hull(b)
    if not planes and all(hulls):
        c = pose_b[:3, 3] - pose_a[:3, 3]
        g = float(n @ c) - support_value(a, n @ pose_a[:3, :3]) - support_value(b, -n @ pose_b[:3, :3])
        yield from breach("normal", result.lower - g - goal)
    if any(hulls) and not all(hulls) and result.status == Status.CERTIFIED and result.lower <= 0.0 <= result.upper:
        shape, pose, point, outward = (a, pose_a, result.point_a, n) if hulls[0] else (b, pose_b, result.point_b, -n)
        height = float(in_frame(pose, point) @ (outward @ pose[:3, :3]))
        yield from breach("farthest", support_value(shape, outward @ pose[:3, :3]) - height - 10.0 * goal)
