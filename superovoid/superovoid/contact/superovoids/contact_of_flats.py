# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Points of two superovoids that face each other with flats: means of support points, brought onto both surfaces."""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, dot, norm, rotate, rotate_back, scale, sub
from superovoid.contact.minkowski.difference import Corner, M, X, Y, mean_point, new_workspace
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
from superovoid.contact.minkowski.on_surfaces import along_to_surface, direction_of, off_line
from superovoid.contact.superovoids.directions import minkowski_support, proved_support
from superovoid.shapes.kernels.support_function import EXACT
from superovoid.shapes.kernels.surface import DENTED, position

_FLAT_ATTEMPTS = 4  # directions tried for the points of flats
# Support points of M after which no further direction is tried; those of bodies with a dent cost more.
_MOST_CORNERS, _MOST_OVER_DENTS = 128, 80


class Flat(NamedTuple):
    """A contact of flats: direction, h_M along it, points of A and B, both in the frame of A."""

    n: tuple
    value: float
    x: tuple
    y: tuple


@kernel
def _corner(pair, n):
    """Support point of M as a row of a workspace takes it."""
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    m, fa, fb = minkowski_support(pair, n, EXACT)
    y = add(centre, rotate(rotation, position(b, fb)))
    return Corner(m, position(a, fa), y, 0, 0, dot(n, m), 0.0, 0.0)


@kernel(separate=True)
def _leave(pair, n, goal, w):
    """Rows of the workspace whose mean is where the line along n leaves M (`exit`), and support points spent."""
    out_of_line()
    place(w, 0, _corner(pair, n), n)
    spent = 1
    count, offset = enclose(w, 1)
    tilt = TILT
    for _ in range(ENCLOSING):
        if offset <= NEAR * goal:
            break
        nearer = False
        while not nearer and tilt <= WIDEST:
            c = _corner(pair, tilted(n, mean_point(w, count, M), tilt))
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
        c = _corner(pair, normal)
        spent += 1
        beyond = height_beyond(w, count, n, normal, c)
        if beyond <= RISEN * goal:
            break
        place(w, count, c, n)
        count = rise(w, count, n, NEAR * goal)
    return Exit(count, norm(mean_point(w, count, M)), normal, beyond), spent


@kernel
def _on_surfaces(pair, flat, goal):
    """The same contact with its points on the surfaces, and apart with their direction where it proves as much."""
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    x = along_to_surface(a, flat.x, flat.n)
    inward = rotate_back(rotation, scale(-1.0, flat.n))
    y = along_to_surface(b, rotate_back(rotation, sub(flat.y, centre)), inward)
    y = add(centre, rotate(rotation, y))
    n, value = flat.n, flat.value
    if value < 0.0 and off_line(x, y, -norm(sub(y, x)), n) > goal:
        direction = direction_of(x, y, n)
        h = proved_support(pair, direction)
        if h <= value or norm(sub(y, x)) + h <= 0.5 * goal:
            n, value = direction, h
    return Flat(n, value, x, y)


@kernel(_nrt=True)
def contact_of_flats(pair, optimum, goal):
    """Points of two bodies along the best direction, or one next to it that is no worse.

    The points lie on the surfaces: of bodies with a dent, those of the hulls are brought onto the bodies.
    """
    out_of_line()
    w = new_workspace()
    n, value = optimum.n, optimum.value
    best = Flat(n, value, n, n)
    left, spent = math.inf, 0
    most = _MOST_OVER_DENTS if pair.a[DENTED] + pair.b[DENTED] > 0.0 else _MOST_CORNERS
    for _ in range(_FLAT_ATTEMPTS):
        end, used = _leave(pair, n, goal, w)
        spent += used
        x, y = mean_point(w, end.count, X), mean_point(w, end.count, Y)
        off = off_line(x, y, value, n)
        if off < left:
            left, best = off, Flat(n, value, x, y)
        h = proved_support(pair, end.normal)
        if off <= 0.1 * goal or not (h <= optimum.value + 0.1 * goal) or norm(sub(end.normal, n)) <= 1e-16:
            break
        if spent >= most:
            break
        n, value = end.normal, h
    return _on_surfaces(pair, best, goal)
