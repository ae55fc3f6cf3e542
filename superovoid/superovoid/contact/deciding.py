# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Decide whether the signed distance of two packed bodies is below a threshold: proofs in the order of their cost.

bounding spheres               |c| - R_A - R_B <= sd
two superovoids                the middle of the points where the line of centres leaves them, inside both: sd < 0
two convex bodies              GJK ends as soon as a direction proves them no closer, or a pair of points closer; if
                               its tetrahedron holds the origin, its least height proves an overlap
a mesh that is not convex      hulls, triangles, and what lies inside (`convex.mesh`)
compounds                      their members, by the same proofs
undecided pairs                the solver, which may end at the threshold (`Limit`)
"""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np

from superovoid.compiled.arrays import Floats1, Floats2, Ints1
from superovoid.compiled.kernels import entry_point, kernel
from superovoid.compiled.rows import storer
from superovoid.compiled.vector import add, combine, norm, rotate, rotate_back, scale, vector_at
from superovoid.contact.broadcasting import Pairs, bodies_of, own_or_only
from superovoid.contact.columns import RESULT, VERDICT, VERDICT_LENGTH
from superovoid.contact.compounds import member, member_count, pose_error, solve_within
from superovoid.contact.convex import cores, mesh
from superovoid.contact.inputs import SEARCH_BUDGET
from superovoid.contact.kind_table import (
    COMPOUNDS,
    CONVEX,
    MESHES,
    METHODS,
    OVOIDS,
    begin,
    solve_members,
    start_from,
)
from superovoid.contact.minkowski import difference
from superovoid.contact.one_pair import scratch_in, solve_from_nothing
from superovoid.contact.pair import CLOSER, UNDECIDED, Limit, Pair, PlacedBody, verdict_of
from superovoid.contact.separation import is_in_both, offset_of, rounding_margin
from superovoid.contact.superovoids.pair_solver import line_of_centres
from superovoid.shapes.kernels.bodies import pack
from superovoid.shapes.kernels.kinds import (
    CONVEX_MESH,
    KIND,
    MESH,
    POINT,
    ROW_LENGTH,
    SUPEROVOID,
    ball_radius,
    kind_of,
)
from superovoid.shapes.kernels.rounding import WIDENED
from superovoid.shapes.kernels.surface import (
    A1,
    A2,
    A3,
    HAS_CONCAVITY,
    INV_P,
    INV_S,
    RADIUS,
    SIZE,
    TX,
    TY,
    position,
    surface_point_towards,
)
from superovoid.values.status import Words


class Proof(Words, IntEnum):
    """The proof that decided a comparison, cheapest first."""

    SPHERES = 0
    """The bounding spheres, or the distance of the origins."""
    DIRECTION = 1
    """Support points of two convex bodies: the steps of GJK."""
    SEARCH = 2
    """The full solver; an undecided answer has this value."""
    SURFACES = 3
    """For a non-convex mesh: its hull, one of its triangles, or a point inside it, without the solver."""


BY_SPHERES, BY_DIRECTION, BY_SEARCH, BY_SURFACES = map(int, Proof)


_put_verdict = storer(VERDICT_LENGTH, 1)


@kernel
def _share_middle(pair, loss):
    """Return whether two superovoids share the middle of the points where the line of centres leaves them."""
    n = line_of_centres(pair.centre)
    x = surface_point_towards(pair.a.row, n)
    y = surface_point_towards(pair.b.row, rotate_back(pair.rotation, scale(-1.0, n)))
    y = add(pair.centre, rotate(pair.rotation, position(pair.b.row, y)))
    middle = combine(0.5, position(pair.a.row, x), 0.5, y)
    return is_in_both(Pair(pair.a.row, pair.b.row, pair.rotation, pair.centre), middle, loss)


@kernel(_nrt=True)
def _of_parts(pair, n, limit, goal, margin):
    """Bounds of the signed distance of two bodies, one convex, and the direction of the lower one."""
    if pair.b.kind == MESH:
        return mesh.bounds(pair, n, limit, goal, margin)
    w = difference.new_workspace()
    balls = ball_radius(pair.a.row, pair.a.kind) + ball_radius(pair.b.row, pair.b.kind)
    near, far = limit.below + balls - margin, limit.beyond + balls + margin
    lower, upper, n = cores.bounds_about(pair, n, goal, margin, near, far, w)
    return lower - margin - balls, upper + margin - balls, n


@entry_point(separate=True)
def bounds_of_pair(
    first: PlacedBody, second: PlacedBody, limit: Limit, direction: Floats1, rotation: Floats2
) -> tuple[float, float]:
    """Bound the signed distance of two convex bodies, or of a mesh and any body; a threshold may stay undecided.

    Renews the direction; that of a pair with a mesh only if the bounds decide. `rotation` is scratch.
    """
    task = begin(first, second, rotation)
    pair, pose, sign = task.pair, task.pose, -1.0 if task.swapped else 1.0
    a, b = pair.a.row, pair.b.row
    margin = difference.error_margin(a, b, pair.centre)
    goal = limit.tolerance * min(a[SIZE], b[SIZE]) + 4.0 * margin
    start = start_from(pair, rotate_back(pose, scale(sign, vector_at(direction, 0))))
    if METHODS[pair.a.kind, pair.b.kind] == OVOIDS and limit.below + limit.beyond >= 0.0:
        loss = max(0.0, -limit.below)
        if _share_middle(pair, loss + margin):
            return -math.inf, -loss - margin
    lower, upper, n = _of_parts(pair, start, limit, goal, margin)
    if pair.b.kind != MESH or verdict_of(lower, upper, limit) != UNDECIDED:
        direction[0], direction[1], direction[2] = scale(sign, rotate(pose, n))
    return lower, upper


@kernel
def _are_bounds_cheaper(a, b):
    """Return whether bounds of two bodies take less time than their answer: not of a sphere and few planes."""
    kind_a, kind_b = kind_of(a), kind_of(b)
    method = METHODS[kind_a, kind_b]
    has_sphere, are_spheres = kind_a == POINT or kind_b == POINT, kind_a == POINT and kind_b == POINT
    has_hull = a[KIND] == CONVEX_MESH or b[KIND] == CONVEX_MESH
    if method == OVOIDS:
        return not are_spheres
    return method == MESHES or (method == CONVEX and (has_hull or not has_sphere))


@kernel(separate=True, _nrt=True)
def _bounds_of_members(first, second, limit, direction, state, rotation, row):
    """Bound the signed distance of two compounds by those of their members, until a pair is closer than the limit.

    The least distance of members is that of the compounds if none overlap. Otherwise the compounds may be deeper in
    each other, so a negative bound is none.
    """
    count, none, lower, upper = member_count(second), (0.0, 0.0, 0.0), math.inf, math.inf
    pose_a, pose_b = np.empty((4, 4)), np.empty((4, 4))
    margin = pose_error(first) + pose_error(second)
    ends = Limit(limit.tolerance, limit.budget, limit.beyond + margin, limit.below - margin)
    for k in range(member_count(first) * count):
        a, b = member(first, k // count, none, pose_a), member(second, k % count, none, pose_b)
        low, high = -math.inf, math.inf
        if _are_bounds_cheaper(a.row, b.row):
            low, high = bounds_of_pair(a, b, ends, direction, rotation)
        if verdict_of(low, high, ends) == UNDECIDED:
            state[:] = 0.0
            solve_members(a, b, ends, state, rotation, row)
            low, high = max(low, row[RESULT.lower]), min(high, row[RESULT.upper])
        lower, upper = min(lower, low - margin), min(upper, high + margin)
        if upper < limit.below:
            return -math.inf, upper  # the other members may be closer
    return lower if lower >= 0.0 else -math.inf, upper


@kernel
def decide_within(first, second, limit, direction, state, scratch, out):
    """Decide whether the signed distance of two bodies is below a threshold, by the cheapest proof.

    Parameters
    ----------
    first, second : PlacedBody
        Of any kinds.
    limit : Limit
        `beyond` and `below` are the threshold, m, with a tolerance added to the rounding of the bounds.
    direction : array, shape (3,)
        A guess of the normal (world, unit), zeros for none; renewed by the best direction found.
    state : array, shape (STATE_LENGTH,)
        As for `solve_within`.
    scratch : arrays, shapes (3, 3) and (RESULT_LENGTH,)
    out : array, shape (VERDICT_LENGTH,)

    Returns
    -------
    CLOSER, FARTHER or UNDECIDED
    """
    rotation, row = scratch
    a, b, pose_a, pose_b = first.row, second.row, first.pose, second.pose
    method = METHODS[kind_of(a), kind_of(b)]
    offset = offset_of(pose_a, pose_b)
    length, margin = norm(offset), rounding_margin(a, b, offset)
    lower, by, solves = length - a[RADIUS] - b[RADIUS] - margin, BY_SPHERES, 0
    # The origins of superovoids are points of them.
    upper = length + margin if method == OVOIDS else math.inf
    found = verdict_of(lower, upper, limit)
    are_compounds = method == COMPOUNDS
    if found == UNDECIDED and (are_compounds or _are_bounds_cheaper(a, b)):
        if are_compounds:
            bounds, by = _bounds_of_members(first, second, limit, direction, state, rotation, row), BY_SEARCH
        else:
            bounds = bounds_of_pair(first, second, limit, direction, rotation)
            by = BY_SURFACES if method == MESHES else BY_DIRECTION
        lower, upper = max(lower, bounds[0]), min(upper, bounds[1])
        found = verdict_of(lower, upper, limit)
    if found == UNDECIDED:
        solve_within(first, second, limit, state, rotation, row)
        lower, upper, by, solves = max(lower, row[RESULT.lower]), min(upper, row[RESULT.upper]), BY_SEARCH, solves + 1
        found = verdict_of(lower, upper, limit)
    _put_verdict(out, 0, (found, lower, upper, by, solves))
    return found


@entry_point
def fill_inside(row: Floats1, inner: Floats1) -> None:
    """Fill in the row of a convex body inside a non-convex superovoid; copy the row of any other body.

    Its section at each height is no smaller than without the taper (docs/reference/queries.md).
    """
    if not (row[KIND] == SUPEROVOID and row[HAS_CONCAVITY] != 0.0):
        for i in range(ROW_LENGTH):
            inner[i] = row[i]
        return
    inner[:] = 0.0
    x, y = row[A1] / WIDENED * (1.0 - abs(row[TX])), row[A2] / WIDENED * (1.0 - abs(row[TY]))
    pack(inner, x, y, row[A3], 2.0 * row[INV_P], 2.0 * row[INV_S], 0.0, 0.0)


@kernel
def decide_from_nothing(first, second, threshold, tolerance, scratch, out):
    """Decide on two bodies (`PlacedBody`) from the direction in the scratch alone; fill in and return a verdict.

    If the verdict is open, convex bodies inside non-convex ones are tried: they are no closer.
    """
    scratch.state[:] = 0.0
    limit, memory = Limit(tolerance, SEARCH_BUDGET, threshold, threshold), (scratch.rotation, scratch.result)
    found = decide_within(first, second, limit, scratch.direction, scratch.state, memory, out)
    if found == UNDECIDED and (first.row[HAS_CONCAVITY] != 0.0 or second.row[HAS_CONCAVITY] != 0.0):
        fill_inside(first.row, scratch.inner_a)
        fill_inside(second.row, scratch.inner_b)
        a, b = (
            PlacedBody(scratch.inner_a, first.pool, first.pose),
            PlacedBody(scratch.inner_b, second.pool, second.pose),
        )
        solve_from_nothing(a, b, tolerance, scratch, scratch.result)
        out[VERDICT.upper] = min(out[VERDICT.upper], max(scratch.result[RESULT.upper], out[VERDICT.lower]))
        out[VERDICT.solves] += 1
        if out[VERDICT.upper] < threshold:
            out[VERDICT.answer], out[VERDICT.proof] = CLOSER, BY_SEARCH
    return int(out[VERDICT.answer])


@entry_point(nogil=True)
def decide_pairs(
    pairs: Pairs, which: Ints1, thresholds: Floats1, directions: Floats2, tolerance: float, work: Floats1, out: Floats2
) -> None:
    """Decide on the given pairs, each without earlier results.

    Parameters
    ----------
    pairs : Pairs
    which : array, shape (m,)
    thresholds : array, shape (n,) or (1,)
    directions : array, shape (n, 3) or (1, 3)
        Guesses of the normals, zeros for none; one for each pair, or one for all.
    tolerance : float
    work : array, shape (WORK_LENGTH,)
    out : array, shape (n, VERDICT_LENGTH)
    """
    scratch = scratch_in(work)
    for k in range(which.shape[0]):
        i = which[k]
        first, second = bodies_of(pairs, i)
        for j in range(3):
            scratch.direction[j] = directions[own_or_only(directions, i), j]
        decide_from_nothing(first, second, thresholds[own_or_only(thresholds, i)], tolerance, scratch, out[i])
