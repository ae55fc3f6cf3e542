# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""How deep two overlapping bodies with dents are at least: the depth of convex bodies inside them.

The inner bodies (`inner_bodies`) share the surfaces of the bodies at the contact, so that their depth may be that of
the contact. They are convex: their depth is the least h_M over all directions, M the difference of the two. It is
bounded by branch and bound as in `search`, with points of the inner bodies; but the least h_M is known here.
"""

from __future__ import annotations

import math

import numpy as np

from superovoid_ros.compiled.jit import kernel, out_of_line
from superovoid_ros.compiled.row_heap import without_first
from superovoid_ros.compiled.vector import add, combine, dot, rotate, rotate_back, scale, sub
from superovoid_ros.contact.superovoids.caps import largest_cap
from superovoid_ros.contact.superovoids.direction_net import (
    FINEST,
    VERTICES,
    WAITING,
    Problem,
    add_vertex,
    corners_of,
    cut_of,
    divide,
    guess_of,
    new_net,
    octahedron,
    triangle_of,
    wait_for_octants,
)
from superovoid_ros.contact.superovoids.directions import (
    LOSS,
    minkowski_support,
    minkowski_support_near,
    sphere_radius,
)
from superovoid_ros.contact.superovoids.inner_bodies import (
    COLUMNS,
    NODES,
    Inner,
    fill_shares,
    inner_point,
    inner_support,
    most_missing,
)
from superovoid_ros.contact.superovoids.search import LEAST_COS_BESIDE
from superovoid_ros.contact.superovoids.triangles import anchored_bound
from superovoid_ros.shapes.kernels.support_function import LOOSE
from superovoid_ros.shapes.kernels.surface import position

_SHALLOWER = 1.0 - 1e-4  # of the target: inner bodies that are no deeper along a direction cannot prove it


@kernel
def _inner_difference(pair, inner_a, inner_b, n, fa, fb, loss):
    """Point of the difference of two inner bodies far along n, in the frame of A, from support points of the bodies."""
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    fa = inner_support(a, inner_a, n, fa, loss)
    fb = inner_support(b, inner_b, rotate_back(rotation, scale(-1.0, n)), fb, loss)
    y = add(centre, rotate(rotation, inner_point(b, inner_b, fb)))
    return sub(inner_point(a, inner_a, fa), y), fa, fb


@kernel(_nrt=True)
def inner_depth(pair, fa, fb, n, target, cap, level, budget):
    """Lower bound of the depth of two bodies, from a contact.

    Parameters
    ----------
    fa, fb : SurfacePoint
        The contact, Newton's.
    n : tuple
        Its normal.
    target : float
        Depth to prove, a little less than that of the contact.
    cap : Cap
        Of the hulls, about the normal; angle 0 for none.
    level : float
        Lower bound of their h_M outside that cap.
    budget : int
        Support points that may be spent.

    Returns
    -------
    float
        At least the target where that is proved; -inf where the bodies hold no inner bodies that are known.
    """
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    rows_a, rows_b = np.empty((2, NODES, COLUMNS)), np.empty((2, NODES, COLUMNS))
    lo_a, hi_a, known_a = fill_shares(a, fa.w, rows_a)
    lo_b, hi_b, known_b = fill_shares(b, fb.w, rows_b)
    if not (known_a and known_b):
        return -math.inf
    inner_a, inner_b = Inner(lo_a, hi_a, rows_a), Inner(lo_b, hi_b, rows_b)
    if cap.angle > 0.0:
        # Outside the dents the inner bodies are the bodies, and so is their local minimum.
        beyond = level - most_missing(a, inner_a) - most_missing(b, inner_b)
        if min(cap.floor, beyond) >= target:
            return min(cap.floor, beyond)
    else:
        cap = largest_cap(pair, fa, fb)
    radius = sphere_radius(a) + sphere_radius(b)
    problem = Problem(pair, radius, 0.0, 0.0, 0)
    net = new_net(budget)
    for corner in octahedron(n):
        _, ga, gb = minkowski_support(pair, corner, LOOSE)
        m, ga, gb = _inner_difference(pair, inner_a, inner_b, corner, ga, gb, 0.0)
        add_vertex(net, radius, corner, m, ga, gb)
    wait_for_octants(net, radius)
    least_cap = math.cos(cap.angle) if cap.angle > 0.0 and cap.floor >= target else 2.0
    contact = sub(position(a, fa), add(centre, rotate(rotation, position(b, fb))))
    contact = combine(1.0, contact, -radius, n)
    proved = cap.floor if least_cap < 2.0 else math.inf
    while net.counts[WAITING] > 0:
        cell = net.heap[0]
        bound = net.key[cell]
        if bound >= target or net.counts[VERTICES] >= budget:
            return min(proved, bound)
        net.counts[WAITING] = without_first(net.heap, net.key, net.counts[WAITING])
        vertices = corners_of(net, cell)
        triangle = triangle_of(net.vertices, vertices)
        nearest = min(dot(n, triangle.n1), dot(n, triangle.n2), dot(n, triangle.n3))
        if nearest >= least_cap:
            continue
        if nearest > LEAST_COS_BESIDE:
            lifted = radius + anchored_bound(triangle, contact)
            if lifted >= target:
                proved = min(proved, lifted)
                continue
        cut = cut_of(problem, vertices, triangle, bound)
        if min(cut.chords[0], cut.chords[1]) < FINEST:
            return min(proved, bound)
        guess = guess_of(net.vertices, cut.corners, cut.chords)
        _, ga, gb = minkowski_support_near(pair, cut.point, guess, cut.gap, -math.inf)
        m, ga, gb = _inner_difference(pair, inner_a, inner_b, cut.point, ga, gb, LOSS * cut.gap)
        if dot(cut.point, m) < target:
            _, ga, gb = minkowski_support(pair, cut.point, LOOSE)
            m, ga, gb = _inner_difference(pair, inner_a, inner_b, cut.point, ga, gb, 0.0)
            if dot(cut.point, m) < _SHALLOWER * target:
                return min(proved, bound)
        vertex = add_vertex(net, radius, cut.point, m, ga, gb)
        divide(net, cell, vertex, cut, bound, radius)
    return proved
