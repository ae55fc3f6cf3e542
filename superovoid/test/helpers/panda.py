# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A robot with the joints and limits of the Panda, capsules as bodies, and a short form of its SRDF from MoveIt."""

import importlib.util

import numpy as np
import pytest

from superovoid.robot import Robot
from superovoid.scene import Body
from superovoid.shapes import Box

NEEDS_PLANNER = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("ompl", "toppra")),
    reason="OMPL or toppra is missing: pip install 'superovoid[plan]'",
)
# parent_from_joint: xyz, rpy; lower, upper, velocity
JOINTS = (
    ((0.0, 0.0, 0.333), (0.0, 0.0, 0.0), -2.8973, 2.8973, 2.175),
    ((0.0, 0.0, 0.0), (-np.pi / 2, 0.0, 0.0), -1.7628, 1.7628, 2.175),
    ((0.0, -0.316, 0.0), (np.pi / 2, 0.0, 0.0), -2.8973, 2.8973, 2.175),
    ((0.0825, 0.0, 0.0), (np.pi / 2, 0.0, 0.0), -3.0718, -0.0698, 2.175),
    ((-0.0825, 0.384, 0.0), (-np.pi / 2, 0.0, 0.0), -2.8973, 2.8973, 2.61),
    ((0.0, 0.0, 0.0), (np.pi / 2, 0.0, 0.0), -0.0175, 3.7525, 2.61),
    ((0.088, 0.0, 0.0), (np.pi / 2, 0.0, 0.0), -2.8973, 2.8973, 2.61),
)
# link: centre, rpy, radius, length of the cylinder
CAPSULES = {
    0: ((-0.04, 0.0, 0.06), (0.0, np.pi / 2, 0.0), 0.06, 0.03),
    1: ((0.0, 0.0, -0.1915), (0.0, 0.0, 0.0), 0.06, 0.283),
    2: ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.06, 0.12),
    3: ((0.0, 0.0, -0.145), (0.0, 0.0, 0.0), 0.06, 0.15),
    4: ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.06, 0.12),
    5: ((0.0, 0.0, -0.26), (0.0, 0.0, 0.0), 0.06, 0.1),
    6: ((0.0, 0.0, -0.03), (0.0, 0.0, 0.0), 0.05, 0.08),
    7: ((0.0, 0.0, 0.01), (0.0, 0.0, 0.0), 0.04, 0.14),
}
READY = (0.0, -np.pi / 4, 0.0, -3 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4)
# Adjacent pairs, and pairs that MoveIt's setup assistant found to be never in collision.
DISABLED = ((0, 2), (0, 3), (0, 4), (1, 3), (1, 4), (2, 4), (2, 6), (3, 5), (3, 6), (3, 7), (4, 6), (4, 7), (5, 7))
ARM = tuple(f"panda_joint{i}" for i in range(1, 8))


def _text(values):
    return " ".join(repr(float(value)) for value in values)


def urdf():
    parts = ['<robot name="panda">']
    for i in range(9):
        body = ""
        if i in CAPSULES:
            centre, rpy, radius, length = CAPSULES[i]
            body = (
                f'<collision><origin xyz="{_text(centre)}" rpy="{_text(rpy)}"/><geometry>'
                f'<capsule radius="{radius}" length="{length}"/></geometry></collision>'
            )
        parts.append(f'<link name="panda_link{i}">{body}</link>')
    for i, (xyz, rpy, lower, upper, velocity) in enumerate(JOINTS, start=1):
        parts.append(
            f'<joint name="panda_joint{i}" type="revolute"><origin xyz="{_text(xyz)}" rpy="{_text(rpy)}"/>'
            f'<parent link="panda_link{i - 1}"/><child link="panda_link{i}"/><axis xyz="0 0 1"/>'
            f'<limit lower="{lower}" upper="{upper}" effort="80" velocity="{velocity}"/></joint>'
        )
    parts.append(
        '<joint name="panda_joint8" type="fixed"><origin xyz="0 0 0.107"/><parent link="panda_link7"/>'
        '<child link="panda_link8"/></joint>'
        # A hand with two fingers; one mimics the other.
        '<link name="panda_hand"><collision><origin xyz="0 0 0.03"/><geometry><box size="0.05 0.2 0.06"/></geometry>'
        '</collision></link><joint name="panda_hand_joint" type="fixed"><origin rpy="0 0 -0.785398163397"/>'
        '<parent link="panda_link8"/><child link="panda_hand"/></joint>'
    )
    for name, sign in (("left", 1), ("right", -1)):
        mimic = '<mimic joint="panda_finger_joint1"/>' if sign < 0 else ""
        number = 1 if sign > 0 else 2
        parts.append(
            f'<link name="panda_{name}finger"><collision><origin xyz="0 {sign * 0.01} 0.03"/><geometry>'
            '<box size="0.02 0.015 0.05"/></geometry></collision></link>'
            f'<joint name="panda_finger_joint{number}" type="prismatic"><origin xyz="0 0 0.0584"/>'
            f'<parent link="panda_hand"/><child link="panda_{name}finger"/><axis xyz="0 {sign} 0"/>'
            f'<limit lower="0" upper="0.04" effort="20" velocity="0.2"/>{mimic}</joint>'
        )
    return "".join([*parts, "</robot>"])


def srdf():
    disabled = [(f"panda_link{a}", f"panda_link{b}") for a, b in DISABLED]
    hand = ("panda_hand", "panda_leftfinger", "panda_rightfinger")
    disabled += [(a, b) for i, a in enumerate(hand) for b in hand[i + 1 :]]
    disabled += [(f"panda_link{i}", name) for i in (3, 4, 5, 6, 7) for name in hand]
    pairs = "".join(f'<disable_collisions link1="{a}" link2="{b}" reason="Never"/>' for a, b in disabled)
    ready = "".join(f'<joint name="{j}" value="{float(v)!r}"/>' for j, v in zip(ARM, READY, strict=True))
    return f"""<robot name="panda">
      <group name="panda_arm"><chain base_link="panda_link0" tip_link="panda_link8"/></group>
      <group name="hand"><link name="panda_hand"/><joint name="panda_finger_joint1"/>
        <joint name="panda_finger_joint2"/></group>
      <group name="panda_arm_hand"><group name="panda_arm"/><group name="hand"/></group>
      <group_state name="ready" group="panda_arm">{ready}</group_state>
      <group_state name="open" group="hand"><joint name="panda_finger_joint1" value="0.035"/></group_state>
      <end_effector name="hand" parent_link="panda_link8" group="hand" parent_group="panda_arm"/>
      <virtual_joint name="stand" type="fixed" parent_frame="world" child_link="panda_link0"/>
      {pairs}</robot>"""


def robot():
    return Robot.from_urdf(urdf(), srdf=srdf())


def state_of(values, fingers=0.035):
    return {**dict(zip(ARM, map(float, values), strict=True)), "panda_finger_joint1": fingers}


def wall(y=0.0, height=0.7):
    """Return a wall in front of the robot, in the plane of x and z."""
    pose = np.eye(4)
    pose[:3, 3] = 0.62, y, height / 2
    return Body("wall", "wall", Box((0.4, 0.04, height)), pose)
