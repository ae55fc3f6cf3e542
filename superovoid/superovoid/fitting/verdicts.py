# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Judge bodies by the error that they make in clearances, compared with a tolerance.

The clearance error is the distance within which 95 % of the points of both surfaces lie: points of the mesh as given
from the bodies (0 inside of a body), and points of the union's surface from the triangles of the mesh. A point of the
mesh inside of a body counts as covered because a wall behind the surface of a body changes no clearance. A body that
covers too much is found from the points of its own surface.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from superovoid.fitting.quality import Placed, inside_any, sample_triangles, union_surface
from superovoid.fitting.triangle_tree import TriangleTree
from superovoid.values.lengths import metres
from superovoid.values.records import Record

if TYPE_CHECKING:
    from superovoid.fitting.targets import Target

FloatArray = NDArray[np.float64]

VERDICTS = ("good", "coarse", "unusable")
COLOURS = {"good": "green", "coarse": "yellow", "unusable": "red"}
DEFAULT_TOLERANCE = "1 %"
_COARSE = 3.0  # largest error of a coarse link, relative to the tolerance
SHARE = 0.95
"""Share of the points of either surface that lie within the error."""
_POINTS = 10_000  # on each surface
_STEPS = (0.25, 0.5, 1.0, 2.0, 3.0)  # into the bodies, relative to the tolerance


def verdict_of(error: float, tolerance: float) -> str:
    """Return "good" for an error within the tolerance, "coarse" up to three times the tolerance, else "unusable"."""
    return VERDICTS[0] if error <= tolerance else VERDICTS[1] if error <= _COARSE * tolerance else VERDICTS[2]


@dataclass(frozen=True)
class Tolerance(Record):
    """A length, or a share of the diagonal of the box around the mesh."""

    value: float
    is_share: bool

    @classmethod
    def read(cls, given: Tolerance | float | str) -> Tolerance:
        """Return a tolerance given as a length (m, or the unit of the mesh) or as text, for example 2mm or 1%.

        Raises
        ------
        ValueError
            If it is not a positive length, or a share of more than 0 % and at most 100 %.
        """
        if isinstance(given, Tolerance):
            return given
        text = given.strip() if isinstance(given, str) else ""
        is_share = text.endswith("%")
        try:
            value = float(text[:-1]) / 100.0 if is_share else metres(text) if text else float(given)
        except ValueError:
            value = math.nan
        if not (0.0 < value < math.inf) or (is_share and value > 1.0):
            raise ValueError(f"tolerance = {given!r}: must be a positive length, for example 2mm, or a share of the "
                             "link's diagonal, for example 1%")  # fmt: skip
        return cls(value, is_share)

    def length(self, diagonal: float) -> float:
        """Return the length that this tolerance allows for a mesh with this diagonal."""
        return self.value * diagonal if self.is_share else self.value

    def __str__(self) -> str:
        return f"{100.0 * self.value:.12g} %" if self.is_share else f"{1e3 * self.value:.12g} mm"


@dataclass(frozen=True)
class Clearance(Record):
    """Clearance error of bodies. Lengths are in the unit of the input."""

    error: float
    """against the mesh as given"""
    target_error: float
    """against the solid that was fitted: with hollows filled, or the convex hull"""
    tolerance: float

    @property
    def verdict(self) -> str:
        """Verdict for the mesh as given: "good", "coarse" or "unusable"."""
        return verdict_of(self.error, self.tolerance)

    @property
    def fills(self) -> bool:
        """Whether the bodies keep the tolerance for the solid that was fitted alone: they fill a hollow of the mesh."""
        return self.target_error <= self.tolerance < self.error


class Judge:
    """Measures the clearance errors of bodies for one mesh.

    Parameters
    ----------
    target : Target
        The solid, with the triangles of the mesh as given.
    tolerance : Tolerance
    seed : int
        Seed of the samples.
    """

    def __init__(self, target: Target, tolerance: Tolerance, seed: int) -> None:
        self._target = target
        self._seed = seed
        self._tolerance = tolerance.length(target.diagonal)
        self._given = TriangleTree(target.given)
        self._points = [sample_triangles(each, _POINTS, seed)[0] for each in (target.given, target.corners)]

    def clearance(self, bodies: Placed) -> Clearance:
        """Return the errors of bodies, given by shapes and poses in the frame of the mesh."""
        surface = union_surface(bodies)
        tree = TriangleTree(surface)
        points, normals = sample_triangles(surface, _POINTS, self._seed + 1)
        protruding = _distances(self._given, points), self._beyond_target(points, normals)
        errors = []
        for on_mesh, beyond in zip(self._points, protruding, strict=True):
            uncovered = np.where(inside_any(bodies, on_mesh), 0.0, _distances(tree, on_mesh))
            errors.append(float(max(np.quantile(uncovered, SHARE), np.quantile(beyond, SHARE))))
        return Clearance(errors[0], errors[1], self._tolerance)

    def _beyond_target(self, points: FloatArray, normals: FloatArray) -> FloatArray:
        """Return the distance of points on the bodies from the target."""
        found = _distances(self._target.tree, points)
        if len(self._target.rim):
            # No triangle bounds the solid in an opening. Its points within these steps bound the distance there.
            for step in (share * self._tolerance for share in _STEPS):
                far = np.flatnonzero(found > step)
                found[far[self._target.contains(points[far] - step * normals[far])]] = step
        return found


def _distances(tree: TriangleTree, points: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(points - tree.nearest_points(points)[0], axis=1))
