# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rows of bodies of closed form, from their parameters, which are checked.

==================  ==================================================================
kind                parameters (metres; docs/shapes.md)
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

from superovoid.compiled.arrays import Floats1
from superovoid.compiled.kernels import entry_point, kernel
from superovoid.shapes.kernels.dents import dent_curvature, dent_interval
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
from superovoid.shapes.kernels.surface import (
    A1,
    A2,
    A3,
    DENT_CURVATURE,
    DENT_DEFICIT,
    DENT_HI,
    DENT_LO,
    DENT_NU_HI,
    DENT_NU_LO,
    DENT_R_HI,
    DENT_R_LO,
    DENTED,
    INV_A1,
    INV_A2,
    INV_A3,
    INV_P,
    INV_Q,
    INV_S,
    INV_T,
    RADIUS,
    S_,
    SIZE,
    T_,
    TX,
    TY,
    P,
    Q,
    power,
)
from superovoid.values.checks import LEAST_LENGTH, MOST_LENGTH

MAX_TAPER = 0.5
MIN_EPSILON, MAX_EPSILON = 1e-6, 1.999999  # beyond, e2 / (2 - e2) and its like lose more than half of their digits

# What is wrong with an argument. `superovoid.h` has the same numbers.
VALID, MISMATCH, LENGTH, EXPONENT, TAPER, TORUS_RADII = 0, 1, 10, 11, 12, 13


@entry_point
def pack(b: Floats1, a1: float, a2: float, a3: float, e1: float, e2: float, tx: float, ty: float) -> None:
    """Fill one packed body; where it may be dented, and how much, is proved (`dents`)."""
    b[A1], b[A2], b[A3], b[TX], b[TY] = a1, a2, a3, tx, ty
    b[P], b[S_], b[Q], b[T_] = 2.0 / e1, 2.0 / e2, 2.0 / (2.0 - e1), 2.0 / (2.0 - e2)
    b[INV_P], b[INV_S], b[INV_Q], b[INV_T] = 0.5 * e1, 0.5 * e2, 1.0 - 0.5 * e1, 1.0 - 0.5 * e2
    b[INV_A1], b[INV_A2], b[INV_A3] = 1.0 / a1, 1.0 / a2, 1.0 / a3
    x = a1 * (1.0 + abs(tx))
    y = a2 * (1.0 + abs(ty))
    b[RADIUS] = math.sqrt(x * x + y * y + a3 * a3)
    b[SIZE] = max(a1, a2, a3)
    b[DENTED] = 0.0
    b[DENT_LO], b[DENT_HI], b[DENT_CURVATURE], b[DENT_DEFICIT] = 1.0, -1.0, 0.0, 0.0
    if tx == ty:
        # Closed form: the tapered meridian is concave iff |T| <= (1 - e2/2) 2^(e2/2). On the border it has a dent.
        limit = (1.0 - 0.5 * e2) * math.pow(2.0, 0.5 * e2)
        if abs(tx) < limit * (1.0 - 8.0 * EPS):
            return
    s_1, unlike = (2.0 - e2) / e2, e1 / (2.0 - e1) * (tx - ty) * (tx - ty)  # s - 1 and q - 1 without cancellation
    lo, hi = dent_interval(b[S_], s_1, unlike, tx, ty)
    curvature = dent_curvature(lo, hi, b[S_], s_1, unlike, tx, ty, a1, a2, e1 >= 1.0) if lo <= hi else 0.0
    if curvature == 0.0:
        return
    b[DENTED] = 1.0
    b[DENT_LO], b[DENT_HI] = lo, hi
    b[DENT_R_LO] = power(1.0 - power(abs(lo), b[S_]), b[INV_S])
    b[DENT_R_HI] = power(1.0 - power(abs(hi), b[S_]), b[INV_S])
    b[DENT_NU_LO] = slope_at(b, lo)
    b[DENT_NU_HI] = slope_at(b, hi)
    b[DENT_CURVATURE] = curvature
    # The slope of a profile grows by no more than K (hi - lo) over the dent, so the bitangent, at most 2 long, lies
    # no more than half of that above it; shrinking all sections of the hull by this much in proportion to their
    # least half-width leaves a convex body inside.
    rise = 0.5 * b[DENT_CURVATURE] * (hi - lo)
    narrow = min(a1 * min(1.0 + tx * lo, 1.0 + tx * hi), a2 * min(1.0 + ty * lo, 1.0 + ty * hi))
    thin = narrow * min(b[DENT_R_LO], b[DENT_R_HI]) * min(1.0, 2.0 ** (0.5 - 0.5 * e1))
    b[DENT_DEFICIT] = (1.0 + 1e-6) * rise / (thin + rise) * math.sqrt(x * x + y * y)


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
        VALID, or the first thing that is wrong.
    """
    if row.shape[0] != ROW_LENGTH:
        return MISMATCH
    row[KIND] = kind
    p = parameters
    if kind == SUPEROVOID:
        return _superovoid(p, row)
    row[RADIUS] = row[SIZE] = math.inf
    if kind == HALF_SPACE:
        return VALID
    if not _are_lengths(p, 3 if kind == BOX else 2):
        return LENGTH
    if kind == BOX:
        x, y, z = 0.5 * p[0], 0.5 * p[1], 0.5 * p[2]
        row[A1], row[A2], row[A3] = x, y, z
        row[RADIUS], row[SIZE] = math.sqrt(x * x + y * y + z * z), max(x, y, z)
    elif kind == TORUS:
        if not p[1] < p[0]:
            return TORUS_RADII
        row[A1], row[A2] = p[0], p[1]
        row[RADIUS] = row[SIZE] = p[0] + p[1]
    else:
        radius, half = p[0], 0.5 * p[1]
        row[A1], row[A3] = radius, half
        if kind == CAPSULE:
            row[RADIUS] = row[SIZE] = radius + half
        elif kind == CYLINDER or kind == CONE:
            row[RADIUS], row[SIZE] = math.sqrt(radius * radius + half * half), max(radius, half)
        else:
            return MISMATCH
    return VALID
