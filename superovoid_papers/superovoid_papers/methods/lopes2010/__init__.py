# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Contact of quadrics and superquadrics by a common normal: Lopes, Silva, Ambrósio and Flores 2010.

Six equations in the coordinates of two points: the normal of one surface and the line between the points are
orthogonal to tangent and binormal of the other, and both points lie on their surfaces. The method is Newton's with the
analytic Jacobian, chooses among mirrored solutions, and starts each step of a motion at the last solution:

    distance(Ellipsoid((1, 2, 3)), pose_a, Ellipsoid((2, 1, 1)), pose_b)
    distance(Superquadric.superellipsoid((1, 1, 2), (2, 3, 5)), pose_a, Quadric((1, 1, 0), (0, 0, -1)), pose_b)
    follow(Ellipsoid((1, 2, 3)), poses_a, Ellipsoid((2, 1, 1)), poses_b, query="separation")
    are_separated(Ellipsoid((1, 2, 3)), pose_a, Ellipsoid((2, 1, 1)), pose_b)
    simulate([RigidBody(Ellipsoid((1, 2, 3)), pose_a), RigidBody(Ellipsoid((2, 1, 1)), pose_b, velocity)], 0.1, 1e-5)

docs/papers/lopes2010.md describes the differences from the paper, and how often the scheme fails.
"""

from superovoid_papers.methods.lopes2010.contact_dynamics import Material, RigidBody, simulate
from superovoid_papers.methods.lopes2010.framework import are_separated, distance, follow
from superovoid_papers.methods.lopes2010.superquadrics import Quadric, Superquadric

__all__ = [
    "Material",
    "Quadric",
    "RigidBody",
    "Superquadric",
    "are_separated",
    "distance",
    "follow",
    "simulate",
]
