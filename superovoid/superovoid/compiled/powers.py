# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Logarithm, exponential and power of kernels.

These call the C library, whose latency is shorter than that of the polynomials that loops over lanes call in their
place (`simd`): for one pair of bodies at a time each result is waited for.
"""

from __future__ import annotations

import math

from superovoid.compiled.kernels import kernel

TINY = 1e-200
"""A power of less is 0 to every use that is made of it."""


@kernel
def exp(y):
    """e^y."""
    return math.exp(y)


@kernel
def log(x):
    """ln x for x > 0."""
    return math.log(x)


@kernel
def log_1p(x):
    """ln(1 + x) for 0 <= x <= 1."""
    return math.log(1.0 + x)


@kernel
def power(x, exponent):
    """``x**exponent`` for ``x >= 0``; 0 for an x below 1e-200."""
    return 0.0 if x < TINY else exp(exponent * log(x))
