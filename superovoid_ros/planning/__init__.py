"""Planning with certified distances: motions that are proved, a search by OMPL, grasps and paths by gradients."""

from superovoid_ros.planning.bases import BaseJoint, with_base_joints
from superovoid_ros.planning.first_path import FoundPath, find_path
from superovoid_ros.planning.motion_check import MotionCheck, MotionValidator
from superovoid_ros.planning.optimise import OptimisedPath, grasp, optimise_path, retreat
from superovoid_ros.planning.problem import PlanningError, PlanningProblem
from superovoid_ros.planning.trail import dense, trail
from superovoid_ros.planning.validity import Clearances, SceneValidity, TimedValidity, Validity

__all__ = [
    "BaseJoint",
    "Clearances",
    "FoundPath",
    "MotionCheck",
    "MotionValidator",
    "OptimisedPath",
    "PlanningError",
    "PlanningProblem",
    "SceneValidity",
    "TimedValidity",
    "Validity",
    "dense",
    "find_path",
    "grasp",
    "optimise_path",
    "retreat",
    "trail",
    "with_base_joints",
]
