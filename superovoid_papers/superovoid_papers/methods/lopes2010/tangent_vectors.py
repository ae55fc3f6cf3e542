# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Tangent and binormal vectors of a normal vector, and their derivatives by it (section 3.4).

Derivatives have the form of rows, `w^T dt/dn` and `w^T db/dn` for a vector w, as in eq. 12.
"""

from __future__ import annotations

import math

from superovoid.compiled.vector import add, combine, cross, dot, norm, scale
from superovoid.compiler.jit import kernel

HOUSEHOLDER, AUXILIARY, UNIT_AUXILIARY = 0, 1, 2
METHODS = {"householder": HOUSEHOLDER, "auxiliary": AUXILIARY, "unit auxiliary": UNIT_AUXILIARY}


@kernel
def _reflection(n):
    """Return h and 2 / |h|^2 of eqs. 15 to 17, and the sign in h_1 = n_x + sign |n|.

    The paper always adds |n|: then h is 0 for n = (-|n|, 0, 0), and inaccurate nearby. With the sign of n_x, as in
    Householder's method, |h| is never less than |n|; the plane of t and b is the same.
    """
    sign = math.copysign(1.0, n[0])
    h = (n[0] + sign * norm(n), n[1], n[2])
    return h, 2.0 / dot(h, h), sign


@kernel
def householder(n):
    """Return the second and third column of the reflection of eq. 15: unit vectors orthogonal to n and each other."""
    h, k, _ = _reflection(n)
    return (
        (-k * h[0] * h[1], 1.0 - k * h[1] * h[1], -k * h[1] * h[2]),
        (-k * h[0] * h[2], -k * h[1] * h[2], 1.0 - k * h[2] * h[2]),
    )


@kernel
def _column_row(n, h, k, sign, column, h_column, w):
    """Return ``w^T d(column)/dn`` of the column e - k h_column h of eq. 15, with its unit vector e.

    By h it is -k (h_column w + (w.h) e) + k^2 (w.h) h_column h, as dk = -k^2 h.dh; dh = dn + sign (n.dn / |n|) e_x.
    """
    wh = dot(w, h)
    by_h = add(combine(-k * h_column, w, -k * wh, column), scale(k * k * wh * h_column, h))
    return combine(1.0, by_h, sign * by_h[0] / norm(n), n)


@kernel
def householder_rows(n, w):
    """Return ``w^T dt/dn`` and ``w^T db/dn`` of `householder`."""
    h, k, sign = _reflection(n)
    return (
        _column_row(n, h, k, sign, (0.0, 1.0, 0.0), h[1], w),
        _column_row(n, h, k, sign, (0.0, 0.0, 1.0), h[2], w),
    )


@kernel
def _corner(n):
    """Return a corner of the square plate (fig. 2) across n: v_2 if n_x and n_y have the same sign, or v_1 (table 1).

    v_l = n + |n| corner, so n x v_l = |n| n x corner. v_3 and v_4 give the opposite tangents of v_1 and v_2. With this
    choice the angle between n and the corner's line is never below 45 degrees. For n_x = n_y = 0, missing in the table,
    every corner is valid.
    """
    return (-1.0, 1.0, 0.0) if n[0] * n[1] >= 0.0 else (1.0, 1.0, 0.0)


@kernel
def auxiliary_vectors(n):
    """Return t = n x v and b = n x t, eq. 19: orthogonal, with lengths |n|^2 to 1.42 |n|^2, and |n| times that."""
    t = cross(n, combine(1.0, n, norm(n), _corner(n)))
    return t, cross(n, t)


@kernel
def _tangent_row(n, corner, length, w):
    """Return ``w^T dt/dn`` for t = n x v: dt = dn x v + n x dv with dv = dn + corner (n.dn / |n|)."""
    across = cross(w, n)
    row = add(cross(combine(1.0, n, length, corner), w), across)
    return combine(1.0, row, dot(corner, across) / length, n)


@kernel
def auxiliary_rows(n, w):
    """Return ``w^T dt/dn`` and ``w^T db/dn`` of `auxiliary_vectors`: eq. 20, which lacks a minus (line 1, term 2)."""
    corner = _corner(n)
    length = norm(n)
    t = cross(n, combine(1.0, n, length, corner))
    return (
        _tangent_row(n, corner, length, w),
        add(cross(t, w), _tangent_row(n, corner, length, cross(w, n))),
    )


@kernel
def _by_unit(t, w):
    """Return the vector v with ``v^T dt`` = ``w^T d(t/|t|)``."""
    per = 1.0 / norm(t)
    return combine(per, w, -per * per * per * dot(w, t), t)


@kernel
def unit_auxiliary_rows(n, w):
    """Return ``w^T dt/dn`` and ``w^T db/dn`` of the normalised vectors of `auxiliary_vectors`."""
    t, b = auxiliary_vectors(n)
    by_t, _ = auxiliary_rows(n, _by_unit(t, w))
    _, by_b = auxiliary_rows(n, _by_unit(b, w))
    return by_t, by_b


@kernel
def tangents(method, n):
    """Return tangent and binormal by one of the methods."""
    if method == HOUSEHOLDER:
        return householder(n)
    t, b = auxiliary_vectors(n)
    if method == UNIT_AUXILIARY:
        return scale(1.0 / norm(t), t), scale(1.0 / norm(b), b)
    return t, b


@kernel
def tangent_rows(method, n, w):
    """Return ``w^T dt/dn`` and ``w^T db/dn`` by one of the methods."""
    if method == HOUSEHOLDER:
        return householder_rows(n, w)
    if method == UNIT_AUXILIARY:
        return unit_auxiliary_rows(n, w)
    return auxiliary_rows(n, w)
