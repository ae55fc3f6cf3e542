# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
What proves a distance in a concavity
=====================================

If a body is not convex, there may be no plane between two separate bodies. Then the distance is proved for pairs of
convex pieces: `distance(..., certificate=True)` returns the heights of the cuts.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

from superovoid import Superovoid, distance
from superovoid_ros.pictures import BLACK, BLUE, ORANGE

pin = Superovoid((0.02, 0.02, 0.03), section_exponent=1.0, profile_exponent=1.8, taper=(0.5, 0.5))
poses = np.tile(np.eye(4), (2, 1, 1))
poses[1, :3, :3], poses[1, :3, 3] = Rotation.from_euler("y", np.pi).as_matrix(), (0.03, 0.0, -0.015)
apart = distance(pin, poses[0], pin, poses[1], certificate=True)

owners = [letter for letter in apart.certificate.pieces if letter != "."]
cuts = {body: [z for owner, z in zip(owners, apart.certificate.heights, strict=True) if owner == body] for body in "ab"}
count = len(apart.certificate.directions)
print(f"a distance of {1e3 * apart.distance:.3f} mm, certified: {apart.certified}")
print(f"{count} pairs of pieces; cuts: {len(cuts['a'])} and {len(cuts['b'])}")


def outline(height):
    """Return half the width of the pin at a height z / a3."""
    s = 2.0 / pin.profile_exponent
    return pin.semi_axes[0] * (1.0 + pin.taper[0] * height) * (1.0 - abs(height) ** s) ** (1.0 / s)


def draw(x, z, pose, **style):
    """Draw a line of the plane y = 0 of a body."""
    points = np.column_stack([x, 0.0 * x, 0.03 * z]) @ pose[:3, :3].T + pose[:3, 3]
    plt.plot(1e3 * points[:, 0], 1e3 * points[:, 2], **style)


plt.figure(figsize=(6, 5))
z = np.linspace(-1.0, 1.0, 401)
for body, pose, colour in zip("ab", poses, (BLUE, ORANGE), strict=True):
    draw(outline(z), z, pose, color=colour)
    draw(-outline(z), z, pose, color=colour)
    for height in cuts[body]:
        draw(outline(height) * np.array([-1.0, 1.0]), np.array([height, height]), pose, color=colour, linewidth=0.8)
plt.plot(*1e3 * np.array([apart.point_a, apart.point_b])[:, [0, 2]].T, ".-", color=BLACK)
plt.gca().set(xlabel="x [mm]", ylabel="z [mm]", aspect="equal")
plt.show()
