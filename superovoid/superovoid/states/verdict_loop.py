# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The loops over states of yes/no questions: bodies are placed, pairs looked at until one decides."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.jit import kernel
from superovoid.contact.thresholds import CLOSER, FARTHER
from superovoid.scene.culling import World, place_all
from superovoid.scene.first_closer import BELOW, PairMemory, first_closer, is_front_closer, keeps_floors


class Memory(NamedTuple):
    """What one thread works in."""

    world: World
    pairs: PairMemory


class Found(NamedTuple):
    """Verdicts, one row a state."""

    verdicts: NDArray[np.int8]
    pairs: NDArray[np.int64]  # row of the pair that decided, -1 where none did
    looked: NDArray[np.int64]  # pairs that boxes did not decide


def found_for(states: int) -> Found:
    """Memory for so many states."""
    return Found(np.zeros(states, np.int8), np.full(states, -1), np.zeros(states, np.int64))


@kernel(nogil=True)
def over_states(local, others, links, memory, pairs, asked, found):
    """Answer all states, whose poses of links are those of `loop.Links`."""
    verdict = FARTHER
    for s in range(links.poses.shape[0]):
        poses = links.poses[s]
        # Where a pair was closer in the state before, it is asked before all bodies are placed.
        if verdict == CLOSER and is_front_closer(
            local, others, links.of_body, poses, links.posed, memory.world, pairs, asked, memory.pairs
        ):
            pair, looked = memory.pairs.order[0], 1
        else:
            rounding = place_all(local, links.of_body, poses, links.posed, memory.world)
            verdict, pair, looked = first_closer(local, others, memory.world, pairs, asked, rounding, memory.pairs)
        found.verdicts[s] = verdict
        found.pairs[s] = pair
        found.looked[s] = looked


@kernel(nogil=True)
def over_front(local, others, links, memory, pairs, asked, found):
    """Answer the states in which the first pair in the order is proved closer, and leave the others.

    Of `links.poses` those of the pair's two links are looked at.
    """
    for s in range(links.poses.shape[0]):
        if is_front_closer(
            local, others, links.of_body, links.poses[s], links.posed, memory.world, pairs, asked, memory.pairs
        ):
            found.verdicts[s], found.pairs[s], found.looked[s] = CLOSER, memory.pairs.order[0], 1


@kernel(nogil=True)
def over_floors(local, others, links, memory, pairs, asked, floors, needed, found):
    """Answer states up to the first that is below a floor; returns how many. Floors have a row a state."""
    for s in range(links.poses.shape[0]):
        rounding = place_all(local, links.of_body, links.poses[s], links.posed, memory.world)
        found.verdicts[s], found.pairs[s] = keeps_floors(
            local, others, memory.world, pairs, asked, floors[s], needed[s], rounding, memory.pairs
        )
        if found.verdicts[s] == BELOW:
            return s + 1
    return links.poses.shape[0]
