# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Cut a solid by planes across three perpendicular axes into cells that convex bodies of little volume contain.

A cell is what a box, closed or open on some sides, has in common with the solid. An extreme point of the hull of a cell
lies on the surface of the solid, and then it is a corner of a triangle clipped by the box; or inside the solid, and
then the cell is the box about it, and it is a corner of the box. Hence a convex body that contains these points
contains the cell, and bodies that contain all cells contain the solid. Coordinates are along the axes.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

FloatArray = NDArray[np.float64]

_PLACES = 12  # planes tried along each axis, and again between the neighbours of the best one
_CLOSE = 1e-9  # from the hull of the solid, relative to its extent: what still counts as inside


class Cell(NamedTuple):
    """The part of a solid in a box."""

    triangles: FloatArray
    """clipped, shape (n, 3, 3)"""
    ends: FloatArray
    """lower and upper ends of the box, shape (2, 3); infinite where it is open"""
    hull: FloatArray
    """planes of the hull of the whole solid, as of `scipy.spatial.ConvexHull`"""
    close: float
    """length by which a point may lie beyond the hull and count as inside"""


def whole_of(triangles: FloatArray) -> Cell:
    """Return the uncut solid of triangles."""
    points = np.unique(triangles.reshape(-1, 3), axis=0)
    ends = np.repeat([[-np.inf], [np.inf]], 3, axis=1)
    return Cell(triangles, ends, ConvexHull(points).equations, _CLOSE * float(np.ptp(points, axis=0).max()))


def points_of(cell: Cell) -> FloatArray:
    """Return points whose convex hull contains the cell."""
    corners = np.array([[cell.ends[end, axis] for axis, end in enumerate(ends)] for ends in product((0, 1), repeat=3)])
    corners = corners[np.isfinite(corners).all(axis=1)]
    inside = (corners @ cell.hull[:, :3].T + cell.hull[:, 3] <= cell.close).all(axis=1)
    return np.unique(np.concatenate([cell.triangles.reshape(-1, 3), corners[inside]]), axis=0)


def clip(triangles: FloatArray, axis: int, end: float, side: float) -> FloatArray:
    """Return the parts of triangles up to an end along an axis, from below (side 1) or above (-1), as triangles."""
    height = side * (triangles[:, :, axis] - end)
    inside = height <= 0.0
    count = inside.sum(axis=1)
    parts = [triangles[count == 3]]
    for kept in (1, 2):
        which = np.flatnonzero(count == kept)
        # The corner that is alone on its side comes first.
        alone = np.argmax(inside[which] == (kept == 1), axis=1)
        order = (alone[:, None] + np.arange(3)) % 3
        corners = np.take_along_axis(triangles[which], order[:, :, None], axis=1)
        over = np.take_along_axis(height[which], order, axis=1)
        share = (over[:, :1] / (over[:, :1] - over[:, 1:]))[:, :, None]
        ends = corners[:, :1] + share * (corners[:, 1:] - corners[:, :1])
        if kept == 1:
            parts.append(np.concatenate([corners[:, :1], ends], axis=1))
        else:
            parts.append(np.stack([ends[:, 0], corners[:, 1], corners[:, 2]], axis=1))
            parts.append(np.stack([ends[:, 0], corners[:, 2], ends[:, 1]], axis=1))
    return np.concatenate(parts)


def cut(cell: Cell, axis: int, end: float) -> tuple[Cell, Cell]:
    """Return the parts of a cell below and above a plane across an axis."""
    below, above = cell.ends.copy(), cell.ends.copy()
    below[1, axis] = above[0, axis] = end
    parts = (clip(cell.triangles, axis, end, side) for side in (1.0, -1.0))
    return cell._replace(triangles=next(parts), ends=below), cell._replace(triangles=next(parts), ends=above)


def hull_volume(cell: Cell) -> float:
    """Return the volume of the convex hull of a cell, 0 if it is flat or empty."""
    try:
        return float(ConvexHull(points_of(cell)).volume)
    except (QhullError, ValueError):
        return 0.0


def bulk(cell: Cell) -> float:
    """Return the volume of the hull of a cell and of its box along the axes: a body around it is between them."""
    return hull_volume(cell) + float(np.prod(np.ptp(points_of(cell), axis=0))) if len(cell.triangles) else 0.0


def best_cut(cell: Cell) -> tuple[Cell, Cell]:
    """Cut a cell in two of least bulk."""

    def volume(axis: int, end: float) -> float:
        return sum(map(bulk, cut(cell, axis, end)))

    points = points_of(cell)
    low, steps = points.min(axis=0), np.ptp(points, axis=0) / (_PLACES + 1)
    places = [(axis, low[axis] + k * steps[axis]) for axis in range(3) for k in range(1, _PLACES + 1)]
    axis, middle = min(places, key=lambda place: volume(*place))
    return cut(
        cell, axis, min(middle + steps[axis] * np.linspace(-1.0, 1.0, _PLACES + 1), key=lambda end: volume(axis, end))
    )
