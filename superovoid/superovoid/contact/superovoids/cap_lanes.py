# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Caps of several angles at once, in SIMD lanes, and the largest one on which a depth is proved to be the least.

    angles --spans--> ranges of directions --heights--> support points between --`caps`--> radii of both bodies, of M

All lie in one flat buffer, a row a quantity (`newton_lanes`). The formulas are those of `caps`, recompiled
(`simd.in_lanes`).
"""

from __future__ import annotations

import math

import numpy as np

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import combine, dot, norm, rotate, rotate_back, scale, sub, tangent_frame
from superovoid.contact.lanes.newton_lanes import SUBSTITUTES
from superovoid.contact.lanes.simd import Layout, exp, in_lanes, inlined, loader, log
from superovoid.contact.superovoids import caps
from superovoid.contact.superovoids.caps import BELOW_ROUNDING, Cap, Height, Radii, Spans, axes_at, first_height
from superovoid.contact.superovoids.ellipsoid_pairs import (
    are_ellipsoids,
    cap_by_ellipsoid,
    floor_of_ball,
    radius_beyond,
)
from superovoid.contact.superovoids.newton import observe
from superovoid.shapes.kernels.surface import DENT_HI, DENT_LO, DENTED, INV_A3, SIZE, TX, TY

_RADIUS_OF_USE = 32.0  # in depths
_WIDER, _WIDENINGS = 30.0, np.int64(4)  # steps of the radius of use
_HEIGHT_STEPS = np.int64(6)
WIDEST, _RATIO = 0.5, 1.75  # rad, and from one angle to the next
WIDEST_OF_ELLIPSOIDS = 1.5  # rad
_LACK = 1e-11  # of the smaller body, by which the floor of a cap of ellipsoids may be below the depth
WIDTH = np.int64(8)  # angles at once
_BATCHES = 3  # down to 1.3e-6 rad

ROW = 24  # farther apart than what is computed at once, so that it is seen that rows do not overlap
_layout = Layout(ROW)
_ALL = _layout.place(_BATCHES)  # angles, widest first
_SURPLUS = _layout.place(_BATCHES)  # least radius over their caps beyond the depth
COSINE, LEAST = _layout.place(), _layout.place()  # of the angles at hand, and the least radius of M over their caps
# Of body A, then of B: the angles at hand, ranges of directions, heights and radii.
_BODY_ROWS = 1 + 6 + 7 + 7 + 5
BODY_A = _layout.place(_BODY_ROWS)
BODY_B = _layout.place(_BODY_ROWS)
LENGTH = _layout.length
ANGLE, _SPANS = 0, ROW
# Of a height: whether found, then its curve point, slope, and how much too far steps go. The lower one is mirrored.
_LOWER, _UPPER = 7 * ROW, 14 * ROW
_POINT, _NU, _BEYOND = ROW, 5 * ROW, 6 * ROW
RADII = 21 * ROW

_load_4, _load_5, _load_6 = loader(4, ROW), loader(5, ROW), loader(6, ROW)
_load_shape = loader(INV_A3 + 1, 1)


@inlined
def _unlimited_power(x, exponent):
    return exp(exponent * log(x))


SUBSTITUTES[caps.unlimited_power] = _unlimited_power
_spans_of = in_lanes(caps.spans_of, SUBSTITUTES)
_heights_without_taper = in_lanes(caps.heights_without_taper, SUBSTITUTES)
_next_height = in_lanes(caps.next_height, SUBSTITUTES)
_radii_between = in_lanes(caps.radii_between, SUBSTITUTES)
_radius_of_both = in_lanes(caps.radius_of_both, SUBSTITUTES)


@inlined
def _spans_in(rows, i):
    t = _load_6(rows, _SPANS + i)
    return Spans(t[0], t[1], t[2], t[3], t[4], t[5])


@inlined
def _height_in(rows, at, sign):
    t = _load_4(rows, at + _POINT)
    return Height(t[0], sign * t[1], t[2], sign * t[3])


@inlined
def _put_height(rows, at, is_found, height, sign):
    rows[at] = 1.0 if is_found else 0.0
    rows[at + _POINT], rows[at + _POINT + ROW] = height.r, sign * height.w
    rows[at + _POINT + 2 * ROW], rows[at + _POINT + 3 * ROW] = height.rd, sign * height.wd


@inlined
def _all_found(rows, at, count):
    missing = 0
    for i in range(count):
        missing += 1 if rows[at + i] == 0.0 else 0
    return missing == 0


@inlined
def _find_height(rows, shape, f, sign, at, count):
    """Heights of a tapered body, mirrored by a sign, above which no support points lie."""
    start, slope = first_height(shape, f, sign)
    for i in range(count):
        spans = _spans_in(rows, i)
        n3 = spans.n3_hi if sign > 0.0 else -spans.n3_lo
        is_pole = (spans.n1_lo == 0.0) & (spans.n2_lo == 0.0) & (n3 > 0.0)  # the pole is in the cap
        r, w, rd, wd = start
        height = Height(0.0 if is_pole else r, 1.0 if is_pole else w, 0.0 if is_pole else rd, 1.0 if is_pole else wd)
        _put_height(rows, at + i, is_pole, height, 1.0)
        rows[at + _NU + i], rows[at + _BEYOND + i] = slope, 0.0
    for step in range(_HEIGHT_STEPS):
        if _all_found(rows, at, count):
            return
        for i in range(count):
            spans, height = _spans_in(rows, i), _height_in(rows, at + i, 1.0)
            n3 = spans.n3_hi if sign > 0.0 else -spans.n3_lo
            was_found, nu, beyond = rows[at + i] != 0.0, rows[at + _NU + i], rows[at + _BEYOND + i]
            is_above, following, next_nu, beyond = _next_height(shape, sign, height, nu, beyond, step == 0, spans, n3)
            is_found = is_above | was_found
            r, w = height.r if is_found else following.r, height.w if is_found else following.w
            rd, wd = height.rd if is_found else following.rd, height.wd if is_found else following.wd
            _put_height(rows, at + i, is_found, Height(r, w, rd, wd), 1.0)
            rows[at + _NU + i], rows[at + _BEYOND + i] = next_nu, beyond


@kernel
def radii_in_lanes(rows, body, f, axes, n, count):
    """Radii of a body over caps about the normal n at a surface point, `caps.radii_between`: rows of its lanes.

    Where no heights are found, or a dent lies between them, alpha, beta and the least radius are 0.
    """
    out_of_line()
    shape = _load_shape(body, 0)
    is_dented = body[DENTED] != 0.0
    dent_lo, dent_hi = (body[DENT_LO], body[DENT_HI]) if is_dented else (math.inf, -math.inf)
    for i in range(count):
        spans = _spans_of(shape, n, rows[ANGLE + i])
        rows[_SPANS + i], rows[_SPANS + ROW + i] = spans.n1_lo, spans.n1_hi
        rows[_SPANS + 2 * ROW + i], rows[_SPANS + 3 * ROW + i] = spans.n2_lo, spans.n2_hi
        rows[_SPANS + 4 * ROW + i], rows[_SPANS + 5 * ROW + i] = spans.n3_lo, spans.n3_hi
    if shape[TX] == 0.0 and shape[TY] == 0.0:
        for i in range(count):
            is_found, lower, upper = _heights_without_taper(shape, _spans_in(rows, i))
            _put_height(rows, _LOWER + i, is_found, lower, -1.0)
            _put_height(rows, _UPPER + i, is_found, upper, 1.0)
    else:
        # The slice of a support point depends on its height.
        _find_height(rows, shape, f, -1.0, _LOWER, count)
        _find_height(rows, shape, f, 1.0, _UPPER, count)
    for i in range(count):
        lower, upper = _height_in(rows, _LOWER + i, -1.0), _height_in(rows, _UPPER + i, 1.0)
        radii = _radii_between(shape, f, axes, n, rows[ANGLE + i], _spans_in(rows, i), lower, upper)
        is_known = rows[_LOWER + i] != 0.0 and rows[_UPPER + i] != 0.0 and not (lower.w < dent_hi and upper.w > dent_lo)
        rows[RADII + i] = radii.alpha if is_known else 0.0
        rows[RADII + ROW + i] = radii.stray_e
        rows[RADII + 2 * ROW + i] = radii.beta if is_known else 0.0
        rows[RADII + 3 * ROW + i] = radii.stray_z
        rows[RADII + 4 * ROW + i] = radii.least if is_known else 0.0


@inlined
def _radii_in(lanes, at):
    t = _load_5(lanes, at + RADII)
    return Radii(t[0], t[1], t[2], t[3], t[4])


@kernel
def least_radii(lanes, pair, fa, fb, n, depth, count):
    """Lower bounds of the radius of curvature of M, in any direction of travel, over caps about n."""
    out_of_line()
    a, b, rotation = pair.a, pair.b, pair.rotation
    m = rotate_back(rotation, scale(-1.0, n))
    axes_a, axes_b = axes_at(a, fa), axes_at(b, fb)
    radii_in_lanes(lanes[BODY_A:], a, fa, axes_a, n, count)
    radii_in_lanes(lanes[BODY_B:], b, fb, axes_b, m, count)
    t1, t2 = tangent_frame(n)
    e_b, z_b = rotate(rotation, axes_b.e), rotate(rotation, axes_b.z)
    most = _RADIUS_OF_USE * depth
    for i in range(count):
        lanes[LEAST + i] = _radii_in(lanes, BODY_A + i).least + _radii_in(lanes, BODY_B + i).least
    for _ in range(_WIDENINGS):
        for i in range(count):
            of_a, of_b = _radii_in(lanes, BODY_A + i), _radii_in(lanes, BODY_B + i)
            radius = _radius_of_both(of_a, axes_a, of_b, e_b, z_b, t1, t2, lanes[COSINE + i], most)
            lanes[LEAST + i] = radius if radius > lanes[LEAST + i] else lanes[LEAST + i]
        most *= _WIDER


@kernel
def _first_surplus(lanes, pair, fa, fb, n, depth):
    """Number of the widest angle over whose cap the least radius exceeds the depth; negative where that is of none.

    Fills in the angles and what the radius exceeds the depth by, up to that.
    """
    most, angle = _RADIUS_OF_USE * depth, WIDEST
    for first in range(0, _BATCHES * WIDTH, WIDTH):
        for i in range(WIDTH):
            lanes[_ALL + first + i] = lanes[BODY_A + ANGLE + i] = lanes[BODY_B + ANGLE + i] = angle
            lanes[COSINE + i] = math.cos(angle)
            angle /= _RATIO
        least_radii(lanes, pair, fa, fb, n, depth, WIDTH)
        for i in range(WIDTH):
            surplus = min(BELOW_ROUNDING * lanes[LEAST + i], most) - depth
            lanes[_SURPLUS + first + i] = surplus
            if surplus > 0.0:
                return first + i
    return -1


@kernel
def _cap_by_ellipsoid(pair, k, depth):
    """Cap about a contact of two ellipsoids, no wider than a hemisphere; angle 0 where its floor is below the depth.

    Of the normals of both bodies and their middle, that of the thinnest one has the highest floor.
    """
    radius = radius_beyond(depth)
    n, floor = k.n, floor_of_ball(pair, k.n, radius)
    for side in range(2):
        m = k.normal_a if side == 0 else k.inward_b
        height = floor_of_ball(pair, m, radius)
        if height > floor:
            n, floor = m, height
    if not floor >= depth - _LACK * min(pair.a[SIZE], pair.b[SIZE]):
        return Cap(0.0, floor)
    cap = cap_by_ellipsoid(pair, n, radius)
    return Cap(min(cap.angle - 2.0 * norm(sub(k.normal_a, k.inward_b)), WIDEST_OF_ELLIPSOIDS), cap.floor)


@kernel(_nrt=True, separate=True)
def largest_cap(pair, fa, fb):
    """Largest cap on which the depth of a contact is proved to be the least; angle 0 where none is.

    h_A(m) = m . x_A + the integral of sin R_A from the exact normal n_A of x_A on, and the same for B. So with
    h_M(m) >= m . (x_A - x_B) + both integrals, y = h_M - depth obeys y'' + y = R - depth with y = 0 at n, and starts
    no steeper downwards than -drop: what Newton has left of the tangential offset and, times R, of the mismatch of the
    normals. R is bounded below ring by ring, on each ring by the least radius of the cap that it ends. The first is as
    wide as R is found to exceed the depth on; from there on R falls, and what y has gained carries it over the rim.
    With a surplus of R over the depth y falls by no more than sqrt(surplus^2 + drop^2) - surplus before it rises.

    Of two ellipsoids `ellipsoid_pairs` mostly knows wider ones. No cap is as wide as a hemisphere: with its corners a
    triangle lies in it.
    """
    out_of_line()
    k = observe(pair, fa, fb, 1.0)
    none = Cap(0.0, 0.0)
    depth = -dot(k.u, k.n)
    if not (depth > 0.0):
        return none
    if are_ellipsoids(pair):
        cap = _cap_by_ellipsoid(pair, k, depth)
        if cap.angle > WIDEST:
            return cap
    lanes = np.empty(LENGTH)
    ring = _first_surplus(lanes, pair, fa, fb, k.n, depth)
    if ring < 0:
        return none
    offset = norm(combine(1.0, k.u, depth, k.n))
    mismatch = norm(sub(k.normal_a, k.inward_b))
    drop = offset + _RADIUS_OF_USE * depth * mismatch
    inner, surplus = lanes[_ALL + ring], lanes[_SURPLUS + ring]
    y = surplus * (1.0 - math.cos(inner)) - drop * math.sin(inner)
    slope = surplus * math.sin(inner) - drop * math.cos(inner)
    if not (y >= 0.0 and slope >= 0.0):
        return none
    floor = depth - drop * drop / (surplus + math.sqrt(surplus * surplus + drop * drop))
    while ring > 0:
        ring -= 1
        outer, surplus = lanes[_ALL + ring], lanes[_SURPLUS + ring]
        width = outer - inner
        y_next = surplus * (1.0 - math.cos(width)) + y * math.cos(width) + slope * math.sin(width)
        if not (y_next >= 0.0):
            # y is concave where it falls back to zero: it is not negative up to any point at which it is not.
            lo, hi = 0.0, width
            for _ in range(6):
                width = 0.5 * (lo + hi)
                if surplus * (1.0 - math.cos(width)) + y * math.cos(width) + slope * math.sin(width) >= 0.0:
                    lo = width
                else:
                    hi = width
            return Cap(inner + lo, floor)
        slope = (surplus - y) * math.sin(width) + slope * math.cos(width)
        y = y_next
        inner = outer
    return Cap(inner, floor)
