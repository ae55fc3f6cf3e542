# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Distance of two bodies that are apart, of which one or both have a dent: branch and bound over pairs of pieces.

The distance of the bodies is the least distance of a piece of one and a piece of the other (`pieces`). A pair of pieces
is done when some plane keeps it farther apart than the best points found, less the goal:

    d(P, Q) >= n . c - h_P(n) - h_Q(-n)   for every unit n.

Most pairs of pieces are done by the normal of the best points. For the others the direction is improved by Newton's
method on that bound, which is concave on the hulls of P and Q: its gradient is the part of u = y - x across n, its
Hessian -(R_P + R_Q + (n . u) I). Where a slab's hull is in the way the slab is cut. Points of the bodies that are
closer than the best start Newton's method for the bodies' own closest points.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid_ros.compiled.jit import kernel, out_of_line
from superovoid_ros.compiled.vector import add, combine, dot, norm, rotate, rotate_back, scale, sub, tangent_frame
from superovoid_ros.contact.superovoids.pieces import PieceSupport, is_convex_piece, piece_radii, piece_support
from superovoid_ros.shapes.kernels.surface import DENT_HI, DENT_LO, DENTED, SIZE, SurfacePoint, position

_MOST_PAIRS = 256  # that wait
_COLUMNS = 8  # heights of both pieces, direction, bound
_TRIES, _CONVEX_TRIES = 10, 40  # directions for a pair with a slab, and for two convex pieces
_FAILURES = 3  # steps in a row that went too far, for a pair with a slab
_LONGEST_STEP = 0.5  # rad
_GRADING = 8.0  # by which a slab next to the contact is cut shorter
_THINNEST = 1e-12  # slab


class Closest(NamedTuple):
    """The closest points known."""

    distance: float
    fa: SurfacePoint
    fb: SurfacePoint


class View(NamedTuple):
    """Two pieces seen along a direction n from P to Q, in the frame of A."""

    n: tuple
    u: tuple  # between the two support points
    bound: float  # of the distance of the pieces, proved
    inner: float  # n . u: what the bound were if the support points were all there is
    p: PieceSupport
    q: PieceSupport


class Outcome(NamedTuple):
    """What a search has found."""

    lower: float  # proved lower bound of the distance of the bodies, but for rounding; negative: unknown
    closest: Closest
    views: int
    pairs: int  # that were looked at


@kernel
def look(pair, n, cell):
    """Support points of the two pieces of a cell along a unit direction, and the bound they prove."""
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    p = piece_support(a, n, cell[0], cell[1])
    q = piece_support(b, rotate_back(rotation, scale(-1.0, n)), cell[2], cell[3])
    u = sub(add(centre, rotate(rotation, position(b, q.f))), position(a, p.f))
    inner = dot(n, u)
    return View(n, u, dot(n, centre) - p.upper - q.upper, inner, p, q)


@kernel
def _add_square(h, c, v1, v2):
    return (h[0] + c * v1 * v1, h[1] + c * v1 * v2, h[2] + c * v2 * v2)


@kernel
def improved(pair, view, part):
    """Direction after a part of a Newton step on the bound, and what a whole one is expected to gain."""
    out_of_line()
    a, b, rotation = pair.a, pair.b, pair.rotation
    n = view.n
    t1, t2 = tangent_frame(n)
    g1, g2 = dot(view.u, t1), dot(view.u, t2)
    stiff = max(view.inner, 1e-3 * min(a[SIZE], b[SIZE]))
    h = (stiff, 0.0, stiff)
    alpha, e, beta, z = piece_radii(a, n, view.p.f, view.p.inside)
    h = _add_square(h, alpha, dot(e, t1), dot(e, t2))
    h = _add_square(h, beta, dot(z, t1), dot(z, t2))
    alpha, e, beta, z = piece_radii(b, rotate_back(rotation, scale(-1.0, n)), view.q.f, view.q.inside)
    e, z = rotate(rotation, e), rotate(rotation, z)
    h = _add_square(h, alpha, dot(e, t1), dot(e, t2))
    h = _add_square(h, beta, dot(z, t1), dot(z, t2))
    det = h[0] * h[2] - h[1] * h[1]
    p1 = (h[2] * g1 - h[1] * g2) / det
    p2 = (h[0] * g2 - h[1] * g1) / det
    gain = 0.5 * (p1 * g1 + p2 * g2)
    part *= min(1.0, _LONGEST_STEP / max(math.sqrt(p1 * p1 + p2 * p2), 1e-300))
    m = add(n, combine(part * p1, t1, part * p2, t2))
    return scale(1.0 / norm(m), m), gain


@kernel
def _closer(closest, view):
    """The closest points known, after a view."""
    distance = norm(view.u)
    return Closest(distance, view.p.f, view.q.f) if distance < closest.distance else closest


@kernel
def _turned(pair, cell, best, closest, goal, tries, both):
    """Turn the direction of a view of two pieces until its bound is as high as wanted, or is not going to be.

    Newton's steps, shortened where they go too far: the bound is concave along the chord of a step, with the slopes
    u . step at both ends.

    Returns the view with the best bound, the closest points then known, and how many directions were looked at.
    """
    out_of_line()
    closest = _closer(closest, best)
    used = failed = 0
    after, gain = improved(pair, best, 1.0)
    while used < tries and best.bound < closest.distance - goal:
        if not both and best.inner + 2.0 * gain < closest.distance - goal:
            break
        view = look(pair, after, cell)
        used += 1
        closest = _closer(closest, view)
        if view.bound > best.bound:
            best = view
            failed = 0
            after, gain = improved(pair, best, 1.0)
            continue
        step = sub(after, best.n)
        up, down = dot(step, best.u), dot(step, view.u)
        if not both:
            # No direction between the two does better than where the tangents at both meet.
            failed += 1
            part = min(1.0, max(0.0, (view.inner - down - best.inner) / (up - down)))
            if failed == _FAILURES or best.inner + part * up < closest.distance - goal:
                break
        part = up / (up - down) if up > 0.0 and down < 0.0 else 0.5
        after = combine(1.0, best.n, min(0.7, max(0.02, part)), step)
        after = scale(1.0 / norm(after), after)
    return best, closest, used


@kernel
def _cut_height(lo, hi, at):
    """Height at which a slab is cut: at the contact, close to it, or in the middle."""
    width = hi - lo
    if lo + 1e-6 * width < at < hi - 1e-6 * width:
        return at
    if abs(at - lo) <= 1e-6 * width:
        return lo + width / _GRADING
    if abs(hi - at) <= 1e-6 * width:
        return hi - width / _GRADING
    return 0.5 * (lo + hi)


@kernel
def _ends(b, i):
    """The i-th of the ends of the pieces of a body to begin with, 2.0 after the last."""
    if i == 0:
        return -1.0
    if b[DENTED] == 0.0:
        return 1.0 if i == 1 else 2.0
    lo, hi = b[DENT_LO], b[DENT_HI]
    if i == 1:
        return lo
    middle = lo < 0.0 < hi
    if middle:
        i -= 1
        if i == 1:
            return 0.0
    if i == 2:
        return hi
    return 1.0 if i == 3 else 2.0


@kernel
def _push(stack, depth, cell, n, bound):
    for i in range(4):
        stack[depth, i] = cell[i]
    for i in range(3):
        stack[depth, 4 + i] = n[i]
    stack[depth, 7] = bound


@kernel(_nrt=True)
def search_pieces(pair, n, closest, goal, budget):
    """Prove the distance of two bodies that are apart, or find closer points.

    Parameters
    ----------
    n : tuple
        Direction to begin with, the normal of the points `closest`.
    closest : Closest
        Points of the bodies; a pair of pieces is done when it is proved to be no closer than they are, less the goal.
    goal : float
    budget : int
        Directions that may be looked at.

    Returns
    -------
    Outcome
    """
    out_of_line()
    a, b = pair.a, pair.b
    stack = np.empty((_MOST_PAIRS, _COLUMNS))
    depth = 0
    lower = math.inf
    views = pairs = 0
    for i in range(5):
        a_lo, a_hi = _ends(a, i), _ends(a, i + 1)
        if a_hi > 1.0:
            break
        for j in range(5):
            b_lo, b_hi = _ends(b, j), _ends(b, j + 1)
            if b_hi > 1.0:
                break
            if a_lo < a_hi and b_lo < b_hi:
                _push(stack, depth, (a_lo, a_hi, b_lo, b_hi), n, -math.inf)
                depth += 1
    while depth > 0:
        depth -= 1
        row = stack[depth]
        cell = (row[0], row[1], row[2], row[3])
        former = row[7]
        wanted = closest.distance - goal
        if former >= wanted:
            lower = min(lower, former)
            continue
        pairs += 1
        convex_a, convex_b = is_convex_piece(a, cell[0], cell[1]), is_convex_piece(b, cell[2], cell[3])
        both = convex_a and convex_b
        best = look(pair, (row[4], row[5], row[6]), cell)
        views += 1
        tries = min(budget - views, _CONVEX_TRIES if both else _TRIES)
        best, closest, used = _turned(pair, cell, best, closest, goal, tries, both)
        views += used
        wanted = closest.distance - goal
        done = best.bound >= wanted
        bound = max(best.bound, former)
        if done or bound >= wanted:
            lower = min(lower, bound)
            continue
        if both or views >= budget or depth + 2 > _MOST_PAIRS:
            lower = min(lower, bound)
            if views >= budget:
                break
            continue
        gap_a, gap_b = best.p.upper - best.p.value, best.q.upper - best.q.value
        wide_a, wide_b = cell[1] - cell[0], cell[3] - cell[2]
        # Where the hulls of both are as good as their slices, the wider of them is in the way.
        first = not convex_a and (convex_b or (gap_a > gap_b if max(gap_a, gap_b) > goal else wide_a > wide_b))
        if first:
            if wide_a < _THINNEST:
                lower = min(lower, bound)
                continue
            w = _cut_height(cell[0], cell[1], closest.fa.w)
            one, other = (cell[0], w, cell[2], cell[3]), (w, cell[1], cell[2], cell[3])
        else:
            if wide_b < _THINNEST:
                lower = min(lower, bound)
                continue
            w = _cut_height(cell[2], cell[3], closest.fb.w)
            one, other = (cell[0], cell[1], cell[2], w), (cell[0], cell[1], w, cell[3])
        _push(stack, depth, one, best.n, bound)
        _push(stack, depth + 1, other, best.n, bound)
        depth += 2
    for i in range(depth):
        lower = min(lower, max(stack[i, 7], -math.inf))
    return Outcome(lower, closest, views, pairs)
