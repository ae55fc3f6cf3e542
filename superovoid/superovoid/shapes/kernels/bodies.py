# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rows of bodies of closed form, from their parameters, which are checked.

==================  ==================================================================
kind                parameters (metres; docs/reference/shapes.md)
==================  ==================================================================
SUPEROVOID          three semi-axes, section and profile exponent, two tapers
HALF_SPACE          none
CAPSULE             radius, length of the segment
BOX                 three lengths
CYLINDER, CONE      radius, length
TORUS               major and minor radius
==================  ==================================================================
"""

from __future__ import annotations

import math

from superovoid.compiled.arrays import Floats1, Floats2
from superovoid.compiled.kernels import entry_point, kernel
from superovoid.compiled.powers import power
from superovoid.shapes.kernels import surface
from superovoid.shapes.kernels.concavities import concavity_curvature, concavity_interval
from superovoid.shapes.kernels.kinds import (
    BOX,
    CAPSULE,
    CONE,
    CYLINDER,
    HALF_SPACE,
    KIND,
    ROW_LENGTH,
    SUPEROVOID,
    TORUS,
)
from superovoid.shapes.kernels.rounding import EPS
from superovoid.shapes.kernels.support_function import slope_at
from superovoid.values.checks import LEAST_LENGTH, MOST_LENGTH

MAX_TAPER = 0.5
MIN_EPSILON, MAX_EPSILON = 1e-6, 1.999999  # beyond, e2 / (2 - e2) and its like lose more than half of their digits

# What is wrong with an argument. `superovoid.h` has the same numbers.
VALID, MISMATCH, LENGTH, EXPONENT, TAPER, TORUS_RADII = 0, 1, 10, 11, 12, 13


@kernel
def _pack_concavity(b, lo, hi, curvature, e1):
    """Fill in a concavity: its heights, the meridian at both, and a bound of its depth."""
    a1, a2, tx, ty = b[surface.A1], b[surface.A2], b[surface.TX], b[surface.TY]
    b[surface.HAS_CONCAVITY] = 1.0
    b[surface.CONCAVITY_LO], b[surface.CONCAVITY_HI] = lo, hi
    b[surface.CONCAVITY_R_LO] = power(1.0 - power(abs(lo), b[surface.S_]), b[surface.INV_S])
    b[surface.CONCAVITY_R_HI] = power(1.0 - power(abs(hi), b[surface.S_]), b[surface.INV_S])
    b[surface.CONCAVITY_NU_LO] = slope_at(b, lo)
    b[surface.CONCAVITY_NU_HI] = slope_at(b, hi)
    b[surface.CONCAVITY_CURVATURE] = curvature
    # The slope of a profile grows by at most K (hi - lo) over the concavity, so the bitangent, at most 2 long, lies
    # at most half of that above it; shrinking all sections of the hull by this much in proportion to their
    # least half-width leaves a convex body inside.
    rise = 0.5 * b[surface.CONCAVITY_CURVATURE] * (hi - lo)
    narrow = min(a1 * min(1.0 + tx * lo, 1.0 + tx * hi), a2 * min(1.0 + ty * lo, 1.0 + ty * hi))
    thin = narrow * min(b[surface.CONCAVITY_R_LO], b[surface.CONCAVITY_R_HI]) * min(1.0, 2.0 ** (0.5 - 0.5 * e1))
    x, y = a1 * (1.0 + abs(tx)), a2 * (1.0 + abs(ty))
    b[surface.CONCAVITY_DEFICIT] = (1.0 + 1e-6) * rise / (thin + rise) * math.sqrt(x * x + y * y)


@entry_point
def pack(b: Floats1, a1: float, a2: float, a3: float, e1: float, e2: float, tx: float, ty: float) -> None:
    """Fill one packed body, with proved bounds of the place and depth of its concavity (`concavities`)."""
    b[surface.A1], b[surface.A2], b[surface.A3], b[surface.TX], b[surface.TY] = a1, a2, a3, tx, ty
    b[surface.P], b[surface.S_], b[surface.Q], b[surface.T_] = 2.0 / e1, 2.0 / e2, 2.0 / (2.0 - e1), 2.0 / (2.0 - e2)
    b[surface.INV_P], b[surface.INV_S], b[surface.INV_Q], b[surface.INV_T] = (
        0.5 * e1,
        0.5 * e2,
        1.0 - 0.5 * e1,
        1.0 - 0.5 * e2,
    )
    b[surface.INV_A1], b[surface.INV_A2], b[surface.INV_A3] = 1.0 / a1, 1.0 / a2, 1.0 / a3
    x = a1 * (1.0 + abs(tx))
    y = a2 * (1.0 + abs(ty))
    b[surface.RADIUS] = math.sqrt(x * x + y * y + a3 * a3)
    b[surface.SIZE] = max(a1, a2, a3)
    b[surface.HAS_CONCAVITY] = 0.0
    b[surface.CONCAVITY_LO], b[surface.CONCAVITY_HI], b[surface.CONCAVITY_CURVATURE], b[surface.CONCAVITY_DEFICIT] = (
        1.0,
        -1.0,
        0.0,
        0.0,
    )
    if tx == ty:
        # Closed form: the tapered meridian is concave iff |T| <= (1 - e2/2) 2^(e2/2). On the border it has a concavity.
        limit = (1.0 - 0.5 * e2) * math.pow(2.0, 0.5 * e2)
        if abs(tx) < limit * (1.0 - 8.0 * EPS):
            return
    s_1, unlike = (2.0 - e2) / e2, e1 / (2.0 - e1) * (tx - ty) * (tx - ty)  # s - 1 and q - 1 without cancellation
    lo, hi = concavity_interval(b[surface.S_], s_1, unlike, tx, ty)
    curvature = concavity_curvature(lo, hi, b[surface.S_], s_1, unlike, tx, ty, a1, a2, e1 >= 1.0) if lo <= hi else 0.0
    if curvature == 0.0:
        return
    _pack_concavity(b, lo, hi, curvature, e1)


@kernel
def _are_lengths(numbers, count):
    for i in range(count):
        if not LEAST_LENGTH <= numbers[i] <= MOST_LENGTH:
            return False
    return True


@kernel
def _superovoid(p, row):
    if not _are_lengths(p, 3):
        return LENGTH
    if not (MIN_EPSILON <= p[3] <= MAX_EPSILON and MIN_EPSILON <= p[4] <= MAX_EPSILON):
        return EXPONENT
    if not (abs(p[5]) <= MAX_TAPER and abs(p[6]) <= MAX_TAPER):
        return TAPER
    pack(row, p[0], p[1], p[2], p[3], p[4], p[5], p[6])
    return VALID


@entry_point
def pack_body(kind: int, parameters: Floats1, row: Floats1) -> int:
    """Fill the row of a body of closed form.

    Parameters
    ----------
    kind : int
        SUPEROVOID to TORUS.
    parameters : array, shape (n,)
        As in the table of this module.
    row : array, shape (ROW_LENGTH,)
        Zeros.

    Returns
    -------
    int
        VALID, or the code of the first invalid argument.
    """
    if row.shape[0] != ROW_LENGTH:
        return MISMATCH
    row[KIND] = kind
    p = parameters
    if kind == SUPEROVOID:
        return _superovoid(p, row)
    row[surface.RADIUS] = row[surface.SIZE] = math.inf
    if kind == HALF_SPACE:
        return VALID
    if not _are_lengths(p, 3 if kind == BOX else 2):
        return LENGTH
    if kind == BOX:
        x, y, z = 0.5 * p[0], 0.5 * p[1], 0.5 * p[2]
        row[surface.A1], row[surface.A2], row[surface.A3] = x, y, z
        row[surface.RADIUS], row[surface.SIZE] = math.sqrt(x * x + y * y + z * z), max(x, y, z)
    elif kind == TORUS:
        if not p[1] < p[0]:
            return TORUS_RADII
        row[surface.A1], row[surface.A2] = p[0], p[1]
        row[surface.RADIUS] = row[surface.SIZE] = p[0] + p[1]
    else:
        radius, half = p[0], 0.5 * p[1]
        row[surface.A1], row[surface.A3] = radius, half
        if kind == CAPSULE:
            row[surface.RADIUS] = row[surface.SIZE] = radius + half
        elif kind == CYLINDER or kind == CONE:
            row[surface.RADIUS], row[surface.SIZE] = math.sqrt(radius * radius + half * half), max(radius, half)
        else:
            return MISMATCH
    return VALID


@entry_point(nogil=True)
def pack_bodies(kind: int, parameters: Floats2, rows: Floats2) -> tuple[int, int]:
    """`pack_body` for bodies of one kind, a row each; return the code of the first invalid one, and its number."""
    for i in range(rows.shape[0]):
        found = pack_body(kind, parameters[i], rows[i])
        if found != VALID:
            return found, i
    return VALID, rows.shape[0]
