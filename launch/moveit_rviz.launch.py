# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Start RViz with MoveIt's planning panel."""

from launch import LaunchDescription
from moveit_configs_utils import MoveItConfigsBuilder
from moveit_configs_utils.launches import generate_moveit_rviz_launch


def generate_launch_description() -> LaunchDescription:
    moveit_config = MoveItConfigsBuilder("icub_upper_body", package_name="superovoid_ros").to_moveit_configs()
    return generate_moveit_rviz_launch(moveit_config)
