# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Kernels of the superovoid in the notation of Gonçalves et al. 2017: both forms of the surface, normals, tangents.

Symbols, as in the paper (section 3), with w = z/a3, kx = 1 + Tx w, ky = 1 + Ty w:

    F = (|x/(a1 kx)|^p + |y/(a2 ky)|^p)^(s/p) + |w|^s - 1,   p = 2/e1, s = 2/e2                   (5), plus the -1
    s(phi1, phi2) = (a1 kx C r, a2 ky S r, a3 w)                                                   (10)
    C = cos(phi1)^e1, S = sin(phi1)^e1, r = cos(phi2)^e2, w = sin(phi2)^e2, powers with the sign of the base (4)

The paper uses the signed power of (4) throughout. Even functions (F, and the derivatives of C, S, r, w) use powers of
the absolute value instead.

Past a pole, |phi2| > pi/2, r is negative and the surface continues on its other side; angles are not wrapped.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.vector import add, cross, dot, norm, rotate, rotate_back, scale, sub
from superovoid.compiler.jit import kernel

# Layout of a body's row.
A1, A2, A3, E1, E2, TX, TY = 0, 1, 2, 3, 4, 5, 6
SPECIFIC = 7  # 1: no taper; use the superellipsoid's own formulas
SPHERE_Z, SPHERE_RADIUS = 8, 9  # bounding sphere, centre on the z axis
BOX, BOX_HALF = 10, 13  # centre and half extents of the bounding box along the body's axes
CUBE = 16  # half edge of the octree's root
PRINTED = 17  # 1: normals and tangents with the lengths of (6), (11) and (12); 0: unit vectors
ROW_LENGTH = 18

# Unknowns of a point and source of its frame: (15), (18), and (18) with the frame of (15).
IMPLICIT, PARAMETRIC, NTB = 0, 1, 2


class Side(NamedTuple):
    """A point of one body with its quantities of eqs. (15) and (18); world frame, unit vectors or as printed."""

    point: tuple[float, float, float]
    normal: tuple[float, float, float]
    tangent: tuple[float, float, float]
    binormal: tuple[float, float, float]
    value: float  # F, (5)


@kernel
def signed_power(x, exponent):
    """Return sign(x) |x|^exponent, eq. (4)."""
    return math.copysign(abs(x) ** exponent, x)


# --- implicit form ---------------------------------------------------------------------------------------------


@kernel
def implicit(b, x):
    """Return F, eq. (5), and its gradient, eq. (6)."""
    p, s = 2.0 / b[E1], 2.0 / b[E2]
    w = x[2] / b[A3]
    kx = ky = 1.0
    if b[SPECIFIC] == 0.0:
        kx, ky = 1.0 + b[TX] * w, 1.0 + b[TY] * w
    u, v = x[0] / (b[A1] * kx), x[1] / (b[A2] * ky)
    up, vp, ws = abs(u) ** (p - 1.0), abs(v) ** (p - 1.0), abs(w) ** (s - 1.0)
    ring = up * abs(u) + vp * abs(v)
    factor = ring ** (s / p - 1.0) if ring > 0.0 else 0.0  # lambda, (7)
    fu, fv, fw = s * factor * math.copysign(up, u), s * factor * math.copysign(vp, v), s * math.copysign(ws, w)
    if b[SPECIFIC] == 0.0:
        fw -= fu * u * b[TX] / kx + fv * v * b[TY] / ky
    return factor * ring + ws * abs(w) - 1.0, (fu / (b[A1] * kx), fv / (b[A2] * ky), fw / b[A3])


@kernel
def _divide_power(power, x, exponent):
    """Return |x|^(exponent - 1) from power = |x|^exponent; 0 if it is infinite."""
    if x == 0.0:
        return 1.0 if exponent == 1.0 else 0.0
    return power / abs(x)


@kernel
def gradient_and_hessian(b, x):
    """Return the gradient of F, and its Hessian as rows."""
    p, s = 2.0 / b[E1], 2.0 / b[E2]
    w = x[2] / b[A3]
    kx, ky = 1.0 + b[TX] * w, 1.0 + b[TY] * w
    ix, iy, iz = 1.0 / (b[A1] * kx), 1.0 / (b[A2] * ky), 1.0 / b[A3]
    u, v = x[0] * ix, x[1] * iy
    up, vp, ws = abs(u) ** (p - 1.0), abs(v) ** (p - 1.0), abs(w) ** (s - 1.0)
    ring = up * abs(u) + vp * abs(v)
    factor = s * ring ** (s / p - 1.0) if ring > 0.0 or s >= p else 0.0
    bend = (s - p) * factor / ring if ring > 0.0 else 0.0
    # Partial derivatives by u, v and w.
    fuu = factor * (p - 1.0) * _divide_power(up, u, p - 1.0) + bend * up * up
    fvv = factor * (p - 1.0) * _divide_power(vp, v, p - 1.0) + bend * vp * vp
    up, vp = math.copysign(up, u), math.copysign(vp, v)
    fuv = bend * up * vp
    fu, fv, fw = factor * up, factor * vp, s * math.copysign(ws, w)
    fww = s * (s - 1.0) * _divide_power(ws, w, s - 1.0)
    # u depends on x and z: du/dx = ix, du/dz = -u tx, with tx = Tx iz / kx. In the same way v depends on y and z.
    tx, ty = b[TX] / kx * iz, b[TY] / ky * iz
    uz, vz = -u * tx, -v * ty
    xz = ix * (fuu * uz + fuv * vz - fu * tx)
    yz = iy * (fuv * uz + fvv * vz - fv * ty)
    zz = fuu * uz * uz + 2.0 * (fuv * uz * vz - fu * uz * tx - fv * vz * ty) + fvv * vz * vz + fww * iz * iz
    xy = fuv * ix * iy
    rows = ((fuu * ix * ix, xy, xz), (xy, fvv * iy * iy, yz), (xz, yz, zz))
    return (fu * ix, fv * iy, fw * iz + fu * uz + fv * vz), rows


# --- parametric form --------------------------------------------------------------------------------------------


@kernel
def _lame(u, du, exponent):
    """Return sign(u) |u|^e for u = cos or sin, u' = du, and its first two derivatives."""
    value = signed_power(u, exponent)
    second = -exponent * value
    if exponent != 1.0:
        second += exponent * (exponent - 1.0) * du * du * signed_power(u, exponent - 2.0)
    return value, exponent * du * abs(u) ** (exponent - 1.0), second


@kernel
def section(b, phi1):
    """Return C and S at an angle phi1."""
    return signed_power(math.cos(phi1), b[E1]), signed_power(math.sin(phi1), b[E1])


@kernel
def meridian(b, phi2):
    """Return a1 kx r, a2 ky r and a3 w at an angle phi2."""
    w, r = signed_power(math.sin(phi2), b[E2]), signed_power(math.cos(phi2), b[E2])
    return b[A1] * (1.0 + b[TX] * w) * r, b[A2] * (1.0 + b[TY] * w) * r, b[A3] * w


@kernel
def surface(b, phi1, phi2):
    """Return s(phi1, phi2), eq. (10), in the frame of the body."""
    c, s = section(b, phi1)
    x, y, z = meridian(b, phi2)
    return (x * c, y * s, z)


@kernel
def surface_derivatives(b, phi1, phi2):
    """Return s with its derivatives s1, s2, eqs. (11) and (12), s11, s12, s22.

    In print, the second component of (11) has a wrong minus sign.
    """
    c1, s1, c2, s2 = math.cos(phi1), math.sin(phi1), math.cos(phi2), math.sin(phi2)
    c, dc, ddc = _lame(c1, -s1, b[E1])
    s, ds, dds = _lame(s1, c1, b[E1])
    r, dr, ddr = _lame(c2, -s2, b[E2])
    w, dw, ddw = _lame(s2, c2, b[E2])
    kx, ky = 1.0 + b[TX] * w, 1.0 + b[TY] * w
    x, dx = b[A1] * kx * r, b[A1] * (kx * dr + b[TX] * dw * r)
    y, dy = b[A2] * ky * r, b[A2] * (ky * dr + b[TY] * dw * r)
    ddx = b[A1] * (kx * ddr + b[TX] * (2.0 * dw * dr + ddw * r))
    ddy = b[A2] * (ky * ddr + b[TY] * (2.0 * dw * dr + ddw * r))
    return (
        (x * c, y * s, b[A3] * w),
        (x * dc, y * ds, 0.0),
        (dx * c, dy * s, b[A3] * dw),
        (x * ddc, y * dds, 0.0),
        (dx * dc, dy * ds, 0.0),
        (ddx * c, ddy * s, b[A3] * ddw),
    )


@kernel
def _superellipsoid_normal(b, phi1, phi2):
    """Return the normal of a body without taper along s1 x s2: a point of its polar, with the exponents 2 - e."""
    c1, s1, c2, s2 = math.cos(phi1), math.sin(phi1), math.cos(phi2), math.sin(phi2)
    r = abs(c2) ** (2.0 - b[E2])
    return (
        r * signed_power(c1, 2.0 - b[E1]) / b[A1],
        r * signed_power(s1, 2.0 - b[E1]) / b[A2],
        math.copysign(1.0, c2) * signed_power(s2, 2.0 - b[E2]) / b[A3],
    )


# --- frames ------------------------------------------------------------------------------------------------------


@kernel
def unit(v):
    """Return v / |v|."""
    return scale(1.0 / norm(v), v)


@kernel
def unit_derivative(v, dv):
    """Return the derivative of v / |v|."""
    length = norm(v)
    n = scale(1.0 / length, v)
    return scale(1.0 / length, sub(dv, scale(dot(n, dv), n)))


@kernel
def householder_sign(n):
    """Return the sign in h1 = nx +- |n|, eq. (14): plus, unless nx is near -|n|, where h would vanish.

    A frame that depends on n alone is discontinuous somewhere: here not at nx = 0, where aligned bodies have normals.
    """
    return 1.0 if n[0] > -0.5 else -1.0


@kernel
def householder(n):
    """Return tangent and binormal of a unit normal: second and third column of H, eqs. (13) and (14)."""
    sign = householder_sign(n)
    d = 1.0 / (1.0 + sign * n[0])  # 2 / |h|^2
    h1 = n[0] + sign
    return (-d * n[1] * h1, 1.0 - d * n[1] * n[1], -d * n[1] * n[2]), (
        -d * n[2] * h1,
        -d * n[2] * n[1],
        1.0 - d * n[2] * n[2],
    )


@kernel
def householder_derivative(n, dn):
    """Return the derivatives of tangent and binormal."""
    sign = householder_sign(n)
    d = 1.0 / (1.0 + sign * n[0])
    h = (n[0] + sign, n[1], n[2])
    slope = -sign * dn[0] * d * d
    dg2, dg3 = dn[1] * d + n[1] * slope, dn[2] * d + n[2] * slope
    g2, g3 = n[1] * d, n[2] * d
    return (-dg2 * h[0] - g2 * dn[0], -dg2 * h[1] - g2 * dn[1], -dg2 * h[2] - g2 * dn[2]), (
        -dg3 * h[0] - g3 * dn[0],
        -dg3 * h[1] - g3 * dn[1],
        -dg3 * h[2] - g3 * dn[2],
    )


@kernel
def to_world(pose, x):
    """Transform a point from the frame of a body to the world."""
    r = rotate(pose, x)
    return (r[0] + pose[0, 3], r[1] + pose[1, 3], r[2] + pose[2, 3])


@kernel
def local(pose, x):
    """Transform a point from the world to the frame of a pose."""
    return rotate_back(pose, (x[0] - pose[0, 3], x[1] - pose[1, 3], x[2] - pose[2, 3]))


@kernel
def side(b, pose, q, form):
    """Return a point from its unknowns, three of (16) or two of (19), with its frame.

    Tangent and binormal of (13) have unit length for any length of the normal.
    """
    printed = b[PRINTED] != 0.0
    if form == PARAMETRIC:
        x, s1, s2, _, _, _ = surface_derivatives(b, q[0], q[1])
        if printed:
            return Side(to_world(pose, x), rotate(pose, cross(s1, s2)), rotate(pose, s1), rotate(pose, s2), 0.0)
        n = cross(s1, s2) if b[SPECIFIC] == 0.0 else _superellipsoid_normal(b, q[0], q[1])
        frame = rotate(pose, unit(n)), rotate(pose, unit(s1)), rotate(pose, unit(s2))
        return Side(to_world(pose, x), frame[0], frame[1], frame[2], 0.0)
    x = q if form == IMPLICIT else surface(b, q[0], q[1])
    value, gradient = implicit(b, x)
    n = rotate(pose, unit(gradient))
    t, b_ = householder(n)
    return Side(to_world(pose, x), rotate(pose, gradient) if printed else n, t, b_, value)


class Derivatives(NamedTuple):
    """Common terms of the derivatives of a side by all its unknowns; frame of the body, zero if not needed."""

    gradient: tuple[float, float, float]
    hessian: tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]]
    s1: tuple[float, float, float]
    s2: tuple[float, float, float]
    s11: tuple[float, float, float]
    s12: tuple[float, float, float]
    s22: tuple[float, float, float]


@kernel
def derivatives(b, q, form):
    """Return the derivatives of F and of s at a point given by its unknowns."""
    zero = (0.0, 0.0, 0.0)
    x, g, h = q, zero, (zero, zero, zero)
    s1, s2, s11, s12, s22 = zero, zero, zero, zero, zero
    if form != IMPLICIT:
        x, s1, s2, s11, s12, s22 = surface_derivatives(b, q[0], q[1])
    if form != PARAMETRIC:
        g, h = gradient_and_hessian(b, x)
    return Derivatives(g, h, s1, s2, s11, s12, s22)


@kernel
def side_derivative(b, pose, at, form, k):
    """Return the derivative of `side` by unknown k, from its `derivatives`."""
    printed = b[PRINTED] != 0.0
    d = at.s1 if k == 0 else at.s2
    if form == PARAMETRIC:
        d1, d2 = (at.s11, at.s12) if k == 0 else (at.s12, at.s22)
        dn = add(cross(d1, at.s2), cross(at.s1, d2))
        if printed:
            return Side(rotate(pose, d), rotate(pose, dn), rotate(pose, d1), rotate(pose, d2), 0.0)
        dn = unit_derivative(cross(at.s1, at.s2), dn)
        dt, db = unit_derivative(at.s1, d1), unit_derivative(at.s2, d2)
        return Side(rotate(pose, d), rotate(pose, dn), rotate(pose, dt), rotate(pose, db), 0.0)
    if form == IMPLICIT:
        d = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
    n = rotate(pose, unit(at.gradient))
    hd = (dot(at.hessian[0], d), dot(at.hessian[1], d), dot(at.hessian[2], d))
    dn = rotate(pose, unit_derivative(at.gradient, hd))
    dt, db = householder_derivative(n, dn)
    return Side(rotate(pose, d), rotate(pose, hd) if printed else dn, dt, db, dot(at.gradient, d))
