# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Pieces of a body, and their support points.

A piece of a superovoid lies between two heights. Outside the interval of the concavity every slice profile phi(w) is
concave (`shapes.kernels.concavities`): the part above it is a convex body, and so is the part below. Between them a
piece is a slab, on one side of the equator. Its convex hull has the support h(n) = max phi over its heights, bounded
from the slices at its two ends.

A circle is cut into arcs between two angles. Any other core is one convex piece.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import dot
from superovoid.shapes.kernels.kinds import SUPEROVOID, TORUS, core_support
from superovoid.shapes.kernels.retraction import along_to_surface
from superovoid.shapes.kernels.support_function import (
    OF_PIECES,
    parabola_bound,
    point_at_height,
    product_bound,
    profile_value,
    ring_at,
    slice_of,
    support_between,
)
from superovoid.shapes.kernels.surface import (
    A1,
    A2,
    A3,
    CONCAVITY_CURVATURE,
    CONCAVITY_HI,
    CONCAVITY_LO,
    CONCAVITY_NU_HI,
    CONCAVITY_NU_LO,
    HAS_CONCAVITY,
    ON_AXIS,
    S_,
    SIZE,
    TX,
    TY,
    Q,
    SurfacePoint,
    _point_from_normal_at,
    dual_ratio,
    is_polar,
    position,
)

_LARGEST_RADIUS = 1e6  # largest radius of curvature, in sizes of the body
_ARCS = 4  # number of first pieces of a circle
NO_POINT = SurfacePoint(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)  # for cores other than superovoids


class PieceSupport(NamedTuple):
    """Support point of a piece along a unit direction."""

    x: tuple
    f: SurfacePoint
    upper: float  # proved upper bound of n . x over the piece
    inside: bool  # whether the point is between the ends


@kernel
def piece_end(b, i):
    """Return the lower end of the i-th first piece of a body, which is the upper end of the previous piece."""
    if i == 0:
        return -1.0
    if b[HAS_CONCAVITY] == 0.0:
        return 1.0
    if i == 1:
        return b[CONCAVITY_LO]
    crosses = b[CONCAVITY_LO] < 0.0 < b[CONCAVITY_HI]
    if i == 2 and crosses:
        return 0.0
    return b[CONCAVITY_HI] if i == (3 if crosses else 2) else 1.0


@kernel
def is_convex_piece(b, lo, hi):
    """Return whether a piece is convex."""
    return b[HAS_CONCAVITY] == 0.0 or hi <= b[CONCAVITY_LO] or lo >= b[CONCAVITY_HI]


@kernel
def _support_of_slab(b, n, lo, hi):
    """Compute the support of a slab between two heights of a concavity, both on one side of the equator."""
    k, rise = b[CONCAVITY_CURVATURE], b[A3] * n[2]
    left, f_left = slice_of(b, n, ring_at(b, lo))
    right, f_right = slice_of(b, n, ring_at(b, hi))
    if left.slope > 0.0 and right.slope < 0.0:
        # A maximum inside: estimate its height from the slopes.
        width = hi - lo
        w = lo + width * min(0.9, max(0.1, left.slope / (left.slope - right.slope)))
        middle, f = slice_of(b, n, ring_at(b, w))
        upper = max(
            min(parabola_bound(left, middle, k), product_bound(left, middle, rise)),
            min(parabola_bound(middle, right, k), product_bound(middle, right, rise)),
        )
        if middle.phi >= max(left.phi, right.phi):
            return PieceSupport(position(b, f), f, upper, True)
    else:
        upper = min(parabola_bound(left, right, k), product_bound(left, right, rise))
    if left.phi >= right.phi:
        return PieceSupport(position(b, f_left), f_left, upper, False)
    return PieceSupport(position(b, f_right), f_right, upper, False)


@kernel(separate=True)
def piece_support(b, n, lo, hi):
    """Return the support point of the part of a body between two heights along a unit direction."""
    if is_polar(b, n):
        w = hi if n[2] > 0.0 else lo
        f = _point_from_normal_at(b, n, 1.0, 1.0, 0.0) if abs(w) == 1.0 else point_at_height(b, n, w)
        return PieceSupport(position(b, f), f, profile_value(b, n, f), abs(w) == 1.0)
    if not is_convex_piece(b, lo, hi):
        return _support_of_slab(b, n, lo, hi)
    nu_lo = -math.inf if lo == -1.0 else b[CONCAVITY_NU_HI]
    nu_hi = math.inf if hi == 1.0 else b[CONCAVITY_NU_LO]
    f = support_between(b, n, nu_lo, nu_hi, OF_PIECES)
    width = 1e-9 * (hi - lo)
    inside = (lo == -1.0 or f.w > lo + width) and (hi == 1.0 or f.w < hi - width)
    return PieceSupport(position(b, f), f, profile_value(b, n, f), inside)


@kernel
def piece_radii(b, n, f, inside):
    """Estimate the radius matrix alpha e e^T + beta Z Z^T of a piece at a support point (`caps`).

    Returns alpha, e, beta, Z; for a slice, only the first term. No proof depends on it.
    """
    kx, ky = 1.0 + b[TX] * f.w, 1.0 + b[TY] * f.w
    q, s = b[Q], b[S_]
    most = _LARGEST_RADIUS * b[SIZE]
    g = max(b[A1] * kx * n[0] * f.C + b[A2] * ky * n[1] * f.S, ON_AXIS)
    e = (b[A1] * kx * f.Sd, -b[A2] * ky * f.Cd, 0.0)
    bend = dual_ratio(f.C * f.S, f.Cd * f.Sd, q)
    alpha = min(f.r * (q - 1.0) * bend / g, most / max(e[0] * e[0] + e[1] * e[1], 1e-100))
    if not inside:
        return alpha, e, 0.0, e
    tx, ty = b[TX] / kx, b[TY] / ky
    c, d = f.C * f.Cd, f.S * f.Sd
    dg = g * (c * tx + d * ty)
    ddg = (q - 1.0) * c * d * (tx - ty) * (tx - ty) * g
    sharp = dual_ratio(f.wd, f.w, s)
    r_s = f.r * f.rd
    mx = r_s * (tx + (q - 1.0) * (tx - ty) * d) - f.wd
    my = r_s * (ty - (q - 1.0) * (tx - ty) * c) - f.wd
    z = (b[A1] * kx * mx * f.C, b[A2] * ky * my * f.S, b[A3] * f.rd)
    below = (s - 1.0) * sharp * g + 2.0 * f.r * f.wd * f.rd * dg - r_s * r_s * ddg
    length = max(z[0] * z[0] + z[1] * z[1] + z[2] * z[2], 1e-100)
    beta = min(f.r / below, most / length) if below > 0.0 else most / length
    return alpha, e, beta, z


# --- pieces of a core ---------------------------------------------------------------------------------------------


@kernel
def core_piece_ends(core, i):
    """Return the ends of the i-th first piece of a core, heights or angles, and whether it is the last."""
    if core.kind == TORUS:
        return math.pi * (2.0 * i / _ARCS - 1.0), math.pi * (2.0 * (i + 1) / _ARCS - 1.0), i + 1 == _ARCS
    if core.kind == SUPEROVOID:
        hi = piece_end(core.row, i + 1)
        return piece_end(core.row, i), hi, hi == 1.0
    return 0.0, 0.0, True


@kernel
def is_convex_core_piece(core, lo, hi):
    """Return whether a piece of a core is convex."""
    return core.kind != TORUS and (core.kind != SUPEROVOID or is_convex_piece(core.row, lo, hi))


@kernel
def core_piece_unit(core):
    """Return the length [m] of a piece from 0 to 1."""
    return core.row[A1] if core.kind == TORUS else core.row[A3]


@kernel
def _arc_support(radius, n, first, last):
    """Return the support point of an arc along n in the frame of its circle."""
    at = math.atan2(n[1], n[0])
    if not (first <= at <= last):
        rises = n[0] * (math.cos(last) - math.cos(first)) + n[1] * (math.sin(last) - math.sin(first)) > 0.0
        at = last if rises else first
    return (radius * math.cos(at), radius * math.sin(at), 0.0)


@kernel
def core_piece_support(core, n, lo, hi):
    """Return the support point of a piece in the frame of its core."""
    if core.kind == SUPEROVOID:
        return piece_support(core.row, n, lo, hi)
    if core.kind == TORUS:
        x = _arc_support(core.row[A1], n, lo, hi)
        return PieceSupport(x, NO_POINT, dot(n, x), False)
    x, _, upper = core_support(core, n)
    return PieceSupport(x, NO_POINT, upper, False)


@kernel
def core_piece_place(core, p):
    """Return the height or angle of a point in the frame of a superovoid or a circle; 0 for other cores."""
    if core.kind == TORUS:
        return math.atan2(p[1], p[0])
    return p[2] / core.row[A3] if core.kind == SUPEROVOID else 0.0


@kernel
def onto_core(core, p, n):
    """Move a mean of support points along n onto the core, in the frame of the core."""
    if core.kind == SUPEROVOID:
        return along_to_surface(core.row, p, n)
    if core.kind != TORUS:
        return p
    at = math.atan2(p[1], p[0])
    return (core.row[A1] * math.cos(at), core.row[A1] * math.sin(at), 0.0)
