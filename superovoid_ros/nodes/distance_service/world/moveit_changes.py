# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Changes of objects and rules by MoveIt's messages: each is read as a planning scene, or as a difference to one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, PlanningScene, PlanningSceneWorld, RobotState
from octomap_msgs.msg import OctomapWithPose

from superovoid.robot.limits import MAXIMUM_NAME
from superovoid.robot.planning_scene import OCTOMAP, Edit
from superovoid.robot.rules import AllowedCollisionMatrix
from superovoid.robot.scene_objects import MORE, Problem
from superovoid.shapes import HalfSpace
from superovoid_ros.nodes.common.conversions import from_pose
from superovoid_ros.nodes.common.mistakes import InputError, listing, refusals, shorten
from superovoid_ros.nodes.distance_service.world.current_model import FROM_MOVEIT, LOST, Note
from superovoid_ros.nodes.distance_service.world.frames import Frames
from superovoid_ros.nodes.distance_service.world.objects import (
    has_shapes,
    matrix_of,
    octree_of,
    read_contents,
    shape_poses_of,
)
from superovoid_ros.nodes.distance_service.world.own_changes import check_object_name

ADD, REMOVE, APPEND, MOVE = (
    CollisionObject.ADD,
    CollisionObject.REMOVE,
    CollisionObject.APPEND,
    CollisionObject.MOVE,
)
_NO_SETTINGS = PlanningScene(is_diff=True, robot_state=RobotState(is_diff=True))
_NO_OCTOMAP = OctomapWithPose()
_OF_OCTOMAP = Problem(OCTOMAP, source=FROM_MOVEIT)
Message: TypeAlias = CollisionObject | AttachedCollisionObject | PlanningScene | PlanningSceneWorld
Part: TypeAlias = CollisionObject | AttachedCollisionObject | OctomapWithPose


def _parts_of(
    message: Message,
) -> tuple[PlanningScene, Sequence[CollisionObject], Sequence[AttachedCollisionObject], OctomapWithPose, bool]:
    """Return the parts of a message as a planning scene; an object, or a world, is a difference without settings.

    They are: the scene with its settings, the objects of the world, attached objects, the octomap, and whether objects
    and octomap replace those of the world.
    """
    if isinstance(message, CollisionObject):
        return _NO_SETTINGS, [message], [], _NO_OCTOMAP, False
    if isinstance(message, AttachedCollisionObject):
        return _NO_SETTINGS, [], [message], _NO_OCTOMAP, False
    if isinstance(message, PlanningSceneWorld):
        return _NO_SETTINGS, message.collision_objects, [], message.octomap, True
    world, attached = message.world, message.robot_state.attached_collision_objects
    return message, world.collision_objects, attached, world.octomap, not message.is_diff


def attach_for_question(state: RobotState, open_meshes: str, edit: Edit, frames: Frames) -> None:
    """Apply a request's state to a planning scene; removed attached objects disappear instead of joining the world."""
    kept = []
    for message in state.attached_collision_objects:
        if _operation(message.object) != REMOVE:
            kept.append(message)
            continue
        for name in tuple(edit.objects):
            link = edit.object(name).link
            if link is not None and message.link_name in ("", link) and message.object.id in ("", name):
                edit.remove(name)
    if _replaces_attached(state):
        edit.remove_all(attached=True, source=FROM_MOVEIT, but={message.object.id for message in kept})
    for message in kept:
        _apply_attached(message, open_meshes, edit, frames)


def _problems_of(message: Part, edit: Edit) -> list[Problem]:
    """Return the problems that remain if a message about one object or the octomap is refused."""
    if isinstance(message, OctomapWithPose):
        return [_OF_OCTOMAP]
    if isinstance(message, AttachedCollisionObject):
        name, link = _stored_name(message.object.id), _stored_name(message.link_name)
        by = _link_of(edit, name)
        if message.object.operation == REMOVE:  # refused if it names another link
            return [] if by is None else [Problem(name, links=frozenset((by, None)), source=FROM_MOVEIT)]
        # The sender has taken an object of this name out of the world.
        links = (link, None) if name in edit.objects and by is None else (link,)
        return [Problem(name, links=frozenset(links), source=FROM_MOVEIT)]
    if message.operation == REMOVE:
        return []
    moves_shapes = any(map(len, (message.primitive_poses, message.mesh_poses, message.plane_poses)))
    by_move = message.operation == MOVE and not moves_shapes
    return [Problem(_stored_name(message.id), by_move=by_move, source=FROM_MOVEIT)]


def _stored_name(name: str) -> str:
    return name if len(name) <= MAXIMUM_NAME else shorten(name, MAXIMUM_NAME - 60)


def _operation(message: CollisionObject) -> bytes:
    if message.operation not in (ADD, REMOVE, APPEND, MOVE):
        raise InputError(
            f"object '{message.id}': operation = {message.operation!r}: must be ADD (0), REMOVE (1), APPEND (2) or "
            "MOVE (3)"
        )
    return message.operation


def _replaces_attached(state: RobotState, *, whole: bool = False) -> bool:
    """Return whether a robot state replaces all attached objects; in a whole scene, whatever its own joints."""
    measured = len(state.joint_state.name) or len(state.multi_dof_joint_state.joint_names)
    return bool(not state.is_diff and (whole or measured))


# --- changes ---


def apply_message(
    read: Callable[[], Message],
    open_meshes: str,
    most_cubes: int,
    most_objects: int,
    edit: Edit,
    frames: Frames,
) -> list[Note]:
    """Apply a message: a planning scene, or a difference to one.

    As in MoveIt, an object or octomap that cannot be used is refused and the rest is applied. Parts of a difference
    that equal the present ones (matrix, paddings, octomap) change nothing.

    Parameters
    ----------
    read
        Returns the message, which is deserialized in the thread that applies it.
    open_meshes
        Shape of open meshes of objects, as for `shape_of_mesh`.
    most_cubes
        Largest number of occupied cubes in an octomap.
    most_objects
        Largest number of objects. A message that adds more is refused before it is read.
    edit, frames
        As for other changes.

    Returns
    -------
    list of Note
    """
    scene, objects, attached, octomap, replaces_world = _parts_of(read())
    things = (*objects, *(one.object for one in attached))
    added = len({thing.id for thing in things if thing.operation == ADD})
    if added > most_objects:
        raise InputError(f"adds {added} objects, at most {most_objects} are allowed (max_objects)")
    notes: list[Note] = []

    def attempt(part: Part, change: Callable[..., list[Note]], option: object) -> None:
        """Apply a part by itself; if it cannot be used, report that."""
        try:
            with refusals():
                notes.extend(change(part, option, edit, frames))
        except InputError as error:
            for problem in _problems_of(part, edit):
                edit.report(replace(LOST if problem.name == MORE else problem, reason=str(error)))
            notes.append(error)

    matrix, paddings = _read_rules(scene)  # before any change, since an error refuses the whole message
    robot = frames.robot.name
    if scene.robot_model_name not in ("", robot):
        notes.append(f"the planning scene is for robot '{scene.robot_model_name}'; this robot is '{robot}'")
    # A whole scene with a whole state replaces all attached objects, whatever its joints, except those of
    # ~/apply_objects, which MoveIt does not know.
    if _replaces_attached(scene.robot_state, whole=not scene.is_diff):
        names = {_stored_name(one.object.id) for one in attached}
        if scene.is_diff:
            names.add(MORE)
        edit.remove_all(attached=True, source=FROM_MOVEIT, but=names)
    if replaces_world:  # first, so that limits concern only what the message brings
        kept = {_stored_name(one.id) for one in objects}
        edit.remove_all(source=FROM_MOVEIT, but=kept | {one.object.id for one in attached})
        if not len(octomap.octomap.data):
            edit.remove_octomap()
    for one in attached:
        attempt(one, _apply_attached, open_meshes)
    if matrix is not None and matrix != edit.matrix_in_force():
        edit.set_matrix(matrix)
    before = edit.padding.by_name
    if any(value != before.get(name, edit.padding.default) for name, value in paddings.items()):
        edit.padding = replace(edit.padding, by_name={**before, **paddings})
    if replaces_world:
        edit.remove_all(source=FROM_MOVEIT, but=kept)
    attaching = {one.object.id for one in attached}
    for one in objects:
        # move_group attaches an object and removes it from the world in different parts of the same message.
        if not (one.operation == REMOVE and one.id in attaching and _link_of(edit, one.id) is not None):
            attempt(one, _apply_object, open_meshes)
    # As in MoveIt, a difference without octomap keeps the previous one. An empty octomap has an id; a missing one
    # has none.
    if len(octomap.octomap.data):
        attempt(octomap, _apply_octomap, most_cubes)
    elif octomap.octomap.id:
        edit.remove_octomap()
    return notes


def remove_octomap(edit: Edit, frames: Frames) -> list[Note]:
    """Remove the octomap."""
    edit.remove_octomap()
    return []


def _apply_object(message: CollisionObject, open_meshes: str, edit: Edit, frames: Frames) -> list[Note]:
    """Add, extend, move or remove an object of the world; without a name, remove all."""
    name, operation, what = message.id, _operation(message), f"object '{message.id}'"
    if operation == REMOVE and not name:
        edit.remove_all()
        return []
    check_object_name(name)
    if operation == REMOVE:
        found = edit.objects.get(name) or edit.problems.get(name)
        if found is None:
            return [f"{what}: cannot be removed: it does not exist (objects: {listing(edit.objects)})"]
        if name in edit.objects or found.is_unread:
            edit.remove(name, attached=False)
            return [f"{what}: not removed from link '{found.link}': detach it first"] if found.link is not None else []
        edit.remove(name)  # it has no place with this robot
        return []
    link = _link_of(edit, name)
    if link is not None:
        raise InputError(
            f"{what}: is attached to link '{link}': detach it first, by REMOVE on attached_collision_object"
        )
    if operation == MOVE:
        pose, moved = from_pose(message.pose, f"{what}: pose"), shape_poses_of(message, what)
        pose, outside_frame = frames.place(message.header.frame_id, pose, None, what)
        if moved and name in edit.objects and any(isinstance(one, HalfSpace) for one in edit.object(name).shapes):
            raise InputError(f"{what}: MOVE gives shapes new poses, and one of them is a plane: ADD it again instead")
        edit.move(name, pose, moved or None, outside_frame)
        return [f"{what}: moved; the shapes in the message are ignored"] if has_shapes(message) else []
    is_appended = operation == APPEND and _is_known(edit, name)
    brought = read_contents(message, what, open_meshes, is_appended=is_appended)
    pose, outside_frame = frames.place(message.header.frame_id, brought.pose, None, what)
    if is_appended:
        edit.append(name, brought.shapes, brought.object_from_shape)
    else:
        edit.add(name, brought.shapes, brought.object_from_shape, pose, source=FROM_MOVEIT, outside_frame=outside_frame)
    edit.add_subframes(name, brought.subframes)
    return brought.notes


def _apply_attached(message: AttachedCollisionObject, open_meshes: str, edit: Edit, frames: Frames) -> list[Note]:
    """Attach or extend an object on a link, or return it to the world; without a name, return all."""
    thing, link, operation = message.object, message.link_name, _operation(message.object)
    name, what = thing.id, f"attached object '{thing.id}'"
    if operation == MOVE:
        raise InputError(f"{what}: MOVE applies only to objects of the world, as in MoveIt: ADD it at its new pose")
    if operation == REMOVE:
        return _detach(name, link, edit, frames)
    check_object_name(name)
    brings_shapes, there = operation == APPEND or has_shapes(thing), None
    # An object without a pose may be added again.
    if name in edit.objects or (name in edit.problems and (operation == APPEND or not brings_shapes)):
        there = edit.object(name)
    if not brings_shapes:
        if there is None:
            raise InputError(
                f"{what}: has no shape, and no object of that name exists (objects: {listing(edit.objects)})"
            )
        edit.attach(name, link, frames.in_link(link, frames.object(name), what), message.touch_links)
        return []
    is_appended = operation == APPEND and there is not None and there.link is not None
    brought = read_contents(thing, what, open_meshes, is_appended=is_appended)
    pose, _ = frames.place(thing.header.frame_id, brought.pose, link, what)
    if not is_appended:
        options = {"link": link, "touch_links": message.touch_links, "source": FROM_MOVEIT}
        edit.add(name, brought.shapes, brought.object_from_shape, pose, **options)
    else:
        if not brought.has_pose:
            pose = there.pose if there.link == link else frames.in_link(link, frames.object(name), what)
        # In this order, so that invalid names are refused before any change.
        edit.attach(name, link, pose, {*message.touch_links, *there.touch_links})
        edit.append(name, brought.shapes, brought.object_from_shape)
    edit.add_subframes(name, brought.subframes)
    return brought.notes


def _detach(name: str, link: str, edit: Edit, frames: Frames) -> list[Note]:
    """Return attached objects, of a name or a link if given, to the world at their present poses."""
    notes: list[Note] = []
    carried = {one.name: one.link for one in (*edit.problems.values(), *edit.objects.values()) if one.link is not None}
    chosen = [one for one, by in carried.items() if name in ("", one) and link in ("", by) and one != MORE]
    if name and not chosen:
        if name not in carried:
            return [f"attached object '{name}': cannot be detached: no object of that name is attached"]
        raise InputError(
            f"attached object '{name}': is attached to link '{carried[name]}', not '{link}': set that link, or none"
        )
    for one in chosen:
        problem = edit.problems.get(one)
        try:
            if problem is not None:
                raise InputError(problem.reason)
            edit.detach(one, frames.object(one))
        except InputError as error:
            edit.remove(one, attached=True)
            edit.report(Problem(one, reason=str(error), source=FROM_MOVEIT))
            notes += [] if problem is not None else [error]
    return notes


def _apply_octomap(message: OctomapWithPose, most_cubes: int, edit: Edit, frames: Frames) -> list[Note]:
    """Replace the octomap."""
    octree, pose = octree_of(message.octomap), from_pose(message.origin, "octomap: origin")
    pose, outside_frame = frames.place(message.header.frame_id, pose, None, "octomap")
    edit.set_octomap(octree, pose, most_cubes, outside_frame)
    return []


def _read_rules(message: PlanningScene) -> tuple[AllowedCollisionMatrix | None, dict[str, float]]:
    """Return the matrix of a scene (None: a difference without one) and its paddings by name, m."""
    for scale in message.link_scale:
        if scale.scale != 1.0:
            raise InputError(f"link_scale of '{scale.link_name}' = {scale.scale}: must be 1; use link_padding instead")
    paddings = {one.link_name: float(one.padding) for one in message.link_padding}
    for name, value in paddings.items():
        if not (np.isfinite(value) and value >= 0.0):
            raise InputError(f"link_padding of '{name}' = {value}: must be at least 0 and finite (metres)")
    matrix = message.allowed_collision_matrix
    return matrix_of(matrix) if not message.is_diff or len(matrix.entry_names) else None, paddings


def _is_known(edit: Edit, name: str) -> bool:
    """Return whether an object of this name exists, with or without a pose."""
    return name in edit.objects or name in edit.problems


def _link_of(edit: Edit, name: str) -> str | None:
    """Return the link that carries an object; None if there is none, or the object has no pose."""
    return edit.object(name).link if name in edit.objects else None
