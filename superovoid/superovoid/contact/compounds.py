# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pairs of any bodies, compounds included. A compound is the union of its members.

Let d_ij be the signed distance of member i of A and member j of B, which the table of kinds bounds, and sd that of the
compounds.

* sd <= min d_ij: the compounds are no farther apart than two members, and no translation that separates the compounds
  is shorter than one that separates two members.
* If no d_ij is negative, sd = min d_ij.
* A translation by a length t changes every d_ij by at most t. So if the lower bound of the deepest pair is -t, and
  those of all other pairs are at least t, the translation that separates this pair separates the compounds: sd >= -t.
* If the members are proved to be disjoint after a translation by t, and t is not 0, then sd >= -t. If they are then
  apart by at least e, a translation by t - e in this direction separates them, too.

The first translations tried are those that separate the deepest pairs. Each grows by the translation of the deepest
remaining pair until no members overlap. Others move all of B past a support plane of A, along the normals of the
deepest pairs and the axes of the bodies, in both directions. Each is shortened by the gap that it leaves. If the
shortest one is longer than the depth of the deepest pair, the interval stays open, with the status
`UNPROVEN | NON_CONVEX`, as for two meshes (`convex.mesh`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import add, combine, dot, norm, put_vector_in, rotate, scale, sub, vector_at
from superovoid.contact.columns import RESULT, RESULT_LENGTH, STATE_LENGTH, write_result
from superovoid.contact.inputs import MOST_STEPS, MOST_TRANSLATIONS
from superovoid.contact.kind_table import COMPOUNDS, METHODS, in_order, solve_members
from superovoid.contact.minkowski.flats import REACH
from superovoid.contact.pair import Limit, PlacedBody
from superovoid.contact.separation import offset_of, radii, separation
from superovoid.shapes.kernels import kinds
from superovoid.shapes.kernels.rounding import allowance, at_place, compose, composition
from superovoid.shapes.kernels.surface import RADIUS, SIZE
from superovoid.values.status import NON_CONVEX, NON_UNIQUE, UNPROVEN

_SLACK = 0.25  # of the goal: gap after a translation, so that members are proved to be apart


class _Memory(NamedTuple):
    """Memory for a pair of compounds."""

    pose_a: NDArray[np.float64]
    pose_b: NDArray[np.float64]
    rotation: NDArray[np.float64]
    state: NDArray[np.float64]
    row: NDArray[np.float64]  # result of two members
    best: NDArray[np.float64]  # that of the nearest, or deepest, members
    lowers: NDArray[np.float64]  # lower bounds of the pairs of members
    normals: NDArray[np.float64]  # normals of the pairs that may overlap


@kernel
def member_count(body):
    """Return the number of members of a body; 1 if it is not a compound."""
    return int(body.row[kinds.MEMBER_COUNT]) if kinds.kind_of(body.row) == kinds.COMPOUND else 1


@kernel(_nrt=True)
def member(body, i, shift, pose):
    """Return member i of a body, moved by a shift, with its pose in the given memory."""
    row, pool = body.row, body.pool
    if kinds.kind_of(row) == kinds.COMPOUND:
        first = int(row[kinds.MEMBERS])
        k = first + i * kinds.MEMBER_LENGTH
        end = k + kinds.ROW_LENGTH
        compose(body.pose, pool[end : k + kinds.MEMBER_LENGTH].reshape(4, 4), pose)
        row, pool = pool[k:end], pool[first:]
    else:
        for j in range(16):
            pose[j // 4, j % 4] = body.pose[j // 4, j % 4]
    for j in range(3):
        pose[j, 3] += shift[j]
    return PlacedBody(row, pool, pose)


@kernel
def pose_error(body):
    """Bound of what the rounding of the poses of members adds to a distance, m."""
    row, pose = body.row, body.pose
    if kinds.kind_of(row) != kinds.COMPOUND:
        return 0.0
    return composition(row[RADIUS], row[RADIUS], True) + at_place(norm((pose[0, 3], pose[1, 3], pose[2, 3])))


@kernel
def _sphere(body, i):
    """Return the origin of member i of a body in the world, and the radius of the member about it."""
    row, pool, pose = body.row, body.pool, body.pose
    origin = (pose[0, 3], pose[1, 3], pose[2, 3])
    if kinds.kind_of(row) != kinds.COMPOUND:
        return origin, row[RADIUS]
    k = int(row[kinds.MEMBERS]) + i * kinds.MEMBER_LENGTH
    at = k + kinds.ROW_LENGTH
    return add(origin, rotate(pose, (pool[at + 3], pool[at + 7], pool[at + 11]))), pool[k + RADIUS]


@kernel
def _bound_by_spheres(a, b, margin, lowers):
    """Set the lower bounds of all pairs of members by spheres about their origins; return the number of the least."""
    nearest, least = 0, math.inf
    count_b = member_count(b)
    for k in range(lowers.shape[0]):
        x, of_a = _sphere(a, k // count_b)
        y, of_b = _sphere(b, k % count_b)
        length = norm(sub(y, x))
        lowers[k] = -math.inf
        if of_a + of_b < math.inf:
            lowers[k] = length - of_a - of_b - allowance(of_a, of_b, length) - margin
        if lowers[k] < least:
            nearest, least = k, lowers[k]
    return nearest


@kernel(_nrt=True)
def _solve_pair(a, b, k, shift, limit, memory):
    """Solve pair k of the members of A and of B, B moved by a shift, without a state; return its interval."""
    count_b, none, row = member_count(b), (0.0, 0.0, 0.0), memory.row
    first, second = member(a, k // count_b, none, memory.pose_a), member(b, k % count_b, shift, memory.pose_b)
    memory.state[:] = 0.0
    solve_members(first, second, limit, memory.state, memory.rotation, row)
    return row[RESULT.lower], row[RESULT.upper]


@kernel
def _separation_of_points(row, other):
    """Return how far the points of two answers are apart, m."""
    on_a = norm(sub(vector_at(row, RESULT.point_a), vector_at(other, RESULT.point_a)))
    return max(on_a, norm(sub(vector_at(row, RESULT.point_b), vector_at(other, RESULT.point_b))))


@kernel(_nrt=True)
def _nearest_members(a, b, limit, goal, aside, margin, memory):
    """Return an interval that contains min d_ij, and whether points elsewhere are as near; `memory.best` has points."""
    lowers, best = memory.lowers, memory.best
    start = _bound_by_spheres(a, b, margin, lowers)
    least, elsewhere, iterations, none = math.inf, math.inf, 0.0, (0.0, 0.0, 0.0)
    best[RESULT.upper] = math.inf
    for step in range(-1, lowers.shape[0]):
        k = start if step < 0 else step
        far = max(0.0, min(best[RESULT.upper] + goal, limit.beyond))  # the sign of each is decided
        if step >= 0 and (k == start or lowers[k] > far):
            continue
        ends = Limit(limit.tolerance, limit.budget, far + margin, limit.below - margin)
        lower, upper = _solve_pair(a, b, k, none, ends, memory)
        lower, upper, row = lower - margin, upper + margin, memory.row
        iterations += row[RESULT.iterations]
        lowers[k] = max(lowers[k], lower)
        put_vector_in(memory.normals, k, 0, vector_at(row, RESULT.normal))
        is_aside = _separation_of_points(row, best) > aside
        if int(row[RESULT.status]) & NON_UNIQUE:
            elsewhere = min(elsewhere, upper)
        if is_aside and step >= 0:
            elsewhere = min(elsewhere, max(upper, best[RESULT.upper]))
        nearer = min(upper, best[RESULT.upper])
        # Of overlaps that are not proved the deepest counts, not one that touches within rounding.
        is_deeper = upper <= nearer + goal and row[RESULT.distance] < best[RESULT.distance]
        if step < 0 or is_deeper or upper < best[RESULT.upper] - goal:
            for j in range(RESULT_LENGTH):
                best[j] = row[j]
        best[RESULT.upper] = nearer
        if upper < limit.below:
            least = -math.inf
            break
    for k in range(lowers.shape[0]):
        least = min(least, lowers[k])
    best[RESULT.iterations] = iterations
    return least, best[RESULT.upper], elsewhere - best[RESULT.upper] <= goal


@kernel(_nrt=True)
def _least_after(a, b, shift, limit, margin, memory):
    """Return a lower bound of min d_ij after a translation of B; `memory.best` is the pair that has it."""
    least, length = math.inf, norm(shift)
    for k in range(memory.lowers.shape[0]):
        if memory.lowers[k] - length >= least:
            continue
        lower, _ = _solve_pair(a, b, k, shift, Limit(limit.tolerance, limit.budget, least + margin, -math.inf), memory)
        if lower - margin < least:
            least = lower - margin
            for j in range(RESULT_LENGTH):
                memory.best[j] = memory.row[j]
    return least


@kernel
def _deepest(lowers, done):
    """Return the number of the deepest pair with a lower bound above that of the last one done, or -1."""
    found, least = -1, 0.0
    for k in range(lowers.shape[0]):
        if lowers[k] < least and lowers[k] > done:
            found, least = k, lowers[k]
    return found


@kernel(_nrt=True)
def _separate_from(a, b, shift, shortest, limit, slack, margin, memory, direction):
    """Return the length of a translation that separates all members, or the known one if that is shorter.

    The shift grows by the translations of the deepest pairs until all are apart. Then it shrinks: by Newton's method on
    the gap along it, which does not pass the zero of two convex members, or by half if others overlap there.
    """
    least = -math.inf
    for _ in range(MOST_TRANSLATIONS):
        least = _least_after(a, b, shift, limit, margin, memory)
        if least >= 0.0:
            break
        shift = combine(1.0, shift, slack - least, vector_at(memory.best, RESULT.normal))
    length = norm(shift)
    if not least >= 0.0:
        return shortest
    u = scale(1.0 / length, shift)
    low, was_free = 0.0, True
    for _ in range(MOST_STEPS):
        if least <= slack or length - low <= slack:
            break
        tried = 0.5 * (length + low)
        if was_free:
            rate = dot(vector_at(memory.best, RESULT.normal), u)
            step = least - 0.5 * slack
            tried = length - step / rate if rate * (length - low) > step else tried
        gap = _least_after(a, b, scale(tried, u), limit, margin, memory)
        was_free = gap >= 0.0
        if was_free:
            length, least = tried, gap
        else:
            low = tried
    length = max(0.0, length - least)
    if not length < shortest:
        return shortest
    direction[0], direction[1], direction[2] = u
    return length


@kernel
def _axis(pose, i):
    return (pose[0, i], pose[1, i], pose[2, i])


@kernel(separate=True, _nrt=True)
def _separate(a, b, limit, enough, slack, margin, memory, direction):
    """Return the length of a translation of B that is proved to separate two compounds, and fill in its direction."""
    core_a = kinds.Core(a.row, kinds.kind_of(a.row), a.pool)
    core_b = kinds.Core(b.row, kinds.kind_of(b.row), b.pool)
    has_planes = core_a.kind != kinds.HALF_SPACE and core_b.kind != kinds.HALF_SPACE
    fine = Limit(limit.tolerance, limit.budget, math.inf, -math.inf)
    normals = np.empty((MOST_TRANSLATIONS + 6, 3))
    shortest, done, count = math.inf, -math.inf, 0
    for _ in range(MOST_TRANSLATIONS):
        k = _deepest(memory.lowers, done)
        if k < 0 or shortest <= enough:
            break
        n, done = vector_at(memory.normals[k], 0), memory.lowers[k]
        normals[count, 0], normals[count, 1], normals[count, 2] = n
        count += 1
        shortest = _separate_from(a, b, scale(slack - done, n), shortest, fine, slack, margin, memory, direction)
    for i in range(3):
        normals[count, 0], normals[count, 1], normals[count, 2] = _axis(a.pose, i)
        normals[count + 1, 0], normals[count + 1, 1], normals[count + 1, 2] = _axis(b.pose, i)
        count += 2
    for k in range(2 * count if has_planes else 0):
        if shortest <= enough:
            break
        u = scale(1.0 if k % 2 == 0 else -1.0, vector_at(normals[k // 2], 0))
        length = margin - min(0.0, separation(core_a, core_b, a.pose, b.pose, u).lower)
        if length < shortest:
            shortest = length
            direction[0], direction[1], direction[2] = u
        shortest = _separate_from(a, b, scale(length + slack, u), shortest, fine, slack, margin, memory, direction)
    return shortest


@kernel
def _is_deepest_alone(lowers, least):
    """Return whether the translation that separates the deepest pair leaves all others apart."""
    count = 0
    for k in range(lowers.shape[0]):
        count += 1 if lowers[k] < -least else 0
    return count == 1


@kernel(separate=True, _nrt=True)
def _solve_compounds(first, second, limit, rotation, out):
    """Solve a compound and any body; beyond the limit's distance the interval may be a wide one."""
    swapped = not in_order(first, second)
    a, b = (second, first) if swapped else (first, second)
    core_a = kinds.Core(a.row, kinds.kind_of(a.row), a.pool)
    core_b = kinds.Core(b.row, kinds.kind_of(b.row), b.pool)
    count = member_count(a) * member_count(b)
    memory = _Memory(
        np.empty((4, 4)),
        np.empty((4, 4)),
        rotation,
        np.empty(STATE_LENGTH),
        np.empty(RESULT_LENGTH),
        np.zeros(RESULT_LENGTH),
        np.empty(count),
        np.empty((count, 3)),
    )
    of_a, of_b = radii(core_a, core_b)
    size, length = min(a.row[SIZE], b.row[SIZE]), norm(offset_of(a.pose, b.pose))
    margin = pose_error(a) + pose_error(b)
    wanted = limit.tolerance * size
    goal = wanted + 4.0 * (allowance(of_a, of_b, length) + margin)
    lower, upper, others = _nearest_members(a, b, limit, goal, REACH * size, margin, memory)
    best = memory.best
    status = int(best[RESULT.status]) & ~(UNPROVEN | NON_CONVEX) | (NON_UNIQUE if others else 0)
    distance, iterations = best[RESULT.distance], int(best[RESULT.iterations])
    x, y, n = vector_at(best, RESULT.point_a), vector_at(best, RESULT.point_b), vector_at(best, RESULT.normal)
    is_known = lower >= 0.0 or upper < limit.below or _is_deepest_alone(memory.lowers, lower)
    if not is_known:
        slack, direction = _SLACK * goal, np.empty(3)
        shortest = _separate(a, b, limit, goal - upper, slack, margin, memory, direction)
        away = vector_at(direction, 0)
        margin += allowance(of_a, of_b, length + shortest)
        lower = min(-shortest - margin, distance)
        if upper < 0.0 or distance < -goal:  # else the members touch within rounding
            # The points are those that are nearest after the translation, moved back.
            _least_after(a, b, scale(shortest, away), limit, margin, memory)
            distance, x, n = -shortest, vector_at(best, RESULT.point_a), away
            y = combine(1.0, vector_at(best, RESULT.point_b), -shortest, away)
    interval, widths = (lower, max(upper, distance)), (goal, wanted)
    write_result(swapped, distance, interval, (x, y), n, status, False, widths, iterations, out)


@kernel
def solve_within(a, b, limit, state, rotation, out):
    """Answer for two `PlacedBody`, written to a result row; beyond the limit's distance it may be a wide one.

    `state` is the state after an earlier answer of this pair, zeros for none, and is updated; `rotation` is scratch.
    Compounds leave none.
    """
    if METHODS[kinds.kind_of(a.row), kinds.kind_of(b.row)] == COMPOUNDS:
        _solve_compounds(a, b, limit, rotation, out)
    else:
        solve_members(a, b, limit, state, rotation, out)
