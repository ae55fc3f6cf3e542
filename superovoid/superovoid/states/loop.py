# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The loop over states: bodies are placed, pairs culled and solved, answers appended to those of the states before.

The states of a *span* are placed and culled together, and lanes are given the pairs of all of them (`Tasks`). Then
the solver answers what they have left, state after state, from its earlier answers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.arrays import Bools1, Floats1, Floats2, Floats3, Floats4, Ints1, Ints2
from superovoid.compiled.kernels import bundle, entry_point, kernel
from superovoid.compiled.vector import dot, norm, scale
from superovoid.contact.columns import DISTANCE, LOWER, NORMAL, RESULT_LENGTH, UPPER
from superovoid.scene.culling import (
    BOUNDED,
    COUNTS,
    PAST_OBB,
    SOLVED,
    Local,
    World,
    gap_along,
    gap_of_oriented_boxes,
    is_within,
    place_all,
)
from superovoid.scene.first_try import (
    BEYOND,
    CLOSED,
    CONTACT,
    Lanes,
    Tasks,
    answer_tasks,
    is_for_lanes,
    leave,
    pose_task,
    take_points,
)
from superovoid.scene.pair_table import NOW, WarmStarts
from superovoid.scene.solving import (
    Scratch,
    Wanted,
    answer_pair,
    certified_width,
    keep,
    lost,
    size_of_smaller,
    solve,
    sphere_gap,
    widen,
)
from superovoid.scene.sorting import sort


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


DONE, LEFT = -1, -2
"""Of a pair without a task: answered, or beyond the limit; not yet."""


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
        span.task[i * pairs.shape[0] + k] = LEFT if within else DONE


@kernel(forceinline=True)
def _bound_along(local, world, a, b, n):
    """Lower bound of the distance of two bodies, without what rounding takes, along the normal of an answer.

    For a normal of zeros along the line of their spheres, and from these.
    """
    sphere_a, sphere_b = world.spheres[a], world.spheres[b]
    radii = sphere_a[3] + sphere_b[3]
    if radii == math.inf:
        return sphere_gap(world, a, b)
    line = (sphere_b[0] - sphere_a[0], sphere_b[1] - sphere_a[1], sphere_b[2] - sphere_a[2])
    if n[0] == 0.0 and n[1] == 0.0 and n[2] == 0.0:
        length = norm(line)
        if not length > 0.0:
            return -radii
        return max(length - radii, gap_along(local, world, a, b, scale(1.0 / length, line)))
    return gap_along(local, world, a, b, n if dot(n, line) >= 0.0 else scale(-1.0, n))


@kernel
def _normal(row):
    return (row[NORMAL], row[NORMAL + 1], row[NORMAL + 2])


@kernel
def _is_beyond(local, world, a, b, bound, limit, rounding, tolerance):
    """Whether the certified answer for a pair with that bound is farther than the limit."""
    return bound > limit and bound - certified_width(local.packed, world, a, b, rounding, tolerance) > limit


@kernel
def _nearest_answer(memory, first, begin, end, limit):
    """Of the pairs of a group that lanes have answered, the task of the closest, -1 for none, and what it limits."""
    span, tasks, nearest = memory.span, memory.tasks, -1
    for row in range(first + begin, first + end):
        task = span.task[row]
        if task < 0:
            continue
        upper = tasks.out[task, DISTANCE] if tasks.ends[task] == CLOSED else tasks.out[task, UPPER]
        if upper < limit:
            limit = upper
            nearest = task if tasks.ends[task] == CLOSED else -1
    return nearest, limit


@kernel(nogil=True, separate=True)
def _pose_next(local, pairs, groups, wanted, memory, states, count, rounds):
    """Give lanes, of each group in each state, the pair that seems to be the closest; return how many tasks there are.

    All pairs of a group have a bound: at first from themselves, then from the normal of the closest pair answered.
    """
    n, span, tasks = pairs.shape[0], memory.span, memory.tasks
    for i in range(states):
        world, rounding = _world(memory.worlds, i), memory.worlds.roundings[i]
        for g in range(groups.shape[0] - 1):
            begin, end = groups[g], groups[g + 1]
            closest, limit, following = -1, wanted.max_distance, -1
            if rounds > 0:
                closest, limit = _nearest_answer(memory, i * n, begin, end, limit)
            normal = _normal(tasks.out[closest]) if closest >= 0 else (0.0, 0.0, 0.0)
            for k in range(begin, end):
                row, a, b = i * n + k, pairs[k, 0], pairs[k, 1]
                if span.task[row] != LEFT:
                    continue
                if end - begin == 1:
                    span.bounds[row] = -math.inf
                elif rounds == 0 or closest >= 0:
                    gap = _bound_along(local, world, a, b, normal) - rounding
                    span.bounds[row] = gap if rounds == 0 else max(span.bounds[row], gap)
                bound = span.bounds[row]
                if _is_beyond(local, world, a, b, bound, limit, rounding, wanted.tolerance):
                    span.task[row] = DONE
                elif is_for_lanes(local.packed, a, b) and (following < 0 or bound < span.bounds[i * n + following]):
                    following = k
            if following >= 0:
                a, b = pairs[following, 0], pairs[following, 1]
                span.task[i * n + following] = count
                # The sign of a distance is always wanted.
                beyond = max(limit, 0.0) + 2.0 * lost(local.packed, world, a, b)
                count = pose_task(tasks, count, i, a, b, beyond)
    return count


@kernel
def _keep_closer(local, world, a, b, wanted, scratch, base, found, counts):
    """Keep the answer in row `found` for a pair if it is wanted and closer than that in row `base`, the group's."""
    after, _ = keep(scratch, found, a, b, False, 1, wanted.max_distance, wanted.overlapping_only, counts)
    if after > found > base:
        values, pairs = scratch.keys.values, scratch.keys.pairs
        if values[found] < values[base]:
            values[base] = values[found]
            pairs[base, 0], pairs[base, 1] = a, b
            for j in range(scratch.out.shape[1]):
                scratch.out[base, j] = scratch.out[found, j]
        return found
    return after


@kernel
def _next_left(memory, first, begin, end, at_contact):
    """Of the pairs of a group that lanes have left at a contact, or without one, the one of least bound; -1: none."""
    span, tasks, next_pair = memory.span, memory.tasks, -1
    for k in range(begin, end):
        task = span.task[first + k]
        if task == DONE or at_contact != (task >= 0 and tasks.ends[task] == CONTACT):
            continue
        if next_pair < 0 or span.bounds[first + k] < span.bounds[first + next_pair]:
            next_pair = k
    return next_pair


@kernel
def _is_farther(local, world, a, b, bound, row, distance, wanted):
    """Whether a pair is proved farther than the answer in a row: by its bound, its boxes, or the normal there."""
    bound = max(bound, _bound_along(local, world, a, b, _normal(row)) - wanted.rounding)
    if world.spheres[a, 3] + world.spheres[b, 3] < math.inf:
        bound = max(bound, gap_of_oriented_boxes(local, world, a, b, math.inf, wanted.rounding))
    return _is_beyond(local, world, a, b, bound, distance, wanted.rounding, wanted.tolerance)


@kernel(forceinline=True)
def _finish_group(local, vertices, pairs, begin, end, memory, i, wanted, base):
    """Keep the closest pair of a group in a state in row `base` if it is wanted; return the number of rows kept then.

    Pairs that lanes have left at a contact are answered first, then the others, each time that with the least bound.
    """
    _, span, tasks, pool, scratch, _ = memory
    packed, world, counts = local.packed, _world(memory.worlds, i), span.counts[i]
    first, found, left = i * pairs.shape[0], base, 0
    for k in range(begin, end):
        row, task = first + k, span.task[first + k]
        if task == DONE:
            continue
        left += 1
        if task == LEFT:
            continue
        a, b = pairs[k, 0], pairs[k, 1]
        if tasks.ends[task] == CLOSED:
            out = scratch.out[found]
            for j in range(RESULT_LENGTH):
                out[j] = tasks.out[task, j]
            widen(out, lost(packed, world, a, b), wanted.tolerance * size_of_smaller(packed, world, a, b))
            found = _keep_closer(local, world, a, b, wanted, scratch, base, found, counts)
        elif tasks.ends[task] == BEYOND:
            counts[SOLVED if end - begin == 1 else BOUNDED] += 1
        else:
            span.bounds[row] = max(span.bounds[row], tasks.out[task, LOWER])
            continue
        span.task[row] = DONE
        left -= 1
    for _ in range(left):
        k = _next_left(memory, first, begin, end, True)
        k = _next_left(memory, first, begin, end, False) if k < 0 else k
        row, a, b = first + k, pairs[k, 0], pairs[k, 1]
        task, limit = span.task[row], wanted.max_distance
        span.task[row] = DONE
        if found > base:
            limit = scratch.keys.values[base]
            if _is_farther(local, world, a, b, span.bounds[row], scratch.out[base], limit, wanted):
                counts[BOUNDED] += 1
                continue
        out = scratch.out[found]
        if task >= 0:
            take_points(tasks, task, pool)
        answer_pair(local, vertices, world, a, b, limit, wanted, pool, scratch.rotation, out)
        found = _keep_closer(local, world, a, b, wanted, scratch, base, found, counts)
    return found


@kernel(nogil=True, separate=True)
def _finish_state(local, vertices, pairs, groups, memory, i, wanted):
    """Answer what lanes have left of a state; return the number of rows, of which `scratch.keys` has the order."""
    span, pool, scratch = memory.span, memory.pool, memory.scratch
    found = left = 0
    if wanted.most < groups.shape[0] - 1:
        for k in range(pairs.shape[0]):
            if span.task[i * pairs.shape[0] + k] == LEFT:
                left = leave(scratch, left, pairs[k, 0], pairs[k, 1])
        world, counts = _world(memory.worlds, i), span.counts[i]
        return solve(local, vertices, world, 0, left, wanted, pool, scratch, counts)
    for g in range(groups.shape[0] - 1):
        found = _finish_group(local, vertices, pairs, groups[g], groups[g + 1], memory, i, wanted, found)
    sort(scratch.keys, found)
    pool.head[NOW] += 1
    return found


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


@entry_point(nogil=True)
def over_states(
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
    """Answer states from `start` to before `stop`; `vertices` and `wanted` as for `solve`, but for rounding.

    Group g are the pairs from row `groups[g]` to before `groups[g + 1]`. Of each the closest pair alone is wanted; of
    all groups, if `wanted.most` is less than their number, the so many closest pairs.
    The poses of the links of state s are in row s of `links.poses`. Returns the first state that is not answered:
    `stop`, or the one whose answers find no room; nothing of that one is changed then, so that the loop can go on with
    more memory as if nothing had happened.
    """
    counts, tolerance, poses = memory.span.counts, wanted.tolerance, memory.worlds.poses
    are_single = groups.shape[0] > pairs.shape[0]
    for begin in range(start, stop, poses.shape[0]):
        end = min(stop, begin + poses.shape[0])
        _place_span(local, links, memory, pairs, wanted.max_distance, begin, end)
        before, count, rounds = -1, 0, 0
        while wanted.most == groups.shape[0] - 1 and count > before and not (are_single and rounds > 0):
            before = count
            count = _pose_next(local, pairs, groups, wanted, memory, end - begin, count, rounds)
            answer_tasks(local, poses, memory.tasks, before, count, tolerance, memory.lanes)
            rounds += 1
        for s in range(begin, end):
            if answers.first[s] + min(counts[s - begin, PAST_OBB], wanted.most) > answers.rows.shape[0]:
                return s
            rounding = memory.worlds.roundings[s - begin]
            here = Wanted(wanted.most, wanted.max_distance, wanted.overlapping_only, rounding, tolerance, wanted.budget)
            found = _finish_state(local, vertices, pairs, groups, memory, s - begin, here)
            _store(answers, s, found, wanted.most, memory.scratch, counts[s - begin])
    return stop
