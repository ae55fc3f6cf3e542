# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Distances of a MuJoCo model
===========================

`superovoid.mujoco` computes distances of the geoms of a model, as `mj_geomDistance` does, and makes a robot of it, with
the pairs that MuJoCo checks. Here a falling box, and the least distance of all pairs over time.
"""

import matplotlib.pyplot as plt
import mujoco
import numpy as np

from superovoid.mujoco import geom_distance, robot_from_model, scene_of, state_of
from superovoid.states import StateQuery
from superovoid_ros.pictures import BLUE, GREY, ORANGE

MODEL = """<mujoco><worldbody>
  <geom name="floor" type="plane" size="1 1 0.1"/>
  <geom name="post" type="cylinder" size="0.03 0.15" pos="0.05 0 0.15"/>
  <body name="box" pos="0 0 0.6" euler="20 30 0"><freejoint/>
    <geom name="box" type="box" size="0.08 0.05 0.03" density="500"/></body>
  <body name="arm" pos="-0.3 0 0.3"><joint name="swing" axis="0 1 0" damping="0.02"/>
    <geom name="arm" type="capsule" fromto="0 0 0 0.2 0 0" size="0.02"/></body>
</worldbody></mujoco>"""
model = mujoco.MjModel.from_xml_string(MODEL)
data = mujoco.MjData(model)
robot = robot_from_model(model)
ask = StateQuery(robot, scene_of(model, robot))
print(f"joints {robot.joint_names}, bases {robot.base_links}, {len(robot.body_pairs())} pairs of bodies")

positions, bases, times, simulated = [], [], [], []
while data.time < 0.6:
    mujoco.mj_step(model, data)
    mujoco.mj_kinematics(model, data)
    state, poses = state_of(model, data, robot)
    positions.append(state)
    bases.append(poses["box"])
    times.append(data.time)
    simulated.append(geom_distance(model, data, model.geom("box").id, model.geom("post").id, 1.0))

found = ask(np.array(positions), base_poses={"box": np.array(bases)})  # all states in one call
print(f"deepest overlap of any pair {-1e3 * found.closest.min():.3f} mm, all certified: {found.certified.all()}")

plt.figure(figsize=(7, 3.6))
plt.plot(times, 1e3 * found.closest, color=ORANGE, label="closest pair")
plt.plot(times, 1e3 * np.array(simulated), color=BLUE, label="box and post")
plt.axhline(0.0, color=GREY)
plt.xlabel("time [s]")
plt.ylabel("distance [mm]")
plt.legend()
plt.tight_layout()
plt.show()
