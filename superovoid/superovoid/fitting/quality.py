# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Measure how close bodies are to a solid, on samples independent of the fit.

Volumes are estimated by counting low-discrepancy points, with the shapes' own inside tests; distances are measured from
points on one surface to triangles of the other.  The surface of the union consists of the bodies' meshes
(`Shape.triangles`) without the parts inside of another body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from superovoid.fitting.halton import halton
from superovoid.fitting.triangle_tree import TriangleTree
from superovoid.shapes import Shape
from superovoid.values.records import Record

if TYPE_CHECKING:
    from superovoid.fitting.targets import Target

FloatArray = NDArray[np.float64]
Placed = Sequence[tuple[Shape, FloatArray]]

_RESOLUTION = 128  # of the bodies' meshes: the error is at most 3e-4 of a radius of curvature
_LONGEST = 0.05  # longest edge of a triangle, relative to the union's diagonal
_SPLITS = 6  # largest number of splits of triangles crossed by the border of another body
_STRAIGHT = 1e-4  # tolerance for the border in a triangle to be a line, relative to the union's diagonal
_HALVINGS = 24  # bisection steps for the crossing of an edge and a border: far less than the offset `_ASIDE` remains
_ASIDE = 5e-7  # offset from a surface of the inside test for another body, relative to the union's diagonal
_REPLICATES = 8


@dataclass(frozen=True, eq=False, repr=False)
class Quality(Record):
    """Measured accuracy of bodies; lengths in the unit of the input, shares from 0 to 1. All are sample estimates."""

    iou: float
    """intersection over union of the volumes of bodies and solid"""
    iou_error: float
    """standard error of `iou`, from eight replicates of the points"""
    volume_ratio: float
    """volume of the union of the bodies divided by that of the solid"""
    coverage: float
    """share of the solid's volume inside of the bodies"""
    protrusion: float
    """share of the bodies' volume outside of the solid"""
    mean: float
    """mean of the two directed mean distances, from the solid's surface to the union's and back"""
    to_bodies_mean: float
    to_bodies_p95: float
    to_bodies_max: float
    to_solid_mean: float
    to_solid_p95: float
    to_solid_max: float
    uncovered_mean: float
    """mean over the solid's surface of the distance from the union, which is 0 inside"""
    uncovered_max: float
    protruding_mean: float
    """mean over the union's surface of the distance from the solid, which is 0 inside"""
    protruding_max: float
    volume_points: int
    surface_points: int
    """on the solid"""
    union_points: int
    """on the union of the bodies"""

    @property
    def hausdorff(self) -> float:
        """Largest distance found in either direction."""
        return max(self.to_bodies_max, self.to_solid_max)


def measure_union(
    bodies: Placed, target: Target, *, volume_points: int = 1 << 16, surface_points: int = 10_000, seed: int = 1
) -> Quality:
    """Measure how close bodies are to a solid.

    Parameters
    ----------
    bodies : sequence of (Shape, (4, 4) ndarray)
        Shapes and poses in the frame of the solid.
    target : Target
    volume_points : int
        Number of points for volumes, in the box around bodies and solid.
    surface_points : int
        Number of points on each surface.
    seed : int

    Returns
    -------
    Quality

    Raises
    ------
    ValueError
        If there is no body, or the target is too thin to be measured.
    """
    if not len(bodies):
        raise ValueError("bodies: is empty, expected at least one")
    volumes = _volumes(bodies, target, volume_points, seed)
    surface = union_surface(bodies)
    tree = TriangleTree(surface)
    points, _ = target.surface(surface_points, seed)
    if not len(points):
        raise ValueError("target: is too thin: no point of its surface has the solid on one side only")
    to_bodies = np.linalg.norm(points - tree.nearest_points(points)[0], axis=1)
    uncovered = np.where(inside_any(bodies, points), 0.0, to_bodies)
    others, _ = sample_triangles(surface, surface_points, seed)
    to_solid = target.distance(others)
    protruding = np.where(target.contains(others), 0.0, to_solid)
    return Quality(
        **volumes,
        mean=float(0.5 * (to_bodies.mean() + to_solid.mean())),
        to_bodies_mean=float(to_bodies.mean()),
        to_bodies_p95=float(np.quantile(to_bodies, 0.95)),
        to_bodies_max=float(to_bodies.max()),
        to_solid_mean=float(to_solid.mean()),
        to_solid_p95=float(np.quantile(to_solid, 0.95)),
        to_solid_max=float(to_solid.max()),
        uncovered_mean=float(uncovered.mean()),
        uncovered_max=float(uncovered.max()),
        protruding_mean=float(protruding.mean()),
        protruding_max=float(protruding.max()),
        volume_points=volume_points,
        surface_points=len(points),
        union_points=len(others),
    )


def inside_any(bodies: Placed, points: FloatArray) -> NDArray[np.bool_]:
    """Return whether rows of points lie in any of the bodies."""
    found = np.zeros(len(points), dtype=bool)
    for shape, pose in bodies:
        found |= shape.contains((points - pose[:3, 3]) @ pose[:3, :3])
    return found


def _volumes(bodies: Placed, target: Target, count: int, seed: int) -> dict[str, float | int]:
    corners = [pose[:3, 3] + np.array(shape.aabb(pose[:3, :3])) for shape, pose in bodies]
    lower = np.minimum(target.lower, np.min([box[0] for box in corners], axis=0))
    upper = np.maximum(target.upper, np.max([box[1] for box in corners], axis=0))
    each = max(1, count // _REPLICATES)
    counts = []
    for i in range(_REPLICATES):
        points = lower + (upper - lower) * halton(np.random.default_rng([seed, i])).random(each)
        held, filled = inside_any(bodies, points), target.contains(points)
        counts.append((np.sum(held & filled), np.sum(held), np.sum(filled)))
    both, own, solid = np.array(counts, dtype=float).T
    ious = both / np.maximum(own + solid - both, 1.0)
    shared, of_bodies, of_solid = float(both.sum()), max(float(own.sum()), 1.0), max(float(solid.sum()), 1.0)
    return {
        "iou": shared / (of_bodies + of_solid - shared),
        "iou_error": float(ious.std(ddof=1) / np.sqrt(_REPLICATES)),
        "volume_ratio": of_bodies / of_solid,
        "coverage": shared / of_solid,
        "protrusion": 1.0 - shared / of_bodies,
    }


def union_surface(bodies: Placed, resolution: int = _RESOLUTION) -> FloatArray:
    """Return triangles (m, 3, 3) of the boundary of a union of bodies, counter-clockwise seen from outside.

    The part of a body's triangles inside another body is cut off along the line between the points where that body's
    border crosses their edges. A removed part is the hull of points of a convex body, so no part of the union's
    boundary is lost. (Of a torus, whose hole may be smaller than a triangle, the removed part is near such points.)
    Parts kept in excess lie at most 1/sqrt(3) of the longest edge, a thirtieth of the union's diagonal, deep in another
    body: the corners of such a triangle are outside of that body, so they are at
    least as far from a point as its depth, and every point of a triangle is that close to a corner. This bound is
    reached only if a body ends inside of one triangle. Triangles whose edges are crossed are split, at most six times,
    until the other body bulges at most 1e-4 of the diagonal beyond the midpoint of the line between the crossings.
    """
    meshes = []
    for shape, pose in bodies:
        vertices, faces = shape.triangles(resolution)
        meshes.append((vertices @ pose[:3, :3].T + pose[:3, 3])[faces])
    every = np.concatenate(meshes).reshape(-1, 3)
    diagonal = float(np.linalg.norm(np.ptp(every, axis=0)))
    step = _ASIDE * diagonal
    kept = []
    for number, corners in enumerate(meshes):
        while len(meshes) > 1 and len(too_long := np.flatnonzero(_edges(corners).max(axis=1) > _LONGEST * diagonal)):
            corners = np.concatenate([np.delete(corners, too_long, axis=0), split(corners[too_long])])
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
        for other, body in enumerate(bodies):
            if other != number:
                # A face shared by two bodies is kept for the first only: a step inwards lies inside of the second body,
                # a step outwards lies outside of the first.
                aside = (-step if other < number else step) * normals
                corners, normals = _cut(corners, normals, body, aside, _STRAIGHT * diagonal)
        kept.append(corners)
    return np.concatenate(kept)


def _cut(
    corners: FloatArray, normals: FloatArray, body: tuple[Shape, FloatArray], aside: FloatArray, straight: float
) -> tuple[FloatArray, FloatArray]:
    """Return the parts of triangles outside of a convex body, with their normals.

    The inside test of a point is made at its offset by the vector `aside`. Triangles are split until the border
    deviates from a line by at most about `straight`.
    """
    kept, kept_normals = [], []
    for level in range(_SPLITS + 1):
        inside = _is_inside(body, corners, aside[:, None, :])
        outside = ~inside.any(axis=1)
        kept.append(corners[outside])
        kept_normals.append(normals[outside])
        crossed = ~outside & ~inside.all(axis=1)
        corners, normals, aside, inside = corners[crossed], normals[crossed], aside[crossed], inside[crossed]
        if not len(corners):
            break
        # Rotate the only corner on its side to the front.
        is_in = inside.sum(axis=1) == 1
        first = np.argmax(inside == is_in[:, None], axis=1)
        turned = corners[np.arange(len(corners))[:, None], (first[:, None] + np.arange(3)) % 3]
        a, b, c = turned.transpose(1, 0, 2)
        p, q = (_crossing_point(body, a, end, aside, is_in) for end in (b, c))
        # The body contains the chord from p to q, and bulges beyond it into the kept part.
        middle = 0.5 * (p + q)
        far = np.where(is_in[:, None], 0.5 * (b + c), a)
        end = _crossing_point(body, middle, far, aside, np.ones(len(a), dtype=bool))
        done = (np.linalg.norm(end - middle, axis=1) <= straight) | (level == _SPLITS)
        one, two = done & ~is_in, done & is_in
        for which, piece in ((one, (a, p, q)), (two, (p, b, c)), (two, (p, c, q))):
            kept.append(np.stack([corner[which] for corner in piece], axis=1))
            kept_normals.append(normals[which])
        corners, normals, aside = split(corners[~done]), np.tile(normals[~done], (4, 1)), np.tile(aside[~done], (4, 1))
    return np.concatenate(kept), np.concatenate(kept_normals)


def _is_inside(body: tuple[Shape, FloatArray], points: FloatArray, aside: FloatArray) -> NDArray[np.bool_]:
    return inside_any([body], (points + aside).reshape(-1, 3)).reshape(points.shape[:-1])


def _crossing_point(
    body: tuple[Shape, FloatArray], start: FloatArray, end: FloatArray, aside: FloatArray, is_in: NDArray[np.bool_]
) -> FloatArray:
    """Return the points where segments leave a body (or enter it, if they start outside), by bisection."""
    for _ in range(_HALVINGS):
        middle = 0.5 * (start + end)
        same = (_is_inside(body, middle, aside) == is_in)[:, None]
        start, end = np.where(same, middle, start), np.where(same, end, middle)
    return 0.5 * (start + end)


def split(corners: FloatArray) -> FloatArray:
    """Split each triangle into four at the midpoints of its edges."""
    a, b, c = corners.transpose(1, 0, 2)
    ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
    parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    return np.concatenate([np.stack(part, axis=1) for part in parts])


def _edges(corners: FloatArray) -> FloatArray:
    return np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)


def sample_triangles(corners: FloatArray, count: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return points on triangles, uniform by area, and the normals there."""
    generator = np.random.default_rng(seed)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.linalg.norm(normals, axis=1)
    where = (np.arange(count) + generator.random(count)) / count
    which = np.searchsorted(np.cumsum(areas) / areas.sum(), where).clip(max=len(areas) - 1)
    u, v = generator.random((2, count))
    turned = u + v > 1.0
    u[turned], v[turned] = 1.0 - u[turned], 1.0 - v[turned]
    a, b, c = corners[which].transpose(1, 0, 2)
    points = a + u[:, None] * (b - a) + v[:, None] * (c - a)
    return points, normals[which] / np.maximum(areas[which], 1e-300)[:, None]
