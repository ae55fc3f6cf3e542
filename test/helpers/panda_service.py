# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The service with a Panda robot, and messages for tests of plans, motions and inverse kinematics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import panda
from geometry_msgs.msg import PoseStamped
from moveit_msgs.msg import (
    AttachedCollisionObject,
    CollisionObject,
    Constraints,
    JointConstraint,
    MotionPlanRequest,
    MoveItErrorCodes,
    PositionConstraint,
    PositionIKRequest,
    RobotState,
)
from moveit_msgs.srv import GetMotionPlan, GetPositionFK, GetPositionIK
from sensor_msgs.msg import JointState
from shape_msgs.msg import Mesh, SolidPrimitive

from superovoid_ros.nodes.common.conversions import from_pose, to_pose

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


def put(client: object, values: Sequence[float]) -> None:
    """Publish a measured state of the arm until the service answers from it."""
    state, publisher = panda.state_of(values), client.publisher(JointState, "/joint_states")
    wanted = ROBOT.forward_kinematics(state)[TIP]

    def is_there(response: GetPositionFK.Response) -> bool:
        publisher.publish(joint_state(state))
        is_known = response.error_code.val == MoveItErrorCodes.SUCCESS
        return is_known and np.allclose(from_pose(response.pose_stamped[0].pose, ""), wanted, atol=1e-9)

    client.call_until(is_there, GetPositionFK, "/compute_fk", fk_link_names=[TIP], robot_state=RobotState(is_diff=True))


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


def region(link: str, frame: str, pose: np.ndarray, shape: Mesh | Sequence[float]) -> PositionConstraint:
    """Return the constraint of a link to a mesh, a ball (radius) or a box (lengths)."""
    found = PositionConstraint(link_name=link, weight=1.0)
    found.header.frame_id = frame
    volume = found.constraint_region
    if isinstance(shape, Mesh):
        volume.meshes, volume.mesh_poses = [shape], [to_pose(pose)]
    else:
        kind = SolidPrimitive.SPHERE if len(shape) == 1 else SolidPrimitive.BOX
        volume.primitives, volume.primitive_poses = [SolidPrimitive(type=kind, dimensions=shape)], [to_pose(pose)]
    return found


def plan(client: object, *goals: Constraints, begin: Callable | None = None, **fields: object) -> object:
    """Return the response to a plan's request, by default for the Panda's arm; or what `begin` returns for it."""
    seconds = fields.pop("seconds", 20.0)
    fields = {"group_name": "panda_arm", "start_state": RobotState(is_diff=True), **fields}
    request = MotionPlanRequest(goal_constraints=goals, allowed_planning_time=seconds, **fields)
    if begin is not None:
        return begin(client, "plan", GetMotionPlan, "/plan_kinematic_path", motion_plan_request=request)
    return client.call(GetMotionPlan, "/plan_kinematic_path", motion_plan_request=request).motion_plan_response


def inverse(
    client: object, pose: np.ndarray, frame: str = ROOT, begin: Callable | None = None, **fields: object
) -> object:
    """Return the response to a request for inverse kinematics; or what `begin` returns for it."""
    wanted = PositionIKRequest(group_name="panda_arm", avoid_collisions=True, robot_state=RobotState(is_diff=True))
    wanted.pose_stamped = PoseStamped(pose=to_pose(pose))
    wanted.pose_stamped.header.frame_id = frame
    wanted.timeout.sec = 60
    for name, value in fields.items():
        setattr(wanted, name, value)
    if begin is not None:
        return begin(client, "inverse", GetPositionIK, "/compute_ik", ik_request=wanted)
    return client.call(GetPositionIK, "/compute_ik", ik_request=wanted)


def attached(thing: CollisionObject, *touch_links: str) -> AttachedCollisionObject:
    """Return an object as attached to the link of its frame."""
    return AttachedCollisionObject(link_name=thing.header.frame_id, object=thing, touch_links=list(touch_links))


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
