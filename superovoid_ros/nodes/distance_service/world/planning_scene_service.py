# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Response of the service `get_planning_scene`: same name, type and meaning as move_group's.

If a client sends the response back, as a whole scene or as a difference, nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

import numpy as np
from builtin_interfaces.msg import Time
from moveit_msgs.msg import (
    AttachedCollisionObject,
    CollisionObject,
    LinkPadding,
    LinkScale,
    PlanningScene,
    PlanningSceneComponents,
    RobotState,
)
from octomap_msgs.msg import Octomap, OctomapWithPose
from std_msgs.msg import Header

from superovoid.robot import Robot
from superovoid.robot.kinematics import OUTSIDE
from superovoid.robot.planning_scene import OCTOMAP, SceneObject
from superovoid.robot.planning_scene import PlanningScene as Planning
from superovoid_ros.nodes.common.conversions import to_pose, to_transform
from superovoid_ros.nodes.common.mistakes import InputError
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world.current_model import FROM_MOVEIT
from superovoid_ros.nodes.distance_service.world.model import Model
from superovoid_ros.nodes.distance_service.world.objects import message_of_matrix, message_of_shapes


def scene_message(model: Model, components: int, measurements: Measurements, stamp: Time) -> PlanningScene:
    """Return robot, objects and rules as a planning scene of MoveIt; joints that are not measured are left out.

    Superovoids of ~/apply_objects are left out: MoveIt has no message for them, and a client that sends them back as
    meshes would replace them.

    Parameters
    ----------
    model
        The robot with objects and rules.
    components
        Sum of the constants of PlanningSceneComponents; 0: all.
    measurements
        The measured state.
    stamp
        Present time.
    """
    planning, robot, part = model.planning, model.robot, PlanningSceneComponents
    message, links = PlanningScene(), list(dict.fromkeys(body.link for body in robot.bodies))

    def is_wanted(*several: int) -> bool:
        return not components or any(components & component for component in several)

    def header(link: str) -> Header:
        return Header(frame_id=measurements.frame_of(robot, link))

    # An object without its requested pose has no shapes.
    missing = [
        (problem.link, CollisionObject(id=problem.name, header=header(problem.link or robot.root)))
        for problem in planning.problems.values()
    ]
    root = header(robot.root)
    if is_wanted(part.SCENE_SETTINGS):
        message.robot_model_name = robot.name
    if is_wanted(part.TRANSFORMS):
        # The root link's own frame, as from move_group, and the frames of the SRDF's fixed virtual joints.
        fixed = [frame for frame, link in robot.fixed_frames.items() if link == robot.root]
        message.fixed_frame_transforms = [
            to_transform(root.frame_id, frame, np.eye(4), stamp) for frame in (root.frame_id, *fixed)
        ]
    if is_wanted(part.ROBOT_STATE, part.ROBOT_STATE_ATTACHED_OBJECTS):
        # As in move_group, attached objects are part of the robot's state.
        message.robot_state = _measured_state(robot, measurements, Header(frame_id=root.frame_id, stamp=stamp))
        message.robot_state.is_diff = not is_wanted(part.ROBOT_STATE_ATTACHED_OBJECTS)
    if is_wanted(part.ROBOT_STATE_ATTACHED_OBJECTS):
        message.robot_state.attached_collision_objects = attached_messages(planning, header) + [
            AttachedCollisionObject(link_name=link, object=thing) for link, thing in missing if link is not None
        ]
    if is_wanted(part.ALLOWED_COLLISION_MATRIX):
        message.allowed_collision_matrix = message_of_matrix(planning.rules.as_matrix())
    if is_wanted(part.LINK_PADDING_AND_SCALING):
        paddings = dict.fromkeys(links, planning.padding.default) | dict(planning.padding.by_name)
        message.link_padding = [LinkPadding(link_name=name, padding=value) for name, value in paddings.items()]
        message.link_scale = [LinkScale(link_name=name, scale=1.0) for name in links]
    if is_wanted(part.WORLD_OBJECT_GEOMETRY, part.WORLD_OBJECT_NAMES):
        has_shapes = is_wanted(part.WORLD_OBJECT_GEOMETRY)
        message.world.collision_objects = [
            _object_message(thing, root) if has_shapes else CollisionObject(id=thing.name)
            for thing in _moveit_objects(planning, attached=False)
        ] + [thing for link, thing in missing if link is None]
    octomap = planning.objects.get(OCTOMAP)
    if is_wanted(part.OCTOMAP) and octomap is not None:
        message.world.octomap = _octomap_message(octomap, root)
    return message


def _measured_state(robot: Robot, measurements: Measurements, header: Header) -> RobotState:
    positions, base_poses = {}, {}
    for found, names, measure in (
        (positions, robot.joint_names, lambda name: measurements.positions(robot, [name])[0][name]),
        (base_poses, robot.base_links, lambda link: measurements.base_pose(robot, link).target_from_source),
    ):
        for name in names:
            with suppress(InputError):
                found[name] = measure(name)
    return joints_message(robot, positions, base_poses, header)


def joints_message(
    robot: Robot, positions: Mapping[str, float], base_poses: Mapping[str, np.ndarray], header: Header
) -> RobotState:
    """Return the positions of all joints, mimic joints included, and the places of links on floating and planar joints.

    Parameters
    ----------
    robot, positions
        Joints without a position are left out.
    base_poses
        Poses of links in the parent links of their joints, shape (4, 4); others are left out.
    header
        Of both parts.
    """
    message = RobotState()
    message.joint_state.header = message.multi_dof_joint_state.header = header
    for name, joint in robot.joints.items():
        value = None if joint.kind == "fixed" else robot.position_of(name, positions)
        if value is not None:
            message.joint_state.name.append(name)
            message.joint_state.position.append(float(value))
        if joint.kind in OUTSIDE and joint.parent in (robot.root, robot.root_link):
            if joint.child in base_poses:
                pose = np.linalg.inv(joint.parent_from_joint) @ base_poses[joint.child]
                message.multi_dof_joint_state.joint_names.append(name)
                message.multi_dof_joint_state.transforms.append(to_transform("", "", pose, header.stamp).transform)
    return message


def attached_messages(planning: Planning, header_of: Callable[[str], Header]) -> list[AttachedCollisionObject]:
    """Return the attached objects from MoveIt's messages, each in the frame of its link."""
    return [
        AttachedCollisionObject(
            link_name=thing.link,
            object=_object_message(thing, header_of(thing.link)),
            touch_links=sorted(thing.touch_links),
        )
        for thing in _moveit_objects(planning, attached=True)
    ]


def _octomap_message(thing: SceneObject, header: Header) -> OctomapWithPose:
    octree = thing.octree
    octomap = Octomap(header=header, id="OcTree", binary=octree.binary, resolution=octree.resolution)
    octomap.data.frombytes(octree.data)
    return OctomapWithPose(header=header, origin=to_pose(thing.pose), octomap=octomap)


def _object_message(thing: SceneObject, header: Header) -> CollisionObject:
    message = message_of_shapes(thing.shapes, thing.object_from_shape, f"object '{thing.name}'")
    message.id, message.header, message.pose = thing.name, header, to_pose(thing.pose)
    message.subframe_names = list(thing.subframes)
    message.subframe_poses = [to_pose(pose) for pose in thing.subframes.values()]
    return message


def _moveit_objects(planning: Planning, *, attached: bool) -> list[SceneObject]:
    """Return the objects from MoveIt's messages, except the octomap."""
    return [
        thing
        for thing in planning.objects.values()
        if thing.source == FROM_MOVEIT and (thing.link is not None) == attached
    ]
