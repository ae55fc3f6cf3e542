# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A small robot with known distances: balls on an arm with a prismatic joint, and a ball on a floating base."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

URDF = """<?xml version="1.0"?>
<robot name="arm">
  <link name="ground">
    <contact_geometry><sphere radius="0.1"/></contact_geometry>
  </link>
  <joint name="slide" type="prismatic">
    <parent link="ground"/><child link="slider"/>
    <axis xyz="1 0 0"/><limit lower="0" upper="2" effort="1" velocity="1"/>
  </joint>
  <link name="slider"/>
  <joint name="wrist" type="revolute">
    <parent link="slider"/><child link="hand"/>
    <axis xyz="0 0 1"/><limit lower="-3.2" upper="3.2" effort="1" velocity="1"/>
  </joint>
  <link name="hand">
    <contact_geometry><origin xyz="0.5 0 0"/><sphere radius="0.05"/></contact_geometry>
  </link>
  <joint name="follower" type="revolute">
    <parent link="hand"/><child link="thumb"/>
    <origin xyz="0.5 0 0"/><axis xyz="0 0 1"/><limit lower="-3.2" upper="3.2" effort="1" velocity="1"/>
    <mimic joint="wrist" multiplier="0.5"/>
  </joint>
  <link name="thumb">
    <contact_geometry><origin xyz="0 0.5 0"/><sphere radius="0.02"/></contact_geometry>
  </link>
  <joint name="free" type="floating">
    <parent link="ground"/><child link="ball"/>
  </joint>
  <link name="ball">
    <contact_geometry><sphere radius="0.1"/></contact_geometry>
  </link>
</robot>
"""

SRDF = """<?xml version="1.0"?>
<robot name="arm">
  <group name="gripper"><link name="hand"/><link name="thumb"/></group>
  <disable_collisions link1="ground" link2="thumb" reason="never meet"/>
  <disable_collisions link1="ground" link2="ball" reason="lies on it"/>
</robot>
"""

DESCRIPTIONS = {"robot_description": URDF, "robot_description_semantic": SRDF}
"""Parameters of a node."""

JOINTS = ["slide", "wrist"]


def at(x: float, y: float, z: float) -> np.ndarray:
    """Return a pose without rotation."""
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


AHEAD = at(2.0, 0.0, 0.0)
"""A pose of the ball: 1.35 m from the hand while the joints are at 0."""


def send_state(client, positions: Sequence[float] = (0.0, 0.0), ball: np.ndarray = AHEAD, stamp=None, prefix: str = ""):
    """Publish joint positions and the pose of the ball with one stamp (default: now), and return the stamp."""
    stamp = stamp or client.now()
    client.send_joints(JOINTS, list(positions), stamp)
    client.send_transform(f"{prefix}ground", f"{prefix}ball", ball, stamp=stamp)
    return stamp


def set_state(
    client,
    node: str,
    positions: Sequence[float] = (0.0, 0.0),
    ball: np.ndarray = AHEAD,
    stamp=None,
    prefix: str = "",
):
    """Publish a state, wait until a node uses it for a response, and return the response."""
    from superovoid_interfaces.srv import GetMinDistance  # here, because tests of the library run without ROS messages

    stamp = send_state(client, positions, ball, stamp, prefix)

    def answers_from_it(response) -> bool:
        if response.success and response.distances.header.stamp == stamp:
            return True
        send_state(client, positions, ball, stamp, prefix)  # the first may have arrived before this node subscribed
        return False

    return client.call_until(answers_from_it, GetMinDistance, f"{node}/get_min_distance")
