# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Proved bounds of the distances between bodies and a solid; they do not depend on samples.

The signed distance of a point from a body is that of a small ball about the point, plus the ball's radius. The
engine returns it as an interval that contains the true value (docs/explanation/certificates.md).

**Containment.**  A convex body contains a solid iff it contains the vertices of the solid's triangles.

**Uncovered distance.**  The signed distance from a convex body is a convex function, so over a triangle it is largest
at a corner.  Over a triangle, the distance from a union of bodies is therefore at most the minimum over the bodies of
their largest corner distance; each corner value is a lower bound of the maximum.  Triangles that may contain the
maximum are split.  A torus is a union of balls about points of a circle, so the distance from the ball nearest to the
middle of a triangle, which is convex, bounds that from the torus.

**Protrusion.**  The distance from the solid is 1-Lipschitz.  A body is covered with boxes of circumradius rho: a box
whose centre is farther than rho from the body is discarded; otherwise the distance of its points from the solid exceeds
that of its centre by at most rho.  Boxes that may contain the maximum are split.  Winding numbers, integers for closed
triangles, decide what is inside the solid.  For a convex solid there is a bound without boxes (`convex_solids`).

If the triangles are not closed, the protrusion is the largest distance from the triangles over points with a winding
number of at most one half.  The border of this set may lie anywhere.  So a box counts as inside only if the winding
number cannot fall to one half in it: away from the triangles its slope is at most the sum, over the edges of the rim,
of length / (4 pi distance^2) (the law of Biot and Savart for the solid angle).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from superovoid import contact
from superovoid.fitting.convex_solids import protrusion_from_convex, slack_of_convex
from superovoid.fitting.quality import Placed, split
from superovoid.fitting.targets import Target
from superovoid.fitting.triangle_tree import TriangleTree
from superovoid.shapes import Shape, Torus
from superovoid.values.records import Record

FloatArray = NDArray[np.float64]

_TIGHTEST = 1e-12  # width of intervals relative to the body, above rounding
_ROUNDED = 1e-12  # rounding errors of distances from triangles, relative to the largest coordinate
_HALF, _SURE = 0.5, 1e-9  # winding number at the border, and its rounding error
_CANDIDATES = 8  # number of farthest points tested for being outside
_ROUNDS = 40
# All links of the Panda with three bodies reach the interval width of a report with 64,000 pieces, not with 20,000.
_MOST_PIECES = 64_000
_CORNERS = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])


@dataclass(frozen=True)
class Interval(Record):
    """Proved bounds of a length, in the unit of the input."""

    lower: float
    upper: float

    def widen_by(self, by: float) -> Interval:
        """Return the interval for surfaces that are up to this length apart from those of the proof."""
        return Interval(max(0.0, math.nextafter(self.lower - by, -math.inf)), math.nextafter(self.upper + by, math.inf))

    def millimetres(self) -> str:
        """Return both ends in mm (for input in m), rounded outwards to 0.01 mm."""
        return f"{math.floor(1e5 * self.lower) / 100:.2f} to {math.ceil(1e5 * self.upper) / 100:.2f}"


def point_distances(shape: Shape, pose: FloatArray, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return proved lower and upper bounds of the signed distances of rows of points from a convex body."""
    found = contact.point_distances(shape, points, pose, rtol=_TIGHTEST)
    return found.lower, np.nextafter(found.upper, np.inf)


def containment_margin(shape: Shape, pose: FloatArray, points: FloatArray) -> float:
    """Return a proved lower bound of the depth of points in a convex body; if >= 0, it contains their hull.

    It is -inf for a torus, which may contain points without their hull.
    """
    if isinstance(shape, Torus):
        return -math.inf
    return -float(point_distances(shape, pose, np.unique(points, axis=0))[1].max())


def largest_uncovered(bodies: Placed, target: Target, atol: float) -> Interval:
    """Bound the largest distance of the solid's surface from the bodies; covered points have distance 0.

    Parameters
    ----------
    bodies : sequence of (Shape, (4, 4) ndarray)
        Convex bodies or tori, and their poses.
    target : Target
    atol : float
        Largest width of the interval, m. It is wider if it would take more than 64,000 pieces at once, for example if
        a body and the solid nearly coincide.
    """
    pieces = target.corners
    lower, settled = 0.0, 0.0
    for _ in range(_ROUNDS):
        corners, index = np.unique(pieces.reshape(-1, 3), axis=0, return_inverse=True)
        bounds = [point_distances(shape, pose, corners) for shape, pose in bodies]
        lower = max(lower, float(np.min([low for low, _ in bounds], axis=0).max()))
        each = [
            _largest_from_torus(shape, pose, pieces)
            if isinstance(shape, Torus)
            else high[index.reshape(-1, 3)].max(axis=1)
            for (shape, pose), (_, high) in zip(bodies, bounds, strict=True)
        ]
        upper = np.min(each, axis=0)
        # Pieces cover a triangle up to rounding errors of the edge midpoints.
        upper += _ROUNDED * float(np.abs(corners).max())
        is_open = upper > lower + atol
        settled = max(settled, float(upper[~is_open].max(initial=0.0)))
        if not is_open.any() or 4 * int(is_open.sum()) > _MOST_PIECES:
            settled = max(settled, float(upper[is_open].max(initial=0.0)))
            break
        pieces = split(pieces[is_open])
    else:
        settled = max(settled, float(upper[is_open].max(initial=0.0)))
    return _widen(lower, settled, target)


def _largest_from_torus(torus: Torus, pose: FloatArray, corners: FloatArray) -> FloatArray:
    """Return upper bounds of the largest signed distances of points of triangles (n, 3, 3) from a torus."""
    local = (corners - pose[:3, 3]) @ pose[:3, :3]
    middle = local.mean(axis=1)
    angle = np.arctan2(middle[:, 1], middle[:, 0])
    centres = torus.major_radius * np.column_stack([np.cos(angle), np.sin(angle), np.zeros(len(angle))])
    farthest = np.linalg.norm(local - centres[:, None], axis=2).max(axis=1)
    rounding = _ROUNDED * (float(np.abs(local).max()) + torus.major_radius)
    return np.asarray(farthest - torus.minor_radius + rounding)


def largest_protrusion(bodies: Placed, target: Target, atol: float) -> Interval:
    """Bound the largest distance of points of the bodies from the solid; points inside have distance 0.

    Parameters and limits are those of `largest_uncovered`.
    """
    lower, upper = 0.0, 0.0
    walls = _Walls(target)
    for shape, pose in bodies:
        surface = shape.triangles(64)[0] @ pose[:3, :3].T + pose[:3, 3]
        inside = point_distances(shape, pose, surface)[1] <= 1e-9 * target.radius
        if inside.any():
            # Surface points may be outside of the body by rounding errors.
            lower = max(lower, walls.farthest_distance(surface[inside], lower) - 1e-9 * target.radius)
    slack = slack_of_convex(target)
    for shape, pose in bodies:
        enough = lower + atol
        known = np.inf if slack is None else protrusion_from_convex(shape, pose, target, slack, enough)
        if known > enough:
            low, high = _protrusion(shape, pose, walls, atol, lower)
            lower, known = max(lower, low), min(known, high)
        upper = max(upper, known)
    return _widen(lower, upper, target)


def _widen(lower: float, upper: float, target: Target) -> Interval:
    """Return the interval, widened by the displacement of corners in the repair of the solid."""
    return Interval(max(0.0, lower - target.moved), max(lower, upper) + target.moved)


class _Walls:
    """Signed distances from the triangles of a solid, with proved signs."""

    def __init__(self, target: Target) -> None:
        self.target = target
        rim = target.rim
        self.length = float(np.linalg.norm(rim[:, 1] - rim[:, 0], axis=1).sum())
        # Edges are stored as degenerate triangles.
        self.rim = TriangleTree(rim[:, [0, 1, 1]]) if len(rim) else None

    def bounds(self, points: FloatArray, distance: FloatArray, reach: float) -> FloatArray:
        """Bound signed distances: no outside point within `reach` of a point exceeds its value by more than `reach`.

        `distance`: distances of the points from the triangles.
        """
        if self.rim is None:
            return np.where(self.target.contains(points), -distance, distance)
        near = np.linalg.norm(points - self.rim.nearest_points(points)[0], axis=1) - reach
        falls = reach * self.length / (4.0 * np.pi * np.maximum(near, 1e-150) ** 2)
        boxed = ((points - reach >= self.target.lower) & (points + reach <= self.target.upper)).all(axis=1)
        is_inside = boxed & (distance > reach) & (near > 0.0)
        is_inside[is_inside] = self.target.tree.winding(points[is_inside]) - falls[is_inside] > _HALF
        # Expansions select candidates; the proof uses the exact winding number.
        exact = self.target.tree.winding(points[is_inside], exact=True)
        is_inside[is_inside] = exact - falls[is_inside] > _HALF + _SURE
        return np.where(is_inside, -np.inf, distance)

    def farthest_distance(self, points: FloatArray, least: float) -> float:
        """Return the distance of an outside point, nearly the farthest; -inf if none is farther than `least`."""
        distance = self.target.distance(points)
        points, distance = points[distance > least], distance[distance > least]
        outside = ~self.target.contains(points)
        points, distance = points[outside], distance[outside]
        if self.rim is None:
            return float(distance.max(initial=-np.inf))
        first = np.argsort(-distance)[:_CANDIDATES]
        is_outside = self.target.tree.winding(points[first], exact=True) < _HALF - _SURE
        return float(distance[first][is_outside].max(initial=-np.inf))


def _protrusion(shape: Shape, pose: FloatArray, walls: _Walls, atol: float, lower: float) -> tuple[float, float]:
    low, high = shape.aabb(pose[:3, :3])
    edge = float((high - low).max())
    centres = np.array([pose[:3, 3] + 0.5 * (low + high)])
    settled = 0.0
    for _ in range(_ROUNDS):
        reach = 0.5 * np.sqrt(3.0) * edge * (1.0 + 1e-9)
        # The distance from the triangles is cheaper than its sign and the distance from the body, so compute it first.
        distance = walls.target.distance(centres)
        allowance = _ROUNDED * float(np.abs(centres).max() + walls.target.radius)
        matters = distance + reach + allowance > lower
        centres, distance = centres[matters], walls.bounds(centres[matters], distance[matters], reach)
        matters = distance + reach + allowance > lower
        centres, distance = centres[matters], distance[matters]
        near, sure = point_distances(shape, pose, centres) if len(centres) else (np.empty(0), np.empty(0))
        touches = near <= reach
        centres, distance, sure = centres[touches], distance[touches], sure[touches]
        if not len(centres):
            break
        lower = max(lower, walls.farthest_distance(centres[sure <= 0.0], lower) - allowance)
        upper = distance + reach + allowance
        is_open = upper > lower + atol
        settled = max(settled, float(upper[~is_open].max(initial=0.0)))
        if not is_open.any():
            break
        if 8 * int(is_open.sum()) > _MOST_PIECES:
            settled = max(settled, float(upper[is_open].max()))
            break
        edge *= 0.5
        centres = (centres[is_open][:, None, :] + edge * _CORNERS).reshape(-1, 3)
    else:
        settled = max(settled, float(upper[is_open].max(initial=0.0)))
    return lower, settled
