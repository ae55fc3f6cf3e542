# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The two exponents.

``epsilon = (e1, e2)``: e1 shapes the section across z, e2 the outline along z. This is the order of Gonçalves et al.
2017, and the opposite of the usual one of superquadrics (Barr 1981; PCL, Open3D), which `from_barr` takes.
"""

import matplotlib.pyplot as plt
import numpy as np
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from superovoid import Superellipsoid

EXPONENTS = (0.1, 1.0, 1.9)
LIGHT = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])

figure = plt.figure(figsize=(7, 8))
for row, e2 in enumerate(EXPONENTS):
    for column, e1 in enumerate(EXPONENTS):
        shape = Superellipsoid((1.0, 1.0, 1.4), epsilon=(e1, e2))
        assert shape == Superellipsoid.from_barr((1.0, 1.0, 1.4), (e2, e1))  # the usual order: along z first
        mesh = shape.tessellate(40)
        shade = (0.5 + 0.5 * np.clip(mesh.face_normals @ LIGHT, 0.0, 1.0))[:, None] * (0.35, 0.6, 0.9)
        axes = figure.add_subplot(3, 3, 3 * row + column + 1, projection="3d")
        axes.add_collection3d(Poly3DCollection(mesh.vertices[mesh.faces], facecolors=np.clip(shade, 0.0, 1.0)))
        axes.set(xlim=(-1, 1), ylim=(-1, 1), zlim=(-1.4, 1.4), title=f"epsilon = ({e1}, {e2})")
        axes.set_box_aspect((1.0, 1.0, 1.4))
        axes.view_init(25.0, -60.0)
        axes.set_axis_off()
        print(f"epsilon = ({e1}, {e2}): volume {shape.volume():.3f} m^3")
figure.suptitle("from left to right: e1, the section across z\nfrom top to bottom: e2, the outline along z")
plt.savefig("exponents.png", dpi=100, bbox_inches="tight")
