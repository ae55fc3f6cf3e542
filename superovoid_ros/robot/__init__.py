# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""URDF and SRDF in; bodies on links, allowed pairs, forward kinematics and Jacobians out. No ROS messages."""

from superovoid_ros.robot.errors import RobotDescriptionError
from superovoid_ros.robot.groups import Group
from superovoid_ros.robot.limits import LimitError, Limits
from superovoid_ros.robot.mesh_files import MESHES
from superovoid_ros.robot.octomap import Octree
from superovoid_ros.robot.planning_scene import OCTOMAP, Edit, Misfit, Padding, PlanningScene, SceneObject, query_parts
from superovoid_ros.robot.robot import DistanceGradients, Robot
from superovoid_ros.robot.rules import AllowedCollisionMatrix, CollisionRules
from superovoid_ros.robot.scene_objects import Doubt
from superovoid_ros.robot.srdf import VirtualJoint
from superovoid_ros.robot.urdf import REPRESENTATIONS, Joint, Mimic

__all__ = [
    "MESHES",
    "OCTOMAP",
    "REPRESENTATIONS",
    "AllowedCollisionMatrix",
    "CollisionRules",
    "DistanceGradients",
    "Doubt",
    "Edit",
    "Group",
    "Joint",
    "LimitError",
    "Limits",
    "Mimic",
    "Misfit",
    "Octree",
    "Padding",
    "PlanningScene",
    "Robot",
    "RobotDescriptionError",
    "SceneObject",
    "VirtualJoint",
    "query_parts",
]
