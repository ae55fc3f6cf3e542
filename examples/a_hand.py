# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Two hands
=========

Two hands of the iCub in one frame of a grasp sweep. One query answers for all pairs of links of different hands,
closest first.
"""

import matplotlib.pyplot as plt

from superovoid_ros.motions import grasp_sweep
from superovoid_ros.pictures import BLUE, GREEN, draw_bodies

robot, sweep = grasp_sweep.read_sweep()
frame = sweep.frame(24)
scene = robot.scene()
scene.set_link_poses(robot.forward_kinematics(frame.positions, frame.base_poses))

between = robot.body_pairs(["left_hand"], ["right_hand"])
result = scene.query(max_distance=0.03, pairs=between)  # pairs proved farther than 30 mm are left out
print(f"{result.statistics.pairs} pairs, {result.statistics.solved} solved, {len(result)} within 30 mm")
for pair in result[:5]:
    print(f"{pair.link_a:>16} {pair.link_b:<16} {pair.distance * 1e3:7.3f} mm")

bodies = zip(scene.bodies, scene.poses, strict=True)
shown = [(body.shape, pose, GREEN if body.link.startswith("left") else BLUE) for body, pose in bodies]
draw_bodies(shown, result, towards=(-0.17, -1.0, 0.18))
plt.show()
