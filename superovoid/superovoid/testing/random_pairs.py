# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Random pairs in named families: superovoids over the full parameter range, and bodies of any two kinds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from superovoid.shapes import HalfSpace, Superovoid
from superovoid.testing import flat_contacts
from superovoid.testing.independent import (
    E2,
    SIZE,
    TX,
    TY,
    Batch,
    BoolArray,
    FloatArray,
    concavity,
    least_concave,
    normal_at,
    support,
    taper_limit,
    turn,
    turn_back,
)
from superovoid.testing.random_bodies import KINDS, random_pose, random_shape

Rng = np.random.Generator


def log_uniform(rng: Rng, low: float, high: float, shape: int | tuple[int, ...]) -> FloatArray:
    """Draw log-uniform numbers."""
    return np.exp(rng.uniform(math.log(low), math.log(high), shape))


def directions(rng: Rng, count: int) -> FloatArray:
    """Draw uniform unit vectors, shape (count, 3)."""
    n = rng.normal(size=(count, 3))
    return n / np.linalg.norm(n, axis=1)[:, None]


def _quarter_turns(rng: Rng, count: int) -> FloatArray:
    """Draw rotations that map the coordinate axes onto themselves."""
    return Rotation.create_group("O").as_matrix().round()[rng.integers(0, 24, count)]


def _bodies(
    rng: Rng,
    count: int,
    size: tuple[float, float] = (0.1, 10.0),
    epsilon: tuple[float, float] = (0.02, 1.98),
) -> FloatArray:
    """Draw convex bodies: equal tapers up to the convex limit, a fifth without tapers, some with unequal tapers."""
    rows = np.empty((count, 7))
    rows[:, SIZE] = log_uniform(rng, *size, (count, 3))
    rows[:, 3:5] = rng.uniform(*epsilon, (count, 2))
    tapers = rng.uniform(-1.0, 1.0, count) * taper_limit(rows[:, E2])
    tapers[rng.random(count) < 0.2] = 0.0
    rows[:, TX] = rows[:, TY] = tapers
    if epsilon[0] < 1.0 < epsilon[1]:
        chosen = np.flatnonzero(rng.random(count) < 0.1)
        rows[chosen] = _with_unequal_tapers(rng, rows[chosen])
    return rows


def _with_unequal_tapers(rng: Rng, rows: FloatArray) -> FloatArray:
    """Replace tapers by unequal ones if the body stays convex; half of these bodies have e2 = 1, the others more."""
    other = rows.copy()
    other[:, E2] = np.where(rng.random(len(rows)) < 0.5, 1.0, rng.uniform(1.0, 1.9, len(rows)))
    other[:, 5:7] = rng.uniform(-1.0, 1.0, (len(rows), 2)) * taper_limit(other[:, E2])[:, None]
    convex = concavity(other, 401) < -1e-3
    return np.where(convex[:, None], other, rows)


def _place(rows: FloatArray, rotation: FloatArray, offset: FloatArray) -> Batch:
    """Return pairs of convex bodies, the first at the world origin and the second at `offset`."""
    position = np.stack([np.zeros_like(offset), offset])
    return Batch(rows, rotation, position, np.ones(len(offset), dtype=bool))


def _unit(rows: FloatArray) -> FloatArray:
    """Return the size of the smaller body of each pair."""
    return rows[..., SIZE].max(axis=2).min(axis=0)


def _random_rotations(rng: Rng, count: int) -> FloatArray:
    return Rotation.random(2 * count, rng=rng).as_matrix().reshape(2, count, 3, 3)


def _with_gap(
    rng: Rng, rows: FloatArray, rotation: FloatArray, gap: FloatArray, normal: FloatArray | None = None
) -> Batch:
    """Place pairs at a signed gap along a common normal; for overlaps, minus the gap is at least the depth."""
    n = directions(rng, rows.shape[1]) if normal is None else normal
    x = turn(rotation[0], support(rows[0], turn_back(rotation[0], n))[1])
    y = turn(rotation[1], support(rows[1], turn_back(rotation[1], -n))[1])
    return _place(rows, rotation, x + gap[:, None] * n - y)


def _any_separation(rng: Rng, rows: FloatArray, rotation: FloatArray | None = None) -> Batch:
    """Draw far, near, touching, shallow, deep and contained pairs in equal parts."""
    count = rows.shape[1]
    if rotation is None:
        rotation = _random_rotations(rng, count)
    unit = _unit(rows)
    kind = rng.integers(0, 6, count)
    gap = np.select(
        [kind == 0, kind == 1, kind == 2, kind == 3],
        [
            log_uniform(rng, 2.0, 1e6, count),
            log_uniform(rng, 1e-6, 2.0, count),
            _touching_gaps(rng, count),
            -log_uniform(rng, 1e-8, 1e-1, count),
        ],
        0.0,
    )
    batch = _with_gap(rng, rows, rotation, gap * unit)
    inside = kind >= 4
    batch.position[1, inside] = _overlapping_offset(rng, rows, deep=kind == 4)[inside]
    return batch


def _touching_gaps(rng: Rng, count: int) -> FloatArray:
    """Draw signed gaps of at most 1e-9, a fifth of them 0."""
    return rng.choice([-1.0, 1.0], count) * np.where(rng.random(count) < 0.2, 0.0, log_uniform(rng, 1e-16, 1e-9, count))


def _overlapping_offset(rng: Rng, rows: FloatArray, deep: BoolArray | bool) -> FloatArray:
    """Draw offsets within the sum of the smallest semi-axes (deep), or within 0.3 of the larger of them (contained)."""
    smallest = rows[..., SIZE].min(axis=2)
    reach = np.where(deep, smallest.sum(axis=0), 0.3 * smallest.max(axis=0))
    return directions(rng, rows.shape[1]) * (reach * rng.random(rows.shape[1]) ** (1.0 / 3.0))[:, None]


def _pair_of_bodies(rng: Rng, count: int, **options: tuple[float, float]) -> FloatArray:
    return _bodies(rng, 2 * count, **options).reshape(2, count, 7)


def _gaps(draw: Callable[[Rng, int], FloatArray]) -> Callable[[Rng, int], Batch]:
    """Return the family of pairs whose gaps are drawn in units of the smaller body."""

    def family(rng: Rng, count: int) -> Batch:
        rows = _pair_of_bodies(rng, count)
        return _with_gap(rng, rows, _random_rotations(rng, count), draw(rng, count) * _unit(rows))

    return family


def _draw_deep(rng: Rng, count: int) -> Batch:
    rows = _pair_of_bodies(rng, count)
    return _place(rows, _random_rotations(rng, count), _overlapping_offset(rng, rows, True))


def _draw_contained(rng: Rng, count: int) -> Batch:
    """Draw a smaller body inside the other, or nearly so."""
    rows = _pair_of_bodies(rng, count)
    share = rows[0, :, SIZE].min(axis=1) / rows[1, :, SIZE].max(axis=1) * rng.uniform(0.01, 0.5, count)
    rows[1, :, SIZE] *= share[:, None]
    return _place(rows, _random_rotations(rng, count), _overlapping_offset(rng, rows, False))


def _draw_concentric(rng: Rng, count: int) -> Batch:
    """Draw pairs with coincident centres, or 1e-16 to 1e-3 of the size apart; a third with aligned axes."""
    rows = _pair_of_bodies(rng, count)
    rotation = _random_rotations(rng, count)
    alike = rng.random(count) < 1.0 / 3.0
    rotation[1, alike] = rotation[0, alike] @ _quarter_turns(rng, int(alike.sum()))
    unit = _unit(rows)
    offset = np.where(rng.random(count) < 0.5, 0.0, log_uniform(rng, 1e-16, 1e-3, count))
    return _place(rows, rotation, directions(rng, count) * (offset * unit)[:, None])


def _draw_identical(rng: Rng, count: int) -> Batch:
    """Draw pairs of equal bodies: in the same pose, moved a little, or in any pose."""
    rows = np.repeat(_bodies(rng, count)[None], 2, axis=0)
    batch = _any_separation(rng, rows)
    same = rng.random(count) < 0.6
    batch.rotation[1, same] = batch.rotation[0, same]
    unit = batch.unit()
    offset = np.where(rng.random(count) < 0.5, 0.0, log_uniform(rng, 1e-16, 1.0, count)) * unit
    batch.position[1, same] = (directions(rng, count) * offset[:, None])[same]
    return batch


def _draw_coaxial(rng: Rng, count: int) -> Batch:
    """Draw bodies with centres on a common axis, turned about it by any angle or by quarter turns."""
    rows = _pair_of_bodies(rng, count)
    axis = rng.integers(0, 3, count)
    rotation = _quarter_turns(rng, 2 * count).reshape(2, count, 3, 3)
    along = np.eye(3)[axis]
    spin = Rotation.from_rotvec(along * rng.uniform(0.0, 2.0 * math.pi, count)[:, None]).as_matrix()
    turned = rng.random(count) < 0.5
    rotation[1, turned] = (spin @ rotation[1])[turned]
    first = support(rows[0], turn_back(rotation[0], along))[0]
    second = support(rows[1], turn_back(rotation[1], -along))[0]
    unit = _unit(rows)
    gap = np.where(rng.random(count) < 0.5, rng.uniform(0.0, 2.0, count), -rng.uniform(0.0, 1.0, count)) * unit
    return _place(rows, rotation, along * (first + second + gap)[:, None])


def _draw_aligned(rng: Rng, count: int) -> Batch:
    """Draw box-like bodies with parallel axes and arbitrary centres, so that flats are parallel."""
    rows = _pair_of_bodies(rng, count, epsilon=(0.02, 0.8))
    rotation = _quarter_turns(rng, 2 * count).reshape(2, count, 3, 3)
    extent = rows[..., SIZE].sum(axis=0)
    offset = rng.uniform(-1.0, 1.0, (count, 3)) * extent
    offset[rng.random((count, 3)) < 0.3] = 0.0
    return _place(rows, rotation, offset)


def _draw_round(rng: Rng, count: int) -> Batch:
    """Draw spheres and ellipsoids."""
    rows = _pair_of_bodies(rng, count)
    rows[..., 3:5] = 1.0
    rows[..., 5:7] = 0.0
    ball = rng.random((2, count)) < 0.5
    rows[..., 1] = np.where(ball, rows[..., 0], log_uniform(rng, 0.1, 10.0, (2, count)))
    rows[..., 2] = np.where(ball, rows[..., 0], log_uniform(rng, 0.1, 10.0, (2, count)))
    batch = _any_separation(rng, rows)
    same = rng.random(count) < 0.1
    batch.position[1, same] = 0.0
    return batch


def _draw_slender(rng: Rng, count: int) -> Batch:
    """Draw needles and plates up to 1 : 1000."""
    rows = _pair_of_bodies(rng, count)
    ratio = log_uniform(rng, 30.0, 1e3, (2, count))
    axis = rng.integers(0, 3, (2, count))
    needle = rng.random((2, count)) < 0.5
    factor = np.where((np.arange(3) == axis[..., None]) == needle[..., None], 1.0, 1.0 / ratio[..., None])
    rows[..., SIZE] = factor * log_uniform(rng, 0.3, 3.0, (2, count))[..., None]
    return _any_separation(rng, rows)


def _draw_unlike(rng: Rng, count: int) -> Batch:
    """Draw pairs in which one body is up to ten thousand times the size of the other."""
    rows = _pair_of_bodies(rng, count)
    rows[1, :, SIZE] /= log_uniform(rng, 10.0, 1e4, count)[:, None]
    return _any_separation(rng, rows)


def _draw_scaled(rng: Rng, count: int) -> Batch:
    """Draw pairs at scales between 1e-4 and 1e4 m."""
    rows = _pair_of_bodies(rng, count, size=(0.3, 3.0))
    rows[..., SIZE] *= log_uniform(rng, 1e-4, 1e4, count)[:, None]
    return _any_separation(rng, rows)


def _draw_creased(rng: Rng, count: int) -> Batch:
    return _any_separation(rng, _pair_of_bodies(rng, count, epsilon=(1.7, 1.999)))


def _draw_boxy(rng: Rng, count: int) -> Batch:
    return _any_separation(rng, _pair_of_bodies(rng, count, epsilon=(0.001, 0.3)))


def _draw_mixed_extremes(rng: Rng, count: int) -> Batch:
    """Draw bodies with each exponent near an end of its range: cylinders, double cones, pillows."""
    rows = _pair_of_bodies(rng, count)
    low = rng.random((2, count, 2)) < 0.5
    rows[..., 3:5] = np.where(low, rng.uniform(0.001, 0.2, low.shape), rng.uniform(1.8, 1.999, low.shape))
    limit = taper_limit(rows[..., E2])
    rows[..., TX] = rows[..., TY] = rng.uniform(-1.0, 1.0, (2, count)) * limit
    return _any_separation(rng, rows)


def _draw_tapered(rng: Rng, count: int) -> Batch:
    """Draw equal tapers at the convex limit, and unequal ones that leave the body convex."""
    rows = _pair_of_bodies(rng, count)
    tapers = rng.choice([-1.0, 1.0], (2, count)) * rng.uniform(0.95, 1.0, (2, count)) * taper_limit(rows[..., E2])
    rows[..., TX] = rows[..., TY] = tapers
    for side in range(2):
        half = np.flatnonzero(rng.random(count) < 0.5)
        rows[side, half] = _with_unequal_tapers(rng, rows[side, half])
    return _any_separation(rng, rows)


def _draw_off_centre(rng: Rng, count: int) -> Batch:
    """Draw pairs far from the world origin."""
    batch = _any_separation(rng, _pair_of_bodies(rng, count))
    batch.position[:] += directions(rng, count) * (log_uniform(rng, 1.0, 1e3, count) * batch.unit())[:, None]
    return batch


def _draw_non_convex(rng: Rng, count: int) -> Batch:
    """Draw unequal tapers over the whole range; most of these bodies are non-convex."""
    rows = _pair_of_bodies(rng, count)
    rows[..., 5:7] = rng.uniform(-0.5, 0.5, (2, count, 2))
    batch = _any_separation(rng, rows)
    return replace(batch, convex=np.zeros(count, dtype=bool))


def _place_at_concavity(rng: Rng, rows: FloatArray) -> Batch:
    """Draw pairs near contact at the most concave point of the first body; half of the other bodies face it flat."""
    count = rows.shape[1]
    _, w, share = least_concave(rows[0], 101)
    share = np.where(rng.random(count) < 0.5, share, rng.random(count))
    w = w + np.where(rng.random(count) < 0.5, 0.0, rng.normal(size=count) * log_uniform(rng, 1e-6, 0.3, count))
    w = np.where(np.abs(w) < 1e-12, 1e-12, np.clip(w, -0.9999, 0.9999))
    local = normal_at(rows[0], w, share) * np.append(rng.choice([-1.0, 1.0], (2, count)), np.ones((1, count)), axis=0).T
    rotation = _random_rotations(rng, count)
    n = turn(rotation[0], local)
    face = np.eye(3)[rng.integers(0, 3, count)] * rng.choice([-1.0, 1.0], (count, 1))
    to_face, _ = zip(*(Rotation.align_vectors(-n[i : i + 1], face[i : i + 1]) for i in range(count)), strict=True)
    flat = rng.random(count) < 0.5
    rotation[1, flat] = np.array([turned.as_matrix() for turned in to_face])[flat]
    tilt = Rotation.from_rotvec(directions(rng, count) * log_uniform(rng, 1e-12, 0.1, count)[:, None]).as_matrix()
    rotation[1, flat] = (tilt @ rotation[1])[flat]
    x = turn(rotation[0], support(rows[0], local, np.zeros(count, dtype=bool), 100)[1])
    y = turn(rotation[1], support(rows[1], turn_back(rotation[1], -n), np.zeros(count, dtype=bool), 100)[1])
    gap = log_uniform(rng, 1e-9, 1.0, count) * np.where(rng.random(count) < 0.8, 1.0, -0.1) * _unit(rows)
    return replace(_place(rows, rotation, x + gap[:, None] * n - y), convex=np.zeros(count, dtype=bool))


def _draw_concavity_contact(rng: Rng, count: int) -> Batch:
    """Draw contacts at concavities of any depth, of bodies with equal and unequal tapers."""
    rows = _pair_of_bodies(rng, count)
    rows[0, :, 5:7] = rng.uniform(-0.5, 0.5, (count, 2))
    equal = rng.random(count) < 0.4
    rows[0, equal, TY] = rows[0, equal, TX]
    rows[0, equal, E2] = rng.uniform(1.4, 1.98, int(equal.sum()))
    boxy = rng.random(count) < 0.5
    rows[1, boxy, 3:5] = log_uniform(rng, 0.005, 0.5, (int(boxy.sum()), 2))
    rows[1, boxy, 5:7] = 0.0
    return _place_at_concavity(rng, rows)


def _draw_border(rng: Rng, count: int) -> Batch:
    """Draw contacts at the most concave point of bodies within 1e-16 to 1e-3 of the limit of convexity."""
    batch_rows = _draw_concavity_contact(rng, count).rows
    rows = batch_rows[0]
    rows[:, E2] = rng.uniform(1.02, 1.98, count)
    share = rng.choice([-1.0, 1.0], count) * log_uniform(rng, 1e-16, 1e-3, count)
    equal = rows[:, TX] == rows[:, TY]
    rows[equal, E2] = rng.uniform(1.4, 1.98, int(equal.sum()))
    limit = (1.0 - 0.5 * rows[:, E2]) * 2.0 ** (0.5 * rows[:, E2])
    rows[equal, TX] = rows[equal, TY] = (np.sign(rows[:, TX]) * limit * (1.0 + share))[equal]
    unequal = rows[~equal]
    low, high = np.zeros(len(unequal)), np.ones(len(unequal))
    for _ in range(24):
        middle = 0.5 * (low + high)
        scaled = unequal.copy()
        scaled[:, 5:7] *= middle[:, None]
        inside = concavity(scaled, 201) < 0.0
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    rows[~equal, 5:7] *= (low * (1.0 + share[~equal]))[:, None]
    rows[:, 5:7] = np.clip(rows[:, 5:7], -0.5, 0.5)
    return _place_at_concavity(rng, batch_rows)


def _draw_ends(rng: Rng, count: int) -> Batch:
    """Draw exponents within 0.1 to 1e-6 of the ends of their range, any tapers, half of the contacts at concavities."""
    rows = _draw_concavity_contact(rng, count).rows
    near = log_uniform(rng, 1.001e-6, 0.1, (2, count, 2))
    near = np.where(rng.random(near.shape) < 0.5, near, 2.0 - near)
    rows[..., 3:5] = np.where(rng.random(near.shape) < 0.6, near, rows[..., 3:5])
    rows[1, :, 5:7] = np.where(rng.random((count, 1)) < 0.5, rng.uniform(-0.5, 0.5, (count, 2)), 0.0)
    batch, other = _place_at_concavity(rng, rows), _any_separation(rng, rows)
    there = rng.random(count) < 0.5
    batch.position[1, there], batch.rotation[1, there] = other.position[1, there], other.rotation[1, there]
    batch.rotation[0, there] = other.rotation[0, there]
    return batch


def _possibly_nonconvex(batch: Batch) -> Batch:
    return replace(batch, convex=np.zeros(batch.rows.shape[1], dtype=bool))


def _draw_critical(rng: Rng, count: int) -> Batch:
    """Draw equal tapers within 1e-12 to 1e-2 of the convex limit, on either side of it."""
    rows = _pair_of_bodies(rng, count)
    rows[..., E2] = rng.uniform(1.4, 1.98, (2, count))
    share = rng.choice([-1.0, 1.0], (2, count)) * log_uniform(rng, 1e-12, 1e-2, (2, count))
    tapers = rng.choice([-1.0, 1.0], (2, count)) * taper_limit(rows[..., E2]) * (1.0 + share)
    rows[..., TX] = rows[..., TY] = np.clip(tapers, -0.5, 0.5)
    return _possibly_nonconvex(_any_separation(rng, rows))


def _draw_unequal_at_one(rng: Rng, count: int) -> Batch:
    """Draw unequal tapers with |e2 - 1| from 0 to 1e-2, near which the equator becomes concave; half touch there."""
    rows = _pair_of_bodies(rng, count)
    off = rng.choice([-1.0, 0.0, 1.0], (2, count), p=(0.45, 0.1, 0.45)) * log_uniform(rng, 1e-12, 1e-2, (2, count))
    rows[..., E2] = 1.0 + off
    rows[..., 5:7] = rng.uniform(-0.5, 0.5, (2, count, 2))
    batch, other = _place_at_concavity(rng, rows), _any_separation(rng, rows)
    there = rng.random(count) < 0.5
    batch.position[:, there], batch.rotation[:, there] = other.position[:, there], other.rotation[:, there]
    return _possibly_nonconvex(batch)


def _draw_needles(rng: Rng, count: int) -> Batch:
    """Draw needles, blades and plates up to 1 : 1,000,000 with any exponents and tapers."""
    rows = _pair_of_bodies(rng, count)
    thin = log_uniform(rng, 1e-6, 1.0, (2, count, 3))
    thin[np.arange(2)[:, None], np.arange(count), rng.integers(0, 3, (2, count))] = 1.0
    rows[..., SIZE] = thin
    rows[..., 5:7] = rng.uniform(-0.5, 0.5, (2, count, 2))
    equal = rng.random((2, count)) < 0.5
    rows[equal, TY] = rows[equal, TX]
    return _possibly_nonconvex(_any_separation(rng, rows))


def _draw_middle_of_flat(rng: Rng, count: int) -> Batch:
    """Draw contacts 1e-16 to 0.3 rad from the middle of a flat end or side of one or both bodies, at any depth."""
    rows = _pair_of_bodies(rng, count)
    for body in rows:
        flat = rng.random((count, 2)) < np.where(rng.random((count, 1)) < 0.5, [0.2, 0.9], [0.9, 0.2])
        body[:, 3:5] = np.where(flat, log_uniform(rng, 1e-3, 0.5, (count, 2)), rng.uniform(0.02, 1.98, (count, 2)))
        body[:, TX] = body[:, TY] = rng.choice([-1.0, 0.0, 1.0], count) * rng.random(count) * taper_limit(body[:, E2])
    rotation = _random_rotations(rng, count)
    axis = np.eye(3)[rng.integers(0, 3, count)]
    local = axis + log_uniform(rng, 1e-16, 0.3, count)[:, None] * directions(rng, count)
    normal = turn(rotation[0], local / np.linalg.norm(local, axis=1)[:, None])
    both = rng.random(count) < 1.0 / 3.0
    rotation[1, both] = rotation[0, both] @ _quarter_turns(rng, int(both.sum()))
    small = rng.random(count) < 0.5
    share = _unit(rows[::-1]) / rows[1, :, SIZE].max(axis=1) * log_uniform(rng, 0.01, 1.0, count)
    rows[1, :, SIZE] *= np.where(small, share, 1.0)[:, None]
    gap = rng.choice([1.0, -1.0, -1.0, -1.0], count) * log_uniform(rng, 1e-6, 3.0, count)
    return _with_gap(rng, rows, rotation, gap * _unit(rows), normal)


def _draw_flat(rng: Rng, count: int) -> Batch:
    """Draw box-like and cylinder-like bodies with facing flats, parallel or nearly so, at gaps from 1e-12 to 1."""
    drawn = [flat_contacts.pair(rng, "superovoid", "superovoid") for _ in range(count)]
    shapes = [[p.a for p in drawn], [p.b for p in drawn]]
    poses = np.array([[p.pose_a for p in drawn], [p.pose_b for p in drawn]])
    rows = np.array(
        [
            [(*body.semi_axes, body.section_exponent, body.profile_exponent, *body.taper) for body in side]
            for side in shapes
        ]
    )
    return Batch(rows, poses[..., :3, :3], poses[..., :3, 3], np.ones(count, dtype=bool))


FAMILIES: dict[str, Callable[[Rng, int], Batch]] = {
    "far": _gaps(lambda rng, count: log_uniform(rng, 2.0, 1e6, count)),
    "near": _gaps(lambda rng, count: log_uniform(rng, 1e-9, 2.0, count)),
    "touching": _gaps(_touching_gaps),
    "shallow": _gaps(lambda rng, count: -log_uniform(rng, 1e-9, 3e-1, count)),
    "deep": _draw_deep,
    "contained": _draw_contained,
    "concentric": _draw_concentric,
    "identical": _draw_identical,
    "coaxial": _draw_coaxial,
    "aligned": _draw_aligned,
    "round": _draw_round,
    "slender": _draw_slender,
    "unlike": _draw_unlike,
    "scaled": _draw_scaled,
    "creased": _draw_creased,
    "boxy": _draw_boxy,
    "extremes": _draw_mixed_extremes,
    "tapered": _draw_tapered,
    "off centre": _draw_off_centre,
    "dented": _draw_non_convex,
    "dent contact": _draw_concavity_contact,
    "border": _draw_border,
    "ends": _draw_ends,
    "flat": _draw_flat,
    "critical": _draw_critical,
    "unequal at one": _draw_unequal_at_one,
    "needles": _draw_needles,
    "middle of flat": _draw_middle_of_flat,
}
"""Generator of each family."""


def generate(seed: int, family: str, number: int, count: int) -> tuple[Rng, Batch]:
    """Return the pairs of a chunk, and the random generator in its state after drawing them."""
    k = list(FAMILIES).index(family)
    rng = np.random.default_rng([seed, k, number])
    with np.errstate(all="ignore"):
        return rng, FAMILIES[family](rng, count)


OTHER_KINDS = "kinds"
"""Name of the family with pairs of any two kinds of bodies except non-convex meshes."""
NAMES = (*FAMILIES, OTHER_KINDS)
_CHUNK = 100
_KINDS_SEED = 24  # arbitrary but fixed, so that pairs do not depend on the list of families
_KINDS = (*(kind for kind in KINDS if kind != "mesh"), "plane")


def draw(family: str, seed: int, count: int) -> Iterator[flat_contacts.Pair]:
    """Draw pairs of a family in `NAMES`, as bodies with poses."""
    if family == OTHER_KINDS:
        rng = np.random.default_rng([seed, _KINDS_SEED])
        both = itertools.cycle(
            pair for pair in itertools.combinations_with_replacement(_KINDS, 2) if set(pair) != {"plane"}
        )
        for kinds in itertools.islice(both, count):
            a, b = (HalfSpace() if kind == "plane" else random_shape(kind, rng) for kind in kinds)
            reach = sum(shape.bounding_sphere().radius for shape in (a, b) if not isinstance(shape, HalfSpace))
            yield flat_contacts.Pair(a, random_pose(rng, 0.0), b, random_pose(rng, rng.uniform(0.0, 1.3) * reach))
        return
    for number in range(-(-count // _CHUNK)):
        _, batch = generate(seed, family, number, min(_CHUNK, count - number * _CHUNK))
        poses = batch.poses()
        for i in range(len(batch)):
            a, b = (Superovoid.from_goncalves(row[:3], row[3:5], row[5:7]) for row in batch.rows[:, i])
            yield flat_contacts.Pair(a, poses[0, i], b, poses[1, i])
