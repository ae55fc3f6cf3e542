# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Public interface of the lower bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.contact import Status
from superovoid.contact.inputs import TOLERANCE
from superovoid.shapes.hull import winding
from superovoid.shapes.poses import as_poses
from superovoid.values.records import Statistics
from superovoid_papers.methods.lower_bound import basic_functions
from superovoid_papers.methods.lower_bound.polyhedron import PackedPolyhedron, Polyhedron
from superovoid_papers.methods.result import MethodResult

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
PLANES = ("origin", "farthest")

_ROUNDING = 64.0 * np.finfo(np.float64).eps  # of a value, as a share of the largest coordinate
_SAME_ORIENTATION = 2e-13  # largest difference of equal rotations: well below a tie
_NUDGE = 1e-8  # share of the largest coordinate


@dataclass(frozen=True, eq=False, repr=False)
class LowerBoundResult(MethodResult):
    """A lower bound with its statistics.

    For separate bodies `distance` is the value of eq. (2), and `lower` that value less rounding. The points are the
    closest of the decisive edge and face, and prove `upper`. If the bodies overlap, there is no bound of the depth
    (`lower` is -inf), and -`upper` is a proved depth.
    """

    statistics: Statistics
    """Pairs of an edge of one body and a face of the other: ``pairs``, E_A F_B + E_B F_A; ``tests``, the examined ones:
    all, or those of applicable contacts (the paper's count); ``full_tests``, those with computed b_{e,f}: ``tests``, or
    fewer by alpha-beta pruning."""
    edge: tuple[Literal["a", "b"], int]
    """The body and number of the decisive edge."""
    face: int
    """Number of the decisive face of the other body."""


@dataclass(frozen=True, eq=False)
class ApplicablePairs:
    """Pairs of edges and faces that may realise the distance, for one relative orientation (section 3.1)."""

    rotation: FloatArray
    """Orientation ``a_from_b``, shape (3, 3)."""
    of_a: tuple[IntArray, IntArray]
    """For each edge of A, the start of its faces of B in the second array, which contains them."""
    of_b: tuple[IntArray, IntArray]
    """The same for the edges of B and the faces of A."""
    vertex_contacts: int
    """Applicable contacts of a vertex and a face."""
    edge_contacts: int
    """Applicable contacts of two edges."""

    def __len__(self) -> int:
        return len(self.of_a[1]) + len(self.of_b[1])


class _PlacedPolyhedron(NamedTuple):
    """A polyhedron at its pose."""

    body: PackedPolyhedron
    vertices: FloatArray
    directions: FloatArray
    normals: FloatArray

    def move(self, by: FloatArray) -> _PlacedPolyhedron:
        return self._replace(vertices=self.vertices + by)

    def edges(self) -> basic_functions.Edges:
        return basic_functions.Edges(self.vertices, self.body.edges, self.directions)

    def faces(self) -> basic_functions.Faces:
        return basic_functions.Faces(self.vertices, self.normals, self.body.bounds, self.body.corners)


class _LargestValue(NamedTuple):
    value: float
    edge: tuple[Literal["a", "b"], int]
    face: int
    full: int


def _place(body: Polyhedron, pose: FloatArray) -> _PlacedPolyhedron:
    packed, turn = body._arrays, pose[:3, :3].T
    return _PlacedPolyhedron(
        packed, packed.vertices @ turn + pose[:3, 3], packed.directions @ turn, packed.normals @ turn
    )


def _every_pair(of: PackedPolyhedron, other: PackedPolyhedron) -> tuple[IntArray, IntArray]:
    faces = len(other.normals)
    return np.arange(len(of.edges) + 1) * faces, np.tile(np.arange(faces), len(of.edges))


def _list_pairs(marked: NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    edges, faces = np.nonzero(marked)
    return np.searchsorted(edges, np.arange(len(marked) + 1)), faces


def _largest_value(
    a: _PlacedPolyhedron,
    b: _PlacedPolyhedron,
    pairs: tuple[tuple[IntArray, IntArray], tuple[IntArray, IntArray]],
    options: basic_functions.Options,
) -> _LargestValue:
    """Return the largest D_{e,f} of the pairs, and the pair."""
    most = max(int(np.diff(placed.body.bounds).max()) for placed in (a, b))
    work = np.empty((3, most))
    found = _LargestValue(-math.inf, ("a", -1), -1, 0)
    for side, of, other, (starts, faces) in (("a", a, b, pairs[0]), ("b", b, a, pairs[1])):
        value, edge, face, full = basic_functions.largest_value(
            of.edges(), other.faces(), starts, faces, options, found.value, work
        )
        best = found if face < 0 else _LargestValue(value, (side, edge), face, 0)
        found = best._replace(full=found.full + full)
    return found


def applicable_pairs(
    a: Polyhedron, b: Polyhedron, rotation: ArrayLike, *, reflex: bool = False, both: bool = True
) -> ApplicablePairs:
    """Find the pairs that the lower bound needs at one relative orientation (section 3.1).

    They contain the closest points of all separate bodies (docs/papers/lower_bound.md has the proof, which includes
    non-convex bodies), so one search is enough for all translations.

    Parameters
    ----------
    a, b : Polyhedron
    rotation : (3, 3) array_like
        Orientation ``a_from_b``.
    reflex : bool
        If true, include reflex edges and corners, as the paper's conditions do, which only examine neighbours. They
        never realise a distance.
    both : bool
        The paper specifies one pair for each applicable contact of two edges. If true, add two, each edge with the face
        on the left of the other, which agrees with the paper's counts; otherwise one, unless there already is one.

    Returns
    -------
    ApplicablePairs
    """
    turn = np.eye(4)
    turn[:3, :3] = np.asarray(rotation, dtype=np.float64)
    turn = as_poses("rotation", turn)
    p, q = a._arrays, b._arrays
    at = _place(b, turn)
    inward = np.ascontiguousarray(q.inward @ turn[:3, :3].T)
    marked_a = np.zeros((len(p.edges), len(q.normals)), dtype=np.bool_)
    marked_b = np.zeros((len(q.edges), len(p.normals)), dtype=np.bool_)
    mark = basic_functions.mark_vertex_contacts
    vertex_contacts = mark(p.vertices, p.neighbours, p.reflex_corners, at.normals, reflex, marked_a)
    vertex_contacts += mark(at.vertices, q.neighbours, q.reflex_corners, p.normals, reflex, marked_b)
    wedges_a = basic_functions.Wedges(p.directions, p.inward, p.reflex_edges, p.edge_faces)
    wedges_b = basic_functions.Wedges(at.directions, inward, q.reflex_edges, q.edge_faces)
    edge_contacts = basic_functions.mark_edge_contacts(wedges_a, wedges_b, reflex, both, marked_a, marked_b)
    return ApplicablePairs(turn[:3, :3], _list_pairs(marked_a), _list_pairs(marked_b), vertex_contacts, edge_contacts)


def _edge_boxes(placed: _PlacedPolyhedron) -> FloatArray:
    ends = placed.vertices[placed.body.edges]
    return np.hstack([ends.min(axis=1), ends.max(axis=1)])


def _face_boxes(placed: _PlacedPolyhedron) -> FloatArray:
    corners, first = placed.vertices[placed.body.corners[:, 0]], placed.body.bounds[:-1]
    return np.hstack([np.minimum.reduceat(corners, first), np.maximum.reduceat(corners, first)])


def _near_pairs(
    a: _PlacedPolyhedron, b: _PlacedPolyhedron, slack: float
) -> tuple[tuple[IntArray, IntArray], tuple[IntArray, IntArray]]:
    """Return the pairs that may have a common point, by their boxes."""
    lists = []
    for of, other in ((a, b), (b, a)):
        marked = np.zeros((len(of.body.edges), len(other.normals)), dtype=np.bool_)
        basic_functions.mark_near(_edge_boxes(of), _face_boxes(other), slack, marked)
        lists.append(_list_pairs(marked))
    return lists[0], lists[1]


def _is_contained(a: _PlacedPolyhedron, b: _PlacedPolyhedron) -> bool:
    """Return whether a part of the surface of A lies in B; the surfaces must not meet."""
    corners = b.vertices[b.body.corners]
    owner = np.repeat(b.body.corners[b.body.bounds[:-1], 0], np.diff(b.body.bounds))
    triangles = np.concatenate([b.vertices[owner][:, None], corners], axis=1)
    low, high = b.vertices.min(axis=0), b.vertices.max(axis=0)
    points = a.vertices[a.body.shells]
    points = points[((points >= low) & (points <= high)).all(axis=1)]
    return any(winding(triangles - point) > 0.5 for point in points)


class _Pair(NamedTuple):
    """Two placed polyhedra with the options of a query."""

    a: _PlacedPolyhedron
    b: _PlacedPolyhedron
    pairs: tuple[tuple[IntArray, IntArray], tuple[IntArray, IntArray]]
    pruned: bool
    options: basic_functions.Options

    def move(self, by: FloatArray) -> _Pair:
        return self._replace(b=self.b.move(by))

    def largest_value(self) -> _LargestValue:
        """Evaluate eq. (2) with the opposite sign."""
        return _largest_value(self.a, self.b, self.pairs, self.options)

    def crossing(self, found: _LargestValue) -> float:
        """Return the largest D of enough pairs to decide whether the surfaces cross; pruned pairs are too few."""
        if not self.pruned:
            return found.value
        near = _near_pairs(self.a, self.b, self.margin)
        return _largest_value(
            self.a, self.b, near, basic_functions.Options(False, True, self.margin, self.margin)
        ).value

    @property
    def margin(self) -> float:
        return self.options.margin

    def is_contained(self) -> bool:
        return _is_contained(self.a, self.b) or _is_contained(self.b, self.a)

    def bound_by_nudges(self, found: _LargestValue) -> float:
        """Return a lower bound for bodies that touch within rounding, from nearby separate poses; -inf without one."""
        step = _NUDGE * max(float(np.abs(placed.vertices).max()) for placed in (self.a, self.b))
        out = (self.b if found.edge[0] == "a" else self.a).normals[found.face]
        between = self.b.vertices.mean(axis=0) - self.a.vertices.mean(axis=0)
        best = -math.inf
        for way in (out, -out, between):
            size = float(np.linalg.norm(way))
            if size > 0.0:
                nudged = self.move(step / size * way)
                there = nudged.largest_value()
                if nudged.crossing(there) < -self.margin and not nudged.is_contained():
                    best = max(best, -there.value - step - self.margin)
        return best


def _pair(
    a: Polyhedron,
    pose_a: ArrayLike,
    b: Polyhedron,
    pose_b: ArrayLike,
    plane: str = PLANES[0],
    pruning: bool | ApplicablePairs = True,
    alpha_beta: bool = True,
    coplanar: float = 0.0,
) -> _Pair:
    for name, body in (("a", a), ("b", b)):
        if not isinstance(body, Polyhedron):
            raise TypeError(f"{name}: must be a Polyhedron, found {type(body).__name__}")
    if plane not in PLANES:
        raise ValueError(f"plane = {plane!r}: must be one of {PLANES}")
    if not coplanar >= 0.0:
        raise ValueError(f"coplanar = {coplanar!r}: must be at least 0")
    poses = as_poses("pose_a", pose_a), as_poses("pose_b", pose_b)
    at = _place(a, poses[0]), _place(b, poses[1])
    reach = max(float(np.abs(placed.vertices).max()) for placed in at)
    margin = _ROUNDING * reach + a.flatness + b.flatness
    for body, pose in zip((a, b), poses, strict=True):
        margin += float(np.abs(pose[:3, :3].T @ pose[:3, :3] - np.eye(3)).max()) * body._reach
    if pruning is False:
        pairs = _every_pair(at[0].body, at[1].body), _every_pair(at[1].body, at[0].body)
    else:
        rotation = poses[0][:3, :3].T @ poses[1][:3, :3]
        if pruning is True:
            pruning = applicable_pairs(a, b, rotation)
        elif not isinstance(pruning, ApplicablePairs):
            raise TypeError(f"pruning: must be True, False or ApplicablePairs, found {type(pruning).__name__}")
        apart = np.abs(pruning.rotation - rotation).max()
        if apart > _SAME_ORIENTATION:
            raise ValueError(f"pruning: must be for this orientation, found one that differs by {apart:.3g}")
        if any(len(of[0]) != len(x.body.edges) + 1 for of, x in zip((pruning.of_a, pruning.of_b), at, strict=True)):
            raise ValueError("pruning: must be for these bodies, found another number of edges")
        pairs = pruning.of_a, pruning.of_b
    options = basic_functions.Options(plane == "farthest", bool(alpha_beta), margin, max(float(coplanar), margin))
    return _Pair(*at, pairs, pruning is not False, options)


def bound_value(a: Polyhedron, pose_a: ArrayLike, b: Polyhedron, pose_b: ArrayLike, **options: Any) -> float:
    """Evaluate eq. (2) alone, as in the paper for bodies known to be separate.

    Parameters
    ----------
    a, pose_a, b, pose_b, **options
        As for `lower_bound`.

    Returns
    -------
    float
        The bound, m, without a margin for rounding. It has no meaning if the bodies overlap.
    """
    return -_pair(a, pose_a, b, pose_b, **options).largest_value().value


def lower_bound(
    a: Polyhedron,
    pose_a: ArrayLike,
    b: Polyhedron,
    pose_b: ArrayLike,
    *,
    plane: Literal["origin", "farthest"] = "origin",
    pruning: bool | ApplicablePairs = True,
    alpha_beta: bool = True,
    coplanar: float = 0.0,
) -> LowerBoundResult:
    """Bound the distance of two polyhedra, convex or not, from below by signed distances of their vertices and edges.

    Parameters
    ----------
    a, b : Polyhedron
        The bodies.
    pose_a, pose_b : (4, 4) array_like
        Poses, body to world, m.
    plane : {"origin", "farthest"}
        Plane f_e through an edge: that through the origin of the world, or that with the largest distance to the
        nearest vertex of the face.
    pruning : bool or ApplicablePairs
        If true, examine only pairs of applicable contacts; pass `ApplicablePairs` to reuse those already found.
    alpha_beta : bool
        If true, skip b_{e,f} if a_{e,f} makes it irrelevant. The answer is the same.
    coplanar : float
        Largest distance, m, beyond rounding, of an edge in the plane of a face. Eq. (3) then applies, which is always a
        bound; the paper uses it for coplanar pairs only.

    Returns
    -------
    LowerBoundResult
        Certified if `lower` and `upper` agree: contacts of vertices and faces, and of parallel faces.

    Raises
    ------
    ValueError
        If a pose is not a rigid transform, an option is invalid, or the given pairs are for another orientation or
        other bodies.
    TypeError
        If a body is not a `Polyhedron`.

    Notes
    -----
    Pruned pairs prove a bound only for separate bodies. Two more tests decide whether the bodies are separate: one of
    the edges and faces whose boxes meet and, missing in the paper, whether one body lies inside the other.
    """
    pair = _pair(a, pose_a, b, pose_b, plane, pruning, alpha_beta, coplanar)
    found = pair.largest_value()
    crossing = pair.crossing(found)
    margin, value = pair.margin, -found.value
    edge_side, face_side = (pair.a, pair.b) if found.edge[0] == "a" else (pair.b, pair.a)
    points = np.empty((2, 3))
    basic_functions.closest_of_pair(edge_side.edges(), found.edge[1], face_side.faces(), found.face, points)
    if found.edge[0] == "b":
        points = points[::-1].copy()
    between = points[1] - points[0]
    gap = float(np.linalg.norm(between))
    normal = between / gap if gap > margin else face_side.normals[found.face] * (1.0 if found.edge[0] == "b" else -1.0)
    if abs(crossing) <= margin:
        distance, lower, upper = max(value, 0.0), pair.bound_by_nudges(found), gap + margin
    elif crossing > 0.0:
        distance, lower, upper = -crossing, -math.inf, margin - crossing
    elif pair.is_contained():
        # One stays inside the other under any translation shorter than the bound of the surfaces.
        distance, lower, upper = -value, -math.inf, min(margin - value, 0.0)
    else:
        distance, lower, upper = value, max(value - margin, 0.0), gap + margin
    size = min(a._reach, b._reach)
    status = Status.CERTIFIED if upper - lower <= TOLERANCE * size + 3.0 * margin else Status.UNPROVEN
    statistics = Statistics(
        pairs=len(a.edges) * len(b.faces) + len(b.edges) * len(a.faces),
        tests=len(pair.pairs[0][1]) + len(pair.pairs[1][1]),
        full_tests=found.full,
    )
    return LowerBoundResult(
        distance, lower, upper, points[0], points[1], normal, status, statistics, True, found.edge, found.face
    )
