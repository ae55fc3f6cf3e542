# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compute polytopes that provably contain a convex body.

A polytope is the convex hull of points on the body's surface, scaled about an interior point until every facet lies
beyond the body's support plane with the same normal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from superovoid.shapes import Shape

FloatArray = NDArray[np.float64]

_BEYOND = 1e-6  # rounding errors of single precision, relative to the size
_ROUNDED = 1e-9  # rounding errors of support functions and facet planes, relative to the size


def polytope_around(shape: Shape, resolution: int) -> tuple[FloatArray, NDArray[np.int64]] | None:
    """Compute a polytope that contains a body; return None if containment cannot be proved.

    Parameters
    ----------
    shape : Shape
        A body; if it is not convex, the polytope contains its convex hull.
    resolution : int
        Number of surface points around the axis.

    Returns
    -------
    vertices : (n, 3) ndarray
        In the frame of the body; representable in single precision.
    faces : (m, 3) ndarray of int
        Triangles, counter-clockwise seen from outside.
    """
    points = np.unique(shape.triangles(resolution)[0], axis=0)
    lower, upper = shape.aabb()
    size = float(np.abs([lower, upper]).max())
    centre = points.mean(axis=0)
    hull = ConvexHull(points)
    normals, offsets = hull.equations[:, :3], -hull.equations[:, 3] - hull.equations[:, :3] @ centre
    beyond = shape.support_value(normals) + shape.support_loss - normals @ centre
    if not offsets.min() > _ROUNDED * size:
        return None
    factor = float((beyond / offsets).max()) + 2.0 * (_BEYOND + _ROUNDED) * size / float(offsets.min())
    corners = points[hull.vertices]
    written = (centre + factor * (corners - centre)).astype(np.float32).astype(np.float64)
    outer = ConvexHull(written)
    planes = outer.equations[:, :3], -outer.equations[:, 3]
    if not (shape.support_value(planes[0]) + shape.support_loss + _ROUNDED * size <= planes[1]).all():
        return None
    return mesh_of_hull(outer)


def mesh_of_hull(hull: ConvexHull) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return the vertices (n, 3) of a hull, and its faces (m, 3), counter-clockwise seen from outside."""
    corners = hull.points[hull.simplices]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    is_turned = np.einsum("ij,ij->i", across, hull.equations[:, :3]) < 0.0
    faces = np.where(is_turned[:, None], hull.simplices[:, ::-1], hull.simplices)
    used, faces = np.unique(faces, return_inverse=True)
    return hull.points[used], faces.reshape(-1, 3).astype(np.int64)
