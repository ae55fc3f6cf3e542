# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The ROS client
==============

`DistanceClient` calls the node `distance_service` and returns arrays. Here the script starts the node itself, with the
hands of this package; usually a launch file does.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import yaml

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"  # this machine only
os.environ.setdefault("ROS_DOMAIN_ID", str(101 + os.getpid() % 100))

from superovoid_ros.client import DistanceClient
from superovoid_ros.motions import grasp_sweep
from superovoid_ros.pictures import BLUE, GREEN, draw_bodies
from superovoid_ros.resources import share_directory

share = share_directory()
urdf, srdf = share / "urdf" / "icub_hands.urdf", share / "config" / "icub_hands.srdf"
parameters = {"robot_description": urdf.read_text(), "robot_description_semantic": srdf.read_text()}
file = Path(tempfile.mkdtemp()) / "parameters.yaml"
file.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}))
arguments = ["--ros-args", "--log-level", "warn", "--params-file", str(file)]
node = subprocess.Popen([sys.executable, "-m", "superovoid_ros.nodes.distance_service", *arguments])
robot, sweep = grasp_sweep.read_sweep()
frame = sweep.frame(60)
positions = np.array([[frame.positions[name] for name in robot.joint_names]])
options = {"joint_names": robot.joint_names, "base_poses": frame.base_poses, "max_distance": 0.01}
try:
    with DistanceClient(timeout=120.0) as client:  # waits for the node
        client.wait(ready=True)  # until it has read the robot
        found = client.distances(positions, max_results=5, gradients=True, **options)
finally:
    node.terminate()
    node.wait()
print(f"{found.done} state, points in frame {found.frame!r}")
for row in found:
    print(f"{row.name_a:>16} {row.name_b:<16} {row.distance * 1e3:7.3f} mm")
print(f"gradients with respect to {len(found.gradient_joints)} joints: array of shape {found.gradients.shape}")

links = robot.forward_kinematics(frame.positions, frame.base_poses)
colours = [GREEN if body.link.startswith("left") else BLUE for body in robot.bodies]
shown = [(b.shape, links[b.link] @ b.link_from_body, colour) for b, colour in zip(robot.bodies, colours, strict=True)]
draw_bodies(shown, found, towards=(-0.17, -1.0, 0.18))
plt.show()
