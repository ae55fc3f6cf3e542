# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Answers for bodies with dents: of the bodies where that can be proved, of their hulls where it cannot.

Apart, the bodies are proved piece by piece (`nearest_pieces`). Where they overlap, an own contact of theirs is proved
from both sides: moved apart along its normal by its depth they are proved to be apart, piece by piece, and convex
bodies inside them are proved to overlap no less (`inner_search`).
"""

from __future__ import annotations

import math

import numpy as np

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, combine, norm, rotate, rotate_back, scale, sub
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
from superovoid.contact.superovoids.certificate import clear_of_dent, rounding_margin
from superovoid.contact.superovoids.directions import proved_support
from superovoid.contact.superovoids.inner_search import inner_depth
from superovoid.contact.superovoids.nearest_pieces import SHARE_OF_GOAL, Nearest, nearest_of_ovoids
from superovoid.contact.superovoids.without_contact import points_along
from superovoid.shapes.kernels.support_function import other_support
from superovoid.shapes.kernels.surface import position
from superovoid.values.status import ARBITRARY_NORMAL, DENT, NON_UNIQUE, UNPROVEN

_APART, _SHARE_OF_INNER = 0.5, 0.25  # of the goal, by which the proofs of an overlap may leave it open to either side
PIECE_VIEWS = np.int64(1000)  # directions that the proofs by pieces may look at, for all contacts of a pair together
_PARTED_VIEWS = np.int64(500)
_INNER_BUDGET, _BUDGET_AGAIN = np.int64(450), np.int64(225)  # at a contact, and with what a search of the hulls tells


@kernel(separate=True)
def apart_over_dents(pair, answer, goal, views):
    """Answer for bodies with dents that are apart, from an own contact of theirs: proved piece by piece.

    Closed, or else the answer as it was: bodies that overlap elsewhere, or are no farther apart than the goal, or that
    would take more directions than `views`. Returns how many of these are left, too.
    """
    margin = rounding_margin(pair.a, pair.b, pair.centre)
    y = add(pair.centre, rotate(pair.rotation, answer.y))
    known = Nearest(answer.distance, answer.x, y, answer.fa, answer.fb)
    found = nearest_of_ovoids(pair, answer.n, known, SHARE_OF_GOAL * goal, margin, views)
    views -= found.views
    if not (found.lower > 0.0):
        return answer, views
    own = answer
    if found.nearest.distance < answer.distance - margin:
        own = newton_from(pair, found.nearest.fa, found.nearest.fb, goal, COLD_ITERATIONS, answer.iterations)
    own = with_interval(own, max(own.lower, found.lower), own.upper, CLOSED)
    return (own if is_closed(own, goal) else answer), views


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
    inner_budget = _BUDGET_AGAIN  # inner bodies have been tried at the contact that is given
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
                best, inner_budget = own, _INNER_BUDGET
    refuted = best.distance < hull_lower
    if best.lower == -math.inf or refuted or (best.distance >= 0.0 and hull_lower <= 0.0 and optimum.value > 0.0):
        # No common normal found, or one deeper than the hulls are, or one at which the bodies are apart while their
        # hulls overlap, which proves nothing: the depth of the hulls is the answer on the safe side.
        margin = rounding_margin(a, b, centre)
        x, y = points_at_hulls(pair, best, optimum, goal)
        length = norm(sub(y, x))
        value, upper = optimum.value, length + margin
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
        best = proved_overlap(pair, best, goal, inner_budget)
        if optimum.rival <= -best.distance + goal:
            best = with_interval(best, best.lower, best.upper, ARBITRARY_NORMAL)
    status = best.status if best.upper - best.lower <= goal else UNPROVEN | DENT
    distance, lower, upper, x, y, n, fa, fb, _, _ = best
    return Answer(distance, lower, upper, x, y, n, fa, fb, status, iterations)


@kernel
def parted(pair, answer, goal):
    """Lower bound of the signed distance of two bodies that overlap at an own contact: minus a way that parts them.

    B is moved along the normal by the depth of the contact and half of the goal; the bodies are then proved to be
    apart, piece by piece. -inf where they are not, or it takes too long.
    """
    out_of_line()
    rotation = pair.rotation
    gap = _APART * goal
    n = scale(1.0 / norm(answer.n), answer.n)
    centre = combine(1.0, pair.centre, gap - answer.distance, n)
    margin = rounding_margin(pair.a, pair.b, centre)
    moved = Pair(pair.a, pair.b, rotation, centre)
    y = add(centre, rotate(rotation, answer.y))
    known = Nearest(norm(sub(y, answer.x)), answer.x, y, answer.fa, answer.fb)
    if not (nearest_of_ovoids(moved, n, known, SHARE_OF_GOAL * goal, margin, _PARTED_VIEWS).lower > 0.0):
        return -math.inf
    return answer.distance - gap - margin


@kernel
def proved_overlap(pair, answer, goal, budget):
    """Answer for an own contact at which bodies with dents overlap, with what is proved of the bodies themselves.

    The budget is of support points of inner bodies.
    """
    out_of_line()
    lower, upper = answer.lower, answer.upper
    if upper - answer.distance > _SHARE_OF_INNER * goal:
        target = -answer.distance - _SHARE_OF_INNER * goal
        depth = inner_depth(pair, answer.fa, answer.fb, answer.n, target, budget)
        if depth > 0.0:
            upper = min(upper, rounding_margin(pair.a, pair.b, pair.centre) - depth)
    if upper - lower > goal:
        lower = max(lower, parted(pair, answer, goal))
    return with_interval(answer, lower, upper, CLOSED)


@kernel(separate=True)
def proved_contact(pair, answer, goal):
    """Answer for an own contact of bodies with dents that overlap, proved without a search of the hulls.

    The depth is proved by balls or else by inner bodies, the way out by the normal or else by the bodies being apart
    once they are moved along it. Where not both are proved the answer stays open.
    """
    out_of_line()
    if answer.distance < 0.0 and answer.upper - answer.distance <= goal - _APART * goal:
        lower = parted(pair, answer, goal)
        if lower > answer.lower:
            answer = with_interval(answer, lower, answer.upper, CLOSED)
        return answer
    if not (answer.distance < 0.0 and answer.lower > -math.inf):
        return answer
    target = -answer.distance - _SHARE_OF_INNER * goal
    depth = inner_depth(pair, answer.fa, answer.fb, answer.n, target, _INNER_BUDGET)
    if not (depth >= target):
        return answer
    upper = min(answer.upper, rounding_margin(pair.a, pair.b, pair.centre) - depth)
    lower = answer.lower
    if upper - lower > goal:
        # In a dent the normal proves no more than of the hulls.
        lower = max(lower, parted(pair, answer, goal))
        if upper - lower > goal:
            return answer
    return with_interval(answer, lower, upper, CLOSED)


@kernel
def points_at_hulls(pair, best, optimum, goal):
    """Surface points of bodies with a dent next to the contact of their hulls, both in the frame of A.

    Apart the nearest that are known, overlapping those whose difference is next to the depth along the direction: the
    hulls' contact brought onto the bodies, its support points, or where Newton has ended.
    """
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    value = optimum.value if optimum.value > 0.0 else 0.0
    flat = points_along(pair, optimum.n, optimum.value, goal)
    x, y = flat.x, flat.y
    least = off_line(x, y, value, optimum.n)
    for i in range(2):
        if i == 1 and best.lower == -math.inf:
            continue
        fx = position(a, optimum.fa) if i == 0 else best.x
        fy = add(centre, rotate(rotation, position(b, optimum.fb) if i == 0 else best.y))
        off = off_line(fx, fy, value, optimum.n)
        if off < least:
            x, y, least = fx, fy, off
    return x, y


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
