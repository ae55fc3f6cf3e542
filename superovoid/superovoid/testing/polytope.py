# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Signed distances from a polytope in the Minkowski difference, sharing no code with the engine.

The bodies are given by support mappings only (direction in, farthest point out), which are implemented independently
here. M = A - B is enlarged by a ball of radius R until it contains the origin (R = 0 for deep overlap); since
sd(M + ball) = sd(M) - R, one procedure serves both separated and overlapping bodies. Support points of M + ball span a
polytope. Its facet nearest to the origin bounds the depth from below, the support plane along that facet's normal from
above. Facets below the best support plane are split until the two bounds meet (expanding polytope, van den Bergen 2001;
hulls by Qhull). The result is global, independent of any starting point.

The checker (`superovoid.checker`) judges a claimed interval; this module computes a distance, with which values of
other libraries can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

FloatArray = NDArray[np.float64]
Support = Callable[[FloatArray], FloatArray]
"""Maps world directions, shape (n, 3), to the farthest points of a convex body, shape (n, 3), world."""

_BISECTIONS = 54


class Bracket(NamedTuple):
    """Bounds of the signed distance of two convex bodies, and the direction of the lower bound."""

    lower: float
    """Largest g(n) = min n . b - max n . a found; a lower bound of the distance."""
    upper: float
    """Upper bound from the nearest facet of the inner polytope, up to Qhull's rounding."""
    normal: FloatArray
    """Unit direction from A to B at which g takes the value `lower`, shape (3,), world."""

    @property
    def distance(self) -> float:
        """Best estimate: the lower bound, which is sharper because g is flat at its maximum."""
        return self.lower


def transform(local: Support, pose: FloatArray) -> Support:
    """Transform a support mapping from the body's frame to the world; pose (4, 4) is body to world, m."""
    rotation, position = pose[:3, :3], pose[:3, 3]
    return lambda directions: local(directions @ rotation) @ rotation.T + position


def superovoid(size: FloatArray, epsilon: FloatArray, taper: FloatArray) -> Support:
    """Return the support mapping of a convex superovoid in its own frame.

    With the meridian angle t, r = cos(t)^e2 and w = sin(t)^e2, the farthest point of the section at w is that of a Lamé
    curve with semi-axes a_i (1 + T_i w) r, in closed form (Hölder). The height is the point where the derivative of
    a3 nz w + r g(w) with respect to w, times r^(2/e2-1), changes sign. The function is concave in w, so bisection in t
    finds it for any exponents.

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
        """Return the support value g of the section at w for r = 1, and the point of the unit Lamé curve."""
        u, v = a1 * (1.0 + tx * w) * nx, a2 * (1.0 + ty * w) * ny
        largest = np.maximum(np.maximum(u, v), 1e-300)
        power_u, power_v = (u / largest) ** q, (v / largest) ** q
        total = np.maximum(power_u + power_v, 1e-300)  # zero along the z axis, whose support point is the pole
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
    """Return the support mapping of a box: a corner."""
    return lambda n: np.copysign(half_extents, n)


def capsule(radius: float, length: float) -> Support:
    """Return the support mapping of a segment of a length on z, enlarged by the radius; a sphere for length 0."""
    return lambda n: radius * n + np.copysign(0.5 * length, n[:, 2:]) * (0.0, 0.0, 1.0)


def _rim(radius: float, n: FloatArray) -> FloatArray:
    across = np.hypot(n[:, 0], n[:, 1])
    return n * (1.0, 1.0, 0.0) * (radius / np.maximum(across, 1e-300))[:, None]


def cylinder(radius: float, length: float) -> Support:
    """Return the support mapping of a cylinder about z: a point of a rim."""
    return lambda n: _rim(radius, n) + np.copysign(0.5 * length, n[:, 2:]) * (0.0, 0.0, 1.0)


def cone(radius: float, length: float) -> Support:
    """Return the support mapping of a cone about z, apex up, origin at half height: the apex or a rim point."""

    def support(n: FloatArray) -> FloatArray:
        rim = _rim(radius, n) - (0.0, 0.0, 0.5 * length)
        apex = np.array([0.0, 0.0, 0.5 * length])
        return np.where((np.einsum("ij,ij->i", rim, n) > n @ apex)[:, None], rim, apex)

    return support


def torus_hull(major_radius: float, minor_radius: float) -> Support:
    """Return the support mapping of a torus about z, and thus of its convex hull."""
    return lambda n: _rim(major_radius, n) + minor_radius * n


def vertices(points: FloatArray) -> Support:
    """Return the support mapping of the convex hull of points, shape (m, 3): one of the points."""
    return lambda n: points[np.argmax(n @ points.T, axis=1)]


def spread_directions(count: int) -> FloatArray:
    """Return directions spread evenly over the sphere (Fibonacci lattice), shape (count, 3)."""
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
    """Bound the signed distance of two convex bodies: positive if apart, otherwise minus the penetration depth.

    Parameters
    ----------
    a, b : Support
        The bodies.
    size : float
        Support mappings of the bodies.
    directions : (n, 3) ndarray, optional
        Initial directions in addition to a spread over the sphere, for example the normals of flat faces.
    rtol : float
        Width of the bracket, in units of `size`, at which to stop.
    points : int
        Maximum number of support points. If many directions are equally good (concentric spheres), no polytope is fine
        enough, and the bracket stays wide.
    """
    start = spread_directions(200) if directions is None else np.vstack([spread_directions(200), directions])
    start = start / np.linalg.norm(start, axis=1, keepdims=True)

    def difference(n: FloatArray) -> tuple[FloatArray, FloatArray]:
        m = a(n) - b(-n)
        return m, np.einsum("ij,ij->i", m, n)

    m, h = difference(start)
    best = int(np.argmin(h))
    lower, normal = -h[best], start[best]
    # A polytope of M itself is finite for polyhedra: no ball is needed for deep overlap.
    radius = 0.0 if lower < -0.1 * size else max(0.0, lower) + size
    while True:  # enlarge the ball until the polytope contains the origin
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
        except QhullError:  # the points are too close for Qhull's precision; the bracket cannot get narrower
            break
        count += len(n)
        if len(hull.vertices) == before and upper - lower < 1e-9 * size:
            break
    hull.close()
    return Bracket(float(lower), float(max(upper, lower)), normal)
