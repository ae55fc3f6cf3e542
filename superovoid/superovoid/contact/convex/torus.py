# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""A torus, a circle with a ball around it, against any other body.

Apart: the smallest signed distance d of a point c(phi) of the circle from the other core, by branch and bound over
arcs. One evaluation bounds d on the whole circle:

convex core    d is convex and n its subgradient: d(q) >= d(p) + n . (q - p), a sinusoid along the circle
other circle   d^2 = |q|^2 + R^2 - 2 R rho(q), rho the distance from its axis, and 2 rho <= rho^2 / rho_0 + rho_0: a
               trigonometric polynomial of degree two, below which lies the parabola of its largest second derivative

Both are exact to second order at the middle of an arc. The arc with the least bound is cut in three. From the best
point the secant rule finds the root of the derivative.

Overlapping bodies need not be convex: a ball of the torus alone bounds the depth from below (r - d at the best point).
The depth of the hulls bounds it from above, as does a translation that the search proves to separate the bodies. If
these bounds do not meet, the answer stays open.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import add, combine, dot, norm, rotate, rotate_back, scale, sub
from superovoid.contact.convex import alternating, cores, nearest_to_core, next_to_concavity
from superovoid.contact.minkowski import difference, revolution
from superovoid.contact.minkowski.contact_points import holds_means
from superovoid.contact.minkowski.flats import REACH, touching_flats
from superovoid.contact.minkowski.on_surfaces import direction_of
from superovoid.contact.pair import Limit, Pair
from superovoid.shapes.kernels import kinds
from superovoid.shapes.kernels.rounding import EPS
from superovoid.shapes.kernels.surface import A1, A2, RADIUS, SIZE
from superovoid.values.status import NON_UNIQUE

_FIRST_ARCS, _MOST_ARCS = 6, 400
_SECANT_STEPS = 12
_LEAST_STEP = 1e-3  # rad, of the first step
_SAME_AXES = np.eye(3)
_ADVANCES = 9  # places tried on the way back from a translation that separates the bodies by more than necessary


@kernel
def _distance_at(pair, n, goal, budget, w):
    """Distance of a point B from the core of A: `CoreAnswer` with n from A to the point."""
    a, ka, p = pair.a.row, pair.a.kind, pair.centre
    if ka == kinds.TORUS:
        d, n, foot, _ = kinds.point_to_circle(a, p)
        return cores.CoreAnswer(d, d, d, foot, p, n, 1, 0)
    if ka == kinds.CONVEX_MESH:
        d, _, _, _ = kinds.point_in_hull(pair.a, p)
        closed = d <= 0.0
    else:
        closed = ka != kinds.SUPEROVOID and ka != kinds.TRIANGLE
    if closed:
        d, n, foot, _ = kinds.point_to_core(pair.a, p)
        return cores.CoreAnswer(d, d, d, foot, p, n, 1, 0)
    if ka == kinds.TRIANGLE:
        k = alternating.nearest_points(pair, goal, difference.error_margin(a, pair.b.row, p), math.inf)
        if k.upper - k.lower <= goal:
            return k
    if nearest_to_core.is_for(pair.b.kind, ka, a):
        # In the frame of A, moved to the point.
        apart = Pair(pair.b, pair.a, _SAME_AXES, scale(-1.0, p))
        k, _ = nearest_to_core.solve(apart, scale(-1.0, n), goal, difference.error_margin(a, pair.b.row, p), math.inf)
        if k.upper - k.lower <= goal:
            return cores.CoreAnswer(k.distance, k.lower, k.upper, add(k.y, p), p, scale(-1.0, k.n), k.iterations, 0)
    k = cores.solve_cores(pair, n, goal, Limit(0.0, budget, math.inf, -math.inf), w)
    # The best bound may be that of another direction; only with its own is n a subgradient.
    c = difference.difference_support(pair, k.n)
    return cores.CoreAnswer(k.distance, min(-c.h, k.distance), k.upper, k.x, k.y, k.n, k.iterations, k.status)


@kernel
def _circle_frame(rotation, phi):
    """Radial and tangential unit vectors at an angle of the circle, in the frame of A."""
    c, s = math.cos(phi), math.sin(phi)
    return rotate(rotation, (c, s, 0.0)), rotate(rotation, (-s, c, 0.0))


@kernel
def _tilt(a, ka, p, d):
    """Bound of the angle by which the direction from the foot of a closed form to a point d away is rounded."""
    if d <= 0.0 or ka == kinds.SUPEROVOID or ka == kinds.TRIANGLE or ka == kinds.CONVEX_MESH:
        return 0.0  # inside an axis or a normal; of a search its own support point
    return min(2.0, 16.0 * EPS * (norm(p) + a[RADIUS]) / d)


@kernel
def _bound_convex(lower, n, tilt, radius, er, et, half):
    """Least of lower + n . (c(phi + psi) - c(phi)) over |psi| <= half, for an n that may be tilted."""
    nr, nt = dot(n, er), dot(n, et)
    least = min(nr * (math.cos(half) - 1.0) + nt * math.sin(half), nr * (math.cos(half) - 1.0) - nt * math.sin(half))
    if abs(math.atan2(-nt, -nr)) < half:
        least = min(least, -math.hypot(nr, nt) - nr)
    return lower + radius * (min(least, 0.0) - tilt * half)


@kernel
def _bound_circle(other, p, d, centre, radius, er, et, half):
    """Bound the distance of an arc of one circle from another, whose axis is z, from below.

    d is the distance of the middle p of the arc. The square is computed from that of d, not from its terms, which may
    be larger by the ratio of the circles' size to their distance; the rounding error of the rest is subtracted.
    """
    rho = math.hypot(p[0], p[1])
    near_axis = rho < 1e-3 * other
    rho = max(rho, 1e-3 * other)
    share = 1.0 - other / rho
    # q = centre + radius (er cos psi + et sin psi); share (qx^2 + qy^2) + qz^2 in cosines and sines of psi and 2 psi.
    a1 = b1 = a2 = b2 = value = slope = 0.0
    for i in range(3):
        weight = share if i < 2 else 1.0
        c, e, t = centre[i], radius * er[i], radius * et[i]
        a1 += 2.0 * weight * c * e
        b1 += 2.0 * weight * c * t
        a2 += 0.5 * weight * (e * e - t * t)
        b2 += weight * e * t
        value += weight * (c + e) * (c + e)
        slope += 2.0 * weight * (c + e) * t
    bend = math.hypot(a1, b1) + 4.0 * math.hypot(a2, b2)
    square = value + other * (other - rho) if near_axis else d * d
    long = norm(p)
    rounded = square + half * radius * (2.0 * long + half * (norm(centre) + 2.0 * radius))
    square -= abs(slope) * half + 0.5 * bend * half * half + 8.0 * EPS * rounded
    return math.sqrt(square) if square > 0.0 else 0.0


@kernel(_nrt=True)
def _nearest_in_concavity(pair, n, goal, enough, budget, w):
    """Do as `nearest_on_circle` for a non-convex superovoid; for a common point with the circle, return its depth."""
    margin = difference.error_margin(pair.a.row, pair.b.row, pair.centre)
    found = next_to_concavity.nearest_points(pair, n, 0.5 * goal, enough, margin)
    length = norm(sub(found.y, found.x)) if found.upper < math.inf else math.inf
    n = direction_of(found.x, found.y, found.n)
    if found.upper <= 0.0:
        point = kinds.Core(pair.b.row, kinds.CODE[kinds.POINT], pair.b.pool)
        k = _distance_at(Pair(pair.a, point, pair.rotation, found.y), n, 0.25 * goal, budget, w)
        return cores.CoreAnswer(k.distance, -math.inf, k.upper, k.x, k.y, k.n, found.views + k.iterations, k.status)
    lower = min(found.lower + margin, length)
    return cores.CoreAnswer(length, lower, max(length, found.upper - margin), found.x, found.y, n, found.views, 0)


@kernel
def _nearer_place(best, elsewhere, at, aside):
    """The nearer of two places, and the least distance known of a place far from the nearest."""
    if norm(sub(at.y, best.y)) > aside:
        elsewhere = min(elsewhere, max(at.distance, best.distance))
    return (at if at.distance < best.distance else best), elsewhere


class _Place(NamedTuple):
    """A point of the circle: the answer for it, its position, and the radial and tangential directions."""

    at: cores.CoreAnswer
    p: tuple
    radial: tuple
    tangent: tuple


@kernel
def _look(pair, phi, n, goal, budget, w):
    """The point of the circle of B at an angle, from a direction that may be that of its nearest point of A."""
    er, et = _circle_frame(pair.rotation, phi)
    p = combine(1.0, pair.centre, pair.b.row[A1], er)
    point = kinds.Core(pair.b.row, kinds.CODE[kinds.POINT], pair.b.pool)
    at = _distance_at(Pair(pair.a, point, pair.rotation, p), n, goal, budget, w)  # a point has no axes
    return _Place(at, p, er, et)


@kernel
def _bound_of_arc(pair, place, half):
    """Lower bound of the distance of A from the arc about a place, half as long."""
    at, radius = place.at, pair.b.row[A1]
    if pair.a.kind == kinds.TORUS:
        other = pair.a.row[A1]
        return _bound_circle(other, place.p, at.distance, pair.centre, radius, place.radial, place.tangent, half)
    tilt = _tilt(pair.a.row, pair.a.kind, place.p, at.distance)
    return _bound_convex(at.lower, at.n, tilt, radius, place.radial, place.tangent, half)


@kernel
def _at_root(pair, best, first, goal, budget, w):
    """Move a nearest point of the circle to the root of the distance's derivative, by the secant rule.

    The distance determines the place to the root of its error, its derivative to rounding. `first` is the first step,
    rad. Ends at a concavity of A, where the direction is known to the root of the tolerance only. The iterations of
    the answer are those spent here.
    """
    p = rotate_back(pair.rotation, sub(best.y, pair.centre))
    here, other, slope, spent = math.atan2(p[1], p[0]), 0.0, 0.0, 0
    for k in range(_SECANT_STEPS):
        place = _look(pair, here, best.n, 0.25 * goal, budget, w)
        spent += place.at.iterations
        if place.at.distance - place.at.lower > goal:
            break
        here_slope = dot(place.at.n, place.tangent)
        if place.at.distance <= best.distance + 1e-3 * goal:
            best = place.at
        step = -math.copysign(first, here_slope)
        if k > 0:
            step = here_slope * (here - other) / (slope - here_slope) if slope != here_slope else 0.0
        if abs(here_slope) < 1e-14 or abs(step) < 1e-12:
            break
        step = min(difference.MOST_TURN, max(-difference.MOST_TURN, step))
        other, slope, here = here, here_slope, here + step
    return cores.CoreAnswer(best.distance, best.lower, best.upper, best.x, best.y, best.n, spent, best.status)


@kernel(_nrt=True, separate=True)
def nearest_on_circle(pair, n, goal, enough, overlap, budget, w):
    """Point of the circle of a torus B with the least signed distance from the core of A.

    Returns a `CoreAnswer` whose y is the point of the circle; `NON_UNIQUE` is set if one far from it was found to be as
    near.
    Ends early if the bound exceeds `enough`, and unproved after a few arcs if the distance is below `overlap`.
    """
    a, ka = pair.a.row, pair.a.kind
    b, rotation, centre = pair.b.row, pair.rotation, pair.centre
    if not holds_means(a, ka):
        found = _nearest_in_concavity(pair, n, goal, enough, budget, w)
        if not (0.0 < found.distance and found.lower <= enough):
            return found
        best = _at_root(pair, found, _LEAST_STEP, goal, budget, w)
        spent = found.iterations + best.iterations
        return cores.CoreAnswer(
            best.distance, min(found.lower, best.distance), best.upper, best.x, best.y, best.n, spent, found.status
        )
    middles, halves, bounds = np.empty(_MOST_ARCS), np.empty(_MOST_ARCS), np.empty(_MOST_ARCS)
    best = cores.CoreAnswer(math.inf, -math.inf, math.inf, n, n, n, 0, 0)
    aside, elsewhere = REACH * min(a[SIZE], b[SIZE]), math.inf
    spent = 0
    fine = 0.25 * goal
    if ka == kinds.CAPSULE or ka == kinds.CYLINDER or ka == kinds.CONE or ka == kinds.TORUS:
        slack = revolution.axial_slack(b, rotation, centre)
        if slack <= 0.1 * goal:
            # With a common axis all points of the circle are equally far.
            k = _look(pair, 0.0, n, fine, budget, w).at
            return cores.CoreAnswer(k.distance, k.lower - 2.0 * slack, k.upper, k.x, k.y, k.n, 1, k.status | NON_UNIQUE)
    # The first arcs start at the point that faces A.
    toward = rotate_back(rotation, scale(-1.0, centre))
    first = math.atan2(toward[1], toward[0]) if abs(toward[0]) + abs(toward[1]) > 0.0 else 0.0
    for i in range(_FIRST_ARCS):
        middles[i] = first + 2.0 * math.pi * i / _FIRST_ARCS
        halves[i] = math.pi / _FIRST_ARCS
    proved = -math.inf
    worst, known, count = 0, 1, _FIRST_ARCS  # changed arcs: `worst`, and those from `known` on
    while True:
        for k in range(known - 1, count):
            i = worst if k < known else k
            place = _look(pair, middles[i], best.n, fine, budget, w)
            spent += place.at.iterations
            best, elsewhere = _nearer_place(best, elsewhere, place.at, aside)
            bounds[i] = max(proved, _bound_of_arc(pair, place, halves[i]))
        worst = 0
        for i in range(1, count):
            if bounds[i] < bounds[worst]:
                worst = i
        proved = bounds[worst]
        if best.distance - proved <= 0.5 * goal or proved > enough or count + 3 > _MOST_ARCS:
            break
        if best.distance < overlap and count > _FIRST_ARCS + 2:
            break
        # Thirds keep the middle as the middle of its part.
        middle, half = middles[worst], halves[worst] / 3.0
        halves[worst], known = half, count
        for side in (-2.0, 2.0):
            middles[count], halves[count] = middle + side * half, half
            count += 1
    best = _at_root(pair, best, max(halves[worst], _LEAST_STEP), goal, budget, w)
    spent += best.iterations
    status = best.status | (NON_UNIQUE if elsewhere <= best.distance + goal else 0)
    return cores.CoreAnswer(
        best.distance, min(proved, best.distance), best.upper, best.x, best.y, best.n, spent, status
    )


@kernel(_nrt=True)
def solve(pair, n, goal, limit):
    """Signed distance of a convex body or a torus A and a torus B, with flags of the status. Radii are counted.

    Ends as soon as the interval decides about the ends of the limit.
    """
    w = difference.new_workspace()
    a, ka, b = pair.a.row, pair.a.kind, pair.b.row
    rotation, centre, budget = pair.rotation, pair.centre, limit.budget
    margin = difference.error_margin(a, b, centre) + a[kinds.PLANE_LOSS]
    ball_a, ball_b = kinds.ball_radius(a, ka), b[A2]
    radii = ball_a + ball_b
    near = radii + max(-goal, limit.below - margin)
    # The distance of the circle from A bounds no depth.
    core = nearest_on_circle(pair, n, goal, max(0.0, limit.beyond) + radii + margin, near, budget, w)
    distance, lower, upper, x, y, _, _, _ = cores.with_balls(core, ball_a, ball_b)
    lower, upper = lower - margin, upper + margin
    # The direction of a search is known to the square root of its tolerance only; its points are exact.
    n = direction_of(x, y, core.n) if distance > goal else core.n
    shared = core.status & NON_UNIQUE != 0 or touching_flats(pair, core.x, core.y, n, min(a[SIZE], b[SIZE]))
    flags = NON_UNIQUE if shared else 0
    if distance >= 0.0:
        return cores.CoreAnswer(distance, lower, max(upper, distance), x, y, n, core.iterations, flags)
    if upper < limit.below:
        return cores.CoreAnswer(distance, -math.inf, upper, x, y, core.n, core.iterations, flags)
    # The hulls: a disc with a ball for the torus.
    hulls = cores.solve_cores(pair, core.n, goal, Limit(0.0, budget, math.inf, -math.inf), w)
    deepest = hulls.lower - radii
    if deepest >= limit.beyond:
        return cores.CoreAnswer(distance, min(deepest, distance), upper, x, y, hulls.n, core.iterations, flags)
    # The shortest translation of a point of the circle out of A may leave the rest of the circle in A.
    if upper - deepest <= goal and difference.difference_support(pair, core.n).h + radii <= goal - distance:
        return cores.CoreAnswer(distance, min(deepest, distance), upper, x, y, core.n, core.iterations, flags)
    # Does the translation by the depth of the ball separate the bodies?
    step = -distance + 0.75 * goal
    enough = radii + 2.0 * margin
    there = Pair(pair.a, pair.b, rotation, add(centre, scale(step, core.n)))
    away = nearest_on_circle(there, core.n, goal, enough, radii, budget, w)
    if away.lower > enough:
        return cores.CoreAnswer(distance, -step, upper, x, y, core.n, core.iterations + away.iterations, flags)
    # The hulls' translation separates the bodies; so does one shorter by their distance after it.
    length = 0.25 * goal - deepest
    iterations = core.iterations + away.iterations
    for i in range(_ADVANCES):
        there = Pair(pair.a, pair.b, rotation, add(centre, scale(length, hulls.n)))
        away = nearest_on_circle(there, hulls.n, 0.25 * goal, math.inf, -math.inf, budget, w)
        iterations += away.iterations
        _, gap, _, x, y, _, _, _ = cores.with_balls(away, ball_a, ball_b)
        gap, y = gap - margin, combine(1.0, y, -length, hulls.n)
        if gap <= goal or i == _ADVANCES - 1:
            break
        length -= gap
    if away.status & NON_UNIQUE != 0 or touching_flats(there, away.x, away.y, away.n, min(a[SIZE], b[SIZE])):
        flags |= NON_UNIQUE
    return cores.CoreAnswer(-length, -length, max(upper, -length), x, y, hulls.n, iterations, flags)
