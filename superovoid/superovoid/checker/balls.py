# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Vectors and rotations in ball arithmetic: each number is an interval that contains the exact value.

A verdict relies only on this package being correct and on Arb (Johansson, "Arb: efficient arbitrary-precision
midpoint-radius interval arithmetic", IEEE Transactions on Computers 66(8), 2017).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flint import arb, ctx

BITS = 128  # precision of the midpoint of a ball: more than twice that of a double

Vector = list[arb]
Matrix = list[Vector]

_ROTATION_LIMIT = 1e-5  # largest norm of R^T R - I: far above that of any valid pose


def precision(bits: int = BITS) -> Any:
    """Return a context in which balls have this precision in bits."""
    return ctx.workprec(bits)


def exact_vector(numbers: Sequence[float]) -> Vector:
    """Convert doubles exactly."""
    return [arb(float(number)) for number in numbers]


def dot(a: Vector, b: Vector) -> arb:
    """Return the scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def add(a: Vector, b: Vector) -> Vector:
    """Return the sum."""
    return [a[0] + b[0], a[1] + b[1], a[2] + b[2]]


def subtract(a: Vector, b: Vector) -> Vector:
    """Return the difference."""
    return [a[0] - b[0], a[1] - b[1], a[2] - b[2]]


def multiply(factor: arb, a: Vector) -> Vector:
    """Return a multiple of a vector."""
    return [factor * a[0], factor * a[1], factor * a[2]]


def norm(a: Vector) -> arb:
    """Return the length."""
    return dot(a, a).nonnegative_part().sqrt()


def radial_length(a: Vector) -> arb:
    """Return the length of the component perpendicular to z."""
    return (a[0] * a[0] + a[1] * a[1]).nonnegative_part().sqrt()


def rotate(rotation: Matrix, a: Vector) -> Vector:
    """Apply a rotation to a vector."""
    return [dot(row, a) for row in rotation]


def rotate_back(rotation: Matrix, a: Vector) -> Vector:
    """Apply the inverse of a rotation to a vector."""
    return [rotation[0][i] * a[0] + rotation[1][i] * a[1] + rotation[2][i] * a[2] for i in range(3)]


def lower_bound(ball: arb) -> float:
    """Return a lower bound of the number as a double; -inf if the ball is unbounded."""
    if not ball.is_finite():
        return -math.inf
    value = float(ball.lower())
    while not arb(value) <= ball:
        value = math.nextafter(value, -math.inf)
    return value


def upper_bound(ball: arb) -> float:
    """Return an upper bound of the number as a double; inf if the ball is unbounded."""
    return -lower_bound(-ball)


def nearest_rotation(matrix: Sequence[Sequence[float]]) -> Matrix:
    """Enclose the rotation nearest to a matrix of doubles, its polar factor.

    With E = R^T R - I the factor is R (I + E)^(-1/2), the sum of binomial(-1/2, k) R E^k. The coefficients are at most
    1, so the norm of the remainder from E^k on, and hence each of its entries, is at most |E|^k / (1 - |E|).

    Raises
    ------
    ValueError
        If R^T R - I has a norm of 1e-5 or more, or the determinant is negative.
    """
    r = [exact_vector(row) for row in matrix]
    columns = [[r[i][j] for i in range(3)] for j in range(3)]
    e = [[dot(columns[i], columns[j]) - (1 if i == j else 0) for j in range(3)] for i in range(3)]
    size = sum((entry * entry for row in e for entry in row), arb(0)).sqrt().abs_upper()
    cross = [
        columns[0][1] * columns[1][2] - columns[0][2] * columns[1][1],
        columns[0][2] * columns[1][0] - columns[0][0] * columns[1][2],
        columns[0][0] * columns[1][1] - columns[0][1] * columns[1][0],
    ]
    if not (size < _ROTATION_LIMIT and dot(cross, columns[2]) > 0):
        raise ValueError("pose: the upper left 3 x 3 must be a rotation")
    total = [[arb(1 if i == j else 0) for j in range(3)] for i in range(3)]
    power, coefficient, left = total, arb(1), size
    for k in range(1, 12):
        power = [[dot(row, e[j]) for j in range(3)] for row in power]  # E is symmetric
        coefficient = coefficient * (1 - 2 * k) / (2 * k)
        total = [[total[i][j] + coefficient * power[i][j] for j in range(3)] for i in range(3)]
        left = left * size
        if left < arb(2) ** -ctx.prec:
            break
    rest = arb(0, 1) * (left / (1 - size)).abs_upper()
    total = [[entry + rest for entry in row] for row in total]
    return [[sum((r[i][k] * total[k][j] for k in range(3)), arb(0)) for j in range(3)] for i in range(3)]
