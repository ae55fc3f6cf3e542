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

On the cap of directions up to an angle theta from n, (n . x)^2 <= sin^2(theta / 2) |x|^2 (on all of the sphere, theta =
pi, it is void). So it is enough that H + b (n n^T - sin^2(theta / 2) I) >= 0 for some b >= 0 (S-lemma). With n,
t_1, t_2 for axes, N the part of G t_j across G n, z_j the part along it, and beta = b cos^2(theta / 2), the Schur
complement of r (s - r) + beta is a matrix of two rows:

    N^T N - r s I - r^2 z z^T / (r (s - r) + beta) >= beta tan^2(theta / 2) I.

The left side at beta = 0 decides about the whole sphere: then the ball lies in K. Otherwise its least eigenvalue, over
beta, is the square of the tangent of half the angle of a cap.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, dot, norm, rotate, rotate_back, scale, sub, tangent_frame
from superovoid.contact.minkowski.difference import MOST_TURN
from superovoid.contact.superovoids.caps import Cap
from superovoid.shapes.kernels.rounding import EPS
from superovoid.shapes.kernels.surface import A1, A2, A3, S_, TX, TY, P

_TURNS = np.int64(6)
_LEAST_REST = 1e-12  # of r (s - r) + beta, relative to r s
# Of what is computed, relative to both largest semi-axes together: of lengths and parts of vectors, and of the matrix
# without the term of z, whose numbers are squares.
_ROUNDED, _ROUNDED_SQUARES = 32.0 * EPS, 512.0 * EPS
_BETAS, _TO_NEXT_BETA = np.int64(3), 3.0  # how many, and from one to the next
_BEYOND = 1e-4  # of a depth
_INSIDE = 1.0 - 1e-9  # of an angle


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
def _without_beta(across, at):
    """Return the fixed part less r s I and its rounding error, and r (s - r)."""
    taken = at.radius * at.s + _ROUNDED_SQUARES * at.size * at.size
    fixed = across.fixed
    return _SymmetricMatrix(fixed.xx - taken, fixed.xy, fixed.yy - taken), at.radius * (at.s - at.radius)


@kernel
def _with_rest(matrix, at, rest):
    """Return the matrix less r^2 z z^T / rest and its rounding errors: of z, and of the rest, as s."""
    rounded = _ROUNDED * at.size
    share = at.radius * at.radius / rest
    length = abs(at.z1) + abs(at.z2) + rounded
    lost = share * length * rounded * (4.0 + 2.0 * at.radius * length / rest)
    return _SymmetricMatrix(
        matrix.xx - share * at.z1 * at.z1 - lost,
        matrix.xy - share * at.z1 * at.z2,
        matrix.yy - share * at.z2 * at.z2 - lost,
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
def _best_turn(across, fixed, c, s, enough):
    """Largest least eigenvalue over turns, from one on, and its turn; the first that is enough will do.

    The least eigenvalue is half of the trace less the root of the sum of two squares. Newton's method goes along the
    angle to where it is largest.
    """
    tc, xc, yc = _halves(across.by_cosine)
    ts, xs, ys = _halves(across.by_sine)
    best, best_c, best_s = -math.inf, c, s
    for _ in range(_TURNS):
        trace, x, y = _halves(_gram_at(across, fixed, c, s))
        root = math.sqrt(x * x + y * y)
        value = trace - root
        if value > best:
            best, best_c, best_s = value, c, s
        if value >= enough or not (root > 0.0):
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
    return best, best_c, best_s


@kernel
def radius_beyond(depth):
    """Radius of a ball whose floor is that of a depth although its normal is off by a little.

    The floor of a ball as wide as the depth is too low by the whole remaining part across the normal, g; the floor of
    this one by about g^2 / (2 (radius - depth)).
    """
    return (1.0 + _BEYOND) * depth


@kernel
def floor_of_ball(pair, n, radius):
    """Least of the support function of the ball of a radius that touches M from inside along n."""
    a, b, rotation = pair.a, pair.b, pair.rotation
    of_a, of_b = stretch(a, n), stretch(b, rotate_back(rotation, n))
    point_a = scale(1.0 / norm(of_a), stretch(a, of_a))
    point_b = scale(1.0 / norm(of_b), stretch(b, of_b))
    point = sub(add(point_a, rotate(rotation, point_b)), pair.centre)
    return radius - norm(sub(point, scale(radius, n)))


@kernel
def cap_by_ellipsoid(pair, n, radius):
    """Cap of directions about the contact of two ellipsoids on which their h_M is above that of a ball in it.

    Parameters
    ----------
    pair : Pair
        Of two ellipsoids.
    n : tuple
        Unit normal of their contact.
    radius : float
        Of a ball that touches M from inside along n, no less than the depth, m. Along a direction at an angle to n h_M
        is then no less than the depth and (radius - depth) (1 - cosine).

    Returns
    -------
    Cap
        The angle is pi if the ball lies in M, and 0 if nothing is known. The floor is the least of the support
        function of the ball, m.
    """
    out_of_line()
    if not radius > 0.0:
        return Cap(0.0, -math.inf)
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
    matrix, rest = _without_beta(across, at)
    least_rest = _LEAST_REST * radius * s
    floor = floor_of_ball(pair, n, radius)
    # The turn of largest trace (Procrustes) comes first.
    c, sine = _halves(across.by_cosine)[0], _halves(across.by_sine)[0]
    length = math.sqrt(c * c + sine * sine)
    c, sine = (c / length, sine / length) if length > 0.0 else (1.0, 0.0)
    if rest >= least_rest:
        value, c, sine = _best_turn(across, _with_rest(matrix, at, rest), c, sine, 0.0)
        if value >= 0.0:
            return Cap(math.pi, floor)
    # The largest beta has the value without z. With that for both eigenvalues, the best one is known.
    limit, c, sine = _best_turn(across, matrix, c, sine, math.inf)
    if not limit > 0.0:
        return Cap(0.0, floor)
    excess = radius * radius * (z1 * z1 + z2 * z2) - limit * rest
    beta = (excess + math.sqrt(max(0.0, excess * (excess + limit * rest)))) / (limit * _TO_NEXT_BETA)
    square = 0.0
    for _ in range(_BETAS):
        if beta > 0.0 and rest + beta >= least_rest:
            value, c, sine = _best_turn(across, _with_rest(matrix, at, rest + beta), c, sine, math.inf)
            square = max(square, value / beta)
        beta *= _TO_NEXT_BETA
    return Cap(_INSIDE * 2.0 * math.atan(math.sqrt(square)), floor)
