# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Robots from URDF and SRDF: bodies on links, allowed pairs, forward kinematics and Jacobians. No ROS messages."""

from superovoid.robot.errors import RobotDescriptionError
from superovoid.robot.limits import LimitError, Limits
from superovoid.robot.octomap import Octree
from superovoid.robot.planning_scene import Edit, Padding, PlanningScene
from superovoid.robot.robot import DistanceGradients, Robot
from superovoid.robot.rules import AllowedCollisionMatrix

__all__ = [
    "AllowedCollisionMatrix",
    "DistanceGradients",
    "Edit",
    "LimitError",
    "Limits",
    "Octree",
    "Padding",
    "PlanningScene",
    "Robot",
    "RobotDescriptionError",
]
