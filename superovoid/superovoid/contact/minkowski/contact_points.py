# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Points of two cores that face each other along a direction: where the line along it leaves M = A - B.

At the direction n of the signed distance the contact of flat parts is a face of M, any point of which may be had as a
support point, while the pair of points that realises the distance belongs to the point of that face on the line along n
(and the same line inside M where the bodies overlap). It is a mean of up to three points of M, the same mean for both
bodies, and found in two parts, both from support points alone:

enclose   finds points of M around the line: GJK in the plane across n, with directions that are tilted from n towards
          the line by the least tilt that makes progress
rise      replaces one of the three points by the farthest support point beyond their plane, so that the line still
          passes between them: the portal of Snethen, "XenoCollide", Game Programming Gems 7 (2008)

No point of M lies beyond the last plane by more than the tolerance, so the mean is within the tolerance of the boundary
of M, and the two points of the surfaces of their bodies. Points of superovoids are then moved along n onto the surface.
An error delta of n changes the length of x - y by its square, but h_M(n) by delta itself: on a face the length is the
better measure of the distance.

`points_along` finds the points for a direction with given h_M. `facing` replaces the points of a closed answer of
separate bodies by points that lie along its direction.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, combine, cross, dot, norm, rotate, rotate_back, scale, sub
from superovoid.contact.minkowski.difference import (
    M,
    X,
    Y,
    difference_candidate,
    difference_support,
    gather,
    mean_point,
    nearest_of_simplex,
    polish,
    put,
    row_point,
    segment_weights,
    triangle_weights,
    weigh,
)
from superovoid.contact.minkowski.on_surfaces import along_to_surface, direction_of, off_line
from superovoid.shapes.kernels.kinds import SUPEROVOID
from superovoid.shapes.kernels.surface import DENT_DEFICIT, DENTED

_ENCLOSING, _RISING = 24, 64  # support points spent on either part
_TILT, _WIDER, _WIDEST = 1e-4, 100.0, 1e7  # of the direction towards the line: the first, the factor, the last
NEAR, _RISEN = 0.02, 0.04  # of the goal: offset from the line, and what may lie beyond the last plane
_UPRIGHT = 1e-9  # cosine between n and the normal of a plane that holds the line
_ATTEMPTS = 5  # directions tried for the points of a contact
_MOST_CORNERS = 128  # support points of M after which no further direction is tried
_CLOSE = 0.1  # of the goal: points that far off the line are not improved
_OF_HULLS = 0.5  # of a lower bound, that a direction of the hulls proves at least
ALONG = 5.0  # goals; half of what the points of a proved distance may lie off the normal


class Aligned(NamedTuple):
    """Points x of A and y of B (frame of A) with x - y along a direction n, and h_M along it."""

    n: tuple
    value: float
    x: tuple
    y: tuple
    off: float  # length of what keeps x - y from being `value` n


class _Exit(NamedTuple):
    """Rows of a workspace whose mean is where a line leaves M."""

    count: int  # type: ignore[assignment] # hides tuple.count
    normal: tuple  # unit, of the plane through the rows, which next to none of M lies beyond
    spent: int  # support points


@kernel
def holds_means(row, kind):
    """Return whether means of support points belong to the body, as for every convex body."""
    return kind != SUPEROVOID or row[DENTED] == 0.0


@kernel
def dent_deficit(row, kind):
    """Return an upper bound of the support of a body's hull less that of a convex body inside the body."""
    return 0.0 if holds_means(row, kind) else row[DENT_DEFICIT]


@kernel
def superovoids_on_surfaces(pair, x, y, n):
    """Means of support points, in the frame of A, those of superovoids brought onto the surface along n."""
    out_of_line()
    b, rotation, centre = pair.b.row, pair.rotation, pair.centre
    if pair.a.kind == SUPEROVOID:
        x = along_to_surface(pair.a.row, x, n)
    if pair.b.kind == SUPEROVOID:
        local = rotate_back(rotation, sub(y, centre))
        y = add(centre, rotate(rotation, along_to_surface(b, local, rotate_back(rotation, scale(-1.0, n)))))
    return x, y


@kernel
def _place(w, k, c, n):
    """Put a support point into a row of the workspace, in the column M its part across n."""
    put(w, k, c)
    w[k, M], w[k, M + 1], w[k, M + 2] = combine(1.0, c.m, -dot(n, c.m), n)


@kernel
def _tilted(n, across, tilt):
    """Unit direction turned from n against a vector across it."""
    d = combine(1.0, n, -tilt / norm(across), across)
    return scale(1.0 / norm(d), d)


@kernel
def _is_nearer(w, count, c):
    """Whether a point of M lies nearer to the line than the mean of the rows does, and by more than rounding."""
    across = mean_point(w, count, M)
    return dot(across, c.m) < (1.0 - 1e-6) * dot(across, across)


@kernel
def _difference(w, k):
    return sub(row_point(w, k, X), row_point(w, k, Y))


@kernel
def _plane_normal(w, count, n):
    """Unit normal of the plane through the rows that is most along n; n itself for a plane that holds the line."""
    if count == 1:
        return n
    origin = _difference(w, 0)
    e = sub(_difference(w, 1), origin)
    if count == 2:
        square = dot(e, e)
        normal = combine(1.0, n, -dot(n, e) / square, e) if square > 0.0 else n
    else:
        normal = cross(e, sub(_difference(w, 2), origin))
        if dot(normal, n) < 0.0:
            normal = scale(-1.0, normal)
    length = norm(normal)
    return scale(1.0 / length, normal) if dot(normal, n) > _UPRIGHT * length else n


@kernel
def _height_beyond(w, count, n, normal, c):
    """How far a point of M lies beyond the plane of a normal through the mean of the rows, along n."""
    mean = sub(mean_point(w, count, X), mean_point(w, count, Y))
    return dot(normal, sub(c.m, mean)) / dot(normal, n)


@kernel
def _keep(w, k, row):
    for i in range(w.shape[1]):
        w[k, i] = w[row, i]


@kernel(separate=True)
def _rise(w, count, n, near):
    """Take the row that follows the `count` others into the portal; returns how many rows there are.

    Where the line passes between the new point and one other, and higher than before, these two are enough: three
    points in line make no plane. Of three rows the one leaves without which the line passes highest through the
    triangle, or nearest to it.
    """
    out_of_line()
    c = row_point(w, count, M)
    height_c = dot(n, _difference(w, count))
    highest = dot(n, sub(mean_point(w, count, X), mean_point(w, count, Y)))
    other = -1
    for k in range(count):
        p = row_point(w, k, M)
        s, t = segment_weights(c, p)
        height = s * height_c + t * dot(n, _difference(w, k))
        if norm(combine(s, c, t, p)) <= near and height > highest:
            other, highest = k, height
    if other >= 0:
        _keep(w, 0, other)
        _keep(w, 1, count)
        count = 2
    elif count < 3:
        count += 1
    else:
        leaves, best, through = 0, -math.inf, False
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            q, r = row_point(w, j, M), row_point(w, k, M)
            s, t, u = triangle_weights(c, q, r)
            offset = norm(combine(1.0, combine(s, c, t, q), u, r))
            height = s * height_c + t * dot(n, _difference(w, j)) + u * dot(n, _difference(w, k))
            within = offset <= near
            value = height if within else -offset
            if (within and not through) or (within == through and value > best):
                leaves, best, through = i, value, within
        _keep(w, leaves, 3)
    weigh(w, 0, count, (0.0, 0.0, 0.0))
    return count


@kernel
def _enclose(w, count):
    """Weigh the rows for the point nearest to the line, drop those without weight; count and offset from the line."""
    count = nearest_of_simplex(w, count)
    return count, norm(mean_point(w, count, M))


@kernel
def _leave(pair, n, goal, w):
    """Rows of the workspace whose mean is where the line along n leaves M."""
    out_of_line()
    c = difference_candidate(pair, n)
    _place(w, 0, c, n)
    count, offset = _enclose(w, 1)
    tilt, spent = _TILT, 1
    for _ in range(_ENCLOSING):
        if offset <= NEAR * goal:
            break
        nearer = False
        while not nearer and tilt <= _WIDEST:
            c = difference_candidate(pair, _tilted(n, mean_point(w, count, M), tilt))
            spent += 1
            nearer = _is_nearer(w, count, c)
            if not nearer:
                tilt *= _WIDER
        if not nearer:
            break
        _place(w, count, c, n)
        count, offset = _enclose(w, count + 1)
    normal = n
    for _ in range(_RISING):
        normal = _plane_normal(w, count, n)
        c = difference_candidate(pair, normal)
        spent += 1
        if _height_beyond(w, count, n, normal, c) <= _RISEN * goal:
            break
        _place(w, count, c, n)
        count = _rise(w, count, n, NEAR * goal)
    return _Exit(count, normal, spent)


@kernel(separate=True)
def points_along(pair, n, value, goal, w):
    """Points of two cores along a direction of which h_M is given, or along one next to it that is no worse.

    If the direction is not yet precise enough, the normal of the face on which the line leaves M may be, or what Newton
    makes of the strata of that face.
    """
    out_of_line()
    limit, spent = value + _CLOSE * goal, 0
    best = Aligned(n, value, n, n, math.inf)
    for attempt in range(_ATTEMPTS):
        end = _leave(pair, n, goal, w)
        spent += end.spent
        x, y = superovoids_on_surfaces(pair, mean_point(w, end.count, X), mean_point(w, end.count, Y), n)
        off = off_line(x, y, value, n)
        if attempt == 0 or off < best.off:
            best = Aligned(n, value, x, y, off)
        if off <= _CLOSE * goal or attempt == _ATTEMPTS - 1 or spent >= _MOST_CORNERS:
            break
        other, least = n, limit
        newton = polish(pair, n, 0.0, w, gather(w, end.count)).n
        for direction in (end.normal, newton):
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


class Facing(NamedTuple):
    """Points of two bodies apart (frame of A), the direction along which they lie, and what it proves."""

    n: tuple
    lower: float
    x: tuple
    y: tuple
    is_found: bool


@kernel
def _with_proof(x, y, n, h, goal, margin):
    """Points of two bodies apart with what a direction proves, of which h_M is h, and whether that is enough."""
    length, bound = norm(sub(y, x)), -h - margin
    is_found = off_normal(x, y, n) <= ALONG * goal and length + margin - bound <= goal
    return Facing(n, min(bound, length), x, y, is_found)


@kernel
def _with_own_direction(pair, x, y, n, goal, margin):
    """As `_with_proof` along the points' own direction, which is near n."""
    n = direction_of(x, y, n)
    return _with_proof(x, y, n, difference_support(pair, n).h, goal, margin)


@kernel(separate=True)
def facing(pair, x, y, n, lower, goal, margin, w):
    """Points of two bodies apart along a direction that proves their distance.

    An interval of width e allows the part of y - x across n to be as long as sqrt(2 d e), d the distance. The direction
    of the points replaces n if it proves their length. Otherwise other points are found along n, and their direction
    replaces n if n proves too little. If n proves far less than is known, as over a dent, no points are looked for.
    If none proves enough, the one that proves most is returned.

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
        What rounding takes of a bound, m.
    w
        A workspace.
    """
    out_of_line()
    found = _with_own_direction(pair, x, y, n, goal, margin)
    h = difference_support(pair, n).h
    if not found.is_found and h <= -_OF_HULLS * lower:
        other = points_along(pair, n, h, goal, w)
        along = _with_proof(other.x, other.y, other.n, other.value, goal, margin)
        if not along.is_found:
            along = _with_own_direction(pair, other.x, other.y, other.n, goal, margin)
        if along.is_found or (along.lower > found.lower and off_normal(along.x, along.y, along.n) <= ALONG * goal):
            found = along
    return found
