# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Newton's method for the point of a convex superovoid nearest to a separate point, segment, box or cylinder.

These cores have projections pi in closed form, so the unknown is one surface point y. With n its unit inward normal, S
the shape operator, u = y - pi(y), d = u . n and P the derivative of pi, a tangential step a solves

    (I - P + d S) a = -u        (tangential parts; derived in docs/explanation/solver.md)

Both bounds are in closed form at each step: n . y - h_A(n) <= sd <= |u|.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import add, combine, dot, norm, rotate, rotate_back, scale, sub, tangent_frame
from superovoid.contact.convex.cores import CoreAnswer
from superovoid.contact.convex.projections import half_extents, has_projection, project_onto_core, support_value
from superovoid.contact.inputs import TOLERANCE
from superovoid.contact.minkowski.difference import difference_support
from superovoid.contact.minkowski.flats import REACH
from superovoid.contact.minkowski.on_surfaces import direction_of
from superovoid.contact.superovoids.answers import COLD_ITERATIONS, newton_tolerance
from superovoid.contact.superovoids.newton import (
    BEGUN,
    BEYOND,
    CONVERGED,
    FAILED,
    GROWTH,
    MAX_BACKTRACKS,
    MAX_TURN,
    RUNNING,
    Progress,
    Task,
    first_move,
    move_of,
    shorten_move,
    target,
)
from superovoid.shapes.kernels.kinds import CYLINDER, SUPEROVOID
from superovoid.shapes.kernels.retraction import retract
from superovoid.shapes.kernels.surface import A1, A2, A3, HAS_CONCAVITY, S_, SIZE, P, gradient, position, shape_operator


class Gap(NamedTuple):
    """A surface point of the superovoid and the nearest point of the core, in the frame of the core."""

    x: tuple  # point of the core
    y: tuple  # point of the superovoid
    u: tuple  # from x to y
    n: tuple  # unit inward normal of the superovoid at y
    y_local: tuple  # y in the frame of the superovoid
    per_gradient: float  # 1 / |grad F|
    lower: float  # proved bound of the distance of the cores, without a margin for rounding
    residual: float  # largest tangential component of u, in units of the smaller body


@kernel
def line_to(row, kind, centre):
    """Return the vector to a point from the nearest point of a core; from the origin if the core contains it."""
    line = sub(centre, project_onto_core(row, kind, centre))
    return line if dot(line, line) > 0.0 else centre


@kernel
def _off_projection(row, kind, p, s, t, inwards):
    """Return s . (I - P) t, with P the derivative of the projection at a point outside.

    P jumps where the nearest point passes from a face to an edge or a vertex. With `inwards`, a direction counts if it
    does so at all points up to this length nearer to the middle.
    """
    hx, hy, hz = half_extents(row, kind)
    is_round = kind == CYLINDER
    square = p[0] * p[0] + p[1] * p[1]
    beyond = square > hx * hx
    # Beyond the side of a cylinder, the projection shortens tangents by radius / distance, and drops radial parts.
    per = 1.0 / square if beyond else 0.0
    share = hx * math.sqrt(per)
    outside = per if square >= (hx + inwards) * (hx + inwards) else 0.0
    radial = (p[0] * s[0] + p[1] * s[1]) * (p[0] * t[0] + p[1] * t[1]) * outside
    turning = (p[0] * s[1] - p[1] * s[0]) * (p[0] * t[1] - p[1] * t[0]) * per * (1.0 - share)
    # A point has no length and a segment no width, and so no face to pass to across it.
    flat_x = s[0] * t[0] if abs(p[0]) >= (hx + inwards if hx > 0.0 else 0.0) else 0.0
    flat_y = s[1] * t[1] if abs(p[1]) >= (hy + inwards if hy > 0.0 else 0.0) else 0.0
    flat_z = s[2] * t[2] if abs(p[2]) >= (hz + inwards if hz > 0.0 else 0.0) else 0.0
    return (radial + turning if is_round else flat_x + flat_y) + flat_z


@kernel
def observe(row, kind, body, rotation, centre, f, size):
    """Return the `Gap` at a surface point of the superovoid."""
    y_local = position(body, f)
    g = gradient(body, f)
    per_gradient = 1.0 / norm(g)
    n = scale(-per_gradient, rotate(rotation, g))
    y = add(centre, rotate(rotation, y_local))
    x = project_onto_core(row, kind, y)
    u = sub(y, x)
    offset = combine(1.0, u, -dot(u, n), n)
    residual = max(abs(offset[0]), abs(offset[1]), abs(offset[2])) / size
    return Gap(x, y, u, n, y_local, per_gradient, dot(n, y) - support_value(row, kind, n), residual)


@kernel
def system(row, kind, body, rotation, f, k, inwards):
    """Return tangents in both frames, the shape operator (11, 12, 22), and I - P + d S in the tangent frame.

    `inwards` is as for `_off_projection`; 0 for the derivative at the point itself.
    """
    t1, t2 = tangent_frame(k.n)
    b1, b2 = rotate_back(rotation, t1), rotate_back(rotation, t2)
    of_b = shape_operator(body, f, b1, b2, k.per_gradient)
    d = max(dot(k.u, k.n), 0.0)
    m11 = _off_projection(row, kind, k.y, t1, t1, inwards) + d * of_b[0]
    m12 = _off_projection(row, kind, k.y, t1, t2, inwards) + d * of_b[1]
    m22 = _off_projection(row, kind, k.y, t2, t2, inwards) + d * of_b[2]
    return t1, t2, b1, b2, of_b, (m11, m12, m22)


@kernel
def advance(row, kind, body, rotation, centre, f, task, progress, move):
    """Evaluate a surface point and plan the next move, as `newton.advance`; the cut is of the distance of the cores."""
    k = observe(row, kind, body, rotation, centre, f, task.size)
    if k.lower > task.cut:
        return k, Progress(BEYOND, progress.iterations, progress.last, 0.0), move
    length = norm(k.u)
    if k.residual < task.tolerance and length > 0.0:
        return k, Progress(CONVERGED, progress.iterations, progress.last, 0.0), move
    if progress.iterations >= task.limit or length == 0.0:
        return k, Progress(FAILED, progress.iterations, progress.last, 0.0), move
    iterations, backtracks = progress.iterations + 1.0, progress.backtracks
    if not (k.residual < progress.last) and backtracks < MAX_BACKTRACKS and iterations > 1.0:
        return k, Progress(RUNNING, iterations, progress.last, backtracks + 1.0), shorten_move(move)
    _, _, b1, b2, of_b, (m11, m12, m22) = system(row, kind, body, rotation, f, k, 0.0)
    local = rotate_back(rotation, k.u)
    r1, r2 = -dot(local, b1), -dot(local, b2)
    det = m11 * m22 - m12 * m12
    floor = 1e-14 * (m11 + m22) + 1e-300
    if not (det > floor * (m11 + m22)):
        m11 += 4.0 * floor
        m22 += 4.0 * floor
        det = m11 * m22 - m12 * m12
    p1 = (m22 * r1 - m12 * r2) / det
    p2 = (m11 * r2 - m12 * r1) / det
    v1 = of_b[0] * p1 + of_b[1] * p2
    v2 = of_b[1] * p1 + of_b[2] * p2
    turn = math.sqrt(v1 * v1 + v2 * v2)
    part = MAX_TURN / turn if turn > MAX_TURN else 1.0
    dx, dn = combine(part * p1, b1, part * p2, b2), combine(part * v1, b1, part * v2, b2)
    growth = 1.0 if backtracks < MAX_BACKTRACKS else GROWTH
    outward = scale(-1.0, rotate_back(rotation, k.n))
    return (
        k,
        Progress(RUNNING if turn < 1e30 else FAILED, iterations, growth * k.residual, 0.0),
        move_of(body, f, k.y_local, outward, dx, dn),
    )


@kernel
def certify(row, kind, body, rotation, f, k, margin, iterations):
    """Return the answer at a surface point, and whether the gap is curved there: then the points are unique."""
    d = norm(k.u)
    size = min(row[SIZE], body[SIZE])
    reach = REACH * size
    _, _, _, _, _, (m11, m12, m22) = system(row, kind, body, rotation, f, k, reach)
    trace = m11 + m22
    # The rise of the distance at a reach to the side is at least reach^2 / (2 d) times the least eigenvalue. With large
    # exponents the curvature at the end of a flat falls off over a length of 2 a / exponent. Then the rise is linear.
    length = 2.0 * min(body[A1], body[A2], body[A3]) / max(body[P], body[S_])
    is_curved = (m11 * m22 - m12 * m12) * reach * min(reach, length) > 2.0 * TOLERANCE * size * d * trace
    return CoreAnswer(d, min(k.lower - margin, d), d + margin, k.x, k.y, k.n, iterations, 0), is_curved


@kernel
def is_for(core_kind, kind, row):
    """Return whether this module handles a core of a kind next to a body of a kind, with its row."""
    return has_projection(core_kind) and kind == SUPEROVOID and row[HAS_CONCAVITY] == 0.0


@kernel(separate=True)
def solve(pair, n, goal, margin, far):
    """Return the answer for separate cores, and whether the gap is curved at its points.

    The interval is open if the cores overlap or the iterations run out. They end as soon as the distance is proved to
    exceed `far`. `n` is a unit direction from the core to the superovoid to start from.
    """
    row, kind, body, rotation, centre = pair.a.row, pair.a.kind, pair.b.row, pair.rotation, pair.centre
    most = float(COLD_ITERATIONS)
    task = Task(min(row[SIZE], body[SIZE]), newton_tolerance(row, body, centre, goal), most, far + margin)
    progress, move = BEGUN, first_move(rotate_back(rotation, scale(-1.0, n)), 1.0)
    while True:
        x, outward = target(move)
        f = retract(body, x, outward, move.r, move.by_point_1, move.by_point_2)
        k, progress, move = advance(row, kind, body, rotation, centre, f, task, progress, move)
        if progress.phase != RUNNING:
            answer, is_curved = certify(row, kind, body, rotation, f, k, margin, np.int64(progress.iterations))
            if progress.phase == FAILED and answer.distance > 0.0:
                # On a crease Newton's method is slow, but the point is known: the direction of u proves its length. And
                # a closed interval allows points off the normal by the root of its width, more than they may be.
                d, lower, upper, x, y, n, iterations, status = answer
                other = direction_of(x, y, n)
                proved = min(-difference_support(pair, other).h - margin, d)
                if proved > lower or k.residual * task.size > goal:
                    answer = CoreAnswer(d, proved, upper, x, y, other, iterations, status)
            return answer, is_curved
