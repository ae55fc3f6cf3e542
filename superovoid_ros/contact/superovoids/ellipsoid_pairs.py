# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Two ellipsoids: the depth of their contact, proved by an ellipsoid inside their Minkowski difference M = A - B.

With E = {c + L^T v: |v| <= 1}, h(n) = n . c + |L n|. For every orthogonal S the ellipsoid K about c_A - c_B with
G = L_A + S L_B lies in M, since |G n| <= |L_A n| + |L_B n|; and K touches M along n where S takes L_B n to the
direction of L_A n (Kurzhanski, Valyi, "Ellipsoidal Calculus for Estimation and Control", 1997, section 2.3). What S
does across that direction, a turn W or one and a reflection, is chosen so that K is wide.

A ball of radius r that touches K from inside at its support point along n lies in K if and only if
G^T G - s r I >= 0, s = |G n|: the S-lemma for two quadratics that vanish together there. With n, t_1, t_2 for axes, N
the part of G t_j across G n and z_j the part along it, the Schur complement of s^2 - s r is

    N^T N - r (s I + z z^T / (s - r)) >= 0,   r < s,

a matrix of two rows. Then no direction m has h_M(m) below that of the ball.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid_ros.compiled.jit import kernel, out_of_line
from superovoid_ros.compiled.vector import add, dot, norm, rotate, rotate_back, scale, sub, tangent_frame
from superovoid_ros.shapes.kernels.rounding import EPS
from superovoid_ros.shapes.kernels.surface import A1, A2, A3, S_, TX, TY, P

_TURNS = np.int64(6)
_LEAST_REST = 1e-3  # of s - r, relative to s: what z rounds grows with its inverse
_ROUNDED = 1e4 * EPS  # of the matrix, relative to the square of both largest semi-axes: 8 / _LEAST_REST and more


@kernel
def is_ellipsoid(body):
    """Whether a superovoid is an ellipsoid."""
    return body[P] == 2.0 and body[S_] == 2.0 and body[TX] == 0.0 and body[TY] == 0.0


@kernel
def _stretched(body, v):
    """L v in the frame of the body."""
    return (body[A1] * v[0], body[A2] * v[1], body[A3] * v[2])


@kernel
def _frame_along(image):
    """Length of a vector, its direction and two unit vectors across."""
    length = norm(image)
    along = scale(1.0 / length, image)
    across, other = tangent_frame(along)
    return length, along, across, other


class _Across(NamedTuple):
    """N_A and N_B: what L_A and L_B make of the tangents, in two axes across what they make of n."""

    a11: float
    a12: float
    a21: float
    a22: float
    b11: float
    b12: float
    b21: float
    b22: float


class _Excess(NamedTuple):
    """The matrix of the module docstring."""

    xx: float
    xy: float
    yy: float


@kernel
def _excess(across, c, s, z1, z2, taken, share):
    """N^T N - r (s I + z z^T / (s - r)) for N = N_A + W N_B, W a turn by the angle of (c, s)."""
    n11, n12 = across.a11 + c * across.b11 - s * across.b21, across.a12 + c * across.b12 - s * across.b22
    n21, n22 = across.a21 + s * across.b11 + c * across.b21, across.a22 + s * across.b12 + c * across.b22
    return _Excess(
        n11 * n11 + n21 * n21 - taken - share * z1 * z1,
        n11 * n12 + n21 * n22 - share * z1 * z2,
        n12 * n12 + n22 * n22 - taken - share * z2 * z2,
    )


@kernel
def _weakest(excess):
    """Unit vector along which the matrix is least."""
    half = 0.5 * (excess.xx - excess.yy)
    root = math.sqrt(half * half + excess.xy * excess.xy)
    # (xx - lowest, xy) and (xy, yy - lowest) are across it.
    v1, v2 = (excess.xy, -(half + root)) if half > 0.0 else (half - root, excess.xy)
    length = math.sqrt(v1 * v1 + v2 * v2)
    return (v1 / length, v2 / length) if length > 0.0 else (1.0, 0.0)


@kernel
def _is_wide(across, z1, z2, taken, share):
    """Whether some turn W makes the matrix positive definite.

    The first is that of largest trace of N_A^T W N_B (Procrustes). Where the matrix is negative along v, the next is
    half way to the one that takes N_B v to the direction of N_A v.
    """
    c = across.a11 * across.b11 + across.a12 * across.b12 + across.a21 * across.b21 + across.a22 * across.b22
    s = across.a21 * across.b11 + across.a22 * across.b12 - across.a11 * across.b21 - across.a12 * across.b22
    for _ in range(_TURNS):
        length = math.sqrt(c * c + s * s)
        c, s = (c / length, s / length) if length > 0.0 else (1.0, 0.0)
        excess = _excess(across, c, s, z1, z2, taken, share)
        if excess.xx > 0.0 and excess.yy > 0.0 and excess.xx * excess.yy >= excess.xy * excess.xy:
            return True
        v1, v2 = _weakest(excess)
        x1, x2 = across.a11 * v1 + across.a12 * v2, across.a21 * v1 + across.a22 * v2
        y1, y2 = across.b11 * v1 + across.b12 * v2, across.b21 * v1 + across.b22 * v2
        inner, outer = x1 * y1 + x2 * y2, x2 * y1 - x1 * y2
        length = math.sqrt(inner * inner + outer * outer)
        if not (length > 0.0):
            return False
        c, s = c + inner / length, s + outer / length
    return False


@kernel
def depth_by_ellipsoid(pair, n, radius):
    """Lower bound of the depth of two ellipsoids by a ball of a radius in M; -inf where that is not known to be in M.

    Parameters
    ----------
    pair : Pair
        Of two ellipsoids.
    n : tuple
        Unit normal of their contact.
    radius : float
        No less than the depth, m. Along a direction at an angle to n h_M is then no less than the depth and
        (radius - depth) (1 - cosine).
    """
    out_of_line()
    a, b, rotation = pair.a, pair.b, pair.rotation
    t1, t2 = tangent_frame(n)
    s_a, q, q1, q2 = _frame_along(_stretched(a, n))
    s_b, p, p1, p2 = _frame_along(_stretched(b, rotate_back(rotation, n)))
    s = s_a + s_b
    if not (s - radius >= _LEAST_REST * s):
        return -math.inf
    a1, a2 = _stretched(a, t1), _stretched(a, t2)
    b1, b2 = _stretched(b, rotate_back(rotation, t1)), _stretched(b, rotate_back(rotation, t2))
    z1, z2 = dot(q, a1) + dot(p, b1), dot(q, a2) + dot(p, b2)
    size = max(a[A1], a[A2], a[A3]) + max(b[A1], b[A2], b[A3])
    taken, share = radius * s + _ROUNDED * size * size, radius / (s - radius)
    of_a = dot(q1, a1), dot(q1, a2), dot(q2, a1), dot(q2, a2)
    b11, b12, b21, b22 = dot(p1, b1), dot(p1, b2), dot(p2, b1), dot(p2, b2)
    turned, mirrored = _Across(*of_a, b11, b12, b21, b22), _Across(*of_a, b11, b12, -b21, -b22)
    if not (_is_wide(turned, z1, z2, taken, share) or _is_wide(mirrored, z1, z2, taken, share)):
        return -math.inf
    # The support point of K along n, and the centre of the ball that touches K there.
    along = sub(_stretched(a, q), add(pair.centre, scale(-1.0, rotate(rotation, _stretched(b, p)))))
    return radius - norm(sub(along, scale(radius, n)))
