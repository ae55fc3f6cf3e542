# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Candidates of a query to rows of results: all of them, or the k closest.

If only the k closest are wanted, each candidate waits in a heap under a proved lower bound of its distance. The one
with the least is taken, and its bound raised or the pair solved, until k pairs are known that are no farther than the
least bound left.

==================  =============================================================================================
bound by            when
==================  =============================================================================================
bounding spheres    always
oriented boxes      it is the first
two support points  it is the first and may overlap: a depth is dear. Along the line of the spheres' centres
==================  =============================================================================================

The bounds are lowered by the width of a certified interval, so that no answer that is certified can be below its bound:
what is left out would have come behind the k closest, and equal distances keep their order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.arrays import Floats1, Floats2, Ints1, Ints2
from superovoid.compiled.kernels import bundle, entry_point, kernel
from superovoid.compiled.row_heap import lift, sink, without_first
from superovoid.compiled.vector import dot, norm, rotate_back, scale, sub
from superovoid.contact.columns import DISTANCE, LOWER, STATUS, UPPER
from superovoid.contact.kind_table import solve_within
from superovoid.contact.pair import Limit, Placed
from superovoid.contact.superovoids.certificate import gap_tolerance
from superovoid.scene.culling import BOUNDED, INTERSECTING, SOLVED, Local, World, gap_of_oriented_boxes, height_above
from superovoid.scene.pair_table import WarmStarts, pair_key, slot_of
from superovoid.shapes.kernels.kinds import Core, body_support, kind_of
from superovoid.shapes.kernels.rounding import turn_of_plane
from superovoid.shapes.kernels.surface import RADIUS, SIZE
from superovoid.values.status import PRECISION

# What the bound of a waiting candidate is from, and what to do with the first.
SPHERES, BOXES, SUPPORTED = 0, 1, 2
RAISED, SUPPORT, SOLVE = 0, 1, 2


@bundle
class Keys(NamedTuple):
    """What rows are sorted by, and memory for it."""

    values: Floats1
    pairs: Ints2  # (rows, 2): they decide between equal values
    order: Ints1  # the result: rows, ascending
    merged: Ints1


def keys_for(rows: int) -> Keys:
    """Memory for so many rows."""
    return Keys(np.empty(rows), np.empty((rows, 2), np.int64), np.empty(rows, np.int64), np.empty(rows, np.int64))


@kernel
def _is_before(keys, i, j):
    values, pairs = keys.values, keys.pairs
    if values[i] != values[j]:
        return values[i] < values[j]
    return pairs[i, 0] < pairs[j, 0] if pairs[i, 0] != pairs[j, 0] else pairs[i, 1] < pairs[j, 1]


@kernel
def sort(keys, count):
    """Order rows by ascending value, equal ones by their pair: a merge sort from below."""
    order, merged = keys.order, keys.merged
    for k in range(count):
        order[k] = k
    run = 1
    while run < count:
        for start in range(0, count, 2 * run):
            middle, end = min(start + run, count), min(start + 2 * run, count)
            i, j = start, middle
            for k in range(start, end):
                if i < middle and (j == end or not _is_before(keys, order[j], order[i])):
                    merged[k] = order[i]
                    i += 1
                else:
                    merged[k] = order[j]
                    j += 1
        for k in range(count):
            order[k] = merged[k]
        run *= 2


@bundle
class Scratch(NamedTuple):
    """Memory of a query, one row a candidate (and a matrix)."""

    candidates: Ints2
    bounds: Floats1  # of a candidate's distance, from below
    stages: Ints1  # what the bound is from
    waiting: Ints1  # heap of candidates
    nearest: Ints1  # heap of the least distances known
    farness: Floats1  # minus these distances
    out: Floats2
    keys: Keys  # of the rows of `out`: their distances and pairs
    rotation: Floats2


def scratch_for(candidates: int, result_length: int) -> Scratch:
    """Memory for so many candidates."""
    return Scratch(
        np.empty((candidates, 2), dtype=np.int64),
        np.empty(candidates),
        np.empty(candidates, dtype=np.int64),
        np.empty(candidates, dtype=np.int64),
        np.empty(candidates, dtype=np.int64),
        np.empty(candidates),
        np.empty((candidates, result_length)),
        keys_for(candidates),
        np.empty((3, 3)),
    )


@kernel
def lower_limit(nearest, farness, known, most, limit, value):
    """Note a distance, no larger than the limit, among the least ones; return the limit it leaves for others.

    `nearest` is a heap of the least ones, the largest on top: its keys are minus the distances. `known` were noted
    before; the limit falls to the largest as soon as there are `most`.
    """
    if known < most:
        nearest[known] = known
        farness[known] = -value
        lift(nearest, farness, known)
    else:
        farness[nearest[0]] = -value
        sink(nearest, farness, 0, most)
    return min(limit, -farness[nearest[0]]) if known + 1 >= most else limit


@kernel
def line_of_spheres(world, a, b):
    """Unit vector along the line of the spheres' centres; any where they are one."""
    n = sub(
        (world.spheres[b, 0], world.spheres[b, 1], world.spheres[b, 2]),
        (world.spheres[a, 0], world.spheres[a, 1], world.spheres[a, 2]),
    )
    length = norm(n)
    return scale(1.0 / length, n) if length > 0.0 else (0.0, 0.0, 1.0)


@kernel
def origins_apart(world, a, b):
    """Vector from the origin of body A to that of body B."""
    pose_a, pose_b = world.poses[a], world.poses[b]
    return (pose_b[0, 3] - pose_a[0, 3], pose_b[1, 3] - pose_a[1, 3], pose_b[2, 3] - pose_a[2, 3])


@kernel(forceinline=True)
def lost(packed, world, a, b):
    """What the products that gave the poses of two bodies add to the allowance of their distance, m."""
    loss = world.losses[a] + world.losses[b]
    endless_a, endless_b = world.spheres[a, 3] == math.inf, world.spheres[b, 3] == math.inf
    if loss > 0.0 and endless_a != endless_b:
        other = b if endless_a else a
        loss += turn_of_plane(packed[other, RADIUS], norm(origins_apart(world, a, b)))
    return loss


@kernel
def certified_width(packed, world, a, b, rounding, tolerance):
    """What a certified answer may lie below a bound: the width of its interval, and what rounding takes from bounds."""
    loss = lost(packed, world, a, b)
    if world.spheres[a, 3] == math.inf:
        a = b
    elif world.spheres[b, 3] == math.inf:
        b = a
    width = gap_tolerance(packed[a], packed[b], origins_apart(world, a, b), tolerance)
    return width + rounding + 2.0 * loss


@kernel
def size_of_smaller(packed, world, a, b):
    """Size of the smaller of two bodies, a half-space being none."""
    if world.spheres[a, 3] == math.inf:
        return packed[b, SIZE]
    return packed[a, SIZE] if world.spheres[b, 3] == math.inf else min(packed[a, SIZE], packed[b, SIZE])


@kernel
def widen(out, loss, wanted):
    """Widen the interval of an answer; `wanted` is the width that certifies it without rounding."""
    if loss > 0.0:
        out[LOWER] -= loss
        out[UPPER] += loss
        if 4.0 * loss > wanted and not int(out[STATUS]) & PRECISION:
            out[STATUS] += PRECISION


@kernel
def sphere_gap(world, a, b):
    """Distance of the bounding spheres of two bodies; -inf for two half-spaces."""
    sphere_a, sphere_b = world.spheres[a], world.spheres[b]
    if sphere_a[3] + sphere_b[3] < math.inf:
        dx, dy, dz = sphere_a[0] - sphere_b[0], sphere_a[1] - sphere_b[1], sphere_a[2] - sphere_b[2]
        return math.sqrt(dx * dx + dy * dy + dz * dz) - sphere_a[3] - sphere_b[3]
    if sphere_b[3] < math.inf:
        return height_above(world.poses[a], sphere_b) - sphere_b[3]
    return -math.inf if sphere_a[3] == math.inf else height_above(world.poses[b], sphere_a) - sphere_a[3]


@kernel
def line_up(local, world, scratch, count, limit, rounding, tolerance):
    """Put the candidates that may be within the limit in a heap, by their bounds; return how many they are."""
    left = 0
    for k in range(count):
        a, b = scratch.candidates[k, 0], scratch.candidates[k, 1]
        bound = sphere_gap(world, a, b) - certified_width(local.packed, world, a, b, rounding, tolerance)
        if bound <= limit:
            scratch.bounds[k] = bound
            # The answer for a half-space takes no longer than a better bound.
            endless = world.spheres[a, 3] + world.spheres[b, 3] == math.inf
            scratch.stages[k] = SUPPORTED if endless else SPHERES
            scratch.waiting[left] = k
            left += 1
    for i in range(left // 2 - 1, -1, -1):
        sink(scratch.waiting, scratch.bounds, i, left)
    return left


@kernel
def raise_bound(local, world, scratch, k, left, gap, rounding, tolerance, stage):
    """Give the first of the waiting candidates, k, the bound that a gap is."""
    a, b = scratch.candidates[k, 0], scratch.candidates[k, 1]
    bound = gap - certified_width(local.packed, world, a, b, rounding, tolerance)
    scratch.bounds[k] = max(scratch.bounds[k], bound)
    scratch.stages[k] = stage
    sink(scratch.waiting, scratch.bounds, 0, left)


@kernel
def next_step(local, world, scratch, k, left, limit, rounding, tolerance):
    """What to do with the first of the waiting candidates, k; a bound by its boxes is found here."""
    stage = scratch.stages[k]
    if stage == SPHERES:
        a, b = scratch.candidates[k, 0], scratch.candidates[k, 1]
        gap = gap_of_oriented_boxes(local, world, a, b, limit, rounding)
        raise_bound(local, world, scratch, k, left, gap, rounding, tolerance, BOXES)
        return RAISED
    return SUPPORT if stage == BOXES and scratch.bounds[k] < 0.0 else SOLVE


@kernel(forceinline=True)
def keep(scratch, found, a, b, best_first, most, limit, overlapping_only, counts):
    """Keep the answer in row `found` for a pair if it is wanted.

    Returns how many there are then, and the limit for others: what it was or, best first and once `most` are known, the
    largest distance of the closest ones.
    """
    counts[SOLVED] += 1
    distance = scratch.out[found, DISTANCE]
    if distance < 0.0:
        counts[INTERSECTING] += 1
    elif overlapping_only:
        return found, limit
    if not distance <= limit:
        return found, limit
    scratch.keys.values[found] = distance
    scratch.keys.pairs[found, 0] = a
    scratch.keys.pairs[found, 1] = b
    if best_first:
        limit = lower_limit(scratch.nearest, scratch.farness, found, most, limit, distance)
    return found + 1, limit


@kernel
def _reach(row, vertices, n):
    """How far a body, no half-space, reaches along a direction of its frame."""
    height, _ = body_support(Core(row, kind_of(row), vertices), n)
    return height


@kernel
def _support_gap(packed, vertices, world, a, b, n):
    """Gap of two bodies, neither a half-space, along a direction: a lower bound of their signed distance."""
    ahead = _reach(packed[a], vertices, rotate_back(world.poses[a], n))
    behind = _reach(packed[b], vertices, rotate_back(world.poses[b], scale(-1.0, n)))
    return dot(n, origins_apart(world, a, b)) - ahead - behind


class Wanted(NamedTuple):
    """Which answers are wanted, and how good."""

    most: int  # so many of the closest pairs
    max_distance: float  # largest distance, m
    overlapping_only: bool
    rounding: float  # what it may take from bounds, m
    tolerance: float
    budget: int


@kernel(nogil=True, separate=True)
def answer_pair(local, vertices, world, a, b, limit, wanted, pool, rotation, out):
    """Answer for two bodies of the scene from what is kept of the pair; beyond the limit only that is known."""
    packed, state = local.packed, pool.states[slot_of(pool, pair_key(a, b))]
    first, second = Placed(packed[a], vertices, world.poses[a]), Placed(packed[b], vertices, world.poses[b])
    ends = Limit(wanted.tolerance, wanted.budget, max(limit, 0.0), -math.inf)  # the sign is always known
    solve_within(first, second, ends, state, rotation, out)
    widen(out, lost(packed, world, a, b), wanted.tolerance * size_of_smaller(packed, world, a, b))


@entry_point(nogil=True, separate=True)
def solve(
    local: Local,
    vertices: Floats1,
    world: World,
    found: int,
    count: int,
    wanted: Wanted,
    pool: WarmStarts,
    scratch: Scratch,
    counts: Ints1,
) -> int:
    """Solve candidates and keep those no farther than `max_distance`, by distance; this ends the query.

    All are solved if `most` is no less than the number of them and of those `found`, which are kept already
    (`first_try`); else, with none kept, those that may be among so many closest ones.
    `vertices` has the vertices and trees that the rows of meshes refer to.
    Returns the number of rows kept; of `scratch.keys.order[:number]` each names a row of `scratch.out` and
    `scratch.keys`.
    """
    most, max_distance, overlapping_only, rounding, tolerance, _ = wanted
    packed = local.packed
    limit = max_distance
    best_first = most < found + count
    left = line_up(local, world, scratch, count, limit, rounding, tolerance) if best_first else count
    while left > 0:
        k = scratch.waiting[0] if best_first else count - left
        a, b = scratch.candidates[k, 0], scratch.candidates[k, 1]
        if best_first:
            if scratch.bounds[k] > limit:
                break
            step = next_step(local, world, scratch, k, left, limit, rounding, tolerance)
            if step == RAISED:
                continue
            if step == SUPPORT:
                n = line_of_spheres(world, a, b)
                gap = _support_gap(packed, vertices, world, a, b, n)
                raise_bound(local, world, scratch, k, left, gap, rounding, tolerance, SUPPORTED)
                counts[BOUNDED] += 1
                continue
            left = without_first(scratch.waiting, scratch.bounds, left)
        else:
            left -= 1
        out = scratch.out[found]
        answer_pair(local, vertices, world, a, b, limit, wanted, pool, scratch.rotation, out)
        found, limit = keep(scratch, found, a, b, best_first, most, limit, overlapping_only, counts)
    sort(scratch.keys, found)
    return found
