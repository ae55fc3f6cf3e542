# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Signed distance of two convex cores from their support functions alone.

With M = A - B (in the frame of A) and h_M(n) = h_A(n) + h_B(-n) - n . c, the signed distance of convex cores is
- min over |n| = 1 of h_M(n), apart and overlapping. Five parts work on that one function:

`gjk`                 The point of M nearest to the origin.
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

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import combine, dot, norm, rotate, rotate_back, scale, sub
from superovoid.contact.convex import beside_dent, revolution
from superovoid.contact.convex.core_search import search
from superovoid.contact.convex.epa import are_sharp, expand, height_of_tetrahedron
from superovoid.contact.convex.gjk import descend, nothing_known
from superovoid.contact.minkowski.contact_points import (
    ALONG,
    NEAR,
    Aligned,
    dent_deficit,
    facing,
    holds_means,
    off_normal,
    points_along,
    superovoids_on_surfaces,
)
from superovoid.contact.minkowski.difference import (
    WEIGHT,
    Found,
    X,
    Y,
    difference_support,
    gather,
    mean_point,
    polish,
    put,
    rounding,
    row_point,
    take,
    well_away,
)
from superovoid.contact.minkowski.on_surfaces import direction_of, off_line
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids.tangent_balls import tangent_ball, widest_ball
from superovoid.shapes.kernels.kinds import (
    CONE,
    CONVEX_MESH,
    CYLINDER,
    MESH,
    PLANE_LOSS,
    SUPEROVOID,
    TORUS,
    TRIANGLE,
    ball_radius,
    point_to_core,
)
from superovoid.shapes.kernels.rounding import EPS
from superovoid.shapes.kernels.support_function import support
from superovoid.shapes.kernels.surface import RADIUS, SIZE
from superovoid.values.status import ARBITRARY_NORMAL, DENT

_LEG, _LEGS, _LONGEST = 5, 5, 64  # GJK iterations before the first polish, times a leg, and without one
_NEAR = 1e-6  # of the smaller body: distance below which the search takes over where GJK has stalled
_NEARLY_COAXIAL = 0.1  # of the smaller body: slack of axes below which a search may turn with them
_HULL_GOAL = 1e-3  # of the smaller body: width at which a search of hulls over a dent ends


class Cores(NamedTuple):
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
def ball_direction(x, y, n, radii):
    """Unit direction from points x and y of two cores to the surfaces of the balls about them.

    The part of y - x across n, which the interval of the cores allows, would be left as it is where the radii are taken
    off along n, and would exceed a gap that is small: then they are taken off along y - x. Where the balls overlap by
    more than the cores are apart, or the cores overlap themselves, n is the better known.
    """
    u = sub(y, x)
    length = norm(u)
    return scale(1.0 / length, u) if dot(u, n) > 0.0 and abs(length - radii) < length else n


@kernel
def _is_curved(kind):
    return kind == SUPEROVOID or kind == TORUS or kind == CYLINDER or kind == CONE


@kernel
def _ball_depth(pair, ovoid, x, n, core, y, swapped):
    """As `_ball_depth_at` at the support point x along n."""
    f, _ = support(ovoid, rotate_back(pair.rotation, n) if swapped else n)
    return _ball_depth_at(pair, ovoid, f, x, n, core, y, swapped)


@kernel
def _ball_depth_at(pair, ovoid, f, x, n, core, y, swapped):
    """Lower bound of the depth of a superovoid in a core of closed form, from the ball that touches at its contact.

    `n` is the outward normal of the superovoid at its surface point f, which is x in the frame of A, and y a point of
    the core; `swapped` says that the superovoid is B. -inf where the centre has several nearest ways out: whether the
    bodies have as many only the search can tell.
    """
    out_of_line()
    rotation, centre = pair.rotation, pair.centre
    r = tangent_ball(ovoid, f, widest_ball(ovoid))
    if not (r > 0.0):
        return -math.inf
    ball = combine(1.0, x, -r, n)
    to_point = norm(sub(ball, y))
    if not swapped:
        ball = rotate_back(rotation, sub(ball, centre))
    distance, unique = to_point, True
    if core.kind != TRIANGLE:
        height, normal, _, alone = point_to_core(core, ball)
        if height <= 0.0 or not (core.kind == CONVEX_MESH or core.kind == MESH):
            distance, unique = height, alone
        else:
            # Outside a mesh the planes of its facets are nearer than the mesh, but over a facet: where the foot, a
            # little inside, is in the mesh. Any point of the mesh is no nearer.
            inside = 16.0 * EPS * (norm(ball) + core.row[RADIUS]) + core.row[PLANE_LOSS]
            reach = height + 2.0 * inside
            above, _, _, _ = point_to_core(core, combine(1.0, ball, -reach, normal))
            if above <= -inside:
                distance = min(reach, to_point)
    return r - distance - core.row[PLANE_LOSS] if unique else -math.inf


@kernel(separate=True)
def solve_cores(pair, n, goal, beyond, budget, w):
    """Signed distance of two cores that are convex, or a superovoid with a dent.

    Parameters
    ----------
    n : tuple
        Unit direction from A to B to start from.
    goal : float
        Width of the interval to reach, m.
    beyond : float
        Give up, with the interval known by then, once the distance is proved to exceed this.
    budget : int
        Support points that the search may spend. 0: none, and points that realise the distance are enough, whatever
        their direction (`with_facing_points`).
    """
    out_of_line()
    # Without a budget boxes about parts of a mesh are asked for, of which a lower bound is enough.
    over_dent = beside_dent.is_for(pair) and (budget > 0 or pair.a.kind == TRIANGLE or pair.b.kind == TRIANGLE)
    if not over_dent or pair.a.kind == TORUS or pair.b.kind == TORUS:
        return _of_hulls(pair, n, goal, beyond, budget, w)
    answer = _of_hulls(pair, n, goal, beyond, np.int64(0), w)
    if answer.upper - answer.lower <= goal and budget > 0:
        margin = rounding(pair.a.row, pair.b.row, pair.centre)
        return with_facing_points(pair, answer, goal, margin, w)
    if answer.upper - answer.lower <= goal or answer.lower > beyond:
        return answer
    return _over_dent(pair, answer, goal, beyond, budget, w)


@kernel
def _of_hulls(pair, n, goal, beyond, budget, w):
    """As `solve_cores`, with bounds of the hull of a superovoid that has a dent."""
    out_of_line()
    a, ka = pair.a.row, pair.a.kind
    b, kb = pair.b.row, pair.b.kind
    margin = rounding(a, b, pair.centre)
    found = nothing_known(n)
    curved = _is_curved(ka) or _is_curved(kb)
    rounds = 0
    while True:
        rounds += 1
        found = descend(
            pair,
            found,
            goal,
            -math.inf,
            beyond,
            w,
            _LEG * rounds if curved else _LONGEST,
            rounds == 1 and (ka == SUPEROVOID or kb == SUPEROVOID),
        )
        if found.overlap or found.lower > beyond:
            break
        if curved:
            answer = _polished(pair, found, margin, w)
            if answer.upper - answer.lower <= goal:
                if budget == 0:
                    return answer
                return with_facing_points(pair, answer, goal, margin, w)
        if found.upper - found.lower <= goal or found.stalled or rounds >= _LEGS:
            break
    if found.count == 0:
        return Cores(math.inf, found.lower - margin, math.inf, found.n, found.n, found.n, found.iterations, 0)
    if budget == 0 and found.overlap:
        x, y = mean_point(w, found.count, X), mean_point(w, found.count, Y)
        upper = 0.0 if found.count == 4 else found.upper  # a tetrahedron of points of M holds the origin
        return Cores(0.0, -math.inf, upper + margin, x, y, found.n, found.iterations, 0)
    if not found.overlap:
        x, y = mean_point(w, found.count, X), mean_point(w, found.count, Y)
        length = norm(sub(y, x))
        lower = min(found.lower - margin, length)
        clear = found.lower > 0.5 * length and length > _NEAR * min(a[RADIUS], b[RADIUS])
        if length - lower <= goal or clear or found.lower > beyond or budget == 0:
            own = found.count == 1 or (holds_means(a, ka) and holds_means(b, kb))
            upper = length
            if not own:
                x, y = superovoids_on_surfaces(pair, x, y, found.n)
                upper = norm(sub(y, x))
                row_x, row_y, least = _nearest_row(w, found.count)
                if least < upper:
                    x, y, upper = row_x, row_y, least
            status = 0 if own or upper + margin - lower <= goal else DENT
            answer = Cores(upper, lower, upper + margin, x, y, found.n, found.iterations, status)
            if budget == 0:
                return answer
            return with_facing_points(pair, answer, goal, margin, w)
    return overlapping(pair, found, goal, margin, budget, w)


@kernel
def bounds_about(pair, n, goal, margin, threshold, far, w):
    """Bounds of the signed distance of two convex cores, good enough to tell whether it is below a threshold.

    What rounding takes from them is not counted. With the threshold -inf only the lower one is looked for, and no more
    than that it exceeds `far`. Only where the depth decides about a negative threshold it is computed.

    Returns the bounds and the direction of the lower one.
    """
    out_of_line()
    found = descend(pair, nothing_known(n), goal, threshold, far, w, _LONGEST, False)
    lower, upper, n = found.lower, found.upper, found.n
    if not (holds_means(pair.a.row, pair.a.kind) and holds_means(pair.b.row, pair.b.kind)):
        return lower, math.inf, n  # the simplex is of hulls, which reach across a dent
    if found.count == 4:
        upper = min(upper, -height_of_tetrahedron(w))
        if -math.inf < threshold <= 0.0 and not upper < threshold and are_sharp(pair):
            depth, is_closed = expand(pair, n, w, goal, margin)
            if is_closed:
                lower, upper, n = max(lower, -depth.value), min(upper, -depth.proved), depth.n
    return lower, upper, n


@kernel
def _over_dent(pair, answer, goal, beyond, budget, w):
    """Answer for a superovoid with a dent and a convex core from what its pieces prove; its hull leaves it open.

    Cores that are not known to have a common point are not said to overlap.
    """
    out_of_line()
    margin = rounding(pair.a.row, pair.b.row, pair.centre)
    balls = ball_radius(pair.a.row, pair.a.kind) + ball_radius(pair.b.row, pair.b.kind)
    found = beside_dent.nearest_points(pair, answer.n, 0.5 * goal, beyond, margin)
    x, y, length = found.x, found.y, norm(sub(found.y, found.x))
    iterations = answer.iterations + found.views
    if found.upper > balls:
        # Rounding turns the direction of points that touch, but not the one that proves a bound.
        n = direction_of(x, y, found.n) if length > goal else found.n
        if found.lower > 0.0:
            upper = length + margin
            status = 0 if upper - found.lower <= goal else DENT
            return Cores(length, min(found.lower, length), upper, x, y, n, iterations, status)
        if budget > 0:
            hulls = _of_hulls(pair, answer.n, goal, beyond, budget, w)
            answer = hulls if hulls.lower > answer.lower else answer
        if length <= goal and length - answer.lower <= goal:
            n = answer.n
        return Cores(length, min(answer.lower, length), length + margin, x, y, n, iterations, DENT)
    if found.lower > 0.0 and length > 0.0:
        # Balls overlap. Moved apart by as much the bodies may come closer elsewhere.
        n = scale(1.0 / length, sub(y, x))
        way = balls - length + 0.25 * goal
        moved = Pair(pair.a, pair.b, pair.rotation, combine(1.0, pair.centre, way, n))
        if beside_dent.nearest_points(moved, n, 0.125 * goal, balls + margin, margin).lower >= balls:
            return Cores(length, length - 0.25 * goal - margin, length + margin, x, y, n, iterations, 0)
    if budget > 0:
        answer = _of_hulls(pair, answer.n, goal, beyond, budget, w)
    upper = max(answer.lower, min(answer.upper, found.upper))
    distance = min(answer.distance, upper)
    iterations += answer.iterations
    if budget > 0 and upper - answer.lower > _HULL_GOAL * min(pair.a.row[SIZE], pair.b.row[SIZE]):
        way = beside_dent.shortest_way(pair, answer.n, balls - answer.lower + goal, balls, goal, margin)
        iterations += way.views
        if way.length - balls < -answer.lower:
            return _along_way(pair, way, balls, upper, goal, margin, iterations, answer.status)
    return Cores(distance, answer.lower, upper, answer.x, answer.y, answer.n, iterations, answer.status)


@kernel
def _along_way(pair, way, balls, upper, goal, margin, iterations, status):
    """Answer for cores that overlap, or of which the balls do, from a translation that parts the bodies."""
    out_of_line()
    lower = balls - way.length
    f, x, normal = beside_dent.contact_of(pair, way)
    swapped = pair.b.kind == SUPEROVOID
    ovoid, core, y = (pair.b.row, pair.a, way.x) if swapped else (pair.a.row, pair.b, way.y)
    depth = _ball_depth_at(pair, ovoid, f, x, normal, core, y, swapped)
    upper = max(lower, min(upper, margin - depth))
    off = off_line(way.x, way.y, -lower, way.n)
    if off > ALONG * goal:
        upper = max(upper, lower + off)
    status = 0 if upper - lower + margin <= goal else status | DENT
    return Cores(lower, lower - margin, upper, way.x, way.y, way.n, iterations, status)


@kernel
def _polished(pair, found, margin, w):
    """Answer for separated cores from Newton on the strata of the simplex; an empty interval where it fails."""
    out_of_line()
    u = sub(mean_point(w, found.count, Y), mean_point(w, found.count, X))
    length = norm(u)
    n = scale(1.0 / length, u) if length > 0.0 else found.n
    count = gather(w, found.count)
    local = polish(pair, n, 1.0, w, count)
    c = difference_support(pair, local.n)
    length = norm(sub(local.y, local.x))
    iterations = found.iterations + 1
    if -c.h >= found.lower - margin:
        return Cores(length, min(-c.h - margin, length), length + margin, local.x, local.y, local.n, iterations, 0)
    return Cores(length, min(found.lower - margin, length), length + margin, local.x, local.y, found.n, iterations, 0)


@kernel
def with_facing_points(pair, answer, goal, margin, w):
    """The same answer for separated cores with points that lie along a normal that proves them, if such are found."""
    is_closed = answer.upper - answer.lower <= goal
    if not (norm(sub(answer.y, answer.x)) > goal) or (is_closed and off_normal(answer.x, answer.y, answer.n) <= goal):
        return answer
    out_of_line()
    found = facing(pair, answer.x, answer.y, answer.n, answer.lower, goal, margin, w)
    if not found.is_found:
        return answer
    length, iterations = norm(sub(found.y, found.x)), answer.iterations + 1
    return Cores(length, found.lower, length + margin, found.x, found.y, found.n, iterations, answer.status)


@kernel
def _nearest_row(w, count):
    """Nearest pair of support points of a simplex: points of the bodies, whatever lies between them."""
    best, least = 0, math.inf
    for k in range(count):
        length = norm(sub(row_point(w, k, Y), row_point(w, k, X)))
        if length < least:
            best, least = k, length
    return row_point(w, best, X), row_point(w, best, Y), least


@kernel
def axial_slack(b, rotation, centre):
    """How far any point of B is from where it would be if the z axes of both bodies coincided."""
    return math.hypot(centre[0], centre[1]) + math.hypot(rotation[0, 2], rotation[1, 2]) * b[RADIUS]


@kernel
def overlapping(pair, descent, goal, margin, budget, w):
    """Answer for cores that overlap, touch, or are too near to touch for GJK to tell."""
    out_of_line()
    a, ka = pair.a.row, pair.a.kind
    b, kb = pair.b.row, pair.b.kind
    if descent.count == 4 and are_sharp(pair):
        start, is_closed = expand(pair, descent.n, w, goal, margin)
        if is_closed:
            status = ARBITRARY_NORMAL if start.rival <= start.value + goal else 0
            iterations = descent.iterations + start.spent
            lower, upper = -start.value - margin, max(-start.value, margin - start.proved)
            return Cores(-start.value, lower, upper, start.x, start.y, start.n, iterations, status)
    start = Found(math.inf, -math.inf, descent.n, descent.n, descent.n, False, 0, math.inf)
    # What the simplex of GJK knows of strata serves the first polish.
    c = difference_support(pair, descent.n)
    start = take(start, descent.n, c)
    ovoid_a, ovoid_b = ka == SUPEROVOID, kb == SUPEROVOID
    closed_a = not ovoid_a and ka != TORUS
    closed_b = not ovoid_b and kb != TORUS
    depth = -math.inf
    if ovoid_a != ovoid_b and ((ovoid_a and closed_b) or (ovoid_b and closed_a)):
        for i in range(2):
            if i == 0:
                n = descent.n
            else:
                n = _core_normal(pair, start.n)
            c = difference_support(pair, n)
            start = take(start, n, c)
            put(w, 0, c)
            w[0, WEIGHT] = 1.0
            count = gather(w, 1)
            local = polish(pair, n, 0.0, w, count)
            c = difference_support(pair, local.n)
            if c.h <= start.value:
                rival = min(start.rival, start.value) if well_away(local.n, start.n) else start.rival
                start = Found(c.h, -math.inf, local.n, c.x, c.y, True, start.spent + 4, rival)
            if ovoid_a:
                depth = max(depth, _ball_depth(pair, a, start.x, start.n, pair.b, start.y, ovoid_b))
            else:
                back = scale(-1.0, start.n)
                depth = max(depth, _ball_depth(pair, b, start.y, back, pair.a, start.x, ovoid_b))
            if start.value - depth <= goal:
                break
    ball_depth = depth
    # No search of hulls proves more of a body with a dent than that of a convex body in it.
    deficit = dent_deficit(a, ka) + dent_deficit(b, kb)
    width = 0.5 * goal + min(0.1 * deficit, _HULL_GOAL * min(a[SIZE], b[SIZE]))
    if not (start.value - depth <= goal):
        turned = revolution.is_revolved(a, ka) and revolution.is_revolved(b, kb)
        if turned and axial_slack(b, pair.rotation, pair.centre) <= _NEARLY_COAXIAL * min(a[RADIUS], b[RADIUS]):
            start = revolution.search(pair, start, width, budget, w)
            depth = max(depth, start.proved)
    if not (start.value - depth <= max(goal, width)):
        start = search(pair, start, width, budget, w)
        depth = max(depth, start.proved)
    # On a face or an edge of M the support points of one direction lie anywhere.
    end = Aligned(start.n, start.value, start.x, start.y, off_line(start.x, start.y, start.value, start.n))
    if end.off > NEAR * goal:
        end = points_along(pair, start.n, start.value, goal, w)
    n, x, y, off, distance, upper, status = end.n, end.x, end.y, end.off, -end.value, margin - depth, 0
    if not (holds_means(a, ka) and holds_means(b, kb)):
        # The hulls' depth bounds the bodies' from above; from below only what lies in the bodies does.
        c = difference_support(pair, n)
        of_support = off_line(c.x, c.y, end.value, n)
        if off > goal and of_support < off:
            x, y, off = c.x, c.y, of_support
        depth = max(ball_depth, start.proved - deficit)
        upper = margin - depth if depth > 0.0 else norm(c.m) + margin
        status = DENT if off > ALONG * goal or upper - distance + margin > goal else 0
    if start.rival <= start.value + goal:
        status |= ARBITRARY_NORMAL
    if distance > 0.0:
        upper = norm(sub(y, x)) + margin  # the points span the distance
    elif off > ALONG * goal:
        upper = max(upper, distance + off)
    lower, upper, iterations = distance - margin, max(distance, upper), descent.iterations + start.spent
    return Cores(distance, lower, upper, x, y, n, iterations, status)


@kernel
def _core_normal(pair, n):
    """Direction in which the centre of the superovoid leaves the other core first."""
    rotation, centre = pair.rotation, pair.centre
    if pair.a.kind == SUPEROVOID:
        _, normal, _, _ = point_to_core(pair.b, rotate_back(rotation, scale(-1.0, centre)))
        return scale(-1.0, rotate(rotation, normal))
    _, normal, _, _ = point_to_core(pair.a, centre)
    return normal
