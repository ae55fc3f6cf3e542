# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
What proves an overlap
======================

The depth of an overlap is proved on triangles that cover the sphere of directions. `distance(..., certificate=True)`
returns them. The plot shows them around the normal: the distance from the centre is the angle from it.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

from superovoid import Superellipsoid, Superovoid, distance
from superovoid_ros.pictures import BLUE, RED

block = Superellipsoid((0.02, 0.03, 0.01), section_exponent=0.4, profile_exponent=0.6)
egg = Superovoid((0.02, 0.02, 0.03), section_exponent=1.0, profile_exponent=1.0, taper=(0.3, 0.3))
pose = np.eye(4)
pose[:3, :3], pose[:3, 3] = Rotation.from_euler("y", 0.4).as_matrix(), (0.02, 0.02, 0.035)
overlap = distance(block, np.eye(4), egg, pose, certificate=True)

# A tree in preorder: a digit halves an edge of the triangle, a dot or a star ends a branch.
triangles, left = [], [np.diag(signs) for signs in 1.0 - 2.0 * np.array(list(np.ndindex(2, 2, 2)))[::-1]]
for letter in overlap.certificate.cones:
    corners = left.pop()
    if letter in ".*":
        triangles.append(corners)
        continue
    i = int(letter)
    j = (i + 1) % 3
    middle = corners[i] + corners[j]
    first, second = corners.copy(), corners.copy()
    first[i] = second[j] = middle / np.linalg.norm(middle)
    left += [second, first]
print(f"an overlap of {-1e3 * overlap.distance:.3f} mm: {len(triangles)} triangles of directions")

normal = overlap.normal
across = np.linalg.svd(normal[None])[2][1:]
share = np.linspace(0.0, 1.0, 20)[:, None]
plt.figure(figsize=(5, 5))
for corners in triangles:
    edges = np.concatenate([(1.0 - share) * corners[k] + share * corners[(k + 1) % 3] for k in range(3)])
    edges /= np.linalg.norm(edges, axis=1)[:, None]
    angle = np.degrees(np.arccos(np.clip(edges @ normal, -1.0, 1.0)))
    plane = edges @ across.T
    plane *= (angle / np.maximum(np.linalg.norm(plane, axis=1), 1e-12))[:, None]
    if angle.max() < 150.0:
        plt.plot(*plane.T, color=BLUE, linewidth=0.6)
plt.plot(0, 0, ".", color=RED)
plt.gca().set(xlabel="angle from the normal [deg]", aspect="equal")
plt.show()
