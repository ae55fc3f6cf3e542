# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The two exponents.

`section_exponent` shapes the section across z, `profile_exponent` the outline along z. `from_goncalves` takes a pair in
this order (Gonçalves et al. 2017), `from_barr` in the opposite one (Barr 1981; PCL, Open3D).
"""

import matplotlib.pyplot as plt
import numpy as np
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from superovoid import Superellipsoid

EXPONENTS = (0.1, 1.0, 1.9)
LIGHT = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])

figure = plt.figure(figsize=(7, 8))
for row, profile in enumerate(EXPONENTS):
    for column, section in enumerate(EXPONENTS):
        shape = Superellipsoid((1.0, 1.0, 1.4), section_exponent=section, profile_exponent=profile)
        assert shape == Superellipsoid.from_goncalves((1.0, 1.0, 1.4), (section, profile))
        assert shape == Superellipsoid.from_barr((1.0, 1.0, 1.4), (profile, section))
        mesh = shape.tessellate(40)
        shade = (0.5 + 0.5 * np.clip(mesh.face_normals @ LIGHT, 0.0, 1.0))[:, None] * (0.35, 0.6, 0.9)
        axes = figure.add_subplot(3, 3, 3 * row + column + 1, projection="3d")
        axes.add_collection3d(Poly3DCollection(mesh.vertices[mesh.faces], facecolors=np.clip(shade, 0.0, 1.0)))
        axes.set(xlim=(-1, 1), ylim=(-1, 1), zlim=(-1.4, 1.4), title=f"section {section}, profile {profile}")
        axes.set_box_aspect((1.0, 1.0, 1.4))
        axes.view_init(25.0, -60.0)
        axes.set_axis_off()
        print(f"section exponent {section}, profile exponent {profile}: volume {shape.volume():.3f} m^3")
figure.suptitle("from left to right: section exponent, across z\nfrom top to bottom: profile exponent, along z")
plt.savefig("exponents.png", dpi=100, bbox_inches="tight")
