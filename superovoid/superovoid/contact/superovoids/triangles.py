# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Triangles of directions: lower bounds of a support function h_M over one, and where to split it.

docs/explanation/search.md ("Triangles of directions") derives the bounds. Here N is taken along the normal of the plane
through the support points, or on an edge, and u_ij where both support points of the edge are equally far.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import LEAST_DIVISOR, LEAST_LENGTH, combine, cross, dot, norm, scale, sub

_INSIDE = 0.15  # least barycentric coordinate of a direction that splits a triangle in three
_LARGE = 1.0  # chord of the longest edge of a large triangle
_SHORT = 0.03  # shortest edge to split, relative to the longest


class Triangle(NamedTuple):
    """Three directions and a support point of M along each."""

    n1: tuple
    n2: tuple
    n3: tuple
    m1: tuple
    m2: tuple
    m3: tuple


@kernel
def chord(n1, n2):
    """Length of the chord between two directions."""
    return norm(sub(n1, n2))


@kernel
def triangle_bound(triangle):
    """Lower bound of h_M over a spherical triangle."""
    n1, n2, n3, m1, m2, m3 = triangle
    first = dot(n1, m1), dot(n2, m1), dot(n3, m1)
    second = dot(n1, m2), dot(n2, m2), dot(n3, m2)
    third = dot(n1, m3), dot(n2, m3), dot(n3, m3)
    best = max(min(first[0], first[1], first[2]), min(second[0], second[1], second[2]))
    best = max(best, min(third[0], third[1], third[2]))
    best = best / least_length(n1, n2, n3) if best < 0.0 else best
    e12, e23, e31 = sub(n1, n2), sub(n2, n3), sub(n3, n1)
    squares = dot(e12, e12), dot(e23, e23), dot(e31, e31)
    curved = _bound_of_six(first, second, third, squares)
    return max(best, curved) if curved > 0.0 else best


@kernel
def _crossing(at_ends, at_other_ends):
    """Share of the first end of an edge in the direction in which two points are equally far, from how far they are."""
    w1 = at_other_ends[1] - at_ends[1]
    w2 = at_ends[0] - at_other_ends[0]
    total = w1 + w2
    return min(1.0, max(0.0, w1 / total)) if total > 0.0 else 0.5


@kernel
def _interpolate_heights(share, chord_square, ends, other_ends, third_ends):
    """Return the heights of three points along a direction between two, from the heights along these."""
    rest = 1.0 - share
    factor = 1.0 / math.sqrt(1.0 - share * rest * chord_square)
    return (
        factor * (share * ends[0] + rest * ends[1]),
        factor * (share * other_ends[0] + rest * other_ends[1]),
        factor * (share * third_ends[0] + rest * third_ends[1]),
    )


@kernel
def _bound_of_six(first, second, third, squares):
    """Lower bound of h_M over the six triangles (N, n_i, u_ij); it holds if it is positive.

    Takes the heights of each support point along the three corners, and the squares of the chords of the edges 12, 23
    and 31.
    """
    c12, c23, c31 = squares
    p = first[0:2], second[0:2], third[0:2]
    q = first[1:3], second[1:3], third[1:3]
    r = (first[2], first[0]), (second[2], second[0]), (third[2], third[0])
    a1, a2, a3 = _interpolate_heights(_crossing(p[0], p[1]), c12, p[0], p[1], p[2])
    b1, b2, b3 = _interpolate_heights(_crossing(q[1], q[2]), c23, q[0], q[1], q[2])
    d1, d2, d3 = _interpolate_heights(_crossing(r[2], r[0]), c31, r[0], r[1], r[2])
    around = min(first[0], second[1], third[2], a1, a2)
    around = min(around, b2, b3, d3, d1)
    inner = max(min(a1, a2, a3), min(b1, b2, b3), min(d1, d2, d3))
    # The normal of the plane through the three points, as a mean of the corners: equally far along it.
    p1, p2, p3 = first[0] - second[0], first[1] - second[1], first[2] - second[2]
    q1, q2, q3 = first[0] - third[0], first[1] - third[1], first[2] - third[2]
    x1, x2, x3 = p2 * q3 - p3 * q2, p3 * q1 - p1 * q3, p1 * q2 - p2 * q1
    total = x1 + x2 + x3
    x1, x2, x3 = x1 / total, x2 / total, x3 / total
    length = math.sqrt(max(0.0, 1.0 - (x1 * x2 * c12 + x2 * x3 * c23 + x3 * x1 * c31)))
    along = min(
        x1 * first[0] + x2 * first[1] + x3 * first[2],
        x1 * second[0] + x2 * second[1] + x3 * second[2],
        x1 * third[0] + x2 * third[1] + x3 * third[2],
    )
    inner = max(inner, along / length) if min(x1, x2, x3) >= 0.0 and along > inner else inner
    return min(around, inner)


@kernel
def least_length(n1, n2, n3):
    """Lower bound of |sum lambda_j n_j| over a triangle of unit vectors, to a few eps for needles too.

    The point of its plane nearest to the origin is the centre of its circumscribed circle. If the largest angle is not
    acute, that point is beyond the longest edge L, the middle of which is nearest: sqrt(1 - L^2 / 4). Otherwise the
    angle is between 60 and 90 degrees, and the product of its edges gives the normal without a loss; and |sum lambda_j
    n_j|^2 = 1 - sum_(i<j) lambda_i lambda_j |n_i - n_j|^2 >= 1 - L^2 / 3.
    """
    e1, e2, e3 = sub(n2, n1), sub(n3, n1), sub(n3, n2)
    c1, c2, c3 = dot(e1, e1), dot(e2, e2), dot(e3, e3)
    longest = max(c1, c2, c3)
    if c1 + c2 + c3 <= 2.0 * longest:
        return math.sqrt(max(0.0, 1.0 - 0.25 * longest))
    normal = cross(e2, e3) if longest == c1 else (cross(e1, e3) if longest == c2 else cross(e1, e2))
    return max(abs(dot(n1, normal)) / max(norm(normal), LEAST_DIVISOR), math.sqrt(max(0.0, 1.0 - longest / 3.0)))


@kernel
def facet_direction(triangle):
    """Normal of the plane through the support points, and whether it is well inside the triangle of directions.

    There the bound of the triangle is attained: a support point along it lifts the bound most (the step of the
    expanding polytope algorithm), and where M has a facet or an edge it ends the search. Support points that nearly
    coincide have no plane: the square of the normal would underflow, and its direction would not have unit length.
    """
    n1, n2, n3, m1, m2, m3 = triangle
    normal = cross(sub(m2, m1), sub(m3, m1))
    length = norm(normal)
    normal = scale(1.0 / max(length, LEAST_LENGTH), normal)
    volume = dot(n1, cross(n2, n3))
    w1 = dot(normal, cross(n2, n3)) / volume
    w2 = dot(normal, cross(n3, n1)) / volume
    w3 = dot(normal, cross(n1, n2)) / volume
    sign = -1.0 if w1 + w2 + w3 < 0.0 else 1.0
    least, total = min(sign * w1, sign * w2, sign * w3), sign * (w1 + w2 + w3)
    return length > LEAST_LENGTH and least > _INSIDE * total, scale(sign, normal)


@kernel
def edge_gap(n1, n2, m1, m2):
    """Return how far the bound may lie below h_M along an edge: of second order in its length, 0 at a corner of M."""
    return dot(sub(n1, n2), sub(m1, m2))


@kernel
def edge_direction(n1, n2, m1, m2, middle):
    """Direction that splits an edge: where its two support points are equally far, not too close to its ends."""
    difference = sub(m1, m2)
    w1 = -dot(n2, difference)
    w2 = dot(n1, difference)
    total = w1 + w2
    share = min(0.75, max(0.25, w1 / total)) if total > 0.0 and not middle else 0.5
    point = combine(share, n1, 1.0 - share, n2)
    return scale(1.0 / norm(point), point)


class Split(NamedTuple):
    """Where to split a triangle."""

    turns: int  # of its corners, until the edge to split runs from the first to the second
    point: tuple  # direction
    chords: tuple  # to it from the corners, turned
    gap: float  # how far the bound may lie below h_M
    in_three: bool  # at a direction inside, not on the edge


@kernel
def turn(turns, values):
    """Return the values of three corners in the order of the turned corners (`Split`)."""
    x1, x2, x3 = values
    first = x1 if turns == 0 else (x2 if turns == 1 else x3)
    second = x2 if turns == 0 else (x3 if turns == 1 else x1)
    third = x3 if turns == 0 else (x1 if turns == 1 else x2)
    return first, second, third


@kernel
def split_of(triangle, bound, radius, non_convex):
    """Choose where to split a triangle with a bound of h_M; `radius` is that of the balls taken off."""
    n1, n2, n3, m1, m2, m3 = triangle
    inside, facet = facet_direction(triangle)
    e12, e23, e31 = edge_gap(n1, n2, m1, m2), edge_gap(n2, n3, m2, m3), edge_gap(n3, n1, m3, m1)
    gap = max(e12, e23, e31, 0.0)
    # Split the edge along which the bound is worst, or the longest if the triangle is large or its plane's distance
    # spoils the bound. Do not split an edge much shorter than the others: slivers improve no bound.
    l12, l23, l31 = chord(n1, n2), chord(n2, n3), chord(n3, n1)
    longest = max(l12, l23, l31)
    # Support points over a concavity are candidates only, and may not lie beyond the facet: halving always gets on. Of
    # edges below 1e-8 the volume of the corners is rounding, and with it the side on which a facet seems to be. From a
    # point that is no farther from a corner than the longest edge, the three parts cover the triangle, be it inside or
    # not.
    aside = max(chord(facet, n1), chord(facet, n2), chord(facet, n3))
    in_three = inside and not non_convex and aside <= longest
    e12 = e12 if l12 > _SHORT * longest else 0.0
    e23 = e23 if l23 > _SHORT * longest else 0.0
    e31 = e31 if l31 > _SHORT * longest else 0.0
    by_length = bound < radius or longest > _LARGE or not (max(e12, e23, e31) > 0.0)
    e12 = l12 if by_length else e12
    e23 = l23 if by_length else e23
    e31 = l31 if by_length else e31
    turns = 1 if e23 >= e12 and e23 >= e31 else (2 if e31 >= e12 and e31 >= e23 else 0)
    turns = 0 if in_three else turns
    n1, n2, n3 = turn(turns, (n1, n2, n3))
    m1, m2, _ = turn(turns, (m1, m2, m3))
    edge = edge_direction(n1, n2, m1, m2, by_length)
    point = (
        facet[0] if in_three else edge[0],
        facet[1] if in_three else edge[1],
        facet[2] if in_three else edge[2],
    )
    return Split(turns, point, (chord(point, n1), chord(point, n2), chord(point, n3)), gap, in_three)
