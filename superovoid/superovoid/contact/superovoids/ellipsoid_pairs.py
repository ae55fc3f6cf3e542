# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Two ellipsoids: the depth of their contact, proved by an ellipsoid inside their Minkowski difference M = A - B.

docs/explanation/solver.md ("Upper bound of overlapping ellipsoids") derives the ellipsoid K with G = L_A + S L_B, and
when a ball of radius r that touches M lies in it. With n, t_1, t_2 for axes, s = |G n|, N the part of G t_j across G n
and z_j the part along it, the Schur complement of r (s - r) in that condition is

    N^T N - r s I - r z z^T / (s - r) >= 0.
"""

from __future__ import annotations

import math

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import add, dot, norm, rotate, rotate_back, scale, sub, tangent_frame
from superovoid.shapes.kernels.rounding import EPS, ROUNDED
from superovoid.shapes.kernels.surface import A1, A2, A3, S_, TX, TY, P

_LEAST_REST = 1e-12  # of r (s - r), relative to r s
# Of the matrix without the term of z, whose numbers are squares, relative to both largest semi-axes together; `ROUNDED`
# is that of lengths and parts of vectors.
_ROUNDED_SQUARES = 512.0 * EPS


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


@kernel
def _parts(q, q1, q2, v):
    """Return the part of a vector along q, and those along two vectors across it."""
    return dot(q, v), dot(q1, v), dot(q2, v)


@kernel
def _turned_sum(a, b, c, s):
    """Return a + W b for the parts of two vectors, with the cosine and the sine of the turn W of the parts across."""
    return a[0] + b[0], a[1] + c * b[1] - s * b[2], a[2] + s * b[1] + c * b[2]


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
    a, b, rotation = pair.a, pair.b, pair.rotation
    t1, t2 = tangent_frame(n)
    s_a, q, q1, q2 = _frame_along(stretch(a, n))
    s_b, p, p1, p2 = _frame_along(stretch(b, rotate_back(rotation, n)))
    s = s_a + s_b
    if not (radius > 0.0 and s - radius >= _LEAST_REST * s):
        return -math.inf
    a1, a2 = _parts(q, q1, q2, stretch(a, t1)), _parts(q, q1, q2, stretch(a, t2))
    b1 = _parts(p, p1, p2, stretch(b, rotate_back(rotation, t1)))
    b2 = _parts(p, p1, p2, stretch(b, rotate_back(rotation, t2)))
    # Of the determinant of the parts across, what depends on the turn is cosine cos + sine sin.
    cosine = a2[2] * b1[1] - a2[1] * b1[2] + a1[1] * b2[2] - a1[2] * b2[1]
    sine = -a2[1] * b1[1] - a2[2] * b1[2] + a1[1] * b2[1] + a1[2] * b2[2]
    length = math.sqrt(cosine * cosine + sine * sine)
    cosine, sine = (cosine / length, sine / length) if length > 0.0 else (1.0, 0.0)
    (z1, x1, y1), (z2, x2, y2) = _turned_sum(a1, b1, cosine, sine), _turned_sum(a2, b2, cosine, sine)
    size = max(a[A1], a[A2], a[A3]) + max(b[A1], b[A2], b[A3])
    rounded, rest = ROUNDED * size, radius * (s - radius)
    share, most = radius * radius / rest, abs(z1) + abs(z2) + rounded
    # The terms of z, and the rounding errors of z and of s - r.
    lost = share * most * rounded * (4.0 + 2.0 * radius * most / rest)
    taken = radius * s + _ROUNDED_SQUARES * size * size + lost
    xx, yy = x1 * x1 + y1 * y1 - share * z1 * z1 - taken, x2 * x2 + y2 * y2 - share * z2 * z2 - taken
    xy = x1 * x2 + y1 * y2 - share * z1 * z2
    is_inside = 0.5 * (xx + yy) >= math.sqrt(0.25 * (xx - yy) * (xx - yy) + xy * xy)
    return _floor_of_ball(pair, n, radius) if is_inside else -math.inf
