# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Planning with certified distances: motions that are proved, a search by OMPL, grasps and paths by gradients."""

from superovoid.planning.bases import BaseJoint, with_base_joints
from superovoid.planning.first_path import FoundPath, NoPathError, find_path
from superovoid.planning.group_planner import GoalError, GroupPlanner, PlannedMotion, StartError
from superovoid.planning.inverse import (
    GoalRegion,
    NoSolutionError,
    PoseGoal,
    Search,
    Solution,
    inverse_kinematics,
    solutions,
)
from superovoid.planning.motion_check import MotionCheck, MotionValidator
from superovoid.planning.optimise import OptimisedPath, grasp, optimise_path, retreat
from superovoid.planning.problem import PlanningError, PlanningProblem
from superovoid.planning.scene_problem import SceneProblem, scene_problem
from superovoid.planning.timing import MotionLimits, Trajectory, check_trajectory, motion_limits, time_path
from superovoid.planning.trail import dense, trail
from superovoid.planning.validity import Clearances, SceneValidity, TimedValidity, Validity

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
