# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Triangles of directions: lower bounds of a support function h_M over one, and where to split it.

A spherical triangle with corners n_j and the support points m_i of M at its corners: with any weights mu on the
corners, y = sum mu_i m_i lies in M, so for n along sum lambda_j n_j

    h_M(n) >= n . y >= min_j (n_j . y) / |sum lambda_j n_j|.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid_ros.compiled.jit import kernel, out_of_line
from superovoid_ros.compiled.vector import combine, cross, dot, norm, scale, sub

_INSIDE = 0.15  # least barycentric coordinate of a direction that splits a triangle in three


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
    """Lower bound of h_M over a spherical triangle (module docstring), the best of a few choices of weights."""
    out_of_line()
    n1, n2, n3, m1, m2, m3 = triangle
    g11, g21, g31 = dot(n1, m1), dot(n1, m2), dot(n1, m3)
    g12, g22, g32 = dot(n2, m1), dot(n2, m2), dot(n2, m3)
    g13, g23, g33 = dot(n3, m1), dot(n3, m2), dot(n3, m3)
    best = min(g11, g12, g13)
    best = max(best, min(g21, g22, g23))
    best = max(best, min(g31, g32, g33))
    best = max(best, min(g11 + g21, g12 + g22, g13 + g23) * 0.5)
    best = max(best, min(g21 + g31, g22 + g32, g23 + g33) * 0.5)
    best = max(best, min(g31 + g11, g32 + g12, g33 + g13) * 0.5)
    best = max(best, min(g11 + g21 + g31, g12 + g22 + g32, g13 + g23 + g33) / 3.0)
    return over_lengths(equally_far(best, (g11, g21, g31), (g12, g22, g32), (g13, g23, g33)), n1, n2, n3)


@kernel
def equally_far(best, first, second, third):
    """The better of a bound and that of the weights that make y equally far along all three corners.

    Given is how far the points m_j are along each corner. The weights are those of Cramer's rule on the differences.
    """
    (g11, g21, g31), (g12, g22, g32), (g13, g23, g33) = first, second, third
    p1, p2, p3 = g11 - g12, g21 - g22, g31 - g32
    q1, q2, q3 = g11 - g13, g21 - g23, g31 - g33
    mu1 = p2 * q3 - p3 * q2
    mu2 = p3 * q1 - p1 * q3
    mu3 = p1 * q2 - p2 * q1
    total = mu1 + mu2 + mu3
    if total != 0.0:
        mu1, mu2, mu3 = mu1 / total, mu2 / total, mu3 / total
        if mu1 >= 0.0 and mu2 >= 0.0 and mu3 >= 0.0:
            along_first = mu1 * g11 + mu2 * g21 + mu3 * g31
            along_second = mu1 * g12 + mu2 * g22 + mu3 * g32
            best = max(best, min(along_first, along_second, mu1 * g13 + mu2 * g23 + mu3 * g33))
    return best


@kernel
def over_lengths(best, n1, n2, n3):
    """A bound over the flat triangle of three unit vectors as one over the spherical triangle."""
    return best / least_length(n1, n2, n3) if best < 0.0 else best


@kernel
def least_length(n1, n2, n3):
    """Lower bound of |sum lambda_j n_j| over a triangle of unit vectors, to a few eps for needles too.

    The point of its plane nearest to the origin is the centre of its circumscribed circle. Where the largest angle is
    not acute, that is beyond the longest edge L, the middle of which is nearest: sqrt(1 - L^2 / 4). Else the angle is
    between 60 and 90 degrees, and the product of its edges gives the normal without a loss; and
    |sum lambda_j n_j|^2 = 1 - sum_(i<j) lambda_i lambda_j |n_i - n_j|^2 >= 1 - L^2 / 3.
    """
    e1, e2, e3 = sub(n2, n1), sub(n3, n1), sub(n3, n2)
    c1, c2, c3 = dot(e1, e1), dot(e2, e2), dot(e3, e3)
    longest = max(c1, c2, c3)
    if c1 + c2 + c3 <= 2.0 * longest:
        return math.sqrt(max(0.0, 1.0 - 0.25 * longest))
    normal = cross(e2, e3) if longest == c1 else (cross(e1, e3) if longest == c2 else cross(e1, e2))
    return max(abs(dot(n1, normal)) / max(norm(normal), 1e-300), math.sqrt(max(0.0, 1.0 - longest / 3.0)))


@kernel
def anchored_bound(triangle, m):
    """Lower bound of h_M over a triangle with the help of a further point of M.

    At a minimum the support point can be had along the direction itself, to the end of the arithmetic, where those of
    neighbouring directions jump from one end of a facet to the other.
    """
    out_of_line()
    n1, n2, n3, m1, m2, m3 = triangle
    a1, a2, a3 = dot(n1, m), dot(n2, m), dot(n3, m)
    best = min(a1, a2, a3)
    for i in range(3):
        y = m1 if i == 0 else (m2 if i == 1 else m3)
        b1, b2, b3 = dot(n1, y) - a1, dot(n2, y) - a2, dot(n3, y) - a3
        # min_j a_j + mu b_j over mu in [0, 1] is greatest at a crossing.
        for j in range(3):
            rise = b1 - b2 if j == 0 else (b2 - b3 if j == 1 else b3 - b1)
            drop = a2 - a1 if j == 0 else (a3 - a2 if j == 1 else a1 - a3)
            if rise != 0.0:
                mu = drop / rise
                if 0.0 < mu < 1.0:
                    best = max(best, min(a1 + mu * b1, a2 + mu * b2, a3 + mu * b3))
    if best < 0.0:
        best /= least_length(n1, n2, n3)
    return best


@kernel
def facet_direction(triangle):
    """Normal of the plane through the support points, and whether it is well inside the triangle of directions.

    There the bound of the triangle is attained: a support point along it lifts the bound most (the step of the
    expanding polytope algorithm), and where M has a facet or an edge it ends the search.
    """
    n1, n2, n3, m1, m2, m3 = triangle
    normal = cross(sub(m2, m1), sub(m3, m1))
    length = norm(normal)
    if not (length > 0.0):
        return False, n1
    normal = scale(1.0 / length, normal)
    volume = dot(n1, cross(n2, n3))
    w1 = dot(normal, cross(n2, n3)) / volume
    w2 = dot(normal, cross(n3, n1)) / volume
    w3 = dot(normal, cross(n1, n2)) / volume
    total = w1 + w2 + w3
    if total < 0.0:
        normal = scale(-1.0, normal)
        w1, w2, w3, total = -w1, -w2, -w3, -total
    inside = min(w1, w2, w3) > _INSIDE * total
    return inside, normal


@kernel
def edge_gap(n1, n2, m1, m2):
    """How far the bound may lie below h_M along an edge: of second order in its length, nothing at a corner of M."""
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
