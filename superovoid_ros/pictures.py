# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pictures of bodies for the examples, in one palette.

The colours are those of Okabe and Ito (2008), "Color universal design", which readers with any kind of colour blindness
can tell apart. Pages in the browser use the same ones (`superovoid.viewing.meanings`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from superovoid.fitting.drawing import Camera, draw
from superovoid.shapes import Shape

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]

BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#d55e00",
    "#cc79a7",
    "#56b4e9",
    "#f0e442",
)
GREY, BLACK = "#a0a0a0", "#000000"

_LIGHT = np.array([-0.4, 0.5, 0.8]) / np.linalg.norm([-0.4, 0.5, 0.8])
"""Direction to the light: right, up, towards the eye."""
_SHARPNESS = 1.3
"""Pixels drawn for each pixel of the axes."""


def draw_bodies(
    bodies: Iterable[tuple[Shape, FloatArray, str]],
    results: Any = None,
    *,
    towards: Sequence[float] = (1.0, -2.0, 1.0),
    most: int = 12,
    through: float = 0.0,
    axes: Axes | None = None,
) -> Axes:
    """Draw bodies, and the witness points of their closest pairs, by a parallel projection.

    Parameters
    ----------
    bodies : iterable of (Shape, (4, 4) ndarray, str)
        Shape, pose (body to world, m) and colour of each body.
    results : DistanceResult, DistanceResults, ContactSet, optional
        Answers whose points are joined by lines.
    towards : (3,) sequence of float
        Direction from the bodies to the eye, in the world.
    most : int
        Largest number of answers to draw.
    through : float
        Weight, 0 to 1, with which a body shows through the one before it.
    axes : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        Its coordinates are those of the projection, m: right and up.
    """
    import matplotlib.pyplot as plt
    from matplotlib.colors import to_rgb

    axes = plt.figure(figsize=(6.4, 4.8)).add_subplot() if axes is None else axes
    meshes = functools.cache(lambda shape: shape.tessellate(32))
    corners, owners, colours = [], [], []
    for number, (shape, pose, colour) in enumerate(bodies):
        mesh = meshes(shape)
        placed = mesh.vertices @ pose[:3, :3].T + pose[:3, 3]
        corners.append(placed[mesh.faces])
        owners.append(np.full(len(mesh.faces), number))
        colours.append(to_rgb(colour))
    triangles, owner = np.concatenate(corners), np.concatenate(owners)
    seen = triangles.reshape(-1, 3) @ Camera.at(triangles.reshape(-1, 3), towards, 1, 1).axes[:2].T
    size = np.maximum(np.ptp(seen, axis=0), 0.05 * np.ptp(seen, axis=0).max())
    width, height = (_SHARPNESS * max(axes.bbox.size) * size / size.max()).astype(int)
    camera = Camera.at(triangles.reshape(-1, 3), towards, int(width), int(height))
    low, high = (camera.centre[:2] + side * np.array([width, height]) / camera.scale for side in (-0.5, 0.5))

    image, front = _shaded(triangles, owner, np.array(colours), camera)
    if through:
        behind = image.copy()
        for number in np.unique(front[front >= 0]):
            others = owner != number
            if others.any():
                layer, found = _shaded(triangles[others], owner[others], np.array(colours), camera)
                chosen = (front == number) & (found >= 0)
                behind[chosen] = layer[chosen]
        image = (1.0 - through) * image + through * behind

    axes.imshow(image, extent=(low[0], high[0], low[1], high[1]), interpolation="antialiased")
    points = () if results is None else zip(np.atleast_2d(results.point_a), np.atleast_2d(results.point_b), strict=True)
    for pair in list(points)[:most]:
        ends = np.array(pair) @ camera.axes[:2].T
        axes.plot(*ends.T, color=BLACK, linewidth=1.2, marker="o", markersize=3.0, markerfacecolor="white")
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    axes.set_axis_off()
    return axes


def _shaded(
    triangles: FloatArray, owner: NDArray[np.int64], colours: FloatArray, camera: Camera
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return a picture with outlines, (height, width, 3), and the body at each pixel, -1 for none."""
    layer = draw(triangles, camera)
    empty = layer.triangle < 0
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]) @ camera.axes.T
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    normals *= np.where(normals[:, 2:] < 0.0, -1.0, 1.0)  # sheets have no outside
    bright = 0.55 + 0.45 * np.clip(normals @ _LIGHT, 0.0, 1.0)
    body = np.where(empty, -1, owner[layer.triangle])
    image = np.where(empty[..., None], 1.0, colours[body] * bright[layer.triangle][..., None])
    edge = np.zeros(body.shape, dtype=bool)
    edge[:, 1:] |= body[:, 1:] != body[:, :-1]
    edge[1:] |= body[1:] != body[:-1]
    image[edge] *= 0.35
    return image, body
