# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The net of a search: triangles of directions that cover the sphere, split one by one or in SIMD lanes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.kernels import kernel
from superovoid.compiled.row_heap import lift
from superovoid.compiled.rows import layout, loader, storer
from superovoid.compiled.vector import Vector, combine, dot, norm, put_vector_in, scale, tangent_frame, vector_in
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids.direction_lanes import (
    AT,
    CORNER,
    FAN,
    FAN_CELLS,
    OF_BODY,
    ROW,
    WIDTH,
    bound_in_lanes,
    bound_parts_in_lanes,
    cut_in_lanes,
    differences_in_lanes,
    in_lane,
    points_in_lanes,
    put_in_lane,
)
from superovoid.contact.superovoids.inner_bodies import InnerShare, put_inside
from superovoid.contact.superovoids.triangles import Triangle, triangle_bound, turn
from superovoid.shapes.kernels.surface import HAS_CONCAVITY

_FIRST_GAP = 0.5  # gap of the first directions, in place of the gap of a triangle, relative to h_M

# A vertex: direction, support point of M with balls taken off, height and radius of the surface points of A and B.
VERTEX, VERTEX_LENGTH = layout(1, n=Vector, m=Vector, guess=4)
put_guess = storer(4, 1)
_GUESS_A, _GUESS_B = AT.body_a + OF_BODY.height, AT.body_b + OF_BODY.height  # in lanes: height, then radius
_load_two, _put_two = loader(2, ROW), storer(2, ROW)

# `Net.counts`: waiting triangles, all triangles, vertices, other work in units of support points, and iterations of
# Newton's method without a result.
COUNTS, COUNTS_LENGTH = layout(1, waiting=float, cells=float, vertices=float, spent=float, iterations=float)


class Problem(NamedTuple):
    """A search for the least h_M of two bodies, or a proof that the least h_M of inner bodies is at least a value."""

    pair: Pair
    radius: float  # radius of the balls taken off
    goal: float  # width of the bracket of the depth to reach, m
    tolerance: float  # residual at which Newton has converged
    inside: bool  # whether M is the difference of the inner bodies
    inner_a: InnerShare
    inner_b: InnerShare
    refuted: float  # m: the search ends once a direction has an h_M below this
    enough: float  # m: the search ends once the least h_M is proved to be at least this
    workspace: NDArray[np.float64]  # scratch of Newton's method on h_M


class Net(NamedTuple):
    """Triangles that cover the sphere, except its finished part. The search changes all arrays."""

    vertices: NDArray[np.float64]  # a row for each evaluated direction, and so for each support point
    cells: NDArray[np.int64]  # the three vertices of each triangle
    key: NDArray[np.float64]  # lower bounds of h_M over them
    heap: NDArray[np.int64]  # waiting triangles, least bound first
    counts: NDArray[np.int64]
    taken: NDArray[np.int64]  # triangles in lanes


@kernel(_nrt=True)
def new_net(budget):
    """Return a net with room for a number of support points."""
    most = 2 * budget + 8  # triangles
    return Net(
        np.empty((budget + 8, VERTEX_LENGTH)),
        np.empty((most, 3), np.int64),
        np.empty(most),
        np.empty(most, np.int64),
        np.zeros(COUNTS_LENGTH, np.int64),
        np.empty(WIDTH, np.int64),
    )


@kernel
def guess_of(vertices, corners, chords):
    """Interpolate heights and radii at a direction, by its chords to three vertices."""
    (i, j, k), (c1, c2, c3), at = corners, chords, VERTEX.guess
    w1, w2, w3 = c2 * c3, c3 * c1, c1 * c2
    total = w1 + w2 + w3
    w1, w2, w3 = w1 / total, w2 / total, w3 / total
    return (
        w1 * vertices[i, at] + w2 * vertices[j, at] + w3 * vertices[k, at],
        w1 * vertices[i, at + 1] + w2 * vertices[j, at + 1] + w3 * vertices[k, at + 1],
        w1 * vertices[i, at + 2] + w2 * vertices[j, at + 2] + w3 * vertices[k, at + 2],
        w1 * vertices[i, at + 3] + w2 * vertices[j, at + 3] + w3 * vertices[k, at + 3],
    )


@kernel
def triangle_of(vertices, corners):
    """Return the triangle between three vertices."""
    i, j, k = corners
    return Triangle(
        vector_in(vertices, i, VERTEX.n),
        vector_in(vertices, j, VERTEX.n),
        vector_in(vertices, k, VERTEX.n),
        vector_in(vertices, i, VERTEX.m),
        vector_in(vertices, j, VERTEX.m),
        vector_in(vertices, k, VERTEX.m),
    )


@kernel
def corners_of(cells, cell):
    """Return the vertices of a triangle."""
    return (cells[cell, 0], cells[cell, 1], cells[cell, 2])


@kernel
def put_on_heap(net, cell, bound):
    """Put a triangle on the heap, with a bound of h_M over it."""
    net.key[cell] = bound
    length = net.counts[COUNTS.waiting]
    net.heap[length] = cell
    lift(net.heap, net.key, length)
    net.counts[COUNTS.waiting] = length + 1


@kernel
def wait(net, cell, least, radius):
    """Put a triangle on the heap, with its own bound or that of its parent."""
    bound = triangle_bound(triangle_of(net.vertices, corners_of(net.cells, cell)))
    put_on_heap(net, cell, max(least, radius + bound))


@kernel
def divide(net, cell, vertex, turns, in_three, bound, radius):
    """Replace a triangle by its two or three parts, and put these on the heap."""
    i, j, k = turn(turns, corners_of(net.cells, cell))
    second = net.counts[COUNTS.cells]
    net.counts[COUNTS.cells] += 2 if in_three else 1
    put_vector_in(net.cells, cell, 0, (i, vertex, k))
    put_vector_in(net.cells, second, 0, (vertex, j, k))
    if in_three:
        put_vector_in(net.cells, second + 1, 0, (i, j, vertex))
    wait(net, cell, bound, radius)
    for part in range(second, net.counts[COUNTS.cells]):
        wait(net, part, bound, radius)


@kernel
def octahedron(n):
    """Return six directions: n is the first; the fourth to the sixth are opposite to the first three."""
    t1, t2 = tangent_frame(n)
    return n, t1, t2, scale(-1.0, n), scale(-1.0, t1), scale(-1.0, t2)


OCTANTS = np.array([(i, j, k) for i in (0, 3) for j in (1, 4) for k in (2, 5)])
"""The triangles of `octahedron`."""


# --- in lanes -----------------------------------------------------------------------------------------------------


@kernel
def lanes_for(count):
    """Return a number of lanes that fills whole vectors."""
    return (count + 7) // 8 * 8


@kernel
def _load_corner(net, vertex, lanes, at):
    row = net.vertices[vertex]
    for j in range(6):
        lanes[at + j * ROW] = row[j]


@kernel
def vertex_of_lane(net, lanes, i):
    """Add a vertex along the direction of a lane; return its number."""
    vertex = net.counts[COUNTS.vertices]
    net.counts[COUNTS.vertices] += 1
    row = net.vertices[vertex]
    for j in range(VERTEX.guess):
        row[j] = lanes[AT.point + j * ROW + i]
    (height_a, ring_a), (height_b, ring_b) = _load_two(lanes, _GUESS_A + i), _load_two(lanes, _GUESS_B + i)
    put_guess(row, VERTEX.guess, (height_a, ring_a, height_b, ring_b))
    return vertex


@kernel
def put_support_point(net, vertex, m, fa, fb):
    """Replace the point of M of a vertex, balls taken off, and its surface points."""
    put_vector_in(net.vertices, vertex, VERTEX.m, m)
    put_guess(net.vertices[vertex], VERTEX.guess, (fa.w, fa.r, fb.w, fb.r))


@kernel
def _choose_in_lanes(problem, net, taken, count, lanes):
    """Choose directions that split some triangles, with initial heights and radii."""
    pair, radius = problem.pair, problem.radius
    for i in range(count):
        lanes[AT.key + i] = net.key[taken[i]]
        for corner in range(3):
            _load_corner(net, net.cells[taken[i], corner], lanes, AT.corners + corner * CORNER + i)
    cut_in_lanes(lanes, lanes_for(count), radius, pair.a[HAS_CONCAVITY] + pair.b[HAS_CONCAVITY] != 0.0)
    for i in range(count):
        corners = turn(lanes[AT.turns + i], corners_of(net.cells, taken[i]))
        guess = guess_of(net.vertices, corners, in_lane(lanes, AT.chords + i))
        _put_two(lanes, _GUESS_A + i, guess[:2])
        _put_two(lanes, _GUESS_B + i, guess[2:])


@kernel
def _points_of_difference(problem, lanes, count, first):
    """Compute points of M along directions in lanes, from heights and radii close by unless `first`."""
    pair, filled = problem.pair, lanes_for(count)
    points_in_lanes(lanes, pair, filled, first)
    if problem.inside:
        put_inside(pair.a, problem.inner_a, lanes[AT.body_a :], lanes[AT.gap :], count)
        put_inside(pair.b, problem.inner_b, lanes[AT.body_b :], lanes[AT.gap :], count)
    differences_in_lanes(lanes, pair, problem.radius, filled)


@kernel
def look_in_lanes(problem, net, taken, count, lanes):
    """Evaluate the directions that split some triangles, and bound h_M over the parts."""
    _choose_in_lanes(problem, net, taken, count, lanes)
    _points_of_difference(problem, lanes, count, False)
    bound_parts_in_lanes(lanes, lanes_for(count))


@kernel
def lowest_lane(lanes, count):
    """Return the lane with the least n . m of its direction and point of M."""
    lowest, least = 0, math.inf
    for i in range(count):
        reached = dot(in_lane(lanes, AT.point + i), in_lane(lanes, AT.core + i))
        if reached < least:
            lowest, least = i, reached
    return lowest


@kernel
def divide_lane(net, cell, vertex, lanes, i, radius, enough):
    """Replace a triangle in a lane by its parts; return the least bound of the parts whose bound is `enough`.

    These parts need not wait. The part with the first edge is empty if that edge is split.
    """
    one, two, three = corners_of(net.cells, cell)
    split_edge = -1 if lanes[AT.in_three + i] != 0.0 else int(lanes[AT.turns + i])
    bound, least = net.key[cell], math.inf
    part = cell
    for edge in range(3):
        if edge == split_edge:
            continue
        key = max(bound, radius + lanes[AT.bounds + edge * CORNER + i])
        if key >= enough:
            least = min(least, key)
            continue
        if part < 0:
            part = net.counts[COUNTS.cells]
            net.counts[COUNTS.cells] += 1
        first = one if edge == 0 else (two if edge == 1 else three)
        second = two if edge == 0 else (three if edge == 1 else one)
        put_vector_in(net.cells, part, 0, (first, second, vertex))
        put_on_heap(net, part, key)
        part = -1
    return least


@kernel
def _choose_fan(n, value, pull, lanes):
    """Choose the directions `direction_lanes.FAN`, drawn together about n, with initial heights and radii.

    The tangent of half of the angle to n is multiplied by `pull`. This maps circles to circles, so that the triangles,
    which have no other direction in their circumscribed circles, still cover the sphere.
    """
    t1, t2 = tangent_frame(n)
    square = pull * pull
    for i in range(WIDTH):
        near, far = 1.0 + FAN[i, 2], square * (1.0 - FAN[i, 2])
        across = combine(2.0 * pull * FAN[i, 0], t1, 2.0 * pull * FAN[i, 1], t2)
        direction = combine(1.0, across, near - far, n)
        put_in_lane(lanes, AT.point + i, scale(1.0 / norm(direction), direction))
        _put_two(lanes, _GUESS_A + i, (0.0, 1.0))
        _put_two(lanes, _GUESS_B + i, (0.0, 1.0))
        lanes[AT.gap + i] = _FIRST_GAP * value


@kernel
def fan_in_lanes(problem, n, value, pull, net, lanes):
    """Fill in the first vertices of a net: the directions `direction_lanes.FAN`, drawn together about the first, n."""
    _choose_fan(n, value, pull, lanes)
    _points_of_difference(problem, lanes, WIDTH, True)
    for i in range(WIDTH):
        vertex_of_lane(net, lanes, i)


@kernel
def wait_for_fan(net, lanes, radius, enough):
    """Put the fan's triangles on the heap, except those whose bound is `enough`; return the least bound of these."""
    least = math.inf
    for first in range(0, FAN_CELLS.shape[0], WIDTH):
        count = min(WIDTH, FAN_CELLS.shape[0] - first)
        for i in range(count):
            one, two, three = corners_of(FAN_CELLS, first + i)
            _load_corner(net, one, lanes, AT.corners + i)
            _load_corner(net, two, lanes, AT.corners + CORNER + i)
            _load_corner(net, three, lanes, AT.point + i)
        bound_in_lanes(lanes, lanes_for(count))
        for i in range(count):
            key = radius + lanes[AT.bounds + i]
            if key >= enough:
                least = min(least, key)
                continue
            cell = net.counts[COUNTS.cells]
            net.counts[COUNTS.cells] += 1
            put_vector_in(net.cells, cell, 0, corners_of(FAN_CELLS, first + i))
            put_on_heap(net, cell, key)
    return least
