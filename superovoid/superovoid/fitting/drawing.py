# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Find the nearest triangle at each pixel of a picture: parallel projection and depth buffer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_CANDIDATES = 2_000_000  # number of (triangle, pixel) pairs tested at once


@dataclass(frozen=True, eq=False)
class Camera:
    """Camera with parallel projection along a direction."""

    axes: FloatArray
    """(3, 3), rows: right, up, towards the eye"""
    centre: FloatArray
    scale: float
    """pixels per metre"""
    width: int
    height: int

    @classmethod
    def from_points(
        cls, points: ArrayLike, direction: ArrayLike, width: int, height: int, margin: float = 0.06
    ) -> Camera:
        """Return a camera whose picture contains all points.

        Parameters
        ----------
        points : (n, 3) array_like
            m.
        direction : (3,) array_like
            Direction from the points to the eye.
        width, height : int
            Pixels.
        margin : float
            Free margin on each side, relative to the size of the picture.
        """
        towards = np.asarray(direction, dtype=float)
        towards = towards / np.linalg.norm(towards)
        up = np.array([0.0, 0.0, 1.0]) if abs(towards[2]) < 0.98 else np.array([0.0, 1.0, 0.0])
        right = np.cross(up, towards)
        right /= np.linalg.norm(right)
        axes = np.stack([right, np.cross(towards, right), towards])
        seen = np.asarray(points, dtype=float) @ axes.T
        low, high = seen.min(axis=0), seen.max(axis=0)
        room = (1.0 - 2.0 * margin) * np.array([width, height])
        scale = float((room / np.maximum((high - low)[:2], 1e-9)).min())
        return cls(axes, 0.5 * (low + high), scale, width, height)

    def pixels(self, points: FloatArray) -> FloatArray:
        """Project points: x to the right and y down in pixels, z towards the eye in m."""
        seen = points @ self.axes.T - self.centre
        x = 0.5 * self.width + self.scale * seen[..., 0]
        y = 0.5 * self.height - self.scale * seen[..., 1]
        return np.stack([x, y, seen[..., 2]], axis=-1)

    def points(self, depth: FloatArray) -> FloatArray:
        """Return the points in space, m, of a depth picture, (height, width, 3); NaN where the picture is empty."""
        depth = np.where(np.isfinite(depth), depth, np.nan)
        x, y = np.meshgrid(np.arange(self.width) + 0.5, np.arange(self.height) + 0.5)
        seen = np.stack([(x - 0.5 * self.width) / self.scale, (0.5 * self.height - y) / self.scale, depth], axis=-1)
        return (seen + self.centre) @ self.axes


@dataclass(frozen=True, eq=False)
class Layer:
    """The nearest triangle at each pixel."""

    depth: FloatArray
    """(height, width), towards the eye, m; -inf at empty pixels"""
    triangle: IntArray
    """(height, width); -1 at empty pixels"""
    facing: FloatArray
    """(height, width), cosine between the normal and the line to the eye, 0 to 1"""


def draw(corners: FloatArray, camera: Camera) -> Layer:
    """Find the nearest of the triangles (m, 3, 3) at each pixel."""
    shape = camera.height, camera.width
    depth, nearest = np.full(shape[0] * shape[1], -np.inf), np.full(shape[0] * shape[1], -1, dtype=np.int64)
    seen = camera.pixels(corners)
    low = np.floor(seen[:, :, :2].min(axis=1) - 0.5).astype(np.int64)
    high = np.floor(seen[:, :, :2].max(axis=1) - 0.5).astype(np.int64) + 1
    low, high = np.maximum(low, 0), np.minimum(high, [camera.width - 1, camera.height - 1])
    sides = np.maximum(high - low + 1, 0)
    counts = sides[:, 0] * sides[:, 1]
    ends = np.cumsum(counts)
    first = 0
    while first < len(corners):
        start = ends[first] - counts[first]
        last = max(first + 1, int(np.searchsorted(ends, start + _CANDIDATES)))
        which = np.repeat(np.arange(first, last), counts[first:last])
        place = np.arange(len(which)) - np.repeat(ends[first:last] - counts[first:last] - start, counts[first:last])
        column = low[which, 0] + place % np.maximum(sides[which, 0], 1)
        row = low[which, 1] + place // np.maximum(sides[which, 0], 1)
        z, inside = _heights(seen[which], column + 0.5, row + 0.5)
        pixel = row * camera.width + column
        kept = np.flatnonzero(inside & (z > depth[pixel]))
        kept = kept[np.argsort(z[kept], kind="stable")]  # the nearest at a pixel is written last
        depth[pixel[kept]], nearest[pixel[kept]] = z[kept], which[kept]
        first = last
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    facing = np.abs(normals @ camera.axes[2]) / np.maximum(np.linalg.norm(normals, axis=1), 1e-300)
    return Layer(
        depth.reshape(shape), nearest.reshape(shape), np.where(nearest >= 0, facing[nearest], 0.0).reshape(shape)
    )


def _heights(seen: FloatArray, x: FloatArray, y: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return the depths of triangles at positions in the picture, and whether the triangles cover these positions."""
    a, b, c = seen[:, 0], seen[:, 1], seen[:, 2]
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    u = ((b[:, 0] - x) * (c[:, 1] - y) - (b[:, 1] - y) * (c[:, 0] - x)) / np.where(area == 0.0, np.nan, area)
    v = ((c[:, 0] - x) * (a[:, 1] - y) - (c[:, 1] - y) * (a[:, 0] - x)) / np.where(area == 0.0, np.nan, area)
    w = 1.0 - u - v
    inside = (u >= -1e-9) & (v >= -1e-9) & (w >= -1e-9)  # false for nan
    return np.where(inside, u * a[:, 2] + v * b[:, 2] + w * c[:, 2], -np.inf), inside
