# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Separation of two bodies along one direction or of their boxes along many, and points common to both."""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel
from superovoid.compiled.powers import exp, log_1p, power
from superovoid.compiled.vector import dot, norm, rotate, rotate_back, scale, sub
from superovoid.shapes.kernels.kinds import HALF_SPACE, SUPPORT_LOSS, body_support
from superovoid.shapes.kernels.rounding import allowance
from superovoid.shapes.kernels.surface import INV_A1, INV_A2, INV_A3, INV_P, RADIUS, S_, TX, TY, P


@kernel
def offset_of(pose_a, pose_b):
    """Return the vector from the origin of A to that of B, world."""
    return (pose_b[0, 3] - pose_a[0, 3], pose_b[1, 3] - pose_a[1, 3], pose_b[2, 3] - pose_a[2, 3])


@kernel
def from_origin(pose, row, k):
    """Return the vector from the origin of a body to the point at place k of a row, world."""
    return (row[k] - pose[0, 3], row[k + 1] - pose[1, 3], row[k + 2] - pose[2, 3])


@kernel
def rounding_margin(a, b, centre):
    """Bound the rounding errors in a separation or a depth of two packed bodies, B at a centre from A (`rounding`)."""
    return allowance(a[RADIUS], b[RADIUS], norm(centre))


@kernel
def radii(a, b):
    """Radii of two `Core` that rounding is in proportion to: of a half-space that of the other body."""
    of_a, of_b = a.row[RADIUS], b.row[RADIUS]
    if a.kind == HALF_SPACE:
        of_a = 0.0 if b.kind == HALF_SPACE else of_b
    return of_a, of_a if b.kind == HALF_SPACE else of_b


@kernel
def _extent(core, pose, n):
    """Bound of the support function of a whole body about its origin along n (world), and a support point from there.

    For a half-space, the direction is its own normal.
    """
    if core.kind == HALF_SPACE:
        return 0.0, (0.0, 0.0, 0.0)
    h, x = body_support(core, rotate_back(pose, n))
    return h + core.row[SUPPORT_LOSS], rotate(pose, x)


class Separation(NamedTuple):
    """The separation along a direction, with the support points relative to the origins of the bodies, world axes."""

    lower: float
    x: tuple
    y: tuple


@kernel
def separation(a, b, pose_a, pose_b, n):
    """Return g(n) of two `Core` with their balls, less the rounding error.

    n is a unit vector (world); with a half-space, its normal.
    """
    h_a, x = _extent(a, pose_a, n)
    h_b, y = _extent(b, pose_b, scale(-1.0, n))
    of_a, of_b = radii(a, b)
    offset = offset_of(pose_a, pose_b)
    return Separation(dot(n, offset) - h_a - h_b - allowance(of_a, of_b, norm(offset)), x, y)


@kernel
def gap_of_boxes(axes, d, a, b, enough, rounding):
    """Largest gap of two boxes along any of 15 axes, less rounding: it bounds their signed distance from below.

    The axes are those of Gottschalk, Lin, Manocha, "OBBTree", SIGGRAPH 1996, of unit length so that a gap is a length:
    normals of faces, and cross products of edges unless these are nearly parallel and add nothing to the faces.

    Parameters
    ----------
    axes : tuple of tuple
        Axes of B in the frame of A.
    d : tuple
        From the centre of A to that of B, in the frame of A, m.
    a, b : tuple or array, shape (3,)
        Half extents, m.
    enough : float
        A gap beyond this is returned as soon as it is found, m.
    rounding : float
        m.
    """
    p, q, r = axes
    best = abs(d[0]) - a[0] - b[0] * abs(p[0]) - b[1] * abs(q[0]) - b[2] * abs(r[0])
    best = max(best, abs(d[1]) - a[1] - b[0] * abs(p[1]) - b[1] * abs(q[1]) - b[2] * abs(r[1]))
    best = max(best, abs(d[2]) - a[2] - b[0] * abs(p[2]) - b[1] * abs(q[2]) - b[2] * abs(r[2])) - rounding
    if best > enough:
        return best
    face = -math.inf
    for j in range(3):
        u = axes[j]
        face = max(face, abs(dot(d, u)) - b[j] - a[0] * abs(u[0]) - a[1] * abs(u[1]) - a[2] * abs(u[2]))
    best = max(best, face - rounding)
    for i in range(3):
        if best > enough:
            return best
        for j in range(3):
            # The cross product of axis i of A with axis j of B is (-v, u) in the other two axes of A, k and h.
            k, h = (i + 1) % 3, (i + 2) % 3
            u, v = axes[j][k], axes[j][h]
            length = math.sqrt(u * u + v * v)
            if length > 0.0:
                m, n = (j + 1) % 3, (j + 2) % 3
                of_a, of_b = a[k] * abs(v) + a[h] * abs(u), b[m] * abs(axes[n][i]) + b[n] * abs(axes[m][i])
                best = max(best, (abs(d[h] * u - d[k] * v) - of_a - of_b - rounding) / length)
    return best


@kernel
def level(body, x):
    """F + 1 of a local point: below 1 inside; infinite above and below the body."""
    w = x[2] * body[INV_A3]
    if abs(w) >= 1.0:
        return math.inf
    u = abs(x[0] * body[INV_A1] / (1.0 + body[TX] * w))
    v = abs(x[1] * body[INV_A2] / (1.0 + body[TY] * w))
    larger = max(u, v)  # taken out first: powers of large exponents would vanish together
    share = power(min(u, v) / larger, body[P]) if larger > 0.0 else 0.0
    r = larger * exp(body[INV_P] * log_1p(share))
    return power(r, body[S_]) + power(abs(w), body[S_])


@kernel
def is_inside(body, x, slack):
    """Return whether a local point is inside a body by more than a slack of F."""
    return level(body, x) < 1.0 - slack


@kernel
def slack_of_level(body, error):
    """Bound the change of F by a step of a given length, and its rounding error, wherever F < 1.

    With u, v, r, |w| <= 1 and |T| <= 1/2 the derivatives of r^s + |w|^s by x and y are at most s / (a k), that by z at
    most 3 s / a3, so the gradient is no longer than sqrt(11) s / min(a k).
    """
    steepest = max(body[INV_A1], body[INV_A2], body[INV_A3]) / (1.0 - max(abs(body[TX]), abs(body[TY])))
    return 1e-12 + 8.0 * error * max(body[P], body[S_]) * steepest


@kernel
def is_in_both(pair, p, loss=0.0):
    """Return whether a point in the frame of A is proved to be inside both bodies.

    `loss` is how far the bodies may be from where their poses put them, m.
    """
    a, b = pair.a, pair.b
    error = rounding_margin(a, b, pair.centre) + loss
    if not is_inside(a, p, slack_of_level(a, error)):
        return False
    return is_inside(b, rotate_back(pair.rotation, sub(p, pair.centre)), slack_of_level(b, error))


@kernel
def inner_centre(pair):
    """Return whether the centre of a body, however small, is proved to be inside the other one, and that centre.

    The centre is in the frame of A.
    """
    a, b = pair.a, pair.b
    error = rounding_margin(a, b, pair.centre)
    if is_inside(a, pair.centre, slack_of_level(a, error)):
        return True, pair.centre
    origin = rotate_back(pair.rotation, scale(-1.0, pair.centre))
    return is_inside(b, origin, slack_of_level(b, error)), (0.0, 0.0, 0.0)
