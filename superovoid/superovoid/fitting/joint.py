# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Joint fit of several bodies: starts and descent.

Samples lie on the target's surface, near it, and throughout its box, so that both protruding and uncovered parts
contribute.  The descent (`descent`) begins at many starts on few samples, and goes on from the best results on all
samples, with a decreasing softness of the minimum over bodies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2

from superovoid.fitting import descent
from superovoid.fitting import normal_equations as equations
from superovoid.fitting.normal_equations import Loss
from superovoid.shapes import Box, Capsule, Cylinder, Shape, Superovoid, Torus
from superovoid.shapes.kernels.bodies import MAX_TAPER

FloatArray = NDArray[np.float64]

AUTO = "auto"
KINDS = {
    "superovoid": equations.SUPEROVOID,
    "box": equations.BOX,
    "cylinder": equations.CYLINDER,
    "capsule": equations.CAPSULE,
}
_WEDGE_EXPONENTS = (0.3, 0.8)
_WEDGE_TAPERS = ((0.2, 0.0), (-0.2, 0.0), (0.0, 0.2), (0.0, -0.2), (0.2, -0.2), (-0.2, 0.2))
_MEASURE = Loss(band=1.0, softness=0.0, knee=1.0, steps=12, fill=0.0)
_FOOT_STEPS = 40  # in the search for a foot
_EXPONENTS = ((0.4, 0.4), (1.0, 0.4), (0.5, 0.9), (1.0, 1.0))


@dataclass(frozen=True)
class Bodies:
    """Bodies in the optimiser's unknowns; lengths are relative to the target's radius, positions to its centre."""

    kinds: NDArray[np.int64]
    unknowns: FloatArray  # (bodies, PARAMETERS); the rotation vector is zero
    rotations: FloatArray  # (bodies, 3, 3)

    def rows(self) -> FloatArray:
        """Return the rows that the kernels read (`normal_equations`)."""
        rows = np.empty((len(self.kinds), equations.ROW_LENGTH))
        descent.fill_rows(self.kinds, self.unknowns, self.rotations, rows)
        return rows

    def apply_step(self, step: FloatArray) -> Bodies:
        """Return the bodies after a step of the unknowns."""
        moved = Bodies(self.kinds, np.empty_like(self.unknowns), np.empty_like(self.rotations))
        step = np.ascontiguousarray(step, dtype=np.float64).reshape(-1)
        descent.move(self.unknowns, self.rotations, step, moved.unknowns, moved.rotations)
        return moved

    def select(self, which: Sequence[int] | NDArray[np.int64]) -> Bodies:
        """Return some of the bodies."""
        return Bodies(self.kinds[which], self.unknowns[which], self.rotations[which])

    def drop(self, which: int) -> Bodies:
        """Return the bodies but one."""
        return self.select(np.delete(np.arange(len(self.kinds)), which))

    def replace(self, which: int, other: Bodies) -> Bodies:
        """Return the bodies with another one in the place of one of them."""
        return self.add_bodies(other).select([len(self.kinds) if i == which else i for i in range(len(self.kinds))])

    def add_bodies(self, others: Bodies) -> Bodies:
        """Return these bodies and others."""
        pairs = zip((self.kinds, self.unknowns, self.rotations), (others.kinds, others.unknowns, others.rotations),
                    strict=True)  # fmt: skip
        return Bodies(*(np.concatenate(pair) for pair in pairs))

    def shapes(self, scale: float, origin: FloatArray) -> list[tuple[Shape, FloatArray]]:
        """Return shapes and poses (4, 4) in the unit and frame of the target."""
        found: list[tuple[Shape, FloatArray]] = []
        for row, rotation in zip(self.rows(), self.rotations, strict=True):
            pose = np.eye(4)
            # Remove rounding errors of many small rotations.
            u, _, vt = np.linalg.svd(rotation)
            pose[:3, :3] = u @ vt
            pose[:3, 3] = origin + scale * row[equations.CENTRE : equations.CENTRE + 3]
            found.append((_shape(row, scale), pose))
        return found


def _shape(row: FloatArray, scale: float) -> Shape:
    a = scale * row[equations.SIZE : equations.SIZE + 3]
    kind = int(row[equations.KIND])
    if kind == equations.BOX:
        return Box(2.0 * a)
    if kind == equations.CYLINDER:
        return Cylinder(float(a[0]), 2.0 * float(a[2]))
    if kind == equations.CAPSULE:
        return Capsule(float(a[0]), 2.0 * float(a[2]))
    if kind == equations.TORUS:
        return Torus(float(a[0] + a[2]), float(a[2]))
    exponents, tapers = (row[first : first + 2] for first in (equations.EXPONENTS, equations.TAPERS))
    return Superovoid.from_goncalves(a, exponents, tapers)


def _angle(exponent: float, high: float) -> float:
    """Return the unknown for an exponent."""
    half = 0.5 * (high - descent.LOW)
    return float(np.arcsin(np.clip((exponent - high + half) / half, -0.98, 0.98)))


def body_in_box(
    kind: int, rotation: FloatArray, half: FloatArray, centre: FloatArray, exponents: Sequence[float]
) -> Bodies:
    """Return one body with the axes and about the size of a box."""
    q = np.zeros(equations.PARAMETERS)
    size = np.maximum(half, 1e-2)
    if kind in (equations.CYLINDER, equations.CAPSULE):
        size = np.array([np.sqrt(size[0] * size[1]), 1.0, size[2]])
        if kind == equations.CAPSULE:
            size[2] = max(size[2] - size[0], 0.1 * size[2])
    if kind == equations.TORUS:
        outer = np.sqrt(size[0] * size[1])
        size = np.array([max(outer - 2.0 * size[2], 0.1 * outer), 1.0, size[2]])
    q[:3] = np.log(size)
    if kind == equations.WEDGE:
        q[descent.E1] = _angle(min(exponents[0], descent.WEDGE_HIGH), descent.WEDGE_HIGH)
    else:
        q[descent.E1 : descent.E2 + 1] = [_angle(each, descent.HIGH) for each in exponents]
    q[descent.MIDDLE : descent.MIDDLE + 3] = centre
    return Bodies(np.array([kind]), q[None], rotation[None])


def samples_at(points: FloatArray, distances: FloatArray, weights: FloatArray) -> FloatArray:
    """Return samples (n, 6), as `normal_equations` reads them, without bodies that do not move."""
    return np.ascontiguousarray(np.column_stack([points, distances, weights, np.full(len(points), np.inf)]))


def samples_behind(bodies: Bodies, samples: FloatArray) -> FloatArray:
    """Return samples for the descent of further bodies, which these bodies join without moving."""
    behind = samples.copy()
    if len(bodies.kinds):
        behind[:, 5] = union_distances(bodies, samples)
    return behind


def union_distances(bodies: Bodies, samples: FloatArray) -> FloatArray:
    """Return signed distances of samples from the union of bodies, clipped to [-1, 1]."""
    residuals = evaluate(bodies, samples, _MEASURE)[1]
    return residuals + np.clip(samples[:, 3], -_MEASURE.band, _MEASURE.band)


def evaluate(bodies: Bodies, samples: FloatArray, loss: Loss) -> tuple[float, FloatArray]:
    """Return loss and residuals."""
    work, scratch = _memory(bodies, samples)
    rows = np.ascontiguousarray(samples)
    cost = descent.loss_of(bodies.kinds, bodies.unknowns, bodies.rotations, rows, loss, work, scratch)
    return cost, work.residuals


def distances_of(bodies: Bodies, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return signed distances of points from one body, and their derivatives by the unknowns."""
    distances, slopes = np.empty(len(points)), np.empty((len(points), equations.PARAMETERS))
    rows = np.ascontiguousarray(points)
    equations.body_distances(bodies.rows()[0], rows, _FOOT_STEPS, distances, slopes, equations.scratch(1))
    return distances, slopes


def descend(bodies: Bodies, samples: FloatArray, loss: Loss, steps: int) -> tuple[float, Bodies]:
    """Minimise the loss from a start by at most `steps` steps; return loss and bodies."""
    moved = Bodies(bodies.kinds, bodies.unknowns.copy(), bodies.rotations.copy())
    work, scratch = _memory(bodies, samples)
    rows = np.ascontiguousarray(samples)
    return descent.descend(moved.kinds, moved.unknowns, moved.rotations, rows, loss, steps, work, scratch), moved


def _memory(bodies: Bodies, samples: FloatArray) -> tuple[descent.Work, equations.Scratch]:
    count = len(bodies.kinds)
    return descent.work(count, len(samples)), equations.scratch(count)


def principal_box(points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return axes (columns, right-handed, longest first), half lengths and centre of a box around most points."""
    mean = points.mean(axis=0)
    _, axes = np.linalg.eigh(np.cov((points - mean).T) + 1e-12 * np.eye(3))
    axes = axes[:, ::-1].copy()
    axes[:, 2] *= np.sign(np.linalg.det(axes)) or 1.0
    low, high = np.quantile((points - mean) @ axes, [0.01, 0.99], axis=0)
    return axes, 0.5 * (high - low), mean + axes @ (0.5 * (high + low))


def permute_axes(axes: FloatArray, half: FloatArray, shift: int) -> tuple[FloatArray, FloatArray]:
    """Return a box with its axes cyclically permuted."""
    return np.roll(axes, shift, axis=1), np.roll(half, shift)


def starts(points: FloatArray, count: int, kinds: Sequence[int], rounds: int, seed: int) -> Iterator[Bodies]:
    """Generate starts for `count` bodies: boxes of clusters of points, in all cyclic orders of their axes.

    Parameters
    ----------
    points : (n, 3) ndarray
        Points that the bodies should contain.
    count : int
        Number of bodies.
    kinds : sequence of int
        Allowed kinds.
    rounds : int
        Number of clusterings (k-means++) with different seeds.
    seed : int
    """
    generator = np.random.default_rng(seed)
    for turn in range(rounds if count > 1 else 1):
        label = np.zeros(len(points), dtype=np.int64)
        if count > 1:
            _, label = kmeans2(points, count, minit="++", rng=np.random.default_rng([seed, turn]))
        sizes = np.bincount(label, minlength=count)
        if (sizes < 6).any():
            continue
        boxes = [principal_box(points[label == i]) for i in range(count)]
        for shift in range(3):
            for number, exponents in enumerate(_EXPONENTS[:2] if count > 1 else _EXPONENTS):
                kind = kinds[(turn + shift + number) % len(kinds)] if count > 1 else kinds[0]
                yield _combine(boxes, [shift] * count, [exponents] * count, kind)
        if count > 1:
            for _ in range(2):
                shifts = generator.integers(3, size=count)
                chosen = [_EXPONENTS[i] for i in generator.integers(len(_EXPONENTS), size=count)]
                yield _combine(boxes, list(shifts), chosen, kinds[0])


def wedges(points: FloatArray) -> Iterator[Bodies]:
    """Generate starts for one wedge: the box of the points, in all cyclic orders of its axes, with several tapers."""
    axes, half, centre = principal_box(points)
    for shift in range(3):
        for e1 in _WEDGE_EXPONENTS:
            for tapers in _WEDGE_TAPERS:
                start = body_in_box(equations.WEDGE, *permute_axes(axes, half, shift), centre, (e1, 1.0))
                start.unknowns[0, descent.E2 : descent.TAPER + 1] = np.arcsin(np.asarray(tapers) / MAX_TAPER)
                yield start


def _combine(boxes: Sequence, shifts: Sequence[int], exponents: Sequence, kind: int) -> Bodies:
    found = None
    for (axes, half, centre), shift, pair in zip(boxes, shifts, exponents, strict=True):
        one = body_in_box(kind, *permute_axes(axes, half, int(shift)), centre, pair)
        found = one if found is None else found.add_bodies(one)
    assert found is not None
    return found


def replace_kind(bodies: Bodies, which: int, kind: int, shift: int = 0) -> Bodies:
    """Return another kind of body of about the size of one of some bodies, with its axes permuted.

    The axis of a torus is the shortest one.
    """
    row = bodies.rows()[which]
    half = row[equations.SIZE : equations.SIZE + 3]
    is_wedge = kind == equations.WEDGE
    shift = 2 - int(np.argmin(half)) if kind == equations.TORUS else shift
    exponents = row[equations.EXPONENTS : equations.EXPONENTS + 2] if is_wedge else (0.5, 0.5)
    centre = row[equations.CENTRE : equations.CENTRE + 3]
    axes, half = permute_axes(bodies.rotations[which], half, shift)
    other = body_in_box(kind, axes, half, centre, exponents)
    if is_wedge:
        tapers = row[equations.TAPERS : equations.TAPERS + 2] / MAX_TAPER
        other.unknowns[0, descent.E2 : descent.TAPER + 1] = np.arcsin(np.clip(tapers, -0.9, 0.9))
    return other
