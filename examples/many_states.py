# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Many states with gradients
==========================

A planner needs many states at once. One call solves all of them, with the derivatives of each distance with respect to
the joints. Here the gradient moves the thumbs apart.
"""

import matplotlib.pyplot as plt
import numpy as np

from superovoid.states import state_distances
from superovoid_ros.motions import grasp_sweep
from superovoid_ros.pictures import BLUE, ORANGE

robot, sweep = grasp_sweep.read_sweep()
scene = robot.scene()
frame = sweep.frame(40)
names = robot.joint_names
start = np.array([frame.positions[name] for name in names])
states = start + 0.02 * np.random.default_rng(1).standard_normal((200, len(names)))
thumbs = robot.body_pairs(["left_thumb_4"], ["right_thumb_4"])


def ask(positions):
    """Return the signed distances of the thumbs' last links, with gradients."""
    return state_distances(
        robot, scene, positions, joint_names=names, base_poses=frame.base_poses, pairs=thumbs, gradients=True
    )


before = ask(states)
print(f"{before.done} states: {before.closest.min() * 1e3:.3f} to {before.closest.max() * 1e3:.3f} mm")
step = before.gradients / (before.gradients**2).sum(axis=1, keepdims=True)  # rad per metre of distance
after = ask(states + 0.001 * step)
print(f"one step for 1 mm changes the distance by {1e3 * np.mean(after.distance - before.distance):.3f} mm on average")

plt.figure(figsize=(6, 3))
plt.plot(1e3 * np.sort(before.distance), color=BLUE, label="before")
plt.plot(1e3 * np.sort(after.distance), color=ORANGE, label="after one step")
plt.xlabel("states, sorted")
plt.ylabel("distance of the thumbs [mm]")
plt.legend()
plt.tight_layout()
plt.show()
