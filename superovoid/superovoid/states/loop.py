# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The loop over states: bodies are placed, pairs culled and solved, answers appended to those of the states before.

The states of a *span* are placed and culled together, and lanes are given the pairs of all of them (`Tasks`). Then
the solver answers what they have left, state after state, with its warm starts and kept proofs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.arrays import Bools1, Floats1, Floats2, Floats3, Floats4, Ints1, Ints2
from superovoid.compiled.kernels import bundle, entry_point, kernel
from superovoid.contact.columns import DISTANCE, LOWER, RESULT_LENGTH, UPPER
from superovoid.contact.superovoids.kept_nets import Nets
from superovoid.scene.culling import (
    BOUNDED,
    COUNTS,
    PAST_OBB,
    SOLVED,
    Local,
    World,
    gap_of_oriented_boxes,
    is_within,
    line_gap,
    place_all,
)
from superovoid.scene.first_try import (
    BEYOND,
    CLOSED,
    CONTACT,
    FAILED,
    Lanes,
    Tasks,
    answer_open_task,
    answer_tasks,
    is_task,
    leave,
    pose_task,
)
from superovoid.scene.pair_table import WarmStarts, pair_key, slot_of
from superovoid.scene.solving import (
    Scratch,
    Wanted,
    certified_width,
    keep,
    lost,
    size_of_smaller,
    solve,
    sphere_gap,
    widen,
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
    spheres, boxes, bounds = np.empty((states, bodies, 4)), np.empty((states, bodies, 3)), np.empty((states, bodies, 6))
    return Worlds(
        np.empty((states, bodies, 4, 4)), spheres, boxes, bounds, np.zeros((states, bodies)), np.zeros(states)
    )


@bundle
class Span(NamedTuple):
    """Pairs of the states that are answered together: state i has those from row ``i * pairs`` on."""

    task: Ints1  # of a pair, or what else becomes of it
    bounds: Floats1  # of its distance, from below
    counts: Ints2  # of each state


def span_for(states: int, pairs: int) -> Span:
    """Memory for so many."""
    rows = states * pairs
    return Span(np.empty(rows, np.int64), np.empty(rows), np.zeros((states, COUNTS), np.int64))


@bundle
class Memory(NamedTuple):
    """What one thread works in."""

    worlds: Worlds
    span: Span
    tasks: Tasks
    pool: WarmStarts
    nets: Nets
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


FAR, LEFT = -1, -2
"""Of a pair without a task: beyond the limit, or for the solver."""


@kernel
def _world(worlds, i):
    return World(worlds.poses[i], worlds.spheres[i], worlds.boxes[i], worlds.bounds[i], worlds.losses[i])


@kernel
def _cull(local, world, pairs, limit, rounding, span, i):
    """Find which pairs of a state are within the limit."""
    for j in range(COUNTS):
        span.counts[i, j] = 0
    for k in range(pairs.shape[0]):
        within = is_within(local, world, pairs[k, 0], pairs[k, 1], limit, rounding, span.counts[i])
        span.task[i * pairs.shape[0] + k] = LEFT if within else FAR


@kernel(nogil=True, separate=True)
def _pose_all(local, pairs, wanted, memory, states):
    """Give lanes all pairs that they may answer; return how many there are."""
    count, limit = 0, max(wanted.max_distance, 0.0)  # the sign of a distance is always wanted
    for i in range(states):
        world = _world(memory.worlds, i)
        for k in range(pairs.shape[0]):
            row, a, b = i * pairs.shape[0] + k, pairs[k, 0], pairs[k, 1]
            if memory.span.task[row] == LEFT and is_task(local.packed, a, b):
                memory.span.task[row] = count
                beyond = limit + 2.0 * lost(local.packed, world, a, b)
                count = pose_task(memory.tasks, count, i, a, b, beyond)
    return count


@kernel(nogil=True, separate=True)
def _pose_nearest(local, pairs, groups, memory, states, limit):
    """Give lanes of each group in each state the pair that seems to be the closest; return how many there are.

    All pairs get bounds: the gap of their spheres, or of their boxes along the line of the boxes' centres.
    """
    count, n = 0, pairs.shape[0]
    span = memory.span
    for i in range(states):
        world, rounding = _world(memory.worlds, i), memory.worlds.roundings[i]
        for g in range(groups.shape[0] - 1):
            nearest = -1
            for k in range(groups[g], groups[g + 1]):
                row, a, b = i * n + k, pairs[k, 0], pairs[k, 1]
                if span.task[row] != LEFT:
                    continue
                span.bounds[row] = max(sphere_gap(world, a, b), line_gap(local, world, a, b)) - rounding
                if not is_task(local.packed, a, b):
                    continue
                if nearest < 0 or span.bounds[row] < span.bounds[i * n + nearest]:
                    nearest = k
            if nearest >= 0:
                a, b = pairs[nearest, 0], pairs[nearest, 1]
                span.task[i * n + nearest] = count
                count = pose_task(memory.tasks, count, i, a, b, limit + 2.0 * lost(local.packed, world, a, b))
    return count


@kernel
def _least_upper(memory, groups, i, n, g, limit):
    """Upper bound of the least distance of a group in a state, from the tasks that lanes have answered."""
    for k in range(groups[g], groups[g + 1]):
        task = memory.span.task[i * n + k]
        if task >= 0 and memory.tasks.ends[task] == CLOSED:
            limit = min(limit, memory.tasks.out[task, DISTANCE])
        elif task >= 0:
            limit = min(limit, memory.tasks.out[task, UPPER])
    return limit


@kernel(nogil=True, separate=True)
def _pose_others(local, pairs, groups, wanted, memory, states, count):
    """Give lanes the pairs that may be closer than the one of their group that they have answered."""
    n, span = pairs.shape[0], memory.span
    for i in range(states):
        world, rounding = _world(memory.worlds, i), memory.worlds.roundings[i]
        for g in range(groups.shape[0] - 1):
            limit = _least_upper(memory, groups, i, n, g, wanted.max_distance)
            for k in range(groups[g], groups[g + 1]):
                row, a, b = i * n + k, pairs[k, 0], pairs[k, 1]
                if span.task[row] != LEFT:
                    continue
                width = certified_width(local.packed, world, a, b, rounding, wanted.tolerance)
                bound = span.bounds[row] - width
                if bound <= limit and world.spheres[a, 3] + world.spheres[b, 3] < math.inf:
                    bound = max(bound, gap_of_oriented_boxes(local, world, a, b, limit + width, rounding) - width)
                if bound > limit:
                    span.task[row] = FAR
                elif is_task(local.packed, a, b):
                    span.task[row] = count
                    count = pose_task(memory.tasks, count, i, a, b, limit + 2.0 * lost(local.packed, world, a, b))
    return count


@kernel
def _keep_row(tasks, task, packed, world, wanted, scratch, found, counts):
    """Keep the answer that lanes gave to a task if it is wanted; return how many are kept."""
    a, b = tasks.pairs[task, 0], tasks.pairs[task, 1]
    out = scratch.out[found]
    for j in range(RESULT_LENGTH):
        out[j] = tasks.out[task, j]
    return _keep(packed, world, a, b, wanted, scratch, found, counts)


@kernel
def _keep(packed, world, a, b, wanted, scratch, found, counts):
    widen(scratch.out[found], lost(packed, world, a, b), wanted.tolerance * size_of_smaller(packed, world, a, b))
    found, _ = keep(scratch, found, a, b, False, wanted.most, wanted.max_distance, wanted.overlapping_only, counts)
    return found


@kernel(nogil=True, separate=True)
def _finish_all(local, vertices, pairs, memory, i, wanted):
    """Answer what lanes have left of a state; returns the number of rows kept."""
    _, span, tasks, pool, nets, scratch, _ = memory
    packed, world, counts = local.packed, _world(memory.worlds, i), span.counts[i]
    found = left = 0
    for k in range(pairs.shape[0]):
        task, a, b = span.task[i * pairs.shape[0] + k], pairs[k, 0], pairs[k, 1]
        if task == LEFT:
            left = leave(scratch, left, a, b)
        elif task >= 0 and tasks.ends[task] == CLOSED:
            found = _keep_row(tasks, task, packed, world, wanted, scratch, found, counts)
        elif task >= 0 and tasks.ends[task] == BEYOND:
            counts[SOLVED] += 1
        elif task >= 0:
            state, out = pool.states[slot_of(pool, pair_key(a, b))], scratch.out[found]
            if answer_open_task(tasks, task, packed, world, wanted, state, scratch.rotation, out):
                found = _keep(packed, world, a, b, wanted, scratch, found, counts)
            else:
                left = leave(scratch, left, a, b)
    return solve(local, vertices, world, found, left, wanted, pool, nets, scratch, counts)


@kernel
def _next_open(memory, groups, i, n, g):
    """The pair of a group, of those that lanes left with a contact, whose proved bound is the least; -1: none."""
    span, tasks, next_pair = memory.span, memory.tasks, -1
    least = math.inf
    for k in range(groups[g], groups[g + 1]):
        task = span.task[i * n + k]
        if task >= 0 and tasks.ends[task] == CONTACT and tasks.out[task, LOWER] < least:
            next_pair, least = k, tasks.out[task, LOWER]
    return next_pair


@kernel
def _closer(scratch, found, row):
    """Keep the closer one of two rows, `row` being a new one, in row 0; return how many are kept."""
    if found == 0:
        return 1
    values, pairs = scratch.keys.values, scratch.keys.pairs
    if values[row] < values[0]:
        values[0] = values[row]
        pairs[0, 0], pairs[0, 1] = pairs[row, 0], pairs[row, 1]
        for j in range(scratch.out.shape[1]):
            scratch.out[0, j] = scratch.out[row, j]
    return 1


@kernel(nogil=True, separate=True)
def _finish_group(local, vertices, pairs, groups, memory, i, g, wanted):
    """Find the closest pair of a group in a state; returns the number of rows kept, 0 or 1."""
    _, span, tasks, pool, nets, scratch, _ = memory
    n, packed, world, counts = pairs.shape[0], local.packed, _world(memory.worlds, i), span.counts[i]
    found = left = 0
    for k in range(groups[g], groups[g + 1]):
        task = span.task[i * n + k]
        if task >= 0 and tasks.ends[task] == CLOSED:
            if _keep_row(tasks, task, packed, world, wanted, scratch, found, counts) > found:
                found = _closer(scratch, found, found)
        elif task >= 0 and tasks.ends[task] == BEYOND:
            counts[BOUNDED] += 1
    while True:
        k = _next_open(memory, groups, i, n, g)
        if k < 0:
            break
        task, a, b = span.task[i * n + k], pairs[k, 0], pairs[k, 1]
        width = certified_width(packed, world, a, b, memory.worlds.roundings[i], wanted.tolerance)
        limit = scratch.keys.values[0] if found > 0 else wanted.max_distance
        if tasks.out[task, LOWER] - width > limit:
            tasks.ends[task] = BEYOND
            counts[BOUNDED] += 1
            continue
        state, out = pool.states[slot_of(pool, pair_key(a, b))], scratch.out[found]
        if answer_open_task(tasks, task, packed, world, wanted, state, scratch.rotation, out):
            tasks.ends[task] = CLOSED
            if _keep(packed, world, a, b, wanted, scratch, found, counts) > found:
                found = _closer(scratch, found, found)
        else:
            tasks.ends[task] = FAILED
    for k in range(groups[g], groups[g + 1]):
        task = span.task[i * n + k]
        if task == LEFT or (task >= 0 and tasks.ends[task] == FAILED):
            left = leave(scratch, left, pairs[k, 0], pairs[k, 1])
    if left == 0:
        scratch.keys.order[0] = 0
        return found
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


@kernel(nogil=True, separate=True)
def _place_span(local, links, memory, pairs, limit, start, end):
    """Place the bodies of the states of a span and cull their pairs."""
    worlds = memory.worlds
    for i in range(end - start):
        world = _world(worlds, i)
        worlds.roundings[i] = place_all(local, links.of_body, links.poses[start + i], links.posed, world)
        _cull(local, world, pairs, limit, worlds.roundings[i], memory.span, i)


@kernel
def _wanted_in(wanted, rounding, most):
    """What is wanted in a state, with the rounding of its bounds."""
    return Wanted(most, wanted.max_distance, wanted.overlapping_only, rounding, wanted.tolerance, wanted.budget)


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
    counts, tolerance = memory.span.counts, wanted.tolerance
    for begin in range(start, stop, memory.worlds.poses.shape[0]):
        end = min(stop, begin + memory.worlds.poses.shape[0])
        _place_span(local, links, memory, pairs, wanted.max_distance, begin, end)
        if wanted.most >= pairs.shape[0]:
            count = _pose_all(local, pairs, wanted, memory, end - begin)
            answer_tasks(local, memory.worlds.poses, memory.tasks, 0, count, tolerance, memory.lanes)
        for s in range(begin, end):
            if answers.first[s] + min(counts[s - begin, PAST_OBB], wanted.most) > answers.rows.shape[0]:
                return s
            here = _wanted_in(wanted, memory.worlds.roundings[s - begin], wanted.most)
            found = _finish_all(local, vertices, pairs, memory, s - begin, here)
            _store(answers, s, found, wanted.most, memory.scratch, counts[s - begin])
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
    Lanes answer the pair of each group that seems to be the closest. What they prove of it limits what they are asked
    about the others.
    """
    scratch, counts, tolerance = memory.scratch, memory.span.counts, wanted.tolerance
    poses, tasks = memory.worlds.poses, memory.tasks
    for begin in range(start, stop, poses.shape[0]):
        end = min(stop, begin + poses.shape[0])
        _place_span(local, links, memory, pairs, wanted.max_distance, begin, end)
        first = _pose_nearest(local, pairs, groups, memory, end - begin, max(wanted.max_distance, 0.0))
        answer_tasks(local, poses, tasks, 0, first, tolerance, memory.lanes)
        count = _pose_others(local, pairs, groups, wanted, memory, end - begin, first)
        answer_tasks(local, poses, tasks, first, count, tolerance, memory.lanes)
        for s in range(begin, end):
            row = answers.first[s]
            if row + wanted.most > answers.rows.shape[0]:
                return s
            here = _wanted_in(wanted, memory.worlds.roundings[s - begin], 1)
            for g in range(groups.shape[0] - 1):
                if _finish_group(local, vertices, pairs, groups, memory, s - begin, g, here) > 0:
                    best = scratch.keys.order[0]
                    for j in range(scratch.out.shape[1]):
                        answers.rows[row, j] = scratch.out[best, j]
                    answers.bodies[row, 0] = scratch.keys.pairs[best, 0]
                    answers.bodies[row, 1] = scratch.keys.pairs[best, 1]
                    row += 1
            answers.first[s + 1] = row
            for i in range(counts.shape[1]):
                answers.counts[s, i] = counts[s - begin, i]
    return stop
