# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Kernels of the superovoid: surface points with their duals, gradient, Hessian, support function.

Symbols (local frame of the body; Gonçalves et al. 2017 eq. 5, with the ``- 1`` its print lacks):

    F = (|x/(a1 kx)|^p + |y/(a2 ky)|^p)^(s/p) + |w|^s - 1,   kx = 1 + Tx w,  ky = 1 + Ty w,  w = z/a3
    p = 2/e1, s = 2/e2          exponents of the two layers
    q = 2/(2-e1), t = 2/(2-e2)  their duals: 1/p + 1/q = 1, 1/s + 1/t = 1

A surface point is two points of untapered unit curves, each with its dual (the gradient of the curve's norm):

    layer 1  |C|^p + |S|^p = 1,   Cd = C^(p-1), Sd = S^(p-1)      (signed powers)
    layer 2  |r|^s + |w|^s = 1,   rd = r^(s-1), wd = w^(s-1)
    x = a1 kx r C,  y = a2 ky r S,  z = a3 w

so that C Cd + S Sd = 1 and r rd + w wd = 1. A coordinate that underflows to 0 still has its exact
dual and the other way round: for e > 1.5 the normal can no longer be had from the point, nor for e < 0.5 the
point from the normal. Keeping both is what makes machine precision possible over the whole range of exponents.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel
from superovoid.compiled.powers import TINY, exp, log_1p, power

# Layout of a packed body (one row of float64).
A1, A2, A3, TX, TY = 0, 1, 2, 3, 4
P, S_, Q, T_ = 5, 6, 7, 8
INV_P, INV_S, INV_Q, INV_T = 9, 10, 11, 12
INV_A1, INV_A2, INV_A3 = 13, 14, 15
RADIUS = 16  # upper bound of |x| over the body, about the origin of its frame
SIZE = 17  # largest semi-axis: the unit in which tolerances are stated
HAS_CONCAVITY = 18  # 0: convex; 1: not convex
CONCAVITY_LO, CONCAVITY_HI = 19, 20  # w interval outside which every slice profile is concave
CONCAVITY_CURVATURE = 21  # bound of the positive second derivative of the slice profile inside it, per |n|
CONCAVITY_R_LO, CONCAVITY_NU_LO, CONCAVITY_R_HI, CONCAVITY_NU_HI = (
    22,
    23,
    24,
    25,
)  # meridian radius and slope at its two ends
CONCAVITY_DEFICIT = 26  # bound of h(n) / |n| of the convex hull less that of a convex body inside the body
BODY_LENGTH = 27

ON_AXIS = 1e-100  # magnitude below which a point of a plane, or a dual, is at zero
_POLAR = 1e-15  # slope of a normal, in semi-axes, below which its point is a pole to machine precision
MAX_CURVATURE_RATIO = 1e8  # of the dual to the point; keeps the Newton system finite at a crease


class SurfacePoint(NamedTuple):
    """A point of the surface as two unit-curve points with their duals (module docstring)."""

    C: float
    S: float
    Cd: float
    Sd: float
    r: float
    w: float
    rd: float
    wd: float


class Hessian(NamedTuple):
    """Symmetric 3 x 3 matrix."""

    xx: float
    xy: float
    yy: float
    xz: float
    yz: float
    zz: float


@kernel
def off_zero(u, v):
    """Return u, or a small number if (u, v) is too short to have a direction."""
    return u if abs(u) + abs(v) >= ON_AXIS else ON_AXIS


@kernel
def is_polar(b, n):
    """Return whether a normal is along the axis of a body: the slices shrink to the pole, if there is a taper."""
    return b[A1] * abs(n[0]) + b[A2] * abs(n[1]) < _POLAR * b[A3] * abs(n[2])


@kernel
def ratio_of(u, v):
    """Ratio of the smaller to the larger of two magnitudes; 0 if both are 0."""
    larger = max(abs(u), abs(v))
    return min(abs(u), abs(v)) / (larger if larger > 0.0 else 1.0)


@kernel
def unit_curve_from_point(u, v, p, inv_p):
    """Scale (u, v) onto |C|^p + |S|^p = 1; return the point and its dual. (0, 0) becomes (1, 0)."""
    ratio = ratio_of(u, v)
    share = power(ratio, p)
    return unit_curve(u, v, ratio, share, exp(-inv_p * log_1p(share)))


@kernel
def unit_curve(u, v, ratio, share, major):
    """Point and dual from the ratio of the smaller to the larger coordinate.

    With share = ratio^p the larger coordinate is major = (1 + share)^(-1/p), its dual 1 / ((1 + share) major), and the
    smaller's dual share / ratio of that: no power leaves the range of numbers.
    """
    minor = ratio * major
    major_dual = 1.0 / ((1.0 + share) * major)
    minor_dual = share / ratio * major_dual if ratio > TINY else 0.0
    first = abs(u) >= abs(v)
    c, cd = (major if first else minor), (major_dual if first else minor_dual)
    s, sd = (minor if first else major), (minor_dual if first else major_dual)
    return math.copysign(c, u), math.copysign(s, v), math.copysign(cd, u), math.copysign(sd, v)


@kernel
def unit_curve_from_normal(n1, n2, q, inv_q):
    """Point of |C|^p + |S|^p = 1 with normal along (n1, n2), 1/p + 1/q = 1; return the point and its dual."""
    cd, sd, c, s = unit_curve_from_point(n1, n2, q, inv_q)
    return c, s, cd, sd


@kernel
def _point_from_normal_at(b, n, kx, ky, r):
    n2 = b[A2] * ky * n[1]
    n1 = off_zero(b[A1] * kx * n[0], n2)
    c, s, cd, sd = unit_curve_from_normal(n1, n2, b[Q], b[INV_Q])
    slice_support = n1 * c + n2 * s
    n3 = b[A3] * n[2] + slice_support * r * (c * cd * b[TX] / kx + s * sd * b[TY] / ky)
    r, w, rd, wd = unit_curve_from_normal(slice_support, n3, b[T_], b[INV_T])
    return SurfacePoint(c, s, cd, sd, r, w, rd, wd)


@kernel
def surface_point_towards(b, direction):
    """Surface point whose untapered image lies along a direction given on the unit shape."""
    u, v, w = direction
    u = off_zero(u, v)
    c, s, cd, sd = unit_curve_from_point(u, v, b[P], b[INV_P])
    m = u * cd + v * sd
    r, w, rd, wd = unit_curve_from_point(m, w, b[S_], b[INV_S])
    return SurfacePoint(c, s, cd, sd, r, w, rd, wd)


@kernel
def position(b, f):
    """Local coordinates of a surface point."""
    return (
        b[A1] * (1.0 + b[TX] * f.w) * f.r * f.C,
        b[A2] * (1.0 + b[TY] * f.w) * f.r * f.S,
        b[A3] * f.w,
    )


@kernel
def gradient(b, f):
    """Gradient of F at a surface point, divided by s (its length is of no use to anyone)."""
    kx = 1.0 + b[TX] * f.w
    ky = 1.0 + b[TY] * f.w
    taper = f.r * f.rd * (f.C * f.Cd * b[TX] / kx + f.S * f.Sd * b[TY] / ky)
    return (f.rd * f.Cd * b[INV_A1] / kx, f.rd * f.Sd * b[INV_A2] / ky, (f.wd - taper) * b[INV_A3])


@kernel
def dual_ratio(dual, point, exponent):
    """dual / point = |point|^(exponent - 2), clipped if the curvature is infinite."""
    if abs(point) < 1e-140:
        if exponent == 2.0:
            return 1.0
        return 0.0 if abs(dual) < ON_AXIS else MAX_CURVATURE_RATIO
    return min(dual / point, MAX_CURVATURE_RATIO)


@kernel
def hessian(b, f):
    """Hessian of F at a surface point, divided by s; needs no power beyond the stored duals.

    Derived from F with r^s = (|u|^p + |v|^p)^(s/p); checked against finite differences in the tests.
    """
    p = b[P]
    s = b[S_]
    kx = 1.0 + b[TX] * f.w
    ky = 1.0 + b[TY] * f.w
    ix = b[INV_A1] / kx
    iy = b[INV_A2] / ky
    iz = b[INV_A3]
    tx = b[TX] / kx
    ty = b[TY] / ky
    alpha = f.C * f.Cd
    beta = f.S * f.Sd
    d = s - p
    ring = dual_ratio(f.rd, f.r, s)
    xx = ring * dual_ratio(f.Cd, f.C, p) * ((p - 1.0) + d * alpha) * ix * ix
    yy = ring * dual_ratio(f.Sd, f.S, p) * ((p - 1.0) + d * beta) * iy * iy
    xy = ring * d * f.Cd * f.Sd * ix * iy
    xz = -ix * iz * f.rd * f.Cd * (tx * (p + d * alpha) + ty * d * beta)
    yz = -iy * iz * f.rd * f.Sd * (ty * (p + d * beta) + tx * d * alpha)
    taper = (
        f.r
        * f.rd
        * (
            alpha * tx * tx * ((p + 1.0) + d * alpha)
            + beta * ty * ty * ((p + 1.0) + d * beta)
            + 2.0 * d * alpha * beta * tx * ty
        )
    )
    zz = ((s - 1.0) * dual_ratio(f.wd, f.w, s) + taper) * iz * iz
    return Hessian(xx, xy, yy, xz, yz, zz)


@kernel
def bilinear(h, u, v):
    """Return ``u^T H v``."""
    return (
        u[0] * (h.xx * v[0] + h.xy * v[1] + h.xz * v[2])
        + u[1] * (h.xy * v[0] + h.yy * v[1] + h.yz * v[2])
        + u[2] * (h.xz * v[0] + h.yz * v[1] + h.zz * v[2])
    )


@kernel
def shape_operator(b, f, t1, t2, per_gradient):
    """Entries 11, 12, 22 of the shape operator in a tangent frame; `per_gradient` is 1 / |grad F|."""
    h = hessian(b, f)
    return per_gradient * bilinear(h, t1, t1), per_gradient * bilinear(h, t1, t2), per_gradient * bilinear(h, t2, t2)
