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
from superovoid_ros.contact.superovoids.direction_lanes import (
    BODY_A,
    BODY_B,
    BOUND,
    CHORDS,
    CORE,
    FAN,
    FAN_CELLS,
    GAP,
    HEIGHT,
    IN_THREE,
    LENGTH,
    MISSING,
    POINT,
    RING,
    ROW,
    TRIANGLE,
    TURNS,
    WIDTH,
    bound_in_lanes,
    cut_in_lanes,
    support_in_lanes,
)
from superovoid_ros.contact.superovoids.directions import (
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
)
from superovoid_ros.contact.superovoids.triangles import (
    Triangle,
    anchored_bound,
    chord,
    split_of,
    triangle_bound,
)
from superovoid_ros.shapes.kernels.support_function import EXACT, LOOSE
from superovoid_ros.shapes.kernels.surface import DENTED

LEAST_COS_BESIDE = math.cos(0.3)  # as far as a point along the best direction may serve the triangles about it
_WELL_AWAY = 0.05  # chord at which a direction is another one, not the same refined
FINEST = 1e-15  # shortest edge
_MOST_ANCHORS = 32
_MOST_RIVALS = 32
_RIVAL_REACH = 0.03  # chord of the reach of a point from which a local minimum is looked for
_POLISHING = 4  # share of the budget that polishing may take
_EXTRA, _EXTRA_AT_ONCE = 16, 8  # support points spent on a level that lasts
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
    """A direction that splits a triangle."""

    n: tuple
    reach: float  # chord to the farthest corner of the triangle that it splits


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
    dented = problem.pair.a[DENTED] + problem.pair.b[DENTED] != 0.0
    split = split_of(triangle, bound, problem.radius, dented)
    turned = (i, j, k) if split.turns == 0 else ((j, k, i) if split.turns == 1 else (k, i, j))
    return Cut(turned, split.point, split.chords, split.gap, split.in_three)


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
    _, fa, fb = minkowski_support(problem.pair, n, LOOSE)
    cap, n, depth = rival_cap(problem.pair, n, reach, fa, fb, problem.tolerance)
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
    _, fa, fb = minkowski_support(problem.pair, sample.n, LOOSE)
    anchor = anchor_beside(problem.pair, sample.n, fa, fb, problem.goal, problem.tolerance)
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
def _spent(best, net, aids):
    """Support points computed, and what else was done in units of them."""
    return best.spent + net.counts[VERTICES] + aids.counts[_SPENT]


@_step
def _in_lane(lanes, at):
    return (lanes[at], lanes[at + ROW], lanes[at + 2 * ROW])


@_step
def _lanes_for(count):
    """As many lanes as vectors fill."""
    return (count + 7) // 8 * 8


@_step
def _vertex_of_lane(net, lanes, i):
    """Number of a new vertex along the direction of a lane."""
    vertex = net.counts[VERTICES]
    net.counts[VERTICES] += 1
    row = net.vertices[vertex]
    for j in range(3):
        row[_N + j] = lanes[POINT + j * ROW + i]
        row[_M + j] = lanes[CORE + j * ROW + i]
    row[_GUESS], row[_GUESS + 1] = lanes[BODY_A + HEIGHT + i], lanes[BODY_A + RING + i]
    row[_GUESS + 2], row[_GUESS + 3] = lanes[BODY_B + HEIGHT + i], lanes[BODY_B + RING + i]
    return vertex


@_step
def _look_closer(problem, best, net, vertex):
    """Give a vertex, whose point of M lies below the best value, the support point; and the best direction then known.

    Otherwise that corner would keep every triangle about it open.
    """
    n = _row(net.vertices, vertex, _N)
    m, fa, fb = minkowski_support(problem.pair, n, LOOSE)
    if dot(n, m) > problem.radius + dot(n, _row(net.vertices, vertex, _M)):
        set_row(net.vertices, vertex, _M, combine(1.0, m, -problem.radius, n))
        net.vertices[vertex, _GUESS], net.vertices[vertex, _GUESS + 1] = fa.w, fa.r
        net.vertices[vertex, _GUESS + 2], net.vertices[vertex, _GUESS + 3] = fb.w, fb.r
    return better(problem.pair, best, n, m, fa, fb, problem.goal, problem.tolerance, problem.polishing)


@kernel
def _wait_in_lanes(net, fresh, count, lanes, problem, enough):
    """Bound new triangles, whose keys are the bounds of those they are part of, and put them on the heap.

    Those whose bound is enough need not wait. Returns the least of their bounds.
    """
    out_of_line()
    least = math.inf
    for first in range(0, count, WIDTH):
        part = min(WIDTH, count - first)
        for i in range(part):
            for corner in range(3):
                row = net.vertices[net.cells[fresh[first + i], corner]]
                for j in range(3):
                    lanes[TRIANGLE + (3 * corner + j) * ROW + i] = row[_N + j]
                    lanes[TRIANGLE + (9 + 3 * corner + j) * ROW + i] = row[_M + j]
        bound_in_lanes(lanes, _lanes_for(part))
        for i in range(part):
            cell = fresh[first + i]
            bound = max(net.key[cell], problem.radius + lanes[BOUND + i])
            net.key[cell] = bound
            if bound >= enough:
                least = min(least, bound)
                continue
            length = net.counts[WAITING]
            net.heap[length] = cell
            lift(net.heap, net.key, length)
            net.counts[WAITING] = length + 1
    return least


@_step
def _enough(best):
    """Bound above which a triangle is of no interest, whatever happens."""
    return max(best.value, (1.0 + _MARGIN) * best.value)


@kernel
def _cover(problem, best, net, lanes, fresh):
    """Cover the sphere by a fan of directions about the best one (`direction_lanes.FAN`).

    Returns the best direction then known, the smallest h_M of corners well away from it, and the least bound of the
    triangles that need not wait.
    """
    out_of_line()
    radius = problem.radius
    t1, t2 = tangent_frame(best.n)
    for i in range(WIDTH):
        n = combine(1.0, combine(FAN[i, 0], t1, FAN[i, 1], t2), FAN[i, 2], best.n)
        n = scale(1.0 / norm(n), n)
        for j in range(3):
            lanes[POINT + j * ROW + i] = n[j]
        lanes[BODY_A + HEIGHT + i] = lanes[BODY_B + HEIGHT + i] = 0.0
        lanes[BODY_A + RING + i] = lanes[BODY_B + RING + i] = 1.0
    support_in_lanes(lanes, problem.pair, radius, WIDTH, True)
    lowest, least = 0, math.inf
    for i in range(WIDTH):
        value = dot(_in_lane(lanes, POINT + i), _in_lane(lanes, CORE + i))
        _vertex_of_lane(net, lanes, i)
        if value < least:
            lowest, least = i, value
    for k in range(WIDTH + 1):
        i = lowest if k == 0 else k - 1
        if radius + dot(_row(net.vertices, i, _N), _row(net.vertices, i, _M)) < best.value:
            best = _look_closer(problem, best, net, i)
    rival = math.inf
    for i in range(WIDTH):
        n = _row(net.vertices, i, _N)
        if chord(n, best.n) > _WELL_AWAY:
            rival = min(rival, radius + dot(n, _row(net.vertices, i, _M)))
    count = FAN_CELLS.shape[0]
    for i in range(count):
        for j in range(3):
            net.cells[i, j] = FAN_CELLS[i, j]
        net.key[i] = -math.inf
        fresh[i] = i
    net.counts[CELLS] = count
    return best, rival, _wait_in_lanes(net, fresh, count, lanes, problem, _enough(best))


@kernel
def _split_in_lanes(problem, net, taken, count, lanes):
    """Look along the directions that split some triangles."""
    out_of_line()
    pair, radius = problem.pair, problem.radius
    for i in range(count):
        cell = taken[i]
        lanes[BOUND + i] = net.key[cell]
        for corner in range(3):
            row = net.vertices[net.cells[cell, corner]]
            for j in range(3):
                lanes[TRIANGLE + (3 * corner + j) * ROW + i] = row[_N + j]
                lanes[TRIANGLE + (9 + 3 * corner + j) * ROW + i] = row[_M + j]
    cut_in_lanes(lanes, _lanes_for(count), radius, pair.a[DENTED] + pair.b[DENTED] != 0.0)
    for i in range(count):
        corners = _turned_corners(net, taken[i], lanes, i)
        guess = guess_of(net.vertices, corners, _in_lane(lanes, CHORDS + i))
        lanes[BODY_A + HEIGHT + i], lanes[BODY_A + RING + i] = guess[0], guess[1]
        lanes[BODY_B + HEIGHT + i], lanes[BODY_B + RING + i] = guess[2], guess[3]
    support_in_lanes(lanes, pair, radius, _lanes_for(count), False)


@_step
def _turned_corners(net, cell, lanes, i):
    """Vertices of a triangle, turned so that the edge to split runs from the first to the second."""
    one, two, three = corners_of(net, cell)
    turns = lanes[TURNS + i]
    return (one, two, three) if turns == 0.0 else ((two, three, one) if turns == 1.0 else (three, one, two))


@_step
def _divide_lane(net, cell, vertex, corners, in_three, fresh, count):
    """Replace a triangle by its two or three parts, to be bounded. Returns how many triangles are."""
    i, j, k = corners
    second = net.counts[CELLS]
    bound = net.key[cell]
    set_row(net.cells, cell, 0, (i, vertex, k))
    set_row(net.cells, second, 0, (vertex, j, k))
    fresh[count], fresh[count + 1] = cell, second
    net.key[second] = bound
    if in_three:
        set_row(net.cells, second + 1, 0, (i, j, vertex))
        fresh[count + 2] = second + 1
        net.key[second + 1] = bound
    parts = 3 if in_three else 2
    net.counts[CELLS] += parts - 1
    return count + parts


@kernel(_nrt=True)
def search(pair, best, goal, tolerance, budget):
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

    Returns
    -------
    Optimum
        With `proved` a bound that holds whether or not the goal was reached.
    """
    out_of_line()
    problem = Problem(pair, sphere_radius(pair.a) + sphere_radius(pair.b), goal, tolerance, budget // _POLISHING)
    radius, nothing = problem.radius, math.inf
    net = new_net(budget + 2 * WIDTH)
    lanes, taken, fresh = np.zeros(LENGTH), np.empty(WIDTH, np.int64), np.empty(3 * WIDTH, np.int64)
    aids = Aids(
        np.empty((_MOST_ANCHORS, 3)), np.empty((_MOST_RIVALS, 4)), np.empty((_MOST_RIVALS, 5)), np.zeros(4, np.int64)
    )
    best, rival, least = _cover(problem, best, net, lanes, fresh)
    near = Near(Cap(0.0, 0.0), math.inf, best.n, math.inf)
    proof = Proof(least, least, rival)
    limit = budget
    closed = False
    while True:
        count, most = 0, _EXTRA_AT_ONCE if closed else WIDTH
        while count < most and net.counts[WAITING] > 0:
            cell = net.heap[0]
            bound = net.key[cell]
            is_proved = bound >= ((1.0 + _MARGIN) * best.value if closed else best.value - goal)
            is_last = _spent(best, net, aids) + count >= limit
            if count > 0 and (is_proved or is_last):
                break  # what is taken comes first
            if not closed and is_proved:
                # Proved. A few more triangles lift the level outside the cap, which is what lets the proof last.
                closed, most = True, _EXTRA_AT_ONCE
                proof = _lowered(proof, bound, nothing, nothing)
                near = _with_cap(pair, best, near, aids)
                limit = min(budget, _spent(best, net, aids) + _EXTRA) if near.cap.angle > 0.0 else 0
                is_last = _spent(best, net, aids) >= limit
                is_proved = bound >= (1.0 + _MARGIN) * best.value
            if is_last or is_proved:
                # All others that wait have bounds as high.
                proof = _lowered(proof, bound, bound, nothing)
                net.counts[WAITING] = 0
                break
            net.counts[WAITING] = without_first(net.heap, net.key, net.counts[WAITING])
            triangle = triangle_of(net.vertices, corners_of(net, cell))
            done, floor, outside, near = _bound_by_aids(problem, best, triangle, bound, near, aids)
            if done:
                proof = _lowered(proof, floor, floor if outside else nothing, nothing)
                continue
            taken[count] = cell
            count += 1
        if count == 0:
            break
        _split_in_lanes(problem, net, taken, count, lanes)
        parts = 0
        faceted = False
        for i in range(count):
            cell = taken[i]
            bound = net.key[cell]
            chords, gap = _in_lane(lanes, CHORDS + i), lanes[GAP + i]
            if min(chords[0], chords[1]) < FINEST:
                # The corners have run together: no finer direction exists in this arithmetic.
                proof = _lowered(proof, bound, bound, nothing)
                continue
            corners = _turned_corners(net, cell, lanes, i)
            vertex = _vertex_of_lane(net, lanes, i)
            sample = Sample(_row(net.vertices, vertex, _N), max(chords[0], chords[1], chords[2]))
            former = best
            reached = radius + dot(sample.n, _row(net.vertices, vertex, _M))
            if not (lanes[MISSING + i] <= LOSS * gap and reached >= best.value):
                best = _look_closer(problem, best, net, vertex)
                reached = radius + dot(sample.n, _row(net.vertices, vertex, _M))
            if best.value < former.value:
                # What was put aside inside the former cap lies outside the new one, above the former value.
                moved = chord(former.n, best.n) > _WELL_AWAY
                proof = _lowered(proof, nothing, former.value, former.value if moved else nothing)
                near = Near(Cap(0.0, 0.0), near.cap_value, near.point, near.point_value)
                closed = False
                limit = budget
            elif chord(sample.n, best.n) > _WELL_AWAY:
                proof = _lowered(proof, nothing, nothing, reached)
            proof = _lowered(proof, nothing, nothing, _look_for_rival(problem, best, sample, aids))
            if not faceted:
                found = aids.counts[_ANCHORS]
                proof = _lowered(proof, nothing, nothing, _look_for_facet(problem, best, sample, bound, aids))
                faceted = aids.counts[_ANCHORS] > found  # a facet is in the way of all triangles about it
            parts = _divide_lane(net, cell, vertex, corners, lanes[IN_THREE + i] != 0.0, fresh, parts)
        least = _wait_in_lanes(net, fresh, parts, lanes, problem, _enough(best))
        proof = _lowered(proof, least, least, nothing)
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
