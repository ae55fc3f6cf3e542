# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fit several bodies jointly to a mesh or a point cloud."""

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
    body_in_box,
    descend,
    evaluate,
    permute_axes,
    principal_box,
    replace_kind,
    starts,
    wedges,
)
from superovoid.fitting.normal_equations import SUPEROVOID, WEDGE, Loss
from superovoid.fitting.quality import Quality, inside_any, measure_union
from superovoid.fitting.targets import Target
from superovoid.fitting.verdicts import DEFAULT_TOLERANCE, Clearance, Judge, Tolerance
from superovoid.shapes import Shape
from superovoid.values.checks import whole
from superovoid.values.records import Record

FloatArray = NDArray[np.float64]

MOST_BODIES = 16
_MOST_CHOSEN = 12  # bodies that a tolerance may choose
_CLOSER = 0.95  # factor of the errors below which more bodies count as closer
_PATIENCE = 3  # numbers of bodies in a row that come no closer, after which no more are tried
# Lengths are relative to the target's radius. Values were tuned on the links of one robot (docs/reference/fits.md).
_COARSE = Loss(band=0.4, softness=0.02, knee=0.05, steps=1, fill=0.0)
_MIDDLE = Loss(band=0.15, softness=0.006, knee=0.02, steps=5, fill=0.0)
_FINE = Loss(band=0.15, softness=0.0, knee=0.02, steps=5, fill=0.0)
# A shift g of a flat surface changes the mean difference of clipped distances over a slab by g, for any band: with a
# low knee and samples throughout the box, the loss approximates the volume of the symmetric difference.
_SHARED = (Loss(0.15, 0.0, 0.01, 12, 0.0), Loss(0.15, 0.0, 0.003, 12, 0.0))
_FEW, _MANY, _ALL_OVER = 500, 2500, 8000  # samples of the search, of the descent, and of the last descent
_SURFACE, _NEAR = 0.45, 0.3  # shares of samples on and near the surface; the rest lies throughout the box
_WEIGHTS = (1.0, 0.5, 0.5)  # of samples on the surface, near it, and in the box
_DEPTH, _MARGIN = 0.1, 0.1  # largest distance of near samples from the surface; margin of the box
_BEYOND = 0.2  # overhang of bodies beyond the solid's box above which samples are added there
_WIDER, _FAR = 0.5, 0.25  # margin of the box of added samples, relative to its sides; their number, to the others'
_ROUNDS, _KEPT = 5, 4  # clusterings; number of refined starts
_COARSE_STEPS, _FINE_STEPS, _SHARED_STEPS = 25, 40, 40
_LESS_SHARED = 1.1  # factor of the symmetric difference above which more bodies count as worse than fewer
_LAGGING = 0.6  # intersection over union below which more starts are tried and compared by symmetric difference
_MORE = 3  # factor of the clusterings then
_USELESS = 1e-3  # relative rise of the loss below which a body is dropped


class _Samples(NamedTuple):
    """Samples of the search, of the descent, and of the last descent (throughout the box)."""

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
    """Bodies fitted to a mesh, with their accuracy."""

    bodies: tuple[FittedBody, ...]
    quality: Quality
    """measured against the target named by `aimed_at`"""
    aimed_at: str
    """"mesh", or "hull" if requested or if the triangles enclose nothing"""
    notes: tuple[str, ...]
    """repairs of the mesh"""
    seed: int
    clearance: Clearance
    """errors that the verdict rests on"""
    tried: int
    """largest number of bodies that was tried"""


@dataclass(frozen=True, eq=False, repr=False)
class CloudFit(Record):
    """Bodies fitted to a point cloud, with their accuracy. Lengths are in the unit of the input."""

    bodies: tuple[FittedBody, ...]
    mean: float
    """mean distance of inliers from the surface of the bodies"""
    p95: float
    """95th percentile of this distance"""
    points: int
    """number of inliers"""
    outliers: int
    """number of ignored points"""
    seed: int


def target_of(mesh: object, target: str = "mesh") -> Target:
    """Return the solid of a mesh: an object with `vertices` and `faces`, a pair of arrays, or points (their hull)."""
    if isinstance(mesh, Target):
        return mesh
    if hasattr(mesh, "vertices"):
        return Target.from_triangles(mesh.vertices, getattr(mesh, "faces", None), target)
    if isinstance(mesh, tuple) and len(mesh) == 2:
        return Target.from_triangles(mesh[0], mesh[1], target)
    return Target.from_triangles(np.asarray(mesh, dtype=np.float64), None, target)


def check_kinds(kinds: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of kinds of bodies; raise `ValueError` for an unknown kind."""
    kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(f"kinds: {kind!r} must be one of {', '.join(KINDS)}")
    if not kinds:
        raise ValueError(f"kinds: is empty, expected some of {', '.join(KINDS)}")
    return tuple(dict.fromkeys(KINDS[kind] for kind in kinds))


def fit_mesh(
    mesh: object,
    *,
    bodies: int | None = None,
    tolerance: Tolerance | float | str = DEFAULT_TOLERANCE,
    target: str = "mesh",
    kinds: Sequence[str] = ("superovoid",),
    seed: int = 0,
) -> MeshFit:
    """Fit several bodies jointly to a mesh.

    Parameters
    ----------
    mesh : object
        Object with ``vertices`` and ``faces``, e.g. a `trimesh.Trimesh`; a pair (vertices, faces); or points (n, 3),
        which represent their convex hull. `superovoid.fitting.targets` describes the treatment of open, hollow and
        inverted meshes.
    bodies : int, optional
        Number of bodies, from 1 to 16; default: the fewest that keep the tolerance, or, if no number up to 12 does,
        those that come closest.
    tolerance : float or str
        Largest clearance error of a good fit (`superovoid.fitting.verdicts`): a length in the unit of the mesh, a
        length with its unit such as ``"2mm"`` for a mesh in metres, or a share of the mesh's diagonal such as ``"1%"``.
    target : {"mesh", "hull"}
        Whether to fit the mesh or its convex hull.
    kinds : sequence of {"superovoid", "box", "cylinder", "capsule"}
        Allowed kinds of bodies.
    seed : int
        Seed of samples and starts. On one machine, the same input and seed give the same bodies.

    Returns
    -------
    MeshFit
        Has fewer bodies than requested if another one would not improve the fit. Every body is convex.

    Raises
    ------
    ValueError
        If there are fewer than four points, points lie on a line, a number is not finite, an index is out of range, or
        an option is invalid.
    """
    if bodies is not None:
        whole("bodies", bodies, 1)
        if bodies > MOST_BODIES:
            raise ValueError(f"bodies = {bodies}: must be from 1 to {MOST_BODIES}")
    limit, chosen = Tolerance.read(tolerance), check_kinds(kinds)
    solid = target_of(mesh, target)
    judge = Judge(solid, limit, seed + 3)
    notes = solid.notes
    if bodies is None:
        placed, clearance, tried = _fewest_bodies(solid, chosen, judge, seed)
    else:
        (placed,) = grow_bodies(solid, bodies, chosen, seed, each=False)
        clearance, tried = judge.clearance(placed), bodies
        if len(placed) < bodies:
            notes = (*notes, f"has {len(placed)} of {bodies} bodies: no further body brings it closer to the mesh")
    fitted = tuple(FittedBody(shape, pose) for shape, pose in placed)
    quality = measure_union(placed, solid, seed=seed + 2)
    return MeshFit(fitted, quality, solid.kind, notes, seed, clearance, tried)


def _fewest_bodies(
    solid: Target, kinds: tuple[int, ...], judge: Judge, seed: int
) -> tuple[list[tuple[Shape, FloatArray]], Clearance, int]:
    """Return the fewest bodies that keep a tolerance, or else the closest; their errors; the largest number tried."""
    best: tuple[list[tuple[Shape, FloatArray]], Clearance] | None = None
    tried = kept = 0
    for placed in grow_bodies(solid, _MOST_CHOSEN, kinds, seed):
        tried += 1
        found = judge.clearance(placed)
        is_good = found.verdict == "good"
        # Both errors count: that against the mesh as given cannot fall below the depth of a hollow that was filled.
        if best is None or is_good or _both(found) < _CLOSER * _both(best[1]):
            best, kept = (placed, found), tried
        if is_good or tried - kept == (1 if best[1].fills else _PATIENCE):
            break
    assert best is not None
    return *best, tried


def _both(found: Clearance) -> float:
    return found.error + found.target_error


def grow_bodies(
    solid: Target, bodies: int, kinds: tuple[int, ...], seed: int, *, each: bool = True
) -> Iterator[list[tuple[Shape, FloatArray]]]:
    """Yield bodies for a solid: at most one, at most two, and so on (with `each`; otherwise only the last)."""
    samples = _Samples(_samples(solid, _FEW, seed), _samples(solid, _MANY, seed + 1), _box_samples(solid, seed))
    found: Bodies | None = None
    wide = False
    for count in range(1, bodies + 1):
        more = _search(solid, count, kinds, samples, seed, found)
        if not wide and _overhang(more, solid) > _BEYOND:
            # Protrusions into regions without samples cost nothing: long needles contain much of a bent link.
            wide = True
            samples = _Samples(*(_add_far_samples(solid, some, seed) for some in samples))
            more = _search(solid, count, kinds, samples, seed, found)
        found = more if found is None else _closer_of(found, more, samples)
        if each or count == bodies:
            yield _finish(found, samples).shapes(solid.radius, solid.centre)


def _samples(target: Target, count: int, seed: int) -> FloatArray:
    """Return rows of point, signed distance and weight, relative to the target's radius and centre."""
    generator = np.random.default_rng([seed, 1])
    on, _ = target.surface(int(_SURFACE * count), seed)
    near, normals = target.surface(int(_NEAR * count), seed + 1)
    near = near + _DEPTH * target.radius * generator.uniform(-1.0, 1.0, (len(near), 1)) * normals
    margin = _MARGIN * target.radius
    low, high = target.lower - margin, target.upper + margin
    around = low + (high - low) * halton(generator).random(count - len(on) - len(near))
    groups = (on, near, around)
    weight = np.concatenate([np.full(len(group), w) for group, w in zip(groups, _WEIGHTS, strict=True)])
    return _rows(target, np.concatenate(groups), len(on), weight)


def _rows(target: Target, points: FloatArray, on: int, weight: FloatArray) -> FloatArray:
    """Return the samples at points; the first `on` points lie on the surface."""
    distance = np.concatenate([np.zeros(on), target.signed_distance(points[on:])])
    scale = target.radius
    return np.column_stack([(points - target.centre) / scale, distance / scale, weight / weight.sum()])


def _box_samples(target: Target, seed: int) -> FloatArray:
    """Return samples throughout the solid's box, with a margin as wide as the band of distances."""
    margin = _SHARED[0].band * target.radius
    low, high = target.lower - margin, target.upper + margin
    points = low + (high - low) * halton(np.random.default_rng([seed, 3])).random(_ALL_OVER)
    return _rows(target, points, 0, np.ones(len(points)))


def _overhang(bodies: Bodies, target: Target) -> float:
    """Return the largest overhang of the bodies beyond the solid's box, relative to its radius."""
    boxes = [pose[:3, 3] + np.array(shape.aabb(pose[:3, :3])) for shape, pose in bodies.shapes(1.0, np.zeros(3))]
    lower, upper = ((end - target.centre) / target.radius for end in (target.lower, target.upper))
    return float(max(np.max([lower - box[0] for box in boxes]), np.max([box[1] - upper for box in boxes])))


def _add_far_samples(target: Target, samples: FloatArray, seed: int) -> FloatArray:
    """Return the samples with additional ones in a box twice as large."""
    margin = _WIDER * (target.upper - target.lower) + _MARGIN * target.radius
    count, generator = int(_FAR * len(samples)), np.random.default_rng([seed, 4, len(samples)])
    low, high = target.lower - margin, target.upper + margin
    far = _rows(target, low + (high - low) * halton(generator).random(count), 0, np.ones(count))
    rows = np.concatenate([samples, far])
    rows[:, 4] *= np.r_[np.full(len(samples), 1.0), np.full(count, _FAR)] / (1.0 + _FAR)
    return rows


def _disagreement(bodies: Bodies, all_over: FloatArray) -> float:
    """Return the share of samples in the symmetric difference of bodies and solid."""
    held = inside_any(bodies.shapes(1.0, np.zeros(3)), all_over[:, :3])
    return float(np.mean(held != (all_over[:, 3] < 0.0)))


def _iou(bodies: Bodies, all_over: FloatArray) -> float:
    """Return the intersection over union, estimated on samples."""
    held, solid = inside_any(bodies.shapes(1.0, np.zeros(3)), all_over[:, :3]), all_over[:, 3] < 0.0
    return float(np.sum(held & solid) / max(int(np.sum(held | solid)), 1))


def _closer_of(found: Bodies, more: Bodies, samples: _Samples) -> Bodies:
    """Return `more` bodies, or the fewer `found` before if their symmetric difference with the solid is smaller."""
    # The loss of the search may decrease while the symmetric difference grows, since it depends on depths. The last
    # descent corrects this for some bodies only, so in doubtful cases compare the results after it.
    all_over = samples.all_over
    if _disagreement(more, all_over) <= _LESS_SHARED * _disagreement(found, all_over):
        return more
    unshared, before = (_disagreement(_finish(each, samples), all_over) for each in (more, found))
    return more if unshared < before else found


def _finish(bodies: Bodies, samples: _Samples) -> Bodies:
    """Replace bodies by wedges if these are closer, then minimise the symmetric difference with the solid."""
    _, many, all_over = samples
    cost = evaluate(bodies, many, _FINE)[0]
    for which in np.flatnonzero(bodies.kinds == SUPEROVOID):
        other = descend(replace_kind(bodies, int(which), WEDGE), many, _FINE, _FINE_STEPS)
        if other[0] < cost:
            cost, bodies = other
    last = bodies
    for loss in _SHARED:
        _, last = descend(last, all_over, loss, _SHARED_STEPS)
    # For a solid of little volume, such as letters, vanishing bodies would minimise the symmetric difference.
    return last if _iou(last, all_over) >= _iou(bodies, all_over) else bodies


def _search(
    target: Target,
    count: int,
    kinds: tuple[int, ...],
    samples: _Samples,
    seed: int,
    fewer: Bodies | None,
) -> Bodies:
    """Search the best bodies, at most `count`."""
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
    fine = _descend_best(candidates, samples, _KEPT * (3 if count == 1 else 1))
    if fewer is not None:
        fine.append((evaluate(fewer, many, _FINE)[0], fewer))
    fine.sort(key=lambda each: each[0])
    if count > 1 and _iou(fine[0][1], all_over) < _LAGGING:
        # The loss is a poor measure then: try more starts, and compare the best ones after the last descent.
        others = _descend_best(list(starts(held, count, kinds, _MORE * _ROUNDS, seed + 1)), samples, _KEPT)
        fine = fine[:_KEPT] + others
        fine.sort(key=lambda each: _disagreement(descend(each[1], all_over, _SHARED[0], _SHARED_STEPS)[1], all_over))
    cost, bodies = fine[0]
    cost, bodies = _best_kinds(cost, bodies, kinds, many)
    return _drop_useless(cost, bodies, many)


def _descend_best(candidates: Sequence[Bodies], samples: _Samples, kept: int) -> list[tuple[float, Bodies]]:
    """Refine the best `kept` of some starts; return losses and bodies."""
    coarse = [descend(start, samples.few, _COARSE, _COARSE_STEPS) for start in candidates]
    coarse.sort(key=lambda each: each[0])
    fine = []
    for _, bodies in coarse[:kept]:
        _, bodies = descend(bodies, samples.many, _MIDDLE, _FINE_STEPS // 2)
        fine.append(descend(bodies, samples.many, _FINE, _FINE_STEPS))
    return fine


def _additions(bodies: Bodies, few: FloatArray, kind: int) -> Iterator[Bodies]:
    """Generate starts with one more body where the solid is covered worst."""
    residuals = evaluate(bodies, few, _COARSE)[1]
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
                turned, lengths = permute_axes(axes, half, shift)
                yield bodies.add_bodies(body_in_box(kind, turned, np.maximum(lengths, 0.03), centre, (0.5, 0.5)))


def _best_kinds(cost: float, bodies: Bodies, kinds: tuple[int, ...], many: FloatArray) -> tuple[float, Bodies]:
    """Change the kinds of bodies if that lowers the loss."""
    for which in range(len(bodies.kinds)):
        for kind in kinds:
            if kind != bodies.kinds[which]:
                other = descend(replace_kind(bodies, which, kind), many, _FINE, _FINE_STEPS)
                if other[0] < cost:
                    cost, bodies = other
    return cost, bodies


def _drop_useless(cost: float, bodies: Bodies, many: FloatArray) -> Bodies:
    """Drop bodies whose absence hardly raises the loss."""
    which = len(bodies.kinds) - 1
    while which >= 0 and len(bodies.kinds) > 1:
        rest = bodies.select(np.delete(np.arange(len(bodies.kinds)), which))
        without = evaluate(rest, many, _FINE)[0]
        if without <= cost * (1.0 + _USELESS):
            cost, bodies = without, rest
        which -= 1
    return bodies


# --------------------------------------------------------------------------------------------------------- clouds

_NEIGHBOURS = 8
_LONELY = 4.0  # distance to neighbours, relative to the median, above which a point is an outlier
_FILL = 10.0  # log-likelihood that must be gained for a length e times as large


def fit_points(
    points: ArrayLike,
    *,
    bodies: int = 1,
    noise: float | None = None,
    kinds: Sequence[str] = ("superovoid",),
    seed: int = 0,
) -> CloudFit:
    """Fit bodies to a point cloud of a surface with holes, noise and outliers, as from a depth camera.

    Lengths that the points do not determine are kept small: an e times larger length must make the points e^10 times
    as likely.  The loss of a point is constant beyond a few times the noise, so that outliers have no influence.

    Parameters
    ----------
    points : (n, 3) array_like
        At least 20 points.
    bodies : int
        Number of bodies, from 1 to 16.
    noise : float, optional
        Standard deviation of the points normal to the surface; default: 1 % of the cloud's radius.
    kinds : sequence of {"superovoid", "box", "cylinder", "capsule"}
        Allowed kinds of bodies.
    seed : int
        Seed of samples and starts.

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
    chosen = check_kinds(kinds)
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
        raise ValueError("points: coincide, expected points of a surface")
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
    residuals = np.abs(evaluate(best[1], rows, Loss(1e3, 0.0, 1.0, 12, 0.0))[1])
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
