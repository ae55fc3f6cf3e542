# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The ROS client.

`DistanceClient` asks the node `distance_service` and gives arrays. Here the script starts the node itself, with the
hands of this package; usually a launch file does.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import yaml

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"  # this machine only
os.environ.setdefault("ROS_DOMAIN_ID", str(101 + os.getpid() % 100))

from superovoid_ros.client import DistanceClient
from superovoid_ros.motions import grasp_sweep
from superovoid_ros.resources import share_directory

share = share_directory()
urdf, srdf = share / "urdf" / "icub_hands.urdf", share / "config" / "icub_hands.srdf"
parameters = {"robot_description": urdf.read_text(), "robot_description_semantic": srdf.read_text()}
Path("parameters.yaml").write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}))
arguments = ["--ros-args", "--log-level", "warn", "--params-file", "parameters.yaml"]
node = subprocess.Popen([sys.executable, "-m", "superovoid_ros.nodes.distance_service", *arguments])
try:
    robot, sweep = grasp_sweep.shipped()
    frame = sweep.frame(24)
    positions = np.array([[frame.positions[name] for name in robot.joint_names]])
    with DistanceClient(timeout=120.0) as client:  # waits for the node
        client.wait(ready=True)  # until it has read the robot
        found = client.distances(
            positions,
            joint_names=robot.joint_names,
            base_poses=frame.base_poses,
            max_distance=0.01,
            max_results=5,
            gradients=True,
        )
    print(f"{found.done} state, points in frame {found.frame!r}")
    for a, b, distance in zip(found.body_a, found.body_b, found.distance, strict=True):
        print(f"{found.links[a]:>16} {found.links[b]:<16} {distance * 1e3:7.3f} mm")
    print(f"gradients by {len(found.gradient_joints)} joints: array of shape {found.gradients.shape}")
finally:
    node.terminate()
    node.wait()
