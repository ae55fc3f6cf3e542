# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Grains in a periodic box
========================

Grains at random places of a box that repeats along x, y and z. Each meets the nearest image of another: a tree of scipy
with the size of the box finds the pairs, and one call solves them.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from superovoid import ShapeArray, Superellipsoid, distances
from superovoid_ros.pictures import GREY, ORANGE, RED, draw_bodies

box, count, max_distance = 0.02, 300, 0.0003  # metres; larger than twice the reach below, so that one image is near
random = np.random.default_rng(3)
semi_axes = random.uniform(0.9, 1.1, (count, 1)) * (0.0012, 0.0012, 0.0016)
grains = ShapeArray(Superellipsoid, semi_axes, section_exponent=0.7, profile_exponent=0.7)
poses = np.tile(np.eye(4), (count, 1, 1))
poses[:, :3, :3] = Rotation.from_rotvec(random.standard_normal((count, 3))).as_matrix()
poses[:, :3, 3] = random.uniform(-1.0, 2.0, (count, 3)) * box  # anywhere: only the place within a box counts


def near_pairs(poses):
    """Return the pairs nearer than max_distance, and the distances of the nearest images."""
    places = poses[:, :3, 3]
    reach = 2.0 * max(np.linalg.norm(shape.obb().half_extents) for shape in grains) + max_distance
    a, b = cKDTree(places % box, boxsize=box).query_pairs(reach, output_type="ndarray").T
    images = poses[b]
    images[:, :3, 3] -= box * np.round((places[b] - places[a]) / box)  # of B, nearest to A
    found = distances(grains[a], poses[a], grains[b], images)
    near = found.distance < max_distance
    return a[near], b[near], found[near]


a, b, found = near_pairs(poses)
print(f"{len(found)} pairs are nearer than 0.3 mm, {np.sum(found.distance < 0.0)} overlap")
moved = poses.copy()
moved[:, :3, 3] += (0.0, 0.5 * box, 0.3 * box)
change = np.sort(near_pairs(moved)[2].distance) - np.sort(found.distance)
print(f"after a motion of all grains the distances differ by {np.abs(change).max():.0e} m")

inside = poses.copy()
inside[:, :3, 3] %= box
crossing = np.abs(inside[a, :3, 3] - inside[b, :3, 3]).max(axis=1) > 0.5 * box  # met through a face of the box
print(f"{crossing.sum()} pairs meet through a face of the box")
through = set(a[crossing]) | set(b[crossing])
touched = set(a) | set(b)
colours = [RED if k in through else ORANGE if k in touched else GREY for k in range(count)]
draw_bodies(zip(grains, inside, colours, strict=True))
plt.title("red: near another grain through a face of the box", fontsize=10)
plt.show()
