# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Projections on points, segments, boxes and cylinders, and their support values, in closed form."""

from __future__ import annotations

import math

from superovoid.compiled.kernels import kernel
from superovoid.shapes.kernels.kinds import BOX, CAPSULE, CYLINDER, POINT
from superovoid.shapes.kernels.surface import A1, A2, A3


@kernel
def has_projection(kind):
    """Return whether this module handles a core of this kind."""
    return kind == BOX or kind == CYLINDER or kind == CAPSULE or kind == POINT


@kernel
def half_extents(row, kind):
    """Return the half extents of a core: of a capsule those of its axis, of a sphere those of its centre."""
    is_thin = kind == CAPSULE or kind == POINT
    return 0.0 if is_thin else row[A1], 0.0 if is_thin else row[A2], 0.0 if kind == POINT else row[A3]


@kernel
def project_onto_core(row, kind, p):
    """Return the point of a core nearest to a point; the point itself if it is inside."""
    hx, hy, hz = half_extents(row, kind)
    z = min(max(p[2], -hz), hz)
    across = math.sqrt(p[0] * p[0] + p[1] * p[1])
    part = hx / across if across > hx else 1.0
    is_round = kind == CYLINDER
    x = part * p[0] if is_round else min(max(p[0], -hx), hx)
    y = part * p[1] if is_round else min(max(p[1], -hy), hy)
    return x, y, z


@kernel
def support_value(row, kind, n):
    """Return the support value of a core."""
    hx, hy, hz = half_extents(row, kind)
    across = math.sqrt(n[0] * n[0] + n[1] * n[1]) * hx if kind == CYLINDER else hx * abs(n[0]) + hy * abs(n[1])
    return across + hz * abs(n[2])
