# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Support points and values of the Minkowski difference M = A - B of two superovoids."""

from __future__ import annotations

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import (
    add,
    dot,
    rotate,
    rotate_back,
    scale,
    sub,
)
from superovoid.shapes.kernels.support_function import support, support_candidate
from superovoid.shapes.kernels.surface import position


@kernel
def minkowski_support(pair, n, tolerance):
    """Support point of M = A - B along n, in the frame of A, with the two surface points."""
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    fa = support_candidate(a, n, tolerance)
    fb = support_candidate(b, rotate_back(rotation, scale(-1.0, n)), tolerance)
    y = add(centre, rotate(rotation, position(b, fb)))
    return sub(position(a, fa), y), fa, fb


@kernel
def proved_support(pair, n):
    """Upper bound of h_M(n) that holds for non-convex bodies too."""
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    _, h_a = support(a, n)
    _, h_b = support(b, rotate_back(rotation, scale(-1.0, n)))
    return h_a + h_b - dot(n, centre)
