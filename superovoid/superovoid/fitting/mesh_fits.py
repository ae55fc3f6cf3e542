# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Meshes and clouds of points in, several bodies that are fitted together out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.vq import kmeans2
from scipy.spatial import cKDTree

from superovoid.fitting.halton import halton
from superovoid.fitting.joint import (
    KINDS,
    Bodies,
    boxed,
    descend,
    evaluate,
    principal_box,
    rolled,
    starts,
    wedges,
    with_kind,
)
from superovoid.fitting.normal_equations import SUPEROVOID, WEDGE, Loss
from superovoid.fitting.quality import Quality, inside_any, measure_union
from superovoid.fitting.targets import Target
from superovoid.shapes import Shape
from superovoid.values.checks import whole
from superovoid.values.records import Record

FloatArray = NDArray[np.float64]

MOST_BODIES = 16
# Lengths over the target's radius. Found by trying on the links of one robot (docs/fitting_robots.md).
_COARSE = Loss(band=0.4, softness=0.02, knee=0.05, steps=1, fill=0.0)
_MIDDLE = Loss(band=0.15, softness=0.006, knee=0.02, steps=5, fill=0.0)
_FINE = Loss(band=0.15, softness=0.0, knee=0.02, steps=5, fill=0.0)
# A shift g of a flat surface changes the mean of |cut distance - cut distance| over a slab by g, whatever the band is:
# with a low knee and samples all over the box the loss is close to the volume that bodies and solid do not share.
_SHARED = (Loss(0.15, 0.0, 0.01, 12, 0.0), Loss(0.15, 0.0, 0.003, 12, 0.0))
_FEW, _MANY, _ALL_OVER = 500, 2500, 8000  # samples of the search, of the descent, and of the last descent
_SURFACE, _BESIDE = 0.45, 0.3  # of the samples; the rest lies all over the box
_WEIGHTS = (1.0, 0.5, 0.5)  # of samples on the surface, beside it, and in the box
_DEPTH, _MARGIN = 0.1, 0.1  # how far samples lie beside the surface, and the box around it
_BEYOND = 0.2  # how far out of the solid's box bodies may reach before samples are taken there, too
_WIDER, _FAR = 0.5, 0.25  # margin of the box of these over its sides; their number over that of the others
_ROUNDS, _KEPT = 5, 4  # clusterings; starts that are followed to the end
_COARSE_STEPS, _FINE_STEPS, _SHARED_STEPS = 25, 40, 40
_LESS_SHARED = 1.1  # times the volume that is not shared, from which on bodies are worse than fewer
_LAGGING = 0.6  # intersection over union: below, there are more starts, and what is shared chooses among the bodies
_MORE = 3  # times the clusterings
_USELESS = 1e-3  # of the loss: a body whose absence raises it by less is left out


class _Samples(NamedTuple):
    """Samples of the search, of the descent, and of the last descent, which lie all over the box."""

    few: FloatArray
    many: FloatArray
    all_over: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class FittedBody(Record):
    """A shape and its pose (4, 4) in the frame of the input."""

    shape: Shape
    pose: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class MeshFit(Record):
    """Bodies that stand for a mesh, and how close they are."""

    bodies: tuple[FittedBody, ...]
    quality: Quality
    """against `aimed_at`"""
    aimed_at: str
    """"mesh", or "hull" where that was asked for or the triangles enclose nothing"""
    notes: tuple[str, ...]
    """what was done to the mesh"""
    seed: int


@dataclass(frozen=True, eq=False, repr=False)
class CloudFit(Record):
    """Bodies that stand for a cloud of points, and how close the points are. Lengths in the unit of the input."""

    bodies: tuple[FittedBody, ...]
    mean: float
    """mean distance of the points taken from the surface of the bodies"""
    p95: float
    points: int
    """points taken"""
    outliers: int
    """points left out"""
    seed: int


def target_of(mesh: object, target: str = "mesh") -> Target:
    """The solid of a mesh: an object with `vertices` and `faces`, a pair of arrays, or points alone (their hull)."""
    if isinstance(mesh, Target):
        return mesh
    if hasattr(mesh, "vertices"):
        return Target.from_triangles(mesh.vertices, getattr(mesh, "faces", None), target)
    if isinstance(mesh, tuple) and len(mesh) == 2:
        return Target.from_triangles(mesh[0], mesh[1], target)
    return Target.from_triangles(np.asarray(mesh, dtype=np.float64), None, target)


def checked_kinds(kinds: Sequence[str]) -> tuple[int, ...]:
    """Numbers of kinds of bodies; `ValueError` names what is none."""
    kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(f"kinds: {kind!r} is none of {', '.join(KINDS)}")
    if not kinds:
        raise ValueError(f"kinds: is empty, expected some of {', '.join(KINDS)}")
    return tuple(dict.fromkeys(KINDS[kind] for kind in kinds))


def fit_mesh(
    mesh: object,
    *,
    bodies: int = 3,
    atol: float | None = None,
    target: str = "mesh",
    kinds: Sequence[str] = ("superovoid",),
    seed: int = 0,
) -> MeshFit:
    """Fit several bodies to a mesh, all together.

    Parameters
    ----------
    mesh : object
        With ``vertices`` and ``faces``, e.g. a `trimesh.Trimesh`; a pair (vertices, faces); or points (n, 3), which
        stand for their convex hull. Open meshes, hollow ones and parts that are inside out are taken as
        `superovoid.fitting.targets` says.
    bodies : int
        How many, from 1 to 16; with `atol`: how many at most.
    atol : float, optional
        The fewest bodies are taken for which 95 % of the surface of the solid are this close to that of the bodies, and
        95 % of theirs to the solid's. In the unit of the mesh.
    target : {"mesh", "hull"}
        Whether the mesh is aimed at, or its convex hull.
    kinds : sequence of {"superovoid", "box", "cylinder", "capsule"}
        What the bodies may be.
    seed : int
        Of samples and starts. The same input and seed give the same bodies, on one machine.

    Returns
    -------
    MeshFit
        May have fewer bodies than asked for, where one more would change nothing. Every body is convex.

    Raises
    ------
    ValueError
        Naming what is wrong: fewer than four points, points on a line, a number that is not finite, an index out of
        range, an option without sense.
    """
    whole("bodies", bodies, 1)
    if bodies > MOST_BODIES:
        raise ValueError(f"bodies = {bodies}: must be from 1 to {MOST_BODIES}")
    if atol is not None and not (np.isfinite(atol) and atol > 0.0):
        raise ValueError(f"atol = {atol!r}: must be a positive length, in the unit of the mesh")
    chosen = checked_kinds(kinds)
    solid = target_of(mesh, target)
    for placed in grown(solid, bodies, chosen, seed, each=atol is not None):
        quality = measure_union(placed, solid, seed=seed + 2)
        if atol is not None and max(quality.to_bodies_p95, quality.to_solid_p95) <= atol:
            break
    notes = solid.notes
    if atol is not None and max(quality.to_bodies_p95, quality.to_solid_p95) > atol:
        notes = (*notes, f"{bodies} bodies are farther than atol = {atol:g}")
    fitted = tuple(FittedBody(shape, pose) for shape, pose in placed)
    return MeshFit(fitted, quality, solid.kind, notes, seed)


def grown(
    solid: Target, bodies: int, kinds: tuple[int, ...], seed: int, *, each: bool = True
) -> Iterator[list[tuple[Shape, FloatArray]]]:
    """Bodies for a solid, at most one, at most two, and so on (with `each`; else the last of these only)."""
    samples = _Samples(_samples(solid, _FEW, seed), _samples(solid, _MANY, seed + 1), _box_samples(solid, seed))
    found: Bodies | None = None
    wide = False
    for count in range(1, bodies + 1):
        more = _search(solid, count, kinds, samples, seed, found)
        if not wide and _beyond(more, solid) > _BEYOND:
            # Nothing counts what sticks out where there is no sample: long needles hold much of a link that is bent.
            wide = True
            samples = _Samples(*(_with_far(solid, some, seed) for some in samples))
            more = _search(solid, count, kinds, samples, seed, found)
        found = more if found is None else _closer(found, more, samples)
        if each or count == bodies:
            yield _finished(found, samples).shapes(solid.radius, solid.centre)


def _samples(target: Target, count: int, seed: int) -> FloatArray:
    """Rows of point, signed distance, weight: lengths over the radius, places from the centre."""
    generator = np.random.default_rng([seed, 1])
    on, _ = target.surface(int(_SURFACE * count), seed)
    beside, normals = target.surface(int(_BESIDE * count), seed + 1)
    beside = beside + _DEPTH * target.radius * generator.uniform(-1.0, 1.0, (len(beside), 1)) * normals
    margin = _MARGIN * target.radius
    low, high = target.lower - margin, target.upper + margin
    around = low + (high - low) * halton(generator).random(count - len(on) - len(beside))
    groups = (on, beside, around)
    weight = np.concatenate([np.full(len(group), w) for group, w in zip(groups, _WEIGHTS, strict=True)])
    return _rows(target, np.concatenate(groups), len(on), weight)


def _rows(target: Target, points: FloatArray, on: int, weight: FloatArray) -> FloatArray:
    """Samples of points, the first of which lie on the surface."""
    distance = np.concatenate([np.zeros(on), target.signed_distance(points[on:])])
    scale = target.radius
    return np.column_stack([(points - target.centre) / scale, distance / scale, weight / weight.sum()])


def _box_samples(target: Target, seed: int) -> FloatArray:
    """Samples all over the solid's box and as far around it as distances count."""
    margin = _SHARED[0].band * target.radius
    low, high = target.lower - margin, target.upper + margin
    points = low + (high - low) * halton(np.random.default_rng([seed, 3])).random(_ALL_OVER)
    return _rows(target, points, 0, np.ones(len(points)))


def _beyond(bodies: Bodies, target: Target) -> float:
    """How far the bodies reach out of the solid's box, over its radius."""
    boxes = [pose[:3, 3] + np.array(shape.aabb(pose[:3, :3])) for shape, pose in bodies.shapes(1.0, np.zeros(3))]
    lower, upper = ((end - target.centre) / target.radius for end in (target.lower, target.upper))
    return float(max(np.max([lower - box[0] for box in boxes]), np.max([box[1] - upper for box in boxes])))


def _with_far(target: Target, samples: FloatArray, seed: int) -> FloatArray:
    """Samples, and more of them in a box that is twice as long on every side."""
    margin = _WIDER * (target.upper - target.lower) + _MARGIN * target.radius
    count, generator = int(_FAR * len(samples)), np.random.default_rng([seed, 4, len(samples)])
    low, high = target.lower - margin, target.upper + margin
    far = _rows(target, low + (high - low) * halton(generator).random(count), 0, np.ones(count))
    rows = np.concatenate([samples, far])
    rows[:, 4] *= np.r_[np.full(len(samples), 1.0), np.full(count, _FAR)] / (1.0 + _FAR)
    return rows


def _unshared(bodies: Bodies, all_over: FloatArray) -> float:
    """Share of the samples that either the bodies or the solid hold."""
    held = inside_any(bodies.shapes(1.0, np.zeros(3)), all_over[:, :3])
    return float(np.mean(held != (all_over[:, 3] < 0.0)))


def _iou(bodies: Bodies, all_over: FloatArray) -> float:
    """Intersection over union, by samples."""
    held, solid = inside_any(bodies.shapes(1.0, np.zeros(3)), all_over[:, :3]), all_over[:, 3] < 0.0
    return float(np.sum(held & solid) / max(int(np.sum(held | solid)), 1))


def _closer(found: Bodies, more: Bodies, samples: _Samples) -> Bodies:
    """More bodies, or those found before where more share less with the solid."""
    # The loss of the search counts depths and pockets, so that it may fall while less is shared. The last descent
    # mends that of some bodies and not of others; it is gone where there is doubt.
    all_over = samples.all_over
    if _unshared(more, all_over) <= _LESS_SHARED * _unshared(found, all_over):
        return more
    unshared, before = (_unshared(_finished(each, samples), all_over) for each in (more, found))
    return more if unshared < before else found


def _finished(bodies: Bodies, samples: _Samples) -> Bodies:
    """The bodies as wedges where these are closer, and with the least volume that they and the solid do not share."""
    _, many, all_over = samples
    cost = evaluate(bodies, many, _FINE)[0]
    for which in np.flatnonzero(bodies.kinds == SUPEROVOID):
        other = descend(with_kind(bodies, int(which), WEDGE), many, _FINE, _FINE_STEPS)
        if other[0] < cost:
            cost, bodies = other
    last = bodies
    for loss in _SHARED:
        _, last = descend(last, all_over, loss, _SHARED_STEPS)
    # Of a solid of little volume, as of letters, nothing at all would share least.
    return last if _iou(last, all_over) >= _iou(bodies, all_over) else bodies


def _search(
    target: Target,
    count: int,
    kinds: tuple[int, ...],
    samples: _Samples,
    seed: int,
    fewer: Bodies | None,
) -> Bodies:
    """The best bodies found, at most so many."""
    scale = target.radius
    few, many, all_over = samples
    held = np.concatenate([target.interior(600, seed), target.surface(300, seed + 5)[0]])
    held = (held - target.centre) / scale
    candidates = list(starts(held, count, kinds, _ROUNDS, seed))
    if count == 1 and SUPEROVOID in kinds:
        candidates += wedges(held)
    if fewer is not None:
        candidates += _additions(fewer, few, kinds[0])
        candidates.append(fewer)
    fine = _followed(candidates, samples, _KEPT * (3 if count == 1 else 1))
    if fewer is not None:
        fine.append((evaluate(fewer, many, _FINE)[0], fewer))
    fine.sort(key=lambda each: each[0])
    if count > 1 and _iou(fine[0][1], all_over) < _LAGGING:
        # The loss is not what is wanted then. What the last descent makes of the best of more starts decides.
        others = _followed(list(starts(held, count, kinds, _MORE * _ROUNDS, seed + 1)), samples, _KEPT)
        fine = fine[:_KEPT] + others
        fine.sort(key=lambda each: _unshared(descend(each[1], all_over, _SHARED[0], _SHARED_STEPS)[1], all_over))
    cost, bodies = fine[0]
    cost, bodies = _best_kinds(cost, bodies, kinds, many)
    return _without_useless(cost, bodies, many)


def _followed(candidates: Sequence[Bodies], samples: _Samples, kept: int) -> list[tuple[float, Bodies]]:
    """The best of some starts, followed to the end, and their losses."""
    coarse = [descend(start, samples.few, _COARSE, _COARSE_STEPS) for start in candidates]
    coarse.sort(key=lambda each: each[0])
    fine = []
    for _, bodies in coarse[:kept]:
        _, bodies = descend(bodies, samples.many, _MIDDLE, _FINE_STEPS // 2)
        fine.append(descend(bodies, samples.many, _FINE, _FINE_STEPS))
    return fine


def _additions(bodies: Bodies, few: FloatArray, kind: int) -> Iterator[Bodies]:
    """The bodies and one more, where the solid is covered worst."""
    residuals = evaluate(bodies, few, _COARSE)[3]
    uncovered = np.flatnonzero((residuals > 0.0) & (few[:, 3] <= 0.0))
    worst = uncovered[np.argsort(-residuals[uncovered])][: max(12, len(uncovered) // 2)]
    if len(worst) < 12:
        return
    points = few[worst, :3]
    for parts in (1, 2, 3):
        _, label = kmeans2(points, parts, minit="++", rng=np.random.default_rng(parts))
        for part in range(parts):
            if (label == part).sum() < 6:
                continue
            axes, half, centre = principal_box(points[label == part])
            for shift in range(3):
                turned, lengths = rolled(axes, half, shift)
                yield bodies.with_more(boxed(kind, turned, np.maximum(lengths, 0.03), centre, (0.5, 0.5)))


def _best_kinds(cost: float, bodies: Bodies, kinds: tuple[int, ...], many: FloatArray) -> tuple[float, Bodies]:
    """Bodies that are closer as another kind, as that kind."""
    for which in range(len(bodies.kinds)):
        for kind in kinds:
            if kind != bodies.kinds[which]:
                other = descend(with_kind(bodies, which, kind), many, _FINE, _FINE_STEPS)
                if other[0] < cost:
                    cost, bodies = other
    return cost, bodies


def _without_useless(cost: float, bodies: Bodies, many: FloatArray) -> Bodies:
    """The bodies without those that change nothing."""
    which = len(bodies.kinds) - 1
    while which >= 0 and len(bodies.kinds) > 1:
        rest = bodies.some(np.delete(np.arange(len(bodies.kinds)), which))
        without = evaluate(rest, many, _FINE)[0]
        if without <= cost * (1.0 + _USELESS):
            cost, bodies = without, rest
        which -= 1
    return bodies


# --------------------------------------------------------------------------------------------------------- clouds

_NEIGHBOURS = 8
_LONELY = 4.0  # times the median distance to neighbours: a point that far from others is left out
_FILL = 10.0  # logarithms of the likelihood that a length is worth, e times as large


def fit_points(
    points: ArrayLike,
    *,
    bodies: int = 1,
    noise: float | None = None,
    kinds: Sequence[str] = ("superovoid",),
    seed: int = 0,
) -> CloudFit:
    """Fit bodies to a cloud of points of a surface, as a depth camera sees it: with holes, noise and outliers.

    What is unseen is made small, where what is seen does not tell: a length e times as large must be e^10 times as
    likely by the points.  Points count with a loss that no longer grows beyond a few
    times the noise, so that outliers stay where they are.

    Parameters
    ----------
    points : (n, 3) array_like
        At least 20.
    bodies : int
        How many, from 1 to 16.
    noise : float, optional
        Standard deviation of the points across the surface; default: 1 % of the cloud's radius.
    kinds : sequence of {"superovoid", "box", "cylinder", "capsule"}
        What the bodies may be.
    seed : int

    Returns
    -------
    CloudFit

    Raises
    ------
    ValueError
        As `fit_mesh`.
    """
    whole("bodies", bodies, 1)
    if bodies > MOST_BODIES:
        raise ValueError(f"bodies = {bodies}: must be from 1 to {MOST_BODIES}")
    if noise is not None and not (np.isfinite(noise) and noise > 0.0):
        raise ValueError(f"noise = {noise!r}: must be a positive length, in the unit of the points")
    chosen = checked_kinds(kinds)
    cloud = np.asarray(points, dtype=np.float64)
    if cloud.ndim != 2 or cloud.shape[1:] != (3,) or len(cloud) < 20:
        raise ValueError(f"points: shape {cloud.shape}, expected (n, 3) with n >= 20")
    if not np.isfinite(cloud).all():
        raise ValueError(f"points[{int(np.argmin(np.isfinite(cloud).all(axis=1)))}]: not finite")
    gaps = cKDTree(cloud).query(cloud, _NEIGHBOURS + 1)[0][:, 1:].mean(axis=1)
    kept = cloud[gaps <= _LONELY * np.median(gaps)]
    centre = 0.5 * (kept.min(axis=0) + kept.max(axis=0))
    scale = float(np.linalg.norm(kept - centre, axis=1).max())
    if not scale > 0.0:
        raise ValueError("points: they lie at one place, there is nothing to fit")
    knee = 0.01 if noise is None else noise / scale
    local = (kept - centre) / scale
    generator = np.random.default_rng(seed)
    rows = np.column_stack([local, np.zeros(len(local)), np.full(len(local), 1.0 / len(local))])
    many = rows[generator.permutation(len(rows))[:_MANY]]
    few = many[:_FEW]
    # The loss is half the mean square of the residuals: minus the logarithm of the likelihood, times noise^2 / n.
    fill = _FILL * knee * knee / len(many)
    coarse = Loss(0.4, 0.0, 0.05, 1, fill)
    fine = [Loss(0.2, 0.0, knee, 8, fill), Loss(max(4.0 * knee, 0.02), 0.0, knee, 8, fill)]
    found = [descend(start, few, coarse, _COARSE_STEPS) for start in starts(local, bodies, chosen, _ROUNDS, seed)]
    found.sort(key=lambda each: each[0])
    best: tuple[float, Bodies] | None = None
    for _, each in found[: 2 * _KEPT]:
        _, each = descend(each, many, fine[0], _FINE_STEPS)
        cost, each = descend(each, many, fine[1], _FINE_STEPS)
        if best is None or cost < best[0]:
            best = cost, each
    if best is None:
        raise ValueError(f"points: {len(kept)} points are too few for {bodies} bodies")
    residuals = np.abs(evaluate(best[1], rows, Loss(1e3, 0.0, 1.0, 12, 0.0))[3])
    near = residuals[residuals <= max(4.0 * knee, 0.02)]
    placed = best[1].shapes(scale, centre)
    near = near if len(near) else residuals
    return CloudFit(
        tuple(FittedBody(shape, pose) for shape, pose in placed),
        mean=float(scale * near.mean()),
        p95=float(scale * np.quantile(near, 0.95)),
        points=len(near),
        outliers=len(cloud) - len(near),
        seed=seed,
    )
