# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Yes/no queries about many states: place the bodies, then compare pairs with their thresholds until one decides.

Each thread orders the pairs: a pair that is closer moves to the front. In the next state the loop compares it first,
before it places other bodies. The order decides which pair is named, but not the verdict.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superovoid.compiled.arrays import Bools1, Floats1, Floats2, Floats4, Int8s1, Ints1, Ints2, zeros
from superovoid.compiled.kernels import bundle, entry_point, kernel
from superovoid.contact.broadcasting import own_or_only
from superovoid.contact.columns import RESULT_LENGTH, STATE_LENGTH, VERDICT_LENGTH
from superovoid.contact.deciding import decide_within
from superovoid.contact.pair import CLOSER, FARTHER, UNDECIDED, Limit
from superovoid.scene.culling import (
    LocalBodies,
    World,
    body_at,
    bounding_spheres_within,
    oriented_boxes_within,
    place,
    place_all,
    rounding_of,
    world_for,
)
from superovoid.scene.solving import pose_error


@bundle
class ComparedPairs(NamedTuple):
    """The pairs of bodies on links that a query compares in every state."""

    local: LocalBodies
    posed: Bools1
    pairs: Ints2
    tolerance: float
    budget: int


@bundle
class Memory(NamedTuple):
    """Memory of one thread. States and directions have a row per pair, or a single row without warm starts."""

    world: World
    order: Ints1  # order of the pairs
    states: Floats2
    directions: Floats2
    rotation: Floats2
    out: Floats1
    row: Floats1


def memory_for(asked: ComparedPairs, kept: bool) -> Memory:
    """Return the memory of one thread for a query; if `kept`, warm starts pass from one state to the next."""
    pairs = len(asked.pairs)
    rows = max(pairs, 1) if kept else 1
    world, order = world_for(1, len(asked.local.link)), np.arange(pairs)
    return zeros(Memory, world, order, (rows, STATE_LENGTH), (rows, 3), (3, 3), RESULT_LENGTH, VERDICT_LENGTH)


@bundle
class VerdictRows(NamedTuple):
    """Verdicts, one row a state."""

    verdicts: Int8s1
    pairs: Ints1  # row of the pair that decided, -1 if none did
    looked: Ints1  # pairs that boxes did not decide


def rows_for(states: int) -> VerdictRows:
    """Return memory for a number of states."""
    return zeros(VerdictRows, states, np.full(states, -1), states)


@kernel(nogil=True, separate=True)
def _verdict_on(asked, pair, threshold, memory):
    """Return the verdict on one pair, with the pair's last points and direction as a warm start."""
    local, world = asked.local, memory.world
    k = own_or_only(memory.states, pair)
    if memory.states.shape[0] < asked.pairs.shape[0]:
        memory.states[0, :] = 0.0
        memory.directions[0, :] = 0.0
    a, b = asked.pairs[pair, 0], asked.pairs[pair, 1]
    loss = pose_error(local.packed, world, a, b)
    limit = Limit(asked.tolerance, asked.budget, threshold + loss, threshold - loss)
    scratch = memory.rotation, memory.out
    pair = body_at(local, world, a), body_at(local, world, b)
    return decide_within(*pair, limit, memory.directions[k], memory.states[k], scratch, memory.row)


@kernel
def _to_the_front(order, position):
    pair = order[position]
    for i in range(position, 0, -1):
        order[i] = order[i - 1]
    order[0] = pair


@kernel
def _place_pair(asked, pair, link_poses, world):
    """Place two bodies."""
    world.rounding[0] = 0.0
    for i in range(2):
        k = asked.pairs[pair, i]
        place(asked.local, k, link_poses, world)
        world.rounding[0] = max(world.rounding[0], rounding_of(world, k))


@kernel(nogil=True, separate=True)
def _first_closer(asked, begin, end, floors, needed, ends, open_pair, memory):
    """Search for a pair closer than its floor, in a state with the bodies of these pairs in place.

    Parameters
    ----------
    asked : ComparedPairs
    begin, end : int
        Positions in the order: the first, and the one after the last.
    floors, needed : array, shape (n,) or (1,)
        Thresholds of each pair, or one for all, m, with needed >= floors. Once a pair does not reach `needed`, the
        others are compared with their floors only.
    ends : bool
        Whether an undecided pair ends the search too. A pair proved closer always does.
    open_pair : int
        Row of an earlier pair, undecided or not proved to reach `needed`; -1 for none.
    memory : Memory

    Returns
    -------
    CLOSER if a pair has ended the search, UNDECIDED if one is undecided or does not reach `needed`, FARTHER
    for none; the row of that pair, -1 for FARTHER; and the number of pairs that bounding boxes did not decide.
    """
    world, looked = memory.world, 0
    for position in range(begin, end):
        pair = memory.order[position]
        a, b = asked.pairs[pair, 0], asked.pairs[pair, 1]
        floor = floors[own_or_only(floors, pair)]
        threshold = needed[own_or_only(needed, pair)] if open_pair < 0 else floor
        if not bounding_spheres_within(world, a, b, threshold):
            continue
        if not oriented_boxes_within(asked.local, world, a, b, threshold):
            continue
        looked += 1
        found = _verdict_on(asked, pair, threshold, memory)
        if found != FARTHER and floor < threshold:
            open_pair = pair
            found = _verdict_on(asked, pair, floor, memory)
        if found == UNDECIDED and open_pair < 0:
            open_pair = pair
        if found == CLOSER or (ends and found == UNDECIDED):
            _to_the_front(memory.order, position)
            return CLOSER, pair, looked
    return (FARTHER if open_pair < 0 else UNDECIDED), open_pair, looked


@entry_point(nogil=True)
def over_states(
    asked: ComparedPairs,
    link_poses: Floats4,
    floors: Floats2,
    needed: Floats2,
    ends: bool,
    memory: Memory,
    found: VerdictRows,
) -> int:
    """Answer states, without warm starts from earlier calls; return their number.

    Parameters
    ----------
    asked : ComparedPairs
    link_poses : array, shape (states, links, 4, 4)
        Poses of the scene's links.
    floors, needed : array, shape (states or 1, n or 1)
        As for `_first_closer`, in each state.
    ends : bool
        Whether to stop after the first state in which a pair is not proved to reach its floor.
    memory : Memory
    found : VerdictRows
    """
    count = memory.order.shape[0]
    for k in range(count):
        memory.order[k] = k
    memory.states[:] = 0.0
    memory.directions[:] = 0.0
    verdict = FARTHER
    for s in range(link_poses.shape[0]):
        of_state, need, poses = floors[own_or_only(floors, s)], needed[own_or_only(needed, s)], link_poses[s]
        # Compare the pair that was closer in the last state before placing the other bodies.
        first = 1 if verdict == CLOSER else 0
        verdict, pair, before = FARTHER, -1, 0
        if first == 1:
            _place_pair(asked, memory.order[0], poses, memory.world)
            verdict, pair, before = _first_closer(asked, 0, 1, of_state, need, ends, -1, memory)
        looked = 0
        if verdict != CLOSER:
            place_all(asked.local, poses, asked.posed, memory.world)
            verdict, pair, looked = _first_closer(asked, first, count, of_state, need, ends, pair, memory)
        looked += before
        found.verdicts[s], found.pairs[s], found.looked[s] = verdict, pair, looked
        if ends and verdict == CLOSER:
            return s + 1
    return link_poses.shape[0]
