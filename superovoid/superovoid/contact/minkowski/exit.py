# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Where a line leaves the Minkowski difference M = A - B: the points of a contact that has many.

At the direction n of the signed distance the contact of flat parts is a face of M, any point of which may be had as a
support point, while the pair of points that realises the distance belongs to the point of that face on the line along n
(and the same line inside M where the bodies overlap). It is a mean of up to three points of M, the same mean for both
bodies, and found in two parts, both from support points alone:

enclose   points of M around the line: the nearest point of their hull in the plane across n, as in GJK, from directions
          tilted from n towards the line, as little as gets on
rise      the farthest support point beyond the plane through the three takes the place of one of them such that the
          line still passes between: the portal of Snethen, "XenoCollide", Game Programming Gems 7 (2008)

The last plane has no point of M beyond it by more than the tolerance, so the mean lies that near to the boundary of M,
and the two points that near to the surfaces of their bodies. An error delta of n counts in the length of x - y by its
square only, where it counts in h_M(n) by itself: the length is the better measure of the distance on a face.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import combine, cross, dot, norm, scale, sub
from superovoid.contact.minkowski.difference import (
    M,
    X,
    Y,
    mean_point,
    nearest_of_simplex,
    put,
    row_point,
    segment_weights,
    triangle_weights,
    weigh,
)

ENCLOSING, RISING = 24, 64  # support points spent on either part
TILT, WIDER, WIDEST = 1e-4, 100.0, 1e7  # of the direction towards the line: the first, the factor, the last
NEAR, RISEN = 0.02, 0.04  # of the goal: offset from the line, and what may lie beyond the last plane
_UPRIGHT = 1e-9  # cosine between n and the normal of a plane that holds the line


class Exit(NamedTuple):
    """Rows of a workspace whose mean is where a line leaves M."""

    count: int  # type: ignore[assignment] # hides tuple.count
    offset: float  # of the mean from the line
    normal: tuple  # unit, of the plane through the rows, which next to none of M lies beyond
    beyond: float  # how far M reaches beyond that plane, along n


@kernel
def place(w, k, c, n):
    """Put a support point into a row of the workspace, in the column M its part across n."""
    put(w, k, c)
    w[k, M], w[k, M + 1], w[k, M + 2] = combine(1.0, c.m, -dot(n, c.m), n)


@kernel
def tilted(n, across, tilt):
    """Unit direction turned from n against a vector across it."""
    d = combine(1.0, n, -tilt / norm(across), across)
    return scale(1.0 / norm(d), d)


@kernel
def nears(w, count, c):
    """Whether a point of M lies nearer to the line than the mean of the rows does, and by more than rounding."""
    across = mean_point(w, count, M)
    return dot(across, c.m) < (1.0 - 1e-6) * dot(across, across)


@kernel
def _difference(w, k):
    return sub(row_point(w, k, X), row_point(w, k, Y))


@kernel
def plane_normal(w, count, n):
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
def height_beyond(w, count, n, normal, c):
    """How far a point of M lies beyond the plane of a normal through the mean of the rows, along n."""
    mean = sub(mean_point(w, count, X), mean_point(w, count, Y))
    return dot(normal, sub(c.m, mean)) / dot(normal, n)


@kernel
def _keep(w, k, row):
    for i in range(w.shape[1]):
        w[k, i] = w[row, i]


@kernel(separate=True)
def rise(w, count, n, near):
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
def enclose(w, count):
    """Weigh the rows for the point nearest to the line, drop those without weight; count and offset from the line."""
    count = nearest_of_simplex(w, count)
    return count, norm(mean_point(w, count, M))
