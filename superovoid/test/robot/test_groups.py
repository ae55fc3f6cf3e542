# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""SRDF groups for planners: joints, tip and named states, as in MoveIt's robot model."""

import numpy as np
import pytest

from superovoid.robot import Robot

import hands

# A rotating column with two arms; the left one has a gripper whose second finger mimics the first.
URDF = """
<robot name="two_arms">
  <link name="base"/><link name="column"/>
  <link name="left_1"/><link name="left_2"/><link name="left_tool"/>
  <link name="finger"/><link name="other_finger"/>
  <link name="right_1"/><link name="right_2"/>
  <joint name="turn" type="revolute"><parent link="base"/><child link="column"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="0.5"/></joint>
  <joint name="left_a" type="revolute"><parent link="column"/><child link="left_1"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="0"/></joint>
  <joint name="left_b" type="continuous"><parent link="left_1"/><child link="left_2"/><axis xyz="0 1 0"/></joint>
  <joint name="left_mount" type="fixed"><parent link="left_2"/><child link="left_tool"/></joint>
  <joint name="grip" type="prismatic"><parent link="left_tool"/><child link="finger"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0.04" effort="1" velocity="0.2"/></joint>
  <joint name="grip_too" type="prismatic"><parent link="left_tool"/><child link="other_finger"/><axis xyz="0 -1 0"/>
    <limit lower="0" upper="0.04" effort="1" velocity="0.2"/><mimic joint="grip"/></joint>
  <joint name="right_a" type="revolute"><parent link="column"/><child link="right_1"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="right_b" type="floating"><parent link="right_1"/><child link="right_2"/></joint>
</robot>
"""


def robot_of(srdf):
    return Robot.from_urdf(URDF, srdf=f'<robot name="two_arms">{srdf}</robot>')


def test_chain_has_joints_between_its_ends_and_a_tip():
    group = robot_of('<group name="left"><chain base_link="base" tip_link="left_tool"/></group>').group("left")
    assert group.joints == ("turn", "left_a", "left_b")
    assert (group.base, group.tip) == ("base", "left_tool")
    assert group.outside == ()


def test_joints_form_a_chain_despite_a_missing_fixed_joint():
    robot = robot_of('<group name="g"><joint name="grip"/><joint name="left_b"/><link name="left_1"/></group>')
    assert robot.group("g").joints == ("left_a", "left_b", "grip")
    assert (robot.group("g").base, robot.group("g").tip) == ("column", "finger")


def test_missing_movable_joint_breaks_the_chain():
    assert robot_of('<group name="g"><joint name="turn"/><joint name="left_b"/></group>').group("g").tip is None


def test_mimic_joints_are_not_planned():
    group = robot_of('<group name="hand"><joint name="grip"/><joint name="grip_too"/></group>').group("hand")
    assert group.joints == ("grip",)
    assert group.tip is None  # two fingers


def test_tip_of_a_branched_group_is_its_only_end_effector():
    groups = """
      <group name="left"><chain base_link="column" tip_link="left_tool"/></group>
      <group name="right"><link name="right_1"/><link name="right_2"/></group>
      <group name="both"><group name="left"/><group name="right"/></group>
      <group name="hand"><joint name="grip"/></group>"""
    effector = '<end_effector name="{}" parent_link="{}" group="hand" parent_group="both"/>'
    one = robot_of(groups + effector.format("l", "left_tool"))
    assert one.group("both").joints == ("left_a", "left_b", "right_a")
    assert one.group("both").outside == ("right_b",)
    assert one.group("both").tip == "left_tool"
    assert one.end_effectors[0].group == "hand"
    two = robot_of(groups + effector.format("l", "left_tool") + effector.format("r", "right_2"))
    assert two.group("both").tip is None


def test_named_states_are_read_and_invalid_entries_ignored_with_warnings():
    robot = robot_of("""
      <virtual_joint name="stand" type="floating" parent_frame="world" child_link="base"/>
      <group name="left"><chain base_link="column" tip_link="left_tool"/></group>
      <group_state name="up" group="left">
        <joint name="left_a" value="0.5"/><joint name="left_b" value=" -1 "/>
        <joint name="stand" value="0 0 0 0 0 0 1"/>
        <joint name="gone" value="1"/><joint name="turn" value="1 2"/><joint name="grip" value="nan"/>
      </group_state>
      <group_state name="down" group="none"><joint name="left_a" value="0"/></group_state>
      <passive_joint name="right_a"/><passive_joint name="gone"/>
      <end_effector name="e" parent_link="gone" group="left"/>""")
    assert robot.group("left").states == {"up": {"left_a": 0.5, "left_b": -1.0}}
    assert robot.passive_joints == {"right_a"}
    assert robot.end_effectors == ()
    assert len(robot.warnings) == 6
    for words in ("'gone'", "'1 2'", "'nan'", "group 'none'", "passive_joint", "end_effector"):
        assert any(words in warning for warning in robot.warnings), words


def test_zero_or_missing_velocity_means_no_speed_limit():
    joints = robot_of("").joints
    assert joints["turn"].velocity == 0.5
    assert joints["left_a"].velocity == joints["left_b"].velocity == np.inf


def test_error_names_the_unknown_group():
    with pytest.raises(ValueError, match=r"'arm' is not a group of 'two_arms' \(groups: left\)"):
        robot_of('<group name="left"><link name="left_1"/></group>').group("arm")


def test_arms_of_the_upper_body_have_tips():
    robot = Robot.load(hands.UPPER_BODY_URDF, srdf=hands.UPPER_BODY_SRDF)
    for side in "left", "right":
        arm = robot.group(f"{side}_arm")
        assert len(arm.joints) == 7 and (arm.base, arm.tip) == ("chest", f"{side[0]}_hand")
    assert robot.group("upper_body").tip is None
    assert set(robot.group("arms").joints) == {*robot.group("left_arm").joints, *robot.group("right_arm").joints}
    for name in robot.groups:
        for state in robot.group(name).states.values():
            assert set(state) <= set(robot.joints)
