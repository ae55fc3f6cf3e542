# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Points of two convex cores one depth apart along the direction of the least h_M (`cores`).

At the minimum h_M n lies on a face of M, and no one support point need be near it: a mean of a few is, with the same
weights in both bodies, whose points are then one depth along n apart.
"""

from __future__ import annotations

import math

import numpy as np

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, combine, norm, rotate, rotate_back, scale, sub
from superovoid.contact.minkowski.difference import (
    STRATUM_A,
    STRATUM_B,
    Found,
    M,
    X,
    Y,
    difference_candidate,
    difference_support,
    gather,
    mean_point,
    polish,
)
from superovoid.contact.minkowski.exit import (
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
from superovoid.contact.minkowski.on_surfaces import along_to_surface
from superovoid.shapes.kernels.kinds import SUPEROVOID
from superovoid.shapes.kernels.surface import DENT_DEFICIT, DENTED

_ATTEMPTS = 5  # directions tried for the points of a contact
# Support points of M after which no further direction is tried; those of bodies with a dent cost more.
_MOST_CORNERS, _MOST_OVER_DENTS = 128, 80


@kernel
def holds_means(row, kind):
    """Whether a point between support points belongs to the body: true for every convex one."""
    return kind != SUPEROVOID or row[DENTED] == 0.0


@kernel
def dent_deficit(row, kind):
    """By how much the support of the hull of a body exceeds that of a convex body in it, at most."""
    return 0.0 if holds_means(row, kind) else row[DENT_DEFICIT]


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


@kernel(separate=True)
def settled_anew(pair, found, goal, w):
    """As `settled`, whatever the points of `found` are.

    If the direction is not yet precise enough, the normal of the face on which the line leaves M may be, or what Newton
    makes of the strata of that face.
    """
    out_of_line()
    a, ka = pair.a.row, pair.a.kind
    b, kb = pair.b.row, pair.b.kind
    rotation, centre = pair.rotation, pair.centre
    n, value = found.n, found.value
    best = found
    left, spent = math.inf, 0
    most = _MOST_CORNERS if holds_means(a, ka) and holds_means(b, kb) else _MOST_OVER_DENTS
    whole = False
    for attempt in range(_ATTEMPTS):
        end, used = _leave(pair, n, goal, w)
        spent += used
        x, y = mean_point(w, end.count, X), mean_point(w, end.count, Y)
        off = norm(combine(1.0, sub(x, y), -value, n))
        if off < left:
            left = off
            local = rotate_back(rotation, sub(y, centre))
            inward = rotate_back(rotation, scale(-1.0, n))
            whole = _holds(a, ka, x, n, goal) and _holds(b, kb, local, inward, goal)
            best = Found(value, found.proved, n, x, y, True, found.spent, found.rival)
        if off <= 0.1 * goal or attempt == _ATTEMPTS - 1 or spent >= most:
            break
        other, least = n, found.value + 0.1 * goal
        newton = polish(pair, n, 0.0, w, gather(w, end.count)).n
        for direction in (end.normal, newton):
            c = difference_support(pair, direction, np.int64(0), np.int64(0))
            if c.h <= least and norm(sub(direction, n)) > 1e-16:
                other, least = direction, c.h
        if norm(sub(other, n)) <= 1e-16:
            break
        n, value = other, least
    return best, whole


@kernel
def _leave(pair, n, goal, w):
    """Rows of the workspace whose mean is where the line along n leaves M (`exit`), and support points spent."""
    out_of_line()
    c = difference_candidate(pair, n, np.int64(0), np.int64(0))
    place(w, 0, c, n)
    count, offset = enclose(w, 1)
    tilt, spent = TILT, 1
    for _ in range(ENCLOSING):
        if offset <= NEAR * goal:
            break
        nearer = False
        while not nearer and tilt <= WIDEST:
            direction = tilted(n, mean_point(w, count, M), tilt)
            ia, ib = int(w[0, STRATUM_A]), int(w[0, STRATUM_B])
            c = difference_candidate(pair, direction, ia, ib)
            spent += 1
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
        c = difference_candidate(pair, normal, ia, ib)
        spent += 1
        beyond = height_beyond(w, count, n, normal, c)
        if beyond <= RISEN * goal:
            break
        place(w, count, c, n)
        count = rise(w, count, n, NEAR * goal)
    return Exit(count, norm(mean_point(w, count, M)), normal, beyond), spent


@kernel
def _holds(row, kind, p, n, goal):
    """Whether a mean of support points of a body, in its frame, is one of its own: over a dent it is beside it."""
    return holds_means(row, kind) or norm(sub(along_to_surface(row, p, n), p)) <= 0.1 * goal


@kernel
def own_points(pair, x, y, n):
    """Means of support points, in the frame of A, brought onto bodies with a dent."""
    out_of_line()
    b, rotation, centre = pair.b.row, pair.rotation, pair.centre
    if not holds_means(pair.a.row, pair.a.kind):
        x = along_to_surface(pair.a.row, x, n)
    if not holds_means(b, pair.b.kind):
        local = rotate_back(rotation, sub(y, centre))
        y = add(centre, rotate(rotation, along_to_surface(b, local, rotate_back(rotation, scale(-1.0, n)))))
    return x, y
