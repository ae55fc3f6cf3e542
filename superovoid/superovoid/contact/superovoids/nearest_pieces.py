# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Distance of two bodies that may be apart although their hulls overlap: nearest points of pairs of pieces.

Newton's method finds no contact on edges and flats that are nearly sharp, and `between_pieces`, which starts from its
contact, has no beginning there. Here every pair of pieces has its own, by the algorithm of Gilbert, Johnson and
Keerthi on the support points of the pieces: any direction that is met gives a lower bound, and the means of the points
of a convex piece, brought onto the surface, are points of its body. The pair of pieces with the least bound comes
first; a slab that is in the way is cut in two.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.row_heap import lift, without_first
from superovoid.compiled.vector import add, combine, norm, rotate, rotate_back, scale, sub
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
from superovoid.contact.separation import is_in_both
from superovoid.contact.superovoids.answers import COLD_ITERATIONS, newton_from
from superovoid.contact.superovoids.between_pieces import Closest, look, piece_end, turned
from superovoid.contact.superovoids.common_points import common_beside, common_point
from superovoid.contact.superovoids.pieces import is_convex_piece
from superovoid.shapes.kernels.surface import A3, SurfacePoint, position

_MOST_CELLS = 256
_TRIES, _CONVEX_TRIES = 12, 48  # directions for a pair with a slab, and for two convex pieces
_CLOSE_ENOUGH = 0.1  # of the goal: between the length of the nearest point of a simplex and the bound
_NEWTON_COST = 8  # of a run of Newton's method, in directions
_THINNEST = 1e-12  # slab
_MARGIN = 0.2  # of a slab: no cut is closer to one of its ends


class Nearest(NamedTuple):
    """The nearest points known, both in the frame of A."""

    distance: float
    x: tuple
    y: tuple
    fa: SurfacePoint  # surface points at or beside them
    fb: SurfacePoint


class Found(NamedTuple):
    """What a search has found."""

    lower: float  # proved lower bound of the signed distance of the bodies; -inf: unknown
    nearest: Nearest
    n: tuple  # direction that proves the least bound of a pair of pieces
    common: tuple  # point that is proved to be in both bodies, in the frame of A, if `overlap`
    overlap: bool


class _Approach(NamedTuple):
    """What the nearest points of two pieces are known to be."""

    bound: float  # of their distance, proved
    n: tuple  # the direction that proves it
    nearest: Nearest
    heights: tuple  # of the nearest points of the hulls of the pieces
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

    rows: NDArray[np.float64]  # heights of the ends of both pieces, and a direction
    key: NDArray[np.float64]  # lower bound of their distance
    heap: NDArray[np.int64]
    counts: NDArray[np.int64]  # cells that wait, and cells


@kernel
def _nearer(nearest, x, y, fa, fb):
    distance = norm(sub(y, x))
    return Nearest(distance, x, y, fa, fb) if distance < nearest.distance else nearest


@kernel
def _approach(pair, cell, n, nearest, goal, tries, w):
    """Nearest points of two pieces, as far as they matter beside the nearest points of the bodies that are known."""
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    bound, best, overlap, point = -math.inf, n, False, n
    former, count, used = math.inf, 0, 0
    view = look(pair, n, cell)
    while True:
        used += 1
        x = position(a, view.p.f)
        y = add(x, view.u)
        nearest = _nearer(nearest, x, y, view.p.f, view.q.f)
        if view.inner < 0.0:
            common, p = common_beside(pair, x, y)
            if common:
                return _Approach(bound, best, nearest, (view.p.f.w, view.q.f.w), used, True, p)
        if view.bound > bound:
            bound, best = view.bound, n
        if bound >= nearest.distance - goal or used >= _CONVEX_TRIES:
            break
        # Hulls that are not known to be too close want a better direction, not a thinner slab.
        if used >= tries and former < nearest.distance - goal:
            break
        put(w, count, Corner(scale(-1.0, view.u), x, y, 0, 0, 0.0, 0.0, 0.0))
        count = nearest_of_simplex(w, count + 1)
        if count == 4:
            overlap = True
            weigh_origin(w)
            point = combine(0.5, mean_point(w, 4, X), 0.5, mean_point(w, 4, Y))
            break
        v = mean_point(w, count, M)
        length = norm(v)
        if not (0.0 < length < former) or length - bound <= _CLOSE_ENOUGH * goal:
            overlap = length == 0.0
            break
        former = length
        n = towards(w, count, v)
        view = look(pair, n, cell)
    heights = (view.p.f.w, view.q.f.w)
    if count > 0 and count < 4:
        x, y = mean_point(w, count, X), mean_point(w, count, Y)
        in_b = rotate_back(rotation, sub(y, centre))
        heights = (x[2] / a[A3], in_b[2] / b[A3])
        if not overlap and bound < nearest.distance - goal:
            x = along_to_surface(a, x, best)
            in_b = along_to_surface(b, in_b, rotate_back(rotation, scale(-1.0, best)))
            nearest = _nearer(nearest, x, add(centre, rotate(rotation, in_b)), view.p.f, view.q.f)
        point = combine(0.5, x, 0.5, y) if overlap else point
    return _Approach(bound, best, nearest, heights, used, overlap, point)


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
def _height_of_cut(lo, hi, at):
    """Height at which to cut a slab: that of the nearest point, not too close to an end."""
    margin = _MARGIN * (hi - lo)
    return min(hi - margin, max(lo + margin, at))


@kernel(_nrt=True, separate=True)
def nearest_of_pieces(pair, n, nearest, goal, margin, budget):
    """Prove that two bodies are apart and how far, best bound first.

    Parameters
    ----------
    n : tuple
        Direction to begin with.
    nearest : Nearest
        Points of the bodies.
    goal : float
        By which the bound may stay below the distance of the nearest points found.
    margin : float
        What rounding takes from a bound.
    budget : int
        Directions that may be looked at.
    """
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    cells = _Cells(
        np.empty((_MOST_CELLS, 7)), np.empty(_MOST_CELLS), np.empty(_MOST_CELLS, np.int64), np.zeros(2, np.int64)
    )
    w = new_workspace()
    i = 0
    while i == 0 or piece_end(a, i) < 1.0:
        j = 0
        while j == 0 or piece_end(b, j) < 1.0:
            _wait(cells, (piece_end(a, i), piece_end(a, i + 1), piece_end(b, j), piece_end(b, j + 1)), n, -math.inf)
            j += 1
        i += 1
    least, touched = _Least(math.inf, n, math.inf), scale(0.5, centre)
    views, at_newton = 0, nearest.distance
    while cells.counts[0] > 0:
        first = cells.heap[0]
        bound = cells.key[first]
        if bound >= nearest.distance - goal or views >= budget or cells.counts[1] + 2 > _MOST_CELLS:
            row = cells.rows[first]
            for _ in range(min(2, cells.counts[0])):  # the others' bounds are no less
                least = _with_bound(least, bound, (row[4], row[5], row[6]))
            break
        cells.counts[0] = without_first(cells.heap, cells.key, cells.counts[0])
        row = cells.rows[first]
        cell, n = (row[0], row[1], row[2], row[3]), (row[4], row[5], row[6])
        convex_a, convex_b = is_convex_piece(a, cell[0], cell[1]), is_convex_piece(b, cell[2], cell[3])
        both = convex_a and convex_b
        found = _approach(pair, cell, n, nearest, goal, _CONVEX_TRIES if both else _TRIES, w)
        views += found.views
        nearest = found.nearest
        if nearest.distance < at_newton - goal:
            # The bodies' own contact beside the points, which those only come closer to.
            own = newton_from(pair, nearest.fa, nearest.fb, goal, COLD_ITERATIONS, 0)
            views += _NEWTON_COST
            if own.lower > -math.inf and own.distance > 0.0:
                nearest = _nearer(nearest, own.x, add(centre, rotate(rotation, own.y)), own.fa, own.fb)
            at_newton = nearest.distance
        bound, proof = max(bound, found.bound), found.n
        if found.overlap:
            touched = found.common
            if is_in_both(pair, touched):
                return Found(-math.inf, nearest, n, touched, True)
        elif (both or found.views >= _CONVEX_TRIES) and bound < nearest.distance - goal:
            # Round pieces: Newton's steps get on where those of the simplex are too short.
            closest = Closest(nearest.distance, nearest.fa, nearest.fb)
            view, closest, used = turned(pair, cell, look(pair, found.n, cell), closest, goal, _CONVEX_TRIES, both, 1.0)
            views += used
            if view.bound > bound:
                bound, proof = view.bound, view.n
            if closest.distance < nearest.distance:
                x, y = position(a, closest.fa), add(centre, rotate(rotation, position(b, closest.fb)))
                nearest = Nearest(closest.distance, x, y, closest.fa, closest.fb)
        cut_a = not convex_a and (convex_b or cell[1] - cell[0] > cell[3] - cell[2])
        thin = (cell[1] - cell[0] if cut_a else cell[3] - cell[2]) < _THINNEST
        if bound >= nearest.distance - goal or both or thin:
            ends = both and (found.overlap or bound < min(0.0, nearest.distance - goal))
            least = _with_bound(least, -math.inf if ends else bound, proof)
            if ends:
                break
            continue
        if cut_a:
            at = _height_of_cut(cell[0], cell[1], found.heights[0])
            one, other = (cell[0], at, cell[2], cell[3]), (at, cell[1], cell[2], cell[3])
        else:
            at = _height_of_cut(cell[2], cell[3], found.heights[1])
            one, other = (cell[0], cell[1], cell[2], at), (cell[0], cell[1], at, cell[3])
        _wait(cells, one, found.n, bound)
        _wait(cells, other, found.n, bound)
    lower = _signed(least, margin)
    if lower < -goal:
        # Nearest points next to each other may be where the two surfaces cross.
        for i in range(2):
            p = combine(0.5, nearest.x, 0.5, nearest.y) if i == 0 else touched
            common, p = common_point(pair, p)
            if common:
                return Found(-math.inf, nearest, n, p, True)
    return Found(lower, nearest, least.n, n, False)
