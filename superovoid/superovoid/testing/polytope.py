# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Signed distances that share no code with the engine: a polytope in the Minkowski difference.

The bodies come as support mappings only (direction in, farthest point out), written here anew. M = A - B is grown by a
ball of radius R until the origin is inside (R = 0 where the overlap is deep); sd(M + ball) = sd(M) - R, so one
procedure serves bodies that are apart and bodies that overlap. Support points of M + ball span a polytope: its facet
nearest to the origin bounds the depth from below, the support plane along that facet's normal from above. The facets
below the best support plane are split until the two bounds meet (expanding polytope, van den Bergen 2001; hulls by
Qhull). The answer is global: nothing is searched from a start.

The checker (`superovoid.checker`) judges an interval that is claimed; this computes a distance, which values of
other libraries can be compared with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

FloatArray = NDArray[np.float64]
Support = Callable[[FloatArray], FloatArray]
"""Maps directions, shape (n, 3), world, to the farthest points of a convex body, shape (n, 3), world."""

_BISECTIONS = 54


class Bracket(NamedTuple):
    """Signed distance of two convex bodies between two bounds, with the direction of the lower one."""

    lower: float
    """Largest g(n) = min n . b - max n . a found: no distance is below it."""
    upper: float
    """From the nearest facet of the inner polytope: no distance is above it, but for Qhull's rounding."""
    normal: FloatArray
    """Unit direction from A to B at which g takes the value `lower`, shape (3,), world."""

    @property
    def distance(self) -> float:
        """The value to compare with. g is flat at its maximum, so the lower bound is the sharper one."""
        return self.lower


def posed(local: Support, pose: FloatArray) -> Support:
    """Support mapping in the world of a body whose mapping in its own frame is given; pose (4, 4) body to world, m."""
    rotation, position = pose[:3, :3], pose[:3, 3]
    return lambda directions: local(directions @ rotation) @ rotation.T + position


def superovoid(size: FloatArray, epsilon: FloatArray, taper: FloatArray) -> Support:
    """Support mapping of a convex superovoid in its own frame.

    With the meridian angle t, r = cos(t)^e2 and w = sin(t)^e2, the farthest point of the section at w is that of a Lamé
    curve with semi-axes a_i (1 + T_i w) r, in closed form (Hölder). The height is where the derivative of
    a3 nz w + r g(w) with respect to w, times r^(2/e2-1), changes sign: the function is concave in w, so bisection in t
    finds it, whatever the exponents.

    Parameters
    ----------
    size, epsilon, taper : array_like
        Semi-axes (3), m; exponents (2); tapers (2).
    """
    a1, a2, a3 = size
    e1, e2 = epsilon
    tx, ty = taper
    q = 2.0 / (2.0 - e1)

    def section(w: FloatArray, nx: FloatArray, ny: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Support value g of the section at w for r = 1, and the unit Lamé curve's point that has it."""
        u, v = a1 * (1.0 + tx * w) * nx, a2 * (1.0 + ty * w) * ny
        largest = np.maximum(np.maximum(u, v), 1e-300)
        power_u, power_v = (u / largest) ** q, (v / largest) ** q
        total = np.maximum(power_u + power_v, 1e-300)  # Zero along the z axis, where the pole is farthest.
        return largest * total ** (1.0 / q), (power_u / total) ** (0.5 * e1), (power_v / total) ** (0.5 * e1)

    def support(n: FloatArray) -> FloatArray:
        nx, ny, nz = np.abs(n[:, 0]), np.abs(n[:, 1]), n[:, 2]
        low, high = np.full(len(n), -0.5 * np.pi), np.full(len(n), 0.5 * np.pi)
        for _ in range(_BISECTIONS):
            t = 0.5 * (low + high)
            sine, cosine = np.sin(t), np.cos(t)
            w = np.sign(sine) * np.abs(sine) ** e2
            g, x, y = section(w, nx, ny)
            slope = a1 * tx * nx * x + a2 * ty * ny * y  # dg/dw, by the envelope theorem
            rising = cosine ** (2.0 - e2) * (a3 * nz + cosine**e2 * slope) > (
                np.sign(sine) * np.abs(sine) ** (2.0 - e2) * g
            )
            low, high = np.where(rising, t, low), np.where(rising, high, t)
        t = 0.5 * (low + high)
        r, w = np.cos(t) ** e2, np.sign(t) * np.abs(np.sin(t)) ** e2
        _, x, y = section(w, nx, ny)
        return np.stack(
            [
                np.copysign(a1 * (1.0 + tx * w) * r * x, n[:, 0]),
                np.copysign(a2 * (1.0 + ty * w) * r * y, n[:, 1]),
                a3 * w,
            ],
            axis=1,
        )

    return support


def box(half_extents: FloatArray) -> Support:
    """Support mapping of a box: a corner."""
    return lambda n: np.copysign(half_extents, n)


def capsule(radius: float, length: float) -> Support:
    """Support mapping of a segment of a length on z, and all points within the radius of it; a sphere for length 0."""
    return lambda n: radius * n + np.copysign(0.5 * length, n[:, 2:]) * (0.0, 0.0, 1.0)


def _rim(radius: float, n: FloatArray) -> FloatArray:
    across = np.hypot(n[:, 0], n[:, 1])
    return n * (1.0, 1.0, 0.0) * (radius / np.maximum(across, 1e-300))[:, None]


def cylinder(radius: float, length: float) -> Support:
    """Support mapping of a cylinder about z: a point of a rim."""
    return lambda n: _rim(radius, n) + np.copysign(0.5 * length, n[:, 2:]) * (0.0, 0.0, 1.0)


def cone(radius: float, length: float) -> Support:
    """Support mapping of a cone about z, apex up, origin at half height: the apex or a point of the rim."""

    def support(n: FloatArray) -> FloatArray:
        rim = _rim(radius, n) - (0.0, 0.0, 0.5 * length)
        apex = np.array([0.0, 0.0, 0.5 * length])
        return np.where((np.einsum("ij,ij->i", rim, n) > n @ apex)[:, None], rim, apex)

    return support


def torus_hull(major_radius: float, minor_radius: float) -> Support:
    """Support mapping of a torus about z, and so of its convex hull."""
    return lambda n: _rim(major_radius, n) + minor_radius * n


def vertices(points: FloatArray) -> Support:
    """Support mapping of the convex hull of points, shape (m, 3): one of them."""
    return lambda n: points[np.argmax(n @ points.T, axis=1)]


def spread(count: int) -> FloatArray:
    """Directions spread evenly over the sphere (Fibonacci lattice), shape (count, 3)."""
    k = np.arange(count) + 0.5
    z = 1.0 - 2.0 * k / count
    angle = np.pi * (1.0 + 5.0**0.5) * k
    r = np.sqrt(1.0 - z**2)
    return np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=1)


def signed_distance(
    a: Support,
    b: Support,
    *,
    size: float,
    directions: FloatArray | None = None,
    rtol: float = 1e-11,
    points: int = 6000,
) -> Bracket:
    """Bracket the signed distance of two convex bodies: positive apart, minus the minimum translational distance else.

    Parameters
    ----------
    a, b : Support
        The bodies.
    size : float
        Length that the tolerance refers to, m.
    directions : (n, 3) ndarray, optional
        Directions to start from besides a spread over the sphere, for example the normals of flat faces.
    rtol : float
        Width of the bracket, in units of `size`, at which to stop.
    points : int
        Support points at which to stop all the same: where many directions are equally good (concentric spheres) no
        polytope is fine enough, and the bracket stays wide.
    """
    start = spread(200) if directions is None else np.vstack([spread(200), directions])
    start = start / np.linalg.norm(start, axis=1, keepdims=True)

    def difference(n: FloatArray) -> tuple[FloatArray, FloatArray]:
        m = a(n) - b(-n)
        return m, np.einsum("ij,ij->i", m, n)

    m, h = difference(start)
    best = int(np.argmin(h))
    lower, normal = -h[best], start[best]
    # A polytope of M itself is finite for polyhedra: no ball where the overlap is deep.
    radius = 0.0 if lower < -0.1 * size else max(0.0, lower) + size
    while True:  # Grow the ball until the polytope contains the origin.
        hull = ConvexHull(m + radius * start, incremental=True)
        if hull.equations[:, 3].max() < 0.0:
            break
        hull.close()
        radius = 2.0 * radius + size
    count = len(start)
    upper = np.inf
    while True:
        offset = -hull.equations[:, 3]
        upper = min(upper, radius - offset.min())
        if upper - lower <= rtol * size or count >= points:
            break
        open_facets = np.flatnonzero(offset < radius - lower - 0.5 * rtol * size)
        chosen = open_facets[np.argsort(offset[open_facets])][:48]
        # Many facets of a flat face share one normal.
        n = np.unique(np.round(hull.equations[chosen, :3], 15), axis=0)
        n /= np.linalg.norm(n, axis=1, keepdims=True)
        m, h = difference(n)
        best = int(np.argmin(h))
        if -h[best] > lower:
            lower, normal = -h[best], n[best]
        before = len(hull.vertices)
        try:
            hull.add_points(m + radius * n)
        except QhullError:  # Points too close for its precision: the bracket is as narrow as it gets.
            break
        count += len(n)
        if len(hull.vertices) == before and upper - lower < 1e-9 * size:
            break
    hull.close()
    return Bracket(float(lower), float(max(upper, lower)), normal)
