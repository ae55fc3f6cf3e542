# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bodies in the optimiser's unknowns, and the descent of the loss, as kernels.

The residual of a sample is the signed distance of the union of the bodies minus that of the target, both clipped to a
band.  The loss is quadratic for small and linear for large differences.  It is minimised by the Levenberg-Marquardt
method with damping scaled by the diagonal.

Exponents and tapers are substituted so that all values of the unknowns give convex bodies: exponents within their
bounds, and equal tapers T below `TAPER_SAFETY` times the convex limit (1 - e2/2) 2^(e2/2)
(docs/explanation/numerics.md).

Unequal tapers are used for wedges, superovoids with e2 = 1: with e2 < 1 they are never convex, and e2 > 1 is hardly
useful.  Wedges are convex for e1 up to 1.5 and all tapers up to 1/2.  With y = 1 - w^2 and tx = Tx / (1 + Tx w) the
condition of docs/explanation/numerics.md, times y^2, is

    -1 - 2 w y (c tx + (1-c) ty) + (q-1) c (1-c) y^2 (tx-ty)^2 <= 0   for w in (-1, 1), c in [0, 1].

The left side is convex in (tx, ty), and tx and ty increase with their tapers, so it is largest if both tapers are at
an end of their range; and it increases with q, hence with e1.  Equal tapers of 1/2 are below their limit of 0.707.  For
(1/2, -1/2) and (-1/2, 1/2) the engine proves convexity at e1 = 1.5 (`Superovoid.convexity`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.arrays import Floats1, Floats2, Floats3, Ints1
from superovoid.compiled.kernels import bundle, entry_point, kernel
from superovoid.fitting.fit import TAPER_SAFETY
from superovoid.fitting.normal_equations import (
    CAPSULE,
    CENTRE,
    CHAIN,
    CYLINDER,
    EXPONENTS,
    KIND,
    PARAMETERS,
    RADIUS,
    ROTATION,
    ROW_LENGTH,
    SIZE,
    TAPERS,
    TORUS,
    WEDGE,
    Loss,
    Scratch,
    normal_equations,
)
from superovoid.shapes.kernels.bodies import MAX_TAPER

LOW, HIGH = 0.02, 1.9  # exponents
WEDGE_HIGH = 1.5  # e1 of a wedge
SMALLEST, LARGEST = -8.0, 1.0  # logarithms of lengths over the target's radius
E1, E2, TAPER, TURN, MIDDLE = 3, 4, 5, 6, 9
_MOST_STEP = (0.5, 0.5, 0.5, 0.6, 0.6, 0.6, 0.5, 0.5, 0.5, 0.2, 0.2, 0.2)
_LN2 = math.log(2.0)
_TRIALS = 6  # of dampings in a step
_DAMPING, _LEAST_DAMPING, _MORE, _LESS = 1e-2, 1e-7, 5.0, 0.2
_GAIN = 1e-5  # share of the loss that a step must gain for another one


@bundle
class Work(NamedTuple):
    """Memory of the descent: rows of the bodies, normal equations here and after a step, the step."""

    rows: Floats2
    unknowns: Floats2
    rotations: Floats3
    matrix: Floats2
    right: Floats1
    next_matrix: Floats2
    next_right: Floats1
    damped: Floats2
    step: Floats1
    residuals: Floats1


def work(bodies: int, samples: int) -> Work:
    """Return memory for the descent of some bodies on some samples."""
    count = PARAMETERS * bodies
    shapes = (
        (bodies, ROW_LENGTH), (bodies, PARAMETERS), (bodies, 3, 3), (count, count), (count,), (count, count), (count,),
        (count, count), (count,), (samples,),
    )  # fmt: skip
    return Work(*map(np.empty, shapes))


@kernel
def _exponent(unknown, high):
    """Return an exponent and its derivative."""
    half = 0.5 * (high - LOW)
    return high - half + half * math.sin(unknown), half * math.cos(unknown)


@kernel
def _taper_limit(e2):
    """Return the largest allowed taper and its derivative by e2."""
    power = TAPER_SAFETY * math.exp(0.5 * _LN2 * e2)
    limit = (1.0 - 0.5 * e2) * power
    if limit > MAX_TAPER:
        return MAX_TAPER, 0.0
    return limit, 0.5 * ((1.0 - 0.5 * e2) * _LN2 - 1.0) * power


@kernel
def _fill_row(kind, q, rotation, row):
    row[KIND] = kind
    for i in range(3):
        row[SIZE + i], row[CENTRE + i] = math.exp(q[i]), q[MIDDLE + i]
        for j in range(3):
            row[ROTATION + 3 * i + j] = rotation[i, j]
    row[EXPONENTS], row[CHAIN] = _exponent(q[E1], WEDGE_HIGH if kind == WEDGE else HIGH)
    if kind == WEDGE:
        row[EXPONENTS + 1], row[CHAIN + 3] = 1.0, 0.0
        for i in range(2):
            row[TAPERS + i], row[CHAIN + 1 + i] = MAX_TAPER * math.sin(q[E2 + i]), MAX_TAPER * math.cos(q[E2 + i])
    else:
        e2, by_unknown = _exponent(q[E2], HIGH)
        limit, by_e2 = _taper_limit(e2)
        fraction = math.sin(q[TAPER])
        row[EXPONENTS + 1], row[CHAIN + 1] = e2, by_unknown
        row[TAPERS] = row[TAPERS + 1] = limit * fraction
        row[CHAIN + 2], row[CHAIN + 3] = limit * math.cos(q[TAPER]), by_e2 * fraction * by_unknown
    # A body lies within the distance of its bounding box's corner from the centre.
    x, z = row[SIZE] * (1.0 + abs(row[TAPERS])), row[SIZE + 2]
    y = row[SIZE + 1] * (1.0 + abs(row[TAPERS + 1]))
    if kind == CYLINDER or kind == CAPSULE:
        y = x
    if kind == CAPSULE:
        z += x
    if kind == TORUS:
        x, y = x + 2.0 * z, 0.0  # all of its circumference
    row[RADIUS] = math.sqrt(x * x + y * y + z * z)


@entry_point(nogil=True)
def fill_rows(kinds: Ints1, unknowns: Floats2, rotations: Floats3, rows: Floats2) -> None:
    """Fill in the rows that the kernels of `normal_equations` read."""
    for b in range(len(kinds)):
        _fill_row(kinds[b], unknowns[b], rotations[b], rows[b])


@entry_point(nogil=True)
def move(unknowns: Floats2, rotations: Floats3, step: Floats1, new_unknowns: Floats2, new_rotations: Floats3) -> None:
    """Fill in the bodies after a step of the unknowns; the rotation vectors become zero."""
    for b in range(len(unknowns)):
        first = PARAMETERS * b
        for j in range(PARAMETERS):
            new_unknowns[b, j] = unknowns[b, j] + step[first + j]
        for j in range(3):
            new_unknowns[b, j] = min(max(new_unknowns[b, j], SMALLEST), LARGEST)
            new_unknowns[b, TURN + j] = 0.0
        x, y, z = step[first + TURN], step[first + TURN + 1], step[first + TURN + 2]
        angle = math.sqrt(x * x + y * y + z * z)
        along = math.sin(angle) / angle if angle > 0.0 else 1.0
        half = math.sin(0.5 * angle) / (0.5 * angle) if angle > 0.0 else 1.0
        twice = 0.5 * half * half
        # R + s w x R + t w x (w x R), column by column (Rodrigues)
        for j in range(3):
            a, b_, c = rotations[b, 0, j], rotations[b, 1, j], rotations[b, 2, j]
            u, v, w = y * c - z * b_, z * a - x * c, x * b_ - y * a
            new_rotations[b, 0, j] = a + along * u + twice * (y * w - z * v)
            new_rotations[b, 1, j] = b_ + along * v + twice * (z * u - x * w)
            new_rotations[b, 2, j] = c + along * w + twice * (x * v - y * u)


@kernel
def _damp(matrix, damping, damped):
    """Fill in the matrix with a larger diagonal."""
    largest = 0.0
    for j in range(len(matrix)):
        largest = max(largest, matrix[j, j])
    floor = (1e-6 * largest + 1e-12) * max(damping, 1e-4)
    for j in range(len(matrix)):
        for k in range(j + 1):
            damped[j, k] = matrix[j, k]
        damped[j, j] += damping * matrix[j, j] + floor


@kernel
def _solve(matrix, x):
    """Solve for the right side x in place, by Cholesky's factors of the lower triangle; return whether it has any."""
    for j in range(len(x)):
        for k in range(j):
            total = matrix[j, k]
            for m in range(k):
                total -= matrix[j, m] * matrix[k, m]
            matrix[j, k] = total / matrix[k, k]
        pivot = matrix[j, j]
        for m in range(j):
            pivot -= matrix[j, m] * matrix[j, m]
        if not pivot > 0.0:
            return False
        matrix[j, j] = math.sqrt(pivot)
        for m in range(j):
            x[j] -= matrix[j, m] * x[m]
        x[j] /= matrix[j, j]
    for j in range(len(x) - 1, -1, -1):
        x[j] /= matrix[j, j]
        for m in range(j):
            x[m] -= matrix[j, m] * x[j]
    return True


@kernel
def _evaluate(kinds, unknowns, rotations, samples, loss, work, scratch, matrix, right):
    fill_rows(kinds, unknowns, rotations, work.rows)
    cost = normal_equations(work.rows, samples, loss, matrix, right, work.residuals, scratch)
    if loss.fill > 0.0:
        for b in range(len(kinds)):
            for j in range(3):
                if j != 1 or (kinds[b] != CYLINDER and kinds[b] != CAPSULE):
                    cost += loss.fill * unknowns[b, j]
                    right[PARAMETERS * b + j] += loss.fill
    return cost


@entry_point(nogil=True)
def loss_of(
    kinds: Ints1, unknowns: Floats2, rotations: Floats3, samples: Floats2, loss: Loss, work: Work, scratch: Scratch
) -> float:
    """Return the loss, and fill in the residuals and the normal equations of `work`."""
    return _evaluate(kinds, unknowns, rotations, samples, loss, work, scratch, work.matrix, work.right)


@entry_point(nogil=True)
def descend(
    kinds: Ints1,
    unknowns: Floats2,
    rotations: Floats3,
    samples: Floats2,
    loss: Loss,
    steps: int,
    work: Work,
    scratch: Scratch,
) -> float:
    """Move bodies by at most `steps` steps to a smaller loss; return it."""
    matrix, right, next_matrix, next_right, step = (
        work.matrix, work.right, work.next_matrix, work.next_right, work.step
    )  # fmt: skip
    cost = _evaluate(kinds, unknowns, rotations, samples, loss, work, scratch, matrix, right)
    damping = _DAMPING
    for _ in range(steps):
        found = cost
        for _ in range(_TRIALS):
            _damp(matrix, damping, work.damped)
            for j in range(len(step)):
                step[j] = -right[j]
            if _solve(work.damped, step):
                for j in range(len(step)):
                    most = _MOST_STEP[j % PARAMETERS]
                    step[j] = min(max(step[j], -most), most)
                move(unknowns, rotations, step, work.unknowns, work.rotations)
                found = _evaluate(
                    kinds, work.unknowns, work.rotations, samples, loss, work, scratch, next_matrix, next_right
                )
            if found < cost:
                break
            damping *= _MORE
        if not found < cost:
            break
        for b in range(len(kinds)):
            for j in range(PARAMETERS):
                unknowns[b, j] = work.unknowns[b, j]
            for i in range(3):
                for j in range(3):
                    rotations[b, i, j] = work.rotations[b, i, j]
        matrix, right, next_matrix, next_right = next_matrix, next_right, matrix, right
        gain, cost = cost - found, found
        damping = max(_LESS * damping, _LEAST_DAMPING)
        if gain < _GAIN * abs(cost):
            break
    return cost
