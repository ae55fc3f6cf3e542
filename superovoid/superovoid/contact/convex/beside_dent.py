# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Distance of a superovoid that has a dent from a core that may reach into it: nearest points, piece by piece.

The distance of the bodies is the least distance of a piece of the superovoid (`superovoids.pieces`) from the core, or,
of a torus, from an arc of its circle. For two pieces P and Q the algorithm of Gilbert, Johnson and Keerthi turns a unit
direction n that proves

    d(P, Q) >= n . c - h_P(n) - h_Q(-n).

The pieces with the least bound come first. A slab or an arc that is in the way is cut in two where it is nearest: its
hull reaches beyond it by no more than the square of its height. Means of support points are points of a convex core,
and those of a slab or an arc are brought onto it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.row_heap import lift, without_first
from superovoid.compiled.vector import add, combine, dot, norm, rotate, rotate_back, scale, sub
from superovoid.contact.convex.core_settling import holds_means
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
from superovoid.contact.separation import is_inside, slack_of_level
from superovoid.contact.superovoids.between_pieces import piece_end
from superovoid.contact.superovoids.pieces import is_convex_piece, piece_support
from superovoid.shapes.kernels.kinds import (
    BOX,
    CONE,
    CONVEX_MESH,
    CYLINDER,
    MESH,
    PLANE_LOSS,
    SUPEROVOID,
    TORUS,
    core_support,
    point_to_core,
)
from superovoid.shapes.kernels.surface import A1, A3, SIZE, TX, TY, P, position

_MOST_CELLS, _MOST_OF_CIRCLES = 256, 1024
_ARCS = 4  # of a circle, to begin with
_VIEWS = 2000  # directions that may be looked at
_TRIES, _CONVEX_TRIES = 12, 96  # directions for a slab, and for a convex piece
_CLOSE_ENOUGH = 0.1  # of the goal: between the length of the nearest point of a simplex and the bound
_THINNEST = 1e-12  # slab, and arc
_MARGIN = 0.2  # of a slab: no cut is closer to one of its ends
_TOUCHING = 1e-12  # of the superovoid
_INWARDS = 24  # steps of a common point to where it is deeper
_HALVINGS = 40  # of a radius
_SHARES = (1.0 - 1e-10, 1.0 - 1e-7, 1.0 - 1e-4)  # of a radius


class Nearest(NamedTuple):
    """What is known of a superovoid and a convex core; all points in the frame of A."""

    lower: float  # proved lower bound of the distance; negative: unknown
    upper: float  # proved upper bound of the signed distance
    x: tuple  # point of A
    y: tuple  # point of B; one with x where the bodies overlap
    n: tuple  # direction that proves the least bound of a piece
    views: int


class _Cell(NamedTuple):
    """A piece of the superovoid and an arc of the core, if it is a circle."""

    lo: float  # heights
    hi: float
    first: float  # angles
    last: float


class _View(NamedTuple):
    """Two pieces along a direction."""

    x: tuple
    y: tuple
    bound: float  # of the distance, proved
    height: float  # of the support point of the piece


class _Approach(NamedTuple):
    """What is known of two pieces."""

    bound: float
    n: tuple
    height: float  # of the nearest point of the hull of the slab
    angle: float  # and of that of the arc
    views: int
    common: bool  # whether the hulls overlap
    point: tuple  # then: of the core, in both hulls


@kernel
def is_for(pair):
    """Whether a pair is a superovoid with a dent and a convex core of another kind, or a circle."""
    a, b = pair.a.kind, pair.b.kind
    if holds_means(pair.a.row, a) and holds_means(pair.b.row, b):
        return False
    return not ((a == SUPEROVOID and b == SUPEROVOID) or a == MESH or b == MESH)


@kernel
def _arc_support(row, n, first, last):
    """Support point of an arc along n in the frame of its circle, and its support function."""
    radius = row[A1]
    at = math.atan2(n[1], n[0])
    if not (first <= at <= last):
        rises = n[0] * (math.cos(last) - math.cos(first)) + n[1] * (math.sin(last) - math.sin(first)) > 0.0
        at = last if rises else first
    x = (radius * math.cos(at), radius * math.sin(at), 0.0)
    return x, dot(n, x)


@kernel
def _core_support(core, n, cell):
    if core.kind == TORUS:
        return _arc_support(core.row, n, cell.first, cell.last)
    x, _, upper = core_support(core, n, np.int64(0))
    return x, upper


@kernel
def _look(pair, swapped, n, cell):
    """Support points of two pieces; the superovoid is B where `swapped`."""
    out_of_line()
    rotation, centre = pair.rotation, pair.centre
    back = rotate_back(rotation, scale(-1.0, n))
    if swapped:
        p = piece_support(pair.b.row, back, cell.lo, cell.hi, math.inf)
        x, upper = _core_support(pair.a, n, cell)
        y = position(pair.b.row, p.f)
    else:
        p = piece_support(pair.a.row, n, cell.lo, cell.hi, math.inf)
        x = position(pair.a.row, p.f)
        y, upper = _core_support(pair.b, back, cell)
    return _View(x, add(centre, rotate(rotation, y)), dot(n, centre) - p.upper - upper, p.f.w)


@kernel
def _in_frame_of_b(pair, p):
    return rotate_back(pair.rotation, sub(p, pair.centre))


@kernel
def _on_pieces(pair, swapped, x, y, n):
    """Means of support points, in the frame of A, brought onto the superovoid and onto the circle."""
    out_of_line()
    rotation, centre = pair.rotation, pair.centre
    y = _in_frame_of_b(pair, y)
    if swapped:
        y = along_to_surface(pair.b.row, y, rotate_back(rotation, scale(-1.0, n)))
        x = _on_circle(pair.a, x)
    else:
        x = along_to_surface(pair.a.row, x, n)
        y = _on_circle(pair.b, y)
    return x, add(centre, rotate(rotation, y))


@kernel
def _on_circle(core, p):
    """The point of a circle nearest to a point in its frame, which is that of any other core itself."""
    if core.kind != TORUS:
        return p
    at = math.atan2(p[1], p[0])
    return (core.row[A1] * math.cos(at), core.row[A1] * math.sin(at), 0.0)


@kernel
def _height_in_core(pair, swapped, p):
    """Signed distance of a point from the core, no less than it is; infinite outside, and where there is no inside."""
    core = pair.a if swapped else pair.b
    kind = core.kind
    if not (kind == BOX or kind == CYLINDER or kind == CONE or kind == CONVEX_MESH):
        return math.inf, p
    height, normal, _, _ = point_to_core(core, p if swapped else _in_frame_of_b(pair, p))
    height += core.row[PLANE_LOSS]
    return (height if height <= 0.0 else math.inf), (normal if swapped else rotate(pair.rotation, normal))


@kernel
def _is_in_ovoid(pair, swapped, p, margin):
    if swapped:
        return is_inside(pair.b.row, _in_frame_of_b(pair, p), slack_of_level(pair.b.row, margin))
    return is_inside(pair.a.row, p, slack_of_level(pair.a.row, margin))


@kernel
def _common_beside(pair, swapped, view, margin):
    """A point of both bodies at or next to the support points of a view, if there is one."""
    out_of_line()
    centre = pair.centre
    p, q = (view.x, view.y) if swapped else (view.y, view.x)
    if _is_in_ovoid(pair, swapped, p, margin):
        return True, p
    for i in range(len(_SHARES)):
        # The superovoid is star-shaped about its origin.
        p = add(centre, scale(_SHARES[i], sub(q, centre))) if swapped else scale(_SHARES[i], q)
        height, _ = _height_in_core(pair, swapped, p)
        if height < -margin and _is_in_ovoid(pair, swapped, p, margin):
            return True, p
    return False, p


@kernel
def _radius_in_ovoid(pair, swapped, p, margin):
    """Radius of a ball about a point that is proved to lie in the superovoid.

    On a way that stays inside F rises by no more than `slack_of_level` says, however long it is.
    """
    body, q = (pair.b.row, _in_frame_of_b(pair, p)) if swapped else (pair.a.row, p)
    radius = body[SIZE]
    for _ in range(_HALVINGS):
        if is_inside(body, q, slack_of_level(body, radius + margin)):
            return radius
        radius *= 0.5
    return 0.0


@kernel
def _deeper(pair, swapped, p, margin):
    """A point of both bodies as deep in the core as a few steps from p lead, and how deep.

    Against the normal of the nearest face or, from an edge, towards the middle of the core.
    """
    out_of_line()
    core = pair.a if swapped else pair.b
    middle = (core.row[TX], core.row[TY], core.row[P]) if core.kind == CONVEX_MESH else (0.0, 0.0, 0.0)
    if not swapped:
        middle = add(pair.centre, rotate(pair.rotation, middle))
    height, normal = _height_in_core(pair, swapped, p)
    step = 0.5 * core.row[SIZE]
    for _ in range(_INWARDS):
        deeper = False
        for way in range(2):
            away = sub(p, middle)
            length = norm(away)
            if way == 1 and length > 0.0:
                q = combine(1.0, p, -min(step, length) / length, away)
            else:
                q = combine(1.0, p, -step, normal)
            other, turned = _height_in_core(pair, swapped, q)
            if other < height and _is_in_ovoid(pair, swapped, q, margin):
                p, height, normal, deeper = q, other, turned, True
        if not deeper:
            step *= 0.5
    return height, p


@kernel
def _nearer(nearest, x, y):
    distance = norm(sub(y, x))
    return Nearest(nearest.lower, distance, x, y, nearest.n, 0) if distance < nearest.upper else nearest


@kernel
def _approach(pair, swapped, cell, n, nearest, goal, margin, tries, w):
    """Nearest points of two pieces, as far as they matter beside the nearest points that are known."""
    out_of_line()
    bound, best = -math.inf, n
    former, count, used = math.inf, 0, 0
    view = _look(pair, swapped, n, cell)
    while True:
        used += 1
        nearest = _nearer(nearest, view.x, view.y)
        if view.bound > bound:
            bound, best = view.bound, n
        if dot(n, sub(view.y, view.x)) < 0.0:
            inside, point = _common_beside(pair, swapped, view, margin)
            if inside:
                return _Approach(bound, best, view.height, 0.0, used, True, point), nearest
        if bound >= nearest.upper - goal or used >= _CONVEX_TRIES:
            break
        # Hulls that are not known to be too close want a better direction, not a thinner piece.
        if used >= tries and former < nearest.upper - goal:
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
        view = _look(pair, swapped, n, cell)
    x, y = view.x, view.y
    if count == 4:
        weigh_origin(w)
    if count > 0:
        x, y = mean_point(w, count, X), mean_point(w, count, Y)
    body = pair.b.row if swapped else pair.a.row
    # What lies in the plane of a cut touches both slabs, to rounding.
    common = count == 4 or norm(sub(y, x)) <= _TOUCHING * body[SIZE]
    p, q = (_in_frame_of_b(pair, y), x) if swapped else (x, _in_frame_of_b(pair, y))
    height = p[2] / body[A3]
    angle = math.atan2(q[1], q[0])
    if bound < nearest.upper - goal:
        if common:
            p = _on_circle(pair.a if swapped else pair.b, q)
            p = p if swapped else add(pair.centre, rotate(pair.rotation, p))
            return _Approach(bound, best, height, angle, used, True, p), nearest
        x, y = _on_pieces(pair, swapped, x, y, best)
        nearest = _nearer(nearest, x, y)
    return _Approach(bound, best, height, angle, used, False, n), nearest


@kernel
def _wait(rows, key, heap, counts, cell, n, bound):
    i = counts[1]
    for k in range(4):
        rows[i, k] = cell[k]
    for k in range(3):
        rows[i, 4 + k] = n[k]
    key[i] = bound
    heap[counts[0]] = i
    lift(heap, key, counts[0])
    counts[0] += 1
    counts[1] += 1


@kernel
def _cut(lo, hi, at):
    """Where to cut: next to the nearest point, not too close to an end."""
    edge = _MARGIN * (hi - lo)
    return min(hi - edge, max(lo + edge, at))


@kernel(_nrt=True, separate=True)
def nearest_points(pair, n, goal, beyond, margin):
    """Nearest points of a superovoid with a dent and a core, proved piece by piece.

    Parameters
    ----------
    pair : Pair
        Of two cores that it is for (`is_for`).
    n : tuple
        Direction to begin with.
    goal : float
        By which the bound may stay below the distance of the nearest points found.
    beyond : float
        End, with the interval known by then, once the distance is proved to exceed this.
    margin : float
        What rounding takes from a bound.

    Returns
    -------
    Nearest
        Apart, an interval of the distance; else a point of both, or no lower bound.
    """
    out_of_line()
    swapped = pair.b.kind == SUPEROVOID
    body, core = (pair.b.row, pair.a) if swapped else (pair.a.row, pair.b)
    most = _MOST_OF_CIRCLES if core.kind == TORUS else _MOST_CELLS
    rows, key = np.empty((most, 7)), np.empty(most)
    heap, counts = np.empty(most, np.int64), np.zeros(2, np.int64)
    w = new_workspace()
    arcs = _ARCS if core.kind == TORUS else 1
    i = 0
    while i == 0 or piece_end(body, i) < 1.0:
        for j in range(arcs):
            first, last = math.pi * (2.0 * j / arcs - 1.0), math.pi * (2.0 * (j + 1) / arcs - 1.0)
            cell = _Cell(piece_end(body, i), piece_end(body, i + 1), first, last)
            _wait(rows, key, heap, counts, cell, n, -math.inf)
        i += 1
    nearest = Nearest(math.inf, math.inf, n, n, n, 0)
    lower, best, views = math.inf, n, 0
    while counts[0] > 0:
        row = rows[heap[0]]
        bound, cell, n = key[heap[0]], _Cell(row[0], row[1], row[2], row[3]), (row[4], row[5], row[6])
        if bound >= nearest.upper - goal or bound > beyond + margin or views >= _VIEWS or counts[1] + 2 > most:
            if bound < lower:
                lower, best = bound, n
            break
        counts[0] = without_first(heap, key, counts[0])
        convex = is_convex_piece(body, cell.lo, cell.hi)
        whole = convex and core.kind != TORUS
        tries = _CONVEX_TRIES if whole else _TRIES
        found, nearest = _approach(pair, swapped, cell, n, nearest, goal, margin, tries, w)
        views += found.views
        bound = max(bound, found.bound)
        if found.common and _is_in_ovoid(pair, swapped, found.point, margin):
            # A ball about a common point that lies in one of the bodies: none shorter is a way out.
            height, p = _deeper(pair, swapped, found.point, margin)
            upper = min(height + margin, -_radius_in_ovoid(pair, swapped, found.point, margin))
            return Nearest(-math.inf, upper, p, p, found.n, views)
        # The longer of those that are not convex is cut.
        slab = 0.0 if convex else cell.hi - cell.lo
        arc = cell.last - cell.first if core.kind == TORUS else 0.0
        if bound >= nearest.upper - goal or max(slab, arc) < _THINNEST:
            # A bound below 0 proves nothing, but other pieces may have a common point.
            if bound < lower:
                lower, best = bound, found.n
            continue
        if body[A3] * slab >= core.row[A1] * arc:
            at = _cut(cell.lo, cell.hi, found.height)
            one, other = _Cell(cell.lo, at, cell.first, cell.last), _Cell(at, cell.hi, cell.first, cell.last)
        else:
            at = _cut(cell.first, cell.last, found.angle)
            one, other = _Cell(cell.lo, cell.hi, cell.first, at), _Cell(cell.lo, cell.hi, at, cell.last)
        _wait(rows, key, heap, counts, one, found.n, bound)
        _wait(rows, key, heap, counts, other, found.n, bound)
    lower = lower - margin if lower > margin else -math.inf
    return Nearest(lower, nearest.upper + margin, nearest.x, nearest.y, best, views)
