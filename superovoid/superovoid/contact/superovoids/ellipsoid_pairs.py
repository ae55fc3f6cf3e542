# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Two ellipsoids: the depth of their contact, proved by an ellipsoid inside their Minkowski difference M = A - B.

With E = {c + L^T v: |v| <= 1}, h(n) = n . c + |L n|. For every orthogonal S the ellipsoid K about c_A - c_B with G =
L_A + S L_B lies in M, since |G n| <= |L_A n| + |L_B n|; and K touches M along n where S takes L_B n to the direction of
L_A n (Kurzhanski, Valyi, "Ellipsoidal Calculus for Estimation and Control", 1997, section 2.3). The action of S across
that direction, a turn W, is chosen so that K is wide.

A ball of radius r that touches K from inside at its support point along n has its centre at w = G^T G n / s - r n from
that of K, s = |G n|. Along the unit vector m = n + x, |x|^2 = -2 n . x, h_K is above the support function of the ball
if |G m| >= r + w . m, so if

    |G m|^2 - (r + w . m)^2 = x . H x >= 0,   H = G^T G - w w^T - s r I.

With n, t_1, t_2 for axes, N the part of G t_j across G n and z_j the part along it, the Schur complement of r (s - r)
in H is a matrix of two rows. If

    N^T N - r s I - r z z^T / (s - r) >= 0,

the ball lies in K.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, dot, norm, rotate, rotate_back, scale, sub, tangent_frame
from superovoid.contact.minkowski.difference import MOST_TURN
from superovoid.shapes.kernels.rounding import EPS
from superovoid.shapes.kernels.surface import A1, A2, A3, S_, TX, TY, P

_TURNS = np.int64(6)
_LEAST_REST = 1e-12  # of r (s - r), relative to r s
# Of what is computed, relative to both largest semi-axes together: of lengths and parts of vectors, and of the matrix
# without the term of z, whose numbers are squares.
_ROUNDED, _ROUNDED_SQUARES = 32.0 * EPS, 512.0 * EPS


@kernel
def is_ellipsoid(body):
    """Return whether a superovoid is an ellipsoid."""
    return body[P] == 2.0 and body[S_] == 2.0 and body[TX] == 0.0 and body[TY] == 0.0


@kernel
def are_ellipsoids(pair):
    """Return whether both bodies of a pair are ellipsoids."""
    return is_ellipsoid(pair.a) and is_ellipsoid(pair.b)


@kernel
def stretch(body, v):
    """L v in the frame of the body."""
    return (body[A1] * v[0], body[A2] * v[1], body[A3] * v[2])


@kernel
def _frame_along(image):
    """Length of a vector, its direction and two unit vectors across."""
    length = norm(image)
    along = scale(1.0 / length, image)
    across, other = tangent_frame(along)
    return length, along, across, other


class _SymmetricMatrix(NamedTuple):
    """A symmetric matrix of two rows."""

    xx: float
    xy: float
    yy: float


class _GramOfTurns(NamedTuple):
    """N^T N of a turn by an angle t: fixed + cos(t) by_cosine + sin(t) by_sine."""

    fixed: _SymmetricMatrix
    by_cosine: _SymmetricMatrix
    by_sine: _SymmetricMatrix


@kernel
def _gram_of_turns(a1, a2, b1, b2):
    """Return the dependence of N_A + W N_B, with columns a_j + W b_j, on turns."""
    return _GramOfTurns(
        _SymmetricMatrix(
            a1[0] * a1[0] + a1[1] * a1[1] + b1[0] * b1[0] + b1[1] * b1[1],
            a1[0] * a2[0] + a1[1] * a2[1] + b1[0] * b2[0] + b1[1] * b2[1],
            a2[0] * a2[0] + a2[1] * a2[1] + b2[0] * b2[0] + b2[1] * b2[1],
        ),
        _SymmetricMatrix(
            2.0 * (a1[0] * b1[0] + a1[1] * b1[1]),
            a1[0] * b2[0] + a1[1] * b2[1] + a2[0] * b1[0] + a2[1] * b1[1],
            2.0 * (a2[0] * b2[0] + a2[1] * b2[1]),
        ),
        _SymmetricMatrix(
            2.0 * (a1[1] * b1[0] - a1[0] * b1[1]),
            a1[1] * b2[0] - a1[0] * b2[1] + a2[1] * b1[0] - a2[0] * b1[1],
            2.0 * (a2[1] * b2[0] - a2[0] * b2[1]),
        ),
    )


class _Contact(NamedTuple):
    """Entries of the matrix of the module docstring in addition to N: sizes, the radius, s, and z."""

    size: float
    radius: float
    s: float
    z1: float
    z2: float


@kernel
def _fixed_part(across, at):
    """Return the part that a turn leaves, less r s I, r z z^T / (s - r), and the rounding errors of z and of s - r."""
    rounded, rest = _ROUNDED * at.size, at.radius * (at.s - at.radius)
    share = at.radius * at.radius / rest
    length = abs(at.z1) + abs(at.z2) + rounded
    lost = share * length * rounded * (4.0 + 2.0 * at.radius * length / rest)
    taken = at.radius * at.s + _ROUNDED_SQUARES * at.size * at.size + lost
    return _SymmetricMatrix(
        across.fixed.xx - share * at.z1 * at.z1 - taken,
        across.fixed.xy - share * at.z1 * at.z2,
        across.fixed.yy - share * at.z2 * at.z2 - taken,
    )


@kernel
def _gram_at(across, fixed, c, s):
    """The matrix of a turn."""
    return _SymmetricMatrix(
        fixed.xx + c * across.by_cosine.xx + s * across.by_sine.xx,
        fixed.xy + c * across.by_cosine.xy + s * across.by_sine.xy,
        fixed.yy + c * across.by_cosine.yy + s * across.by_sine.yy,
    )


@kernel
def _halves(matrix):
    """Half of the trace, half of the difference, and the other entry."""
    return 0.5 * (matrix.xx + matrix.yy), 0.5 * (matrix.xx - matrix.yy), matrix.xy


@kernel
def _least_over_turns(across, fixed, c, s):
    """Return the largest least eigenvalue over turns, from one on; the first that is not negative will do.

    The least eigenvalue is half of the trace less the root of the sum of two squares. Newton's method goes along the
    angle to where it is largest.
    """
    tc, xc, yc = _halves(across.by_cosine)
    ts, xs, ys = _halves(across.by_sine)
    best = -math.inf
    for _ in range(_TURNS):
        trace, x, y = _halves(_gram_at(across, fixed, c, s))
        root = math.sqrt(x * x + y * y)
        best = max(best, trace - root)
        if best >= 0.0 or not (root > 0.0):
            break
        dx, dy = xs * c - xc * s, ys * c - yc * s
        falls = (x * dx + y * dy) / root
        slope = ts * c - tc * s - falls
        bend = (dx * dx + dy * dy - x * (xc * c + xs * s) - y * (yc * c + ys * s) - falls * falls) / root
        bend += tc * c + ts * s
        step = slope / bend if bend > 0.0 else math.copysign(MOST_TURN, slope)
        step = min(MOST_TURN, max(-MOST_TURN, step))
        # A turn by nearly that much.
        c, s = c - step * s, s + step * c
        length = math.sqrt(c * c + s * s)
        c, s = c / length, s / length
    return best


@kernel
def _floor_of_ball(pair, n, radius):
    """Least of the support function of the ball of a radius that touches M from inside along n."""
    a, b, rotation = pair.a, pair.b, pair.rotation
    of_a, of_b = stretch(a, n), stretch(b, rotate_back(rotation, n))
    point_a = scale(1.0 / norm(of_a), stretch(a, of_a))
    point_b = scale(1.0 / norm(of_b), stretch(b, of_b))
    point = sub(add(point_a, rotate(rotation, point_b)), pair.centre)
    return radius - norm(sub(point, scale(radius, n)))


@kernel
def depth_of_ellipsoids(pair, n, radius):
    """Bound the depth of two ellipsoids from below by a ball in an ellipsoid in M; -inf if the ball is not proved.

    Parameters
    ----------
    pair : Pair
        Of two ellipsoids.
    n : tuple
        Unit normal of their contact.
    radius : float
        Of a ball that touches M from inside along n, m.
    """
    out_of_line()
    if not radius > 0.0:
        return -math.inf
    a, b, rotation = pair.a, pair.b, pair.rotation
    t1, t2 = tangent_frame(n)
    s_a, q, q1, q2 = _frame_along(stretch(a, n))
    s_b, p, p1, p2 = _frame_along(stretch(b, rotate_back(rotation, n)))
    s = s_a + s_b
    a1, a2 = stretch(a, t1), stretch(a, t2)
    b1, b2 = stretch(b, rotate_back(rotation, t1)), stretch(b, rotate_back(rotation, t2))
    z1, z2 = dot(q, a1) + dot(p, b1), dot(q, a2) + dot(p, b2)
    size = max(a[A1], a[A2], a[A3]) + max(b[A1], b[A2], b[A3])
    across = _gram_of_turns(
        (dot(q1, a1), dot(q2, a1)), (dot(q1, a2), dot(q2, a2)), (dot(p1, b1), dot(p2, b1)), (dot(p1, b2), dot(p2, b2))
    )
    at = _Contact(size, radius, s, z1, z2)
    if not at.s - radius >= _LEAST_REST * at.s:
        return -math.inf
    # The turn of largest trace (Procrustes) comes first.
    c, sine = _halves(across.by_cosine)[0], _halves(across.by_sine)[0]
    length = math.sqrt(c * c + sine * sine)
    c, sine = (c / length, sine / length) if length > 0.0 else (1.0, 0.0)
    is_inside = _least_over_turns(across, _fixed_part(across, at), c, sine) >= 0.0
    return _floor_of_ball(pair, n, radius) if is_inside else -math.inf
