# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Candidates of a query that close at the first try, in SIMD lanes; the others are left to `solving.solve`.

Where a query has many candidates, and answers all of them, most are apart: Newton's method and a certificate in closed
form are all that is needed. `contact.lanes` does both for many pairs at once. A query of a scene begins at the points
of its last answers (`answer_first`), loops over states begin from nothing (`answer_tasks`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.arrays import Floats1, Floats2, Ints1, Ints2
from superovoid.compiled.kernels import bundle, entry_point, kernel
from superovoid.contact.columns import LOWER, RESULT_LENGTH, UPPER
from superovoid.contact.lanes import many_pairs, newton_lanes
from superovoid.contact.superovoids import newton
from superovoid.scene.culling import Local, World
from superovoid.scene.pair_table import WarmStarts, pair_key, slot_of
from superovoid.scene.solving import Scratch, Wanted, keep, lost, size_of_smaller, widen
from superovoid.shapes.kernels.kinds import KIND, SUPEROVOID, is_sphere

LEAST = 48
"""Candidates of a query from which on lanes are worth while."""
_LEAST_IN_BLOCK = np.int64(16)  # of the last block of a query


@bundle
class Lanes(NamedTuple):
    """Memory of the lanes; without rows if queries have too few candidates for lanes."""

    block: Floats1
    newton: Floats1
    running: Ints1  # which pair of the block is in which lane
    pairs: Ints2  # of the block
    slots: Ints1  # of their warm starts


def lanes_for(pairs: int) -> Lanes:
    """Return memory for queries of so many pairs."""
    return new_lanes(pairs >= LEAST)


def new_lanes(used: bool = True) -> Lanes:
    """Return memory of lanes, without rows if they are not used."""
    return Lanes(
        np.zeros(used * many_pairs.LENGTH),
        np.zeros(used * newton_lanes.LENGTH),
        np.empty(used * many_pairs.WIDTH, np.int64),
        np.empty((used * many_pairs.CHUNK, 2), np.int64),
        np.empty(used * many_pairs.CHUNK, np.int64),
    )


@kernel
def is_for_lanes(packed, a, b):
    """Whether lanes may answer a pair: superovoids, but for two spheres, whose answer is in closed form."""
    both = packed[a, KIND] == SUPEROVOID and packed[b, KIND] == SUPEROVOID
    return both and not (is_sphere(packed[a]) and is_sphere(packed[b]))


@kernel(forceinline=True)
def leave(scratch, left, a, b):
    """Leave a pair to the solver; return how many are."""
    scratch.candidates[left, 0] = a
    scratch.candidates[left, 1] = b
    return left + 1


@entry_point(nogil=True, separate=True)
def answer_first(
    local: Local,
    world: World,
    count: int,
    wanted: Wanted,
    pool: WarmStarts,
    scratch: Scratch,
    counts: Ints1,
    lanes: Lanes,
) -> tuple[int, int]:
    """Answer what closes in lanes of the first `count` candidates of `scratch`, and keep what is wanted.

    Returns how many rows are kept, and how many candidates are left: these are then the first ones of `scratch`.
    """
    block, tolerance = lanes.block, wanted.tolerance
    packed, poses = local.packed, world.poses
    found = left = following = 0
    while following < count:
        filled = 0
        while following < count and filled < many_pairs.CHUNK:
            a, b = scratch.candidates[following, 0], scratch.candidates[following, 1]
            following += 1
            if is_for_lanes(packed, a, b):
                lanes.pairs[filled, 0] = a
                lanes.pairs[filled, 1] = b
                lanes.slots[filled] = slot_of(pool, pair_key(a, b))
                filled += 1
            else:
                left = leave(scratch, left, a, b)
        if filled < _LEAST_IN_BLOCK:
            for i in range(filled):
                left = leave(scratch, left, lanes.pairs[i, 0], lanes.pairs[i, 1])
            continue
        for i in range(filled):
            a, b = lanes.pairs[i, 0], lanes.pairs[i, 1]
            many_pairs.load_bodies(block, i, packed[a], packed[b], poses[a], poses[b])
        for i in range(filled):
            many_pairs.load_poses(block, i, poses[lanes.pairs[i, 0]], poses[lanes.pairs[i, 1]])
        for i in range(filled):
            many_pairs.load_points(block, i, pool.states[lanes.slots[i]])
            block[many_pairs.LIMIT + i] = math.inf
        many_pairs.prepare(block, filled, tolerance)
        many_pairs.converge(lanes.newton, lanes.running, block, filled)
        many_pairs.prove(block, filled)
        for i in range(filled):
            a, b = lanes.pairs[i, 0], lanes.pairs[i, 1]
            state, out = pool.states[lanes.slots[i]], scratch.out[found]
            if many_pairs.store_pair(block, i, tolerance, state, out):
                widen(out, lost(packed, world, a, b), tolerance * size_of_smaller(packed, world, a, b))
                found, _ = keep(
                    scratch, found, a, b, False, wanted.most, wanted.max_distance, wanted.overlapping_only, counts
                )
            else:
                left = leave(scratch, left, a, b)
    return found, left


# --- pairs of many states -------------------------------------------------------------------------------------------

CLOSED, CONTACT, FAILED, BEYOND = 0, 1, 2, 3
"""How lanes leave a task: answered; at a contact whose interval is open; without one; proved to be beyond its limit."""


@bundle
class Tasks(NamedTuple):
    """Pairs of bodies in several states, one row a pair, and what lanes found."""

    states: Ints1
    pairs: Ints2
    limits: Floats1  # of the distance: beyond it only that is wanted
    ends: Ints1  # -1 for a row that had none yet
    out: Floats2  # the answer; of a contact that is open its proved interval
    points: Floats2  # of a contact that is open


def tasks_for(rows: int) -> Tasks:
    """Memory for so many tasks."""
    return Tasks(
        np.empty(rows, np.int64),
        np.empty((rows, 2), np.int64),
        np.empty(rows),
        np.full(rows, -1),
        np.empty((rows, RESULT_LENGTH)),
        np.empty((rows, 2 * newton_lanes.POINT_LENGTH)),
    )


@kernel
def pose_task(tasks, row, state, a, b, limit):
    """Ask for a pair in a state; return how many tasks there are."""
    tasks.states[row] = state
    tasks.pairs[row, 0], tasks.pairs[row, 1] = a, b
    tasks.limits[row] = limit
    return row + 1


@kernel(forceinline=True)
def _store_task(block, i, tasks, row, tolerance):
    if many_pairs.store_row(block, i, tolerance, tasks.out[row]):
        tasks.ends[row] = CLOSED
        return
    tasks.out[row, LOWER], tasks.out[row, UPPER] = -math.inf, math.inf
    phase = block[many_pairs.PHASE + i]
    if phase == newton.BEYOND:
        tasks.ends[row] = BEYOND
    elif phase == newton.CONVERGED:
        tasks.ends[row] = CONTACT
        many_pairs.store_points(block, i, tasks.points[row])
        lower, upper = block[many_pairs.LOWER + i], block[many_pairs.UPPER + i]
        if lower <= upper:  # false for NaN
            tasks.out[row, LOWER], tasks.out[row, UPPER] = lower, upper
    else:
        tasks.ends[row] = FAILED


@kernel(nogil=True, separate=True)
def answer_tasks(local, poses, tasks, begin, end, tolerance, lanes):
    """Have lanes answer some rows of tasks from nothing, so that an answer depends on its pair and poses alone.

    `poses` are those of the bodies in each state.
    """
    block, packed = lanes.block, local.packed
    for first in range(begin, end, many_pairs.CHUNK):
        count = min(many_pairs.CHUNK, end - first)
        for i in range(count):
            state, a, b = tasks.states[first + i], tasks.pairs[first + i, 0], tasks.pairs[first + i, 1]
            many_pairs.load_bodies(block, i, packed[a], packed[b], poses[state, a], poses[state, b])
            block[many_pairs.LIMIT + i] = tasks.limits[first + i]
        for i in range(count):
            state, a, b = tasks.states[first + i], tasks.pairs[first + i, 0], tasks.pairs[first + i, 1]
            many_pairs.load_poses(block, i, poses[state, a], poses[state, b])
        for i in range(count):
            many_pairs.load_no_points(block, i)
        many_pairs.prepare(block, count, tolerance)
        many_pairs.converge(lanes.newton, lanes.running, block, count)
        many_pairs.prove(block, count)
        for i in range(count):
            _store_task(block, i, tasks, first + i, tolerance)


@kernel
def take_points(tasks, row, pool):
    """Have the solver begin at the contact that lanes have left open of a task, if they have found one."""
    if tasks.ends[row] == CONTACT:
        state = pool.states[slot_of(pool, pair_key(tasks.pairs[row, 0], tasks.pairs[row, 1]))]
        for j in range(2 * newton_lanes.POINT_LENGTH):
            state[j] = tasks.points[row, j]
