# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Derivatives of a distance
=========================

`pose_gradients` returns the derivative of the signed distance with respect to the twist of each body (linear; angular).
Here a body rotates near another one: the tangents, drawn from the derivatives, touch the curve of the distances.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

from superovoid import Superellipsoid, Superovoid, distances, pose_gradients
from superovoid_ros.pictures import BLUE, ORANGE

egg = Superovoid((0.015, 0.015, 0.03), section_exponent=1.0, profile_exponent=0.9, taper=(0.3, 0.3))
block = Superellipsoid((0.01, 0.02, 0.03), section_exponent=0.4, profile_exponent=0.4)
axis = np.array([0.0, 1.0, 0.0])
angles = np.linspace(0.0, 2.0 * np.pi, 361)
poses = np.tile(np.eye(4), (len(angles), 1, 1))
poses[:, :3, :3] = Rotation.from_rotvec(angles[:, None] * axis).as_matrix()
poses[:, 0, 3] = 0.05

results = distances(egg, np.eye(4), block, poses)
gradients = pose_gradients(results, np.eye(4), poses)
slopes = gradients.by_pose_b[:, 3:] @ axis  # m/rad
differences = np.gradient(results.distance, angles)
print(f"largest difference from central differences: {1e3 * np.abs(slopes - differences)[1:-1].max():.4f} mm/rad")

plt.figure(figsize=(7, 3.6))
plt.plot(np.degrees(angles), 1e3 * results.distance, color=BLUE, label="distance")
for k in range(15, len(angles), 30):
    reach = np.radians([-12.0, 12.0])
    plt.plot(np.degrees(angles[k] + reach), 1e3 * (results.distance[k] + slopes[k] * reach), color=ORANGE)
plt.plot([], [], color=ORANGE, label="derivative")
plt.xlabel("angle of the block [deg]")
plt.ylabel("distance [mm]")
plt.legend()
plt.tight_layout()
plt.show()
