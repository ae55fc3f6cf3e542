# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The files of MoveIt and ros2_control that list the joints of a robot.

Named and laid out as MoveIt's Setup Assistant writes them, so that ``MoveItConfigsBuilder`` finds them by
default: ``joint_limits.yaml``, ``kinematics.yaml``, ``ompl_planning.yaml``, ``moveit_controllers.yaml``,
``ros2_controllers.yaml``, ``initial_positions.yaml``, ``<robot>.ros2_control.xacro``.  Files without joints
(``sensors_3d.yaml``, ``pilz_cartesian_limits.yaml``, ``.setup_assistant``, ``<robot>.urdf.xacro``) are written by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from superovoid.robot.urdf import Description, Joint

Names = Mapping[str, Sequence[str]]
States = Mapping[str, Mapping[str, Mapping[str, float]]]

CONTROLLED = ("torso", "left_arm", "right_arm", "left_hand", "right_hand")
"""Groups that share out the joints: each has a controller."""
SOLVED = ("left_arm", "right_arm")
"""Groups of one chain with as many joints as a pose needs: they have an inverse kinematics solver."""
PLANNED = (*CONTROLLED, "arms", "upper_body")
INITIAL = {"torso": "home", "left_arm": "sweep_first", "right_arm": "sweep_first", "left_hand": "sweep"} | {
    "right_hand": "sweep"
}
"""Where the simulated robot of the demo begins: before the grasp, hands apart."""

_PLANNERS = {
    # The two that find, the three that improve; figures are OMPL's own defaults where 0.0 stands.
    "RRTConnectkConfigDefault": {"type": "geometric::RRTConnect", "range": 0.0},
    "RRTkConfigDefault": {"type": "geometric::RRT", "range": 0.0, "goal_bias": 0.05},
    "RRTstarkConfigDefault": {
        "type": "geometric::RRTstar",
        "range": 0.0,
        "goal_bias": 0.05,
        "delay_collision_checking": 1,
    },
    "PRMstarkConfigDefault": {"type": "geometric::PRMstar"},
    "BiTRRTkConfigDefault": {"type": "geometric::BiTRRT", "range": 0.0},
}


def moveit_files(
    description: Description, groups: Names, states: States, limits: Mapping[str, float]
) -> dict[str, str]:
    """Return the texts of the files, by name.

    Parameters
    ----------
    description : Description
        The robot.
    groups : mapping of str to sequence of str
        The SRDF's groups, as links.
    states : mapping
        Group -> name of a state -> positions of joints, rad.
    limits : mapping of str to float
        ``velocity`` (rad/s) and ``acceleration`` (rad/s^2) of the joints of torso and arms, ``hand_velocity`` and
        ``hand_acceleration`` of those of the hands.
    """
    joints = {group: _moving(description, groups[group]) for group in PLANNED}
    note = "# Written by superovoid_ros.icub.upper_body from the figures in config/; not edited by hand.\n"
    texts = {
        "joint_limits.yaml": _joint_limits(joints, limits),
        "kinematics.yaml": _kinematics(),
        "ompl_planning.yaml": _ompl_planning(joints),
        "moveit_controllers.yaml": _moveit_controllers(joints),
        "ros2_controllers.yaml": _ros2_controllers(joints),
        "initial_positions.yaml": _initial_positions(states),
    }
    files = {name: note + text for name, text in texts.items()}
    files[f"{description.name}.ros2_control.xacro"] = _ros2_control(description.name, joints)
    return files


def _moving(description: Description, links: Sequence[str]) -> list[Joint]:
    """The independent moving joints of a group: those that hold one of its links."""
    return [
        joint
        for joint in description.joints
        if joint.child in links and joint.kind in ("revolute", "continuous", "prismatic") and joint.mimic is None
    ]


def _lines(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"


def _joint_limits(joints: Mapping[str, Sequence[Joint]], limits: Mapping[str, float]) -> str:
    lines = [
        "# Additional limits. Positions and velocities are those of the URDF; accelerations, which MoveIt needs",
        "# to time a path, are ours. Velocities and accelerations are numbers with a point: MoveIt takes no integers.",
        "default_velocity_scaling_factor: 0.5",
        "default_acceleration_scaling_factor: 0.5",
        "joint_limits:",
    ]
    for group in CONTROLLED:
        part = "hand_" if group.endswith("hand") else ""
        velocity, acceleration = (float(limits[part + name]) for name in ("velocity", "acceleration"))
        for joint in joints[group]:
            lines += [
                f"  {joint.name}:",
                "    has_velocity_limits: true",
                f"    max_velocity: {velocity!r}",
                "    has_acceleration_limits: true",
                f"    max_acceleration: {acceleration!r}",
            ]
    return _lines(lines)


def _kinematics() -> str:
    lines = ["# The hands' joints bend fingers and bring no link to a pose, the torso has three: these have no solver."]
    for group in SOLVED:
        lines += [
            f"{group}:",
            "  kinematics_solver: kdl_kinematics_plugin/KDLKinematicsPlugin",
            "  kinematics_solver_search_resolution: 0.005",
            "  kinematics_solver_timeout: 0.05",
        ]
    return _lines(lines)


def _ompl_planning(joints: Mapping[str, Sequence[Joint]]) -> str:
    lines = [
        "planning_plugins:",
        "  - ompl_interface/OMPLPlanner",
        "request_adapters:",
        "  - default_planning_request_adapters/ResolveConstraintFrames",
        "  - default_planning_request_adapters/ValidateWorkspaceBounds",
        "  - default_planning_request_adapters/CheckStartStateBounds",
        "  - default_planning_request_adapters/CheckStartStateCollision",
        "response_adapters:",
        "  - default_planning_response_adapters/AddTimeOptimalParameterization",
        "  - default_planning_response_adapters/ValidateSolution",
        "  - default_planning_response_adapters/DisplayMotionPath",
        "# Named here, so that the names below mean the same whichever release of MoveIt reads them.",
        "planner_configs:",
    ]
    for name, values in _PLANNERS.items():
        lines += [f"  {name}:", *(f"    {key}: {value}" for key, value in values.items())]
    for group in PLANNED:
        first, second = (joint.name for joint in joints[group][:2])
        lines += [
            f"{group}:",
            "  default_planner_config: RRTConnectkConfigDefault",
            "  planner_configs:",
            *(f"    - {name}" for name in _PLANNERS),
            f"  projection_evaluator: joints({first},{second})",
            # Fingers are 14 mm thick and half a metre from the shoulder.
            "  longest_valid_segment_fraction: 0.005",
        ]
    return _lines(lines)


def _moveit_controllers(joints: Mapping[str, Sequence[Joint]]) -> str:
    lines = [
        "trajectory_execution:",
        "  allowed_execution_duration_scaling: 1.2",
        "  allowed_goal_duration_margin: 0.5",
        "  allowed_start_tolerance: 0.01",
        "  execution_duration_monitoring: true",
        "moveit_controller_manager: moveit_simple_controller_manager/MoveItSimpleControllerManager",
        "moveit_simple_controller_manager:",
        "  controller_names:",
        *(f"    - {group}_controller" for group in CONTROLLED),
    ]
    for group in CONTROLLED:
        lines += [
            f"  {group}_controller:",
            "    type: FollowJointTrajectory",
            "    action_ns: follow_joint_trajectory",
            "    default: true",
            "    joints:",
            *(f"      - {joint.name}" for joint in joints[group]),
        ]
    return _lines(lines)


def _ros2_controllers(joints: Mapping[str, Sequence[Joint]]) -> str:
    lines = ["controller_manager:", "  ros__parameters:", "    update_rate: 100  # Hz"]
    for group in CONTROLLED:
        lines += [f"    {group}_controller:", "      type: joint_trajectory_controller/JointTrajectoryController"]
    lines += ["    joint_state_broadcaster:", "      type: joint_state_broadcaster/JointStateBroadcaster"]
    for group in CONTROLLED:
        lines += [
            f"{group}_controller:",
            "  ros__parameters:",
            "    joints:",
            *(f"      - {joint.name}" for joint in joints[group]),
            "    command_interfaces:",
            "      - position",
            "    state_interfaces:",
            "      - position",
            "      - velocity",
            "    allow_nonzero_velocity_at_trajectory_end: true",
        ]
    return _lines(lines)


def _initial_positions(states: States) -> str:
    lines = ["# Where the demo's simulated robot begins: the first frame of the grasp sweep.", "initial_positions:"]
    for group, state in INITIAL.items():
        lines += [f"  {joint}: {round(value, 6)!r}" for joint, value in states[group][state].items()]
    return _lines(lines)


def _ros2_control(name: str, joints: Mapping[str, Sequence[Joint]]) -> str:
    lines = [
        '<?xml version="1.0"?>',
        "<!-- Written by superovoid_ros.icub.upper_body from the figures in config/; not edited by hand. The joints",
        "     that mimic others follow by the URDF. -->",
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro">',
        f'  <xacro:macro name="{name}_ros2_control" params="name initial_positions_file">',
        '    <xacro:property name="initial_positions" value="${xacro.load_yaml(initial_positions_file)'
        "['initial_positions']}\"/>",
        '    <ros2_control name="${name}" type="system">',
        "      <hardware>",
        "        <!-- A simulated system that follows its commands. A real iCub needs its own here. -->",
        "        <plugin>mock_components/GenericSystem</plugin>",
        "      </hardware>",
    ]
    for group in CONTROLLED:
        for joint in joints[group]:
            lines += [
                f'      <joint name="{joint.name}">',
                '        <command_interface name="position"/>',
                '        <state_interface name="position">',
                f"          <param name=\"initial_value\">${{initial_positions['{joint.name}']}}</param>",
                "        </state_interface>",
                '        <state_interface name="velocity">',
                '          <param name="initial_value">0.0</param>',
                "        </state_interface>",
                "      </joint>",
            ]
    lines += ["    </ros2_control>", "  </xacro:macro>", "</robot>"]
    return _lines(lines)
