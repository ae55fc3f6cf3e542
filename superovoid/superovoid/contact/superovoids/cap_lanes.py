# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""The largest cap about a contact on which its depth is proved to be the least, from caps of several angles at once.

The formulas are those of `caps`, compiled for loops over angles (`simd.in_lanes`).
"""

from __future__ import annotations

import math

import numpy as np

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import combine, dot, norm, rotate, rotate_back, scale, sub, tangent_frame
from superovoid.contact.lanes.simd import Layout, in_lanes, loader, storer
from superovoid.contact.superovoids import caps
from superovoid.contact.superovoids.caps import BELOW_ROUNDING, Cap, Heights, Radii, axes_at
from superovoid.contact.superovoids.ellipsoid_pairs import (
    are_ellipsoids,
    cap_by_ellipsoid,
    floor_of_ball,
    radius_beyond,
)
from superovoid.contact.superovoids.newton import observe
from superovoid.shapes.kernels.surface import DENT_HI, SIZE, TX, TY

_RADIUS_OF_USE = 32.0  # in depths
WIDEST, _RATIO = 0.5, 1.75  # rad, and from one angle to the next
WIDEST_OF_ELLIPSOIDS = 1.5  # rad
_LACK = 1e-11  # of the smaller body, by which the floor of a cap of ellipsoids may be below the depth
WIDTH = np.int64(8)  # angles at once
_BATCHES = 3  # down to 1.3e-6 rad

ROW = 24  # farther apart than a vector, so that LLVM sees that rows do not overlap
_of_body = Layout(ROW)
ANGLE, _HEIGHTS, RADII = _of_body.place(), _of_body.place(Heights), _of_body.place(Radii)  # angles: widest first
BODY_A, BODY_B, _SURPLUS = 0, _of_body.length, 2 * _of_body.length  # the last: least radius beyond the depth
LENGTH = _SURPLUS + ROW

_load_body = loader(DENT_HI + 1, 1)
_load_heights, _load_radii = loader(Heights, ROW), loader(Radii, ROW)
_store_heights, _store_radii = storer(Heights, ROW), storer(Radii, ROW)


_spans_of, _heights_with_taper, _heights_without_taper, _radii_over_cap, _radius_of_both = (
    in_lanes(each)
    for each in (
        caps.spans_of,
        caps.heights_with_taper,
        caps.heights_without_taper,
        caps.radii_over_cap,
        caps.radius_of_both,
    )
)


@kernel
def radii_in_lanes(rows, body, f, axes, n, count):
    """Radii of a body over caps about the normal n at a surface point, of the first angles in its rows."""
    out_of_line()
    shape = _load_body(body, 0)
    if shape[TX] == 0.0 and shape[TY] == 0.0:
        for i in range(count):
            spans = _spans_of(shape, n, rows[ANGLE + i])
            _store_heights(rows, _HEIGHTS + i, _heights_without_taper(shape, spans))
    else:
        for i in range(count):
            spans = _spans_of(shape, n, rows[ANGLE + i])
            _store_heights(rows, _HEIGHTS + i, _heights_with_taper(shape, f, spans))
    for i in range(count):
        radii = _radii_over_cap(shape, f, axes, n, rows[ANGLE + i], _load_heights(rows, _HEIGHTS + i))
        _store_radii(rows, RADII + i, radii)


@kernel
def _surpluses(lanes, pair, fa, fb, n, depth, count):
    """Return the least radius of M less the depth for caps about n, of the first angles in the rows of A."""
    out_of_line()
    m = rotate_back(pair.rotation, scale(-1.0, n))
    axes_a, axes_b = axes_at(pair.a, fa), axes_at(pair.b, fb)
    e_b, z_b = rotate(pair.rotation, axes_b.e), rotate(pair.rotation, axes_b.z)
    t1, t2 = tangent_frame(n)
    for i in range(count):
        lanes[BODY_B + ANGLE + i] = lanes[BODY_A + ANGLE + i]
    radii_in_lanes(lanes[BODY_A:], pair.a, fa, axes_a, n, count)
    radii_in_lanes(lanes[BODY_B:], pair.b, fb, axes_b, m, count)
    most = _RADIUS_OF_USE * depth
    for i in range(count):
        of_a, of_b = _load_radii(lanes, BODY_A + RADII + i), _load_radii(lanes, BODY_B + RADII + i)
        cosine = 1.0 - 0.5 * lanes[ANGLE + i] * lanes[ANGLE + i]  # at most the cosine of the angle
        radius = _radius_of_both(of_a, axes_a, of_b, e_b, z_b, t1, t2, cosine, most)
        lanes[_SURPLUS + i] = min(BELOW_ROUNDING * radius, most) - depth


@kernel
def _first_surplus(lanes, pair, fa, fb, n, depth):
    """Return the number of the widest angle over whose cap the least radius exceeds the depth; negative if none.

    Fills in the angles and the excess of the radius over the depth, up to that angle.
    """
    angle = WIDEST
    for first in range(0, _BATCHES * WIDTH, WIDTH):
        for i in range(first, first + WIDTH):
            lanes[ANGLE + i] = angle
            angle /= _RATIO
        _surpluses(lanes[first:], pair, fa, fb, n, depth, WIDTH)
        for i in range(first, first + WIDTH):
            if lanes[_SURPLUS + i] > 0.0:
                return i
    return -1


@kernel
def _cap_by_ellipsoid(pair, k, depth):
    """Cap about a contact of two ellipsoids, no wider than a hemisphere; angle 0 if its floor is below the depth.

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
    """Return the largest cap on which the depth of a contact is proved to be the least; angle 0 for none.

    h_A(m) = m . x_A + the integral of sin R_A from the exact normal n_A of x_A on, and the same for B. So with h_M(m)
    >= m . (x_A - x_B) + both integrals, y = h_M - depth obeys y'' + y = R - depth with y = 0 at n, and starts no
    steeper downwards than -drop: the remaining tangential offset after Newton's method plus R times the mismatch of the
    normals. R is bounded below ring by ring, on each ring by the least radius of the cap that it ends. The first ring
    ends where R falls below the depth; from there on R falls, and the gain of y keeps it positive up to the rim. With a
    surplus of R over the depth y falls by at most sqrt(surplus^2 + drop^2) - surplus before it rises.

    For two ellipsoids `ellipsoid_pairs` mostly has wider ones. No cap is as wide as a hemisphere: with its corners a
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
    inner, surplus = lanes[ANGLE + ring], lanes[_SURPLUS + ring]
    y = surplus * (1.0 - math.cos(inner)) - drop * math.sin(inner)
    slope = surplus * math.sin(inner) - drop * math.cos(inner)
    if not (y >= 0.0 and slope >= 0.0):
        return none
    floor = depth - drop * drop / (surplus + math.sqrt(surplus * surplus + drop * drop))
    while ring > 0:
        ring -= 1
        outer, surplus = lanes[ANGLE + ring], lanes[_SURPLUS + ring]
        width = outer - inner
        y_next = surplus * (1.0 - math.cos(width)) + y * math.cos(width) + slope * math.sin(width)
        if not (y_next >= 0.0):
            # y is concave as it falls back to zero: y >= 0 up to any point with y >= 0.
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
