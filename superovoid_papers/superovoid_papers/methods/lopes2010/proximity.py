# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Proximity queries (section 5): tests whether two bodies can have a common point."""

from __future__ import annotations

import math

from superovoid.compiled.vector import dot, norm
from superovoid.compiler.jit import kernel
from superovoid_papers.methods.lopes2010.superquadrics import RADIUS, SQUARE

NONE, SPHERES, SEPARATION = 0, 1, 2
QUERIES = {"none": NONE, "spheres": SPHERES, "separation": SEPARATION}


@kernel
def sphere_gap(a, b, centre):
    """Return the distance of two bounding spheres, a lower bound of the bodies' distance; -inf for an open surface."""
    return norm(centre) - (a[RADIUS] + b[RADIUS])


@kernel
def characteristic_invariants(a, b, rotation, centre):
    """Return p1, p2, p3 and k0, k1, k2 of two ellipsoids after an affine map of the first to the unit ball.

    The map turns the second into (x - c)^T M (x - c) <= 1. With the invariants p of M, det(s I + M) = s^3 + p1 s^2 +
    p2 s + p3, and k_i = c^T M^i c, the characteristic polynomial of the pair is

        det(s A + B) = s (k1 s^2 + (p1 k1 - k2) s + p3 k0) - (s + 1) (s^3 + p1 s^2 + p2 s + p3),

    because M - M (s I + M)^-1 M = s M (s I + M)^-1 and M adj(s I + M) = s^2 M + s (p1 M - M^2) + p3 I.

    Parameters
    ----------
    a, b : rows of ellipsoids
    rotation, centre : pose of B's frame in A's
    """
    r = rotation
    a1, a2, a3 = 1.0 / math.sqrt(a[SQUARE]), 1.0 / math.sqrt(a[SQUARE + 1]), 1.0 / math.sqrt(a[SQUARE + 2])
    b1, b2, b3 = b[SQUARE], b[SQUARE + 1], b[SQUARE + 2]
    xx = a1 * a1 * (b1 * r[0, 0] * r[0, 0] + b2 * r[0, 1] * r[0, 1] + b3 * r[0, 2] * r[0, 2])
    yy = a2 * a2 * (b1 * r[1, 0] * r[1, 0] + b2 * r[1, 1] * r[1, 1] + b3 * r[1, 2] * r[1, 2])
    zz = a3 * a3 * (b1 * r[2, 0] * r[2, 0] + b2 * r[2, 1] * r[2, 1] + b3 * r[2, 2] * r[2, 2])
    xy = a1 * a2 * (b1 * r[0, 0] * r[1, 0] + b2 * r[0, 1] * r[1, 1] + b3 * r[0, 2] * r[1, 2])
    xz = a1 * a3 * (b1 * r[0, 0] * r[2, 0] + b2 * r[0, 1] * r[2, 1] + b3 * r[0, 2] * r[2, 2])
    yz = a2 * a3 * (b1 * r[1, 0] * r[2, 0] + b2 * r[1, 1] * r[2, 1] + b3 * r[1, 2] * r[2, 2])
    c = (centre[0] / a1, centre[1] / a2, centre[2] / a3)
    mc = (
        xx * c[0] + xy * c[1] + xz * c[2],
        xy * c[0] + yy * c[1] + yz * c[2],
        xz * c[0] + yz * c[1] + zz * c[2],
    )
    p1 = xx + yy + zz
    p2 = xx * yy - xy * xy + xx * zz - xz * xz + yy * zz - yz * yz
    p3 = b1 * b2 * b3 * (a1 * a2 * a3) ** 2
    return p1, p2, p3, dot(c, c), dot(c, mc), dot(mc, mc)


@kernel
def ellipsoids_apart(a, b, rotation, centre):
    """Return whether the characteristic polynomial has two distinct positive roots (Wang et al. 2001).

    Divided by det(s I + M), positive for s > 0, the polynomial is sum m_i c_i^2 s / (s + m_i) - s - 1 in M's axes. It
    is -1 at s = 0, concave, and finally decreasing. So it has two positive roots iff it is positive at its maximum, and
    a double one if the ellipsoids touch. Its slope g(s) = sum (m_i c_i / (s + m_i))^2 - 1 is convex and decreasing:
    Newton's method from s = 0 increases to the maximum without overshooting, and the first positive value decides.
    """
    p1, p2, p3, k0, k1, k2 = characteristic_invariants(a, b, rotation, centre)
    s = 0.0
    if not k0 > 1.0:
        return False  # the centre of B is in A
    for _ in range(100):
        top = s * (s * (k1 * s + p1 * k1 - k2) + p3 * k0)
        top_1 = s * (3.0 * k1 * s + 2.0 * (p1 * k1 - k2)) + p3 * k0
        top_2 = 6.0 * k1 * s + 2.0 * (p1 * k1 - k2)
        bottom = s * (s * (s + p1) + p2) + p3
        bottom_1 = s * (3.0 * s + 2.0 * p1) + p2
        bottom_2 = 6.0 * s + 2.0 * p1
        share = top / bottom
        if share - s - 1.0 > 0.0:
            return True
        share_1 = (top_1 - share * bottom_1) / bottom
        share_2 = (top_2 - 2.0 * share_1 * bottom_1 - share * bottom_2) / bottom
        following = s + (1.0 - share_1) / share_2
        if not following > s * (1.0 + 1e-14):
            return False
        s = following
    return False
