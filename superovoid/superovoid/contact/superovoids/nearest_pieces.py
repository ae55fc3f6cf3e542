# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Distance of two bodies piece by piece: their nearest points, and what proves them.

A body is a union of pieces (`pieces`): a superovoid of slabs between heights, a circle of arcs, any other core is one
piece. For two pieces P and Q the algorithm of Gilbert, Johnson and Keerthi on their support points turns a unit
direction n that proves

    d(P, Q) >= n . c - h_P(n) - h_Q(-n).

The pair of pieces with the least bound comes first. A slab or an arc that is in the way is cut in two where it is
nearest: its hull reaches beyond it by no more than the square of its length. Means of support points are points of a
convex core; those of a superovoid or an arc are brought onto it.

This serves bodies with dents, whose hulls may overlap, and superovoids with edges and flats that are nearly sharp, on
which Newton's method finds no contact. Beside a contact that it has found Newton's step for two pieces tells where to
cut: with u the difference of their support points, the bound n . u has the gradient of u across n and the Hessian
-(R_P + R_Q + (n . u) I).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.row_heap import lift, without_first
from superovoid.compiled.vector import (
    LEAST_DIVISOR,
    add,
    combine,
    dot,
    norm,
    rotate,
    rotate_back,
    scale,
    sub,
    tangent_frame,
)
from superovoid.contact.minkowski.difference import (
    Corner,
    M,
    X,
    Y,
    mean_point,
    nearest_of_simplex,
    new_workspace,
    put,
    towards,
)
from superovoid.contact.pair import Pair
from superovoid.contact.separation import is_inside, slack_of_level
from superovoid.contact.superovoids.pieces import (
    PieceSupport,
    core_piece_ends,
    core_piece_place,
    core_piece_support,
    core_piece_unit,
    is_convex_core_piece,
    onto_core,
    piece_radii,
)
from superovoid.shapes.kernels.kinds import CODE, SUPEROVOID, Core
from superovoid.shapes.kernels.surface import SIZE, SurfacePoint

_SHARE_OF_GOAL = 0.4  # of the goal of an answer, that its proof by pieces may leave open
_MOST_CELLS = 1024
_VIEWS = np.int64(2000)  # directions that a proof of two superovoids may look at
_TRIES = 16  # directions for a pair with a piece that is not convex, and is known to be too close
_MOST_TRIES = 96  # and for any pair
_CLOSE_ENOUGH = 0.1  # of the goal: between the length of the nearest point of a simplex and the bound
_THINNEST = 1e-12  # slab, and arc
_MARGIN = 0.2  # of a slab or an arc: no cut is closer to one of its ends
_TOUCHING = 1e-12  # of the larger body
_LONGEST_STEP = 0.5  # rad
_AT_END = 1e-6  # of a slab: a contact that near to its end is there
_GRADING = 0.125  # of a slab next to the contact, that is cut off if nothing else tells how much
_LEAST_SHARE, _GENEROUS = 2e-3, 1.5
_STUCK = 8  # cuts that raise no bound along the normal of a contact: it lies on an edge, and GJK takes over


class Nearest(NamedTuple):
    """The nearest points known, both in the frame of A."""

    distance: float
    x: tuple[float, float, float]
    y: tuple[float, float, float]
    fa: SurfacePoint  # surface points of superovoids at or beside them
    fb: SurfacePoint


class Found(NamedTuple):
    """What a search has found."""

    lower: float  # proved lower bound of the signed distance of the bodies; -inf: unknown
    nearest: Nearest
    n: tuple  # direction that proves the least bound of a pair of pieces
    common: tuple  # point that is proved to be in both bodies, in the frame of A, if `overlap`
    overlap: bool
    views: int


class _View(NamedTuple):
    """Two pieces along a direction."""

    n: tuple
    x: tuple  # support points in the frame of A
    y: tuple
    bound: float  # of the distance of the pieces, proved by n
    p: PieceSupport  # the support points, each in the frame of its body
    q: PieceSupport


class _Approach(NamedTuple):
    """What the nearest points of two pieces are known to be."""

    best: _View  # the view with the largest bound
    nearest: Nearest
    cuts: tuple  # heights or angles at which to cut either piece
    after: tuple  # direction to begin with after a cut
    views: int
    overlap: bool  # of the hulls of the pieces
    common: tuple  # point of both hulls then


class _Least(NamedTuple):
    """Least bound of the pairs of pieces that are done, with its direction, and the second least."""

    bound: float
    n: tuple
    second: float


class Cells(NamedTuple):
    """Pairs of pieces. All arrays change as the search goes on."""

    rows: NDArray[np.float64]  # ends of both pieces, direction that proves the bound, direction to look along next
    key: NDArray[np.float64]  # lower bound of their distance
    parts: NDArray[np.int64]  # the first of the two cells that a cut has left of this one; 0: it was not cut
    heap: NDArray[np.int64]  # the cells that wait, that of the least bound first
    counts: NDArray[np.int64]  # cells that wait, and cells


@kernel(_nrt=True)
def new_cells(capacity):
    """Return room for pairs of pieces."""
    rows, key = np.empty((capacity, 10)), np.empty(capacity)
    return Cells(rows, key, np.zeros(capacity, np.int64), np.empty(capacity, np.int64), np.zeros(2, np.int64))


# --- pairs of pieces ----------------------------------------------------------------------------------------------


@kernel
def in_frame_of_b(pair, p):
    """A point of the frame of A in that of B."""
    return rotate_back(pair.rotation, sub(p, pair.centre))


@kernel
def _look(pair, n, cell):
    """Return the support points of two pieces along a direction, with the bound that it proves."""
    out_of_line()
    rotation, centre = pair.rotation, pair.centre
    p = core_piece_support(pair.a, n, cell[0], cell[1])
    q = core_piece_support(pair.b, rotate_back(rotation, scale(-1.0, n)), cell[2], cell[3])
    return _View(n, p.x, add(centre, rotate(rotation, q.x)), dot(n, centre) - p.upper - q.upper, p, q)


@kernel
def is_in_ovoids(pair, p, margin):
    """Whether a point in the frame of A is proved to be in each superovoid of a pair."""
    out_of_line()
    a, b = pair.a, pair.b
    if a.kind == SUPEROVOID and not is_inside(a.row, p, slack_of_level(a.row, margin)):
        return False
    return b.kind != SUPEROVOID or is_inside(b.row, in_frame_of_b(pair, p), slack_of_level(b.row, margin))


@kernel
def _nearer(nearest, x, y, fa, fb):
    distance = norm(sub(y, x))
    return Nearest(distance, x, y, fa, fb) if distance < nearest.distance else nearest


@kernel
def _cut(lo, hi, at):
    """Where to cut a piece: at the nearest point, not too close to an end."""
    margin = _MARGIN * (hi - lo)
    return min(hi - margin, max(lo + margin, at))


@kernel
def _approach(pair, cell, view, nearest, goal, tries, w):
    """Nearest points of two pieces, as far as they matter beside the nearest points of the bodies that are known.

    The method of Gilbert, Johnson and Keerthi begins with a view. Looks at no more than `_MOST_TRIES` directions,
    or `tries` if the hulls of the pieces are known to be too close. Ends as soon as a direction serves for the support
    points, though not for the bound of a slab: its halves need it.
    """
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    former, count, used = math.inf, 0, 0
    best = view
    while True:
        nearest = _nearer(nearest, view.x, view.y, view.p.f, view.q.f)
        if view.bound > best.bound or not (best.bound > -math.inf):
            best = view
        known = used >= tries and former < nearest.distance - goal
        # What the bound of a slab adds to its support point only a cut takes away.
        serves = dot(view.n, sub(view.y, view.x)) >= nearest.distance - goal
        if best.bound >= nearest.distance - goal or used >= _MOST_TRIES or known or serves:
            break
        put(w, count, Corner(sub(view.x, view.y), view.x, view.y, 0, 0, 0.0, 0.0, 0.0))
        count = nearest_of_simplex(w, count + 1)
        if count == 4:
            break
        v = mean_point(w, count, M)
        length = norm(v)
        if not (0.0 < length < former) or length - best.bound <= _CLOSE_ENOUGH * goal:
            break
        former = length
        view = _look(pair, towards(w, count, v), cell)
        used += 1
    x, y = view.x, view.y
    if count > 0:
        x, y = mean_point(w, count, X), mean_point(w, count, Y)
    # What lies in the plane of a cut touches both slabs, to rounding.
    overlap = count == 4 or norm(sub(y, x)) <= _TOUCHING * max(a.row[SIZE], b.row[SIZE])
    local = in_frame_of_b(pair, y)
    cuts = (_cut(cell[0], cell[1], core_piece_place(a, x)), _cut(cell[2], cell[3], core_piece_place(b, local)))
    if serves:
        cuts = (0.5 * (cell[0] + cell[1]), 0.5 * (cell[2] + cell[3]))
    common = combine(0.5, x, 0.5, y)
    if not (best.bound >= nearest.distance - goal):
        x = onto_core(a, x, best.n)
        y = add(centre, rotate(rotation, onto_core(b, local, rotate_back(rotation, scale(-1.0, best.n)))))
        if count < 4:
            nearest = _nearer(nearest, x, y, view.p.f, view.q.f)
        if a.kind != SUPEROVOID or b.kind != SUPEROVOID:
            common = x if b.kind == SUPEROVOID else y
    return _Approach(best, nearest, cuts, view.n if serves else best.n, used, overlap, common)


# --- beside a contact -------------------------------------------------------------------------------------------


@kernel
def _holds(lo, hi, w):
    slack = _AT_END * (hi - lo)
    return lo - slack <= w <= hi + slack


@kernel
def _graded_cut(lo, hi, w, share):
    """Where to cut a slab that holds a contact at w: there, or at a share of its length from the end that is there."""
    slack = _AT_END * (hi - lo)
    if lo + slack < w < hi - slack:
        return w
    return lo + share * (hi - lo) if w <= lo + slack else hi - share * (hi - lo)


@kernel
def _beside_contact(pair, cell, view, nearest, goal):
    """As `_approach` for pieces of superovoids, one of them a slab, that hold the nearest points.

    Begins with a view along the normal of these points.

    Over a dent the far end of a slab of length L that begins in the contact is above the tangent plane, by e. Of a step
    that would gain G for the far end alone, the part e / (2 G) brings both ends level, which costs e^2 / (4 G). If that
    is more than the goal no plane serves, and the slab is cut. Slices grow away from the other body as 2 G (w / L)^2
    and a dent bulges by e over L: from the share e / (2 G) on the plane of the nearer end serves, which is that share
    of the step away.
    """
    out_of_line()
    best, n, share, used = view, view.n, _GRADING, 0
    u = sub(best.y, best.x)
    nearest = _nearer(nearest, best.x, best.y, best.p.f, best.q.f)
    if best.bound >= nearest.distance - goal:
        return _Approach(best, nearest, (0.0, 0.0), n, used, False, n)
    step = _newton_step(pair, best)
    gain, rise = 0.5 * dot(step, u), nearest.distance - dot(n, u)
    if rise > goal and gain > 0.0:
        level = rise / (2.0 * gain)
        share = min(0.5, max(_LEAST_SHARE, _GENEROUS * level))
        if level * rise < 2.0 * goal:
            m = combine(1.0, n, level, step)
            view = _look(pair, scale(1.0 / norm(m), m), cell)
            best = view if view.bound > best.bound else best
            used = 1
    after = combine(1.0, n, share, step)
    after = scale(1.0 / norm(after), after)
    cut_a, cut_b = (
        _graded_cut(cell[0], cell[1], nearest.fa.w, share),
        _graded_cut(cell[2], cell[3], nearest.fb.w, share),
    )
    return _Approach(best, nearest, (cut_a, cut_b), after, used, False, n)


@kernel
def _add_square(h, c, v1, v2):
    return (h[0] + c * v1 * v1, h[1] + c * v1 * v2, h[2] + c * v2 * v2)


@kernel
def _newton_step(pair, view):
    """Return the Newton step of a direction on the bound of two pieces of superovoids."""
    out_of_line()
    a, b, rotation, n = pair.a.row, pair.b.row, pair.rotation, view.n
    u = sub(view.y, view.x)
    t1, t2 = tangent_frame(n)
    g1, g2 = dot(u, t1), dot(u, t2)
    stiff = max(dot(n, u), 1e-3 * min(a[SIZE], b[SIZE]))
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
        return (0.0, 0.0, 0.0)  # the radii are too unlike for this arithmetic
    p1 = (h[2] * g1 - h[1] * g2) / det
    p2 = (h[0] * g2 - h[1] * g1) / det
    part = min(1.0, _LONGEST_STEP / max(math.sqrt(p1 * p1 + p2 * p2), LEAST_DIVISOR))
    return combine(part * p1, t1, part * p2, t2)


# --- the search ---------------------------------------------------------------------------------------------------


@kernel
def _wait(cells, cell, n, bound, after):
    i = cells.counts[1]
    for k in range(4):
        cells.rows[i, k] = cell[k]
    for k in range(3):
        cells.rows[i, 4 + k], cells.rows[i, 7 + k] = n[k], after[k]
    cells.key[i] = bound
    cells.parts[i] = 0
    cells.counts[1] = i + 1
    length = cells.counts[0]
    cells.heap[length] = i
    lift(cells.heap, cells.key, length)
    cells.counts[0] = length + 1


@kernel
def _first_pairs(pair, n, cells):
    """Let all pairs of the pieces that the bodies begin with wait, with the bounds that a direction proves."""
    out_of_line()
    last_a, i = False, 0
    while not last_a:
        lo_a, hi_a, last_a = core_piece_ends(pair.a, i)
        last_b, j = False, 0
        while not last_b:
            lo_b, hi_b, last_b = core_piece_ends(pair.b, j)
            cell = (lo_a, hi_a, lo_b, hi_b)
            bound = _look(pair, n, cell).bound
            _wait(cells, cell, n, bound if bound > -math.inf else -math.inf, n)  # it may be no number
            j += 1
        i += 1


@kernel
def _with_bound(least, bound, n):
    if bound < least.bound:
        return _Least(bound, n, least.bound)
    return _Least(least.bound, least.n, min(least.second, bound))


@kernel
def _signed(least, margin):
    """What the bounds of all pairs of pieces, less what rounding takes, prove of the signed distance; -inf: nothing.

    Where one is negative, its direction parts these two pieces by a way of that length. It parts the bodies if no other
    pair of pieces comes to overlap on that way.
    """
    bound, second = least.bound - margin, least.second - margin
    return bound if bound >= 0.0 or second >= -bound else -math.inf


@kernel(_nrt=True, separate=True)
def nearest_of_pieces(pair, n, nearest, goal, beyond, margin, budget):
    """Prove that two bodies are apart and how far, best bound first.

    Parameters
    ----------
    pair : Pair
        Two cores, a superovoid among them.
    n : tuple
        Direction to begin with.
    nearest : Nearest
        Points of the bodies; at an infinite distance if none are known.
    goal : float
        By which the bound may stay below the distance of the nearest points found.
    beyond : float
        End, with the bound known by then, once the distance is proved to exceed this.
    margin : float
        What rounding takes from a bound.
    budget : int
        Directions that may be looked at.
    """
    return refine_pieces(pair, n, nearest, goal, beyond, margin, budget, new_cells(_MOST_CELLS))


@kernel
def nearest_of_ovoids(pair, n, answer, goal, margin):
    """As `nearest_of_pieces` for two superovoids, from the points of an answer."""
    y = add(pair.centre, rotate(pair.rotation, answer.y))
    known = Nearest(norm(sub(y, answer.x)), answer.x, y, answer.fa, answer.fb)
    return nearest_of_pieces(cores_of(pair), n, known, _SHARE_OF_GOAL * goal, math.inf, margin, _VIEWS)


@kernel
def cores_of(pair):
    """Return two superovoids as cores."""
    kind = CODE[SUPEROVOID]
    return Pair(Core(pair.a, kind, pair.a), Core(pair.b, kind, pair.b), pair.rotation, pair.centre)  # refer to no pool


@kernel(_nrt=True)
def refine_pieces(pair, n, nearest, goal, beyond, margin, budget, cells):
    """As `nearest_of_pieces`, with the pairs of pieces that it comes to in `cells`, from those of whole bodies on."""
    out_of_line()
    a, b = pair.a, pair.b
    w = new_workspace()
    _first_pairs(pair, n, cells)
    least = _Least(math.inf, n, math.inf)
    # Points that lie along n are a contact.
    faces = dot(n, sub(nearest.y, nearest.x)) >= nearest.distance - goal
    ovoids, contact, normal = a.kind == SUPEROVOID and b.kind == SUPEROVOID, nearest.distance, n
    views = stuck = 0
    while cells.counts[0] > 0:
        first = cells.heap[0]
        bound = cells.key[first]
        row = cells.rows[first]
        # A pair that is left open and cannot be cut keeps the bound of all where it is.
        stays = margin <= least.bound <= bound
        ends = bound >= nearest.distance - goal or bound > beyond + margin or stays
        if ends or views >= budget or cells.counts[1] + 2 > len(cells.key):
            for _ in range(min(2, cells.counts[0])):  # the others' bounds are no less
                least = _with_bound(least, bound, (row[4], row[5], row[6]))
            break
        cells.counts[0] = without_first(cells.heap, cells.key, cells.counts[0])
        cell, n = (row[0], row[1], row[2], row[3]), (row[4], row[5], row[6])
        width_a = 0.0 if is_convex_core_piece(a, cell[0], cell[1]) else cell[1] - cell[0]
        width_b = 0.0 if is_convex_core_piece(b, cell[2], cell[3]) else cell[3] - cell[2]
        width = max(width_a, width_b)
        beside = ovoids and faces and stuck < _STUCK and width > 0.0 and nearest.distance >= contact - goal
        if beside and _holds(cell[0], cell[1], nearest.fa.w) and _holds(cell[2], cell[3], nearest.fb.w):
            found = _beside_contact(pair, cell, _look(pair, normal, cell), nearest, goal)
            stuck += 0 if found.best.bound > bound else 1
        else:
            view = _look(pair, (row[7], row[8], row[9]), cell)
            found = _approach(pair, cell, view, nearest, goal, _TRIES if width > 0.0 else _MOST_TRIES, w)
        best, nearest = found.best, found.nearest
        views += 1 + found.views
        if found.overlap and is_in_ovoids(pair, found.common, margin):
            return Found(-math.inf, nearest, best.n, found.common, True, views)
        if best.bound > bound:
            bound, n = best.bound, best.n
            cells.key[first] = bound
            for k in range(3):
                row[4 + k] = n[k]
        # The longer of those that are not convex is cut.
        if bound >= nearest.distance - goal or width < _THINNEST:
            least = _with_bound(least, bound, n)
            continue
        if core_piece_unit(a) * width_a >= core_piece_unit(b) * width_b:
            at = found.cuts[0]
            one, other = (cell[0], at, cell[2], cell[3]), (at, cell[1], cell[2], cell[3])
        else:
            at = found.cuts[1]
            one, other = (cell[0], cell[1], cell[2], at), (cell[0], cell[1], at, cell[3])
        cells.parts[first] = cells.counts[1]
        _wait(cells, one, n, bound, found.after)
        _wait(cells, other, n, bound, found.after)
    return Found(_signed(least, margin), nearest, least.n, n, False, views)
