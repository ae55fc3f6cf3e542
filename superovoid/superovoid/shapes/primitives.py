# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Half-spaces, capsules, boxes, cylinders, cones and tori. Geometry only.

Frames: axis of symmetry z, origin at half height (the conventions of shape_msgs/SolidPrimitive).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.shapes.kernels import kinds
from superovoid.shapes.mesh_library import trimesh_for
from superovoid.shapes.shape import (
    EMPTY_POOL,
    TESSELLATION_RESOLUTION,
    Shape,
    check_length,
    faces_around_z,
    numbers,
    unit_directions,
)
from superovoid.values.checks import whole_number

if TYPE_CHECKING:
    import trimesh

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def pack_shapes(shapes: Iterable[Shape]) -> tuple[FloatArray, FloatArray]:
    """Return the rows and the common pool of many shapes; the pool stores a repeated shape once.

    Returns
    -------
    rows : (n, ROW_LENGTH) ndarray
    pool : (m,) ndarray
    """
    return pack_shapes_behind(shapes, 0, {})[:2]


Offsets = dict[int, tuple[Shape, int]]
"""The offset of each shape in a pool, by its `id`; with the shape, so that the id is not reused."""


def pack_shapes_behind(
    shapes: Iterable[Shape], length: int, offsets: Offsets
) -> tuple[FloatArray, FloatArray, Offsets]:
    """Return the rows of many shapes, and the numbers to append to a pool.

    Parameters
    ----------
    shapes : iterable of Shape
    length : int
        Length of the pool; 0 for a new one.
    offsets : dict
        Offsets of the shapes in the pool; not modified.

    Returns
    -------
    rows : (n, ROW_LENGTH) ndarray
    more : (m,) ndarray
    offsets : dict
        Offsets of the shapes in the pool and in `more`.
    """
    pools, known = [EMPTY_POOL[length:]], offsets.copy()
    length, shapes = max(length, EMPTY_POOL.size), list(shapes)
    rows = np.array([shape._row for shape in shapes]).reshape(-1, kinds.ROW_LENGTH)
    columns = list(kinds.POOL_COLUMNS)
    numbers = rows[:, kinds.KIND]
    for i in (numbers >= kinds.CONVEX_MESH).nonzero()[0].tolist():
        shape = shapes[i]
        if id(shape) not in known:
            known[id(shape)] = shape, length
            pools.append(shape._pool)
            length += shape._pool.size
        rows[i, columns] += np.where(rows[i, columns] >= 0.0, known[id(shape)][1], 0.0)
    return rows, np.concatenate(pools), known


class _ClosedForm(Shape):
    """A body that its kind and lengths define."""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type] # every kind is a dataclass
            value = getattr(self, field.name)
            check_length(f"{type(self).__name__}.{field.name}", value)
            object.__setattr__(self, field.name, float(value))


def _sections(resolution: int) -> int:
    return whole_number("resolution", resolution, 4)


def _revolve(profile: Sequence[tuple[float, float]], resolution: int) -> tuple[FloatArray, IntArray]:
    """Return the mesh that the profile (rho, z) sweeps about z; the profile goes upwards from axis to axis."""
    sections = _sections(resolution)
    angle = 2.0 * math.pi * np.arange(sections) / sections
    ring = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(sections)])
    rows = np.array(profile[1:-1])
    grid = (rows[:, :1, None] * ring[None] + rows[:, 1, None, None] * np.array([0.0, 0.0, 1.0])).reshape(-1, 3)
    vertices = np.vstack([grid, [(0.0, 0.0, profile[0][1]), (0.0, 0.0, profile[-1][1])]])
    return vertices, faces_around_z(len(rows), sections)


def _points_about_axis(rho: FloatArray, z: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return points at distances rho from the z axis, at random angles about it."""
    angle = rng.uniform(0.0, 2.0 * math.pi, len(rho))
    return np.stack([rho * np.cos(angle), rho * np.sin(angle), z], axis=-1)


@dataclass(frozen=True)
class HalfSpace(_ClosedForm):
    """Half-space z <= 0 of its frame: a floor or a table top, solid below. Unbounded; its outward normal is +z."""

    _kind: ClassVar[int] = kinds.HALF_SPACE

    def support_value(self, direction: ArrayLike) -> FloatArray:
        """Return the support function: 0 along +z, infinite along every other direction."""
        n, _, shape = unit_directions(direction)
        up = (n[:, :2] == 0.0).all(axis=1) & (n[:, 2] > 0.0)
        return np.where(up, 0.0, np.inf).reshape(shape[:-1])

    def support(self, direction: ArrayLike) -> FloatArray:
        """Return the origin for the direction +z; raise `ValueError` for others, which have no farthest point."""
        if np.isinf(self.support_value(direction)).any():
            raise ValueError("direction: a half-space is unbounded along every direction but (0, 0, 1)")
        return np.zeros(np.shape(direction))

    def volume(self) -> float:
        """Return infinity."""
        return math.inf

    def area(self) -> float:
        """Return infinity."""
        return math.inf

    def _moments(self) -> tuple[FloatArray, FloatArray]:
        raise ValueError("HalfSpace: has no finite volume")

    def _draw_surface(self, count: int, rng: np.random.Generator) -> FloatArray:
        raise ValueError("HalfSpace: has no finite surface to draw points from")

    def triangles(
        self, resolution: int = TESSELLATION_RESOLUTION, *, half_extent: float = 1.0
    ) -> tuple[FloatArray, IntArray]:
        """Return a square patch of the surface about the origin, 2 `half_extent` wide; it is not closed."""
        h = float(half_extent)
        corners = np.array([(-h, -h, 0.0), (h, -h, 0.0), (h, h, 0.0), (-h, h, 0.0)])
        return corners, np.array([(0, 1, 2), (0, 2, 3)], dtype=np.int64)

    def tessellate(self, resolution: int = TESSELLATION_RESOLUTION, *, half_extent: float = 1.0) -> trimesh.Trimesh:
        """Return `triangles` as a `trimesh.Trimesh`."""
        return trimesh_for("tessellate()").Trimesh(*self.triangles(half_extent=half_extent), process=False)


@dataclass(frozen=True)
class Capsule(_ClosedForm):
    """All points within a radius of a segment on z.

    Parameters
    ----------
    radius : float
        Radius, m; from 1e-30 to 1e30.
    length : float
        Length of the segment, without the two caps, m; from 1e-30 to 1e30.
    """

    radius: float
    length: float
    _kind: ClassVar[int] = kinds.CAPSULE

    def volume(self) -> float:
        """Return the volume, m^3."""
        return math.pi * self.radius**2 * (self.length + 4.0 / 3.0 * self.radius)

    def area(self) -> float:
        """Return the area of the surface, m^2."""
        return 2.0 * math.pi * self.radius * (self.length + 2.0 * self.radius)

    def _moments(self) -> tuple[FloatArray, FloatArray]:
        r, h = self.radius, self.length
        middle, ends = math.pi * r**2 * h, 4.0 / 3.0 * math.pi * r**3
        across = middle * r**2 / 4.0 + ends * r**2 / 5.0
        along = middle * h**2 / 12.0 + ends * (h**2 / 4.0 + 3.0 / 8.0 * h * r + r**2 / 5.0)
        return np.zeros(3), np.diag([across, across, along])

    def _draw_surface(self, count: int, rng: np.random.Generator) -> FloatArray:
        # By Archimedes, equal steps along z have equal areas on the sphere of the caps, as on the cylinder.
        r, half = self.radius, 0.5 * self.length
        z = rng.uniform(-half - r, half + r, count)
        beyond = np.maximum(np.abs(z) - half, 0.0)
        return _points_about_axis(np.sqrt((r - beyond) * (r + beyond)), z, rng)

    def triangles(self, resolution: int = TESSELLATION_RESOLUTION) -> tuple[FloatArray, IntArray]:
        """Return a closed mesh with its vertices on the surface; see `Shape.triangles`."""
        angle = np.linspace(0.0, 0.5 * math.pi, max(3, _sections(resolution) // 4 + 1))
        rho, z = self.radius * np.sin(angle), 0.5 * self.length + self.radius * np.cos(angle)
        upper = list(zip(rho[::-1], z[::-1], strict=True))
        return _revolve([(r, -h) for r, h in upper[::-1]] + upper, resolution)


@dataclass(frozen=True)
class Box(_ClosedForm):
    """Box about the origin.

    Parameters
    ----------
    lengths : (3,) array_like
        Full lengths along x, y, z, m; from 1e-30 to 1e30: the `size` of a box in URDF, the dimensions of
        `shape_msgs/SolidPrimitive` and the sides of Coal's `Box`.
    """

    lengths: tuple[float, float, float]
    _kind: ClassVar[int] = kinds.BOX

    if TYPE_CHECKING:  # the constructor accepts more types than the fields have

        def __init__(self, lengths: ArrayLike) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengths", numbers("Box", "lengths", self.lengths, 3))
        for i, a in enumerate(self.lengths):
            check_length(f"Box.lengths[{i}]", a)

    @property
    def _half_lengths(self) -> FloatArray:
        return 0.5 * np.array(self.lengths)

    def volume(self) -> float:
        """Return the volume, m^3."""
        return math.prod(self.lengths)

    def area(self) -> float:
        """Return the area of the surface, m^2."""
        x, y, z = self.lengths
        return 2.0 * (x * y + y * z + z * x)

    def _moments(self) -> tuple[FloatArray, FloatArray]:
        return np.zeros(3), self.volume() / 3.0 * np.diag(self._half_lengths**2)

    def _draw_surface(self, count: int, rng: np.random.Generator) -> FloatArray:
        x, y, z = self.lengths
        areas = np.array([y * z, z * x, x * y])
        points = rng.uniform(-1.0, 1.0, (count, 3))
        points[np.arange(count), rng.choice(3, count, p=areas / areas.sum())] = rng.choice([-1.0, 1.0], count)
        return points * self._half_lengths

    def triangles(self, resolution: int = TESSELLATION_RESOLUTION) -> tuple[FloatArray, IntArray]:
        """Return a closed mesh with its vertices on the surface; see `Shape.triangles`."""
        corners = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
        sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        faces = [(a, b, c) for p, q, r, s in sides for a, b, c in ((p, q, r), (p, r, s))]
        return corners * self._half_lengths, np.array(faces, dtype=np.int64)


@dataclass(frozen=True)
class Cylinder(_ClosedForm):
    """Cylinder about z.

    Parameters
    ----------
    radius : float
        Radius, m; from 1e-30 to 1e30.
    length : float
        Full height, m; from 1e-30 to 1e30.
    """

    radius: float
    length: float
    _kind: ClassVar[int] = kinds.CYLINDER

    def volume(self) -> float:
        """Return the volume, m^3."""
        return math.pi * self.radius**2 * self.length

    def area(self) -> float:
        """Return the area of the surface, m^2."""
        return 2.0 * math.pi * self.radius * (self.length + self.radius)

    def _moments(self) -> tuple[FloatArray, FloatArray]:
        across = self.radius**2 / 4.0
        return np.zeros(3), self.volume() * np.diag([across, across, self.length**2 / 12.0])

    def _draw_surface(self, count: int, rng: np.random.Generator) -> FloatArray:
        r, half = self.radius, 0.5 * self.length
        on_side = rng.random(count) * (self.length + r) < self.length
        rho = np.where(on_side, r, r * np.sqrt(rng.random(count)))
        return _points_about_axis(
            rho, np.where(on_side, rng.uniform(-half, half, count), rng.choice([-half, half], count)), rng
        )

    def triangles(self, resolution: int = TESSELLATION_RESOLUTION) -> tuple[FloatArray, IntArray]:
        """Return a closed mesh with its vertices on the surface; see `Shape.triangles`."""
        h = 0.5 * self.length
        return _revolve([(0.0, -h), (self.radius, -h), (self.radius, h), (0.0, h)], resolution)


@dataclass(frozen=True)
class Cone(_ClosedForm):
    """Cone about z: apex at +z, base at -z, the origin at half height.

    Parameters
    ----------
    radius : float
        Radius of the base, m; from 1e-30 to 1e30.
    length : float
        Full height, m; from 1e-30 to 1e30.
    """

    radius: float
    length: float
    _kind: ClassVar[int] = kinds.CONE

    def volume(self) -> float:
        """Return the volume, m^3."""
        return math.pi * self.radius**2 * self.length / 3.0

    def area(self) -> float:
        """Return the area of the surface, m^2."""
        return math.pi * self.radius * (self.radius + math.hypot(self.radius, self.length))

    def _moments(self) -> tuple[FloatArray, FloatArray]:
        volume, across = self.volume(), 3.0 / 20.0 * self.radius**2
        first = np.array([0.0, 0.0, -0.25 * volume * self.length])
        return first, volume * np.diag([across, across, self.length**2 / 10.0])

    def _draw_surface(self, count: int, rng: np.random.Generator) -> FloatArray:
        r, slant = self.radius, math.hypot(self.radius, self.length)
        share = np.sqrt(rng.random(count))  # fraction of the radius, both on the side and on the base
        on_side = rng.random(count) * (r + slant) < slant
        return _points_about_axis(r * share, self.length * (0.5 - np.where(on_side, share, 1.0)), rng)

    def triangles(self, resolution: int = TESSELLATION_RESOLUTION) -> tuple[FloatArray, IntArray]:
        """Return a closed mesh with its vertices on the surface; see `Shape.triangles`."""
        h = 0.5 * self.length
        return _revolve([(0.0, -h), (self.radius, -h), (0.0, h)], resolution)


@dataclass(frozen=True)
class Torus(_ClosedForm):
    """All points within the minor radius of a circle about z in the plane z = 0. Not convex.

    Parameters
    ----------
    major_radius : float
        Radius of the circle, m; from 1e-30 to 1e30.
    minor_radius : float
        Radius of the tube, m; positive, below the major radius.
    """

    major_radius: float
    minor_radius: float
    _kind: ClassVar[int] = kinds.TORUS

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.minor_radius < self.major_radius:
            found = f"{self.minor_radius}: must be below the major radius {self.major_radius}"
            raise ValueError(f"Torus.minor_radius = {found}")

    def is_convex(self) -> bool:
        """Return False."""
        return False

    def volume(self) -> float:
        """Return the volume, m^3."""
        return 2.0 * math.pi**2 * self.major_radius * self.minor_radius**2

    def area(self) -> float:
        """Return the area of the surface, m^2."""
        return 4.0 * math.pi**2 * self.major_radius * self.minor_radius

    def _moments(self) -> tuple[FloatArray, FloatArray]:
        major, minor = self.major_radius**2, self.minor_radius**2
        across = 0.5 * major + 3.0 / 8.0 * minor
        return np.zeros(3), self.volume() * np.diag([across, across, 0.25 * minor])

    def _draw_surface(self, count: int, rng: np.random.Generator) -> FloatArray:
        angle = rng.uniform(0.0, 2.0 * math.pi, count)
        # The area at an angle is proportional to the distance from the axis. A rejected angle is mirrored.
        outside = (self.major_radius + self.minor_radius * np.cos(angle)) > 2.0 * self.major_radius * rng.random(count)
        angle = np.where(outside, angle, math.pi - angle)
        return _points_about_axis(
            self.major_radius + self.minor_radius * np.cos(angle), self.minor_radius * np.sin(angle), rng
        )

    def triangles(self, resolution: int = TESSELLATION_RESOLUTION) -> tuple[FloatArray, IntArray]:
        """Return a closed mesh with its vertices on the surface; see `Shape.triangles`."""
        sections = _sections(resolution)
        others = max(4, sections // 2)
        major, minor = (2.0 * math.pi * np.arange(count) / count for count in (sections, others))
        rho = self.major_radius + self.minor_radius * np.cos(minor)
        across = rho[None, :, None] * np.stack([np.cos(major), np.sin(major)], axis=-1)[:, None]
        z = np.broadcast_to(self.minor_radius * np.sin(minor), across.shape[:2])
        vertices = np.concatenate([across, z[..., None]], axis=-1).reshape(-1, 3)
        number = np.arange(sections * others).reshape(sections, others)
        p, q = number, np.roll(number, -1, axis=0)
        r, s = np.roll(q, -1, axis=1), np.roll(p, -1, axis=1)
        return vertices, np.stack([p, q, r, p, r, s], axis=-1).reshape(-1, 3)
