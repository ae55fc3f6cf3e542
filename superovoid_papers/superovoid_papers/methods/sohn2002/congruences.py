# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Normal congruences as equations in the Plücker coordinates of a line (Sohn et al. 2002, sections 3.2, 5.1 and 6).

Two equations f = g = 0 in addition to Plücker's own, chosen by a kind:

GENERAL              ellipsoid of three different radii, eqs. 30 and 31
ROUND_X, _Y, _Z      ellipsoid of two equal radii about that axis: normals meet the axis, and eq. 31
CYLINDER, CONE       about z, section 6.1 and 6.2
CIRCLE               about z at the height `parameters[1]`: normals of a torus of any tube, section 6.3, and of a rim

For three equal radii, normals pass through the centre (eq. 21), without equations: POINT.

There are two differences from the paper. Eq. 23 for two equal radii is eq. 27 with another coordinate; lines with
L2 = L4 = 0 satisfy it without being normals. The sum of all three forms (eq. 31), which the paper uses for three
different radii, has no such solutions. The equation (c + 1) L2 L3 - c L4 = 0 of the cone x^2 + y^2 = c z^2 is not
homogeneous: it holds for one multiple of L, with direction (x, y, -c z), but not for that of an ellipsoid's
parametrisation. The normals of a cone meet its axis at a fixed angle: L6 = 0 and L3^2 = c (L1^2 + L2^2).
"""

from __future__ import annotations

from superovoid.compiler.jit import kernel

GENERAL, ROUND_X, ROUND_Y, ROUND_Z, POINT, CYLINDER, CONE, CIRCLE = range(8)

_EQUAL = 1e-9
"""Radii that differ by less than this share count as equal in the equations; feet and distances use their exact values,
so the error of the answer is the square of it."""


@kernel
def ellipsoid_kind(radii):
    """Return the kind of an ellipsoid's congruence: cases 1, 2 and 3 of section 3.2."""
    a, b, c = radii
    tolerance = _EQUAL * max(a, b, c)
    ab, bc, ca = abs(a - b) <= tolerance, abs(b - c) <= tolerance, abs(c - a) <= tolerance
    if (ab and bc) or (bc and ca) or (ca and ab):
        return POINT
    if ab:
        return ROUND_Z
    if bc:
        return ROUND_X
    if ca:
        return ROUND_Y
    return GENERAL


@kernel
def meets_axis(k, m):
    """Return L_{4+k}, 0 if the line meets axis k or is parallel to it, and its gradients by d and m."""
    return m[k], (0.0, 0.0, 0.0), (1.0 * (k == 0), 1.0 * (k == 1), 1.0 * (k == 2))


@kernel
def quartic(radii, d, m):
    """Return G of eq. 31 and its gradients by d and m; radii A, B, C."""
    aa, bb, cc = radii[0] ** 2, radii[1] ** 2, radii[2] ** 2
    p, q, r = d[0] ** 2, d[1] ** 2, d[2] ** 2
    pq, qr, rp = (aa - bb) ** 2, (bb - cc) ** 2, (cc - aa) ** 2
    square = m[0] ** 2 + m[1] ** 2 + m[2] ** 2
    form = aa * p + bb * q + cc * r
    return (
        square * form - p * q * pq - q * r * qr - r * p * rp,
        (
            2.0 * d[0] * (square * aa - q * pq - r * rp),
            2.0 * d[1] * (square * bb - p * pq - r * qr),
            2.0 * d[2] * (square * cc - q * qr - p * rp),
        ),
        (2.0 * form * m[0], 2.0 * form * m[1], 2.0 * form * m[2]),
    )


@kernel
def equations(kind, parameters, d, m):
    """Return the left sides f and g of a congruence, each with its gradients by d and m.

    Parameters
    ----------
    kind : int
    parameters : tuple of 3 floats
        Radii of the ellipsoid; (c, -, -) of the cone x^2 + y^2 = c z^2; (radius, height, -) of the circle.
    d, m : tuples of 3 floats
        The line.
    """
    if kind == GENERAL:
        aa, bb, cc = parameters[0] ** 2, parameters[1] ** 2, parameters[2] ** 2
        ab, ac = aa - bb, aa - cc
        f = d[1] * m[1] * ab + d[2] * m[2] * ac
        return (f, (0.0, m[1] * ab, m[2] * ac), (0.0, d[1] * ab, d[2] * ac)), quartic(parameters, d, m)
    if kind <= ROUND_Z:
        return meets_axis(kind - ROUND_X, m), quartic(parameters, d, m)
    if kind == CYLINDER:
        first = d[2], (0.0, 0.0, 1.0), (0.0, 0.0, 0.0)
    elif kind == CONE:
        c = parameters[0]
        f = d[2] ** 2 - c * (d[0] ** 2 + d[1] ** 2)
        first = f, (-2.0 * c * d[0], -2.0 * c * d[1], 2.0 * d[2]), (0.0, 0.0, 0.0)
    else:
        rr, height = parameters[0] ** 2, parameters[1]
        m1, m2 = m[0] + height * d[1], m[1] - height * d[0]  # about the centre of the circle
        f = m1**2 + m2**2 - rr * d[2] ** 2
        first = (
            f,
            (-2.0 * height * m2, 2.0 * height * m1, -2.0 * rr * d[2]),
            (2.0 * m1, 2.0 * m2, 0.0),
        )
    return first, meets_axis(2, m)
