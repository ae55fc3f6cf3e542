# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Distance by one root (Sohn et al. 2002, sections 5.3 and 6).

The steps are a start by point-ellipsoid distances, Newton's method in (u, v), and a check of the root. The equations of
its congruence, in its own frame, describe the first body. The parametrisation (eq. 15) describes the second, an
ellipsoid, displaced to that frame by a dual quaternion (eq. 37).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.vector import add, combine, cross, dot, norm, rotate, rotate_back, scale, sub
from superovoid.compiler.jit import kernel
from superovoid_papers.methods.sohn2002.congruences import CIRCLE, CONE, CYLINDER, POINT, ellipsoid_kind, equations
from superovoid_papers.methods.sohn2002.pluecker import (
    dual_quaternion,
    ellipsoid_normals,
    ellipsoid_point,
    foot_on_ellipsoid,
    move_line,
    patch_parameters,
)

DISTANCE, POINT_A, POINT_B, NORMAL, ITERATIONS, CONVERGED, ATTEMPTS, RESULT_LENGTH = 0, 1, 4, 7, 10, 11, 12, 13

CAP = -1
"""In addition to the kinds of `congruences`: the nearest point lies on a flat end."""
_LAST_STEP = 1e-9
"""Newton's method ends with a step below this, with its square as the error."""
_ANGLE = 1e-6
"""Largest angle between the normals of an answer: their error due to tolerance and rounding of points near a tip."""


class Effort(NamedTuple):
    """Limits of the effort for an answer, and its tolerance."""

    rounds: int  # of feet, on the second body and the first in turn, before Newton's method starts
    attempts: int  # starts of Newton's method
    iterations: int  # Newton steps of each
    rtol: float  # largest distance of the points from their common normal, in units of the largest radius


@kernel
def newton_step(kind, parameters, line, by_u, by_v):
    """Return the step (du, dv) of Newton's method on f(L(u, v)) = g(L(u, v)) = 0 (eqs. 38, 39), or nan."""
    (f, fd, fm), (g, gd, gm) = equations(kind, parameters, line[0], line[1])
    fu, fv = dot(fd, by_u[0]) + dot(fm, by_u[1]), dot(fd, by_v[0]) + dot(fm, by_v[1])
    gu, gv = dot(gd, by_u[0]) + dot(gm, by_u[1]), dot(gd, by_v[0]) + dot(gm, by_v[1])
    determinant = fu * gv - fv * gu
    return (fv * g - gv * f) / determinant, (gu * f - fu * g) / determinant


@kernel
def refine(kind, parameters, radii, displacement, x, iterations):
    """Run Newton's method from a point of the second body; return the last point and normal, own frame, and steps."""
    u, v, pole = patch_parameters(radii, x)
    steps = 0
    for _ in range(iterations):
        line, by_u, by_v = ellipsoid_normals(radii, u, v, pole)
        du, dv = newton_step(
            kind,
            parameters,
            move_line(displacement, line),
            move_line(displacement, by_u),
            move_line(displacement, by_v),
        )
        steps += 1
        if not abs(du) + abs(dv) < math.inf:
            break
        u, v = u + du, v + dv
        size = u * u + v * v
        if size > 1.0:  # change to the other patch, which is regular at this one's centre of projection
            u, v, pole = u / size, v / size, -pole
        if abs(du) + abs(dv) <= _LAST_STEP:
            break
    x, n = ellipsoid_point(radii, u, v, pole)
    return x, n, steps


@kernel
def foot_of_line(radii, d, m):
    """Return the foot of a line of the congruence of an ellipsoid (eq. 20): x_i = A_i^2 L_i / (2 lambda).

    (2 lambda)^2 is the sum of A_i^2 L_i^2. The sign of lambda gives 2 lambda (L4, L5, L6) the direction of
    (L2 L3 (B^2 - C^2), ...). On an axis of the ellipsoid, these vanish, and both feet belong to the line.
    """
    aa, bb, cc = radii[0] ** 2, radii[1] ** 2, radii[2] ** 2
    twice = math.sqrt(aa * d[0] ** 2 + bb * d[1] ** 2 + cc * d[2] ** 2)
    right = (d[1] * d[2] * (bb - cc), d[2] * d[0] * (cc - aa), d[0] * d[1] * (aa - bb))
    twice = math.copysign(twice, dot(m, right))
    return (aa * d[0] / twice, bb * d[1] / twice, cc * d[2] / twice)


@kernel
def ellipsoid_gradient(radii, x):
    """Return half the gradient of x^2/a^2 + y^2/b^2 + z^2/c^2."""
    return (x[0] / radii[0] ** 2, x[1] / radii[1] ** 2, x[2] / radii[2] ** 2)


@kernel
def support(radii, n):
    """Return the point of an ellipsoid with an outward normal along n."""
    y = (radii[0] ** 2 * n[0], radii[1] ** 2 * n[1], radii[2] ** 2 * n[2])
    return scale(1.0 / math.sqrt(dot(y, n)), y)


@kernel
def is_answer(x1, n1, x2, n2, slack):
    """Return whether a common normal is that of the least distance: both outward normals point to the other body.

    n1 and n2 are outward normals of any length. Only one common normal of disjoint convex bodies has this property.
    `slack` bounds the distance of the points from it, m; if the points coincide, only the angle of the normals decides.
    """
    between = sub(x2, x1)
    length1, length2 = norm(n1), norm(n2)
    across = max(norm(cross(between, n1)) / length1, norm(cross(between, n2)) / length2)
    return (
        across <= slack
        and dot(between, n1) >= -slack * length1
        and dot(between, n2) <= slack * length2
        and dot(n1, n2) < 0.0
        and norm(cross(n1, n2)) <= _ANGLE * length1 * length2
    )


@kernel
def write(out, x1, x2, n, rotation, origin, steps, converged, attempts):
    """Fill in a result, with points and normal transformed from the frame of the first body to the world."""
    n = scale(1.0 / norm(n), n)
    out[DISTANCE] = dot(sub(x2, x1), n)
    p, q, n = add(rotate(rotation, x1), origin), add(rotate(rotation, x2), origin), rotate(rotation, n)
    for i in range(3):
        out[POINT_A + i], out[POINT_B + i], out[NORMAL + i] = p[i], q[i], n[i]
    out[ITERATIONS], out[CONVERGED], out[ATTEMPTS] = steps, converged, attempts


@kernel
def relative_pose(pose_a, pose_b, rotation):
    """Compute the pose of B in the frame of A: write the rotation, return the translation."""
    for i in range(3):
        for j in range(3):
            rotation[i, j] = pose_a[0, i] * pose_b[0, j] + pose_a[1, i] * pose_b[1, j] + pose_a[2, i] * pose_b[2, j]
    return rotate_back(pose_a, (pose_b[0, 3] - pose_a[0, 3], pose_b[1, 3] - pose_a[1, 3], pose_b[2, 3] - pose_a[2, 3]))


@kernel
def solve_ellipsoids(a, pose_a, b, pose_b, effort, rotation, out):
    """Solve two ellipsoids of radii `a` and `b`: fill in a result; `rotation` is scratch.

    From the centre of A, feet on B and A in turn give a start. If the root of Newton's method fails the check, the
    same number of feet gives the next start. A foot inside the other body ends the search: the bodies overlap, and the
    paper's distance is not defined.
    """
    rounds, attempts, iterations, rtol = effort
    radii_a, radii_b = (a[0], a[1], a[2]), (b[0], b[1], b[2])
    t = relative_pose(pose_a, pose_b, rotation)
    displacement = dual_quaternion(rotation, t)
    slack = rtol * max(a[0], a[1], a[2], b[0], b[1], b[2])
    kind = ellipsoid_kind(radii_a)
    origin = (pose_a[0, 3], pose_a[1, 3], pose_a[2, 3])
    x1, steps = (0.0, 0.0, 0.0), 0
    for attempt in range(1, attempts + 1):
        for _ in range(rounds):
            y, outside = foot_on_ellipsoid(radii_b, rotate_back(rotation, sub(x1, t)))
            x2 = add(rotate(rotation, y), t)
            x1, outside_too = foot_on_ellipsoid(radii_a, x2)
            if not (outside and outside_too):
                write(out, x1, x2, sub(t, x1), pose_a, origin, steps, False, attempt)
                return
        n1, n2 = ellipsoid_gradient(radii_a, x1), rotate(rotation, ellipsoid_gradient(radii_b, y))
        if is_answer(x1, n1, x2, n2, slack):
            write(out, x1, x2, n1, pose_a, origin, steps, True, attempt)
            return
        if kind != POINT:
            y, n2, count = refine(kind, radii_a, radii_b, displacement, y, iterations)
            steps += count
            x2, n2 = add(rotate(rotation, y), t), rotate(rotation, n2)
            foot = foot_of_line(radii_a, n2, cross(x2, n2))
            n1 = ellipsoid_gradient(radii_a, foot)
            if is_answer(foot, n1, x2, n2, slack):
                write(out, foot, x2, n1, pose_a, origin, steps, True, attempt)
                return
    write(out, x1, x2, n1, pose_a, origin, steps, False, attempts)


@kernel
def nearest_point(kind, size, x):
    """Return the nearest point of a solid about z, its feature, and whether x is outside.

    Parameters
    ----------
    kind : int
        CYLINDER or CONE: `size` is radius and half height; CIRCLE: radii of a torus, and the point is on its circle.
    x : tuple of 3 floats

    Returns
    -------
    point : tuple of 3 floats
    feature : int
        CYLINDER or CONE: the side. CIRCLE: the torus, or a rim. CAP: a flat end. POINT: the apex.
    height : float
        Height of that circle.
    outside : bool
    """
    radius, h = size[0], size[1]
    rho = math.hypot(x[0], x[1])
    e = (x[0] / rho, x[1] / rho) if rho > 0.0 else (1.0, 0.0)
    if kind == CIRCLE:
        return (radius * e[0], radius * e[1], 0.0), CIRCLE, 0.0, math.hypot(rho - radius, x[2]) > h
    if kind == CYLINDER:
        z = min(max(x[2], -h), h)
        if rho <= radius:
            flat = (x[0], x[1], math.copysign(h, x[2]))
            return flat, CAP, 0.0, abs(x[2]) > h
        return (radius * e[0], radius * e[1], z), (CYLINDER if z == x[2] else CIRCLE), z, True
    # Position s on the side of a cone, from 0 at its rim (radius, -h) to 1 at its apex (0, h).
    s = ((radius - rho) * radius + (x[2] + h) * 2.0 * h) / (radius * radius + 4.0 * h * h)
    above = 2.0 * h * rho + radius * (x[2] - h) > 0.0
    if x[2] <= -h and rho <= radius:
        return (x[0], x[1], -h), CAP, 0.0, x[2] < -h
    if s <= 0.0:
        return (radius * e[0], radius * e[1], -h), CIRCLE, -h, True
    if s >= 1.0:
        return (0.0, 0.0, h), POINT, 0.0, True
    return ((1.0 - s) * radius * e[0], (1.0 - s) * radius * e[1], (2.0 * s - 1.0) * h), CONE, 0.0, above


@kernel
def support_value(kind, size, n):
    """Return the support value of a cylinder or cone about z (`nearest_point`)."""
    across = math.hypot(n[0], n[1])
    if kind == CYLINDER:
        return size[0] * across + size[1] * abs(n[2])
    return max(size[1] * n[2], size[0] * across - size[1] * n[2])


@kernel
def is_round_answer(kind, size, x1, x2, n, slack):
    """Return whether the solid's point x1 nearest to x2 and the ellipsoid's outward normal n at x2 are an answer.

    The solid's normals at x1 are the directions with x1 as a support point. A torus has only one normal from its circle
    to a point outside the tube.
    """
    n = scale(-1.0 / norm(n), n)
    between = sub(x2, x1)
    if norm(cross(between, n)) > slack or dot(between, n) < -slack:
        return False
    return kind == CIRCLE or support_value(kind, size, n) <= dot(n, x1) + slack


@kernel
def solve_round(kind, size, pose_a, b, pose_b, effort, rotation, out):
    """Solve a solid about z (`nearest_point`) and an ellipsoid of radii `b`: fill in a result; `rotation` is scratch.

    As `solve_ellipsoids`. The feet determine the part of the solid's boundary: its side, a rim, with the normals of a
    torus without tube, an end, with parallel normals, or the apex, a point.
    """
    rounds, attempts, iterations, rtol = effort
    radii_b = (b[0], b[1], b[2])
    t = relative_pose(pose_a, pose_b, rotation)
    displacement = dual_quaternion(rotation, t)
    slack = rtol * max(size[0], size[1], b[0], b[1], b[2])
    tube = size[1] if kind == CIRCLE else 0.0
    origin = (pose_a[0, 3], pose_a[1, 3], pose_a[2, 3])
    x2, steps = t, 0
    x1, feature, height, outside = nearest_point(kind, size, x2)
    n = sub(x1, t)
    for attempt in range(1, attempts + 1):
        for _ in range(rounds):
            y, outside_too = foot_on_ellipsoid(radii_b, rotate_back(rotation, sub(x1, t)))
            if not (outside and outside_too):
                write(out, x1, x2, sub(x2, x1), pose_a, origin, steps, False, attempt)
                return
            x2 = add(rotate(rotation, y), t)
            x1, feature, height, outside = nearest_point(kind, size, x2)
        n = rotate(rotation, ellipsoid_gradient(radii_b, y))
        if outside and is_round_answer(kind, size, x1, x2, n, slack):
            write_round(out, x1, x2, n, tube, pose_a, origin, steps, attempt)
            return
        if feature == POINT:
            continue
        if feature == CAP:
            n = (0.0, 0.0, -math.copysign(1.0, x1[2]))
            root = support(radii_b, rotate_back(rotation, n))
        else:
            parameters = (size[0], height, 0.0)
            if feature == CONE:
                parameters = ((0.5 * size[0] / size[1]) ** 2, 0.0, 0.0)
            root, n, count = refine(feature, parameters, radii_b, displacement, y, iterations)
            n = rotate(rotation, n)
            steps += count
        root = add(rotate(rotation, root), t)
        foot, _, _, apart = nearest_point(kind, size, root)
        if apart and is_round_answer(kind, size, foot, root, n, slack):
            write_round(out, foot, root, n, tube, pose_a, origin, steps, attempt)
            return
    write(out, x1, x2, scale(-1.0, n), pose_a, origin, steps, False, attempts)


@kernel
def write_round(out, x1, x2, n, tube, rotation, origin, steps, attempt):
    """Fill in an answer of `solve_round`; n is the ellipsoid's normal, and `tube` the radius of the solid about x1."""
    n = scale(-1.0 / norm(n), n)
    write(out, combine(1.0, x1, tube, n), x2, n, rotation, origin, steps, True, attempt)
