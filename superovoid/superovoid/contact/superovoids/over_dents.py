# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Answers for bodies with dents: of the bodies where that can be proved, of their hulls where it cannot.

Apart, the bodies are proved piece by piece (`nearest_pieces`). Where they overlap, an own contact of theirs is proved
from both sides: moved apart along its normal by its depth they are proved to be apart, piece by piece, and convex
bodies inside them are proved to overlap no less (`inner_depth`).
"""

from __future__ import annotations

import math

import numpy as np

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import combine, norm, rotate_back, scale, sub
from superovoid.contact.minkowski.on_surfaces import direction_of, off_line
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids.answers import (
    CLOSED,
    COLD_ITERATIONS,
    Answer,
    is_closed,
    newton_from,
    with_interval,
)
from superovoid.contact.superovoids.cap_lanes import largest_cap
from superovoid.contact.superovoids.caps import Cap
from superovoid.contact.superovoids.certificate import clear_of_dent, rounding_margin
from superovoid.contact.superovoids.direction_lanes import LENGTH, WIDTH
from superovoid.contact.superovoids.direction_net import Problem, new_net
from superovoid.contact.superovoids.directions import proved_support
from superovoid.contact.superovoids.inner_bodies import COLUMNS, NODES, Inner, fill_shares
from superovoid.contact.superovoids.nearest_pieces import nearest_of_ovoids
from superovoid.contact.superovoids.search import Minimum, ball_radius, cover, refine_all
from superovoid.contact.superovoids.without_contact import points_along
from superovoid.shapes.kernels.support_function import other_support
from superovoid.values.status import ARBITRARY_NORMAL, DENT, NON_UNIQUE, UNPROVEN

_APART, _SHARE_OF_INNER = 0.5, 0.25  # of the goal, by which the proofs of an overlap may leave it open to either side
_INNER_BUDGET = np.int64(450)  # support points of inner bodies
_REFUTED = 1.0 - 1e-4  # of the target: inner bodies that are no deeper along a direction cannot prove it


@kernel(separate=True)
def apart_over_dents(pair, answer, goal):
    """Answer for bodies with dents that are apart, from an own contact of theirs: proved piece by piece.

    Closed, or else the answer as it was: bodies that overlap elsewhere, or are no farther apart than the goal.
    """
    margin = rounding_margin(pair.a, pair.b, pair.centre)
    found = nearest_of_ovoids(pair, answer.n, answer, goal, margin)
    if not (found.lower > 0.0):
        return answer
    own = answer
    if found.nearest.distance < answer.distance - margin:
        own = newton_from(pair, found.nearest.fa, found.nearest.fb, goal, COLD_ITERATIONS, answer.iterations)
    own = with_interval(own, max(own.lower, found.lower), own.upper, CLOSED)
    return own if is_closed(own, goal) else answer


@kernel
def dented_after_search(pair, best, optimum, hull_lower, hull_upper, goal, iterations):
    """Answer for a pair of which a body has a dent, from the contact of the hulls.

    The closest points of the hulls may lie on a bitangent plane over a dent; then each of the two contacts of that
    plane is a start for the body's own closest points.
    """
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    n = optimum.n
    m = rotate_back(rotation, scale(-1.0, n))
    fa = optimum.fa
    is_new = False  # what is given has been proved as far as can be
    sides_a = 1 if clear_of_dent(a, fa, n) else 2
    sides_b = 1 if clear_of_dent(b, optimum.fb, m) else 2
    for i in range(sides_a):
        if i == 1:
            fa = other_support(a, n, optimum.fa)
        fb = optimum.fb
        for j in range(sides_b):
            if j == 1:
                fb = other_support(b, m, optimum.fb)
            own = newton_from(pair, fa, fb, goal, COLD_ITERATIONS, iterations)
            iterations = own.iterations
            if own.lower > -math.inf and _own_is_better(own, best):
                best, is_new = own, True
    refuted = best.distance < hull_lower
    if best.lower == -math.inf or refuted or (best.distance >= 0.0 and hull_lower <= 0.0 and optimum.value > 0.0):
        # No common normal found, or one deeper than the hulls are, or one at which the bodies are apart while their
        # hulls overlap, which proves nothing: the depth of the hulls is the answer on the safe side.
        margin = rounding_margin(a, b, centre)
        value = optimum.value
        flat = points_along(pair, n, value, goal)
        x, y = flat.x, flat.y
        length = norm(sub(y, x))
        upper = length + margin
        if value > 0.0:
            # Points over a dent may be far from realising the depth: the interval says by how much.
            upper = min(upper, hull_upper)
            if best.lower > -math.inf and not refuted:
                upper = min(upper, best.upper)
            upper = max(upper, off_line(x, y, value, n) - value)
        elif off_line(x, y, -length, n) > goal:
            direction = direction_of(x, y, n)
            h = proved_support(pair, direction)
            if h <= value or length + h <= 0.5 * goal:
                n, value = direction, h
                hull_lower = -value - margin
        lower, upper, y = min(hull_lower, -value), max(upper, -value), rotate_back(rotation, sub(y, centre))
        status = NON_UNIQUE if upper - lower <= goal else UNPROVEN | DENT
        return Answer(-value, lower, upper, x, y, n, optimum.fa, optimum.fb, status, iterations)
    best = with_interval(best, max(best.lower, hull_lower), min(best.upper, hull_upper), 0)
    if best.distance < 0.0:
        if is_new:
            best = proved_contact(pair, best, goal)
        if optimum.rival <= -best.distance + goal:
            best = with_interval(best, best.lower, best.upper, ARBITRARY_NORMAL)
    status = best.status if best.upper - best.lower <= goal else UNPROVEN | DENT
    distance, lower, upper, x, y, n, fa, fb, _, _ = best
    return Answer(distance, lower, upper, x, y, n, fa, fb, status, iterations)


@kernel(_nrt=True, separate=True)
def inner_depth(pair, fa, fb, n, target):
    """Lower bound of the depth of two bodies with dents, from a contact: the depth of convex bodies inside them.

    The inner bodies (`inner_bodies`) share the surfaces of the bodies at the contact, so that their depth may be that
    of the contact. It is the least h_M over all directions, M the difference of the two, and bounded by the loop of
    `search`, with points of the inner bodies; but the least h_M is known here.

    Parameters
    ----------
    fa, fb : SurfacePoint
        The contact, Newton's.
    n : tuple
        Its normal.
    target : float
        Depth to prove, a little less than that of the contact.

    Returns
    -------
    float
        At least the target where that is proved; -inf where no inner bodies of the bodies are known.
    """
    out_of_line()
    a, b = pair.a, pair.b
    rows_a, rows_b = np.empty((2, NODES, COLUMNS)), np.empty((2, NODES, COLUMNS))
    lo_a, hi_a, known_a = fill_shares(a, fa.w, rows_a)
    lo_b, hi_b, known_b = fill_shares(b, fb.w, rows_b)
    if not (known_a and known_b):
        return -math.inf
    inner_a, inner_b = Inner(lo_a, hi_a, rows_a), Inner(lo_b, hi_b, rows_b)
    cap = largest_cap(pair, fa, fb)
    problem = Problem(pair, ball_radius(pair), 0.0, 0.0, 0, True, inner_a, inner_b, _REFUTED * target)
    known = cap if cap.floor >= target else Cap(0.0, 0.0)
    net, lanes = new_net(_INNER_BUDGET + 2 * WIDTH), np.zeros(LENGTH)
    best, proved = cover(problem, Minimum(target, n, fa, fb, False, known), net, lanes)
    _, proved = refine_all(problem, best, proved, net, lanes, _INNER_BUDGET)
    return proved


@kernel
def parted(pair, answer, goal):
    """Lower bound of the signed distance of two bodies that overlap at an own contact: minus a way that parts them.

    B is moved along the normal by the depth of the contact and half of the goal; the bodies are then proved to be
    apart, piece by piece. -inf where they are not, or it takes too long.
    """
    out_of_line()
    gap = _APART * goal
    n = scale(1.0 / norm(answer.n), answer.n)
    centre = combine(1.0, pair.centre, gap - answer.distance, n)
    margin = rounding_margin(pair.a, pair.b, centre)
    if not (nearest_of_ovoids(Pair(pair.a, pair.b, pair.rotation, centre), n, answer, goal, margin).lower > 0.0):
        return -math.inf
    return answer.distance - gap - margin


@kernel(separate=True)
def proved_contact(pair, answer, goal):
    """Answer for an own contact of bodies with dents that overlap, with what is proved of the bodies without a search.

    The depth is proved by balls or else by inner bodies, the way out by the normal or else by the bodies being apart
    once they are moved along it.
    """
    out_of_line()
    lower, upper = answer.lower, answer.upper
    if not (answer.distance < 0.0 and lower > -math.inf):
        return answer
    if upper - answer.distance > goal - _APART * goal:
        target = -answer.distance - _SHARE_OF_INNER * goal
        depth = inner_depth(pair, answer.fa, answer.fb, answer.n, target)
        if depth > 0.0:
            upper = min(upper, rounding_margin(pair.a, pair.b, pair.centre) - depth)
    if upper - lower > goal and upper - answer.distance <= goal - _APART * goal:
        # In a dent the normal proves no more than of the hulls.
        lower = max(lower, parted(pair, answer, goal))
    return with_interval(answer, lower, upper, CLOSED)


@kernel
def _own_is_better(one, other):
    """Apart: the smaller distance. Overlapping: the contact along the better direction of the hulls.

    A shallower contact inside a dent may leave the bodies overlapping elsewhere, so its depth proves nothing.
    """
    if other.lower == -math.inf:
        return True
    if one.distance >= 0.0 and other.distance >= 0.0:
        return one.distance < other.distance
    return one.lower > other.lower
