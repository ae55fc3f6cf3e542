# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Robots from files, packages or text; positions as arrays or mappings; distances in many states."""

import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import superovoid
from superovoid import Robot, RobotDescriptionError, state_distances

import hands
from arm import URDF

BASES = {"ball": np.eye(4)}
SRDF = '<robot name="arm"><disable_collisions link1="ground" link2="thumb" reason="Never"/></robot>'


def arm():
    return Robot.from_urdf(URDF)


def test_load_accepts_a_path_an_address_or_text(tmp_path):
    (tmp_path / "arm.urdf").write_text(URDF, encoding="utf-8")
    (tmp_path / "arm.srdf").write_text(SRDF, encoding="utf-8")
    directories = {"mine": tmp_path}
    for source in (URDF, tmp_path / "arm.urdf", str(tmp_path / "arm.urdf"), (tmp_path / "arm.urdf").as_uri()):
        assert Robot.load(source).links == arm().links
    found = Robot.load("package://mine/arm.urdf", srdf="package://mine/arm.srdf", package_directories=directories)
    assert len(found.body_pairs()) == len(arm().body_pairs()) - 1
    assert "Never" in found.exclusion_reason("ground", "thumb")
    assert Robot.load(URDF, srdf=SRDF).exclusion_reason("ground", "thumb") == found.exclusion_reason("ground", "thumb")


def test_load_finds_meshes_in_the_package_of_the_urdf(tmp_path):
    folder = tmp_path / "my_arm" / "urdf"
    folder.mkdir(parents=True)
    (tmp_path / "my_arm" / "package.xml").write_text("<package><name>arm_files</name></package>", encoding="utf-8")
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (folder / "part.obj").write_text(corners, encoding="utf-8")
    mesh = '<collision><geometry><mesh filename="package://arm_files/urdf/part.obj"/></geometry></collision>'
    text = f'<robot name="one"><link name="base">{mesh}</link></robot>'
    (folder / "one.urdf").write_text(text, encoding="utf-8")
    assert len(Robot.load(folder / "one.urdf").bodies) == 1
    with pytest.raises(RobotDescriptionError, match="arm_files"):
        Robot.load(text)


def test_load_finds_packages_of_a_sourced_workspace(tmp_path, monkeypatch):
    index = tmp_path / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    (index / "installed").write_text("", encoding="utf-8")
    (tmp_path / "share" / "installed").mkdir()
    (tmp_path / "share" / "installed" / "arm.urdf").write_text(URDF, encoding="utf-8")
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{tmp_path}")
    assert Robot.load("package://installed/arm.urdf").name == "arm"


def test_package_named_like_a_module_without_file_is_unknown(monkeypatch):
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)  # as in a script
    with pytest.raises(RobotDescriptionError, match="package '__main__' is unknown"):
        Robot.load("package://__main__/arm.urdf")


def test_load_error_has_the_reason(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing\.urdf"):
        Robot.load(tmp_path / "missing.urdf")
    with pytest.raises(RobotDescriptionError, match="package 'nowhere' is unknown"):
        Robot.load("package://nowhere/arm.urdf")
    with pytest.raises(RobotDescriptionError, match="leads out of its package"):
        Robot.load("package://superovoid_ros/../secret.urdf")
    (tmp_path / "binary.urdf").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RobotDescriptionError, match=r"binary\.urdf is not UTF-8 text"):
        Robot.load(tmp_path / "binary.urdf")
    with pytest.raises(TypeError, match="found int"):
        Robot.load(3)


@pytest.mark.parametrize("path", ("robot.urdf", "/opt/robot.urdf", Path("robot.urdf"), "package://a/b.urdf"))
def test_error_for_a_path_instead_of_xml_suggests_load(path):
    with pytest.raises(RobotDescriptionError, match=r"URDF: .*path.*Robot\.load\(\) reads files|Robot\.load\(\)"):
        Robot.from_urdf(path)
    with pytest.raises(RobotDescriptionError, match=r"SRDF: .*Robot\.load\(\) reads files"):
        Robot.from_urdf(URDF, srdf=path if isinstance(path, str) else str(path))


def test_positions_as_array_or_mapping_give_the_same_poses():
    robot = arm()
    by_name = dict(zip(robot.joint_names, (0.3, -0.4), strict=True))
    expected = robot.forward_kinematics(by_name, BASES)
    one = robot.forward_kinematics([0.3, -0.4], BASES)
    many = robot.forward_kinematics(np.array([[0.3, -0.4], [1.0, 0.0]]), BASES)
    for link in robot.links:
        np.testing.assert_array_equal(one[link], expected[link])
        np.testing.assert_array_equal(many[link][0], expected[link])
        assert many[link].shape == (2, 4, 4)
    point = expected["hand"][:3, 3]
    jacobian = robot.jacobian("hand", point, [0.3, -0.4], BASES)
    np.testing.assert_array_equal(jacobian, robot.jacobian("hand", point, by_name, BASES))


@pytest.mark.parametrize(
    "positions, words",
    (
        ([0.1], r"shape \(2,\)"),
        ([[0.1, 0.2, 0.3]], r"\(states, 2\)"),
        ([0.1, np.nan], "must be finite"),
        ([[0.1, 0.2], [np.inf, 0.0]], "joint 'slide' in state 1"),
        ("here", "positions"),
        ({"slide": 0.1}, "joint 'wrist' is missing"),
    ),
)
def test_positions_of_wrong_form_are_rejected(positions, words):
    with pytest.raises(ValueError, match=words):
        arm().forward_kinematics(positions, BASES)


def test_selected_rows_keep_their_states():
    robot = arm()
    rows = np.array([[0.0, 0.0], [0.5, 1.0], [2.0, -1.0]])
    found = state_distances(robot, robot.scene(), rows, base_poses=BASES, gradients=True, base_gradients=True)
    near = found[found.distance < 0.45]
    assert near.states == 3 and 0 < len(near) < len(found)
    np.testing.assert_array_equal(near.state, found.state[found.distance < 0.45])
    np.testing.assert_array_equal(near.gradients, found.gradients[found.distance < 0.45])
    for state in range(3):
        part = found.of_state(state)
        assert near.of_state(state) == part[part.distance < 0.45]
    with pytest.raises(IndexError, match="order of the states"):
        found[::-1]
    assert found[-1].name_b == found.name_b[-1]
    assert "3 of 3 states answered" in repr(found)
    assert found.to_dict()["joint_names"] == robot.joint_names


def test_data_frame_of_states_has_gradient_columns_per_joint():
    pytest.importorskip("pandas")
    found = state_distances(
        arm(), arm().scene(), [[0.5, 1.0], [1.0, 0.0]], base_poses=BASES, gradients=True, base_gradients=True
    )
    table = found.to_pandas()
    np.testing.assert_array_equal(table[["d_slide", "d_wrist"]].to_numpy(), found.gradients)
    np.testing.assert_array_equal(table["state"].to_numpy(), found.state)


def test_robot_can_be_pickled_and_printed():
    robot = Robot.load(hands.URDF)
    again = pickle.loads(pickle.dumps(robot))
    assert again.bodies == robot.bodies and again.joint_names == robot.joint_names
    np.testing.assert_array_equal(again.body_pairs(), robot.body_pairs())
    assert repr(robot).startswith("Robot('") and "joints" in repr(robot)
    assert f"<td>{robot.joint_names[0]}</td>" in robot._repr_html_()
    assert superovoid.Robot is Robot


CORNERS = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def write_robot_with_mesh(file, mesh, filename="package://parts/meshes/part.obj"):
    """Write a URDF, and its mesh in the subfolder `meshes` of a folder."""
    for path in (file, mesh / "meshes" / "part.obj"):
        path.parent.mkdir(parents=True, exist_ok=True)
    (mesh / "meshes" / "part.obj").write_text(CORNERS, encoding="utf-8")
    element = f'<collision><geometry><mesh filename="{filename}"/></geometry></collision>'
    file.write_text(f'<robot name="one"><link name="base">{element}</link></robot>', encoding="utf-8")
    return file


@pytest.mark.parametrize(
    "urdf, package",
    (
        ("parts/urdf/one.urdf", "parts"),  # in the package, without a package.xml
        ("urdf/one.urdf", "parts"),  # next to the folder of the URDF
        ("one.urdf", "parts"),
        ("a/b/c/one.urdf", "cache/parts"),
        ("a/one.urdf", "cache/repository/robots/parts"),
    ),
)
def test_load_finds_folders_with_the_name_of_a_package(tmp_path, monkeypatch, urdf, package):
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "cache"))
    file = write_robot_with_mesh(tmp_path / urdf, tmp_path / package)
    assert len(Robot.load(file).bodies) == 1
    with pytest.raises(RobotDescriptionError, match="package 'parts' is unknown"):
        Robot.from_urdf(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("urdf", "filename"),
    (
        ("one.urdf", "meshes/part.obj"),
        ("one.urdf", "./meshes/../meshes/part.obj"),
        ("urdf/one.urdf", "../meshes/part.obj"),
        ("urdf/one.urdf", "file:../meshes/part.obj"),
    ),
)
def test_relative_mesh_path_starts_from_the_folder_of_the_urdf(tmp_path, monkeypatch, urdf, filename):
    file = write_robot_with_mesh(tmp_path / urdf, tmp_path, filename)
    assert len(Robot.load(file).bodies) == 1
    monkeypatch.chdir(file.parent)
    assert len(Robot.load(file.name).bodies) == 1
    with pytest.raises(RobotDescriptionError, match="is a relative path"):
        Robot.from_urdf(file.read_text(encoding="utf-8"))
    assert len(Robot.from_urdf(file.read_text(encoding="utf-8"), package_directories={"": file.parent}).bodies) == 1


@pytest.mark.parametrize("filename", ("../../meshes/part.obj", "meshes/../../../meshes/part.obj"))
def test_relative_mesh_path_far_outside_the_folder_is_refused(tmp_path, filename):
    file = write_robot_with_mesh(tmp_path / "robot" / "urdf" / "one.urdf", tmp_path, filename)
    with pytest.raises(RobotDescriptionError, match=re.escape(f"outside {tmp_path / 'robot'}")):
        Robot.load(file)


def test_load_finds_packages_of_the_ros_package_path(tmp_path, monkeypatch):
    file = write_robot_with_mesh(tmp_path / "one.urdf", tmp_path / "source" / "parts")
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "cache"))
    for path in ("source", "source/parts"):
        monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere:{tmp_path / path}")
        with pytest.raises(RobotDescriptionError, match="package 'parts' is unknown"):
            Robot.load(file)  # a package has a package.xml
    (tmp_path / "source" / "parts" / "package.xml").write_text("<package/>", encoding="utf-8")
    for path in ("source", "source/parts"):
        monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere:{tmp_path / path}")
        assert len(Robot.load(file).bodies) == 1


def test_load_error_names_the_folder_to_pass(tmp_path, monkeypatch):
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "cache"))
    file = write_robot_with_mesh(tmp_path / "here" / "one.urdf", tmp_path / "there" / "elsewhere")
    words = "folder that contains 'meshes/part.obj' as package_directories={'parts': FOLDER}"
    with pytest.raises(RobotDescriptionError) as caught:
        Robot.load(file)
    for each in (words, "ROS_PACKAGE_PATH", f"{file.parent} and the folders that contain it", str(tmp_path / "cache")):
        assert each in str(caught.value)
    assert len(Robot.load(file, package_directories={"parts": tmp_path / "there" / "elsewhere"}).bodies) == 1


def test_states_by_name_are_those_of_arrays():
    robot = arm()
    rows = np.array([[0.3, -0.4], [1.0, 0.0]])
    named = robot.by_name(rows)
    assert list(named) == list(robot.joint_names)
    np.testing.assert_array_equal(robot.positions(named), rows)
    assert (
        robot.by_name(rows[0])
        == dict(zip(robot.joint_names, rows[0], strict=True))
        == robot.by_name(named | {name: float(value[0]) for name, value in named.items()})
    )
    np.testing.assert_array_equal(robot.positions(robot.by_name(rows[0])), rows[0])
    expected = robot.forward_kinematics(rows, BASES)
    for link, poses in robot.forward_kinematics(named, BASES).items():
        np.testing.assert_array_equal(poses, expected[link])
    first, second = robot.joint_names
    mixed = robot.positions({first: 0.3, second: [1.0, 2.0, 3.0], "other": 4.0})
    assert mixed.tolist() == [[0.3, 1.0], [0.3, 2.0], [0.3, 3.0]]
    scene = robot.scene()
    assert state_distances(robot, scene, named, base_poses=BASES) == state_distances(
        robot, scene, rows, base_poses=BASES
    )
    with pytest.raises(ValueError, match="joint_names: must not be given with a mapping"):
        state_distances(robot, scene, named, joint_names=robot.joint_names, base_poses=BASES)
    for wrong, words in (
        ({first: 0.3}, f"positions: joint '{second}' is missing"),
        ({first: [1.0, 2.0], second: [1.0, 2.0, 3.0]}, "positions: shape mismatch"),
        (
            {first: "here", second: 0.0},
            f"positions: joint '{first}': must be numbers of double precision, found 'here'",
        ),
        ({first: True, second: False}, f"positions: joint '{first}': must be numbers of double precision, found True"),
    ):
        with pytest.raises(ValueError, match=words):
            robot.positions(wrong)
    with pytest.raises(ValueError, match=r"positions: must be a mapping of joints, or an array of shape \(2,\)"):
        robot.by_name([0.1, 0.2, 0.3])


def test_random_states_are_within_the_limits():
    robot = arm()
    states = robot.random_states(200, 5)
    lower, upper = np.array(list(robot.joint_limits.values())).T
    assert states.shape == (200, 2) and ((states >= lower) & (states <= upper)).all()
    assert ((states.max(axis=0) - states.min(axis=0)) > 0.9 * (upper - lower)).all()
    np.testing.assert_array_equal(states, robot.random_states(200, np.random.default_rng(5)))
    with pytest.raises(ValueError, match="count = -1"):
        robot.random_states(-1, 5)
    endless = URDF.replace('type="revolute"', 'type="continuous"', 1)
    assert Robot.from_urdf(endless).random_states(3, 1).shape == (3, 2)
