"""A small robot with known answers: balls on a sliding arm, and another on a floating base."""

from __future__ import annotations

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

JOINTS = ["slide", "wrist"]


def at(x: float, y: float, z: float) -> np.ndarray:
    """Return the pose of something that is not turned."""
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose
