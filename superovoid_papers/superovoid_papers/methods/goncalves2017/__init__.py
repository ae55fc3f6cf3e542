# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Distances of superovoids by Newton's method on the common-normal equations (Gonçalves et al. 2017).

docs/papers/goncalves2017.md describes the reproduced results, the differences and the paper's wrong formulas.

    r = distance(a, pose_a, b, pose_b, scheme="quadParametric", jacobian="analytic")
    r.converged               # Newton's method found a root, perhaps not the right one
    distance(a, pose_a, b, moved, scheme="quadParametric", start=r.unknowns)     # temporal coherence

    pairs = Pairs(shapes_a, poses_a, shapes_b, poses_b, scheme="octImplicit")
    pairs.start(0, 1000)      # first guesses
    pairs.refine(0, 1000)     # Newton's method
    pairs.out[:, newton_schemes.DISTANCE]
"""

from superovoid_papers.methods.goncalves2017.polygonal import MeshPair
from superovoid_papers.methods.goncalves2017.schemes import Pairs, distance

__all__ = [
    "MeshPair",
    "Pairs",
    "distance",
]
