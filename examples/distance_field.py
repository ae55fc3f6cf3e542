# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A distance field
================

The signed distance of a small ball from two bodies, over a plane. `are_closer` decides whether the ball is closer than
5 mm; each answer is proved or undecided.
"""

import matplotlib.pyplot as plt
import numpy as np

from superovoid import Sphere, Superellipsoid, Superovoid, are_closer, distances
from superovoid_ros.pictures import BLACK, ORANGE

egg, block = (
    Superovoid((0.015, 0.015, 0.025), section_exponent=1.0, profile_exponent=0.9, taper=(0.3, 0.3)),
    Superellipsoid((0.012, 0.02, 0.02), section_exponent=0.2, profile_exponent=0.2),
)
block_pose = np.eye(4)
block_pose[:3, 3] = (0.05, 0.0, -0.01)
x, z = np.meshgrid(np.linspace(-0.04, 0.09, 131), np.linspace(-0.05, 0.05, 101))
poses = np.tile(np.eye(4), (x.size, 1, 1))
poses[:, 0, 3], poses[:, 2, 3] = x.ravel(), z.ravel()

ball = Sphere(0.001)
both = [distances(body, pose, ball, poses) for body, pose in ((egg, np.eye(4)), (block, block_pose))]
field = np.minimum(both[0].distance, both[1].distance).reshape(x.shape)
verdicts = are_closer(egg, np.eye(4), ball, poses, 0.005)
print(f"{x.size} places; certified: {sum(one.certified.sum() for one in both)} of {2 * x.size}")
print(f"closer to the egg than 5 mm: {verdicts.closer.sum()}, undecided: {verdicts.undecided.sum()}")

plt.figure(figsize=(7, 4.8))
levels = np.arange(-20, 45, 5)
plt.contourf(1e3 * x, 1e3 * z, 1e3 * field, levels, cmap="cividis", extend="both")
plt.colorbar(label="signed distance [mm]")
plt.contour(1e3 * x, 1e3 * z, 1e3 * field, [0.0], colors=BLACK)
plt.contour(1e3 * x, 1e3 * z, verdicts.closer.reshape(x.shape), [0.5], colors=ORANGE, linestyles="--")
plt.gca().set(xlabel="x [mm]", ylabel="z [mm]", aspect="equal")
plt.tight_layout()
plt.show()
