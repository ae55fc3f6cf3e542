# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The target of a fit: the solid that triangles are meant to enclose, with signed distances.

Meshes of robots are often open, inside out, or made of overlapping parts.  Therefore

* corners closer than 1e-6 of the extent are merged, and triangles without area are removed;
* the triangles of a part get a consistent orientation that encloses a positive volume: cavities inside of a solid part
  count as solid, since convex bodies cannot leave them free;
* a point is inside if its winding number is above one half (`triangle_tree`), a rule that also works for open meshes;
* triangles with the solid on both sides or on neither (inner walls) do not belong to the surface;
* inner walls of hollow parts, triangles from which hardly any ray escapes, are removed if that adds volume, so that the
  hollow becomes solid.

If hardly any of the surface has an inside, the triangles enclose nothing, and the target is their convex hull.  The
hull is also the target of a thin skin around a hollow that is open to the outside, since no convex body could represent
such a skin.  Rays from points between the surface and its hull distinguish a skin from a plate or a bracket: most of
them meet a skin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import ConvexHull, QhullError

from superovoid.fitting.halton import halton
from superovoid.fitting.triangle_tree import TriangleTree
from superovoid.shapes.mesh_library import trimesh_for

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_WELDED = 1e-6  # distance of merged corners, relative to the extent
_PROBE = 2e-4  # distance of probes from the surface, relative to the radius
_ENCLOSING = 0.5  # share of the area that must have the solid on one side only
_PROBED = 2000
_SHEET = 1e-3  # thickness given to coplanar points, relative to the extent
_INSIDE = 0.5
# Chosen by the 156 links of ten robots (docs/how_to/fitting_robots.md).
_SOLID = 0.9  # share of the hull's volume above which a solid is not searched for hollows
_HIDDEN = 0.2  # share of escaping rays, weighted by the cosine, below which a triangle is an inner wall
_ADDED = 0.05  # share of volume that removing inner walls must add
_THIN, _SHELTERED = 0.055, 0.45  # skin: thickness over radius; mean share of rays in the hollow that meet the skin
_RAYS, _LEAST_RAYS, _MOST_RAYS = 300_000, 6, 64  # in total; per triangle
_HOLLOW_POINTS, _HOLLOW_RAYS = 2000, 32
_LEAST_POINTS = 100  # least number of the hollow points in the hull
_OFF = 1e-5  # offset of ray origins from their triangle, relative to the radius


class Target:
    """A solid, given by the triangles of its surface.

    Parameters
    ----------
    corners : (m, 3, 3) ndarray
        Corners of triangles, counter-clockwise seen from outside.
    kind : {"mesh", "hull"}
        Origin of the triangles.
    notes : sequence of str
        Repairs that made the triangles a solid.
    moved : float
        Largest displacement of a corner by these repairs.

    Attributes
    ----------
    given : (n, 3, 3) ndarray
        Corners of the triangles of the mesh as given, before all repairs.
    """

    def __init__(self, corners: FloatArray, kind: str = "mesh", notes: Sequence[str] = (), moved: float = 0.0) -> None:
        self.moved = moved
        self.corners = np.ascontiguousarray(corners, dtype=np.float64)
        self.given = self.corners
        self.kind = kind
        self.notes = tuple(notes)
        self.tree = TriangleTree(self.corners)
        cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        length = np.linalg.norm(cross, axis=1)
        self.areas = 0.5 * length
        self.normals = cross / np.maximum(length, 1e-300)[:, None]
        points = corners.reshape(-1, 3)
        self.lower, self.upper = points.min(axis=0), points.max(axis=0)
        self.centre = 0.5 * (self.lower + self.upper)
        self.radius = float(np.linalg.norm(points - self.centre, axis=1).max())

    @classmethod
    def from_triangles(cls, vertices: ArrayLike, faces: ArrayLike | None, target: str = "mesh") -> Target:
        """Return the solid of a mesh.

        Parameters
        ----------
        vertices : (n, 3) array_like
            m, or any other unit, which the fit then has too.
        faces : (m, 3) array_like of int, or None
            Triangles; None: use the hull of the vertices.
        target : {"mesh", "hull"}
            Whether the target is the solid of the triangles, or their convex hull.

        Raises
        ------
        ValueError
            If there are fewer than four points, they coincide or lie on a line, or one is not finite.
        """
        if target not in ("mesh", "hull"):
            raise ValueError(f"target = {target!r}: must be 'mesh' or 'hull'")
        points = _points(vertices)
        rows = np.empty((0, 3), dtype=np.int64) if faces is None else np.asarray(faces, dtype=np.int64).reshape(-1, 3)
        if rows.size and (rows.min() < 0 or rows.max() >= len(points)):
            raise ValueError(f"faces: indices must be in [0, {len(points)}), found {rows.min()} to {rows.max()}")
        if len(rows):
            # Unused points do not belong to the surface, but would enlarge its hull.
            used, corners_of = np.unique(rows, return_inverse=True)
            points, rows = points[used], corners_of.reshape(rows.shape)
        made = _hull_of(points, ()) if target == "hull" else cls._solid_of(points, rows)
        if len(rows):
            made.given = points[rows]
        return made

    @classmethod
    def _solid_of(cls, points: FloatArray, rows: IntArray) -> Target:
        """Return the solid that triangles enclose, or the convex hull of the points if there is none."""
        if not len(rows):
            return _hull_of(points, ("has no triangles: the convex hull of its points is fitted",))
        corners, notes, moved = _orient(points, rows)
        if not len(corners):
            return _hull_of(points, notes)
        found = cls(corners, "mesh", notes, moved)
        share = found._enclosing_share()
        if share < _ENCLOSING:
            return _hull_of(
                points, [*notes, f"only {100.0 * share:.0f} % of its area encloses a solid: its convex hull is fitted"]
            )
        filled, word = found._fill_hollows()
        if filled is None:
            return _hull_of(points, [*notes, word])
        if share < 0.98:
            notes.append(f"{100.0 * (1.0 - share):.0f} % of its area bounds no solid and is ignored")
        filled.notes = (*notes, word) if word else tuple(notes)
        return filled

    @property
    def diagonal(self) -> float:
        """Diagonal of the box around the mesh as given."""
        return float(np.linalg.norm(np.ptp(self.given.reshape(-1, 3), axis=0)))

    def _sides(self, points: FloatArray, normals: FloatArray) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return whether the solid is in front of, and behind, points on the surface."""
        step = _PROBE * self.radius * normals
        return self.contains(points + step), self.contains(points - step)

    def _enclosing_share(self) -> float:
        """Return the share of the area with the solid on one side only."""
        points, normals = self._sample_triangles(_PROBED, np.random.default_rng(0))
        before, behind = self._sides(points, normals)
        # Points inside of another part are ignored.
        open_to_air = ~(before & behind)
        return float((before != behind)[open_to_air].mean()) if open_to_air.any() else 0.0

    def _fill_hollows(self) -> tuple[Target | None, str]:
        """Return the solid without inner walls, or None for a skin, to be replaced by its hull; and a note."""
        points = self._points_in_hull()
        inside = self.contains(points)
        if inside.mean() > _SOLID:
            return self, ""
        found, note = self, ""
        hidden = self._exposure() < _HIDDEN
        if hidden.any() and not hidden.all():
            open_to_air = Target(self.corners[~hidden], self.kind, (), self.moved)
            filled = open_to_air.contains(points) | inside
            if filled.sum() > (1.0 + _ADDED) * inside.sum():
                found = open_to_air
                note = (
                    f"is hollow: inner walls are left out, and the solid has {filled.sum() / max(inside.sum(), 1):.2g} "
                    "times the volume"
                )
                inside = filled
        thickness = 2.0 * inside.mean() * self.hull.volume / found.areas.sum()
        if thickness < _THIN * self.radius and not inside.all():
            hollow = np.repeat(points[~inside], _HOLLOW_RAYS, axis=0)
            directions = np.random.default_rng(0).normal(size=hollow.shape)
            if self.tree.is_blocked(hollow, directions).mean() >= _SHELTERED:
                return None, (
                    f"is a skin around a hollow, {100.0 * inside.mean():.0f} % of its convex hull: the hull is fitted"
                )
        return found, note

    def _points_in_hull(self) -> FloatArray:
        """Return points distributed over the convex hull."""
        points = self.lower + (self.upper - self.lower) * halton(0).random(_HOLLOW_POINTS)
        planes = self.hull.equations
        points = points[(points @ planes[:, :3].T + planes[:, 3] < 0.0).all(axis=1)]
        if len(points) >= _LEAST_POINTS:
            return points
        # A slender hull across its box contains hardly any: sample pyramids from its centre to its triangles instead.
        apex = self.hull.points[self.hull.vertices].mean(axis=0)
        edges = self.hull.points[self.hull.simplices] - apex
        volumes = np.abs(np.linalg.det(edges))
        generator = np.random.default_rng(0)
        which = generator.choice(len(edges), _HOLLOW_POINTS, p=volumes / volumes.sum())
        weights = generator.dirichlet(np.ones(4), _HOLLOW_POINTS)
        return np.asarray(apex + np.einsum("ij,ijk->ik", weights[:, 1:], edges[which]))

    def _exposure(self) -> FloatArray:
        """Return the share of rays from the outer side of each triangle, cosine-weighted, that meet no triangle."""
        count = len(self.corners)
        each = int(np.clip(_RAYS // count, _LEAST_RAYS, _MOST_RAYS))
        which = np.repeat(np.arange(count), each)
        generator = np.random.default_rng(0)
        u, v = generator.random((2, len(which)))
        turned = u + v > 1.0
        u[turned], v[turned] = 1.0 - u[turned], 1.0 - v[turned]
        a, b, c = self.corners[which].transpose(1, 0, 2)
        normals = self.normals[which]
        start = a + u[:, None] * (b - a) + v[:, None] * (c - a) + _OFF * self.radius * normals
        # A uniform point on the unit sphere about the tip of the normal gives cosine-distributed directions.
        ball = generator.normal(size=start.shape)
        ball *= (1.0 - 1e-6) / np.linalg.norm(ball, axis=1)[:, None]
        free = ~self.tree.is_blocked(start, normals + ball)
        return free.reshape(count, each).mean(axis=1)

    def _sample_triangles(self, count: int, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return points on the triangles, one in each of `count` equal slices of the area, and normals."""
        where = (np.arange(count) + generator.random(count)) / count
        which = np.searchsorted(np.cumsum(self.areas) / self.areas.sum(), where).clip(max=len(self.areas) - 1)
        u, v = generator.random((2, count))
        turned = u + v > 1.0
        u[turned], v[turned] = 1.0 - u[turned], 1.0 - v[turned]
        a, b, c = self.corners[which].transpose(1, 0, 2)
        return a + u[:, None] * (b - a) + v[:, None] * (c - a), self.normals[which]

    def surface(self, count: int, seed: int) -> tuple[FloatArray, FloatArray]:
        """Sample the surface of the solid, uniformly by area; return points and outward normals.

        Parameters
        ----------
        count : int
            Fewer points are returned if some triangles do not bound the solid.
        seed : int

        Returns
        -------
        points, normals : (n, 3) ndarray
        """
        points, normals = self._sample_triangles(count, np.random.default_rng(seed))
        before, behind = self._sides(points, normals)
        bounding = before != behind
        normals = np.where(before[:, None], -normals, normals)
        return points[bounding], normals[bounding]

    def contains(self, points: FloatArray) -> NDArray[np.bool_]:
        """Return whether rows of points lie inside, by winding numbers."""
        points = np.asarray(points, dtype=np.float64)
        inside = np.zeros(len(points), dtype=bool)
        boxed = ((points >= self.lower) & (points <= self.upper)).all(axis=1)
        inside[boxed] = self.tree.winding(points[boxed]) > _INSIDE
        return inside

    def distance(self, points: FloatArray) -> FloatArray:
        """Return the distance of rows of points from the triangles."""
        feet, _ = self.tree.nearest_points(points)
        return np.linalg.norm(points - feet, axis=1)

    def signed_distance(self, points: FloatArray) -> FloatArray:
        """Return the distance of rows of points from the triangles, negative inside."""
        distance = self.distance(points)
        return np.where(self.contains(points), -distance, distance)

    @cached_property
    def hull(self) -> ConvexHull:
        """Convex hull of the corners."""
        return ConvexHull(self.corners.reshape(-1, 3))

    @cached_property
    def rim(self) -> FloatArray:
        """Ends (n, 2, 3) of unbalanced edges: those that triangles traverse more often in one direction.

        An edge is repeated by its excess. Without such edges the triangles are closed, and winding numbers are
        integers.
        """
        points, corner = np.unique(self.corners.reshape(-1, 3), axis=0, return_inverse=True)
        ends = corner.reshape(-1, 3)[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
        edges, edge = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True)
        sums = np.bincount(edge.reshape(-1), np.where(ends[:, 0] < ends[:, 1], 1.0, -1.0))
        return np.asarray(points[np.repeat(edges, np.abs(sums).astype(np.int64), axis=0)])

    def interior(self, count: int, seed: int) -> FloatArray:
        """Return at most `count` points distributed over the inside (Halton)."""
        sampler = halton(seed)
        found: list[FloatArray] = []
        for _ in range(20):
            points = self.lower + (self.upper - self.lower) * sampler.random(4 * count)
            found.append(points[self.contains(points)])
            if sum(map(len, found)) >= count:
                break
        return np.concatenate(found)[:count]


def _points(vertices: ArrayLike) -> FloatArray:
    points = np.asarray(vertices, dtype=np.float64)
    if points.ndim != 2 or points.shape[1:] != (3,) or len(points) < 4:
        raise ValueError(f"points: shape {points.shape}, expected (n, 3) with n >= 4")
    if not np.isfinite(points).all():
        raise ValueError(f"points[{int(np.argmin(np.isfinite(points).all(axis=1)))}]: not finite")
    return points


def _orient(points: FloatArray, faces: IntArray) -> tuple[FloatArray, list[str], float]:
    """Merge corners and orient each part to a positive volume; return corners, notes and the largest displacement."""
    extent = float(np.ptp(points, axis=0).max())
    notes: list[str] = []
    if not extent > 0.0:
        return np.empty((0, 3, 3)), notes, 0.0
    _, first, same = np.unique(
        np.round((points - points.min(axis=0)) / (_WELDED * extent)), axis=0, return_index=True, return_inverse=True
    )
    moved = float(np.linalg.norm(points - points[first][same.reshape(-1)], axis=1).max())
    points, faces = points[first], same.reshape(-1)[faces]
    faces = faces[(faces != np.roll(faces, 1, axis=1)).all(axis=1)]
    if not len(faces):
        return np.empty((0, 3, 3)), notes, 0.0
    mesh = trimesh_for("a fit").Trimesh(points, faces, process=False)
    if not mesh.is_winding_consistent:
        trimesh_for("a fit").repair.fix_winding(mesh)
        notes.append("its triangles were not oriented consistently")
    faces = np.array(mesh.faces)
    if not _is_closed(faces):
        notes.append("is open: winding numbers decide what is inside")
    corners = points[faces]
    part = _parts(faces, mesh.face_adjacency, len(points))
    count = np.bincount(part)
    centre = np.stack([np.bincount(part, corners[:, :, i].mean(axis=1)) for i in range(3)], axis=1)
    local = corners - (centre / np.maximum(count, 1)[:, None])[part][:, None, :]
    volumes = np.bincount(part, np.einsum("ij,ij->i", local[:, 0], np.cross(local[:, 1], local[:, 2])))
    inverted = volumes < 0.0
    if inverted.any():
        notes.append(f"{int(inverted.sum())} of its {int((count > 0).sum())} parts were inside out")
        turned = inverted[part]
        corners[turned] = corners[turned][:, ::-1]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    return corners[area > 0.0], notes, moved


def _is_closed(faces: IntArray) -> bool:
    """Return whether every edge is traversed equally often both ways, which makes winding numbers integers."""
    return not len(_open_edges(faces, np.zeros(len(faces), dtype=np.int64)))


def _open_edges(faces: IntArray, group: IntArray) -> IntArray:
    """Return the group of each edge that the triangles of the group traverse more often in one direction."""
    ends = faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    groups = np.repeat(group, 3)
    edges, edge = np.unique(np.column_stack([groups, np.sort(ends, axis=1)]), axis=0, return_inverse=True)
    sums = np.bincount(edge.reshape(-1), np.where(ends[:, 0] < ends[:, 1], 1.0, -1.0))
    return np.asarray(edges[sums != 0.0, 0])


def _parts(faces: IntArray, adjacent: IntArray, points: int) -> IntArray:
    """Return the part of each triangle.

    Triangles that share a corner belong to the same part. But a closed surface is a part of its own, even if it shares
    corners or whole edges with another: it has its own inside, for any orientation of the other.

    Parameters
    ----------
    faces : (n, 3) ndarray
        Oriented consistently across edges shared by two triangles.
    adjacent : (m, 2) ndarray
        Pairs of triangles that share such an edge.
    points : int
        Number of corners.
    """
    ends = faces[:, :2].ravel(), faces[:, 1:].ravel()
    touching = _components(ends, points)[faces[:, 0]]
    smooth = _components((adjacent[:, 0], adjacent[:, 1]), len(faces))
    closes = ~np.isin(smooth, _open_edges(faces, smooth))
    return np.unique(np.where(closes, touching.max() + 1 + smooth, touching), return_inverse=True)[1].reshape(-1)


def _components(links: tuple[IntArray, IntArray], count: int) -> IntArray:
    """Return the connected component of each of `count` nodes."""
    table = coo_matrix((np.ones(len(links[0])), links), (count, count))
    return np.asarray(connected_components(table, directed=False)[1], dtype=np.int64)


def _hull_of(points: FloatArray, notes: Sequence[str]) -> Target:
    """Return the convex hull as a target; coplanar points are given a thickness."""
    centre = points.mean(axis=0)
    _, sizes, axes = np.linalg.svd(points - centre, full_matrices=False)
    scale = float(sizes[0]) / math.sqrt(len(points))
    if not scale > 0.0 or sizes[1] < 1e-9 * sizes[0]:
        raise ValueError("points: coincide or lie on a line, expected points that span at least a plane")
    notes = list(notes)
    if sizes[2] < 1e-6 * sizes[0]:
        thickness = _SHEET * float(np.ptp(points, axis=0).max())
        points = np.concatenate([points - 0.5 * thickness * axes[2], points + 0.5 * thickness * axes[2]])
        notes.append(f"lies in a plane: a sheet {thickness:.3g} thick is fitted")
    try:
        hull = ConvexHull(points)
    except QhullError as error:
        raise ValueError(f"points: their convex hull cannot be computed ({str(error).splitlines()[0]})") from error
    corners = points[hull.simplices]
    outward = np.einsum("ij,ij->i", np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]),
                        hull.equations[:, :3]) > 0.0  # fmt: skip
    corners[~outward] = corners[~outward][:, ::-1]
    return Target(corners, "hull", notes)
