# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Find the part of a body that faces a direction (corners, edges, flats), and the exit of a line from a convex body.

A point of the surface faces the unit vector m if a normal of the body at it is within an angle of m, that is, if it is
a support point along a direction within that angle. With s(d) = m . d the slope of a unit vector d from a point into a
convex body, the sine of the angle between m and the normals at the point is the largest s(d), or 0 (Moreau's
decomposition of m by the cone of these d and its polar cone, the normals). So a vertex of a polytope faces m if no edge
rises from it by more than the angle. Between two edges the slope may be larger than along both, by a factor of two if
they are 120 degrees apart: a vertex between them may count up to twice the angle.

`facing_pieces` returns points of the surface that span what faces m.

`leave` finds the exit of a line from a convex body by Newton's method, from the support plane, on a function g of a
point, which is 0 on the surface, positive outside, and convex for a convex body: the method approaches from outside and
never passes the surface. g is the signed distance of the point; of a convex mesh its largest height above the facets'
planes, for which the method ends after as many steps as there are facets on the way; and of a superovoid its height
above the tangent plane of the surface point that lies radially below it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, singledispatch
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.kernels import entry_point, kernel
from superovoid.compiled.vector import combine, cross, dot, norm, scale, sub, tangent_frame
from superovoid.contact.inputs import MOST_STEPS, TOLERANCE
from superovoid.contact.polygons import area, hull
from superovoid.shapes import (
    Box,
    Capsule,
    Cone,
    ConvexMesh,
    Cylinder,
    HalfSpace,
    Mesh,
    Shape,
    Shell,
    Superovoid,
    Torus,
)
from superovoid.shapes.kernels.kinds import SUPEROVOID, Core, PackedBody, ball_radius, kind_of, point_to_core
from superovoid.shapes.kernels.retraction import retract
from superovoid.shapes.kernels.rounding import ROUNDED
from superovoid.shapes.kernels.surface import SIZE, gradient, position

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Vector: TypeAlias = Sequence[float]

RIM = 16  # corners of the polygon inscribed in a circle
_CURVED = 10.0  # per angle: a superovoid is flat if its normal turns by at most this over the share of its half width
_MOST_CURVED = 0.5
_LEAST_SPANNED = 0.9  # of the area of a superovoid's flat: if four corners span less, eight are taken
_TURNS = 124  # directions around m that sample the border of a superovoid's flat, besides the four along the tangents


def _unit_vectors(turns: FloatArray) -> FloatArray:
    angles = 2.0 * math.pi * turns
    return np.column_stack([np.cos(angles), np.sin(angles)])


# Diagonals are among the turns. Tangents are often in planes of symmetry: the support point of a body with sharp edges
# then depends on the last digit of the direction. They are the last.
_AROUND = _unit_vectors(np.concatenate([(np.arange(_TURNS) + 0.5) / _TURNS, np.arange(4) / 4.0]))
_EIGHT = _unit_vectors(np.arange(8) / 8.0)
# Of the bodies: a point this far outside a face counts as over it, and this near to a surface as on it if a line
# through it runs along the surface, with a cosine to the normal below the second number.
OVER, _UPRIGHT = 1e-10, 0.1


Pieces: TypeAlias = list[FloatArray]
"""Points, segments and polygons of the surface, all of k corners in an array of shape (pieces, k, 3)."""


class Angle(NamedTuple):
    """The largest angle between a normal and the direction that it faces."""

    sine: float
    cosine: float


def facing_pieces(shape: Shape, m: FloatArray, angle: Angle) -> Pieces:
    """Return what faces a direction.

    Parameters
    ----------
    shape : Shape
    m : (3,) ndarray
        Unit vector in the frame of the body.
    angle : Angle

    Returns
    -------
    list of (pieces, k, 3) ndarray
        Pieces of the surface in the frame of the body. Of a convex body it is one, whose k points span a convex set;
        of a half-space, which has no corners, none.
    """
    if isinstance(shape, HalfSpace):
        return []
    if isinstance(shape, Torus):
        return _crest(shape, m, angle)
    if isinstance(shape, Mesh) and not shape.is_convex():
        return _pieces_of_mesh(shape, m, angle)
    return [_corners(shape, m, angle)[None]]


@singledispatch
def _corners(shape: Shape, m: FloatArray, angle: Angle) -> FloatArray:
    """Points of a convex body that span what faces a direction, shape (k, 3)."""
    return shape._support_points(m[None])


@_corners.register
def _(shape: Box, m: FloatArray, angle: Angle) -> FloatArray:
    signs = [(-1.0, 1.0) if abs(c) <= angle.sine else ((-1.0,) if c < 0.0 else (1.0,)) for c in m.tolist()]
    corners = [(x, y, z) for x in signs[0] for y in signs[1] for z in signs[2]]
    return np.array(corners) * shape._half_lengths


def _rim(radius: float, z: float) -> FloatArray:
    turn = 2.0 * math.pi / RIM * np.arange(RIM)
    return np.column_stack([radius * np.cos(turn), radius * np.sin(turn), np.full(RIM, z)])


@_corners.register(Capsule)
@_corners.register(Cylinder)
def _(shape: Capsule | Cylinder, m: FloatArray, angle: Angle) -> FloatArray:
    across = math.hypot(m[0], m[1])
    if across <= angle.sine and isinstance(shape, Cylinder):
        return _rim(shape.radius, math.copysign(0.5 * shape.length, m[2]))
    if abs(m[2]) > angle.sine:
        return shape._support_points(m[None])
    x, y = shape.radius / across * m[:2]
    return np.array([(x, y, -0.5 * shape.length), (x, y, 0.5 * shape.length)])


@_corners.register
def _(shape: Cone, m: FloatArray, angle: Angle) -> FloatArray:
    across = math.hypot(m[0], m[1])
    rim = _rim(shape.radius, -0.5 * shape.length)
    if across <= angle.sine and m[2] < 0.0:
        return rim
    slant = math.hypot(shape.radius, shape.length)
    if abs(shape.radius * across - shape.length * m[2]) > angle.sine * slant:  # sine of the angle to a normal
        return shape._support_points(m[None])
    # The ruling next to m, and others if the cone is nearly a disc.
    x, y = shape.radius * m[:2] / across if across > 0.0 else rim[0, :2]
    normals = np.column_stack([shape.length / shape.radius * rim[:, :2], np.full(RIM, shape.radius)]) / slant
    ends = np.array([(0.0, 0.0, 0.5 * shape.length), (x, y, -0.5 * shape.length)])
    return np.concatenate([ends, rim[normals @ m >= angle.cosine]])


def _crest(shape: Torus, m: FloatArray, angle: Angle) -> Pieces:
    """Points of the circle along which a torus is highest."""
    if math.hypot(m[0], m[1]) > angle.sine:
        return []
    circle = _rim(1.0, 0.0)
    tangents = np.column_stack([-circle[:, 1], circle[:, 0], circle[:, 2]])
    across = m - (tangents @ m)[:, None] * tangents
    points = shape.major_radius * circle + shape.minor_radius / np.linalg.norm(across, axis=1)[:, None] * across
    return [points[:, None]]


@_corners.register
def _(shape: Superovoid, m: FloatArray, angle: Angle) -> FloatArray:
    """Of the support points of directions at the angle around m the outermost ones, in eight directions.

    These are as wide as an edge or a flat or there are none. Lengths along both tangents are in units of the extents
    of all support points, so that corners of a long flat are the outermost ones along its diagonals.
    """
    n = tuple(m.tolist())
    axis = [0.0, 0.0, 0.0]
    axis[(max(range(3), key=lambda i: abs(n[i])) + 1) % 3] = 1.0
    across = cross(n, axis)
    t2 = scale(1.0 / norm(across), across)
    tangents = np.array([cross(t2, n), t2])
    points = shape._support_points(angle.cosine * m + angle.sine * (_AROUND @ tangents))
    flat = points @ tangents.T
    extents = np.maximum(np.ptp(flat, axis=0), TOLERANCE * shape._row[SIZE])
    outermost = (_EIGHT @ (flat / extents).T).argmax(axis=1)
    corners = flat[outermost]
    about = corners[1::2] - corners[1::2].mean(axis=0)
    (xx, xy), (_, yy) = (about.T @ about).tolist()
    half = 0.5 * math.atan2(2.0 * xy, xx - yy)
    cosine, sine = math.cos(half), math.sin(half)
    principal = np.array([(cosine, sine), (-sine, cosine)])
    axes = principal @ tangents
    reach = shape._support(np.concatenate([axes, -axes]))[1]
    wide = np.ptp(flat @ principal.T, axis=0) >= min(_CURVED * angle.sine, _MOST_CURVED) * (reach[:2] + reach[2:])
    if wide.all():
        enough = _LEAST_SPANNED * area(corners.tolist())
        fours = (corners[1::2].tolist(), outermost[1::2]), (corners[::2].tolist(), outermost[::2])
        return points[next((four for places, four in fours if area(places) >= enough), outermost)]
    if not wide.any():
        return shape._support_points(m[None])
    aside = angle.sine * axes[int(wide.argmax())]
    return shape._support_points(np.array([angle.cosine * m - aside, angle.cosine * m + aside]))


class _Elements(NamedTuple):
    """Vertices, edges and triangles of a surface, with the unit vectors that decide whether they face a direction."""

    vertices: FloatArray
    faces: IntArray
    normals: FloatArray  # (m, 3)
    edges: IntArray  # (e, 2)
    along: FloatArray  # (e, 3), from the first vertex to the second
    edge: IntArray  # (3 m,), of each corner of a triangle the edge across from it, all first corners first
    lateral: FloatArray  # (3 m, 3), from that edge to the corner, across the edge
    alone: NDArray[np.bool_]  # (m,), triangles in none of the polygons
    polygons: list[FloatArray]  # (1, k, 3) each: convex flats of several triangles
    of_polygons: FloatArray  # (p, 3), their normals


@lru_cache(maxsize=128)
def _elements(shape: ConvexMesh | Mesh) -> _Elements:
    vertices = shape._hull.corners if _is_hull(shape) else shape.vertices
    faces = shape._hull.facets if _is_hull(shape) else shape.faces

    def unit_vectors(rows: FloatArray) -> FloatArray:
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0.0)

    a, b, c = (vertices[faces[:, i]] for i in range(3))
    pairs = np.sort(np.concatenate([faces[:, [1, 2]], faces[:, [2, 0]], faces[:, [0, 1]]]), axis=1)
    edges, edge = np.unique(pairs, axis=0, return_inverse=True)
    edge = edge.reshape(-1)
    along = unit_vectors(vertices[edges[:, 1]] - vertices[edges[:, 0]])
    off = vertices[faces.T.reshape(-1)] - vertices[edges[edge, 0]]
    lateral = unit_vectors(off - np.einsum("ij,ij->i", off, along[edge])[:, None] * along[edge])
    normals = unit_vectors(np.cross(b - a, c - a))
    alone, polygons, flats = np.ones(len(faces), dtype=bool), [], [np.empty((0, 3))]
    for flat in [] if _is_hull(shape) else _coplanar(faces, normals, edge):
        corners = vertices[np.unique(faces[flat])]
        n = normals[flat[0]]
        places = [(x, y) for x, y in (corners @ np.array(tangent_frame(tuple(n.tolist()))[:2]).T).tolist()]
        kept = hull(places, TOLERANCE * float(np.ptp(places, axis=0).max()))
        covered = 0.5 * float(np.linalg.norm(np.cross(b - a, c - a)[flat], axis=1).sum())
        if len(kept) > 2 and abs(area([places[k] for k in kept]) - covered) <= TOLERANCE * covered:
            alone[flat] = False
            polygons.append(corners[None, kept])
            flats.append(n[None])
    of_polygons = np.concatenate(flats)
    return _Elements(vertices, faces, normals, edges, along, edge, lateral, alone, polygons, of_polygons)


def _coplanar(faces: IntArray, normals: FloatArray, edge: IntArray) -> list[IntArray]:
    """Return the numbers of triangles that lie in one plane and are connected by edges, two or more each."""
    from scipy.sparse import coo_array  # late: importing it takes longer than most programs need it
    from scipy.sparse.csgraph import connected_components

    order = np.argsort(edge, kind="stable")
    first, second = order[:-1] % len(faces), order[1:] % len(faces)
    one = (edge[order[:-1]] == edge[order[1:]]) & (np.abs(normals[first] - normals[second]).max(axis=1) <= TOLERANCE)
    graph = coo_array((np.ones(int(one.sum()), dtype=bool), (first[one], second[one])), shape=(len(faces),) * 2)
    _, group = connected_components(graph, directed=False)
    order = np.argsort(group, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    return [flat for flat in groups if len(flat) > 1 and np.ptp(normals[flat], axis=0).max() <= TOLERANCE]


def _is_hull(shape: ConvexMesh | Mesh) -> bool:
    return isinstance(shape, ConvexMesh) or shape.is_convex()


def has_one_facing_piece(shape: Shape) -> bool:
    """Return whether the part that faces a direction is convex, so that `leave` applies."""
    return _is_hull(shape) if isinstance(shape, Mesh) else not isinstance(shape, Torus)


def _falling_vertices(surface: _Elements, m: FloatArray, ahead: NDArray[np.bool_], sine: float) -> NDArray[np.bool_]:
    """Return for each vertex whether no edge rises from it by more than an angle and a triangle `ahead` contains it."""
    rise = surface.along @ m
    lower, upper = surface.edges.T
    falls = np.zeros(len(surface.vertices), dtype=bool)
    falls[surface.faces[ahead]] = True
    falls[lower[rise > sine]] = False
    falls[upper[rise < -sine]] = False
    return falls


@_corners.register(ConvexMesh)
@_corners.register(Mesh)
def _(shape: ConvexMesh | Mesh, m: FloatArray, angle: Angle) -> FloatArray:
    surface = _elements(shape)
    falls = _falling_vertices(surface, m, surface.normals @ m >= -TOLERANCE, angle.sine)
    falls[int((surface.vertices @ m).argmax())] = True
    return surface.vertices[falls]


def _pieces_of_mesh(shape: Mesh, m: FloatArray, angle: Angle) -> Pieces:
    """Return the flats of a non-convex mesh, the edges in none of these, and the vertices in neither."""
    surface = _elements(shape)
    towards, of_polygons = surface.normals @ m, surface.of_polygons @ m
    if isinstance(shape, Shell):
        towards, of_polygons = np.abs(towards), np.abs(of_polygons)
    facing_m = towards >= angle.cosine
    polygons = [surface.polygons[k] for k in np.flatnonzero(of_polygons >= angle.cosine)]
    ahead = towards >= -TOLERANCE
    falls = np.zeros(len(surface.edges), dtype=bool)
    falls[surface.edge[np.tile(ahead, 3)]] = True
    falls[surface.edge[surface.lateral @ m > angle.sine]] = False
    taken = np.zeros(len(surface.vertices), dtype=bool)
    taken[surface.faces[facing_m]] = True
    edges = surface.edges[(np.abs(surface.along @ m) <= angle.sine) & falls]
    edges = edges[~taken[edges].all(axis=1)]
    tips = _falling_vertices(surface, m, ahead, angle.sine) & ~taken
    tips[edges.reshape(-1)] = False
    alone = surface.faces[facing_m & surface.alone]
    return [*polygons, *(surface.vertices[numbers] for numbers in (alone, edges, np.flatnonzero(tips)[:, None]))]


# --- exit of a line from a convex body ------------------------------------------------------------------------------


@kernel
def _convex_gauge(core, p):
    """Return g with its gradient (module docstring) for a superovoid, or a body with a closed-form distance."""
    row, kind = core.row, core.kind
    if kind == SUPEROVOID:
        f = retract(row, p, p, 1.0, True, True)
        g = gradient(row, f)
        return dot(g, sub(p, position(row, f))), g
    distance, normal, _, _ = point_to_core(core, p)
    return distance - ball_radius(row, kind), normal


@entry_point
def leave(body: PackedBody, p: tuple[float, float, float], m: tuple[float, float, float]) -> float:
    """Return how far along m a line through a point leaves a convex body, m; nan if it misses the body.

    Parameters
    ----------
    body : PackedBody
        A convex body, or a superovoid.
    p : (3,) tuple of float
        Point in the support plane along m or near it, frame of the body.
    m : (3,) tuple of float
        Unit vector.
    """
    row = body.row
    core = Core(row, kind_of(row), body.pool)
    size = norm(p) + (row[SIZE] if row[SIZE] < math.inf else 0.0)
    s = 0.0
    for _ in range(MOST_STEPS):
        value, gradient_of = _convex_gauge(core, combine(1.0, p, s, m))
        steepness, slope = norm(gradient_of), dot(gradient_of, m)
        settled = OVER if slope < _UPRIGHT * steepness else ROUNDED
        if abs(value) <= settled * size * steepness:
            return s
        if slope <= TOLERANCE * steepness:
            break
        s -= value / slope
    return math.nan
