# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Answers about pairs of superovoids, each checked by tests that share no code with the engine.

The tests know the support function of a body (`reference`) and two facts. For every unit direction n

    g(n) = n . (t_B - t_A) - h_A(n) - h_B(-n) <= signed distance of the hulls <= signed distance of the bodies,

so a direction with g(n) > upper refutes an answer, and one with g(n) >= lower proves its lower end. Apart, points of
both bodies at a distance of no more than `upper` prove the upper end. What is left, the upper end of an overlap, is
attacked by ascents of g from many directions. A refutation counts after g has been evaluated with 40 digits.

The support function of a body with a dent is sampled, which bounds it from below, and g from above: `upper` is refuted
there only by a bound of h from the other side (`support_bounds`), `lower` is unsupported where no sampled g reaches it.
Certified, such bodies may be farther from each other than their hulls, and overlap less than these: `lower` is then
held against points of both surfaces alone, found by random walks; where they overlap, against points that both have in
common once one is moved by -`lower` along the normal.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from superovoid.contact import Status, columns
from superovoid.contact.inputs import SEARCH_BUDGET, TOLERANCE
from superovoid.contact.lanes import many_pairs
from superovoid.contact.superovoids import pair_solver
from superovoid.shapes.kernels import packing
from superovoid.shapes.kernels import surface as surface_module
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
    ascend,
    separation,
    surface_error,
    surface_height,
    turn,
    turn_back,
)
from superovoid.testing.random_pairs import Rng, directions, log_uniform
from superovoid.testing.support_bounds import support_bound

SAMPLED = 8  # every so many pairs are solved again: swapped, moved, scaled
_FAR = 10.0  # distance, in units of the smaller body
TOUCH_UP = 1e-9  # width of an interval, and agreement of normal and points, in units of the smaller body


def _scan_directions(rng: Rng, batch: Batch, normal: FloatArray, overlapping: bool) -> FloatArray:
    """Directions (n, k, 3) to try first: about the answer, and for overlaps the bodies' axes and anywhere."""
    count = len(batch)
    tilt = log_uniform(rng, 1e-9, 1.0, (count, 6, 1)) * directions(rng, 6 * count).reshape(count, 6, 3)
    parts = [normal[:, None], normal[:, None] + tilt]
    if overlapping:
        offset = batch.position[1] - batch.position[0]
        length = np.linalg.norm(offset, axis=1, keepdims=True)
        line = np.where(length > 0.0, offset / np.where(length > 0.0, length, 1.0), normal)
        axes = np.concatenate([batch.rotation[0], batch.rotation[1]], axis=2).transpose(0, 2, 1)
        parts += [line[:, None], axes, -axes, -normal[:, None]]
    parts.append(directions(rng, 12 * count).reshape(count, 12, 3))
    n = np.concatenate(parts, axis=1)
    return n / np.linalg.norm(n, axis=2, keepdims=True)


def attack(
    rng: Rng, batch: Batch, normal: FloatArray, overlapping: bool, starts: int = 4, steps: int = 30
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Best g found from the answer's normal and from elsewhere, its direction, and g at the answer's normal."""
    n = _scan_directions(rng, batch, normal, overlapping)
    count, columns = n.shape[:2]
    spread = batch.take(np.repeat(np.arange(count), columns))
    g = separation(spread, n.reshape(-1, 3))[0].reshape(count, columns)
    here = np.arange(count)
    own = g[:, 0]
    best = g.argmax(axis=1)
    best_g, best_n = g[here, best], n[here, best]
    rank = g.copy()
    for start in range(starts if overlapping else 1):
        chosen = np.zeros(count, dtype=np.int64) if start == 0 else rank.argmax(axis=1)
        begin = n[here, chosen]
        climbed, top = ascend(batch, begin, steps)
        better = climbed > best_g
        best_g, best_n = np.where(better, climbed, best_g), np.where(better[:, None], top, best_n)
        # The next start is another hill: nothing near this start or its summit.
        near = (np.einsum("nkj,nj->nk", n, begin) > 0.9) | (np.einsum("nkj,nj->nk", n, top) > 0.9)
        rank[near] = -np.inf
    return best_g, best_n, own


# -- one chunk of pairs ---------------------------------------------------------------------------------------------


Solver = Callable[[Batch, FloatArray | None], FloatArray]


def _solve_by(solver: Callable[..., object], batch: Batch, states: FloatArray | None) -> FloatArray:
    poses = np.ascontiguousarray(batch.poses())
    bodies = _packed(batch)
    if states is None:
        states = columns.unkept_states(len(batch))
    out = np.full((len(batch), columns.RESULT_LENGTH), np.nan)
    solver(bodies[0], bodies[1], poses[0], poses[1], TOLERANCE, SEARCH_BUDGET, states, out)
    return out


def solve(batch: Batch, states: FloatArray | None) -> FloatArray:
    """Result rows of the engine, cold where `states` is None."""
    return _solve_by(pair_solver.solve_pairs, batch, states)


def solve_in_lanes(batch: Batch, states: FloatArray | None) -> FloatArray:
    """The same of the engine's batches."""
    return _solve_by(many_pairs.solve_batch, batch, states)


def _packed(batch: Batch) -> FloatArray:
    bodies = np.zeros((2, len(batch), surface_module.BODY_LENGTH))
    for packed, rows in zip(bodies, batch.rows, strict=True):
        packing.pack_many(packed, np.ascontiguousarray(rows))
    return bodies


def times(batch: Batch) -> FloatArray:
    """Microseconds of each pair, solved one by one."""
    poses = np.ascontiguousarray(batch.poses())
    bodies = _packed(batch)
    states = np.zeros((len(batch), columns.STATE_LENGTH))
    out = np.empty((len(batch), columns.RESULT_LENGTH))
    seconds = np.empty(len(batch))
    for i in range(len(batch)):
        rows = slice(i, i + 1)
        started = time.perf_counter()
        pair_solver.solve_pairs(
            bodies[0, rows],
            bodies[1, rows],
            poses[0, rows],
            poses[1, rows],
            TOLERANCE,
            SEARCH_BUDGET,
            states[rows],
            out[rows],
        )
        seconds[i] = time.perf_counter() - started
    return 1e6 * seconds


def closer_points(rng: Rng, batch: Batch, x: FloatArray, y: FloatArray, rounds: int = 60) -> FloatArray:
    """Smallest distance of two surface points found by a random walk of the four surface angles.

    It starts from the points given, and from the closest of a few hundred points of each body.
    """
    count = len(batch)
    tries = 16

    def points(side: int, angles: FloatArray) -> FloatArray:
        """World points (count, k, 3) at angles (count, k, 2), by signed powers of sines and cosines."""
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
    """Least height over both surfaces of a point found by a random walk; negative where two bodies have it in common.

    It starts from the points given, and from the best of a few hundred points about each body.
    """
    count, tries = len(batch), 16
    here = np.arange(count)

    def heights(x: FloatArray) -> FloatArray:
        """The larger height over the two surfaces, of world points (count, k, 3)."""
        some = x.shape[1]
        over = []
        for side in range(2):
            local = np.einsum("nji,nkj->nki", batch.rotation[side], x - batch.position[side][:, None])
            size = batch.rows[side][:, None, SIZE]
            inside = (np.abs(local[..., 2:]) < 2.0 * size[..., 2:]).all(axis=2)  # the taper changes its sign beyond
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


@dataclass
class Findings:
    """What was seen in a chunk, one row a pair; every array of bool is a kind of failure but the first three."""

    pairs: int
    overlapping: int
    status: NDArray[np.int64]
    width: FloatArray  # of the interval, in units of the smaller body
    surface: FloatArray  # distance of the witness points from their surfaces, same unit
    failures: dict[str, BoolArray]
    closer: int  # pairs with a dent for which closer points than the answer's were found


KINDS = {
    "refuted": "g(n) > upper for some direction, points closer than lower, or common to bodies with dents moved by it",
    "unsupported": "no direction with g(n) >= lower found (but with dents, where lower > 0 or the overlap is proved)",
    "nan": "a number that is not finite",
    "order": "not lower <= distance <= upper",
    "wide": "interval wider than the goal and not UNPROVEN",
    "surface": "a witness point off its surface by 1e-10 of the smaller body, whatever the status",
    "points": "apart, and points not as far from each other as [lower, upper] says, whatever the status",
    "normal": "normal no unit vector, g(normal) < lower, or points not the distance along it apart, by more than the "
    "tolerance, or than an open interval allows",
    "swapped": "not the same bits for the swapped pair",
    "moved": "interval that misses that of the pair moved rigidly or scaled, or reached from a near pose",
    "convexity": "a convex body taken for one with a dent",
}


def examine(rng: Rng, batch: Batch, solver: Solver = solve) -> tuple[Findings, FloatArray]:
    """Solve a chunk and check every answer.

    Parameters
    ----------
    rng : Generator
        Of the directions that are tried.
    batch : Batch
    solver : callable
        From a batch, and states or None, to result rows.

    Returns
    -------
    findings : Findings
    out : (n, RESULT_LENGTH) ndarray
        The result rows.
    """
    count = len(batch)
    out = solver(batch, None)
    d, lower, upper = out[:, columns.DISTANCE], out[:, columns.LOWER], out[:, columns.UPPER]
    x, y = out[:, columns.POINT_A : columns.POINT_A + 3], out[:, columns.POINT_B : columns.POINT_B + 3]
    n = out[:, columns.NORMAL : columns.NORMAL + 3]
    status = out[:, columns.STATUS].astype(np.int64)
    unproven = (status & Status.UNPROVEN) != 0
    unit = batch.unit()
    rounding = 8.0 * EPS * batch.reach()
    world = rounding + 8.0 * EPS * np.abs(batch.position).max(axis=(0, 2))
    failures = {kind: np.zeros(count, dtype=bool) for kind in KINDS}
    failures["nan"] = ~np.isfinite(out).all(axis=1)
    usable = ~failures["nan"] & (np.abs(np.linalg.norm(n, axis=1) - 1.0) < 1e-12)
    failures["order"] = ~((lower <= d) & (d <= upper))
    failures["normal"] |= ~usable
    failures["wide"] = ~unproven & ~(upper - lower <= (1.0 + 1e-6) * TOUCH_UP * unit + 64.0 * rounding)
    failures["convexity"] = batch.convex & (_packed(batch)[..., surface_module.DENTED] != 0.0).any(axis=0)

    best, best_n, own = np.full(count, -np.inf), n.copy(), np.full(count, np.nan)
    for overlapping in (False, True):
        chosen = usable & ((d < 0.0) == overlapping)
        if chosen.any():
            best[chosen], best_n[chosen], own[chosen] = attack(rng, batch.take(chosen), n[chosen], overlapping)
    suspect = usable & (best > upper - rounding) & (best > upper - 1e-3 * (upper - lower))
    # The bodies themselves may be farther apart than their hulls, where no direction shows it: closer points are looked
    # for below.
    beyond_hulls = ~batch.convex & (d > 0.0) & (~unproven | (lower > 0.0))
    for i in np.flatnonzero(suspect | (usable & (lower > best + rounding))):
        failures["refuted"][i], failures["unsupported"][i] = _confirmed(batch, i, best_n[i], n[i], lower[i], upper[i])
    # Overlapping, they may need less of a way than their hulls to be parted: they are moved by it.
    parted = usable & ~batch.convex & (lower < 0.0) & (~unproven | failures["unsupported"])
    by_pieces = failures["unsupported"] & beyond_hulls
    failures["unsupported"] &= ~(beyond_hulls | parted)
    if parted.any():
        moved = batch.take(parted)
        way = -lower[parted, None] * n[parted]
        moved = replace(moved, position=np.stack([moved.position[0], moved.position[1] + way]))
        found = common_points(rng, moved, 0.5 * (x[parted] + y[parted] + way))
        failures["refuted"][parted] |= found < -(world + 1e-11 * unit)[parted]

    u = y - x
    apart = usable & (d > 0.0)
    gap = np.linalg.norm(u, axis=1)
    failures["refuted"] |= apart & (gap < lower - world)
    failures["points"] = apart & ~((lower - world <= gap) & (gap <= upper + world))
    allowance = TOUCH_UP * unit + world
    failures["normal"] |= usable & batch.convex & ~(own >= lower - allowance)
    failures["normal"] |= ~unproven & batch.convex & (np.abs(own - d) > allowance)
    # n . u >= lower and |u| <= upper leave that much across the normal where the interval is open, and far apart on a
    # flat or a crease; overlapping, the line along n leaves the Minkowski difference within the interval.
    beside = 10.0 * allowance
    loose = apart & (unproven | ((status != Status.CERTIFIED) & (d > _FAR * unit)))
    square = (upper - lower) * (upper + np.maximum(lower, 0.0))
    beside[loose] += np.sqrt(np.maximum(square[loose], 0.0))
    across = np.linalg.norm(u - (u * n).sum(axis=1)[:, None] * n, axis=1)
    failures["normal"] |= apart & (across > beside)
    open_depth = ~apart & unproven
    beside[open_depth] = np.maximum(beside, upper - lower + world)[open_depth]
    failures["normal"] |= usable & ~apart & (np.linalg.norm(u - d[:, None] * n, axis=1) > beside)
    surface = np.zeros(count)
    for side, point in enumerate((x, y)):
        local = turn_back(batch.rotation[side], point - batch.position[side])
        error = surface_error(batch.rows[side], local)
        surface = np.maximum(surface, np.maximum(0.0, error - world) / unit)
    failures["surface"] = usable & ~(surface < 1e-10)

    sample = batch.take(slice(None, None, SAMPLED))
    _examine_again(rng, sample, out[::SAMPLED], {k: v[::SAMPLED] for k, v in failures.items()}, solver)
    dented = apart & ~batch.convex
    closer = np.zeros(count, dtype=bool)
    if dented.any():
        found = closer_points(rng, batch.take(dented), x[dented], y[dented])
        closer[dented] = found < (gap - allowance)[dented]
        failures["refuted"][dented] |= found < (lower - world)[dented]
    if by_pieces.any():  # nothing else speaks for these lower ends: a longer walk
        found = closer_points(rng, batch.take(by_pieces), x[by_pieces], y[by_pieces], rounds=1000)
        failures["refuted"][by_pieces] |= found < (lower - world)[by_pieces]
    findings = Findings(
        count, int((d < 0.0).sum()), status, (upper - lower) / unit, surface, failures, int(closer.sum())
    )
    return findings, out


def _highest_found(pair: Batch) -> float:
    """Largest g of one pair with dents, by a random walk from the best of many directions."""
    rng = np.random.default_rng(0)

    def values(n: FloatArray, samples: int) -> FloatArray:
        count = len(n)
        each = Batch(
            *(np.repeat(x, count, axis=1) for x in (pair.rows, pair.rotation, pair.position)), np.zeros(count, bool)
        )
        return separation(each, n, samples)[0]

    n = directions(rng, 3000)
    n = n[np.argsort(-values(n, 100))[:30]]
    for spread in 0.1 * 0.7 ** np.arange(40):
        trial = np.concatenate([n, np.repeat(n, 6, axis=0) + spread * rng.normal(size=(6 * len(n), 3))])
        trial /= np.linalg.norm(trial, axis=1)[:, None]
        n = trial[np.argsort(-values(trial, 300))[: len(n)]]
    return float(values(n[:3], 6000).max())


def proved_separation(pair: Batch, n: FloatArray) -> float:
    """Lower bound of g(n) of one pair, dents or not."""
    heights = [
        support_bound(pair.rows[side, 0], sign * n @ pair.rotation[side, 0]) for side, sign in ((0, 1.0), (1, -1.0))
    ]
    return float(n @ (pair.position[1, 0] - pair.position[0, 0])) - sum(heights)


def _confirmed(
    batch: Batch, i: int, best_n: FloatArray, n: FloatArray, lower: float, upper: float
) -> tuple[bool, bool]:
    """Whether an answer is refuted, and whether its lower end is unsupported, judged with 40 digits."""
    if not batch.convex[i]:
        pair = batch.take(np.array([i]))
        _, top = ascend(pair, best_n[None], 40)
        # The ascent is by few samples of the dents; what it found and the answer's own direction are judged by many.
        fine = max(separation(pair, direction, samples=6000)[0][0] for direction in (top, n[None]))
        rounding = 8.0 * EPS * pair.reach()[0]
        margin = 1e-9 * pair.unit()[0] + rounding
        if fine < lower - margin:  # overlapping hulls: the bound may be that of another direction than the answer's
            fine = max(fine, _highest_found(pair))
        proved = max(proved_separation(pair, direction) for direction in (top[0], n))
        return proved > upper + rounding, fine < lower - margin
    from superovoid.testing.exact_pairs import MpPair  # mpmath, for pairs in doubt alone

    pair = MpPair(batch, i)
    value = pair.value(best_n)
    refuted = bool(value > upper)
    if value < lower:
        value = max(value, pair.climb(best_n)[0])
    if value < lower:
        value = max(value, pair.climb(n)[0])
    return refuted or bool(value > upper), bool(value < lower)


def _examine_again(rng: Rng, batch: Batch, out: FloatArray, failures: dict[str, BoolArray], solver: Solver) -> None:
    """Solve a sample of the pairs again in other guises."""
    mirror = replace(batch, rows=batch.rows[::-1], rotation=batch.rotation[::-1], position=batch.position[::-1])
    swapped = solver(mirror, None)
    mirrored = swapped.copy()
    mirrored[:, columns.POINT_A : columns.POINT_A + 3] = swapped[:, columns.POINT_B : columns.POINT_B + 3]
    mirrored[:, columns.POINT_B : columns.POINT_B + 3] = swapped[:, columns.POINT_A : columns.POINT_A + 3]
    mirrored[:, columns.NORMAL : columns.NORMAL + 3] *= -1.0
    one_pair_twice = (
        (batch.rows[0] == batch.rows[1]).all(axis=1)
        & (batch.rotation[0] == batch.rotation[1]).all(axis=(1, 2))
        & (batch.position[0] == batch.position[1]).all(axis=1)
    )  # has no order to swap
    failures["swapped"] |= ~((mirrored == out).all(axis=1) | one_pair_twice)

    world = 64.0 * EPS * (batch.reach() + np.abs(batch.position).max(axis=(0, 2)))

    def check(other: FloatArray, factor: FloatArray | float = 1.0) -> None:
        low, high = other[:, columns.LOWER] / factor, other[:, columns.UPPER] / factor
        missed = (low > out[:, columns.UPPER] + world) | (high < out[:, columns.LOWER] - world)
        # With a dent the answers are two contacts, each with the bound of the hulls as its lower end.
        failures["moved"] |= missed & batch.convex

    motion = Rotation.random(len(batch), rng=rng).as_matrix()
    moved = replace(
        batch,
        rotation=motion @ batch.rotation,
        position=np.stack([turn(motion, batch.position[0]), turn(motion, batch.position[1])]),
    )
    check(solver(moved, None))
    factor = log_uniform(rng, 1e-3, 1e3, len(batch))
    rows = batch.rows.copy()
    rows[..., SIZE] *= factor[:, None]
    check(solver(replace(batch, rows=rows, position=batch.position * factor[:, None]), None), factor)
    # Warm, from the answer a tenth of a degree and a hundredth of the size away, and back.
    states = np.zeros((len(batch), columns.STATE_LENGTH))
    near = replace(batch, rotation=batch.rotation.copy(), position=batch.position.copy())
    small_turn = Rotation.from_rotvec(math.radians(0.1) * directions(rng, len(batch))).as_matrix()
    near.rotation[1] = small_turn @ near.rotation[1]
    near.position[1] += 0.01 * batch.unit()[:, None] * directions(rng, len(batch))
    solver(near, states)
    check(solver(batch, states))
