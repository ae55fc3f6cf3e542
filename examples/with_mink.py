# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Inverse kinematics past a ball by mink
======================================

`superovoid.mink` makes a limit of the distances between the geoms of a MuJoCo model. An arm follows a posture on the
other side of a ball, once without the limit and once with it.
"""

import matplotlib.pyplot as plt
import mink
import mujoco
import numpy as np

from superovoid.mink import DistanceLimit
from superovoid.mujoco import collision_pairs, geom_distance
from superovoid_ros.pictures import BLUE, GREY, ORANGE

LINK = '<geom type="capsule" fromto="0 0 0.05 0 0 0.35" size="0.05"/>'
model = mujoco.MjModel.from_xml_string(f"""<mujoco><worldbody>
  <geom type="ellipsoid" size="0.15 0.1 0.12" pos="0.45 0 0.7"/>
  <body><joint axis="0 0 1"/>{LINK}<body pos="0 0 0.4"><joint axis="0 1 0"/>{LINK}
  <body pos="0 0 0.4"><joint axis="0 1 0"/>{LINK}</body></body></body></worldbody></mujoco>""")
margin, step = 0.03, 0.01  # m, s
for limits, colour in (([], GREY), ([DistanceLimit(model, margin=margin)], BLUE)):
    configuration = mink.Configuration(model, np.array([-0.9, 1.1, 0.3]))
    task = mink.PostureTask(model, cost=1.0, gain=0.05)
    task.set_target(np.array([0.9, 1.1, 0.3]))
    least = []
    for _ in range(80):
        v = mink.solve_ik(configuration, [task], step, solver="daqp", limits=limits)
        configuration.integrate_inplace(v, step)
        pairs = collision_pairs(model).tolist()
        least.append(1e3 * min(geom_distance(model, configuration.data, *pair, 1.0) for pair in pairs))
    plt.plot(least, color=colour, label=f"{'with' if limits else 'without'} limit: {min(least):.1f} mm")
plt.axhline(1e3 * margin, color=ORANGE)
plt.gca().set(xlabel="step", ylabel="least distance [mm]")
plt.legend()
plt.show()
