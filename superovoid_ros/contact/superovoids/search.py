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

from superovoid_ros.compiled.jit import kernel, out_of_line
from superovoid_ros.compiled.row_heap import lift, without_first
from superovoid_ros.compiled.vector import combine, dot, norm, scale, tangent_frame
from superovoid_ros.contact.pair import Pair
from superovoid_ros.contact.superovoids.caps import Cap
from superovoid_ros.contact.superovoids.directions import (
    CAP_COST,
    COS_WIDEST,
    POINT_COST,
    TOGETHER,
    Optimum,
    anchor_beside,
    better,
    cap_about,
    minkowski_support,
    minkowski_support_near,
    rival_cap,
    settled_core,
    sphere_radius,
)
from superovoid_ros.contact.superovoids.triangles import (
    Triangle,
    anchored_bound,
    chord,
    edge_direction,
    edge_gap,
    facet_direction,
    triangle_bound,
)
from superovoid_ros.shapes.kernels.support_function import EXACT, LOOSE
from superovoid_ros.shapes.kernels.surface import DENTED, SurfacePoint

LEAST_COS_BESIDE = math.cos(0.3)  # as far as a point along the best direction may serve the triangles about it
_LARGE = 1.0  # chord of the longest edge of a large triangle
_SHORT = 0.03  # shortest edge that is split, relative to the longest
_WELL_AWAY = 0.05  # chord at which a direction is another one, not the same refined
FINEST = 1e-15  # shortest edge
_MOST_ANCHORS = 32
_MOST_RIVALS = 32
_RIVAL_REACH = 0.03  # chord of the reach of a point from which a local minimum is looked for
_POLISHING = 4  # share of the budget that polishing may take
_EXTRA = 12  # support points spent on a level that lasts
_MARGIN = 0.2  # by which the level need not exceed the depth

# Columns of a vertex: direction, support point of M with balls taken off, height and radius of the surface points of
# A and B. numpy integers: numba would compile once more for every literal.
_N, _M, _GUESS = np.int64(0), np.int64(3), np.int64(6)
VERTEX = 10

# Places of `Net.counts`, then of `Aids.counts`.
WAITING, CELLS, VERTICES = range(3)
_ANCHORS, _TRIES, _CAPS, _SPENT = range(4)


class Problem(NamedTuple):
    """What a search is about."""

    pair: Pair
    radius: float  # of the balls that are taken off
    goal: float  # width of the bracket of the depth to reach, m
    tolerance: float  # residual at which Newton has converged
    polishing: int  # support points that may be spent on polishing directions


class Net(NamedTuple):
    """Triangles that cover the sphere, apart from what is done. All arrays change as the search goes on."""

    vertices: NDArray[np.float64]  # one row a direction that was looked at, so as many as support points were spent
    cells: NDArray[np.int64]  # the three vertices of each triangle
    key: NDArray[np.float64]  # lower bounds of h_M over them
    heap: NDArray[np.int64]  # those that wait, least bound on top
    counts: NDArray[np.int64]


class Aids(NamedTuple):
    """What bounds h_M beside the triangles' own support points, away from the best direction."""

    anchors: NDArray[np.float64]  # points of M on facets, balls taken off
    tries: NDArray[np.float64]  # directions about which other minima were looked for, and how closely
    caps: NDArray[np.float64]  # about other minima: directions, cosines of angles, floors
    counts: NDArray[np.int64]  # of these, and what they have cost in support points


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
    rival: float  # smallest h_M met in a direction well away from it


class Cut(NamedTuple):
    """Where to split a triangle."""

    corners: tuple  # its vertices, turned so that the edge to split runs from the first to the second
    point: tuple
    chords: tuple  # from the corners to the point
    gap: float  # how far the bound may lie below h_M
    in_three: bool  # at a direction inside, not on the edge


class Sample(NamedTuple):
    """A direction with its support point of M and its surface points."""

    n: tuple
    reach: float  # chord to the farthest corner of the triangle that it splits
    m: tuple
    fa: SurfacePoint
    fb: SurfacePoint


def _step(function):
    """A step of the search, inlined there: what it hands on stays in registers."""
    return kernel(function, forceinline=True)


@_step
def _lowered(proof, proved, level, rival):
    """The same proof with these in it too; infinite stands for nothing new."""
    return Proof(min(proof.proved, proved), min(proof.level, level), min(proof.rival, rival))


# --- the net ------------------------------------------------------------------------------------------------------


@kernel(_nrt=True, forceinline=True)
def new_net(budget):
    """A net that a number of support points can be spent on."""
    most = 2 * budget + 8  # triangles
    return Net(
        np.empty((budget + 8, VERTEX)),
        np.empty((most, 3), np.int64),
        np.empty(most),
        np.empty(most, np.int64),
        np.zeros(3, np.int64),
    )


@_step
def _row(rows, i, k):
    return (rows[i, k], rows[i, k + 1], rows[i, k + 2])


@_step
def set_row(rows, i, k, vector):
    """Write a vector into a row from column k on."""
    rows[i, k], rows[i, k + 1], rows[i, k + 2] = vector


@_step
def add_vertex(net, radius, n, x, fa, fb):
    """Number of a new vertex along n, whose support point of M is x."""
    i = net.counts[VERTICES]
    net.counts[VERTICES] += 1
    vertices = net.vertices
    set_row(vertices, i, _N, n)
    set_row(vertices, i, _M, combine(1.0, x, -radius, n))
    vertices[i, _GUESS], vertices[i, _GUESS + 1] = fa.w, fa.r
    vertices[i, _GUESS + 2], vertices[i, _GUESS + 3] = fb.w, fb.r
    return i


@_step
def guess_of(vertices, corners, chords):
    """Heights and radii for a direction between three vertices, from its chords to them."""
    (i, j, k), (c1, c2, c3) = corners, chords
    w1, w2, w3 = c2 * c3, c3 * c1, c1 * c2
    total = w1 + w2 + w3
    w1, w2, w3 = w1 / total, w2 / total, w3 / total
    at = _GUESS
    return (
        w1 * vertices[i, at] + w2 * vertices[j, at] + w3 * vertices[k, at],
        w1 * vertices[i, at + 1] + w2 * vertices[j, at + 1] + w3 * vertices[k, at + 1],
        w1 * vertices[i, at + 2] + w2 * vertices[j, at + 2] + w3 * vertices[k, at + 2],
        w1 * vertices[i, at + 3] + w2 * vertices[j, at + 3] + w3 * vertices[k, at + 3],
    )


@_step
def triangle_of(vertices, corners):
    """The triangle between three vertices."""
    i, j, k = corners
    return Triangle(
        _row(vertices, i, _N),
        _row(vertices, j, _N),
        _row(vertices, k, _N),
        _row(vertices, i, _M),
        _row(vertices, j, _M),
        _row(vertices, k, _M),
    )


@_step
def corners_of(net, cell):
    """The vertices of a triangle of the net."""
    return (net.cells[cell, 0], net.cells[cell, 1], net.cells[cell, 2])


@_step
def wait(net, cell, least, radius):
    """Put a triangle on the heap, with its bound or that of the one it is part of."""
    bound = triangle_bound(triangle_of(net.vertices, corners_of(net, cell)))
    net.key[cell] = max(least, radius + bound)
    length = net.counts[WAITING]
    net.heap[length] = cell
    lift(net.heap, net.key, length)
    net.counts[WAITING] = length + 1


@_step
def divide(net, cell, vertex, cut, bound, radius):
    """Replace a triangle by its two or three parts."""
    i, j, k = cut.corners
    second = net.counts[CELLS]
    set_row(net.cells, cell, 0, (i, vertex, k))
    set_row(net.cells, second, 0, (vertex, j, k))
    net.counts[CELLS] += 1
    if cut.in_three:
        set_row(net.cells, second + 1, 0, (i, j, vertex))
        net.counts[CELLS] += 1
    wait(net, cell, bound, radius)
    for part in range(second, net.counts[CELLS]):
        wait(net, part, bound, radius)


@_step
def octahedron(n):
    """Six directions, of which n is the first; the fourth to the sixth are opposite to the first three."""
    t1, t2 = tangent_frame(n)
    return n, t1, t2, scale(-1.0, n), scale(-1.0, t1), scale(-1.0, t2)


@_step
def wait_for_octants(net, radius):
    """Put the eight triangles of an octahedron, whose corners are the first six vertices, on the heap."""
    for i in (0, 3):
        for j in (1, 4):
            for k in (2, 5):
                cell = net.counts[CELLS]
                net.counts[CELLS] += 1
                set_row(net.cells, cell, 0, (i, j, k))
                wait(net, cell, -math.inf, radius)


@kernel
def _cover(problem, best, net):
    """Cover the sphere by an octahedron about the best direction.

    Returns the best direction then known, and the smallest h_M of corners well away from it.
    """
    pair, radius = problem.pair, problem.radius
    corners = octahedron(best.n)
    for n in corners:
        x, fa, fb = minkowski_support(pair, n, LOOSE)
        add_vertex(net, radius, n, x, fa, fb)
        best = better(pair, best, n, x, fa, fb, problem.goal, problem.tolerance, problem.polishing)
    rival = math.inf
    for i in range(6):
        if chord(corners[i], best.n) > _WELL_AWAY:
            rival = min(rival, radius + dot(corners[i], _row(net.vertices, i, _M)))
    wait_for_octants(net, radius)
    return best, rival


# --- bounds by other means -----------------------------------------------------------------------------------------


@_step
def _with_cap(pair, best, near, aids):
    """The cap about the best direction, made anew where that has become another."""
    if near.cap_value == best.value:
        return near
    aids.counts[_SPENT] += CAP_COST
    return Near(cap_about(pair, best), best.value, near.point, near.point_value)


@_step
def _with_point(problem, best, near, aids):
    """The point of M along the best direction, made anew where that has become another."""
    if near.point_value == best.value:
        return near
    aids.counts[_SPENT] += POINT_COST
    return Near(near.cap, near.cap_value, settled_core(problem.pair, best.n, problem.goal), best.value)


@_step
def _in_rival_cap(aids, triangle):
    """Floor of the first cap about another minimum that holds a triangle; -inf where none does."""
    for i in range(aids.counts[_CAPS]):
        n = _row(aids.caps, i, _N)
        if min(dot(n, triangle.n1), dot(n, triangle.n2), dot(n, triangle.n3)) >= aids.caps[i, 3]:
            return aids.caps[i, 4]
    return -math.inf


@_step
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
    if near.cap.angle == 0.0 and least_cos > LEAST_COS_BESIDE:
        near = _with_point(problem, best, near, aids)
        lifted = problem.radius + anchored_bound(triangle, near.point)
    for i in range(aids.counts[_ANCHORS]):
        if lifted < wanted:
            lifted = max(lifted, problem.radius + anchored_bound(triangle, _row(aids.anchors, i, _N)))
    return lifted >= wanted, lifted, True, near


# --- splitting -----------------------------------------------------------------------------------------------------


@_step
def cut_of(problem, corners, triangle, bound):
    """Where to split a triangle."""
    i, j, k = corners
    n1, n2, n3, m1, m2, m3 = triangle
    inside, point = facet_direction(triangle)
    e12, e23, e31 = edge_gap(n1, n2, m1, m2), edge_gap(n2, n3, m2, m3), edge_gap(n3, n1, m3, m1)
    gap = max(e12, e23, e31, 0.0)
    # Support points over a dent are candidates only, and may not lie beyond the facet: halving always gets on.
    in_three = inside and problem.pair.a[DENTED] + problem.pair.b[DENTED] == 0.0
    if not in_three:
        # Turn the triangle so that the edge to split runs from n1 to n2: the one along which the bound is worst, or the
        # longest where the triangle is large or its plane's distance spoils the bound.
        l12, l23, l31 = chord(n1, n2), chord(n2, n3), chord(n3, n1)
        longest = max(l12, l23, l31)
        by_length = bound < problem.radius or longest > _LARGE
        if not by_length:
            # An edge much shorter than the others is left alone: slivers have nothing to give.
            e12 = e12 if l12 > _SHORT * longest else 0.0
            e23 = e23 if l23 > _SHORT * longest else 0.0
            e31 = e31 if l31 > _SHORT * longest else 0.0
            by_length = not (max(e12, e23, e31) > 0.0)
        if by_length:
            e12, e23, e31 = l12, l23, l31
        if e23 >= e12 and e23 >= e31:
            i, j, k = j, k, i
            n1, n2, n3 = n2, n3, n1
            m1, m2 = m2, m3
        elif e31 >= e12 and e31 >= e23:
            i, j, k = k, i, j
            n1, n2, n3 = n3, n1, n2
            m1, m2 = m3, m1
        point = edge_direction(n1, n2, m1, m2, by_length)
    c1, c2, c3 = chord(point, n1), chord(point, n2), chord(point, n3)
    return Cut((i, j, k), point, (c1, c2, c3), gap, in_three)


# --- other minima --------------------------------------------------------------------------------------------------


@_step
def _is_tried(aids, n, reach):
    """Whether a local minimum has been looked for near a direction, not much less closely."""
    for i in range(aids.counts[_TRIES]):
        if chord(_row(aids.tries, i, _N), n) < 4.0 * aids.tries[i, 3] and reach > 0.1 * aids.tries[i, 3]:
            return True
    return False


@_step
def _look_for_rival(problem, best, sample, aids):
    """Prove a cap about another minimum about as low as the best, next to a direction.

    Without it, triangles would have to be refined all the way down to it. Returns its h_M; infinite without a cap.
    """
    n, reach = sample.n, sample.reach
    elsewhere = reach < _RIVAL_REACH and chord(n, best.n) > max(_WELL_AWAY, 4.0 * reach)
    tried = aids.counts[_TRIES]
    if not (elsewhere and tried < _MOST_RIVALS and not _is_tried(aids, n, reach)):
        return math.inf
    set_row(aids.tries, tried, _N, n)
    aids.tries[tried, 3] = reach
    aids.counts[_TRIES] += 1
    aids.counts[_SPENT] += 2 * CAP_COST
    cap, n, depth = rival_cap(problem.pair, n, reach, sample.fa, sample.fb, problem.tolerance)
    apart = chord(n, best.n) > _WELL_AWAY
    if not (apart and cap.angle > 0.0 and cap.floor >= best.value - problem.goal):
        return math.inf
    capped = aids.counts[_CAPS]
    set_row(aids.caps, capped, _N, n)
    aids.caps[capped, 3] = math.cos(cap.angle)
    aids.caps[capped, 4] = cap.floor
    aids.counts[_CAPS] += 1
    return depth


@_step
def _look_for_facet(problem, best, sample, bound, aids):
    """Keep a point of M on a facet that is in the way of a direction, and the best direction for it.

    The support points of directions about that of a facet lie at its ends, none along the direction. Returns h_M along
    the point itself where that is well away from the best direction, else infinite.
    """
    found = aids.counts[_ANCHORS]
    if not (sample.reach < TOGETHER and found < _MOST_ANCHORS and bound < best.value - problem.goal):
        return math.inf
    aids.counts[_SPENT] += POINT_COST
    anchor = anchor_beside(problem.pair, sample.n, sample.fa, sample.fb, problem.goal, problem.tolerance)
    set_row(aids.anchors, found, _N, anchor)
    aids.counts[_ANCHORS] += 1
    other = combine(1.0, anchor, problem.radius, sample.n)
    other = scale(1.0 / max(norm(other), 1e-300), other)
    if not chord(other, best.n) > _WELL_AWAY:
        return math.inf
    y, _, _ = minkowski_support(problem.pair, other, EXACT)
    return dot(other, y)


# --- the search ----------------------------------------------------------------------------------------------------


@_step
def _look(problem, best, net, cut):
    """Look along the direction that splits a triangle: what is found there, and the best direction then known."""
    pair, reach = problem.pair, max(cut.chords[0], cut.chords[1], cut.chords[2])
    guess = guess_of(net.vertices, cut.corners, cut.chords)
    m, fa, fb = minkowski_support_near(pair, cut.point, guess, cut.gap, best.value)
    best = better(pair, best, cut.point, m, fa, fb, problem.goal, problem.tolerance, problem.polishing)
    return Sample(cut.point, reach, m, fa, fb), best


@_step
def _spent(best, net, aids):
    """Support points computed, and what else was done in units of them."""
    return best.spent + net.counts[VERTICES] + aids.counts[_SPENT]


@kernel(_nrt=True)
def search(pair, best, goal, tolerance, budget):
    """Find the global minimum of h_M and prove it, best bound first.

    Parameters
    ----------
    best : Optimum
        The best direction known; the first octahedron is turned to it.
    goal : float
        Width of the bracket [proved, value] to reach, m.
    tolerance : float
        Residual at which Newton has converged.
    budget : int
        Support points that may be spent; what else is done counts as some (`directions`).

    Returns
    -------
    Optimum
        With `proved` a bound that holds whether or not the goal was reached.
    """
    out_of_line()
    problem = Problem(pair, sphere_radius(pair.a) + sphere_radius(pair.b), goal, tolerance, budget // _POLISHING)
    radius, nothing = problem.radius, math.inf
    net = new_net(budget)
    aids = Aids(
        np.empty((_MOST_ANCHORS, 3)), np.empty((_MOST_RIVALS, 4)), np.empty((_MOST_RIVALS, 5)), np.zeros(4, np.int64)
    )
    best, rival = _cover(problem, best, net)
    near = Near(Cap(0.0, 0.0), math.inf, best.n, math.inf)
    proof = Proof(math.inf, math.inf, rival)
    limit = budget
    closed = False
    while net.counts[WAITING] > 0:
        cell = net.heap[0]
        bound = net.key[cell]
        if not closed and bound >= best.value - goal:
            # Proved. A few more triangles lift the level outside the cap, which is what lets the proof last.
            closed = True
            proof = _lowered(proof, bound, nothing, nothing)
            near = _with_cap(pair, best, near, aids)
            limit = min(budget, _spent(best, net, aids) + _EXTRA) if near.cap.angle > 0.0 else 0
        if _spent(best, net, aids) >= limit or (closed and bound >= (1.0 + _MARGIN) * best.value):
            proof = _lowered(proof, bound, bound, nothing)
            break
        net.counts[WAITING] = without_first(net.heap, net.key, net.counts[WAITING])
        corners = corners_of(net, cell)
        triangle = triangle_of(net.vertices, corners)
        done, floor, outside, near = _bound_by_aids(problem, best, triangle, bound, near, aids)
        if done:
            proof = _lowered(proof, floor, floor if outside else nothing, nothing)
            continue
        cut = cut_of(problem, corners, triangle, bound)
        if min(cut.chords[0], cut.chords[1]) < FINEST:
            # The corners have run together: no finer direction exists in this arithmetic.
            proof = _lowered(proof, bound, bound, nothing)
            continue
        former = best
        sample, best = _look(problem, best, net, cut)
        if best.value < former.value:
            # What was put aside inside the former cap lies outside the new one, above the former value.
            moved = chord(former.n, best.n) > _WELL_AWAY
            proof = _lowered(proof, nothing, former.value, former.value if moved else nothing)
            near = Near(Cap(0.0, 0.0), near.cap_value, near.point, near.point_value)
            closed = False
            limit = budget
        elif chord(sample.n, best.n) > _WELL_AWAY:
            proof = _lowered(proof, nothing, nothing, dot(sample.n, sample.m))
        vertex = add_vertex(net, radius, sample.n, sample.m, sample.fa, sample.fb)
        proof = _lowered(proof, nothing, nothing, _look_for_rival(problem, best, sample, aids))
        proof = _lowered(proof, nothing, nothing, _look_for_facet(problem, best, sample, bound, aids))
        divide(net, cell, vertex, cut, bound, radius)
    return Optimum(
        best.value,
        min(proof.proved, best.value),
        best.n,
        best.fa,
        best.fb,
        best.converged,
        _spent(best, net, aids),
        best.iterations,
        near.cap,
        proof.level,
        proof.rival,
    )
