# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Prove answers by nearest points, for bodies that may be apart and have no contact found by Newton's method.

Newton's method may find no contact of bodies with nearly sharp edges and flats, of thin bodies, or at great distances.
Then the nearest points of the bodies prove the answer: those of GJK if the bodies are convex and it takes few steps
(`nearest_by_gjk`), otherwise those of a search (`nearest_pieces`) of whole bodies if they are convex, of pieces if they
are not convex. If a point is proved to be in both bodies, the answer reports an overlap.
"""

from __future__ import annotations

import math

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import combine, dot, norm, rotate_back, scale, sub
from superovoid.contact.inputs import MOST_STEPS
from superovoid.contact.minkowski import contact_points
from superovoid.contact.minkowski.contact_points import off_normal
from superovoid.contact.minkowski.difference import gjk, gjk_start, mean_points, new_workspace
from superovoid.contact.minkowski.on_surfaces import off_line, onto_surfaces
from superovoid.contact.separation import inner_centre, is_in_both, rounding_margin
from superovoid.contact.superovoids.answers import CLOSED, Answer, is_closed, with_interval
from superovoid.contact.superovoids.directions import proved_support
from superovoid.contact.superovoids.nearest_pieces import cores_of, nearest_of_ovoids
from superovoid.shapes.kernels.support_function import LOOSE, support_candidate
from superovoid.shapes.kernels.surface import HAS_CONCAVITY, SIZE
from superovoid.values.status import NON_UNIQUE

_FAR = 10.0  # distance, relative to the smaller body, above which the interval bounds how far off-normal points are


@kernel(_nrt=True)
def points_along(pair, n, value, goal):
    """Call `contact_points.points_along` for two superovoids."""
    return contact_points.points_along(cores_of(pair), n, value, goal, new_workspace())


@kernel
def _answer_overlap(pair, answer, p, goal):
    """Return an open answer for bodies with a common point p: its interval ends at 0, and its points fit it."""
    n = scale(1.0 / norm(answer.n), answer.n)
    lower, distance, x, y = min(answer.lower, 0.0), answer.distance, answer.x, answer.y
    if not (distance < 0.0 and off_line(x, y, -distance, n) <= -lower):
        # The distances from p to both surfaces along the normal: their sum is at most the depth of the hulls.
        x, y = onto_surfaces(cores_of(pair), p, p, n, False)
        if not (distance < 0.0):
            distance = max(lower, min(0.0, dot(n, sub(y, x))))
    upper = max(0.0, lower + off_line(x, y, -distance, n))
    status = NON_UNIQUE if upper - lower <= goal else 0
    return Answer(distance, lower, upper, x, y, answer.n, answer.fa, answer.fb, status, answer.iterations)


@kernel(_nrt=True)
def _answer_separated(pair, answer, goal):
    """Return a separated answer with points along a normal that proves them, or an open answer if none are found.

    Over a concavity no plane may separate the bodies: the normal is the direction of the points with the best bound.
    """
    a, b, x, y = pair.a, pair.b, answer.x, answer.y
    n = scale(1.0 / norm(answer.n), answer.n)
    off, closed = off_normal(x, y, n), is_closed(answer, goal)
    if not (answer.lower > 0.0 and answer.distance > goal):
        return answer
    if closed and off <= goal and -proved_support(pair, n) >= answer.lower - goal:
        return answer
    margin = rounding_margin(a, b, pair.centre)
    found = contact_points.find_facing_points(cores_of(pair), x, y, n, answer.lower, goal, margin, new_workspace())
    n, lower, status = found.n, found.lower, answer.status if closed else answer.status | NON_UNIQUE
    if not found.is_found:
        if a[HAS_CONCAVITY] + b[HAS_CONCAVITY] > 0.0:
            lower, status = answer.lower, answer.status
        elif not closed or off <= contact_points.ALONG * goal or answer.distance > _FAR * min(a[SIZE], b[SIZE]):
            return answer
        else:
            return with_interval(answer, answer.lower, max(answer.upper, answer.distance + off), CLOSED)
    length = norm(sub(found.y, found.x))
    return Answer(length, lower, length + margin, found.x, found.y, n, answer.fa, answer.fb, status, answer.iterations)


@kernel(separate=True, _nrt=True)
def nearest_by_gjk(pair, n, goal, iterations):
    """Answer for two convex bodies by the nearest points of GJK, from a direction n.

    If the bodies overlap, the interval ends at 0 and has no lower end; if GJK is slow, it has no end. The normal is
    then the direction with the least h_M that GJK has found. The surface points are the support points along it.
    """
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    margin, w, cores = rounding_margin(a, b, centre), new_workspace(), cores_of(pair)
    found = gjk(cores, gjk_start(n), 0.5 * goal, -math.inf, math.inf, w, MOST_STEPS, False)
    fa = support_candidate(a, found.n, LOOSE)
    fb = support_candidate(b, rotate_back(rotation, scale(-1.0, found.n)), LOOSE)
    iterations += found.iterations
    if not (found.lower > margin and found.upper - found.lower <= 0.5 * goal):
        distance, upper = (found.lower, 0.0) if found.overlap else (math.inf, math.inf)
        return Answer(distance, -math.inf, upper, n, n, found.n, fa, fb, 0, iterations)
    x, y = mean_points(w, found.count)
    x, y = onto_surfaces(cores, x, y, found.n, False)
    length = norm(sub(y, x))
    lower, upper = min(found.lower - margin, length), length + margin
    answer = Answer(length, lower, upper, x, y, found.n, fa, fb, NON_UNIQUE, iterations)
    return _answer_separated(pair, answer, goal)


@kernel(separate=True, _nrt=True)
def apart_without_contact(pair, answer, goal, beyond):
    """Answer for bodies not proved to overlap; if they are apart, with points that span the distance.

    Neither the depth of the hulls nor a contact of the bodies themselves proves that bodies overlap: they may be apart.
    A point proved to be in both does. If neither separation nor overlap is proved, the nearest points found are the
    answer, with an interval from the depth of the hulls to the distance of the points. The search of them ends once the
    distance is proved to exceed `beyond`.
    """
    if is_closed(answer, goal) or answer.upper <= 0.0:
        return _answer_separated(pair, answer, goal)
    margin = rounding_margin(pair.a, pair.b, pair.centre)
    middle = combine(0.5, answer.x, 0.5, answer.y)
    if answer.lower < 0.0:
        if is_in_both(pair, middle):
            return _answer_overlap(pair, answer, middle, goal)
        is_inner, point = inner_centre(pair)
        if is_inner:
            return _answer_overlap(pair, answer, point, goal)
    n = scale(1.0 / norm(answer.n), answer.n)
    found = nearest_of_ovoids(pair, n, answer, (0.0, 0.0, 0.0), goal, beyond, margin)
    if found.overlap:
        return _answer_overlap(pair, answer, found.common, goal)
    lower = max(answer.lower, found.lower)
    distance, x, y, fa, fb = found.nearest
    if lower <= 0.0 and 0.0 <= answer.distance <= distance:
        return answer
    # The points of bodies that may touch define no direction: use the one that proves the lower end.
    direction = found.n if lower > answer.lower else n
    lower, upper = min(lower, distance), distance + margin
    status = NON_UNIQUE if upper - lower <= goal else 0
    answer = _answer_separated(
        pair, Answer(distance, lower, upper, x, y, direction, fa, fb, status, answer.iterations), goal
    )
    if answer.lower > 0.0 and pair.a[HAS_CONCAVITY] + pair.b[HAS_CONCAVITY] == 0.0:
        # The normal of convex bodies must prove the lower end; another direction may have proved a higher one.
        return with_interval(answer, -proved_support(pair, answer.n) - margin, answer.upper, CLOSED)
    return answer
