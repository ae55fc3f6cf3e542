# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The loops over states of yes/no questions: bodies are placed, pairs looked at until one decides."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superovoid.compiled.arrays import Floats1, Floats2, Int8s1, Ints1, Ints2
from superovoid.compiled.kernels import bundle, entry_point
from superovoid.contact.deciding import CLOSER, FARTHER
from superovoid.scene.culling import Local, World, place_all
from superovoid.scene.first_closer import BELOW, Asked, PairMemory, first_closer, is_front_closer, keeps_floors
from superovoid.states.loop import Links


@bundle
class Memory(NamedTuple):
    """What one thread works in."""

    world: World
    pairs: PairMemory


@bundle
class Found(NamedTuple):
    """Verdicts, one row a state."""

    verdicts: Int8s1
    pairs: Ints1  # row of the pair that decided, -1 where none did
    looked: Ints1  # pairs that boxes did not decide


def found_for(states: int) -> Found:
    """Memory for so many states."""
    return Found(np.zeros(states, np.int8), np.full(states, -1), np.zeros(states, np.int64))


@entry_point(nogil=True)
def over_states(
    local: Local, vertices: Floats1, links: Links, memory: Memory, pairs: Ints2, asked: Asked, found: Found
) -> None:
    """Answer all states, whose poses of links are those of `loop.Links`."""
    verdict = FARTHER
    for s in range(links.poses.shape[0]):
        poses = links.poses[s]
        # Where a pair was closer in the state before, it is asked before all bodies are placed.
        if verdict == CLOSER and is_front_closer(
            local, vertices, links.of_body, poses, links.posed, memory.world, pairs, asked, memory.pairs
        ):
            pair, looked = memory.pairs.order[0], 1
        else:
            rounding = place_all(local, links.of_body, poses, links.posed, memory.world)
            verdict, pair, looked = first_closer(local, vertices, memory.world, pairs, asked, rounding, memory.pairs)
        found.verdicts[s] = verdict
        found.pairs[s] = pair
        found.looked[s] = looked


@entry_point(nogil=True)
def over_front(
    local: Local, vertices: Floats1, links: Links, memory: Memory, pairs: Ints2, asked: Asked, found: Found
) -> None:
    """Answer the states in which the first pair in the order is proved closer, and leave the others.

    Of `links.poses` those of the pair's two links are looked at.
    """
    for s in range(links.poses.shape[0]):
        if is_front_closer(
            local, vertices, links.of_body, links.poses[s], links.posed, memory.world, pairs, asked, memory.pairs
        ):
            found.verdicts[s], found.pairs[s], found.looked[s] = CLOSER, memory.pairs.order[0], 1


@entry_point(nogil=True)
def over_floors(
    local: Local,
    vertices: Floats1,
    links: Links,
    memory: Memory,
    pairs: Ints2,
    asked: Asked,
    floors: Floats2,
    needed: Floats2,
    found: Found,
) -> int:
    """Answer states up to the first that is below a floor; returns how many. Floors have a row a state."""
    for s in range(links.poses.shape[0]):
        rounding = place_all(local, links.of_body, links.poses[s], links.posed, memory.world)
        found.verdicts[s], found.pairs[s] = keeps_floors(
            local, vertices, memory.world, pairs, asked, floors[s], needed[s], rounding, memory.pairs
        )
        if found.verdicts[s] == BELOW:
            return s + 1
    return links.poses.shape[0]
