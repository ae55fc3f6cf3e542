# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Lines in Plücker coordinates, and normals of surfaces as lines (Sohn et al. 2002, sections 2, 3 and 5.2).

A line is a pair of vectors (d, m), up to a common factor: direction (L1, L2, L3) and moment p x d = (L4, L5, L6) of any
of its points p (eq. 5), with d . m = 0 (eq. 6). As a dual vector it is d + eps m with eps^2 = 0 (eq. 35).
"""

from __future__ import annotations

import math

from superovoid.compiled.vector import add, combine, cross, dot, scale
from superovoid.compiler.jit import kernel

_LEAST = 1e-300


@kernel
def multiply(p, q):
    """Return the quaternion product (eq. 34), scalar part first."""
    pv, qv = (p[1], p[2], p[3]), (q[1], q[2], q[3])
    vector = add(combine(p[0], qv, q[0], pv), cross(pv, qv))
    return (p[0] * q[0] - dot(pv, qv), vector[0], vector[1], vector[2])


@kernel
def conjugate(q):
    """Return the conjugate quaternion."""
    return (q[0], -q[1], -q[2], -q[3])


@kernel
def quaternion(r):
    """Return the unit quaternion of a rotation matrix, from the largest of its four parts (Shepperd 1978)."""
    trace = r[0, 0] + r[1, 1] + r[2, 2]
    if trace > max(r[0, 0], r[1, 1], r[2, 2]):
        q = (1.0 + trace, r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1])
    elif r[0, 0] >= max(r[1, 1], r[2, 2]):
        q = (r[2, 1] - r[1, 2], 1.0 + 2.0 * r[0, 0] - trace, r[1, 0] + r[0, 1], r[2, 0] + r[0, 2])
    elif r[1, 1] >= r[2, 2]:
        q = (r[0, 2] - r[2, 0], r[1, 0] + r[0, 1], 1.0 + 2.0 * r[1, 1] - trace, r[2, 1] + r[1, 2])
    else:
        q = (r[1, 0] - r[0, 1], r[2, 0] + r[0, 2], r[2, 1] + r[1, 2], 1.0 + 2.0 * r[2, 2] - trace)
    f = 1.0 / math.sqrt(q[0] ** 2 + q[1] ** 2 + q[2] ** 2 + q[3] ** 2)
    return (f * q[0], f * q[1], f * q[2], f * q[3])


@kernel
def dual_quaternion(rotation, translation):
    """Return the real and the dual part of a displacement T * R (eq. 36), T = 1 + eps v / 2."""
    real = quaternion(rotation)
    half = (0.0, 0.5 * translation[0], 0.5 * translation[1], 0.5 * translation[2])
    return real, multiply(half, real)


@kernel
def move_line(displacement, line):
    """Displace a line, T R L R' T' (eq. 37); ' conjugates the quaternion and leaves eps."""
    real, dual = displacement
    d, m = line
    d, m = (0.0, d[0], d[1], d[2]), (0.0, m[0], m[1], m[2])
    left_real = multiply(real, d)
    left_dual = multiply(real, m)
    more = multiply(dual, d)
    left_dual = (left_dual[0] + more[0], left_dual[1] + more[1], left_dual[2] + more[2], left_dual[3] + more[3])
    direction = multiply(left_real, conjugate(real))
    moment, rest = multiply(left_dual, conjugate(real)), multiply(left_real, conjugate(dual))
    return (direction[1], direction[2], direction[3]), add(
        (moment[1], moment[2], moment[3]), (rest[1], rest[2], rest[3])
    )


@kernel
def ellipsoid_point(radii, u, v, pole):
    """Return a point of an ellipsoid by stereographic projection (eq. 13), and its outward normal, any length (eq. 14).

    `pole` is 1 for the patch about (0, 0, c), projected from the south pole, and -1 for the other.
    """
    a, b, c = radii
    w, d = 1.0 + u * u + v * v, 1.0 - u * u - v * v
    return (
        (2.0 * a * u / w, 2.0 * b * v / w, pole * c * d / w),
        (2.0 * b * c * u, 2.0 * a * c * v, pole * a * b * d),
    )


@kernel
def patch_parameters(radii, x):
    """Return u, v and pole of the patch with u^2 + v^2 <= 1 at a point of an ellipsoid."""
    y = (x[0] / radii[0], x[1] / radii[1], x[2] / radii[2])
    pole = math.copysign(1.0, y[2])
    below = 1.0 / (math.sqrt(dot(y, y)) + abs(y[2]))
    return y[0] * below, y[1] * below, pole


@kernel
def ellipsoid_normals(radii, u, v, pole):
    """Return the normal congruence of an ellipsoid (eq. 15) with its derivatives by u and v: three pairs (d, m).

    The direction is the outward normal. For the patch about the other pole, the paper reverses L1, L2 and L6. Here L3,
    L4, L5 are reversed, which gives the same line with an outward direction.
    """
    a, b, c = radii
    rr = u * u + v * v
    w, d = 1.0 + rr, 1.0 - rr
    bc, ac, ab = 2.0 * b * c, 2.0 * a * c, pole * a * b
    k1, k2, k3 = 2.0 * pole * (b * b - c * c) * a, 2.0 * pole * (c * c - a * a) * b, 4.0 * (a * a - b * b) * c
    line = (bc * u * w, ac * v * w, ab * w * d), (k1 * v * d, k2 * u * d, k3 * u * v)
    by_u = (
        (bc * (w + 2.0 * u * u), 2.0 * ac * u * v, -4.0 * ab * rr * u),
        (-2.0 * k1 * u * v, k2 * (d - 2.0 * u * u), k3 * v),
    )
    by_v = (
        (2.0 * bc * u * v, ac * (w + 2.0 * v * v), -4.0 * ab * rr * v),
        (k1 * (d - 2.0 * v * v), -2.0 * k2 * u * v, k3 * u),
    )
    return line, by_u, by_v


@kernel
def foot_on_ellipsoid(radii, p):
    """Return the point of an ellipsoid nearest to a point outside (eq. 40), and whether the point is outside.

    With p = x + t grad f(x), x_i = A_i^2 p_i / (A_i^2 + 2 t) and sum y_i^2 = 1 with y_i = x_i / A_i. Multiplied by the
    denominators, this is a polynomial of degree six in t; t is its largest root. Left of it |y| > 1, and 1 / |y| is
    concave and nearly straight, so Newton's method on it increases monotonically to the root.
    """
    a = (radii[0] ** 2, radii[1] ** 2, radii[2] ** 2)
    ap = (radii[0] * p[0], radii[1] * p[1], radii[2] * p[2])
    t = max(0.0, 0.5 * (abs(ap[0]) - a[0]), 0.5 * (abs(ap[1]) - a[1]), 0.5 * (abs(ap[2]) - a[2]))
    y = (ap[0] / a[0], ap[1] / a[1], ap[2] / a[2])
    if dot(y, y) <= 1.0:
        return p, False
    for _ in range(50):
        below = (1.0 / (a[0] + 2.0 * t), 1.0 / (a[1] + 2.0 * t), 1.0 / (a[2] + 2.0 * t))
        y = (ap[0] * below[0], ap[1] * below[1], ap[2] * below[2])
        square = dot(y, y)
        slope = y[0] * y[0] * below[0] + y[1] * y[1] * below[1] + y[2] * y[2] * below[2]
        step = 0.5 * square * (math.sqrt(square) - 1.0) / max(slope, _LEAST)
        t += step
        if not step > 1e-15 * (t + a[0] + a[1] + a[2]):
            break
    y = (ap[0] / (a[0] + 2.0 * t), ap[1] / (a[1] + 2.0 * t), ap[2] / (a[2] + 2.0 * t))
    y = scale(1.0 / math.sqrt(dot(y, y)), y)  # against rounding errors
    return (radii[0] * y[0], radii[1] * y[1], radii[2] * y[2]), True
