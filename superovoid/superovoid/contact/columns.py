# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Columns of the rows that travel with a pair: the result, and the state that an answer leaves for the next one."""

from __future__ import annotations

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import scale
from superovoid.values.status import PRECISION, UNPROVEN

# A result.
DISTANCE, LOWER, UPPER, POINT_A, POINT_B, NORMAL, STATUS, ITERATIONS = 0, 1, 2, 3, 6, 9, 12, 13
RESULT_LENGTH = 14

# A verdict of `deciding.decide_within`.
VERDICT_LENGTH = 5

# A state of two superovoids: the two surface points of the last answer, all zero for none. Its first number is
# `NO_CONTACT`, which no point has there, if Newton's method has already failed at the poses of the next answer.
STATE_LENGTH = 16
NO_CONTACT = -2.0

# A state of other pairs: the order that has a start (0: none), and its direction.
STARTED, START = 0, 1


@kernel
def write_result(swapped, distance, interval, points, n, status, widths, iterations, out):
    """Write an answer as a result row, and add the flags that follow from its interval.

    Parameters
    ----------
    swapped : bool
        Whether the points and the normal are in the opposite of the caller's order of the bodies.
    interval, points : tuple
        Lower and upper bound, m; points of both bodies in the world.
    widths : tuple
        Width of the interval that counts as certified, and what it would be without rounding, m.
    """
    x, y = (points[1], points[0]) if swapped else points
    n = scale(-1.0, n) if swapped else n
    out[DISTANCE], out[LOWER], out[UPPER] = distance, interval[0], interval[1]
    for i in range(3):
        out[POINT_A + i], out[POINT_B + i], out[NORMAL + i] = x[i], y[i], n[i]
    if interval[1] - interval[0] > widths[0]:
        status |= UNPROVEN
    if widths[0] > 2.0 * widths[1]:
        status |= PRECISION
    out[STATUS], out[ITERATIONS] = status, iterations
