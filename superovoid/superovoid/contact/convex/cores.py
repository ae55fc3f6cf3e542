# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Signed distance of two convex cores from their support functions alone.

With M = A - B (in the frame of A) and h_M(n) = h_A(n) + h_B(-n) - n . c, the signed distance of convex cores is
- min over |n| = 1 of h_M(n), apart and overlapping. Five parts work on that one function:

`difference.gjk`      GJK: the point of M nearest to the origin.
`difference.polish`   Newton on the strata of a simplex.
`epa`                 Overlaps of cores of vertices and rims: triangles of points of M around the origin.
`core_search`         All other overlaps: branch and bound on the sphere of directions.
`contact_points`      Points of both cores that face each other along the direction of the least h_M.

Overlap, closed at once: A ball of radius r that lies in A and touches its boundary at the contact has
sd(A, B) <= sd(ball, B) = sd(centre, B) - r, and the distance of a point from a sharp core is a closed form.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import add, combine, dot, norm, rotate, rotate_back, scale, sub, vector_in
from superovoid.contact.convex import next_to_concavity
from superovoid.contact.convex.core_search import search
from superovoid.contact.convex.epa import are_sharp, expand, height_of_tetrahedron
from superovoid.contact.inputs import MOST_STEPS
from superovoid.contact.minkowski import revolution
from superovoid.contact.minkowski.contact_points import (
    ALONG,
    CLOSE,
    HULL_GOAL,
    AlignedPoints,
    concavity_deficit,
    find_facing_points,
    holds_means,
    off_normal,
    points_along,
)
from superovoid.contact.minkowski.difference import (
    SIMPLEX,
    SearchResult,
    difference_support,
    error_margin,
    gather,
    gjk,
    gjk_start,
    keep_better,
    mean_point,
    mean_points,
    polish,
    polish_result,
    put,
)
from superovoid.contact.minkowski.on_surfaces import direction_of, off_line, onto_surfaces
from superovoid.contact.pair import Limit, Pair
from superovoid.contact.superovoids.nearest_pieces import is_in_ovoids
from superovoid.contact.superovoids.tangent_balls import tangent_ball, widest_ball
from superovoid.shapes.kernels import kinds
from superovoid.shapes.kernels.rounding import EPS
from superovoid.shapes.kernels.support_function import support
from superovoid.shapes.kernels.surface import RADIUS, SIZE
from superovoid.values.status import ARBITRARY_NORMAL

_LEG = 5  # GJK iterations between two polishes


class CoreAnswer(NamedTuple):
    """Answer for two cores in the frame of A; `n` from A to B."""

    distance: float
    lower: float
    upper: float
    x: tuple
    y: tuple
    n: tuple
    iterations: int
    status: int  # flags (`pair_solver`) of the points and of the direction


@kernel
def with_balls(answer, ball_a, ball_b):
    """Convert the answer for two cores to that for their bodies: radii counted, points on the balls.

    The interval of the cores allows a part of y - x across n. Taking the radii off along n would keep that part, which
    may exceed a small gap, so they are taken off along y - x. If the balls overlap by more than the distance of the
    cores, or the cores overlap themselves, n is more precise.
    """
    distance, lower, upper, x, y, n, iterations, status = answer
    radii, u = ball_a + ball_b, sub(y, x)
    length = norm(u)
    outward = scale(1.0 / length, u) if dot(u, n) > 0.0 and abs(length - radii) < length else n
    x, y = combine(1.0, x, ball_a, outward), combine(1.0, y, -ball_b, outward)
    return CoreAnswer(distance - radii, lower - radii, upper - radii, x, y, n, iterations, status)


@kernel
def _is_curved(kind):
    return kind == kinds.SUPEROVOID or kind == kinds.TORUS or kind == kinds.CYLINDER or kind == kinds.CONE


@kernel
def _ball_depth(pair, f, x, y, n):
    """Bound the depth of a superovoid in a core of closed form from below, by the ball that touches at its contact.

    `n` is the outward normal of the superovoid at its surface point f, which is x in the frame of A, and y a point of
    the core. Returns -inf if the centre has several shortest separating translations: only the search can find whether
    the bodies have as many.
    """
    swapped = pair.b.kind == kinds.SUPEROVOID
    ovoid, core = (pair.b, pair.a) if swapped else (pair.a, pair.b)
    r = tangent_ball(ovoid.row, f, widest_ball(ovoid.row))
    if not (r > 0.0):
        return -math.inf
    ball = combine(1.0, x, -r, n)
    to_point = norm(sub(ball, y))
    if not swapped:
        ball = rotate_back(pair.rotation, sub(ball, pair.centre))
    distance, unique = to_point, True
    if core.kind != kinds.TRIANGLE:
        height, normal, _, alone = kinds.point_to_core(core, ball)
        if height <= 0.0 or not (core.kind == kinds.CONVEX_MESH or core.kind == kinds.MESH):
            distance, unique = height, alone
        else:
            # Outside a mesh the planes of its facets are nearer than the mesh, except over a facet: there the foot,
            # moved a little inside, is in the mesh. Any point of the mesh is no nearer.
            inside = 16.0 * EPS * (norm(ball) + core.row[RADIUS]) + core.row[kinds.PLANE_LOSS]
            reach = height + 2.0 * inside
            above, _, _, _ = kinds.point_to_core(core, combine(1.0, ball, -reach, normal))
            if above <= -inside:
                distance = min(reach, to_point)
    return r - distance - core.row[kinds.PLANE_LOSS] if unique else -math.inf


@kernel(separate=True)
def solve_cores(pair, n, goal, limit, w):
    """Compute the signed distance of two cores, each convex or a non-convex superovoid.

    Parameters
    ----------
    n : tuple
        Unit direction from A to B to start from.
    goal : float
        Width of the interval to reach, m.
    limit : Limit
        Of the cores, without balls. Its budget is of support points of the search. If it is 0, points that realise the
        distance are enough, whatever their direction (`with_facing_points`).
    """
    budget, beyond = limit.budget, limit.beyond
    # Without a budget the cores are boxes about parts of a mesh, for which a lower bound is enough.
    over_concavity = next_to_concavity.is_for(pair) and (
        budget > 0 or pair.a.kind == kinds.TRIANGLE or pair.b.kind == kinds.TRIANGLE
    )
    over_concavity = over_concavity and pair.a.kind != kinds.TORUS and pair.b.kind != kinds.TORUS
    of_hulls = Limit(0.0, np.int64(0), beyond, limit.below) if over_concavity else limit
    answer = _of_hulls(pair, n, goal, of_hulls, w)
    if over_concavity and not (answer.upper - answer.lower <= goal or answer.lower > beyond):
        return _over_concavity(pair, answer, goal, limit, w)
    if budget > 0 and answer.lower <= beyond and 0.0 < answer.distance < math.inf:
        return with_facing_points(pair, answer, goal, error_margin(pair.a.row, pair.b.row, pair.centre), w)
    return answer


@kernel
def _of_hulls(pair, n, goal, limit, w):
    """As `solve_cores`, with bounds of the hull of a non-convex superovoid, and points in any direction."""
    budget, beyond = limit.budget, limit.beyond
    a, ka = pair.a.row, pair.a.kind
    b, kb = pair.b.row, pair.b.kind
    margin = error_margin(a, b, pair.centre)
    found = gjk_start(n)
    curved = _is_curved(ka) or _is_curved(kb)
    while found.iterations < MOST_STEPS:
        roughly = found.iterations == 0 and (ka == kinds.SUPEROVOID or kb == kinds.SUPEROVOID)
        found = gjk(pair, found, goal, -math.inf, beyond, w, _LEG if curved else MOST_STEPS, roughly)
        if found.overlap or found.lower > beyond:
            break
        if curved:  # the interval closes without, but the points and the normal are then exact to its root only
            answer = _polish_cores(pair, found, margin, w)
            if answer.upper - answer.lower <= goal:
                return answer
        if found.upper - found.lower <= goal or found.stalled:
            break
    if found.count == 0:
        return CoreAnswer(math.inf, found.lower - margin, math.inf, found.n, found.n, found.n, found.iterations, 0)
    x, y = mean_points(w, found.count)
    if budget == 0 and found.overlap:
        return CoreAnswer(0.0, -math.inf, found.upper + margin, x, y, found.n, found.iterations, 0)
    length = norm(sub(y, x))
    lower = min(found.lower - margin, length)
    if found.overlap or not (length - lower <= goal or found.lower > beyond or budget == 0):
        return solve_overlap(pair, found, goal, margin, limit, w)
    own = found.count == 1 or (holds_means(a, ka) and holds_means(b, kb))
    if not own:
        x, y = onto_surfaces(pair, x, y, found.n, False)
        length = norm(sub(y, x))
        lower = min(lower, length)
    return CoreAnswer(length, lower, length + margin, x, y, found.n, found.iterations, 0)


@kernel
def bounds_about(pair, n, goal, margin, threshold, far, w):
    """Bound the signed distance of two convex cores closely enough to compare it with a threshold.

    The bounds do not count rounding errors. If the threshold is -inf, only the lower bound is sought, until it exceeds
    `far`. The depth is computed only if it decides about a negative threshold.

    Returns the bounds and the direction of the lower one.
    """
    found = gjk(pair, gjk_start(n), goal, threshold, far, w, MOST_STEPS, False)
    lower, upper, n = found.lower, found.upper, found.n
    if not (holds_means(pair.a.row, pair.a.kind) and holds_means(pair.b.row, pair.b.kind)):
        # The simplex is of hulls, which reach across a concavity; its corners are differences of points of the bodies.
        upper = math.inf
        for k in range(found.count):
            upper = min(upper, norm(vector_in(w, k, SIMPLEX.m)))
        # A ball about a common point of the hulls that lies in both bodies proves an overlap.
        radius = max(margin, margin - threshold)
        if found.count == 4 and radius < math.inf and is_in_ovoids(pair, mean_point(w, 4, SIMPLEX.x), margin + radius):
            upper = -radius
        return lower, upper, n
    if found.count == 4:
        upper = min(upper, -height_of_tetrahedron(w))
        if -math.inf < threshold <= 0.0 and not upper < threshold and are_sharp(pair):
            depth = expand(pair, n, w, goal, margin)
            lower, upper, n = max(lower, -depth.value), min(upper, -depth.proved), depth.n
    return lower, upper, n


@kernel
def _over_concavity(pair, answer, goal, limit, w):
    """Solve a non-convex superovoid and a convex core from bounds of its pieces, if its hull leaves the answer open.

    Reports an overlap only if a common point of the cores is known.
    """
    margin = error_margin(pair.a.row, pair.b.row, pair.centre)
    balls = kinds.ball_radius(pair.a.row, pair.a.kind) + kinds.ball_radius(pair.b.row, pair.b.kind)
    found = next_to_concavity.nearest_points(pair, answer.n, 0.5 * goal, limit.beyond, margin)
    x, y, length = found.x, found.y, norm(sub(found.y, found.x))
    iterations = answer.iterations + found.views
    if found.upper > balls:
        # Rounding turns the direction of points that touch, but not the one that proves a bound.
        n = direction_of(x, y, found.n) if length > goal else found.n
        if found.lower > 0.0:
            return CoreAnswer(length, min(found.lower, length), length + margin, x, y, n, iterations, 0)
        if limit.budget > 0:
            hulls = _of_hulls(pair, answer.n, goal, limit, w)
            answer = hulls if hulls.lower > answer.lower else answer
        if length <= goal and length - answer.lower <= goal:
            n = answer.n
        return CoreAnswer(length, min(answer.lower, length), length + margin, x, y, n, iterations, 0)
    if found.lower > 0.0 and length > 0.0:
        # Balls overlap. Moved apart by that depth, the bodies may come closer at another place.
        n = scale(1.0 / length, sub(y, x))
        step = balls - length + 0.25 * goal
        if (
            next_to_concavity.nearest_points(
                Pair(pair.a, pair.b, pair.rotation, add(pair.centre, scale(step, n))),
                n,
                0.125 * goal,
                balls + margin,
                margin,
            ).lower
            >= balls
        ):
            return CoreAnswer(length, length - 0.25 * goal - margin, length + margin, x, y, n, iterations, 0)
    if limit.budget > 0:
        answer = _of_hulls(pair, answer.n, goal, limit, w)
    upper = max(answer.lower, min(answer.upper, found.upper))
    distance = min(answer.distance, upper)
    iterations += answer.iterations
    return CoreAnswer(distance, answer.lower, upper, answer.x, answer.y, answer.n, iterations, answer.status)


@kernel
def _polish_cores(pair, found, margin, w):
    """Solve separate cores by Newton on the strata of the simplex; the interval is empty if it fails."""
    x, y = mean_points(w, found.count)
    u = sub(y, x)
    length = norm(u)
    n = scale(1.0 / length, u) if length > 0.0 else found.n
    count = gather(w, found.count)
    local = polish(pair, n, 1.0, w, count)
    c = difference_support(pair, local.n)
    length = norm(sub(local.y, local.x))
    iterations = found.iterations + 1
    if -c.h >= found.lower - margin:
        return CoreAnswer(length, min(-c.h - margin, length), length + margin, local.x, local.y, local.n, iterations, 0)
    return CoreAnswer(
        length, min(found.lower - margin, length), length + margin, local.x, local.y, found.n, iterations, 0
    )


@kernel
def with_facing_points(pair, answer, goal, margin, w):
    """Replace the points of separate cores by points along a normal that proves their distance, if such are found."""
    is_closed = answer.upper - answer.lower <= goal
    if not (norm(sub(answer.y, answer.x)) > goal) or (is_closed and off_normal(answer.x, answer.y, answer.n) <= goal):
        return answer
    found = find_facing_points(pair, answer.x, answer.y, answer.n, answer.lower, goal, margin, w)
    if not found.is_found:
        return answer
    length, iterations = norm(sub(found.y, found.x)), answer.iterations + 1
    return CoreAnswer(length, found.lower, length + margin, found.x, found.y, found.n, iterations, answer.status)


@kernel
def along_normal(pair, answer, goal, limit, w):
    """Replace the points of separate cores by points along the normal, if the interval is closed.

    Near flats an interval as narrow as the goal may leave points far off the normal, and no direction near them that
    proves as much. A narrower one has better directions.
    """
    margin = error_margin(pair.a.row, pair.b.row, pair.centre)
    answer = with_facing_points(pair, answer, goal, margin, w)
    off = off_normal(answer.x, answer.y, answer.n)
    if answer.distance > 0.0 and off > goal and answer.upper - answer.lower <= goal:
        other = solve_cores(pair, answer.n, 0.01 * goal, limit, w)
        other = with_facing_points(pair, other, goal, margin, w)
        if other.upper - other.lower <= goal and off_normal(other.x, other.y, other.n) < off:
            return other
    return answer


@kernel
def solve_overlap(pair, descent, goal, margin, limit, w):
    """Solve cores that overlap, touch, or are too near to touching for GJK to decide."""
    refuted, enough = -limit.beyond - margin, margin - limit.below  # h_M and a bound of it that decide
    a, ka = pair.a.row, pair.a.kind
    b, kb = pair.b.row, pair.b.kind
    ovoid_a, ovoid_b = ka == kinds.SUPEROVOID, kb == kinds.SUPEROVOID
    has_means = holds_means(a, ka) and holds_means(b, kb)
    n, start = descent.n, SearchResult(math.inf, -math.inf, descent.n, descent.n, descent.n, False, 0, math.inf)
    if descent.count == 4 and are_sharp(pair):
        start = expand(pair, n, w, goal, margin)
    # The means of support points of GJK, which are in convex cores, are no nearer than these.
    depth = max(start.proved, -descent.upper) if has_means else start.proved
    if start.proved == -math.inf:
        start = keep_better(start, n, difference_support(pair, n))
    if ovoid_a != ovoid_b and ka != kinds.TORUS and kb != kinds.TORUS:
        for i in range(2):
            n = descent.n if i == 0 else _core_normal(pair)
            c = difference_support(pair, n)
            put(w, 0, c)
            start = polish_result(pair, n, 1, keep_better(start, n, c), w)
            if ovoid_a:
                f, _ = support(a, start.n)
                depth = max(depth, _ball_depth(pair, f, start.x, start.y, start.n))
            else:
                back = scale(-1.0, start.n)
                f, _ = support(b, rotate_back(pair.rotation, back))
                depth = max(depth, _ball_depth(pair, f, start.y, start.x, back))
            if start.value - depth <= goal or depth >= enough:
                break
    ball_depth = depth
    # For a non-convex body, a search of hulls proves as much as that of a convex body inside it at most.
    deficit = concavity_deficit(a, ka) + concavity_deficit(b, kb)
    width = 0.5 * goal + min(0.1 * deficit, HULL_GOAL * min(a[SIZE], b[SIZE]))
    enough = enough if deficit == 0.0 else math.inf  # points over a concavity may widen the interval
    if not (start.value - depth <= goal or depth >= enough) and revolution.is_for(pair):
        start = revolution.search(pair, start, width, limit.budget, w)
        depth = max(depth, start.proved)
    if not (start.value - depth <= max(goal, width) or depth >= enough):
        value, _, n, x, y, is_polished, spent, rival = start
        start = SearchResult(value, depth, n, x, y, is_polished, spent, rival)
        start = search(pair, start, width, refuted, enough, limit.budget, w)
        depth = max(depth, start.proved)
    # On a face or an edge of M the support points of one direction lie anywhere.
    end = AlignedPoints(start.n, start.value, start.x, start.y, off_line(start.x, start.y, start.value, start.n))
    if end.off > CLOSE * goal:
        end = points_along(pair, start.n, start.value, goal, w)
    n, x, y, off, distance, upper = end.n, end.x, end.y, end.off, -end.value, margin - depth
    if not has_means:
        # The depth of the hulls bounds that of the bodies from above; only sets inside the bodies bound it from below.
        c = difference_support(pair, n)
        of_support = off_line(c.x, c.y, end.value, n)
        if off > goal and of_support < off:
            x, y, off = c.x, c.y, of_support
        depth = max(ball_depth, start.proved - deficit)
        upper = margin - depth if depth > 0.0 else norm(c.m) + margin
    status = ARBITRARY_NORMAL if start.rival <= start.value + goal else 0
    if distance > 0.0:
        upper = norm(sub(y, x)) + margin  # the points span the distance
    elif off > ALONG * goal:
        upper = max(upper, distance + off)
    lower, upper, iterations = distance - margin, max(distance, upper), descent.iterations + start.spent
    return CoreAnswer(distance, lower, upper, x, y, n, iterations, status)


@kernel
def _core_normal(pair):
    """Return the direction of the shortest translation of the superovoid's centre out of the other core."""
    rotation, centre = pair.rotation, pair.centre
    if pair.a.kind == kinds.SUPEROVOID:
        _, normal, _, _ = kinds.point_to_core(pair.b, rotate_back(rotation, scale(-1.0, centre)))
        return scale(-1.0, rotate(rotation, normal))
    _, normal, _, _ = kinds.point_to_core(pair.a, centre)
    return normal
