# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Evaluate one direction of two superovoids: support points of their Minkowski difference M = A - B, and minima.

Along a minimum of the support function h_M of M the bodies overlap least: Newton's method on their surfaces, or on h_M
itself, goes from a direction to the minimum nearby (`minimise_support`, `search`).
"""

from __future__ import annotations

import math

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import (
    LEAST_DIVISOR,
    add,
    combine,
    cross,
    dot,
    norm,
    rotate,
    rotate_back,
    scale,
    sub,
    tangent_frame,
)
from superovoid.shapes.kernels.support_function import EXACT, support, support_candidate
from superovoid.shapes.kernels.surface import SIZE, gradient, position, shape_operator

_DESCENT, _LONGEST_DESCENT = 6, 0.3  # steps, and rad a step, of a descent


@kernel
def minkowski_support(pair, n, tolerance):
    """Support point of M = A - B along n, in the frame of A, with the two surface points."""
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    fa = support_candidate(a, n, tolerance)
    fb = support_candidate(b, rotate_back(rotation, scale(-1.0, n)), tolerance)
    y = add(centre, rotate(rotation, position(b, fb)))
    return sub(position(a, fa), y), fa, fb


@kernel
def proved_support(pair, n):
    """Upper bound of h_M(n) that holds for non-convex bodies too."""
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    _, h_a = support(a, n)
    _, h_b = support(b, rotate_back(rotation, scale(-1.0, n)))
    return h_a + h_b - dot(n, centre)


@kernel
def _radii_at(body, f, t1, t2):
    """Radius matrix of a body in a tangent frame, from its shape operator; not finite on flats."""
    s11, s12, s22 = shape_operator(body, f, t1, t2, 1.0 / norm(gradient(body, f)))
    det = s11 * s22 - s12 * s12
    return s22 / det, -s12 / det, s11 / det


@kernel
def minimise_support(pair, n, fa, fb, tolerance):
    """Newton on h_M over the sphere from the direction n, whose support points are fa and fb.

    The gradient of h_M is the part of m = x_A - x_B across n, its Hessian R_A + R_B - h_M I. It evaluates one direction
    at a time, so it is slower than Newton's method on surface points, but it goes downhill, while that may circle.

    Returns (converged, n, fa, fb, spent): whether the part across n has fallen below the tolerance at a minimum, and
    how many support points that took.
    """
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    size = min(a[SIZE], b[SIZE])
    m = sub(position(a, fa), add(centre, rotate(rotation, position(b, fb))))
    spent = 0
    for _ in range(_DESCENT):
        depth = dot(n, m)
        t1, t2 = tangent_frame(n)
        g1, g2 = dot(m, t1), dot(m, t2)
        a11, a12, a22 = _radii_at(a, fa, t1, t2)
        b11, b12, b22 = _radii_at(b, fb, rotate_back(rotation, t1), rotate_back(rotation, t2))
        h11, h12, h22 = a11 + b11 - depth, a12 + b12, a22 + b22 - depth
        det = h11 * h22 - h12 * h12
        if not (det > 0.0 and h11 > 0.0 and det < math.inf):
            return False, n, fa, fb, spent
        p1 = (h12 * g2 - h22 * g1) / det
        p2 = (h12 * g1 - h11 * g2) / det
        if max(abs(g1), abs(g2)) < tolerance * size:
            # One more step reduces the residual to the limit of the arithmetic.
            trial = add(n, combine(p1, t1, p2, t2))
            trial = scale(1.0 / norm(trial), trial)
            x, ga, gb = minkowski_support(pair, trial, EXACT)
            if norm(cross(x, trial)) < norm(cross(m, n)):
                return True, trial, ga, gb, spent + 1
            return True, n, fa, fb, spent + 1
        length = math.sqrt(p1 * p1 + p2 * p2)
        part = min(1.0, _LONGEST_DESCENT / max(length, LEAST_DIVISOR))
        for _ in range(6):
            trial = add(n, combine(part * p1, t1, part * p2, t2))
            trial = scale(1.0 / norm(trial), trial)
            x, ga, gb = minkowski_support(pair, trial, EXACT)
            spent += 1
            if dot(trial, x) <= depth:
                break
            part *= 0.25
        if not (dot(trial, x) <= depth):
            return False, n, fa, fb, spent
        n, fa, fb, m = trial, ga, gb, x
    return False, n, fa, fb, spent
