# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Answers for non-convex bodies: for the bodies if that can be proved, otherwise for their hulls.

A separation is proved piece by piece (`nearest_pieces`). If the bodies overlap, a contact of the bodies themselves is
proved from both sides: moved along its normal by its depth, the bodies are proved to be apart, piece by piece, and
convex bodies inside them are proved to overlap by as much (`inner_depth`).
"""

from __future__ import annotations

import math

import numpy as np

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import add, norm, rotate_back, scale, sub
from superovoid.contact.minkowski.difference import new_workspace
from superovoid.contact.minkowski.on_surfaces import direction_of, off_line
from superovoid.contact.separation import rounding_margin
from superovoid.contact.superovoids.answers import (
    CLOSED,
    COLD_ITERATIONS,
    Answer,
    is_closed,
    newton_from,
    with_interval,
)
from superovoid.contact.superovoids.caps import Cap, largest_cap
from superovoid.contact.superovoids.certificate import clear_of_concavity
from superovoid.contact.superovoids.direction_lanes import LENGTH, WIDTH
from superovoid.contact.superovoids.direction_net import Problem, new_net
from superovoid.contact.superovoids.directions import proved_support
from superovoid.contact.superovoids.inner_bodies import COLUMNS, NODES, InnerShare, fill_shares
from superovoid.contact.superovoids.nearest_pieces import nearest_of_ovoids
from superovoid.contact.superovoids.search import Minimum, ball_radius, cover, refine_all
from superovoid.contact.superovoids.without_contact import points_along
from superovoid.shapes.kernels.support_function import other_support
from superovoid.values.status import ARBITRARY_NORMAL, NON_UNIQUE

_APART, _SHARE_OF_INNER = 0.5, 0.25  # gaps of the proofs of an overlap to either side, relative to the goal
_INNER_BUDGET = np.int64(450)  # most support points of inner bodies
_REFUTED = 1.0 - 1e-4  # depth of inner bodies along a direction, relative to the target, below which the proof fails


@kernel(separate=True)
def apart_over_concavities(pair, answer, goal, beyond):
    """Prove the answer of a contact of non-convex bodies that are apart, piece by piece.

    Returns an answer that is closed or proved to exceed `beyond`, or the answer unchanged if the bodies overlap
    elsewhere or are within the goal.
    """
    margin = rounding_margin(pair.a, pair.b, pair.centre)
    found = nearest_of_ovoids(pair, answer.n, answer, (0.0, 0.0, 0.0), goal, beyond, margin)
    if not (found.lower > 0.0):
        return answer
    own = answer
    if found.nearest.distance < answer.distance - margin:
        own = newton_from(pair, found.nearest.fa, found.nearest.fb, goal, COLD_ITERATIONS, answer.iterations)
    own = with_interval(own, max(own.lower, found.lower), own.upper, CLOSED)
    return own if is_closed(own, goal) or own.lower >= beyond else answer


@kernel
def answer_from_hulls(pair, best, optimum, hull_lower, hull_upper, goal, iterations):
    """Answer for a pair with a non-convex body, from the contact of the hulls.

    The closest points of the hulls may lie on a bitangent plane over a concavity; then each of the two contacts of that
    plane is a start for the closest points of the bodies themselves.
    """
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    n = optimum.n
    m = rotate_back(rotation, scale(-1.0, n))
    fa = optimum.fa
    is_new = False  # no proof improves the answer passed in
    sides_a = 1 if clear_of_concavity(a, fa, n) else 2
    sides_b = 1 if clear_of_concavity(b, optimum.fb, m) else 2
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
        # Either no common normal is found, or the contact is deeper than the hulls are, or the bodies are apart at it
        # and the hulls overlap, which proves nothing: the depth of the hulls is the answer on the safe side.
        margin = rounding_margin(a, b, centre)
        value = optimum.value
        flat = points_along(pair, n, value, goal)
        x, y = flat.x, flat.y
        length = norm(sub(y, x))
        upper = length + margin
        if value > 0.0:
            # Points over a concavity may be far from realising the depth: the interval includes the difference.
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
        lower, upper = min(hull_lower, -value), max(upper, -value)
        status = NON_UNIQUE if upper - lower <= goal else 0
        return Answer(-value, lower, upper, x, y, n, optimum.fa, optimum.fb, status, iterations)
    best = with_interval(best, max(best.lower, hull_lower), min(best.upper, hull_upper), 0)
    if best.distance < 0.0:
        if is_new:
            best = proved_contact(pair, best, goal)
        if optimum.rival <= -best.distance + goal:
            best = with_interval(best, best.lower, best.upper, ARBITRARY_NORMAL)
    status = best.status if is_closed(best, goal) else 0
    distance, lower, upper, x, y, n, fa, fb, _, _ = best
    return Answer(distance, lower, upper, x, y, n, fa, fb, status, iterations)


@kernel(_nrt=True, separate=True)
def inner_depth(pair, fa, fb, n, target):
    """Bound the depth of two non-convex bodies from below at a contact, by the depth of convex bodies inside them.

    The inner bodies (`inner_bodies`) share the surfaces of the bodies at the contact, so that their depth may equal
    that of the contact. This depth is the least h_M over all directions, M the difference of the inner bodies. The loop
    of `search` bounds it with points of the inner bodies, knowing the least h_M in advance.

    Parameters
    ----------
    fa, fb : SurfacePoint
        The contact found by Newton's method.
    n : tuple
        Normal of the contact.
    target : float
        Depth to prove, a little less than that of the contact.

    Returns
    -------
    float
        At least the target if the target is proved; -inf if no inner bodies are known.
    """
    a, b = pair.a, pair.b
    rows_a, rows_b = np.empty((2, NODES, COLUMNS)), np.empty((2, NODES, COLUMNS))
    lo_a, hi_a, known_a = fill_shares(a, fa.w, rows_a)
    lo_b, hi_b, known_b = fill_shares(b, fb.w, rows_b)
    if not (known_a and known_b):
        return -math.inf
    inner_a, inner_b = InnerShare(lo_a, hi_a, rows_a), InnerShare(lo_b, hi_b, rows_b)
    cap = largest_cap(pair, fa, fb)
    problem = Problem(
        pair, ball_radius(pair), 0.0, 0.0, True, inner_a, inner_b, _REFUTED * target, math.inf, new_workspace()
    )
    known = cap if cap.floor >= target else Cap(0.0, 0.0)
    net, lanes = new_net(_INNER_BUDGET + 2 * WIDTH), np.zeros(LENGTH)
    best, proved = cover(problem, Minimum(target, n, fa, fb, False, known), net, lanes)
    _, proved = refine_all(problem, best, proved, net, lanes, _INNER_BUDGET)
    return proved


@kernel
def bound_by_separation(pair, answer, goal):
    """Bound the signed distance of two bodies that overlap at a contact by minus a separating translation.

    B is moved along the normal by the depth of the contact plus half of the goal; the bodies are then proved to be
    apart, piece by piece. Returns -inf if this fails or exceeds its budget.
    """
    gap = _APART * goal
    n = scale(1.0 / norm(answer.n), answer.n)
    shift = scale(gap - answer.distance, n)
    margin = rounding_margin(pair.a, pair.b, add(pair.centre, shift))
    if not (nearest_of_ovoids(pair, n, answer, shift, goal, 0.0, margin).lower > 0.0):
        return -math.inf
    return answer.distance - gap - margin


@kernel(separate=True)
def proved_contact(pair, answer, goal):
    """Answer for a contact at which non-convex bodies overlap, with the interval proved without a search.

    Balls or inner bodies prove the depth. The normal proves the separating translation, or a proof that the bodies
    moved along it are apart.
    """
    lower, upper = answer.lower, answer.upper
    if not (answer.distance < 0.0 and lower > -math.inf):
        return answer
    if upper - answer.distance > goal - _APART * goal:
        target = -answer.distance - _SHARE_OF_INNER * goal
        depth = inner_depth(pair, answer.fa, answer.fb, answer.n, target)
        if depth > 0.0:
            upper = min(upper, rounding_margin(pair.a, pair.b, pair.centre) - depth)
    if upper - lower > goal and upper - answer.distance <= goal - _APART * goal:
        # In a concavity the normal only proves the bound of the hulls.
        lower = max(lower, bound_by_separation(pair, answer, goal))
    return with_interval(answer, lower, upper, CLOSED)


@kernel
def _own_is_better(one, other):
    """Return whether a contact is better: the smaller distance if apart, the better direction of the hulls if not.

    A shallower contact inside a concavity may leave the bodies overlapping elsewhere, so its depth proves nothing.
    """
    if other.lower == -math.inf:
        return True
    if one.distance >= 0.0 and other.distance >= 0.0:
        return one.distance < other.distance
    return one.lower > other.lower
