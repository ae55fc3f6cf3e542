# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A map of two joints
===================

For which angles of two joints is an arm free? `are_states_closer` proves each state free or closer than the clearance,
or leaves it undecided, which counts as blocked.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from superovoid import Body, Robot, Superellipsoid, are_states_closer
from superovoid_ros.pictures import GREY, RED, SKY, draw_bodies

LINK = """<link name="{0}"><contact_geometry><origin xyz="0 0 0.2"/>
  <superovoid size="0.04 0.04 0.2" epsilon="0.9 0.6" taper="-0.2 -0.2"/></contact_geometry></link>"""
JOINT = """<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><origin xyz="0 0 {3}"/>
  <axis xyz="0 1 0"/><limit lower="-3.1" upper="3.1" effort="1" velocity="1"/></joint>"""
parts = [LINK.format("upper"), LINK.format("fore"), JOINT.format("elbow", "upper", "fore", 0.4)]
robot = Robot.from_urdf(
    f"<robot name='arm'><link name='base'/>{JOINT.format('shoulder', 'base', 'upper', 0.0)}{''.join(parts)}</robot>"
)
post = Superellipsoid((0.06, 0.06, 0.12), section_exponent=0.4, profile_exponent=0.3)
post_pose = np.eye(4)
post_pose[:3, 3] = (0.45, 0.0, 0.25)
scene = robot.scene()
scene.add([Body("post", "post", post)])
scene.set_link_pose("post", post_pose)

angles = np.linspace(-3.0, 3.0, 121)
shoulder, elbow = np.meshgrid(angles, angles)
states = np.column_stack([shoulder.ravel(), elbow.ravel()])
found = are_states_closer(robot, scene, states, 0.01, joint_names=["shoulder", "elbow"])
print(f"{found.farther.sum()} states are proved free, {found.closer.sum()} closer, {found.undecided.sum()} undecided")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
drawn = [(post, post_pose, GREY)]
for pose, tint in (((0.3, 1.2), SKY), ((1.0, 0.3), RED)):
    links = robot.forward_kinematics(dict(zip(("shoulder", "elbow"), pose, strict=True)))
    drawn += [(body.shape, links[body.link] @ body.link_from_body, tint) for body in robot.bodies]
    right.plot(*np.degrees(pose), "o", color="black", markersize=4)
draw_bodies(drawn, towards=(0, -1, 0.2), axes=left)
extent = np.degrees([angles[0], angles[-1], angles[0], angles[-1]])
right.imshow(found.farther.reshape(elbow.shape), origin="lower", extent=extent, cmap=ListedColormap([RED, SKY]))
right.set(xlabel="shoulder [deg]", ylabel="elbow [deg]")
plt.show()
