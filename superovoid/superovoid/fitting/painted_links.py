# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Surfaces of fitted links for pictures: triangles, and how far each vertex protrudes from the other side.

The colours are ColorBrewer's Blues and Oranges, from light to dark, which differ for colour-blind readers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from superovoid.fitting.quality import Placed, inside_any, split, union_surface
from superovoid.fitting.targets import Target
from superovoid.fitting.triangle_tree import TriangleTree

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

UNCOVERED = ((222, 235, 247), (198, 219, 239), (158, 202, 225), (107, 174, 214), (49, 130, 189), (8, 81, 156))
"""Colours of the link where it protrudes from the bodies, from least to most."""
PROTRUDING = ((254, 237, 222), (253, 208, 162), (253, 174, 107), (253, 141, 60), (230, 85, 13), (166, 54, 3))
"""Colours of bodies where they protrude from the link, from least to most."""
_FACETS, _DRAWN_FACETS = 96, 24  # around a body, to measure distances from it and to draw it
_MOST = 2500  # triangles of a surface before long edges are split
_CELLS = (128, 90, 64, 45, 32, 22)  # across the diagonal; vertices of a cell become one
_LONGEST = 1.0 / 10.0  # longest edge, relative to the diagonal
_MERGED = 1e-6  # distance of equal vertices, relative to the diagonal
_LEAST_SCALE = 1e-5  # m


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles of a surface."""

    vertices: FloatArray
    """(n, 3), m"""
    faces: IntArray
    """(m, 3)"""
    away: FloatArray
    """(n,), m; distance from the other side, 0 inside of it"""

    @property
    def worst_vertex(self) -> int:
        """Vertex that is farthest from the other side."""
        return int(self.away.argmax())


@dataclass(frozen=True, eq=False)
class PaintedLink:
    """A link and its bodies."""

    mesh: Surface
    """the solid that was fitted, with distances from the bodies"""
    bodies: Surface
    """the bodies, with distances from the solid"""

    @cached_property
    def scale(self) -> float:
        """End of the colour scale, m: a round length that no vertex exceeds by more than a rounding error."""
        wanted = (1.0 - 1e-9) * max(float(self.mesh.away.max()), float(self.bodies.away.max()), _LEAST_SCALE)
        power = 10.0 ** math.floor(math.log10(wanted))
        return next(step * power for step in (1.2, 2.4, 3.0, 6.0, 12.0) if step * power >= wanted)


def paint_link(bodies: Placed, target: Target) -> PaintedLink:
    """Return the surfaces of a link and of its bodies.

    Parameters
    ----------
    bodies : sequence of (Shape, (4, 4) ndarray)
        Shapes and poses in the frame of the link.
    target : Target
    """
    tree = TriangleTree(union_surface(bodies, _FACETS))
    vertices, faces = drawable(target.corners)
    apart = np.linalg.norm(vertices - tree.nearest_points(vertices)[0], axis=1)
    mesh = Surface(vertices, faces, np.where(inside_any(bodies, vertices), 0.0, apart))
    whole = []  # what lies inside of another body is hidden
    for shape, pose in bodies:
        vertices, faces = shape.triangles(_DRAWN_FACETS)
        whole.append((vertices @ pose[:3, :3].T + pose[:3, 3])[faces])
    vertices, faces = drawable(np.concatenate(whole))
    return PaintedLink(mesh, Surface(vertices, faces, np.maximum(target.signed_distance(vertices), 0.0)))


def drawable(corners: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return few vertices and faces that look like triangles (m, 3, 3), without long edges."""
    diagonal = float(np.linalg.norm(np.ptp(corners.reshape(-1, 3), axis=0)))
    vertices, faces = _merge_corners(corners, _MERGED * diagonal)
    for cells in _CELLS:
        if len(faces) <= _MOST:
            break
        vertices, faces = _merge_corners(corners, diagonal / cells)
    corners = vertices[faces]
    done = []
    while len(corners):
        edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
        long = edges.max(axis=1) > _LONGEST * diagonal
        done.append(corners[~long])
        corners = split(corners[long])
    return _merge_corners(np.concatenate(done), _MERGED * diagonal)


def _merge_corners(corners: FloatArray, cell: float) -> tuple[FloatArray, IntArray]:
    """Return vertices, one for each cell of a grid that has any, and the faces between them."""
    points = corners.reshape(-1, 3)
    rows = np.floor((points - points.min(axis=0)) / cell + 0.5).astype(np.int64)
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    faces = which.reshape(-1, 3)
    is_triangle = (faces != np.roll(faces, 1, axis=1)).all(axis=1)
    _, kept = np.unique(np.sort(faces[is_triangle], axis=1), axis=0, return_index=True)
    return points[first], faces[is_triangle][np.sort(kept)]
