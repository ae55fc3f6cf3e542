# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A lower bound of the distance of two polyhedra, convex or not, without a convex decomposition.

The paper turns the interference test of Thomas and Torras (ICRA 1994) into a lower distance bound.
docs/papers/lower_bound.md examines its statements.

    a, b = Polyhedron(vertices_a, faces_a), Polyhedron.from_trimesh(trimesh.load("b.stl"))
    r = lower_bound(a, pose_a, b, pose_b)
    r.lower, r.upper          # bounds of the distance; the points of the result prove `upper`
    r.statistics.tests        # examined pairs of an edge and a face, out of r.statistics.pairs
"""

from superovoid_papers.methods.lower_bound.bound import applicable_pairs, lower_bound
from superovoid_papers.methods.lower_bound.polyhedron import Polyhedron

__all__ = ["Polyhedron", "applicable_pairs", "lower_bound"]
