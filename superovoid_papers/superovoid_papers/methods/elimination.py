# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Linear systems of a Newton step."""

from __future__ import annotations

import math

from superovoid.compiler.jit import kernel


@kernel
def eliminate(m, n, least, x):
    """Solve n linear equations by Gaussian elimination with row pivots.

    Parameters
    ----------
    m : array, shape (n or more, m)
        Rows of coefficients, the right hand side in the last column. They are overwritten.
    n : int
        Number of equations and unknowns: the first of the rows and columns.
    least : float
        Every pivot must exceed this.
    x : array, shape (n,)
        The solution; may be the last column of `m`.

    Returns
    -------
    bool
        False if a pivot is too small or not finite.
    """
    right = m.shape[1] - 1
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(m[i, k]) > abs(m[pivot, k]):
                pivot = i
        if not least < abs(m[pivot, k]) < math.inf:
            return False
        if pivot != k:
            for j in range(k, n):
                m[k, j], m[pivot, j] = m[pivot, j], m[k, j]
            m[k, right], m[pivot, right] = m[pivot, right], m[k, right]
        for i in range(k + 1, n):
            factor = m[i, k] / m[k, k]
            for j in range(k + 1, n):
                m[i, j] -= factor * m[k, j]
            m[i, right] -= factor * m[k, right]
    for i in range(n - 1, -1, -1):
        total = m[i, right]
        for j in range(i + 1, n):
            total -= m[i, j] * x[j]
        x[i] = total / m[i, i]
    return True
