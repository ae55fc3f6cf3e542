# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid plan` with an arm of two joints that has to fold to pass a post."""

import csv
import importlib.util
import json
import math

import numpy as np
import pytest
from mesh_files import stl_binary

from superovoid.cli import main

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ompl") is None or importlib.util.find_spec("toppra") is None,
    reason="OMPL or toppra is missing: pip install 'superovoid[plan]'",
)

ARM = """<robot name="arm"><link name="base"/>
  <link name="upper"><collision><origin xyz="0.25 0 0" rpy="0 1.5707963 0"/>
    <geometry><cylinder radius="0.02" length="0.5"/></geometry></collision></link>
  <link name="fore"><collision><origin xyz="0.25 0 0" rpy="0 1.5707963 0"/>
    <geometry><cylinder radius="0.02" length="0.5"/></geometry></collision></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/>
    <origin xyz="0.5 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-2.5" upper="2.5" effort="1" velocity="1"/></joint></robot>"""
RULES = """<robot name="arm"><group name="all"><joint name="shoulder"/><joint name="elbow"/></group>
  <group_state name="left" group="all"><joint name="shoulder" value="0.8"/><joint name="elbow" value="0"/></group_state>
  <disable_collisions link1="upper" link2="fore" reason="Adjacent"/></robot>"""
POST = """<robot name="post"><link name="world"/><link name="post"><collision>
  <geometry><sphere radius="0.1"/></geometry></collision></link>
  <joint name="at" type="JOINT"><parent link="world"/><child link="post"/><origin xyz="0.85 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


@pytest.fixture
def files(tmp_path):
    for name, text in (("arm.urdf", ARM), ("arm.srdf", RULES), ("post.urdf", POST.replace("JOINT", "fixed"))):
        (tmp_path / name).write_text(text)
    return tmp_path


def plan(files, *words):
    return main(["plan", str(files / "arm.urdf"), "--srdf", str(files / "arm.srdf"), *words])


def gap(shoulder, elbow):
    """Return the distance of the forearm, a rectangle in the plane of the motion, from the post, a disc."""
    to_post = np.array([0.85, 0.0]) - 0.5 * np.array([math.cos(shoulder), math.sin(shoulder)])
    way = np.array([math.cos(shoulder + elbow), math.sin(shoulder + elbow)])
    along, across = way @ to_post, way[0] * to_post[1] - way[1] * to_post[0]
    return math.hypot(max(along - 0.5, -along, 0.0), max(abs(across) - 0.02, 0.0)) - 0.1


def test_the_motion_avoids_the_post_and_keeps_velocity_limits(files, capsys):
    table = files / "motion.csv"
    words = "--start", "left", "--goal", "shoulder=-0.8,elbow=0", "--world", str(files / "post.urdf")
    assert plan(files, *words, "--clearance", "0.01", "--output", str(table)) == 0
    out = capsys.readouterr().out
    assert "arm, all: " in out and "proved to keep 0.01 m" in out and str(table) in out
    with table.open() as file:
        rows = np.array([[float(value) for value in row] for row in list(csv.reader(file))[1:]])
    times, states = rows[:, 0], rows[:, 1:]
    np.testing.assert_allclose(states[[0, -1]], [(0.8, 0.0), (-0.8, 0.0)], atol=1e-9)
    assert np.all(np.abs(np.diff(states, axis=0)) <= 1.01 * np.diff(times)[:, None])
    assert min(gap(*state) for state in states) >= 0.0099
    assert gap(0.0, 0.0) < 0.0  # the straight motion would meet the post


def test_json_contains_the_straight_motion_without_the_post(files, capsys):
    assert plan(files, "--start", "left", "--goal", "shoulder=-0.8", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["found"] and found["joints"] == ["shoulder", "elbow"] and found["exit_code"] == 0
    np.testing.assert_allclose(found["path"], [(0.8, 0.0), (-0.8, 0.0)], atol=1e-12)


def test_joints_that_move_no_checked_pair_arrive_in_time(files):
    table = files / "motion.csv"
    assert plan(files, "--start", "left", "--goal", "shoulder=0.1", "--output", str(table)) == 0
    with table.open() as file:
        rows = np.array([[float(value) for value in row] for row in list(csv.reader(file))[1:]])
    assert rows[-1, 0] > 0.7  # rad at 1 rad/s
    np.testing.assert_allclose(rows[[0, -1], 1:], [(0.8, 0.0), (0.1, 0.0)], atol=1e-9)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("--start", "left", "--goal", "shoulder=0,elbow=0"), "goal: "),  # in the post
        (("--start", "shoulder=0", "--goal", "left"), "start: "),
        (("--start", "left", "--goal", "-9,0,0,0,0,0,1"), "out of reach"),
    ],
)
def test_no_motion_is_a_failed_check_with_its_reason(files, capsys, words, found):
    assert plan(files, *words, "--world", str(files / "post.urdf")) == 1
    assert found in capsys.readouterr().out


def test_meshes_are_found_in_folders_next_to_the_urdf(files, capsys):
    mesh = '<mesh filename="package://arm_meshes/tetrahedron.stl" scale="0.1 0.1 0.1"/>'
    (files / "arm.urdf").write_text(ARM.replace('<cylinder radius="0.02" length="0.5"/>', mesh, 1))
    assert plan(files, "--goal", "left") == 2
    assert "--package arm_meshes=FOLDER" in capsys.readouterr().err
    (files / "arm_meshes").mkdir()
    (files / "arm_meshes" / "tetrahedron.stl").write_bytes(stl_binary())
    assert plan(files, "--goal", "left") == 0


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("--goal", "right"), "has no state 'right' (states: left)"),
        (("--start", "right", "--goal", "left"), "--start right: no such state of 'all' (states: left)"),
        (("--start", "wrist=1", "--goal", "left"), "--start: 'wrist' is not an independent joint of 'arm'"),
        (("--goal", "wrist=1"), "wrist"),
        (("--goal", "left", "--group", "none"), "'none' is not a group of 'arm' (groups: all)"),
        (("--goal", "1,0,0,2,0,0,0"), "--goal"),  # no unit quaternion
        (("--start", "shoulder=1", "--goal", "shoulder=5"), "goal: positions: shoulder = 5: must be in ["),
        (("--start", "shoulder=5", "--goal", "left"), "start: positions: shoulder = 5: must be in ["),
        (("--goal", " shoulder = 5 , elbow = 0"), "goal: positions: shoulder = 5: must be in ["),
    ],
)
def test_a_wrong_name_position_or_pose_is_the_callers_mistake(files, capsys, words, found):
    assert plan(files, *words) == 2
    assert found in capsys.readouterr().err


def test_a_world_that_can_move_is_refused_with_its_joints(files, capsys):
    (files / "door.urdf").write_text(POST.replace("JOINT", "revolute"))
    assert plan(files, "--goal", "left", "--world", str(files / "door.urdf")) == 2
    assert "all its joints must be fixed, found at" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("--goal", "1,2,3"), "'1,2,3': must be X,Y,Z"),
        (("--goal", "elbow=x"), "'elbow=x': must be JOINT=VALUE"),
        (("--start", "elbow=", "--goal", "left"), "'elbow=': must be JOINT=VALUE"),
        (("--goal", "elbow=1, elbow=0"), "argument --goal: 'elbow': occurs twice"),
        (("--start", "elbow=1,elbow=1", "--goal", "left"), "argument --start: 'elbow': occurs twice"),
    ],
)
def test_a_malformed_value_is_refused_before_files_are_read(files, capsys, words, found):
    with pytest.raises(SystemExit) as end:
        plan(files, *words)
    assert end.value.code == 2
    assert found in capsys.readouterr().err
