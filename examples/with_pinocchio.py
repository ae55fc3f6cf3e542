# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Distances of a pinocchio model
==============================

`superovoid.pinocchio` computes the distances of all collision pairs of a geometry model, and their derivatives in
pinocchio's tangent space. Here a humanoid moves its nearest bodies apart.
"""

import matplotlib.pyplot as plt
import numpy as np
import pinocchio

from superovoid.pinocchio import CollisionDistances
from superovoid_ros.pictures import BLUE, ORANGE

model = pinocchio.buildSampleModelHumanoid()
geometry = pinocchio.buildSampleGeometryModelHumanoid(model)
limbs = [each.name.split("_")[0] for each in geometry.geometryObjects]
for b in range(geometry.ngeoms):
    for a in range(b):
        if limbs[a] != limbs[b] and not {"chest", "chest2"} & {limbs[a], limbs[b]}:
            geometry.addCollisionPair(pinocchio.CollisionPair(a, b))
data, geometry_data = model.createData(), geometry.createData()
ask = CollisionDistances(model, geometry)

q = pinocchio.integrate(model, pinocchio.neutral(model), 0.6 * np.random.default_rng(0).standard_normal(model.nv))
margin, least = 0.01, []  # m
for _ in range(60):
    results, by_velocity = ask(data, geometry_data, q)
    least.append(results.distance.min())
    short = results.distance < margin
    if not short.any():
        break
    # The least velocity that moves all near pairs to the margin, to first order.
    slopes = by_velocity[short]
    missing = 1.1 * margin - results.distance[short]
    v = slopes.T @ np.linalg.solve(slopes @ slopes.T + 1e-3 * np.eye(len(slopes)), missing)
    q = pinocchio.integrate(model, q, v * min(1.0, 0.2 / np.abs(v).max()))
print(f"{len(results)} pairs: least {1e3 * least[0]:.1f} mm, after {len(least) - 1} steps {1e3 * least[-1]:.1f} mm")

plt.figure(figsize=(6, 3))
plt.plot(1e3 * np.array(least), color=BLUE, marker="o")
plt.axhline(1e3 * margin, color=ORANGE)
plt.xlabel("step")
plt.ylabel("least distance [mm]")
plt.tight_layout()
plt.show()
