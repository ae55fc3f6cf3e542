# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A robot from a URDF
===================

A robot uses the collision geometry of its URDF: boxes, cylinders, spheres, capsules and meshes. An element
`contact_geometry`, which other programs ignore, describes a superovoid. The SRDF disables pairs.
"""

import matplotlib.pyplot as plt

from superovoid.robot import Robot
from superovoid_ros.pictures import BLUE, GREY, ORANGE, draw_bodies

URDF = """<robot name="arm">
  <link name="base"><collision><geometry><cylinder radius="0.1" length="0.2"/></geometry></collision></link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="0 0 0.15"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="1" velocity="1"/>
  </joint>
  <link name="upper"><contact_geometry>
    <origin xyz="0 0 0.2"/><superovoid size="0.05 0.05 0.2" epsilon="0.9 0.6" taper="-0.2 -0.2"/>
  </contact_geometry></link>
  <joint name="elbow" type="revolute">
    <parent link="upper"/><child link="fore"/><origin xyz="0 0 0.4"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="1" velocity="1"/>
  </joint>
  <link name="fore"><collision>
    <origin xyz="0 0 0.15"/><geometry><box size="0.06 0.06 0.3"/></geometry>
  </collision></link>
</robot>"""
SRDF = """<robot name="arm"><disable_collisions link1="upper" link2="fore" reason="Adjacent"/></robot>"""

robot = Robot.from_urdf(URDF, srdf=SRDF)
scene = robot.scene()
print(f"joints {robot.joint_names}, {scene.pair_count} pair of bodies to check")
print(f"base and upper are not checked: {robot.exclusion_reason('base', 'upper')}")

_, panels = plt.subplots(1, 2, figsize=(7, 3.6))
for panel, elbow in zip(panels, (1.5, 2.5), strict=True):
    scene.set_link_poses(robot.forward_kinematics({"shoulder": 0.4, "elbow": elbow}))
    result = scene.query()
    print(f"elbow {elbow} rad: base to fore {result.distance[0] * 1e3:.3f} mm, certified: {result.certified[0]}")
    bodies = zip(scene.bodies, scene.poses, (GREY, ORANGE, BLUE), strict=True)
    draw_bodies(
        [(body.shape, pose, colour) for body, pose, colour in bodies], result, towards=(0.4, -1, 0.2), axes=panel
    )
    panel.set_title(f"elbow {elbow} rad")
plt.show()
