# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A loop at control rate.

A controller asks for the distances at every step. A scene keeps the contact points of the last query, so that the next
one, with the links a little farther on, costs a fraction of the first. Times differ from machine to machine.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from superovoid_ros.motions import grasp_sweep

RATE = 100.0  # Hz

robot, sweep = grasp_sweep.shipped()
scene = robot.scene()
hands = robot.body_pairs(["left_hand"], ["right_hand"])
steps, least, seconds = range(len(sweep)), [], []
scene.set_link_poses(robot.forward_kinematics(sweep.frame(0).positions, sweep.frame(0).base_poses))
scene.query()  # the first call of a process takes longer than later ones

for step in steps:
    frame = sweep.frame(step)
    begin = time.perf_counter()
    scene.set_link_poses(robot.forward_kinematics(frame.positions, frame.base_poses))
    result = scene.query(pairs=hands, max_distance=0.05, max_results=5)
    seconds.append(time.perf_counter() - begin)
    least.append(result.lower[0] if len(result) else np.inf)  # the proved bound is the one to be safe with

late = sum(second > 1.0 / RATE for second in seconds)
print(f"{len(steps)} steps at {RATE:g} Hz, {late} late")
print(f"first step with a proved gap below 5 mm: {next(i for i, d in enumerate(least) if d < 0.005)}")

plt.figure(figsize=(6, 3))
plt.plot(steps, 1e3 * np.array(least))
plt.axhline(0.0, color="black", linewidth=0.5)
plt.xlabel("step")
plt.ylabel("proved distance [mm]")
plt.savefig("control_loop.png", dpi=100, bbox_inches="tight")
