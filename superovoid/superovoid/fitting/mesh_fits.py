# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fit several bodies jointly to a mesh or a point cloud."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.vq import kmeans2
from scipy.spatial import cKDTree

from superovoid.fitting.halton import halton
from superovoid.fitting.joint import (
    AUTO,
    KINDS,
    Bodies,
    body_in_box,
    descend,
    distances_of,
    evaluate,
    permute_axes,
    principal_box,
    replace_kind,
    samples_at,
    samples_behind,
    starts,
    union_distances,
    wedges,
)
from superovoid.fitting.normal_equations import BOX, SUPEROVOID, TORUS, WEDGE, Loss
from superovoid.fitting.quality import Quality, inside_any, measure_union, sample_triangles
from superovoid.fitting.targets import Target
from superovoid.fitting.verdicts import DEFAULT_TOLERANCE, SHARE, Clearance, Judge, Tolerance
from superovoid.shapes import Shape, Torus
from superovoid.values.checks import whole_number
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
_FEW, _MANY = 500, 2500  # samples of the search and of the descent
_SURFACE, _NEAR = 0.45, 0.3  # shares of these on and near the surface; the rest lies throughout the box
_WEIGHTS = (1.0, 0.5, 0.5)  # of samples on the surface, near it, and in the box
_DEPTH, _MARGIN = 0.1, 0.1  # largest distance of near samples from the surface; margin of the box
_ON_SURFACE, _IN_BOX = 3000, 6000  # samples of the last descent
_ON_BODIES = 0.3  # share of the weight of samples on the surface of the bodies
_FACETS = 32  # around a body, for these samples
_ROUNDS, _KEPT = 5, 3  # clusterings; number of refined starts
_CLUSTERS, _LEAST_ROUNDS = 10, 2  # of a mesh: clusters of all rounds; with more bodies, starts near fewer are better
_COARSE_STEPS, _FINE_STEPS, _SHARED_STEPS, _NEAR_STEPS = 25, 40, 40, 12
_COMPARED, _EVERY = 16, 3  # starts near fewer bodies of which all bodies move; steps between their samples
_NEAREST = 4  # number of refined starts near fewer bodies
_FINISHED = 2  # number of refined starts of which the last descent is made
_PARTS = (1, 2, 4, 6)  # of the uncovered samples, each of which may get another body
_SPLIT = 5  # bodies that are split
_OF_ERROR = 0.1  # weight of the clearance error in the misfit
_WORTH = 1e-4  # least gain in the misfit by more bodies, or by less simple ones
_AS_CLOSE = 0.05  # relative rise of the misfit up to which simpler kinds count as about as close
_USELESS = 1e-3  # relative rise of the misfit below which a body is dropped


class _Samples:
    """Samples of a solid: rows of point, signed distance and weight, relative to the solid's radius and centre.

    Attributes
    ----------
    few, many, all_over : (n, 5) ndarray
        Samples of the search, of the descent, and of the last descent.
    """

    def __init__(self, target: Target, seed: int) -> None:
        self._target, self._seed = target, seed
        self.few, self.many = self._sample(_FEW, seed), self._sample(_MANY, seed + 1)
        on, around = self._surface(_ON_SURFACE, seed + 2), self._box(_SHARED[0].band, _IN_BOX, seed + 3)
        self._on = self._rows(on, len(on))
        self.all_over = self._rows(np.concatenate([on, around]), len(on))

    def _surface(self, count: int, seed: int) -> FloatArray:
        return self._target.surface(count, seed)[0]

    def _box(self, margin: float, count: int, seed: int) -> FloatArray:
        """Return points distributed over the solid's box with a margin."""
        low, high = (end + sign * margin * self._target.radius for end, sign in
                     ((self._target.lower, -1.0), (self._target.upper, 1.0)))  # fmt: skip
        return np.asarray(low + (high - low) * halton(np.random.default_rng([seed, 3])).random(count))

    def _sample(self, count: int, seed: int) -> FloatArray:
        generator = np.random.default_rng([seed, 1])
        on = self._surface(int(_SURFACE * count), seed)
        near, normals = self._target.surface(int(_NEAR * count), seed + 1)
        near = near + _DEPTH * self._target.radius * generator.uniform(-1.0, 1.0, (len(near), 1)) * normals
        around = self._box(_MARGIN, count - len(on) - len(near), seed)
        weight = np.repeat(_WEIGHTS, (len(on), len(near), len(around)))
        return self._rows(np.concatenate([on, near, around]), len(on), weight)

    def _rows(self, points: FloatArray, on: int, weight: FloatArray | None = None) -> FloatArray:
        """Return the samples at points; the first `on` points lie on the surface."""
        distance = np.concatenate([np.zeros(on), self._target.signed_distance(points[on:])]) / self._target.radius
        weight = np.ones(len(points)) if weight is None else weight
        local = (points - self._target.centre) / self._target.radius
        return samples_at(local, distance, weight / weight.sum())

    def _on_bodies(self, bodies: Bodies, count: int) -> FloatArray:
        """Return points on the surface of the union of bodies."""
        placed = bodies.shapes(self._target.radius, self._target.centre)
        meshes = []
        for shape, pose in placed:
            points, faces = shape.triangles(_FACETS)
            meshes.append((points @ pose[:3, :3].T + pose[:3, 3])[faces])
        areas = np.array([np.linalg.norm(np.cross(m[:, 1] - m[:, 0], m[:, 2] - m[:, 0]), axis=1).sum() for m in meshes])
        kept, hidden = [], []
        for number, (mesh, share) in enumerate(zip(meshes, areas / areas.sum(), strict=True)):
            points, _ = sample_triangles(mesh, math.ceil(share * count), self._seed)
            inside = inside_any(placed[:number] + placed[number + 1 :], points)
            kept.append(points[~inside])
            hidden.append(points[inside])
        # Equal bodies hide each other.
        return np.concatenate(kept if any(map(len, kept)) else hidden)

    def with_bodies(self, rows: FloatArray, bodies: Bodies) -> FloatArray:
        """Return samples, with further ones on the surface of bodies: where these protrude there may be no others."""
        own = self._rows(self._on_bodies(bodies, int(_ON_BODIES * len(rows))), 0)
        both = np.concatenate([rows, own])
        both[: len(rows), 4] *= 1.0 - _ON_BODIES
        both[len(rows) :, 4] *= _ON_BODIES
        return both

    def misfit(self, bodies: Bodies) -> float:
        """Return the two-sided mean distance of the surfaces, plus a share of the clearance error.

        By the mean alone, a few bodies that leave a whole leg of a link uncovered may count as the closest.
        """
        signed = union_distances(bodies, self._on)
        to_bodies = np.abs(signed)
        # Winding numbers, which would give the distances signs, take most of the time of a fit.
        to_solid = self._target.distance(self._on_bodies(bodies, len(self._on))) / self._target.radius
        ends = np.quantile(np.maximum(signed, 0.0), SHARE), np.quantile(to_solid, SHARE)
        return float(0.5 * (to_bodies.mean() + to_solid.mean()) + _OF_ERROR * max(ends))


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
    try:
        points = np.asarray(mesh, dtype=np.float64)
    except (TypeError, ValueError):
        points = np.empty(0)
    if points.ndim != 2:
        raise TypeError(
            f"mesh: found {type(mesh).__name__}, expected an object with vertices and faces, a pair of arrays, or "
            "points (n, 3)"
        )
    return Target.from_triangles(points, None, target)


class Kinds(NamedTuple):
    """Allowed kinds of bodies."""

    searched: tuple[int, ...]
    simpler: tuple[int, ...]
    """replace bodies of the kinds above if they are about as close"""
    rings: tuple[int, ...]
    """replace bodies of the kinds above if they are closer"""

    @property
    def convex(self) -> tuple[int, ...]:
        """All kinds of convex bodies."""
        return self.searched + self.simpler


def check_kinds(kinds: str | Sequence[str]) -> Kinds:
    """Return the numbers of kinds of bodies; raise `ValueError` for an unknown kind."""
    kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if kinds == (AUTO,):
        return Kinds((SUPEROVOID,), tuple(kind for kind in KINDS.values() if kind != SUPEROVOID), (TORUS,))
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(f"kinds: {kind!r} must be one of {', '.join(KINDS)}, or {AUTO} alone")
    if not kinds:
        raise ValueError(f"kinds: is empty, expected some of {', '.join(KINDS)}, or {AUTO}")
    return Kinds(tuple(dict.fromkeys(KINDS[kind] for kind in kinds)), (), ())


def fit_mesh(
    mesh: object,
    *,
    bodies: int | None = None,
    tolerance: Tolerance | float | str = DEFAULT_TOLERANCE,
    target: str = "mesh",
    kinds: str | Sequence[str] = ("superovoid",),
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
    kinds : "auto" or sequence of {"superovoid", "box", "cylinder", "capsule"}
        Allowed kinds of bodies: each body has the closest one. With "auto" bodies are superovoids; boxes, cylinders or
        capsules, and fewer bodies than requested, where these are about as close; and tori where these are closer.
    seed : int
        Seed of samples and starts. On one machine, the same input and seed give the same bodies.

    Returns
    -------
    MeshFit
        Has fewer bodies than requested if another one would not improve the fit. Every body but a torus is convex.

    Raises
    ------
    TypeError
        If `mesh` is neither a mesh nor points; the message names its type.
    ValueError
        If there are fewer than four points, points lie on a line, a number is not finite, an index is out of range, or
        an option is invalid.
    """
    if bodies is not None:
        whole_number("bodies", bodies, 1)
        if bodies > MOST_BODIES:
            raise ValueError(f"bodies = {bodies}: must be from 1 to {MOST_BODIES}")
    limit, chosen = Tolerance.read(tolerance), check_kinds(kinds)
    solid = target_of(mesh, target)
    judge = Judge(solid, limit, seed + 3)
    notes = solid.notes
    placed, clearance, tried = _fit_solid(solid, bodies, chosen, judge, seed)
    if any(isinstance(shape, Torus) for shape, _ in placed) and clearance.verdict != "good":
        # A torus may be closer than one convex body, but in the way of several.
        other = _fit_solid(solid, bodies, chosen._replace(rings=()), judge, seed)
        if _sum_of_errors(other[1]) < _sum_of_errors(clearance):
            placed, clearance, tried = other
    if bodies is not None and len(placed) < bodies:
        notes = (*notes, f"has {len(placed)} of {bodies} bodies: no further body brings it much closer to the mesh")
    fitted = tuple(FittedBody(shape, pose) for shape, pose in placed)
    quality = measure_union(placed, solid, seed=seed + 2)
    return MeshFit(fitted, quality, solid.kind, notes, seed, clearance, tried)


def _fit_solid(
    solid: Target, bodies: int | None, kinds: Kinds, judge: Judge, seed: int
) -> tuple[list[tuple[Shape, FloatArray]], Clearance, int]:
    """Return bodies, their errors, and the largest number tried.

    Without a number of bodies, these are the fewest that keep a tolerance, or else the closest.
    """
    if bodies is not None:
        (placed,) = grow_bodies(solid, bodies, kinds, seed, each=False)
        return placed, judge.clearance(placed), bodies
    best: tuple[list[tuple[Shape, FloatArray]], Clearance] | None = None
    tried = kept = 0
    for placed in grow_bodies(solid, _MOST_CHOSEN, kinds, seed):
        tried += 1
        found = judge.clearance(placed)
        is_good = found.verdict == "good"
        # Both errors count: that against the mesh as given cannot fall below the depth of a hollow that was filled.
        if best is None or is_good or _sum_of_errors(found) < _CLOSER * _sum_of_errors(best[1]):
            best, kept = (placed, found), tried
        if is_good or tried - kept == (1 if best[1].fills else _PATIENCE):
            break
    assert best is not None
    return *best, tried


def _sum_of_errors(found: Clearance) -> float:
    return found.error + found.target_error


def grow_bodies(
    solid: Target, bodies: int, kinds: Kinds, seed: int, *, each: bool = True
) -> Iterator[list[tuple[Shape, FloatArray]]]:
    """Yield bodies for a solid: at most one, at most two, and so on.

    Without `each`, yield the last only, or else the first with simpler kinds that are about as close.
    """
    samples = _Samples(solid, seed)
    found: Bodies | None = None
    simplest: Bodies | None = None
    for count in range(1, bodies + 1):
        best = _search(solid, count, kinds.searched, samples, seed, found)
        more = min((_finish(start, kinds, samples) for start in best), key=samples.misfit)
        if found is None or samples.misfit(more) < samples.misfit(found) - _WORTH:
            found = more
        if each or kinds.simpler or count == bodies:
            simple = _with_simpler_kinds(found, kinds.simpler, samples)
            if each or simplest is None or samples.misfit(simplest) > _about_as_close(samples.misfit(found)):
                simplest = simple
            if each or count == bodies:
                yield simplest.shapes(solid.radius, solid.centre)


def _about_as_close(misfit: float) -> float:
    """Return the largest misfit of simpler bodies that count as about as close."""
    return max((1.0 + _AS_CLOSE) * misfit, misfit + _WORTH)


def _finish(bodies: Bodies, kinds: Kinds, samples: _Samples) -> Bodies:
    """Choose the kinds of bodies, then minimise the volume that bodies and solid do not share."""
    misfit, bodies = _best_kinds(samples.misfit(bodies), bodies, kinds.searched + kinds.rings, samples)
    misfit, bodies = _drop_useless(misfit, bodies, samples)
    if SUPEROVOID in bodies.kinds:
        misfit, bodies = _best_kinds(misfit, bodies, (WEDGE,), samples)
    last = bodies
    for loss in _SHARED:
        _, last = descend(last, samples.with_bodies(samples.all_over, last), loss, _SHARED_STEPS)
    return last if samples.misfit(last) <= misfit else bodies


def _search(
    target: Target,
    count: int,
    kinds: tuple[int, ...],
    samples: _Samples,
    seed: int,
    fewer: Bodies | None,
) -> list[Bodies]:
    """Search the best bodies, `count` or one more than `fewer`; return the best few.

    `fewer` have made the last descent, which these have not. So they are not compared with them.
    """
    held = np.concatenate([target.interior(600, seed), target.surface(300, seed + 5)[0]])
    held = (held - target.centre) / target.radius
    rounds = max(_LEAST_ROUNDS, _CLUSTERS // count)
    candidates = list(starts(held, count, kinds, rounds, seed))
    if count == 1 and SUPEROVOID in kinds:
        candidates += wedges(held)
    fine = _descend_best(candidates, samples, _KEPT * (3 if count == 1 else 1))
    if fewer is not None:
        near = _starts_near(fewer, held, kinds[0], samples, seed + count, _NEAREST)
        fine += [_descend_fine(start, samples) for start in near]
    fine.sort(key=lambda each: each[0])
    return [bodies for _, bodies in fine[:_FINISHED]]


def _descend_best(candidates: Sequence[Bodies], samples: _Samples, kept: int) -> list[tuple[float, Bodies]]:
    """Refine the best `kept` of some starts; return their misfits and bodies."""
    coarse = [descend(start, samples.few, _COARSE, _COARSE_STEPS) for start in candidates]
    coarse.sort(key=lambda each: each[0])
    middle = (descend(bodies, samples.many, _MIDDLE, _FINE_STEPS // 2)[1] for _, bodies in coarse[:kept])
    return [_descend_fine(bodies, samples) for bodies in middle]


def _starts_near(fewer: Bodies, held: FloatArray, kind: int, samples: _Samples, seed: int, kept: int) -> list[Bodies]:
    """Return the best `kept` starts with one more body than some good ones.

    The new bodies move alone at first. Then all bodies of the best starts move, on a part of the samples.
    """
    rows = samples.with_bodies(samples.many, fewer)
    found: list[tuple[float, Bodies]] = []
    for rest, near in ((fewer, _additions(fewer, rows, kind, seed)), *_splits(fewer, rows, held, kind, seed)):
        behind = samples_behind(rest, rows)
        for start in near:
            cost, new = descend(start, behind, _MIDDLE, _NEAR_STEPS)
            found.append((cost, rest.add_bodies(new)))
    found.sort(key=lambda each: each[0])
    found = [descend(bodies, rows[::_EVERY], _MIDDLE, _NEAR_STEPS) for _, bodies in found[:_COMPARED]]
    found.sort(key=lambda each: each[0])
    return [bodies for _, bodies in found[:kept]]


def _descend_fine(bodies: Bodies, samples: _Samples) -> tuple[float, Bodies]:
    _, bodies = descend(bodies, samples.with_bodies(samples.many, bodies), _FINE, _FINE_STEPS)
    return samples.misfit(bodies), bodies


def _additions(bodies: Bodies, many: FloatArray, kind: int, seed: int) -> Iterator[Bodies]:
    """Generate bodies where the solid is covered worst."""
    residuals = evaluate(bodies, many, _COARSE)[1]
    uncovered = np.flatnonzero((residuals > 0.0) & (many[:, 3] <= 0.0))
    worst = uncovered[np.argsort(-residuals[uncovered])][: max(12, len(uncovered) // 2)]
    if len(worst) < 12:
        return
    points = many[worst, :3]
    for parts in _PARTS:
        _, label = kmeans2(points, parts, minit="++", rng=np.random.default_rng([seed, parts]))
        for part in range(parts):
            if (label == part).sum() < 6:
                continue
            axes, half, centre = principal_box(points[label == part])
            for shift in range(3):
                turned, lengths = permute_axes(axes, half, shift)
                yield body_in_box(kind, turned, np.maximum(lengths, 0.03), centre, (0.5, 0.5))


def _splits(
    bodies: Bodies, many: FloatArray, held: FloatArray, kind: int, seed: int
) -> Iterator[tuple[Bodies, list[Bodies]]]:
    """Generate bodies without one of the worst, and pairs in its place: the halves and clusters of its points."""
    residuals = np.abs(evaluate(bodies, many, _FINE)[1]) * many[:, 4]
    cost = np.bincount(_nearest_body(bodies, many[:, :3]), residuals, len(bodies.kinds))
    owner = _nearest_body(bodies, held)
    for which in np.argsort(-cost)[:_SPLIT]:
        points = held[owner == which]
        if len(points) < 24:
            continue
        axes, _, centre = principal_box(points)
        along = (points - centre) @ axes
        pairs = []
        clusters = kmeans2(points, 2, minit="++", rng=np.random.default_rng(seed))[1] > 0
        for side in (*(along > np.median(along, axis=0)).T, clusters):
            if min(side.sum(), (~side).sum()) < 6:
                continue
            boxes = [principal_box(points[side == part]) for part in (False, True)]
            for shift in range(3):
                one, two = (body_in_box(kind, *permute_axes(*box[:2], shift), box[2], (0.5, 0.5)) for box in boxes)
                pairs.append(one.add_bodies(two))
        yield bodies.drop(which), pairs


def _nearest_body(bodies: Bodies, points: FloatArray) -> NDArray[np.int64]:
    """Return the number of the body that each point is nearest to."""
    each = [distances_of(bodies.select([which]), points)[0] for which in range(len(bodies.kinds))]
    return np.asarray(np.argmin(each, axis=0))


def _best_kinds(misfit: float, bodies: Bodies, kinds: Sequence[int], samples: _Samples) -> tuple[float, Bodies]:
    """Change the kinds of bodies if that brings them closer; return their misfit and the bodies."""
    rows = samples.with_bodies(samples.many, bodies)
    for which in range(len(bodies.kinds)):
        behind = samples_behind(bodies.drop(which), rows)
        cost = evaluate(bodies.select([which]), behind, _FINE)[0]
        for kind in kinds:
            if kind != bodies.kinds[which]:
                alone, new = descend(replace_kind(bodies, which, kind), behind, _FINE, _FINE_STEPS)
                if alone < cost:
                    other = _descend_fine(bodies.replace(which, new), samples)
                    if other[0] < misfit:
                        misfit, bodies = other
                        rows = samples.with_bodies(samples.many, bodies)
    return misfit, bodies


def _with_simpler_kinds(bodies: Bodies, kinds: Sequence[int], samples: _Samples) -> Bodies:
    """Change bodies to the closest of some kinds, one after the other, if the union then is about as close."""
    limit = _about_as_close(samples.misfit(bodies))
    for which in range(len(bodies.kinds) if kinds else 0):
        behind = samples_behind(bodies.drop(which), samples.with_bodies(samples.all_over, bodies))
        changed = [
            descend(replace_kind(bodies, which, kind, shift), behind, _SHARED[-1], _SHARED_STEPS)
            for kind in kinds
            for shift in range(1 if kind == BOX else 3)
        ]
        other = bodies.replace(which, min(changed, key=lambda each: each[0])[1])
        if samples.misfit(other) <= limit:
            bodies = other
    return bodies


def _drop_useless(misfit: float, bodies: Bodies, samples: _Samples) -> tuple[float, Bodies]:
    """Drop bodies whose absence hardly raises the misfit; return it and the rest."""
    which = len(bodies.kinds) - 1
    while which >= 0 and len(bodies.kinds) > 1:
        rest = bodies.drop(which)
        without = samples.misfit(rest)
        if without <= misfit * (1.0 + _USELESS):
            misfit, bodies = without, rest
        which -= 1
    return misfit, bodies


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
        Allowed kinds of bodies; "auto" allows all.
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
    whole_number("bodies", bodies, 1)
    if bodies > MOST_BODIES:
        raise ValueError(f"bodies = {bodies}: must be from 1 to {MOST_BODIES}")
    if noise is not None and not (np.isfinite(noise) and noise > 0.0):
        raise ValueError(f"noise = {noise!r}: must be a positive length, in the unit of the points")
    chosen = check_kinds(kinds).convex
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
    rows = samples_at(local, np.zeros(len(local)), np.full(len(local), 1.0 / len(local)))
    many = rows[generator.permutation(len(rows))[:_MANY]]
    few = many[:_FEW]
    # The loss is half the mean square of the residuals: minus the logarithm of the likelihood, times noise^2 / n.
    fill = _FILL * knee * knee / len(many)
    coarse = Loss(0.4, 0.0, 0.05, 1, fill)
    fine = [Loss(0.2, 0.0, knee, 8, fill), Loss(max(4.0 * knee, 0.02), 0.0, knee, 8, fill)]
    found = [descend(start, few, coarse, _COARSE_STEPS) for start in starts(local, bodies, chosen, _ROUNDS, seed)]
    found.sort(key=lambda each: each[0])
    best: tuple[float, Bodies] | None = None
    for _, each in found[: _KEPT + 1]:
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
