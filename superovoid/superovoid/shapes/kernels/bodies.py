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
from superovoid.shapes.kernels.packing import pack
from superovoid.shapes.kernels.surface import A1, A2, A3, RADIUS, SIZE
from superovoid.values.checks import LEAST_LENGTH, MOST_LENGTH

MAX_TAPER = 0.5
MIN_EPSILON, MAX_EPSILON = 1e-6, 1.999999  # beyond, e2 / (2 - e2) and its like lose more than half of their digits

# What is wrong with an argument. `superovoid.h` has the same numbers.
VALID, MISMATCH, LENGTH, EXPONENT, TAPER, TORUS_RADII = 0, 1, 10, 11, 12, 13


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
