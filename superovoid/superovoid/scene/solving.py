# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Candidates of a query to rows of results: of each group of them all, or the k closest.

Where a query has many candidates, most are apart: Newton's method and a certificate in closed form are all that is
needed. SIMD lanes (`contact.lanes`) do both for many pairs at once, in a scene from the points of its last answers.

If of a group the k closest alone are wanted, its candidates wait in a heap under a proved lower bound of their
distances: that of the bounding spheres and, if it is the first, that of the oriented boxes. The first is solved, until
k pairs are known that are no farther than the least bound left. The bounds are lowered by the width of a certified
interval, so that no answer that is certified can be below its bound: what is left out would have come behind the k
closest, and equal distances keep their order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.arrays import Floats1, Floats2, Ints1, Ints2
from superovoid.compiled.kernels import bundle, entry_point, kernel
from superovoid.compiled.row_heap import lift, sink, without_first
from superovoid.compiled.vector import norm
from superovoid.contact.columns import DISTANCE, LOWER, RESULT_LENGTH, STATUS, UPPER
from superovoid.contact.kind_table import solve_within
from superovoid.contact.lanes import many_pairs, newton_lanes
from superovoid.contact.pair import Limit, Placed
from superovoid.contact.superovoids import newton
from superovoid.contact.superovoids.certificate import gap_tolerance
from superovoid.scene.culling import BOUNDED, INTERSECTING, SOLVED, Local, World, gap_of_oriented_boxes, height_above
from superovoid.scene.pair_table import WarmStarts, pair_key, slot_of
from superovoid.shapes.kernels.kinds import KIND, SUPEROVOID, is_sphere
from superovoid.shapes.kernels.rounding import turn_of_plane
from superovoid.shapes.kernels.surface import RADIUS, SIZE
from superovoid.values.status import PRECISION

LEAST = 48
"""Candidates for lanes in a query of a scene, from which on these are worth while."""

NEW, BOXES, CLOSED, CONTACT, BEYOND, FAILED = 0, 1, 2, 3, 4, 5
"""What is known of a candidate: nothing; the bound of its boxes; from lanes: the answer; a contact whose interval is
open; that it is beyond its limit; no more than before."""

_POINTS = 2 * newton_lanes.POINT_LENGTH


@bundle
class Candidates(NamedTuple):
    """Pairs of bodies whose distances may be wanted, one row each, and what is known of them."""

    pairs: Ints2
    states: Ints1  # of the robot; 0 in a scene
    groups: Ints1
    bounds: Floats1  # of the distance, from below
    stages: Ints1
    limits: Floats1  # of the distance: beyond it lanes need not answer
    out: Floats2  # the answer of lanes; of a contact that is open its proved interval
    points: Floats2  # of that contact
    asked: Ints1  # rows for lanes


def candidates_for(rows: int) -> Candidates:
    """Memory for so many candidates."""
    return Candidates(
        np.empty((rows, 2), np.int64),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.empty(rows),
        np.zeros(rows, np.int64),
        np.empty(rows),
        np.empty((rows, RESULT_LENGTH)),
        np.empty((rows, _POINTS)),
        np.empty(rows, np.int64),
    )


@bundle
class Lanes(NamedTuple):
    """Memory of the lanes."""

    block: Floats1
    newton: Floats1
    running: Ints1  # which pair of the block is in which lane


def lanes_for(candidates: int) -> Lanes:
    """Memory for queries of so many candidates, none if lanes are not worth while."""
    used = candidates >= LEAST
    block, lanes = np.zeros(used * many_pairs.LENGTH), np.zeros(used * newton_lanes.LENGTH)
    return Lanes(block, lanes, np.empty(used * many_pairs.WIDTH, np.int64))


@bundle
class Scratch(NamedTuple):
    """Memory of the answers of a query, one row each (and a matrix)."""

    waiting: Ints1  # heap of candidates
    nearest: Ints1  # heap of the least distances known
    farness: Floats1  # minus these distances
    out: Floats2
    keys: Keys  # of the rows of `out`: their distances and pairs
    rotation: Floats2


def scratch_for(rows: int) -> Scratch:
    """Memory for so many answers."""
    numbers = np.empty(rows, np.int64), np.empty(rows, np.int64)
    return Scratch(*numbers, np.empty(rows), np.empty((rows, RESULT_LENGTH)), keys_for(rows), np.empty((3, 3)))


class Wanted(NamedTuple):
    """Which answers are wanted, and how good."""

    most: int  # so many of the closest pairs of each group
    max_distance: float  # largest distance, m
    overlapping_only: bool
    rounding: float  # what it may take from bounds, m
    tolerance: float
    budget: int


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
def is_before(keys, i, j):
    """Whether row i comes before row j."""
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
                if i < middle and (j == end or not is_before(keys, order[j], order[i])):
                    merged[k] = order[i]
                    i += 1
                else:
                    merged[k] = order[j]
                    j += 1
        for k in range(count):
            order[k] = merged[k]
        run *= 2


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


# -- lanes ---------------------------------------------------------------------------------------------------------


@kernel
def is_for_lanes(a, b):
    """Whether lanes may answer a pair: superovoids, but not two spheres."""
    return a[KIND] == SUPEROVOID and b[KIND] == SUPEROVOID and not (is_sphere(a) and is_sphere(b))


@kernel(forceinline=True)
def _store(block, i, rows, row, tolerance):
    """Note what lanes have found of a pair of the block."""
    phase, out = block[many_pairs.PHASE + i], rows.out[row]
    if many_pairs.store_row(block, i, tolerance, out):
        rows.stages[row], rows.bounds[row] = CLOSED, out[DISTANCE]
    elif phase == newton.BEYOND:
        rows.stages[row] = BEYOND
    elif phase == newton.CONVERGED:
        rows.stages[row] = CONTACT
        lower, upper = block[many_pairs.LOWER + i], block[many_pairs.UPPER + i]
        is_known = lower <= upper  # false for NaN
        out[LOWER], out[UPPER] = (lower, upper) if is_known else (-math.inf, math.inf)
    else:
        rows.stages[row] = FAILED
    many_pairs.store_points(block, i, rows.points[row])


@kernel(nogil=True, separate=True)
def ask_lanes(local, poses, rows, count, tolerance, pool, is_warm, lanes):
    """Have lanes answer the first `count` candidates of `rows.asked`.

    `poses` are those of the bodies in each state. Lanes begin with the points of earlier answers, or with none: then an
    answer depends on its pair and poses alone.
    """
    block, packed = lanes.block, local.packed
    for first in range(0, count, many_pairs.CHUNK):
        filled = min(many_pairs.CHUNK, count - first)
        for i in range(filled):
            row = rows.asked[first + i]
            state, a, b = rows.states[row], rows.pairs[row, 0], rows.pairs[row, 1]
            many_pairs.load_bodies(block, i, packed[a], packed[b], poses[state, a], poses[state, b])
            block[many_pairs.LIMIT + i] = rows.limits[row]
        for i in range(filled):
            row = rows.asked[first + i]
            state, a, b = rows.states[row], rows.pairs[row, 0], rows.pairs[row, 1]
            many_pairs.load_poses(block, i, poses[state, a], poses[state, b])
            if is_warm:
                many_pairs.load_points(block, i, pool.states[slot_of(pool, pair_key(a, b))])
            else:
                many_pairs.load_no_points(block, i)
        many_pairs.prepare(block, filled, tolerance)
        many_pairs.converge(lanes.newton, lanes.running, block, filled)
        many_pairs.prove(block, filled)
        for i in range(filled):
            _store(block, i, rows, rows.asked[first + i], tolerance)


# -- candidates of a group -------------------------------------------------------------------------------------------


@kernel
def bound_by_boxes(local, world, rows, row, limit, rounding, tolerance):
    """Give a candidate the bound of its oriented boxes. Of a half-space the answer takes no longer."""
    a, b = rows.pairs[row, 0], rows.pairs[row, 1]
    if world.spheres[a, 3] + world.spheres[b, 3] < math.inf:
        gap = gap_of_oriented_boxes(local, world, a, b, limit, rounding)
        gap -= certified_width(local.packed, world, a, b, rounding, tolerance)
        rows.bounds[row] = max(rows.bounds[row], gap)
    rows.stages[row] = BOXES


@kernel
def bound_by_spheres(local, world, rows, row, rounding, tolerance):
    """Give a candidate the bound of its bounding spheres."""
    a, b = rows.pairs[row, 0], rows.pairs[row, 1]
    rows.bounds[row] = sphere_gap(world, a, b) - certified_width(local.packed, world, a, b, rounding, tolerance)


@kernel
def _line_up(local, world, rows, begin, end, wanted, heap):
    """Put the candidates that may be wanted in a heap, by their bounds; return how many they are."""
    left = 0
    for row in range(begin, end):
        if rows.stages[row] == NEW:
            bound_by_spheres(local, world, rows, row, wanted.rounding, wanted.tolerance)
        elif rows.stages[row] == CONTACT:
            a, b = rows.pairs[row, 0], rows.pairs[row, 1]
            width = certified_width(local.packed, world, a, b, wanted.rounding, wanted.tolerance)
            rows.bounds[row] = max(rows.bounds[row], rows.out[row, LOWER] - width)
        if rows.stages[row] != BEYOND and rows.bounds[row] <= wanted.max_distance:
            heap[left] = row
            left += 1
    for i in range(left // 2 - 1, -1, -1):
        sink(heap, rows.bounds, i, left)
    return left


@kernel(forceinline=True)
def _keep(scratch, found, a, b, best_first, base, wanted, limit, counts):
    """Keep the answer in row `found` for a pair if it is wanted; return how many rows there are then.

    Returns also the limit for others: what it was or, best first and once `most` are known, the largest distance of the
    closest ones.
    """
    distance = scratch.out[found, DISTANCE]
    if distance < 0.0:
        counts[INTERSECTING] += 1
    elif wanted.overlapping_only:
        return found, limit
    if not distance <= limit:
        return found, limit
    scratch.keys.values[found] = distance
    scratch.keys.pairs[found, 0] = a
    scratch.keys.pairs[found, 1] = b
    if best_first:
        known = found - base
        limit = lower_limit(scratch.nearest, scratch.farness, known, wanted.most, limit, distance)
    return found + 1, limit


@kernel(nogil=True, separate=True)
def _answer(local, vertices, world, rows, row, limit, wanted, pool, rotation, out):
    """Answer a candidate from what lanes or earlier answers have found; beyond the limit only that is known."""
    packed, a, b = local.packed, rows.pairs[row, 0], rows.pairs[row, 1]
    state, stage = pool.states[slot_of(pool, pair_key(a, b))], rows.stages[row]
    if stage == CLOSED or stage == CONTACT:
        for j in range(_POINTS):
            state[j] = rows.points[row, j]
    if stage == CLOSED:
        for j in range(RESULT_LENGTH):
            out[j] = rows.out[row, j]
    else:
        first, second = Placed(packed[a], vertices, world.poses[a]), Placed(packed[b], vertices, world.poses[b])
        ends = Limit(wanted.tolerance, wanted.budget, max(limit, 0.0), -math.inf)  # the sign is always known
        solve_within(first, second, ends, state, rotation, out)
    widen(out, lost(packed, world, a, b), wanted.tolerance * size_of_smaller(packed, world, a, b))


@kernel(nogil=True, separate=True)
def solve_group(local, vertices, world, rows, begin, end, found, wanted, pool, scratch, counts):
    """Answer candidates from row `begin` to before `end`: all, or those that may be among the `most` closest.

    Those no farther than `max_distance` are kept behind `found` answers; returns how many there are then.
    """
    base, limit, best_first = found, wanted.max_distance, wanted.most < end - begin
    left = _line_up(local, world, rows, begin, end, wanted, scratch.waiting) if best_first else end - begin
    counts[BOUNDED] += end - begin - left
    while left > 0:
        row = scratch.waiting[0] if best_first else end - left
        if best_first:
            if rows.bounds[row] > limit:
                counts[BOUNDED] += left
                break
            if rows.stages[row] == NEW:
                bound_by_boxes(local, world, rows, row, limit, wanted.rounding, wanted.tolerance)
                sink(scratch.waiting, rows.bounds, 0, left)
                continue
            left = without_first(scratch.waiting, rows.bounds, left)
        else:
            left -= 1
        counts[SOLVED] += 1
        if rows.stages[row] == BEYOND:
            continue
        _answer(local, vertices, world, rows, row, limit, wanted, pool, scratch.rotation, scratch.out[found])
        a, b = rows.pairs[row, 0], rows.pairs[row, 1]
        found, limit = _keep(scratch, found, a, b, best_first, base, wanted, limit, counts)
    return found


@entry_point(nogil=True, separate=True)
def solve(
    local: Local,
    vertices: Floats1,
    world: World,
    count: int,
    wanted: Wanted,
    pool: WarmStarts,
    rows: Candidates,
    scratch: Scratch,
    counts: Ints1,
    lanes: Lanes,
) -> int:
    """Answer the first candidates of a scene, as one group; this ends the query.

    `vertices` has the vertices and trees that the rows of meshes refer to.
    Returns the number of answers kept; of `scratch.keys.order[:number]` each names a row of `scratch.out` and
    `scratch.keys`.
    """
    asked = 0
    for row in range(count):
        rows.stages[row] = NEW
        if count <= wanted.most and is_for_lanes(local.packed[rows.pairs[row, 0]], local.packed[rows.pairs[row, 1]]):
            rows.limits[row], rows.asked[asked] = math.inf, row
            asked += 1
    if asked >= LEAST:
        poses = world.poses.reshape((1, world.poses.shape[0], 4, 4))
        ask_lanes(local, poses, rows, asked, wanted.tolerance, pool, True, lanes)
    found = solve_group(local, vertices, world, rows, 0, count, 0, wanted, pool, scratch, counts)
    sort(scratch.keys, found)
    return found
