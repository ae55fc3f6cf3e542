# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Depth of two bodies of revolution with nearly the same axis.

About one common axis M = A - B is a body of revolution, and its least support value is attained on a whole circle of
directions; about two that nearly agree, h_M hardly changes along that circle. A search over triangles of directions
would refine the circle until its chords lie within the goal of it. Here a cell is a range of azimuths phi about the
axis z of A and of meridian directions psi between two, and points of M are turned with the azimuth:

A support point x of A at (phi, psi), turned about z by t, is one at (phi + t, psi). A point y = c + v of B turned about
the axis u of B stays a point of B. Let R_z and R_u be these turns; for a direction n at azimuth phi,

    h_M(R_z(t) n) >= n . q(t),   q(t) = x - R_z(-t) (c + R_u(t) v),
    q(t) = x - y + t q' + r,     q' = z x c + (z - u) x v,   |r| <= (|c across z| + 2 |z - u| |v|) t^2 / 2:

what depends on t is as small as the distance of the axes. In the plane of a meridian the bound is that of a planar
body, of two directions n_k and any mean of two such points; psi is split where its support points change places, which
finds the facet of a profile exactly, and phi where its terms cost more.

At the pole all azimuths are one direction, where a point of B that is not turned does better: n . y <= n_z y_z +
|n across z| |y across z| for all azimuths.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.row_heap import lift, without_first
from superovoid.compiled.vector import LEAST_DIVISOR, cross, norm, rotate, scale, sub
from superovoid.contact.minkowski.difference import (
    LOSS,
    STRATUM_A,
    STRATUM_B,
    Found,
    M,
    difference_point,
    difference_support,
    polished,
    take,
)
from superovoid.shapes.kernels.kinds import CAPSULE, CONE, CYLINDER, SUPEROVOID, TORUS, UPRIGHT
from superovoid.shapes.kernels.surface import A1, A2, TX, TY, P

# A cell: middle and half width of its azimuths, then two corners: direction in the meridian (across, along the axis),
# points of A and B, strata, height and radius of the surface point of a superovoid.
_PHI, _HALF, _CORNERS, _CORNER_LENGTH = 0, 1, 2, 12
_S, _C, _XA, _YB, _IA, _IB, _HEIGHT, _RADIUS = 0, 1, 2, 5, 8, 9, 10, 11
_CELL_LENGTH = _CORNERS + 2 * _CORNER_LENGTH
_AT_POLE = 1e3 * UPRIGHT  # across the axis: gives the support point at a pole its azimuth
_INSIDE = 0.02  # of an arc of the meridian: nearest to its ends that a facet splits it
_LEAST_ARC = 1e-15
_PATIENCE = 100  # splits spent on a minimum between the axes


@kernel
def is_revolved(row, kind):
    """Whether a core is a body of revolution about z."""
    if kind == SUPEROVOID:
        return row[A1] == row[A2] and row[P] == 2.0 and row[TX] == row[TY]
    return kind == CAPSULE or kind == CYLINDER or kind == CONE or kind == TORUS


@kernel
def _direction(phi, s, c):
    s = max(s, _AT_POLE)
    return (s * math.cos(phi), s * math.sin(phi), c)


@kernel
def _set_corner(cell, k, s, c, corner):
    at = _CORNERS + k * _CORNER_LENGTH
    cell[at + _S], cell[at + _C] = s, c
    for i in range(3):
        cell[at + _XA + i] = corner.x[i]
        cell[at + _YB + i] = corner.y[i]
    cell[at + _IA], cell[at + _IB] = corner.stratum_a, corner.stratum_b
    cell[at + _HEIGHT], cell[at + _RADIUS] = corner.height, corner.radius


@kernel
def _copy_corner(cell, k, other, j):
    to, at = _CORNERS + k * _CORNER_LENGTH, _CORNERS + j * _CORNER_LENGTH
    for i in range(_CORNER_LENGTH):
        cell[to + i] = other[at + i]


@kernel
def _point(cell, k, column):
    at = _CORNERS + k * _CORNER_LENGTH + column
    return (cell[at], cell[at + 1], cell[at + 2])


@kernel
def _meridian(cell, k):
    at = _CORNERS + k * _CORNER_LENGTH
    return cell[at + _S], cell[at + _C]


@kernel
def _best_mean(f1, f2, f3, f4, g1, g2, g3, g4):
    """Largest of min_i (1 - mu) f_i + mu g_i over 0 <= mu <= 1."""
    best = max(min(f1, f2, f3, f4), min(g1, g2, g3, g4))
    f, g = (f1, f2, f3, f4), (g1, g2, g3, g4)
    for i in range(4):
        for j in range(i):
            d = (f[i] - f[j]) - (g[i] - g[j])
            if d != 0.0:
                mu = (f[i] - f[j]) / d
                if 0.0 < mu < 1.0:
                    nu = 1.0 - mu
                    best = max(best, min(nu * f1 + mu * g1, nu * f2 + mu * g2, nu * f3 + mu * g3, nu * f4 + mu * g4))
    return best


class _Seen(NamedTuple):
    """Two points of M in the plane of the meridian."""

    q1: tuple
    q2: tuple
    d1: tuple  # rates of change with the azimuth
    d2: tuple
    bend: float  # bound of the second derivatives
    wide1: tuple  # points whose part across the axis serves all azimuths
    wide2: tuple


@kernel
def _arc_bound(seen, first, second, half):
    """Lower bound of h_M from two points of M, over an arc of the meridian and azimuths; ends are (sine, cosine)."""
    out_of_line()
    q1, q2, d1, d2, bend, wide1, wide2 = seen
    (s1, c1), (s2, c2) = first, second
    loss = 0.5 * bend * half * half
    f1, f2 = s1 * q1[0] + c1 * q1[1], s2 * q1[0] + c2 * q1[1]
    g1, g2 = s1 * q2[0] + c1 * q2[1], s2 * q2[0] + c2 * q2[1]
    u1, u2 = half * (s1 * d1[0] + c1 * d1[1]), half * (s2 * d1[0] + c2 * d1[1])
    v1, v2 = half * (s1 * d2[0] + c1 * d2[1]), half * (s2 * d2[0] + c2 * d2[1])
    best = _best_mean(f1 + u1, f1 - u1, f2 + u2, f2 - u2, g1 + v1, g1 - v1, g2 + v2, g2 - v2) - loss
    f1, f2 = s1 * wide1[0] + c1 * wide1[1], s2 * wide1[0] + c2 * wide1[1]
    g1, g2 = s1 * wide2[0] + c1 * wide2[1], s2 * wide2[0] + c2 * wide2[1]
    best = max(best, _best_mean(f1, f1, f2, f2, g1, g1, g2, g2))
    if best < 0.0:
        # A direction of the arc is a mean of its ends, lengthened to one; its length before is that of the mean's.
        best /= math.sqrt(max(0.5 * (1.0 + s1 * s2 + c1 * c2), LEAST_DIVISOR))
    return best


@kernel
def _cell_bounds(cell, centre, apart, half):
    """Bounds of a cell, its middle meridian, a third of its azimuths, its halves along the meridian; points the same.

    `apart` is z - u, with u the axis of B on the side of z.
    """
    out_of_line()
    ec, es = math.cos(cell[_PHI]), math.sin(cell[_PHI])
    x1, y1 = _point(cell, 0, _XA), _point(cell, 0, _YB)
    x2, y2 = _point(cell, 1, _XA), _point(cell, 1, _YB)
    m1, m2 = sub(x1, y1), sub(x2, y2)
    v1, v2 = sub(y1, centre), sub(y2, centre)
    r1, r2 = cross(apart, v1), cross(apart, v2)
    # z x c has no part along z.
    turn = ec * -centre[1] + es * centre[0]
    q1, q2 = (ec * m1[0] + es * m1[1], m1[2]), (ec * m2[0] + es * m2[1], m2[2])
    d1, d2 = (turn + ec * r1[0] + es * r1[1], r1[2]), (turn + ec * r2[0] + es * r2[1], r2[2])
    bend = math.hypot(centre[0], centre[1]) + 2.0 * norm(apart) * max(norm(v1), norm(v2))
    wide1 = (ec * x1[0] + es * x1[1] - math.hypot(y1[0], y1[1]), m1[2])
    wide2 = (ec * x2[0] + es * x2[1] - math.hypot(y2[0], y2[1]), m2[2])
    seen = _Seen(q1, q2, d1, d2, bend, wide1, wide2)
    first, second = _meridian(cell, 0), _meridian(cell, 1)
    whole = _arc_bound(seen, first, second, half)
    middle = _arc_bound(seen, first, second, 0.0)
    narrow = _arc_bound(seen, first, second, half / 3.0)
    s, c, _ = _split_meridian(cell)
    short = min(_arc_bound(seen, first, (s, c), half), _arc_bound(seen, (s, c), second, half))
    return whole, middle, narrow, short


@kernel
def _split_meridian(cell):
    """Direction that splits the arc of a cell, and whether it is that of a facet of the profile."""
    s1, c1 = _meridian(cell, 0)
    s2, c2 = _meridian(cell, 1)
    ec, es = math.cos(cell[_PHI]), math.sin(cell[_PHI])
    d = sub(sub(_point(cell, 0, _XA), _point(cell, 0, _YB)), sub(_point(cell, 1, _XA), _point(cell, 1, _YB)))
    across, along = ec * d[0] + es * d[1], d[2]
    f1, f2 = s1 * across + c1 * along, -(s2 * across + c2 * along)
    share, facet = 0.5, False
    if f1 > 0.0 and f2 > 0.0:
        share = f1 / (f1 + f2)
        facet = _INSIDE < share < 1.0 - _INSIDE
        share = min(0.75, max(0.25, share)) if not facet else share
    s, c = (1.0 - share) * s1 + share * s2, (1.0 - share) * c1 + share * c2
    length = math.hypot(s, c)
    return s / length, c / length, facet


@kernel
def _polished(pair, cell, found, w):
    """Newton on the strata of the corners of a cell, from the direction that would split it."""
    out_of_line()
    for k in range(2):
        m = sub(_point(cell, k, _XA), _point(cell, k, _YB))
        for i in range(3):
            w[k, M + i] = m[i]
        at = _CORNERS + k * _CORNER_LENGTH
        w[k, STRATUM_A], w[k, STRATUM_B] = cell[at + _IA], cell[at + _IB]
    s, c, _ = _split_meridian(cell)
    return polished(pair, _direction(cell[_PHI], s, c), 2, found, w)


@kernel
def _look(pair, n, found, height, radius, loss):
    """Point of M along a direction, a support point to the end of the arithmetic where it may be the best."""
    c = difference_point(pair, n, height, radius, loss)
    if c.h < found.value:
        c = difference_support(pair, n)
    return c, take(found, n, c)


@kernel(_nrt=True)
def search(pair, found, goal, budget, w):
    """Find the global minimum of h_M of two bodies of revolution and prove it, best bound first.

    `found.n` is a direction to start from. Returns a `Found` whose `proved` holds whether or not the goal was reached.
    Gives up early on a minimum between the axes, where two discs of one size meet: it is no valley, and azimuths about
    one of the axes are none about the other.
    """
    out_of_line()
    rotation, centre = pair.rotation, pair.centre
    u = rotate(rotation, (0.0, 0.0, math.copysign(1.0, rotation[2, 2])))
    apart = sub((0.0, 0.0, 1.0), u)
    capacity = 2 * budget + 8
    cells = np.empty((capacity, _CELL_LENGTH))
    keys = np.empty((capacity, 4))  # as of `_cell_bounds`
    key = keys[:, 0]
    heap = np.empty(capacity, np.int64)
    first = math.atan2(found.n[1], found.n[0])
    for sign in (1.0, -1.0):
        # The axes themselves: the least of two discs is where one of them is flat.
        n = scale(sign, u)
        c = difference_support(pair, n)
        found = take(found, n, c)
    for i in range(2):
        for k in range(2):
            s, along = (1.0, 0.0) if k == 1 else (0.0, 1.0 if i == 0 else -1.0)
            n = _direction(first, s, along)
            c = difference_support(pair, n)
            found = take(found, n, c)
            _set_corner(cells[i], k, s, along, c)
        cells[i, _PHI], cells[i, _HALF] = first, math.pi
        keys[i, 0], keys[i, 1], keys[i, 2], keys[i, 3] = _cell_bounds(cells[i], centre, apart, math.pi)
        heap[i] = i
        lift(heap, key, i)
    length = used = 2
    proved = math.inf
    pops = 0
    next_polish = 4
    while length > 0:
        at = heap[0]
        bound = key[at]
        between = pops >= _PATIENCE and math.hypot(found.n[0], found.n[1]) <= 4.0 * norm(apart)
        if bound >= found.value - goal or found.spent >= budget or between:
            proved = min(proved, bound)
            break
        length = without_first(heap, key, length)
        cell = cells[at]
        other = cells[used]
        pops += 1
        if pops == next_polish:
            next_polish = pops + 1 + pops // 2
            found = _polished(pair, cell, found, w)
        s, along, _ = _split_meridian(cell)
        s1, c1 = _meridian(cell, 0)
        s2, c2 = _meridian(cell, 1)
        children = 2
        loss = LOSS * (found.value - bound)
        short = found.value - goal - keys[at, 1]  # of the goal on the middle meridian
        turning = keys[at, 1] - keys[at, 0] > short if short > 0.0 else keys[at, 2] >= keys[at, 3]
        if turning or math.hypot(s1 - s2, c1 - c2) <= _LEAST_ARC:
            # In three: the middle keeps its points.
            half = cell[_HALF] / 3.0
            if half <= _LEAST_ARC:
                proved = min(proved, bound)  # no finer direction exists
                continue
            children = 3
            cell[_HALF] = half
            for side in range(2):
                row = cells[used + side]
                row[_PHI], row[_HALF] = cell[_PHI] + (2.0 * half if side == 1 else -2.0 * half), half
                for k in range(2):
                    s, along = (s1, c1) if k == 0 else (s2, c2)
                    n = _direction(row[_PHI], s, along)
                    corner = _CORNERS + k * _CORNER_LENGTH
                    height, radius = cell[corner + _HEIGHT], cell[corner + _RADIUS]
                    c, found = _look(pair, n, found, height, radius, loss)
                    _set_corner(row, k, s, along, c)
        else:
            n = _direction(cell[_PHI], s, along)
            k = _CORNERS + (0 if cell[_CORNERS + _S] > cell[_CORNERS + _CORNER_LENGTH + _S] else _CORNER_LENGTH)
            height, radius = cell[k + _HEIGHT], cell[k + _RADIUS]
            c, found = _look(pair, n, found, height, radius, loss)
            other[_PHI], other[_HALF] = cell[_PHI], cell[_HALF]
            _set_corner(other, 0, s, along, c)
            _copy_corner(other, 1, cell, 1)
            _set_corner(cell, 1, s, along, c)
        for child in range(children):
            i = at if child == 0 else used + child - 1
            keys[i, 0], keys[i, 1], keys[i, 2], keys[i, 3] = _cell_bounds(cells[i], centre, apart, cells[i, _HALF])
            keys[i, 0] = max(bound, keys[i, 0])
            heap[length] = i
            lift(heap, key, length)
            length += 1
        used += children - 1
    # Turned about the axis, the best direction may be as good: then the one found is one of many.
    across = math.hypot(found.n[0], found.n[1])
    phi = math.atan2(found.n[1], found.n[0])
    for quarter in range(1, 4):
        n = _direction(phi + 0.5 * math.pi * quarter, across, found.n[2])
        c = difference_support(pair, n)
        found = take(found, n, c)
    return Found(
        found.value,
        min(proved, found.value),
        found.n,
        found.x,
        found.y,
        found.polished,
        found.spent,
        found.rival,
    )
