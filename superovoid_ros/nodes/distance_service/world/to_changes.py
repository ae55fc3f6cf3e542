# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""From MoveIt's messages to changes of objects and rules (`changes.py`).

What is wrong with a message by itself is said here; what is wrong with it for this robot and these objects, there.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np
from geometry_msgs.msg import Pose
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, PlanningScene, PlanningSceneWorld, RobotState

from superovoid.robot.limits import MAXIMUM_NAME, Limits
from superovoid.robot.planning_scene import OCTOMAP
from superovoid.robot.scene_objects import MORE, Problem, ProblemKind
from superovoid_ros.nodes.common.conversions import from_pose, from_transform
from superovoid_ros.nodes.common.mistakes import InputError, refusals, shortened
from superovoid_ros.nodes.distance_service.world.changes import (
    FROM_MOVEIT,
    SCENE,
    AttachedChange,
    AttachedChanges,
    Brought,
    ObjectChange,
    OctomapChange,
    Operation,
    SceneChange,
)
from superovoid_ros.nodes.distance_service.world.objects import (
    has_shapes,
    matrix_of,
    octree_of,
    shape_poses_of,
    shapes_of,
    subframes_of,
)
from superovoid_ros.nodes.distance_service.world.own_messages import check_name

_MOST_JOINTS = 1_000  # of a scene's state
_NO_POSE = Pose()
Message, Read = TypeVar("Message"), TypeVar("Read")

_OPERATIONS = {
    CollisionObject.ADD: Operation.ADD,
    CollisionObject.REMOVE: Operation.REMOVE,
    CollisionObject.APPEND: Operation.APPEND,
    CollisionObject.MOVE: Operation.MOVE,
}


def object_change(message: CollisionObject, open_meshes: str = "hull") -> ObjectChange:
    """Return what a collision object says."""
    name, operation, frame = message.id, _operation(message), message.header.frame_id
    what = f"object '{name}'"
    if name or operation is not Operation.REMOVE:
        check_name(name)
    if operation is Operation.REMOVE:
        return ObjectChange(name, operation)
    if operation is Operation.MOVE:
        pose, moved = from_pose(message.pose, f"{what}: pose"), tuple(shape_poses_of(message, what))
        left_out = (f"{what}: moved; the shapes in the message are not looked at",) if has_shapes(message) else ()
        return ObjectChange(name, operation, frame, Brought(pose=pose, moved=moved), left_out)
    return ObjectChange(name, operation, frame, _brought(message, what, open_meshes))


def attached_change(message: AttachedCollisionObject, open_meshes: str = "hull") -> AttachedChange:
    """Return what an attached collision object says."""
    thing, operation = message.object, _operation(message.object)
    name, link, what = thing.id, message.link_name, f"attached object '{thing.id}'"
    if operation is Operation.REMOVE:
        return AttachedChange(name, link, operation)
    if operation is Operation.MOVE:
        raise InputError(
            f"{what}: MOVE is for objects of the world (MoveIt knows no other either): ADD it at its new pose"
        )
    check_name(name)
    brings = operation is not Operation.ADD or has_shapes(thing)
    brought = _brought(thing, what, open_meshes) if brings else Brought()
    return AttachedChange(name, link, operation, thing.header.frame_id, tuple(message.touch_links), brought)


def attached_changes(
    state: RobotState,
    *,
    whole: bool = False,
    read: Callable[[AttachedCollisionObject], AttachedChange | Problem] = attached_change,
) -> AttachedChanges:
    """Return what a robot state says about attached objects: only these are there where it is not a difference.

    Parameters
    ----------
    state
        The state.
    whole
        It is that of a scene that is no difference, and its own joints do not matter.
    read
        Of one of them.
    """
    measured = len(state.joint_state.name) or len(state.multi_dof_joint_state.joint_names)
    changes = tuple(map(read, state.attached_collision_objects))
    return AttachedChanges(bool(not state.is_diff and (whole or measured)), changes)


def scene_change(
    message: PlanningScene, most_cubes: int, open_meshes: str = "hull", most_objects: int = Limits().objects
) -> SceneChange:
    """Return what a planning scene, or a difference to one, says.

    Parameters
    ----------
    message
        The scene.
    most_cubes
        How many occupied cubes an octomap may have.
    open_meshes
        What open meshes of objects are, one of `OPEN_MESHES`.
    most_objects
        How many objects there may be. A message that adds more is refused before anything in it is read.
    """
    added = _added(message)
    if added > most_objects:
        raise InputError(f"planning scene: adds {added} objects, at most {most_objects} are allowed (max_objects)")
    whole = not message.is_diff
    for scale in message.link_scale:
        if not (np.isfinite(scale.scale) and scale.scale > 0.0):
            raise InputError(f"link_scale of '{scale.link_name}' = {scale.scale}: must be positive and finite")
    for padding in message.link_padding:
        if not (np.isfinite(padding.padding) and padding.padding >= 0.0):
            raise InputError(
                f"link_padding of '{padding.link_name}' = {padding.padding}: must be at least 0 and finite (metres)"
            )
    matrix = message.allowed_collision_matrix
    attached = _or_unusable(partial(attached_change, open_meshes=open_meshes))
    things = _or_unusable(partial(object_change, open_meshes=open_meshes))
    return SceneChange(
        whole,
        message.name,
        message.robot_model_name,
        {one.id: (one.color.r, one.color.g, one.color.b, one.color.a) for one in message.object_colors},
        [
            (
                stamped.child_frame_id,
                stamped.header.frame_id,
                from_transform(stamped.transform, f"fixed_frame_transforms '{stamped.child_frame_id}'"),
            )
            for stamped in message.fixed_frame_transforms
        ],
        attached_changes(message.robot_state, whole=whole, read=attached),
        matrix_of(matrix) if whole or len(matrix.entry_names) else None,
        {padding.link_name: float(padding.padding) for padding in message.link_padding},
        {scale.link_name: float(scale.scale) for scale in message.link_scale},
        tuple(map(things, message.world.collision_objects)),
        _octomap_or_unusable(message, most_cubes),
        _positions_of(message.robot_state),
    )


def world_change(message: PlanningSceneWorld, *options: object) -> SceneChange:
    """Return what a world says, which replaces the one before; options as for `scene_change`."""
    change = scene_change(scene_of_world(message), *options)
    return replace(change, whole_world=True, octomap=change.octomap or OctomapChange(None))


def scene_of_world(message: PlanningSceneWorld) -> PlanningScene:
    """Return the difference of a planning scene that brings a world and nothing else."""
    scene = PlanningScene(is_diff=True, world=message)
    scene.robot_state.is_diff = True
    return scene


def _positions_of(state: RobotState) -> dict[str, float]:
    """Return the joint positions of a state, to be taken for those that nothing measures; what is no number is not."""
    pairs = zip(state.joint_state.name, state.joint_state.position, strict=False)
    return {name: float(position) for name, position in itertools.islice(pairs, _MOST_JOINTS) if np.isfinite(position)}


def _or_unusable(read: Callable[[Message], Read]) -> Callable[[Message], Read | Problem]:
    """Return what reads one object of a message, or keeps that it cannot be used."""

    def tried(message: Message) -> Read | Problem:
        try:
            with refusals():
                return read(message)
        except InputError as error:
            for problem in missing_without(message):
                return replace(problem, reason=str(error))
            return Problem("", ProblemKind.NOTHING, str(error), source=FROM_MOVEIT)

    return tried


def _octomap_or_unusable(message: PlanningScene, most_cubes: int) -> OctomapChange | Problem | None:
    try:
        return _octomap_change(message, most_cubes)
    except InputError as error:
        return Problem(OCTOMAP, reason=str(error), source=FROM_MOVEIT)


def _octomap_change(message: PlanningScene, most_cubes: int) -> OctomapChange | None:
    """Return what becomes of the octomap; None: it stays.

    As in MoveIt a difference without octomap leaves the one before, and what tells that from an empty one is its id.
    """
    octomap = message.world.octomap
    if len(octomap.octomap.data):
        pose = from_pose(octomap.origin, "octomap: origin")
        return OctomapChange(octree_of(octomap.octomap), octomap.header.frame_id, pose, most_cubes)
    return OctomapChange(None) if octomap.octomap.id or not message.is_diff else None


def is_about_objects(message: PlanningScene) -> bool:
    """Return whether a planning scene says anything about objects, the octomap apart, which often is sent anew."""
    attached = message.robot_state.attached_collision_objects
    return bool(message.world.collision_objects or attached or not message.is_diff)


def frame_ids_of(message: PlanningScene) -> list[str]:
    """Return the frames that a planning scene names."""
    objects = [
        *message.world.collision_objects,
        *(one.object for one in message.robot_state.attached_collision_objects),
    ]
    headers = [*objects, *message.fixed_frame_transforms, message.world.octomap]
    return [one.header.frame_id for one in headers]


def _brought(message: CollisionObject, what: str, open_meshes: str) -> Brought:
    shapes, poses, within, notes = shapes_of(message, what, open_meshes)
    pose = from_pose(message.pose, f"{what}: pose")
    return Brought(
        tuple(shapes),
        tuple(poses),
        tuple(within),
        pose,
        message.pose != _NO_POSE,
        (),
        tuple(notes),
        subframes_of(message, what),
        (message.type.db, message.type.key),
    )


def _operation(message: CollisionObject) -> Operation:
    if message.operation not in _OPERATIONS:
        raise InputError(
            f"object '{message.id}': operation = {message.operation!r}: must be ADD (0), REMOVE (1), APPEND (2) or "
            "MOVE (3)"
        )
    return _OPERATIONS[message.operation]


def _added(message: PlanningScene) -> int:
    """Return how many objects a planning scene adds."""
    attached = (one.object for one in message.robot_state.attached_collision_objects)
    things = itertools.chain(message.world.collision_objects, attached)
    return len({thing.id for thing in things if thing.operation == CollisionObject.ADD})


def missing_without(
    message: CollisionObject | AttachedCollisionObject | PlanningScene, most_objects: int = Limits().objects
) -> list[Problem]:
    """Return what is missing if a message is refused; what it would have removed from the world is not.

    `MORE` stands for the objects of a planning scene that adds more than there may be.
    """
    if isinstance(message, AttachedCollisionObject):
        thing = message.object
        # One that was to be put down would go on moving with its link.
        kind = ProblemKind.PUT_DOWN if thing.operation == CollisionObject.REMOVE else ProblemKind.ALL
        return [Problem(_kept(thing.id), kind, link=_kept(message.link_name), source=FROM_MOVEIT)]
    if isinstance(message, CollisionObject):
        if message.operation == CollisionObject.REMOVE:
            return []
        kind = ProblemKind.ALL
        if message.operation == CollisionObject.MOVE:
            of_shapes = (message.primitive_poses, message.mesh_poses, message.plane_poses)
            kind = ProblemKind.PLACES if any(len(poses) for poses in of_shapes) else ProblemKind.POSE
        return [Problem(_kept(message.id), kind, source=FROM_MOVEIT)]
    scene = message
    if _added(scene) > most_objects:
        found = [Problem(MORE, link="", source=FROM_MOVEIT)]
    else:
        things = (*scene.robot_state.attached_collision_objects, *scene.world.collision_objects)
        found = [one for thing in things for one in missing_without(thing)]
    if len(scene.world.octomap.octomap.data):
        found.append(Problem(OCTOMAP, source=FROM_MOVEIT))
    # A whole one says of matrix and octomap that nothing else holds.
    settings = (scene.allowed_collision_matrix.entry_names, scene.link_padding, scene.link_scale)
    if not found or not scene.is_diff or any(len(entries) for entries in settings):
        found.append(Problem(SCENE, source=FROM_MOVEIT))
    return found


def _kept(name: str) -> str:
    return name if len(name) <= MAXIMUM_NAME else shortened(name, MAXIMUM_NAME - 60)
