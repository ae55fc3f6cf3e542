# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The files for MoveIt users, read as MoveItConfigsBuilder reads them, and compared with URDF and SRDF.

If a file is missing or has another name, the builder guesses or warns, so the tests check names and places. If
moveit_configs_utils is installed, they also load the files with it.
"""

import ast
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml

from superovoid.robot import Robot
from superovoid_ros.resources import PACKAGE, share_directory

SHARE = share_directory()
CONFIG = SHARE / "config"
NAME = "icub_upper_body"
URDF = ElementTree.parse(SHARE / "urdf" / f"{NAME}.urdf").getroot()
SRDF = ElementTree.parse(CONFIG / f"{NAME}.srdf").getroot()
ROBOT = Robot.from_urdf(
    (SHARE / "urdf" / f"{NAME}.urdf").read_text(encoding="utf-8"),
    srdf=(CONFIG / f"{NAME}.srdf").read_text(encoding="utf-8"),
)
JOINTS = {joint.get("name"): joint for joint in URDF.findall("joint")}
CONTROLLERS = [f"{group}_controller" for group in ("torso", "left_arm", "right_arm", "left_hand", "right_hand")]
LAUNCHED = "demo move_group moveit_rviz rsp spawn_controllers static_virtual_joint_tfs warehouse_db".split()


def load(name):
    """Return the contents of a YAML file of the config folder."""
    return yaml.safe_load((CONFIG / name).read_text(encoding="utf-8"))


def find_files(pattern):
    """Return the matches of the builder's search for files of a pattern."""
    return sorted(match[1] for match in (re.search(pattern, path.name) for path in CONFIG.iterdir()) if match)


def active(group):
    """Return the independent joints of a group as MoveIt counts them, by the links of the group."""
    links = set(ROBOT.groups[group])
    return [name for name in ROBOT.joint_names if JOINTS[name].find("child").get("link") in links]


# ------------------------------------------------------------------------------------------------------- robot, SRDF


def test_file_of_the_setup_assistant_names_urdf_and_srdf():
    settings = yaml.safe_load((SHARE / ".setup_assistant").read_text(encoding="utf-8"))["moveit_setup_assistant_config"]
    assert settings["urdf"]["package"] == PACKAGE
    assert (SHARE / settings["urdf"]["relative_path"]).samefile(CONFIG / f"{NAME}.urdf.xacro")
    assert (SHARE / settings["srdf"]["relative_path"]).samefile(CONFIG / f"{NAME}.srdf")


def test_xacro_is_the_urdf_with_simulated_hardware():
    root = ElementTree.parse(CONFIG / f"{NAME}.urdf.xacro").getroot()
    xacro = "{http://www.ros.org/wiki/xacro}"
    included = [element.get("filename") for element in root.iter(f"{xacro}include")]
    assert included == [f"$(find {PACKAGE})/urdf/{NAME}.urdf", f"{NAME}.ros2_control.xacro"]
    assert (CONFIG / included[1]).is_file()
    assert root.get("name") == URDF.get("name") == SRDF.get("name") == NAME
    macro = ElementTree.parse(CONFIG / included[1]).getroot().find(f"{xacro}macro")
    call = root.find(f"{xacro}{macro.get('name')}")
    assert set(macro.get("params").split()) == set(call.attrib)
    assert (CONFIG / root.find(f"{xacro}arg").get("default")).is_file()


def test_virtual_joint_holds_the_root():
    (joint,) = SRDF.findall("virtual_joint")
    assert (joint.get("type"), joint.get("parent_frame"), joint.get("child_link")) == ("fixed", "world", ROBOT.root)


def test_every_name_in_the_srdf_exists():
    for element in SRDF.iter():
        for attribute in ("link", "link1", "link2", "base_link", "tip_link", "parent_link", "child_link"):
            if element.get(attribute):
                assert element.get(attribute) in ROBOT.links, ElementTree.tostring(element)
        if element.tag == "link":
            assert element.get("name") in ROBOT.links
        if element.tag == "joint":
            assert element.get("name") in JOINTS
        if element.get("group"):
            assert element.get("group") in ROBOT.groups


def test_no_two_groups_or_states_share_a_name():
    groups = [group.get("name") for group in SRDF.findall("group")]
    states = [(state.get("group"), state.get("name")) for state in SRDF.findall("group_state")]
    assert len(set(groups)) == len(groups) and len(set(states)) == len(states)


def test_end_effectors_are_the_hands_at_the_ends_of_the_arms():
    effectors = {effector.get("name"): effector for effector in SRDF.findall("end_effector")}
    assert set(effectors) == {"left", "right"}
    for side, effector in effectors.items():
        group, parent = effector.get("group"), effector.get("parent_group")
        assert (group, parent) == (f"{side}_hand", f"{side}_arm")
        # MoveIt refuses a parent group that shares joints with the end effector.
        assert not set(active(group)) & set(active(parent))
        assert effector.get("parent_link") == SRDF.find(f"group[@name='{parent}']/chain").get("tip_link")


# ------------------------------------------------------------------------------------------------------- joint files


def test_every_independent_joint_has_the_limits_of_the_urdf():
    limits = load("joint_limits.yaml")["joint_limits"]
    assert set(limits) == set(ROBOT.joint_names)
    for name, values in limits.items():
        urdf = JOINTS[name].find("limit")
        assert values["has_velocity_limits"] is True and values["has_acceleration_limits"] is True
        assert values["max_velocity"] == float(urdf.get("velocity"))
        assert set(values) == {"has_velocity_limits", "max_velocity", "has_acceleration_limits", "max_acceleration"}
        # ROS parameters have types: 1 is an integer, and MoveIt declares doubles.
        assert all(isinstance(values[key], float) and values[key] > 0.0 for key in ("max_velocity", "max_acceleration"))


def test_default_scalings_are_within_0_and_1():
    values = load("joint_limits.yaml")
    for name in ("default_velocity_scaling_factor", "default_acceleration_scaling_factor"):
        assert isinstance(values[name], float) and 0.0 < values[name] <= 1.0


def test_groups_with_inverse_kinematics_are_chains_of_six_joints_or_more():
    kinematics = load("kinematics.yaml")
    assert set(kinematics) == {"left_arm", "right_arm"}
    for group, values in kinematics.items():
        (part,) = SRDF.find(f"group[@name='{group}']")
        assert part.tag == "chain" and len(active(group)) >= 6
        assert values["kinematics_solver"] == "kdl_kinematics_plugin/KDLKinematicsPlugin"
        assert isinstance(values["kinematics_solver_timeout"], float)
        assert isinstance(values["kinematics_solver_search_resolution"], float)


def test_planning_groups_have_existing_planners_and_own_projections():
    assert "ompl" in find_files(r"^(.*)_planning.yaml$")
    planning = load("ompl_planning.yaml")
    planners = planning["planner_configs"]
    assert all(re.fullmatch(r"geometric::\w+", planner["type"]) for planner in planners.values())
    groups = {
        name: values for name, values in planning.items() if isinstance(values, dict) and name != "planner_configs"
    }
    assert set(groups) == {"torso", "left_arm", "right_arm", "left_hand", "right_hand", "arms", "upper_body"}
    for group, values in groups.items():
        assert values["default_planner_config"] in values["planner_configs"]
        assert set(values["planner_configs"]) <= set(planners)
        joints = re.fullmatch(r"joints\((\w+),(\w+)\)", values["projection_evaluator"]).groups()
        assert set(joints) <= set(active(group)) and len(set(joints)) == 2
        assert 0.0 < values["longest_valid_segment_fraction"] < 0.1
    assert planning["planning_plugins"] == ["ompl_interface/OMPLPlanner"]
    for adapters in ("request_adapters", "response_adapters"):
        prefix = f"default_planning_{adapters}/"
        assert planning[adapters] and all(adapter.startswith(prefix) for adapter in planning[adapters])


def test_builder_chooses_the_controllers_of_moveit():
    # Of several files it takes moveit_controllers.yaml; without this file it would guess.
    assert find_files(r"^(.*)_controllers.yaml$") == ["moveit", "ros2"]


def test_controllers_split_the_joints_and_both_files_agree():
    execution, ros2 = load("moveit_controllers.yaml"), load("ros2_controllers.yaml")
    manager = execution["moveit_simple_controller_manager"]
    assert execution["moveit_controller_manager"].startswith("moveit_simple_controller_manager/")
    assert manager["controller_names"] == CONTROLLERS
    assert set(manager) == {"controller_names", *CONTROLLERS}
    declared = ros2["controller_manager"]["ros__parameters"]
    assert {name for name, values in declared.items() if isinstance(values, dict)} == {
        *CONTROLLERS,
        "joint_state_broadcaster",
    }
    shared = []
    for name in CONTROLLERS:
        assert manager[name]["type"] == "FollowJointTrajectory" and manager[name]["default"] is True
        assert manager[name]["action_ns"] == "follow_joint_trajectory"
        assert declared[name]["type"] == "joint_trajectory_controller/JointTrajectoryController"
        values = ros2[name]["ros__parameters"]
        assert values["joints"] == manager[name]["joints"] == active(name.removesuffix("_controller"))
        assert values["command_interfaces"] == ["position"]
        shared += values["joints"]
    assert sorted(shared) == sorted(ROBOT.joint_names)


def test_simulated_hardware_has_valid_initial_positions_of_all_joints():
    text = (CONFIG / f"{NAME}.ros2_control.xacro").read_text(encoding="utf-8")
    (system,) = ElementTree.fromstring(text).iter("ros2_control")
    joints = {joint.get("name"): joint for joint in system.findall("joint")}
    assert set(joints) == set(ROBOT.joint_names)
    initial = load("initial_positions.yaml")["initial_positions"]
    assert set(initial) == set(joints)
    for name, joint in joints.items():
        assert [element.get("name") for element in joint.findall("command_interface")] == ["position"]
        assert {element.get("name") for element in joint.findall("state_interface")} >= {"position"}
        assert joint.find("state_interface/param").text == f"${{initial_positions['{name}']}}"
        lower, upper = ROBOT.joint_limits[name]
        assert isinstance(initial[name], float) and lower <= initial[name] <= upper


def test_initial_positions_have_no_overlaps():
    scene = ROBOT.scene()
    scene.set_link_poses(ROBOT.forward_kinematics(load("initial_positions.yaml")["initial_positions"]))
    assert scene.query(overlapping_only=True).statistics.intersecting == 0


def test_the_list_of_sensors_is_empty():
    # The builder reads sensors[0] of a non-empty list.
    assert load("sensors_3d.yaml") == {"sensors": []}


def test_cartesian_limits_are_complete_numbers():
    limits = load("pilz_cartesian_limits.yaml")["cartesian_limits"]
    assert set(limits) == {"max_trans_vel", "max_trans_acc", "max_trans_dec", "max_rot_vel"}
    assert all(isinstance(value, float) for value in limits.values())
    assert limits["max_trans_dec"] < 0.0 < min(limits["max_trans_vel"], limits["max_trans_acc"], limits["max_rot_vel"])


# ------------------------------------------------------------------------------------------------------ RViz, launch


def test_rviz_shows_the_planning_frame_and_an_existing_group():
    manager = yaml.safe_load((CONFIG / "moveit.rviz").read_text(encoding="utf-8"))["Visualization Manager"]
    assert manager["Global Options"]["Fixed Frame"] == SRDF.find("virtual_joint").get("parent_frame")
    (planning,) = (d for d in manager["Displays"] if d["Class"] == "moveit_rviz_plugin/MotionPlanning")
    assert planning["Planning Request"]["Planning Group"] in ROBOT.groups
    assert planning["Robot Description"] == "robot_description"


@pytest.mark.parametrize("name", LAUNCHED)
def test_launch_files_have_the_names_in_the_demo(name):
    text = (SHARE / "launch" / f"{name}.launch.py").read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert "generate_launch_description" in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert f'MoveItConfigsBuilder("{NAME}", package_name="{PACKAGE}")' in text


@pytest.fixture(scope="module")
def built_configuration():
    """Return the real builder's result for the installed package."""
    utils = pytest.importorskip("moveit_configs_utils", reason="MoveIt is not installed")
    return utils.MoveItConfigsBuilder(NAME, package_name=PACKAGE).to_moveit_configs()


def test_the_real_builder_loads_everything(built_configuration):
    parameters = built_configuration.to_dict()
    urdf, srdf = parameters["robot_description"], parameters["robot_description_semantic"]
    robot = Robot.from_urdf(urdf, srdf=srdf)
    assert (robot.joint_names, robot.groups) == (ROBOT.joint_names, ROBOT.groups)
    assert [body.name for body in robot.bodies] == [body.name for body in ROBOT.bodies]
    assert len(list(ElementTree.fromstring(urdf).iter("ros2_control"))) == 1
    assert parameters["robot_description_kinematics"] == load("kinematics.yaml")
    assert parameters["robot_description_planning"]["joint_limits"] == load("joint_limits.yaml")["joint_limits"]
    assert parameters["default_planning_pipeline"] == "ompl"
    assert parameters["ompl"] == load("ompl_planning.yaml")
    assert parameters["moveit_simple_controller_manager"]["controller_names"] == CONTROLLERS
    assert built_configuration.sensors_3d == {}


@pytest.mark.parametrize("name", LAUNCHED)
def test_launch_file_makes_a_description(built_configuration, name):
    scope = {}
    path = Path(SHARE / "launch" / f"{name}.launch.py")
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
    assert scope["generate_launch_description"]().entities
