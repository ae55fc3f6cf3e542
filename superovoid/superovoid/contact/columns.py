# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rows that travel with a pair: the result, the verdict, and the state that an answer leaves for the next one."""

from __future__ import annotations

from superovoid.compiled.kernels import kernel
from superovoid.compiled.rows import layout
from superovoid.compiled.vector import Vector, add, put_vector, rotate, scale
from superovoid.values.status import NON_CONVEX, PRECISION, UNPROVEN

RESULT, RESULT_LENGTH = layout(
    1,
    distance=float,
    lower=float,
    upper=float,
    point_a=Vector,
    point_b=Vector,
    normal=Vector,
    status=float,
    iterations=float,
)
# Of `deciding.decide_within`: 1 closer, -1 not closer, 0 undecided; the bounds; the proof; solver calls.
VERDICT, VERDICT_LENGTH = layout(1, answer=float, lower=float, upper=float, proof=float, solves=float)

# A state of two superovoids: the two surface points of the last answer, all zero for none. Its first number is
# `NO_CONTACT`, which no point has there, if Newton's method has already failed at the poses of the next answer.
STATE_LENGTH = 16
NO_CONTACT = -2.0

# A state of other pairs: the order that has a start (0: none), and its direction.
START, _ = layout(1, order=float, direction=Vector)


@kernel
def write_answer(pose, swapped, answer, status, are_convex, widths, out):
    """Write an answer in the frame of A, whose pose is given, as `write_result`."""
    origin = (pose[0, 3], pose[1, 3], pose[2, 3])
    points = add(rotate(pose, answer.x), origin), add(rotate(pose, answer.y), origin)
    n, interval = rotate(pose, answer.n), (answer.lower, answer.upper)
    write_result(swapped, answer.distance, interval, points, n, status, are_convex, widths, answer.iterations, out)


@kernel
def write_result(swapped, distance, interval, points, n, status, are_convex, widths, iterations, out):
    """Write an answer as a result row, and add the flags that follow from its interval.

    Parameters
    ----------
    swapped : bool
        Whether the points and the normal are in the opposite of the caller's order of the bodies.
    interval, points : tuple
        Lower and upper bound, m; points of both bodies in the world.
    are_convex : bool
        Whether both bodies are convex.
    widths : tuple
        Width of the interval that counts as certified, and what it would be without rounding, m.
    """
    x, y = (points[1], points[0]) if swapped else points
    n = scale(-1.0, n) if swapped else n
    out[RESULT.distance], out[RESULT.lower], out[RESULT.upper] = distance, interval[0], interval[1]
    put_vector(out, RESULT.point_a, x)
    put_vector(out, RESULT.point_b, y)
    put_vector(out, RESULT.normal, n)
    if interval[1] - interval[0] > widths[0]:
        status |= UNPROVEN
    if status & UNPROVEN and not are_convex:
        status |= NON_CONVEX
    if widths[0] > 2.0 * widths[1]:
        status |= PRECISION
    out[RESULT.status], out[RESULT.iterations] = status, iterations
