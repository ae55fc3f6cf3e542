# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Move points onto the surface of their body.

A mean of support points lies in the hull of its body: under the surface by the gap of an open search, over a concavity
above it. It is moved along the normal of the contact: if the difference of two such points is along that normal, it
stays so.
"""

from __future__ import annotations

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import add, combine, norm, rotate, rotate_back, scale, sub
from superovoid.shapes.kernels import kinds
from superovoid.shapes.kernels.retraction import along_to_surface


@kernel
def onto_surface(core, p, n):
    """Point of the surface of a whole body at or next to p, along n for a superovoid and nearest for the others.

    For a non-convex mesh, a half-space and a sphere, and outside a convex mesh, p itself: their points are not means.
    """
    row, kind = core.row, core.kind
    if kind == kinds.SUPEROVOID:
        return along_to_surface(row, p, n)
    if kind == kinds.CONVEX_MESH:
        height, normal, _, _ = kinds.point_to_core(core, p)
        return combine(1.0, p, -height, normal) if height < 0.0 else p
    if kind == kinds.BOX or kind == kinds.CYLINDER or kind == kinds.CONE:
        _, _, foot, _ = kinds.point_to_core(core, p)
        return foot
    if kind == kinds.CAPSULE or kind == kinds.TORUS:
        _, normal, foot, _ = kinds.point_to_core(core, p)
        return combine(1.0, foot, kinds.ball_radius(row, kind), normal)
    return p


@kernel
def onto_surfaces(pair, x, y, n, every):
    """Move means of support points, in the frame of A, along n onto the surfaces: all, or those of superovoids."""
    rotation, centre = pair.rotation, pair.centre
    if every or pair.a.kind == kinds.SUPEROVOID:
        x = onto_surface(pair.a, x, n)
    if every or pair.b.kind == kinds.SUPEROVOID:
        y = onto_surface(pair.b, rotate_back(rotation, sub(y, centre)), rotate_back(rotation, scale(-1.0, n)))
        y = add(centre, rotate(rotation, y))
    return x, y


@kernel
def off_line(x, y, value, n):
    """Return the length of x - y less `value` n."""
    return norm(combine(1.0, sub(x, y), -value, n))


@kernel
def unit_vector(u, n):
    """Unit vector along u; n if u has no length."""
    length = norm(u)
    return scale(1.0 / length, u) if length > 0.0 else n


@kernel
def direction_of(x, y, n):
    """Return the unit vector from x to y; n if x = y."""
    return unit_vector(sub(y, x), n)
