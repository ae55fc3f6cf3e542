# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Solve the candidates of a query: all pairs of each group, or only the closest ones.

A query answers one scene, or one scene for each of several states of a robot. It has two steps: culling by bounding
volumes writes the candidates (`cull`, `box_tree.cull_tree`), and these are solved. Most candidates of a large
query are apart: Newton's method and a certificate in closed form answer them. SIMD lanes (`contact.lanes`) run both for
many pairs at once, of all states together. The scalar solver answers the others, state by state, from the points of
earlier answers.

If only the closest pairs of a group are wanted, its candidates wait in a heap under proved lower bounds of their
distances. The first of the heap gets the next bound, in the order of their cost: bounding spheres, oriented boxes,
support points along the line of centres. If it has all bounds, it is solved. The search ends when enough
answers are no farther than the least bound left. The bounds are lowered by the width of a certified interval, so
that no certified answer lies below its bound, and equal distances keep their order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.arrays import Bools1, Floats1, Floats2, Floats4, Ints1, Ints2, zeros
from superovoid.compiled.kernels import bundle, entry_point, kernel
from superovoid.compiled.row_heap import lift, sink, without_first
from superovoid.compiled.vector import norm, scale
from superovoid.contact.broadcasting import own_or_only
from superovoid.contact.columns import RESULT, RESULT_LENGTH
from superovoid.contact.compounds import solve_within
from superovoid.contact.lanes import many_pairs, newton_lanes
from superovoid.contact.pair import Limit
from superovoid.contact.separation import offset_of, separation
from superovoid.contact.superovoids import newton
from superovoid.contact.superovoids.certificate import gap_tolerance
from superovoid.contact.superovoids.pair_solver import mark_failure
from superovoid.scene.culling import (
    BOUNDED,
    COUNTS,
    INTERSECTING,
    SOLVED,
    LocalBodies,
    World,
    body_at,
    gap_of_oriented_boxes,
    is_within,
    place_all,
    sphere_gap,
    world_at,
    world_for,
)
from superovoid.scene.pair_table import WarmStarts, pair_key, slot_of, warm_starts
from superovoid.shapes.kernels.kinds import Core, kind_of
from superovoid.shapes.kernels.rounding import turn_of_plane
from superovoid.shapes.kernels.surface import RADIUS, SIZE
from superovoid.values.status import PRECISION

LEAST = 48
"""Least number of candidates in a query of a scene for which lanes save time."""

NEW, SPHERES, BOXES, BOUNDED_ALONG, CLOSED, CONTACT, BEYOND, FAILED = 0, 1, 2, 3, 4, 5, 6, 7
"""What is known of a candidate: nothing; a bound of spheres, of boxes, along the line of centres; from lanes: the
answer, a contact whose interval is open, that it is beyond its limit, nothing more."""

ONE_GROUP = np.zeros(1, np.int64)
"""`groups` if all pairs are of one group."""

_POINTS = 2 * newton_lanes.POINT_LENGTH


@bundle
class Candidates(NamedTuple):
    """Candidate pairs, one row each, with the bounds and answers known so far."""

    pairs: Ints2
    states: Ints1  # index of the robot's state; 0 in a scene
    groups: Ints1
    bounds: Floats1  # lower bounds of the distances
    stages: Ints1
    limits: Floats1  # largest distances that lanes must answer
    out: Floats2  # answer of lanes; for an open contact, its proved interval
    points: Floats2  # points of that contact
    asked: Ints1  # rows listed for lanes


def candidates_for(rows: int) -> Candidates:
    """Return memory for a number of candidates."""
    return zeros(Candidates, (rows, 2), *[rows] * 5, (rows, RESULT_LENGTH), (rows, _POINTS), rows)


@bundle
class Scratch(NamedTuple):
    """Memory for the answers of a query, one row each, and for a matrix."""

    waiting: Ints1  # heap of candidates
    nearest: Ints1  # heap of the smallest distances known
    farness: Floats1  # the negated distances
    out: Floats2
    keys: Keys  # distances and pairs of the rows of `out`
    rotation: Floats2


def scratch_for(rows: int) -> Scratch:
    """Return memory for a number of answers."""
    return zeros(Scratch, rows, rows, rows, (rows, RESULT_LENGTH), keys_for(rows), (3, 3))


class QueryLimits(NamedTuple):
    """The answers that a query wants, and their tolerance."""

    most: int  # number of the closest pairs of each group
    max_distance: float  # largest distance, m
    overlapping_only: bool
    tolerance: float
    budget: int
    of_scene: bool  # if true, lanes start from earlier answers, and only with many candidates


@bundle
class Keys(NamedTuple):
    """Sort keys of rows, and memory for the sort."""

    values: Floats1
    pairs: Ints2  # (rows, 2): tie-breakers of equal values
    order: Ints1  # the result: rows, ascending
    merged: Ints1


def keys_for(rows: int) -> Keys:
    """Return memory for a number of rows."""
    return zeros(Keys, rows, (rows, 2), rows, rows)


@kernel
def is_before(keys, i, j):
    """Return whether row i comes before row j."""
    values, pairs = keys.values, keys.pairs
    if values[i] != values[j]:
        return values[i] < values[j]
    return pairs[i, 0] < pairs[j, 0] if pairs[i, 0] != pairs[j, 0] else pairs[i, 1] < pairs[j, 1]


@kernel
def sort(keys, count):
    """Sort rows by ascending value, and equal ones by their pair (bottom-up merge sort)."""
    order, merged = keys.order, keys.merged
    for k in range(count):
        order[k] = k
    run = 1
    while run < count:
        for start in range(0, count, 2 * run):
            middle, end = min(start + run, count), min(start + 2 * run, count)
            i, j = start, middle
            for k in range(start, end):
                if i < middle and (j == end or not is_before(keys, order[j], order[i])):
                    merged[k] = order[i]
                    i += 1
                else:
                    merged[k] = order[j]
                    j += 1
        for k in range(count):
            order[k] = merged[k]
        run *= 2


@kernel
def lower_limit(nearest, farness, known, most, limit, value):
    """Add a distance within the limit to the smallest ones; return the limit for other pairs.

    `nearest` is a heap of the smallest distances with the largest on top, so its keys are the negated distances.
    `known` is their number before this call. Once there are `most`, the limit is the largest of them.
    """
    if known < most:
        nearest[known] = known
        farness[known] = -value
        lift(nearest, farness, known)
    else:
        farness[nearest[0]] = -value
        sink(nearest, farness, 0, most)
    return min(limit, -farness[nearest[0]]) if known + 1 >= most else limit


@kernel
def pose_error(packed, world, a, b):
    """Return the error of the distance of two bodies due to the rounding of their poses, m."""
    loss = world.losses[a] + world.losses[b]
    endless_a, endless_b = world.spheres[a, 3] == math.inf, world.spheres[b, 3] == math.inf
    if loss > 0.0 and endless_a != endless_b:
        other = b if endless_a else a
        loss += turn_of_plane(packed[other, RADIUS], norm(offset_of(world.poses[a], world.poses[b])))
    return loss


@kernel
def _certified_width(packed, world, a, b, tolerance):
    """Return how far a certified distance may lie below a bound: interval width plus rounding of bounds, m."""
    loss = pose_error(packed, world, a, b)
    if world.spheres[a, 3] == math.inf:
        a = b
    elif world.spheres[b, 3] == math.inf:
        b = a
    width = gap_tolerance(packed[a], packed[b], offset_of(world.poses[a], world.poses[b]), tolerance)
    return width + world.rounding[0] + 2.0 * loss


@kernel
def widen(out, loss, wanted):
    """Widen the interval of an answer; `wanted` is the width that certifies it without rounding."""
    if loss > 0.0:
        out[RESULT.lower] -= loss
        out[RESULT.upper] += loss
        if 4.0 * loss > wanted and not int(out[RESULT.status]) & PRECISION:
            out[RESULT.status] += PRECISION


# -- lanes ---------------------------------------------------------------------------------------------------------


@kernel
def _store(block, i, rows, row, tolerance):
    """Store the result of lanes for a pair of the block."""
    phase, out = block[many_pairs.AT.phase + i], rows.out[row]
    if many_pairs.store_row(block, i, tolerance, out):
        rows.stages[row], rows.bounds[row] = CLOSED, out[RESULT.distance]
    elif phase == newton.BEYOND:
        rows.stages[row] = BEYOND
    elif phase == newton.CONVERGED:
        rows.stages[row] = CONTACT
        lower, upper = block[many_pairs.AT.lower + i], block[many_pairs.AT.upper + i]
        is_known = lower <= upper  # false for NaN
        out[RESULT.lower], out[RESULT.upper] = (lower, upper) if is_known else (-math.inf, math.inf)
    else:
        rows.stages[row] = FAILED
    many_pairs.store_points(block, i, rows.points[row])


@kernel(nogil=True, separate=True)
def _ask_lanes(local, poses, rows, begin, end, to_cores, tolerance, pool, is_warm, lanes):
    """Solve candidates of `rows.asked` in lanes, all of one class.

    `poses` has the poses of the bodies in all states. If `is_warm`, lanes start from the points of earlier answers;
    otherwise an answer depends on its pair and poses alone.
    """
    block, packed = lanes.block, local.packed
    for first in range(begin, end, many_pairs.CHUNK):
        filled = min(many_pairs.CHUNK, end - first)
        for i in range(filled):
            row = rows.asked[first + i]
            of_state, a, b = rows.states[row] * packed.shape[0], rows.pairs[row, 0], rows.pairs[row, 1]
            many_pairs.load_bodies(block, i, packed[a], packed[b], poses[of_state + a], poses[of_state + b])
            many_pairs.load_poses(block, i, poses[of_state + a], poses[of_state + b])
            block[many_pairs.AT.limit + i] = rows.limits[row]
            if is_warm and not to_cores:
                many_pairs.load_points(block, i, pool.states[slot_of(pool, pair_key(a, b))])
            else:
                many_pairs.load_no_points(block, i)
        many_pairs.prepare(block, filled, tolerance)
        many_pairs.converge(lanes.newton, lanes.running, block, filled, to_cores)
        many_pairs.prove(block, filled, to_cores)
        for i in range(filled):
            _store(block, i, rows, rows.asked[first + i], tolerance)


# -- candidates of a group -------------------------------------------------------------------------------------------


@kernel(nogil=True, separate=True)
def _separation_along(a, b, line):
    """Return the lower bound of a distance that support points along a line in the world prove, m."""
    length = norm(line)
    if not length > 0.0:
        return -math.inf
    core_a, core_b = Core(a.row, kind_of(a.row), a.pool), Core(b.row, kind_of(b.row), b.pool)
    return separation(core_a, core_b, a.pose, b.pose, scale(1.0 / length, line)).lower


@kernel
def _bound_by_spheres(local, world, rows, row, tolerance):
    """Set the first bound of a candidate. With a half-space it is the only one: solving is as fast."""
    a, b = rows.pairs[row, 0], rows.pairs[row, 1]
    rows.bounds[row] = sphere_gap(world, a, b) - _certified_width(local.packed, world, a, b, tolerance)
    rows.stages[row] = BOUNDED_ALONG if world.spheres[a, 3] + world.spheres[b, 3] == math.inf else SPHERES


@kernel
def _raise_bound(local, world, rows, row, limit, tolerance):
    """Set the next bound of a candidate: that of its oriented boxes, or along the line between its spheres."""
    a, b = rows.pairs[row, 0], rows.pairs[row, 1]
    if rows.stages[row] == SPHERES:
        gap = gap_of_oriented_boxes(local, world, a, b, limit)
        # Newton's method finds a pair beyond its limit faster than support points do.
        lane_class = many_pairs.lane_class(local.packed[a], local.packed[b])
        rows.stages[row] = BOXES if lane_class == many_pairs.NO_LANES else BOUNDED_ALONG
    else:
        sphere_a, sphere_b = world.spheres[a], world.spheres[b]
        line = (sphere_b[0] - sphere_a[0], sphere_b[1] - sphere_a[1], sphere_b[2] - sphere_a[2])
        gap = _separation_along(body_at(local, world, a), body_at(local, world, b), line)
        rows.stages[row] = BOUNDED_ALONG
    rows.bounds[row] = max(rows.bounds[row], gap - _certified_width(local.packed, world, a, b, tolerance))


@kernel
def _line_up(local, world, rows, begin, end, wanted, heap):
    """Build a heap of the candidates that may be wanted, by their bounds; return its size."""
    left = 0
    for row in range(begin, end):
        if rows.stages[row] == NEW:
            _bound_by_spheres(local, world, rows, row, wanted.tolerance)
        elif rows.stages[row] == CONTACT:
            width = _certified_width(local.packed, world, rows.pairs[row, 0], rows.pairs[row, 1], wanted.tolerance)
            rows.bounds[row] = max(rows.bounds[row], rows.out[row, RESULT.lower] - width)
        if rows.stages[row] != BEYOND and rows.bounds[row] <= wanted.max_distance:
            heap[left] = row
            left += 1
    for i in range(left // 2 - 1, -1, -1):
        sink(heap, rows.bounds, i, left)
    return left


@kernel
def _first_of_heap(local, world, rows, heap, left, limit, tolerance):
    """Raise bounds until the first candidate of a heap has all of them; return it, or -1 if it is beyond the limit."""
    while left > 0 and rows.bounds[heap[0]] <= limit:
        if rows.stages[heap[0]] >= BOUNDED_ALONG:
            return heap[0]
        _raise_bound(local, world, rows, heap[0], limit, tolerance)
        sink(heap, rows.bounds, 0, left)
    return -1


@kernel
def _keep(scratch, found, a, b, best_first, base, wanted, limit, counts):
    """Keep the answer in row `found` for a pair if it is wanted; return the new number of rows.

    Return also the limit for other pairs: unchanged or, if the best come first and `most` are known, the largest
    distance of the closest ones.
    """
    distance = scratch.out[found, RESULT.distance]
    if distance < 0.0:
        counts[INTERSECTING] += 1
    elif wanted.overlapping_only:
        return found, limit
    if not distance <= limit:
        return found, limit
    scratch.keys.values[found] = distance
    scratch.keys.pairs[found, 0] = a
    scratch.keys.pairs[found, 1] = b
    if best_first:
        known = found - base
        limit = lower_limit(scratch.nearest, scratch.farness, known, wanted.most, limit, distance)
    return found + 1, limit


@kernel(nogil=True, separate=True)
def _answer(local, world, rows, row, limit, wanted, pool, rotation, out):
    """Solve a candidate, from the points of lanes or of earlier answers; if it is beyond the limit, prove only this."""
    packed, a, b = local.packed, rows.pairs[row, 0], rows.pairs[row, 1]
    state, stage = pool.states[slot_of(pool, pair_key(a, b))], rows.stages[row]
    if stage == CLOSED or stage == CONTACT:
        for j in range(_POINTS):
            state[j] = rows.points[row, j]
    elif stage == FAILED and many_pairs.lane_class(packed[a], packed[b]) == many_pairs.OVOIDS:
        mark_failure(state)
    if stage == CLOSED:
        for j in range(RESULT_LENGTH):
            out[j] = rows.out[row, j]
    else:
        first, second = body_at(local, world, a), body_at(local, world, b)
        ends = Limit(wanted.tolerance, wanted.budget, max(limit, 0.0), -math.inf)  # the sign is always decided
        solve_within(first, second, ends, state, rotation, out)
    widen(out, pose_error(packed, world, a, b), wanted.tolerance * min(packed[a, SIZE], packed[b, SIZE]))


@kernel
def _solve_group(local, world, memory, begin, end, found, wanted, counts):
    """Solve candidates in rows `begin` to `end - 1`: all, or those that may be among the `most` closest.

    Append those within `max_distance` to the `found` answers; return the new number of answers.
    """
    rows, scratch, heap = memory.rows, memory.scratch, memory.scratch.waiting
    base, limit, best_first, left = found, wanted.max_distance, wanted.most < end - begin, end - begin
    if best_first:
        left = _line_up(local, world, rows, begin, end, wanted, heap)
    counts[BOUNDED] += end - begin - left
    while left > 0:
        row = end - left
        if best_first:
            row = _first_of_heap(local, world, rows, heap, left, limit, wanted.tolerance)
            if row < 0:
                counts[BOUNDED] += left
                break
            left = without_first(heap, rows.bounds, left)
        else:
            left -= 1
        counts[SOLVED] += 1
        if rows.stages[row] == BEYOND:
            continue
        _answer(local, world, rows, row, limit, wanted, memory.pool, scratch.rotation, scratch.out[found])
        a, b = rows.pairs[row, 0], rows.pairs[row, 1]
        found, limit = _keep(scratch, found, a, b, best_first, base, wanted, limit, counts)
    return found


@kernel
def _keep_closest(scratch, base, found):
    """Keep only the closest of the answers in rows `base` to `found - 1`, in row `base`."""
    keys, best = scratch.keys, base
    for row in range(base + 1, found):
        if is_before(keys, row, best):
            best = row
    keys.values[base] = keys.values[best]
    keys.pairs[base, 0], keys.pairs[base, 1] = keys.pairs[best, 0], keys.pairs[best, 1]
    for j in range(scratch.out.shape[1]):
        scratch.out[base, j] = scratch.out[best, j]


# -- candidates of states --------------------------------------------------------------------------------------------


@bundle
class Memory(NamedTuple):
    """Memory of a query about several states; a scene is one state."""

    world: World  # in all states
    first: Ints1  # first candidate of each state, and the end
    counts: Ints2  # counts of each state
    rows: Candidates
    pool: WarmStarts
    scratch: Scratch
    lanes: many_pairs.Lanes


def memory_for(states: int, bodies: int, candidates: int, slots: int, uses_lanes: bool) -> Memory:
    """Return memory for numbers of states, bodies, candidates (of all states) and warm starts."""
    rows, scratch = candidates_for(candidates), scratch_for(candidates // max(states, 1))
    own = world_for(states, bodies), states + 1, (states, COUNTS)
    return zeros(Memory, *own, rows, warm_starts(slots), scratch, many_pairs.lanes_for(uses_lanes))


@entry_point(nogil=True, separate=True)
def cull(local: LocalBodies, pairs: Ints2, groups: Ints1, limit: float, state: int, memory: Memory) -> int:
    """Append the candidates of a state to those of earlier states; return the number of all.

    `groups` has the group of each pair, or a single entry for all pairs.
    """
    world, rows = world_at(memory.world, state), memory.rows
    counts, count = memory.counts[state], memory.first[state]
    counts[:] = 0
    for k in range(pairs.shape[0]):
        a, b = pairs[k, 0], pairs[k, 1]
        if is_within(local, world, a, b, limit, counts):
            rows.pairs[count, 0], rows.pairs[count, 1] = a, b
            rows.states[count], rows.groups[count], rows.stages[count] = state, groups[own_or_only(groups, k)], NEW
            count += 1
    memory.first[state + 1] = count
    return count


@kernel
def _end_of_group(rows, begin, end):
    """Return the first candidate after the group that begins at `begin`."""
    row = begin + 1
    while row < end and rows.groups[row] == rows.groups[begin]:
        row += 1
    return row


class LaneCounts(NamedTuple):
    """Lengths of the lists of candidates for lanes: of superovoids from the front, next to cores from the back."""

    ovoids: int
    cores: int


@kernel
def _ask(local, world, rows, row, limit, asked):
    """List a candidate for lanes; return the lengths of the lists."""
    a, b = rows.pairs[row, 0], rows.pairs[row, 1]
    lane_class = many_pairs.lane_class(local.packed[a], local.packed[b])
    if lane_class == many_pairs.NO_LANES:
        return asked
    # The sign of a distance is always wanted.
    rows.limits[row] = max(limit, 0.0) + 2.0 * pose_error(local.packed, world, a, b)
    if lane_class == many_pairs.OVOIDS:
        rows.asked[asked.ovoids] = row
        return LaneCounts(asked.ovoids + 1, asked.cores)
    rows.asked[rows.asked.shape[0] - 1 - asked.cores] = row
    return LaneCounts(asked.ovoids, asked.cores + 1)


@kernel
def _choose_of_group(local, world, memory, begin, end, wanted, turn, asked):
    """List candidates of a group for lanes: first all, or the first of the heap; later those that may be closer."""
    rows, limit = memory.rows, wanted.max_distance
    if end - begin <= wanted.most:
        for row in range(begin, end if turn == 0 else begin):
            asked = _ask(local, world, rows, row, limit, asked)
    elif wanted.most == 1 and turn == 0:
        heap = memory.scratch.waiting
        left = _line_up(local, world, rows, begin, end, wanted, heap)
        first = _first_of_heap(local, world, rows, heap, left, limit, wanted.tolerance)
        if first >= 0:
            asked = _ask(local, world, rows, first, limit, asked)
    elif wanted.most == 1:
        for row in range(begin, end):
            if rows.stages[row] == CLOSED or rows.stages[row] == CONTACT:
                limit = min(limit, rows.out[row, RESULT.distance if rows.stages[row] == CLOSED else RESULT.upper])
        for row in range(begin, end):
            a, b = rows.pairs[row, 0], rows.pairs[row, 1]
            if many_pairs.lane_class(local.packed[a], local.packed[b]) == many_pairs.NO_LANES:
                continue
            if rows.stages[row] == SPHERES and rows.bounds[row] <= limit:
                _raise_bound(local, world, rows, row, limit, wanted.tolerance)
            if rows.stages[row] == BOUNDED_ALONG and rows.bounds[row] <= limit:
                asked = _ask(local, world, rows, row, limit, asked)
    return asked


@kernel(nogil=True, separate=True)
def ask_lanes(local, memory, states, wanted):
    """Solve candidates of states in lanes: first the certainly wanted ones, then those that may be closer."""
    rows = memory.rows
    for turn in range(1 if wanted.of_scene else 2):
        asked = LaneCounts(0, 0)
        for i in range(states):
            world, begin = world_at(memory.world, i), memory.first[i]
            while begin < memory.first[i + 1]:
                end = _end_of_group(rows, begin, memory.first[i + 1])
                asked = _choose_of_group(local, world, memory, begin, end, wanted, turn, asked)
                begin = end
        room = rows.asked.shape[0]
        for begin, end, to_cores in ((0, asked.ovoids, False), (room - asked.cores, room, True)):
            if end - begin >= LEAST or not wanted.of_scene:
                how = to_cores, wanted.tolerance, memory.pool, wanted.of_scene, memory.lanes
                _ask_lanes(local, memory.world.poses, rows, begin, end, *how)


@kernel(nogil=True, separate=True)
def finish_state(local, memory, i, wanted):
    """Solve the remaining candidates of a state; return the number of answers. `scratch.keys` has their order."""
    world, scratch, begin, found = world_at(memory.world, i), memory.scratch, memory.first[i], 0
    while begin < memory.first[i + 1]:
        end, base = _end_of_group(memory.rows, begin, memory.first[i + 1]), found
        found = _solve_group(local, world, memory, begin, end, found, wanted, memory.counts[i])
        if wanted.most == 1 and found > base + 1:
            _keep_closest(scratch, base, found)
            found = base + 1
        begin = end
    sort(scratch.keys, found)
    return found


@entry_point(nogil=True, separate=True)
def solve(local: LocalBodies, memory: Memory, count: int, wanted: QueryLimits) -> int:
    """Solve the first `count` candidates of a scene, as one group. This ends the query.

    Return the number of answers: `scratch.keys.order[:number]` has their rows in `scratch.out` and `scratch.keys`.
    """
    memory.first[1] = count
    for row in range(count):
        memory.rows.stages[row] = NEW
    ask_lanes(local, memory, 1, wanted)
    return finish_state(local, memory, 0, wanted)


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
def _append(answers, state, number, scratch):
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
        _append(answers, i, number if wanted.most == 1 else min(number, wanted.most), memory.scratch)
