# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A custom shape in a scene.

Whatever is not one of the shapes comes as a mesh, or as the hull of points. `fit_superovoid` finds the superovoid that
is closest to it, which is smaller to store, faster and smooth.
"""

import numpy as np
from picture import save_picture

from superovoid import Body, ConvexMesh, HalfSpace, Scene
from superovoid.fitting import fit_superovoid

# Points of an egg: a surface that no shape of the library has.
angle, height = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False), np.linspace(-1.0, 1.0, 13))
radius = 0.03 * np.sqrt(1.0 - height**2) * (1.0 - 0.2 * height + 0.05 * height**2)
points = np.column_stack([(radius * np.cos(angle)).ravel(), (radius * np.sin(angle)).ravel(), 0.04 * height.ravel()])

hull = ConvexMesh(points)
fit = fit_superovoid(points)
print(f"the hull has {len(hull.vertices)} corners, the fit has semi-axes {np.round(fit.shape.semi_axes, 4)} m")

apart, table = np.eye(4), np.eye(4)
apart[:3, 3] = (0.1, 0.0, 0.0)
table[2, 3] = -0.06
scene = Scene(
    [Body("hull", "egg", hull), Body("fit", "other", fit.shape, fit.pose), Body("table", "world", HalfSpace())]
)
scene.set_link_poses({"egg": np.eye(4), "other": apart, "world": table})
result = scene.query()
for a, b, distance in zip(result.body_a, result.body_b, result.distance, strict=True):
    print(f"{scene.bodies[a].name} to {scene.bodies[b].name}: {distance * 1e3:.3f} mm")

save_picture("custom_shape.png", [(hull, np.eye(4), "tab:blue"), (fit.shape, apart @ fit.pose, "tab:orange")], result)
