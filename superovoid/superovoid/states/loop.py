# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Loop over states: place bodies, cull and solve pairs, append the answers.

All states of a call are placed and culled together, and lanes solve candidates of all states at once. Then the scalar
solver answers the remaining candidates, state by state, starting from its earlier answers.
"""

from __future__ import annotations

from typing import NamedTuple

from superovoid.compiled.arrays import Bools1, Floats2, Floats4, Ints1, Ints2, zeros
from superovoid.compiled.kernels import bundle, entry_point, kernel
from superovoid.contact.columns import RESULT_LENGTH
from superovoid.scene.culling import LocalBodies, place_all, world_at
from superovoid.scene.solving import Memory, QueryLimits, ask_lanes, cull, finish_state


@bundle
class Answers(NamedTuple):
    """Answers of states, one state after another, the closest pair of a state first."""

    rows: Floats2
    bodies: Ints2
    first: Ints1  # first row of each state, and the end


def answers_for(states: int, rows: int) -> Answers:
    """Return memory for numbers of states and rows."""
    return zeros(Answers, (rows, RESULT_LENGTH), (rows, 2), states + 1)


@kernel
def _store(answers, state, number, scratch):
    """Append the answers of a state."""
    start = answers.first[state]
    for i in range(number):
        row = scratch.keys.order[i]
        for j in range(scratch.out.shape[1]):
            answers.rows[start + i, j] = scratch.out[row, j]
        answers.bodies[start + i, 0] = scratch.keys.pairs[row, 0]
        answers.bodies[start + i, 1] = scratch.keys.pairs[row, 1]
    answers.first[state + 1] = start + number


@entry_point(nogil=True)
def over_states(
    local: LocalBodies,
    link_poses: Floats4,
    posed: Bools1,
    pairs: Ints2,
    group_of: Ints1,
    wanted: QueryLimits,
    memory: Memory,
    answers: Answers,
) -> None:
    """Answer states; `memory` and `answers` must have room for them.

    `link_poses` has the poses of the links in each state, and `group_of` the group of each pair, or one entry for all
    pairs; pairs of a group are adjacent. The `wanted.most` closest pairs of each group
    are reported; if there are several groups, this is one pair. `memory.counts` has the counts of each state.
    """
    states = link_poses.shape[0]
    for i in range(states):
        place_all(local, link_poses[i], posed, world_at(memory.world, i))
        cull(local, pairs, group_of, wanted.max_distance, i, memory)
    ask_lanes(local, memory, states, wanted)
    for i in range(states):
        number = finish_state(local, memory, i, wanted)
        _store(answers, i, number if wanted.most == 1 else min(number, wanted.most), memory.scratch)
