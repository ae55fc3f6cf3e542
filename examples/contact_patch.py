# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A contact patch
===============

A distance has one pair of points. `contacts` returns the corners of the whole contact patch, each with its own gap, for
simulation and for placing objects.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

from superovoid import Box, Cylinder, Superellipsoid, contacts
from superovoid_ros.pictures import BLUE, GREEN, GREY, ORANGE, draw_bodies

table = Box((0.4, 0.4, 0.03))
table_pose = np.eye(4)
table_pose[2, 3] = -0.015


def rotation(order, *angles):
    """Return the pose with these Euler angles."""
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_euler(order, angles).as_matrix()
    return pose


cube = Superellipsoid((0.1, 0.1, 0.05), section_exponent=0.1, profile_exponent=0.1)
things = {
    "a tilted box": (Box((0.2, 0.3, 0.1)), rotation("zx", 0.6, 0.004), 0.0508, BLUE),
    "a cylinder that lies": (Cylinder(0.05, 0.3), rotation("xz", np.pi / 2, 0.5), 0.0502, ORANGE),
    "nearly a box": (cube, np.eye(4), 0.0501, GREEN),
}
_, panels = plt.subplots(1, 3, figsize=(10, 3.6))
for panel, (name, (shape, pose, height, colour)) in zip(panels, things.items(), strict=True):
    pose[2, 3] = height
    found = contacts(shape, pose, table, table_pose, max_distance=0.002)
    print(f"{name}: {len(found)} points, gaps {np.round(1e3 * found.gap, 3)} mm, normal {np.round(found.normal, 4)}")
    draw_bodies([(table, table_pose, GREY), (shape, pose, colour)], found, through=0.4, axes=panel)
    panel.set_title(name)
plt.show()
