# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Planning with certified distances: proved motions, a search by OMPL, grasps and paths from gradients."""

from superovoid.planning.bases import BaseJoint, with_base_joints
from superovoid.planning.first_path import find_path
from superovoid.planning.goals import GoalRegion, PoseGoal, PoseRegion
from superovoid.planning.group_planner import GroupPlanner
from superovoid.planning.inverse import Search, inverse_kinematics
from superovoid.planning.motion_check import MotionValidator
from superovoid.planning.optimise import grasp, optimise_path, retreat
from superovoid.planning.problem import PlanningError, PlanningProblem
from superovoid.planning.straight_path import JumpLimits, straight_path
from superovoid.planning.timing import motion_limits
from superovoid.planning.validity import SceneValidity, Validity

__all__ = [
    "BaseJoint",
    "GoalRegion",
    "GroupPlanner",
    "JumpLimits",
    "MotionValidator",
    "PlanningError",
    "PlanningProblem",
    "PoseGoal",
    "PoseRegion",
    "SceneValidity",
    "Search",
    "Validity",
    "find_path",
    "grasp",
    "inverse_kinematics",
    "motion_limits",
    "optimise_path",
    "retreat",
    "straight_path",
    "with_base_joints",
]
