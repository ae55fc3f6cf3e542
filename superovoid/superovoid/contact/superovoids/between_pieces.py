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

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, combine, dot, norm, rotate, rotate_back, scale, sub, tangent_frame
from superovoid.contact.superovoids.pieces import (
    PieceSupport,
    is_convex_piece,
    piece_radii,
    piece_support,
    slope_of,
)
from superovoid.shapes.kernels.surface import DENT_HI, DENT_LO, DENTED, SIZE, SurfacePoint, position

_MOST_PIECES = 4  # of a body to begin with
_MOST_PAIRS = 256  # that wait
_SUPPORT = 11  # numbers of a support point
_KEPT_A, _KEPT_B = 8, 8 + 1 + _SUPPORT  # after heights of both pieces, direction, bound: what is known, support point
_SAME, _BESIDE = 1.0, 2.0  # what is known
_COLUMNS = 8 + 2 * (1 + _SUPPORT)
_TRIES, _CONVEX_TRIES = 10, 40  # directions for a pair with a slab, and for two convex pieces
_FAILURES = 4  # steps in a row that went too far, for a pair with a slab
_LONGEST_STEP = 0.5  # rad
_GRADING = 8.0  # by which a slab next to the contact is cut shorter where nothing tells better
_LEAST_SHARE, _GENEROUS = 2e-3, 1.5
_THINNEST = 1e-12  # slab
SHARE_OF_GOAL = 0.4  # of the goal of an answer, that its proof by pieces may leave open


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
def _view_of(pair, n, p, q):
    """View of two pieces along a direction from their support points."""
    centre = pair.centre
    u = sub(add(centre, rotate(pair.rotation, position(pair.b, q.f))), position(pair.a, p.f))
    return View(n, u, dot(n, centre) - p.upper - q.upper, dot(n, u), p, q)


@kernel
def _look_near(pair, n, cell, near_a, near_b):
    """As `look`, from slopes of the meridians near the support points."""
    out_of_line()
    p = piece_support(pair.a, n, cell[0], cell[1], near_a)
    q = piece_support(pair.b, rotate_back(pair.rotation, scale(-1.0, n)), cell[2], cell[3], near_b)
    return _view_of(pair, n, p, q)


@kernel
def look(pair, n, cell):
    """Support points of the two pieces of a cell along a unit direction, and the bound they prove."""
    return _look_near(pair, n, cell, math.inf, math.inf)


@kernel
def look_beside(pair, n, cell, view):
    """As `look`, beside another view of the two pieces."""
    return _look_near(pair, n, cell, slope_of(view.p.f), slope_of(view.q.f))


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
    if not (det > 0.0):
        return n, 0.0  # the radii are too unlike for this arithmetic
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
def _jumps(p, q):
    """Whether two support points of a piece are at different ends of it."""
    return not (p.inside or q.inside) and p.f.w != q.f.w


@kernel(separate=True)
def turned(pair, cell, best, closest, goal, tries, both, part):
    """Turn the direction of a view of two pieces until its bound is as high as wanted, or is not going to be.

    Newton's steps, shortened where they go too far: the bound is concave along the chord of a step, with the slopes
    u . step at both ends.

    Returns the view with the best bound, the closest points then known, and how many directions were looked at.
    """
    out_of_line()
    closest = _closer(closest, best)
    used = failed = 0
    after, gain = improved(pair, best, part)
    while used < tries and best.bound < closest.distance - goal:
        if not both and best.bound + 2.0 * gain < closest.distance - goal:
            break  # what the bound of a slab adds to its support point only a cut takes away
        view = look_beside(pair, after, cell, best)
        used += 1
        closest = _closer(closest, view)
        if view.bound > best.bound:
            best = view
            failed = 0
            after, gain = improved(pair, best, 1.0)
            continue
        step = sub(after, best.n)
        up, down = dot(step, best.u), dot(step, view.u)
        part = up / (up - down) if up > 0.0 and down < 0.0 else 0.5
        part = min(0.7, max(0.02, part))
        if not both:
            # No direction between the two does better than where the tangents at both meet.
            failed += 1
            kink = min(1.0, max(0.0, (view.inner - down - best.inner) / (up - down)))
            if failed == _FAILURES or best.bound + kink * up < closest.distance - goal:
                break
            if _jumps(best.p, view.p) or _jumps(best.q, view.q):
                # From one end of a slab to the other: the slope changes there and not on the way.
                part = min(0.7, kink)
        after = combine(1.0, best.n, part, step)
        after = scale(1.0 / norm(after), after)
    return best, closest, used


@kernel
def _side_of_contact(lo, hi, at):
    """Where the contact is in a piece: 0 at its lower end, 1 at its upper end, 2 between them, -1 outside."""
    slack = 1e-6 * (hi - lo)
    if not (lo - slack <= at <= hi + slack):
        return -1
    if at < lo + slack:
        return 0
    return 1 if at > hi - slack else 2


@kernel
def _hold_contact(cell, closest):
    """Whether two pieces hold the closest points."""
    return min(_side_of_contact(cell[0], cell[1], closest.fa.w), _side_of_contact(cell[2], cell[3], closest.fb.w)) >= 0


@kernel
def _cut_height(lo, hi, at, share):
    """Height at which a slab is cut: at the contact, a share of its length from it, or in the middle."""
    side = _side_of_contact(lo, hi, at)
    if side == 2:
        return at
    if side == 0:
        return lo + share * (hi - lo)
    if side == 1:
        return hi - share * (hi - lo)
    return 0.5 * (lo + hi)


@kernel
def _beside_contact(pair, cell, view, closest, goal):
    """Part of a Newton step to look at next, and share at which to cut, for pieces that hold the closest points.

    Over a dent the far end of a slab of length L that begins in the contact is above the tangent plane, by e. Of a step
    that would gain G for the far end alone, the part e / (2 G) brings both ends level, which costs e^2 / (4 G). Where
    that is more than the goal no plane serves, and the slab is cut (part 0). Slices grow away from the other body as
    2 G (w / L)^2 and a dent bulges by e over L: from the share e / (2 G) on the plane of the nearer end serves, which
    is that share of the step away.
    """
    wanted = closest.distance - goal
    rise = closest.distance - view.inner
    if not (view.inner < wanted):
        return 0.0, 1.0 / _GRADING
    _, gain = improved(pair, view, 1.0)
    share = min(0.5, max(_LEAST_SHARE, _GENEROUS * rise / (2.0 * gain)))
    return rise / (2.0 * gain) if rise * rise < 4.0 * goal * gain else 0.0, share


@kernel
def _to_cut(cell, view, closest, convex_a, convex_b, goal):
    """Whether the piece of A is the one to cut: of two slabs the one whose bound, or else which itself, is wider."""
    if convex_a or convex_b:
        return not convex_a
    gap_a, gap_b = view.p.upper - view.p.value, view.q.upper - view.q.value
    if max(gap_a, gap_b) > goal:
        return gap_a > gap_b
    return cell[1] - cell[0] > cell[3] - cell[2]


class Step(NamedTuple):
    """What is done about a pair of pieces: it is proved by its best view, or one of the pieces is cut."""

    best: View
    closest: Closest
    views: int
    of_a: bool  # whether the piece of A is to be cut
    height: float  # of the cut
    n_one: tuple  # directions in which to look at the lower part, and at the upper one
    n_other: tuple
    side: int  # of the contact in the piece that is cut, as of `_side_of_contact`
    at_contact: bool  # whether the pieces hold the closest points
    convex: bool  # whether both pieces are, and cannot be cut


@kernel
def step_of_pieces(pair, cell, best, closest, goal, tries, convex_tries):
    """Turn the direction of a view of two pieces until it proves them, or else say where to cut one of them.

    Looks at no more than `tries` directions, or `convex_tries` for two convex pieces.
    """
    out_of_line()
    convex_a, convex_b = is_convex_piece(pair.a, cell[0], cell[1]), is_convex_piece(pair.b, cell[2], cell[3])
    both = convex_a and convex_b
    side_a = _side_of_contact(cell[0], cell[1], closest.fa.w)
    side_b = _side_of_contact(cell[2], cell[3], closest.fb.w)
    at_contact = _hold_contact(cell, closest)
    part, share, views = 1.0, 1.0 / _GRADING, 0
    if not both and at_contact and best.bound < closest.distance - goal:
        inside = (side_a == 2 and not convex_a) or (side_b == 2 and not convex_b)
        part, share = (0.0, share) if inside else _beside_contact(pair, cell, best, closest, goal)
    if part > 0.0:
        best, closest, views = turned(pair, cell, best, closest, goal, convex_tries if both else tries, both, part)
    of_a = _to_cut(cell, best, closest, convex_a, convex_b, goal)
    side = side_a if of_a else side_b
    if of_a:
        height = _cut_height(cell[0], cell[1], closest.fa.w, share)
    else:
        height = _cut_height(cell[2], cell[3], closest.fb.w, share)
    n_one = n_other = best.n
    if part == 0.0 and (side == 0 or side == 1) and best.inner < closest.distance - goal:
        away, _ = improved(pair, best, share)
        n_one, n_other = (away, best.n) if side == 1 else (best.n, away)
    return Step(best, closest, views, of_a, height, n_one, n_other, side, at_contact, both)


@kernel
def is_thin(cell, of_a):
    """Whether the piece of A, or of B, is too thin to be cut."""
    return (cell[1] - cell[0] if of_a else cell[3] - cell[2]) < _THINNEST


@kernel
def halves(cell, of_a, w):
    """The two cells that a cut at a height leaves: the lower and the upper."""
    if of_a:
        return (cell[0], w, cell[2], cell[3]), (w, cell[1], cell[2], cell[3])
    return (cell[0], cell[1], cell[2], w), (cell[0], cell[1], w, cell[3])


@kernel
def piece_end(b, i):
    """Lower end of the i-th of the pieces of a body to begin with, which is the upper end of the one before."""
    if i == 0:
        return -1.0
    if b[DENTED] == 0.0:
        return 1.0
    if i == 1:
        return b[DENT_LO]
    crosses = b[DENT_LO] < 0.0 < b[DENT_HI]
    if i == 2 and crosses:
        return 0.0
    return b[DENT_HI] if i == (3 if crosses else 2) else 1.0


@kernel
def _keep(row, at, p, known):
    """Keep a support point in a row, which is that of its direction (`_SAME`) or of one beside it."""
    f = p.f
    row[at] = known
    row[at + 1], row[at + 2], row[at + 3], row[at + 4] = f.C, f.S, f.Cd, f.Sd
    row[at + 5], row[at + 6], row[at + 7], row[at + 8] = f.r, f.w, f.rd, f.wd
    row[at + 9], row[at + 10], row[at + 11] = p.value, p.upper, 1.0 if p.inside else 0.0


@kernel
def _kept(row, at):
    """The support point that a row has."""
    f = SurfacePoint(
        row[at + 1], row[at + 2], row[at + 3], row[at + 4], row[at + 5], row[at + 6], row[at + 7], row[at + 8]
    )
    return PieceSupport(f, row[at + 9], row[at + 10], row[at + 11] != 0.0)


@kernel
def _slope_kept(row, at):
    """Slope of the meridian at the point that a row has; infinite where it has none."""
    return slope_of(_kept(row, at).f) if row[at] != 0.0 else math.inf


@kernel
def _first_supports(b, n, near, rows):
    """Support points of the pieces of a body to begin with, near a slope; returns how many these are."""
    out_of_line()
    count = 0
    while count < _MOST_PIECES and (count == 0 or piece_end(b, count) < 1.0):
        _keep(rows[count], 0, piece_support(b, n, piece_end(b, count), piece_end(b, count + 1), near), _SAME)
        count += 1
    return count


@kernel
def _push(stack, depth, cell, n, bound):
    """Put a pair of pieces, with the direction in which to look at it, on the stack."""
    row = stack[depth]
    for i in range(4):
        row[i] = cell[i]
    for i in range(3):
        row[4 + i] = n[i]
    row[7] = bound
    row[_KEPT_A] = row[_KEPT_B] = 0.0


@kernel
def _look_again(pair, row):
    """As `look`, for a pair of pieces on the stack. Of its support points those that are known are not made again."""
    out_of_line()
    n = (row[4], row[5], row[6])
    if row[_KEPT_A] == _SAME:
        p = _kept(row, _KEPT_A)
    else:
        p = piece_support(pair.a, n, row[0], row[1], _slope_kept(row, _KEPT_A))
    if row[_KEPT_B] == _SAME:
        q = _kept(row, _KEPT_B)
    else:
        q = piece_support(pair.b, rotate_back(pair.rotation, scale(-1.0, n)), row[2], row[3], _slope_kept(row, _KEPT_B))
    return _view_of(pair, n, p, q)


@kernel(_nrt=True, separate=True)
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
        Where a pair of pieces has to be given up, the search ends, and the lower bound is what is known by then.
    """
    out_of_line()
    a, b = pair.a, pair.b
    stack = np.empty((_MOST_PAIRS, _COLUMNS))
    depth = 0
    lower = math.inf
    views = pairs = 0
    points_a, points_b = np.empty((_MOST_PIECES, 1 + _SUPPORT)), np.empty((_MOST_PIECES, 1 + _SUPPORT))
    count_a = _first_supports(a, n, slope_of(closest.fa), points_a)
    count_b = _first_supports(b, rotate_back(pair.rotation, scale(-1.0, n)), slope_of(closest.fb), points_b)
    middle = dot(n, pair.centre)
    for i in range(count_a):
        for j in range(count_b):
            p, q = _kept(points_a[i], 0), _kept(points_b[j], 0)
            bound = middle - p.upper - q.upper
            bound = bound if bound > -math.inf else -math.inf  # also where it is no number
            if bound >= closest.distance - goal:
                lower = min(lower, bound)
                continue
            _push(stack, depth, (piece_end(a, i), piece_end(a, i + 1), piece_end(b, j), piece_end(b, j + 1)), n, bound)
            _keep(stack[depth], _KEPT_A, p, _SAME)
            _keep(stack[depth], _KEPT_B, q, _SAME)
            depth += 1
    given = closest.distance
    served = n  # the direction that has proved the last pair of pieces
    while depth > 0:
        depth -= 1
        row = stack[depth]
        cell = (row[0], row[1], row[2], row[3])
        former = row[7]
        if former >= closest.distance - goal:
            lower = min(lower, former)
            continue
        pairs += 1
        is_first = row[_KEPT_A] == _SAME and row[_KEPT_B] == _SAME
        best = _look_again(pair, row)
        views += 1
        closest = _closer(closest, best)
        if is_first and served != n and not _hold_contact(cell, closest):
            # What has proved a pair of pieces often proves the one beside it.
            view = look_beside(pair, served, cell, best)
            views += 1
            closest = _closer(closest, view)
            best = view if view.bound > best.bound else best
        left = budget - views
        step = step_of_pieces(pair, cell, best, closest, goal, min(left, _TRIES), min(left, _CONVEX_TRIES))
        best, closest = step.best, step.closest
        views += step.views
        bound = best.bound if best.bound > former else former  # and `former` where a bound is no number
        if bound >= closest.distance - goal:
            lower = min(lower, bound)
            served = best.n
            continue
        if step.convex or is_thin(cell, step.of_a) or depth + 2 > _MOST_PAIRS or views >= budget:
            lower = min(lower, bound)
            break
        one, other = halves(cell, step.of_a, step.height)
        n_one, n_other = step.n_one, step.n_other
        if step.at_contact and closest.distance == given:
            # No other direction than their normal proves pieces that hold the closest points.
            n_one = n_one if step.side == 1 else n
            n_other = n_other if step.side == 0 else n
        _push(stack, depth, one, n_one, bound)
        _push(stack, depth + 1, other, n_other, bound)
        for k in range(2):
            # The piece that is not cut has the same support point, or one near to it.
            known = _SAME if (n_one if k == 0 else n_other) == best.n else _BESIDE
            if step.of_a:
                _keep(stack[depth + k], _KEPT_B, best.q, known)
            else:
                _keep(stack[depth + k], _KEPT_A, best.p, known)
        depth += 2
    for i in range(depth):
        lower = min(lower, stack[i, 7])
    return Outcome(lower, closest, views, pairs)
