# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Cores of vertices and rims (cylinders, cones, hulls of vertices) as strata: points, Newton, and a proof about it.

A stratum of M = A - B is a vertex or a rim of A less one of B. Its support function, with P the projection on the plane
of a rim of radius R and x0 the rest, is

    h_s(n) = sum_rims R |P n| + x0 . n  <=  h_M(n),   grad h_s = m_s(n), a point of M,
    Hessian of h_s = sum_rims R / |P n| f f',   f unit, in the plane of the rim, across n.

newton   The minimum of the maximum of up to three h_s on the sphere (as `difference.polish`, which works in memory).

**Proof of a depth in a cap.** Let the weights w_s >= 0, sum 1, make sum w_s m_s = v n + r with r across n. For a vector
t across n, with u = |P n| + e . t, e unit, the part of P (n + t) along P n, and f . t the part across it,

    R |P (n + t)| - R |P n| - R e . t = R (f . t)^2 / (|P (n + t)| + u) >= R (f . t)^2 / (2 (|P n| + |t|)) = C(t),

so that, with v' the least h_s(n), h_M(n + t) >= v' + r . t + sum w_s C_s(t): there is no less than v' - |r| T in the
cap |t| <= T, divided by |n + t|, if for these t the rest is at least v |t|^2 / 2 >= v (|n + t| - 1). The weights may
be changed with t, which counts where several strata meet:

two      with a share z of the lesser weight moved to the better: + z |q . t| >= z (q . t)^2 / (|q| T), q = m_2 - m_1
three    the largest of the three linear parts is at least rho |t|, rho the distance of the mean from the edges of the
         triangle of the m_s across n
disc     a vertex or a rim y facing the disc of a rim, along its axis n: m = (p, v) with |p| < R across n, and the disc
         has R |t|, of which p . t takes |p| |t|: rho = R - |p|
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import (
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
from superovoid.contact.convex.features import (
    corner_for_sure,
    has_rim,
    is_rimmed,
    length_across,
    vertex_of,
)
from superovoid.contact.minkowski.difference import newton_turn, segment_weights, triangle_weights
from superovoid.shapes.kernels.kinds import CYLINDER, rim_point
from superovoid.shapes.kernels.rounding import EPS
from superovoid.shapes.kernels.surface import A1, A3, RADIUS

_NEWTON = 12  # steps
_NEARLY = 1e-7  # of the distance: what may be left of stationarity apart
_ALONG_AXIS = 1e-7  # |P n| below which a rim has no direction
_ON_AXIS = 1e-140  # |P n| whose square is lost
_SHARE = (
    0.25  # of the lesser of two weights, that is moved in a cap of the size 1, and by its square root less in others
)
_CAPS = 8  # sizes of a cap that are tried, from the first, each half of the one before
_FIRST_CAP = 0.5
_MORE = 1.0 + 1e-9  # curvature than is needed, for what it rounds


# --- strata -------------------------------------------------------------------------------------------------------


class Spot(NamedTuple):
    """A stratum of M at a direction: its point, and what its rims bend by."""

    m: tuple
    x: tuple
    y: tuple
    bend_a: float  # R / |P n|; 0 for a vertex
    across_a: float  # |P n|
    f_a: tuple
    bend_b: float
    across_b: float
    f_b: tuple


@kernel(forceinline=True)
def _stratum(core, stratum, n):
    """Point of a stratum, and R / |P n|, |P n| and f of its rim."""
    row = core.row
    if has_rim(core, stratum):
        across = length_across(n)
        x = rim_point(row, core.kind, stratum, n, across)
        if across <= _ALONG_AXIS:
            return x, math.inf, across, n
        return x, row[A1] / across, across, (-n[1] / across, n[0] / across, 0.0)
    return vertex_of(core, stratum), 0.0, 1.0, n


@kernel
def _spot(pair, name, n, inward):
    out_of_line()
    x, bend_a, across_a, f_a = _stratum(pair.a, name >> 32, n)
    y, bend_b, across_b, f_b = _stratum(pair.b, name & 0xFFFFFFFF, inward)
    y = add(pair.centre, rotate(pair.rotation, y))
    if bend_b > 0.0:
        f_b = rotate(pair.rotation, f_b)
    return Spot(sub(x, y), x, y, bend_a, across_a, f_a, bend_b, across_b, f_b)


class Bundle(NamedTuple):
    """Up to three strata of M, by the names of both theirs, with weights."""

    count: int  # type: ignore[assignment] # a number of strata, not the method of tuples
    names: tuple
    weights: tuple


@kernel
def bundle_of(count, names, weights):
    """Strata of up to three points, each once."""
    i, j, k = names
    u, v, w = weights
    if count == 3 and k == i:
        u, count = u + w, 2
    elif count == 3 and k == j:
        v, count = v + w, 2
    if count >= 2 and j == i:
        u += v
        j, v = k, w
        count -= 1
    return Bundle(count, (i, j, k), (u, v, w))


@kernel
def bundle_without_idle(count, names, weights):
    """`bundle_of` the points that have a weight."""
    i, j, k = names
    u, v, w = weights
    if count == 3 and w <= 0.0:
        count = 2
    if count >= 2 and v <= 0.0:
        j, v = k, w
        count -= 1
    if count >= 2 and u <= 0.0:
        i, u, j, v = j, v, k, w
        count -= 1
    return bundle_of(count, (i, j, k), (u, v, w))


@kernel
def holds(bundle, name):
    """Whether a stratum is one of a bundle."""
    i, j, k = bundle.names
    return name == i or (bundle.count > 1 and name == j) or (bundle.count > 2 and name == k)


@kernel
def with_stratum(bundle, weights, name):
    """A bundle of new weights with one more stratum: in place of the first of those without weight, else the least."""
    if holds(bundle, name):
        return bundle
    count, (i, j, k), _ = bundle
    u, v, w = weights
    if count == 1:
        return Bundle(2, (i, name, k), (0.5, 0.5, 0.0))
    if count == 2:
        if u <= 0.0:
            return Bundle(2, (name, j, k), (0.5, 0.5, 0.0))
        if v <= 0.0:
            return Bundle(2, (i, name, k), (0.5, 0.5, 0.0))
        return Bundle(3, (i, j, name), (u, v, 0.5))
    if u <= v and u <= w:
        return Bundle(3, (name, j, k), (0.5, v, w))
    if v <= w:
        return Bundle(3, (i, name, k), (u, 0.5, w))
    return Bundle(3, (i, j, name), (u, v, 0.5))


class Local(NamedTuple):
    """Where Newton has ended: a direction and points of both bodies whose difference is nearly along it."""

    n: tuple
    x: tuple
    y: tuple
    value: float  # largest h_s
    gap: float  # length of what x - y lacks to value n
    weights: tuple


@kernel
def weights_to(count, p, q, r):
    """Weights of that point of the hull of so many points that is nearest to the origin."""
    if count == 1:
        return (1.0, 0.0, 0.0)
    if count == 2:
        s, t = segment_weights(p, q)
        return (s, t, 0.0)
    return triangle_weights(p, q, r)


@kernel
def _mean(weights, p, q, r):
    return add(combine(weights[0], p, weights[1], q), scale(weights[2], r))


@kernel(forceinline=True)
def _hessian(spot, share, t1, t2):
    """Hessian of a stratum in a tangent frame, times a weight."""
    a1, a2 = dot(spot.f_a, t1), dot(spot.f_a, t2)
    b1, b2 = dot(spot.f_b, t1), dot(spot.f_b, t2)
    a, b = share * spot.bend_a, share * spot.bend_b
    return a * a1 * a1 + b * b1 * b1, a * a1 * a2 + b * b1 * b2, a * a2 * a2 + b * b2 * b2


@kernel(forceinline=True)
def _on_rim(core, stratum, v):
    """Point of a rim that is nearest to a point outside the cylinder through it, and whether the point is."""
    radius, across = core.row[A1], length_across(v)
    if not across > radius:
        return v, False
    part = radius / across
    return (part * v[0], part * v[1], core.row[A3] if core.kind == CYLINDER and stratum == 0 else -core.row[A3]), True


@kernel(forceinline=True)
def _vertex_to_rim(pair, i, j, n):
    """Nearest points of a vertex and a rim, or of two vertices."""
    is_outside = True
    if has_rim(pair.a, i):
        y = add(pair.centre, rotate(pair.rotation, vertex_of(pair.b, j)))
        x, is_outside = _on_rim(pair.a, i, y)
    else:
        x = vertex_of(pair.a, i)
        local = rotate_back(pair.rotation, sub(x, pair.centre))
        y = vertex_of(pair.b, j)
        if has_rim(pair.b, j):
            y, is_outside = _on_rim(pair.b, j, local)
        y = add(pair.centre, rotate(pair.rotation, y))
    u = sub(y, x)
    length = norm(u)
    if not (is_outside and length > 0.0):
        return Local(n, x, y, math.inf, math.inf, (1.0, 0.0, 0.0))
    return Local(scale(1.0 / length, u), x, y, -length, 0.0, (1.0, 0.0, 0.0))


@kernel
def nearest_on_one(pair, name, n):
    """Newton for the direction of two cores apart that is the line of the points of one stratum, as `newton`.

    With D the distance, p what the point of M has across n, and H the Hessian of `_hessian`, the step t solves
    (H + D) t = -p: D t = -p - a (f_a . t) f_a - b (f_b . t) f_b, where f_a . t and f_b . t solve a system of two. A
    vertex and a rim have a closed form.
    """
    out_of_line()
    best = Local(n, n, n, math.inf, math.inf, (1.0, 0.0, 0.0))
    i, j = name >> 32, name & 0xFFFFFFFF
    if not has_rim(pair.a, i) or not has_rim(pair.b, j):
        return _vertex_to_rim(pair, i, j, n)
    for _ in range(_NEWTON):
        inward = rotate_back(pair.rotation, scale(-1.0, n))
        x, bend_a, _, f_a = _stratum(pair.a, i, n)
        y, bend_b, _, f_b = _stratum(pair.b, j, inward)
        y = add(pair.centre, rotate(pair.rotation, y))
        m = sub(x, y)
        value = dot(n, m)
        p = combine(1.0, m, -value, n)
        gap = norm(p)
        if not gap < best.gap or max(bend_a, bend_b) == math.inf:
            break
        best = Local(n, x, y, value, gap, (1.0, 0.0, 0.0))
        if gap <= _NEARLY * -value or not value < 0.0:
            break
        per = -1.0 / value
        u, v = dot(f_a, p), 0.0
        cosine = 0.0
        if bend_b > 0.0:
            f_b = rotate(pair.rotation, f_b)
            v, cosine = dot(f_b, p), dot(f_a, f_b)
        if bend_a == 0.0:
            u = cosine = 0.0
        aa, bb = bend_a * per, bend_b * per
        det = (1.0 + aa) * (1.0 + bb) - aa * bb * cosine * cosine
        s = -per * (u * (1.0 + bb) - v * bb * cosine) / det
        t = -per * (v * (1.0 + aa) - u * aa * cosine) / det
        n = add(combine(1.0, n, -per, p), combine(-aa * s, f_a, -bb * t, f_b))
        n = scale(1.0 / norm(n), n)
    return best


@kernel(separate=True)
def newton(pair, bundle, n, apart):
    """The minimum of the largest h_s of a bundle from a direction, judged by what is left of stationarity."""
    out_of_line()
    count, names, _ = bundle
    best = Local(n, n, n, math.inf, math.inf, bundle.weights)
    # Apart, the line of the points found is the direction, and an error of it counts by its square.
    exact = 2.0 * EPS * (pair.a.row[RADIUS] + pair.b.row[RADIUS] + norm(pair.centre))
    for _ in range(_NEWTON):
        inward = rotate_back(pair.rotation, scale(-1.0, n))
        one = _spot(pair, names[0], n, inward)
        two = _spot(pair, names[1], n, inward) if count > 1 else one
        three = _spot(pair, names[2], n, inward) if count > 2 else one
        if max(one.bend_a, one.bend_b, two.bend_a, two.bend_b, three.bend_a, three.bend_b) == math.inf:
            break
        p, q, r = one.m, two.m, three.m
        value = max(dot(n, p), dot(n, q), dot(n, r))
        target = scale(0.0 if apart else value, n)
        weights = weights_to(count, sub(p, target), sub(q, target), sub(r, target))
        mean = _mean(weights, p, q, r)
        along = dot(n, mean)
        gap = norm(combine(1.0, mean, -along, n)) + abs(value - along)
        if not gap < best.gap:
            break
        x, y = _mean(weights, one.x, two.x, three.x), _mean(weights, one.y, two.y, three.y)
        best = Local(n, x, y, value, gap, weights)
        if gap <= exact or (apart and gap <= _NEARLY * -value):
            break
        t1, t2 = tangent_frame(n)
        w11, w12, w22 = _hessian(one, weights[0], t1, t2)
        if count > 1:
            a11, a12, a22 = _hessian(two, weights[1], t1, t2)
            w11, w12, w22 = w11 + a11, w12 + a12, w22 + a22
        goes_on, n = newton_turn(n, t1, t2, count, (w11, w12, w22), value, mean, sub(q, p), sub(r, p))
        if not goes_on:
            break
    return best


# --- discs --------------------------------------------------------------------------------------------------------


@kernel
def disc_along(core, n, share):
    """Sign of the axis that is the normal of a disc of a core, if n is within a share of it; 0 if none is."""
    if is_rimmed(core.kind) and abs(n[2]) >= share:
        if n[2] < 0.0:
            return -1.0
        return 1.0 if core.kind == CYLINDER else 0.0
    return 0.0


class Disc(NamedTuple):
    """A disc of one core that faces the other's point y; points in the frame of A."""

    n: tuple
    x: tuple
    y: tuple
    value: float  # h_M(n)
    rest: float  # R - |p| (module docstring); less than 0: y is beside the disc


@kernel
def _towards_axis(pair, of_b, sign, first, bundle, slack):
    """Point of a face or an edge that faces a disc, as near to its axis as a few support points tell.

    In the frame of the disc; `first` is one of them.
    """
    out_of_line()
    rotation, centre = pair.rotation, pair.centre
    other = pair.a if of_b else pair.b
    if is_rimmed(other.kind):
        # Disc on disc.
        z = rotate_back(rotation, (0.0, 0.0, 1.0)) if of_b else rotate(rotation, (0.0, 0.0, 1.0))
        lift = length_across(z) * other.row[A1]  # of points of the other disc over its centre, at most
        end = math.copysign(other.row[A3], -sign * z[2])
        if lift > slack or not has_rim(other, 1 if end < 0.0 else 0):
            return first
        c = (0.0, 0.0, end)
        c = rotate_back(rotation, sub(c, centre)) if of_b else add(centre, rotate(rotation, c))
        beside = length_across(c)
        part = max(0.0, 1.0 - other.row[A1] / beside) if beside > 0.0 else 0.0
        return (part * c[0], part * c[1], c[2] + sign * lift)
    near, y, z = 1, first, first
    for k in range(bundle.count):
        name = bundle.names[k]
        v = vertex_of(other, name >> 32 if of_b else name & 0xFFFFFFFF)
        v = rotate_back(rotation, sub(v, centre)) if of_b else add(centre, rotate(rotation, v))
        if abs(v[2] - first[2]) <= slack and near < 3 and not (v[0] == first[0] and v[1] == first[1]):
            if near == 1:
                y = v
            else:
                z = v
            near += 1
    flat = (first[0], first[1], 0.0), (y[0], y[1], 0.0), (z[0], z[1], 0.0)
    return _mean(weights_to(near, *flat), first, y, z)


@kernel
def facing_disc(pair, of_b, sign, a, b, bundle, slack):
    """What a disc faces along the axis of A, or of B, for the sign of that axis from A to B.

    `bundle` are strata that may face it too, where they are no more than `slack` lower.
    """
    out_of_line()
    rotation, centre = pair.rotation, pair.centre
    axis = (0.0, 0.0, sign)
    n = scale(-1.0, rotate(rotation, axis)) if of_b else axis
    c = corner_for_sure(pair, n, a, b)
    # In the frame of the disc, whose axis points outwards.
    row = pair.b.row if of_b else pair.a.row
    p = rotate_back(rotation, sub(c.x, centre)) if of_b else c.y
    if not length_across(p) < row[A1]:
        p = _towards_axis(pair, of_b, sign, p, bundle, slack)
    foot = (p[0], p[1], sign * row[A3])
    rest = row[A1] - length_across(p)
    if of_b:
        return Disc(n, add(centre, rotate(rotation, p)), add(centre, rotate(rotation, foot)), c.h, rest)
    return Disc(n, foot, p, c.h, rest)


# --- proof of a depth in a cap ------------------------------------------------------------------------------------


class Cap(NamedTuple):
    """Directions within an angle of n along none of which M ends before `least`; tangent 0: none are known."""

    n: tuple
    tangent: float
    least: float


@kernel
def no_cap(n):
    """The cap of no directions."""
    return Cap(n, 0.0, math.inf)


@kernel
def cap_of_disc(disc):
    """The cap of a disc that faces a point."""
    if not (disc.rest > 0.0 and disc.value > 0.0):
        return no_cap(disc.n)
    tangent = min(1.0, 1.99 * disc.rest / disc.value)
    # x - y is along n but for what it rounds.
    m = sub(disc.x, disc.y)
    along = dot(disc.n, m)
    off = norm(combine(1.0, m, -along, disc.n))
    return Cap(disc.n, tangent, min(along, disc.value) - off * tangent)


@kernel(forceinline=True)
def _bent(spot, share, tangent, t1, t2):
    """Matrix of 2 C(t) of a stratum in a tangent frame, times a weight."""
    a1, a2 = dot(spot.f_a, t1), dot(spot.f_a, t2)
    b1, b2 = dot(spot.f_b, t1), dot(spot.f_b, t2)
    a = share * spot.bend_a * spot.across_a / (spot.across_a + tangent)
    b = share * spot.bend_b * spot.across_b / (spot.across_b + tangent)
    return a * a1 * a1 + b * b1 * b1, a * a1 * a2 + b * b1 * b2, a * a2 * a2 + b * b2 * b2


@kernel
def _edge_distance(p, q):
    """Distance of the origin from the line through two points of the plane, on the left of it."""
    length = math.sqrt((q[0] - p[0]) ** 2 + (q[1] - p[1]) ** 2)
    return (p[0] * q[1] - p[1] * q[0]) / length if length > 0.0 else 0.0


@kernel
def cap_of(pair, bundle, local):
    """The largest of a few caps about a minimum of a bundle (module docstring)."""
    out_of_line()
    n, value, (u, v, w) = local.n, local.value, local.weights
    count, names, _ = bundle
    inward = rotate_back(pair.rotation, scale(-1.0, n))
    one = _spot(pair, names[0], n, inward)
    two = _spot(pair, names[1], n, inward) if count > 1 else one
    three = _spot(pair, names[2], n, inward) if count > 2 else one
    if max(one.bend_a, one.bend_b, two.bend_a, two.bend_b, three.bend_a, three.bend_b) == math.inf or not value > 0.0:
        return no_cap(n)
    t1, t2 = tangent_frame(n)
    mean = _mean(local.weights, one.m, two.m, three.m)
    off = norm(combine(1.0, mean, -dot(n, mean), n))
    p, q, r = sub(one.m, mean), sub(two.m, mean), sub(three.m, mean)
    p2, q2, r2 = (dot(p, t1), dot(p, t2)), (dot(q, t1), dot(q, t2)), (dot(r, t1), dot(r, t2))
    if count == 3 and min(u, v, w) > 0.0:
        least = min(dot(n, one.m), dot(n, two.m), dot(n, three.m))
        d1, d2, d3 = _edge_distance(p2, q2), _edge_distance(q2, r2), _edge_distance(r2, p2)
        rest = max(min(d1, d2, d3), min(-d1, -d2, -d3))
        if rest > 0.0:
            tangent = min(1.0, 1.99 * rest / value)
            return Cap(n, tangent, least - off * tangent)
    # Of three with one that has no weight, the other two.
    if count == 3 and w > 0.0:
        if u <= 0.0:
            one, u, p2 = three, w, r2
        elif v <= 0.0:
            two, v, q2 = three, w, r2
        else:
            return no_cap(n)
    alone = count == 1 or u <= 0.0 or v <= 0.0
    if alone and count > 1 and v > 0.0:
        one, u = two, v
    least = dot(n, one.m) if alone else min(dot(n, one.m), dot(n, two.m))
    tangent = _FIRST_CAP
    for _ in range(_CAPS):
        if alone:
            w11, w12, w22 = _bent(one, u, tangent, t1, t2)
        else:
            share = _SHARE * math.sqrt(tangent)
            w11, w12, w22 = _bent(one, (1.0 - share) * u, tangent, t1, t2)
            a11, a12, a22 = _bent(two, (1.0 - share) * v, tangent, t1, t2)
            e1, e2 = q2[0] - p2[0], q2[1] - p2[1]
            length = math.sqrt(e1 * e1 + e2 * e2)
            pull = 2.0 * share * min(u, v) / (length * tangent) if length > 0.0 else 0.0
            w11, w12, w22 = w11 + a11 + pull * e1 * e1, w12 + a12 + pull * e1 * e2, w22 + a22 + pull * e2 * e2
        w11 -= _MORE * value
        w22 -= _MORE * value
        if w11 >= 0.0 and w22 >= 0.0 and w11 * w22 >= _MORE * w12 * w12:
            return Cap(n, tangent, least - off * tangent)
        tangent *= 0.5
    return no_cap(n)


@kernel
def height_with_cap(cap, normal, height):
    """Least length of a point of a triangle in directions that are not in a cap.

    `normal` is a unit vector along which no corner of the triangle has less than `height`: a point of it in a direction
    at the angle e from that is no nearer than height / cos e.
    """
    if not (cap.tangent > 0.0 and height > 0.0):
        return height
    cosine = 1.0 / math.sqrt(1.0 + cap.tangent * cap.tangent)
    along = dot(cap.n, normal)
    if along <= cosine:
        return height
    return height / max(cosine * (along + cap.tangent * norm(cross(cap.n, normal))), cosine)
