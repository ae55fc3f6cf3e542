# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Cover convex bodies with spheres.

Candidates are medial balls (S. Stolpner, P. Kry, K. Siddiqi, "Medial spheres for shape approximation", IEEE PAMI 34
(2012)): the largest ones that lie in a body and touch its surface at a sample. They are enlarged by the allowed
overshoot. Spheres are chosen greedily, the one first that covers most of the samples that are still uncovered.

**Overshoot.**  If a point lies at depth d in a convex body, the ball of radius d about it lies in the body. So no point
of a sphere with radius r about it is farther than r - d from the body.

**Cover.**  The bodies are divided into cubes. A cube is covered if the ball around it lies in a sphere, and does not
matter if this ball lies outside of all bodies; others are divided. Cubes that remain undecided give further samples and
candidates, until none is left.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from superovoid.fitting.proofs import point_distances
from superovoid.fitting.quality import Placed, sample_triangles, union_surface
from superovoid.shapes import Sphere

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

_FEET, _SAMPLES = 1500, 6000  # points of the surface under candidates, and to cover
_HALVINGS = 30
_MARGIN = 0.15  # by which samples lie inside of a sphere, relative to the overshoot
_LEAST = 0.1  # smallest cubes, relative to the overshoot
_CELLS = 8  # of the first cubes, across a body
_ROUNDS = 20
_ROWS = 20_000  # of distances at once
_ROUNDED = 1e-9  # rounding errors, relative to the size
_OCTANTS = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])


def medial_radii(
    feet: FloatArray, inwards: FloatArray, depth: Callable[[FloatArray], FloatArray], largest: float
) -> FloatArray:
    """Return the radii of the largest balls in a solid that touch its surface at points, by bisection.

    Parameters
    ----------
    feet, inwards : (n, 3) ndarray
        Points of the surface, and unit vectors towards the centres of the balls.
    depth : callable
        Returns the distances of rows of points in the solid from its surface.
    largest : float
        Upper bound of the radii.
    """
    low, high = np.zeros(len(feet)), np.full(len(feet), largest)
    for _ in range(_HALVINGS):
        radius = 0.5 * (low + high)
        fits = depth(feet + radius[:, None] * inwards) >= radius * (1.0 - 1e-6)
        low, high = np.where(fits, radius, low), np.where(fits, high, radius)
    return low


def cover_with_spheres(bodies: Placed, atol: float, seed: int = 0) -> list[tuple[Sphere, FloatArray]]:
    """Return spheres whose union contains convex bodies; both this and the overshoot are proved.

    Parameters
    ----------
    bodies : sequence of (Shape, (4, 4) ndarray)
        Convex bodies and their poses. Spheres are kept as they are.
    atol : float
        Largest distance of points of the spheres from the bodies, m.
    seed : int
        Seed of the samples.

    Returns
    -------
    list of (Sphere, (4, 4) ndarray)

    Raises
    ------
    ValueError
        If the cover cannot be proved, as for an overshoot as small as rounding errors.
    """
    kept = [(shape, pose) for shape, pose in bodies if isinstance(shape, Sphere)]
    rest = [body for body in bodies if not isinstance(body[0], Sphere)]
    centres = np.array([pose[:3, 3] for _, pose in kept]).reshape(-1, 3)
    radii = np.array([shape.radius for shape, _ in kept])
    if not rest:
        return kept
    surface = union_surface(bodies)
    size = float(np.linalg.norm(np.ptp(surface.reshape(-1, 3), axis=0)))
    atol -= _ROUNDED * size

    def depth(points: FloatArray) -> FloatArray:
        return np.asarray(np.max([-point_distances(*body, points)[1] for body in rest], axis=0))

    feet, normals = sample_triangles(surface, _FEET, seed)
    candidates = feet - medial_radii(feet, -normals, depth, size)[:, None] * normals
    points = sample_triangles(surface, _SAMPLES, seed + 1)[0]
    for _ in range(_ROUNDS):
        points = points[~_are_inside(points, centres, radii - _MARGIN * atol)]
        reach = depth(candidates) + atol
        candidates, reach = candidates[reach > 0.0], reach[reach > 0.0]
        chosen = _greedy_cover(points, candidates, reach - _MARGIN * atol)
        centres, radii = np.concatenate([centres, candidates[chosen]]), np.concatenate([radii, reach[chosen]])
        points = _open_cubes(rest, centres, radii, _LEAST * atol, _ROUNDED * size)
        if not len(points):
            break
        candidates = points[:: 1 + len(points) // _FEET]
    else:
        raise ValueError(f"atol = {atol!r} m: no spheres are proved to contain the bodies")
    return [*kept, *(_sphere(centre, radius) for centre, radius in
                     zip(centres[len(kept) :], radii[len(kept) :], strict=True))]  # fmt: skip


def _sphere(centre: FloatArray, radius: float) -> tuple[Sphere, FloatArray]:
    pose = np.eye(4)
    pose[:3, 3] = centre
    return Sphere(float(radius)), pose


def _are_inside(points: FloatArray, centres: FloatArray, radii: FloatArray) -> BoolArray:
    """Return which points lie in any sphere; a negative radius contains nothing."""
    found = np.zeros(len(points), dtype=bool)
    if len(centres):
        for first in range(0, len(points), _ROWS):
            rows = slice(first, first + _ROWS)
            found[rows] = (cdist(points[rows], centres) <= radii).any(axis=1)
    return found


def _greedy_cover(points: FloatArray, centres: FloatArray, radii: FloatArray) -> list[int]:
    """Return numbers of spheres that cover the points that any of them covers."""
    holds = cdist(centres, points) <= radii[:, None]
    gains, chosen = holds.sum(axis=1), []
    while gains.any():
        which = int(gains.argmax())
        chosen.append(which)
        newly = holds[which].copy()
        gains -= holds[:, newly].sum(axis=1)
        holds[:, newly] = False
    return chosen


def _open_cubes(bodies: Placed, centres: FloatArray, radii: FloatArray, least: float, allowance: float) -> FloatArray:
    """Return centres of small cubes that may contain uncovered points of the bodies; none if the cover is proved."""
    left = []
    for shape, pose in bodies:
        low, high = shape.aabb(pose[:3, :3])
        edge = float((high - low).max()) / _CELLS
        counts = np.ceil((high - low) / edge * (1.0 - 1e-12)).astype(int)
        grid = np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), axis=-1).reshape(-1, 3)
        cubes = pose[:3, 3] + low + edge * (grid + 0.5)
        while len(cubes):
            around = 0.5 * np.sqrt(3.0) * edge + allowance
            cubes = cubes[~_are_inside(cubes, centres, radii - around)]
            cubes = cubes[point_distances(shape, pose, cubes)[0] <= around] if len(cubes) else cubes
            if edge < least:
                left.append(cubes)
                break
            edge *= 0.5
            cubes = (cubes[:, None, :] + edge * _OCTANTS).reshape(-1, 3)
    return np.concatenate(left) if left else np.empty((0, 3))
