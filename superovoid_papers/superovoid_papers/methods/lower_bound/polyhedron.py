# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bodies bounded by flat faces of any form: non-convex, with any number of corners, with holes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import trimesh
from numpy.typing import ArrayLike, NDArray

from superovoid.shapes import Mesh
from superovoid.shapes.meshes import vertex_rows
from superovoid_papers.methods.lower_bound.triangulation import triangulate

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Loop = tuple[int, ...]
Face = tuple[Loop, ...]

_FLATNESS = 1e-9
"""Of the size of the body: largest distance of a corner from the plane of its face."""
_CONVEX = 1e-12
"""Least sine of a reflex edge or corner."""


class PackedPolyhedron(NamedTuple):
    """Arrays of a polyhedron for the kernels, in its frame. Rows are edges, faces or vertices."""

    vertices: FloatArray
    """(V, 3), m"""
    edges: IntArray
    """(E, 2) vertices, ∂- and ∂+"""
    edge_faces: IntArray
    """(E, 2) faces on the left and on the right of the edge, seen from outside"""
    normals: FloatArray
    """(F, 3) outward unit normals"""
    bounds: IntArray
    """(F + 1,) start of the boundary of each face in `corners`"""
    corners: IntArray
    """(2 E, 2) vertices of the edges around the faces, one face after the other"""
    directions: FloatArray
    """(E, 3) unit vectors along the edges"""
    inward: FloatArray
    """(E, 2, 3) unit vectors from an edge into its two faces, perpendicular to it: T of section 3.1"""
    neighbours: IntArray
    """start of the neighbours of each vertex, and the end; then the neighbours, then their edges"""
    reflex_edges: NDArray[np.bool_]
    """(E,) whether the body fills more than half of the space around the edge"""
    reflex_corners: NDArray[np.bool_]
    """(V,) whether a face fills more than half of the plane around the vertex"""
    shells: IntArray
    """a vertex of each connected part of the surface"""


@dataclass(frozen=True, eq=False)
class Polyhedron:
    """Body with flat faces, convex or not.

    Parameters
    ----------
    vertices : (n, 3) array_like
        Corners, m, body frame.
    faces : sequence of sequences of sequences of int
        A face is its loops of vertices: the outer one counter-clockwise seen from outside, then its holes, clockwise.
        The surface must be closed: every edge belongs to two faces, which run along it in opposite directions.
        Self-intersection is not checked.

    Raises
    ------
    ValueError
        If an index is out of range, a loop has fewer than three corners or one twice, a face is not flat or has a loop
        of wrong orientation, the surface is not closed or inside out, or a vertex belongs to no face.
    """

    vertices: FloatArray
    faces: tuple[Face, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", vertex_rows("Polyhedron", self.vertices, 4))
        object.__setattr__(self, "faces", _checked_faces(self.faces, len(self.vertices)))
        unused = set(range(len(self.vertices))) - set(_corners(self.faces))
        if unused:
            raise ValueError(f"Polyhedron.vertices[{min(unused)}]: must belong to a face, found in none")
        self._check_planes()
        _ = self._edges_with_faces
        if not self.volume() > 0.0:
            raise ValueError("Polyhedron.faces: must be counter-clockwise seen from outside, found the reverse")

    def __repr__(self) -> str:
        return f"Polyhedron({len(self.vertices)} vertices, {len(self.edges)} edges, {len(self.faces)} faces)"

    @classmethod
    def from_trimesh(cls, mesh: trimesh.Trimesh, *, merge: bool = True) -> Polyhedron:
        """Create a polyhedron from a closed triangle mesh.

        Parameters
        ----------
        mesh : trimesh.Trimesh
        merge : bool
            If true, merge coplanar neighbouring triangles into one face.
        """
        vertices, triangles = np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces, dtype=np.int64)
        groups = _coplanar_groups(vertices, triangles) if merge else [[i] for i in range(len(triangles))]
        faces = [_outline(vertices, triangles[group]) for group in groups]
        if merge:
            faces = _without_straight_corners(vertices, faces)
        used = np.unique(list(_corners(faces)))
        number = np.full(len(vertices), -1)
        number[used] = np.arange(len(used))
        return cls(vertices[used], tuple(tuple(tuple(number[list(loop)]) for loop in face) for face in faces))

    def _check_planes(self) -> None:
        for i, face in enumerate(self.faces):
            areas = np.array([_area(self.vertices[list(loop)]) for loop in face])
            normal, length = self.normals[i], np.linalg.norm(areas.sum(axis=0))
            if not length > 1e-14 * self._reach**2:
                raise ValueError(f"Polyhedron.faces[{i}]: must have an area, found {0.5 * length:.3g} m^2")
            corners = self.vertices[list(_corners([face]))]
            heights = (corners - corners[0]) @ normal
            apart = heights.max() - heights.min()
            if apart > _FLATNESS * self._reach:
                raise ValueError(f"Polyhedron.faces[{i}]: must be flat, found corners {apart:.3g} m from one plane")
            for j, along in enumerate(areas @ normal):
                if (along > 0.0) != (j == 0):
                    wanted, found = ("counter-clockwise", "clockwise") if j == 0 else ("clockwise", "counter-clockwise")
                    what = "the outer loop" if j == 0 else "a hole"
                    raise ValueError(f"Polyhedron.faces[{i}][{j}]: {what} must be {wanted} seen from outside, "
                                     f"found {found}")  # fmt: skip

    @cached_property
    def _reach(self) -> float:
        return float(np.linalg.norm(self.vertices - self.vertices.mean(axis=0), axis=1).max())

    @cached_property
    def normals(self) -> FloatArray:
        """Outward unit normals of the faces, shape (F, 3)."""
        areas = [sum(_area(self.vertices[list(loop)]) for loop in face) for face in self.faces]
        return np.array([area / max(np.linalg.norm(area), 1e-300) for area in areas])

    @cached_property
    def flatness(self) -> float:
        """Largest distance of two corners of a face along its normal, m, due to rounding of the vertices."""
        heights = (self.vertices[list(_corners([face]))] @ n for face, n in zip(self.faces, self.normals, strict=True))
        return max(float(np.ptp(h)) for h in heights)

    @cached_property
    def _edges_with_faces(self) -> tuple[IntArray, IntArray]:
        along: dict[tuple[int, int], int] = {}
        for i, face in enumerate(self.faces):
            for edge in _directed_edges(face):
                if edge in along:
                    raise ValueError(f"Polyhedron.faces: an edge must belong to two faces that run along it in "
                                     f"opposite directions, found {edge} in faces {along[edge]} and {i}")  # fmt: skip
                along[edge] = i
        for (start, end), i in along.items():
            if (end, start) not in along:
                raise ValueError(f"Polyhedron.faces: the surface must be closed, found {(start, end)} in face {i} only")
        edges = [edge for edge in along if edge[0] < edge[1]]
        return np.array(edges), np.array([(along[edge], along[edge[::-1]]) for edge in edges])

    @property
    def edges(self) -> IntArray:
        """Vertices of the edges, the lower number first, shape (E, 2), in the order of the faces."""
        return self._edges_with_faces[0]

    @property
    def edge_faces(self) -> IntArray:
        """Faces of the edges, shape (E, 2): on the left and on the right, seen from outside."""
        return self._edges_with_faces[1]

    def volume(self) -> float:
        """Return the volume, m^3."""
        base = self.vertices[0]
        cones = (
            n @ sum(_area(self.vertices[list(loop)]) for loop in face) * (n @ (self.vertices[face[0][0]] - base))
            for face, n in zip(self.faces, self.normals, strict=True)
        )
        return float(sum(cones)) / 6.0

    @cached_property
    def triangles(self) -> IntArray:
        """Triangles of all faces, shape (m, 3), outward oriented, on the same vertices."""
        return np.concatenate([triangulate(self.vertices, face, n) for face, n in zip(self.faces, self.normals)])  # noqa: B905

    def to_mesh(self) -> Mesh:
        """Return the same body as a shape of the engine."""
        return Mesh(self.vertices, self.triangles)

    @cached_property
    def _arrays(self) -> PackedPolyhedron:
        edges, edge_faces = self._edges_with_faces
        directions = self.vertices[edges[:, 1]] - self.vertices[edges[:, 0]]
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        left, right = (np.cross(self.normals[edge_faces[:, k]], directions) for k in range(2))
        inward = np.stack([left, -right], axis=1)
        reflex_edges = np.einsum("ij,ij->i", self.normals[edge_faces[:, 0]], inward[:, 1]) > _CONVEX
        boundary = [list(_directed_edges(face)) for face in self.faces]
        ends = np.concatenate([edges, edges[:, ::-1]])
        order = np.argsort(ends[:, 0], kind="stable")
        starts = np.searchsorted(ends[order, 0], np.arange(len(self.vertices) + 1)) + len(self.vertices) + 1
        neighbours = np.concatenate([starts, ends[order, 1], np.tile(np.arange(len(edges)), 2)[order]])
        return PackedPolyhedron(
            np.array(self.vertices),  # kernels would be recompiled for read-only arrays
            edges,
            edge_faces,
            self.normals,
            np.cumsum([0, *map(len, boundary)]),
            np.concatenate(boundary),
            directions,
            np.ascontiguousarray(inward),
            neighbours,
            reflex_edges,
            self._reflex_corners(),
            self._shells(),
        )

    def _reflex_corners(self) -> NDArray[np.bool_]:
        found = np.zeros(len(self.vertices), dtype=bool)
        for face, normal in zip(self.faces, self.normals, strict=True):
            for loop in face:
                at = self.vertices[list(loop)]
                sides = np.roll(at, -1, axis=0) - at
                sides /= np.linalg.norm(sides, axis=1)[:, None]
                turns = np.cross(np.roll(sides, 1, axis=0), sides) @ normal
                found[list(loop)] |= turns < -_CONVEX
        return found

    def _shells(self) -> IntArray:
        """Return the lowest vertex of each connected part of the surface."""
        label = np.arange(len(self.vertices))
        for face in self.faces:  # A hole joins the shell of its face, though no edge connects them.
            corners = list(_corners([face]))
            merged = label[corners]
            label[np.isin(label, merged)] = merged.min()
        return np.unique(label)


def _directed_edges(face: Face) -> Iterable[tuple[int, int]]:
    for loop in face:
        yield from zip(loop, loop[1:] + loop[:1], strict=True)


def _corners(faces: Iterable[Face]) -> Iterable[int]:
    return (vertex for face in faces for loop in face for vertex in loop)


def _area(corners: FloatArray) -> FloatArray:
    """Return twice the vector area of a loop (Newell), m^2."""
    at = corners - corners[0]
    return np.cross(at, np.roll(at, -1, axis=0)).sum(axis=0)


def _checked_faces(faces: Sequence[Sequence[ArrayLike]], count: int) -> tuple[Face, ...]:
    checked = []
    for i, face in enumerate(faces):
        loops = []
        for j, loop in enumerate(face):
            name, numbers = f"Polyhedron.faces[{i}][{j}]", np.asarray(loop)
            if numbers.ndim != 1 or len(numbers) < 3 or not np.issubdtype(numbers.dtype, np.integer):
                raise ValueError(f"{name}: must be a loop of at least three vertices, found {loop!r}")
            if numbers.min() < 0 or numbers.max() >= count:
                raise ValueError(f"{name}: must be in [0, {count}), found {numbers.min()} to {numbers.max()}")
            vertex, times = Counter(numbers.tolist()).most_common(1)[0]
            if times > 1:
                raise ValueError(f"{name}: must name each vertex once, found {vertex} {times} times")
            loops.append(tuple(numbers.tolist()))
        if not loops:
            raise ValueError(f"Polyhedron.faces[{i}]: must have at least one loop, found none")
        checked.append(tuple(loops))
    if len(checked) < 4:
        raise ValueError(f"Polyhedron.faces: must be at least four, found {len(checked)}")
    return tuple(checked)


def _coplanar_groups(vertices: FloatArray, triangles: IntArray) -> list[list[int]]:
    """Group triangles to faces: neighbours with all corners in the plane of the largest of them."""
    corners = vertices[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.linalg.norm(normals, axis=1)
    normals /= np.maximum(areas, 1e-300)[:, None]
    slack = 0.1 * _FLATNESS * float(np.linalg.norm(vertices - vertices.mean(axis=0), axis=1).max())
    owner: dict[tuple[int, int], int] = {}
    for i, triangle in enumerate(triangles.tolist()):
        owner.update(dict.fromkeys(_directed_edges((tuple(triangle),)), i))
    free, groups = np.ones(len(triangles), dtype=bool), []
    for seed in np.argsort(-areas, kind="stable").tolist():
        if not free[seed]:
            continue
        flat = np.abs((corners - corners[seed, 0]) @ normals[seed]).max(axis=1) <= slack
        # The normal of a sliver is unreliable.
        flat &= (normals @ normals[seed] > 0.0) | (areas <= slack * np.sqrt(areas.max()))
        group, waiting = [], [seed]
        free[seed] = False
        while waiting:
            i = waiting.pop()
            group.append(i)
            for start, end in _directed_edges((tuple(triangles[i].tolist()),)):
                j = owner.get((end, start))
                if j is not None and free[j] and flat[j]:
                    free[j] = False
                    waiting.append(j)
        groups.append(sorted(group))
    return groups


def _without_straight_corners(vertices: FloatArray, faces: list[Face]) -> list[Face]:
    """Remove vertices of only two faces on a straight edge."""
    neighbours: dict[int, set[int]] = {}
    for face in faces:
        for start, end in _directed_edges(face):
            neighbours.setdefault(start, set()).add(end)
            neighbours.setdefault(end, set()).add(start)
    straight = set()
    for vertex, ends in neighbours.items():
        if len(ends) == 2:
            first, second = (vertices[end] - vertices[vertex] for end in ends)
            size = np.linalg.norm(first) * np.linalg.norm(second)
            if np.linalg.norm(np.cross(first, second)) <= _CONVEX * size and first @ second < 0.0:
                straight.add(vertex)
    return [tuple(tuple(v for v in loop if v not in straight) for loop in face) for face in faces]


def _outline(vertices: FloatArray, triangles: IntArray) -> Face:
    """Return the loops around joined triangles, the outer one first."""
    edges = {edge for triangle in triangles.tolist() for edge in _directed_edges((tuple(triangle),))}
    following: dict[int, list[int]] = {}
    for start, end in sorted(edge for edge in edges if edge[::-1] not in edges):
        following.setdefault(start, []).append(end)
    loops = []
    while following:
        loop: list[int] = []
        at = min(following)
        while True:
            if at in loop:  # A loop that returns to one of its vertices is cut off there.
                cut = loop.index(at)
                loops.append(tuple(loop[cut:]))
                del loop[cut:]
                if not loop and at not in following:
                    break
            loop.append(at)
            ends = following[at]
            following_vertex = ends.pop()
            if not ends:
                del following[at]
            at = following_vertex
            if at == loop[0] and at not in following:
                loops.append(tuple(loop))
                break
    normal = sum(_area(vertices[list(loop)]) for loop in loops)
    return tuple(sorted(loops, key=lambda loop: -float(_area(vertices[list(loop)]) @ normal)))
