# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Points of the Minkowski difference of two inner bodies (`inner_bodies`) along directions, one by one and in lanes."""

from __future__ import annotations

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, dot, rotate, rotate_back, scale, sub
from superovoid.contact.minkowski.difference import LOSS
from superovoid.contact.superovoids.direction_lanes import HEIGHT, LACK, X, in_lane, put_in_lane
from superovoid.contact.superovoids.directions import minkowski_support
from superovoid.contact.superovoids.inner_bodies import inner_height, inner_point, inner_support, share_at
from superovoid.shapes.kernels.support_function import LOOSE, point_at_height, support_candidate
from superovoid.shapes.kernels.surface import SIZE, is_polar

_EXACT = 1e-13  # of a body, by which a point may fall short of the farthest


@kernel
def inner_difference(pair, inner_a, inner_b, n):
    """Point of the difference of two inner bodies the farthest along n, in the frame of A, and surface points there."""
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    _, fa, fb = minkowski_support(pair, n, LOOSE)
    fa = inner_support(a, inner_a, n, fa, _EXACT * a[SIZE])
    fb = inner_support(b, inner_b, rotate_back(rotation, scale(-1.0, n)), fb, _EXACT * b[SIZE])
    y = add(centre, rotate(rotation, inner_point(b, inner_b, fb)))
    return sub(inner_point(a, inner_a, fa), y), fa, fb


@kernel
def put_inside(b, inner, rows, gaps, count):
    """Put points of an inner body in place of the surface points in lanes, the farthest to within a part of a gap."""
    out_of_line()
    for i in range(count):
        w, loss = rows[HEIGHT + i], LOSS * gaps[i]
        shared = inner.lo <= w <= inner.hi
        if shared and rows[LACK + i] <= loss:
            continue
        n = in_lane(rows, i)
        at_pole = is_polar(b, n)
        if shared or at_pole or not (abs(w) <= 1.0):
            f = inner_support(b, inner, n, support_candidate(b, n, LOOSE), loss)
            put_in_lane(rows, X + i, inner_point(b, inner, f))
            continue
        full = in_lane(rows, X + i)
        share, _ = share_at(inner, w)
        x = (share * full[0], share * full[1], full[2])
        if rows[LACK + i] + dot(n, sub(full, x)) <= loss:
            put_in_lane(rows, X + i, x)
            continue
        height, value = inner_height(b, inner, n, w, loss)
        if not (dot(n, x) >= value - loss):
            x = inner_point(b, inner, point_at_height(b, n, height))
        put_in_lane(rows, X + i, x)
