# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What one direction tells about two superovoids: support points of their Minkowski difference M = A - B, and minima.

Along a minimum of the support function h_M of M the bodies overlap least: Newton's method on their surfaces, or on h_M
itself, goes from a direction to the minimum beside it (`better`). Where the contact is flat, support points along a
direction are anywhere on the flat; `settled` finds those that face each other.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import (
    add,
    combine,
    cross,
    dot,
    norm,
    rotate,
    rotate_back,
    scale,
    sub,
    tangent_frame,
)
from superovoid.contact.superovoids.cap_lanes import WIDEST, largest_cap
from superovoid.contact.superovoids.caps import Cap
from superovoid.contact.superovoids.certificate import lower_bound
from superovoid.contact.superovoids.newton import observe, refine, solve
from superovoid.contact.superovoids.triangles import chord
from superovoid.shapes.kernels.support_function import EXACT, LOOSE, support, support_candidate, support_near
from superovoid.shapes.kernels.surface import (
    A1,
    A2,
    A3,
    S_,
    SIZE,
    TX,
    TY,
    P,
    SurfacePoint,
    gradient,
    position,
    shape_operator,
)

_CAP_USED = 0.8
COS_WIDEST = math.cos(_CAP_USED * WIDEST)  # no cap of `cap_about` is wider, but of ellipsoids
TOGETHER = 4e-5  # chord of the reach of a point at which a facet of M may be in the way
_DESCENT, _LONGEST_DESCENT = 12, 0.3  # steps, and rad a step, of a descent
LOSS = 0.02  # by which a support point may fall short, of the gap between the bound and h_M
_SETTLING = 24  # support points spent on one such point
# Costs in support points, at most.
PROOF_COST, CAP_COST, POINT_COST = 4, 16, _SETTLING + 12
_POLISHING_STEPS = np.int64(40)
_POLISHING_ITERATIONS = 400  # Newton iterations that one search may spend on polishing


@kernel
def minkowski_support(pair, n, tolerance):
    """Support point of M = A - B along n, in the frame of A, with the two surface points."""
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    fa = support_candidate(a, n, tolerance)
    fb = support_candidate(b, rotate_back(rotation, scale(-1.0, n)), tolerance)
    y = add(centre, rotate(rotation, position(b, fb)))
    return sub(position(a, fa), y), fa, fb


@kernel
def minkowski_support_near(pair, n, guess, gap, value):
    """As `minkowski_support`, from heights and radii close by: quick, and enough for a bound.

    It may fall short of h_M(n) by a small part of a gap, but not of a value that bounds are to reach.
    """
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    fa = support_near(a, n, guess[0], guess[1], LOSS * gap)
    fb = support_near(b, rotate_back(rotation, scale(-1.0, n)), guess[2], guess[3], LOSS * gap)
    y = add(centre, rotate(rotation, position(b, fb)))
    m = sub(position(a, fa), y)
    if dot(n, m) < value:
        return minkowski_support(pair, n, LOOSE)
    return m, fa, fb


@kernel
def proved_support(pair, n):
    """Upper bound of h_M(n) that holds for bodies with a dent too."""
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    _, h_a = support(a, n)
    _, h_b = support(b, rotate_back(rotation, scale(-1.0, n)))
    return h_a + h_b - dot(n, centre)


class Optimum(NamedTuple):
    """What a search has found and what it has proved."""

    value: float  # smallest h_M found
    proved: float  # lower bound of h_M over the whole sphere
    n: tuple  # its direction
    fa: SurfacePoint
    fb: SurfacePoint
    converged: bool  # fa and fb satisfy the common-normal equations
    spent: int  # support points computed, and what else was done in units of them
    iterations: int  # Newton iterations of the polishing runs
    cap: Cap  # about n, on which n is a proved local minimum
    level: float  # lower bound of h_M outside that cap
    rival: float  # smallest h_M met in a direction well away from n


@kernel
def cap_about(pair, best):
    """A cap smaller than it could be, so that its proof outlives a small motion (`pair_solver.depth_still_proved`)."""
    if not best.converged:
        return Cap(0.0, 0.0)
    cap = largest_cap(pair, best.fa, best.fb)
    return Cap(_CAP_USED * cap.angle, cap.floor)


@kernel
def _radii_at(body, f, t1, t2):
    """Radius matrix of a body in a tangent frame, from its shape operator; not finite on flats."""
    s11, s12, s22 = shape_operator(body, f, t1, t2, 1.0 / norm(gradient(body, f)))
    det = s11 * s22 - s12 * s12
    return s22 / det, -s12 / det, s11 / det


@kernel
def descend(pair, n, fa, fb, tolerance):
    """Newton on h_M over the sphere from the direction n, whose support points are fa and fb.

    The gradient of h_M is the part of m = x_A - x_B across n, its Hessian R_A + R_B - h_M I. A direction at a time,
    and so slower than Newton on surface points, but it goes downhill, where that may circle.

    Returns (converged, n, fa, fb, spent): whether the part across n has fallen below the tolerance at a minimum, and
    how many support points that took.
    """
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    size = min(a[SIZE], b[SIZE])
    m = sub(position(a, fa), add(centre, rotate(rotation, position(b, fb))))
    spent = 0
    for _ in range(_DESCENT):
        depth = dot(n, m)
        t1, t2 = tangent_frame(n)
        g1, g2 = dot(m, t1), dot(m, t2)
        a11, a12, a22 = _radii_at(a, fa, t1, t2)
        b11, b12, b22 = _radii_at(b, fb, rotate_back(rotation, t1), rotate_back(rotation, t2))
        h11, h12, h22 = a11 + b11 - depth, a12 + b12, a22 + b22 - depth
        det = h11 * h22 - h12 * h12
        if not (det > 0.0 and h11 > 0.0 and det < math.inf):
            return False, n, fa, fb, spent
        p1 = (h12 * g2 - h22 * g1) / det
        p2 = (h12 * g1 - h11 * g2) / det
        if max(abs(g1), abs(g2)) < tolerance * size:
            # One step more takes what is left to the end of the arithmetic.
            trial = add(n, combine(p1, t1, p2, t2))
            trial = scale(1.0 / norm(trial), trial)
            x, ga, gb = minkowski_support(pair, trial, EXACT)
            if norm(cross(x, trial)) < norm(cross(m, n)):
                return True, trial, ga, gb, spent + 1
            return True, n, fa, fb, spent + 1
        length = math.sqrt(p1 * p1 + p2 * p2)
        part = min(1.0, _LONGEST_DESCENT / max(length, 1e-300))
        for _ in range(6):
            trial = add(n, combine(part * p1, t1, part * p2, t2))
            trial = scale(1.0 / norm(trial), trial)
            x, ga, gb = minkowski_support(pair, trial, EXACT)
            spent += 1
            if dot(trial, x) <= depth:
                break
            part *= 0.25
        if not (dot(trial, x) <= depth):
            return False, n, fa, fb, spent
        n, fa, fb, m = trial, ga, gb, x
    return False, n, fa, fb, spent


@kernel
def with_value(best, value, spent):
    """The same optimum with another value and count of support points."""
    _, proved, n, fa, fb, converged, _, iterations, cap, level, rival = best
    return Optimum(value, proved, n, fa, fb, converged, spent, iterations, cap, level, rival)


@kernel
def better(pair, best, n, m, fa, fb, goal, tolerance, polishing):
    """Update an optimum by a direction and its support points, polished where Newton finds something no worse.

    Once that has taken as many support points as are allowed for polishing, directions are taken as they are.
    """
    out_of_line()
    a, b = pair.a, pair.b
    if dot(n, m) >= best.value - goal:
        return best
    value = proved_support(pair, n)
    iterations, spent = best.iterations, best.spent + PROOF_COST
    if value >= best.value - goal:
        return with_value(best, best.value, spent)
    converged = False
    for attempt in range(2):
        if converged or best.iterations >= _POLISHING_ITERATIONS or spent > polishing:
            break
        # Newton on surface points is quick; where it circles or climbs, Newton on h_M goes down.
        if attempt == 0:
            ok, used, ga, gb, k = solve(pair, fa, fb, tolerance, _POLISHING_STEPS)
            iterations += 0 if ok else used
            spent += (used + 3) // 4
        else:
            ok, _, ga, gb, used = descend(pair, n, fa, fb, tolerance)
            spent += used
            k = observe(pair, ga, gb, min(a[SIZE], b[SIZE]))
        if ok:
            ga, gb, k = refine(pair, ga, gb, k)
            bound, direction = lower_bound(pair, ga, gb, k)
            if -bound <= value and k.residual < tolerance:
                value, n, fa, fb, converged = -bound, direction, ga, gb, True
    none = Cap(0.0, 0.0)
    return Optimum(value, best.proved, n, fa, fb, converged, spent, iterations, none, -math.inf, best.rival)


@kernel
def settled(pair, n, goal):
    """Points x of A and y of B, in the frame of A, with x - y as nearly along n as a quarter of the goal can buy.

    Where the contact is flat the support points of a direction are anywhere on it. Those of slightly tilted directions
    are combined with them, in both bodies alike, such that the part of x - y across n shrinks.
    """
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    fa = support_candidate(a, n, EXACT)
    fb = support_candidate(b, rotate_back(rotation, scale(-1.0, n)), EXACT)
    x = position(a, fa)
    y = add(centre, rotate(rotation, position(b, fb)))
    least = dot(n, sub(x, y)) - 0.25 * goal
    tilt, loss = 1e-4, LOSS * goal
    for _ in range(_SETTLING):
        m = sub(x, y)
        across = combine(1.0, m, -dot(n, m), n)
        length = norm(across)
        if length * TOGETHER <= 0.25 * goal:
            break
        tilted = combine(1.0, n, -tilt / length, across)
        fa = support_near(a, tilted, fa.w, fa.r, loss)
        fb = support_near(b, rotate_back(rotation, scale(-1.0, tilted)), fb.w, fb.r, loss)
        to_x = sub(position(a, fa), x)
        to_y = sub(add(centre, rotate(rotation, position(b, fb))), y)
        step = sub(to_x, to_y)
        step_across = combine(1.0, step, -dot(n, step), n)
        square = dot(step_across, step_across)
        share = min(1.0, -dot(across, step_across) / square) if square > 0.0 else 0.0
        if share > 1e-3 and dot(n, add(m, step)) >= least:
            x = combine(1.0, x, share, to_x)
            y = combine(1.0, y, share, to_y)
        else:
            tilt *= 0.1
    return x, y


@kernel
def sphere_radius(body):
    """Radius of a body that is a ball, else 0."""
    a = body[A1]
    is_ball = body[A2] == a and body[A3] == a and body[P] == 2.0 and body[S_] == 2.0 and body[TX] == 0.0 == body[TY]
    return a if is_ball else 0.0


@kernel
def settled_core(pair, n, goal):
    """`settled` as a point of M, balls taken off."""
    a, b, centre = pair.a, pair.b, pair.centre
    x, y = settled(pair, n, goal)
    if sphere_radius(a) > 0.0:
        x = (0.0, 0.0, 0.0)
    if sphere_radius(b) > 0.0:
        y = centre
    return sub(x, y)


@kernel
def anchor_beside(pair, n, fa, fb, goal, tolerance):
    """Point of M, balls taken off, along the stationary direction next to n where Newton finds one; else along n."""
    out_of_line()
    ok, _, ga, gb, k = solve(pair, fa, fb, tolerance, _POLISHING_STEPS)
    if ok and chord(k.n, n) < TOGETHER:
        _, _, k = refine(pair, ga, gb, k)
        n = k.n
    return settled_core(pair, n, goal)


@kernel
def rival_cap(pair, point, reach, fa, fb, tolerance):
    """Cap about the local minimum next to a direction, where Newton finds one; its direction and its value."""
    out_of_line()
    ok, _, fa, fb, k = solve(pair, fa, fb, tolerance, _POLISHING_STEPS)
    if not (ok and chord(k.n, point) < 4.0 * reach):
        return Cap(0.0, 0.0), point, math.inf
    fa, fb, k = refine(pair, fa, fb, k)
    return largest_cap(pair, fa, fb), k.n, -dot(k.u, k.n)
