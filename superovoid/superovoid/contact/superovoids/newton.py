# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Common-normal Newton on primal/dual surface points: 2 x 2 unknowns an iteration.

Everything happens in the frame of A; R and c are the rotation and the centre of B seen from A. With n the common
normal (from A to B), u = x_B - x_A, d = u . n, v_A and v_B the tangential parts of the two unit normals (B's taken
inwards), and S_A, S_B the shape operators in the tangent frame, the step (a moves x_A, b moves x_B) solves

    (S_A + S_B + d S_B S_A) a = v_B - v_A + S_B (u_t - d v_A)
    v = v_A + S_A a,    b = a - u_t + d v                           (derived in docs/solver.md)

Each layer of each body is then brought back onto its unit curve from the moved *point* where the normal varies
slowly with the point, and from the moved *normal* elsewhere.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, combine, dot, norm, rotate, rotate_back, scale, sub, tangent_frame
from superovoid.shapes.kernels.surface import (
    A1,
    A2,
    A3,
    INV_A1,
    INV_A2,
    INV_A3,
    INV_P,
    INV_Q,
    INV_S,
    INV_T,
    S_,
    SIZE,
    T_,
    TX,
    TY,
    P,
    Q,
    SurfacePoint,
    dual_ratio,
    gradient,
    position,
    shape_operator,
    unit_curve_from_normal,
    unit_curve_from_point,
)

# A layer is brought back from its point while d(normal)/d(point) stays below this slope. 4 instead of 1 cuts the
# mean number of iterations by a third: a point carries second-order information that a normal does not.
_CHART_SLOPE = 4.0
_MAX_TURN = 0.7  # radians by which a step may turn the common normal
BACKTRACK = 0.35
MAX_BACKTRACKS = 5
GROWTH = 4.0  # of the residual, that is accepted where it need not fall
# Part of the least radius of M by which the depth of a downhill step stays below it, and the residual from which on.
_SHORT_OF_RADIUS, _CLOSE = 0.1, 1e-2
_ONE = np.int64(1)  # a literal would be compiled for by itself


class Contact(NamedTuple):
    """Two surface points seen together, in the frame of A."""

    x: tuple  # point of A
    y: tuple  # point of B, in the frame of B
    u: tuple  # from x to y, in the frame of A
    normal_a: tuple  # unit outward normal of A at x
    inward_b: tuple  # unit inward normal of B at y
    per_gradient_a: float  # 1 / |grad F_A|
    per_gradient_b: float
    n: tuple  # common unit normal, from A to B
    residual: float  # largest of the tangential offset (in units of the smaller body) and the mismatch of normals


class Step(NamedTuple):
    """How far the two points and the two unit normals are to move."""

    dx: tuple  # point of A
    dnormal_a: tuple
    dy: tuple  # point of B, in the frame of B
    dnormal_b: tuple  # outward normal of B, in the frame of B
    finite: bool
    downhill: bool  # towards a smaller depth, where Newton's own step would lead to a larger one


@kernel
def observe(pair, fa, fb, size):
    """Geometry of a pair of surface points."""
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    x = position(a, fa)
    y = position(b, fb)
    u = sub(add(centre, rotate(rotation, y)), x)
    ga = gradient(a, fa)
    gb = gradient(b, fb)
    per_a = 1.0 / norm(ga)
    per_b = 1.0 / norm(gb)
    na = scale(per_a, ga)
    nb = scale(-per_b, rotate(rotation, gb))
    n = add(na, nb)
    length = norm(n)
    n = scale(1.0 / length, n) if length > 1e-3 else na
    mismatch = sub(nb, na)
    offset = combine(1.0, u, -dot(u, n), n)
    residual = max(
        max(abs(offset[0]), abs(offset[1]), abs(offset[2])) / size,
        max(abs(mismatch[0]), abs(mismatch[1]), abs(mismatch[2])),
    )
    return Contact(x, y, u, na, nb, per_a, per_b, n, residual)


@kernel
def _system(a11, a12, a22, b11, b12, b22, d):
    """S_A + S_B + d S_B S_A, row by row."""
    return (
        a11 + b11 + d * (b11 * a11 + b12 * a12),
        a12 + b12 + d * (b11 * a12 + b12 * a22),
        a12 + b12 + d * (b12 * a11 + b22 * a12),
        a22 + b22 + d * (b12 * a12 + b22 * a22),
    )


@kernel
def newton_step(a, b, rotation, fa, fb, k):
    """Solve the 2 x 2 system of the module docstring."""
    t1, t2 = tangent_frame(k.n)
    b1 = rotate_back(rotation, t1)
    b2 = rotate_back(rotation, t2)
    a11, a12, a22 = shape_operator(a, fa, t1, t2, k.per_gradient_a)
    b11, b12, b22 = shape_operator(b, fb, b1, b2, k.per_gradient_b)
    d = dot(k.u, k.n)
    u1, u2 = dot(k.u, t1), dot(k.u, t2)
    va1, va2 = dot(k.normal_a, t1), dot(k.normal_a, t2)
    vb1, vb2 = dot(k.inward_b, t1), dot(k.inward_b, t2)
    m11, m12, m21, m22 = _system(a11, a12, a22, b11, b12, b22, d)
    det = m11 * m22 - m12 * m21
    downhill = False
    if d < 0.0:
        # Overlapping: the step is a step towards a *minimum* of the depth only where S_A^-1 + S_B^-1 + d I, the radii
        # of M less the depth, is positive definite. Elsewhere a smaller depth serves: a longer step than with none,
        # that goes downhill. Close to a contact that depth comes close to the least radius: the step is Newton's.
        det_a = a11 * a22 - a12 * a12
        det_b = b11 * b22 - b12 * b12
        det_0 = (a11 + b11) * (a22 + b22) - (a12 + b12) ** 2
        trace = (a11 + a22) * det_b + (b11 + b22) * det_a
        least = 2.0 * det_0 / (trace + math.sqrt(max(0.0, trace * trace - 4.0 * det_0 * det_a * det_b)))
        shallowest = -(1.0 - _SHORT_OF_RADIUS * min(1.0, k.residual / _CLOSE)) * least
        if det_a > 0.0 and det_b > 0.0 and d < shallowest:
            downhill = True
            d = shallowest
            m11, m12, m21, m22 = _system(a11, a12, a22, b11, b12, b22, d)
            det = m11 * m22 - m12 * m21
    # Two bodies flat in the same direction leave the system singular; where nothing is to be done along it, nothing is.
    floor = 1e-14 * (abs(m11) + abs(m22)) + 1e-300
    if not (abs(det) > floor * (abs(m11) + abs(m22))):
        m11 += 4.0 * floor
        m22 += 4.0 * floor
        det = m11 * m22 - m12 * m21
    e1 = u1 - d * va1
    e2 = u2 - d * va2
    r1 = vb1 - va1 + b11 * e1 + b12 * e2
    r2 = vb2 - va2 + b12 * e1 + b22 * e2
    p1 = (m22 * r1 - m12 * r2) / det
    p2 = (m11 * r2 - m21 * r1) / det
    v1 = va1 + a11 * p1 + a12 * p2
    v2 = va2 + a12 * p1 + a22 * p2
    turn = math.sqrt(v1 * v1 + v2 * v2)
    finite = turn < 1e30
    part = 1.0
    if turn > _MAX_TURN:
        part = _MAX_TURN / turn
        v1, v2, p1, p2 = part * v1, part * v2, part * p1, part * p2
    q1 = p1 - part * e1 + d * (v1 - va1)
    q2 = p2 - part * e2 + d * (v2 - va2)
    target = add(k.n, combine(v1, t1, v2, t2))
    return Step(
        combine(p1, t1, p2, t2),
        sub(target, k.normal_a),
        combine(q1, b1, q2, b2),
        rotate_back(rotation, sub(k.inward_b, target)),
        finite,
        downhill,
    )


@kernel
def point_chart(point, other, dual, other_dual, exponent_1, factor):
    """True where a layer is better brought back from its point than from its normal."""
    if abs(other) < abs(point):
        return exponent_1 * abs(other_dual) * abs(point) * factor < _CHART_SLOPE * abs(dual) * abs(other)
    return exponent_1 * abs(dual) * abs(other) * factor < _CHART_SLOPE * abs(other_dual) * abs(point)


@kernel
def retract(body, x, n, r, point_1, point_2):
    """Surface point from a moved point x and a moved normal n; point_i says which of them rules in layer i."""
    w = min(1.3, max(-1.3, x[2] * body[INV_A3]))
    kx = 1.0 + body[TX] * w
    ky = 1.0 + body[TY] * w
    u = x[0] * body[INV_A1] / kx
    v = x[1] * body[INV_A2] / ky
    n1 = body[A1] * kx * n[0]
    n2 = body[A2] * ky * n[1]
    if point_1:
        if abs(u) + abs(v) < 1e-100:
            u = 1e-100
        c, s, cd, sd = unit_curve_from_point(u, v, body[P], body[INV_P])
    else:
        if abs(n1) + abs(n2) < 1e-100:
            n1 = 1e-100
        c, s, cd, sd = unit_curve_from_normal(n1, n2, body[Q], body[INV_Q])
    if point_2:
        m = max(u * cd + v * sd, 1e-100)
        r, w, rd, wd = unit_curve_from_point(m, w, body[S_], body[INV_S])
    else:
        g = max(n1 * c + n2 * s, 1e-100)
        n3 = body[A3] * n[2] + g * r * (c * cd * body[TX] / kx + s * sd * body[TY] / ky)
        r, w, rd, wd = unit_curve_from_normal(g, n3, body[T_], body[INV_T])
    return SurfacePoint(c, s, cd, sd, r, w, rd, wd)


@kernel(separate=True)
def solve(pair, fa, fb, tolerance, max_iterations):
    """Iterate from the surface points fa, fb until the residual is below the tolerance.

    Returns (converged, iterations, fa, fb, contact). A step that does not lower the residual is shortened, at most
    five times; then the longer residual is accepted once, which leaves the rare cycle. So it is after a step downhill:
    away from a maximum of the depth the offset grows.
    """
    out_of_line()
    a, b, rotation = pair.a, pair.b, pair.rotation
    size = min(a[SIZE], b[SIZE])
    k = observe(pair, fa, fb, size)
    last = 1e300
    backtracks = 0
    part = 1.0
    from_k = k
    step = Step(k.x, k.x, k.x, k.x, True, False)
    r_a, r_b = fa.r, fb.r
    a1 = a2 = b1 = b2 = True
    iterations = 0
    while not (k.residual < tolerance):
        if iterations >= max_iterations:
            return False, iterations, fa, fb, k
        iterations += 1
        if not (k.residual < last) and backtracks < MAX_BACKTRACKS:
            backtracks += 1
            part *= BACKTRACK
        else:
            last = k.residual if backtracks < MAX_BACKTRACKS else GROWTH * k.residual
            backtracks = 0
            part = 1.0
            from_k = k
            step = newton_step(a, b, rotation, fa, fb, k)
            if not step.finite:
                return False, iterations, fa, fb, k
            if step.downhill:
                last *= GROWTH
            r_a, r_b = fa.r, fb.r
            a1 = point_chart(fa.C, fa.S, fa.Cd, fa.Sd, a[P] - 1.0, dual_ratio(fa.rd, fa.r, a[S_]))
            a2 = point_chart(fa.r, fa.w, fa.rd, fa.wd, a[S_] - 1.0, 1.0)
            b1 = point_chart(fb.C, fb.S, fb.Cd, fb.Sd, b[P] - 1.0, dual_ratio(fb.rd, fb.r, b[S_]))
            b2 = point_chart(fb.r, fb.w, fb.rd, fb.wd, b[S_] - 1.0, 1.0)
        fa = retract(
            a,
            combine(1.0, from_k.x, part, step.dx),
            combine(1.0, from_k.normal_a, part, step.dnormal_a),
            r_a,
            a1,
            a2,
        )
        outward_b = scale(-1.0, rotate_back(rotation, from_k.inward_b))
        fb = retract(
            b,
            combine(1.0, from_k.y, part, step.dy),
            combine(1.0, outward_b, part, step.dnormal_b),
            r_b,
            b1,
            b2,
        )
        k = observe(pair, fa, fb, size)
    return True, iterations, fa, fb, k


@kernel
def refine(pair, fa, fb, k):
    """A few more steps for a converged pair, to the end of the arithmetic; kept where they lower the residual.

    A proof about a depth takes the contact for stationary; what it is not is taken off the proof.
    """
    out_of_line()
    for _ in range(3):
        _, _, ga, gb, closer = solve(pair, fa, fb, 1e-17, _ONE)
        if not (closer.residual < k.residual):
            break
        fa, fb, k = ga, gb, closer
    return fa, fb, k
