# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Global proof by branch and bound on the sphere of directions, in SIMD lanes.

The signed distance of two convex bodies is minus the minimum of h_M over |n| = 1. Triangles of directions bound it
(`triangles`); those whose bound lies above the best value are done, and so are those in the cap on which the best
direction is a proved local minimum (`caps`). The others are split (docs/explanation/search.md). Only points of M are
used for bounds, so they hold whatever rounding does to the support points. The radius of a ball is subtracted first.

If both bodies are bodies of revolution about nearly the same axis, h_M may be almost the same along a circle of
directions. Open directions are then searched about the axis (`revolution`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.kernels import kernel
from superovoid.compiled.row_heap import without_first
from superovoid.compiled.vector import add, combine, dot, put_vector_in, rotate, scale, sub, vector_in
from superovoid.contact.minkowski import revolution
from superovoid.contact.minkowski.difference import (
    ALMOST,
    BUNDLE,
    FINEST,
    LOSS,
    SIMPLEX,
    SearchResult,
    are_well_apart,
    new_workspace,
    polish,
)
from superovoid.contact.superovoids.answers import COLD_ITERATIONS
from superovoid.contact.superovoids.caps import WIDEST, Cap, largest_cap
from superovoid.contact.superovoids.certificate import lower_bound
from superovoid.contact.superovoids.direction_lanes import AT, LENGTH, NEAREST, WIDTH
from superovoid.contact.superovoids.direction_net import (
    COUNTS,
    VERTEX,
    Problem,
    corners_of,
    divide,
    divide_lane,
    fan_in_lanes,
    in_lane,
    look_in_lanes,
    lowest_lane,
    new_net,
    put_support_point,
    triangle_of,
    vertex_of_lane,
    wait_for_fan,
)
from superovoid.contact.superovoids.directions import minkowski_support, proved_support
from superovoid.contact.superovoids.inner_bodies import InnerShare, inner_difference
from superovoid.contact.superovoids.nearest_pieces import cores_of
from superovoid.contact.superovoids.newton import observe, solve
from superovoid.shapes.kernels.kinds import is_sphere
from superovoid.shapes.kernels.support_function import EXACT, LOOSE
from superovoid.shapes.kernels.surface import A1, SIZE, SurfacePoint, position

_DEEP = 1e-2  # of the smaller body; tips that overlap by less need triangles that follow their edges
_IN_CAP, _NARROWEST = 0.8, 0.05  # share of a cap that the nearest directions of a fan take; rad
_ATTEMPTS = 3  # to polish a direction
_TRIANGLES = 2  # share of the budget after which bodies of revolution are searched about their axis
_PROOF_COST, _DESCENT_COST, _CAP_COST = 4, 12, 16  # in support points, at most
_COS_WIDEST = math.cos(WIDEST)  # a triangle that reaches farther from the best direction needs no cap


class Minimum(NamedTuple):
    """The best direction that a search has found."""

    value: float  # h_M along it, the smallest found
    n: tuple
    fa: SurfacePoint
    fb: SurfacePoint
    converged: bool  # fa and fb satisfy the common-normal equations
    cap: Cap  # about n, on which n is a proved local minimum; `UNKNOWN_CAP` before it is computed


UNKNOWN_CAP = Cap(-1.0, 0.0)


class Optimum(NamedTuple):
    """Result of a search, with its proof."""

    value: float  # smallest h_M found
    n: tuple  # its direction
    fa: SurfacePoint
    fb: SurfacePoint
    converged: bool  # as of `Minimum`
    proved: float  # lower bound of h_M over the whole sphere
    rival: float  # smallest h_M met in a direction well away from n
    iterations: int  # Newton iterations of the polishing runs


@kernel
def ball_radius(pair):
    """Return the radius of the balls to take off: the sum of the radii of the bodies that are spheres."""
    radius = pair.a[A1] if is_sphere(pair.a) else 0.0
    return radius + pair.b[A1] if is_sphere(pair.b) else radius


@kernel
def _with_cap(pair, best, net):
    """Return the minimum with the cap about it; compute the cap on first use."""
    if best.cap.angle >= 0.0:
        return best
    net.counts[COUNTS.spent] += _CAP_COST
    cap = largest_cap(pair, best.fa, best.fb) if best.converged else Cap(0.0, 0.0)
    return Minimum(best.value, best.n, best.fa, best.fb, best.converged, cap)


@kernel
def _spent_effort(net):
    """Return the number of computed support points, with other work in units of them."""
    return net.counts[COUNTS.spent] + net.counts[COUNTS.vertices]


@kernel
def _descend(problem, n):
    """Newton's method on h_M over the sphere, from a direction (`difference.polish`).

    Returns the last direction, its surface points, and whether the part of M's point across it is below the tolerance.
    """
    pair, w = problem.pair, problem.workspace
    w[BUNDLE, SIMPLEX.stratum_a] = w[BUNDLE, SIMPLEX.stratum_b] = 0.0
    w[BUNDLE, SIMPLEX.weight] = 1.0
    local = polish(cores_of(pair), n, 0.0, w, 1)
    _, fa, fb = minkowski_support(pair, local.n, EXACT)
    return local.n, fa, fb, local.gap < problem.tolerance * min(pair.a[SIZE], pair.b[SIZE])


@kernel
def _better_minimum(problem, best, n, m, fa, fb, counts):
    """Return the better of a minimum and a direction with its support points, polished if Newton makes it no worse.

    The cost is added to `counts`, those of the net (`direction_net`).
    """
    pair = problem.pair
    if dot(n, m) >= best.value - problem.goal:
        return best
    value = proved_support(pair, n)
    counts[COUNTS.spent] += _PROOF_COST
    if value >= best.value - problem.goal:
        return best
    converged = False
    for attempt in range(_ATTEMPTS):
        if converged:
            break
        # Newton on surface points is quick; if it circles or climbs, Newton on h_M leads to where it may converge.
        if attempt % 2 == 0:
            ok, used, ga, gb, k = solve(pair, fa, fb, problem.tolerance, COLD_ITERATIONS)
            counts[COUNTS.iterations] += 0 if ok else used
            counts[COUNTS.spent] += (used + 3) // 4
        else:
            lower, ga, gb, ok = _descend(problem, n)
            counts[COUNTS.spent] += _DESCENT_COST
            k = observe(pair, ga, gb, min(pair.a[SIZE], pair.b[SIZE]))
            if not ok:
                least = proved_support(pair, lower)
                if not least < value:
                    break
                value, n, fa, fb = least, lower, ga, gb
        if ok:
            bound, direction = lower_bound(pair, ga, gb, k)
            if -bound <= value and k.residual < problem.tolerance:
                value, n, fa, fb, converged = -bound, direction, ga, gb, True
    return Minimum(value, n, fa, fb, converged, UNKNOWN_CAP)


@kernel
def _look_closer(problem, best, net, vertex):
    """Give a vertex, whose point of M lies below the best value, the support point; and the best direction then known.

    Otherwise that corner would keep every triangle about it open. Of inner bodies the best value is that to be proved,
    and becomes another one only if it is refuted.
    """
    n = vector_in(net.vertices, vertex, VERTEX.n)
    net.counts[COUNTS.spent] += 1
    if problem.inside:
        m, fa, fb = inner_difference(problem.pair, problem.inner_a, problem.inner_b, n)
        put_support_point(net, vertex, combine(1.0, m, -problem.radius, n), fa, fb)
        if dot(n, m) >= problem.refuted:
            return best
        return Minimum(dot(n, m), best.n, best.fa, best.fb, best.converged, best.cap)
    m, fa, fb = minkowski_support(problem.pair, n, LOOSE)
    core = combine(1.0, m, -problem.radius, n)
    if dot(n, core) > dot(n, vector_in(net.vertices, vertex, VERTEX.m)):
        put_support_point(net, vertex, core, fa, fb)
    return _better_minimum(problem, best, n, m, fa, fb, net.counts)


@kernel
def _value_at(problem, net, vertex):
    """Return the height of the point of M of a vertex along its direction."""
    return problem.radius + dot(vector_in(net.vertices, vertex, VERTEX.n), vector_in(net.vertices, vertex, VERTEX.m))


@kernel
def _lowest_vertex(problem, net):
    """Return the vertex with the least height along its direction."""
    lowest, least = 0, math.inf
    for vertex in range(net.counts[COUNTS.vertices]):
        value = _value_at(problem, net, vertex)
        if value < least:
            lowest, least = vertex, value
    return lowest


@kernel
def cover(problem, best, net, lanes):
    """Cover the sphere by the triangles of a fan of directions about the best one.

    Beyond the cap about a deep minimum h_M grows as the square of the angle, and so may the triangles: the fan is drawn
    together until its nearest directions are in the cap. Returns the best direction then known, and a lower bound of
    h_M over the triangles that need not wait.
    """
    pair, n, value = problem.pair, best.n, best.value
    nearest = NEAREST
    if best.converged and best.value > _DEEP * min(pair.a[SIZE], pair.b[SIZE]):
        best = _with_cap(pair, best, net)
        if best.cap.angle > 0.0:
            nearest = min(max(_IN_CAP * best.cap.angle, _NARROWEST), NEAREST)
    fan_in_lanes(problem, n, value, math.tan(0.5 * nearest) / math.tan(0.5 * NEAREST), net, lanes)
    if problem.inside:
        # Along their normal no point of inner bodies is farther than the contact.
        y = add(pair.centre, rotate(pair.rotation, position(pair.b, best.fb)))
        contact = sub(position(pair.a, best.fa), y)
        put_vector_in(net.vertices, 0, VERTEX.m, combine(1.0, contact, -problem.radius, n))
    lowest = _lowest_vertex(problem, net)
    for k in range(-1, WIDTH):
        vertex = lowest if k < 0 else k
        if _value_at(problem, net, vertex) < best.value:
            best = _look_closer(problem, best, net, vertex)
    return best, wait_for_fan(net, lanes, problem.radius, best.value)


@kernel
def refine_all(problem, best, proved, net, lanes, budget):
    """Split triangles, least bound first, until the bound or the best value is enough, or the budget is spent.

    Takes and returns the best direction known, and a lower bound of h_M over the finished part of the sphere: at the
    end, all of it.
    """
    pair, radius, taken = problem.pair, problem.radius, net.taken
    while best.value >= problem.refuted:
        least_taken, count = math.inf, 0
        while count < WIDTH and net.counts[COUNTS.waiting] > 0:
            cell = net.heap[0]
            bound = net.key[cell]
            if bound >= min(best.value - problem.goal, problem.enough) or _spent_effort(net) + count >= budget:
                break  # all others that wait have bounds as high
            net.counts[COUNTS.waiting] = without_first(net.heap, net.key, net.counts[COUNTS.waiting])
            triangle = triangle_of(net.vertices, corners_of(net.cells, cell))
            least_cos = min(dot(best.n, triangle.n1), dot(best.n, triangle.n2), dot(best.n, triangle.n3))
            if least_cos > _COS_WIDEST:
                best = _with_cap(pair, best, net)
            if best.cap.angle > 0.0 and least_cos >= math.cos(best.cap.angle):
                proved = min(proved, best.cap.floor)
                continue
            taken[count] = cell
            least_taken = min(least_taken, bound)
            count += 1
        if count == 0:
            break
        look_in_lanes(problem, net, taken, count, lanes)
        lowest = lowest_lane(lanes, count)
        for k in range(count):
            # The lowest comes first: after it improves the best value, the others need not.
            i = lowest if k == 0 else (0 if k == lowest else k)
            cell = taken[i]
            bound = net.key[cell]
            chords = in_lane(lanes, AT.chords + i)
            if min(chords[0], chords[1]) < FINEST:
                # The corners have run together: no finer direction exists in this arithmetic.
                proved = min(proved, bound)
                continue
            vertex = vertex_of_lane(net, lanes, i)
            is_near = problem.inside or lanes[AT.missing + i] <= LOSS * lanes[AT.gap + i]
            if is_near and _value_at(problem, net, vertex) >= best.value:
                proved = min(proved, divide_lane(net, cell, vertex, lanes, i, radius, best.value))
                continue
            best = _look_closer(problem, best, net, vertex)
            if best.value < problem.refuted:
                proved = min(proved, least_taken)
                break
            # Use the edge cut in the lanes: rounding could choose another one here.
            divide(net, cell, vertex, lanes[AT.turns + i], lanes[AT.in_three + i] != 0.0, bound, radius)
    if net.counts[COUNTS.waiting] > 0:
        proved = min(proved, net.key[net.heap[0]])
    return best, proved


@kernel
def _rival(problem, best, net):
    """Smallest h_M known well away from the best direction.

    Bodies that are symmetric about one point are as deep in each other the other way round. Elsewhere the lowest vertex
    that the search has met is polished if it is almost as low as the best direction.
    """
    pair = problem.pair
    opposite, _, _ = minkowski_support(pair, scale(-1.0, best.n), EXACT)
    rival, lowest, least = -dot(best.n, opposite), -1, (1.0 + ALMOST) * best.value
    for vertex in range(net.counts[COUNTS.vertices]):
        value = _value_at(problem, net, vertex)
        if value < least and are_well_apart(vector_in(net.vertices, vertex, VERTEX.n), best.n):
            lowest, least = vertex, value
    if lowest < 0 or rival <= best.value + problem.goal:
        return rival
    n = vector_in(net.vertices, lowest, VERTEX.n)
    m, fa, fb = minkowski_support(pair, n, EXACT)
    found = _better_minimum(problem, Minimum(math.inf, n, fa, fb, False, UNKNOWN_CAP), n, m, fa, fb, net.counts)
    return min(rival, found.value) if are_well_apart(found.n, best.n) else rival


@kernel(_nrt=True)
def _about_axis(problem, best, known, net, budget):
    """Search as `search` does, for two bodies of revolution about nearly the same axis.

    `known` is a lower bound of h_M.
    """
    pair, n = problem.pair, best.n
    start = SearchResult(best.value, -math.inf, n, n, n, False, 0, math.inf)
    goal = 0.5 * problem.goal  # the gap may be as large between its best direction and that of Newton's method
    _, proved, n, _, _, _, spent, rival = revolution.search(cores_of(pair), start, goal, budget, new_workspace())
    m, fa, fb = minkowski_support(pair, n, EXACT)
    value, n, fa, fb, converged, _ = _better_minimum(problem, best, n, m, fa, fb, net.counts)
    return Optimum(
        value, n, fa, fb, converged, min(max(proved, known), value), rival, spent + net.counts[COUNTS.iterations]
    )


@kernel(_nrt=True)
def search(pair, best, goal, tolerance, refuted, enough, budget):
    """Find the global minimum of h_M and prove it: triangles of least bound first, as many at once as there are lanes.

    Parameters
    ----------
    best : Minimum
        The best direction known; the first directions are turned to it.
    goal : float
        Width of the bracket [proved, value] to reach, m.
    tolerance : float
        Residual at which Newton has converged.
    refuted, enough : float
        The search ends once h_M is below `refuted` along a direction, or proved to be at least `enough` along all.
    budget : int
        Largest number of support points, with other work counted in units of them (`directions`).

    Returns
    -------
    Optimum
        With `proved` a bound that holds whether or not the goal was reached.
    """
    all_of_it = InnerShare(-1.0, 1.0, np.empty((2, 1, 1)))
    problem = Problem(
        pair,
        ball_radius(pair),
        goal,
        tolerance,
        False,
        all_of_it,
        all_of_it,
        refuted,
        enough,
        new_workspace(),
    )
    is_revolved = revolution.is_for(cores_of(pair))
    most = budget // _TRIANGLES if is_revolved else budget
    net, lanes = new_net(most + 2 * WIDTH), np.zeros(LENGTH)
    best, proved = cover(problem, best, net, lanes)
    best, proved = refine_all(problem, best, proved, net, lanes, most)
    is_open = best.value - proved > goal and best.value >= refuted and proved < enough
    if is_revolved and is_open:
        return _about_axis(problem, best, proved, net, max(0, budget - _spent_effort(net)))
    rival, iterations = _rival(problem, best, net), net.counts[COUNTS.iterations]
    return Optimum(best.value, best.n, best.fa, best.fb, best.converged, min(proved, best.value), rival, iterations)
