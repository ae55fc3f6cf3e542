# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Distance of two bodies piece by piece: their nearest points, and what proves them.

A body is a union of pieces: a superovoid of slabs between heights (`pieces`), a circle of arcs, any other core is one
piece. For two pieces P and Q the algorithm of Gilbert, Johnson and Keerthi on their support points turns a unit
direction n that proves

    d(P, Q) >= n . c - h_P(n) - h_Q(-n).

The pair of pieces with the least bound comes first. A slab or an arc that is in the way is cut in two where it is
nearest: its hull reaches beyond it by no more than the square of its length. Means of support points are points of a
convex core; those of a superovoid or an arc are brought onto it.

This serves bodies with dents, whose hulls may overlap, and superovoids with edges and flats that are nearly sharp, on
which Newton's method finds no contact. Between two superovoids Newton's method helps: for the bodies' own contact
beside the nearest points, and for the direction of two pieces (`between_pieces.turned`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.row_heap import lift, without_first
from superovoid.compiled.vector import add, combine, dot, norm, rotate, rotate_back, scale, sub
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
    weigh_origin,
)
from superovoid.contact.minkowski.on_surfaces import along_to_surface
from superovoid.contact.pair import Pair
from superovoid.contact.separation import is_inside, slack_of_level
from superovoid.contact.superovoids.answers import COLD_ITERATIONS, newton_from
from superovoid.contact.superovoids.between_pieces import Closest, look, piece_end, turned
from superovoid.contact.superovoids.common_points import common_point
from superovoid.contact.superovoids.pieces import is_convex_piece, piece_support
from superovoid.shapes.kernels.kinds import (
    BOX,
    CONE,
    CONVEX_MESH,
    CYLINDER,
    PLANE_LOSS,
    SUPEROVOID,
    TORUS,
    core_support,
    point_to_core,
)
from superovoid.shapes.kernels.surface import A1, A3, SIZE, SurfacePoint, position

_MOST_CELLS, _MOST_OF_CIRCLES = 256, 1024
_ARCS = 4  # of a circle, to begin with
_TRIES = 12  # directions for a pair with a piece that is not convex
_OVOID_TRIES, _CONVEX_TRIES = 48, 96  # for two convex pieces, of superovoids (where Newton's steps follow) and others
_CLOSE_ENOUGH = 0.1  # of the goal: between the length of the nearest point of a simplex and the bound
_NEWTON_COST = 8  # of a run of Newton's method, in directions
_THINNEST = 1e-12  # slab, and arc
_MARGIN = 0.2  # of a slab or an arc: no cut is closer to one of its ends
_TOUCHING = 1e-12  # of the larger body
_SHARES = (1.0 - 1e-10, 1.0 - 1e-7, 1.0 - 1e-4)  # of a radius
NO_POINT = SurfacePoint(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)  # of cores that are no superovoids


class Nearest(NamedTuple):
    """The nearest points known, both in the frame of A."""

    distance: float
    x: tuple
    y: tuple
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
    """Two pieces along a direction: their support points in the frame of A."""

    x: tuple
    y: tuple
    bound: float  # of their distance, proved
    fa: SurfacePoint
    fb: SurfacePoint


class _Approach(NamedTuple):
    """What the nearest points of two pieces are known to be."""

    bound: float  # of their distance, proved
    n: tuple  # the direction that proves it
    nearest: Nearest
    places: tuple  # of the nearest points of the hulls of the pieces: height or angle
    views: int
    overlap: bool  # of the hulls of the pieces
    common: tuple  # point of both hulls then


class _Least(NamedTuple):
    """Least bound of the pairs of pieces that are done, with its direction, and the second least."""

    bound: float
    n: tuple
    second: float


class _Cells(NamedTuple):
    """Pairs of pieces that wait. All arrays change as the search goes on."""

    rows: NDArray[np.float64]  # ends of both pieces, and a direction
    key: NDArray[np.float64]  # lower bound of their distance
    heap: NDArray[np.int64]
    counts: NDArray[np.int64]  # cells that wait, and cells


# --- pieces of a core ---------------------------------------------------------------------------------------------


@kernel
def _ends(core, i):
    """Ends of the i-th piece of a core to begin with, heights or angles, and whether it is the last."""
    if core.kind == TORUS:
        return math.pi * (2.0 * i / _ARCS - 1.0), math.pi * (2.0 * (i + 1) / _ARCS - 1.0), i + 1 == _ARCS
    if core.kind == SUPEROVOID:
        hi = piece_end(core.row, i + 1)
        return piece_end(core.row, i), hi, hi == 1.0
    return 0.0, 0.0, True


@kernel
def _is_convex(core, lo, hi):
    return core.kind != TORUS and (core.kind != SUPEROVOID or is_convex_piece(core.row, lo, hi))


@kernel
def _unit(core):
    """Length of a piece from 0 to 1."""
    return core.row[A1] if core.kind == TORUS else core.row[A3]


@kernel
def _arc_support(radius, n, first, last):
    """Support point of an arc along n in the frame of its circle."""
    at = math.atan2(n[1], n[0])
    if not (first <= at <= last):
        rises = n[0] * (math.cos(last) - math.cos(first)) + n[1] * (math.sin(last) - math.sin(first)) > 0.0
        at = last if rises else first
    return (radius * math.cos(at), radius * math.sin(at), 0.0)


@kernel
def _support(core, n, lo, hi):
    """Support point of a piece in the frame of its core, bound of its support function, surface point."""
    if core.kind == SUPEROVOID:
        p = piece_support(core.row, n, lo, hi, math.inf)
        return position(core.row, p.f), p.upper, p.f
    if core.kind == TORUS:
        x = _arc_support(core.row[A1], n, lo, hi)
        return x, dot(n, x), NO_POINT
    x, _, upper = core_support(core, n)
    return x, upper, NO_POINT


@kernel
def _place(core, p):
    """Height or angle of a point in the frame of a superovoid or a circle; 0 of other cores."""
    if core.kind == TORUS:
        return math.atan2(p[1], p[0])
    return p[2] / core.row[A3] if core.kind == SUPEROVOID else 0.0


@kernel
def _onto(core, p, n):
    """A mean of support points along n brought onto its body, in the frame of this."""
    if core.kind == SUPEROVOID:
        return along_to_surface(core.row, p, n)
    if core.kind != TORUS:
        return p
    at = math.atan2(p[1], p[0])
    return (core.row[A1] * math.cos(at), core.row[A1] * math.sin(at), 0.0)


@kernel
def height_in_core(core, p):
    """Signed distance of a point in the frame of a core, no less than it is, and the normal of the nearest face.

    Infinite outside, and of cores that have no inside. Not for superovoids.
    """
    kind = core.kind
    if not (kind == BOX or kind == CYLINDER or kind == CONE or kind == CONVEX_MESH):
        return math.inf, p
    height, normal, _, _ = point_to_core(core, p)
    height += core.row[PLANE_LOSS]
    return (height if height <= 0.0 else math.inf), normal


# --- pairs of pieces ----------------------------------------------------------------------------------------------


@kernel
def in_frame_of_b(pair, p):
    """A point of the frame of A in that of B."""
    return rotate_back(pair.rotation, sub(p, pair.centre))


@kernel
def _look(pair, n, cell):
    """Support points of two pieces, and the bound that a direction proves."""
    out_of_line()
    rotation, centre = pair.rotation, pair.centre
    x, upper_a, fa = _support(pair.a, n, cell[0], cell[1])
    y, upper_b, fb = _support(pair.b, rotate_back(rotation, scale(-1.0, n)), cell[2], cell[3])
    return _View(x, add(centre, rotate(rotation, y)), dot(n, centre) - upper_a - upper_b, fa, fb)


@kernel
def is_in_ovoids(pair, p, margin):
    """Whether a point in the frame of A is proved to be in each superovoid of a pair."""
    out_of_line()
    a, b = pair.a, pair.b
    if a.kind == SUPEROVOID and not is_inside(a.row, p, slack_of_level(a.row, margin)):
        return False
    return b.kind != SUPEROVOID or is_inside(b.row, in_frame_of_b(pair, p), slack_of_level(b.row, margin))


@kernel
def _is_in_others(pair, p, margin):
    """Whether a point in the frame of A is proved to be in each core of a pair that is no superovoid."""
    if pair.a.kind != SUPEROVOID and not height_in_core(pair.a, p)[0] < -margin:
        return False
    return pair.b.kind == SUPEROVOID or height_in_core(pair.b, in_frame_of_b(pair, p))[0] < -margin


@kernel
def _common_beside(pair, x, y, margin):
    """A point proved to be in both bodies, at or next to support points x and y of pieces, if there is one."""
    out_of_line()
    centre = pair.centre
    for of_b in range(2):
        p, kind = (y, pair.b.kind) if of_b == 1 else (x, pair.a.kind)
        if kind != SUPEROVOID:
            if is_in_ovoids(pair, p, margin):
                return True, p
            continue
        for i in range(len(_SHARES)):
            # A superovoid is star-shaped about its origin.
            q = add(centre, scale(_SHARES[i], sub(p, centre))) if of_b == 1 else scale(_SHARES[i], p)
            if _is_in_others(pair, q, margin) and is_in_ovoids(pair, q, margin):
                return True, q
    return False, x


@kernel
def _nearer(nearest, x, y, fa, fb):
    distance = norm(sub(y, x))
    return Nearest(distance, x, y, fa, fb) if distance < nearest.distance else nearest


@kernel
def _approach(pair, cell, n, nearest, goal, margin, tries, most, w):
    """Nearest points of two pieces, as far as they matter beside the nearest points of the bodies that are known.

    Looks at `most` directions, or at `tries` where the hulls of the pieces are not known to be too close.
    """
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    bound, best = -math.inf, n
    former, count, used = math.inf, 0, 0
    view = _look(pair, n, cell)
    while True:
        used += 1
        nearest = _nearer(nearest, view.x, view.y, view.fa, view.fb)
        if dot(n, sub(view.y, view.x)) < 0.0:
            common, p = _common_beside(pair, view.x, view.y, margin)
            if common:
                return _Approach(bound, best, nearest, (0.0, 0.0), used, True, p)
        if view.bound > bound:
            bound, best = view.bound, n
        if bound >= nearest.distance - goal or used >= most:
            break
        # Hulls that are not known to be too close want a better direction, not a thinner piece.
        if used >= tries and former < nearest.distance - goal:
            break
        put(w, count, Corner(sub(view.x, view.y), view.x, view.y, 0, 0, 0.0, 0.0, 0.0))
        count = nearest_of_simplex(w, count + 1)
        if count == 4:
            break
        v = mean_point(w, count, M)
        length = norm(v)
        if not (0.0 < length < former) or length - bound <= _CLOSE_ENOUGH * goal:
            break
        former = length
        n = towards(w, count, v)
        view = _look(pair, n, cell)
    x, y = view.x, view.y
    if count == 4:
        weigh_origin(w)
    if count > 0:
        x, y = mean_point(w, count, X), mean_point(w, count, Y)
    # What lies in the plane of a cut touches both slabs, to rounding.
    overlap = count == 4 or norm(sub(y, x)) <= _TOUCHING * max(a.row[SIZE], b.row[SIZE])
    local = in_frame_of_b(pair, y)
    places = (_place(a, x), _place(b, local))
    common = combine(0.5, x, 0.5, y)
    if bound < nearest.distance - goal:
        x = _onto(a, x, best)
        y = add(centre, rotate(rotation, _onto(b, local, rotate_back(rotation, scale(-1.0, best)))))
        if count < 4:
            nearest = _nearer(nearest, x, y, view.fa, view.fb)
        if a.kind != SUPEROVOID or b.kind != SUPEROVOID:
            common = x if b.kind == SUPEROVOID else y
    return _Approach(bound, best, nearest, places, used, overlap, common)


# --- the search ---------------------------------------------------------------------------------------------------


@kernel
def _wait(cells, cell, n, bound):
    i = cells.counts[1]
    for k in range(4):
        cells.rows[i, k] = cell[k]
    for k in range(3):
        cells.rows[i, 4 + k] = n[k]
    cells.key[i] = bound
    cells.counts[1] = i + 1
    length = cells.counts[0]
    cells.heap[length] = i
    lift(cells.heap, cells.key, length)
    cells.counts[0] = length + 1


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


@kernel
def _cut(lo, hi, at):
    """Where to cut a piece: at the nearest point, not too close to an end."""
    margin = _MARGIN * (hi - lo)
    return min(hi - margin, max(lo + margin, at))


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
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    ovoids = a.kind == SUPEROVOID and b.kind == SUPEROVOID
    rows = Pair(a.row, b.row, rotation, centre)
    capacity = _MOST_OF_CIRCLES if a.kind == TORUS or b.kind == TORUS else _MOST_CELLS
    cells = _Cells(np.empty((capacity, 7)), np.empty(capacity), np.empty(capacity, np.int64), np.zeros(2, np.int64))
    most = _OVOID_TRIES if ovoids else _CONVEX_TRIES
    w = new_workspace()
    last_a, i = False, 0
    while not last_a:
        lo_a, hi_a, last_a = _ends(a, i)
        last_b, j = False, 0
        while not last_b:
            lo_b, hi_b, last_b = _ends(b, j)
            _wait(cells, (lo_a, hi_a, lo_b, hi_b), n, -math.inf)
            j += 1
        i += 1
    least, touched = _Least(math.inf, n, math.inf), scale(0.5, centre)
    views, at_newton = 0, nearest.distance
    while cells.counts[0] > 0:
        first = cells.heap[0]
        bound = cells.key[first]
        row = cells.rows[first]
        ends = bound >= nearest.distance - goal or bound > beyond + margin
        if ends or views >= budget or cells.counts[1] + 2 > capacity:
            for _ in range(min(2, cells.counts[0])):  # the others' bounds are no less
                least = _with_bound(least, bound, (row[4], row[5], row[6]))
            break
        cells.counts[0] = without_first(cells.heap, cells.key, cells.counts[0])
        cell, n = (row[0], row[1], row[2], row[3]), (row[4], row[5], row[6])
        convex_a, convex_b = _is_convex(a, cell[0], cell[1]), _is_convex(b, cell[2], cell[3])
        both = convex_a and convex_b
        found = _approach(pair, cell, n, nearest, goal, margin, most if both else _TRIES, most, w)
        views += found.views
        nearest = found.nearest
        if ovoids and nearest.distance < at_newton - goal:
            # The bodies' own contact beside the points, which those only come closer to.
            own = newton_from(rows, nearest.fa, nearest.fb, goal, COLD_ITERATIONS, 0)
            views += _NEWTON_COST
            if own.lower > -math.inf and own.distance > 0.0:
                nearest = _nearer(nearest, own.x, add(centre, rotate(rotation, own.y)), own.fa, own.fb)
            at_newton = nearest.distance
        bound, proof = max(bound, found.bound), found.n
        if found.overlap:
            touched = found.common
            if is_in_ovoids(pair, touched, margin):
                return Found(-math.inf, nearest, found.n, touched, True, views)
        elif ovoids and (both or found.views >= most) and bound < nearest.distance - goal:
            # Round pieces: Newton's steps get on where those of the simplex are too short.
            closest = Closest(nearest.distance, nearest.fa, nearest.fb)
            view, closest, used = turned(rows, cell, look(rows, found.n, cell), closest, goal, most, both, 1.0)
            views += used
            if view.bound > bound:
                bound, proof = view.bound, view.n
            if closest.distance < nearest.distance:
                x, y = position(a.row, closest.fa), add(centre, rotate(rotation, position(b.row, closest.fb)))
                nearest = Nearest(closest.distance, x, y, closest.fa, closest.fb)
        # The longer of those that are not convex is cut.
        width_a = 0.0 if convex_a else cell[1] - cell[0]
        width_b = 0.0 if convex_b else cell[3] - cell[2]
        if bound >= nearest.distance - goal or max(width_a, width_b) < _THINNEST:
            least = _with_bound(least, bound, proof)
            continue
        if _unit(a) * width_a >= _unit(b) * width_b:
            at = _cut(cell[0], cell[1], found.places[0])
            one, other = (cell[0], at, cell[2], cell[3]), (at, cell[1], cell[2], cell[3])
        else:
            at = _cut(cell[2], cell[3], found.places[1])
            one, other = (cell[0], cell[1], cell[2], at), (cell[0], cell[1], at, cell[3])
        _wait(cells, one, found.n, bound)
        _wait(cells, other, found.n, bound)
    lower = _signed(least, margin)
    if ovoids and lower < -goal:
        # Nearest points next to each other may be where the two surfaces cross.
        for i in range(2):
            p = combine(0.5, nearest.x, 0.5, nearest.y) if i == 0 else touched
            common, p = common_point(rows, p)
            if common:
                return Found(-math.inf, nearest, n, p, True, views)
    return Found(lower, nearest, least.n, n, False, views)
