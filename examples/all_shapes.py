# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
All shapes
==========

Every kind of body, and its distance from a superovoid. `distance` accepts any two of them.
"""

import matplotlib.pyplot as plt
import numpy as np

from superovoid import (
    Box,
    Capsule,
    Cone,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    Mesh,
    Sphere,
    Superellipsoid,
    Superovoid,
    Torus,
    distance,
)
from superovoid_ros.pictures import BLUE, ORANGE, draw_bodies

egg = Superovoid((0.02, 0.02, 0.03), section_exponent=0.9, profile_exponent=0.9, taper=(0.2, 0.2))
points = 0.025 * np.random.default_rng(4).standard_normal((12, 3)) / 1.5
ring = Torus(0.03, 0.01).tessellate(24)
shapes = {
    "Sphere": Sphere(0.02),
    "Ellipsoid": Ellipsoid((0.015, 0.02, 0.03)),
    "Superellipsoid": Superellipsoid((0.02, 0.02, 0.03), section_exponent=0.3, profile_exponent=0.3),
    "Superovoid": Superovoid((0.02, 0.02, 0.03), section_exponent=1.0, profile_exponent=0.6, taper=(0.3, 0.1)),
    "Box": Box((0.03, 0.04, 0.05)),
    "Capsule": Capsule(0.012, 0.03),
    "Cylinder": Cylinder(0.02, 0.05),
    "Cone": Cone(0.02, 0.05),
    "Torus": Torus(0.025, 0.008),
    "ConvexMesh": ConvexMesh(points),
    "Mesh": Mesh(ring.vertices, ring.faces),
}
pose = np.eye(4)
pose[:3, 3] = (0.07, 0.0, 0.01)

_, panels = plt.subplots(3, 4, figsize=(9, 7))
for panel, (name, shape) in zip(panels.flat, shapes.items(), strict=False):
    result = distance(shape, np.eye(4), egg, pose)
    print(f"{name:14} {1e3 * result.distance:9.4f} mm, certified: {result.certified}")
    draw_bodies([(shape, np.eye(4), BLUE), (egg, pose, ORANGE)], result, axes=panel)
    panel.set_title(name, fontsize=10)
panels.flat[-1].set_axis_off()
plt.show()
