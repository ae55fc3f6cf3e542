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
from superovoid_ros.compiled.vector import combine, cross, norm, rotate, rotate_back, scale, tangent_frame
from superovoid_ros.contact.superovoids.certificate import height_lost, off_axes
from superovoid_ros.shapes.kernels.kinds import SUPEROVOID, flat_at
from superovoid_ros.shapes.kernels.support_function import support
from superovoid_ros.shapes.kernels.surface import SIZE, TX, TY, gradient, position, shape_operator

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
def _is_straight(row, f, n, edge, slack, reach):
    """Whether a superovoid lies less than the slack below its tangent plane a reach along an edge, to either side."""
    x = position(row, f)
    return min(height_lost(row, x, n, scale(reach, edge)), height_lost(row, x, n, scale(-reach, edge))) < slack


@kernel
def _contact_set(core, n, slack, reach):
    """`flat_at` for all kinds of cores."""
    if core.kind != SUPEROVOID:
        return flat_at(core, n, slack)
    out_of_line()
    row = core.row
    f, _ = support(row, n)
    t1, t2 = tangent_frame(n)
    bend = 2.0 * slack / (reach * reach)
    at, edge_at = _straight_directions(row, f, t1, t2, bend)
    beside, edge = _straight_directions(row, off_axes(row, f), t1, t2, bend)
    count = min(at, beside)
    if count == 0 or _is_straight(row, f, n, edge, slack, reach):
        return count, edge
    # Unequal tapers turn the straight lines off the planes; and next to a pole that is round, over sections with
    # straight sides, it is flat but for the corners of these.
    for edge in (edge_at, cross(n, edge_at)):
        if _is_straight(row, f, n, edge, slack, reach):
            return count, edge
    return 0, edge


@kernel
def _lies_along(core, n, flat, edge, slack, reach):
    """Whether a superovoid with unequal tapers, and an edge of it, is straight along the edge of another body.

    Off the planes of symmetry the tapers turn the straight lines of its surface.
    """
    row = core.row
    if core.kind != SUPEROVOID or row[TX] == row[TY] or flat != 1:
        return False
    f, _ = support(row, n)
    return _is_straight(row, f, n, edge, slack, reach)


@kernel
def are_along_another(flat_a, edge_a, flat_b, edge_b):
    """Whether two contact sets that are edges (1) or faces (2), and in one plane, share a direction."""
    return flat_a + flat_b >= 3 or norm(cross(edge_a, edge_b)) <= _PARALLEL


@kernel
def touching_flats(pair, n, unit):
    """Whether the contact sets of two cores along n share a direction; `unit` is the size of the smaller body."""
    rotation = pair.rotation
    slack, reach = FLATNESS * unit, _REACH * unit
    flat_a, edge_a = _contact_set(pair.a, n, slack, reach)
    if flat_a == 0:
        return False
    m = rotate_back(rotation, scale(-1.0, n))
    flat_b, edge_b = _contact_set(pair.b, m, slack, reach)
    if flat_b == 0:
        return False
    if are_along_another(flat_a, edge_a, flat_b, rotate(rotation, edge_b)):
        return True
    along_b = _lies_along(pair.a, n, flat_b, rotate(rotation, edge_b), slack, reach)
    return along_b or _lies_along(pair.b, m, flat_a, rotate_back(rotation, edge_a), slack, reach)


@kernel
def flat_on_plane(core, down):
    """Whether a body touches a plane with a flat; `down` is the plane's inward normal in the frame of the body."""
    count, _ = _contact_set(core, down, FLATNESS * core.row[SIZE], _REACH * core.row[SIZE])
    return count > 0
