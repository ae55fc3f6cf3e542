# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""URDF and SRDF in; bodies on links, allowed pairs, forward kinematics and Jacobians out. No ROS messages."""

from superovoid.robot.errors import RobotDescriptionError
from superovoid.robot.groups import Group
from superovoid.robot.limits import LimitError, Limits
from superovoid.robot.mesh_files import MESHES
from superovoid.robot.octomap import Octree
from superovoid.robot.planning_scene import OCTOMAP, Edit, Misfit, Padding, PlanningScene, SceneObject, query_parts
from superovoid.robot.robot import DistanceGradients, Robot
from superovoid.robot.rules import AllowedCollisionMatrix, CollisionRules
from superovoid.robot.scene_objects import Doubt
from superovoid.robot.srdf import VirtualJoint
from superovoid.robot.urdf import REPRESENTATIONS, Joint, Mimic

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
