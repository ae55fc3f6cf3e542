# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Distances by common normals in line geometry: Sohn, Jüttler, Kim and Wang 2002.

Every normal of a surface is a line, which is a point in the space of lines; a common normal belongs to the normals of
both surfaces. Two equations in Plücker coordinates describe one surface's normals, and a parametrisation, displaced by
a dual quaternion, the other's. The closest points of two ellipsoids are a root of two polynomials in two unknowns:

    distance(Ellipsoid((1, 2, 3)), pose_a, Ellipsoid((2, 1, 1)), pose_b)             one root, found and checked
    distance(..., roots="all")                                                       the best of all roots
    common_normals(Ellipsoid((1, 2, 3)), pose_a, Torus(2, 0.5), pose_b)              all of them

docs/papers/sohn2002.md describes the differences from the paper, and its open questions.
"""

from superovoid_papers.methods.sohn2002.freeform import FreeForm
from superovoid_papers.methods.sohn2002.line_distance import common_normals, distance

__all__ = ["FreeForm", "common_normals", "distance"]
