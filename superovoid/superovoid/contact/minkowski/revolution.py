# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Depth of two bodies of revolution with nearly the same axis, or nearly parallel axes.

About one common axis M = A - B is a body of revolution, and its least support value is attained on a whole circle of
directions; about two that nearly agree, h_M hardly changes along that circle. A search over triangles of directions
would refine the circle until its chords lie within the goal of it. Here a cell is a range of azimuths phi about the
axis z of A and of meridian directions psi between two, and points of M are turned with the azimuth:

A support point x of A at (phi, psi), turned about z by t, is one at (phi + t, psi). A point y = g + w of B, with g on
the axis u of B and w across it, turned about u by t stays a point of B. With e = (cos phi, sin phi, 0), its derivative
e' by phi, and k = (u - z) x w, for a direction n at azimuth phi and n_s = n . e,

    h_M(R_z(t) n) >= n . (x - y) + (cos t - 1) (-n_s e . g - n_z w_z)
                     + sin t (-n_s (e' . g + e . k) - n_z k_z) - n_s |k across z| t^2.

The last term is of second order in the angle of the axes, and all that depends on t is as small as their distance. If
the axes are parallel, k and w_z vanish, and about the azimuth of the centre of B the bound is exact for all t. In the
plane of a meridian the bound is that of a planar body, of two directions n_k and any mean of two such points. A cell is
split in psi where its support points change places, which finds the facet of a profile exactly, and in phi if the terms
of t cost more than the gap of the middle meridian.

At the pole all azimuths are one direction, and an unturned point of B gives a better bound: n . y <= n_z y_z +
n_s |y across z| for all azimuths. The cells begin at the angle from the pole up to which this bound is high enough.

Without this search half of the overlaps of bodies on one axis stay open.
"""

from __future__ import annotations

import math

import numpy as np

from superovoid.compiled.kernels import kernel
from superovoid.compiled.row_heap import lift, without_first
from superovoid.compiled.rows import layout
from superovoid.compiled.vector import LEAST_DIVISOR, combine, cross, dot, rotate, scale, sub, vector_in
from superovoid.contact.minkowski.difference import (
    FINEST,
    SIMPLEX,
    SIMPLEX_LENGTH,
    SearchResult,
    copy_row,
    difference_support,
    keep_better,
    polish_result,
    put,
)
from superovoid.contact.minkowski.flats import REACH
from superovoid.shapes.kernels.kinds import CAPSULE, CONE, CYLINDER, SUPEROVOID, TORUS
from superovoid.shapes.kernels.surface import A1, A2, RADIUS, TX, TY, P

# A cell: middle and half width of its azimuths, then the directions of its two corners in the meridian (across, along
# the axis). The support points of the corners are rows as of a simplex.
CELL, CELL_LENGTH = layout(1, azimuth=float, half=float, ends=4)


@kernel
def axial_slack(b, rotation, centre):
    """Bound the displacement of the points of B by a motion that makes the z axes of both bodies coincide."""
    return math.hypot(centre[0], centre[1]) + math.hypot(rotation[0, 2], rotation[1, 2]) * b[RADIUS]


@kernel
def is_for(pair):
    """Return whether both cores are bodies of revolution about nearly the same axis."""
    a, b = pair.a.row, pair.b.row
    slack = axial_slack(b, pair.rotation, pair.centre)
    is_near = slack <= REACH * min(a[RADIUS], b[RADIUS])
    return is_near and _is_revolved(a, pair.a.kind) and _is_revolved(b, pair.b.kind)


@kernel
def _is_revolved(row, kind):
    """Return whether a core is a body of revolution about z."""
    if kind == SUPEROVOID:
        return row[A1] == row[A2] and row[P] == 2.0 and row[TX] == row[TY]
    return kind == CAPSULE or kind == CYLINDER or kind == CONE or kind == TORUS


@kernel
def _end(cell, k):
    return cell[CELL.ends + 2 * k], cell[CELL.ends + 2 * k + 1]


@kernel
def _direction(phi, s, c):
    s = max(s, FINEST)
    return (s * math.cos(phi), s * math.sin(phi), c)


@kernel
def _look(pair, cell, rows, k, s, c, found):
    """Make a direction of the middle meridian corner k of a cell."""
    n = _direction(cell[CELL.azimuth], s, c)
    corner = difference_support(pair, n)
    cell[CELL.ends + 2 * k], cell[CELL.ends + 2 * k + 1] = s, c
    put(rows, k, corner)
    return keep_better(found, n, corner)


@kernel
def _best_mean(f, g):
    """Largest of min_i (1 - mu) f_i + mu g_i over 0 <= mu <= 1."""
    best = max(min(f), min(g))
    for i in range(4):
        for j in range(i):
            d = (f[i] - f[j]) - (g[i] - g[j])
            mu = (f[i] - f[j]) / d if d != 0.0 else 0.0
            if 0.0 < mu < 1.0:
                nu = 1.0 - mu
                least = min(nu * f[0] + mu * g[0], nu * f[1] + mu * g[1])
                best = max(best, min(least, nu * f[2] + mu * g[2], nu * f[3] + mu * g[3]))
    return best


@kernel
def _dot_2(n, q):
    return n[0] * q[0] + n[1] * q[1]


@kernel
def _turn_bounds(a, b, rows, k, phi, centre, u, half):
    """Bound the height of a turned point of a cell along both ends of its arc, for turns up to `half` either way."""
    e, m, y = (math.cos(phi), math.sin(phi), 0.0), vector_in(rows, k, SIMPLEX.m), vector_in(rows, k, SIMPLEX.y)
    v = sub(y, centre)
    w = combine(1.0, v, -dot(v, u), u)
    g, bent = sub(y, w), cross((u[0], u[1], u[2] - 1.0), w)
    versed, sine = 1.0 - math.cos(half), math.sin(min(half, 0.5 * math.pi))
    q = (dot(e, m) - min(half * half, 2.0) * math.hypot(bent[0], bent[1]), m[2])
    of_cosine = (-versed * dot(e, g), -versed * w[2])
    of_sine = (sine * (e[1] * g[0] - e[0] * g[1] - dot(e, bent)), -sine * bent[2])
    f, g = _dot_2(a, q) - max(0.0, _dot_2(a, of_cosine)), _dot_2(b, q) - max(0.0, _dot_2(b, of_cosine))
    f_side, g_side = _dot_2(a, of_sine), _dot_2(b, of_sine)
    return f + f_side, f - f_side, g + g_side, g - g_side


@kernel
def _leave_pole(pair, cell, rows, least, found):
    """Move the first corner of a cell from a pole to where its points no longer prove that h_M is not below `least`."""
    c = cell[CELL.ends + 1]
    x = vector_in(rows, 0, SIMPLEX.x)
    along, across = (
        c * rows[0, SIMPLEX.m + 2],
        math.hypot(x[0], x[1]) - math.hypot(rows[0, SIMPLEX.y], rows[0, SIMPLEX.y + 1]),
    )
    share = least / max(math.hypot(along, across), LEAST_DIVISOR)
    psi = math.atan2(across, along) + math.acos(min(1.0, max(-1.0, share)))
    psi = min(0.5 * math.pi, max(0.0, psi))
    return _look(pair, cell, rows, 0, math.sin(psi), math.copysign(math.cos(psi), c), found)


@kernel
def _cell_bound(cell, rows, a, b, centre, u, half):
    """Lower bound of h_M over an arc of the meridian, its ends a and b, and azimuths up to `half` from a cell's middle.

    `u` is the axis of B on the side of z.
    """
    phi = cell[CELL.azimuth]
    best = _best_mean(
        _turn_bounds(a, b, rows, 0, phi, centre, u, half), _turn_bounds(a, b, rows, 1, phi, centre, u, half)
    )
    if best < 0.0:
        # A direction of the arc is a mean of its ends, lengthened to one; its length before is that of the mean's.
        best /= math.sqrt(max(0.5 * (1.0 + a[0] * b[0] + a[1] * b[1]), LEAST_DIVISOR))
    return best


@kernel
def _split_meridian(cell, rows):
    """Direction that splits the arc of a cell: that of a facet of the profile, or the middle."""
    (s1, c1), (s2, c2) = _end(cell, 0), _end(cell, 1)
    d = sub(vector_in(rows, 0, SIMPLEX.m), vector_in(rows, 1, SIMPLEX.m))
    across = math.cos(cell[CELL.azimuth]) * d[0] + math.sin(cell[CELL.azimuth]) * d[1]
    f1, f2 = s1 * across + c1 * d[2], -(s2 * across + c2 * d[2])
    share = f1 / (f1 + f2) if f1 > 0.0 and f2 > 0.0 else 0.5
    s, c = (1.0 - share) * s1 + share * s2, (1.0 - share) * c1 + share * c2
    length = math.hypot(s, c)
    return s / length, c / length


@kernel(_nrt=True, separate=True)
def search(pair, found, goal, budget, w):
    """Find the global minimum of h_M of two bodies of revolution and prove it, best bound first.

    `found.n` is a direction to start from. Returns a `SearchResult` whose `proved` holds whether or not
    the goal was reached.
    """
    centre = pair.centre
    u = rotate(pair.rotation, (0.0, 0.0, math.copysign(1.0, pair.rotation[2, 2])))
    capacity = 2 * budget + 8
    cells, rows = np.empty((capacity, CELL_LENGTH)), np.empty((capacity, 2, SIMPLEX_LENGTH))
    keys = np.empty((capacity, 2))  # bounds of a cell and of its middle meridian
    key, heap = keys[:, 0], np.empty(capacity, np.int64)
    for sign in (1.0, -1.0):
        # The axes themselves: the least of two discs is where one of them is flat.
        n = scale(sign, u)
        found = keep_better(found, n, difference_support(pair, n))
    cells[0, CELL.azimuth] = cells[1, CELL.azimuth] = math.atan2(centre[1], centre[0])
    cells[0, CELL.half] = cells[1, CELL.half] = math.pi
    for i in range(2):
        found = _look(pair, cells[i], rows[i], 0, 0.0, 1.0 - 2.0 * i, found)
        found = _look(pair, cells[i], rows[i], 1, 1.0, 0.0, found)
    least = found.value - goal
    for i in range(2):
        found = _leave_pole(pair, cells[i], rows[i], least, found)
    at, first, used, length = 0, 1, 2, 0  # changed cells: `at`, and those from `first` on
    bound, pops, next_polish = -math.inf, 0, 4
    while True:
        for k in range(first - 1, used):
            i = at if k < first else k
            a, b = _end(cells[i], 0), _end(cells[i], 1)
            keys[i, 0] = max(bound, _cell_bound(cells[i], rows[i], a, b, centre, u, cells[i, CELL.half]))
            keys[i, 1] = _cell_bound(cells[i], rows[i], a, b, centre, u, 0.0)
            heap[length] = i
            lift(heap, key, length)
            length += 1
        first = used
        at = heap[0]
        bound = key[at]
        if bound >= found.value - goal or found.spent >= budget:
            break
        length = without_first(heap, key, length)
        cell = cells[at]
        s, c = _split_meridian(cell, rows[at])
        pops += 1
        if pops == next_polish:
            next_polish = pops + 1 + pops // 2
            for k in range(2):
                copy_row(rows[at], k, w, k)
            found = polish_result(pair, _direction(cell[CELL.azimuth], s, c), 2, found, w)
        a, b, half, split = _end(cell, 0), _end(cell, 1), cell[CELL.half], (s, c)
        short = found.value - goal - keys[at, 1]  # of the goal on the middle meridian
        turning = keys[at, 1] - bound > short
        if not short > 0.0:
            halves = _cell_bound(cell, rows[at], a, split, centre, u, half)
            halves = min(halves, _cell_bound(cell, rows[at], split, b, centre, u, half))
            turning = _cell_bound(cell, rows[at], a, b, centre, u, half / 3.0) >= halves
        if turning or math.hypot(a[0] - b[0], a[1] - b[1]) <= FINEST:
            # In three: the middle keeps its points.
            cell[CELL.half] = half / 3.0
            if cell[CELL.half] <= FINEST:
                break  # no finer direction exists
            for side in (-2.0, 2.0):
                cells[used, CELL.azimuth], cells[used, CELL.half] = (
                    cell[CELL.azimuth] + side * cell[CELL.half],
                    cell[CELL.half],
                )
                found = _look(pair, cells[used], rows[used], 0, *a, found)
                found = _look(pair, cells[used], rows[used], 1, *b, found)
                used += 1
        else:
            for i in range(CELL_LENGTH):
                cells[used, i] = cell[i]
            copy_row(rows[at], 1, rows[used], 1)
            found = _look(pair, cells[used], rows[used], 0, s, c, found)
            copy_row(rows[used], 0, rows[at], 1)
            cell[CELL.ends + 2], cell[CELL.ends + 3] = s, c
            used += 1
    # Turned about the axis, the best direction may be as good: then the one found is one of many.
    across, phi, along = math.hypot(found.n[0], found.n[1]), math.atan2(found.n[1], found.n[0]), found.n[2]
    for quarter in range(1, 4):
        n = _direction(phi + 0.5 * math.pi * quarter, across, along)
        found = keep_better(found, n, difference_support(pair, n))
    value, _, n, x, y, is_polished, spent, rival = found
    return SearchResult(value, min(bound, least, value), n, x, y, is_polished, spent, rival)
