# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a proof looks like.

An overlap is proved on triangles that cover the sphere of directions, the distance of bodies that are not convex on
pairs of their pieces. `distance(..., certificate=True)` returns both, and this script draws them: the triangles seen
along the normal, and a section of two bodies cut into pieces.
"""

import matplotlib.pyplot as plt
import numpy as np

from superovoid import Superellipsoid, Superovoid, distance


def at(x, y, z, angle=0.0):
    """Pose with this position, turned about the y axis."""
    pose = np.eye(4)
    pose[:3, :3] = [[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]]
    pose[:3, 3] = x, y, z
    return pose


def triangles(cones):
    """Corners of the triangles of directions of a proof, shape (k, 3, 3)."""
    found, left = [], [np.diag(signs) for signs in 1.0 - 2.0 * np.array(list(np.ndindex(2, 2, 2)))[::-1]]
    for letter in cones:
        corners = left.pop()
        if letter in ".*":
            found.append(corners)
            continue
        i = int(letter)
        j = (i + 1) % 3
        middle = corners[i] + corners[j]
        first, second = corners.copy(), corners.copy()
        first[i] = second[j] = middle / np.linalg.norm(middle)
        left += [second, first]
    return np.array(found)


def cuts(pieces, heights):
    """Heights at which a proof cuts the bodies A and B."""
    owners = [letter for letter in pieces if letter != "."]
    return [[z for owner, z in zip(owners, heights, strict=True) if owner == body] for body in "ab"]


def outline(body, height):
    """Largest and smallest x of a body of equal section exponents at the height z / a3."""
    a1, _, _ = body.semi_axes
    profile = 2.0 / body.profile_exponent
    return a1 * (1.0 + body.taper[0] * height) * (1.0 - abs(height) ** profile) ** (1.0 / profile)


block = Superellipsoid((0.02, 0.03, 0.01), section_exponent=0.4, profile_exponent=0.6)
egg = Superovoid((0.02, 0.02, 0.03), section_exponent=1.0, profile_exponent=1.0, taper=(0.3, 0.3))
overlap = distance(block, at(0, 0, 0), egg, at(0.02, 0.02, 0.035, 0.4), certificate=True)
corners = triangles(overlap.certificate.cones)
print(f"an overlap of {-1e3 * overlap.distance:.3f} mm: {len(corners)} triangles of directions")

pin = Superovoid((0.02, 0.02, 0.03), section_exponent=1.0, profile_exponent=1.8, taper=(0.5, 0.5))
poses = at(0, 0, 0), at(0.03, 0, -0.015, np.pi)
apart = distance(pin, poses[0], pin, poses[1], certificate=True)
both = cuts(apart.certificate.pieces, apart.certificate.heights)
count = len(apart.certificate.directions)
print(f"a distance of {1e3 * apart.distance:.3f} mm: {count} pairs of pieces, cut at {[len(c) for c in both]} heights")

_, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6))
# Directions around the normal: the distance from the centre is the angle from it.
n = overlap.normal
across = np.linalg.svd(n[None])[2][1:]
for edges in corners:
    share = np.linspace(0.0, 1.0, 20)[:, None]
    for k in range(3):
        way = (1.0 - share) * edges[k] + share * edges[(k + 1) % 3]
        way /= np.linalg.norm(way, axis=1)[:, None]
        angle = np.degrees(np.arccos(np.clip(way @ n, -1.0, 1.0)))
        plane = way @ across.T
        plane *= (angle / np.maximum(np.linalg.norm(plane, axis=1), 1e-12))[:, None]
        if angle.max() < 150.0:
            left.plot(*plane.T, color="tab:blue", linewidth=0.5)
left.plot(0, 0, "r.")
left.set(title="Triangles of directions of an overlap", xlabel="angle from the normal [deg]", aspect="equal")
for pose, heights, colour in zip(poses, both, ("tab:blue", "tab:orange"), strict=True):
    z = np.linspace(-1.0, 1.0, 400)
    x = outline(pin, z)
    for side in (-1.0, 1.0):
        points = np.column_stack([side * x, 0 * x, 0.03 * z]) @ pose[:3, :3].T + pose[:3, 3]
        right.plot(1e3 * points[:, 0], 1e3 * points[:, 2], color=colour)
    for height in heights:
        reach = outline(pin, height) * np.array([-1.0, 1.0])
        points = np.column_stack([reach, 0 * reach, [0.03 * height] * 2]) @ pose[:3, :3].T + pose[:3, 3]
        right.plot(1e3 * points[:, 0], 1e3 * points[:, 2], color=colour, linewidth=0.7)
right.plot(*1e3 * np.array([apart.point_a, apart.point_b])[:, [0, 2]].T, "r.-")
right.set(title="Pieces of two bodies with a concavity", xlabel="x [mm]", ylabel="z [mm]", aspect="equal")
plt.savefig("proofs.png", dpi=100, bbox_inches="tight")
