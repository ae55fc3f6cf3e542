# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Whether a contact is one of flats: then its points are one choice of many.

The contact set of a core along a direction is a point, an edge or a face, up to a slack below the support plane. Two of
them share a direction where a face meets an edge or a face, or two edges are parallel. A superovoid has no flats but
comes near to them: it counts as flat along a principal direction of its surface where points a reach to the side lie
less than the slack below the tangent plane. The curvature tells, at the contact and once more off the planes of
symmetry, on which exponents other than one make it vanish at a point only; then the heights there (as
`certificate.is_flat` for two superovoids).
"""

from __future__ import annotations

import math

from superovoid_ros.compiled.jit import kernel, out_of_line
from superovoid_ros.compiled.vector import combine, cross, norm, rotate, rotate_back, scale, sub, tangent_frame
from superovoid_ros.contact.superovoids.certificate import height_lost, off_axes
from superovoid_ros.shapes.kernels.kinds import SUPEROVOID, flat_at
from superovoid_ros.shapes.kernels.support_function import support
from superovoid_ros.shapes.kernels.surface import (
    SIZE,
    TX,
    TY,
    gradient,
    position,
    shape_operator,
    surface_point_towards,
)

FLATNESS = 1e-9  # of the smaller body: height within which a contact counts as flat
_REACH = 1e-2  # of the smaller body, to the side
_PARALLEL = 1e-9  # rad, between edges


@kernel
def _straight_directions(row, f, t1, t2, bend):
    """How many principal directions of a superovoid at a surface point are curved less than `bend`; the straightest."""
    per_gradient = 1.0 / norm(gradient(row, f))
    s11, s12, s22 = shape_operator(row, f, t1, t2, per_gradient)
    middle, half = 0.5 * (s11 + s22), math.hypot(0.5 * (s11 - s22), s12)
    angle = 0.5 * math.atan2(2.0 * s12, s11 - s22) + 0.5 * math.pi  # least curvature
    count = (1 if middle - half < bend else 0) + (1 if middle + half < bend else 0)
    return count, combine(math.cos(angle), t1, math.sin(angle), t2)


@kernel
def _straightest(row, f, n, bend):
    """`_straight_directions` at a surface point and off the planes of symmetry next to it: the smaller number."""
    t1, t2 = tangent_frame(n)
    at, _ = _straight_directions(row, f, t1, t2, bend)
    beside, edge = _straight_directions(row, off_axes(row, f), t1, t2, bend)
    return min(at, beside), edge


@kernel
def _contact_set(core, x, n, slack, reach):
    """`flat_at` for all kinds of cores; of a superovoid what the curvatures at a point x of its surface tell.

    They are those of x, or of the support point: x may lie next to a sharp edge that is in contact, and the support
    point far from the contact where the surface is nearly flat.
    """
    if core.kind != SUPEROVOID:
        return flat_at(core, n, slack)
    out_of_line()
    row = core.row
    bend = 2.0 * slack / (reach * reach)
    count, edge = _straightest(row, surface_point_towards(row, x), n, bend)
    if count > 0:
        return count, edge
    f, _ = support(row, n)
    return _straightest(row, f, n, bend)


@kernel
def _is_straight(row, x, n, edge, slack, reach):
    """Whether a superovoid lies less than the slack below its tangent plane at x a reach along an edge, to one side."""
    return min(height_lost(row, x, n, scale(reach, edge)), height_lost(row, x, n, scale(-reach, edge))) < slack


@kernel
def _lies_along(core, x, n, flat, edge, slack, reach):
    """Whether a superovoid with unequal tapers, and an edge of it, is straight along the edge of another body.

    Off the planes of symmetry the tapers turn the straight lines of its surface.
    """
    row = core.row
    if core.kind != SUPEROVOID or row[TX] == row[TY] or flat != 1:
        return False
    return _is_straight(row, x, n, edge, slack, reach)


@kernel
def _is_flat_at(core, x, n, edge, other, flat_other, slack, reach):
    """Whether heights bear out that a superovoid is flat at x, along its own principal directions or another's edge.

    Next to a pole that is round, over sections with straight sides, it is flat but for the corners of these.
    """
    if core.kind != SUPEROVOID:
        return True
    out_of_line()
    row = core.row
    for along in (edge, cross(n, edge)):
        if _is_straight(row, x, n, along, slack, reach):
            return True
    return flat_other == 1 and _is_straight(row, x, n, other, slack, reach)


@kernel
def are_along_another(flat_a, edge_a, flat_b, edge_b):
    """Whether two contact sets that are edges (1) or faces (2), and in one plane, share a direction."""
    return flat_a + flat_b >= 3 or norm(cross(edge_a, edge_b)) <= _PARALLEL


@kernel
def touching_flats(pair, x, y, n, unit):
    """Whether the contact sets of two cores share a direction.

    `x` and `y` are the points of the contact and n its normal, in the frame of A, `unit` the size of the smaller body.
    """
    rotation = pair.rotation
    slack, reach = FLATNESS * unit, _REACH * unit
    flat_a, edge_a = _contact_set(pair.a, x, n, slack, reach)
    if flat_a == 0:
        return False
    m = rotate_back(rotation, scale(-1.0, n))
    y = rotate_back(rotation, sub(y, pair.centre))
    flat_b, edge_b = _contact_set(pair.b, y, m, slack, reach)
    if flat_b == 0:
        return False
    b_in_a, a_in_b = rotate(rotation, edge_b), rotate_back(rotation, edge_a)
    along_a = _lies_along(pair.a, x, n, flat_b, b_in_a, slack, reach)
    if not (
        along_a
        or are_along_another(flat_a, edge_a, flat_b, b_in_a)
        or _lies_along(pair.b, y, m, flat_a, a_in_b, slack, reach)
    ):
        return False
    is_flat_a = _is_flat_at(pair.a, x, n, edge_a, b_in_a, flat_b, slack, reach)
    return is_flat_a and _is_flat_at(pair.b, y, m, edge_b, a_in_b, flat_a, slack, reach)


@kernel
def flat_on_plane(core, down):
    """Whether a body touches a plane with a flat; `down` is the plane's inward normal in the frame of the body."""
    slack, reach = FLATNESS * core.row[SIZE], _REACH * core.row[SIZE]
    x = down
    if core.kind == SUPEROVOID:
        f, _ = support(core.row, down)
        x = position(core.row, f)
    count, edge = _contact_set(core, x, down, slack, reach)
    return count > 0 and _is_flat_at(core, x, down, edge, edge, 0, slack, reach)
