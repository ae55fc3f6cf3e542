# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Vectors as plain tuples inside kernels: no allocation, and the optimiser keeps them in registers."""

from __future__ import annotations

import math

from superovoid.compiled.kernels import inline, kernel

Vector = tuple[float, float, float]
"""A vector in a kernel."""
LEAST_DIVISOR = 1e-300
"""Divisor in place of 0: a number up to 1e8 divided by it is still finite."""
LEAST_LENGTH = 1e-140
"""Least length of a vector whose square keeps its digits: a shorter one has no direction."""


@kernel
def vector_at(row, k):
    """Return the vector at place k of a row of numbers."""
    return (row[k], row[k + 1], row[k + 2])


@kernel
def put_vector(row, k, v):
    """Write a vector to place k of a row of numbers."""
    row[k], row[k + 1], row[k + 2] = v


@inline
def vector_in(rows, i, k):
    """Return the vector at place k of row i."""
    return (rows[i, k], rows[i, k + 1], rows[i, k + 2])


@inline
def put_vector_in(rows, i, k, v):
    """Write a vector to place k of row i."""
    rows[i, k], rows[i, k + 1], rows[i, k + 2] = v


@kernel
def dot(a, b):
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def add(a, b):
    """a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@kernel
def sub(a, b):
    """a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@kernel
def scale(factor, a):
    """factor * a."""
    return (factor * a[0], factor * a[1], factor * a[2])


@kernel
def combine(alpha, a, beta, b):
    """Return ``alpha a + beta b``."""
    return (alpha * a[0] + beta * b[0], alpha * a[1] + beta * b[1], alpha * a[2] + beta * b[2])


@kernel
def norm(a):
    """|a|."""
    return math.sqrt(dot(a, a))


@kernel
def cross(a, b):
    """a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@kernel
def rotate(rotation, a):
    """Return ``R a``."""
    return (
        rotation[0, 0] * a[0] + rotation[0, 1] * a[1] + rotation[0, 2] * a[2],
        rotation[1, 0] * a[0] + rotation[1, 1] * a[1] + rotation[1, 2] * a[2],
        rotation[2, 0] * a[0] + rotation[2, 1] * a[1] + rotation[2, 2] * a[2],
    )


@kernel
def rotate_back(rotation, a):
    """Return ``R^T a``."""
    return (
        rotation[0, 0] * a[0] + rotation[1, 0] * a[1] + rotation[2, 0] * a[2],
        rotation[0, 1] * a[0] + rotation[1, 1] * a[1] + rotation[2, 1] * a[2],
        rotation[0, 2] * a[0] + rotation[1, 2] * a[1] + rotation[2, 2] * a[2],
    )


@kernel
def tangent_frame(n):
    """Two unit vectors that complete a unit vector to an orthonormal frame, without a branch on a pole.

    Duff et al., "Building an Orthonormal Basis, Revisited", JCGT 6 (2017), eq. in listing 3.
    """
    sign = math.copysign(1.0, n[2])
    a = -1.0 / (sign + n[2])
    b = n[0] * n[1] * a
    return (1.0 + sign * n[0] * n[0] * a, sign * b, -sign * n[0]), (b, sign + n[1] * n[1] * a, -n[1])
