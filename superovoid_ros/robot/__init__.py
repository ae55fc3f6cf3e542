"""URDF and SRDF in; bodies on links, allowed pairs, forward kinematics and Jacobians out. No ROS messages."""

from superovoid_ros.robot.errors import RobotDescriptionError
from superovoid_ros.robot.mesh_files import MESHES
from superovoid_ros.robot.robot import DistanceGradients, Robot
from superovoid_ros.robot.urdf import REPRESENTATIONS, Mimic

__all__ = ["MESHES", "REPRESENTATIONS", "DistanceGradients", "Mimic", "Robot", "RobotDescriptionError"]
