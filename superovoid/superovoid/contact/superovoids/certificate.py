# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bounds of an answer in closed form, from its contact: one by a direction, the other by points or balls.

docs/explanation/solver.md derives them ("2. Bound").
"""

from __future__ import annotations

import math

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import combine, dot, norm, rotate_back, scale, sub
from superovoid.contact.separation import rounding_margin
from superovoid.contact.superovoids.newton import curvatures, system
from superovoid.shapes.kernels.retraction import height_lost, off_symmetry_planes
from superovoid.shapes.kernels.support_function import excess_over, slice_support
from superovoid.shapes.kernels.surface import (
    A3,
    CONCAVITY_CURVATURE,
    CONCAVITY_HI,
    CONCAVITY_LO,
    CONCAVITY_NU_HI,
    CONCAVITY_NU_LO,
    CONCAVITY_R_HI,
    CONCAVITY_R_LO,
    HAS_CONCAVITY,
    RADIUS,
    SIZE,
    TX,
    TY,
    position,
)


@kernel
def clear_of_concavity(body, f, n):
    """Return whether f, with outward normal n, is the support point of the hull because no concavity is near.

    The slice profile phi is concave outside the concavity. Where phi already rises steeply enough at the concavity's
    edge towards f it cannot fall inside, rises on the far side too, and its maximum at f is the global one.
    """
    above, below = f.w > body[CONCAVITY_HI], f.w < body[CONCAVITY_LO]
    edge = body[CONCAVITY_HI] if above else body[CONCAVITY_LO]
    r = body[CONCAVITY_R_HI] if above else body[CONCAVITY_R_LO]
    nu = body[CONCAVITY_NU_HI] if above else body[CONCAVITY_NU_LO]
    if body[HAS_CONCAVITY] == 0.0:
        return True
    g, dg, _, _, _, _ = slice_support(body, n, edge)
    rise, fall = (
        body[A3] * n[2] + r * dg - nu * g,
        body[CONCAVITY_CURVATURE] * (body[CONCAVITY_HI] - body[CONCAVITY_LO]),
    )
    return (above and rise >= fall) or (below and -rise >= fall)


@kernel
def hull_excess(body, f, n):
    """Upper bound of h(n) - n . x(f) for a surface point f whose outward normal is n."""
    return 0.0 if clear_of_concavity(body, f, n) else excess_over(body, n, f)


@kernel
def lower_bound(pair, fa, fb, k):
    """Largest of two proved lower bounds of the signed distance of the hulls, and the direction that proves it.

    For a convex A with exact normal n_A at x_A, h_A(n_A) = n_A . x_A; and h_B(-n_A) exceeds -n_A . x_B by at most
    |n_A - n_B| times the diameter of B, since n_B is exact at x_B. The other bound swaps the roles.
    """
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    mismatch = norm(sub(k.normal_a, k.inward_b))
    local_b = rotate_back(rotation, scale(-1.0, k.inward_b))
    excess = hull_excess(a, fa, k.normal_a) + hull_excess(b, fb, local_b)
    from_a = dot(k.normal_a, k.u) - mismatch * 2.0 * b[RADIUS]
    from_b = dot(k.inward_b, k.u) - mismatch * 2.0 * a[RADIUS]
    bound, n = (from_a, k.normal_a) if from_a > from_b else (from_b, k.inward_b)
    return bound - excess - rounding_margin(a, b, centre), n


@kernel
def flatness(a, b, rotation, fa, fb, k):
    """Least relative curvature of a contact, 1/m: the determinant of S_A + S_B + d S_B S_A over its trace."""
    _, _, _, _, of_a, of_b = curvatures(a, b, rotation, fa, fb, k)
    m11, m12, m21, m22 = system(of_a, of_b, max(dot(k.u, k.n), 0.0))
    trace = m11 + m22
    return (m11 * m22 - m12 * m21) / trace if trace > 0.0 else 0.0


@kernel
def _is_flat_beside(a, b, rotation, fa, fb, k, reach, goal):
    """Return whether points a reach to a side of a contact, in a principal direction of the gap, are as good."""
    t1, t2, _, _, of_a, of_b = curvatures(a, b, rotation, fa, fb, k)
    angle = 0.5 * math.atan2(2.0 * (of_a[1] + of_b[1]), of_a[0] + of_b[0] - of_a[2] - of_b[2])
    y, m = position(b, fb), rotate_back(rotation, scale(-1.0, k.n))
    for quarter in range(4):
        turn = angle + 0.5 * math.pi * quarter
        side = combine(reach * math.cos(turn), t1, reach * math.sin(turn), t2)
        if height_lost(a, k.x, k.n, side) + height_lost(b, y, m, rotate_back(rotation, side)) < goal:
            return True
    return False


@kernel
def is_flat(a, b, rotation, fa, fb, k, reach, goal):
    """Return whether points a reach to the side of a contact are as good as it, to within the goal."""
    if flatness(a, b, rotation, fa, fb, k) * reach * reach >= 2.0 * goal:
        return False
    # Off the planes of symmetry unequal tapers turn the straight lines of a surface; and next to a pole that is round,
    # over sections with straight sides, it is flat except at the corners of these: heights decide.
    beside = flatness(a, b, rotation, off_symmetry_planes(a, fa), off_symmetry_planes(b, fb), k) * reach * reach
    if beside >= 2.0 * goal and a[TX] == a[TY] and b[TX] == b[TY]:
        return False
    return _is_flat_beside(a, b, rotation, fa, fb, k, reach, goal)


@kernel
def gap_tolerance(a, b, centre, tolerance):
    """Width of the interval that counts as certified: relative to the smaller body, plus the rounding error."""
    return tolerance * min(a[SIZE], b[SIZE]) + 4.0 * rounding_margin(a, b, centre)
