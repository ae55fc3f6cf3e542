# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Find the nearest points of two bodies piece by piece, and prove their distance.

The search takes the pair of pieces (`pieces`) with the least bound, improves its direction by GJK, and cuts a slab
or an arc that keeps it open (docs/explanation/search.md, "Pairs of pieces: apart"). It serves non-convex bodies, whose
hulls may overlap, and superovoids with nearly sharp edges and flats, on which Newton's method finds no contact.

For two pieces of superovoids Newton's steps on the bound come before GJK: with u the difference of the support points,
the bound n . u has the gradient of u across n and the Hessian -(R_P + R_Q + (n . u) I). Next to a contact found by
Newton's method this step also decides how to cut.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.arrays import Floats1, Floats2, Ints1
from superovoid.compiled.kernels import entry_point, kernel
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
from superovoid.contact.inputs import MOST_STEPS, TOLERANCE
from superovoid.contact.minkowski.difference import (
    MOST_TURN,
    SIMPLEX,
    Corner,
    mean_point,
    mean_points,
    nearest_of_simplex,
    new_workspace,
    put,
    simplex_direction,
)
from superovoid.contact.pair import OvoidPair, Pair
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

_SHARE_OF_GOAL = 0.4  # share of the goal of an answer for its proof by pieces
_MOST_CELLS = 1024
_VIEWS_OF_CELL = np.int64(20)  # most directions in a proof that is written down, for each pair of pieces that fits
MOST_VIEWS = np.int64(2000)  # most directions in a proof of two superovoids
_TRIES = 16  # most directions for a pair with a non-convex piece, once it is known to be too close
_CLOSE_ENOUGH = 0.1  # gap between the length of the nearest point of a simplex and the bound, in goals
_THINNEST = 1e-12  # least width of a slab or an arc, and least gap, relative to the larger body
_MARGIN = 0.2  # least distance of a cut from the ends of a slab or an arc, relative to its length
_MOST_CLIMBS = 8  # most of Newton's steps for a pair of pieces
_SHORTEST_PART, _LONGEST_PART = 0.02, 0.7  # of a step that went too far
_GRADING = 0.125  # share of a slab to cut off next to the contact by default
_LEAST_SHARE, _GENEROUS = 2e-3, 1.5
_STUCK = 8  # cuts that raise no bound along the normal of a contact: it lies on an edge, and GJK is used instead


class NearestPoints(NamedTuple):
    """The nearest points known, both in the frame of A."""

    distance: float
    x: tuple[float, float, float]
    y: tuple[float, float, float]
    fa: SurfacePoint  # surface points of superovoids at or near them
    fb: SurfacePoint


class SearchResult(NamedTuple):
    """Result of a search."""

    lower: float  # proved lower bound of the signed distance of the bodies; -inf: unknown
    nearest: NearestPoints
    n: tuple  # direction that proves the least bound of a pair of pieces
    common: tuple  # point proved to be in both bodies, in the frame of A, if `overlap`
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
    """Nearest points found of two pieces."""

    bound: float  # the largest one proved
    n: tuple  # the direction that proves it
    nearest: NearestPoints
    cuts: tuple  # heights or angles at which to cut either piece
    after: tuple  # direction to begin with after a cut
    views: int
    overlap: bool  # of the hulls of the pieces
    common: tuple  # point of both hulls, if `overlap`


class _LeastBound(NamedTuple):
    """Least bound of the finished pairs of pieces, with its direction, and the second least."""

    bound: float
    n: tuple
    second: float


class Cells(NamedTuple):
    """Pairs of pieces. The search changes all arrays."""

    rows: Floats2  # ends of both pieces, direction that proves the bound, next direction to evaluate
    key: Floats1  # lower bound of their distance
    parts: Ints1  # the first of the two parts of a cell; 0: not cut
    heap: Ints1  # waiting cells, least bound first
    counts: Ints1  # numbers of waiting cells and of all cells


@kernel(_nrt=True)
def new_cells(capacity):
    """Return room for pairs of pieces."""
    rows, key = np.empty((capacity, 10)), np.empty(capacity)
    return Cells(rows, key, np.empty(capacity, np.int64), np.empty(capacity, np.int64), np.zeros(2, np.int64))


# --- pairs of pieces ----------------------------------------------------------------------------------------------


@kernel
def in_frame_of_b(pair, p):
    """Transform a point from the frame of A to that of B."""
    return rotate_back(pair.rotation, sub(p, pair.centre))


@kernel
def _look(pair, n, cell):
    """Return the support points of two pieces along a direction, with the bound proved by them."""
    rotation, centre = pair.rotation, pair.centre
    p = core_piece_support(pair.a, n, cell[0], cell[1])
    q = core_piece_support(pair.b, rotate_back(rotation, scale(-1.0, n)), cell[2], cell[3])
    return _View(n, p.x, add(centre, rotate(rotation, q.x)), dot(n, centre) - p.upper - q.upper, p, q)


@kernel
def is_in_ovoids(pair, p, margin):
    """Return whether a point in the frame of A is proved to be in each superovoid of a pair."""
    a, b = pair.a, pair.b
    if a.kind == SUPEROVOID and not is_inside(a.row, p, slack_of_level(a.row, margin)):
        return False
    return b.kind != SUPEROVOID or is_inside(b.row, in_frame_of_b(pair, p), slack_of_level(b.row, margin))


@kernel
def _nearer_points(nearest, x, y, fa, fb):
    distance = norm(sub(y, x))
    return NearestPoints(distance, x, y, fa, fb) if distance < nearest.distance else nearest


@kernel
def _cut(lo, hi, at):
    """Choose where to cut a piece: at the nearest point, not too close to an end."""
    margin = _MARGIN * (hi - lo)
    return min(hi - margin, max(lo + margin, at))


@kernel
def _climb(pair, cell, view, nearest, goal):
    """Raise the bound of two pieces of superovoids from a view, by Newton's steps on the bound.

    The bound of the hulls is concave, so it lies below its tangents at both ends of a step. A step that goes too far
    is shortened to where they meet: at the end of a slab the support point jumps to its other end. The climb ends if
    the tangent stays below the requested bound.

    Returns the view with the largest bound, the nearest points known, and the number of views.
    """
    best, step, used, shortened = view, view.n, 0, False
    while True:
        nearest = _nearer_points(nearest, view.x, view.y, view.p.f, view.q.f)
        wanted = nearest.distance - goal
        if best.bound >= wanted or used == _MOST_CLIMBS:
            break
        u = sub(best.y, best.x)
        if not shortened:
            step = _newton_step(pair, best)
        if not (best.bound + dot(step, u) >= wanted):
            break
        m = add(best.n, step)
        view = _look(pair, scale(1.0 / norm(m), m), cell)
        used += 1
        shortened = not (view.bound > best.bound)
        if shortened:
            rise, v = dot(step, u), sub(view.y, view.x)
            fall = dot(step, v)
            kink = dot(best.n, sub(v, u)) / (rise - fall) if fall < rise else 0.5
            step = scale(min(_LONGEST_PART, max(_SHORTEST_PART, kink)), step)
        else:
            best = view
    return best, nearest, used


@kernel
def _approach(pair, cell, view, nearest, goal, tries, w):
    """Find the nearest points of two pieces, unless they are farther apart than the known points of the bodies.

    The method of Gilbert, Johnson and Keerthi begins with a view. It evaluates at most `MOST_STEPS` directions, or
    `tries` if the hulls of the pieces are known to be too close. It ends as soon as a direction separates the support
    points enough, even if the bound of a slab is too low: the halves of the slab reuse this direction.
    """
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    former, count, used = math.inf, 0, 0
    if a.kind == SUPEROVOID and b.kind == SUPEROVOID:
        view, nearest, used = _climb(pair, cell, view, nearest, goal)
    best = view
    while True:
        nearest = _nearer_points(nearest, view.x, view.y, view.p.f, view.q.f)
        if view.bound > best.bound or not (best.bound > -math.inf):
            best = view
        known = used >= tries and former < nearest.distance - goal
        # Only a cut reduces the gap between the bound of a slab and its support point.
        serves = dot(view.n, sub(view.y, view.x)) >= nearest.distance - goal
        if best.bound >= nearest.distance - goal or used >= MOST_STEPS or known or serves:
            break
        put(w, count, Corner(sub(view.x, view.y), view.x, view.y, 0, 0, 0.0, 0.0, 0.0))
        count = nearest_of_simplex(w, count + 1)
        if count == 4:
            break
        v = mean_point(w, count, SIMPLEX.m)
        length = norm(v)
        if not (0.0 < length < former) or length - best.bound <= _CLOSE_ENOUGH * goal:
            break
        former = length
        view = _look(pair, simplex_direction(w, count, v), cell)
        used += 1
    x, y = view.x, view.y
    if count > 0:
        x, y = mean_points(w, count)
    # A point in the plane of a cut touches both slabs, to rounding.
    overlap = count == 4 or norm(sub(y, x)) <= _THINNEST * max(a.row[SIZE], b.row[SIZE])
    local = in_frame_of_b(pair, y)
    cuts = (_cut(cell[0], cell[1], core_piece_place(a, x)), _cut(cell[2], cell[3], core_piece_place(b, local)))
    if serves:
        cuts = (0.5 * (cell[0] + cell[1]), 0.5 * (cell[2] + cell[3]))
    common = combine(0.5, x, 0.5, y)
    if not (best.bound >= nearest.distance - goal):
        x = onto_core(a, x, best.n)
        y = add(centre, rotate(rotation, onto_core(b, local, rotate_back(rotation, scale(-1.0, best.n)))))
        if count < 4:
            nearest = _nearer_points(nearest, x, y, view.p.f, view.q.f)
        if a.kind != SUPEROVOID or b.kind != SUPEROVOID:
            common = x if b.kind == SUPEROVOID else y
    return _Approach(best.bound, best.n, nearest, cuts, view.n if serves else best.n, 1 + used, overlap, common)


# --- near a contact ---------------------------------------------------------------------------------------------


@kernel
def _holds(lo, hi, w):
    slack = TOLERANCE * (hi - lo)
    return lo - slack <= w <= hi + slack


@kernel
def _is_between(lo, hi, w):
    slack = TOLERANCE * (hi - lo)
    return lo + slack < w < hi - slack


@kernel
def _graded_cut(lo, hi, w, share):
    """Return the height at a share of the length of a slab from its end next to a contact at w."""
    return lo + share * (hi - lo) if 2.0 * w < lo + hi else hi - share * (hi - lo)


@kernel
def _beside_contact(pair, cell, cuts_a, n, nearest, goal):
    """Do as `_approach` for pieces of superovoids, one of them a slab, with the nearest points on them.

    The search begins with a view along the normal n of these points; no direction helps if they are between the ends
    of the slab to cut.

    Over a concavity the far end of a slab of length L that begins at the contact is above the tangent plane, by e. If a
    full step gains G for the far end alone, the part e / (2 G) of it brings both ends level, which costs e^2 / (4 G).
    If this cost exceeds the goal, no plane serves, and the slab is cut. Slices recede from the other body as 2 G
    (w/L)^2, and a concavity bulges by e over L: beyond the share e / (2 G) of the slab, the plane of the nearer end
    serves, after that share of the step.
    """
    at = (nearest.fa.w, nearest.fb.w)
    if _is_between(cell[0], cell[1], at[0]) if cuts_a else _is_between(cell[2], cell[3], at[1]):
        return _Approach(-math.inf, n, nearest, at, n, 0, False, n)
    best, share, used = _look(pair, n, cell), _GRADING, 1
    u = sub(best.y, best.x)
    nearest = _nearer_points(nearest, best.x, best.y, best.p.f, best.q.f)
    if best.bound >= nearest.distance - goal:
        return _Approach(best.bound, n, nearest, at, n, used, False, n)
    step = _newton_step(pair, best)
    gain, rise = 0.5 * dot(step, u), nearest.distance - dot(n, u)
    if rise > goal and gain > 0.0:
        level = rise / (2.0 * gain)
        share = min(0.5, max(_LEAST_SHARE, _GENEROUS * level))
        if level * rise < 2.0 * goal:
            m = combine(1.0, n, level, step)
            view = _look(pair, scale(1.0 / norm(m), m), cell)
            best = view if view.bound > best.bound else best
            used = 2
    after = combine(1.0, n, share, step)
    after = scale(1.0 / norm(after), after)
    cuts = (_graded_cut(cell[0], cell[1], at[0], share), _graded_cut(cell[2], cell[3], at[1], share))
    return _Approach(best.bound, best.n, nearest, cuts, after, used, False, n)


@kernel
def _add_square(h, c, v1, v2):
    return (h[0] + c * v1 * v1, h[1] + c * v1 * v2, h[2] + c * v2 * v2)


@kernel
def _newton_step(pair, view):
    """Return the Newton step of a direction on the bound of two pieces of superovoids."""
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
    part = min(1.0, MOST_TURN / max(math.sqrt(p1 * p1 + p2 * p2), LEAST_DIVISOR))
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
def _first_pairs(pair, n, cells, w):
    """Put all pairs of the first pieces of the bodies on the heap, with the bounds proved by a direction."""
    m, middle = rotate_back(pair.rotation, scale(-1.0, n)), dot(n, pair.centre)
    last_a, i = False, 0
    while not last_a:
        lo_a, hi_a, last_a = core_piece_ends(pair.a, i)
        upper_a = core_piece_support(pair.a, n, lo_a, hi_a).upper
        last_b, j = False, 0
        while not last_b:
            lo_b, hi_b, last_b = core_piece_ends(pair.b, j)
            if i == 0:
                w[j, 0] = core_piece_support(pair.b, m, lo_b, hi_b).upper
            bound = middle - upper_a - w[j, 0]
            cell = (lo_a, hi_a, lo_b, hi_b)
            _wait(cells, cell, n, bound if bound > -math.inf else -math.inf, n)  # the bound may be NaN
            j += 1
        i += 1


@kernel
def _with_bound(least, bound, n):
    if bound < least.bound:
        return _LeastBound(bound, n, least.bound)
    return _LeastBound(least.bound, least.n, min(least.second, bound))


@kernel
def _bound_of_bodies(least, margin):
    """Bound the signed distance from the bounds of all pairs of pieces, less a margin for rounding; -inf: no bound.

    If one bound is negative, a translation of that length along its direction separates these two pieces. It separates
    the bodies if it makes no other pair of pieces overlap.
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
    nearest : NearestPoints
        Points of the bodies; at an infinite distance if none are known.
    goal : float
        Largest accepted gap between the bound and the distance of the nearest points found.
    beyond : float
        Distance at which the search ends: it returns the current bound once the distance is proved to exceed this, and
        is positive. Of several pairs of pieces negative bounds prove nothing.
    margin : float
        Bound of the rounding error of a bound.
    budget : int
        Most directions to evaluate.
    """
    return refine_pieces(pair, n, nearest, goal, beyond, margin, budget, new_cells(_MOST_CELLS))


@kernel
def nearest_of_ovoids(pair, n, answer, shift, goal, beyond, margin):
    """Do as `nearest_of_pieces` for two superovoids, B moved by a shift, from the points of an answer before it."""
    pair, y = Pair(pair.a, pair.b, pair.rotation, add(pair.centre, shift)), add(answer.y, shift)
    known = NearestPoints(norm(sub(y, answer.x)), answer.x, y, answer.fa, answer.fb)
    return nearest_of_pieces(cores_of(pair), n, known, _SHARE_OF_GOAL * goal, beyond, margin, MOST_VIEWS)


@kernel
def cores_of(pair):
    """Return two superovoids as cores."""
    kind = CODE[SUPEROVOID]
    return Pair(Core(pair.a, kind, pair.a), Core(pair.b, kind, pair.b), pair.rotation, pair.centre)  # refer to no pool


@kernel(_nrt=True)
def refine_pieces(pair, n, nearest, goal, beyond, margin, budget, cells):
    """Do as `nearest_of_pieces`, and write all pairs of pieces to `cells`, beginning with the first pieces."""
    a, b = pair.a, pair.b
    w = new_workspace()
    _first_pairs(pair, n, cells, w)
    least = _LeastBound(math.inf, n, math.inf)
    # Points that lie along n are a contact.
    faces = dot(n, sub(nearest.y, nearest.x)) >= nearest.distance - goal
    ovoids, contact, normal = a.kind == SUPEROVOID and b.kind == SUPEROVOID, nearest.distance, n
    views = stuck = 0
    while cells.counts[0] > 0:
        first = cells.heap[0]
        bound = cells.key[first]
        row = cells.rows[first]
        # An open pair that cannot be cut limits the bound of the bodies.
        stays = margin <= least.bound <= bound
        ends = bound >= nearest.distance - goal or bound > max(0.0, beyond) + margin or stays
        if ends or views >= budget or cells.counts[1] + 2 > len(cells.key):
            for _ in range(min(2, cells.counts[0])):  # all other bounds are at least as high
                least = _with_bound(least, bound, (row[4], row[5], row[6]))
            break
        cells.counts[0] = without_first(cells.heap, cells.key, cells.counts[0])
        cell, n = (row[0], row[1], row[2], row[3]), (row[4], row[5], row[6])
        width_a = 0.0 if is_convex_core_piece(a, cell[0], cell[1]) else cell[1] - cell[0]
        width_b = 0.0 if is_convex_core_piece(b, cell[2], cell[3]) else cell[3] - cell[2]
        width = max(width_a, width_b)
        cuts_a = core_piece_unit(a) * width_a >= core_piece_unit(b) * width_b  # the longer non-convex piece
        beside = ovoids and faces and stuck < _STUCK and width > 0.0 and nearest.distance >= contact - goal
        if beside and _holds(cell[0], cell[1], nearest.fa.w) and _holds(cell[2], cell[3], nearest.fb.w):
            found = _beside_contact(pair, cell, cuts_a, normal, nearest, goal)
            stuck += 0 if found.bound > bound or found.views == 0 else 1
        else:
            view = _look(pair, (row[7], row[8], row[9]), cell)
            found = _approach(pair, cell, view, nearest, goal, _TRIES if width > 0.0 else MOST_STEPS, w)
        nearest = found.nearest
        views += found.views
        if found.overlap and is_in_ovoids(pair, found.common, margin):
            return SearchResult(-math.inf, nearest, found.n, found.common, True, views)
        if found.bound > bound:
            bound, n = found.bound, found.n
            cells.key[first] = bound
            for k in range(3):
                row[4 + k] = n[k]
        if bound >= nearest.distance - goal or width < _THINNEST:
            least = _with_bound(least, bound, n)
            continue
        if cuts_a:
            at = found.cuts[0]
            one, other = (cell[0], at, cell[2], cell[3]), (at, cell[1], cell[2], cell[3])
        else:
            at = found.cuts[1]
            one, other = (cell[0], cell[1], cell[2], at), (cell[0], cell[1], at, cell[3])
        cells.parts[first] = cells.counts[1]
        _wait(cells, one, n, bound, found.after)
        _wait(cells, other, n, bound, found.after)
    return SearchResult(_bound_of_bodies(least, margin), nearest, least.n, n, False, views)


@entry_point(_nrt=True)
def refine_ovoids(
    bodies: OvoidPair, n: tuple[float, float, float], nearest: NearestPoints, goal: float, cells: Cells
) -> float:
    """Prove that two superovoids are no closer than `nearest.distance - goal`; return the bound that is proved.

    Parameters
    ----------
    bodies : OvoidPair
    n : tuple
        Direction to begin with, in the frame of A.
    nearest : NearestPoints
        The points of the answer.
    goal : float
    cells : Cells
        Filled in.
    """
    pair = Pair(bodies.a, bodies.b, bodies.rotation, bodies.centre)  # the type that other callers use
    budget = _VIEWS_OF_CELL * len(cells.key)
    return refine_pieces(cores_of(pair), n, nearest, goal, math.inf, 0.0, budget, cells).lower
