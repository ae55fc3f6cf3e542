# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The service with a Panda robot, and messages for tests of plans, motions and inverse kinematics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import panda
from moveit_msgs.msg import CollisionObject, Constraints, JointConstraint, PlanningScene
from moveit_msgs.srv import ApplyPlanningScene
from sensor_msgs.msg import JointState
from shape_msgs.msg import SolidPrimitive

from superovoid_ros.nodes.common.conversions import to_pose

ROBOT = panda.robot()
TIP, ROOT = "panda_link8", "panda_link0"
LEFT, RIGHT = ((sign * 0.7, 0.3, 0.0, -1.9, 0.0, 2.2, 0.8) for sign in (1, -1))


def start(serve: Callable, *program: str, **parameters: object) -> object:
    """Start the service with the Panda, and return it once it has read the robot."""
    descriptions = {"robot_description": panda.urdf(), "robot_description_semantic": panda.srdf()}
    return serve(*program, rate=0.0, **descriptions, **parameters)


def tip(values: Sequence[float]) -> np.ndarray:
    """Return the pose root_from_tip, shape (4, 4), m."""
    return ROBOT.forward_kinematics(panda.state_of(values))[TIP]


def joint_state(positions: dict[str, float]) -> JointState:
    """Return a message with positions by name."""
    return JointState(name=list(positions), position=list(map(float, positions.values())))


def joint_range(name: str, position: float, tolerance: float) -> JointConstraint:
    """Return a constraint of a joint."""
    return JointConstraint(
        joint_name=name, position=float(position), tolerance_above=tolerance, tolerance_below=tolerance, weight=1.0
    )


def joint_goal(values: Iterable[float], tolerance: float = 1e-4, names: Iterable[str] = panda.ARM) -> Constraints:
    """Return a joint goal, by default for the arm's joints."""
    ranges = [joint_range(name, value, tolerance) for name, value in zip(names, values, strict=True)]
    return Constraints(joint_constraints=ranges)


def solid(
    name: str, pose: np.ndarray, dimensions: Sequence[float], kind: int = SolidPrimitive.BOX, frame: str = ROOT
) -> CollisionObject:
    """Return an object of one primitive."""
    thing = CollisionObject(id=name, operation=CollisionObject.ADD, pose=to_pose(pose))
    thing.header.frame_id = frame
    thing.primitives = [SolidPrimitive(type=kind, dimensions=list(map(float, dimensions)))]
    return thing


def block(name: str, body: object) -> CollisionObject:
    """Return a box of the library as an object."""
    return solid(name, body.link_from_body, body.shape.lengths)


def apply(client: object, *objects: CollisionObject, whole: bool = False) -> None:
    """Add objects to the scene; if `whole`, they replace all others."""
    scene = PlanningScene(is_diff=not whole)
    scene.world.collision_objects = list(objects)
    assert client.call(ApplyPlanningScene, "/apply_planning_scene", scene=scene).success
