# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""MoveIt demo of the upper body, with the distance service next to move_group.

Starts move_group, RViz with the planning panel, robot_state_publisher, and ros2_control with simulated joints. The
service receives URDF and SRDF on the topics that robot_state_publisher and move_group publish.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from moveit_configs_utils import MoveItConfigsBuilder
from moveit_configs_utils.launches import generate_demo_launch


def generate_launch_description() -> LaunchDescription:
    moveit_config = MoveItConfigsBuilder("icub_upper_body", package_name="superovoid_ros").to_moveit_configs()
    description = generate_demo_launch(moveit_config)
    description.add_action(
        DeclareLaunchArgument("distances", default_value="true", description="start the distance service too")
    )
    description.add_action(
        Node(
            package="superovoid_ros",
            executable="distance_service",
            output="screen",
            # move_group serves these names itself, and publishes its changed scene.
            remappings=[
                ("check_state_validity", "~/check_state_validity"),
                ("apply_planning_scene", "~/apply_planning_scene"),
                ("get_planning_scene", "~/get_planning_scene"),
                ("compute_fk", "~/compute_fk"),
                ("compute_ik", "~/compute_ik"),
                ("check_multi_state_validity", "~/check_multi_state_validity"),
                ("clear_octomap", "~/clear_octomap"),
                ("compute_cartesian_path", "~/compute_cartesian_path"),
                ("execute_trajectory", "~/execute_trajectory"),
                ("get_urdf", "~/get_urdf"),
                ("move_action", "~/move_action"),
                ("plan_kinematic_path", "~/plan_kinematic_path"),
                ("planning_scene", "monitored_planning_scene"),
            ],
            condition=IfCondition(LaunchConfiguration("distances")),
        )
    )
    return description
