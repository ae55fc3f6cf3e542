# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Least h_M of two convex cores over all directions, proved: branch and bound on the sphere (`cores`).

Triangles, their bounds and splits are those of the search for superovoids (`triangles`, `direction_net`). An edge is
split at the direction along which its two support points are equally high, so the search finds the normal fan of a
polytope exactly and is finite.
"""

from __future__ import annotations

import math

from superovoid.compiled.kernels import kernel
from superovoid.compiled.row_heap import without_first
from superovoid.compiled.vector import dot, put_vector_in, vector_in
from superovoid.contact.minkowski.difference import (
    ALMOST,
    FINEST,
    LOSS,
    SIMPLEX,
    SearchResult,
    are_well_apart,
    difference_point,
    difference_support,
    keep_better,
    polish_result,
)
from superovoid.contact.superovoids.direction_net import (
    COUNTS,
    OCTANTS,
    VERTEX,
    corners_of,
    divide,
    guess_of,
    new_net,
    octahedron,
    put_guess,
    triangle_of,
    wait,
)
from superovoid.contact.superovoids.triangles import split_of, turn


@kernel
def _put_vertex(net, n, c):
    """Add a direction with its support point to the net; returns its number.

    The guess is the strata of A and B, then height and radius on the superovoid of the pair, if it has one.
    """
    vertex = net.counts[COUNTS.vertices]
    net.counts[COUNTS.vertices] += 1
    row = net.vertices[vertex]
    put_vector_in(net.vertices, vertex, VERTEX.n, n)
    put_vector_in(net.vertices, vertex, VERTEX.m, c.m)
    put_guess(row, VERTEX.guess, (c.stratum_a, c.stratum_b, c.height, c.radius))
    return vertex


@kernel
def _polish_corners(pair, net, corners, n, found, w):
    """`polish_result` on the strata of the corners of a triangle, from a direction."""
    for j in range(3):
        vertex = corners[j]
        put_vector_in(w, j, SIMPLEX.m, vector_in(net.vertices, vertex, VERTEX.m))
        strata = net.vertices[vertex, VERTEX.guess], net.vertices[vertex, VERTEX.guess + 1]
        w[j, SIMPLEX.stratum_a], w[j, SIMPLEX.stratum_b] = strata
    return polish_result(pair, n, 3, found, w)


@kernel
def _with_rival(pair, net, found, w):
    """Polish from the lowest vertices well away from the direction found, if they are almost as low."""
    first = second = third = -1
    least = (1.0 + ALMOST) * found.value
    for vertex in range(net.counts[COUNTS.vertices]):
        n = vector_in(net.vertices, vertex, VERTEX.n)
        h = dot(n, vector_in(net.vertices, vertex, VERTEX.m))
        if h < least and are_well_apart(n, found.n):
            first, second, third, least = vertex, first, second, h
    if first < 0:
        return found
    second = first if second < 0 else second
    corners = first, second, second if third < 0 else third
    return _polish_corners(pair, net, corners, vector_in(net.vertices, first, VERTEX.n), found, w)


@kernel(_nrt=True)
def search(pair, found, goal, refuted, enough, budget, w):
    """Find the global minimum of h_M and prove it, best bound first.

    `found.n` is the direction to start from, and `found.proved` a lower bound of the minimum. The search ends at a
    value below `refuted`, or a bound of `enough`. Returns a `SearchResult` whose `proved` holds whether or not the goal
    was reached.
    """
    known = found.proved
    net = new_net(budget)
    for n in octahedron(found.n):
        c = difference_support(pair, n)
        _put_vertex(net, n, c)
        found = keep_better(found, n, c)
    for cell in range(len(OCTANTS)):
        put_vector_in(net.cells, cell, 0, corners_of(OCTANTS, cell))
        wait(net, cell, -math.inf, 0.0)
    net.counts[COUNTS.cells] = len(OCTANTS)
    proved = math.inf
    pops, next_polish = 0, 1
    while net.counts[COUNTS.waiting] > 0:
        cell = net.heap[0]
        bound = net.key[cell]
        is_enough = max(bound, known) >= min(found.value - goal, enough) or found.value < refuted
        if is_enough or found.spent >= budget:
            proved = min(proved, bound)
            break
        net.counts[COUNTS.waiting] = without_first(net.heap, net.key, net.counts[COUNTS.waiting])
        corners = corners_of(net.cells, cell)
        triangle = triangle_of(net.vertices, corners)
        split = split_of(triangle, bound, 0.0, False)
        pops += 1
        if not found.polished and pops >= next_polish:
            next_polish = pops + 1 + pops // 2
            found = _polish_corners(pair, net, corners, split.point, found, w)
        if min(split.chords[0], split.chords[1]) < FINEST:
            proved = min(proved, bound)  # the corners have run together: no finer direction exists
            continue
        _, _, height, radius = guess_of(net.vertices, turn(split.turns, corners), split.chords)
        c = difference_point(pair, split.point, height, radius, LOSS * (found.value - bound))
        if c.h < found.value:
            c = difference_support(pair, split.point)
        is_better = c.h < found.value - goal
        found = keep_better(found, split.point, c)
        divide(net, cell, _put_vertex(net, split.point, c), split.turns, split.in_three, bound, 0.0)
        if is_better:
            # Another minimum, or the same one still far: Newton from here.
            found = _polish_corners(pair, net, corners, split.point, found, w)
    value, _, n, x, y, is_polished, spent, rival = _with_rival(pair, net, found, w)
    return SearchResult(value, min(proved, value), n, x, y, is_polished, spent, rival)
