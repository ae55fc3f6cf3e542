# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Local proof of a depth: no direction in a cap around the contact normal is shallower.

A majorant of a body on a box (`majorants`) describes an ellipsoid E that touches the body from inside at the contact;
the part of E in the box lies in the body. The support functions of both ellipsoids bound h_M on the cap. The section
"Caps" of docs/explanation/search.md derives the bound: R, s, z and kappa of an ellipsoid, and the drop that the
remainders of Newton's method cause, are its symbols.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import combine, dot, norm, rotate_back, scale, sub, tangent_frame
from superovoid.contact.superovoids.majorants import (
    Box,
    majorant_over,
    outline_of,
    shear_at,
    signs_of,
)
from superovoid.contact.superovoids.newton import observe
from superovoid.shapes.kernels.surface import A3, CONCAVITY_HI, CONCAVITY_LO, HAS_CONCAVITY

WIDEST, _TO_NEXT, _CAPS = 0.5, 0.3, 8  # angle of the first cap, rad; ratio to the next; number
_RADIUS_OF_USE = 64.0  # in depths: larger radii of curvature are lowered to about this one
_FARTHEST_CENTRE = 8.0  # in largest radii
_WIDENED, _SLACK = 1.1, 1e-6  # a box, relative to the extents of an ellipsoid that osculates, and to its radius
_CERTAIN = 1.0 - 1e-6  # of a radius: what rounding leaves
_DIGITS_LEFT = 1e-3  # least part of a sum that its terms may leave
_SURPLUS = 1e-3  # least radius beyond the depth, in depths
_MOST_MISMATCH = 1e-4  # of the normals of a contact


class Cap(NamedTuple):
    """Directions within an angle of a contact normal, none of them shallower than `floor`."""

    angle: float  # rad; 0: none
    floor: float  # lower bound of h_M on the cap, m


class _Frame(NamedTuple):
    """Outward normal and tangents of a contact, in the axes of the mirrored body."""

    n: tuple
    t1: tuple
    t2: tuple


class _Ellipsoid(NamedTuple):
    """An ellipsoid that touches a body from inside: R, s, z and its largest radius."""

    xx: float
    xy: float
    yy: float
    s: float
    z1: float
    z2: float
    widest: float  # 0: no ellipsoid is known


@kernel
def _frame_of(o, f, t1, t2):
    """Return the frame with the gradient of an outline, next to two tangents of the body."""
    n, signs = (o.gx / o.steep, o.gy / o.steep, o.gz / o.steep), signs_of(f)
    t1 = (signs[0] * t1[0], signs[1] * t1[1], signs[2] * t1[2])
    t2 = (signs[0] * t2[0], signs[1] * t2[1], signs[2] * t2[2])
    return _Frame(n, combine(1.0, t1, -dot(t1, n), n), combine(1.0, t2, -dot(t2, n), n))


@kernel
def _in_frame(frame, x, y, z):
    """Return the normal part and the tangential parts of a vector."""
    v = (x, y, z)
    return dot(frame.n, v), dot(frame.t1, v), dot(frame.t2, v)


@kernel
def _eigenvalues(xx, xy, yy):
    """Return the smaller and the larger eigenvalue of a symmetric matrix."""
    middle, spread = 0.5 * (xx + yy), math.sqrt(0.25 * (xx - yy) * (xx - yy) + xy * xy)
    return middle - spread, middle + spread


@kernel
def _inverse(c):
    return 1.0 / c if c < math.inf else 0.0


@kernel
def _ellipsoid_of(m, shear, frame, steep, bent):
    """Return the ellipsoid of a majorant, a sum of three squares c_i (a_i . d)^2 after completion.

    With b_i the normal and a_i the tangential part of the vector of a square and c_1, c_2 possibly infinite, Q_tt is
    the sum of c_i a_i a_i^T, Q_tn that of c_i b_i a_i, and Q_tt^-1 has the numerator sum of c_i J a_i (J a_i)^T and
    the denominator sum of c_i c_j (a_i x a_j)^2, J a turn by a right angle; both are divided by c_1 c_2, and by c_3 if
    it is infinite.
    """
    ix, iy, iz, ez, hz = shear
    i1, i2 = _inverse(m.c_x + bent / (ix * ix)), _inverse(m.c_y + bent / (iy * iy))
    lost = m.skew_x * m.skew_x * i1 + m.skew_y * m.skew_y * i2
    rest, c3, size = 1.0, m.c_w + bent / (iz * iz) - lost, abs(m.c_w) + bent / (iz * iz) + lost
    if not (c3 < math.inf):
        rest, c3, size = 0.0, 1.0, 1.0
    b1, x1, y1 = _in_frame(frame, ix, 0.0, ez - i1 * m.skew_x * iz)
    b2, x2, y2 = _in_frame(frame, 0.0, iy, hz - i2 * m.skew_y * iz)
    b3, x3, y3 = _in_frame(frame, 0.0, 0.0, iz)
    by_12, by_13, by_23 = x1 * y2 - y1 * x2, x1 * y3 - y1 * x3, x2 * y3 - y2 * x3
    whole, part = by_12 * by_12, i2 * by_13 * by_13 + i1 * by_23 * by_23
    below = rest * whole + c3 * part
    if not below > _DIGITS_LEFT * (rest * whole + size * part):
        return _Ellipsoid(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    per = steep / below
    i12 = i1 * i2
    xx = per * (rest * (i2 * y1 * y1 + i1 * y2 * y2) + i12 * c3 * y3 * y3)
    xy = -per * (rest * (i2 * x1 * y1 + i1 * x2 * y2) + i12 * c3 * x3 * y3)
    yy = per * (rest * (i2 * x1 * x1 + i1 * x2 * x2) + i12 * c3 * x3 * x3)
    _, widest = _eigenvalues(xx, xy, yy)
    if not (widest > 0.0):
        return _Ellipsoid(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    # J a_i (a_i x a_j) b_j, over both orders of each pair
    p = rest * by_12, c3 * i2 * by_13, c3 * i1 * by_23
    z1 = p[0] * (y2 * b1 - y1 * b2) + p[1] * (y3 * b1 - y1 * b3) + p[2] * (y3 * b2 - y2 * b3)
    z2 = p[0] * (x1 * b2 - x2 * b1) + p[1] * (x1 * b3 - x3 * b1) + p[2] * (x2 * b3 - x3 * b2)
    # The determinant of the three vectors is that of the shear.
    square = (ix * iy * iz) ** 2 / below
    s = steep / max((c3 + 1e-12 * size) * square, steep / (_FARTHEST_CENTRE * widest))
    return _Ellipsoid(xx, xy, yy, s, -s * z1 / below, -s * z2 / below, widest)


@kernel
def _ellipsoid_on(body, o, frame, box, radius):
    """Return the widest ellipsoid that is known to lie in the body on a box, with radii up to about one."""
    shear = shear_at(body, o)
    return _ellipsoid_of(majorant_over(body, o, shear, box), shear, frame, o.steep, o.steep / radius)


@kernel
def _extent(e, n_part, t1_part, t2_part, across, inward):
    """Return the range of the support points of a cap along an axis with given parts in the frame."""
    x, y = e.xx * t1_part + e.xy * t2_part, e.xy * t1_part + e.yy * t2_part
    aside = across * math.sqrt(x * x + y * y)
    down = inward * (e.s * n_part + e.z1 * t1_part + e.z2 * t2_part)
    return min(0.0, -down) - aside, max(0.0, -down) + aside


@kernel
def _box_of(e, frame, angle):
    """Return a box with the support points of an ellipsoid for the directions of a cap."""
    x = e.s * (1.0 - 0.5 * angle * angle) - angle * math.sqrt(e.z1 * e.z1 + e.z2 * e.z2)
    across, inward = angle * e.s / x, 0.5 * e.s * angle * angle * e.widest / (x * x)
    n, t1, t2 = frame
    x_least, x_most = _extent(e, n[0], t1[0], t2[0], across, inward)
    y_least, y_most = _extent(e, n[1], t1[1], t2[1], across, inward)
    z_least, z_most = _extent(e, n[2], t1[2], t2[2], across, inward)
    return Box(x_least, x_most, y_least, y_most, z_least, z_most)


@kernel
def _most_angle(e, angle):
    """Return the angle, or a smaller one for which `_box_of` is known."""
    return min(angle, 0.5 * e.s / (e.s + math.sqrt(e.z1 * e.z1 + e.z2 * e.z2)))


@kernel
def _share(most, extent):
    return most / extent if abs(extent) > abs(most) else 1.0


@kernel
def _angle_in(box, e, frame, angle):
    """Return the angle of a cap whose support points on an ellipsoid lie in a box: extents are convex in the angle."""
    angle = _most_angle(e, angle)
    reach = _box_of(e, frame, angle)
    share = min(_share(box.x_least, reach.x_least), _share(box.x_most, reach.x_most))
    share = min(share, _share(box.y_least, reach.y_least), _share(box.y_most, reach.y_most))
    return angle * min(share, _share(box.z_least, reach.z_least), _share(box.z_most, reach.z_most))


@kernel
def _wide_box(e, frame, angle):
    """Return a box somewhat wider than the support points of an ellipsoid for the directions of a cap."""
    angle = _most_angle(e, angle)
    box, slack = _box_of(e, frame, angle), _SLACK * angle * e.widest
    return Box(
        _WIDENED * box.x_least - slack,
        _WIDENED * box.x_most + slack,
        _WIDENED * box.y_least - slack,
        _WIDENED * box.y_most + slack,
        _WIDENED * box.z_least - slack,
        _WIDENED * box.z_most + slack,
    )


@kernel
def _flattening(e, angle):
    """Return kappa, as in docs/explanation/search.md."""
    x = e.s + angle * math.sqrt(e.z1 * e.z1 + e.z2 * e.z2)
    return 2.0 * e.s / (math.sqrt(x * x + e.s * angle * angle * e.widest) + x)


@kernel
def _least_radius(one, other, angle):
    """Return the least eigenvalue l of kappa_A R_A + kappa_B R_B, rounded down."""
    k_1, k_2 = _flattening(one, angle), _flattening(other, angle)
    xx, xy, yy = k_1 * one.xx + k_2 * other.xx, k_1 * one.xy + k_2 * other.xy, k_1 * one.yy + k_2 * other.yy
    least, _ = _eigenvalues(xx, xy, yy)
    return _CERTAIN * least


@kernel
def _is_next_to_concavity(body, o, f, box):
    """Return whether a box lies above or below a concavity."""
    _, _, sign = signs_of(f)
    one, other = f.w + sign * box.z_least / body[A3], f.w + sign * box.z_most / body[A3]
    return body[HAS_CONCAVITY] == 0.0 or min(one, other) >= body[CONCAVITY_HI] or max(one, other) <= body[CONCAVITY_LO]


@kernel(separate=True)
def largest_cap(pair, fa, fb):
    """Return a cap on which the depth of a contact is proved to be the least, the first of several; angle 0 for none.

    No cap is as wide as a hemisphere: with its corners a triangle lies in it.
    """
    a, b = pair.a, pair.b
    k = observe(pair, fa, fb, 1.0)
    none = Cap(0.0, 0.0)
    depth = -dot(k.u, k.n)
    off_a, off_b = norm(sub(k.normal_a, k.n)), norm(sub(k.inward_b, k.n))
    o_a, o_b = outline_of(a, fa), outline_of(b, fb)
    if not (depth > 0.0 and max(off_a, off_b) < _MOST_MISMATCH and o_a.is_clear and o_b.is_clear):
        return none
    # A direction m of the difference is -m for B: the tangents change sign with the normal.
    t1, t2 = tangent_frame(k.n)
    frame_a = _frame_of(o_a, fa, t1, t2)
    t1, t2 = scale(-1.0, t1), scale(-1.0, t2)
    frame_b = _frame_of(o_b, fb, rotate_back(pair.rotation, t1), rotate_back(pair.rotation, t2))
    point = Box(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    use = _RADIUS_OF_USE * depth
    at_a, at_b = _ellipsoid_on(a, o_a, frame_a, point, use), _ellipsoid_on(b, o_b, frame_b, point, use)
    radius = _least_radius(at_a, at_b, 0.0) if at_a.widest > 0.0 and at_b.widest > 0.0 else 0.0
    if not radius > (1.0 + _SURPLUS) * depth:
        return none
    offset = norm(combine(1.0, k.u, depth, k.n))
    wanted = WIDEST
    for _ in range(_CAPS):
        box_a, box_b = _wide_box(at_a, frame_a, wanted), _wide_box(at_b, frame_b, wanted)
        e_a, e_b = _ellipsoid_on(a, o_a, frame_a, box_a, use), _ellipsoid_on(b, o_b, frame_b, box_b, use)
        if (
            e_a.widest > 0.0
            and e_b.widest > 0.0
            and _is_next_to_concavity(a, o_a, fa, box_a)
            and _is_next_to_concavity(b, o_b, fb, box_b)
        ):
            angle = min(_angle_in(box_a, e_a, frame_a, wanted), _angle_in(box_b, e_b, frame_b, wanted))
            radius, needed = _least_radius(e_a, e_b, angle), depth / (1.0 - 0.25 * angle * angle)
            off = 2.0 * max(off_a, off_b)
            if angle > off and radius >= needed + _SURPLUS * depth:
                turned = math.sqrt(e_a.widest) * off_a + math.sqrt(e_b.widest) * off_b
                drop = offset + 2.0 * math.sqrt(radius) * turned
                floor = depth - 0.5 * drop * drop / (radius - needed)
                return Cap(angle - off, floor)
        wanted *= _TO_NEXT
    return none
