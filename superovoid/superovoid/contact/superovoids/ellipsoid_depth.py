# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Two ellipsoids: the depth of their contact, by the caps about two minima of it (`ellipsoid_pairs`).

The cap about the contact is mostly all of the sphere of directions, and more than half of it nearly always. What is
left is a cap on the other side, and so is a second minimum, if there is one.
"""

from __future__ import annotations

import math

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, combine, dot, norm, rotate_back, scale, tangent_frame
from superovoid.contact.superovoids.ellipsoid_pairs import cap_by_ellipsoid, radius_beyond, stretched

_STEPS, _LONGEST, _HALVINGS = 10, 0.5, 5  # of a descent; rad a step
_LEAST_BEND, _LIFTED = 1e-3, 0.05  # of h_M + n . c: least second derivatives, and what lower ones are lifted to
_STATIONARY = 1e-12  # by which h_M falls, relative, in the last step
_OVERLAP = 1e-9  # rad, of caps that cover all directions


@kernel
def _bends(a, v, t1, t2):
    """Length of L v, and what L makes of two tangents across that: the Hessian of |L v|, times its length."""
    q = stretched(a, v)
    length = norm(q)
    q = scale(1.0 / length, q)
    a1, a2 = stretched(a, t1), stretched(a, t2)
    along1, along2 = dot(q, a1), dot(q, a2)
    return (
        length,
        along1,
        along2,
        (dot(a1, a1) - along1 * along1) / length,
        (dot(a1, a2) - along1 * along2) / length,
        (dot(a2, a2) - along2 * along2) / length,
    )


@kernel
def _depth_along(pair, n):
    """h_M(n)."""
    return norm(stretched(pair.a, n)) + norm(stretched(pair.b, rotate_back(pair.rotation, n))) - dot(n, pair.centre)


@kernel
def other_minimum(pair, n):
    """Direction of a minimum of h_M on the side opposite to a direction, and h_M there.

    Newton's method on the sphere, downhill: second derivatives are lifted to positive ones.
    """
    out_of_line()
    n = scale(-1.0, n)
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    depth = _depth_along(pair, n)
    for _ in range(_STEPS):
        t1, t2 = tangent_frame(n)
        s_a, a1, a2, a11, a12, a22 = _bends(a, n, t1, t2)
        m = rotate_back(rotation, n)
        s_b, b1, b2, b11, b12, b22 = _bends(b, m, rotate_back(rotation, t1), rotate_back(rotation, t2))
        g1, g2 = a1 + b1 - dot(centre, t1), a2 + b2 - dot(centre, t2)
        h11, h12, h22 = a11 + b11 - depth, a12 + b12, a22 + b22 - depth
        half = 0.5 * (h11 - h22)
        least = 0.5 * (h11 + h22) - math.sqrt(half * half + h12 * h12)
        shift = _LIFTED * (s_a + s_b) - least if least < _LEAST_BEND * (s_a + s_b) else 0.0
        h11, h22 = h11 + shift, h22 + shift
        det = h11 * h22 - h12 * h12
        p1, p2 = (h12 * g2 - h22 * g1) / det, (h12 * g1 - h11 * g2) / det
        part = min(1.0, _LONGEST / max(math.sqrt(p1 * p1 + p2 * p2), 1e-300))
        moved = False
        for _ in range(_HALVINGS):
            trial = add(n, combine(part * p1, t1, part * p2, t2))
            trial = scale(1.0 / norm(trial), trial)
            value = _depth_along(pair, trial)
            if value < depth:
                moved = depth - value > _STATIONARY * depth
                n, depth = trial, value
                break
            part *= 0.25
        if not moved:
            break
    return n, depth


@kernel
def cap_of_minimum(pair, n, depth, wanted):
    """Cap about a minimum of h_M on which h_M is no less than what is wanted of it, or than the depth there.

    A ball that touches M along n, half way between both, reaches farther than one as wide as the depth.
    """
    radius = radius_beyond(depth)
    return cap_by_ellipsoid(pair, n, 0.5 * (depth + wanted) if depth - wanted > radius - depth else radius)


@kernel
def depth_of_ellipsoids(pair, n, wanted):
    """Lower bound of the depth of two ellipsoids by caps that cover all directions; -inf where none is found.

    Parameters
    ----------
    pair : Pair
        Of two ellipsoids.
    n : tuple
        Unit normal of their contact.
    wanted : float
        No less than its depth, m. Along a direction at an angle to n h_M is then no less than the depth and
        (wanted - depth) (1 - cosine), and well away from n no less than that of both.
    """
    out_of_line()
    cap = cap_by_ellipsoid(pair, n, wanted)
    if cap.angle == 0.0:
        return -math.inf
    if cap.angle == math.pi:
        return cap.floor
    other, depth = other_minimum(pair, n)
    if not depth > wanted:
        return -math.inf
    second = cap_of_minimum(pair, other, depth, wanted)
    between = 2.0 * math.asin(min(1.0, 0.5 * norm(add(other, n))))
    is_covered = second.angle >= between + (math.pi - cap.angle) + _OVERLAP
    return min(cap.floor, second.floor) if is_covered else -math.inf
