# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The loop over states: bodies are placed, pairs culled and solved, answers appended to those of the states before."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superovoid.compiled.arrays import Bools1, Floats1, Floats2, Floats4, Ints1, Ints2
from superovoid.compiled.kernels import bundle, entry_point, kernel
from superovoid.contact.columns import RESULT_LENGTH
from superovoid.contact.superovoids.kept_nets import Nets
from superovoid.scene.culling import COUNTS, Local, World, cull_list, place_all
from superovoid.scene.first_try import Lanes, answer_at_first_try
from superovoid.scene.pair_table import WarmStarts
from superovoid.scene.solving import Scratch, Wanted, solve


@bundle
class Links(NamedTuple):
    """Where bodies are."""

    of_body: Ints1
    poses: Floats4  # (states, links, 4, 4)
    posed: Bools1


@bundle
class Memory(NamedTuple):
    """What one thread works in."""

    world: World
    pool: WarmStarts
    nets: Nets
    scratch: Scratch
    counts: Ints1
    lanes: Lanes


@bundle
class Answers(NamedTuple):
    """Answers of states, those of a state behind those of the states before it, the closest pair first."""

    rows: Floats2
    bodies: Ints2
    first: Ints1  # row where each state begins, and the end
    counts: Ints2  # what the query of each state counted


def answers_for(states: int, rows: int) -> Answers:
    """Memory for so many."""
    return Answers(
        np.empty((rows, RESULT_LENGTH)),
        np.empty((rows, 2), dtype=np.int64),
        np.zeros(states + 1, dtype=np.int64),
        np.zeros((states, COUNTS), dtype=np.int64),
    )


@kernel
def _cull_state(local, links, state, memory, pairs, limit):
    """Place the bodies of one state and find the pairs within the limit.

    Returns how many there are, and what rounding may take from the bounds.
    """
    world, scratch = memory.world, memory.scratch
    rounding = place_all(local, links.of_body, links.poses[state], links.posed, world)
    count = cull_list(local, world, pairs, pairs.shape[0], limit, rounding, scratch.candidates, memory.counts)
    return count, rounding


@kernel
def _answer(local, vertices, memory, count, wanted):
    """Answer the candidates of a state; returns the number of rows kept."""
    world, pool, nets, scratch, counts, lanes = memory
    found, left = answer_at_first_try(local, world, count, wanted, pool, scratch, counts, lanes)
    return solve(local, vertices, world, found, left, wanted, pool, nets, scratch, counts)


@kernel
def _store(answers, state, found, most, scratch, counts):
    """Append the answers of a state."""
    start = answers.first[state]
    number = min(found, most)
    for i in range(number):
        row = scratch.keys.order[i]
        for j in range(scratch.out.shape[1]):
            answers.rows[start + i, j] = scratch.out[row, j]
        answers.bodies[start + i, 0] = scratch.keys.pairs[row, 0]
        answers.bodies[start + i, 1] = scratch.keys.pairs[row, 1]
    answers.first[state + 1] = start + number
    for i in range(counts.shape[0]):
        answers.counts[state, i] = counts[i]


@entry_point(nogil=True)
def over_states(
    local: Local,
    vertices: Floats1,
    links: Links,
    memory: Memory,
    pairs: Ints2,
    wanted: Wanted,
    start: int,
    stop: int,
    answers: Answers,
) -> int:
    """Answer states from `start` to before `stop`; `vertices` and `wanted` as for `solve`, but for rounding.

    The poses of the links of state s are in row s of `links.poses`. Returns the first state that is not answered:
    `stop`, or the one whose answers find no room; nothing of that one is changed then, so that the loop can go on with
    more memory as if nothing had happened.
    """
    for s in range(start, stop):
        count, rounding = _cull_state(local, links, s, memory, pairs, wanted.max_distance)
        if answers.first[s] + min(count, wanted.most) > answers.rows.shape[0]:
            return s
        here = Wanted(
            wanted.most, wanted.max_distance, wanted.overlapping_only, rounding, wanted.tolerance, wanted.budget
        )
        found = _answer(local, vertices, memory, count, here)
        _store(answers, s, found, wanted.most, memory.scratch, memory.counts)
    return stop


@entry_point(nogil=True)
def over_groups(
    local: Local,
    vertices: Floats1,
    links: Links,
    memory: Memory,
    pairs: Ints2,
    groups: Ints1,
    wanted: Wanted,
    start: int,
    stop: int,
    answers: Answers,
) -> int:
    """As `over_states`, but of each group of pairs the closest one alone, in the order of the groups.

    Group g are the pairs from row `groups[g]` to before `groups[g + 1]`. `wanted.most` is the number of groups.
    """
    world, scratch, counts = memory.world, memory.scratch, memory.counts
    for s in range(start, stop):
        row = answers.first[s]
        if row + wanted.most > answers.rows.shape[0]:
            return s
        rounding = place_all(local, links.of_body, links.poses[s], links.posed, world)
        here = Wanted(1, wanted.max_distance, wanted.overlapping_only, rounding, wanted.tolerance, wanted.budget)
        for i in range(counts.shape[0]):
            answers.counts[s, i] = 0
        for g in range(groups.shape[0] - 1):
            group = pairs[groups[g] : groups[g + 1]]
            count = cull_list(
                local, world, group, len(group), wanted.max_distance, rounding, scratch.candidates, counts
            )
            found = _answer(local, vertices, memory, count, here)
            for i in range(counts.shape[0]):
                answers.counts[s, i] += counts[i]
            if found > 0:
                best = scratch.keys.order[0]
                for j in range(scratch.out.shape[1]):
                    answers.rows[row, j] = scratch.out[best, j]
                answers.bodies[row, 0] = scratch.keys.pairs[best, 0]
                answers.bodies[row, 1] = scratch.keys.pairs[best, 1]
                row += 1
        answers.first[s + 1] = row
    return stop
