# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Proved bounds of how far bodies and a solid are from each other; nothing here rests on samples.

The signed distance of a point from a convex body is that of a small ball about it, plus its radius, which the engine
gives as an interval that holds the truth (docs/certificates.md).

**Containment.**  A convex body holds a solid iff it holds the vertices of the solid's triangles.

**Uncovered.**  The signed distance of a convex body is a convex function, so over a triangle it is largest at a corner.
Over a triangle the distance from the union is then at most the least over bodies of the largest at the corners, and at
least what it is at a corner.  Triangles between whose bounds the answer may lie are split.

**Protrusion.**  The distance from the solid changes by no more than the way.  Boxes that cover a body are split: a box
of circumradius rho whose centre is farther than rho from the body is left out; else no point of it is farther from the
solid than its centre by more than rho.  Inside and outside of the solid are told by winding numbers, which are whole
for closed triangles.  Of a convex solid there is a bound that needs no boxes (`convex_solids`).

Where triangles do not close, what is told is the largest distance from the triangles of points whose winding number is
at most one half.  These begin anywhere.  So a box counts as inside only where the number cannot fall to one half in it:
off the triangles its slope is at most the sum, over the edges of the rim, of length / (4 pi distance^2) (the law of
Biot and Savart for the solid angle).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from superovoid.contact import distances
from superovoid.fitting.convex_solids import protrusion_from_convex, slack_of_convex
from superovoid.fitting.quality import Placed, split
from superovoid.fitting.targets import Target
from superovoid.fitting.triangle_tree import TriangleTree
from superovoid.shapes import Shape, Sphere
from superovoid.values.records import Record

FloatArray = NDArray[np.float64]

_BALL = 2.0**-20  # of the ball about a point, m
_ROUNDED = 1e-12  # of the largest coordinate: what distances from triangles lose
_HALF, _SURE = 0.5, 1e-9  # winding number of the border, and what rounding may take of it
_LOOKED_AT = 8  # points of which the farthest that is proved to be outside is taken
_ROUNDS = 40
# Of the Panda's links with three bodies all reach the width of a report with these, and not all with 20,000.
_MOST_PIECES = 64_000
_CORNERS = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])


@dataclass(frozen=True)
class Interval(Record):
    """A length that is proved to lie between two, in the unit of the input."""

    lower: float
    upper: float

    def millimetres(self) -> str:
        """Return both ends in mm if they are in m, rounded outwards to 0.01 mm."""
        return f"{math.floor(1e5 * self.lower) / 100:.2f} to {math.ceil(1e5 * self.upper) / 100:.2f}"


def point_distances(shape: Shape, pose: FloatArray, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Proved lower and upper bounds of the signed distances of rows of points from a convex body."""
    places = np.tile(np.eye(4), (len(points), 1, 1))
    places[:, :3, 3] = points
    found = distances(shape, pose, Sphere(_BALL), places)
    return np.nextafter(found.lower + _BALL, -np.inf), np.nextafter(found.upper + _BALL, np.inf)


def containment_margin(shape: Shape, pose: FloatArray, points: FloatArray) -> float:
    """Proved lower bound of how deep rows of points lie in a convex body; not negative: it holds their hull."""
    return -float(point_distances(shape, pose, np.unique(points, axis=0))[1].max())


def largest_uncovered(bodies: Placed, target: Target, atol: float) -> Interval:
    """Bounds of the largest distance of the solid's surface from the bodies; 0 where it is covered.

    Parameters
    ----------
    bodies : sequence of (Shape, (4, 4) ndarray)
        Convex.
    target : Target
    atol : float
        The bounds are no farther apart than this, m, unless that takes more than 64,000 pieces at once, as where a
        body and the solid agree nearly everywhere.
    """
    pieces = target.corners
    lower, settled = 0.0, 0.0
    for _ in range(_ROUNDS):
        corners, index = np.unique(pieces.reshape(-1, 3), axis=0, return_inverse=True)
        bounds = [point_distances(shape, pose, corners) for shape, pose in bodies]
        lower = max(lower, float(np.min([low for low, _ in bounds], axis=0).max()))
        upper = np.min([high[index.reshape(-1, 3)].max(axis=1) for _, high in bounds], axis=0)
        # A middle of an edge rounds; the pieces of a triangle cover it but for that.
        upper += _ROUNDED * float(np.abs(corners).max())
        is_open = upper > lower + atol
        settled = max(settled, float(upper[~is_open].max(initial=0.0)))
        if not is_open.any() or 4 * int(is_open.sum()) > _MOST_PIECES:
            settled = max(settled, float(upper[is_open].max(initial=0.0)))
            break
        pieces = split(pieces[is_open])
    else:
        settled = max(settled, float(upper[is_open].max(initial=0.0)))
    return _widened(lower, settled, target)


def largest_protrusion(bodies: Placed, target: Target, atol: float) -> Interval:
    """Bounds of the largest distance of the bodies' points from the solid; 0 where they lie inside.

    Parameters and limits are those of `largest_uncovered`.
    """
    lower, upper = 0.0, 0.0
    walls = _Walls(target)
    for shape, pose in bodies:
        surface = shape.triangles(64)[0] @ pose[:3, :3].T + pose[:3, 3]
        inside = point_distances(shape, pose, surface)[1] <= 1e-9 * target.radius
        if inside.any():
            # Points that are off the surface by rounding are taken back by it.
            lower = max(lower, walls.farthest(surface[inside]) - 1e-9 * target.radius)
    slack = slack_of_convex(target)
    for shape, pose in bodies:
        enough = lower + atol
        known = np.inf if slack is None else protrusion_from_convex(shape, pose, target, slack, enough)
        if known > enough:
            low, high = _protrusion(shape, pose, walls, atol, lower)
            lower, known = max(lower, low), min(known, high)
        upper = max(upper, known)
    return _widened(lower, upper, target)


def _widened(lower: float, upper: float, target: Target) -> Interval:
    """The interval, for triangles whose corners were moved to make them a solid."""
    return Interval(max(0.0, lower - target.moved), max(lower, upper) + target.moved)


class _Walls:
    """The triangles of a solid, and which side of them points are on."""

    def __init__(self, target: Target) -> None:
        self.target = target
        rim = target.rim
        self.length = float(np.linalg.norm(rim[:, 1] - rim[:, 0], axis=1).sum())
        # Edges as triangles without area.
        self.rim = TriangleTree(rim[:, [0, 1, 1]]) if len(rim) else None

    def bounds(self, points: FloatArray, reach: float) -> FloatArray:
        """Signed distances; none of what is outside within `reach` of a point is farther out than its own plus that."""
        if self.rim is None:
            return self.target.signed_distance(points)
        distance = self.target.distance(points)
        near = np.linalg.norm(points - self.rim.nearest(points)[0], axis=1) - reach
        falls = reach * self.length / (4.0 * np.pi * np.maximum(near, 1e-150) ** 2)
        boxed = ((points - reach >= self.target.lower) & (points + reach <= self.target.upper)).all(axis=1)
        is_inside = boxed & (distance > reach) & (near > 0.0) & (self.target.tree.winding(points) - falls > _HALF)
        # Dipoles tell where it is worth while; the proof has every triangle.
        exact = self.target.tree.winding(points[is_inside], exact=True)
        is_inside[is_inside] = exact - falls[is_inside] > _HALF + _SURE
        return np.where(is_inside, -np.inf, distance)

    def farthest(self, points: FloatArray, signed: FloatArray | None = None) -> float:
        """Distance of a point that is outside, about that of the farthest; negative where there is none.

        Signed distances from triangles that close may be given, where they are known.
        """
        if self.rim is None:
            signed = self.target.signed_distance(points) if signed is None else signed
            return float(signed.max(initial=-np.inf))
        points = points[~self.target.contains(points)]
        distance = self.target.distance(points)
        first = np.argsort(-distance)[:_LOOKED_AT]
        is_outside = self.target.tree.winding(points[first], exact=True) < _HALF - _SURE
        return float(distance[first][is_outside].max(initial=-np.inf))


def _protrusion(shape: Shape, pose: FloatArray, walls: _Walls, atol: float, lower: float) -> tuple[float, float]:
    low, high = shape.aabb(pose[:3, :3])
    edge = float((high - low).max())
    centres = np.array([pose[:3, 3] + 0.5 * (low + high)])
    settled = 0.0
    for _ in range(_ROUNDS):
        reach = 0.5 * np.sqrt(3.0) * edge * (1.0 + 1e-9)
        # The distance from the triangles is had sooner than that from the body, so it goes first.
        distance = walls.bounds(centres, reach)
        allowance = _ROUNDED * float(np.abs(centres).max() + walls.target.radius)
        matters = distance + reach + allowance > lower
        centres, distance = centres[matters], distance[matters]
        near, sure = point_distances(shape, pose, centres) if len(centres) else (np.empty(0), np.empty(0))
        touches = near <= reach
        centres, distance, sure = centres[touches], distance[touches], sure[touches]
        if not len(centres):
            break
        lower = max(lower, walls.farthest(centres[sure <= 0.0], distance[sure <= 0.0]) - allowance)
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
