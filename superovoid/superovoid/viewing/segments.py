# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Draw the line segments of a page as one mesh per set.

viser draws its own segments one by one, which with software rendering takes as long as all bodies together
(docs/reference/figures_service.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import viser

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_SIDES = 3
_OFFSET = 1e-4
"""Offset of the third corner of the triangle that draws a thin line, as a fraction of the line's length."""


class Segments:
    """A bounded number of segments in one colour, each drawn as a three-sided rod.

    Parameters
    ----------
    server
        Server of the page.
    name : str
        Name of the node.
    most : int
        Maximum number of segments.
    colour : tuple of int
        Red, green, blue, 0 to 255.
    thickness : float
        Diameter of a rod, m.

    Attributes
    ----------
    ends : array, shape (n, 2, 3)
        The segments shown last, m.
    """

    def __init__(
        self, server: viser.ViserServer, name: str, most: int, colour: tuple[int, int, int], thickness: float
    ) -> None:
        self._most, self._thickness = most, thickness
        self.ends: FloatArray = np.zeros((0, 2, 3))
        vertices, faces = rods(np.zeros((most, 2, 3)), thickness)
        self._node: Any = server.scene.add_mesh_simple(
            name, vertices, faces, color=colour, cast_shadow=False, receive_shadow=False, visible=False
        )

    @property
    def visible(self) -> bool:
        """Whether the segments are visible."""
        return bool(self._node.visible)

    @visible.setter
    def visible(self, seen: bool) -> None:
        self._node.visible = seen

    def put(self, ends: FloatArray) -> None:
        """Show segments, shape (n, 2, 3), m, with n at least 1; those beyond the maximum are dropped."""
        self.ends = ends = ends[: self._most]
        # Always send the same number, so that the page keeps its buffers; segments of length 0 are invisible.
        filled = np.concatenate([ends, np.broadcast_to(ends[-1:, :1], (self._most - len(ends), 2, 3))])
        self._node.vertices = rods(filled, self._thickness)[0].astype(np.float32)


def rods(ends: FloatArray, thickness: float) -> tuple[FloatArray, IntArray]:
    """Return the vertices, three around each end, and the triangles of rods without caps.

    Parameters
    ----------
    ends : array, shape (n, 2, 3)
        Axes of the rods, m. For a segment of length 0 all vertices coincide.
    thickness : float
        Diameter of the circle through the vertices of an end, m.
    """
    along = ends[:, 1] - ends[:, 0]
    lengths = np.linalg.norm(along, axis=1)
    # The cross product with the coordinate axis farthest from parallel is never 0.
    across = np.cross(along, np.eye(3)[np.abs(along).argmin(axis=1)])
    across /= np.maximum(np.linalg.norm(across, axis=1), np.finfo(float).tiny)[:, None]
    beside = np.cross(along / np.maximum(lengths, np.finfo(float).tiny)[:, None], across)
    turns = 2.0 * np.pi * np.arange(_SIDES) / _SIDES
    ring = 0.5 * thickness * (np.cos(turns)[:, None, None] * across + np.sin(turns)[:, None, None] * beside)
    ring *= (lengths > 0.0)[:, None]
    vertices = ends[:, :, None] + np.moveaxis(ring, 0, 1)[:, None]  # segment, end, corner
    corner = np.arange(_SIDES)
    after = (corner + 1) % _SIDES
    side = np.concatenate(
        [np.stack([corner, after, _SIDES + after], 1), np.stack([corner, _SIDES + after, _SIDES + corner], 1)]
    )
    faces = 2 * _SIDES * np.arange(len(ends))[:, None, None] + side
    return vertices.reshape(-1, 3), faces.reshape(-1, 3)


def add_level_lines(
    server: viser.ViserServer, name: str, lines: list[list[tuple[float, float, float]]], colour: tuple[int, int, int]
) -> None:
    """Draw horizontal lines one pixel wide, as the edges of degenerate triangles with an upward normal."""
    ends = np.array(lines)
    along = ends[:, 1] - ends[:, 0]
    third = ends[:, 1] + _OFFSET * np.cross((0.0, 0.0, 1.0), along)
    corners = np.concatenate([ends, third[:, None]], axis=1).reshape(-1, 3)
    server.scene.add_mesh_simple(
        name, corners, np.arange(len(corners)).reshape(-1, 3), color=colour, wireframe=True,
        cast_shadow=False, receive_shadow=False,
    )  # fmt: skip
