# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Find links whose meshes are those of another link with some coordinates negated, and negate their bodies too.

The legs of a robot are often mirror images of each other, or turned by half a turn about an axis of their frames. Every
kind of body that a fit makes is symmetric about its planes x and y, and a negated z negates the tapers of a superovoid.
Therefore a body is mirrored by signs of its numbers alone, and its pose has the negated numbers bit for bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from superovoid.fitting.link_geometry import LinkGeometry

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Signs = tuple[int, int, int]

_APART = 1e-6  # largest distance of corresponding corners, relative to the diagonal of the mesh
_UP = 1.0 + 1e-9  # for rounding
_SIGNS: tuple[Signs, ...] = tuple(itertools.product((1, -1), repeat=3))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Image:
    """How a mesh follows from another one."""

    signs: Signs
    """-1 for negated coordinates"""
    apart: float
    """largest distance of a triangle from the corresponding one, m"""

    def words(self, of: str) -> str:
        """Return a note for the report; `of` is the link with the other mesh."""
        negated = [axis for axis, sign in zip("xyz", self.signs, strict=True) if sign < 0]
        how = f" with negated {' and '.join(negated)}" if negated else ""
        return f"is the same as link '{of}'{how}, and has its bodies"


class Corners:
    """The distinct corners of a mesh, and its triangles as sorted indices of them."""

    def __init__(self, link: LinkGeometry) -> None:
        self.points, index = np.unique(link.vertices, axis=0, return_inverse=True)
        self.triangles = index.reshape(-1)[link.faces]
        self.lower, self.upper = (end(link.vertices[np.unique(link.faces)], axis=0) for end in (np.min, np.max))
        self.limit = _APART * float(np.linalg.norm(self.upper - self.lower))
        # Which of two corners this close is nearest to that of another mesh depends on rounding: they count as one.
        pairs = cKDTree(self.points).query_pairs(0.5 * self.limit, output_type="ndarray")
        table = coo_matrix((np.ones(len(pairs)), pairs.T), (len(self.points),) * 2)
        group = connected_components(table, directed=False)[1]
        self.merged = np.unique(group, return_index=True)[1][group]
        """The corner that each one is merged with"""
        self.spread = float(np.linalg.norm(self.points - self.points[self.merged], axis=1).max(initial=0.0))


def image_of(other: Corners, mesh: Corners) -> Image | None:
    """Return how a mesh follows from another one by negated coordinates, or None if it does not.

    Each triangle of one mesh must correspond to one of the other, with the same side outside and corners at most 1e-6
    of the diagonal apart. This bounds the distance of the surfaces from each other.
    """
    if len(other.triangles) != len(mesh.triangles):
        return None
    for signs in _SIGNS:
        ends = np.sort([signs * other.lower, signs * other.upper], axis=0)
        if np.abs(ends - (mesh.lower, mesh.upper)).max() > mesh.limit:
            continue
        gaps, nearest = cKDTree(signs * other.points).query(mesh.points)
        apart = _UP * (float(gaps[np.unique(mesh.triangles)].max()) + other.spread)
        if apart <= mesh.limit and np.array_equal(
            _sort_triangles(other.merged[nearest][mesh.triangles]),
            _sort_triangles(other.merged[other.triangles][:, :: int(np.prod(signs))]),
        ):
            return Image(signs, apart)
    return None


def _sort_triangles(triangles: IntArray) -> IntArray:
    """Return triangles in an order that depends on their corners and orientation alone."""
    first = np.argmin(triangles, axis=1)
    rows = triangles[np.arange(len(triangles))[:, None], (first[:, None] + np.arange(3)) % 3]
    return rows[np.lexsort(rows.T)]


def mirror_record(record: Mapping[str, Any], signs: Sequence[int]) -> dict[str, Any]:
    """Return a body, as returned by `record_of_body`, with negated coordinates of its link."""
    made = dict(record)
    made["xyz"] = [sign * value for sign, value in zip(signs, record["xyz"], strict=True)]
    # A rotation conjugated by diag(signs): an angle about an axis changes its sign with the product of the other two.
    turned = [signs[1] * signs[2], signs[0] * signs[2], signs[0] * signs[1]]
    made["rpy"] = [sign * value for sign, value in zip(turned, record["rpy"], strict=True)]
    if "taper" in record:
        made["taper"] = [signs[2] * value for value in record["taper"]]
    return made
