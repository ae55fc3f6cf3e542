# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pictures of fitted links: mesh and bodies overlaid, errors as colours, the worst points marked.

Each pixel shows the surface nearer to the eye: the mesh, in blue, where it protrudes from the bodies, or a body, in
orange, where it protrudes from the mesh. Both scales go from light to dark and are safe for colour-blind readers
(ColorBrewer's Blues and Oranges).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from superovoid.fitting.drawing import Camera, Layer, draw, picture
from superovoid.fitting.quality import Placed, inside_any, union_surface
from superovoid.fitting.targets import Target
from superovoid.fitting.triangle_tree import TriangleTree

FloatArray = NDArray[np.float64]

UNCOVERED = ((222, 235, 247), (198, 219, 239), (158, 202, 225), (107, 174, 214), (49, 130, 189), (8, 81, 156))
"""Colours of the mesh where it protrudes from the bodies, from least to most."""
PROTRUDING = ((254, 237, 222), (253, 208, 162), (253, 174, 107), (253, 141, 60), (230, 85, 13), (166, 54, 3))
"""Colours of bodies where they protrude from the mesh, from least to most."""
BODIES = ((230, 159, 0), (86, 180, 233), (0, 158, 115), (240, 228, 66), (0, 114, 178), (213, 94, 0), (204, 121, 167))
"""Colours of individual bodies (Okabe and Ito 2008)."""
MESH = (190, 190, 190)
_SAMPLES = 4000
_TRIANGLES = 96  # facets around a body
_ALIKE = 0.6  # cosine between two view directions above which they count as the same view
_OBLIQUE = (0.45, -0.6, 0.4)  # added to view directions, so that a worst point is not seen face-on


@dataclass(frozen=True, eq=False)
class Mark:
    """A worst point in a picture."""

    what: str
    """"uncovered" or "protruding" """
    distance: float
    """m, largest over samples"""
    place: tuple[float, float]
    """pixels, to the right and down"""
    hidden: bool
    """whether another surface hides it"""


@dataclass(frozen=True, eq=False)
class LinkPicture:
    """One view of a link."""

    png: bytes
    width: int
    height: int
    marks: tuple[Mark, ...]
    looked_from: str
    """axes of the link that point towards the eye, in words"""


@dataclass(frozen=True, eq=False)
class _Worst:
    what: str
    distance: float
    point: FloatArray
    normal: FloatArray


def link_pictures(bodies: Placed, target: Target, largest: float, pixels: int) -> list[LinkPicture]:
    """Draw two views of a link: of the worst uncovered point and of the worst protruding point.

    Parameters
    ----------
    bodies : sequence of (Shape, (4, 4) ndarray)
    target : Target
    largest : float
        Distance from which on the darkest colour is used, m.
    pixels : int
        Width and height of a view.
    """
    union = union_surface(bodies, _TRIANGLES)
    tree = TriangleTree(union)
    worst = [_worst_uncovered(bodies, target, tree), _worst_protruding(union, target)]
    seen = np.concatenate([target.corners.reshape(-1, 3), union.reshape(-1, 3)])
    found: list[LinkPicture] = []
    first: FloatArray | None = None
    for number, each in enumerate(worst):
        side = np.array(_OBLIQUE) * (1.0, -1.0 if number else 1.0, 1.0)
        away = each.point - target.centre
        away = away / max(float(np.linalg.norm(away)), 1e-12)
        direction = each.normal + 0.5 * away + 0.4 * side
        if np.linalg.norm(direction) < 0.2:
            direction = side
        direction = direction / np.linalg.norm(direction)
        if first is not None and direction @ first > _ALIKE:
            direction = side - first  # both points are on the same side, so show the other side
        first = direction if first is None else first
        camera = Camera.at(seen, direction, pixels, pixels)
        found.append(_view(camera, bodies, target, union, tree, worst, largest))
    return found


def _worst_uncovered(bodies: Placed, target: Target, tree: TriangleTree) -> _Worst:
    points, normals = target.surface(_SAMPLES, 11)
    away = np.where(inside_any(bodies, points), 0.0, np.linalg.norm(points - tree.nearest(points)[0], axis=1))
    worst = int(away.argmax())
    return _Worst("uncovered", float(away[worst]), points[worst], normals[worst])


def _worst_protruding(union: FloatArray, target: Target) -> _Worst:
    points = union.reshape(-1, 3)
    points = points[:: max(1, len(points) // (3 * _SAMPLES))]
    away = target.signed_distance(points)
    worst = int(away.argmax())
    foot = target.tree.nearest(points[worst : worst + 1])[0][0]
    normal = points[worst] - foot
    return _Worst(
        "protruding", max(0.0, float(away[worst])), points[worst], normal / max(float(np.linalg.norm(normal)), 1e-12)
    )


def _view(
    camera: Camera,
    bodies: Placed,
    target: Target,
    union: FloatArray,
    tree: TriangleTree,
    worst: Sequence[_Worst],
    largest: float,
) -> LinkPicture:
    mesh, body = draw(target.corners, camera), draw(union, camera)
    is_mesh = (mesh.triangle >= 0) & (mesh.depth > body.depth)
    is_body = (body.triangle >= 0) & ~is_mesh
    colour = np.full(mesh.depth.shape, -1, dtype=np.int64)
    levels = len(UNCOVERED)
    if is_mesh.any():
        points = camera.points(mesh.depth)[is_mesh]
        away = np.where(inside_any(bodies, points), 0.0, np.linalg.norm(points - tree.nearest(points)[0], axis=1))
        colour[is_mesh] = _level(away, largest, levels)
    if is_body.any():
        points = camera.points(body.depth)[is_body]
        colour[is_body] = levels + _level(np.maximum(target.signed_distance(points), 0.0), largest, levels)
    facing = np.where(is_mesh, mesh.facing, body.facing)
    png = picture(colour, facing, (*UNCOVERED, *PROTRUDING))
    nearest = np.maximum(mesh.depth, body.depth)
    marks = tuple(_mark(camera, each, nearest, target.radius) for each in worst if each.distance > 0.0)
    return LinkPicture(png, camera.width, camera.height, marks, _direction_name(camera.axes[2]))


def _level(distance: FloatArray, largest: float, levels: int) -> NDArray[np.int64]:
    return np.clip((levels * distance / largest).astype(np.int64), 0, levels - 1)


def _mark(camera: Camera, worst: _Worst, nearest: FloatArray, radius: float) -> Mark:
    x, y, z = camera.pixels(worst.point[None])[0]
    row = int(np.clip(y, 0, camera.height - 1))
    column = int(np.clip(x, 0, camera.width - 1))
    around = nearest[max(0, row - 1) : row + 2, max(0, column - 1) : column + 2]
    hidden = bool(np.isfinite(around).any()) and float(around.min()) > z + 0.03 * radius
    return Mark(worst.what, worst.distance, (float(x), float(y)), hidden)


def _direction_name(towards: FloatArray) -> str:
    """Name a direction by the main axes of its frame, such as "+x -z"."""
    order = np.argsort(-np.abs(towards))
    return " ".join(f"{'+' if towards[i] > 0 else '-'}{'xyz'[i]}" for i in order if abs(towards[i]) > 0.35)


def assembly_picture(
    parts: Sequence[tuple[FloatArray, int]], camera: Camera, palette: Sequence[tuple[int, int, int]]
) -> bytes:
    """Draw several sets of triangles, one colour each; return a PNG file.

    Parameters
    ----------
    parts : sequence of ((m, 3, 3) ndarray, int)
        Triangles and their row of the palette.
    camera : Camera
    palette : sequence of (int, int, int)
    """
    corners = np.concatenate([part for part, _ in parts])
    which = np.repeat([colour for _, colour in parts], [len(part) for part, _ in parts])
    layer: Layer = draw(corners, camera)
    colour = np.where(layer.triangle >= 0, which[layer.triangle], -1)
    return picture(colour, layer.facing, palette)
