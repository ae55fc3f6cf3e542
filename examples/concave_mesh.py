# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A mesh and its hull
===================

A peg in a ring. The peg overlaps the convex hull of the ring, but not its mesh, whose triangles prove the distance.
"""

import matplotlib.pyplot as plt
import numpy as np

from superovoid import Capsule, ConvexMesh, Mesh, Torus, distance
from superovoid_ros.pictures import BLUE, ORANGE, draw_bodies

triangles = Torus(0.04, 0.012).tessellate(32)
ring, hull = Mesh(triangles.vertices, triangles.faces), ConvexMesh(triangles.vertices)
peg, pose = Capsule(0.01, 0.08), np.eye(4)
pose[:3, 3] = (0.008, 0.0, 0.0)

_, panels = plt.subplots(1, 2, figsize=(8, 3.6))
for panel, (name, body) in zip(panels, {"mesh": ring, "hull": hull}.items(), strict=True):
    result = distance(body, np.eye(4), peg, pose)
    print(f"{name}: {1e3 * result.distance:.3f} mm, certified: {result.certified}")
    draw_bodies([(body, np.eye(4), BLUE), (peg, pose, ORANGE)], result, towards=(1, -2, 2), through=0.3, axes=panel)
    panel.set_title(f"{name}: {1e3 * result.distance:.2f} mm")
plt.show()
