# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A planner
=========

A path between two states. Each of its motions is proved to keep its clearance from one end to the other, not only at
samples. OMPL (`pip install ompl`) searches for the path.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

from superovoid import Body, Superellipsoid
from superovoid.planning import MotionValidator, PlanningProblem, SceneValidity, find_path
from superovoid.robot import Robot
from superovoid_ros.pictures import BLUE, GREY, draw_bodies

URDF = """<robot name="gantry">
  <link name="base"/>
  <joint name="x" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>
    <limit lower="-0.5" upper="0.5" effort="1" velocity="1"/></joint>
  <link name="cart"/>
  <joint name="y" type="prismatic"><parent link="cart"/><child link="tool"/><axis xyz="0 1 0"/>
    <limit lower="-0.5" upper="0.5" effort="1" velocity="1"/></joint>
  <link name="tool"><contact_geometry><superovoid size="0.05 0.05 0.1" epsilon="0.9 0.6" taper="0.3 0.3"/>
  </contact_geometry></link>
</robot>"""

robot = Robot.from_urdf(URDF)
wall = Body("wall", "wall", Superellipsoid((0.03, 0.3, 0.1), section_exponent=0.3, profile_exponent=0.3))
problem = PlanningProblem(robot, ("x", "y"), {}, obstacles=(wall,), clearance=0.01)
validity = SceneValidity(problem)
start, goal = np.array([-0.3, 0.0]), np.array([0.3, 0.0])

straight = MotionValidator(problem, validity).check(start, goal)
print(f"the straight motion is valid: {straight.valid}")
found = find_path(problem, validity, start, goal, seed=1, deadline=30.0)
path = found.shortened
print(f"found a path; proved as a whole: {MotionValidator(problem, validity).check_path(path).valid}")

bodies = [(wall.shape, np.eye(4), GREY)]
for corner, end in pairwise(path):
    for share in (0.2, 0.5, 0.8):
        pose = robot.forward_kinematics(dict(zip(("x", "y"), corner + share * (end - corner), strict=True)))["tool"]
        bodies.append((robot.bodies[0].shape, pose, BLUE))
draw_bodies(bodies, towards=(0.2, -0.6, 1.5))
plt.show()
