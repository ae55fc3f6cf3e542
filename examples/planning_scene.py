# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A planning scene
================

Objects are added to the world, grasped and released, as in MoveIt's planning scene. `edit` begins a change, and
`commit` returns a new scene with the whole change.
"""

import matplotlib.pyplot as plt
import numpy as np

from superovoid import Box, Superellipsoid
from superovoid.robot import PlanningScene
from superovoid_ros.motions import grasp_sweep
from superovoid_ros.pictures import BLUE, GREEN, GREY, ORANGE, draw_bodies

robot, sweep = grasp_sweep.read_sweep()
frame = sweep.frame(0)
poses = robot.forward_kinematics(frame.positions, frame.base_poses)
cup_pose, table_pose = np.eye(4), np.eye(4)
cup_pose[:3, 3] = poses["left_palm"][:3, 3] + (0.06, 0.0, 0.1)
table_pose[:3, 3] = cup_pose[:3, 3] + (0.09, 0.0, -0.06)

edit = PlanningScene(robot).edit()
edit.add("cup", [Superellipsoid((0.03, 0.03, 0.05), section_exponent=1.0, profile_exponent=0.3)], [np.eye(4)], cup_pose)
edit.add("table", [Box((0.16, 0.16, 0.01))], [np.eye(4)], table_pose)
world = edit.commit()


def report(title, planning_scene):
    """Print the bodies closest to the cup, and return the answer."""
    scene = planning_scene.scene
    scene.set_link_poses({link: poses[link] if link in poses else np.eye(4) for link in scene.links})
    result = scene.query(pairs=planning_scene.body_pairs(["cup"]), max_results=3)
    print(title)
    for a, b, distance in zip(result.body_a, result.body_b, result.distance, strict=True):
        print(f"  {planning_scene.owners[a]} to {planning_scene.owners[b]}: {distance * 1e3:.3f} mm")
    return result


result = report("the cup in the world", world)
edit = world.edit()
edit.attach("cup", "left_palm", np.linalg.inv(poses["left_palm"]) @ cup_pose, touch_links=["left_hand"])
held = edit.commit()
report("the cup in the left hand, whose links may touch it", held)

colours = {"cup": ORANGE, "table": GREY}
shown = [
    (body.shape, pose, colours.get(owner, GREEN if owner.startswith("left") else BLUE))
    for body, pose, owner in zip(world.scene.bodies, world.scene.poses, world.owners, strict=True)
]
draw_bodies(shown, result, towards=(-0.4, -1.0, 0.5))
plt.show()
