# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Planning with certified distances: motions that are proved, a search by OMPL, grasps and paths by gradients."""

from superovoid_ros.planning.bases import BaseJoint, with_base_joints
from superovoid_ros.planning.first_path import FoundPath, NoPathError, find_path
from superovoid_ros.planning.group_planner import GoalError, GroupPlanner, PlannedMotion, StartError
from superovoid_ros.planning.inverse import (
    GoalRegion,
    NoSolutionError,
    PoseGoal,
    Search,
    Solution,
    inverse_kinematics,
    solutions,
)
from superovoid_ros.planning.motion_check import MotionCheck, MotionValidator
from superovoid_ros.planning.optimise import OptimisedPath, grasp, optimise_path, retreat
from superovoid_ros.planning.problem import PlanningError, PlanningProblem
from superovoid_ros.planning.scene_problem import SceneProblem, scene_problem
from superovoid_ros.planning.timing import MotionLimits, Trajectory, check_trajectory, motion_limits, time_path
from superovoid_ros.planning.trail import dense, trail
from superovoid_ros.planning.validity import Clearances, SceneValidity, TimedValidity, Validity

__all__ = [
    "BaseJoint",
    "Clearances",
    "FoundPath",
    "GoalError",
    "GoalRegion",
    "GroupPlanner",
    "MotionCheck",
    "MotionLimits",
    "MotionValidator",
    "NoPathError",
    "NoSolutionError",
    "OptimisedPath",
    "PlannedMotion",
    "PlanningError",
    "PlanningProblem",
    "PoseGoal",
    "SceneProblem",
    "SceneValidity",
    "Search",
    "Solution",
    "StartError",
    "TimedValidity",
    "Trajectory",
    "Validity",
    "check_trajectory",
    "dense",
    "find_path",
    "grasp",
    "inverse_kinematics",
    "motion_limits",
    "optimise_path",
    "retreat",
    "scene_problem",
    "solutions",
    "time_path",
    "trail",
    "with_base_joints",
]
