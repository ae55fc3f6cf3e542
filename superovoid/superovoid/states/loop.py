# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The loop over states: bodies are placed, pairs culled and solved, answers appended to those of the states before.

The states of a *span* are placed and culled together, and lanes are given the candidates of all of them. Then the
solver answers what they have left, state after state, from its earlier answers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.arrays import Bools1, Floats1, Floats2, Floats3, Floats4, Ints1, Ints2
from superovoid.compiled.kernels import bundle, entry_point, kernel
from superovoid.contact.columns import DISTANCE, RESULT_LENGTH, UPPER
from superovoid.scene.culling import COUNTS, PAST_OBB, Local, World, is_within, place_all, world_of
from superovoid.scene.pair_table import WarmStarts
from superovoid.scene.solving import (
    BOXES,
    CLOSED,
    CONTACT,
    NEW,
    Candidates,
    Lanes,
    Scratch,
    Wanted,
    ask_lanes,
    bound_by_boxes,
    bound_by_spheres,
    is_before,
    is_for_lanes,
    lost,
    solve_group,
    sort,
)


@bundle
class Links(NamedTuple):
    """Where bodies are."""

    of_body: Ints1
    poses: Floats4  # (states, links, 4, 4)
    posed: Bools1


@bundle
class Worlds(NamedTuple):
    """`culling.World` of the states of a span, one row a state."""

    poses: Floats4
    spheres: Floats3
    boxes: Floats3
    bounds: Floats3
    losses: Floats2
    roundings: Floats1  # of the bounds


def worlds_for(states: int, bodies: int) -> Worlds:
    """Memory for so many."""
    arrays = [np.zeros((states, *array.shape)) for array in world_of(bodies)]
    return Worlds._make([*arrays, np.zeros(states)])


@bundle
class Memory(NamedTuple):
    """What one thread works in."""

    worlds: Worlds
    first: Ints1  # candidate where each state of a span begins, and the end
    counts: Ints2  # of each state
    rows: Candidates
    pool: WarmStarts
    scratch: Scratch
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
def _world(worlds, i):
    return World(worlds.poses[i], worlds.spheres[i], worlds.boxes[i], worlds.bounds[i], worlds.losses[i])


@kernel(nogil=True, separate=True)
def _begin_span(local, links, memory, pairs, group_of, limit, start, end):
    """Place the bodies of the states of a span, and find the candidates."""
    worlds, rows, count = memory.worlds, memory.rows, 0
    for i in range(end - start):
        world, counts = _world(worlds, i), memory.counts[i]
        worlds.roundings[i] = place_all(local, links.of_body, links.poses[start + i], links.posed, world)
        counts[:] = 0
        memory.first[i] = count
        for k in range(pairs.shape[0]):
            a, b = pairs[k, 0], pairs[k, 1]
            if is_within(local, world, a, b, limit, worlds.roundings[i], counts):
                rows.pairs[count, 0], rows.pairs[count, 1] = a, b
                rows.states[count], rows.groups[count], rows.stages[count] = i, group_of[k], NEW
                count += 1
    memory.first[end - start] = count


@kernel
def _end_of_group(rows, begin, end):
    """The candidate behind those of the group that begins here."""
    row = begin + 1
    while row < end and rows.groups[row] == rows.groups[begin]:
        row += 1
    return row


@kernel
def _ask(local, world, rows, row, limit, count):
    """List a candidate for lanes; return how many are."""
    a, b = rows.pairs[row, 0], rows.pairs[row, 1]
    if not is_for_lanes(local.packed[a], local.packed[b]):
        return count
    # The sign of a distance is always wanted.
    rows.limits[row], rows.asked[count] = max(limit, 0.0) + 2.0 * lost(local.packed, world, a, b), row
    return count + 1


@kernel(nogil=True, separate=True)
def _choose_first(local, memory, states, wanted):
    """Give lanes, of each group in each state, the candidate of least bound; return how many they are."""
    rows, count = memory.rows, 0
    for i in range(states):
        world, begin, rounding = _world(memory.worlds, i), memory.first[i], memory.worlds.roundings[i]
        while begin < memory.first[i + 1]:
            end, least = _end_of_group(rows, begin, memory.first[i + 1]), begin
            rows.bounds[begin] = -math.inf
            if end > begin + 1:
                for row in range(begin, end):
                    bound_by_spheres(local, world, rows, row, rounding, wanted.tolerance)
                    bound_by_boxes(local, world, rows, row, math.inf, rounding, wanted.tolerance)
                    if rows.bounds[row] < rows.bounds[least]:
                        least = row
            count = _ask(local, world, rows, least, wanted.max_distance, count)
            begin = end
    return count


@kernel(nogil=True, separate=True)
def _choose_others(local, memory, states, wanted):
    """Give lanes the candidates that may be closer than what they have found of their groups; return how many."""
    rows, count = memory.rows, 0
    for i in range(states):
        world, begin = _world(memory.worlds, i), memory.first[i]
        while begin < memory.first[i + 1]:
            end, limit = _end_of_group(rows, begin, memory.first[i + 1]), wanted.max_distance
            for row in range(begin, end):
                if rows.stages[row] == CLOSED or rows.stages[row] == CONTACT:
                    limit = min(limit, rows.out[row, DISTANCE if rows.stages[row] == CLOSED else UPPER])
            for row in range(begin, end):
                if rows.stages[row] == BOXES and rows.bounds[row] <= limit:
                    count = _ask(local, world, rows, row, limit, count)
            begin = end
    return count


@kernel
def _keep_closest(scratch, base, found):
    """Of the answers from row `base` to before `found` keep the closest, in row `base`."""
    keys, best = scratch.keys, base
    for row in range(base + 1, found):
        if is_before(keys, row, best):
            best = row
    keys.values[base] = keys.values[best]
    keys.pairs[base, 0], keys.pairs[base, 1] = keys.pairs[best, 0], keys.pairs[best, 1]
    for j in range(scratch.out.shape[1]):
        scratch.out[base, j] = scratch.out[best, j]


@kernel(nogil=True, separate=True)
def _finish_state(local, vertices, memory, i, wanted):
    """Answer the candidates of a state; return the number of answers, of which `scratch.keys` has the order."""
    world, rows, scratch = _world(memory.worlds, i), memory.rows, memory.scratch
    begin, found = memory.first[i], 0
    while begin < memory.first[i + 1]:
        end, base = _end_of_group(rows, begin, memory.first[i + 1]), found
        own = begin, end, found, wanted, memory.pool, scratch, memory.counts[i]
        found = solve_group(local, vertices, world, rows, *own)
        if wanted.most == 1 and found > base + 1:
            _keep_closest(scratch, base, found)
            found = base + 1
        begin = end
    sort(scratch.keys, found)
    return found if wanted.most == 1 else min(found, wanted.most)


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
    """Answer states from `start` to before `stop`; `vertices` and `wanted` as for `solve`, but for rounding.

    `group_of` numbers the groups of the pairs, which lie together. Of each group `wanted.most` pairs are wanted, the
    closest ones; `most_rows` is the number of rows of a state then. More than one are wanted of a single group only.
    The poses of the links of state s are in row s of `links.poses`. Returns the first state that is not answered:
    `stop`, or the one whose answers find no room; nothing of that one is changed then, so that the loop can go on with
    more memory as if nothing had happened.
    """
    counts, tolerance, poses = memory.counts, wanted.tolerance, memory.worlds.poses
    for begin in range(start, stop, poses.shape[0]):
        end = min(stop, begin + poses.shape[0])
        _begin_span(local, links, memory, pairs, group_of, wanted.max_distance, begin, end)
        if wanted.most == 1:
            asked = _choose_first(local, memory, end - begin, wanted)
            ask_lanes(local, poses, memory.rows, asked, tolerance, memory.pool, False, memory.lanes)
            asked = _choose_others(local, memory, end - begin, wanted)
            ask_lanes(local, poses, memory.rows, asked, tolerance, memory.pool, False, memory.lanes)
        for s in range(begin, end):
            if answers.first[s] + min(counts[s - begin, PAST_OBB], most_rows) > answers.rows.shape[0]:
                return s
            rounding = memory.worlds.roundings[s - begin]
            here = Wanted(wanted.most, wanted.max_distance, wanted.overlapping_only, rounding, tolerance, wanted.budget)
            _store(
                answers, s, _finish_state(local, vertices, memory, s - begin, here), memory.scratch, counts[s - begin]
            )
    return stop
