# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Random pairs of any two kinds of bodies in a named regime of overlap, arrangement or relative size."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from superovoid.shapes import Box, ConvexMesh, HalfSpace, Mesh, Shape, Superovoid, Torus
from superovoid.shapes.scaling import scale_shape
from superovoid.testing import flat_contacts
from superovoid.testing.flat_contacts import QUARTER_TURNS, Pair
from superovoid.testing.random_bodies import KINDS, random_shape

FloatArray = NDArray[np.float64]
Rng = np.random.Generator

PLANE = "plane"
KINDS_AND_PLANE = (*KINDS, PLANE)


def _log_uniform(rng: Rng, low: float, high: float) -> float:
    return float(math.exp(rng.uniform(math.log(low), math.log(high))))


GAPS: dict[str, Callable[[Rng], float]] = {
    "far": lambda rng: _log_uniform(rng, 10.0, 1e5),
    "near": lambda rng: _log_uniform(rng, 1e-6, 1.0),
    "touching": lambda rng: rng.choice([0.0, 1.0, -1.0]) * _log_uniform(rng, 1e-16, 1e-9),
    "shallow": lambda rng: -_log_uniform(rng, 1e-7, 1e-2),
    "deep": lambda rng: -rng.uniform(0.1, 0.5),
}
"""Gap along a common normal of the bodies' convex hulls, in units of the smaller body; negative for overlap."""

REGIMES = (*GAPS, "concentric", "flat", "coaxial", "unlike sizes", "degenerate")
"""`flat`: facing flats. `coaxial`: the z axes coincide, or nearly. `unlike sizes`: B is up to 10,000 times smaller.
`degenerate`: A is up to 100,000 times as long as thick, or has exponents near their limits. Pairs of the last four
regimes are apart, touch or overlap."""


def size_of(shape: Shape) -> float:
    """Return the largest half extent of a body; infinite for a plane."""
    return math.inf if isinstance(shape, HalfSpace) else float(max(shape.obb().half_extents))


def _shape(kind: str, rng: Rng) -> Shape:
    return HalfSpace() if kind == PLANE else random_shape(kind, rng)


def _degenerate_body(shape: Shape, rng: Rng) -> Shape:
    """Return a body with one or two of its lengths, or its exponents, near a limit."""
    thin = _log_uniform(rng, 1e-5, 1e-2)
    if isinstance(shape, Superovoid):
        factors = np.where(np.arange(3) == rng.integers(3), 1.0, thin) if rng.random() < 0.5 else np.ones(3)
        exponents = rng.choice([0.01, 0.05, 1.0, 1.9, 1.99], 2)
        tapers = shape.taper if rng.random() < 0.5 and not shape.convexity().convex else (0.0, 0.0)
        return Superovoid.from_goncalves(np.array(shape.semi_axes) * factors, exponents, tapers)
    if isinstance(shape, Torus):
        return Torus(shape.major_radius, thin * shape.major_radius)
    if isinstance(shape, (ConvexMesh, Mesh)):
        flat = np.asarray(shape.vertices) * (1.0, 1.0, thin)
        return ConvexMesh(flat) if isinstance(shape, ConvexMesh) else Mesh(flat, shape.faces)
    if isinstance(shape, Box):
        return replace(shape, lengths=tuple(np.array(shape.lengths) * rng.permutation([1.0, 1.0, thin])))
    if hasattr(shape, "length"):
        name = str(rng.choice(["radius", "length"]))
        return replace(shape, **{name: thin * getattr(shape, name)})
    return shape


def _farthest_point(shape: Shape, pose: FloatArray, n: FloatArray) -> FloatArray:
    """Return the farthest point of a body's hull in a direction, relative to the body's origin, world axes."""
    if isinstance(shape, HalfSpace):
        return np.zeros(3)
    return pose[:3, :3] @ shape.support(n @ pose[:3, :3])


def _unit(rng: Rng) -> FloatArray:
    n = rng.normal(size=3)
    return n / np.linalg.norm(n)


def draw(kind_a: str, kind_b: str, regime: str, rng: Rng) -> Pair:
    """Draw a pair of two kinds from `KINDS_AND_PLANE` in a regime; the kinds must not both be planes."""
    if regime == "flat" and {kind_a, kind_b} <= flat_contacts.MAKERS.keys():
        return flat_contacts.pair(rng, kind_a, kind_b)
    a, b = _shape(kind_a, rng), _shape(kind_b, rng)
    if regime == "unlike sizes" and not isinstance(b, HalfSpace):
        b = scale_shape(b, _log_uniform(rng, 1e-4, 1e-1))
    if regime == "degenerate":
        a = _degenerate_body(a, rng)
    pose_a, pose_b = np.eye(4), np.eye(4)
    pose_a[:3, :3], pose_b[:3, :3] = Rotation.random(2, rng=rng).as_matrix()
    if regime in ("flat", "concentric", "coaxial") and rng.random() < 0.7:
        pose_b[:3, :3] = pose_a[:3, :3] @ QUARTER_TURNS[rng.integers(24)]
    n = _unit(rng)
    if regime == "flat":
        n = pose_a[:3, rng.integers(3)] * rng.choice([-1.0, 1.0])
    elif regime == "coaxial":
        n = pose_a[:3, 2]
        flip = np.diag([1.0, -1.0, -1.0]) if PLANE in (kind_a, kind_b) or rng.random() < 0.5 else np.eye(3)
        spin = Rotation.from_rotvec([0.0, 0.0, rng.uniform(0.0, 6.0)])
        if rng.random() < 0.4:
            spin = Rotation.from_rotvec(_log_uniform(rng, 1e-12, 1e-3) * rng.normal(size=3)) * spin
        pose_b[:3, :3] = pose_a[:3, :3] @ spin.as_matrix() @ flip
    if isinstance(a, HalfSpace):
        n = pose_a[:3, 2]
    elif isinstance(b, HalfSpace):
        n = -pose_b[:3, 2]
    if regime == "concentric":
        offset = np.zeros(3)
    else:
        gap = GAPS[regime if regime in GAPS else str(rng.choice(list(GAPS)))](rng) * min(size_of(a), size_of(b))
        offset = _farthest_point(a, pose_a, n) + gap * n - _farthest_point(b, pose_b, -n)
    pose_a[:3, 3] = _unit(rng) * rng.choice([0.0, 1.0, 10.0])
    pose_b[:3, 3] = pose_a[:3, 3] + offset
    return Pair(a, pose_a, b, pose_b)
