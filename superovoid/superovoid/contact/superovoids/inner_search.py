# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""How deep two overlapping bodies with dents are at least: the depth of convex bodies inside them.

The inner bodies (`inner_bodies`) share the surfaces of the bodies at the contact, so that their depth may be that of
the contact. They are convex: their depth is the least h_M over all directions, M the difference of the two. It is
bounded by branch and bound as in `search`, with points of the inner bodies; but the least h_M is known here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.row_heap import without_first
from superovoid.compiled.vector import add, combine, dot, rotate, rotate_back, scale, sub
from superovoid.contact.minkowski.difference import well_away
from superovoid.contact.superovoids.cap_lanes import largest_cap
from superovoid.contact.superovoids.direction_lanes import (
    BODY_A,
    BODY_B,
    CHORDS,
    GAP,
    HEIGHT,
    IN_THREE,
    LACK,
    LENGTH,
    RING_SIZE,
    WIDTH,
    X,
    bound_parts_in_lanes,
    differences_in_lanes,
    points_in_lanes,
)
from superovoid.contact.superovoids.direction_net import (
    FINEST,
    M_COLUMN,
    N_COLUMN,
    VERTICES,
    WAITING,
    Cut,
    Problem,
    choose_fan,
    choose_in_lanes,
    choose_ring,
    corners_of,
    divide,
    divide_lane,
    in_lane,
    lanes_for,
    new_net,
    put_in_lane,
    put_support_point,
    rings_beyond,
    row_of,
    step,
    triangle_of,
    turned_corners,
    vertex_of_lane,
    wait_for_fan,
    wait_for_rings,
)
from superovoid.contact.superovoids.directions import LOSS, minkowski_support, sphere_radius
from superovoid.contact.superovoids.inner_bodies import (
    COLUMNS,
    NODES,
    Inner,
    fill_shares,
    inner_height,
    inner_point,
    inner_support,
    most_missing,
    share_at,
)
from superovoid.contact.superovoids.search import LEAST_COS_BESIDE, NARROWEST_RING, innermost_ring
from superovoid.contact.superovoids.triangles import anchored_bound
from superovoid.shapes.kernels.support_function import LOOSE, point_at_height, support_candidate
from superovoid.shapes.kernels.surface import A1, A2, A3, SIZE, position

_SHALLOWER = 1.0 - 1e-4  # of the target: inner bodies that are no deeper along a direction cannot prove it
_EXACT = 1e-13  # of a body, by which a point may fall short of the farthest
_FIRST_GAP = 0.5  # of the target, in place of that of a triangle for the first directions


@step
def _inner_difference(pair, inner_a, inner_b, n):
    """Point of the difference of two inner bodies the farthest along n, in the frame of A, and surface points there."""
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    _, fa, fb = minkowski_support(pair, n, LOOSE)
    fa = inner_support(a, inner_a, n, fa, _EXACT * a[SIZE])
    fb = inner_support(b, inner_b, rotate_back(rotation, scale(-1.0, n)), fb, _EXACT * b[SIZE])
    y = add(centre, rotate(rotation, inner_point(b, inner_b, fb)))
    return sub(inner_point(a, inner_a, fa), y), fa, fb


@kernel
def _put_inside(b, inner, rows, gaps, count):
    """Put points of an inner body in place of the surface points in lanes, the farthest to within a part of a gap."""
    out_of_line()
    for i in range(count):
        w, loss = rows[HEIGHT + i], LOSS * gaps[i]
        shared = inner.lo <= w <= inner.hi
        if shared and rows[LACK + i] <= loss:
            continue
        n = in_lane(rows, i)
        at_pole = b[A1] * abs(n[0]) + b[A2] * abs(n[1]) < 1e-15 * b[A3] * abs(n[2])
        if shared or at_pole or not (abs(w) <= 1.0):
            f = inner_support(b, inner, n, support_candidate(b, n, LOOSE), loss)
            put_in_lane(rows, X + i, inner_point(b, inner, f))
            continue
        full = in_lane(rows, X + i)
        share, _ = share_at(inner, w)
        x = (share * full[0], share * full[1], full[2])
        if rows[LACK + i] + dot(n, sub(full, x)) <= loss:
            put_in_lane(rows, X + i, x)
            continue
        height, value = inner_height(b, inner, n, w, loss)
        if not (dot(n, x) >= value - loss):
            x = inner_point(b, inner, point_at_height(b, n, height))
        put_in_lane(rows, X + i, x)


@step
def _look_inside(problem, inner_a, inner_b, lanes, count, first):
    """Points of the difference of two inner bodies along directions in lanes."""
    pair, filled = problem.pair, lanes_for(count)
    points_in_lanes(lanes, pair, filled, first)
    _put_inside(pair.a, inner_a, lanes[BODY_A:], lanes[GAP:], count)
    _put_inside(pair.b, inner_b, lanes[BODY_B:], lanes[GAP:], count)
    differences_in_lanes(lanes, pair, problem.radius, filled)


@step
def _settle(problem, inner_a, inner_b, net, first, target):
    """Give vertices, from one on, whose points lie below the target, the farthest points."""
    for vertex in range(first, net.counts[VERTICES]):
        direction, core = row_of(net.vertices, vertex, N_COLUMN), row_of(net.vertices, vertex, M_COLUMN)
        if not (problem.radius + dot(direction, core) >= target):
            m, fa, fb = _inner_difference(problem.pair, inner_a, inner_b, direction)
            put_support_point(net, vertex, combine(1.0, m, -problem.radius, direction), fa, fb)


@kernel
def _rings_inside(problem, inner_a, inner_b, n, innermost, target, net, lanes):
    """`direction_net.rings_in_lanes` with points of inner bodies."""
    out_of_line()
    rings, factor = rings_beyond(innermost)
    first_vertex, filled, angle = net.counts[VERTICES], 0, innermost
    for ring in range(rings):
        choose_ring(net, n, angle, rings - ring, lanes, filled)
        for i in range(filled, filled + RING_SIZE):
            # h_M grows with the square of the angle.
            lanes[GAP + i] = _FIRST_GAP * angle * angle * target
        filled += RING_SIZE
        angle *= factor
        if filled + RING_SIZE > WIDTH or ring == rings - 1:
            _look_inside(problem, inner_a, inner_b, lanes, filled, True)
            for i in range(filled):
                vertex_of_lane(net, lanes, i)
            filled = 0
    _settle(problem, inner_a, inner_b, net, first_vertex, target)
    return first_vertex, rings


class InnerDepth(NamedTuple):
    """What inner bodies prove of a depth."""

    depth: float  # lower bound of it
    other: tuple  # direction well away from the normal along which the bodies may part as soon; else the normal


@kernel
def _other_direction(net, n, depth, radius):
    """Of the directions met well away from the normal, the one that is the least deep for how far away it is.

    About the contact h_M grows with the square of the angle. Next to another minimum as low it has grown less.
    """
    out_of_line()
    least, other = math.inf, n
    for vertex in range(net.counts[VERTICES]):
        direction = row_of(net.vertices, vertex, N_COLUMN)
        if well_away(direction, n):
            growth = radius + dot(direction, row_of(net.vertices, vertex, M_COLUMN)) - depth
            growth /= 1.0 - dot(n, direction)
            if growth < least:
                least, other = growth, direction
    return other


@step
def _found(net, n, proved, floor, target, as_good, radius):
    """What bounds over all triangles prove, with the floor of the cap that they leave out."""
    # No direction outside the cap is as good where all bounds say so.
    other = n if proved > as_good else _other_direction(net, n, target, radius)
    return InnerDepth(min(proved, floor), other)


@kernel(_nrt=True, separate=True)
def inner_depth(pair, fa, fb, n, target, as_good, cap, level, budget):
    """Lower bound of the depth of two bodies, from a contact.

    Parameters
    ----------
    fa, fb : SurfacePoint
        The contact, Newton's.
    n : tuple
        Its normal.
    target : float
        Depth to prove, a little less than that of the contact.
    as_good : float
        Depth up to which another direction is as good as the normal, a little more than that of the contact.
    cap : Cap
        Of the hulls, about the normal; angle 0 for none.
    level : float
        Lower bound of their h_M outside that cap.
    budget : int
        Support points that may be spent.

    Returns
    -------
    InnerDepth
        A depth of at least the target where that is proved; -inf where no inner bodies of the bodies are known.
    """
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    rows_a, rows_b = np.empty((2, NODES, COLUMNS)), np.empty((2, NODES, COLUMNS))
    lo_a, hi_a, known_a = fill_shares(a, fa.w, rows_a)
    lo_b, hi_b, known_b = fill_shares(b, fb.w, rows_b)
    if not (known_a and known_b):
        return InnerDepth(-math.inf, n)
    inner_a, inner_b = Inner(lo_a, hi_a, rows_a), Inner(lo_b, hi_b, rows_b)
    if cap.angle > 0.0:
        # Outside the dents the inner bodies are the bodies, and so is their local minimum.
        beyond = level - most_missing(a, inner_a) - most_missing(b, inner_b)
        if min(cap.floor, beyond) >= target:
            return InnerDepth(min(cap.floor, beyond), n)
    else:
        cap = largest_cap(pair, fa, fb)
    radius = sphere_radius(a) + sphere_radius(b)
    problem = Problem(pair, radius, 0.0, 0.0, 0)
    net = new_net(budget + 2 * WIDTH)
    lanes, taken = np.zeros(LENGTH), np.empty(WIDTH, np.int64)
    contact = sub(position(a, fa), add(centre, rotate(rotation, position(b, fb))))
    contact = combine(1.0, contact, -radius, n)
    choose_fan(n, lanes)
    for i in range(WIDTH):
        lanes[GAP + i] = _FIRST_GAP * target
    _look_inside(problem, inner_a, inner_b, lanes, WIDTH, True)
    for i in range(WIDTH):
        vertex_of_lane(net, lanes, i)
    # Along the normal no point of the inner bodies is farther.
    put_support_point(net, np.int64(0), contact, fa, fb)
    _settle(problem, inner_a, inner_b, net, 1, target)
    least_cap, floor = 2.0, math.inf
    if cap.angle > 0.0 and cap.floor >= target:
        least_cap, floor = math.cos(cap.angle), cap.floor
    inner = innermost_ring(cap.angle) if least_cap < 2.0 else 0.0
    if inner >= NARROWEST_RING:
        first, rings = _rings_inside(problem, inner_a, inner_b, n, inner, target, net, lanes)
        proved = wait_for_rings(net, first, rings, lanes, radius, target)
    else:
        proved = wait_for_fan(net, lanes, radius, target)
    while True:
        count, lowest = 0, math.inf
        while count < WIDTH and net.counts[WAITING] > 0:
            cell = net.heap[0]
            bound = net.key[cell]
            if net.counts[VERTICES] + count >= budget:
                break
            net.counts[WAITING] = without_first(net.heap, net.key, net.counts[WAITING])
            triangle = triangle_of(net.vertices, corners_of(net, cell))
            nearest = min(dot(n, triangle.n1), dot(n, triangle.n2), dot(n, triangle.n3))
            if nearest >= least_cap:
                continue
            if bound >= target:
                proved = min(proved, bound)
                continue
            if nearest > LEAST_COS_BESIDE:
                lifted = radius + anchored_bound(triangle, contact)
                if lifted >= target:
                    proved = min(proved, lifted)
                    continue
            lowest = min(lowest, bound)
            taken[count] = cell
            count += 1
        if count == 0:
            break
        choose_in_lanes(problem, net, taken, count, lanes)
        _look_inside(problem, inner_a, inner_b, lanes, count, False)
        bound_parts_in_lanes(lanes, lanes_for(count))
        for i in range(count):
            cell = taken[i]
            bound = net.key[cell]
            chords = in_lane(lanes, CHORDS + i)
            if min(chords[0], chords[1]) < FINEST:
                return _found(net, n, min(proved, lowest), floor, target, as_good, radius)
            vertex = vertex_of_lane(net, lanes, i)
            direction, core = row_of(net.vertices, vertex, N_COLUMN), row_of(net.vertices, vertex, M_COLUMN)
            if radius + dot(direction, core) >= target:
                proved = min(proved, divide_lane(net, cell, vertex, lanes, i, radius, target))
                continue
            m, ga, gb = _inner_difference(pair, inner_a, inner_b, direction)
            if dot(direction, m) < _SHALLOWER * target:
                return _found(net, n, min(proved, lowest), floor, target, as_good, radius)
            put_support_point(net, vertex, combine(1.0, m, -radius, direction), ga, gb)
            corners = turned_corners(net, cell, lanes, i)
            cut = Cut(corners, direction, chords, lanes[GAP + i], lanes[IN_THREE + i] != 0.0)
            divide(net, cell, vertex, cut, bound, radius)
    if net.counts[WAITING] > 0:
        proved = min(proved, net.key[net.heap[0]])
    return _found(net, n, proved, floor, target, as_good, radius)
