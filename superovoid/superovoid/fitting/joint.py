# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Joint fit of several bodies: starts and descent.

The residual of a sample is the signed distance of the union of the bodies minus that of the target, both clipped to a
band.  Samples lie on the target's surface, near it, and throughout its box, so that both protruding and uncovered parts
contribute.  The loss is quadratic for small and linear for large differences.  It is minimised by the
Levenberg-Marquardt method with damping scaled by the diagonal, from many starts on few samples, then from the best
results on all samples, with a decreasing softness of the minimum over bodies.

Exponents and tapers are substituted so that all values of the unknowns give convex bodies: exponents within their
bounds, and equal tapers T below `TAPER_SAFETY` times the convex limit (1 - e2/2) 2^(e2/2)
(docs/explanation/numerics.md).

Unequal tapers are used for wedges, superovoids with e2 = 1: with e2 < 1 they are never convex, and e2 > 1 is hardly
useful.  Wedges are convex for e1 up to 1.5 and all tapers up to 1/2.  With y = 1 - w^2 and tx = Tx / (1 + Tx w) the
condition of docs/explanation/numerics.md, times y^2, is

    -1 - 2 w y (c tx + (1-c) ty) + (q-1) c (1-c) y^2 (tx-ty)^2 <= 0   for w in (-1, 1), c in [0, 1].

The left side is convex in (tx, ty), and tx and ty increase with their tapers, so it is largest if both tapers are at
an end of their range; and it increases with q, hence with e1.  Equal tapers of 1/2 are below their limit of 0.707.  For
(1/2, -1/2) and (-1/2, 1/2) the engine proves convexity at e1 = 1.5 (`Superovoid.convexity`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2

from superovoid.fitting import normal_equations as equations
from superovoid.fitting.fit import TAPER_SAFETY, maximum_taper
from superovoid.fitting.normal_equations import Loss
from superovoid.shapes import Box, Capsule, Cylinder, Shape, Superovoid
from superovoid.shapes.kernels.bodies import MAX_TAPER

FloatArray = NDArray[np.float64]

KINDS = {
    "superovoid": equations.SUPEROVOID,
    "box": equations.BOX,
    "cylinder": equations.CYLINDER,
    "capsule": equations.CAPSULE,
}
_LOW, _HIGH = 0.02, 1.9  # exponents
WEDGE_HIGH = 1.5  # e1 of a wedge
_SMALLEST, _LARGEST = -5.5, 1.0  # logarithms of lengths over the target's radius
_E1, _E2, _TAPER = 3, 4, 5
_TURN, _CENTRE = slice(6, 9), slice(9, 12)
_MOST_STEP = np.r_[np.full(3, 0.5), np.full(3, 0.6), np.full(3, 0.5), np.full(3, 0.2)]
_WEDGE_EXPONENTS = (0.3, 0.8)
_WEDGE_TAPERS = ((0.2, 0.0), (-0.2, 0.0), (0.0, 0.2), (0.0, -0.2), (0.2, -0.2), (-0.2, 0.2))
_EXPONENTS = ((0.4, 0.4), (1.0, 0.4), (0.5, 0.9), (1.0, 1.0))


@dataclass(frozen=True)
class Bodies:
    """Bodies in the optimiser's unknowns; lengths are relative to the target's radius, positions to its centre."""

    kinds: NDArray[np.int64]
    unknowns: FloatArray  # (bodies, PARAMETERS); the rotation vector is zero
    rotations: FloatArray  # (bodies, 3, 3)

    def rows(self) -> FloatArray:
        """Return the rows that the kernels read (`normal_equations`)."""
        q = self.unknowns
        rows = np.zeros((len(q), equations.ROW_LENGTH))
        rows[:, equations.KIND] = self.kinds
        size = np.exp(q[:, :3])
        rows[:, equations.SIZE : equations.SIZE + 3] = size
        wedge = self.kinds == equations.WEDGE
        high = np.column_stack([np.where(wedge, WEDGE_HIGH, _HIGH), np.full(len(q), _HIGH)])
        half = 0.5 * (high - _LOW)
        exponents = high - half + half * np.sin(q[:, _E1 : _E2 + 1])
        exponents[wedge, 1] = 1.0
        rows[:, equations.EXPONENTS : equations.EXPONENTS + 2] = exponents
        e2, fraction = exponents[:, 1], np.sin(q[:, _TAPER])
        limit, by_e2 = _taper_limit(e2)
        chain = half * np.cos(q[:, _E1 : _E2 + 1])
        rows[:, equations.TAPERS : equations.TAPERS + 2] = (limit * fraction)[:, None]
        rows[:, equations.CHAIN : equations.CHAIN + 2] = chain
        rows[:, equations.CHAIN + 2] = limit * np.cos(q[:, _TAPER])
        rows[:, equations.CHAIN + 3] = by_e2 * fraction * chain[:, 1]
        for i, unknown in enumerate((_E2, _TAPER)):
            rows[wedge, equations.TAPERS + i] = MAX_TAPER * np.sin(q[wedge, unknown])
            rows[wedge, equations.CHAIN + 1 + i] = MAX_TAPER * np.cos(q[wedge, unknown])
        rows[:, equations.ROTATION : equations.ROTATION + 9] = self.rotations.reshape(-1, 9)
        rows[:, equations.CENTRE : equations.CENTRE + 3] = q[:, _CENTRE]
        # A body lies within the distance of its bounding box's corner from the centre.
        reach = size.copy()
        reach[:, :2] *= 1.0 + np.abs(rows[:, equations.TAPERS : equations.TAPERS + 2])
        turned = (self.kinds == equations.CYLINDER) | (self.kinds == equations.CAPSULE)
        reach[turned, 1] = reach[turned, 0]
        caps = self.kinds == equations.CAPSULE
        reach[caps, 2] += reach[caps, 0]
        rows[:, equations.RADIUS] = np.linalg.norm(reach, axis=1)
        return rows

    def apply_limited_step(self, step: FloatArray) -> Bodies:
        """Return the bodies after a step of the unknowns, clipped to the largest step."""
        return self.apply_step(np.clip(step.reshape(self.unknowns.shape), -_MOST_STEP, _MOST_STEP))

    def apply_step(self, step: FloatArray) -> Bodies:
        """Return the bodies after a step of the unknowns."""
        step = step.reshape(self.unknowns.shape)
        unknowns = self.unknowns + step
        unknowns[:, :3] = np.clip(unknowns[:, :3], _SMALLEST, _LARGEST)
        unknowns[:, _TURN] = 0.0
        return Bodies(self.kinds, unknowns, _turns(step[:, _TURN]) @ self.rotations)

    def select(self, which: Sequence[int] | NDArray[np.int64]) -> Bodies:
        """Return some of the bodies."""
        return Bodies(self.kinds[which], self.unknowns[which], self.rotations[which])

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


def _turns(vectors: FloatArray) -> FloatArray:
    """Return the rotation matrices (n, 3, 3) of rotation vectors (Rodrigues)."""
    angles = np.sqrt((vectors * vectors).sum(axis=1))[:, None, None]
    skew = np.zeros((len(vectors), 3, 3))
    skew[:, (2, 0, 1), (1, 2, 0)] = vectors
    skew[:, (1, 2, 0), (2, 0, 1)] = -vectors
    half = np.sinc(angles / (2.0 * np.pi))
    return np.asarray(np.eye(3) + np.sinc(angles / np.pi) * skew + 0.5 * half * half * (skew @ skew))


def _taper_limit(e2: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the largest allowed taper and its derivative by e2."""
    limit = TAPER_SAFETY * maximum_taper(e2)
    slope = TAPER_SAFETY * 2.0 ** (0.5 * e2) * 0.5 * ((1.0 - 0.5 * e2) * np.log(2.0) - 1.0)
    return np.minimum(limit, MAX_TAPER), np.where(limit < MAX_TAPER, slope, 0.0)


def _shape(row: FloatArray, scale: float) -> Shape:
    a = scale * row[equations.SIZE : equations.SIZE + 3]
    kind = int(row[equations.KIND])
    if kind == equations.BOX:
        return Box(2.0 * a)
    if kind == equations.CYLINDER:
        return Cylinder(float(a[0]), 2.0 * float(a[2]))
    if kind == equations.CAPSULE:
        return Capsule(float(a[0]), 2.0 * float(a[2]))
    exponents, tapers = (row[first : first + 2] for first in (equations.EXPONENTS, equations.TAPERS))
    return Superovoid.from_goncalves(a, exponents, tapers)


def _angle(exponent: float, high: float) -> float:
    """Return the unknown for an exponent."""
    half = 0.5 * (high - _LOW)
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
    q[:3] = np.log(size)
    if kind == equations.WEDGE:
        q[_E1] = _angle(min(exponents[0], WEDGE_HIGH), WEDGE_HIGH)
    else:
        q[_E1 : _E2 + 1] = [_angle(each, _HIGH) for each in exponents]
    q[_CENTRE] = centre
    return Bodies(np.array([kind]), q[None], rotation[None])


def evaluate(bodies: Bodies, samples: FloatArray, loss: Loss) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """Return loss, J^T W J, J^T W r and residuals."""
    rows, samples = bodies.rows(), np.ascontiguousarray(samples)
    count = equations.PARAMETERS * len(rows)
    matrix, right = np.empty((count, count)), np.empty(count)
    residuals, values = np.empty(len(samples)), np.empty(len(rows))
    slopes, feet = np.empty((len(rows), equations.PARAMETERS)), np.empty((len(rows), equations.FOOT_LENGTH))
    cost = equations.normal_equations(rows, samples, loss, matrix, right, residuals, slopes, values, feet)
    if loss.fill > 0.0:
        unused = {equations.CYLINDER: (1,), equations.CAPSULE: (1,)}
        for i, kind in enumerate(bodies.kinds):
            for j in range(3):
                if j not in unused.get(int(kind), ()):
                    cost += loss.fill * bodies.unknowns[i, j]
                    right[equations.PARAMETERS * i + j] += loss.fill
    return cost, matrix, right, residuals


def descend(bodies: Bodies, samples: FloatArray, loss: Loss, steps: int) -> tuple[float, Bodies]:
    """Minimise the loss from a start by at most `steps` steps; return loss and bodies."""
    cost, matrix, right, _ = evaluate(bodies, samples, loss)
    damping = 1e-2
    for _ in range(steps):
        diagonal = np.diag(matrix)
        floor = 1e-6 * diagonal.max() + 1e-12
        for _ in range(6):
            damped = matrix + np.diag(damping * diagonal + floor * max(damping, 1e-4))
            trial = bodies.apply_limited_step(np.asarray(-np.linalg.solve(damped, right), dtype=np.float64))
            found = evaluate(trial, samples, loss)
            if found[0] < cost:
                break
            damping *= 5.0
        else:
            return cost, bodies
        gain = cost - found[0]
        bodies, (cost, matrix, right, _) = trial, found
        damping = max(0.2 * damping, 1e-7)
        if gain < 1e-5 * abs(cost):
            break
    return cost, bodies


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
                start.unknowns[0, _E2 : _TAPER + 1] = np.arcsin(np.asarray(tapers) / MAX_TAPER)
                yield start


def _combine(boxes: Sequence, shifts: Sequence[int], exponents: Sequence, kind: int) -> Bodies:
    found = None
    for (axes, half, centre), shift, pair in zip(boxes, shifts, exponents, strict=True):
        one = body_in_box(kind, *permute_axes(axes, half, int(shift)), centre, pair)
        found = one if found is None else found.add_bodies(one)
    assert found is not None
    return found


def replace_kind(bodies: Bodies, which: int, kind: int) -> Bodies:
    """Return the bodies with one of them replaced by another kind of about the same size."""
    row = bodies.rows()[which]
    half = row[equations.SIZE : equations.SIZE + 3]
    rotation = bodies.rotations[which]
    is_wedge = kind == equations.WEDGE
    exponents = row[equations.EXPONENTS : equations.EXPONENTS + 2] if is_wedge else (0.5, 0.5)
    other = body_in_box(kind, rotation, half, row[equations.CENTRE : equations.CENTRE + 3], exponents)
    if is_wedge:
        tapers = row[equations.TAPERS : equations.TAPERS + 2] / MAX_TAPER
        other.unknowns[0, _E2 : _TAPER + 1] = np.arcsin(np.clip(tapers, -0.9, 0.9))
    kinds, unknowns, rotations = bodies.kinds.copy(), bodies.unknowns.copy(), bodies.rotations.copy()
    kinds[which], unknowns[which], rotations[which] = other.kinds[0], other.unknowns[0], other.rotations[0]
    return replace(bodies, kinds=kinds, unknowns=unknowns, rotations=rotations)
