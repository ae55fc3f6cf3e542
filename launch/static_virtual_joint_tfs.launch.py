# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Publish the transform of the SRDF's virtual joint, from world to base_link."""

from launch import LaunchDescription
from moveit_configs_utils import MoveItConfigsBuilder
from moveit_configs_utils.launches import generate_static_virtual_joint_tfs_launch


def generate_launch_description() -> LaunchDescription:
    moveit_config = MoveItConfigsBuilder("icub_upper_body", package_name="superovoid_ros").to_moveit_configs()
    return generate_static_virtual_joint_tfs_launch(moveit_config)
