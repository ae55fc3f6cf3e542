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
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from superovoid_ros.contact import distances
from superovoid_ros.contact.records import Record
from superovoid_ros.fitting.convex_solids import protrusion_from_convex, slack_of_convex
from superovoid_ros.fitting.quality import Placed, split
from superovoid_ros.fitting.targets import Target
from superovoid_ros.shapes import Shape, Sphere

FloatArray = NDArray[np.float64]

_BALL = 2.0**-20  # of the ball about a point, m
_ROUNDED = 1e-12  # of the largest coordinate: what distances from triangles lose
_ROUNDS = 40
# Of the Panda's links with three bodies all reach the width of a report with these, and not all with 20,000.
_MOST_PIECES = 64_000
_CORNERS = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])


@dataclass(frozen=True)
class Interval(Record):
    """A length that is proved to lie between two, in the unit of the input."""

    lower: float
    upper: float


def point_distances(shape: Shape, pose: FloatArray, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Proved lower and upper bounds of the signed distances of rows of points from a convex body."""
    places = np.tile(np.eye(4), (len(points), 1, 1))
    places[:, :3, 3] = points
    found = distances(shape, pose, Sphere(_BALL), places)
    return np.nextafter(found.lower + _BALL, -np.inf), np.nextafter(found.upper + _BALL, np.inf)


def containment_margin(shape: Shape, pose: FloatArray, points: FloatArray) -> float:
    """Proved lower bound of how deep rows of points lie in a convex body; not negative: it holds their hull."""
    return -float(point_distances(shape, pose, np.unique(points, axis=0))[1].max())


def largest_uncovered(bodies: Placed, target: Target, tolerance: float) -> Interval:
    """Bounds of the largest distance of the solid's surface from the bodies; 0 where it is covered.

    Parameters
    ----------
    bodies : sequence of (Shape, (4, 4) ndarray)
        Convex.
    target : Target
    tolerance : float
        The bounds are no farther apart, unless that takes more than 64,000 pieces at once, as where a
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
        is_open = upper > lower + tolerance
        settled = max(settled, float(upper[~is_open].max(initial=0.0)))
        if not is_open.any() or 4 * int(is_open.sum()) > _MOST_PIECES:
            settled = max(settled, float(upper[is_open].max(initial=0.0)))
            break
        pieces = split(pieces[is_open])
    else:
        settled = max(settled, float(upper[is_open].max(initial=0.0)))
    return _widened(lower, settled, target)


def largest_protrusion(bodies: Placed, target: Target, tolerance: float) -> Interval:
    """Bounds of the largest distance of the bodies' points from the solid; 0 where they lie inside.

    Parameters and limits are those of `largest_uncovered`.
    """
    lower, upper = 0.0, 0.0
    for shape, pose in bodies:
        surface = shape.triangles(64)[0] @ pose[:3, :3].T + pose[:3, 3]
        inside = point_distances(shape, pose, surface)[1] <= 1e-9 * target.radius
        if inside.any():
            # Points that are off the surface by rounding are taken back by it.
            lower = max(lower, float(_outside(target, surface[inside]).max()) - 1e-9 * target.radius)
    slack = slack_of_convex(target)
    for shape, pose in bodies:
        enough = lower + tolerance
        known = np.inf if slack is None else protrusion_from_convex(shape, pose, target, slack, enough)
        if known > enough:
            low, high = _protrusion(shape, pose, target, tolerance, lower)
            lower, known = max(lower, low), min(known, high)
        upper = max(upper, known)
    return _widened(lower, upper, target)


def _widened(lower: float, upper: float, target: Target) -> Interval:
    """The interval, for triangles whose corners were moved to make them a solid."""
    return Interval(max(0.0, lower - target.moved), max(lower, upper) + target.moved)


def _outside(target: Target, points: FloatArray) -> FloatArray:
    """Signed distance from the solid."""
    return target.signed_distance(points)


def _protrusion(shape: Shape, pose: FloatArray, target: Target, tolerance: float, lower: float) -> tuple[float, float]:
    low, high = shape.aabb(pose[:3, :3])
    edge = float((high - low).max())
    centres = np.array([pose[:3, 3] + 0.5 * (low + high)])
    settled = 0.0
    for _ in range(_ROUNDS):
        reach = 0.5 * np.sqrt(3.0) * edge * (1.0 + 1e-9)
        # The distance from the triangles is had sooner than that from the body, so it goes first.
        distance = _outside(target, centres)
        allowance = _ROUNDED * float(np.abs(centres).max() + target.radius)
        matters = distance + reach + allowance > lower
        centres, distance = centres[matters], distance[matters]
        near, sure = point_distances(shape, pose, centres) if len(centres) else (np.empty(0), np.empty(0))
        touches = near <= reach
        centres, distance, sure = centres[touches], distance[touches], sure[touches]
        if not len(centres):
            break
        lower = max(lower, float(distance[sure <= 0.0].max(initial=0.0)) - allowance)
        upper = distance + reach + allowance
        is_open = upper > lower + tolerance
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
