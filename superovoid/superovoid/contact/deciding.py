# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Decide whether the signed distance of two packed bodies is below a threshold: proofs in the order of their cost.

bounding spheres               |c| - R_A - R_B <= sd
two superovoids: a point       the middle of the points where the line of centres leaves them, inside both: sd < 0
  a direction                  g(n) = n . c - h_A(n) - h_B(-n) <= sd, for the line of centres and the line between
                               the two support points; these are points of the bodies, so sd <= |x_B - x_A|
  the contact                  Newton's method, whose points may decide before it converges; no global search
two convex bodies              GJK ends as soon as a direction proves them no closer, or a pair of points closer; if
                               its tetrahedron holds the origin, its least height proves an overlap
a mesh that is not convex      hulls, triangles, and what lies inside (`convex.mesh`)
undecided pairs          the solver with the threshold as its stop rule (`Limit`)
"""

from __future__ import annotations

import math

import numpy as np

from superovoid.compiled.arrays import Floats1, Floats2, Ints1
from superovoid.compiled.kernels import entry_point, kernel, out_of_line
from superovoid.compiled.vector import add, combine, dot, norm, rotate, rotate_back, scale, sub
from superovoid.contact.broadcasting import Pairs, bodies_of, own_or_only
from superovoid.contact.columns import LOWER, START, STARTED, UPPER
from superovoid.contact.convex import cores, mesh
from superovoid.contact.inputs import SEARCH_BUDGET
from superovoid.contact.kind_table import (
    CONVEX,
    MESHES,
    METHODS,
    OVOIDS,
    begin,
    solve_within,
    start_direction,
)
from superovoid.contact.minkowski import difference
from superovoid.contact.one_pair import scratch_in, solve_from_nothing
from superovoid.contact.pair import CLOSER, UNDECIDED, Limit, Pair, Placed, verdict_of
from superovoid.contact.separation import is_in_both, offset_of, rounding, separation
from superovoid.contact.superovoids import newton
from superovoid.contact.superovoids.answers import certify, newton_tolerance
from superovoid.contact.superovoids.certificate import gap_tolerance, lower_bound
from superovoid.contact.superovoids.pair_solver import (
    in_order,
    line_of_centres,
    load_point,
    place_of_points,
    relative_pose,
    save_points,
    still_face,
)
from superovoid.shapes.kernels.bodies import pack
from superovoid.shapes.kernels.kinds import (
    CONVEX_MESH,
    KIND,
    MESH,
    POINT,
    ROW_LENGTH,
    SUPEROVOID,
    Core,
    ball_radius,
    kind_of,
)
from superovoid.shapes.kernels.surface import (
    A1,
    A2,
    A3,
    DENTED,
    INV_P,
    INV_S,
    RADIUS,
    SIZE,
    TX,
    TY,
    position,
    surface_point_towards,
)

# The deciding proof, cheapest first.
BY_SPHERES, BY_DIRECTION, BY_POINT, BY_CONTACT, BY_SEARCH, BY_SURFACES = 0, 1, 2, 3, 4, 5

# Columns of a verdict: 1 closer, -1 not closer, 0 undecided; the bounds; the proof; solver calls.
ANSWER, PROVED_LOWER, PROVED_UPPER, PROVED_BY, SOLVES = 0, 1, 2, 3, 4

_DIRECTIONS = 2  # tried before the solver
_ROUNDS, _STEPS_OF_ROUND = 5, np.int64(6)  # steps of Newton's method between two tests of its points
_WITHIN = 1.0 - 1e-15  # by which a body inside is smaller than necessary, because of rounding


@kernel
def _threshold_and_loss(limit):
    """Return the threshold of a limit, and what it adds to bounds in addition to their own rounding, m."""
    return 0.5 * (limit.beyond + limit.below), 0.5 * (limit.beyond - limit.below)


# --- two superovoids ---


@kernel
def _points_on_line(pair):
    """Surface points of two superovoids about where the line of their centres leaves them."""
    n = line_of_centres(pair.centre)
    m = rotate_back(pair.rotation, scale(-1.0, n))
    return surface_point_towards(pair.a, n), surface_point_towards(pair.b, m)


@kernel
def _along_directions(first, second, limit, known, direction, sign):
    """Bounds of the distance of two superovoids from a few directions; renew the direction, which has that sign."""
    (a, pool_a, pose_a), (b, pool_b, pose_b) = first, second
    core_a, core_b = Core(a, kind_of(a), pool_a), Core(b, kind_of(b), pool_b)
    lower, upper = known
    offset = offset_of(pose_a, pose_b)
    margin = rounding(a, b, norm(offset))
    n = (sign * direction[0], sign * direction[1], sign * direction[2])
    if dot(n, n) == 0.0:
        n = line_of_centres(offset)
    for _ in range(_DIRECTIONS):
        s = separation(core_a, core_b, pose_a, pose_b, n)
        u = sub(add(offset, s.y), s.x)
        span = norm(u)
        if s.lower > lower:
            lower = s.lower
            direction[0], direction[1], direction[2] = scale(sign, n)
        upper = min(upper, span + margin)
        if verdict_of(lower, upper, limit) != UNDECIDED or not (span > 0.0):
            break
        n = scale(1.0 / span, u)
    return lower, upper


@kernel(separate=True)
def _of_contact(pair, limit, known, ka, kb, state):
    """Bounds from Newton's method without a search, the verdict, and a normal; every few steps the points may decide.

    `ka` and `kb` are the places of the points in the state, which are updated. Without points it starts on the line of
    centres.
    """
    a, b, centre = pair.a, pair.b, pair.centre
    lower, upper = known
    threshold, loss = _threshold_and_loss(limit)
    goal, margin = gap_tolerance(a, b, centre, limit.tolerance), rounding(a, b, norm(centre))
    residual, n = newton_tolerance(a, b, centre, goal), centre
    fa, fb = load_point(state, ka), load_point(state, kb)
    if (fa.r == 0.0 and fa.w == 0.0) or not still_face(pair, fa, fb):
        fa, fb = _points_on_line(pair)
    for _ in range(_ROUNDS):
        is_contact, _, fa, fb, k = newton.solve(pair, fa, fb, residual, _STEPS_OF_ROUND)
        n, gap = k.n, dot(k.u, k.n)
        if gap < 0.0 <= threshold and is_in_both(pair, combine(0.5, k.u, 1.0, k.x), loss):
            return lower, min(upper, 0.0), CLOSER, n
        below, _ = lower_bound(pair, fa, fb, k)
        lower, upper = max(lower, below), min(upper, norm(k.u) + margin)
        if is_contact:
            answer = certify(pair, fa, fb, k, goal, 0)
            save_points(state, ka, kb, answer)
            lower, upper = max(lower, answer.lower), min(upper, answer.upper)
            break
        if verdict_of(lower, upper, limit) != UNDECIDED:
            break
    return lower, upper, verdict_of(lower, upper, limit), n


@kernel
def _of_superovoids(first, second, limit, known, direction, state, rotation):
    """Bounds of the distance of two superovoids without a search, the verdict, and what proved it.

    Both orders of the bodies are computed in one order, so that both have the same bounds bit by bit.
    """
    straight = in_order(first.row, second.row, first.pose, second.pose)
    ka, kb = place_of_points(straight)
    sign = 1.0 if straight else -1.0
    if not straight:
        first, second = second, first
    a, b, pose_a, pose_b = first.row, second.row, first.pose, second.pose
    threshold, loss = _threshold_and_loss(limit)
    lower, upper = known
    pair = Pair(a, b, rotation, relative_pose(pose_a, pose_b, rotation))
    fa, fb = _points_on_line(pair)
    y = add(pair.centre, rotate(pair.rotation, position(b, fb)))
    # The middle of these points often lies in both bodies if they overlap.
    if threshold >= 0.0 and is_in_both(pair, combine(0.5, position(a, fa), 0.5, y), loss):
        return lower, min(upper, 0.0), CLOSER, BY_POINT
    lower, upper = _along_directions(first, second, limit, known, direction, sign)
    found = verdict_of(lower, upper, limit)
    if found != UNDECIDED:
        return lower, upper, found, BY_DIRECTION
    lower, upper, found, n = _of_contact(pair, limit, (lower, upper), ka, kb, state)
    direction[0], direction[1], direction[2] = scale(sign, rotate(pose_a, n))
    return lower, upper, found, BY_CONTACT


# --- other kinds ---


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
def bounds_of_kinds(first: Placed, second: Placed, limit: Limit, state: Floats1) -> tuple[float, float]:
    """Bound the signed distance of two convex bodies, or of a mesh and any body; a threshold may stay undecided.

    Updates the state; of a pair with a mesh only if the bounds decide.
    """
    out_of_line()
    task = begin(first, second, state)
    pair = task.pair
    a, b = pair.a.row, pair.b.row
    margin = difference.rounding(a, b, pair.centre)
    goal = limit.tolerance * min(a[SIZE], b[SIZE]) + 4.0 * margin
    lower, upper, n = _of_parts(pair, start_direction(task, state), limit, goal, margin)
    if pair.b.kind != MESH or verdict_of(lower, upper, limit) != UNDECIDED:
        state[STARTED] = 1.0 if task.straight else 2.0
        for i in range(3):
            state[START + i] = n[i]
    return lower, upper


@kernel
def _are_bounds_cheaper(a, b):
    """Return whether bounds of two bodies take less time than their answer: not of a sphere and few planes."""
    kind_a, kind_b = kind_of(a), kind_of(b)
    method = METHODS[kind_a, kind_b]
    has_hull, has_sphere = a[KIND] == CONVEX_MESH or b[KIND] == CONVEX_MESH, kind_a == POINT or kind_b == POINT
    return method == MESHES or (method == CONVEX and (has_hull or not has_sphere))


# --- any two bodies ---


@kernel
def decide_within(first, second, limit, direction, state, scratch, out):
    """Decide whether the signed distance of two bodies is below a threshold, by the cheapest proof.

    Parameters
    ----------
    first, second : Placed
        Of any kinds.
    limit : Limit
        `beyond` and `below` are the threshold, m, with a tolerance added to the rounding of the bounds.
    direction : array, shape (3,)
        A guess of the normal (world, unit), zeros for none; of superovoids renewed by the best direction found.
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
    length = norm(offset_of(pose_a, pose_b))
    margin = rounding(a, b, length)
    lower, by, solves = length - a[RADIUS] - b[RADIUS] - margin, BY_SPHERES, 0
    # The origins of superovoids are points of them.
    upper = length + margin if method == OVOIDS else math.inf
    found = verdict_of(lower, upper, limit)
    if found == UNDECIDED and method == OVOIDS:
        known = lower, upper
        lower, upper, found, by = _of_superovoids(first, second, limit, known, direction, state, rotation)
        solves = 1 if by == BY_CONTACT else 0
    elif found == UNDECIDED and _are_bounds_cheaper(a, b):
        bounds = bounds_of_kinds(first, second, limit, state)
        lower, upper, by = max(lower, bounds[0]), bounds[1], BY_SURFACES if method == MESHES else BY_DIRECTION
        found = verdict_of(lower, upper, limit)
    if found == UNDECIDED:
        solve_within(first, second, limit, state, rotation, row)
        lower, upper, by, solves = max(lower, row[LOWER]), min(upper, row[UPPER]), BY_SEARCH, solves + 1
        found = verdict_of(lower, upper, limit)
    out[ANSWER], out[PROVED_LOWER], out[PROVED_UPPER], out[PROVED_BY], out[SOLVES] = found, lower, upper, by, solves
    return found


@entry_point
def fill_inside(row: Floats1, inner: Floats1) -> None:
    """Fill in the row of a convex body inside a non-convex superovoid; copy the row of any other body.

    Its section at each height is no smaller than without the taper (docs/reference/queries.md).
    """
    if not (row[KIND] == SUPEROVOID and row[DENTED] != 0.0):
        for i in range(ROW_LENGTH):
            inner[i] = row[i]
        return
    inner[:] = 0.0
    x, y = _WITHIN * row[A1] * (1.0 - abs(row[TX])), _WITHIN * row[A2] * (1.0 - abs(row[TY]))
    pack(inner, x, y, row[A3], 2.0 * row[INV_P], 2.0 * row[INV_S], 0.0, 0.0)


@kernel
def decide_from_nothing(first, second, threshold, tolerance, scratch, out):
    """Decide on two bodies (`Placed`) from the direction in the scratch alone; fill in and return a verdict.

    If the verdict is open, convex bodies inside non-convex ones are tried: they are no closer.
    """
    scratch.state[:] = 0.0
    limit, memory = Limit(tolerance, SEARCH_BUDGET, threshold, threshold), (scratch.rotation, scratch.result)
    found = decide_within(first, second, limit, scratch.direction, scratch.state, memory, out)
    if found == UNDECIDED and (first.row[DENTED] != 0.0 or second.row[DENTED] != 0.0):
        fill_inside(first.row, scratch.inner_a)
        fill_inside(second.row, scratch.inner_b)
        a, b = Placed(scratch.inner_a, first.pool, first.pose), Placed(scratch.inner_b, second.pool, second.pose)
        solve_from_nothing(a, b, tolerance, scratch, scratch.result)
        out[PROVED_UPPER] = min(out[PROVED_UPPER], max(scratch.result[UPPER], out[PROVED_LOWER]))
        out[SOLVES] += 1
        if out[PROVED_UPPER] < threshold:
            out[ANSWER], out[PROVED_BY] = CLOSER, BY_SEARCH
    return int(out[ANSWER])


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
