r"""Signed distance of two convex cores from their support functions alone.

With M = A - B (in the frame of A) and h_M(n) = h_A(n) + h_B(-n) - n . c, the signed distance of convex cores is
- min over |n| = 1 of h_M(n), apart and overlapping. Four parts work on that one function:

descend   GJK: the point of M nearest to the origin over growing simplices of support points. Every support point along
          n proves sd >= -h_M(n); apart, the nearest point proves sd <= its distance. Ends where the cores overlap.
polish    Newton for the minimum of h_M where it is the maximum of a few smooth functions, one for each pair of strata
          (`shapes._kinds`) among the support points: with tangential parts p_i, values v_i, Hessians H_i, and weights
          l_i that make sum l_i p_i vanish, the step d minimises sum l_i (p_i . d + d . (H_i - v) d / 2) subject to all
          v_i + p_i . d being equal. A vertex against a smooth body is one stratum, an edge two, a face three: the
          constraints pin n to the great circle of an edge, the cone of a ruling, or the normal of a face.
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

from superovoid_ros._jit import kernel, out_of_line
from superovoid_ros._vector import add, combine, cross, dot, norm, rotate, rotate_back, scale, sub, tangent_frame
from superovoid_ros.contact._certificate import tangent_ball
from superovoid_ros.contact._global import _edge_gap, _least_length, _sift_down, _sift_up
from superovoid_ros.contact._pair import ARBITRARY_NORMAL, DENT, NON_UNIQUE
from superovoid_ros.shapes._kernels import A1, A3, DENTED, LOOSE, RADIUS, position, support, support_candidate
from superovoid_ros.shapes._kinds import (
    CAPSULE,
    CONE,
    CYLINDER,
    SUPEROVOID,
    TORUS,
    core_support,
    point_to_core,
    stratum_point,
)

_EPS = 2.220446049250313e-16

# A row of a simplex: point of M, of A, of B (frame of A), the two strata, the weight.
_M, _X, _Y, _STRATUM_A, _STRATUM_B, _WEIGHT, _SIMPLEX_LENGTH = 0, 3, 6, 9, 10, 11, 12
# A cell of the search: three directions, three points of M, their pairs of strata.
_CELL_LENGTH = 24
WORK_ROWS = 8

_LEG, _LEGS, _LONGEST = 5, 5, 64  # GJK iterations before the first polish, times a leg, and without one
_POLISH_STEPS = 12
_MAX_TURN = 0.5
_NEARLY_COAXIAL = 1e-3  # of the smaller body: slack of axes that is worth a bound
_LEAST_EDGE = 1e-15  # of a triangle of directions, rad
_SHORT = 0.03  # shortest edge that is split, relative to the longest
_WELL_AWAY = 0.05  # chord at which a direction is another one, not the same refined
_SETTLING, _ATTEMPTS = 24, 5  # support points for the points of an overlap along one direction, and directions
_TILT = 1e-4  # of the first of them, rad
_FACET_SHARE = 0.15  # least barycentric coordinate of a facet normal that splits its triangle in three


class Corner(NamedTuple):
    """Support point of M with what it came from."""

    m: tuple
    x: tuple  # point of A
    y: tuple  # point of B, in the frame of A
    stratum_a: int
    stratum_b: int
    h: float  # proved upper bound of h_M


class Cores(NamedTuple):
    """Answer for two cores in the frame of A; `n` from A to B."""

    distance: float
    lower: float
    upper: float
    x: tuple
    y: tuple
    n: tuple
    iterations: int
    status: int  # flags (`_pair`) of the points and of the direction


@kernel(_nrt=True)
def new_workspace():
    """Scratch of one solve: a simplex and a bundle."""
    return np.zeros((2 * WORK_ROWS, _SIMPLEX_LENGTH))


@kernel
def rounding(a, b, centre):
    """Bound of the rounding errors in a support point of M and of what is derived from it."""
    return 64.0 * _EPS * (a[RADIUS] + b[RADIUS] + norm(centre))


@kernel
def difference_support(a, ka, pool_a, b, kb, pool_b, rotation, centre, n, start_a, start_b):
    """Support point of M along a unit vector."""
    out_of_line()
    x, stratum_a, ha = core_support(a, ka, pool_a, n, start_a)
    y, stratum_b, hb = core_support(b, kb, pool_b, rotate_back(rotation, scale(-1.0, n)), start_b)
    y = add(centre, rotate(rotation, y))
    return Corner(sub(x, y), x, y, stratum_a, stratum_b, ha + hb - dot(n, centre))


@kernel
def _nearly_support(row, kind, pool, n, start):
    """Support point of a core, or a point of it so close to one that bounds from points do not care."""
    if kind == SUPEROVOID:
        return position(row, support_candidate(row, n, LOOSE)), 0
    x, stratum, _ = core_support(row, kind, pool, n, start)
    return x, stratum


@kernel
def difference_point(a, ka, pool_a, b, kb, pool_b, rotation, centre, n, start_a, start_b):
    """As `difference_support` where any point of M serves: cheaper for superovoids, and `h` is not proved."""
    out_of_line()
    x, stratum_a = _nearly_support(a, ka, pool_a, n, start_a)
    y, stratum_b = _nearly_support(b, kb, pool_b, rotate_back(rotation, scale(-1.0, n)), start_b)
    y = add(centre, rotate(rotation, y))
    m = sub(x, y)
    return Corner(m, x, y, stratum_a, stratum_b, dot(n, m))


@kernel
def _put(w, k, c):
    for i in range(3):
        w[k, _M + i] = c.m[i]
        w[k, _X + i] = c.x[i]
        w[k, _Y + i] = c.y[i]
    w[k, _STRATUM_A], w[k, _STRATUM_B] = c.stratum_a, c.stratum_b
    w[k, _WEIGHT] = 0.0


@kernel
def _at(w, k, column):
    return (w[k, column], w[k, column + 1], w[k, column + 2])


@kernel
def _mean(w, count, column):
    """Weighted mean of a column of points."""
    x = (0.0, 0.0, 0.0)
    for k in range(count):
        x = combine(1.0, x, w[k, _WEIGHT], _at(w, k, column))
    return x


# --- nearest point of a simplex ---------------------------------------------------------------------------------


@kernel
def _segment_weights(p, q):
    d = sub(q, p)
    length = dot(d, d)
    t = -dot(p, d) / length if length > 0.0 else 0.0
    t = min(1.0, max(0.0, t))
    return 1.0 - t, t


@kernel
def _triangle_weights(p, q, r):
    """Weights of the point of a triangle that is nearest to the origin.

    Inside its plane prism by the projection on the plane; else the nearest of the three edges.
    """
    out_of_line()
    u, v = sub(q, p), sub(r, p)
    normal = cross(u, v)
    area = dot(normal, normal)
    if area > 0.0:
        # The origin's foot in the frame of the longest two edges: (q x r, r x p, p x q) . normal / area.
        wq = dot(cross(scale(-1.0, p), v), normal) / area
        wr = dot(cross(u, scale(-1.0, p)), normal) / area
        wp = 1.0 - wq - wr
        if wp >= 0.0 and wq >= 0.0 and wr >= 0.0:
            return wp, wq, wr
    best = math.inf
    weights = (1.0, 0.0, 0.0)
    s, t = _segment_weights(p, q)
    x = combine(s, p, t, q)
    if dot(x, x) < best:
        best, weights = dot(x, x), (s, t, 0.0)
    s, t = _segment_weights(q, r)
    x = combine(s, q, t, r)
    if dot(x, x) < best:
        best, weights = dot(x, x), (0.0, s, t)
    s, t = _segment_weights(r, p)
    x = combine(s, r, t, p)
    if dot(x, x) < best:
        weights = (t, 0.0, s)
    return weights


@kernel
def nearest_of_simplex(w, count):
    """Weigh the rows of a simplex for its point nearest to the origin and drop the rows without weight.

    Returns how many are left; 4 means that the origin is inside.
    """
    out_of_line()
    if count == 1:
        w[0, _WEIGHT] = 1.0
        return 1
    p, q = _at(w, 0, _M), _at(w, 1, _M)
    if count == 2:
        w[0, _WEIGHT], w[1, _WEIGHT] = _segment_weights(p, q)
    elif count == 3:
        w[0, _WEIGHT], w[1, _WEIGHT], w[2, _WEIGHT] = _triangle_weights(p, q, _at(w, 2, _M))
    else:
        corners = (p, q, _at(w, 2, _M), _at(w, 3, _M))
        faces = ((0, 1, 2, 3), (0, 1, 3, 2), (0, 2, 3, 1), (1, 2, 3, 0))
        best = math.inf
        inside = True
        for f in range(4):
            i, j, k, opposite = faces[f]
            pi, pj, pk = corners[i], corners[j], corners[k]
            normal = cross(sub(pj, pi), sub(pk, pi))
            if dot(normal, sub(corners[opposite], pi)) * dot(normal, pi) < 0.0:
                continue  # the origin is on the side of the opposite corner
            inside = False
            s, t, u = _triangle_weights(pi, pj, pk)
            x = add(combine(s, pi, t, pj), scale(u, pk))
            if dot(x, x) < best:
                best = dot(x, x)
                w[i, _WEIGHT], w[j, _WEIGHT], w[k, _WEIGHT], w[opposite, _WEIGHT] = s, t, u, 0.0
        if inside:
            return 4
    left = 0
    for k in range(count):
        if w[k, _WEIGHT] > 0.0:
            if left < k:
                for i in range(_SIMPLEX_LENGTH):
                    w[left, i] = w[k, i]
            left += 1
    return left


# --- descend ----------------------------------------------------------------------------------------------------


class Descent(NamedTuple):
    """Where GJK has ended."""

    count: int  # rows of the simplex in the workspace
    lower: float  # best proved -h_M, and its direction
    n: tuple
    upper: float  # distance of the nearest point of the simplex
    overlap: bool
    stalled: bool
    iterations: int


@kernel
def descend(a, ka, pool_a, b, kb, pool_b, rotation, centre, start, goal, beyond, w, limit):
    """GJK over a simplex in the workspace (its `count` rows are kept).

    Stops where the interval is closed, the cores overlap, nothing moves any more, or the lower bound exceeds `beyond`.
    """
    out_of_line()
    count, lower, best, upper = start.count, start.lower, start.n, start.upper
    n = start.n
    if count > 0:
        v = _mean(w, count, _M)
        length = norm(v)
        if length > 0.0:
            n = scale(-1.0 / length, v)
    iterations = start.iterations
    for _ in range(limit):
        iterations += 1
        ia = int(w[0, _STRATUM_A]) if count > 0 else 0
        ib = int(w[0, _STRATUM_B]) if count > 0 else 0
        c = difference_support(a, ka, pool_a, b, kb, pool_b, rotation, centre, n, ia, ib)
        if -c.h > lower:
            lower, best = -c.h, n
        if upper - lower <= goal or lower > beyond:
            return Descent(count, lower, best, upper, False, False, iterations)
        for k in range(count):
            if w[k, _M] == c.m[0] and w[k, _M + 1] == c.m[1] and w[k, _M + 2] == c.m[2]:
                return Descent(count, lower, best, upper, False, True, iterations)
        _put(w, count, c)
        count = nearest_of_simplex(w, count + 1)
        v = _mean(w, count, _M)
        length = norm(v)
        if count == 4 or not (length > 0.25 * goal):
            return Descent(count, lower, best, min(upper, length), True, False, iterations)
        stalled = not (length < upper)
        upper = length
        n = scale(-1.0 / length, v)
        if stalled:
            return Descent(count, lower, best, upper, False, True, iterations)
    return Descent(count, lower, best, upper, False, False, iterations)


# --- polish -----------------------------------------------------------------------------------------------------


@kernel
def _gather(w, count):
    """Copy one row for each pair of strata of a simplex behind it; returns how many (at most 3)."""
    found = 0
    for k in range(count):
        known = False
        for j in range(found):
            row = WORK_ROWS + j
            if w[row, _STRATUM_A] == w[k, _STRATUM_A] and w[row, _STRATUM_B] == w[k, _STRATUM_B]:
                known = True
                w[row, _WEIGHT] += w[k, _WEIGHT]
        if not known and found < 3:
            for i in range(_SIMPLEX_LENGTH):
                w[WORK_ROWS + found, i] = w[k, i]
            found += 1
    return found


class Local(NamedTuple):
    """A local minimum of h_M: direction, points, proved h_M."""

    n: tuple
    x: tuple
    y: tuple
    h: float
    gap: float  # length of what is left between h n and x - y


@kernel
def _weigh_bundle(w, count, n, value):
    """Weights of the bundle for its point nearest to `value` n."""
    target = scale(value, n)
    p = sub(_at(w, WORK_ROWS, _M), target)
    if count == 1:
        w[WORK_ROWS, _WEIGHT] = 1.0
        return
    q = sub(_at(w, WORK_ROWS + 1, _M), target)
    if count == 2:
        w[WORK_ROWS, _WEIGHT], w[WORK_ROWS + 1, _WEIGHT] = _segment_weights(p, q)
        return
    r = sub(_at(w, WORK_ROWS + 2, _M), target)
    s, t, u = _triangle_weights(p, q, r)
    w[WORK_ROWS, _WEIGHT], w[WORK_ROWS + 1, _WEIGHT], w[WORK_ROWS + 2, _WEIGHT] = s, t, u


@kernel
def _bundle_mean(w, count, column):
    x = (0.0, 0.0, 0.0)
    for k in range(count):
        x = combine(1.0, x, w[WORK_ROWS + k, _WEIGHT], _at(w, WORK_ROWS + k, column))
    return x


@kernel
def polish(a, ka, pool_a, b, kb, pool_b, rotation, centre, n, apart, w, count):
    """Newton from a direction for the minimum of h_M on the bundle of `count` strata in the workspace.

    Returns the last direction that was no worse than the one before, judged by what is left of stationarity.
    `apart` is 1.0 for cores that are apart and 0.0 for others.
    """
    out_of_line()
    best = Local(n, n, n, math.inf, math.inf)
    for _ in range(_POLISH_STEPS):
        t1, t2 = tangent_frame(n)
        m = rotate_back(rotation, scale(-1.0, n))
        b1, b2 = rotate_back(rotation, t1), rotate_back(rotation, t2)
        w11 = w12 = w22 = 0.0
        # Points and Hessians of the strata; the weights of the step before weigh the Hessians.
        for k in range(count):
            row = WORK_ROWS + k
            x, a11, a12, a22 = stratum_point(a, ka, pool_a, int(w[row, _STRATUM_A]), n, t1, t2)
            # The Hessian of h_B(-n): both signs of the second derivative cancel.
            y, c11, c12, c22 = stratum_point(b, kb, pool_b, int(w[row, _STRATUM_B]), m, b1, b2)
            y = add(centre, rotate(rotation, y))
            for i in range(3):
                w[row, _M + i] = x[i] - y[i]
                w[row, _X + i] = x[i]
                w[row, _Y + i] = y[i]
            share = w[row, _WEIGHT]
            w11 += share * (a11 + c11)
            w12 += share * (a12 + c12)
            w22 += share * (a22 + c22)
        m0 = _at(w, WORK_ROWS, _M)
        value = dot(m0, n)
        for k in range(1, count):
            value = max(value, dot(_at(w, WORK_ROWS + k, _M), n))
        _weigh_bundle(w, count, n, 0.0 if apart == 1.0 else value)
        mean = _bundle_mean(w, count, _M)
        gap = norm(combine(1.0, mean, -dot(mean, n), n)) + abs(value - dot(mean, n))
        if not (gap < best.gap):
            break
        best = Local(n, _bundle_mean(w, count, _X), _bundle_mean(w, count, _Y), value, gap)
        if gap == 0.0:
            break
        w11 -= value
        w22 -= value
        p1, p2 = dot(mean, t1), dot(mean, t2)
        if count == 1:
            det = w11 * w22 - w12 * w12
            if not (det > 0.0 and w11 + w22 > 0.0):
                # Curved less than the depth: no minimum here. Without the curvature of the sphere there is one.
                w11 += value
                w22 += value
                det = w11 * w22 - w12 * w12
                if not (det > 0.0 and w11 + w22 > 0.0):
                    break
            d1 = -(w22 * p1 - w12 * p2) / det
            d2 = -(w11 * p2 - w12 * p1) / det
        else:
            q = sub(_at(w, WORK_ROWS + 1, _M), m0)
            q1, q2, q0 = dot(q, t1), dot(q, t2), dot(q, n)
            length = q1 * q1 + q2 * q2
            if not (length > 0.0):
                break
            if count == 2:
                f1, f2 = -q0 * q1 / length, -q0 * q2 / length
                s1, s2 = -q2, q1
                bend = s1 * (w11 * s1 + w12 * s2) + s2 * (w12 * s1 + w22 * s2)
                push = s1 * (p1 + w11 * f1 + w12 * f2) + s2 * (p2 + w12 * f1 + w22 * f2)
                along = -push / bend if bend > 0.0 else 0.0
                d1, d2 = f1 + along * s1, f2 + along * s2
            else:
                r = sub(_at(w, WORK_ROWS + 2, _M), m0)
                r1, r2, r0 = dot(r, t1), dot(r, t2), dot(r, n)
                det = q1 * r2 - q2 * r1
                if not (abs(det) > 1e-14 * math.sqrt(length * (r1 * r1 + r2 * r2))):
                    break
                d1 = (-q0 * r2 + r0 * q2) / det
                d2 = (-r0 * q1 + q0 * r1) / det
        turn = math.hypot(d1, d2)
        if not (turn < 1e30) or turn < 1e-18:
            break
        part = min(1.0, _MAX_TURN / turn)
        n = add(n, combine(part * d1, t1, part * d2, t2))
        n = scale(1.0 / norm(n), n)
    return best


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
    # The weights that make y equally far along all three corners (Cramer's rule on the differences).
    p1, p2, p3 = g11 - g12, g21 - g22, g31 - g32
    q1, q2, q3 = g11 - g13, g21 - g23, g31 - g33
    mu1 = p2 * q3 - p3 * q2
    mu2 = p3 * q1 - p1 * q3
    mu3 = p1 * q2 - p2 * q1
    total = mu1 + mu2 + mu3
    if total != 0.0:
        mu1, mu2, mu3 = mu1 / total, mu2 / total, mu3 / total
        if mu1 >= 0.0 and mu2 >= 0.0 and mu3 >= 0.0:
            first = mu1 * g11 + mu2 * g21 + mu3 * g31
            second = mu1 * g12 + mu2 * g22 + mu3 * g32
            best = max(best, min(first, second, mu1 * g13 + mu2 * g23 + mu3 * g33))
    if best < 0.0:
        best /= _least_length(n1, n2, n3)
    return best


@kernel
def _set_corner(cell, j, n, c):
    for i in range(3):
        cell[3 * j + i] = n[i]
        cell[9 + 3 * j + i] = c.m[i]
    cell[18 + 2 * j], cell[19 + 2 * j] = c.stratum_a, c.stratum_b


@kernel
def _copy_corner(cell, j, other, k):
    for i in range(3):
        cell[3 * j + i] = other[3 * k + i]
        cell[9 + 3 * j + i] = other[9 + 3 * k + i]
    cell[18 + 2 * j], cell[19 + 2 * j] = other[18 + 2 * k], other[19 + 2 * k]


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


class Found(NamedTuple):
    """What a search has found and proved."""

    value: float  # smallest h_M found
    proved: float  # lower bound of h_M over the sphere
    n: tuple
    x: tuple
    y: tuple
    polished: bool
    spent: int
    rival: float  # smallest h_M met in a direction well away from n


@kernel
def _well_away(n, other):
    d = sub(n, other)
    return dot(d, d) > _WELL_AWAY * _WELL_AWAY


@kernel
def _take(found, n, c):
    away = _well_away(n, found.n)
    if c.h < found.value:
        rival = min(found.rival, found.value) if away else found.rival
        return Found(c.h, found.proved, n, c.x, c.y, False, found.spent + 1, rival)
    rival = min(found.rival, c.h) if away else found.rival
    return Found(found.value, found.proved, found.n, found.x, found.y, found.polished, found.spent + 1, rival)


@kernel
def _with_rival(found, h):
    rival = min(found.rival, h)
    return Found(found.value, found.proved, found.n, found.x, found.y, found.polished, found.spent, rival)


@kernel
def polish_cell(a, ka, pool_a, b, kb, pool_b, rotation, centre, cell, n, found, w):
    """Newton on the strata of the corners of a cell, from a direction; kept where it is no worse."""
    out_of_line()
    for j in range(3):
        for i in range(3):
            w[j, _M + i] = cell[9 + 3 * j + i]
        w[j, _STRATUM_A], w[j, _STRATUM_B] = cell[18 + 2 * j], cell[19 + 2 * j]
        w[j, _WEIGHT] = 1.0 / 3.0
    count = _gather(w, 3)
    local = polish(a, ka, pool_a, b, kb, pool_b, rotation, centre, n, 0.0, w, count)
    c = difference_support(
        a,
        ka,
        pool_a,
        b,
        kb,
        pool_b,
        rotation,
        centre,
        local.n,
        int(w[WORK_ROWS, _STRATUM_A]),
        int(w[WORK_ROWS, _STRATUM_B]),
    )
    spent = found.spent + 4
    if c.h <= found.value + local.gap * _EPS:
        x, y = (local.x, local.y) if local.h >= c.h - 1e-9 * abs(c.h) else (c.x, c.y)
        rival = min(found.rival, found.value) if _well_away(local.n, found.n) else found.rival
        return c, Found(min(c.h, found.value), found.proved, local.n, x, y, True, spent, rival)
    rival = min(found.rival, c.h) if _well_away(local.n, found.n) else found.rival
    return c, Found(found.value, found.proved, found.n, found.x, found.y, found.polished, spent, rival)


@kernel(_nrt=True)
def search(a, ka, pool_a, b, kb, pool_b, rotation, centre, found, goal, budget, w):
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
        c = difference_support(a, ka, pool_a, b, kb, pool_b, rotation, centre, axes[i], np.int64(0), np.int64(0))
        _set_corner(six[i // 3], i % 3, axes[i], c)
        found = _take(found, axes[i], c)
    length = 0
    for i in range(2):
        for j in range(2):
            for k in range(2):
                _copy_corner(cells[length], 0, six[i], 0)
                _copy_corner(cells[length], 1, six[j], 1)
                _copy_corner(cells[length], 2, six[k], 2)
                key[length] = _cell_bound(cells[length])
                heap[length] = length
                _sift_up(heap, key, length)
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
        length -= 1
        heap[0] = heap[length]
        _sift_down(heap, key, length)
        row = cells[cell]
        n1, n2, n3 = _at_row(row, 0), _at_row(row, 3), _at_row(row, 6)
        m1, m2, m3 = _at_row(row, 9), _at_row(row, 12), _at_row(row, 15)
        pops += 1
        facet, share = _facet_normal(n1, n2, n3, m1, m2, m3)
        if pops == next_polish:
            next_polish = pops + 1 + pops // 2
            from_n = facet if share > 0.0 else _middle(n1, n2, n3)
            _, found = polish_cell(a, ka, pool_a, b, kb, pool_b, rotation, centre, row, from_n, found, w)
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
                g12 = _edge_gap(n1, n2, m1, m2) if c12 > shortest else 0.0
                g23 = _edge_gap(n2, n3, m2, m3) if c23 > shortest else 0.0
                g31 = _edge_gap(n3, n1, m3, m1) if c31 > shortest else 0.0
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
        c = difference_point(a, ka, pool_a, b, kb, pool_b, rotation, centre, point, ia, ib)
        if c.h < found.value:
            c = difference_support(a, ka, pool_a, b, kb, pool_b, rotation, centre, point, ia, ib)
        found = _take(found, point, c)
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
        _sift_up(heap, key, length)
        length += 1
        for _ in range(2 if inside else 1):
            heap[length] = used
            _sift_up(heap, key, length)
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
def _share_of(n, n1, n2, n3):
    """Smallest barycentric coordinate of a direction in a spherical triangle, and whether it is inside at all."""
    w1, w2, w3 = dot(n, cross(n2, n3)), dot(n, cross(n3, n1)), dot(n, cross(n1, n2))
    if dot(n1, cross(n2, n3)) < 0.0:
        w1, w2, w3 = -w1, -w2, -w3
    total = w1 + w2 + w3
    if not (w1 > 0.0 and w2 > 0.0 and w3 > 0.0):
        return False, 0.0
    return True, min(w1, w2, w3) / total


# --- all together -----------------------------------------------------------------------------------------------


@kernel
def _is_curved(kind):
    return kind == SUPEROVOID or kind == TORUS or kind == CYLINDER or kind == CONE


@kernel
def _ball_depth(ovoid, x, n, row, kind, pool, rotation, centre, swapped):
    """Lower bound of the depth of a superovoid in a core of closed form, from the ball that touches at its contact.

    `n` is the outward normal of the superovoid in the frame of A; `swapped` says that the superovoid is B. -inf where
    the centre has several nearest ways out: whether the bodies have as many only the search can tell.
    """
    out_of_line()
    f, _ = support(ovoid, rotate_back(rotation, n) if swapped else n)
    r = (1.0 - 1e-12) * tangent_ball(ovoid, f)
    if not (r > 0.0):
        return -math.inf
    ball = combine(1.0, x, -r, n)
    if not swapped:
        ball = rotate_back(rotation, sub(ball, centre))
    distance, _, _, unique = point_to_core(row, kind, pool, ball)
    return r - distance if unique else -math.inf


@kernel
def solve_cores(a, ka, pool_a, b, kb, pool_b, rotation, centre, n, goal, beyond, budget, w):
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
        Support points that the search may spend.
    """
    out_of_line()
    margin = rounding(a, b, centre)
    found = Descent(0, -math.inf, n, math.inf, False, False, 0)
    curved = _is_curved(ka) or _is_curved(kb)
    rounds = 0
    while True:
        rounds += 1
        found = descend(
            a,
            ka,
            pool_a,
            b,
            kb,
            pool_b,
            rotation,
            centre,
            found,
            goal,
            beyond,
            w,
            _LEG * rounds if curved else _LONGEST,
        )
        if found.overlap or found.lower > beyond:
            break
        if curved:
            answer = _polished(a, ka, pool_a, b, kb, pool_b, rotation, centre, found, margin, w)
            if answer.upper - answer.lower <= goal:
                return answer
        if found.upper - found.lower <= goal or found.stalled or rounds >= _LEGS:
            break
    if found.count == 0:
        return Cores(math.inf, found.lower - margin, math.inf, found.n, found.n, found.n, found.iterations, 0)
    if budget == 0 and found.overlap:
        return Cores(0.0, -math.inf, margin, found.n, found.n, found.n, found.iterations, 0)
    if not found.overlap:
        x, y = _mean(w, found.count, _X), _mean(w, found.count, _Y)
        length = norm(sub(y, x))
        lower = min(found.lower - margin, length)
        if length - lower <= goal or found.lower > 0.5 * length or found.lower > beyond or budget == 0:
            own = found.count == 1 or (holds_means(a, ka) and holds_means(b, kb))
            upper = length
            if not own:
                x, y, upper = _nearest_row(w, found.count)
            n = scale(1.0 / length, sub(_mean(w, found.count, _Y), _mean(w, found.count, _X)))
            status = 0 if own or upper + margin - lower <= goal else DENT
            return Cores(upper, lower, upper + margin, x, y, n, found.iterations, status)
    return overlapping(a, ka, pool_a, b, kb, pool_b, rotation, centre, found, goal, margin, budget, w)


@kernel
def _polished(a, ka, pool_a, b, kb, pool_b, rotation, centre, found, margin, w):
    """Answer for separated cores from Newton on the strata of the simplex; an empty interval where it fails."""
    out_of_line()
    x, y = _mean(w, found.count, _X), _mean(w, found.count, _Y)
    n = scale(1.0 / found.upper, sub(y, x))
    count = _gather(w, found.count)
    local = polish(a, ka, pool_a, b, kb, pool_b, rotation, centre, n, 1.0, w, count)
    ia, ib = int(w[WORK_ROWS, _STRATUM_A]), int(w[WORK_ROWS, _STRATUM_B])
    c = difference_support(a, ka, pool_a, b, kb, pool_b, rotation, centre, local.n, ia, ib)
    length = norm(sub(local.y, local.x))
    lower = min(max(-c.h, found.lower) - margin, length)
    return Cores(length, lower, length + margin, local.x, local.y, local.n, found.iterations + 1, 0)


@kernel
def _nearest_row(w, count):
    """Nearest pair of support points of a simplex: points of the bodies, whatever lies between them."""
    best = 0
    for k in range(1, count):
        if norm(_at(w, k, _M)) < norm(_at(w, best, _M)):
            best = k
    return _at(w, best, _X), _at(w, best, _Y), norm(_at(w, best, _M))


@kernel
def holds_means(row, kind):
    """Whether a point between support points belongs to the body: true for every convex one."""
    return kind != SUPEROVOID or row[DENTED] == 0.0


@kernel
def _has_axis(kind):
    """Whether a core is a polygon turned about z."""
    return kind == CAPSULE or kind == CYLINDER or kind == CONE


@kernel
def axial_slack(b, rotation, centre):
    """How far any point of B is from where it would be if the z axes of both bodies coincided."""
    return math.hypot(centre[0], centre[1]) + math.hypot(rotation[0, 2], rotation[1, 2]) * b[RADIUS]


@kernel
def _profile_normal(row, kind, i):
    """Whether the polygon of a core has an i-th edge, and its normal across and along the axis."""
    if kind == CONE:
        slant = math.hypot(row[A1], 2.0 * row[A3])
        return i < 2, 2.0 * row[A3] / slant if i == 0 else 0.0, row[A1] / slant if i == 0 else -1.0
    if i == 0:
        return True, 1.0, 0.0
    return kind == CYLINDER, 0.0, 1.0 if i == 1 else -1.0


@kernel
def _coaxial(a, ka, pool_a, b, kb, pool_b, rotation, centre, found, slack):
    """Least h_M of cores that share their axis: M is turned about it too, and its depth is that of a facet.

    Branch and bound would have to refine the whole circle of equal directions. Where the axes differ by a slack, no
    support function does by more.
    """
    for body in range(2):
        for i in range(3):
            exists, across, along = _profile_normal(a, ka, i) if body == 0 else _profile_normal(b, kb, i)
            if exists:
                n = (across, 0.0, along if body == 0 else math.copysign(along, -along * rotation[2, 2]))
                c = difference_support(a, ka, pool_a, b, kb, pool_b, rotation, centre, n, np.int64(0), np.int64(0))
                found = _take(found, n, c)
                # Turned about the axis, this direction is as good.
                if c.h <= found.value and abs(n[0]) > _WELL_AWAY:
                    found = _with_rival(found, c.h + 2.0 * slack)
    return found


@kernel
def overlapping(a, ka, pool_a, b, kb, pool_b, rotation, centre, descent, goal, margin, budget, w):
    """Answer for cores that overlap, touch, or are too near to touch for GJK to tell."""
    out_of_line()
    start = Found(math.inf, -math.inf, descent.n, descent.n, descent.n, False, 0, math.inf)
    # What the simplex of GJK knows of strata serves the first polish.
    c = difference_support(a, ka, pool_a, b, kb, pool_b, rotation, centre, descent.n, np.int64(0), np.int64(0))
    start = _take(start, descent.n, c)
    ovoid_a, ovoid_b = ka == SUPEROVOID, kb == SUPEROVOID
    closed_a = not ovoid_a and ka != TORUS
    closed_b = not ovoid_b and kb != TORUS
    depth = -math.inf
    if ovoid_a != ovoid_b and ((ovoid_a and closed_b) or (ovoid_b and closed_a)):
        for i in range(2):
            if i == 0:
                n = descent.n
            else:
                n = _core_normal(a, ka, pool_a, b, kb, pool_b, rotation, centre, start.n)
            c = difference_support(a, ka, pool_a, b, kb, pool_b, rotation, centre, n, np.int64(0), np.int64(0))
            start = _take(start, n, c)
            _put(w, 0, c)
            w[0, _WEIGHT] = 1.0
            count = _gather(w, 1)
            local = polish(a, ka, pool_a, b, kb, pool_b, rotation, centre, n, 0.0, w, count)
            c = difference_support(a, ka, pool_a, b, kb, pool_b, rotation, centre, local.n, np.int64(0), np.int64(0))
            if c.h <= start.value:
                rival = min(start.rival, start.value) if _well_away(local.n, start.n) else start.rival
                start = Found(c.h, -math.inf, local.n, c.x, c.y, True, start.spent + 4, rival)
            if ovoid_a:
                depth = max(depth, _ball_depth(a, start.x, start.n, b, kb, pool_b, rotation, centre, ovoid_b))
            else:
                back = scale(-1.0, start.n)
                depth = max(depth, _ball_depth(b, start.y, back, a, ka, pool_a, rotation, centre, ovoid_b))
            if start.value - depth <= goal:
                break
    ball_depth = depth
    if _has_axis(ka) and _has_axis(kb):
        slack = axial_slack(b, rotation, centre)
        if slack <= _NEARLY_COAXIAL * min(a[RADIUS], b[RADIUS]):
            start = _coaxial(a, ka, pool_a, b, kb, pool_b, rotation, centre, start, slack)
            depth = start.value - 2.0 * slack
    if not (start.value - depth <= goal):
        found = search(a, ka, pool_a, b, kb, pool_b, rotation, centre, start, 0.5 * goal, budget, w)
        depth = max(depth, found.proved)
        start = found
    start, whole = settled(a, ka, pool_a, b, kb, pool_b, rotation, centre, start, goal, w)
    distance = -start.value
    upper = margin - depth
    if not (holds_means(a, ka) and holds_means(b, kb)):
        # The hulls' depth bounds the bodies' from above; from below only what lies in the bodies does.
        c = difference_support(a, ka, pool_a, b, kb, pool_b, rotation, centre, start.n, np.int64(0), np.int64(0))
        upper = margin - ball_depth if ball_depth > 0.0 else norm(c.m) + margin
        whole = whole and upper - distance + margin <= goal
    status = 0 if whole else DENT
    if start.rival <= start.value + goal:
        status |= ARBITRARY_NORMAL
    if not (norm(combine(1.0, sub(start.x, start.y), -start.value, start.n)) <= 2.0 * goal):
        status |= NON_UNIQUE  # each is extreme, but they are not a pair
    return Cores(
        distance,
        distance - margin,
        max(distance, upper),
        start.x,
        start.y,
        start.n,
        descent.iterations + start.spent,
        status,
    )


@kernel
def _settle_along(a, ka, pool_a, b, kb, pool_b, rotation, centre, n, goal, w):
    """Mean of support points next to n whose part across n is least: rows of the workspace, how many, what is left.

    Found as GJK finds the nearest point of a simplex, but across n only: from support points of directions tilted so
    little that they lie less than half the goal below the support plane. The last that lies lower follows the
    rows, with no weight.
    """
    out_of_line()
    c = difference_support(a, ka, pool_a, b, kb, pool_b, rotation, centre, n, np.int64(0), np.int64(0))
    least = dot(n, c.m) - 0.5 * goal
    count = rows = 0
    tilt = _TILT
    length = math.inf
    for _ in range(_SETTLING):
        _put(w, count, c)
        across = combine(1.0, c.m, -dot(n, c.m), n)
        w[count, _M], w[count, _M + 1], w[count, _M + 2] = across
        count = rows = nearest_of_simplex(w, count + 1)
        across = _mean(w, count, _M)
        before, length = length, norm(across)
        if count == 4 or length <= 0.02 * goal or not (length < before):
            break
        while tilt > 1e-12:
            tilted = combine(1.0, n, -tilt / length, across)
            tilted = scale(1.0 / norm(tilted), tilted)
            ia, ib = int(w[0, _STRATUM_A]), int(w[0, _STRATUM_B])
            c = difference_support(a, ka, pool_a, b, kb, pool_b, rotation, centre, tilted, ia, ib)
            if dot(n, c.m) >= least:
                break
            if count < 3:
                _put(w, count, c)
                rows = count + 1
            tilt *= 0.1
        if tilt <= 1e-12 or not (dot(across, c.m) < (1.0 - 1e-6) * length * length):
            break
    return count, rows, length


@kernel
def _close_together(w, count, row, kind, column):
    """Whether the mean of the points of a body is a point of it: where it has a dent, of points next to each other."""
    if holds_means(row, kind):
        return True
    mean = _mean(w, count, column)
    for k in range(count):
        if norm(sub(_at(w, k, column), mean)) > 1e-5 * row[RADIUS]:
            return False
    return True


@kernel
def _onto_axis(a, ka, b, kb, rotation, n):
    """The axis of a body with a disc of rim, where a direction is close to it but not on it: a disc is no stratum."""
    for body in range(2):
        kind = ka if body == 0 else kb
        if kind == CYLINDER or kind == CONE or kind == TORUS:
            z = (0.0, 0.0, 1.0) if body == 0 else rotate(rotation, (0.0, 0.0, 1.0))
            z = scale(math.copysign(1.0, dot(n, z)), z)
            d = sub(n, z)
            if 1e-15 < norm(d) < _TILT:
                return True, z
    return False, n


@kernel
def settled(a, ka, pool_a, b, kb, pool_b, rotation, centre, found, goal, w):
    """Give the least h_M found points x of A and y of B with x - y along its direction, to within the goal.

    On a face or an edge of M the support points of one direction lie anywhere; at the minimum h_M n is a mean of some
    of them. Where the direction is not yet precise enough for that, Newton on their strata makes it so.

    Returns the `Found`, and whether its points are those of the bodies, not only of hulls over a dent.
    """
    out_of_line()
    m = sub(found.x, found.y)
    if norm(combine(1.0, m, -found.value, found.n)) <= 0.1 * goal:
        return found, True
    n, value = found.n, found.value
    best = found
    left = math.inf
    whole = False
    for attempt in range(_ATTEMPTS):
        count, rows, length = _settle_along(a, ka, pool_a, b, kb, pool_b, rotation, centre, n, goal, w)
        if length < left:
            left = length
            whole = _close_together(w, count, a, ka, _X) and _close_together(w, count, b, kb, _Y)
            best = Found(
                value,
                found.proved,
                n,
                _mean(w, count, _X),
                _mean(w, count, _Y),
                True,
                found.spent,
                found.rival,
            )
        if length <= 0.5 * goal or attempt == _ATTEMPTS - 1:
            break
        better, other = _onto_axis(a, ka, b, kb, rotation, n)
        if not better:
            count = _gather(w, min(rows, 3))
            other = polish(a, ka, pool_a, b, kb, pool_b, rotation, centre, n, 0.0, w, count).n
        c = difference_support(a, ka, pool_a, b, kb, pool_b, rotation, centre, other, np.int64(0), np.int64(0))
        if not (c.h <= found.value + 0.1 * goal):
            break
        n, value = other, c.h
    return best, whole


@kernel
def _core_normal(a, ka, pool_a, b, kb, pool_b, rotation, centre, n):
    """Direction in which the centre of the superovoid leaves the other core first."""
    if ka == SUPEROVOID:
        _, normal, _, _ = point_to_core(b, kb, pool_b, rotate_back(rotation, scale(-1.0, centre)))
        return scale(-1.0, rotate(rotation, normal))
    _, normal, _, _ = point_to_core(a, ka, pool_a, centre)
    return normal
