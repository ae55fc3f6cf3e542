# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Answers for bodies that may be apart, and of which Newton's method has found no contact: by their nearest points.

Edges and flats that are nearly sharp, thin bodies and great distances leave Newton's method without a contact. There
the nearest points of the bodies prove the answer (`nearest_pieces`): of convex bodies as they are, of bodies with dents
piece by piece. Where a point is found to be in both bodies, they overlap, and the answer says so.
"""

from __future__ import annotations

import math

import numpy as np

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, combine, dot, norm, rotate, rotate_back, scale, sub
from superovoid.contact.minkowski.on_surfaces import along_to_surface, direction_of, off_line
from superovoid.contact.pair import Pair
from superovoid.contact.separation import is_in_both
from superovoid.contact.superovoids.answers import (
    CLOSED,
    COLD_ITERATIONS,
    Answer,
    certify,
    is_closed,
    newton_from,
    newton_tolerance,
    with_interval,
)
from superovoid.contact.superovoids.between_pieces import SHARE_OF_GOAL
from superovoid.contact.superovoids.certificate import rounding_margin
from superovoid.contact.superovoids.contact_of_flats import contact_of_flats
from superovoid.contact.superovoids.directions import descend, minkowski_support, proved_support
from superovoid.contact.superovoids.nearest_pieces import Nearest, nearest_of_pieces
from superovoid.contact.superovoids.newton import observe, refine
from superovoid.shapes.kernels.kinds import CODE, SUPEROVOID, Core
from superovoid.shapes.kernels.support_function import EXACT
from superovoid.shapes.kernels.surface import DENTED, SIZE
from superovoid.values.status import DENT, NON_UNIQUE, UNPROVEN

_NEAREST_VIEWS = np.int64(1000)  # directions that the proof by nearest points may look at
_ALONG = 5.0  # goals; half of what the points of a proved distance may lie off the normal
_FAR = 10.0  # of the smaller body, from which on the interval says how far off they may be


@kernel
def _open_status(pair):
    """Status of an answer that stays open."""
    return UNPROVEN | DENT if pair.a[DENTED] + pair.b[DENTED] > 0.0 else UNPROVEN


@kernel
def _overlapping(pair, answer, p, goal):
    """An open answer of bodies that both hold a point p: with an interval that ends at 0, and points that fit it."""
    out_of_line()
    rotation, centre = pair.rotation, pair.centre
    n = scale(1.0 / norm(answer.n), answer.n)
    lower, distance = min(answer.lower, 0.0), answer.distance
    x, y = answer.x, add(centre, rotate(rotation, answer.y))
    if not (distance < 0.0 and off_line(x, y, -distance, n) <= -lower):
        # The ways out of both bodies along the normal: together no longer than the depth of the hulls.
        x = along_to_surface(pair.a, p, n)
        y = along_to_surface(pair.b, rotate_back(rotation, sub(p, centre)), rotate_back(rotation, scale(-1.0, n)))
        y = add(centre, rotate(rotation, y))
        if not (distance < 0.0):
            distance = max(lower, min(0.0, dot(n, sub(y, x))))
    upper = max(0.0, lower + off_line(x, y, -distance, n))
    status, y = NON_UNIQUE if upper - lower <= goal else _open_status(pair), rotate_back(rotation, sub(y, centre))
    return Answer(distance, lower, upper, x, y, answer.n, answer.fa, answer.fb, status, answer.iterations)


@kernel
def _with_points(pair, answer, x, y, n, lower, status):
    """The same answer with other points, apart, the direction that proves them, and its lower end."""
    rotation, centre = pair.rotation, pair.centre
    length, own_y = norm(sub(y, x)), rotate_back(rotation, sub(y, centre))
    upper = length + rounding_margin(pair.a, pair.b, centre)
    return Answer(length, lower, upper, x, own_y, n, answer.fa, answer.fb, status, answer.iterations)


@kernel(separate=True)
def facing(pair, answer, goal):
    """A closed answer from points apart, with points that lie along its normal as promised; or an open one.

    The interval of two points and a direction may be closed long before the points lie along it.
    """
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    n = scale(1.0 / norm(answer.n), answer.n)
    x, y = answer.x, add(centre, rotate(rotation, answer.y))
    off = off_line(x, y, dot(n, sub(x, y)), n)
    if not (answer.lower > 0.0 and is_closed(answer, goal) and off > _ALONG * goal):
        return answer
    margin = rounding_margin(a, b, centre)
    # Whatever way they were found: they are on the surfaces, and length and direction are looked at.
    flat = contact_of_flats(pair, n, -answer.lower - margin, goal)
    length, left = norm(sub(flat.y, flat.x)), off_line(flat.x, flat.y, dot(n, sub(flat.x, flat.y)), n)
    if left <= _ALONG * goal and length + margin - answer.lower <= goal:
        return _with_points(pair, answer, flat.x, flat.y, n, min(answer.lower, length), answer.status)
    # The direction of the points may prove as much.
    direction = direction_of(x, y, n)
    length = norm(sub(y, x))
    lower = -proved_support(pair, direction) - margin
    if length + margin - lower <= goal:
        return _with_points(pair, answer, x, y, direction, min(lower, length), answer.status)
    if answer.distance > _FAR * min(a[SIZE], b[SIZE]):
        return answer
    return with_interval(answer, answer.lower, max(answer.upper, answer.distance + off), _open_status(pair))


@kernel(separate=True)
def apart_without_contact(pair, answer, goal):
    """Answer for bodies that are not proved to overlap: where they are apart, with points that span it.

    Neither the depth of the hulls nor an own contact says anything of bodies that are apart elsewhere. So they are
    overlapping where a point is proved to be in both. Where neither is proved, the nearest points found are the answer,
    with an interval that goes from the depth of the hulls to their distance.
    """
    out_of_line()
    if is_closed(answer, goal) or answer.upper <= 0.0:
        return facing(pair, answer, goal)
    rotation, centre = pair.rotation, pair.centre
    margin = rounding_margin(pair.a, pair.b, centre)
    y = add(centre, rotate(rotation, answer.y))
    middle = combine(0.5, answer.x, 0.5, y)
    if answer.lower < 0.0 and is_in_both(pair, middle):
        return _overlapping(pair, answer, middle, goal)
    known = Nearest(norm(sub(y, answer.x)), answer.x, y, answer.fa, answer.fb)
    n = scale(1.0 / norm(answer.n), answer.n)
    kind = CODE[SUPEROVOID]
    cores = Pair(Core(pair.a, kind, pair.a), Core(pair.b, kind, pair.b), rotation, pair.centre)  # refer to no pool
    found = nearest_of_pieces(cores, n, known, SHARE_OF_GOAL * goal, math.inf, margin, _NEAREST_VIEWS)
    if found.overlap:
        return _overlapping(pair, answer, found.common, goal)
    lower = max(answer.lower, found.lower)
    x, y, distance = found.nearest.x, found.nearest.y, found.nearest.distance
    if lower <= 0.0 and 0.0 <= answer.distance <= distance:
        return answer
    # Bodies that may touch have the direction that proves the lower end: their points have none of their own. So have
    # convex bodies of which the points are not near enough.
    along = found.n if lower > answer.lower else n
    closed = distance + margin - lower <= goal
    convex = pair.a[DENTED] + pair.b[DENTED] == 0.0
    spans = lower > 0.0 and distance > goal and (closed or not convex)
    direction = direction_of(x, y, n) if spans else along
    h = -lower
    if closed:
        h = proved_support(pair, direction)
    if h > -lower:
        # Where the contact is one of the hulls too, its normal is to prove it: points of flats along a direction.
        height = proved_support(pair, found.n)
        if height < h:
            flat = contact_of_flats(pair, found.n, height, goal)
            length = norm(sub(flat.y, flat.x))
            if length + margin - lower <= goal and proved_support(pair, flat.n) <= goal - lower:
                x, y, direction, distance = flat.x, flat.y, flat.n, length
                h = -lower
        if convex and h > goal - lower:
            direction = along
    lower, upper, y = min(lower, distance), distance + margin, rotate_back(rotation, sub(y, centre))
    status = NON_UNIQUE if closed else _open_status(pair)
    _, _, _, fa, fb = found.nearest
    answer = Answer(distance, lower, upper, x, y, direction, fa, fb, status, answer.iterations)
    return facing(pair, answer, goal)


@kernel
def polished(pair, answer, goal):
    """An answer from points with what its own normal proves; or the contact that Newton's method finds from there.

    It begins along the normal, and then along the direction of the points.
    """
    out_of_line()
    if not (answer.lower > 0.0):
        return answer
    tolerance = newton_tolerance(pair.a, pair.b, pair.centre, goal)
    n = answer.n
    for attempt in range(2):
        if attempt == 1:
            n = direction_of(answer.x, add(pair.centre, rotate(pair.rotation, answer.y)), n)
        _, fa, fb = minkowski_support(pair, n, EXACT)
        own = newton_from(pair, fa, fb, goal, COLD_ITERATIONS, answer.iterations)
        if own.lower == -math.inf:
            ok, _, fa, fb, _ = descend(pair, n, fa, fb, tolerance)
            if ok:
                fa, fb, k = refine(pair, fa, fb, observe(pair, fa, fb, min(pair.a[SIZE], pair.b[SIZE])))
                if k.residual < tolerance:
                    own = certify(pair, fa, fb, k, goal, own.iterations)
        if is_closed(own, goal):
            return own
    lower = -proved_support(pair, answer.n) - rounding_margin(pair.a, pair.b, pair.centre)
    return with_interval(answer, lower, answer.upper, CLOSED)
