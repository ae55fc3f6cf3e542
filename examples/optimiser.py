# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Gradients in an optimiser
=========================

In the goal state, the hands of the iCub's upper body overlap. The optimiser finds the nearest state with a clearance of
5 mm from the distances and their derivatives; a last query proves the result.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

from superovoid import Robot, are_states_closer
from superovoid.states import StateQuery
from superovoid_ros.pictures import BLUE, GREEN, GREY, draw_bodies
from superovoid_ros.resources import share_directory

share = share_directory()
robot = Robot.load(share / "urdf/icub_upper_body.urdf", srdf=share / "config/icub_upper_body.srdf")
scene, pairs = robot.scene(), robot.body_pairs(["left_arm", "left_hand"], ["right_arm", "right_hand"])
near = StateQuery(robot, scene, pairs=pairs, max_distance=0.05, gradients=True)
bent = {"l_elbow": 1.5, "r_elbow": 1.5, "l_shoulder_yaw": 0.6, "r_shoulder_yaw": 0.6}  # rad
wanted = np.array([bent.get(name, 0.0) for name in robot.joint_names])
margin = 0.0055  # m


def cost(positions):
    """Return the cost of a state and its derivative."""
    found = near(positions[None])
    short = np.maximum(margin - found.distance, 0.0)
    value = np.sum((positions - wanted) ** 2) + 1e5 * np.sum(short**2)
    return value, 2.0 * (positions - wanted) - 2e5 * short @ found.gradients


limits = [robot.joint_limits[name] for name in robot.joint_names]
best = minimize(cost, wanted, jac=True, method="L-BFGS-B", bounds=limits).x
free = are_states_closer(robot, scene, [best], 0.005, pairs=pairs).farther[0]
print(f"clearance before {1e3 * near([wanted]).closest[0]:.3f} mm, after {1e3 * near([best]).closest[0]:.3f} mm")
print(f"proved that all pairs are 5 mm apart: {free}")

_, panels = plt.subplots(1, 2, figsize=(9, 4))
for panel, state, title in zip(panels, (wanted, best), ("wanted", "found"), strict=True):
    scene.set_link_poses(robot.forward_kinematics(dict(zip(robot.joint_names, state, strict=True))))
    colours = [
        GREEN if b.link[:2] in ("l_", "le") else BLUE if b.link[:2] in ("r_", "ri") else GREY for b in scene.bodies
    ]
    shown = [(b.shape, pose, colour) for b, pose, colour in zip(scene.bodies, scene.poses, colours, strict=True)]
    draw_bodies(shown, scene.query(pairs=pairs, max_results=6), towards=(2, 0.4, 1), axes=panel)
    panel.set_title(title)
plt.show()
