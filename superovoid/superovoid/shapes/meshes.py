# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bodies of triangles: the convex hull of points, and meshes of any form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.shapes.hull import Hull, most_above, normals, winding
from superovoid.shapes.kernels import kinds
from superovoid.shapes.kernels.hulls import HEIGHT_ROUNDING, pack_parts, room_of
from superovoid.shapes.lazy import cached_property
from superovoid.shapes.mesh_library import trimesh_for
from superovoid.shapes.shape import ABOVE_ROUNDING, TESSELLATION_RESOLUTION, BoundingBox, BoundingSphere, Shape
from superovoid.values.checks import LEAST_LENGTH, MOST_LENGTH, floats, number, shorten

if TYPE_CHECKING:
    import trimesh

FloatArray = NDArray[np.float64]


_SLAB = 1e-9  # half thickness of the slab around a plane sheet, as a fraction of its extent
_MERGED = 1e-8  # distance of vertices that are merged to close a surface, as a fraction of the largest extent


def vertex_rows(owner: str, vertices: ArrayLike, least: int) -> FloatArray:
    """Return vertices as an array, shape (n, 3); `ValueError` if one is not finite or there are too few."""
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


def _merge_vertices(vertices: FloatArray, faces: NDArray[np.int64]) -> tuple[FloatArray, NDArray[np.int64]]:
    """Merge equal vertices, in the order of the first of each, and drop those that no triangle uses."""
    used, faces = np.unique(faces, return_inverse=True)
    _, first, same = np.unique(vertices[used] + 0.0, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return vertices[used][first[order]], rank[same.reshape(-1)][faces.reshape(-1, 3)]


def _closed_surface(vertices: FloatArray, faces: NDArray[np.int64], key: FloatArray) -> trimesh.Trimesh:
    """Return a mesh with corners of equal keys merged, without triangles that have a corner twice."""
    _, first, same = np.unique(key + 0.0, axis=0, return_index=True, return_inverse=True)
    merged = first[same.reshape(-1)][faces]
    distinct = (merged != np.roll(merged, 1, axis=1)).all(axis=1)
    return trimesh_for("a mesh").Trimesh(*_merge_vertices(vertices, merged[distinct]), process=False)


def _face_rows(owner: str, faces: ArrayLike, count: int, least: int = 4) -> NDArray[np.int64]:
    rows = np.array(faces)  # of any type: the check below rejects all but integers
    if rows.ndim != 2 or rows.shape[1:] != (3,) or len(rows) < least or not np.issubdtype(rows.dtype, np.integer):
        found = f"{rows.dtype} of shape {rows.shape}"
        raise ValueError(f"{owner}.faces: must be integers of shape (m, 3) with m >= {least}, found {found}")
    if rows.min() < 0 or rows.max() >= count:
        raise ValueError(f"{owner}.faces: indices must be in [0, {count}), found {rows.min()} to {rows.max()}")
    return rows


class _Vertices(Shape):
    """Base of all meshes: hull, bounds, packing."""

    vertices: FloatArray

    def _keep(self, **arrays: NDArray[Any]) -> None:
        """Set fields to read-only arrays."""
        for name, array in arrays.items():
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @cached_property
    def _hull(self) -> Hull:
        return Hull(type(self).__name__, self.vertices)

    @cached_property
    def _reach(self) -> float:
        return self._hull.radius

    @property
    def support_loss(self) -> float:
        """Largest amount by which `support_value` of a unit direction may be too small, beyond rounding, m."""
        return self._hull.support_loss

    @cached_property
    def _obb(self) -> BoundingBox:
        lower, upper = self._hull.corners.min(axis=0), self._hull.corners.max(axis=0)
        return BoundingBox(0.5 * (lower + upper), 0.5 * (upper - lower))

    def bounding_sphere(self) -> BoundingSphere:
        """Return a sphere around the body, centred on its bounding box (`BoundingSphere.centre`, `.radius`, m)."""
        centre = self.obb().centre
        radius = float(np.linalg.norm(self._hull.corners - centre, axis=1).max()) + self.support_loss
        return BoundingSphere(centre, ABOVE_ROUNDING * radius)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in self.__getstate__())

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((type(self), *((array + 0).tobytes() for array in self.__getstate__().values())))  # -0 equals 0

    def area(self) -> float:
        """Return the area of all triangles, m^2; of a shell, that of one side."""
        return 0.5 * float(np.linalg.norm(normals(*self.triangles()), axis=1).sum())

    def _moments(self) -> tuple[FloatArray, FloatArray]:
        # Sum over the signed tetrahedra between the origin and each triangle.
        corners = self.triangles()[0][self.triangles()[1]]
        volumes = np.linalg.det(corners) / 6.0
        total = corners.sum(axis=1)
        first = volumes @ total / 4.0
        second = np.einsum("i,ij,ik->jk", volumes, total, total)
        second += np.einsum("i,inj,ink->jk", volumes, corners, corners)
        return first, second / 20.0

    def _draw_surface(self, count: int, rng: np.random.Generator) -> FloatArray:
        vertices, faces = self.triangles()
        areas = np.linalg.norm(normals(vertices, faces), axis=1)
        a, b, c = np.moveaxis(vertices[faces[rng.choice(len(faces), count, p=areas / areas.sum())]], 1, 0)
        u, v = rng.random((2, count, 1))
        u, v = np.where(u + v > 1.0, (1.0 - u, 1.0 - v), (u, v))
        return a + u * (b - a) + v * (c - a)

    def _surface(self) -> NDArray[np.int64]:
        """Triangles that the kernels store, if the body is not its hull."""
        return np.empty((0, 3), dtype=np.int64)

    def _fill(self, row: FloatArray) -> FloatArray:
        hull, faces = self._hull, np.ascontiguousarray(self._surface(), dtype=np.int32)
        row[kinds.KIND] = kinds.MESH if len(faces) else kinds.CONVEX_MESH
        self._identify(row, self.volume())
        row[kinds.PLANE_LOSS], row[kinds.SUPPORT_LOSS] = hull.loss, self.support_loss
        pool = np.zeros(room_of(len(hull.corners), len(hull.planes), len(faces)))
        return pool[: pack_parts(hull.corners, hull.planes, self.vertices, faces, row, pool)].copy()


@dataclass(frozen=True, eq=False)
class ConvexMesh(_Vertices):
    """Convex hull of points.

    Parameters
    ----------
    vertices : (n, 3) array_like
        At least four points that span a volume, m. Points certainly inside the hull are dropped.
    """

    vertices: FloatArray

    def __post_init__(self) -> None:
        self._keep(vertices=vertex_rows("ConvexMesh", self.vertices, 4))
        self._keep(vertices=self._hull.corners)

    def __repr__(self) -> str:
        return f"ConvexMesh({len(self.vertices)} vertices)"

    @property
    def faces(self) -> NDArray[np.int64]:
        """Facets of the hull, shape (m, 3), oriented outward."""
        return self._hull.facets

    def volume(self) -> float:
        """Return the volume, m^3."""
        return self._hull.volume

    def triangles(self, resolution: int = TESSELLATION_RESOLUTION) -> tuple[FloatArray, NDArray[np.int64]]:
        """Return the triangles of the mesh; the resolution is ignored."""
        return self.vertices.copy(), self.faces.copy()


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
        vertices = vertex_rows("Mesh", self.vertices, 4)
        faces = _face_rows("Mesh", self.faces, len(vertices))
        mesh = trimesh_for("a mesh").Trimesh(*_merge_vertices(vertices, faces), process=False)
        if not mesh.is_watertight:
            raise ValueError("Mesh.faces: the surface must be closed, found an edge without two triangles")
        if not mesh.is_winding_consistent:
            raise ValueError("Mesh.faces: all triangles must be turned the same way, found neighbours that are not")
        if not mesh.volume > 0.0:
            raise ValueError("Mesh.faces: triangles must be counter-clockwise seen from outside, found the reverse")
        self._keep(vertices=np.array(mesh.vertices), faces=np.array(mesh.faces, dtype=np.int64))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.vertices)} vertices, {len(self.faces)} triangles)"

    @classmethod
    def from_trimesh(cls, mesh: trimesh.Trimesh) -> Mesh:
        """Make a mesh from a `trimesh.Trimesh`."""
        return cls(np.asarray(mesh.vertices), np.asarray(mesh.faces))

    @classmethod
    def from_triangles(cls, vertices: ArrayLike, faces: ArrayLike) -> Mesh:
        """Make a mesh of triangles from a file or message: of either orientation, with repeated corners.

        Equal vertices are merged. If the surface is still not closed, vertices that agree to 1e-8 of the largest extent
        (single precision) are merged too. All distances are those of the merged mesh, whose vertices are among the
        input vertices.

        Parameters
        ----------
        vertices : (n, 3) array_like
            Points, m.
        faces : (m, 3) array_like of int

        Raises
        ------
        ValueError
            If the triangles do not form a closed surface, or enclose no volume.
        """
        points = vertex_rows(cls.__name__, vertices, 4)
        triangles = _face_rows(cls.__name__, faces, len(points))
        mesh = _closed_surface(points, triangles, points)
        if not mesh.is_watertight:
            cell = _MERGED * float(np.ptp(points, axis=0).max())
            mesh = _closed_surface(points, triangles, np.round((points - points.min(axis=0)) / cell))
        if not mesh.is_watertight:
            raise ValueError("the mesh is not closed, so that it has no inside and no signed distance")
        trimesh_for("a mesh").repair.fix_normals(mesh, multibody=True)
        return cls(mesh.vertices, mesh.faces)

    @classmethod
    def from_heights(cls, heights: ArrayLike, lengths: ArrayLike, base: float) -> Mesh:
        """Make the solid under a terrain: heights above a grid, walls, and a flat base.

        Parameters
        ----------
        heights : (rows, columns) array_like
            z of the grid points, m; rows along y, columns along x, both ascending. The cells are split along the
            diagonals from (row, column) to (row + 1, column + 1), as those of MuJoCo.
        lengths : (2,) array_like
            Lengths of the grid along x and y, m, centred on the z axis.
        base : float
            z of the base, m, below all heights.

        Raises
        ------
        ValueError
            If there are fewer than two rows or columns, a height is not above the base, or a length is not positive.

        Examples
        --------
        >>> from superovoid import Mesh
        >>> Mesh.from_heights([[0.0, 0.0], [1.0, 1.0]], (2.0, 3.0), -1.0).volume()
        9.0
        """
        z, sizes, base = floats("heights", heights), floats("lengths", lengths), number("base", base, "metres")
        if sizes.shape != (2,) or not (np.isfinite(sizes) & (sizes > 0.0)).all():
            raise ValueError(f"lengths = {shorten(lengths)}: must be two positive numbers (metres)")
        x, y = 0.5 * sizes
        if z.ndim != 2 or min(z.shape) < 2:
            raise ValueError(f"heights: must have at least two rows and two columns, found shape {z.shape}")
        if not base < z.min():
            raise ValueError(f"heights: must be above the base at {base!r} m, found {z.min()}")
        rows, columns = z.shape
        places = np.stack(np.meshgrid(np.linspace(-x, x, columns), np.linspace(-y, y, rows)), axis=-1).reshape(-1, 2)
        vertices = np.concatenate([np.column_stack([places, each]) for each in (z.ravel(), np.full(z.size, base))])
        point = np.arange(z.size).reshape(rows, columns)
        a, b, c, d = (each.ravel() for each in (point[:-1, :-1], point[:-1, 1:], point[1:, 1:], point[1:, :-1]))
        upper = np.concatenate([np.stack(corners, axis=1) for corners in ((a, b, c), (a, c, d))])
        edge = np.concatenate([point[0, :-1], point[:-1, -1], point[-1, :0:-1], point[:0:-1, 0]])
        after, below = np.roll(edge, -1), z.size
        walls = [
            np.stack(corners, axis=1) for corners in ((edge, edge + below, after), (after, edge + below, after + below))
        ]
        return cls(vertices, np.concatenate([upper, upper[:, ::-1] + below, *walls]))

    def _surface(self) -> NDArray[np.int64]:
        return self.faces

    def _fill(self, row: FloatArray) -> FloatArray:
        row[kinds.IS_CONVEX] = self.is_convex()
        return super()._fill(row)

    @cached_property
    def _is_convex(self) -> bool:
        # If, along some direction, all corners of a triangle are within a length of the highest point of the body, the
        # triangle is within this length of the hull. Any direction will do, so a sliver needs no exact normal.
        up = normals(self.vertices, self.faces)
        up /= np.maximum(np.linalg.norm(up, axis=1), 1e-300)[:, None]
        offsets = np.einsum("ik,ijk->ij", up, self.vertices[self.faces]).min(axis=1)
        if not abs(self.volume() - self._hull.volume) <= 0.5 * self._hull.volume:
            return False  # a fold of the hull's surface
        return most_above(up, offsets + HEIGHT_ROUNDING * self._reach, self._hull.corners) <= 0.0

    def is_convex(self) -> bool:
        """Return whether the mesh is its own hull: no vertex is above a triangle by more than rounding."""
        return self._is_convex

    def _holds(self, points: FloatArray) -> NDArray[np.bool_]:
        corners = self.vertices[self.faces]
        return np.array([winding(corners - point) > 0.5 for point in points], dtype=bool)

    def volume(self) -> float:
        """Return the volume, m^3."""
        a, b, c = (self.vertices[self.faces[:, i]] for i in range(3))
        return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)

    def triangles(self, resolution: int = TESSELLATION_RESOLUTION) -> tuple[FloatArray, NDArray[np.int64]]:
        """Return the triangles of the mesh; the resolution is ignored."""
        return self.vertices.copy(), self.faces.copy()


@dataclass(frozen=True, eq=False, repr=False)
class Shell(Mesh):
    """Sheet of triangles, without an inside: a body in the hollow of an open box does not overlap it.

    The kernels store each triangle twice, with both orientations: the winding number is 0 everywhere, so no point is
    inside, and a separating translation may lead to either side. An overlap is a triangle that meets another body; its
    depth is the length of the shortest translation that separates them. It is proved if a ball or capsule touches from
    one side. A sheet has no thickness, so the interval of other overlaps extends to 0, with the status
    `UNPROVEN | NON_CONVEX`.

    Parameters
    ----------
    vertices : (n, 3) array_like
        At least three points, not on one line, m; equal ones are merged.
    faces : (m, 3) array_like of int
        Triangles, at least one, of either orientation, closed or not. Those with a corner twice are dropped.

    Raises
    ------
    ValueError
        If an index is out of range, or all points are (nearly) on one line.
    """

    def __post_init__(self) -> None:
        vertices = vertex_rows("Shell", self.vertices, 3)
        vertices, faces = _merge_vertices(vertices, _face_rows("Shell", self.faces, len(vertices), 1))
        faces = faces[(faces != np.roll(faces, 1, axis=1)).all(axis=1)]
        if not len(faces):
            raise ValueError("Shell.faces: every triangle has a corner twice")
        vertices, faces = _merge_vertices(vertices, faces)
        self._keep(vertices=vertices, faces=faces)
        self._hull  # noqa: B018 - refuses points on one line

    @classmethod
    def from_triangles(cls, vertices: ArrayLike, faces: ArrayLike) -> Shell:
        """Make a shell of triangles from a file or message."""
        return cls(vertices, faces)  # type: ignore[arg-type] # the fields are what the constructor makes of them

    @cached_property
    def _hull(self) -> Hull:
        try:
            return Hull("Shell", self.vertices)
        except ValueError:
            # All points lie in one plane: compute the facets of a slab around it.
            about = self.vertices - self.vertices.mean(axis=0)
            half = _SLAB * float(np.abs(about).max())
            across = np.linalg.svd(about, full_matrices=False)[2][2] * half
        try:
            slab = Hull("Shell", np.concatenate([self.vertices - across, self.vertices + across]))
        except ValueError:
            raise ValueError("Shell.vertices: must not be (nearly) on one line") from None
        slab.flatten(self.vertices, half)
        return slab

    def _surface(self) -> NDArray[np.int64]:
        return np.concatenate([self.faces, self.faces[:, ::-1]])

    @cached_property
    def _is_convex(self) -> bool:
        return False

    def _holds(self, points: FloatArray) -> NDArray[np.bool_]:
        return np.zeros(len(points), dtype=bool)

    def volume(self) -> float:
        """Return 0, since a shell has no volume."""
        return 0.0
