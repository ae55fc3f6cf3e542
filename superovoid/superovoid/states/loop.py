# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The loop over states: bodies are placed, pairs culled and solved, answers appended to those of the states before.

The states of a *span* are placed and culled together, and lanes are given the candidates of all of them. Then the
solver answers what they have left, state after state, from its earlier answers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superovoid.compiled.arrays import Bools1, Floats1, Floats2, Floats4, Ints1, Ints2
from superovoid.compiled.kernels import bundle, entry_point, kernel
from superovoid.contact.columns import RESULT_LENGTH
from superovoid.scene.culling import COUNTS, PAST_OBB, Local, place_all, world_at
from superovoid.scene.solving import Memory, Wanted, ask_lanes, cull, finish_state


@bundle
class Links(NamedTuple):
    """Where bodies are."""

    of_body: Ints1
    poses: Floats4  # (states, links, 4, 4)
    posed: Bools1


@bundle
class Answers(NamedTuple):
    """Answers of states, those of a state behind those of the states before it, the closest pair first."""

    rows: Floats2
    bodies: Ints2
    first: Ints1  # row where each state begins, and the end
    counts: Ints2  # what the query of each state counted


def answers_for(states: int, rows: int) -> Answers:
    """Return memory for numbers of states and rows."""
    return Answers(
        np.empty((rows, RESULT_LENGTH)),
        np.empty((rows, 2), dtype=np.int64),
        np.zeros(states + 1, dtype=np.int64),
        np.zeros((states, COUNTS), dtype=np.int64),
    )


@kernel
def _store(answers, state, number, scratch, counts):
    """Append the answers of a state."""
    start = answers.first[state]
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
    group_of: Ints1,
    most_rows: int,
    wanted: Wanted,
    start: int,
    stop: int,
    answers: Answers,
) -> int:
    """Answer states from `start` to before `stop`; `vertices` and `wanted` as for `solve`.

    `group_of` has the group of each pair, or one for all; the pairs of a group lie together. Of each group
    `wanted.most` pairs are wanted, the closest ones; `most_rows` is the number of rows of a state then. More than one
    are wanted of a single group only. The poses of the links of state s are in row s of `links.poses`. Returns the
    first unanswered state: `stop`, or a state whose answers find no room. Nothing of that state is changed, so that
    the loop can go on with more memory.
    """
    size = memory.worlds.poses.shape[0]
    for begin in range(start, stop, size):
        states = min(stop - begin, size)
        for i in range(states):
            world = world_at(memory.worlds, i)
            place_all(local, links.of_body, links.poses[begin + i], links.posed, world)
            cull(local, world, pairs, group_of, wanted.max_distance, i, memory)
        ask_lanes(local, vertices, memory, states, wanted)
        for i in range(states):
            counts = memory.counts[i]
            if answers.first[begin + i] + min(counts[PAST_OBB], most_rows) > answers.rows.shape[0]:
                return begin + i
            number = finish_state(local, vertices, memory, i, wanted)
            _store(answers, begin + i, number if wanted.most == 1 else min(number, wanted.most), memory.scratch, counts)
    return stop
