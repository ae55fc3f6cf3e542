# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Is the signed distance of two packed bodies below a threshold? Proofs in the order of their cost, until one decides.

bounding spheres               |c| - R_A - R_B <= sd
two superovoids: a point       the middle of the points where the line of centres leaves them, inside both: sd < 0
  a direction                  g(n) = n . c - h_A(n) - h_B(-n) <= sd, for the line of centres and the line between
                               the two support points; these are points of the bodies, so sd <= |x_B - x_A|
  the contact                  Newton's method, whose points may decide before it converges; no global search
two convex bodies              GJK ends as soon as a direction proves them no closer, or a pair of points closer; where
                               its tetrahedron holds the origin, its least height proves an overlap
a mesh that is not convex      hulls, triangles, and what lies inside (`convex.mesh_threshold`)
what these leave open          the interval of the full answer
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.arrays import Floats1, Floats2, Ints1
from superovoid.compiled.kernels import entry_point, kernel, out_of_line
from superovoid.compiled.vector import add, combine, dot, norm, rotate, rotate_back, scale, sub
from superovoid.contact.broadcasting import Pairs, own_or_only, place_pair
from superovoid.contact.columns import (
    DISTANCE,
    LOWER,
    POINT_A,
    POINT_B,
    START,
    STARTED,
    UPPER,
    VERDICT_LENGTH,
)
from superovoid.contact.convex import cores, mesh_threshold
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
from superovoid.contact.pair import Limit, Pair, Placed
from superovoid.contact.separation import is_in_both, rounding, separation
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
    solve_pair,
    still_face,
)
from superovoid.shapes.kernels.bodies import pack
from superovoid.shapes.kernels.kinds import CONVEX_MESH, KIND, POINT, ROW_LENGTH, SUPEROVOID, Core, ball_radius, kind_of
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

# What decided, cheapest first.
BY_SPHERES, BY_DIRECTION, BY_POINT, BY_CONTACT, BY_SEARCH, BY_SURFACES = 0, 1, 2, 3, 4, 5

# Columns of a verdict: 1 closer, -1 not closer, 0 undecided; what is proved; by what; solver calls.
ANSWER, PROVED_LOWER, PROVED_UPPER, PROVED_BY, SOLVES = 0, 1, 2, 3, 4

CLOSER, UNDECIDED, FARTHER = 1, 0, -1

ALL, PROBE, REST = 0, 1, 2
"""What to ask of two superovoids: all there is; spheres and a common point alone; what these leave."""

_DIRECTIONS = 2  # tried before the solver
_STEPS = 64  # of GJK
_ROUNDS, _STEPS_OF_ROUND = 5, np.int64(6)  # of Newton's method, between two looks at its points
_WITHIN = 1.0 - 1e-15  # by which a body inside is smaller than it need be, for what rounding takes


@kernel
def verdict_of(lower, upper, threshold):
    """What an interval says about a threshold."""
    if lower >= threshold:
        return FARTHER
    return CLOSER if upper < threshold else UNDECIDED


@kernel
def _decide(lower, upper, common, threshold):
    if lower >= threshold:
        return FARTHER
    if upper < threshold or (common and threshold >= 0.0):
        return CLOSER
    return UNDECIDED


class _Bounds(NamedTuple):
    """What is proved of two superovoids: an interval of their distance, and whether they have a common point."""

    lower: float
    upper: float
    common: bool


@kernel
def _points_on_line(pair):
    """Surface points of two superovoids about where the line of their centres leaves them."""
    n = line_of_centres(pair.centre)
    m = rotate_back(pair.rotation, scale(-1.0, n))
    return surface_point_towards(pair.a, n), surface_point_towards(pair.b, m)


@kernel
def _middle_on_line(pair):
    """Middle of these points, in the frame of A: it often lies in both bodies if they overlap."""
    fa, fb = _points_on_line(pair)
    y = add(pair.centre, rotate(pair.rotation, position(pair.b, fb)))
    return combine(0.5, position(pair.a, fa), 0.5, y)


@kernel(separate=True)
def _of_contact(pair, threshold, tolerance, loss, bounds, ka, kb, state):
    """Bounds from Newton's method without a search, and a normal; every few steps the points may decide.

    `ka` and `kb` are the places of the points in the state, which are renewed. Without these it starts on the line of
    centres.
    """
    a, b, centre = pair.a, pair.b, pair.centre
    lower, upper, common = bounds
    goal, margin = gap_tolerance(a, b, centre, tolerance), rounding(a, b, norm(centre))
    residual, n = newton_tolerance(a, b, centre, goal), centre
    fa, fb = load_point(state, ka), load_point(state, kb)
    if (fa.r == 0.0 and fa.w == 0.0) or not still_face(pair, fa, fb):
        fa, fb = _points_on_line(pair)
    for _ in range(_ROUNDS):
        is_contact, _, fa, fb, k = newton.solve(pair, fa, fb, residual, _STEPS_OF_ROUND)
        n, gap = k.n, dot(k.u, k.n)
        if gap < 0.0 and threshold >= 0.0 and is_in_both(pair, combine(0.5, k.u, 1.0, k.x), loss):
            return _Bounds(lower, min(upper, 0.0), True), n
        below, _ = lower_bound(pair, fa, fb, k)
        lower, upper = max(lower, below), min(upper, norm(k.u) + margin)
        if is_contact:
            answer = certify(pair, fa, fb, k, goal, 0)
            save_points(state, ka, kb, answer)
            return _Bounds(max(lower, answer.lower), min(upper, answer.upper), common), n
        if _decide(lower - loss, upper + loss, common, threshold) != UNDECIDED:
            break
    return _Bounds(lower, upper, common), n


@kernel
def _of_superovoids(first, second, threshold, limit, loss, effort, direction, state, scratch, out):
    """Fill in the verdict on two superovoids."""
    (a, pool_a, pose_a), (b, pool_b, pose_b) = first, second
    rotation, row = scratch
    straight = in_order(a, b, pose_a, pose_b)
    ka, kb = place_of_points(straight)
    if not straight:
        a, b, pool_a, pool_b, pose_a, pose_b = b, a, pool_b, pool_a, pose_b, pose_a
    core_a, core_b = Core(a, kind_of(a), pool_a), Core(b, kind_of(b), pool_b)
    offset = (pose_b[0, 3] - pose_a[0, 3], pose_b[1, 3] - pose_a[1, 3], pose_b[2, 3] - pose_a[2, 3])
    length, sign = norm(offset), 1.0 if straight else -1.0
    margin = rounding(a, b, length)
    # The origins are points of the bodies.
    lower, upper, common = length - a[RADIUS] - b[RADIUS] - margin, length + margin, False
    by = BY_SPHERES
    solves = 0
    answer = _decide(lower - loss, upper + loss, common, threshold)
    pair = Pair(a, b, rotation, relative_pose(pose_a, pose_b, rotation))
    if answer == UNDECIDED and effort != REST and threshold >= 0.0:
        common = is_in_both(pair, _middle_on_line(pair), loss)
        if common:
            upper, by, answer = min(upper, 0.0), BY_POINT, CLOSER
    if answer == UNDECIDED and effort != PROBE:
        n = (sign * direction[0], sign * direction[1], sign * direction[2])
        if dot(n, n) == 0.0:
            n = line_of_centres(offset)
        by = BY_DIRECTION
        for _ in range(_DIRECTIONS):
            s = separation(core_a, core_b, pose_a, pose_b, offset, n)
            u = sub(add(offset, s.y), s.x)
            span = norm(u)
            if s.lower > lower:
                lower = s.lower
                direction[0], direction[1], direction[2] = scale(sign, n)
            upper = min(upper, span + margin)
            answer = _decide(lower - loss, upper + loss, common, threshold)
            if answer != UNDECIDED or not (span > 0.0):
                break
            n = scale(1.0 / span, u)
    if answer == UNDECIDED and effort != PROBE:
        bounds = _Bounds(lower, upper, common)
        (lower, upper, common), n = _of_contact(pair, threshold, limit.tolerance, loss, bounds, ka, kb, state)
        direction[0], direction[1], direction[2] = scale(sign, rotate(pose_a, n))
        by, solves = BY_CONTACT, 1
        answer = _decide(lower - loss, upper + loss, common, threshold)
    if answer == UNDECIDED and effort != PROBE:
        solve_pair(a, b, pose_a, pose_b, limit.tolerance, limit.budget, state, rotation, row)
        lower, upper = max(lower, row[LOWER]), min(upper, row[UPPER])
        by, solves = BY_SEARCH, 2
        answer = _decide(lower - loss, upper + loss, common, threshold)
        if answer == UNDECIDED and threshold >= 0.0 and row[DISTANCE] < 0.0:
            middle = (
                0.5 * (row[POINT_A] + row[POINT_B]) - pose_a[0, 3],
                0.5 * (row[POINT_A + 1] + row[POINT_B + 1]) - pose_a[1, 3],
                0.5 * (row[POINT_A + 2] + row[POINT_B + 2]) - pose_a[2, 3],
            )
            if is_in_both(pair, rotate_back(pose_a, middle), loss):
                upper, answer = min(upper, 0.0), CLOSER
    out[ANSWER] = answer
    out[PROVED_LOWER] = lower
    out[PROVED_UPPER] = upper
    out[PROVED_BY] = by
    out[SOLVES] = solves


@kernel(_nrt=True)
def _of_cores(pair, n, goal, margin, loss, threshold):
    """Bounds of the distance of two convex cores, and the best direction; balls are in the threshold."""
    w, taken = difference.new_workspace(), margin + loss
    lower, upper, n = cores.bounds_about(pair, n, goal, margin, threshold - taken, threshold + taken, w)
    return lower - margin, upper + margin, n


@kernel(separate=True)
def _of_convex(first, second, threshold, tolerance, loss, state):
    """Bounds of the signed distance of two convex bodies (`Placed`) from GJK alone, which may leave a threshold open.

    `loss` is what is to be added to the bounds beside their own rounding, m; it is not counted in them.
    """
    out_of_line()
    task = begin(first.row, second.row, first.pool, second.pool, first.pose, second.pose, state)
    pair = task.pair
    a, ka = pair.a.row, pair.a.kind
    b, kb = pair.b.row, pair.b.kind
    margin = difference.rounding(a, b, pair.centre)
    goal = tolerance * min(a[SIZE], b[SIZE]) + 4.0 * margin
    radii = ball_radius(a, ka) + ball_radius(b, kb)
    of_cores = threshold + radii
    lower, upper, n = _of_cores(pair, start_direction(task, state), goal, margin, loss, of_cores)
    state[STARTED] = 1.0 if task.straight else 2.0
    for i in range(3):
        state[START + i] = n[i]
    return lower - radii, upper - radii


@entry_point(separate=True)
def bounds_beside_mesh(
    first: Placed, second: Placed, threshold: float, tolerance: float, loss: float, state: Floats1
) -> tuple[float, float]:
    """Bounds of the signed distance of a mesh that is not convex and another body, which may leave a threshold open.

    `loss` as for `_of_convex`. The state is renewed where they decide.
    """
    out_of_line()
    task = begin(first.row, second.row, first.pool, second.pool, first.pose, second.pose, state)
    a, b = task.pair.a.row, task.pair.b.row
    margin = difference.rounding(a, b, task.pair.centre)
    goal = tolerance * min(a[SIZE], b[SIZE]) + 4.0 * margin
    n = start_direction(task, state)
    lower, upper, n = mesh_threshold.bounds(task.pair, n, threshold, goal, margin, loss)
    if verdict_of(lower - loss, upper + loss, threshold) != UNDECIDED:
        state[STARTED] = 1.0 if task.straight else 2.0
        for i in range(3):
            state[START + i] = n[i]
    return lower, upper


@kernel
def _of_kinds(first, second, threshold, limit, loss, state, scratch, out):
    """Fill in the verdict on two bodies that are not two superovoids."""
    rotation, row = scratch
    ka, kb = kind_of(first.row), kind_of(second.row)
    pose_a, pose_b = first.pose, second.pose
    apart = norm((pose_b[0, 3] - pose_a[0, 3], pose_b[1, 3] - pose_a[1, 3], pose_b[2, 3] - pose_a[2, 3]))
    lower = apart - first.row[RADIUS] - second.row[RADIUS] - rounding(first.row, second.row, apart)
    upper = math.inf
    by, solves = BY_SPHERES, 0
    found = verdict_of(lower - loss, upper, threshold)
    # The closed forms of a sphere take no longer, but for a hull, of which they ask all planes.
    has_sphere, has_hull = ka == POINT or kb == POINT, ka == CONVEX_MESH or kb == CONVEX_MESH
    if found == UNDECIDED and METHODS[ka, kb] == CONVEX and (has_hull or not has_sphere):
        bounds = _of_convex(first, second, threshold, limit.tolerance, loss, state)
        lower, upper, by = max(lower, bounds[0]), bounds[1], BY_DIRECTION
        found = verdict_of(lower - loss, upper + loss, threshold)
    if found == UNDECIDED and METHODS[ka, kb] == MESHES:
        bounds = bounds_beside_mesh(first, second, threshold, limit.tolerance, loss, state)
        lower, upper, by = max(lower, bounds[0]), bounds[1], BY_SURFACES
        found = verdict_of(lower - loss, upper + loss, threshold)
    if found == UNDECIDED:
        solve_within(first, second, limit, state, rotation, row)
        lower, upper, by, solves = max(lower, row[LOWER]), min(upper, row[UPPER]), BY_SEARCH, 1
        found = verdict_of(lower - loss, upper + loss, threshold)
    out[ANSWER], out[PROVED_LOWER], out[PROVED_UPPER], out[PROVED_BY], out[SOLVES] = found, lower, upper, by, solves


@kernel
def decide_within(first, second, threshold, limit, loss, effort, direction, state, scratch, out):
    """Decide whether the signed distance of two bodies is below a threshold, by the cheapest proof.

    Parameters
    ----------
    first, second : Placed
        Of any kinds.
    threshold : float
        m.
    limit : Limit
    loss : float
        What is to be added to the bounds beside their own rounding, m; it is not counted in `out`.
    effort : int
        ALL, PROBE or REST. Two bodies that are not superovoids are asked all.
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
    if METHODS[kind_of(first.row), kind_of(second.row)] != OVOIDS:
        _of_kinds(first, second, threshold, limit, loss, state, scratch, out)
        return int(out[ANSWER])
    _of_superovoids(first, second, threshold, limit, loss, effort, direction, state, scratch, out)
    return int(out[ANSWER])


@entry_point
def fill_inside(row: Floats1, inner: Floats1) -> None:
    """Fill in the row of a convex body inside a superovoid with a dent; copy the row of any other body.

    Its section at each height is no smaller than without the taper (docs/queries.md).
    """
    if not (row[KIND] == SUPEROVOID and row[DENTED] != 0.0):
        for i in range(ROW_LENGTH):
            inner[i] = row[i]
        return
    inner[:] = 0.0
    x, y = _WITHIN * row[A1] * (1.0 - abs(row[TX])), _WITHIN * row[A2] * (1.0 - abs(row[TY]))
    pack(inner, x, y, row[A3], 2.0 * row[INV_P], 2.0 * row[INV_S], 0.0, 0.0)


@kernel
def decide_from_nothing(row_a, pool_a, row_b, pool_b, threshold, tolerance, scratch):
    """Decide on two bodies at the poses in the scratch from nothing but its direction; fill in its verdict.

    Where that leaves it open, the convex bodies inside bodies with a dent are asked, which are no closer than these.
    """
    out = scratch.verdict
    scratch.state[:] = 0.0
    first, second = Placed(row_a, pool_a, scratch.pose_a), Placed(row_b, pool_b, scratch.pose_b)
    limit, memory = Limit(tolerance, SEARCH_BUDGET, math.inf), (scratch.rotation, scratch.result)
    found = decide_within(first, second, threshold, limit, 0.0, ALL, scratch.direction, scratch.state, memory, out)
    if found == UNDECIDED and (row_a[DENTED] != 0.0 or row_b[DENTED] != 0.0):
        fill_inside(row_a, scratch.inner_a)
        fill_inside(row_b, scratch.inner_b)
        solve_from_nothing(scratch.inner_a, pool_a, scratch.inner_b, pool_b, tolerance, scratch, scratch.result)
        out[PROVED_UPPER] = min(out[PROVED_UPPER], max(scratch.result[UPPER], out[PROVED_LOWER]))
        out[SOLVES] += 1
        if out[PROVED_UPPER] < threshold:
            out[ANSWER], out[PROVED_BY] = CLOSER, BY_SEARCH
    return int(out[ANSWER])


@entry_point(nogil=True)
def decide_pairs(
    pairs: Pairs, which: Ints1, thresholds: Floats1, directions: Floats2, tolerance: float, work: Floats1, out: Floats2
) -> None:
    """Decide on the pairs named, each from nothing that was known before.

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
        a, b = place_pair(pairs, i, scratch)
        for j in range(3):
            scratch.direction[j] = directions[own_or_only(directions, i), j]
        threshold = thresholds[own_or_only(thresholds, i)]
        decide_from_nothing(pairs.rows[a], pairs.pool, pairs.rows[b], pairs.pool, threshold, tolerance, scratch)
        for j in range(VERDICT_LENGTH):
            out[i, j] = scratch.verdict[j]
