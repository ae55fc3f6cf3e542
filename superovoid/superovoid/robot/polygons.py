# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Triangulation of the polygons of a mesh file.

A polygon is projected along its normal (Newell's normal: the sum of the cross products of consecutive vectors from one
corner to the others).  A strictly convex polygon becomes a fan from its first corner.  Any other polygon is cut ear by
ear: an ear is a convex corner b with neighbours a and c such that no other corner lies in the triangle abc and no edge
crosses ac.  A polygon that crosses itself bounds no region and is rejected.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_MOST_CORNERS = 500  # of a non-convex polygon; the time grows with the square of the number of corners
_TINY = 1e-12  # smaller areas, relative to the squared extent of a polygon, are rounding errors


def triangulate(vertices: FloatArray, sizes: NDArray[np.int64], corners: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a triangulation of polygons.

    Parameters
    ----------
    vertices : array, shape (n, 3)
    sizes : array of int, shape (m,)
        Number of corners of each polygon.
    corners : array of int, shape (sum of sizes,)
        Vertex indices of all polygons, one polygon after another.

    Returns
    -------
    array of int, shape (k, 3)
        Vertex indices, with the orientation of the polygons.

    Raises
    ------
    ValueError
        If a polygon crosses itself, or is not convex and has too many corners.
    """
    first = np.cumsum(sizes) - sizes
    triangles = [np.zeros((0, 3), dtype=np.int64)]
    for size in np.unique(sizes):
        chosen = np.flatnonzero(sizes == size)
        polygons = corners[first[chosen][:, None] + np.arange(size)]
        if size == 3:
            triangles.append(polygons)
            continue
        convex = _are_convex(vertices[polygons])
        fan = np.array([(0, i, i + 1) for i in range(1, size - 1)])
        triangles.append(polygons[convex][:, fan].reshape(-1, 3))
        triangles += [_cut(vertices, polygon) for polygon in polygons[~convex]]
    return np.concatenate(triangles)


def _normals(points: FloatArray) -> FloatArray:
    """Return twice the vector area of each polygon; points: shape (m, n, 3)."""
    edges = points - points[:, :1]
    return np.cross(edges, np.roll(edges, -1, axis=1)).sum(axis=1)


def _are_convex(points: FloatArray) -> NDArray[np.bool_]:
    """Return whether each polygon, projected along its normal, turns left at every corner and by 2 pi in total."""
    with np.errstate(all="ignore"):
        normals = _normals(points)
        normals = (normals / np.linalg.norm(normals, axis=1)[:, None])[:, None]
        edges = np.roll(points, -1, axis=1) - points
        edges = edges - (edges * normals).sum(axis=2, keepdims=True) * normals
        before = np.roll(edges, 1, axis=1)
        turns = np.arctan2((normals * np.cross(before, edges)).sum(axis=2), (before * edges).sum(axis=2))
        return (turns > 1e-9).all(axis=1) & (turns.sum(axis=1) < 6.5)


def _cut(vertices: FloatArray, polygon: NDArray[np.int64]) -> NDArray[np.int64]:
    """Cut a polygon, not strictly convex, into triangles."""
    polygon = polygon[polygon != np.roll(polygon, 1)]
    if len(polygon) > _MOST_CORNERS:
        raise ValueError(f"has a concave polygon of {len(polygon)} corners, expected at most {_MOST_CORNERS}")
    points = vertices[polygon]
    if len(polygon) < 3 or not np.isfinite(points).all():
        return np.zeros((0, 3), dtype=np.int64) if len(polygon) < 3 else _fan(polygon)
    tiny = _TINY * np.ptp(points, axis=0).max() ** 2
    normal = _normals(points[None])[0]
    if np.linalg.norm(normal) <= tiny:
        edges = points - points[0]
        if np.linalg.norm(np.cross(edges, edges[np.linalg.norm(edges, axis=1).argmax()]), axis=1).max() <= tiny:
            return _fan(polygon)  # collinear corners: zero area
        raise _crossing_error(polygon)
    x_axis = np.cross(normal, np.eye(3)[np.abs(normal).argmin()])
    y_axis = np.cross(normal, x_axis)
    plane = points @ np.column_stack([x_axis / np.linalg.norm(x_axis), y_axis / np.linalg.norm(y_axis)])
    if _cross_any(plane, np.roll(plane, -1, axis=0), tiny):
        raise _crossing_error(polygon)
    left, triangles, at, misses = list(range(len(plane))), [], 0, 0
    while len(left) > 3:
        if misses > len(left):
            raise _crossing_error(polygon)
        at %= len(left)
        ear = left[at - 1], left[at], left[(at + 1) % len(left)]
        a, b, c = plane[list(ear)]
        if _is_ear(plane[left], a, b, c, tiny):
            triangles.append(ear)
            del left[at]
            at, misses = max(at - 1, 0), 0
        else:
            at, misses = at + 1, misses + 1
    return polygon[np.array([*triangles, left])]


def _fan(polygon: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.array([(polygon[0], polygon[i], polygon[i + 1]) for i in range(1, len(polygon) - 1)])


def _crossing_error(polygon: NDArray[np.int64]) -> ValueError:
    some = ", ".join(map(str, polygon[:6])) + (", ..." if len(polygon) > 6 else "")
    return ValueError(f"has a polygon that crosses itself (vertices {some}, counted from 0)")


def _turn(a: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """Return twice the signed area of the triangles abc, positive for a left turn; points: shape (..., 2)."""
    ab, ac = b - a, c - a
    return ab[..., 0] * ac[..., 1] - ab[..., 1] * ac[..., 0]


def _crossings(a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray, tiny: float) -> NDArray[np.bool_]:
    """Return whether the segments ab and cd cross at an interior point of both."""
    apart_c, apart_d = _turn(a, b, c), _turn(a, b, d)
    apart_a, apart_b = _turn(c, d, a), _turn(c, d, b)
    sure = np.minimum(np.minimum(abs(apart_a), abs(apart_b)), np.minimum(abs(apart_c), abs(apart_d))) > tiny
    return sure & (apart_c * apart_d < 0.0) & (apart_a * apart_b < 0.0)


def _cross_any(begins: FloatArray, ends: FloatArray, tiny: float) -> bool:
    return bool(_crossings(begins[:, None], ends[:, None], begins[None], ends[None], tiny).any())


def _is_ear(left: FloatArray, a: FloatArray, b: FloatArray, c: FloatArray, tiny: float) -> bool:
    """Return whether corner b can be cut off the remaining polygon, shape (n, 2)."""
    if _turn(a, b, c) <= tiny:
        return False
    others = ~((left == a).all(axis=1) | (left == b).all(axis=1) | (left == c).all(axis=1))
    inside = (_turn(a, b, left) >= -tiny) & (_turn(b, c, left) >= -tiny) & (_turn(c, a, left) >= -tiny)
    return not (inside & others).any() and not _crossings(a, c, left, np.roll(left, -1, axis=0), tiny).any()
