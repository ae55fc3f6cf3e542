# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A superovoid for given points
=============================

Bodies of other shapes are meshes, or hulls of points. `fit_superovoid` approximates one by a superovoid: seven numbers,
and a smooth surface.
"""

import matplotlib.pyplot as plt
import numpy as np

from superovoid import Body, ConvexMesh, Scene
from superovoid.fitting import fit_superovoid
from superovoid_ros.pictures import BLUE, ORANGE, draw_bodies

# Points of an egg, which is not a shape of the library.
angle, height = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False), np.linspace(-1.0, 1.0, 9))
radius = 0.03 * np.sqrt(1.0 - height**2) * (1.0 - 0.2 * height + 0.05 * height**2)
points = np.column_stack([(radius * np.cos(angle)).ravel(), (radius * np.sin(angle)).ravel(), 0.04 * height.ravel()])

hull = ConvexMesh(points)
fit = fit_superovoid(points)
print(f"the hull has {len(hull.vertices)} corners, the fit has semi-axes {np.round(fit.shape.semi_axes, 4)} m")

apart = np.eye(4)
apart[:3, 3] = (0.1, 0.0, 0.0)
scene = Scene([Body("hull", "egg", hull), Body("fit", "other", fit.shape, fit.pose)])
scene.set_link_poses({"egg": np.eye(4), "other": apart})
result = scene.query()
print(f"hull to fit: {result.distance[0] * 1e3:.3f} mm")

draw_bodies([(hull, np.eye(4), BLUE), (fit.shape, apart @ fit.pose, ORANGE)], result)
plt.show()
