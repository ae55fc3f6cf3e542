# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pictures of bodies for examples and documentation, in the colours of `superovoid.viewing.palette`."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from superovoid.fitting.drawing import Camera, draw
from superovoid.shapes import Shape
from superovoid.viewing.palette import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, YELLOW

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]

__all__ = ["BLACK", "BLUE", "GREEN", "GREY", "ORANGE", "PURPLE", "RED", "SKY", "YELLOW", "draw_bodies", "projection"]

_LIGHT = np.array([-0.4, 0.5, 0.8]) / np.linalg.norm([-0.4, 0.5, 0.8])
"""Direction to the light, in axes right, up, towards the eye."""
_SHARPNESS = 1.3
"""Rendered pixels for each pixel of the axes."""
_SMOOTH = 0.85
"""Cosine of the largest angle between a face and a vertex normal at which the face is shaded smoothly."""


def projection(towards: Sequence[float]) -> FloatArray:
    """Return the matrix from points in the world to the axes of `draw_bodies`, shape (2, 3)."""
    return Camera.from_points(np.zeros((1, 3)), towards, 1, 1).axes[:2]


def draw_bodies(
    bodies: Iterable[tuple[Shape, FloatArray, str]],
    results: Any = None,
    *,
    towards: Sequence[float] = (1.0, -2.0, 1.0),
    most: int = 12,
    through: float = 0.0,
    normals: float = 0.0,
    axes: Axes | None = None,
) -> Axes:
    """Draw bodies, and the witness points of their closest pairs, in parallel projection.

    Parameters
    ----------
    bodies : iterable of (Shape, (4, 4) ndarray, str)
        Shape, pose (body to world, m) and colour of each body.
    results : DistanceResult, DistanceResults, ContactSet, optional
        Answers whose witness points are joined by lines.
    towards : (3,) sequence of float
        Direction from the bodies to the eye, in the world.
    most : int
        Largest number of answers to draw.
    through : float
        Opacity, 0 to 1, with which a hidden body shows through the body in front of it.
    normals : float
        Length of the outward normals drawn at the points, m; 0: none.
    axes : Axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    Axes
        Their coordinates are those of the projection, m: right and up.
    """
    import matplotlib.pyplot as plt
    from matplotlib.colors import to_rgb

    axes = plt.figure(figsize=(6.4, 4.8)).add_subplot() if axes is None else axes
    meshes = functools.cache(lambda shape: shape.tessellate(32))
    shading = functools.cache(lambda shape: _corner_normals(meshes(shape)))
    corners, bends, owners, colours = [], [], [], []
    for number, (shape, pose, colour) in enumerate(bodies):
        mesh = meshes(shape)
        placed = mesh.vertices @ pose[:3, :3].T + pose[:3, 3]
        corners.append(placed[mesh.faces])
        bends.append(shading(shape) @ pose[:3, :3].T)
        owners.append(np.full(len(mesh.faces), number))
        colours.append(to_rgb(colour))
    triangles, normal, owner = np.concatenate(corners), np.concatenate(bends), np.concatenate(owners)
    onto_axes = projection(towards)
    seen = triangles.reshape(-1, 3) @ onto_axes.T
    size = np.maximum(np.ptp(seen, axis=0), 0.05 * np.ptp(seen, axis=0).max())
    width, height = (_SHARPNESS * max(axes.bbox.size) * size / size.max()).astype(int)
    camera = Camera.from_points(triangles.reshape(-1, 3), towards, int(width), int(height))
    low, high = (camera.centre[:2] + side * np.array([width, height]) / camera.scale for side in (-0.5, 0.5))

    image, front = _shade(triangles, normal, owner, np.array(colours), camera)
    if through:
        behind = image.copy()
        for number in np.unique(front[front >= 0]):
            others = owner != number
            if others.any():
                layer, found = _shade(triangles[others], normal[others], owner[others], np.array(colours), camera)
                chosen = (front == number) & (found >= 0)
                behind[chosen] = layer[chosen]
        image = (1.0 - through) * image + through * behind

    axes.imshow(image, extent=(low[0], high[0], low[1], high[1]), interpolation="antialiased")
    ends_of = [] if results is None else [np.atleast_2d(part) for part in (results.point_a, results.point_b)]
    for row in range(min(most, len(ends_of[0]) if ends_of else 0)):
        if normals:
            for side, part in zip((normals, -normals), ends_of, strict=True):
                along = part[row] + np.outer([0.0, side], np.atleast_2d(results.normal)[row])
                axes.plot(*(onto_axes @ along.T), color=YELLOW, linewidth=1.2)
        ends = onto_axes @ np.array([part[row] for part in ends_of]).T
        axes.plot(*ends, color=BLACK, linewidth=1.2, marker="o", markersize=3.0, markerfacecolor="white")
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    axes.set_axis_off()
    return axes


def _corner_normals(mesh: Any) -> FloatArray:
    """Return a normal for each corner of each face, shape (m, 3, 3): of the vertex, or of the face at sharp edges."""
    corners = mesh.vertices[mesh.faces]
    face = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    vertex = np.zeros_like(mesh.vertices)
    for k in range(3):
        np.add.at(vertex, mesh.faces[:, k], face)
    face, at_corner = _unit(face), _unit(vertex)[mesh.faces]
    return np.where((at_corner @ face[..., None]) > _SMOOTH, at_corner, face[:, None])


def _unit(vectors: FloatArray) -> FloatArray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-300)


def _shade(
    triangles: FloatArray, normals: FloatArray, owner: NDArray[np.int64], colours: FloatArray, camera: Camera
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return an image with outlines, shape (height, width, 3), and the index of the body at each pixel, -1 for none."""
    layer = draw(triangles, camera)
    seen = layer.triangle >= 0
    body = np.where(seen, owner[layer.triangle], -1)
    chosen = layer.triangle[seen]
    point = camera.points(layer.depth)[seen]
    # Barycentric coordinates from the areas of the three sub-triangles.
    a, b, c = (triangles[chosen, k] - point for k in range(3))
    areas = np.linalg.norm(np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=1), axis=2, keepdims=True)
    normal = _unit((areas * normals[chosen]).sum(axis=1) @ camera.axes.T)
    normal *= np.where(normal[:, 2:] < 0.0, -1.0, 1.0)  # open surfaces have no outside
    bright = 0.55 + 0.45 * np.clip(normal @ _LIGHT, 0.0, 1.0)
    image = np.ones((*body.shape, 3))
    image[seen] = colours[body[seen]] * bright[:, None]
    edge = np.zeros(body.shape, dtype=bool)
    edge[:, 1:] |= body[:, 1:] != body[:, :-1]
    edge[1:] |= body[1:] != body[:-1]
    image[edge] *= 0.35
    return image, body
