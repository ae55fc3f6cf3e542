# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Cut a solid by planes into cells whose convex hulls have little volume.

A cell is what a convex set C, the intersection of half-spaces, has in common with the solid S. An extreme point of the
hull of a cell lies on the surface of S, and then it is a corner of a triangle clipped by the half-spaces, or inside S,
and then the cell is C about it, and it is a vertex of C. Hence a convex body that contains these points contains the
cell, and bodies that contain all cells contain the solid.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from superovoid.fitting.joint import principal_box

FloatArray = NDArray[np.float64]

_PLACES = 12  # planes tried along each axis, and again between the neighbours of the best one
_CLOSE = 1e-9  # from a half-space, relative to the extent: what still counts as inside
_FLAT = 1e-9  # determinant of three unit normals below which planes have no common point


class Cell(NamedTuple):
    """The part of a solid in some half-spaces."""

    triangles: FloatArray
    """clipped, shape (n, 3, 3)"""
    planes: FloatArray
    """rows n, d of the half-spaces n . x <= d, and of those of the solid's convex hull, shape (m, 4)"""
    inner: int
    """number of the former"""


def whole_of(triangles: FloatArray) -> Cell:
    """Return the uncut solid of triangles."""
    equations = ConvexHull(np.unique(triangles.reshape(-1, 3), axis=0)).equations
    return Cell(triangles, np.column_stack([equations[:, :3], -equations[:, 3]]), 0)


def points_of(cell: Cell) -> FloatArray:
    """Return points whose convex hull contains the cell."""
    points = [cell.triangles.reshape(-1, 3)]
    cuts = cell.planes[: cell.inner]
    close = _CLOSE * float(np.ptp(points[0], axis=0).max()) if len(points[0]) else 0.0
    for three in combinations(cuts, 3):
        normals, offsets = np.array(three)[:, :3], np.array(three)[:, 3]
        if abs(np.linalg.det(normals)) > _FLAT:
            corner = np.linalg.solve(normals, offsets)
            if (cell.planes[:, :3] @ corner <= cell.planes[:, 3] + close).all():
                points.append(corner[None])
    return np.unique(np.concatenate(points), axis=0)


def clip(triangles: FloatArray, normal: FloatArray, offset: float) -> FloatArray:
    """Return the parts of triangles with n . x <= d as triangles, shape (m, 3, 3)."""
    height = triangles @ normal - offset
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
        cut = corners[:, :1] + share * (corners[:, 1:] - corners[:, :1])
        if kept == 1:
            parts.append(np.concatenate([corners[:, :1], cut], axis=1))
        else:
            parts.append(np.stack([cut[:, 0], corners[:, 1], corners[:, 2]], axis=1))
            parts.append(np.stack([cut[:, 0], corners[:, 2], cut[:, 1]], axis=1))
    return np.concatenate(parts)


def cut(cell: Cell, normal: FloatArray, offset: float) -> tuple[Cell, Cell]:
    """Return the two parts of a cell on the sides of a plane."""
    found = []
    for side in (1.0, -1.0):
        plane = np.array([[*(side * normal), side * offset]])
        triangles = clip(cell.triangles, side * normal, side * offset)
        found.append(Cell(triangles, np.concatenate([plane, cell.planes]), cell.inner + 1))
    return found[0], found[1]


def hull_volume(cell: Cell) -> float:
    """Return the volume of the convex hull of a cell, 0 if it is flat or empty."""
    try:
        return float(ConvexHull(points_of(cell)).volume)
    except (QhullError, ValueError):
        return 0.0


def best_cut(cell: Cell) -> tuple[Cell, Cell]:
    """Cut a cell in two of least volume of their hulls, by a plane across its principal axes or those of the frame."""
    points = points_of(cell)
    best: tuple[float, FloatArray, float, float] | None = None
    for normal in (*principal_box(points)[0].T, *np.eye(3)):
        along = points @ normal
        step = float(np.ptp(along)) / (_PLACES + 1)
        for offset in along.min() + step * np.arange(1, _PLACES + 1):
            volume = sum(map(hull_volume, cut(cell, normal, offset)))
            if best is None or volume < best[0]:
                best = volume, normal, float(offset), step
    assert best is not None
    _, normal, middle, step = best
    nearby = middle + step * np.linspace(-1.0, 1.0, _PLACES + 1)
    offset = min(nearby, key=lambda each: sum(map(hull_volume, cut(cell, normal, each))))
    return cut(cell, normal, float(offset))
