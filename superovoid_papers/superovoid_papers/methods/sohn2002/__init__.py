# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Distances by common normals in line geometry: Sohn, Jüttler, Kim and Wang 2002.

Every normal of a surface is a line, a point in the space of lines; two surfaces' normals meet where a line is normal to
both. With one surface's normals as two equations in Plücker coordinates and the other's as a parametrisation, moved by
a dual quaternion, the closest points of two ellipsoids are a root of two polynomials in two unknowns:

    distance(Ellipsoid((1, 2, 3)), pose_a, Ellipsoid((2, 1, 1)), pose_b)             one root, found and checked
    distance(..., roots="all")                                                       the best of all roots
    common_normals(Ellipsoid((1, 2, 3)), pose_a, Torus(2, 0.5), pose_b)              all of them

What differs from the paper, and what it leaves open: docs/papers/sohn2002.md.
"""

from superovoid_papers.methods.sohn2002.freeform import FreeForm
from superovoid_papers.methods.sohn2002.line_distance import common_normals, distance

__all__ = ["FreeForm", "common_normals", "distance"]
