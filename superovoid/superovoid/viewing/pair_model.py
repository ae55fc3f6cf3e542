# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Two superovoids with seven parameters and a pose each, and the engine's results for the pair.

Plain values, independent of the page. Metres, radians, in the world frame.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from superovoid.contact import DistanceResult, derivatives, distance
from superovoid.shapes import ConvexMesh, Superovoid
from superovoid.shapes.poses import as_pose
from superovoid.values.poses import PoseLike
from superovoid.viewing.meanings import Meaning, interval_words, meanings, millimetres, status_words

FloatArray = NDArray[np.float64]

PARAMETERS = ("a1", "a2", "a3", "e1", "e2", "Tx", "Ty")
"""Semi-axes, m; exponents of the sections z = const, then along z; tapers."""
SPANS = ((0.005, 0.1), (0.005, 0.1), (0.005, 0.1), (0.05, 1.95), (0.05, 1.95), (-0.5, 0.5), (-0.5, 0.5))
"""Ends of the sliders."""
_START = ((0.03, 0.03, 0.05, 0.5, 0.5, 0.2, 0.2), (0.03, 0.04, 0.04, 1.0, 1.6, 0.4, 0.0))
_HULL_RESOLUTION = 48


def shape_of(values: tuple[float, ...]) -> Superovoid:
    """Return the superovoid with seven parameters in the order of `PARAMETERS`."""
    return Superovoid.from_goncalves(values[:3], values[3:5], values[5:])


def values_of(shape: Superovoid) -> tuple[float, ...]:
    """Return the seven parameters of a superovoid."""
    return (*shape.semi_axes, shape.section_exponent, shape.profile_exponent, *shape.taper)


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two bodies."""

    shape: Superovoid
    world_from_body: FloatArray
    """Shape (4, 4), m."""
    concavity: float
    """Depth of its deepest concavity below the convex hull, m; 0 if convex."""


@dataclass(frozen=True, eq=False)
class PairPicture:
    """What the page shows of two bodies."""

    sides: tuple[Side, Side]
    result: DistanceResult
    meaning: Meaning
    rows: tuple[tuple[str, str], ...]
    """Name and value of each result, as text."""


class PairModel:
    """Two superovoids at poses.

    Attributes
    ----------
    shapes : list of two Superovoid
    poses : list of two arrays, shape (4, 4)
    """

    def __init__(self) -> None:
        self.shapes = [shape_of(values) for values in _START]
        self.poses = [np.eye(4), np.eye(4)]
        self.poses[1][:3, 3] = 0.1, 0.02, 0.01

    def set_parameter(self, side: int, number: int, value: float) -> None:
        """Change one of the seven parameters of a body.

        Raises
        ------
        ValueError
            If no superovoid has these parameters.
        """
        values = list(values_of(self.shapes[side]))
        values[number] = float(value)
        self.shapes[side] = shape_of(tuple(values))

    def set_pose(self, side: int, world_from_body: PoseLike) -> None:
        """Move a body."""
        self.poses[side] = as_pose(f"pose of body {'AB'[side]}", world_from_body)

    def answer(self) -> PairPicture:
        """Compute all results for the pair."""
        (a, b), (pose_a, pose_b) = self.shapes, self.poses
        result = distance(a, pose_a, b, pose_b)
        (found,) = meanings([result.lower], [result.upper], 0.0)
        sides = tuple(
            Side(shape, pose, shape.convexity().concavity) for shape, pose in zip(self.shapes, self.poses, strict=True)
        )
        return PairPicture(sides, result, Meaning(int(found)), tuple(self._rows(result)))

    def _rows(self, result: DistanceResult) -> list[tuple[str, str]]:
        (a, b), (pose_a, pose_b) = self.shapes, self.poses
        found = derivatives(a, pose_a, b, pose_b, result)
        rows = [
            ("signed distance", millimetres(result.distance, 6)),
            ("proved in", interval_words(result.lower, result.upper, 6)),
            ("width of the interval", f"{result.upper - result.lower:.1e} m"),
            ("status", status_words(result.status)),
            ("point on A", _vector(1e3 * result.point_a, "mm")),
            ("point on B", _vector(1e3 * result.point_b, "mm")),
            ("normal, from A to B", _vector(result.normal, "")),
            ("iterations of Newton", str(result.statistics.iterations)),
            ("curvature of the gap", _pair(found.relative_curvatures, "1/m")),
            ("curvature of A", _pair(np.linalg.eigvalsh(found.curvature_a), "1/m")),
            ("curvature of B", _pair(np.linalg.eigvalsh(found.curvature_b), "1/m")),
            ("derivatives", str(found.status)),
        ]
        for name, shape, pose, point, of in (
            ("A", a, pose_a, result.point_b, "B"),
            ("B", b, pose_b, result.point_a, "A"),
        ):
            local = pose[:3, :3].T @ (point - pose[:3, 3])
            rows.append((f"F of {name} at the point on {of}", f"{float(shape.implicit(local)):.6g}"))
        for name, shape in (("A", a), ("B", b)):
            report = shape.convexity()
            words = "convex" if report.convex else f"not convex; about {1e3 * report.concavity:.3g} mm inside its hull"
            rows.append((name, words))
        return rows


def hull_of(shape: Superovoid) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return the triangles of the convex hull of a body, as fine as its drawing, m."""
    hull = ConvexMesh(shape.triangles(_HULL_RESOLUTION)[0])
    return hull.triangles()


def _vector(values: FloatArray, unit: str) -> str:
    return f"({', '.join(f'{value:z.4f}' for value in values)}) {unit}".rstrip()


def _pair(values: FloatArray, unit: str) -> str:
    return f"{values[0]:.4g} and {values[1]:.4g} {unit}"
