# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Signed distance of two convex cores from their support functions alone.

With M = A - B (in the frame of A) and h_M(n) = h_A(n) + h_B(-n) - n . c, the signed distance of convex cores is
- min over |n| = 1 of h_M(n), apart and overlapping. Four parts work on that one function:

descend   GJK: the point of M nearest to the origin over growing simplices of support points. Every support point along
          n proves sd >= -h_M(n); apart, the nearest point proves sd <= its distance. Ends where the cores overlap.
polish    Newton on the strata of a simplex (`difference`).
search    Branch and bound on the sphere of directions for overlaps: a triangle of directions n_j with support points
          m_j of M has h_M >= min_j n_j . y, y = sum mu_i m_i in M. It is split along an edge where its two support
          points change places: the fan of a polytope is found exactly, and the search of one is finite.
settle    At the minimum h_M n lies on a face of M, and no one support point need be near it: a mean of a few is, with
          the same weights in both bodies, whose points are then one depth along n apart.

Overlap, closed at once: A ball of radius r that lies in A and touches its boundary at the contact has
sd(A, B) <= sd(ball, B) = sd(centre, B) - r, and the distance of a point from a sharp core is a closed form.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid_ros.compiled.jit import kernel, out_of_line
from superovoid_ros.compiled.row_heap import lift, without_first
from superovoid_ros.compiled.vector import (
    add,
    combine,
    cross,
    dot,
    norm,
    rotate,
    rotate_back,
    scale,
    sub,
    tangent_frame,
)
from superovoid_ros.contact.convex import revolution
from superovoid_ros.contact.minkowski.difference import (
    EPS,
    LOSS,
    STRATUM_A,
    STRATUM_B,
    WEIGHT,
    WORK_ROWS,
    Corner,
    Found,
    M,
    X,
    Y,
    difference_point,
    difference_support,
    gather,
    mean_point,
    nearest_of_simplex,
    polish,
    put,
    rounding,
    row_point,
    take,
    well_away,
)
from superovoid_ros.contact.minkowski.exit import (
    ENCLOSING,
    NEAR,
    RISEN,
    RISING,
    TILT,
    WIDER,
    WIDEST,
    Exit,
    enclose,
    height_beyond,
    nears,
    place,
    plane_normal,
    rise,
    tilted,
)
from superovoid_ros.contact.minkowski.on_surfaces import along_to_surface, off_line
from superovoid_ros.contact.status import ARBITRARY_NORMAL, DENT
from superovoid_ros.contact.superovoids.certificate import tangent_ball
from superovoid_ros.contact.superovoids.triangles import edge_gap, equally_far, over_lengths
from superovoid_ros.shapes.kernels.kinds import CONE, CYLINDER, PLANE_LOSS, SUPEROVOID, TORUS, point_to_core
from superovoid_ros.shapes.kernels.support_function import support
from superovoid_ros.shapes.kernels.surface import DENTED, RADIUS

# A cell of the search: three directions, three points of M, their pairs of strata, height and radius of each.
_CELL_LENGTH = 30

_LEG, _LEGS, _LONGEST = 5, 5, 64  # GJK iterations before the first polish, times a leg, and without one
_NEAR = 1e-6  # of the smaller body: distance below which the search takes over where GJK has stalled
_NEARLY_COAXIAL = 0.1  # of the smaller body: slack of axes below which a search may turn with them
_LEAST_EDGE = 1e-15  # of a triangle of directions, rad
_SHORT = 0.03  # shortest edge that is split, relative to the longest
_ATTEMPTS = 5  # directions tried for the points of a contact
_NEAR_AXIS = 1e-4  # chord within which a direction may be meant to be an axis
_FACET_SHARE = 0.15  # least barycentric coordinate of a facet normal that splits its triangle in three


class Cores(NamedTuple):
    """Answer for two cores in the frame of A; `n` from A to B."""

    distance: float
    lower: float
    upper: float
    x: tuple
    y: tuple
    n: tuple
    iterations: int
    status: int  # flags (`pair_solver`) of the points and of the direction


# --- descend ----------------------------------------------------------------------------------------------------


class Descent(NamedTuple):
    """Where GJK has ended."""

    count: int  # type: ignore[assignment] # hides tuple.count; rows of the simplex in the workspace
    lower: float  # best proved -h_M, and its direction
    n: tuple
    upper: float  # distance of the nearest point of the simplex
    overlap: bool
    stalled: bool
    iterations: int


@kernel
def descend(pair, start, goal, beyond, w, limit, roughly):
    """GJK over a simplex in the workspace (its `count` rows are kept).

    Stops where the interval is closed, the cores overlap, nothing moves any more, or the lower bound exceeds `beyond`.
    `roughly` takes points near to support points, which prove no lower bound unless it may exceed `beyond`.
    """
    out_of_line()
    a = pair.a.row
    b = pair.b.row
    count, lower, best, upper = start.count, start.lower, start.n, start.upper
    n = start.n
    if count > 0:
        v = mean_point(w, count, M)
        length = norm(v)
        if length > 0.0:
            n = scale(-1.0 / length, v)
    iterations = start.iterations
    c = Corner(n, n, n, 0, 0, 0.0, 0.0, 1.0)
    for _ in range(limit):
        iterations += 1
        ia = int(w[0, STRATUM_A]) if count > 0 else 0
        ib = int(w[0, STRATUM_B]) if count > 0 else 0
        near = roughly and iterations > start.iterations + 1
        if near:
            loss = LOSS * min(upper, a[RADIUS], b[RADIUS])
            c = difference_point(pair, n, ia, ib, c.height, c.radius, loss)
        if not near or -c.h > beyond:
            near = False
            c = difference_support(pair, n, ia, ib)
        if not near and -c.h > lower:
            lower, best = -c.h, n
        if upper - lower <= goal or lower > beyond:
            return Descent(count, lower, best, upper, False, False, iterations)
        for k in range(count):
            if w[k, M] == c.m[0] and w[k, M + 1] == c.m[1] and w[k, M + 2] == c.m[2]:
                return Descent(count, lower, best, upper, False, True, iterations)
        put(w, count, c)
        count = nearest_of_simplex(w, count + 1)
        v = mean_point(w, count, M)
        length = norm(v)
        if count == 4 or not (length > 0.25 * goal):
            return Descent(count, lower, best, min(upper, length), True, False, iterations)
        stalled = not (length < upper)
        upper = length
        n = scale(-1.0 / length, v)
        if stalled:
            return Descent(count, lower, best, upper, False, True, iterations)
    return Descent(count, lower, best, upper, False, False, iterations)


# --- search -----------------------------------------------------------------------------------------------------


@kernel
def triangle_bound(n1, n2, n3, m1, m2, m3):
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
    return triangle_bound(
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
    if not (length > 0.0):
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


@kernel
def ball_direction(x, y, n, radii):
    """Unit direction from points x and y of two cores to the surfaces of the balls about them.

    The part of y - x across n, which the interval of the cores allows, would be left as it is where the radii are taken
    off along n, and would exceed a gap that is small: then they are taken off along y - x. Where the balls overlap by
    more than the cores are apart, or the cores overlap themselves, n is the better known.
    """
    u = sub(y, x)
    length = norm(u)
    return scale(1.0 / length, u) if dot(u, n) > 0.0 and abs(length - radii) < length else n


# --- all together -----------------------------------------------------------------------------------------------


@kernel
def _is_curved(kind):
    return kind == SUPEROVOID or kind == TORUS or kind == CYLINDER or kind == CONE


@kernel
def _ball_depth(pair, ovoid, x, n, core, swapped):
    """Lower bound of the depth of a superovoid in a core of closed form, from the ball that touches at its contact.

    `n` is the outward normal of the superovoid in the frame of A; `swapped` says that the superovoid is B. -inf where
    the centre has several nearest ways out: whether the bodies have as many only the search can tell.
    """
    out_of_line()
    rotation, centre = pair.rotation, pair.centre
    f, _ = support(ovoid, rotate_back(rotation, n) if swapped else n)
    r = (1.0 - 1e-12) * tangent_ball(ovoid, f)
    if not (r > 0.0):
        return -math.inf
    ball = combine(1.0, x, -r, n)
    if not swapped:
        ball = rotate_back(rotation, sub(ball, centre))
    distance, _, _, unique = point_to_core(core, ball)
    return r - distance - core.row[PLANE_LOSS] if unique else -math.inf


@kernel(separate=True)
def solve_cores(pair, n, goal, beyond, budget, w):
    """Signed distance of two convex cores.

    Parameters
    ----------
    n : tuple
        Unit direction from A to B to start from.
    goal : float
        Width of the interval to reach, m.
    beyond : float
        Give up, with the interval known by then, once the distance is proved to exceed this.
    budget : int
        Support points that the search may spend. 0: none, and points that realise the distance are enough, whatever
        their direction (`straightened`).
    """
    out_of_line()
    a, ka = pair.a.row, pair.a.kind
    b, kb = pair.b.row, pair.b.kind
    margin = rounding(a, b, pair.centre)
    found = Descent(0, -math.inf, n, math.inf, False, False, 0)
    curved = _is_curved(ka) or _is_curved(kb)
    rounds = 0
    while True:
        rounds += 1
        found = descend(
            pair,
            found,
            goal,
            beyond,
            w,
            _LEG * rounds if curved else _LONGEST,
            rounds == 1 and (ka == SUPEROVOID or kb == SUPEROVOID),
        )
        if found.overlap or found.lower > beyond:
            break
        if curved:
            answer = _polished(pair, found, margin, w)
            if answer.upper - answer.lower <= goal:
                if budget == 0:
                    return answer
                return straightened(pair, answer, goal, margin, w)
        if found.upper - found.lower <= goal or found.stalled or rounds >= _LEGS:
            break
    if found.count == 0:
        return Cores(math.inf, found.lower - margin, math.inf, found.n, found.n, found.n, found.iterations, 0)
    if budget == 0 and found.overlap:
        x, y = mean_point(w, found.count, X), mean_point(w, found.count, Y)
        upper = 0.0 if found.count == 4 else found.upper  # a tetrahedron of points of M holds the origin
        return Cores(0.0, -math.inf, upper + margin, x, y, found.n, found.iterations, 0)
    if not found.overlap:
        x, y = mean_point(w, found.count, X), mean_point(w, found.count, Y)
        length = norm(sub(y, x))
        lower = min(found.lower - margin, length)
        if length - lower > goal and curved:
            answer = _between_discs(pair, found, goal, margin, w)
            if answer.upper - answer.lower <= goal:
                return answer
        clear = found.lower > 0.5 * length and length > _NEAR * min(a[RADIUS], b[RADIUS])
        if clear and length - lower > goal and found.lower <= beyond:
            # GJK has come to rest on a face with a direction that rounding has left imprecise.
            answer = _on_face(pair, found, goal, margin, w)
            if answer.upper - answer.lower <= goal:
                return answer
        if length - lower <= goal or clear or found.lower > beyond or budget == 0:
            own = found.count == 1 or (holds_means(a, ka) and holds_means(b, kb))
            upper = length
            if not own:
                x, y = _own(pair, x, y, found.n)
                upper = norm(sub(y, x))
                row_x, row_y, least = _nearest_row(w, found.count)
                if least < upper:
                    x, y, upper = row_x, row_y, least
            status = 0 if own or upper + margin - lower <= goal else DENT
            answer = Cores(upper, lower, upper + margin, x, y, found.n, found.iterations, status)
            if budget == 0:
                return answer
            return straightened(pair, answer, goal, margin, w)
    return overlapping(pair, found, goal, margin, budget, w)


@kernel
def _polished(pair, found, margin, w):
    """Answer for separated cores from Newton on the strata of the simplex; an empty interval where it fails."""
    out_of_line()
    u = sub(mean_point(w, found.count, Y), mean_point(w, found.count, X))
    length = norm(u)
    n = scale(1.0 / length, u) if length > 0.0 else found.n
    count = gather(w, found.count)
    local = polish(pair, n, 1.0, w, count)
    ia, ib = int(w[WORK_ROWS, STRATUM_A]), int(w[WORK_ROWS, STRATUM_B])
    c = difference_support(pair, local.n, ia, ib)
    length = norm(sub(local.y, local.x))
    iterations = found.iterations + 1
    if -c.h >= found.lower - margin:
        return Cores(length, min(-c.h - margin, length), length + margin, local.x, local.y, local.n, iterations, 0)
    return Cores(length, min(found.lower - margin, length), length + margin, local.x, local.y, found.n, iterations, 0)


@kernel
def straightened(pair, answer, goal, margin, w):
    """The same answer for separated cores with points along its normal.

    The part of y - x across the normal may be as long as the interval lets it, the square root of distance times width:
    then the direction of the points is the normal, if it proves as much, or other points are had along the normal.
    """
    u = sub(answer.y, answer.x)
    across = norm(combine(1.0, u, -dot(u, answer.n), answer.n))
    if not (across > margin):
        return answer
    out_of_line()
    n = scale(1.0 / norm(u), u)
    c = difference_support(pair, n, np.int64(0), np.int64(0))
    if answer.upper + c.h + margin <= goal:
        lower = min(-c.h - margin, answer.distance)
        return Cores(answer.distance, lower, answer.upper, answer.x, answer.y, n, answer.iterations + 1, answer.status)
    if across <= goal:
        return answer
    value = -answer.lower - margin
    found = Found(value, value, answer.n, answer.x, answer.y, False, 0, math.inf)
    best, whole = settled_anew(pair, found, goal, w)
    length = norm(sub(best.y, best.x))
    if not (whole and length + best.value + 2.0 * margin <= goal):
        return answer
    lower = min(-best.value - margin, length)
    return Cores(length, lower, length + margin, best.x, best.y, best.n, answer.iterations + 2, answer.status)


@kernel
def _nearest_row(w, count):
    """Nearest pair of support points of a simplex: points of the bodies, whatever lies between them."""
    best, least = 0, math.inf
    for k in range(count):
        length = norm(sub(row_point(w, k, Y), row_point(w, k, X)))
        if length < least:
            best, least = k, length
    return row_point(w, best, X), row_point(w, best, Y), least


@kernel
def holds_means(row, kind):
    """Whether a point between support points belongs to the body: true for every convex one."""
    return kind != SUPEROVOID or row[DENTED] == 0.0


@kernel
def axial_slack(b, rotation, centre):
    """How far any point of B is from where it would be if the z axes of both bodies coincided."""
    return math.hypot(centre[0], centre[1]) + math.hypot(rotation[0, 2], rotation[1, 2]) * b[RADIUS]


@kernel
def overlapping(pair, descent, goal, margin, budget, w):
    """Answer for cores that overlap, touch, or are too near to touch for GJK to tell."""
    out_of_line()
    a, ka = pair.a.row, pair.a.kind
    b, kb = pair.b.row, pair.b.kind
    start = Found(math.inf, -math.inf, descent.n, descent.n, descent.n, False, 0, math.inf)
    # What the simplex of GJK knows of strata serves the first polish.
    c = difference_support(pair, descent.n, np.int64(0), np.int64(0))
    start = take(start, descent.n, c)
    ovoid_a, ovoid_b = ka == SUPEROVOID, kb == SUPEROVOID
    closed_a = not ovoid_a and ka != TORUS
    closed_b = not ovoid_b and kb != TORUS
    depth = -math.inf
    if ovoid_a != ovoid_b and ((ovoid_a and closed_b) or (ovoid_b and closed_a)):
        for i in range(2):
            if i == 0:
                n = descent.n
            else:
                n = _core_normal(pair, start.n)
            c = difference_support(pair, n, np.int64(0), np.int64(0))
            start = take(start, n, c)
            put(w, 0, c)
            w[0, WEIGHT] = 1.0
            count = gather(w, 1)
            local = polish(pair, n, 0.0, w, count)
            c = difference_support(pair, local.n, np.int64(0), np.int64(0))
            if c.h <= start.value:
                rival = min(start.rival, start.value) if well_away(local.n, start.n) else start.rival
                start = Found(c.h, -math.inf, local.n, c.x, c.y, True, start.spent + 4, rival)
            if ovoid_a:
                depth = max(depth, _ball_depth(pair, a, start.x, start.n, pair.b, ovoid_b))
            else:
                back = scale(-1.0, start.n)
                depth = max(depth, _ball_depth(pair, b, start.y, back, pair.a, ovoid_b))
            if start.value - depth <= goal:
                break
    ball_depth = depth
    if not (start.value - depth <= goal):
        turned = revolution.is_revolved(a, ka) and revolution.is_revolved(b, kb)
        if turned and axial_slack(b, pair.rotation, pair.centre) <= _NEARLY_COAXIAL * min(a[RADIUS], b[RADIUS]):
            start = revolution.search(pair, start, 0.5 * goal, budget, w)
            depth = max(depth, start.proved)
    if not (start.value - depth <= goal):
        start = search(pair, start, 0.5 * goal, budget, w)
        depth = max(depth, start.proved)
    start, whole = settled(pair, start, goal, w)
    distance = -start.value
    upper = margin - depth
    x, y = start.x, start.y
    if not (holds_means(a, ka) and holds_means(b, kb)):
        # The hulls' depth bounds the bodies' from above; from below only what lies in the bodies does.
        c = difference_support(pair, start.n, np.int64(0), np.int64(0))
        if not whole:
            x, y = _own(pair, x, y, start.n)
            if off_line(c.x, c.y, start.value, start.n) < off_line(x, y, start.value, start.n):
                x, y = c.x, c.y
        upper = margin - ball_depth if ball_depth > 0.0 else norm(c.m) + margin
        whole = whole and upper - distance + margin <= goal
    status = 0 if whole else DENT
    if start.rival <= start.value + goal:
        status |= ARBITRARY_NORMAL
    if distance > 0.0:
        # The points span the distance, or the interval says by how much they do not.
        upper = norm(sub(y, x)) + margin
    elif not whole:
        upper = max(upper, distance + off_line(x, y, start.value, start.n))
    return Cores(
        distance,
        distance - margin,
        max(distance, upper),
        x,
        y,
        start.n,
        descent.iterations + start.spent,
        status,
    )


@kernel
def _leave(pair, n, goal, w):
    """Rows of the workspace whose mean is where the line along n leaves M (`exit`)."""
    out_of_line()
    c = difference_support(pair, n, np.int64(0), np.int64(0))
    place(w, 0, c, n)
    count, offset = enclose(w, 1)
    tilt = TILT
    for _ in range(ENCLOSING):
        if offset <= NEAR * goal:
            break
        nearer = False
        while not nearer and tilt <= WIDEST:
            direction = tilted(n, mean_point(w, count, M), tilt)
            ia, ib = int(w[0, STRATUM_A]), int(w[0, STRATUM_B])
            c = difference_support(pair, direction, ia, ib)
            nearer = nears(w, count, c)
            if not nearer:
                tilt *= WIDER
        if not nearer:
            break
        place(w, count, c, n)
        count, offset = enclose(w, count + 1)
    normal, beyond = n, math.inf
    for _ in range(RISING):
        normal = plane_normal(w, count, n)
        ia, ib = int(w[0, STRATUM_A]), int(w[0, STRATUM_B])
        c = difference_support(pair, normal, ia, ib)
        beyond = height_beyond(w, count, n, normal, c)
        if beyond <= RISEN * goal:
            break
        place(w, count, c, n)
        count = rise(w, count, n, NEAR * goal)
    return Exit(count, norm(mean_point(w, count, M)), normal, beyond)


@kernel
def _holds(row, kind, p, n, goal):
    """Whether a mean of support points of a body, in its frame, is one of its own: over a dent it is beside it."""
    return holds_means(row, kind) or norm(sub(along_to_surface(row, p, n), p)) <= 0.1 * goal


@kernel
def _own(pair, x, y, n):
    """Means of support points, in the frame of A, brought onto bodies with a dent."""
    out_of_line()
    b, rotation, centre = pair.b.row, pair.rotation, pair.centre
    if not holds_means(pair.a.row, pair.a.kind):
        x = along_to_surface(pair.a.row, x, n)
    if not holds_means(b, pair.b.kind):
        local = rotate_back(rotation, sub(y, centre))
        y = add(centre, rotate(rotation, along_to_surface(b, local, rotate_back(rotation, scale(-1.0, n)))))
    return x, y


@kernel
def _near_axis(kind, z, n):
    """Whether a direction is close to the axis of a body with a disc, which is no stratum; the axis on its side."""
    z = scale(math.copysign(1.0, dot(n, z)), z)
    return (kind == CYLINDER or kind == CONE or kind == TORUS) and norm(sub(n, z)) < _NEAR_AXIS, z


@kernel
def _along_axes(pair, n, value):
    """The better of the axes close to a direction, if either is better than a value of h_M or as good."""
    out_of_line()
    ka = pair.a.kind
    kb = pair.b.kind
    rotation = pair.rotation
    better = False
    for body in range(2):
        if body == 0:
            near, z = _near_axis(ka, (0.0, 0.0, 1.0), n)
        else:
            near, z = _near_axis(kb, rotate(rotation, (0.0, 0.0, 1.0)), n)
        if near:
            c = difference_support(pair, z, np.int64(0), np.int64(0))
            if c.h <= value:
                better, n, value = True, z, c.h
    return better, n, value


@kernel
def _between_discs(pair, found, goal, margin, w):
    """Answer for separated cores of which one faces the other with a disc; an open interval where none does."""
    out_of_line()
    better, n, value = _along_axes(pair, found.n, -found.lower)
    if not better:
        return Cores(math.inf, -math.inf, math.inf, n, n, n, found.iterations, 0)
    best = Found(value, value, n, n, n, False, 0, math.inf)
    best, _ = settled_anew(pair, best, goal, w)
    length = norm(sub(best.y, best.x))
    lower = min(-best.value - margin, length)
    return Cores(length, lower, length + margin, best.x, best.y, best.n, found.iterations + 2, 0)


@kernel
def _on_face(pair, found, goal, margin, w):
    """Answer for separated cores from the face of M on the line along the best direction.

    The rows of the workspace are lost; an open interval where points between support points are none of the bodies.
    """
    out_of_line()
    best = Found(-found.lower, -found.lower, found.n, found.n, found.n, False, 0, math.inf)
    best, whole = settled_anew(pair, best, goal, w)
    length = norm(sub(best.y, best.x))
    lower = min(max(-best.value, found.lower) - margin, length)
    upper = length + margin if whole else math.inf
    n = best.n if -best.value >= found.lower - margin else found.n
    return Cores(length, lower, upper, best.x, best.y, n, found.iterations + 2, 0)


@kernel
def settled(pair, found, goal, w):
    """Give the least h_M found points x of A and y of B with x - y along its direction, to within the goal.

    On a face or an edge of M the support points of one direction lie anywhere; at the minimum h_M n is a mean of some
    of them.

    Returns the `Found`, and whether its points are those of the bodies, not only of hulls over a dent.
    """
    out_of_line()
    m = sub(found.x, found.y)
    if norm(combine(1.0, m, -found.value, found.n)) <= NEAR * goal:
        return found, True
    return settled_anew(pair, found, goal, w)


@kernel
def settled_anew(pair, found, goal, w):
    """As `settled`, whatever the points of `found` are.

    Where the direction is not yet precise enough, the normal of the face on which the line leaves M is, or an axis of
    a disc, or what Newton makes of the strata of that face.
    """
    out_of_line()
    a, ka = pair.a.row, pair.a.kind
    b, kb = pair.b.row, pair.b.kind
    rotation, centre = pair.rotation, pair.centre
    n, value = found.n, found.value
    best = found
    left = math.inf
    whole = False
    for attempt in range(_ATTEMPTS):
        end = _leave(pair, n, goal, w)
        x, y = mean_point(w, end.count, X), mean_point(w, end.count, Y)
        off = norm(combine(1.0, sub(x, y), -value, n))
        if off < left:
            left = off
            local = rotate_back(rotation, sub(y, centre))
            inward = rotate_back(rotation, scale(-1.0, n))
            whole = _holds(a, ka, x, n, goal) and _holds(b, kb, local, inward, goal)
            best = Found(value, found.proved, n, x, y, True, found.spent, found.rival)
        if off <= 0.1 * goal or attempt == _ATTEMPTS - 1:
            break
        other, least = n, found.value + 0.1 * goal
        for way in range(3):
            if way == 0:
                direction = end.normal
            elif way == 1:
                near, direction, _ = _along_axes(pair, n, found.value + 0.1 * goal)
                if not near:
                    continue
            else:
                count = gather(w, end.count)
                direction = polish(pair, n, 0.0, w, count).n
            c = difference_support(pair, direction, np.int64(0), np.int64(0))
            if c.h <= least and norm(sub(direction, n)) > 1e-16:
                other, least = direction, c.h
        if norm(sub(other, n)) <= 1e-16:
            break
        n, value = other, least
    return best, whole


@kernel
def _core_normal(pair, n):
    """Direction in which the centre of the superovoid leaves the other core first."""
    rotation, centre = pair.rotation, pair.centre
    if pair.a.kind == SUPEROVOID:
        _, normal, _, _ = point_to_core(pair.b, rotate_back(rotation, scale(-1.0, centre)))
        return scale(-1.0, rotate(rotation, normal))
    _, normal, _, _ = point_to_core(pair.a, centre)
    return normal
