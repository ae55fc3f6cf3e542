# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Grains
======

A packing of superellipsoids on a floor. One query returns all near pairs of thousands; overlaps have a depth and a
normal for a contact law.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

from superovoid import Body, HalfSpace, Scene, Superellipsoid
from superovoid_ros.pictures import GREY, ORANGE, RED, draw_bodies

grain = Superellipsoid((0.002, 0.002, 0.003), section_exponent=0.5, profile_exponent=0.5)  # metres
count = 6 * 6 * 4
scene = Scene([*(Body(f"grain {k}", f"grain {k}", grain) for k in range(count)), Body("floor", "floor", HalfSpace())])
random = np.random.default_rng(2)
poses = np.tile(np.eye(4), (count + 1, 1, 1))  # rows in the order of scene.links; the floor is the last one
places = np.stack(np.unravel_index(np.arange(count), (6, 6, 4)), axis=1)
poses[:count, :3, 3] = (0.0056, 0.0056, 0.0066) * places + (0.0, 0.0, 0.0033)
poses[:count, :3, :3] = Rotation.from_rotvec(0.35 * random.standard_normal((count, 3))).as_matrix()
scene.set_link_poses(poses)  # one array for all

near = scene.query(max_distance=0.0003)
overlap = near.distance < 0.0
print(
    f"{len(near)} of {scene.pair_count} pairs are nearer than 0.3 mm, {overlap.sum()} overlap, "
    f"{near.certified.sum()} are certified"
)
forces = 1e4 * np.maximum(-near.distance, 0.0)[:, None] * near.normal  # a penalty law, N; on B, -forces on A
total = np.zeros((count + 1, 3))
np.add.at(total, near.body_b, forces)
np.add.at(total, near.body_a, -forces)
print(f"largest force {np.linalg.norm(total, axis=1).max():.3f} N; their sum {np.abs(total.sum(axis=0)).max():.1e} N")

touched = set(near.body_a[overlap]) | set(near.body_b[overlap])
only_near = (set(near.body_a) | set(near.body_b)) - touched
colours = [RED if k in touched else ORANGE if k in only_near else GREY for k in range(count)]
draw_bodies(zip([grain] * count, poses[:count], colours, strict=True))
plt.title("red: overlapping, orange: nearer than 0.3 mm", fontsize=10)
plt.show()
