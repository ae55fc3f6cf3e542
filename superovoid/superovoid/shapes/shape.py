# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The base class of all kinds of bodies, and functions that they share."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.shapes.kernels import kinds, surface
from superovoid.shapes.kernels.bodies import pack_body
from superovoid.shapes.kernels.rounding import EPS
from superovoid.shapes.lazy import cached_property
from superovoid.shapes.mesh_library import trimesh_for
from superovoid.values import html
from superovoid.values.checks import (
    LEAST_LENGTH,
    MOST_LENGTH,
    are_equal,
    floats,
    number,
    random_generator,
    whole_number,
)
from superovoid.values.records import Record, short_repr

if TYPE_CHECKING:
    import trimesh

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

TESSELLATION_RESOLUTION = 24
ABOVE_ROUNDING = 1.0 + 1e-12  # factor of a measured radius, so that the sphere contains the body
EMPTY_POOL = np.zeros(1)
_ON_BOUNDARY = 8.0 * EPS  # rounding of the distance of a boundary point, as a fraction of the radius


class BoundingSphere(NamedTuple):
    """A sphere around a body, in the frame of the body."""

    centre: FloatArray
    radius: float

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoundingSphere) and all(map(are_equal, self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        raise TypeError(f"unhashable type: {type(self).__name__!r}")  # records of arrays


class BoundingBox(NamedTuple):
    """A box around a body along the axes of its frame."""

    centre: FloatArray
    half_extents: FloatArray

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoundingBox) and all(map(are_equal, self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        raise TypeError(f"unhashable type: {type(self).__name__!r}")  # records of arrays


def numbers(owner: str, name: str, value: ArrayLike, count: int) -> tuple[float, ...]:
    """Return a tuple of `count` finite numbers; otherwise, raise `ValueError` with the name of the parameter."""
    try:
        array = floats(name, value)
    except ValueError:
        raise ValueError(f"{owner}.{name} = {value!r}: must be {count} numbers") from None
    if array.shape != (count,):
        raise ValueError(f"{owner}.{name} = {value!r}: must be {count} numbers, found shape {array.shape}")
    for i, each in enumerate(array):
        if not math.isfinite(each):
            raise ValueError(f"{owner}.{name}[{i}] = {each}: must be finite")
    return tuple(map(float, array))


def check_length(name: str, value: Any) -> None:
    """Raise an error unless a length is a number within the range of the arithmetic."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
        raise ValueError(f"{name} = {value!r}: must be a positive number (metres)")
    if not LEAST_LENGTH <= value <= MOST_LENGTH:
        span = f"from {LEAST_LENGTH:g} to {MOST_LENGTH:g}"
        raise ValueError(f"{name} = {value!r}: must be positive and finite, {span} (metres)")


def points_of(points: ArrayLike) -> FloatArray:
    """Return points as an array, shape (..., 3)."""
    array = floats("points", points)
    if array.shape[-1:] != (3,):
        raise ValueError(f"points: must have shape (..., 3), found {array.shape}")
    return array


def unit_directions(direction: ArrayLike) -> tuple[FloatArray, FloatArray, tuple[int, ...]]:
    """Return directions as rows of unit vectors, their original lengths, and the shape of the argument."""
    n = floats("direction", direction)
    if n.shape[-1:] != (3,):
        raise ValueError(f"direction: must have shape (..., 3), found {n.shape}")
    rows = n.reshape(-1, 3)
    largest = np.abs(rows).max(axis=1, initial=0.0)
    if not np.all((largest > 0.0) & np.isfinite(largest)):
        raise ValueError("direction: must be finite and not zero")
    rows = rows / largest[:, None]  # first, because squares of very large or small numbers overflow or underflow
    length = np.linalg.norm(rows, axis=1)
    return np.ascontiguousarray(rows / length[:, None]), largest * length, n.shape


def faces_around_z(parallels: int, sections: int) -> IntArray:
    """Return the triangles of a surface around z, oriented outward, shape (2 parallels sections, 3).

    Vertices are numbered parallel by parallel, upwards, `sections` each; then come the south and the north pole.
    """
    j = np.arange(sections)
    k = np.roll(j, -1)
    first = sections * np.arange(parallels)[:, None]
    south, north = np.full(sections, parallels * sections), np.full(sections, parallels * sections + 1)
    a, b = (first[:-1] + j).ravel(), (first[:-1] + k).ravel()
    c, d = b + sections, a + sections
    parts = ((a, b, c), (a, c, d), (south, k, j), (north, first[-1] + j, first[-1] + k))
    return np.concatenate([np.stack(part, axis=1) for part in parts])


@dataclass(frozen=True, eq=False)
class MassProperties(Record):
    """Mass, centre of mass and inertia of a body of uniform density."""

    mass: float
    """kg"""
    centre_of_mass: FloatArray
    """shape (3,), frame of the body, m"""
    inertia: FloatArray
    """about the centre of mass, along the axes of the body's frame, shape (3, 3), kg m^2"""


class Shape(ABC):
    """A body in its own frame."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters; values derived from them, such as the row of the kernels, are computed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type] # every kind is one

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False  # pickles do not store this flag
        self.__dict__.update(state)

    def _repr_html_(self) -> str:
        """Return the parameters as a table, for a notebook."""
        values = self.__getstate__().items()
        return html.table(type(self).__name__, (), [(name, short_repr(value)) for name, value in values])

    _kind: ClassVar[int]
    """Of a body of closed form, which its fields define in the order of `pack_body`."""

    def _fill(self, row: FloatArray) -> FloatArray:
        """Fill in the kind and its parameters; return the numbers that do not fit in the row."""
        values = (value if isinstance(value, tuple) else (value,) for value in self.__getstate__().values())
        pack_body(self._kind, np.array([*itertools.chain(*values)], dtype=np.float64), row)
        return EMPTY_POOL

    def _identify(self, row: FloatArray, number: float) -> None:
        """Fill in sizes, the box and a number of a body with a pool: they decide the order of two bodies."""
        centre, half_extents = self._obb
        row[surface.A1 : surface.A1 + 3], row[surface.S_] = half_extents, number
        row[surface.TX], row[surface.TY], row[surface.P] = centre
        row[surface.RADIUS], row[surface.SIZE] = self._reach, half_extents.max()

    def _support(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return support points and values for rows of unit directions."""
        points, values = np.empty_like(directions), np.empty(len(directions))
        kinds.support_points(self._body, np.ascontiguousarray(directions), points, values)
        return points, values

    def _support_points(self, directions: FloatArray) -> FloatArray:
        """Return support points for rows of unit directions."""
        return self._support(directions)[0]

    def _holds(self, points: FloatArray) -> NDArray[np.bool_]:
        """Return whether points, shape (n, 3), are in the body or, to within rounding, on its boundary."""
        heights = np.empty(len(points))
        kinds.heights_of_points(self._body, np.ascontiguousarray(points), heights)
        return heights <= (_ON_BOUNDARY * self._reach if math.isfinite(self._reach) else 0.0)

    def is_convex(self) -> bool:
        """Return whether the body equals its convex hull."""
        return True

    @abstractmethod
    def volume(self) -> float:
        """Return the volume, m^3."""

    @abstractmethod
    def area(self) -> float:
        """Return the area of the surface, m^2."""

    @abstractmethod
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        """Return first moments (3,) and second moments (3, 3) of the volume about the origin of the body's frame."""

    def mass_properties(self, density: float = 1000.0) -> MassProperties:
        """Compute mass, centre of mass and inertia.

        Parameters
        ----------
        density : float, optional
            Density, kg/m^3; default: that of water.

        Returns
        -------
        MassProperties
            In the frame of the body; the inertia is about the centre of mass.

        Raises
        ------
        ValueError
            If the density is not positive, or the body has no finite volume (a half-space, a shell).
        """
        if not 0.0 < number("density", density, "kg/m^3") < math.inf:
            raise ValueError(f"density = {density!r}: must be positive and finite (kg/m^3)")
        volume = self.volume()
        if not 0.0 < volume < math.inf:
            raise ValueError(f"{type(self).__name__}: has no finite volume, and so no mass")
        first, second = self._moments()
        centre = first / volume
        about = second - volume * np.outer(centre, centre)
        return MassProperties(density * volume, centre, density * (np.trace(about) * np.eye(3) - about))

    @abstractmethod
    def _draw_surface(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Draw points of the surface, uniform by area."""

    def sample_surface(self, count: int, seed: int | np.random.Generator | None = None) -> FloatArray:
        """Draw points of the surface, uniform by area.

        Parameters
        ----------
        count : int
        seed : int or numpy.random.Generator, optional
            As for `numpy.random.default_rng`.

        Returns
        -------
        (count, 3) ndarray
            Points in the frame of the body, m.

        Raises
        ------
        ValueError
            If the body is a half-space, or an argument is out of range.
        """
        return self._draw_surface(whole_number("count", count, 0), random_generator("seed", seed))

    def sample_volume(self, count: int, seed: int | np.random.Generator | None = None) -> FloatArray:
        """Draw points of the body, uniform by volume.

        Parameters
        ----------
        count, seed
            As for `sample_surface`.

        Returns
        -------
        (count, 3) ndarray
            Points in the frame of the body, m.

        Raises
        ------
        ValueError
            If the body has no finite volume (a half-space, a shell), or an argument is out of range.
        """
        count, rng = whole_number("count", count, 0), random_generator("seed", seed)
        centre, half = self.obb()
        volume = self.volume()
        if not 0.0 < volume < math.inf:
            raise ValueError(f"{type(self).__name__}: has no finite volume to draw points from")
        share = volume / float(np.prod(2.0 * half))
        parts = [np.empty((0, 3))]
        left = count
        while left > 0:
            points = centre + half * rng.uniform(-1.0, 1.0, (math.ceil(1.1 * left / share) + 8, 3))
            parts.append(points[self.contains(points)][:left])
            left -= len(parts[-1])
        return np.concatenate(parts)

    @abstractmethod
    def triangles(self, resolution: int = TESSELLATION_RESOLUTION) -> tuple[FloatArray, IntArray]:
        """Return a closed triangle mesh with all vertices on the surface, as arrays.

        Parameters
        ----------
        resolution : int
            Number of segments around the axis, at least 4; ignored by bodies with flat faces. A superovoid has one
            meridian per segment and half that number of parallels: 24 segments give 266 vertices.

        Returns
        -------
        vertices : (n, 3) ndarray
            Frame of the body, m.
        faces : (m, 3) ndarray of int
            Counter-clockwise seen from outside.
        """

    def tessellate(self, resolution: int = TESSELLATION_RESOLUTION) -> trimesh.Trimesh:
        """Return `triangles` as a `trimesh.Trimesh`.

        Raises
        ------
        ImportError
            If trimesh is not installed.
        """
        return trimesh_for("tessellate()").Trimesh(*self.triangles(resolution), process=False)

    def support(self, direction: ArrayLike) -> FloatArray:
        """Return the point of the body farthest along a direction.

        Parameters
        ----------
        direction : (..., 3) array_like
            Direction in the frame of the body, of any length but zero.

        Returns
        -------
        (..., 3) ndarray
            Points of the body, m. If a face or an edge is farthest, any one of its points.
        """
        n, _, shape = unit_directions(direction)
        return self._support_points(n).reshape(shape)

    def support_value(self, direction: ArrayLike) -> FloatArray:
        """Return the support function h(n) = max n . x over the body (and so over its convex hull).

        Parameters
        ----------
        direction : (..., 3) array_like
            Direction n in the frame of the body, of any length but zero.

        Returns
        -------
        (...) ndarray
            h(n), m times the length of n. Never below the true value by more than rounding and `support_loss`.
        """
        n, length, shape = unit_directions(direction)
        return (length * self._support(n)[1]).reshape(shape[:-1])

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Return whether points belong to the body, its boundary included.

        Parameters
        ----------
        points : (..., 3) array_like
            Points in the frame of the body, m.

        Returns
        -------
        (...) ndarray of bool
            False for points with a nan.
        """
        p = points_of(points)
        return (self._holds(p.reshape(-1, 3)) & ~np.isnan(p).any(axis=-1).ravel()).reshape(p.shape[:-1])

    def aabb(self, rotation: ArrayLike | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the bounding box along the axes of another frame.

        Parameters
        ----------
        rotation : (3, 3) array_like, optional
            Rotation ``frame_from_body``; default: the frame of the body.

        Returns
        -------
        lower, upper : (3,) ndarray
            Corners relative to the origin of the body, in the axes of the other frame, m.
        """
        axes = np.eye(3) if rotation is None else floats("rotation", rotation)
        if axes.shape != (3, 3) or not np.isfinite(axes).all():
            raise ValueError(f"rotation: must be finite numbers of shape (3, 3), found shape {axes.shape}")
        return -self.support_value(-axes), self.support_value(axes)

    @cached_property
    def _obb(self) -> BoundingBox:
        centre, half_extents = np.empty((1, 3)), np.empty((1, 3))
        kinds.fill_boxes(self._row[None], self._pool, centre, half_extents)
        return BoundingBox(centre[0], half_extents[0])

    def obb(self) -> BoundingBox:
        """Return the exact box around the body along its axes (`BoundingBox.centre`, `.half_extents`, m)."""
        return BoundingBox(*(array.copy() for array in self._obb))

    def bounding_sphere(self) -> BoundingSphere:
        """Return a sphere around the body (`BoundingSphere.centre`, `.radius`, m)."""
        # At most three operations of `_reach` round.
        return BoundingSphere(np.zeros(3), (1.0 + 4.0 * EPS) * self._reach)

    @property
    def support_loss(self) -> float:
        """Largest amount by which `support_value` of a unit direction may be too small, beyond rounding, m.

        Zero except for hulls of many points, which may omit some of them (docs/reference/shapes.md).
        """
        return 0.0

    @property
    def _reach(self) -> float:
        """Return the largest distance of a point of the body from the origin, m."""
        return float(self._row[surface.RADIUS])

    @cached_property
    def _body(self) -> kinds.PackedBody:
        """Data for the kernels."""
        row = np.zeros(kinds.ROW_LENGTH)
        row[kinds.BLOCKS] = -1.0
        return kinds.PackedBody(row, self._fill(row))

    @property
    def _row(self) -> FloatArray:
        return self._body.row

    @property
    def _pool(self) -> FloatArray:
        return self._body.pool
