# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Move points onto the surface of a superovoid: after a step of a point or its normal, along a line, off symmetry.

Each layer of the surface is brought back onto its unit curve from the moved *point* if the normal varies slowly with
the point, and from the moved *normal* otherwise (`retract`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel
from superovoid.compiled.powers import power
from superovoid.compiled.vector import add, combine, dot, norm, sub
from superovoid.shapes.kernels.surface import (
    A1,
    A2,
    A3,
    INV_A1,
    INV_A2,
    INV_A3,
    INV_P,
    INV_Q,
    INV_S,
    INV_T,
    ON_AXIS,
    RADIUS,
    S_,
    T_,
    TX,
    TY,
    P,
    Q,
    SurfacePoint,
    gradient,
    off_zero,
    position,
    unit_curve_from_point,
)

_HIGHEST = 1.3  # height, in semi-axes, up to which a moved point is used unchanged
_STEPS = 12
_SETTLED = 1e-15  # of the radius: a step this short leaves the point in place
_UPRIGHT = 1e-3  # cosine between the direction and the normal of the surface below which a step is not trusted
_OFF_PLANES = 0.01  # coordinate of a unit curve next to 0, where a curvature may vanish or explode at a single point


class Layers(NamedTuple):
    """A point and a normal in the coordinates of the two unit curves, not yet on the curves."""

    u: float  # point of layer 1
    v: float
    n1: float  # normal of layer 1
    n2: float
    w: float  # height
    n3: float
    tx: float  # Tx / kx at that height
    ty: float


class Ray(NamedTuple):
    """A point of a plane, and the exponent of the unit curve to scale it onto."""

    u: float
    v: float
    exponent: float
    inverse: float  # 1 / exponent


@kernel
def layers_of(body, x, n):
    """Return a point x and a normal n in the coordinates of the unit curves."""
    w = min(_HIGHEST, max(-_HIGHEST, x[2] * body[INV_A3]))
    kx = 1.0 + body[TX] * w
    ky = 1.0 + body[TY] * w
    v = x[1] * body[INV_A2] / ky
    u = off_zero(x[0] * body[INV_A1] / kx, v)
    n2 = body[A2] * ky * n[1]
    n1 = off_zero(body[A1] * kx * n[0], n2)
    return Layers(u, v, n1, n2, w, body[A3] * n[2], body[TX] / kx, body[TY] / ky)


@kernel
def first_ray(body, layers, by_point):
    """Return the ray to scale onto the curve of layer 1, or onto its dual."""
    if by_point:
        return Ray(layers.u, layers.v, body[P], body[INV_P])
    return Ray(layers.n1, layers.n2, body[Q], body[INV_Q])


@kernel
def second_ray(body, layers, curve, r, by_point):
    """Return the ray of layer 2, given the curve point of layer 1 and a radius near that of the point."""
    c, s, cd, sd = curve
    if by_point:
        return Ray(max(layers.u * cd + layers.v * sd, ON_AXIS), layers.w, body[S_], body[INV_S])
    g = max(layers.n1 * c + layers.n2 * s, ON_AXIS)
    return Ray(g, layers.n3 + g * r * (c * cd * layers.tx + s * sd * layers.ty), body[T_], body[INV_T])


@kernel
def curve_before_dual(curve, by_point):
    """Return the curve point before its dual; a scaled ray has the dual first if the ray was a normal."""
    c, s, cd, sd = curve
    return (c if by_point else cd), (s if by_point else sd), (cd if by_point else c), (sd if by_point else s)


@kernel
def _on_curve(ray, by_point):
    return curve_before_dual(unit_curve_from_point(ray.u, ray.v, ray.exponent, ray.inverse), by_point)


@kernel
def retract(body, x, n, r, by_point_1, by_point_2):
    """Return a surface point from a moved point x or normal n; `by_point_i`: whether layer i follows the point."""
    layers = layers_of(body, x, n)
    c, s, cd, sd = _on_curve(first_ray(body, layers, by_point_1), by_point_1)
    r, w, rd, wd = _on_curve(second_ray(body, layers, (c, s, cd, sd), r, by_point_2), by_point_2)
    return SurfacePoint(c, s, cd, sd, r, w, rd, wd)


@kernel
def along_to_surface(body, x, n):
    """Point of the surface of a superovoid on the line through x along n, both in its frame.

    Newton on the tangent planes of the points that lie radially above those of the line: from inside a convex body the
    first step goes beyond the surface at most, the others come back from there. At the end, or if the line runs along
    the surface, the point is moved radially for the rest.
    """
    p = x
    for _ in range(_STEPS):
        f = retract(body, x, n, 1.0, True, True)
        p = position(body, f)
        g = gradient(body, f)
        slope = dot(g, n)
        if not (slope > _UPRIGHT * norm(g)):
            break
        step = dot(g, sub(p, x)) / slope
        if not (abs(step) > _SETTLED * body[RADIUS]):
            break
        x = combine(1.0, x, step, n)
    return p


@kernel
def height_lost(body, x, n, side):
    """Return the distance of the surface below the tangent plane of normal n at x, to a side of x."""
    return dot(n, sub(x, along_to_surface(body, add(x, side), n)))


@kernel
def _off_plane(x, dual, exponent, shift):
    """Coordinate of a unit curve and its dual, moved away from a zero where the curvature vanishes at a point only."""
    if abs(x) >= shift:
        return x, dual
    return math.copysign(shift, x), math.copysign(power(shift, exponent - 1.0), x)


@kernel
def off_symmetry_planes(body, f):
    """A surface point moved a hundredth off the planes of symmetry, where curvatures vanish or explode at a point."""
    c, cd = _off_plane(f.C, f.Cd, body[P], _OFF_PLANES)
    s, sd = _off_plane(f.S, f.Sd, body[P], _OFF_PLANES)
    r, rd = _off_plane(f.r, f.rd, body[S_], _OFF_PLANES)
    w, wd = _off_plane(f.w, f.wd, body[S_], _OFF_PLANES)
    return SurfacePoint(c, s, cd, sd, r, w, rd, wd)
