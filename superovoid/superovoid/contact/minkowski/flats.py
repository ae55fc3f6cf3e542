# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Decide whether flats are in contact: then the points are one choice of many.

The contact set of a core along a direction is a point, an edge or a face, up to a slack below the support plane. Two
such sets share a direction if a face meets an edge or a face, or two edges are parallel. A superovoid has no flats but
comes near to them: it counts as flat along a principal direction of its surface if points a reach to the side lie less
than the slack below the tangent plane. A small curvature off the planes of symmetry selects the candidates (on these
planes exponents other than one make it vanish at a point only). Then the heights decide, as in `certificate.is_flat`
for two superovoids.
"""

from __future__ import annotations

import math

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import combine, cross, norm, rotate, rotate_back, scale, sub, tangent_frame
from superovoid.contact.inputs import TOLERANCE
from superovoid.shapes.kernels.kinds import SUPEROVOID, flat_at
from superovoid.shapes.kernels.retraction import height_lost, off_symmetry_planes
from superovoid.shapes.kernels.support_function import support
from superovoid.shapes.kernels.surface import (
    SIZE,
    gradient,
    shape_operator,
    surface_point_towards,
)

# A contact counts as flat within a height of TOLERANCE, of the smaller body.
REACH = 1e-2  # of the smaller body, to the side: how far off other points count as others


@kernel
def _lies_on(row, x, n, flat, edge, slack, reach):
    """Return whether a superovoid lies along a face (2) or an edge (1) that it touches at x.

    Curvatures select the candidates: that of x, which may lie next to a sharp edge in contact, and that of the support
    point, which may be far from the contact on a nearly flat surface.
    """
    t1, t2 = tangent_frame(n)
    at_support, _ = support(row, n)
    for point in (surface_point_towards(row, x), at_support):
        f = off_symmetry_planes(row, point)
        s11, s12, s22 = shape_operator(row, f, t1, t2, 1.0 / norm(gradient(row, f)))
        if 0.5 * (s11 + s22) - math.hypot(0.5 * (s11 - s22), s12) >= 2.0 * slack / (reach * reach):
            continue
        angle = 0.5 * math.atan2(2.0 * s12, s11 - s22)
        for quarter in range(4):
            turn = angle + 0.5 * math.pi * quarter
            side = combine(reach * math.cos(turn), t1, reach * math.sin(turn), t2)
            if flat == 1:
                side = scale(reach if quarter % 2 == 0 else -reach, edge)
            if height_lost(row, x, n, side) < slack:
                return True
    return False


@kernel
def touching_flats(pair, x, y, n, size):
    """Return whether the contact sets of two cores, one superovoid at most, share a direction.

    `x` and `y` are the points of the contact and n its normal, in the frame of A, `size` the size of the smaller body.
    """
    rotation = pair.rotation
    slack, reach = TOLERANCE * size, REACH * size
    m = rotate_back(rotation, scale(-1.0, n))
    y = rotate_back(rotation, sub(y, pair.centre))
    if pair.a.kind == SUPEROVOID:
        flat_b, edge_b = flat_at(pair.b, y, m, slack)
        return flat_b > 0 and _lies_on(pair.a.row, x, n, flat_b, rotate(rotation, edge_b), slack, reach)
    flat_a, edge_a = flat_at(pair.a, x, n, slack)
    if flat_a == 0:
        return False
    if pair.b.kind == SUPEROVOID:
        return _lies_on(pair.b.row, y, m, flat_a, rotate_back(rotation, edge_a), slack, reach)
    flat_b, edge_b = flat_at(pair.b, y, m, slack)
    # Edges or faces in one plane: a face shares a direction with either.
    parallel = norm(cross(edge_a, rotate(rotation, edge_b))) <= TOLERANCE
    return flat_b > 0 and (flat_a + flat_b >= 3 or parallel)


@kernel
def flat_on_plane(core, x, down):
    """Return whether a body touches a plane with a flat at x; `down` is the inward normal in the frame of the body."""
    slack, reach = TOLERANCE * core.row[SIZE], REACH * core.row[SIZE]
    if core.kind != SUPEROVOID:
        count, _ = flat_at(core, x, down, slack)
        return count > 0
    return _lies_on(core.row, x, down, 2, down, slack, reach)
