# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Forward kinematics and Jacobians on small trees with every kind of joint."""

import io
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from superovoid import Body, Sphere
from superovoid.robot import Robot, forward

URDF = pytest.importorskip("urchin", reason="urchin is missing: pip install 'superovoid[plan]'").URDF

ARM = """<robot name="arm">
  <link name="base"/><link name="upper"/><link name="slide"/><link name="hand"/><link name="left"/><link name="right"/>
  <link name="flag"/>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <origin xyz="0.1 0 0.2" rpy="0.1 -0.2 0.3"/><axis xyz="0 2 1"/><limit lower="-2" upper="2" effort="1" velocity="1"/>
  </joint>
  <joint name="lift" type="prismatic"><parent link="upper"/><child link="slide"/>
    <origin xyz="0 0.3 0" rpy="1 0 0"/><axis xyz="1 1 0"/><limit lower="0" upper="1" effort="1" velocity="1"/></joint>
  <joint name="wrist" type="continuous"><parent link="slide"/><child link="hand"/><origin xyz="0 0 0.2"/></joint>
  <joint name="grip" type="revolute"><parent link="hand"/><child link="left"/><origin xyz="0 0.1 0"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="follow" type="revolute"><parent link="hand"/><child link="right"/><origin xyz="0 -0.1 0"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
    <mimic joint="grip" multiplier="-0.5" offset="0.1"/></joint>
  <joint name="last" type="revolute"><parent link="right"/><child link="flag"/><origin xyz="0 0 0.1" rpy="0 1 0"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
    <mimic joint="follow" multiplier="2" offset="-0.3"/></joint>
</robot>"""

ROBOT = Robot.from_urdf(ARM)
JOINTS = ("shoulder", "lift", "wrist", "grip")
POSITIONS = st.fixed_dictionaries({name: st.floats(-3.0, 3.0) for name in JOINTS})


class Document(io.BytesIO):
    name = "arm.urdf"


REFERENCE = URDF.load(Document(ARM.encode()))


def test_joint_names_and_limits_are_those_of_independent_joints():
    assert ROBOT.joint_names == JOINTS
    assert ROBOT.joint_limits == {"shoulder": (-2, 2), "lift": (0, 1), "wrist": (-math.inf, math.inf), "grip": (-1, 1)}
    assert ROBOT.mimic["follow"].joint == "grip"
    assert (ROBOT.mimic["follow"].multiplier, ROBOT.mimic["follow"].offset) == (-0.5, 0.1)


@settings(deadline=None)
@given(POSITIONS)
def test_forward_kinematics_agree_with_urchin(positions):
    poses = ROBOT.forward_kinematics(positions)
    # urchin does not resolve a mimic of a mimic, so these links are not compared.
    for link, pose in REFERENCE.link_fk(cfg={**positions, "follow": 0.0, "last": 0.0}, use_names=True).items():
        if link not in ("right", "flag"):
            np.testing.assert_allclose(poses[link], pose, atol=1e-12)


@settings(deadline=None)
@given(POSITIONS)
def test_mimic_of_a_mimic_follows_the_independent_joint(positions):
    poses = ROBOT.forward_kinematics(positions)
    follow = -0.5 * positions["grip"] + 0.1
    last = 2.0 * follow - 0.3
    inside = np.linalg.inv(poses["right"]) @ poses["flag"]
    c, s = math.cos(1.0 + last), math.sin(1.0 + last)
    np.testing.assert_allclose(inside[:3, :3], [[c, 0, s], [0, 1, 0], [-s, 0, c]], atol=1e-12)


@settings(deadline=None)
@given(POSITIONS, st.sampled_from(["flag", "left", "slide", "base"]))
def test_jacobian_agrees_with_finite_differences(positions, link):
    point = np.array([0.3, -0.2, 0.5])
    jacobian = ROBOT.jacobian(link, point, positions)
    assert jacobian.shape == (6, 4)
    here = ROBOT.forward_kinematics(positions)[link]
    local = np.linalg.inv(here) @ np.append(point, 1.0)
    step = 1e-6
    for column, name in enumerate(JOINTS):
        ahead, behind = (
            ROBOT.forward_kinematics({**positions, name: positions[name] + sign * step})[link] for sign in (1, -1)
        )
        velocity = ((ahead - behind) @ local)[:3] / (2 * step)
        turning = (ahead - behind)[:3, :3] @ here[:3, :3].T / (2 * step)
        angular = [turning[2, 1], turning[0, 2], turning[1, 0]]
        np.testing.assert_allclose(jacobian[:, column], [*velocity, *angular], atol=1e-8)


def test_positions_of_other_joints_are_ignored():
    rest = dict.fromkeys(JOINTS, 0.0)
    poses = ROBOT.forward_kinematics({**rest, "follow": 5.0, "somebody_else": math.nan})
    np.testing.assert_array_equal(poses["right"], ROBOT.forward_kinematics(rest)["right"])


def test_error_names_the_missing_joint():
    with pytest.raises(ValueError, match=r"joint 'lift' is missing \(1 of 4 are\)"):
        ROBOT.forward_kinematics({"shoulder": 0.0, "wrist": 0.0, "grip": 0.0})


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_error_names_the_joint_with_a_nonfinite_position(value):
    with pytest.raises(ValueError, match=r"positions\['wrist'\] = (nan|inf): must be finite"):
        ROBOT.forward_kinematics({**dict.fromkeys(JOINTS, 0.0), "wrist": value})


def test_nonnumeric_position_is_an_error():
    with pytest.raises(ValueError, match="positions"):
        ROBOT.forward_kinematics({**dict.fromkeys(JOINTS, 0.0), "wrist": "much"})


@pytest.mark.parametrize("point", [[0, 0], [0, 0, math.nan]])
def test_invalid_point_is_an_error(point):
    with pytest.raises(ValueError, match="expected three finite numbers"):
        ROBOT.jacobian("left", np.array(point), dict.fromkeys(JOINTS, 0.0))


def test_error_about_an_unknown_link_lists_known_links():
    with pytest.raises(ValueError, match=r"'nose' is not a link of 'arm'.*base"):
        ROBOT.jacobian("nose", np.zeros(3), dict.fromkeys(JOINTS, 0.0))


FLOATING = """<robot name="r"><link name="world"/><link name="body"/><link name="arm"/>
  <joint name="free" type="floating"><parent link="world"/><child link="body"/><origin xyz="9 9 9"/></joint>
  <joint name="turn" type="continuous"><parent link="body"/><child link="arm"/><origin xyz="1 0 0"/></joint></robot>"""


def test_links_below_a_base_move_with_its_input_pose():
    robot = Robot.from_urdf(FLOATING)
    assert robot.base_links == ("body",)
    pose = np.array([[0, -1, 0, 3], [1, 0, 0, 4], [0, 0, 1, 5], [0, 0, 0, 1.0]])
    poses = robot.forward_kinematics({"turn": 0.0}, {"body": pose})
    np.testing.assert_array_equal(poses["body"], pose)
    np.testing.assert_allclose(poses["arm"][:3, 3], [3, 5, 5])


@pytest.mark.parametrize(
    ("pose", "message"),
    [
        (None, "the pose of 'body' is missing"),
        (np.eye(3), "rotation alone, expected a 4 x 4 matrix"),
        (np.full((4, 4), math.nan), "must be finite"),
        (2 * np.eye(4), "last row"),
        (np.diag([2.0, 2.0, 2.0, 1.0]), "must be a rotation"),
    ],
)
def test_error_about_a_bad_base_pose_names_the_link(pose, message):
    robot = Robot.from_urdf(FLOATING)
    with pytest.raises(ValueError, match=message):
        robot.forward_kinematics({"turn": 0.0}, None if pose is None else {"body": pose})


@settings(deadline=None)
@given(
    POSITIONS, POSITIONS, st.sampled_from(["base flag base", "slide hand slide", "left flag hand", "upper left upper"])
)
def test_points_move_no_farther_than_speed_bounds_within_ranges(first, last, links):
    # Positions of `lift` are beyond its limits; `flag` turns with two mimic joints.
    a, b, common = links.split()
    bodies = [Body(link, link, Sphere(0.1)) for link in (a, b)]
    ranges = {name: sorted((first[name], last[name])) for name in JOINTS}
    bounds = ROBOT.relative_speeds(bodies, [[0, 1]], ranges)[0]
    changes = [abs(last[name] - first[name]) for name in JOINTS]
    before, after = (ROBOT.forward_kinematics(positions) for positions in (first, last))
    surface = np.random.default_rng(2).normal(size=(3, 20))
    points = np.vstack([0.1 * surface / np.linalg.norm(surface, axis=0), np.ones(20)])
    farthest = 0.0
    for link in (a, b):
        begin, end = (np.linalg.inv(poses[common]) @ poses[link] @ points for poses in (before, after))
        farthest += np.linalg.norm(end - begin, axis=0).max()
    assert farthest <= bounds @ changes + 1e-12


def test_speed_bounds_of_a_telescope_are_its_lengths():
    bodies, ranges = [Body("a", "base", Sphere(0.1)), Body("b", "hand", Sphere(0.1))], {"lift": (-3.0, 2.0)}
    bounds = ROBOT.relative_speeds(bodies, [[0, 1], [1, 0]], ranges)
    np.testing.assert_allclose(bounds, np.tile([0.1 + 0.2 + 3.0 + 0.3, 1.0, 0.1, 0.0], (2, 1)), rtol=1e-9)
    assert ROBOT.relative_speeds(bodies, [[0, 1]])[0, 0] == pytest.approx(0.1 + 0.2 + 1.0 + 0.3, rel=1e-9)


def test_forward_kinematics_takes_less_than_a_millisecond():
    # The goal is 0.3 ms for both hands on an idle machine (benchmark); this detects large regressions only.
    rest = dict.fromkeys(JOINTS, 0.1)
    times = []
    for _ in range(50):
        start = time.perf_counter()
        ROBOT.forward_kinematics(rest)
        times.append(time.perf_counter() - start)
    assert min(times) < 1e-3


def test_pose_numbers_match_scipy_and_bad_rows_are_reported():
    rng = np.random.default_rng(4)
    numbers = rng.normal(size=(50, 7))
    numbers[:, 3:] /= np.linalg.norm(numbers[:, 3:], axis=1)[:, None] * rng.uniform(0.997, 1.003, (50, 1))
    poses = np.full((50, 4, 4), np.nan)
    assert forward.poses_of_numbers(numbers, poses) == -1
    np.testing.assert_allclose(poses[:, :3, :3], Rotation.from_quat(numbers[:, 3:]).as_matrix(), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(poses[:, :3, 3], numbers[:, :3])
    np.testing.assert_array_equal(poses[:, 3], np.tile([0.0, 0.0, 0.0, 1.0], (50, 1)))
    for column, value in ((0, np.nan), (2, -np.inf), (3, np.nan), (6, np.inf), (4, 2.0)):
        bad = numbers.copy()
        bad[17, column] = value
        assert forward.poses_of_numbers(bad, poses) == 17
