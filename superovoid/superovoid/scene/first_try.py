# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Candidates of a query that close at the first try, in SIMD lanes; the others are left to `solving.solve`.

Where a query has many candidates, and answers all of them, most are apart: Newton's method and a certificate in closed
form are all that is needed. `contact.lanes` does both for many pairs at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superovoid.compiled.arrays import Floats1, Ints1, Ints2
from superovoid.compiled.kernels import bundle, entry_point, kernel
from superovoid.contact.lanes import many_pairs, newton_lanes
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
    used = pairs >= LEAST
    return Lanes(
        np.zeros(used * many_pairs.LENGTH),
        np.zeros(used * newton_lanes.LENGTH),
        np.empty(used * many_pairs.WIDTH, np.int64),
        np.empty((used * many_pairs.CHUNK, 2), np.int64),
        np.empty(used * many_pairs.CHUNK, np.int64),
    )


@kernel(forceinline=True)
def _leave(scratch, left, a, b):
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
            is_for_lanes = packed[a, KIND] == SUPEROVOID and packed[b, KIND] == SUPEROVOID
            if is_for_lanes and not (is_sphere(packed[a]) and is_sphere(packed[b])):
                lanes.pairs[filled, 0] = a
                lanes.pairs[filled, 1] = b
                lanes.slots[filled] = slot_of(pool, pair_key(a, b))
                filled += 1
            else:
                left = _leave(scratch, left, a, b)
        if filled < _LEAST_IN_BLOCK:
            for i in range(filled):
                left = _leave(scratch, left, lanes.pairs[i, 0], lanes.pairs[i, 1])
            continue
        for i in range(filled):
            a, b = lanes.pairs[i, 0], lanes.pairs[i, 1]
            many_pairs.load_bodies(block, i, packed[a], packed[b], poses[a], poses[b])
        for i in range(filled):
            many_pairs.load_poses(block, i, poses[lanes.pairs[i, 0]], poses[lanes.pairs[i, 1]])
        for i in range(filled):
            many_pairs.load_points(block, i, pool.states[lanes.slots[i]])
        many_pairs.prepare(block, filled, tolerance)
        many_pairs.converge(lanes.newton, lanes.running, block, filled)
        many_pairs.prove(block, filled)
        for i in range(filled):
            a, b = lanes.pairs[i, 0], lanes.pairs[i, 1]
            state, out = pool.states[lanes.slots[i]], scratch.out[found]
            bodies = packed[a], packed[b], poses[a], poses[b]
            if many_pairs.store_pair(block, i, tolerance, state, out) or many_pairs.close_contact(
                block, i, *bodies, tolerance, wanted.budget, state, scratch.rotation, out
            ):
                widen(out, lost(packed, world, a, b), tolerance * size_of_smaller(packed, world, a, b))
                found, _ = keep(
                    scratch, found, a, b, False, wanted.most, wanted.max_distance, wanted.overlapping_only, counts
                )
            else:
                left = _leave(scratch, left, a, b)
    return found, left


@kernel
def answer_at_first_try(local, world, count, wanted, pool, scratch, counts, lanes):
    """Rows kept and candidates left: of `answer_first`, where there is memory for lanes and they are worth while."""
    if count < LEAST or wanted.most < count or lanes.block.shape[0] == 0:
        return 0, count
    return answer_first(local, world, count, wanted, pool, scratch, counts, lanes)
