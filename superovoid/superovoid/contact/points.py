# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Signed distances of points from bodies, and the first points of bodies on rays.

A point is a ball of the least radius that a shape may have, and a ray is such a ball that moves at a constant
velocity (`impact`). Tolerances of a pair are fractions of the smaller body; here they are fractions of the shape.

With several bodies, the search goes in the order of the bounds from their bounding spheres, and skips bodies that
cannot improve the best answer so far.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.contact.broadcasting import ROWS_AT_ONCE, Pairs, Shapes, Side, share_pairs
from superovoid.contact.columns import RESULT, RESULT_LENGTH
from superovoid.contact.impact import (
    FOUND,
    FOUND_LENGTH,
    FREE,
    IMPACT_TOLERANCE,
    MAX_SOLVES,
    ImpactStatus,
    find_impacts,
)
from superovoid.contact.inputs import TOLERANCE, check_rtol
from superovoid.contact.signed_distance import answer_rows
from superovoid.shapes import HalfSpace, Shape, Sphere
from superovoid.shapes.kernels.rounding import WIDENED
from superovoid.shapes.kernels.surface import SIZE
from superovoid.shapes.poses import as_poses
from superovoid.shapes.primitives import pack_shapes
from superovoid.values.checks import LEAST_LENGTH, MOST_LENGTH, floats, greatest_distance
from superovoid.values.poses import ORIGIN, PosesLike
from superovoid.values.records import Record, Result, ResultTable, Table
from superovoid.values.status import UNPROVEN, Status

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_INTERVAL = [RESULT.distance, RESULT.lower, RESULT.upper]
_POINT, _NORMAL = (slice(first, first + 3) for first in (RESULT.point_a, RESULT.normal))


@dataclass(frozen=True, eq=False, repr=False)
class PointDistance(Result):
    """Signed distance of a point from the nearest body."""

    distance: float
    """Signed distance, m: negative inside, minus the distance from the surface."""
    lower: float
    """Proved lower bound of it, m."""
    upper: float
    """Proved upper bound of it, m."""
    point: FloatArray
    """Nearest point of the surface, world, m, shape (3,)."""
    normal: FloatArray
    """Unit outward normal there, world, shape (3,)."""
    body: int
    """Index of the body."""
    status: Status


@dataclass(frozen=True, eq=False, repr=False)
class PointDistances(ResultTable):
    """`PointDistance` as arrays, one row per point."""

    distance: FloatArray
    lower: FloatArray
    upper: FloatArray
    point: FloatArray
    normal: FloatArray
    body: IntArray
    status: NDArray[np.uint8]
    """The flags of `Status` as numbers; `status_words` has them in words."""

    PER_ROW: ClassVar[tuple[str, ...]] = ("distance", "lower", "upper", "point", "normal", "body", "status")

    def _row(self, row: int) -> PointDistance:
        return self._make_row(PointDistance, row)


@dataclass(frozen=True, eq=False, repr=False)
class RayHit(Record):
    """Where a ray first meets a body."""

    distance: float
    """Proved free of bodies up to here, m along the ray; infinite if the ray meets none."""
    upper: float
    """A distance at which the ray is proved to be inside a body, m; infinite if none is found. The first contact is
    between `distance` and `upper`."""
    point: FloatArray
    """Point of the surface nearest to the end of the free part, world, m, shape (3,); nan if there is none."""
    normal: FloatArray
    """Unit outward normal there, world, shape (3,)."""
    body: int
    """Index of the body; -1 if there is none."""
    status: ImpactStatus


@dataclass(frozen=True, eq=False, repr=False)
class RayHits(Table):
    """`RayHit` as arrays, one row per ray."""

    distance: FloatArray
    upper: FloatArray
    point: FloatArray
    normal: FloatArray
    body: IntArray
    status: NDArray[np.uint8]
    """`ImpactStatus` of each row, as a number."""

    PER_ROW: ClassVar[tuple[str, ...]] = ("distance", "upper", "point", "normal", "body", "status")
    ENUMS = MappingProxyType({"status": ImpactStatus})

    def _row(self, row: int) -> RayHit:
        return self._make_row(RayHit, row)


class _Bodies:
    """Bodies at poses, and for each the row of a point on its scale."""

    def __init__(self, shapes: Shapes, poses: PosesLike) -> None:
        if not isinstance(shapes, Shape) and (isinstance(shapes, str) or not hasattr(shapes, "__len__")):
            raise TypeError(f"shapes: must be a shape or a sequence of shapes, found {type(shapes).__name__}")
        self.shapes = [shapes] if isinstance(shapes, Shape) else list(shapes)
        for i, shape in enumerate(self.shapes):
            if not isinstance(shape, Shape):
                raise TypeError(f"shapes[{i}]: must be a shape of superovoid.shapes, found {type(shape).__name__}")
        matrices = as_poses("poses", poses)
        count = len(self.shapes)
        if matrices.shape not in ((4, 4), (count, 4, 4)):
            raise ValueError(f"poses: must be one pose or one for each of {count} shapes, found shape {matrices.shape}")
        self.poses = np.ascontiguousarray(np.broadcast_to(matrices, (count, 4, 4)))
        self._rows, self._pool = pack_shapes(self.shapes)
        self._points = np.repeat(Sphere(LEAST_LENGTH)._row[None], count, axis=0)
        self._points[:, SIZE] = np.where(np.isfinite(self._rows[:, SIZE]), self._rows[:, SIZE], 1.0)
        spheres = [shape.bounding_sphere() for shape in self.shapes]
        local = np.array([sphere.centre for sphere in spheres]).reshape(-1, 3)
        self.centres = np.einsum("nij,nj->ni", self.poses[:, :3, :3], local) + self.poses[:, :3, 3]
        self.radii = np.array([sphere.radius for sphere in spheres])

    def parts(self, count: int) -> Iterator[slice]:
        """Split a number of points or rays into slices that fit in memory."""
        size = max(1, ROWS_AT_ONCE // max(1, len(self.shapes)))
        return (slice(first, first + size) for first in range(0, count, size))

    def pairs_with(self, points: FloatArray, body: IntArray) -> Pairs:
        """Return the pairs of bodies and points."""
        places = np.tile(np.eye(4), (len(points), 1, 1))
        places[:, :3, 3] = points
        return Pairs(
            Side(self._rows, self._pool, body, self.poses[body]), Side(self._points, self._pool[:1], body, places)
        )


def _rows(name: str, values: ArrayLike, most: float = MOST_LENGTH) -> FloatArray:
    """Return points or directions as rows, finite and within a limit."""
    rows = floats(name, values)
    if rows.ndim != 2 or rows.shape[1] != 3:
        raise ValueError(f"{name}: must have shape (n, 3), found {rows.shape}")
    if not np.isfinite(rows).all():
        raise ValueError(f"{name}: must be finite, found nan or inf")
    farthest = np.abs(rows).max(initial=0.0)
    if farthest > most:
        raise ValueError(f"{name}: coordinates must be within {most:g} m, found {farthest:.3g}")
    return np.ascontiguousarray(rows)


def point_distances(
    shapes: Shapes,
    points: ArrayLike,
    poses: PosesLike = ORIGIN,
    *,
    rtol: float = TOLERANCE,
    threads: int | None = None,
) -> PointDistances:
    """Compute the signed distances of points from the nearest of some bodies.

    Parameters
    ----------
    shapes : Shape or sequence of Shape
        The bodies, of any kinds.
    points : (n, 3) array_like
        World frame, m.
    poses : (4, 4) or (m, 4, 4) array_like, or another form of poses, optional
        Of the bodies, body to world, m, one for each or one for all; default: the origin.
    rtol : float, optional
        Width of the interval [lower, upper] that counts as certified, as a fraction of the body's largest semi-axis.
    threads : int, optional
        Number of threads; None: one per processor, or fewer if the call is short.

    Returns
    -------
    PointDistances
        One row per point. For a point in several bodies, it describes the body in which the point is deepest.

    Raises
    ------
    ValueError
        If a point is not finite, or the poses are neither one for each body nor one for all.
    TypeError
        If a shape is not a `Shape`.

    Examples
    --------
    >>> from superovoid import Box, Sphere, point_distances
    >>> bodies = [Sphere(1.0), Box((2.0, 2.0, 2.0))]
    >>> found = point_distances(bodies, [(3.0, 0.0, 0.0)], [(0.0, 0.0, 0.0), (5.5, 0.0, 0.0)])
    >>> found.distance.round(12), found.body
    (array([1.5]), array([1]))
    """
    bodies, points, rtol = _Bodies(shapes, poses), _rows("points", points), check_rtol(rtol)
    rows = np.full((len(points), RESULT_LENGTH), math.nan)
    rows[:, _INTERVAL] = math.inf
    rows[:, RESULT.status] = 0.0
    body = np.full(len(points), -1)
    for part in bodies.parts(len(points)):
        _find_nearest(bodies, points[part], rtol, threads, rows[part], body[part])
    return PointDistances(
        rows[:, RESULT.distance],
        rows[:, RESULT.lower],
        rows[:, RESULT.upper],
        rows[:, _POINT],
        rows[:, _NORMAL],
        body,
        rows[:, RESULT.status].astype(np.uint8),
    )


def _find_nearest(
    bodies: _Bodies, points: FloatArray, rtol: float, threads: int | None, best: FloatArray, body: IntArray
) -> None:
    """Store the answer and the index of the nearest body of each point in `best` and `body`."""
    off = np.linalg.norm(points[:, None] - bodies.centres, axis=2)
    bounds = (1.0 - 1e-12) * off - bodies.radii  # lower bounds of the signed distances, rounding included
    order = np.argsort(bounds, axis=1)
    for rank in range(len(bodies.shapes)):
        asked = order[:, rank]
        (which,) = np.nonzero(~(bounds[np.arange(len(points)), asked] > best[:, RESULT.upper]))
        if not len(which):
            return
        found = answer_rows(bodies.pairs_with(points[which], asked[which]), rtol, threads)
        # The ball around a point is closer by its radius, which is below rounding unless the body is as small.
        found[:, _INTERVAL] += LEAST_LENGTH
        former = best[which]
        nearer = found[:, RESULT.distance] < former[:, RESULT.distance]
        chosen = np.where(nearer[:, None], found, former)
        # The distance is at least the smallest lower bound. If another body has it, the answer is unproven.
        lower = np.minimum(found[:, RESULT.lower], former[:, RESULT.lower])
        is_open = chosen[:, RESULT.lower] - lower > rtol * bodies._points[asked[which], SIZE]
        flags = chosen[:, RESULT.status].astype(np.int64) | np.where(is_open, UNPROVEN, 0)
        chosen[:, RESULT.lower], chosen[:, RESULT.status] = lower, flags
        chosen[:, RESULT.upper] = np.minimum(found[:, RESULT.upper], former[:, RESULT.upper])
        best[which] = chosen
        body[which[nearer]] = asked[which[nearer]]


def cast_rays(
    shapes: Shapes,
    origins: ArrayLike,
    directions: ArrayLike,
    poses: PosesLike = ORIGIN,
    *,
    max_distance: float = math.inf,
    rtol: float = IMPACT_TOLERANCE,
    threads: int | None = None,
) -> RayHits:
    """Find the first point of a body on each ray, by steps proved free of contact.

    Parameters
    ----------
    shapes : Shape or sequence of Shape
        The bodies, of any kinds.
    origins : (n, 3) or (3,) array_like
        Origins of the rays, world frame, m; one for each ray or one for all.
    directions : (n, 3) or (3,) array_like
        Directions of the rays, world frame, of any length but zero.
    poses : (4, 4) or (m, 4, 4) array_like, or another form of poses, optional
        Of the bodies, body to world, m, one for each or one for all; default: the origin.
    max_distance : float, optional
        Length of the rays, m.
    rtol : float, optional
        Gap that counts as a hit, as a fraction of the body's largest semi-axis. At large coordinates, the rounding
        error is added.
    threads : int, optional
        Number of threads; None: one per processor, or fewer if the call is short.

    Returns
    -------
    RayHits
        One row per ray. The status is `ImpactStatus.FREE` if the ray meets no body; the distance is 0 if the ray begins
        in a body.

    Raises
    ------
    ValueError
        If a number is not finite, a direction is zero, or lengths differ.
    TypeError
        If a shape is not a `Shape`.

    Examples
    --------
    >>> from superovoid import Ellipsoid, cast_rays
    >>> hits = cast_rays(Ellipsoid((1.0, 2.0, 3.0)), (5.0, 0.0, 0.0), [(-1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])
    >>> hits.distance.round(5), hits.body
    (array([ 4., inf]), array([ 0, -1]))
    """
    bodies, rtol = _Bodies(shapes, poses), check_rtol(rtol)
    starts = _rows("origins", np.atleast_2d(origins))
    ray_directions = _rows("directions", np.atleast_2d(directions), math.inf)
    try:
        starts, ray_directions = np.broadcast_arrays(starts, ray_directions)
    except ValueError:
        raise ValueError(f"origins, directions: found {len(starts)} and {len(ray_directions)}") from None
    largest = np.abs(ray_directions).max(axis=1, keepdims=True, initial=0.0)
    if not (largest > 0.0).all():
        raise ValueError("directions: must not be zero")
    ray_directions = ray_directions / largest
    ray_directions = ray_directions / np.linalg.norm(ray_directions, axis=1, keepdims=True)
    end = greatest_distance(max_distance)
    if not end > 0.0:
        raise ValueError(f"max_distance = {max_distance!r}: must be positive (metres)")
    count = len(starts)
    hits = RayHits(
        np.full(count, math.inf),
        np.full(count, math.inf),
        np.full((count, 3), math.nan),
        np.full((count, 3), math.nan),
        np.full(count, -1),
        np.full(count, FREE, dtype=np.uint8),
    )
    for part in bodies.parts(count):
        _first_hits(bodies, starts[part], ray_directions[part], end, rtol, threads, hits[part])
    return hits


def _first_hits(
    bodies: _Bodies,
    starts: FloatArray,
    ray_directions: FloatArray,
    end: float,
    rtol: float,
    threads: int | None,
    hits: RayHits,
) -> None:
    """Store the first hit of each ray in `hits`."""
    enter, leave = _chords(bodies, starts, ray_directions)
    order = np.argsort(enter, axis=1)
    rays = np.arange(len(starts))
    for rank in range(len(bodies.shapes)):
        asked = order[:, rank]
        limit = np.minimum(np.minimum(leave[rays, asked], end), hits.distance)
        (which,) = np.nonzero(enter[rays, asked] < limit)
        if not len(which):
            return
        far = limit[which]
        motions = np.zeros((len(which), 9))
        motions[:, 3:6] = far[:, None] * ray_directions[which]
        found, rows = np.empty((len(which), FOUND_LENGTH)), np.empty((len(which), RESULT_LENGTH))
        pairs = bodies.pairs_with(starts[which], asked[which])
        given = np.zeros((1, 9)), motions, 1.0, rtol, MAX_SOLVES
        share_pairs(
            np.arange(len(which)),
            lambda some, work: find_impacts(pairs, some, *given, work, found, rows),  # noqa: B023 - called in this round
            threads,
        )
        is_hit = found[:, FOUND.status] != FREE
        ray, row = which[is_hit], rows[is_hit]
        hits.distance[ray] = far[is_hit] * found[is_hit, FOUND.time]
        hits.upper[ray] = far[is_hit] * found[is_hit, FOUND.overlap_time]
        hits.point[ray], hits.normal[ray] = row[:, _POINT], row[:, _NORMAL]
        hits.body[ray], hits.status[ray] = asked[ray], found[is_hit, FOUND.status]


def _chords(bodies: _Bodies, starts: FloatArray, ray_directions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return where rays enter and leave bounding spheres, m, a row per ray; inf if a ray misses a sphere."""
    to_centre = bodies.centres - starts[:, None]
    along = np.einsum("nmi,ni->nm", to_centre, ray_directions)
    across = np.linalg.norm(to_centre - along[..., None] * ray_directions[:, None], axis=2)
    reach = WIDENED * bodies.radii + 1e-12 * np.linalg.norm(to_centre, axis=2)
    with np.errstate(invalid="ignore"):
        half = np.sqrt((reach - across) * (reach + across))
    enter, leave = np.maximum(along - half, 0.0), WIDENED * (along + half)
    enter[~(across <= reach) | (leave < 0.0)] = math.inf
    for k in (k for k, shape in enumerate(bodies.shapes) if isinstance(shape, HalfSpace)):
        up = bodies.poses[k, :3, 2]
        height, fall = (starts - bodies.poses[k, :3, 3]) @ up, -(ray_directions @ up)
        with np.errstate(divide="ignore", invalid="ignore"):
            reached = np.where(height <= 0.0, 0.0, np.where(fall > 0.0, height / fall, math.inf))
        enter[:, k], leave[:, k] = reached, WIDENED * reached + np.abs(height) + 1.0
        enter[:, k] *= 2.0 - WIDENED
    return enter, leave
