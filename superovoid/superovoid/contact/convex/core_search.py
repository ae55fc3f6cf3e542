# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Least h_M of two convex cores over all directions, proved: branch and bound on the sphere (`cores`).

A triangle of directions n_j with support points m_j of M has h_M >= min_j n_j . y, y = sum mu_i m_i in M. It is split
along an edge where its two support points change places: the fan of a polytope is found exactly, and the search of one
is finite.
"""

from __future__ import annotations

import math

import numpy as np

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.row_heap import lift, without_first
from superovoid.compiled.vector import LEAST_LENGTH, add, combine, cross, dot, norm, scale, sub, tangent_frame
from superovoid.contact.minkowski.difference import (
    EPS,
    LOSS,
    STRATUM_A,
    STRATUM_B,
    WEIGHT,
    WORK_ROWS,
    Found,
    M,
    difference_point,
    difference_support,
    gather,
    polish,
    take,
    well_away,
)
from superovoid.contact.superovoids.triangles import edge_gap, equally_far, over_lengths

# A cell: three directions, three points of M, their pairs of strata, height and radius of each.
_CELL_LENGTH = 30
_LEAST_EDGE = 1e-15  # of a triangle of directions, rad
_SHORT = 0.03  # shortest edge that is split, relative to the longest
_FACET_SHARE = 0.15  # least barycentric coordinate of a facet normal that splits its triangle in three


@kernel
def _triangle_bound(n1, n2, n3, m1, m2, m3):
    """Lower bound of h_M over a spherical triangle (module docstring), the best of a few choices of weights."""
    g11, g21, g31 = dot(n1, m1), dot(n1, m2), dot(n1, m3)
    g12, g22, g32 = dot(n2, m1), dot(n2, m2), dot(n2, m3)
    g13, g23, g33 = dot(n3, m1), dot(n3, m2), dot(n3, m3)
    best = max(min(g11, g12, g13), min(g21, g22, g23), min(g31, g32, g33))
    for i in range(3):
        # On an edge of weights: equally far along the two directions where its ends win.
        if i == 0:
            u, v, x, y, e, f = g11, g12, g21, g22, g13, g23
        elif i == 1:
            u, v, x, y, e, f = g22, g23, g32, g33, g21, g31
        else:
            u, v, x, y, e, f = g33, g31, g13, g11, g32, g12
        d = (u - v) + (y - x)
        if d > 0.0:
            t = min(1.0, max(0.0, (u - v) / d))
            best = max(best, min((1.0 - t) * u + t * x, (1.0 - t) * v + t * y, (1.0 - t) * e + t * f))
    return over_lengths(equally_far(best, (g11, g21, g31), (g12, g22, g32), (g13, g23, g33)), n1, n2, n3)


@kernel
def _set_corner(cell, j, n, c):
    for i in range(3):
        cell[3 * j + i] = n[i]
        cell[9 + 3 * j + i] = c.m[i]
    cell[18 + 2 * j], cell[19 + 2 * j] = c.stratum_a, c.stratum_b
    cell[24 + 2 * j], cell[25 + 2 * j] = c.height, c.radius


@kernel
def _copy_corner(cell, j, other, k):
    for i in range(3):
        cell[3 * j + i] = other[3 * k + i]
        cell[9 + 3 * j + i] = other[9 + 3 * k + i]
    for i in (18, 24):
        cell[i + 2 * j], cell[i + 1 + 2 * j] = other[i + 2 * k], other[i + 1 + 2 * k]


@kernel
def _cell_bound(cell):
    out_of_line()
    return _triangle_bound(
        (cell[0], cell[1], cell[2]),
        (cell[3], cell[4], cell[5]),
        (cell[6], cell[7], cell[8]),
        (cell[9], cell[10], cell[11]),
        (cell[12], cell[13], cell[14]),
        (cell[15], cell[16], cell[17]),
    )


@kernel
def _facet_normal(n1, n2, n3, m1, m2, m3):
    """Normal of the plane through the support points, with its smallest share of the directions of the triangle."""
    normal = cross(sub(m2, m1), sub(m3, m1))
    length = norm(normal)
    if not (length > LEAST_LENGTH):
        return n1, -1.0
    normal = scale(1.0 / length, normal)
    volume = dot(n1, cross(n2, n3))
    w1, w2, w3 = dot(normal, cross(n2, n3)), dot(normal, cross(n3, n1)), dot(normal, cross(n1, n2))
    if volume < 0.0:
        w1, w2, w3 = -w1, -w2, -w3
    total = w1 + w2 + w3
    if total < 0.0:
        normal = scale(-1.0, normal)
        w1, w2, w3, total = -w1, -w2, -w3, -total
    return normal, min(w1, w2, w3) / max(total, 1e-300)


@kernel
def _split_direction(n1, n2, m1, m2):
    """Direction between two corners at which their support points change places, kept away from both."""
    d = sub(m1, m2)
    f1, f2 = max(dot(n1, d), 0.0), max(-dot(n2, d), 0.0)
    t = f1 / (f1 + f2) if f1 + f2 > 0.0 else 0.5
    t = min(0.8, max(0.2, t))
    n = combine(1.0 - t, n1, t, n2)
    return scale(1.0 / norm(n), n)


@kernel
def polish_cell(pair, cell, n, found, w):
    """Newton on the strata of the corners of a cell, from a direction; kept where it is no worse."""
    out_of_line()
    for j in range(3):
        for i in range(3):
            w[j, M + i] = cell[9 + 3 * j + i]
        w[j, STRATUM_A], w[j, STRATUM_B] = cell[18 + 2 * j], cell[19 + 2 * j]
        w[j, WEIGHT] = 1.0 / 3.0
    count = gather(w, 3)
    local = polish(pair, n, 0.0, w, count)
    c = difference_support(
        pair,
        local.n,
        int(w[WORK_ROWS, STRATUM_A]),
        int(w[WORK_ROWS, STRATUM_B]),
    )
    spent = found.spent + 4
    if c.h <= found.value + local.gap * EPS:
        x, y = (local.x, local.y) if local.h >= c.h - 1e-9 * abs(c.h) else (c.x, c.y)
        rival = min(found.rival, found.value) if well_away(local.n, found.n) else found.rival
        return c, Found(min(c.h, found.value), found.proved, local.n, x, y, True, spent, rival)
    rival = min(found.rival, c.h) if well_away(local.n, found.n) else found.rival
    return c, Found(found.value, found.proved, found.n, found.x, found.y, found.polished, spent, rival)


@kernel(_nrt=True)
def search(pair, found, goal, budget, w):
    """Find the global minimum of h_M and prove it, best bound first.

    `found.n` is the direction to start from. Returns a `Found` whose `proved` holds whether or not the goal was
    reached.
    """
    out_of_line()
    start = found.n
    t1, t2 = tangent_frame(start)
    axes = (start, t1, t2, scale(-1.0, start), scale(-1.0, t1), scale(-1.0, t2))
    capacity = 2 * budget + 16
    cells = np.empty((capacity, _CELL_LENGTH))
    key = np.empty(capacity)
    heap = np.empty(capacity, np.int64)
    six = np.empty((2, _CELL_LENGTH))  # the six corners of the octahedron
    for i in range(6):
        c = difference_support(pair, axes[i], np.int64(0), np.int64(0))
        _set_corner(six[i // 3], i % 3, axes[i], c)
        found = take(found, axes[i], c)
    length = 0
    for i in range(2):
        for j in range(2):
            for k in range(2):
                _copy_corner(cells[length], 0, six[i], 0)
                _copy_corner(cells[length], 1, six[j], 1)
                _copy_corner(cells[length], 2, six[k], 2)
                key[length] = _cell_bound(cells[length])
                heap[length] = length
                lift(heap, key, length)
                length += 1
    used = length
    proved = math.inf
    pops = 0
    next_polish = 1
    while length > 0:
        cell = heap[0]
        bound = key[cell]
        if bound >= found.value - goal or found.spent >= budget:
            proved = min(proved, bound)
            break
        length = without_first(heap, key, length)
        row = cells[cell]
        n1, n2, n3 = _at_row(row, 0), _at_row(row, 3), _at_row(row, 6)
        m1, m2, m3 = _at_row(row, 9), _at_row(row, 12), _at_row(row, 15)
        pops += 1
        facet, share = _facet_normal(n1, n2, n3, m1, m2, m3)
        if not found.polished and pops >= next_polish:
            next_polish = pops + 1 + pops // 2
            from_n = facet if share > 0.0 else _middle(n1, n2, n3)
            _, found = polish_cell(pair, row, from_n, found, w)
        inside = share > _FACET_SHARE
        point = facet
        own, own_share = _share_of(found.n, n1, n2, n3)
        if own and own_share > 0.02:
            # The best direction itself, well inside: the triangles around it prove the most.
            inside, point = True, found.n
        first = 0
        if not inside:
            # Split the edge along which the bound is worst; the longest of a large triangle, or of one whose bound its
            # size spoils.
            e12, e23, e31 = sub(n1, n2), sub(n2, n3), sub(n3, n1)
            c12, c23, c31 = dot(e12, e12), dot(e23, e23), dot(e31, e31)
            far = max(c12, c23, c31)
            if bound >= 0.0 and far <= 1.0:
                shortest = _SHORT * _SHORT * far
                g12 = edge_gap(n1, n2, m1, m2) if c12 > shortest else 0.0
                g23 = edge_gap(n2, n3, m2, m3) if c23 > shortest else 0.0
                g31 = edge_gap(n3, n1, m3, m1) if c31 > shortest else 0.0
                if max(g12, g23, g31) > 0.0:
                    c12, c23, c31 = g12, g23, g31
            worst = max(c12, c23, c31)
            if worst == c23:
                first = 1
                point = _split_direction(n2, n3, m2, m3)
            elif worst == c31:
                first = 2
                point = _split_direction(n3, n1, m3, m1)
            else:
                point = _split_direction(n1, n2, m1, m2)
            if far <= _LEAST_EDGE * _LEAST_EDGE:
                proved = min(proved, bound)  # the corners have run together: no finer direction exists
                continue
        ia, ib = int(row[18 + 2 * first]), int(row[19 + 2 * first])
        w1, w2, w3 = _nearness(point, n1, n2, n3)
        height = w1 * row[24] + w2 * row[26] + w3 * row[28]
        radius = w1 * row[25] + w2 * row[27] + w3 * row[29]
        loss = LOSS * (found.value - bound)
        c = difference_point(pair, point, ia, ib, height, radius, loss)
        if c.h < found.value:
            c = difference_support(pair, point, ia, ib)
        better = c.h < found.value - goal
        found = take(found, point, c)
        second, third = (first + 1) % 3, (first + 2) % 3
        _copy_corner(cells[used], 0, row, second)
        _copy_corner(cells[used], 1, row, third)
        _set_corner(cells[used], 2, point, c)
        key[used] = max(bound, _cell_bound(cells[used]))
        if inside:
            other = used + 1
            _copy_corner(cells[other], 0, row, third)
            _copy_corner(cells[other], 1, row, first)
            _set_corner(cells[other], 2, point, c)
            key[other] = max(bound, _cell_bound(cells[other]))
            _set_corner(row, third, point, c)
        else:
            _set_corner(row, second, point, c)
        key[cell] = max(bound, _cell_bound(row))
        heap[length] = cell
        lift(heap, key, length)
        length += 1
        if better:
            # Another minimum, or the same one still far: Newton from here.
            _, found = polish_cell(pair, row, point, found, w)
        for _ in range(2 if inside else 1):
            heap[length] = used
            lift(heap, key, length)
            length += 1
            used += 1
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


@kernel
def _at_row(row, k):
    return (row[k], row[k + 1], row[k + 2])


@kernel
def _middle(n1, n2, n3):
    n = add(add(n1, n2), n3)
    return scale(1.0 / norm(n), n)


@kernel
def _nearness(n, n1, n2, n3):
    """Weights of the corners of a triangle for a direction inside."""
    c1, c2, c3 = norm(sub(n, n1)), norm(sub(n, n2)), norm(sub(n, n3))
    w1, w2, w3 = c2 * c3, c3 * c1, c1 * c2
    total = max(w1 + w2 + w3, 1e-300)
    return w1 / total, w2 / total, w3 / total


@kernel
def _share_of(n, n1, n2, n3):
    """Smallest barycentric coordinate of a direction in a spherical triangle, and whether it is inside at all."""
    w1, w2, w3 = dot(n, cross(n2, n3)), dot(n, cross(n3, n1)), dot(n, cross(n1, n2))
    if dot(n1, cross(n2, n3)) < 0.0:
        w1, w2, w3 = -w1, -w2, -w3
    total = w1 + w2 + w3
    if not (w1 > 0.0 and w2 > 0.0 and w3 > 0.0):
        return False, 0.0
    return True, min(w1, w2, w3) / total
