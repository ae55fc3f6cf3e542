# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Draws bodies and their closest points, for the other examples."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from superovoid import DistanceResults, Shape

LIGHT = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])


def save_picture(
    path: str,
    bodies: Sequence[tuple[Shape, np.ndarray, str]],
    results: DistanceResults | None = None,
    *,
    most: int = 12,
    view: tuple[float, float] = (20.0, -60.0),
) -> None:
    """Write a PNG of bodies (shape, world pose, colour), with the points of the first `most` results joined in red."""
    axes = plt.figure(figsize=(6, 5)).add_subplot(projection="3d", computed_zorder=False)
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for shape, pose, colour in bodies:
        mesh = shape.tessellate(24)
        vertices = mesh.vertices @ pose[:3, :3].T + pose[:3, 3]
        shade = 0.55 + 0.45 * np.clip(mesh.face_normals @ pose[:3, :3].T @ LIGHT, 0.0, 1.0)
        colours = np.column_stack([shade[:, None] * plt.matplotlib.colors.to_rgb(colour), np.full(len(shade), 0.6)])
        axes.add_collection3d(Poly3DCollection(vertices[mesh.faces], facecolors=colours))
        low, high = np.minimum(low, vertices.min(axis=0)), np.maximum(high, vertices.max(axis=0))
    for row in range(0 if results is None else min(len(results), most)):
        axes.plot(*np.array([results.point_a[row], results.point_b[row]]).T, "r.-", zorder=10)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    axes.set_box_aspect(high - low)
    axes.view_init(*view)
    axes.set_axis_off()
    plt.savefig(path, dpi=100, bbox_inches="tight")
