# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A path round a wall by CasADi
=============================

`superovoid.casadi` makes a function of CasADi of the distances of a robot. IPOPT finds a short path of the Panda, with
capsules as bodies, that keeps 2 cm from a wall.
"""

import casadi
import matplotlib.pyplot as plt
import numpy as np

from superovoid import Body, Box, Robot, Scene, state_distances
from superovoid.casadi import StateDistances
from superovoid_ros.pictures import BLUE, GREY, draw_bodies

# Of each joint: origin (x, y, z, roll / 90 deg) and limits; of the capsule on its link: height and length.
TABLE = """0 0 0.333 0 -2.9 2.9 -0.19 0.28, 0 0 0 -1 -1.76 1.76 0 0.12, 0 -0.316 0 1 -2.9 2.9 -0.15 0.15,
  0.0825 0 0 1 -3.07 -0.07 0 0.12, -0.0825 0.384 0 -1 -2.9 2.9 -0.26 0.1, 0 0 0 1 -0.02 3.75 -0.03 0.08,
  0.088 0 0 1 -2.9 2.9 0.08 0.2"""
urdf = '<link name="l0"/>'
for i, row in enumerate(TABLE.split(","), start=1):
    x, y, z, roll, lower, upper, height, length = map(float, row.split())
    urdf += f"""<link name="l{i}"><collision><origin xyz="0 0 {height}"/><geometry>
      <capsule radius="0.055" length="{length}"/></geometry></collision></link>
      <joint name="j{i}" type="revolute"><origin xyz="{x} {y} {z}" rpy="{roll * np.pi / 2} 0 0"/><axis xyz="0 0 1"/>
      <parent link="l{i - 1}"/><child link="l{i}"/><limit lower="{lower}" upper="{upper}" velocity="2"/></joint>"""
robot = Robot.from_urdf(f'<robot name="panda">{urdf}</robot>')
place = np.eye(4)
place[:3, 3] = 0.55, 0.0, 0.2
bodies = [*robot.bodies, Body("wall", "wall", Box((0.5, 0.04, 0.4)), place)]
scene = Scene(bodies, [(i, 7) for i in range(2, 7)])
scene.set_link_pose("wall", np.eye(4))

states, margin = 12, 0.02
ends = np.array([(side * 0.6, 0.5, 0.0, -1.7, 0.0, 2.2, 0.8) for side in (-1, 1)])
ask = StateDistances("distances", robot, scene, states=states, max_distance=0.2)
straight = ends[0] + np.linspace(0.0, 1.0, states)[:, None] * (ends[1] - ends[0])
problem = casadi.Opti()
q = problem.variable(7, states)
problem.minimize(casadi.sumsqr(casadi.diff(q, 1, 1)))
problem.subject_to(casadi.vec(ask(q)) >= margin)
problem.subject_to(q[:, 0] == ends[0])
problem.subject_to(q[:, -1] == ends[1])
raised = straight - np.sin(np.linspace(0.0, np.pi, states))[:, None] * np.array([0, 0.7, 0, 0, 0, 0, 0])
problem.set_initial(q, raised.T)
quiet = {"print_level": 0, "max_iter": 300, "tol": 1e-5}
problem.solver("ipopt", {"print_time": False}, quiet)
path = problem.solve().value(q).T
least = [state_distances(robot, scene, each).closest for each in (straight, path)]
print(f"least distance: straight {1e3 * least[0].min():.1f} mm, path {1e3 * least[1].min():.1f} mm")
scene.set_link_poses(robot.forward_kinematics(path[states // 2]) | {"wall": np.eye(4)})
colours = [BLUE] * 7 + [GREY]
draw_bodies(zip([body.shape for body in bodies], scene.poses, colours, strict=True), towards=(1, 0.4, 0.5))
plt.show()
