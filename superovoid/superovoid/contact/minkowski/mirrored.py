# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Answers mirrored in planes: of a pair that is symmetric about one, the mirrored answer is another that is as good.

Of an overlap of convex bodies the mirrored way out is measured, whatever the bodies are. Of a torus, whose support
function is that of its hull, the symmetry is looked at.
"""

from __future__ import annotations

import numpy as np

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, dot, norm, rotate, rotate_back, sub
from superovoid.contact.minkowski.difference import difference_support
from superovoid.contact.minkowski.mirror_planes import (
    AWAY,
    IMAGES,
    ON_PLANE,
    PLANES,
    SAME,
    image_of_direction,
    plane_normal,
)
from superovoid.shapes.kernels.kinds import (
    BOX,
    CAPSULE,
    CONE,
    CONVEX_MESH,
    CYLINDER,
    POINT,
    SUPEROVOID,
    TORUS,
)
from superovoid.shapes.kernels.surface import A1, A2, A3, SIZE, TX, TY, P


@kernel
def _middle_of(core):
    """Centre of the box of a polytope in its own frame; the origin of other bodies."""
    row = core.row
    return (row[TX], row[TY], row[P]) if core.kind == CONVEX_MESH else (0.0, 0.0, 0.0)


@kernel
def line_of_middles(pair):
    """From the middle of A to that of B, in the frame of A."""
    return sub(add(pair.centre, rotate(pair.rotation, _middle_of(pair.b))), _middle_of(pair.a))


@kernel
def _depth_along(pair, n):
    return difference_support(pair, n, np.int64(0), np.int64(0)).h


@kernel
def has_mirrored_way(pair, n, depth):
    """Whether an image of the way out of two convex cores that overlap along n is no longer than a depth.

    Next to n it is another one only where the way between both is longer.
    """
    out_of_line()
    line, near = line_of_middles(pair), ON_PLANE * min(pair.a.row[SIZE], pair.b.row[SIZE])
    for i in range(IMAGES):
        found, other, between, chord = image_of_direction(pair.rotation, line, near, n, i)
        if found and _depth_along(pair, other) <= depth and (chord > AWAY or _depth_along(pair, between) > depth):
            return True
    return False


@kernel
def _is_mirror(core, m):
    """Whether the plane through the middle of a body with the unit normal m, in its frame, is one of its symmetry."""
    row, kind = core.row, core.kind
    x, y, z = abs(m[0]), abs(m[1]), abs(m[2])
    is_x, is_y, is_z = max(y, z) <= SAME, max(x, z) <= SAME, max(x, y) <= SAME
    if kind == POINT:
        return True
    if kind == CAPSULE or kind == CYLINDER or kind == TORUS:
        return z <= SAME or is_z
    if kind == CONE:
        return z <= SAME
    if kind == BOX:
        a, b, c = row[A1], row[A2], row[A3]
        of_x_y = a == b and z <= SAME and abs(x - y) <= SAME
        of_y_z = b == c and x <= SAME and abs(y - z) <= SAME
        of_z_x = c == a and y <= SAME and abs(z - x) <= SAME
        return is_x or is_y or is_z or of_x_y or of_y_z or of_z_x
    if kind == SUPEROVOID:
        is_square = row[A1] == row[A2] and row[TX] == row[TY] and z <= SAME
        is_symmetric = row[TX] == 0.0 and row[TY] == 0.0
        return is_x or is_y or (is_z and is_symmetric) or (is_square and (row[P] == 2.0 or abs(x - y) <= SAME))
    return False


@kernel
def _is_central(core):
    """Whether a body is symmetric about its middle; False of vertices, which are not looked at."""
    row, kind = core.row, core.kind
    if kind == SUPEROVOID:
        return row[TX] == 0.0 and row[TY] == 0.0
    return kind == POINT or kind == CAPSULE or kind == CYLINDER or kind == TORUS or kind == BOX


@kernel
def has_mirrored(pair, v):
    """Whether a pair of bodies is symmetric about a plane, or a point, that takes a vector elsewhere.

    It is a unit vector, or so long from the middle of A.
    """
    out_of_line()
    rotation, line = pair.rotation, line_of_middles(pair)
    unit = min(pair.a.row[SIZE], pair.b.row[SIZE])
    if norm(line) <= SAME * unit and 2.0 * norm(v) > AWAY and _is_central(pair.a) and _is_central(pair.b):
        return True
    for i in range(PLANES):
        m = plane_normal(rotation, line, i)
        if not (abs(dot(m, line)) <= SAME * unit and 2.0 * abs(dot(m, v)) > AWAY):
            continue
        if _is_mirror(pair.a, m) and _is_mirror(pair.b, rotate_back(rotation, m)):
            return True
    return False
