# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The loop over states of yes/no questions: bodies are placed, and pairs are asked until one decides.

A thread keeps the pairs in an order of its own: a pair that was closer moves to the front, so that what overlapped last
is asked first. Some pairs of superovoids at a time are asked for a common point before one of them is asked more. The
order changes no verdict, only which pair is named.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superovoid.compiled.arrays import Bools1, Floats1, Floats2, Floats4, Int8s1, Ints1, Ints2
from superovoid.compiled.kernels import bundle, entry_point, kernel
from superovoid.contact.broadcasting import own_or_only
from superovoid.contact.columns import RESULT_LENGTH, STATE_LENGTH, VERDICT_LENGTH
from superovoid.contact.deciding import ALL, PROBE, REST, are_superovoids, decide_within
from superovoid.contact.pair import CLOSER, FARTHER, UNDECIDED, Limit, Placed
from superovoid.scene.culling import (
    Local,
    World,
    bounding_spheres_within,
    oriented_boxes_within,
    place,
    place_all,
    world_of,
)
from superovoid.scene.solving import lost

_TOGETHER = 64  # pairs in the order of which superovoids are asked for a common point before one of them is asked more


@bundle
class Asked(NamedTuple):
    """What is asked about in every state: pairs of bodies on links."""

    local: Local
    vertices: Floats1
    link: Ints1  # of each body
    posed: Bools1  # whether a link has a pose
    pairs: Ints2
    tolerance: float
    budget: int


@bundle
class Memory(NamedTuple):
    """What one thread works in; states and directions have a row for each pair, or one for all if nothing is kept."""

    world: World
    order: Ints1  # of the pairs
    left: Ints1  # places in this order of what is open
    states: Floats2
    directions: Floats2
    rotation: Floats2
    out: Floats1
    row: Floats1


def memory_for(bodies: int, pairs: int, kept: bool) -> Memory:
    """Memory for so many; `kept`: whether warm starts are kept from one state to the next."""
    rows = max(pairs, 1) if kept else 1
    return Memory(
        world_of(bodies),
        np.arange(pairs),
        np.empty(pairs, np.int64),
        np.zeros((rows, STATE_LENGTH)),
        np.zeros((rows, 3)),
        np.empty((3, 3)),
        np.empty(RESULT_LENGTH),
        np.empty(VERDICT_LENGTH),
    )


@bundle
class Found(NamedTuple):
    """Verdicts, one row a state."""

    verdicts: Int8s1
    pairs: Ints1  # row of the pair that decided, -1 if none did
    looked: Ints1  # pairs that boxes did not decide


def found_for(states: int) -> Found:
    """Memory for so many states."""
    return Found(np.zeros(states, np.int8), np.full(states, -1), np.zeros(states, np.int64))


@kernel(nogil=True, separate=True)
def verdict_on(asked, pair, threshold, effort, memory):
    """The verdict on one pair, from where that pair ended the time before."""
    local, world = asked.local, memory.world
    k = own_or_only(memory.states, pair)
    if memory.states.shape[0] < asked.pairs.shape[0]:
        memory.states[0, :] = 0.0
        memory.directions[0, :] = 0.0
    a, b = asked.pairs[pair, 0], asked.pairs[pair, 1]
    first = Placed(local.packed[a], asked.vertices, world.poses[a])
    second = Placed(local.packed[b], asked.vertices, world.poses[b])
    loss = lost(local.packed, world, a, b)
    limit = Limit(asked.tolerance, asked.budget, threshold + loss, threshold - loss)
    scratch = memory.rotation, memory.out
    return decide_within(first, second, limit, effort, memory.directions[k], memory.states[k], scratch, memory.row)


@kernel
def _to_the_front(order, position):
    pair = order[position]
    for i in range(position, 0, -1):
        order[i] = order[i - 1]
    order[0] = pair


@kernel(nogil=True, separate=True)
def _is_front_closer(asked, poses, threshold, memory):
    """Whether the first pair in the order is proved closer; only its two bodies are put where their links are."""
    pair = memory.order[0]
    a, b = asked.pairs[pair, 0], asked.pairs[pair, 1]
    link_a, link_b = asked.link[a], asked.link[b]
    if not (asked.posed[link_a] and asked.posed[link_b]):
        return False
    world = memory.world
    rounding = max(place(asked.local, a, poses[link_a], world), place(asked.local, b, poses[link_b], world))
    if not bounding_spheres_within(world, a, b, threshold + rounding):
        return False
    return verdict_on(asked, pair, threshold, ALL, memory) == CLOSER


@kernel(nogil=True, separate=True)
def _ask_pair(asked, pair, floors, needed, ends, effort, open_pair, memory):
    """Ask whether a pair is at its floor and, as long as no pair is open, at what is needed; as for `_first_closer`.

    Returns whether this ends the search, and the pair that is open then, -1 for none.
    """
    floor = floors[own_or_only(floors, pair)]
    threshold = needed[own_or_only(needed, pair)] if open_pair < 0 else floor
    found = verdict_on(asked, pair, threshold, effort, memory)
    if found != FARTHER and floor < threshold:
        open_pair = pair
        found = verdict_on(asked, pair, floor, effort, memory)
    if found == UNDECIDED and open_pair < 0:
        open_pair = pair
    return found == CLOSER or (ends and found == UNDECIDED), open_pair


@kernel(nogil=True, separate=True)
def _first_closer(asked, floors, needed, ends, rounding, memory):
    """Look for a pair that is closer than its floor, in a state whose bodies are placed.

    Parameters
    ----------
    asked : Asked
    floors, needed : array, shape (n,) or (1,)
        m: what the signed distance of each pair must reach, and what it is to reach, which is no less; one for all
        pairs if there is one. What is needed is asked until one pair lacks it: from then on only floors count.
    ends : bool
        Whether a pair that is not proved to be at its floor ends the search, as one that is proved closer always does.
    rounding : float
        Of the bounds of the bodies, m.
    memory : Memory

    Returns
    -------
    CLOSER: a pair has ended the search; UNDECIDED: one is undecided, or lacks what is needed; FARTHER: none does. Then
    the row of that pair, -1 for FARTHER, and how many pairs were looked at more closely than by their boxes.
    """
    world = memory.world
    open_pair, looked = -1, 0
    for start in range(0, asked.pairs.shape[0], _TOGETHER):
        left = 0
        for position in range(start, min(start + _TOGETHER, asked.pairs.shape[0])):
            pair = memory.order[position]
            a, b = asked.pairs[pair, 0], asked.pairs[pair, 1]
            floor = floors[own_or_only(floors, pair)]
            threshold = needed[own_or_only(needed, pair)] if open_pair < 0 else floor
            if not bounding_spheres_within(world, a, b, threshold + rounding):
                continue
            if not oriented_boxes_within(asked.local, world, a, b, threshold, rounding):
                continue
            looked += 1
            if are_superovoids(asked.local.packed[a], asked.local.packed[b]):
                found = verdict_on(asked, pair, floor, PROBE, memory)
                is_over = found == CLOSER
                if found == UNDECIDED or floor < threshold:
                    memory.left[left] = position
                    left += 1
            else:
                is_over, open_pair = _ask_pair(asked, pair, floors, needed, ends, ALL, open_pair, memory)
            if is_over:
                _to_the_front(memory.order, position)
                return CLOSER, pair, looked
        for i in range(left):
            pair = memory.order[memory.left[i]]
            is_over, open_pair = _ask_pair(asked, pair, floors, needed, ends, REST, open_pair, memory)
            if is_over:
                _to_the_front(memory.order, memory.left[i])
                return CLOSER, pair, looked
    return (FARTHER if open_pair < 0 else UNDECIDED), open_pair, looked


@entry_point(nogil=True)
def over_states(
    asked: Asked,
    poses: Floats4,
    floors: Floats2,
    needed: Floats2,
    ends: bool,
    is_new: bool,
    memory: Memory,
    found: Found,
) -> int:
    """Answer states of a block; return how many.

    Parameters
    ----------
    asked : Asked
    poses : array, shape (states, links, 4, 4)
    floors, needed : array, shape (states or 1, n or 1)
        As for one state (`_first_closer`).
    ends : bool
        Whether the first state in which a pair is not proved to be at its floor is the last one that is answered.
    is_new : bool
        Whether these are the first states of a block: nothing that was known before is used.
    memory : Memory
    found : Found
    """
    if is_new:
        for k in range(memory.order.shape[0]):
            memory.order[k] = k
        memory.states[:] = 0.0
        memory.directions[:] = 0.0
    verdict = FARTHER
    for s in range(poses.shape[0]):
        of_state, need = floors[own_or_only(floors, s)], needed[own_or_only(needed, s)]
        # If a pair was closer in the state before, it is asked before all bodies are placed.
        if verdict == CLOSER and _is_front_closer(
            asked, poses[s], of_state[own_or_only(of_state, memory.order[0])], memory
        ):
            pair, looked = memory.order[0], 1
        else:
            rounding = place_all(asked.local, asked.link, poses[s], asked.posed, memory.world)
            verdict, pair, looked = _first_closer(asked, of_state, need, ends, rounding, memory)
        found.verdicts[s], found.pairs[s], found.looked[s] = verdict, pair, looked
        if ends and verdict == CLOSER:
            return s + 1
    return poses.shape[0]


@entry_point(nogil=True)
def over_front(asked: Asked, poses: Floats4, threshold: float, memory: Memory, found: Found) -> None:
    """Answer the states in which the first pair in the order is proved closer, and leave the others.

    Only the poses of this pair's two links are read.
    """
    for s in range(poses.shape[0]):
        if _is_front_closer(asked, poses[s], threshold, memory):
            found.verdicts[s], found.pairs[s], found.looked[s] = CLOSER, memory.order[0], 1
