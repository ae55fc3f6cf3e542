# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Least h_M of two convex cores over all directions, proved: branch and bound on the sphere (`cores`).

Triangles, their bounds and splits are those of the search for superovoids (`triangles`, `direction_net`). An edge is
split at the direction along which its two support points are equally high, so the search finds the normal fan of a
polytope exactly and is finite.
"""

from __future__ import annotations

import math

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.row_heap import without_first
from superovoid.compiled.vector import dot
from superovoid.contact.minkowski.difference import (
    ALMOST,
    FINEST,
    LOSS,
    STRATUM_A,
    STRATUM_B,
    M,
    SearchResult,
    are_well_apart,
    difference_point,
    difference_support,
    keep_better,
    polish_result,
)
from superovoid.contact.superovoids.direction_net import (
    CELLS,
    GUESS,
    M_COLUMN,
    N_COLUMN,
    OCTANTS,
    VERTICES,
    WAITING,
    corners_of,
    cut_of,
    divide,
    guess_of,
    new_net,
    octahedron,
    row_of,
    set_row,
    triangle_of,
    wait,
)

# Of a vertex: strata of the support points of A and B, height and radius on the superovoid of the pair, if it has one.
_STRATA, _HEIGHT = GUESS, GUESS + 2


@kernel
def _put_vertex(net, n, c):
    """Add a direction with its support point to the net; returns its number."""
    vertex = net.counts[VERTICES]
    net.counts[VERTICES] += 1
    row = net.vertices[vertex]
    set_row(net.vertices, vertex, N_COLUMN, n)
    set_row(net.vertices, vertex, M_COLUMN, c.m)
    row[_STRATA], row[_STRATA + 1] = c.stratum_a, c.stratum_b
    row[_HEIGHT], row[_HEIGHT + 1] = c.height, c.radius
    return vertex


@kernel
def _polish_corners(pair, net, corners, n, found, w):
    """`polish_result` on the strata of the corners of a triangle, from a direction."""
    for j in range(3):
        vertex = corners[j]
        for i in range(3):
            w[j, M + i] = net.vertices[vertex, M_COLUMN + i]
        w[j, STRATUM_A], w[j, STRATUM_B] = net.vertices[vertex, _STRATA], net.vertices[vertex, _STRATA + 1]
    return polish_result(pair, n, 3, found, w)


@kernel
def _with_rival(pair, net, found, w):
    """Polish from the lowest vertices well away from the direction found, if they are almost as low."""
    first = second = third = -1
    least = (1.0 + ALMOST) * found.value
    for vertex in range(net.counts[VERTICES]):
        n = row_of(net.vertices, vertex, N_COLUMN)
        h = dot(n, row_of(net.vertices, vertex, M_COLUMN))
        if h < least and are_well_apart(n, found.n):
            first, second, third, least = vertex, first, second, h
    if first < 0:
        return found
    second = first if second < 0 else second
    corners = first, second, second if third < 0 else third
    return _polish_corners(pair, net, corners, row_of(net.vertices, first, N_COLUMN), found, w)


@kernel(_nrt=True)
def search(pair, found, goal, budget, w):
    """Find the global minimum of h_M and prove it, best bound first.

    `found.n` is the direction to start from, and `found.proved` a lower bound of the minimum. Returns a `SearchResult`
    whose `proved` holds whether or not the goal was reached.
    """
    out_of_line()
    known = found.proved
    net = new_net(budget)
    for n in octahedron(found.n):
        c = difference_support(pair, n)
        _put_vertex(net, n, c)
        found = keep_better(found, n, c)
    for cell in range(len(OCTANTS)):
        set_row(net.cells, cell, 0, corners_of(OCTANTS, cell))
        wait(net, cell, -math.inf, 0.0)
    net.counts[CELLS] = len(OCTANTS)
    proved = math.inf
    pops, next_polish = 0, 1
    while net.counts[WAITING] > 0:
        cell = net.heap[0]
        bound = net.key[cell]
        if max(bound, known) >= found.value - goal or found.spent >= budget:
            proved = min(proved, bound)
            break
        net.counts[WAITING] = without_first(net.heap, net.key, net.counts[WAITING])
        corners = corners_of(net.cells, cell)
        triangle = triangle_of(net.vertices, corners)
        cut = cut_of(corners, triangle, bound, 0.0)
        pops += 1
        if not found.polished and pops >= next_polish:
            next_polish = pops + 1 + pops // 2
            found = _polish_corners(pair, net, corners, cut.point, found, w)
        if min(cut.chords[0], cut.chords[1]) < FINEST:
            proved = min(proved, bound)  # the corners have run together: no finer direction exists
            continue
        _, _, height, radius = guess_of(net.vertices, GUESS, cut.corners, cut.chords)
        c = difference_point(pair, cut.point, height, radius, LOSS * (found.value - bound))
        if c.h < found.value:
            c = difference_support(pair, cut.point)
        is_better = c.h < found.value - goal
        found = keep_better(found, cut.point, c)
        divide(net, cell, _put_vertex(net, cut.point, c), cut, bound, 0.0)
        if is_better:
            # Another minimum, or the same one still far: Newton from here.
            found = _polish_corners(pair, net, corners, cut.point, found, w)
    value, _, n, x, y, is_polished, spent, rival = _with_rival(pair, net, found, w)
    return SearchResult(value, min(proved, value), n, x, y, is_polished, spent, rival)
