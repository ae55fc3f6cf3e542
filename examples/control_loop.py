# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A loop at control rate
======================

A controller queries the distances at every step. A scene starts each query from the contact points of the last one. Its
proved lower bound makes decisions safe.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from superovoid_ros.motions import grasp_sweep
from superovoid_ros.pictures import BLUE, RED

RATE = 100.0  # Hz

robot, sweep = grasp_sweep.read_sweep()
scene = robot.scene()
hands = robot.body_pairs(["left_hand"], ["right_hand"])
steps, least, seconds = range(100), [], []
scene.set_link_poses(robot.forward_kinematics(sweep.frame(0).positions, sweep.frame(0).base_poses))
scene.query()  # the first call of a process loads the code

for step in steps:
    frame = sweep.frame(step)
    begin = time.perf_counter()
    scene.set_link_poses(robot.forward_kinematics(frame.positions, frame.base_poses))
    result = scene.query(pairs=hands, max_distance=0.05, max_results=5)
    seconds.append(time.perf_counter() - begin)
    least.append(result.lower[0] if len(result) else np.inf)

print(f"{len(steps)} steps at {RATE:g} Hz, {sum(second > 1.0 / RATE for second in seconds)} late on this machine")
print(f"first step with a proved gap below 5 mm: {next(i for i, d in enumerate(least) if d < 0.005)}")

least = 1e3 * np.array(least)
plt.figure(figsize=(6, 3))
plt.plot(steps, least, color=BLUE)
plt.fill_between(steps, least, 0.0, where=least < 0.0, color=RED, alpha=0.5, label="overlap")
plt.axhline(0.0, color="black", linewidth=0.5)
plt.xlabel("step")
plt.ylabel("proved distance [mm]")
plt.legend()
plt.tight_layout()
plt.show()
