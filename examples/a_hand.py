# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A hand.

Two hands of the iCub in one frame of a grasp sweep. One query answers for all pairs of links of
different hands, closest first.
"""

from picture import save_picture

from superovoid_ros.motions import grasp_sweep

robot, sweep = grasp_sweep.shipped()
frame = sweep.frame(24)
scene = robot.scene()
scene.set_link_poses(robot.forward_kinematics(frame.positions, frame.base_poses))

between = robot.body_pairs(["left_hand"], ["right_hand"])
result = scene.query(max_distance=0.03, pairs=between)  # pairs proved farther than 30 mm are left out
print(f"{result.statistics.pairs} pairs, {result.statistics.solved} solved, {len(result)} within 30 mm")
for a, b, distance in list(zip(result.body_a, result.body_b, result.distance, strict=True))[:5]:
    print(f"{scene.bodies[a].link:>16} {scene.bodies[b].link:<16} {distance * 1e3:7.3f} mm")

colours = {"left": "tab:green", "righ": "tab:blue"}
bodies = zip(scene.bodies, scene.poses, strict=True)
save_picture(
    "a_hand.png", [(body.shape, pose, colours[body.link[:4]]) for body, pose in bodies], result, view=(10.0, -100.0)
)
