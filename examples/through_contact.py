# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Through contact
===============

The signed distance of a body that moves through another one. For separate bodies it is the gap. For overlapping ones it
is minus the penetration depth, the length of the shortest translation that separates the bodies. The normal changes
abruptly if two such translations have equal lengths.
"""

import matplotlib.pyplot as plt
import numpy as np

from superovoid import Superellipsoid, Superovoid, distances
from superovoid_ros.pictures import BLUE, GREY, ORANGE, draw_bodies

block = Superellipsoid((0.03, 0.03, 0.01), section_exponent=0.3, profile_exponent=0.3)
egg = Superovoid((0.008, 0.008, 0.012), section_exponent=1.0, profile_exponent=0.9, taper=(0.2, 0.2))
heights = np.linspace(0.03, -0.03, 241)
poses = np.tile(np.eye(4), (len(heights), 1, 1))
poses[:, 0, 3], poses[:, 2, 3] = 0.01, heights

results = distances(block, np.eye(4), egg, poses)
certified = results.certified
print(f"{np.count_nonzero(certified)} of {len(heights)} answers are certified")
deepest = int(np.argmin(results.distance))
print(f"deepest overlap {-1e3 * results.distance[deepest]:.3f} mm, at a height of {1e3 * heights[deepest]:.1f} mm")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
bodies = [(block, np.eye(4), GREY), (egg, poses[20], ORANGE), (egg, poses[deepest], BLUE)]
draw_bodies(bodies, results[[20, deepest]], towards=(0.3, -1, 0.2), through=0.5, axes=left)
right.fill_between(1e3 * heights, 1e3 * results.lower, 1e3 * results.upper, color=BLUE, alpha=0.3)
right.plot(1e3 * heights, 1e3 * results.distance, color=BLUE)
right.axhline(0.0, color="black", linewidth=0.5)
right.set(xlabel="height of the egg [mm]", ylabel="signed distance [mm]")
figure.tight_layout()
plt.show()
