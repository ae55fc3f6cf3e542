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

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import combine, cross, dot, norm, rotate, rotate_back, scale, sub, tangent_frame
from superovoid.contact.superovoids.certificate import height_lost, off_axes
from superovoid.shapes.kernels.kinds import SUPEROVOID, flat_at
from superovoid.shapes.kernels.support_function import support
from superovoid.shapes.kernels.surface import (
    A3,
    SIZE,
    TX,
    TY,
    gradient,
    position,
    shape_operator,
    surface_point_towards,
)

FLATNESS = 1e-9  # of the smaller body: height within which a contact counts as flat
REACH = 1e-2  # of the smaller body, to the side: how far off other points count as others
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
def _is_straight(row, x, n, edge, slack, reach):
    """Whether a superovoid lies less than the slack below its tangent plane at x a reach along an edge, to one side."""
    return min(height_lost(row, x, n, scale(reach, edge)), height_lost(row, x, n, scale(-reach, edge))) < slack


@kernel
def _level(n):
    """Unit direction of the section through a point with normal n; of a pole any across n."""
    u = cross(n, (0.0, 0.0, 1.0))
    length = norm(u)
    t1, _ = tangent_frame(n)
    return scale(1.0 / length, u) if length > 1e-6 else t1


@kernel
def _meridian(row, x, n):
    """Unit direction of the meridian through a surface point x with normal n; unequal tapers turn it."""
    f = surface_point_towards(row, x)
    p = position(row, f)
    # The derivative by w, where dr/dw = -wd / rd, times r rd.
    of_x = row[TX] * f.r * f.rd / (1.0 + row[TX] * f.w) - f.wd
    of_y = row[TY] * f.r * f.rd / (1.0 + row[TY] * f.w) - f.wd
    u = (of_x * p[0], of_y * p[1], row[A3] * f.r * f.rd)
    u = combine(1.0, u, -dot(u, n), n)
    length = norm(u)
    return scale(1.0 / length, u) if length > 0.0 else _level(n)


@kernel
def _lies_on(core, x, n, flat, edge, slack, reach):
    """Whether a superovoid lies along a face (2) or an edge (1) that it touches at x.

    Curvatures tell where that may be: those of x, which may lie next to a sharp edge that is in contact, or of the
    support point, which may be far from the contact where the surface is nearly flat. Heights at x decide: next to a
    pole that is round, over sections with straight sides, it is flat but for the corners of these.
    """
    out_of_line()
    row = core.row
    bend = 2.0 * slack / (reach * reach)
    f, _ = support(row, n)
    at_x, along = _straightest(row, surface_point_towards(row, x), n, bend)
    at_support, other = _straightest(row, f, n, bend)
    if at_x == 0 and at_support == 0:
        return False
    if flat == 1:
        return _is_straight(row, x, n, edge, slack, reach)
    for direction in (along, cross(n, along), other, cross(n, other), _level(n), _meridian(row, x, n)):
        if _is_straight(row, x, n, direction, slack, reach):
            return True
    return False


@kernel
def are_along_another(flat_a, edge_a, flat_b, edge_b):
    """Whether two contact sets that are edges (1) or faces (2), and in one plane, share a direction."""
    return flat_a + flat_b >= 3 or norm(cross(edge_a, edge_b)) <= _PARALLEL


@kernel
def touching_flats(pair, x, y, n, unit):
    """Whether the contact sets of two cores, of which one at most is a superovoid, share a direction.

    `x` and `y` are the points of the contact and n its normal, in the frame of A, `unit` the size of the smaller body.
    """
    rotation = pair.rotation
    slack, reach = FLATNESS * unit, REACH * unit
    m = rotate_back(rotation, scale(-1.0, n))
    y = rotate_back(rotation, sub(y, pair.centre))
    if pair.a.kind == SUPEROVOID:
        flat_b, edge_b = flat_at(pair.b, y, m, slack)
        return flat_b > 0 and _lies_on(pair.a, x, n, flat_b, rotate(rotation, edge_b), slack, reach)
    flat_a, edge_a = flat_at(pair.a, x, n, slack)
    if flat_a == 0:
        return False
    if pair.b.kind == SUPEROVOID:
        return _lies_on(pair.b, y, m, flat_a, rotate_back(rotation, edge_a), slack, reach)
    flat_b, edge_b = flat_at(pair.b, y, m, slack)
    return flat_b > 0 and are_along_another(flat_a, edge_a, flat_b, rotate(rotation, edge_b))


@kernel
def flat_on_plane(core, x, down):
    """Whether a body touches a plane with a flat at x; `down` is the plane's inward normal in the frame of the body."""
    slack, reach = FLATNESS * core.row[SIZE], REACH * core.row[SIZE]
    if core.kind != SUPEROVOID:
        count, _ = flat_at(core, x, down, slack)
        return count > 0
    return _lies_on(core, x, down, 2, down, slack, reach)
