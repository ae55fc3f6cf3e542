# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Is the signed distance of two packed bodies below a threshold? Proofs in the order of their cost, until one decides.

bounding spheres               |c| - R_A - R_B <= sd
two superovoids: a direction   g(n) = n . c - h_A(n) - h_B(-n) <= sd, for the line of centres and the line between
                               the two support points; these are points of the bodies, so sd <= |x_B - x_A|
  a common point               the middle of two such points inside both bodies: sd < 0
  the contact                  the engine's interval without its global search
two convex bodies              GJK ends as soon as a direction proves them no closer, or a pair of points closer; where
                               its tetrahedron holds the origin, its least height proves an overlap
a mesh that is not convex      hulls, triangles, and what lies inside (`convex.mesh_threshold`)
what these leave open          the interval of the full answer
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
    START,
    STARTED,
    UPPER,
    VERDICT_LENGTH,
)
from superovoid.contact.convex import cores, epa, gjk, mesh_threshold
from superovoid.contact.convex.closed_surface import height_of_tetrahedron
from superovoid.contact.convex.core_settling import holds_means
from superovoid.contact.convex.features import are_sharp
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
from superovoid.contact.minkowski.difference import M, row_point
from superovoid.contact.one_pair import scratch_in, solve_from_nothing
from superovoid.contact.pair import Limit, Placed
from superovoid.contact.separation import is_common, rounding, separation
from superovoid.contact.superovoids.pair_solver import solve_pair
from superovoid.shapes.kernels.kinds import CONVEX_MESH, KIND, POINT, ROW_LENGTH, SUPEROVOID, Core, ball_radius, kind_of
from superovoid.shapes.kernels.packing import pack
from superovoid.shapes.kernels.surface import A1, A2, A3, DENTED, INV_P, INV_S, RADIUS, SIZE, TX, TY

# What decided, cheapest first.
BY_SPHERES, BY_DIRECTION, BY_POINT, BY_CONTACT, BY_SEARCH, BY_SURFACES = 0, 1, 2, 3, 4, 5

# Columns of a verdict: 1 closer, -1 not closer, 0 undecided; what is proved; by what; solver calls.
ANSWER, PROVED_LOWER, PROVED_UPPER, PROVED_BY, SOLVES = 0, 1, 2, 3, 4

CLOSER, UNDECIDED, FARTHER = 1, 0, -1

_DIRECTIONS = 2  # tried before the solver
_STEPS = 64  # of GJK
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


@kernel
def _of_superovoids(first, second, threshold, limit, direction, state, scratch, out):
    """Fill in the verdict on two superovoids."""
    (a, pool_a, pose_a), (b, pool_b, pose_b) = first, second
    core_a, core_b = Core(a, kind_of(a), pool_a), Core(b, kind_of(b), pool_b)
    rotation, row = scratch
    offset = (pose_b[0, 3] - pose_a[0, 3], pose_b[1, 3] - pose_a[1, 3], pose_b[2, 3] - pose_a[2, 3])
    length = norm(offset)
    margin = rounding(a, b, length)
    lower = length - a[RADIUS] - b[RADIUS] - margin
    upper = length + margin  # the origins are points of the bodies
    common = False
    by = BY_SPHERES
    solves = 0
    answer = _decide(lower, upper, common, threshold)
    if answer == 0:
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
            by = BY_DIRECTION
            answer = _decide(lower, upper, common, threshold)
            if answer != 0:
                break
            if (
                s.lower < 0.0
                and threshold >= 0.0
                and is_common(a, b, pose_a, pose_b, offset, combine(0.5, u, 1.0, s.x))
            ):
                common = True
                upper = min(upper, 0.0)
                by = BY_POINT
                answer = 1
                break
            if not (span > 0.0):
                break
            n = scale(1.0 / span, u)
    # First without the global search, which only the depth of an overlap needs.
    while answer == 0 and solves < 2:
        budget = 0 if solves == 0 else limit.budget
        solve_pair(a, b, pose_a, pose_b, limit.tolerance, budget, state, rotation, row)
        solves += 1
        lower = max(lower, row[LOWER])
        upper = min(upper, row[UPPER])
        for i in range(3):
            direction[i] = row[NORMAL + i]
        by = BY_CONTACT if solves == 1 else BY_SEARCH
        answer = _decide(lower, upper, common, threshold)
        if answer == 0 and threshold >= 0.0 and row[DISTANCE] < 0.0:
            x = (row[POINT_A] - pose_a[0, 3], row[POINT_A + 1] - pose_a[1, 3], row[POINT_A + 2] - pose_a[2, 3])
            y = (row[POINT_B] - pose_a[0, 3], row[POINT_B + 1] - pose_a[1, 3], row[POINT_B + 2] - pose_a[2, 3])
            if is_common(a, b, pose_a, pose_b, offset, combine(0.5, x, 0.5, y)):
                upper = min(upper, 0.0)
                answer = 1
    out[ANSWER] = answer
    out[PROVED_LOWER] = lower
    out[PROVED_UPPER] = upper
    out[PROVED_BY] = by
    out[SOLVES] = solves


@kernel
def _highest_upper(found):
    """The upper bound of a descent, of the depth in the tetrahedron where it ended in one."""
    if found.simplex.count < 4:
        return found.upper
    s = found.simplex
    return -height_of_tetrahedron(s.p, s.q, s.r, s.s)


@kernel
def _is_to_expand(found, upper, threshold):
    """Whether only the depth of the overlap decides."""
    return found.simplex.count == 4 and threshold <= 0.0 and not upper < threshold


@kernel
def _of_features(pair, n, goal, margin, loss, threshold):
    """Bounds of the distance of cores of vertices and rims, and the best direction; balls are in the threshold."""
    taken = margin + loss
    found = gjk.descend(pair, n, goal - 2.0 * margin, threshold - taken, threshold + taken)
    upper = _highest_upper(found)
    if _is_to_expand(found, upper + taken, threshold):
        answer = epa.expand(pair, found, goal, margin)
        return answer.lower, answer.upper, answer.n
    return found.lower - margin, upper + margin, found.n


@kernel(_nrt=True)
def _of_cores(pair, n, goal, margin, loss, threshold):
    """The same for any two convex cores."""
    w = difference.new_workspace()
    taken = margin + loss
    start = cores.Descent(0, -math.inf, n, math.inf, False, False, 0)
    found = cores.descend(pair, start, goal, threshold + taken, w, _STEPS, False)
    upper = found.upper
    if found.overlap and found.count == 4:
        p, q, r, s = row_point(w, 0, M), row_point(w, 1, M), row_point(w, 2, M), row_point(w, 3, M)
        upper = -height_of_tetrahedron(p, q, r, s)
    if not (holds_means(pair.a.row, pair.a.kind) and holds_means(pair.b.row, pair.b.kind)):
        upper = math.inf  # the simplex is of hulls, which reach across a dent
    return found.lower - margin, upper + margin, found.n


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
    if are_sharp(ka, kb):
        lower, upper, n = _of_features(pair, start_of_polytopes(task, state), goal, margin, loss, of_cores)
    else:
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
def decide_within(first, second, threshold, limit, loss, direction, state, scratch, out):
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
    _of_superovoids(first, second, threshold, limit, direction, state, scratch, out)
    if loss == 0.0:
        return int(out[ANSWER])  # a common point proves more than the interval, whose upper end it makes 0
    found = verdict_of(out[PROVED_LOWER] - loss, out[PROVED_UPPER] + loss, threshold)
    if found == UNDECIDED:
        rotation, row = scratch
        solve_pair(first.row, second.row, first.pose, second.pose, limit.tolerance, limit.budget, state, rotation, row)
        found = verdict_of(row[LOWER] - loss, row[UPPER] + loss, threshold)
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
    limit, memory = Limit(tolerance, SEARCH_BUDGET, math.inf), (scratch.rotation, scratch.result)
    found = decide_within(first, second, threshold, limit, 0.0, scratch.direction, scratch.state, memory, out)
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
