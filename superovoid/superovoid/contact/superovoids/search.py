# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Global proof by branch and bound on the sphere of directions.

The signed distance of two convex bodies is minus the minimum over |n| = 1 of the support function h_M of their
Minkowski difference M = A - B. A spherical triangle with the support points of M at its corners bounds h_M on all of it
(`triangles`).

Triangles whose bound lies above the best value found are done, and so are those inside the cap on which the best
direction is a proved local minimum (`caps`). The others are split, at the normal of the plane through their support
points or along their longest edge, which costs one support point of each body. Only points of M are used for bounds,
so they hold whatever rounding does to the support points. A ball only adds its radius to h_M: it is taken off first,
and what is bounded is the rest, which a large ball would blur.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.row_heap import without_first
from superovoid.compiled.vector import combine, dot, scale
from superovoid.contact.minkowski.difference import WELL_AWAY, well_away
from superovoid.contact.superovoids.answers import depth_at_contact
from superovoid.contact.superovoids.cap_lanes import WIDEST_OF_ELLIPSOIDS
from superovoid.contact.superovoids.caps import Cap
from superovoid.contact.superovoids.direction_lanes import CHORDS, GAP, IN_THREE, LENGTH, MISSING, WIDTH
from superovoid.contact.superovoids.direction_net import (
    FINEST,
    M_COLUMN,
    N_COLUMN,
    VERTICES,
    WAITING,
    Cut,
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
    rings_in_lanes,
    row_of,
    set_row,
    step,
    triangle_of,
    turned_corners,
    vertex_of_lane,
    wait_for_fan,
    wait_for_rings,
)
from superovoid.contact.superovoids.directions import (
    CAP_COST,
    COS_WIDEST,
    LOSS,
    POINT_COST,
    TOGETHER,
    Optimum,
    anchor_beside,
    better,
    cap_about,
    minkowski_support,
    rival_cap,
    settled_core,
    sphere_radius,
    with_value,
)
from superovoid.contact.superovoids.ellipsoid_depth import cap_of_minimum, other_minimum
from superovoid.contact.superovoids.ellipsoid_pairs import are_ellipsoids
from superovoid.contact.superovoids.inner_bodies import Inner
from superovoid.contact.superovoids.inner_points import inner_difference
from superovoid.contact.superovoids.newton import observe
from superovoid.contact.superovoids.triangles import anchored_bound, chord
from superovoid.shapes.kernels.support_function import EXACT, LOOSE
from superovoid.shapes.kernels.surface import DENTED, SIZE

LEAST_COS_BESIDE = math.cos(0.3)  # as far as a point along the best direction may serve the triangles about it
_MOST_ANCHORS = 32
_MOST_RIVALS = 32
_RIVAL_REACH = 0.03  # chord of the reach of a point from which a local minimum is looked for
_DEEP = 1e-2  # of the smaller body; tips that overlap by less want triangles that follow their edges
CENTRED = 1e-3  # chord up to which the best direction counts as the first one of the fan
_IN_CAP, _NARROWEST_RING, _WIDEST_RING = 0.99, 0.01, 0.45  # share of a cap that the innermost ring takes; rad
_POLISHING = 4  # share of the budget that polishing may take
_EXTRA, _EXTRA_AT_ONCE = 8, 8  # support points spent on a level that lasts
_MARGIN = 0.2  # by which the level need not exceed the depth

# Places of `Aids.counts`.
_ANCHORS, _TRIES, _CAPS, _SPENT = range(4)


class Aids(NamedTuple):
    """What bounds h_M beside the triangles' own support points, away from the best direction."""

    anchors: NDArray[np.float64]  # points of M on facets, balls taken off
    tries: NDArray[np.float64]  # directions about which other minima were looked for, and how closely
    caps: NDArray[np.float64]  # about other minima: directions, cosines of angles, floors, h_M at the minima
    counts: NDArray[np.int64]  # of these, and what they have cost in support points


@kernel(_nrt=True, forceinline=True)
def new_aids():
    """Memory for aids, without any."""
    return Aids(
        np.empty((_MOST_ANCHORS, 3)),
        np.empty((_MOST_RIVALS, 4)),
        np.empty((_MOST_RIVALS + 1, 6)),
        np.zeros(4, np.int64),
    )


class Near(NamedTuple):
    """What bounds h_M near the best direction. Made when a triangle near it asks, for the value that stands beside."""

    cap: Cap
    cap_value: float
    point: tuple  # of M, balls taken off
    point_value: float


class Proof(NamedTuple):
    """What has been proved of the triangles that are done."""

    proved: float  # lower bound of h_M over all of them
    level: float  # and over those outside the cap about the best direction
    rival: float  # smallest h_M met well away from it, but for the directions of vertices


class Sample(NamedTuple):
    """A direction that splits a triangle."""

    n: tuple
    reach: float  # chord to the farthest corner of the triangle that it splits


@step
def _lowered(proof, proved, level, rival):
    """The same proof with these in it too; infinite stands for nothing new."""
    return Proof(min(proof.proved, proved), min(proof.level, level), min(proof.rival, rival))


# --- bounds by other means -----------------------------------------------------------------------------------------


@step
def _with_cap(pair, best, near, aids):
    """The cap about the best direction, made anew where that has become another."""
    if near.cap_value == best.value:
        return near
    aids.counts[_SPENT] += CAP_COST
    return Near(cap_about(pair, best), best.value, near.point, near.point_value)


@step
def _with_point(problem, best, near, aids):
    """The point of M along the best direction, made anew where that has become another."""
    if near.point_value == best.value:
        return near
    aids.counts[_SPENT] += POINT_COST
    return Near(near.cap, near.cap_value, settled_core(problem.pair, best.n, problem.goal), best.value)


@step
def _in_rival_cap(aids, triangle):
    """Floor of the first cap about another minimum that holds a triangle; -inf where none does."""
    for i in range(aids.counts[_CAPS]):
        n = row_of(aids.caps, i, N_COLUMN)
        if min(dot(n, triangle.n1), dot(n, triangle.n2), dot(n, triangle.n3)) >= aids.caps[i, 3]:
            return aids.caps[i, 4]
    return -math.inf


@step
def _bound_by_aids(problem, best, triangle, bound, near, aids):
    """Whether what is known beside the support points of a triangle bounds h_M over it as high as is wanted.

    Returns that, the bound, whether the triangle may lie outside the cap about the best direction, and `near` renewed.
    """
    wanted = best.value - problem.goal
    least_cos = min(dot(best.n, triangle.n1), dot(best.n, triangle.n2), dot(best.n, triangle.n3))
    if least_cos > COS_WIDEST:
        near = _with_cap(problem.pair, best, near, aids)
    if near.cap.angle > 0.0 and least_cos >= math.cos(near.cap.angle):
        return True, near.cap.floor, False, near
    floor = _in_rival_cap(aids, triangle)
    if floor >= wanted or bound >= wanted:
        return floor >= wanted, floor, True, near
    lifted = bound
    if (near.cap.angle == 0.0 or near.point_value == best.value) and least_cos > LEAST_COS_BESIDE:
        near = _with_point(problem, best, near, aids)
        lifted = problem.radius + anchored_bound(triangle, near.point)
    for i in range(aids.counts[_ANCHORS]):
        if lifted < wanted:
            lifted = max(lifted, problem.radius + anchored_bound(triangle, row_of(aids.anchors, i, N_COLUMN)))
    return lifted >= wanted, lifted, True, near


# --- other minima --------------------------------------------------------------------------------------------------


@step
def _is_tried(aids, n, reach):
    """Whether a local minimum has been looked for near a direction, not much less closely."""
    for i in range(aids.counts[_TRIES]):
        if chord(row_of(aids.tries, i, N_COLUMN), n) < 4.0 * aids.tries[i, 3] and reach > 0.1 * aids.tries[i, 3]:
            return True
    return False


@step
def _keep_cap(aids, n, cap, depth):
    """Keep a cap about another minimum than the best direction, narrower than a hemisphere, and h_M there."""
    capped = aids.counts[_CAPS]
    set_row(aids.caps, capped, N_COLUMN, n)
    aids.caps[capped, 3] = math.cos(min(cap.angle, WIDEST_OF_ELLIPSOIDS))
    aids.caps[capped, 4] = cap.floor
    aids.caps[capped, 5] = depth
    aids.counts[_CAPS] += 1


@step
def _look_for_rival(problem, best, sample, aids):
    """Prove a cap about another minimum about as low as the best, next to a direction.

    Without it, triangles would have to be refined all the way down to it. Returns its h_M; infinite without a cap.
    """
    n, reach = sample.n, sample.reach
    elsewhere = reach < _RIVAL_REACH and chord(n, best.n) > max(WELL_AWAY, 4.0 * reach)
    tried = aids.counts[_TRIES]
    if not (elsewhere and tried < _MOST_RIVALS and not _is_tried(aids, n, reach)):
        return math.inf
    set_row(aids.tries, tried, N_COLUMN, n)
    aids.tries[tried, 3] = reach
    aids.counts[_TRIES] += 1
    aids.counts[_SPENT] += 2 * CAP_COST
    _, fa, fb = minkowski_support(problem.pair, n, LOOSE)
    cap, n, depth = rival_cap(problem.pair, n, reach, fa, fb, problem.tolerance)
    apart = well_away(n, best.n)
    if not (apart and cap.angle > 0.0 and cap.floor >= best.value - problem.goal):
        return math.inf
    _keep_cap(aids, n, cap, depth)
    return depth


@kernel
def _keep_other_minimum(problem, best, aids):
    """Keep the cap about another minimum of the depth of two ellipsoids."""
    out_of_line()
    n, depth = other_minimum(problem.pair, best.n)
    if best.value > 0.0 and depth >= best.value - problem.goal and well_away(n, best.n):
        # Half of what this one is deeper is left for motions of the bodies.
        cap = cap_of_minimum(problem.pair, n, depth, 0.5 * (best.value + depth))
        if cap.angle > 0.0:
            _keep_cap(aids, n, cap, depth)


@step
def _look_for_facet(problem, best, sample, bound, aids):
    """Keep a point of M on a facet that is in the way of a direction, and the best direction for it.

    The support points of directions about that of a facet lie at its ends, none along the direction. Returns whether
    there is one.
    """
    found = aids.counts[_ANCHORS]
    if not (sample.reach < TOGETHER and found < _MOST_ANCHORS and bound < best.value - problem.goal):
        return False
    aids.counts[_SPENT] += POINT_COST
    _, fa, fb = minkowski_support(problem.pair, sample.n, LOOSE)
    anchor = anchor_beside(problem.pair, sample.n, fa, fb, problem.goal, problem.tolerance)
    set_row(aids.anchors, found, N_COLUMN, anchor)
    aids.counts[_ANCHORS] += 1
    return True


# --- the search ----------------------------------------------------------------------------------------------------


@step
def _spent(best, net, aids):
    """Support points computed, and what else was done in units of them."""
    return best.spent + net.counts[VERTICES] + aids.counts[_SPENT]


@step
def _look_closer(problem, best, net, vertex):
    """Give a vertex, whose point of M lies below the best value, the support point; and the best direction then known.

    Otherwise that corner would keep every triangle about it open. Of inner bodies the best value is that to be proved,
    and becomes another one only if it is refuted.
    """
    n = row_of(net.vertices, vertex, N_COLUMN)
    if problem.inside:
        m, fa, fb = inner_difference(problem.pair, problem.inner_a, problem.inner_b, n)
        put_support_point(net, vertex, combine(1.0, m, -problem.radius, n), fa, fb)
        return with_value(best, dot(n, m), best.spent) if dot(n, m) < problem.refuted else best
    m, fa, fb = minkowski_support(problem.pair, n, LOOSE)
    core = combine(1.0, m, -problem.radius, n)
    if dot(n, core) > dot(n, row_of(net.vertices, vertex, M_COLUMN)):
        put_support_point(net, vertex, core, fa, fb)
    return better(problem.pair, best, n, m, fa, fb, problem.goal, problem.tolerance, problem.polishing)


@step
def _as_good(problem, best):
    """Depth up to which a direction is as good as the best: the goal is half of the tolerance."""
    return best.value + 2.0 * problem.goal


@step
def _enough(problem, best):
    """Bound from which on a triangle is of no interest, whatever happens."""
    if problem.inside or not best.value > 0.0:
        return best.value
    return max((1.0 + _MARGIN) * best.value, _as_good(problem, best))


@step
def _value_at(problem, net, vertex):
    """What the point of M of a vertex reaches along its direction."""
    return problem.radius + dot(row_of(net.vertices, vertex, N_COLUMN), row_of(net.vertices, vertex, M_COLUMN))


@kernel
def _lowest(problem, net, first):
    """The vertex, from one on, that lies the least far along its direction, and how far that is."""
    lowest, least = first, math.inf
    for vertex in range(first, net.counts[VERTICES]):
        value = _value_at(problem, net, vertex)
        if value < least:
            lowest, least = vertex, value
    return lowest, least


@kernel
def innermost_ring(cap_angle):
    """Angle of a ring about the fan's first direction that lies in the cap about the best one, `CENTRED` beside."""
    return min(_IN_CAP * cap_angle - CENTRED, _WIDEST_RING)


@kernel
def cover(problem, best, near, net, aids, lanes):
    """Cover the sphere by triangles: those of a fan of directions about the best one, and of rings about its cap.

    Between the cap and the fan h_M grows as the square of the angle, and so may the triangles: rings save the steps in
    which triangles of the fan would be split down to that, of deep overlaps. Returns the best direction then known,
    what is known near it, and what is proved: of the cap, and of triangles that need not wait.
    """
    out_of_line()
    n, value = best.n, best.value
    fan_in_lanes(problem, n, value, net, lanes)
    if problem.inside:
        set_row(net.vertices, 0, M_COLUMN, near.point)  # along their normal no point of inner bodies is farther
    lowest, _ = _lowest(problem, net, 0)
    for k in range(-1, WIDTH):
        vertex = lowest if k < 0 else k
        if _value_at(problem, net, vertex) < best.value:
            best = _look_closer(problem, best, net, vertex)
    inner = 0.0
    is_deep = problem.inside or best.value > _DEEP * min(problem.pair.a[SIZE], problem.pair.b[SIZE])
    if is_deep and chord(best.n, n) < CENTRED:
        near = _with_cap(problem.pair, best, near, aids)
        inner = innermost_ring(near.cap.angle)
    if are_ellipsoids(problem.pair):
        _keep_other_minimum(problem, best, aids)
    if _NARROWEST_RING <= inner < _WIDEST_RING:
        first, rings = rings_in_lanes(problem, n, value, inner, net, lanes)
        if problem.inside:
            for vertex in range(first, net.counts[VERTICES]):
                if _value_at(problem, net, vertex) < best.value:
                    best = _look_closer(problem, best, net, vertex)
        # Where a ring comes upon something lower, this is not the minimum: the search looks for that by itself.
        if _lowest(problem, net, first)[1] >= best.value:
            least = wait_for_rings(net, first, rings, lanes, problem.radius, _enough(problem, best))
            return best, near, Proof(min(least, near.cap.floor), least, math.inf)
    least = wait_for_fan(net, lanes, problem.radius, _enough(problem, best))
    return best, near, Proof(least, least, math.inf)


@kernel
def _rival_of_vertices(problem, best, net, aids, rival):
    """Smallest h_M met well away from the best direction, as far as it matters whether that is as good.

    Asked for the best direction of now: what was well away from a former one may be beside it.
    """
    out_of_line()
    as_good = _as_good(problem, best)
    for i in range(aids.counts[_CAPS]):
        if well_away(row_of(aids.caps, i, N_COLUMN), best.n):
            rival = min(rival, aids.caps[i, 5])
    for vertex in range(net.counts[VERTICES]):
        n = row_of(net.vertices, vertex, N_COLUMN)
        if _value_at(problem, net, vertex) < min(rival, as_good) and well_away(n, best.n):
            m, _, _ = minkowski_support(problem.pair, n, EXACT)  # that point of M may lack something
            rival = min(rival, dot(n, m))
    return rival


@kernel
def refine_all(problem, best, near, proof, net, aids, lanes, taken, budget, lasts):
    """Split triangles, those of least bound first, until what is proved is enough, or refuted, or the budget is spent.

    Takes and returns the best direction known, what is known near it, and what is proved.
    """
    out_of_line()
    pair, radius, nothing, nowhere = problem.pair, problem.radius, math.inf, Cap(0.0, 0.0)
    convex = pair.a[DENTED] + pair.b[DENTED] == 0.0
    limit, enough = budget, nothing
    closed = False
    while best.value >= problem.refuted:
        least_taken = nothing
        count, most = 0, _EXTRA_AT_ONCE if closed else WIDTH
        while count < most and net.counts[WAITING] > 0:
            cell = net.heap[0]
            bound = net.key[cell]
            is_proved = bound >= (enough if closed else best.value - problem.goal)
            is_last = _spent(best, net, aids) + count >= limit
            if count > 0 and (is_proved or is_last):
                break  # what is taken comes first
            if not closed and is_proved:
                # Proved. A few more triangles raise the bound outside the cap, so that the proof lasts.
                closed, most = True, _EXTRA_AT_ONCE
                proof = _lowered(proof, bound, nothing, nothing)
                near = _with_cap(pair, best, near, aids) if lasts else near
                extra, enough = (
                    (_EXTRA, (1.0 + _MARGIN) * best.value) if lasts and near.cap.angle > 0.0 else (0, -nothing)
                )
                limit = min(budget, _spent(best, net, aids) + extra) if extra > 0 else 0
                is_last = _spent(best, net, aids) >= limit
                is_proved = bound >= enough
            if is_last or is_proved:
                # All others that wait have bounds as high.
                proof = _lowered(proof, bound, bound, nothing)
                net.counts[WAITING] = 0
                break
            net.counts[WAITING] = without_first(net.heap, net.key, net.counts[WAITING])
            triangle = triangle_of(net.vertices, corners_of(net.cells, cell))
            done, floor, outside, near = _bound_by_aids(problem, best, triangle, bound, near, aids)
            if done:
                proof = _lowered(proof, floor, floor if outside else nothing, nothing)
                continue
            taken[count] = cell
            least_taken = min(least_taken, bound)
            count += 1
        if count == 0:
            break
        look_in_lanes(problem, net, taken, count, lanes)
        facet = other_facet = (0.0, 0.0, 0.0)
        lowest = lowest_lane(lanes, count)
        for k in range(count):
            # The lowest comes first: what it improves the others need not.
            i = lowest if k == 0 else (0 if k == lowest else k)
            cell = taken[i]
            bound = net.key[cell]
            chords = in_lane(lanes, CHORDS + i)
            if min(chords[0], chords[1]) < FINEST:
                # The corners have run together: no finer direction exists in this arithmetic.
                proof = _lowered(proof, bound, bound, nothing)
                continue
            vertex = vertex_of_lane(net, lanes, i)
            sample = Sample(row_of(net.vertices, vertex, N_COLUMN), max(chords[0], chords[1], chords[2]))
            reached = _value_at(problem, net, vertex)
            is_near = problem.inside or lanes[MISSING + i] <= LOSS * lanes[GAP + i]
            replaced = not (is_near and reached >= best.value)
            if replaced:
                former = best
                aids.counts[_SPENT] += 1 if convex else 0  # of dents the cost of a support point is high enough
                best = _look_closer(problem, best, net, vertex)
                if best.value < problem.refuted:
                    proof = _lowered(proof, least_taken, least_taken, nothing)
                    break
                if best.value < former.value:
                    # What was put aside inside the former cap lies outside the new one, above the former value.
                    moved = well_away(former.n, best.n)
                    proof = Proof(proof.proved, min(proof.level, former.value), former.value if moved else proof.rival)
                    near = Near(nowhere, near.cap_value, near.point, near.point_value)
                    closed = False
                    limit = budget
            if sample.reach < _RIVAL_REACH and not problem.inside:
                proof = _lowered(proof, nothing, nothing, _look_for_rival(problem, best, sample, aids))
                if well_away(sample.n, facet) and well_away(sample.n, other_facet):
                    if _look_for_facet(problem, best, sample, bound, aids):
                        facet, other_facet = sample.n, facet  # serves all triangles about it
            if replaced:
                # At the edge that was cut in the lanes: rounding could choose another one here.
                corners = turned_corners(net, cell, lanes, i)
                cut = Cut(corners, sample.n, chords, lanes[GAP + i], lanes[IN_THREE + i] != 0.0)
                divide(net, cell, vertex, cut, bound, radius)
            else:
                least = divide_lane(net, cell, vertex, lanes, i, radius, _enough(problem, best))
                proof = _lowered(proof, least, least, nothing)
    if net.counts[WAITING] > 0:
        bound = net.key[net.heap[0]]
        proof = _lowered(proof, bound, bound, nothing)
    return best, near, proof


@kernel(_nrt=True)
def search(pair, best, goal, tolerance, budget, lasts):
    """Find the global minimum of h_M and prove it, those of least bound first, as many at once as there are lanes.

    Parameters
    ----------
    best : Optimum
        The best direction known; the first directions are turned to it.
    goal : float
        Width of the bracket [proved, value] to reach, m.
    tolerance : float
        Residual at which Newton has converged.
    budget : int
        Support points that may be spent; what else is done counts as some (`directions`).
    lasts : bool
        Whether to spend a few more, on a level outside the cap that outlives small motions.

    Returns
    -------
    Optimum
        With `proved` a bound that holds whether or not the goal was reached.
    """
    out_of_line()
    nothing = math.inf
    all_of_it = Inner(-1.0, 1.0, np.empty((2, 1, 1)))
    radius = sphere_radius(pair.a) + sphere_radius(pair.b)
    problem = Problem(pair, radius, goal, tolerance, budget // _POLISHING, False, all_of_it, all_of_it, -nothing)
    net = new_net(budget + 5 * WIDTH)
    lanes, taken = np.zeros(LENGTH), np.empty(WIDTH, np.int64)
    aids = new_aids()
    given = best.value
    best, near, proof = cover(problem, best, Near(Cap(0.0, 0.0), nothing, best.n, nothing), net, aids, lanes)
    if best.converged and best.value < given:
        # A contact that Newton's method had not found before: it may be proved without more.
        k = observe(pair, best.fa, best.fb, min(pair.a[SIZE], pair.b[SIZE]))
        depth = depth_at_contact(pair, best.fa, best.fb, k, best.value, 2.0 * goal)
        if depth >= best.value - goal:
            spent = _spent(best, net, aids)
            fa, fb, steps, none = best.fa, best.fb, best.iterations, Cap(0.0, 0.0)
            return Optimum(
                best.value, min(depth, best.value), best.n, fa, fb, True, spent, steps, none, -nothing, nothing
            )
    best, near, proof = refine_all(problem, best, near, proof, net, aids, lanes, taken, budget, lasts)
    rival = _rival_of_vertices(problem, best, net, aids, proof.rival)
    if rival > _as_good(problem, best):
        # Bodies that are symmetric about one point are as deep in each other the other way round.
        opposite, _, _ = minkowski_support(pair, scale(-1.0, best.n), EXACT)
        rival = min(rival, -dot(best.n, opposite))
    proved, spent = min(proof.proved, best.value), _spent(best, net, aids)
    value, _, n, fa, fb, converged, _, iterations, _, _, _ = best
    return Optimum(value, proved, n, fa, fb, converged, spent, iterations, near.cap, proof.level, rival)
