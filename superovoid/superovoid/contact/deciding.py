# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Is the signed distance of two packed bodies below a threshold? Proofs in the order of their cost, until one decides.

bounding spheres               |c| - R_A - R_B <= sd
two superovoids: a direction   g(n) = n . c - h_A(n) - h_B(-n) <= sd, for the line of centres and the line between
                               the two support points; these are points of the bodies, so sd <= |x_B - x_A|
  a common point               the middle of two such points inside both bodies: sd < 0
two convex bodies              GJK ends as soon as a direction proves them no closer, or a pair of points closer; if its
                               tetrahedron holds the origin, its least height proves an overlap
a mesh that is not convex      hulls, triangles, and what lies inside (`convex.mesh_threshold`)
what these leave open          the solver with the threshold as its stop rule (`Limit`), first without a search
"""

from __future__ import annotations

import math

from superovoid.compiled.arrays import Floats1, Floats2, Ints1
from superovoid.compiled.kernels import entry_point, kernel, out_of_line
from superovoid.compiled.vector import add, combine, dot, norm, scale, sub
from superovoid.contact.broadcasting import Pairs, own_or_only, place_pair
from superovoid.contact.columns import (
    DISTANCE,
    LOWER,
    NORMAL,
    POINT_A,
    POINT_B,
    PROOF,
    START,
    STARTED,
    STATUS,
    UPPER,
    VERDICT_LENGTH,
)
from superovoid.contact.convex import mesh_threshold
from superovoid.contact.convex.features import are_sharp
from superovoid.contact.convex.mesh_tree import bounds_of_parts
from superovoid.contact.inputs import SEARCH_BUDGET
from superovoid.contact.kind_table import (
    CONVEX,
    MESHES,
    METHODS,
    OVOIDS,
    begin,
    solve_within,
    start_direction,
    start_of_polytopes,
)
from superovoid.contact.minkowski import difference
from superovoid.contact.one_pair import scratch_in, solve_from_nothing
from superovoid.contact.pair import CLOSER, UNDECIDED, Limit, Placed, verdict_of
from superovoid.contact.separation import is_common, rounding, separation
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
from superovoid.shapes.kernels.packing import pack
from superovoid.shapes.kernels.surface import A1, A2, A3, DENTED, INV_P, INV_S, RADIUS, SIZE, TX, TY
from superovoid.values.status import UNPROVEN

# What decided, cheapest first.
BY_SPHERES, BY_DIRECTION, BY_POINT, BY_CONTACT, BY_SEARCH, BY_SURFACES = 0, 1, 2, 3, 4, 5

# Columns of a verdict: 1 closer, -1 not closer, 0 undecided; what is proved; by what; solver calls.
ANSWER, PROVED_LOWER, PROVED_UPPER, PROVED_BY, SOLVES = 0, 1, 2, 3, 4

_DIRECTIONS = 2  # tried before the solver
_WITHIN = 1.0 - 1e-15  # by which a body inside is smaller than it need be, for what rounding takes


@kernel
def _along_directions(pair, offset, limit, margin, known, direction):
    """Bounds of the distance of two superovoids from a few directions, and what proved them.

    Parameters
    ----------
    pair : tuple of Placed
    offset : tuple
        From the origin of the first body to that of the second, world.
    limit : Limit
    margin : float
        What rounding takes from a length, m.
    known : tuple
        Bounds that are known.
    direction : array, shape (3,)
        As in `decide_within`.
    """
    (a, pool_a, pose_a), (b, pool_b, pose_b) = pair
    core_a, core_b = Core(a, kind_of(a), pool_a), Core(b, kind_of(b), pool_b)
    lower, upper = known
    length = norm(offset)
    n = (direction[0], direction[1], direction[2])
    if dot(n, n) == 0.0:
        n = scale(1.0 / length, offset) if length > 0.0 else (0.0, 0.0, 1.0)
    for _ in range(_DIRECTIONS):
        s = separation(core_a, core_b, pose_a, pose_b, offset, n)
        u = sub(add(offset, s.y), s.x)
        span = norm(u)
        if s.lower > lower:
            lower = s.lower
            direction[0], direction[1], direction[2] = n
        upper = min(upper, span + margin)
        if verdict_of(lower, upper, limit) != UNDECIDED:
            break
        middle = combine(0.5, u, 1.0, s.x)
        if s.lower < 0.0 <= limit.below and is_common(a, b, pose_a, pose_b, offset, middle):
            return lower, min(upper, 0.0), BY_POINT
        if not span > 0.0:
            break
        n = scale(1.0 / span, u)
    return lower, upper, BY_DIRECTION


@kernel
def _is_middle_common(a, b, offset, row):
    """Whether the middle of the points of a result is proved to be inside both of two superovoids (`Placed`)."""
    pose = a.pose
    x = (row[POINT_A] - pose[0, 3], row[POINT_A + 1] - pose[1, 3], row[POINT_A + 2] - pose[2, 3])
    y = (row[POINT_B] - pose[0, 3], row[POINT_B + 1] - pose[1, 3], row[POINT_B + 2] - pose[2, 3])
    return is_common(a.row, b.row, pose, b.pose, offset, combine(0.5, x, 0.5, y))


@kernel(_nrt=True)
def _of_parts(pair, n, limit, goal, margin, threshold, loss):
    """Bounds of the signed distance of two bodies, one convex, and the direction of the lower one."""
    if pair.b.kind == MESH:
        return mesh_threshold.bounds(pair, n, threshold, goal, margin, loss)
    w = difference.new_workspace()
    balls = ball_radius(pair.a.row, pair.a.kind) + ball_radius(pair.b.row, pair.b.kind)
    near, far = limit.below + balls - margin, limit.beyond + balls + margin
    lower, upper, n = bounds_of_parts(pair, n, goal, margin, near, far, w)
    return lower - margin - balls, upper + margin - balls, n


@entry_point(separate=True)
def bounds_of_kinds(first: Placed, second: Placed, limit: Limit, state: Floats1) -> tuple[float, float]:
    """Bounds of the signed distance of two convex bodies, or of a mesh and any body, which may leave a threshold open.

    The state is renewed, but beside a mesh only if they decide.
    """
    out_of_line()
    task = begin(first.row, second.row, first.pool, second.pool, first.pose, second.pose, state)
    pair = task.pair
    a, b = pair.a.row, pair.b.row
    margin = difference.rounding(a, b, pair.centre)
    goal = limit.tolerance * min(a[SIZE], b[SIZE]) + 4.0 * margin
    threshold, loss = 0.5 * (limit.beyond + limit.below), 0.5 * (limit.beyond - limit.below)
    n = start_of_polytopes(task, state) if are_sharp(pair.a.kind, pair.b.kind) else start_direction(task, state)
    lower, upper, n = _of_parts(pair, n, limit, goal, margin, threshold, loss)
    if pair.b.kind != MESH or verdict_of(lower, upper, limit) != UNDECIDED:
        state[STARTED] = 1.0 if task.straight else 2.0
        for i in range(3):
            state[START + i] = n[i]
    return lower, upper


@kernel
def _is_closed_form(a, b):
    """Whether the answer of two bodies takes no longer than bounds: of a sphere, but beside a hull of many planes."""
    has_hull = a[KIND] == CONVEX_MESH or b[KIND] == CONVEX_MESH
    return not has_hull and (kind_of(a) == POINT or kind_of(b) == POINT)


@kernel
def decide_within(first, second, limit, direction, state, scratch, out):
    """Decide whether the signed distance of two bodies is below a threshold, by the cheapest proof.

    Parameters
    ----------
    first, second : Placed
        Of any kinds.
    limit : Limit
        `beyond` and `below` are the threshold, m, with what is to be added to the bounds beside their own rounding.
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
    offset = (pose_b[0, 3] - pose_a[0, 3], pose_b[1, 3] - pose_a[1, 3], pose_b[2, 3] - pose_a[2, 3])
    length = norm(offset)
    margin = rounding(a, b, length)
    lower, by, solves = length - a[RADIUS] - b[RADIUS] - margin, BY_SPHERES, 0
    # The origins of superovoids are points of them.
    upper = length + margin if method == OVOIDS else math.inf
    found = verdict_of(lower, upper, limit)
    if found == UNDECIDED and method == OVOIDS:
        lower, upper, by = _along_directions((first, second), offset, limit, margin, (lower, upper), direction)
        found = CLOSER if by == BY_POINT else verdict_of(lower, upper, limit)
    elif found == UNDECIDED and (method == MESHES or (method == CONVEX and not _is_closed_form(a, b))):
        bounds = bounds_of_kinds(first, second, limit, state)
        lower, upper, by = max(lower, bounds[0]), bounds[1], BY_SURFACES if method == MESHES else BY_DIRECTION
        found = verdict_of(lower, upper, limit)
    # First without a search, which only the depth of an overlap needs.
    while found == UNDECIDED and solves < 2:
        if method == OVOIDS:
            state[PROOF] = 0.0  # a search cut short is no proof to build on
        budget = 0 if solves == 0 and method == OVOIDS else limit.budget
        solve_within(first, second, Limit(limit.tolerance, budget, limit.beyond, limit.below), state, rotation, row)
        lower, upper = max(lower, row[LOWER]), min(upper, row[UPPER])
        by = BY_CONTACT if budget == 0 else BY_SEARCH
        solves += 1
        found = verdict_of(lower, upper, limit)
        if method == OVOIDS:
            for i in range(3):
                direction[i] = row[NORMAL + i]
            is_deep = row[DISTANCE] < 0.0 <= limit.below
            if found == UNDECIDED and is_deep and _is_middle_common(first, second, offset, row):
                upper, found = min(upper, 0.0), CLOSER
        if budget > 0 or int(row[STATUS]) & UNPROVEN == 0:
            break
    out[ANSWER], out[PROVED_LOWER], out[PROVED_UPPER], out[PROVED_BY], out[SOLVES] = found, lower, upper, by, solves
    return found


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
    limit, memory = Limit(tolerance, SEARCH_BUDGET, threshold, threshold), (scratch.rotation, scratch.result)
    found = decide_within(first, second, limit, scratch.direction, scratch.state, memory, out)
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
