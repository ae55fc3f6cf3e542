# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Is any pair of a list closer than a threshold? Pair after pair, until one is.

The list is kept in an order of its own: a pair that was closer moves to the front, so that what overlapped last is
asked first. The order changes no verdict, only which pair is named.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.arrays import Floats1, Floats2, Ints1, Ints2
from superovoid.compiled.kernels import bundle, entry_point, kernel
from superovoid.contact.columns import RESULT_LENGTH, STATE_LENGTH, VERDICT_LENGTH
from superovoid.contact.deciding import ALL, CLOSER, FARTHER, PROBE, REST, UNDECIDED, decide_within
from superovoid.contact.pair import Limit, Placed
from superovoid.scene.culling import Local, World, bounding_spheres_within, oriented_boxes_within, place
from superovoid.scene.solving import lost

_TOGETHER = 64  # pairs in the order that are asked by cheap proofs before one of them is asked by others


class Asked(NamedTuple):
    """What is asked about every pair."""

    threshold: float  # m
    tolerance: float
    budget: int


@bundle
class PairMemory(NamedTuple):
    """What is kept of the pairs of a list from state to state, one row a pair, or one for all where they are many."""

    order: Ints1  # of the pairs
    left: Ints1  # places in this order of what is open
    states: Floats2
    directions: Floats2
    rotation: Floats2
    out: Floats1
    row: Floats1


def pair_memory(pairs: int, kept: int) -> PairMemory:
    """Memory for a list of pairs, of which each has a row where they are no more than `kept`."""
    rows = max(pairs, 1) if pairs <= kept else 1
    return PairMemory(
        np.arange(pairs),
        np.empty(pairs, np.int64),
        np.zeros((rows, STATE_LENGTH)),
        np.zeros((rows, 3)),
        np.empty((3, 3)),
        np.empty(RESULT_LENGTH),
        np.empty(VERDICT_LENGTH),
    )


@entry_point
def forget(memory: PairMemory) -> None:
    """Make memory what it was when it was new."""
    for i in range(memory.order.shape[0]):
        memory.order[i] = i
    memory.states[:] = 0.0
    memory.directions[:] = 0.0


@kernel(nogil=True, separate=True)
def verdict_on(local, vertices, world, pairs, pair, asked, effort, memory):
    """The verdict on one pair of a list, from where that pair ended the time before."""
    kept = memory.states.shape[0] >= pairs.shape[0]
    k = pair if kept else 0
    if not kept:
        memory.states[0, :] = 0.0
        memory.directions[0, :] = 0.0
    a, b = pairs[pair, 0], pairs[pair, 1]
    first = Placed(local.packed[a], vertices, world.poses[a])
    second = Placed(local.packed[b], vertices, world.poses[b])
    loss = lost(local.packed, world, a, b)
    limit = Limit(asked.tolerance, asked.budget, math.inf)
    direction, state, scratch = memory.directions[k], memory.states[k], (memory.rotation, memory.out)
    return decide_within(first, second, asked.threshold, limit, loss, effort, direction, state, scratch, memory.row)


@kernel
def _to_the_front(order, position):
    pair = order[position]
    for i in range(position, 0, -1):
        order[i] = order[i - 1]
    order[0] = pair


@kernel(nogil=True, separate=True)
def is_front_closer(local, vertices, link, link_poses, posed, world, pairs, asked, memory):
    """Whether the first pair in the order is proved closer; only its two bodies are put where their links are."""
    if pairs.shape[0] == 0:
        return False
    pair = memory.order[0]
    a, b = pairs[pair, 0], pairs[pair, 1]
    if not (posed[link[a]] and posed[link[b]]):
        return False
    rounding = max(
        place(local, a, link_poses[link[a]], world),
        place(local, b, link_poses[link[b]], world),
    )
    if not bounding_spheres_within(world, a, b, asked.threshold + rounding):
        return False
    return verdict_on(local, vertices, world, pairs, pair, asked, PROBE, memory) == CLOSER


@entry_point(nogil=True, separate=True)
def first_closer(
    local: Local, vertices: Floats1, world: World, pairs: Ints2, asked: Asked, rounding: float, memory: PairMemory
) -> tuple[int, int, int]:
    """Look for a pair that is proved closer; of some pairs at a time by a cheap proof first, which may save the others.

    Returns
    -------
    The verdict on all pairs (CLOSER: on one of them); the row of the pair that it is from, -1 for FARTHER; how many
    pairs were looked at more closely than by their boxes.
    """
    limit = asked.threshold
    open_pair, looked = -1, 0
    for start in range(0, pairs.shape[0], _TOGETHER):
        left = 0
        for position in range(start, min(start + _TOGETHER, pairs.shape[0])):
            pair = memory.order[position]
            a, b = pairs[pair, 0], pairs[pair, 1]
            if not bounding_spheres_within(world, a, b, limit + rounding):
                continue
            if not oriented_boxes_within(local, world, a, b, limit, rounding):
                continue
            looked += 1
            found = verdict_on(local, vertices, world, pairs, pair, asked, PROBE, memory)
            if found == CLOSER:
                _to_the_front(memory.order, position)
                return CLOSER, pair, looked
            if found == UNDECIDED:
                memory.left[left] = position
                left += 1
        for i in range(left):
            pair = memory.order[memory.left[i]]
            found = verdict_on(local, vertices, world, pairs, pair, asked, REST, memory)
            if found == CLOSER:
                _to_the_front(memory.order, memory.left[i])
                return CLOSER, pair, looked
            if found == UNDECIDED and open_pair < 0:
                open_pair = pair
    return (FARTHER if open_pair < 0 else UNDECIDED), open_pair, looked


# --- a floor for each pair ---

CLEAR, SHORT, BELOW = 1, 0, -1
"""Of a state: all pairs are proved as far apart as is needed; all are at their floors or above; one is not."""


@kernel(nogil=True, separate=True)
def keeps_floors(local, vertices, world, pairs, asked, floors, needed, rounding, memory):
    """Look for a pair that is not proved to be at its floor or above it; its threshold in `asked` is not used.

    What is needed is at least the floor, and asked until one pair lacks it: from then on only the floors count.

    Returns
    -------
    CLEAR, SHORT or BELOW; the row of the pair that it is from, -1 for CLEAR.
    """
    short = -1
    for position in range(pairs.shape[0]):
        pair = memory.order[position]
        a, b = pairs[pair, 0], pairs[pair, 1]
        limit = needed[pair] if short < 0 else floors[pair]
        if not bounding_spheres_within(world, a, b, limit + rounding):
            continue
        if not oriented_boxes_within(local, world, a, b, limit, rounding):
            continue
        here = Asked(limit, asked.tolerance, asked.budget)
        if verdict_on(local, vertices, world, pairs, pair, here, ALL, memory) == FARTHER:
            continue
        if short < 0 and floors[pair] < limit:
            short = pair
            here = Asked(floors[pair], asked.tolerance, asked.budget)
            if verdict_on(local, vertices, world, pairs, pair, here, ALL, memory) == FARTHER:
                continue
        _to_the_front(memory.order, position)
        return BELOW, pair
    return (CLEAR if short < 0 else SHORT), short
