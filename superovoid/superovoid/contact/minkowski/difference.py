# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""The Minkowski difference M = A - B of two convex cores (frame of A), for all searches over its directions.

Support points of M with their points of A and B; simplices of them in a workspace; and

gjk       GJK: the point of M nearest to the origin, over growing simplices of support points. Every support point along
          n proves sd >= -h_M(n); apart, the nearest point proves sd <= its distance. Ends if the cores overlap.
polish    Newton for a minimum of h_M at which it is the maximum of a few smooth functions, one for each pair of strata
          (`shapes.kernels.kinds`) among the support points: with tangential parts p_i, values v_i, Hessians H_i, and
          weights l_i that make sum l_i p_i vanish, the step d minimises sum l_i (p_i . d + d . (H_i - v) d / 2) subject
          to all v_i + p_i . d being equal. A vertex against a smooth body is one stratum, an edge two, a face three:
          the constraints pin n to the great circle of an edge, the cone of a ruling, or the normal of a face.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.kernels import inline, kernel
from superovoid.compiled.rows import layout
from superovoid.compiled.vector import (
    Vector,
    add,
    combine,
    cross,
    dot,
    norm,
    put_vector_in,
    rotate,
    rotate_back,
    scale,
    sub,
    tangent_frame,
    vector_in,
)
from superovoid.contact.inputs import MOST_STEPS
from superovoid.contact.separation import rounding_margin
from superovoid.shapes.kernels.kinds import SUPEROVOID, SUPPORT_LOSS, core_support, stratum_point
from superovoid.shapes.kernels.rounding import EPS, ROUNDED
from superovoid.shapes.kernels.support_function import support, support_near
from superovoid.shapes.kernels.surface import RADIUS, position

# A row of a simplex: point of M, of A, of B (frame of A), the two strata, the weight.
SIMPLEX, SIMPLEX_LENGTH = layout(1, m=Vector, x=Vector, y=Vector, stratum_a=float, stratum_b=float, weight=float)
# A workspace has up to five rows of a simplex, then up to three of a bundle (`polish`). It is small enough for the C
# library to hand it out from its cache.
BUNDLE, WORKSPACE_LENGTH = 5, 8

MOST_TURN = 0.5  # rad, of a step of Newton
FINEST = 1e-15  # shortest chord between two directions that a search distinguishes
LOSS = 0.02  # largest deficit of a point of a search, as a share of the gap between bound and h_M
# Chord above which a direction is another one, and not the same refined. If h_M is curved by more than a thousandth
# of the smaller body about a minimum, directions as good as it to within 1e-6 of that body lie closer to it.
WELL_AWAY = 0.05
ALMOST = 0.05  # of a depth: near a direction with a higher h_M by more, no minimum is as low


class Corner(NamedTuple):
    """Support point of M with its points of A and B."""

    m: tuple
    x: tuple  # point of A
    y: tuple  # point of B, in the frame of A
    stratum_a: int
    stratum_b: int
    h: float  # upper bound of h_M if it is proved, otherwise height of m
    height: float  # w and r of the surface point of the superovoid of the pair, if there is one
    radius: float


@kernel(_nrt=True)
def new_workspace():
    """Return scratch for one solve: a simplex and a bundle."""
    return np.empty((WORKSPACE_LENGTH, SIMPLEX_LENGTH))


@kernel
def error_margin(a, b, centre):
    """Bound the errors in a support point of M and in results derived from it: rounding, and hulls of points."""
    return rounding_margin(a, b, centre) + a[SUPPORT_LOSS] + b[SUPPORT_LOSS]


@inline
def _support_of(core, n, near, w, r, loss):
    """As `core_support`, with height and radius of the surface point of a superovoid."""
    if core.kind != SUPEROVOID:
        x, stratum, upper = core_support(core, n)
        return x, stratum, upper, w, r
    if near:
        f = support_near(core.row, n, w, r, loss)
        x = position(core.row, f)
        return x, 0, dot(n, x), f.w, f.r
    f, upper = support(core.row, n)
    return position(core.row, f), 0, upper, f.w, f.r


@kernel
def difference_support(pair, n):
    """Support point of M along a unit vector."""
    return _corner_along(pair, n, False, 0.0, 0.0, 0.0)


@kernel
def difference_point(pair, n, w, r, loss):
    """Do as `difference_support` if any point of M serves: cheaper for superovoids, and `h` is not proved.

    `w` and `r` are height and radius of a surface point of the superovoid close by, if there is one; `loss` is the
    length by which its point may fall short.
    """
    return _corner_along(pair, n, True, w, r, loss)


@kernel
def _corner_along(pair, n, near, w, r, loss):
    rotation, centre = pair.rotation, pair.centre
    x, stratum_a, ha, wa, ra = _support_of(pair.a, n, near, w, r, loss)
    y, stratum_b, hb, wb, rb = _support_of(pair.b, rotate_back(rotation, scale(-1.0, n)), near, w, r, loss)
    y = add(centre, rotate(rotation, y))
    w, r = (wa, ra) if pair.a.kind == SUPEROVOID else (wb, rb)
    return Corner(sub(x, y), x, y, stratum_a, stratum_b, ha + hb - dot(n, centre), w, r)


@kernel
def put(w, k, c):
    """Write a corner to row k."""
    put_vector_in(w, k, SIMPLEX.m, c.m)
    put_vector_in(w, k, SIMPLEX.x, c.x)
    put_vector_in(w, k, SIMPLEX.y, c.y)
    w[k, SIMPLEX.stratum_a], w[k, SIMPLEX.stratum_b], w[k, SIMPLEX.weight] = c.stratum_a, c.stratum_b, 0.0


@kernel
def copy_row(rows, row, to, k):
    """Copy a row to row k of others."""
    for i in range(SIMPLEX_LENGTH):
        to[k, i] = rows[row, i]


@kernel
def mean_point(w, count, column):
    """Weighted mean of a column of points."""
    x = (0.0, 0.0, 0.0)
    for k in range(count):
        x = combine(1.0, x, w[k, SIMPLEX.weight], vector_in(w, k, column))
    return x


@kernel
def mean_points(w, count):
    """Weighted means of the points of A and of B."""
    return mean_point(w, count, SIMPLEX.x), mean_point(w, count, SIMPLEX.y)


# --- nearest point of a simplex ---------------------------------------------------------------------------------


@kernel
def segment_weights(p, q):
    """Return the weights of the point of a segment closest to the origin, and its squared distance."""
    d = sub(q, p)
    length = dot(d, d)
    t = min(1.0, max(0.0, -dot(p, d) / length)) if length > 0.0 else 0.0
    x = combine(1.0 - t, p, t, q)
    return 1.0 - t, t, dot(x, x)


@kernel
def triangle_weights(p, q, r):
    """Return the weights of the point of a triangle nearest to the origin.

    Inside the prism over the triangle the projection on its plane; outside, the nearest point of the three edges.
    """
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
    s, t, best = segment_weights(p, q)
    weights = (s, t, 0.0)
    s, t, square = segment_weights(q, r)
    if square < best:
        best, weights = square, (0.0, s, t)
    s, t, square = segment_weights(r, p)
    return (t, 0.0, s) if square < best else weights


@kernel
def weigh(w, count, target):
    """Weigh the first rows of a workspace, up to three, for the point of their hull nearest to a target."""
    p = sub(vector_in(w, 0, SIMPLEX.m), target)
    q = sub(vector_in(w, 1, SIMPLEX.m), target) if count > 1 else p
    if count < 3:
        w[0, SIMPLEX.weight], w[1, SIMPLEX.weight], _ = segment_weights(p, q)
    else:
        r = sub(vector_in(w, 2, SIMPLEX.m), target)
        w[0, SIMPLEX.weight], w[1, SIMPLEX.weight], w[2, SIMPLEX.weight] = triangle_weights(p, q, r)


@kernel
def tetrahedron_weights(p, q, r, s):
    """Return the weights of the origin in a tetrahedron, and the distance by which the point of the weights misses it.

    The barycentric coordinates of the origin from the normals of three faces, refined once by what their point misses
    it by, with those below 0 set to 0. Weights of a tetrahedron without volume are those of a corner.
    """
    u, v, t = sub(q, p), sub(r, p), sub(s, p)
    nq, nr, ns = cross(v, t), cross(t, u), cross(u, v)
    volume = dot(nq, u)
    wp, wq, wr, ws, x = 1.0, 0.0, 0.0, 0.0, p
    if volume == 0.0:
        return wp, wq, wr, ws, norm(x)
    for _ in range(2):
        wq = max(0.0, wq - dot(nq, x) / volume)
        wr = max(0.0, wr - dot(nr, x) / volume)
        ws = max(0.0, ws - dot(ns, x) / volume)
        wp = max(0.0, 1.0 - wq - wr - ws)
        whole = wp + wq + wr + ws
        wp, wq, wr, ws = wp / whole, wq / whole, wr / whole, ws / whole
        x = add(combine(wp, p, wq, q), combine(wr, r, ws, s))
    return wp, wq, wr, ws, norm(x)


@kernel(separate=True)
def nearest_of_simplex(w, count):
    """Weigh the rows of a simplex for its point nearest to the origin and drop the rows without weight.

    Returns how many are left; 4 means that the origin is inside, to rounding. Rounding decides the signs of the volumes
    of a thin tetrahedron.
    """
    if count < 4:
        weigh(w, count, (0.0, 0.0, 0.0))
    else:
        corners = (
            vector_in(w, 0, SIMPLEX.m),
            vector_in(w, 1, SIMPLEX.m),
            vector_in(w, 2, SIMPLEX.m),
            vector_in(w, 3, SIMPLEX.m),
        )
        faces = ((0, 1, 2, 3), (0, 1, 3, 2), (0, 2, 3, 1), (1, 2, 3, 0))
        best = math.inf
        for every in range(2):  # of a thin tetrahedron that does not hold the origin, every face
            for f in range(4):
                i, j, k, opposite = faces[f]
                pi, pj, pk = corners[i], corners[j], corners[k]
                normal = cross(sub(pj, pi), sub(pk, pi))
                if every == 0 and dot(normal, sub(corners[opposite], pi)) * dot(normal, pi) < 0.0:
                    continue  # the origin is on the side of the opposite corner
                s, t, u = triangle_weights(pi, pj, pk)
                x = add(combine(s, pi, t, pj), scale(u, pk))
                if dot(x, x) < best:
                    best = dot(x, x)
                    w[i, SIMPLEX.weight], w[j, SIMPLEX.weight], w[k, SIMPLEX.weight], w[opposite, SIMPLEX.weight] = (
                        s,
                        t,
                        u,
                        0.0,
                    )
            if best < math.inf:
                break
            w0, w1, w2, w3, missed = tetrahedron_weights(*corners)
            if missed <= ROUNDED * max(norm(corners[0]), norm(corners[1]), norm(corners[2]), norm(corners[3])):
                w[0, SIMPLEX.weight], w[1, SIMPLEX.weight], w[2, SIMPLEX.weight], w[3, SIMPLEX.weight] = w0, w1, w2, w3
                return 4
    left = 0
    for k in range(count):
        if w[k, SIMPLEX.weight] > 0.0:
            if left < k:
                copy_row(w, k, w, left)
            left += 1
    return left


@kernel
def simplex_direction(w, count, v):
    """Direction from A to B for the nearest point v of a simplex: of three points the normal of their plane."""
    if count == 3:
        p = vector_in(w, 0, SIMPLEX.m)
        normal = cross(sub(vector_in(w, 1, SIMPLEX.m), p), sub(vector_in(w, 2, SIMPLEX.m), p))
        length = norm(normal)
        if length > 0.0:
            return scale((-1.0 if dot(normal, p) > 0.0 else 1.0) / length, normal)
    return scale(-1.0 / norm(v), v)


# --- GJK ----------------------------------------------------------------------------------------------------------


class Descent(NamedTuple):
    """State of GJK at its end."""

    count: int  # type: ignore[assignment] # hides tuple.count; rows of the simplex in the workspace
    lower: float  # largest proved -h_M, and its direction
    n: tuple
    upper: float  # distance of the nearest point of the simplex
    overlap: bool
    stalled: bool
    iterations: int


@kernel
def gjk_start(n):
    """Return the state in which GJK starts, with a direction."""
    return Descent(0, -math.inf, n, math.inf, False, False, 0)


@kernel
def gjk(pair, start, goal, near, beyond, w, limit, roughly):
    """GJK over a simplex in the workspace (its `count` rows are kept).

    Stops if the interval is closed, the cores overlap, nothing moves, the distance is proved to be less than
    `near`, or the lower bound exceeds `beyond`. `roughly` takes points near to support points, which prove no lower
    bound unless it may exceed `beyond`.
    """
    a = pair.a.row
    b = pair.b.row
    count, lower, best, upper = start.count, start.lower, start.n, start.upper
    n = start.n
    if count > 0:
        v = mean_point(w, count, SIMPLEX.m)
        length = norm(v)
        if length > 0.0:
            n = scale(-1.0 / length, v)
    iterations = start.iterations
    c = Corner(n, n, n, 0, 0, 0.0, 0.0, 1.0)
    for _ in range(limit):
        iterations += 1
        rough = roughly and iterations > start.iterations + 1
        if rough:
            loss = LOSS * min(upper, a[RADIUS], b[RADIUS])
            c = difference_point(pair, n, c.height, c.radius, loss)
        if not rough or -c.h > beyond:
            rough = False
            c = difference_support(pair, n)
        if not rough and -c.h > lower:
            lower, best = -c.h, n
        if upper - lower <= goal or lower > beyond:
            return Descent(count, lower, best, upper, False, False, iterations)
        for k in range(count):
            if w[k, SIMPLEX.m] == c.m[0] and w[k, SIMPLEX.m + 1] == c.m[1] and w[k, SIMPLEX.m + 2] == c.m[2]:
                return Descent(count, lower, best, upper, False, True, iterations)
        for k in range(count):
            copy_row(w, k, w, BUNDLE + k)
        former = count
        put(w, count, c)
        count = nearest_of_simplex(w, count + 1)
        v = mean_point(w, count, SIMPLEX.m)
        length = norm(v)
        if count == 4 or not (length > 0.25 * goal):
            upper = min(upper, length)
            if count == 3:
                # The origin is in the plane of three points: its normal is the direction of bodies that touch.
                n = simplex_direction(w, count, v)
                for sign in (1.0, -1.0):
                    c = difference_support(pair, scale(sign, n))
                    if -c.h > lower:
                        lower, best = -c.h, scale(sign, n)
            return Descent(count, lower, best, upper, not (upper - lower <= goal), False, iterations)
        if not (length < upper):  # a thin simplex, which rounding decides about: the one before is nearer
            for k in range(former):
                copy_row(w, BUNDLE + k, w, k)
            return Descent(former, lower, best, upper, False, True, iterations)
        upper = length
        n = simplex_direction(w, count, v)
        if upper < near:
            return Descent(count, lower, best, upper, False, True, iterations)
    return Descent(count, lower, best, upper, False, False, iterations)


# --- polish -----------------------------------------------------------------------------------------------------


@kernel
def gather(w, count):
    """Copy one row for each pair of strata of a simplex behind it; returns how many (at most 3)."""
    found = 0
    for k in range(count):
        known = False
        for j in range(found):
            row = BUNDLE + j
            if (
                w[row, SIMPLEX.stratum_a] == w[k, SIMPLEX.stratum_a]
                and w[row, SIMPLEX.stratum_b] == w[k, SIMPLEX.stratum_b]
            ):
                known = True
                w[row, SIMPLEX.weight] += w[k, SIMPLEX.weight]
        if not known and found < 3:
            copy_row(w, k, w, BUNDLE + found)
            found += 1
    return found


class LocalMinimum(NamedTuple):
    """A local minimum of h_M: direction, points, proved h_M."""

    n: tuple
    x: tuple
    y: tuple
    h: float
    gap: float  # length of x - y less h n


@kernel
def newton_turn(n, t1, t2, count, hessian, value, mean, q, r):
    """Turn a direction by a Newton step for the minimum of the largest h_s of a bundle of strata.

    Parameters
    ----------
    t1, t2
        The tangent frame of n in which the Hessian is.
    count
        How many strata the bundle has.
    hessian
        Entries 11, 12, 22 of the weighted Hessian of the h_s.
    value
        The largest h_s.
    mean
        Weighted point of the strata.
    q, r
        Points of the second and third stratum less that of the first, along which the h_s are equal.

    Returns
    -------
    Whether there is a step, and the direction.
    """
    w11, w12, w22 = hessian
    w11 -= value
    w22 -= value
    p1, p2 = dot(mean, t1), dot(mean, t2)
    if count == 1:
        det = w11 * w22 - w12 * w12
        if not (det > 0.0 and w11 + w22 > 0.0):
            # Curved less than the depth: no minimum here. Without the curvature of the sphere there may be one.
            w11, w22 = w11 + value, w22 + value
            det = w11 * w22 - w12 * w12
            if not (det > 0.0 and w11 + w22 > 0.0):
                return False, n
        d1 = -(w22 * p1 - w12 * p2) / det
        d2 = -(w11 * p2 - w12 * p1) / det
    else:
        q1, q2, q0 = dot(q, t1), dot(q, t2), dot(q, n)
        length = q1 * q1 + q2 * q2
        if not (length > 0.0):
            return False, n
        if count == 2:
            f1, f2 = -q0 * q1 / length, -q0 * q2 / length
            s1, s2 = -q2, q1
            bend = s1 * (w11 * s1 + w12 * s2) + s2 * (w12 * s1 + w22 * s2)
            push = s1 * (p1 + w11 * f1 + w12 * f2) + s2 * (p2 + w12 * f1 + w22 * f2)
            along = -push / bend if bend > 0.0 else 0.0
            d1, d2 = f1 + along * s1, f2 + along * s2
        else:
            r1, r2, r0 = dot(r, t1), dot(r, t2), dot(r, n)
            det = q1 * r2 - q2 * r1
            if not (abs(det) > 1e-14 * math.sqrt(length * (r1 * r1 + r2 * r2))):
                return False, n
            d1 = (-q0 * r2 + r0 * q2) / det
            d2 = (-r0 * q1 + q0 * r1) / det
    turn = math.hypot(d1, d2)
    if not (turn < 1e30) or turn < 1e-18:
        return False, n
    part = min(1.0, MOST_TURN / turn)
    n = add(n, combine(part * d1, t1, part * d2, t2))
    return True, scale(1.0 / norm(n), n)


@kernel
def polish(pair, n, apart, w, count):
    """Newton from a direction for the minimum of h_M on the bundle of `count` strata in the workspace.

    Returns the last direction before the residual of stationarity grows. `apart` is 1.0 for separate cores and 0.0 for
    overlapping ones.
    """
    a, b, rotation, centre = pair.a.row, pair.b.row, pair.rotation, pair.centre
    best = LocalMinimum(n, n, n, math.inf, math.inf)
    w = w[BUNDLE:]
    exact = 2.0 * EPS * (a[RADIUS] + b[RADIUS] + norm(centre))
    for _ in range(MOST_STEPS):
        t1, t2 = tangent_frame(n)
        m = rotate_back(rotation, scale(-1.0, n))
        b1, b2 = rotate_back(rotation, t1), rotate_back(rotation, t2)
        w11 = w12 = w22 = 0.0
        # Points and Hessians of the strata; the weights of the step before weigh the Hessians.
        for k in range(count):
            x, a11, a12, a22 = stratum_point(pair.a, int(w[k, SIMPLEX.stratum_a]), n, t1, t2)
            # The Hessian of h_B(-n): both signs of the second derivative cancel.
            y, c11, c12, c22 = stratum_point(pair.b, int(w[k, SIMPLEX.stratum_b]), m, b1, b2)
            y = add(centre, rotate(rotation, y))
            put_vector_in(w, k, SIMPLEX.m, sub(x, y))
            put_vector_in(w, k, SIMPLEX.x, x)
            put_vector_in(w, k, SIMPLEX.y, y)
            share = w[k, SIMPLEX.weight]
            w11 += share * (a11 + c11)
            w12 += share * (a12 + c12)
            w22 += share * (a22 + c22)
        m0 = vector_in(w, 0, SIMPLEX.m)
        value = dot(m0, n)
        for k in range(1, count):
            value = max(value, dot(vector_in(w, k, SIMPLEX.m), n))
        weigh(w, count, scale(0.0 if apart == 1.0 else value, n))
        mean = mean_point(w, count, SIMPLEX.m)
        gap = norm(combine(1.0, mean, -dot(mean, n), n)) + abs(value - dot(mean, n))
        if not (gap < best.gap):
            break
        x, y = mean_points(w, count)
        best = LocalMinimum(n, x, y, value, gap)
        if gap <= exact:
            break
        q = sub(vector_in(w, 1, SIMPLEX.m), m0) if count > 1 else m0
        r = sub(vector_in(w, 2, SIMPLEX.m), m0) if count > 2 else m0
        goes_on, n = newton_turn(n, t1, t2, count, (w11, w12, w22), value, mean, q, r)
        if not goes_on:
            break
    return best


# --- what a search finds ------------------------------------------------------------------------------------------


class SearchResult(NamedTuple):
    """Result of a search, with its proof."""

    value: float  # smallest h_M found
    proved: float  # lower bound of h_M over the sphere
    n: tuple
    x: tuple
    y: tuple
    polished: bool
    spent: int
    rival: float  # smallest h_M met in a direction well away from n


@kernel
def are_well_apart(n, other):
    """Return whether two directions are farther apart than the extent of one minimum."""
    d = sub(n, other)
    return dot(d, d) > WELL_AWAY * WELL_AWAY


@kernel
def _update(found, n, h, x, y, is_better, is_polished, spent):
    away, spent = are_well_apart(n, found.n), found.spent + spent
    if is_better:
        rival = min(found.rival, found.value) if away else found.rival
        return SearchResult(min(h, found.value), found.proved, n, x, y, is_polished, spent, rival)
    rival = min(found.rival, h) if away else found.rival
    return SearchResult(found.value, found.proved, found.n, found.x, found.y, found.polished, spent, rival)


@kernel
def keep_better(found, n, c):
    """Return the better of the result and a corner at direction n."""
    return _update(found, n, c.h, c.x, c.y, c.h < found.value, False, 1)


@kernel
def polish_result(pair, n, rows, found, w):
    """Return the least h_M: the one found, or that of Newton's method on the strata of some rows of a workspace."""
    for k in range(rows):
        w[k, SIMPLEX.weight] = 1.0 / rows
    local = polish(pair, n, 0.0, w, gather(w, rows))
    c = difference_support(pair, local.n)
    x, y = (local.x, local.y) if local.h >= c.h - 1e-9 * abs(c.h) else (c.x, c.y)
    return _update(found, local.n, c.h, x, y, c.h <= found.value + local.gap * EPS, True, 4)
