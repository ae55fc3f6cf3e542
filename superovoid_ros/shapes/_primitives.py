"""What stands around a hand: planes, capsules, boxes, cylinders, cones, tori, meshes. Geometry only.

Frames: axis of symmetry z, origin at half height (the conventions of shape_msgs/SolidPrimitive).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import trimesh
from numpy.typing import ArrayLike, NDArray

from superovoid_ros._checks import floats, whole
from superovoid_ros._rounding import EPS, LEAST_LENGTH, MOST_LENGTH
from superovoid_ros.shapes import _kernels, _kinds
from superovoid_ros.shapes._hull import Hull, normals, winding
from superovoid_ros.shapes._shape import (
    EMPTY_POOL,
    TESSELLATION_RESOLUTION,
    BoundingBox,
    BoundingSphere,
    Shape,
    check_length,
    numbers,
    unit_directions,
)

FloatArray = NDArray[np.float64]

_LEAF_TRIANGLES = 4
_MERGED = 1e-8  # of the largest extent: corners of triangles that a file may mean to be one
_GROUP = 32  # points that are compared with a plane together
# Of a mesh that counts as its hull: what vertices may lie above a triangle's plane, in units of its radius. No more
# than the allowance for cores has to spare (`_rounding`): 64 EPS less 44.1 EPS.
_PLANE_ROUNDING = 16.0 * EPS


def pack_shapes(shapes: Iterable[Shape]) -> tuple[FloatArray, FloatArray]:
    """Rows and common pool of many shapes; a shape that occurs twice is stored once.

    Returns
    -------
    rows : (n, ROW_LENGTH) ndarray
    pool : (m,) ndarray
    """
    rows, pools, offsets = [], [EMPTY_POOL], {}
    length = EMPTY_POOL.size
    for shape in shapes:
        row = shape._row.copy()
        pool = shape._pool
        if pool.size > EMPTY_POOL.size:
            if id(shape) not in offsets:
                offsets[id(shape)] = length
                pools.append(pool)
                length += pool.size
            for column in _kinds.POOL_COLUMNS:
                if column != _kinds.LINKS or row[column] >= 0.0:
                    row[column] += offsets[id(shape)]
        rows.append(row)
    packed = np.array(rows) if rows else np.empty((0, _kinds.ROW_LENGTH))
    return packed, np.concatenate(pools)


def _length(owner: Shape, name: str) -> float:
    """Check a field that is a positive length, and store it as a float."""
    value = getattr(owner, name)
    kind = type(owner).__name__
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
        raise ValueError(f"{kind}.{name} = {value!r}: must be a positive number (metres)")
    check_length(f"{kind}.{name}", value)
    object.__setattr__(owner, name, float(value))
    return float(value)


def _sections(resolution: int) -> int:
    return whole("resolution", resolution, 4)


def _radial(directions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Length of each direction across z, and the unit vectors there (x where there is none)."""
    across = np.hypot(directions[:, 0], directions[:, 1])
    unit = np.where(across[:, None] > 0.0, directions[:, :2] / np.maximum(across, 1e-300)[:, None], (1.0, 0.0))
    return across, unit


def _turned(profile: Sequence[tuple[float, float]], resolution: int) -> trimesh.Trimesh:
    """Mesh of the profile (rho, z), from the axis to the axis, upwards, turned about z."""
    sections = _sections(resolution)
    angle = 2.0 * math.pi * np.arange(sections) / sections
    ring = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(sections)])
    rows = np.array(profile[1:-1])
    grid = (rows[:, :1, None] * ring[None] + rows[:, 1, None, None] * np.array([0.0, 0.0, 1.0])).reshape(-1, 3)
    vertices = np.vstack([grid, [(0.0, 0.0, profile[0][1]), (0.0, 0.0, profile[-1][1])]])
    south, north, last = len(grid), len(grid) + 1, (len(rows) - 1) * sections
    faces = []
    for j in range(sections):
        k = (j + 1) % sections
        faces += [(south, k, j), (north, last + j, last + k)]
        for i in range(0, last, sections):
            faces += [(i + j, i + k, i + k + sections), (i + j, i + k + sections, i + j + sections)]
    return trimesh.Trimesh(vertices, faces, process=False)


@dataclass(frozen=True)
class Plane(Shape):
    """Half-space z <= 0 of its frame: a floor or a table, solid below. Unbounded; its outward normal is +z."""

    def _extreme(self, directions: FloatArray) -> FloatArray:
        return np.zeros_like(directions)

    def support_value(self, direction: ArrayLike) -> FloatArray:
        """Support function: 0 along +z, infinite along every other direction."""
        n, _, shape = unit_directions(direction)
        up = (n[:, :2] == 0.0).all(axis=1) & (n[:, 2] > 0.0)
        return np.where(up, 0.0, np.inf).reshape(shape[:-1])

    def support(self, direction: ArrayLike) -> FloatArray:
        """The origin for the direction +z; there is no farthest point along any other, which is an error."""
        if np.isinf(self.support_value(direction)).any():
            raise ValueError("direction: a plane is unbounded along every direction but (0, 0, 1)")
        return np.zeros(np.shape(direction))

    def _holds(self, points: FloatArray) -> NDArray[np.bool_]:
        return points[:, 2] <= 0.0

    @property
    def _reach(self) -> float:
        return math.inf

    def _fill(self, row: FloatArray) -> None:
        row[_kinds.KIND] = _kinds.PLANE

    def obb(self) -> BoundingBox:
        """Unbounded: half extents are infinite, the centre is the origin."""
        return BoundingBox(np.zeros(3), np.full(3, np.inf))

    def volume(self) -> float:
        """Infinite."""
        return math.inf

    def tessellate(self, resolution: int = TESSELLATION_RESOLUTION, *, half_extent: float = 1.0) -> trimesh.Trimesh:
        """A square patch of the surface about the origin, 2 `half_extent` wide; not closed: a plane has no end."""
        h = float(half_extent)
        return trimesh.Trimesh(
            [(-h, -h, 0.0), (h, -h, 0.0), (h, h, 0.0), (-h, h, 0.0)], [(0, 1, 2), (0, 2, 3)], process=False
        )


@dataclass(frozen=True)
class Capsule(Shape):
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

    def __post_init__(self) -> None:
        _length(self, "radius")
        _length(self, "length")

    def _extreme(self, directions: FloatArray) -> FloatArray:
        points = self.radius * directions
        points[:, 2] += np.where(directions[:, 2] < 0.0, -0.5, 0.5) * self.length
        return points

    def _holds(self, points: FloatArray) -> NDArray[np.bool_]:
        beyond = np.maximum(np.abs(points[:, 2]) - 0.5 * self.length, 0.0)
        return points[:, 0] ** 2 + points[:, 1] ** 2 + beyond**2 <= self.radius**2

    @property
    def _reach(self) -> float:
        return self.radius + 0.5 * self.length

    def _fill(self, row: FloatArray) -> None:
        row[_kinds.KIND] = _kinds.CAPSULE
        row[_kernels.A1], row[_kernels.A3] = self.radius, 0.5 * self.length

    def volume(self) -> float:
        """Volume, m^3."""
        return math.pi * self.radius**2 * (self.length + 4.0 / 3.0 * self.radius)

    def tessellate(self, resolution: int = TESSELLATION_RESOLUTION) -> trimesh.Trimesh:
        angle = np.linspace(0.0, 0.5 * math.pi, max(3, _sections(resolution) // 4 + 1))
        rho, z = self.radius * np.sin(angle), 0.5 * self.length + self.radius * np.cos(angle)
        upper = list(zip(rho[::-1], z[::-1], strict=True))
        return _turned([(r, -h) for r, h in upper[::-1]] + upper, resolution)


@dataclass(frozen=True)
class Box(Shape):
    """Box about the origin.

    Parameters
    ----------
    half_extents : (3,) array_like
        Half lengths along x, y, z, m; from 1e-30 to 1e30.
    """

    half_extents: tuple[float, float, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "half_extents", numbers("Box", "half_extents", self.half_extents, 3))
        for i, a in enumerate(self.half_extents):
            check_length(f"Box.half_extents[{i}]", a)

    def _extreme(self, directions: FloatArray) -> FloatArray:
        return np.where(directions < 0.0, -1.0, 1.0) * np.array(self.half_extents)

    def _holds(self, points: FloatArray) -> NDArray[np.bool_]:
        return (np.abs(points) <= self.half_extents).all(axis=1)

    @property
    def _reach(self) -> float:
        return math.hypot(*self.half_extents)

    def _fill(self, row: FloatArray) -> None:
        row[_kinds.KIND] = _kinds.BOX
        row[_kernels.A1], row[_kernels.A2], row[_kernels.A3] = self.half_extents
        row[_kernels.SIZE] = max(self.half_extents)

    def volume(self) -> float:
        """Volume, m^3."""
        return 8.0 * math.prod(self.half_extents)

    def tessellate(self, resolution: int = TESSELLATION_RESOLUTION) -> trimesh.Trimesh:
        return trimesh.creation.box(extents=2.0 * np.array(self.half_extents))


@dataclass(frozen=True)
class Cylinder(Shape):
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

    def __post_init__(self) -> None:
        _length(self, "radius")
        _length(self, "length")

    def _extreme(self, directions: FloatArray) -> FloatArray:
        _, unit = _radial(directions)
        return np.column_stack([self.radius * unit, np.where(directions[:, 2] < 0.0, -0.5, 0.5) * self.length])

    def _holds(self, points: FloatArray) -> NDArray[np.bool_]:
        return (np.hypot(points[:, 0], points[:, 1]) <= self.radius) & (np.abs(points[:, 2]) <= 0.5 * self.length)

    @property
    def _reach(self) -> float:
        return math.hypot(self.radius, 0.5 * self.length)

    def _fill(self, row: FloatArray) -> None:
        row[_kinds.KIND] = _kinds.CYLINDER
        row[_kernels.A1], row[_kernels.A3] = self.radius, 0.5 * self.length
        row[_kernels.SIZE] = max(self.radius, 0.5 * self.length)

    def volume(self) -> float:
        """Volume, m^3."""
        return math.pi * self.radius**2 * self.length

    def tessellate(self, resolution: int = TESSELLATION_RESOLUTION) -> trimesh.Trimesh:
        h = 0.5 * self.length
        return _turned([(0.0, -h), (self.radius, -h), (self.radius, h), (0.0, h)], resolution)


@dataclass(frozen=True)
class Cone(Shape):
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

    def __post_init__(self) -> None:
        _length(self, "radius")
        _length(self, "length")

    def _extreme(self, directions: FloatArray) -> FloatArray:
        across, unit = _radial(directions)
        base = np.column_stack([self.radius * unit, np.full(len(directions), -0.5 * self.length)])
        rim = self.radius * across > self.length * directions[:, 2]
        return np.where(rim[:, None], base, (0.0, 0.0, 0.5 * self.length))

    def _holds(self, points: FloatArray) -> NDArray[np.bool_]:
        width = self.radius * (0.5 - points[:, 2] / self.length)
        return (np.hypot(points[:, 0], points[:, 1]) <= width) & (np.abs(points[:, 2]) <= 0.5 * self.length)

    @property
    def _reach(self) -> float:
        return math.hypot(self.radius, 0.5 * self.length)

    def _fill(self, row: FloatArray) -> None:
        row[_kinds.KIND] = _kinds.CONE
        row[_kernels.A1], row[_kernels.A3] = self.radius, 0.5 * self.length
        row[_kernels.SIZE] = max(self.radius, 0.5 * self.length)

    def volume(self) -> float:
        """Volume, m^3."""
        return math.pi * self.radius**2 * self.length / 3.0

    def tessellate(self, resolution: int = TESSELLATION_RESOLUTION) -> trimesh.Trimesh:
        h = 0.5 * self.length
        return _turned([(0.0, -h), (self.radius, -h), (0.0, h)], resolution)


@dataclass(frozen=True)
class Torus(Shape):
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

    def __post_init__(self) -> None:
        major, minor = _length(self, "major_radius"), _length(self, "minor_radius")
        if not minor < major:
            raise ValueError(f"Torus.minor_radius = {minor}: must be below the major radius {major}")

    def _extreme(self, directions: FloatArray) -> FloatArray:
        _, unit = _radial(directions)
        return self.minor_radius * directions + np.column_stack([self.major_radius * unit, np.zeros(len(directions))])

    def _holds(self, points: FloatArray) -> NDArray[np.bool_]:
        across = np.hypot(points[:, 0], points[:, 1]) - self.major_radius
        return across**2 + points[:, 2] ** 2 <= self.minor_radius**2

    @property
    def _reach(self) -> float:
        return self.major_radius + self.minor_radius

    def _fill(self, row: FloatArray) -> None:
        row[_kinds.KIND] = _kinds.TORUS
        row[_kernels.A1], row[_kernels.A2] = self.major_radius, self.minor_radius

    def volume(self) -> float:
        """Volume, m^3."""
        return 2.0 * math.pi**2 * self.major_radius * self.minor_radius**2

    def tessellate(self, resolution: int = TESSELLATION_RESOLUTION) -> trimesh.Trimesh:
        sections = _sections(resolution)
        return trimesh.creation.torus(
            self.major_radius, self.minor_radius, major_sections=sections, minor_sections=max(4, sections // 2)
        )


def _vertex_rows(owner: str, vertices: ArrayLike, least: int) -> FloatArray:
    rows = floats(f"{owner}.vertices", vertices).copy()
    if rows.ndim != 2 or rows.shape[1] != 3 or len(rows) < least:
        raise ValueError(f"{owner}.vertices: must have shape (n, 3) with n >= {least}, found {rows.shape}")
    if not np.isfinite(rows).all():
        raise ValueError(f"{owner}.vertices: must be finite, found nan or inf")
    farthest, widest = np.abs(rows).max(), np.ptp(rows, axis=0).max()
    if farthest > MOST_LENGTH or widest < LEAST_LENGTH:
        raise ValueError(
            f"{owner}.vertices: must be within {MOST_LENGTH:g} m and not all within {LEAST_LENGTH:g} m of one another, "
            f"found coordinates up to {farthest:.3g} m and extents up to {widest:.3g} m"
        )
    rows.flags.writeable = False
    return rows


def _any_above(normals: FloatArray, offsets: FloatArray, points: FloatArray) -> bool:
    """Whether any of many points lies above any of many planes, n . x > offset.

    The points are put in groups that lie together. A plane that a ball around a group is below, which holds for all but
    those near it, is not compared with the points of the group one by one.
    """
    count = max(1, math.ceil((len(points) / _GROUP) ** (1.0 / 3.0)))
    groups = [points]
    for axis in range(3):
        groups = [part for group in groups for part in np.array_split(group[np.argsort(group[:, axis])], count)]
    for group in filter(len, groups):
        centre = 0.5 * (group.min(axis=0) + group.max(axis=0))
        # A little more than the radius: whom rounding lifts over the plane is then compared.
        radius = np.linalg.norm(group - centre, axis=1).max() + 1e-12 * np.abs(points).max()
        near = np.flatnonzero(normals @ centre + radius > offsets)
        chunk = max(1, 2_000_000 // len(group))
        for i in range(0, len(near), chunk):
            some = near[i : i + chunk]
            if ((normals[some] @ group.T).max(axis=1) > offsets[some]).any():
                return True
    return False


def _merged(vertices: FloatArray, faces: NDArray[np.int64]) -> tuple[FloatArray, NDArray[np.int64]]:
    """Equal vertices as one, in the order of the first of each, and without those that no triangle has."""
    used, faces = np.unique(faces, return_inverse=True)
    _, first, same = np.unique(vertices[used] + 0.0, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return vertices[used][first[order]], rank[same.reshape(-1)][faces.reshape(-1, 3)]


def _closed_surface(vertices: FloatArray, faces: NDArray[np.int64], key: FloatArray) -> trimesh.Trimesh:
    """Mesh of triangles whose corners are one where their keys agree, without those that have a corner twice."""
    _, first, same = np.unique(key + 0.0, axis=0, return_index=True, return_inverse=True)
    merged = first[same.reshape(-1)][faces]
    distinct = (merged != np.roll(merged, 1, axis=1)).all(axis=1)
    return trimesh.Trimesh(*_merged(vertices, merged[distinct]), process=False)


def _face_rows(owner: str, faces: ArrayLike, count: int) -> NDArray[np.int64]:
    rows = np.array(faces)  # of anything: what is no integer is told below
    if rows.ndim != 2 or rows.shape[1:] != (3,) or len(rows) < 4 or not np.issubdtype(rows.dtype, np.integer):
        found = f"{rows.dtype} of shape {rows.shape}"
        raise ValueError(f"{owner}.faces: must be integers of shape (m, 3) with m >= 4, found {found}")
    if rows.min() < 0 or rows.max() >= count:
        raise ValueError(f"{owner}.faces: indices must be in [0, {count}), found {rows.min()} to {rows.max()}")
    return rows


class _Vertices(Shape):
    """What convex and other meshes share: hull, bounds, packing."""

    vertices: FloatArray

    @cached_property
    def _hull(self) -> Hull:
        return Hull(type(self).__name__, self.vertices)

    def _extreme(self, directions: FloatArray) -> FloatArray:
        return self._hull.corners[np.argmax(directions @ self._hull.corners.T, axis=1)]

    @cached_property
    def _reach(self) -> float:
        return self._hull.radius

    def bounding_sphere(self) -> BoundingSphere:
        """Sphere around the body, centred on its bounding box (`BoundingSphere.centre`, `.radius`, m)."""
        centre = self.obb().centre
        radius = float(np.linalg.norm(self._hull.corners - centre, axis=1).max()) + self._hull.support_loss
        return BoundingSphere(centre, radius * (1.0 + 1e-12))

    def _blocks(self) -> list[tuple[int, int | None, FloatArray, int]]:
        """Parts of the pool: column of the offset, column of the count, numbers, count."""
        hull = self._hull
        blocks: list[tuple[int, int | None, FloatArray, int]] = [
            (_kinds.VERTICES, _kinds.VERTEX_COUNT, hull.corners, len(hull.corners)),
            (_kinds.PLANES, _kinds.PLANE_COUNT, hull.planes, len(hull.planes)),
        ]
        if hull.climbs:
            blocks.append((_kinds.LINKS, None, hull.links(), 0))
        return blocks

    def _fill(self, row: FloatArray) -> None:
        box = self.obb()
        # Half extents, centre and volume tell meshes apart where the order of two bodies is decided.
        row[_kernels.A1 : _kernels.A1 + 3] = box.half_extents
        row[_kernels.TX], row[_kernels.TY], row[_kernels.P] = box.centre
        row[_kernels.S_] = self.volume()
        row[_kernels.SIZE] = box.half_extents.max()
        row[_kinds.PLANE_LOSS] = self._hull.loss
        row[_kinds.SUPPORT_LOSS] = self._hull.support_loss
        at = EMPTY_POOL.size
        for offset, count, block, length in self._blocks():
            row[offset] = at
            if count is not None:
                row[count] = length
            at += block.size

    @cached_property
    def _pool(self) -> FloatArray:
        return np.concatenate([EMPTY_POOL, *(block.ravel() for _, _, block, _ in self._blocks())])


@dataclass(frozen=True, eq=False)
class ConvexMesh(_Vertices):
    """Convex hull of points.

    Parameters
    ----------
    vertices : (n, 3) array_like
        At least four points that span a volume, m. Points that are certain to lie inside the hull are dropped.
    """

    vertices: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", _vertex_rows("ConvexMesh", self.vertices, 4))
        corners = self._hull.corners
        corners.flags.writeable = False
        object.__setattr__(self, "vertices", corners)

    def __repr__(self) -> str:
        return f"ConvexMesh({len(self.vertices)} vertices)"

    @property
    def faces(self) -> NDArray[np.int64]:
        """Facets of the hull, shape (m, 3), outward oriented."""
        return self._hull.facets

    def _fill(self, row: FloatArray) -> None:
        super()._fill(row)
        row[_kinds.KIND] = _kinds.CONVEX_MESH

    def _holds(self, points: FloatArray) -> NDArray[np.bool_]:
        planes = self._hull.planes
        return (points @ planes[:, :3].T <= planes[:, 3] + 1e-15 * self._reach).all(axis=1)

    def volume(self) -> float:
        """Volume, m^3."""
        return self._hull.volume

    def tessellate(self, resolution: int = TESSELLATION_RESOLUTION) -> trimesh.Trimesh:
        return trimesh.Trimesh(self.vertices.copy(), self.faces.copy(), process=False)


@dataclass(frozen=True, eq=False)
class Mesh(_Vertices):
    """Body bounded by a closed triangle mesh, convex or not.

    Parameters
    ----------
    vertices : (n, 3) array_like
        Points, m, within 1e30 m; equal ones are merged.
    faces : (m, 3) array_like of int
        Triangles, counter-clockwise seen from outside. The surface must be closed and consistently oriented, since
        a distance has a sign.

    Raises
    ------
    ValueError
        If an index is out of range, the surface is not closed, or it is turned inside out.
    """

    vertices: FloatArray
    faces: NDArray[np.int64]

    def __post_init__(self) -> None:
        vertices = _vertex_rows("Mesh", self.vertices, 4)
        faces = _face_rows("Mesh", self.faces, len(vertices))
        mesh = trimesh.Trimesh(*_merged(vertices, faces), process=False)
        if not mesh.is_watertight:
            raise ValueError("Mesh.faces: the surface must be closed, found an edge without two triangles")
        if not mesh.is_winding_consistent:
            raise ValueError("Mesh.faces: all triangles must be turned the same way, found neighbours that are not")
        if not mesh.volume > 0.0:
            raise ValueError("Mesh.faces: triangles must be counter-clockwise seen from outside, found the reverse")
        for name, array in (("vertices", np.array(mesh.vertices)), ("faces", np.array(mesh.faces, dtype=np.int64))):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        return f"Mesh({len(self.vertices)} vertices, {len(self.faces)} triangles)"

    @classmethod
    def from_trimesh(cls, mesh: trimesh.Trimesh) -> Mesh:
        """Take the triangles of a mesh that trimesh has read."""
        return cls(np.asarray(mesh.vertices), np.asarray(mesh.faces))

    @classmethod
    def from_triangles(cls, vertices: ArrayLike, faces: ArrayLike) -> Mesh:
        """Take triangles as files and messages have them: turned either way, with each corner as often as it occurs.

        Vertices that are equal are merged, and nothing else where the surface then closes. Where it does not, those are
        merged that agree when rounded to 1e-8 of the largest extent, as far as single precision leaves corners from
        one another; all answers are for the body with the merged corners, which are given ones.

        Parameters
        ----------
        vertices : (n, 3) array_like
            Points, m.
        faces : (m, 3) array_like of int

        Raises
        ------
        ValueError
            If the triangles do not close, so that they have no inside, or enclose no volume.
        """
        points = _vertex_rows(cls.__name__, vertices, 4)
        triangles = _face_rows(cls.__name__, faces, len(points))
        mesh = _closed_surface(points, triangles, points)
        if not mesh.is_watertight:
            cell = _MERGED * float(np.ptp(points, axis=0).max())
            mesh = _closed_surface(points, triangles, np.round((points - points.min(axis=0)) / cell))
        if not mesh.is_watertight:
            raise ValueError("the mesh is not closed, so that it has no inside and no signed distance")
        trimesh.repair.fix_normals(mesh, multibody=True)
        return cls(mesh.vertices, mesh.faces)

    @cached_property
    def _tree(self) -> tuple[FloatArray, FloatArray]:
        """Triangles in the order of the leaves, shape (m, 9), and nodes of a tree of boxes."""
        corners = self.vertices[self.faces]
        return _box_tree(corners)

    @cached_property
    def _shells(self) -> FloatArray:
        """A vertex of each connected part of the surface, shape (k, 3)."""
        from scipy.sparse import coo_array  # late: importing it takes longer than most programs need it
        from scipy.sparse.csgraph import connected_components

        count = len(self.vertices)
        edges = np.concatenate([self.faces[:, :2], self.faces[:, 1:]])
        graph = coo_array((np.ones(len(edges), dtype=bool), edges.T), shape=(count, count))
        _, first = np.unique(connected_components(graph, directed=False)[1], return_index=True)
        return self.vertices[first]

    def _blocks(self) -> list[tuple[int, int | None, FloatArray, int]]:
        triangles, nodes = self._tree
        return [
            *super()._blocks(),
            (_kinds.TRIANGLES, _kinds.TRIANGLE_COUNT, triangles, len(triangles)),
            (_kinds.NODES, _kinds.NODE_COUNT, nodes, len(nodes)),
            (_kinds.SHELLS, _kinds.SHELL_COUNT, self._shells, len(self._shells)),
        ]

    def _fill(self, row: FloatArray) -> None:
        super()._fill(row)
        row[_kinds.KIND] = _kinds.MESH
        row[_kinds.IS_CONVEX] = self.is_convex()

    @cached_property
    def _is_convex(self) -> bool:
        # A triangle all corners of which are within a length of the highest of the body along some direction lies that
        # near to the hull, whatever the direction: of a sliver it need not be the normal.
        up = normals(self.vertices, self.faces)
        up /= np.maximum(np.linalg.norm(up, axis=1), 1e-300)[:, None]
        offsets = np.einsum("ik,ijk->ij", up, self.vertices[self.faces]).min(axis=1)
        if not abs(self.volume() - self._hull.volume) <= 0.5 * self._hull.volume:
            return False  # a fold of the hull's surface
        return not _any_above(up, offsets + _PLANE_ROUNDING * self._reach, self._hull.corners)

    def is_convex(self) -> bool:
        """Whether no vertex lies above the plane of a triangle by more than rounding: the mesh is its own hull."""
        return self._is_convex

    def _holds(self, points: FloatArray) -> NDArray[np.bool_]:
        corners = self.vertices[self.faces]
        return np.array([winding(corners - point) > 0.5 for point in points], dtype=bool)

    def volume(self) -> float:
        """Volume, m^3."""
        a, b, c = (self.vertices[self.faces[:, i]] for i in range(3))
        return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)

    def tessellate(self, resolution: int = TESSELLATION_RESOLUTION) -> trimesh.Trimesh:
        return trimesh.Trimesh(self.vertices.copy(), self.faces.copy(), process=False)


def _box_tree(corners: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Tree of boxes over triangles (m, 3, 3), halved at the median along the longest axis of the centroids."""
    centroids = corners.mean(axis=1)
    order = np.arange(len(corners))
    nodes = [(0, len(order))]
    rows = []
    at = 0
    while at < len(nodes):
        first, end = nodes[at]
        at += 1
        part = order[first:end]
        lower, upper = corners[part].min(axis=(0, 1)), corners[part].max(axis=(0, 1))
        box = [*(0.5 * (lower + upper)), *(0.5 * (upper - lower))]
        if end - first <= _LEAF_TRIANGLES:
            rows.append([*box, first, end - first])
            continue
        spread = centroids[part]
        axis = int(np.argmax(spread.max(axis=0) - spread.min(axis=0)))
        middle = (end - first) // 2
        order[first:end] = part[np.argpartition(spread[:, axis], middle)]
        rows.append([*box, len(nodes), -1.0])
        nodes += [(first, first + middle), (first + middle, end)]
    return corners[order].reshape(-1, 9), np.array(rows, dtype=np.float64)
