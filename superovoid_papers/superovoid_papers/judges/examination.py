# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Attacks on lower ends of intervals of bodies with concavities, by points of the bodies.

The checker (`superovoid.checker`) proves depths and distances of hulls. It cannot decide `lower` if bodies with
concavities overlap, or if their distance exceeds that of their hulls and no certificate proves it. Two points of the
bodies closer than `lower`, or a common point after a translation of B by -`lower` along the normal, refute it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from superovoid.contact import DistanceResult, Status
from superovoid.testing.independent import (
    E1,
    E2,
    EPS,
    SIZE,
    TX,
    TY,
    Batch,
    BoolArray,
    FloatArray,
    surface_height,
    turn_back,
)
from superovoid.testing.random_pairs import Rng


def refuted_by_points(rng: Rng, batch: Batch, results: Sequence[DistanceResult], rounds: int = 300) -> BoolArray:
    """Return whether random walks over points of the bodies refute each lower end.

    Parameters
    ----------
    rng : Generator
        Random numbers of the walks.
    batch : Batch
    results : sequence of DistanceResult
        One per pair. For overlapping bodies only certified answers are attacked: other lower ends are those of the
        hulls, without a direction.
    rounds : int
        Steps of each walk.
    """
    lower = np.array([result.lower for result in results])
    x, y, n = (np.array([getattr(one, name) for one in results]) for name in ("point_a", "point_b", "normal"))
    certified = np.array([not one.status & Status.UNPROVEN for one in results])
    world = 8.0 * EPS * (batch.reach() + np.abs(batch.position).max(axis=(0, 2)))
    refuted = np.zeros(len(batch), dtype=bool)
    apart, overlapping = lower > 0.0, (lower < 0.0) & certified
    if apart.any():
        found = closer_points(rng, batch.take(apart), x[apart], y[apart], rounds)
        refuted[apart] = found < (lower - world)[apart]
    if overlapping.any():
        way = -lower[overlapping, None] * n[overlapping]
        moved = batch.take(overlapping)
        moved = replace(moved, position=np.stack([moved.position[0], moved.position[1] + way]))
        found = common_points(rng, moved, 0.5 * (x[overlapping] + y[overlapping] + way), rounds)
        refuted[overlapping] = found < -(world + 1e-11 * batch.unit())[overlapping]
    return refuted


def closer_points(rng: Rng, batch: Batch, x: FloatArray, y: FloatArray, rounds: int = 60) -> FloatArray:
    """Find the smallest distance of two surface points by a random walk of the four surface angles.

    It starts from the given points, and from the closest of a few hundred points of each body.
    """
    count = len(batch)
    tries = 16

    def points(side: int, angles: FloatArray) -> FloatArray:
        """Return world points (count, k, 3) at angles (count, k, 2), by signed powers of sines and cosines."""
        rows = batch.rows[side][:, None]
        sine, cosine = np.sin(angles), np.cos(angles)
        ring = np.sign(cosine) * np.abs(cosine) ** rows[..., 3:5], np.sign(sine) * np.abs(sine) ** rows[..., 3:5]
        w, r = ring[1][..., 1], np.abs(ring[0][..., 1])
        local = np.stack(
            [
                rows[..., 0] * (1.0 + rows[..., TX] * w) * r * ring[0][..., 0],
                rows[..., 1] * (1.0 + rows[..., TY] * w) * r * ring[1][..., 0],
                rows[..., 2] * w,
            ],
            axis=-1,
        )
        return np.einsum("nij,nkj->nki", batch.rotation[side], local) + batch.position[side][:, None]

    def angles_of(side: int, point: FloatArray) -> FloatArray:
        rows = batch.rows[side]
        local = turn_back(batch.rotation[side], point - batch.position[side])
        w = np.clip(local[:, 2] / rows[:, 2], -1.0, 1.0)
        u, v = (
            local[:, 0] / (rows[:, 0] * (1.0 + rows[:, TX] * w)),
            local[:, 1] / (rows[:, 1] * (1.0 + rows[:, TY] * w)),
        )

        def root(value: FloatArray, e: FloatArray) -> FloatArray:
            return np.sign(value) * np.abs(value) ** (1.0 / e)

        omega = np.arctan2(root(v, rows[:, E1]), root(u, rows[:, E1]))
        return np.stack([omega, np.arcsin(np.clip(root(w, rows[:, E2]), -1.0, 1.0))], axis=1)

    scattered = [rng.uniform([-math.pi, -0.5 * math.pi], [math.pi, 0.5 * math.pi], (count, 150, 2)) for _ in range(2)]
    cloud = [points(side, scattered[side]) for side in range(2)]
    apart = np.linalg.norm(cloud[0][:, :, None] - cloud[1][:, None], axis=3).reshape(count, -1)
    first, second = np.divmod(apart.argmin(axis=1), 150)
    here = np.arange(count)
    best = np.full(count, np.inf)
    for begin in (
        np.concatenate([angles_of(0, x), angles_of(1, y)], axis=1),
        np.concatenate([scattered[0][here, first], scattered[1][here, second]], axis=1),
    ):
        at, value, radius = begin, np.full(count, np.inf), np.full(count, 0.3)
        for _ in range(rounds):
            trial = at[:, None] + radius[:, None, None] * rng.normal(size=(count, tries, 4))
            trial[:, 0] = at
            gap = np.linalg.norm(points(1, trial[..., 2:]) - points(0, trial[..., :2]), axis=2)
            top = gap.argmin(axis=1)
            radius = np.where(top == 0, 0.5 * radius, 1.2 * radius)
            at, value = trial[here, top], np.minimum(value, gap[here, top])
        best = np.minimum(best, value)
    return best


def common_points(rng: Rng, batch: Batch, middle: FloatArray, rounds: int = 60) -> FloatArray:
    """Find the least height of a point over both surfaces by a random walk; negative for a common point.

    It starts from the given points, and from the best of a few hundred points about each body.
    """
    count, tries = len(batch), 16
    here = np.arange(count)

    def heights(x: FloatArray) -> FloatArray:
        """Return the larger height of world points (count, k, 3) over the two surfaces."""
        some = x.shape[1]
        over = []
        for side in range(2):
            local = np.einsum("nji,nkj->nki", batch.rotation[side], x - batch.position[side][:, None])
            size = batch.rows[side][:, None, SIZE]
            inside = (np.abs(local[..., 2:]) < 2.0 * size[..., 2:]).all(axis=2)  # beyond, the taper changes its sign
            each = np.repeat(batch.rows[side], some, axis=0)
            with np.errstate(all="ignore"):
                height = surface_height(each, np.where(inside[..., None], local, 0.5 * size).reshape(-1, 3))
            over.append(np.where(inside, height.reshape(count, some), np.inf))
        return np.maximum(*over)

    size = batch.rows[..., SIZE].max(axis=2)
    cloud = [
        batch.position[side][:, None] + size[side][:, None, None] * rng.uniform(-1.0, 1.0, (count, 300, 3))
        for side in range(2)
    ]
    scattered = np.concatenate(cloud, axis=1)
    best = np.full(count, np.inf)
    for begin in (middle, scattered[here, np.nan_to_num(heights(scattered), nan=np.inf).argmin(axis=1)]):
        at, value, radius = begin, np.full(count, np.inf), 0.3 * batch.unit()
        for _ in range(rounds):
            trial = at[:, None] + radius[:, None, None] * rng.normal(size=(count, tries, 3))
            trial[:, 0] = at
            over = np.nan_to_num(heights(trial), nan=np.inf)
            top = over.argmin(axis=1)
            radius = np.where(top == 0, 0.5 * radius, 1.2 * radius)
            at, value = trial[here, top], np.minimum(value, over[here, top])
        best = np.minimum(best, value)
    return best
