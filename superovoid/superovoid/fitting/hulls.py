# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Convex hulls of links described by spheres, cylinders and boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.spatial import ConvexHull

_SEGMENTS = 64
"""Segments per circle: the sagitta is 0.12 % of the radius, a tenth of the mean distance of the closest fits."""


def hull_points(parts: Sequence[Mapping]) -> np.ndarray:
    """Return the vertices of the convex hull of a union of parts, shape (n, 3), in the frame and unit of the parts.

    A part is a mapping with ``centre`` (3) and one of ``sphere: {diameter}``, ``box: {size}`` (axis-aligned),
    ``cylinder: {diameter, length, axis}``.

    Raises
    ------
    ValueError
        If a part has another kind.
    """
    clouds = []
    for number, part in enumerate(parts):
        centre = np.asarray(part["centre"], dtype=float)
        if "sphere" in part:
            local = 0.5 * part["sphere"]["diameter"] * _unit_sphere()
        elif "box" in part:
            corners = np.array(np.meshgrid([-0.5, 0.5], [-0.5, 0.5], [-0.5, 0.5])).reshape(3, 8).T
            local = corners * np.asarray(part["box"]["size"], dtype=float)
        elif "cylinder" in part:
            local = _cylinder(**part["cylinder"])
        else:
            raise ValueError(f"parts[{number}]: has {sorted(part)}, expected one of sphere, box, cylinder")
        clouds.append(local + centre)
    points = np.concatenate(clouds)
    return points[np.sort(ConvexHull(points).vertices)]


def _cylinder(diameter: float, length: float, axis: Sequence[float]) -> np.ndarray:
    direction = np.asarray(axis, dtype=float)
    direction = direction / np.linalg.norm(direction)
    # Start the circle at a coordinate axis, so that circles of parts with parallel axes share their corners.
    first = np.cross(direction, np.eye(3)[np.argmin(np.abs(direction))])
    first /= np.linalg.norm(first)
    second = np.cross(direction, first)
    angle = 2.0 * np.pi * np.arange(_SEGMENTS) / _SEGMENTS
    circle = 0.5 * diameter * (np.cos(angle)[:, None] * first + np.sin(angle)[:, None] * second)
    return np.concatenate([circle - 0.5 * length * direction, circle + 0.5 * length * direction])


def _unit_sphere() -> np.ndarray:
    """Return a latitude-longitude grid with poles on x, so that circles coincide with cylinders along x."""
    latitude = np.linspace(0.0, np.pi, _SEGMENTS // 2 + 1)
    longitude = 2.0 * np.pi * np.arange(_SEGMENTS) / _SEGMENTS
    latitude, longitude = (grid.ravel() for grid in np.meshgrid(latitude, longitude))
    return np.stack(
        [np.cos(latitude), np.sin(latitude) * np.cos(longitude), np.sin(latitude) * np.sin(longitude)], axis=1
    )
