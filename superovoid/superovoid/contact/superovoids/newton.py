# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Newton's method for the common normal on primal/dual surface points, with a 2 x 2 system per iteration.

Everything happens in the frame of A; R and c are the rotation and the centre of B seen from A. With n the common
normal (from A to B), u = x_B - x_A, d = u . n, v_A and v_B the tangential parts of the two unit normals (B's taken
inwards), and S_A, S_B the shape operators in the tangent frame, the step (a moves x_A, b moves x_B) solves

    (S_A + S_B + d S_B S_A) a = v_B - v_A + S_B (u_t - d v_A)
    v = v_A + S_A a,    b = a - u_t + d v                           (derived in docs/explanation/solver.md)

Each body is then brought back onto its surface (`retraction.retract`).

    surface points --advance--> progress and moves --retract--> surface points ...

`advance` evaluates a pair of surface points and plans the next move of each body; `retract` makes a move. Neither has
loops, so `lanes.newton_lanes` compiles the same functions for many pairs at once. `solve` alternates them for one pair.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import Vector, add, combine, dot, norm, rotate, rotate_back, scale, sub, tangent_frame
from superovoid.shapes.kernels.retraction import retract
from superovoid.shapes.kernels.surface import (
    RADIUS,
    S_,
    SIZE,
    P,
    dual_ratio,
    gradient,
    position,
    shape_operator,
)

# A layer is brought back from its point while d(normal)/d(point) stays below this slope. 4 instead of 1 cuts the
# mean number of iterations by a third: a point carries second-order information that a normal does not.
_CHART_SLOPE = 4.0
MAX_TURN = 0.7  # radians by which a step may turn the common normal
BACKTRACK = 0.35
MAX_BACKTRACKS = 5.0
GROWTH = 4.0  # accepted growth of the residual in a step that need not lower it
RUNNING, CONVERGED, FAILED, BEYOND = 0.0, 1.0, 2.0, 3.0  # floats, as stored in lanes
# Least gap between the depth of a downhill step and the least radius of M, relative to the latter, at residuals from
# `_CLOSE` on.
_SHORT_OF_RADIUS, _CLOSE = 0.1, 1e-2


class Contact(NamedTuple):
    """Geometry of a pair of surface points, in the frame of A."""

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
    """Displacements of the two points and the two unit normals."""

    dx: tuple  # point of A
    dnormal_a: tuple
    dy: tuple  # point of B, in the frame of B
    dnormal_b: tuple  # outward normal of B, in the frame of B
    finite: bool
    downhill: bool  # whether the step replaces a Newton step to a larger depth by one to a smaller depth


@kernel
def observe(pair, fa, fb, size):
    """Compute the geometry of a pair of surface points."""
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
def curvatures(a, b, rotation, fa, fb, k):
    """Return a tangent frame at a contact, in the frames of A and B, and in it both shape operators (11, 12, 22)."""
    t1, t2 = tangent_frame(k.n)
    b1, b2 = rotate_back(rotation, t1), rotate_back(rotation, t2)
    of_a = shape_operator(a, fa, t1, t2, k.per_gradient_a)
    return t1, t2, b1, b2, of_a, shape_operator(b, fb, b1, b2, k.per_gradient_b)


@kernel
def system(of_a, of_b, d):
    """Return S_A + S_B + d S_B S_A, row by row."""
    a11, a12, a22 = of_a
    b11, b12, b22 = of_b
    return (
        a11 + b11 + d * (b11 * a11 + b12 * a12),
        a12 + b12 + d * (b11 * a12 + b12 * a22),
        a12 + b12 + d * (b12 * a11 + b22 * a12),
        a22 + b22 + d * (b12 * a12 + b22 * a22),
    )


@kernel
def newton_step(a, b, rotation, fa, fb, k):
    """Solve the 2 x 2 system of the module docstring."""
    t1, t2, b1, b2, of_a, of_b = curvatures(a, b, rotation, fa, fb, k)
    a11, a12, a22 = of_a
    b11, b12, b22 = of_b
    d = dot(k.u, k.n)
    u1, u2 = dot(k.u, t1), dot(k.u, t2)
    va1, va2 = dot(k.normal_a, t1), dot(k.normal_a, t2)
    vb1, vb2 = dot(k.inward_b, t1), dot(k.inward_b, t2)
    m11, m12, m21, m22 = system(of_a, of_b, d)
    det = m11 * m22 - m12 * m21
    downhill = False
    if d < 0.0:
        # Overlapping: the step is a step towards a *minimum* of the depth only where S_A^-1 + S_B^-1 + d I, the radii
        # of M less the depth, is positive definite. Elsewhere a smaller depth serves: the step goes downhill, and is
        # longer than with no depth. Close to a contact that depth nears the least radius: the step is Newton's.
        det_a = a11 * a22 - a12 * a12
        det_b = b11 * b22 - b12 * b12
        det_0 = (a11 + b11) * (a22 + b22) - (a12 + b12) ** 2
        trace = (a11 + a22) * det_b + (b11 + b22) * det_a
        least = 2.0 * det_0 / (trace + math.sqrt(max(0.0, trace * trace - 4.0 * det_0 * det_a * det_b)))
        shallowest = -(1.0 - _SHORT_OF_RADIUS * min(1.0, k.residual / _CLOSE)) * least
        if det_a > 0.0 and det_b > 0.0 and d < shallowest:
            downhill = True
            d = shallowest
            m11, m12, m21, m22 = system(of_a, of_b, d)
            det = m11 * m22 - m12 * m21
    # If both bodies are flat in the same direction, the system is singular; the step along it is 0 if its residual is.
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
    if turn > MAX_TURN:
        part = MAX_TURN / turn
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


# --- moves ----------------------------------------------------------------------------------------------------------


class Move(NamedTuple):
    """A step of one body from a surface point, in the frame of the body."""

    x: Vector  # the surface point
    n: Vector  # unit outward normal there
    r: float  # of the surface point
    dx: Vector
    dn: Vector
    part: float  # part of the step to take; 0: the surface point stays unchanged
    by_point_1: bool  # whether layer 1 is brought back from its point
    by_point_2: bool


class Task(NamedTuple):
    """Conditions under which Newton's method ends for a pair."""

    size: float  # of the smaller body
    tolerance: float  # of the residual
    limit: float  # most iterations
    cut: float  # Newton's method ends once the distance is proved to exceed this, m


class Progress(NamedTuple):
    """State of Newton's method for a pair."""

    phase: float
    iterations: float
    last: float  # the next residual must be below this
    backtracks: float


BEGUN = Progress(RUNNING, 0.0, math.inf, 0.0)


@kernel
def point_chart(point, other, dual, other_dual, exponent_1, factor):
    """Return whether a layer is better brought back from its point than from its normal."""
    first = abs(other) < abs(point)
    near, near_dual = (other, other_dual) if first else (point, dual)
    far, far_dual = (point, dual) if first else (other, other_dual)
    return exponent_1 * abs(near_dual) * abs(far) * factor < _CHART_SLOPE * abs(far_dual) * abs(near)


@kernel
def move_of(body, f, x, n, dx, dn):
    """Return the move by a step dx of the point x and dn of the normal n, both those of the surface point f."""
    by_point_1 = point_chart(f.C, f.S, f.Cd, f.Sd, body[P] - 1.0, dual_ratio(f.rd, f.r, body[S_]))
    by_point_2 = point_chart(f.r, f.w, f.rd, f.wd, body[S_] - 1.0, 1.0)
    return Move(x, n, f.r, dx, dn, 1.0, by_point_1, by_point_2)


@kernel
def shorten_move(move):
    """Return the move with a smaller part of its step."""
    x, n, r, dx, dn, part, by_point_1, by_point_2 = move
    return Move(x, n, r, dx, dn, BACKTRACK * part, by_point_1, by_point_2)


@kernel
def target(move):
    """Return the moved point and normal, before they are brought back to the surface."""
    return combine(1.0, move.x, move.part, move.dx), combine(1.0, move.n, move.part, move.dn)


@kernel
def first_move(n, part):
    """Return a move to the point of the middle section with about the normal n; if the part is 0, no move."""
    zero = (0.0, 0.0, 0.0)
    return Move(zero, n, 1.0, zero, zero, part, False, False)


@kernel
def point_with_normal(body, n):
    """Return the surface point to which `first_move` leads."""
    move = first_move(n, 1.0)
    return retract(body, move.x, n, move.r, False, False)


@kernel
def _proved_gap(a, b, k):
    """Bound the signed distance of two convex bodies from below at a pair of points, without a margin for rounding."""
    mismatch = norm(sub(k.normal_a, k.inward_b))
    from_a = dot(k.normal_a, k.u) - 2.0 * mismatch * b[RADIUS]
    return max(from_a, dot(k.inward_b, k.u) - 2.0 * mismatch * a[RADIUS])


@kernel
def advance(pair, fa, fb, task, progress, move_a, move_b):
    """Evaluate a pair of surface points and plan the next moves.

    A step that does not lower the residual is shortened, at most five times; then the larger residual is accepted once,
    which ends the rare cycle. The same holds after a step downhill: away from a maximum of the depth the offset grows.

    Two convex bodies are farther apart than the cut of their task if one of the bounds of `certificate.lower_bound`
    exceeds it: with the normals n_A and n_B (inwards) at x_A and x_B and |n_A - n_B| = m, these are n_A . u - 2 m
    radius_B and n_B . u - 2 m radius_A. The cut includes a margin for rounding.

    Returns
    -------
    contact : Contact
    progress : Progress
    move_a, move_b : Move
    """
    a, b = pair.a, pair.b
    k = observe(pair, fa, fb, task.size)
    if _proved_gap(a, b, k) > task.cut:
        return k, Progress(BEYOND, progress.iterations, progress.last, 0.0), move_a, move_b
    if k.residual < task.tolerance:
        return k, Progress(CONVERGED, progress.iterations, progress.last, 0.0), move_a, move_b
    if progress.iterations >= task.limit:
        return k, Progress(FAILED, progress.iterations, progress.last, 0.0), move_a, move_b
    iterations, backtracks = progress.iterations + 1.0, progress.backtracks
    if not (k.residual < progress.last) and backtracks < MAX_BACKTRACKS and iterations > 1.0:
        shorter = Progress(RUNNING, iterations, progress.last, backtracks + 1.0)
        return k, shorter, shorten_move(move_a), shorten_move(move_b)
    step = newton_step(a, b, pair.rotation, fa, fb, k)
    growth = (1.0 if backtracks < MAX_BACKTRACKS else GROWTH) * (GROWTH if step.downhill else 1.0)
    outward_b = scale(-1.0, rotate_back(pair.rotation, k.inward_b))
    return (
        k,
        Progress(RUNNING if step.finite else FAILED, iterations, growth * k.residual, 0.0),
        move_of(a, fa, k.x, k.normal_a, step.dx, step.dnormal_a),
        move_of(b, fb, k.y, outward_b, step.dy, step.dnormal_b),
    )


@kernel(separate=True)
def solve(pair, fa, fb, tolerance, max_iterations):
    """Iterate from the surface points fa, fb until the residual is below the tolerance.

    Returns (converged, iterations, fa, fb, contact).
    """
    task = Task(min(pair.a[SIZE], pair.b[SIZE]), tolerance, max_iterations, math.inf)
    progress, move_a, move_b = BEGUN, first_move(pair.centre, 0.0), first_move(pair.centre, 0.0)
    while True:
        k, progress, move_a, move_b = advance(pair, fa, fb, task, progress, move_a, move_b)
        if progress.phase != RUNNING:
            return progress.phase == CONVERGED, np.int64(progress.iterations), fa, fb, k
        x, n = target(move_a)
        fa = retract(pair.a, x, n, move_a.r, move_a.by_point_1, move_a.by_point_2)
        x, n = target(move_b)
        fb = retract(pair.b, x, n, move_b.r, move_b.by_point_1, move_b.by_point_2)
