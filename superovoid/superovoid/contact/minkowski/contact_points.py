# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Points of two cores that face each other along a direction: the exit of the line along it from M = A - B.

Support points of flats in contact may be any points of a face of M; those that realise the distance belong to its point
on the line along n (docs/explanation/search.md, "Points of flats"). An error delta of n changes the length of x - y by
its square, but h_M(n) by delta itself: on a face the length is the better measure of the distance.

`points_along` finds the points for a direction with given h_M. `find_facing_points` replaces the points of a
closed answer of separate bodies by points that lie along its direction.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import add, combine, dot, norm, rotate, rotate_back, scale, sub
from superovoid.contact.inputs import MOST_STEPS
from superovoid.contact.minkowski.difference import (
    SIMPLEX,
    difference_support,
    gather,
    gjk,
    gjk_start,
    mean_point,
    mean_points,
    polish,
    simplex_direction,
)
from superovoid.contact.minkowski.on_surfaces import direction_of, off_line, onto_surfaces
from superovoid.contact.pair import Pair
from superovoid.shapes.kernels.kinds import CONE, CYLINDER, SUPEROVOID, point_to_core
from superovoid.shapes.kernels.surface import CONCAVITY_DEFICIT, HAS_CONCAVITY

CLOSE = 0.1  # of the goal: points at most this far off the line are not improved
_ATTEMPTS = 5  # directions tried for the points of a contact
HULL_GOAL = 1e-3  # of the smaller body: width to which the depth of hulls over a concavity is searched
ALONG = 5.0  # goals; half of the allowed offset of the points of a proved distance from the normal


class AlignedPoints(NamedTuple):
    """Points x of A and y of B (frame of A) with x - y along a direction n, and h_M along it."""

    n: tuple
    value: float
    x: tuple
    y: tuple
    off: float  # length of x - y less `value` n


@kernel
def holds_means(row, kind):
    """Return whether means of support points belong to the body, as for every convex body."""
    return kind != SUPEROVOID or row[HAS_CONCAVITY] == 0.0


@kernel
def concavity_deficit(row, kind):
    """Return an upper bound of the support of a body's hull less that of a convex body inside the body."""
    return 0.0 if holds_means(row, kind) else row[CONCAVITY_DEFICIT]


@kernel
def _on_strata(pair, local):
    """Return the points of Newton's method on the strata of a simplex."""
    h = difference_support(pair, local.n).h
    return AlignedPoints(local.n, h, local.x, local.y, off_line(local.x, local.y, h, local.n))


@kernel
def _on_superovoid(pair, n):
    """Return the support point of a superovoid along n, and the point of the other core on or next to the line along n.

    A disc in contact has one stratum, its rim, so Newton's method does not find the points in it.
    """
    c = difference_support(pair, n)
    translation = scale(c.h, n)
    off = math.inf
    x, y = c.x, c.y
    if pair.a.kind == SUPEROVOID and (pair.b.kind == CYLINDER or pair.b.kind == CONE):
        y = sub(x, translation)
        off, _, foot, _ = point_to_core(pair.b, rotate_back(pair.rotation, sub(y, pair.centre)))
        y = add(pair.centre, rotate(pair.rotation, foot)) if off > 0.0 else y
    elif pair.b.kind == SUPEROVOID and (pair.a.kind == CYLINDER or pair.a.kind == CONE):
        x = add(y, translation)
        off, _, foot, _ = point_to_core(pair.a, x)
        x = foot if off > 0.0 else x
    return AlignedPoints(n, c.h, x, y, max(off, 0.0))


@kernel(separate=True)
def points_along(pair, n, value, goal, w):
    """Find points of two cores along a direction n with h_M(n) = `value`, or along one next to it with a similar value.

    If n is not precise enough, the normal of GJK's last simplex may be, or the result of Newton's method on its strata.
    """
    limit, best = value + CLOSE * goal, AlignedPoints(n, value, n, n, math.inf)
    for attempt in range(_ATTEMPTS):
        translation = scale(value, n)
        touching = Pair(pair.a, pair.b, pair.rotation, add(pair.centre, translation))
        end = gjk(touching, gjk_start(n), CLOSE * goal, -math.inf, math.inf, w, MOST_STEPS, True)
        x, y = mean_points(w, end.count)
        x, y = onto_surfaces(pair, x, sub(y, translation), n, False)
        off = off_line(x, y, value, n)
        if attempt == 0 or off < best.off:
            best = AlignedPoints(n, value, x, y, off)
        local = polish(pair, n, 0.0, w, gather(w, end.count))
        for other in (_on_strata(pair, local), _on_superovoid(pair, n)):
            if other.off < best.off and other.value <= limit:
                best = other
        if off <= CLOSE * goal or attempt == _ATTEMPTS - 1:
            break
        v = mean_point(w, end.count, SIMPLEX.m)
        normal = simplex_direction(w, end.count, v) if norm(v) > 0.0 else n
        other, least = n, limit
        for direction in (end.n, normal, local.n):
            h = difference_support(pair, direction).h
            if h <= least and norm(sub(direction, n)) > 1e-16:
                other, least = direction, h
        if norm(sub(other, n)) <= 1e-16:
            break
        n, value = other, least
    return best


@kernel
def off_normal(x, y, n):
    """Length of the part of y - x across a direction."""
    u = sub(y, x)
    return norm(combine(1.0, u, -dot(u, n), n))


class FacingPoints(NamedTuple):
    """Points of two separate bodies (frame of A), the direction along which they lie, and the bound it proves."""

    n: tuple
    lower: float
    x: tuple
    y: tuple
    is_found: bool


@kernel
def _with_proof(x, y, n, h, goal, margin):
    """Return points of bodies apart, the bound of a direction with h_M(n) = h, and whether both close the interval."""
    length, bound = norm(sub(y, x)), -h - margin
    is_found = off_normal(x, y, n) <= ALONG * goal and length + margin - bound <= goal
    return FacingPoints(n, min(bound, length), x, y, is_found)


@kernel
def _with_own_direction(pair, x, y, n, goal, margin):
    """As `_with_proof` along the points' own direction, which is near n."""
    n = direction_of(x, y, n)
    return _with_proof(x, y, n, difference_support(pair, n).h, goal, margin)


@kernel(separate=True)
def find_facing_points(pair, x, y, n, lower, goal, margin, w):
    """Find points of two separate bodies along a direction that proves their distance.

    An interval of width e allows the part of y - x across n to be as long as sqrt(2 d e), d the distance. The direction
    of the points replaces n if it proves their length. Otherwise other points are found along n, and their direction
    replaces n if n proves too little. If n proves far less than the known bound, as over a concavity, no other points
    are searched for. If none proves enough, the one that proves most is returned.

    Parameters
    ----------
    pair : Pair
        Of two cores.
    x, y : tuple
        Points of both, in the frame of A.
    n, lower
        A direction and the lower bound of the distance known.
    goal : float
        Width of the interval, m.
    margin : float
        Rounding error of a bound, m.
    w
        A workspace.
    """
    found = _with_own_direction(pair, x, y, n, goal, margin)
    h = difference_support(pair, n).h
    if not found.is_found and h < 0.0:
        other = points_along(pair, n, h, goal, w)
        along = _with_proof(other.x, other.y, other.n, other.value, goal, margin)
        if not along.is_found:
            along = _with_own_direction(pair, other.x, other.y, other.n, goal, margin)
        if along.is_found or (along.lower > found.lower and off_normal(along.x, along.y, along.n) <= ALONG * goal):
            found = along
    return found
