# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Points of two superovoids that face each other with flats: means of support points, brought onto both surfaces."""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, norm, rotate, rotate_back, scale, sub
from superovoid.contact.convex.core_settling import settled_anew
from superovoid.contact.minkowski.difference import Found, new_workspace
from superovoid.contact.minkowski.on_surfaces import along_to_surface, direction_of, off_line
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids.directions import proved_support
from superovoid.shapes.kernels.kinds import CODE, SUPEROVOID, Core


class Flat(NamedTuple):
    """A contact of flats: direction, h_M along it, points of A and B, both in the frame of A."""

    n: tuple
    value: float
    x: tuple
    y: tuple


@kernel
def _on_surfaces(pair, n, value, x, y, goal):
    """A contact with its points on the surfaces, and apart with their direction where it proves as much."""
    rotation, centre = pair.rotation, pair.centre
    x = along_to_surface(pair.a, x, n)
    y = along_to_surface(pair.b, rotate_back(rotation, sub(y, centre)), rotate_back(rotation, scale(-1.0, n)))
    y = add(centre, rotate(rotation, y))
    length = norm(sub(y, x))
    if value < 0.0 and off_line(x, y, -length, n) > goal:
        direction = direction_of(x, y, n)
        h = proved_support(pair, direction)
        if h <= value or length + h <= 0.5 * goal:
            n, value = direction, h
    return Flat(n, value, x, y)


@kernel(_nrt=True)
def contact_of_flats(pair, n, value, goal):
    """Points of two bodies along a direction of which h_M is given, or along one next to it that is no worse.

    The points lie on the surfaces: of bodies with a dent, those of the hulls are brought onto the bodies.
    """
    out_of_line()
    kind = CODE[SUPEROVOID]
    cores = Pair(Core(pair.a, kind, pair.a), Core(pair.b, kind, pair.b), pair.rotation, pair.centre)
    found, _ = settled_anew(cores, Found(value, value, n, n, n, False, 0, math.inf), goal, new_workspace())
    return _on_surfaces(pair, found.n, found.value, found.x, found.y, goal)
