# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Changes of objects and rules by MoveIt's messages: each is read as a planning scene, or as a difference to one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, PlanningScene, PlanningSceneWorld, RobotState
from octomap_msgs.msg import OctomapWithPose

from superovoid.robot.limits import MAXIMUM_NAME, Limits
from superovoid.robot.planning_scene import OCTOMAP, Edit
from superovoid.robot.scene_objects import MORE, Problem, ProblemKind
from superovoid.shapes import HalfSpace
from superovoid_ros.nodes.common.conversions import from_pose, from_transform
from superovoid_ros.nodes.common.mistakes import InputError, listing, refusals, shorten
from superovoid_ros.nodes.distance_service.world.current import FROM_MOVEIT, SCENE, Change, Note
from superovoid_ros.nodes.distance_service.world.frames import Frames
from superovoid_ros.nodes.distance_service.world.objects import (
    ObjectContents,
    has_shapes,
    matrix_of,
    octree_of,
    shape_poses_of,
)
from superovoid_ros.nodes.distance_service.world.own_changes import check_name

ADD, REMOVE, APPEND, MOVE = (
    CollisionObject.ADD,
    CollisionObject.REMOVE,
    CollisionObject.APPEND,
    CollisionObject.MOVE,
)
_MOST_JOINTS = 1_000  # in the state of a scene
_NO_SETTINGS = PlanningScene(is_diff=True, robot_state=RobotState(is_diff=True))
_NO_OCTOMAP = OctomapWithPose()
_OF_OCTOMAP = Problem(OCTOMAP, source=FROM_MOVEIT)
Message: TypeAlias = CollisionObject | AttachedCollisionObject | PlanningScene | PlanningSceneWorld


class Options(NamedTuple):
    """Options for reading messages."""

    open_meshes: str = "hull"
    """Shape of open meshes of objects, as for `shape_of_mesh`."""
    cubes: int = 0
    """Largest number of occupied cubes in an octomap."""
    objects: int = Limits().objects
    """Largest number of objects. A message that adds more is refused before it is read."""


class SceneMessage(NamedTuple):
    """A message about objects or rules as a planning scene."""

    settings: PlanningScene
    """The parts other than objects and octomap."""
    objects: Sequence[CollisionObject]
    """Objects of the world."""
    attached: Sequence[AttachedCollisionObject] = ()
    octomap: OctomapWithPose = _NO_OCTOMAP
    replaces_world: bool = False
    """If true, objects and octomap replace those of the world."""

    @classmethod
    def from_message(cls, message: Message) -> SceneMessage:
        """Return a message as a planning scene: an object, or a world, becomes a difference without settings."""
        if isinstance(message, CollisionObject):
            return cls(_NO_SETTINGS, [message])
        if isinstance(message, AttachedCollisionObject):
            return cls(_NO_SETTINGS, [], [message])
        if isinstance(message, PlanningSceneWorld):
            return cls(_NO_SETTINGS, message.collision_objects, (), message.octomap, True)
        world, attached = message.world, message.robot_state.attached_collision_objects
        return cls(message, world.collision_objects, attached, world.octomap, not message.is_diff)

    @property
    def is_about_objects(self) -> bool:
        """True if it concerns objects other than the octomap, which is sent often."""
        return bool(self.objects or self.attached or self.replaces_world)

    @property
    def frame_ids(self) -> list[str]:
        """Frames that it names."""
        attached = [one.object for one in self.attached]
        headers = [*self.objects, *attached, *self.settings.fixed_frame_transforms, self.octomap]
        return [one.header.frame_id for one in headers]

    def count_added(self) -> int:
        """Return the number of objects that it adds."""
        things = (*self.objects, *(one.object for one in self.attached))
        return len({thing.id for thing in things if thing.operation == ADD})

    def missing_without(self, most_objects: int = Limits().objects) -> list[Problem]:
        """Return the problems that remain if it is refused.

        The name `MORE` represents the objects of a planning scene that adds more than the largest number.
        """
        found = [Problem(MORE, link="", source=FROM_MOVEIT)]
        if self.count_added() <= most_objects:
            found = [_problem_of(one) for one in (*self.attached, *self.objects)]
            found = [problem for problem in found if problem.kind is not ProblemKind.NOTHING]
        if len(self.octomap.octomap.data):
            found.append(_OF_OCTOMAP)
        # A whole scene replaces matrix and octomap.
        scene = self.settings
        settings = (scene.allowed_collision_matrix.entry_names, scene.link_padding, scene.link_scale)
        if not found or not scene.is_diff or any(len(entries) for entries in settings):
            found.append(Problem(SCENE, source=FROM_MOVEIT))
        return found


def attach_for_question(state: RobotState, open_meshes: str, edit: Edit, frames: Frames) -> None:
    """Apply a request's state to a planning scene; removed attached objects disappear instead of joining the world."""
    kept = []
    for change in [AttachedChange(one, open_meshes) for one in state.attached_collision_objects]:
        if change.attaches:
            kept.append(change)
            continue
        for name in tuple(edit.objects):
            link = edit.object(name).link
            if link is not None and change.link in ("", link) and change.name in ("", name):
                edit.remove(name)
    if _replaces_attached(state):
        edit.remove_all(attached=True, source=FROM_MOVEIT, but={change.name for change in kept})
    for change in kept:
        change.apply(edit, frames)


def _problem_of(message: CollisionObject | AttachedCollisionObject) -> Problem:
    """Return the problem that remains if a message about one object is refused; `ProblemKind.NOTHING` if none."""
    kind = ProblemKind.ALL
    if isinstance(message, AttachedCollisionObject):
        if message.object.operation == REMOVE:
            kind = ProblemKind.PUT_DOWN  # the model would let it move with its link
        return Problem(_stored_name(message.object.id), kind, link=_stored_name(message.link_name), source=FROM_MOVEIT)
    if message.operation == REMOVE:
        kind = ProblemKind.NOTHING
    elif message.operation == MOVE:
        of_shapes = (message.primitive_poses, message.mesh_poses, message.plane_poses)
        kind = ProblemKind.PLACES if any(len(poses) for poses in of_shapes) else ProblemKind.POSE
    return Problem(_stored_name(message.id), kind, source=FROM_MOVEIT)


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


class ObjectChange(Change):
    """Addition, extension, motion or removal of an object of the world; without a name, removal of all."""

    def __init__(self, message: CollisionObject, open_meshes: str = "hull") -> None:
        self.name, self.operation, what = message.id, _operation(message), f"object '{message.id}'"
        self._frame, self._what = message.header.frame_id, what
        if self.name or self.operation != REMOVE:
            check_name(self.name)
        self._notes: list[Note] = []
        if self.operation == MOVE:
            self._pose, self._moved = from_pose(message.pose, f"{what}: pose"), shape_poses_of(message, what)
            if has_shapes(message):
                self._notes.append(f"{what}: moved; the shapes in the message are ignored")
        elif self.operation != REMOVE:
            self._brought = ObjectContents(message, what, open_meshes)
            self._notes += self._brought.notes

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene."""
        name, operation, what = self.name, self.operation, self._what
        if operation == REMOVE:
            return self._remove(edit)
        link = _link_of(edit, name)
        if link is not None:
            raise InputError(
                f"{what}: is attached to link '{link}': detach it first, by REMOVE on attached_collision_object"
            )
        root_from_header, outside_frame = frames.locate(self._frame, what)
        if operation == MOVE:
            if self._moved and name in edit.objects:
                if any(isinstance(shape, HalfSpace) for shape in edit.object(name).shapes):
                    raise InputError(
                        f"{what}: MOVE gives shapes new poses, and one of them is a plane: ADD it again instead"
                    )
            edit.move(name, root_from_header @ self._pose, self._moved or None, outside_frame)
            return self._notes
        brought = self._brought
        if operation == APPEND and _is_known(edit, name):
            edit.append(name, brought.shapes, brought.relative_poses(appended=True)[0])
            edit.describe(name, brought.subframes, brought.kind)
        else:
            poses, pose = brought.relative_poses()
            # As in MoveIt, its type is kept if the message has none.
            kind = edit.object(name).kind if name in edit.objects else ("", "")
            edit.add(
                name, brought.shapes, poses, root_from_header @ pose, source=FROM_MOVEIT, outside_frame=outside_frame
            )
            edit.describe(name, brought.subframes, brought.kind if any(brought.kind) else kind)
        return self._notes

    def _remove(self, edit: Edit) -> list[Note]:
        if not self.name:
            edit.remove_all(but={SCENE})
            return []
        if not _is_known(edit, self.name):
            return [f"{self._what}: cannot be removed: it does not exist (objects: {listing(edit.objects)})"]
        link = _link_of(edit, self.name)
        if link is not None:
            return [f"{self._what}: not removed from the world: it is attached to link '{link}'"]
        edit.remove(self.name)
        return []


class AttachedChange(Change):
    """Attachment or extension of an object on a link, or its return to the world; without a name, return of all."""

    def __init__(self, message: AttachedCollisionObject, open_meshes: str = "hull") -> None:
        thing, self._operation = message.object, _operation(message.object)
        self.name, self.link, what = thing.id, message.link_name, f"attached object '{thing.id}'"
        self._frame, self._what = thing.header.frame_id, what
        self._touched = tuple(message.touch_links)
        self._brought: ObjectContents | None = None
        if self._operation == MOVE:
            raise InputError(f"{what}: MOVE applies only to objects of the world, as in MoveIt: ADD it at its new pose")
        if self.attaches:
            check_name(self.name)
            if self._operation != ADD or has_shapes(thing):
                self._brought = ObjectContents(thing, what, open_meshes)

    @property
    def attaches(self) -> bool:
        """True if a link carries the object afterwards."""
        return self._operation != REMOVE

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene."""
        name, link, brought, what = self.name, self.link, self._brought, self._what
        if not self.attaches:
            return self._detach(edit, frames)
        there = None
        # An object without a pose may be added again.
        if name in edit.objects or (name in edit.problems and (self._operation != ADD or brought is None)):
            there = edit.object(name)
        if brought is None:
            if there is None:
                raise InputError(
                    f"{what}: has no shape, and no object of that name exists (objects: {listing(edit.objects)})"
                )
            edit.attach(name, link, frames.in_link(link, frames.object(name), what), self._touched)
            return []
        appended = self._operation == APPEND and there is not None and there.link is not None
        poses, pose = brought.relative_poses(appended=appended)
        given = frames.link_of(self._frame)
        if given not in (link, None):
            with refusals(what):
                pose = frames.transform_between(link, given) @ pose
        elif given is None:
            pose = frames.in_link(link, frames.lookup(self._frame, what) @ pose, what)
        if not appended:
            edit.add(name, brought.shapes, poses, pose, link=link, touch_links=self._touched, source=FROM_MOVEIT)
        else:
            if not brought.has_pose:
                pose = there.pose if there.link == link else frames.in_link(link, frames.object(name), what)
            # In this order, so that invalid names are refused before any change.
            edit.attach(name, link, pose, {*self._touched, *there.touch_links})
            edit.append(name, brought.shapes, poses)
        edit.describe(name, brought.subframes, brought.kind)
        return list(brought.notes)

    def _detach(self, edit: Edit, frames: Frames) -> list[Note]:
        """Return one attached object, or all, to the world at their present poses."""
        name, link = self.name, self.link
        notes: list[Note] = []
        if not name:
            carried = ((other, _link_of(edit, other)) for other in edit.objects)
            chosen = [other for other, by in carried if by is not None and link in ("", by)]
            nowhere = [other for other, problem in edit.problems.items() if problem.link is not None]
            notes = [f"attached object '{other}': has no known pose in the world: remove it" for other in nowhere]
        elif not _is_known(edit, name) or edit.object(name).link is None:
            return [f"{self._what}: cannot be detached: no object of that name is attached"]
        elif link not in ("", edit.object(name).link):
            raise InputError(
                f"{self._what}: is attached to link '{edit.object(name).link}', not '{link}': set that link, or none"
            )
        else:
            chosen = [name]
        for other in chosen:
            edit.detach(other, frames.object(other))
        return notes


class OctomapChange(Change):
    """Replacement of the octomap; without a message, its removal."""

    name = OCTOMAP

    def __init__(self, octomap: OctomapWithPose | None = None, most_cubes: int = 0) -> None:
        self._octree, self._most = None, most_cubes
        if octomap is not None:
            self._octree, self._frame = octree_of(octomap.octomap), octomap.header.frame_id
            self._pose = from_pose(octomap.origin, "octomap: origin")

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene."""
        if self._octree is None:
            edit.remove_octomap()
        else:
            root_from_header, outside_frame = frames.locate(self._frame, "octomap")
            edit.set_octomap(self._octree, root_from_header @ self._pose, self._most, outside_frame)
        return []


class SceneChange(Change):
    """A planning scene, or a difference to one.

    As in MoveIt, an object or octomap that cannot be used is refused and the rest is applied. Parts of a difference
    that equal the present ones (matrix, paddings, octomap) change nothing.

    Parameters
    ----------
    scene
        The message.
    options
        Options for reading it.
    """

    def __init__(self, scene: SceneMessage, options: Options) -> None:
        added, state = scene.count_added(), scene.settings.robot_state
        if added > options.objects:
            raise InputError(
                f"planning scene: adds {added} objects, at most {options.objects} are allowed (max_objects)"
            )
        self._whole, self._whole_world = not scene.settings.is_diff, scene.replaces_world
        # Messages about single objects arrive often, so they have no settings to read.
        self._settings = None if scene.settings is _NO_SETTINGS else _Settings(scene.settings)
        self._attached = [
            _Part.read(_problem_of(one), AttachedChange, one, options.open_meshes) for one in scene.attached
        ]
        self._replaces_attached = _replaces_attached(state, whole=self._whole)
        self.replaces_all = self._whole and self._replaces_attached
        self._objects = [_Part.read(_problem_of(one), ObjectChange, one, options.open_meshes) for one in scene.objects]
        octomap = scene.octomap
        self._octomap: _Part | None = None
        if len(octomap.octomap.data):
            self._octomap = _Part.read(_OF_OCTOMAP, OctomapChange, octomap, options.cubes)
        # As in MoveIt, a difference without octomap keeps the previous one. An empty octomap has an id; a missing one
        # has none.
        elif octomap.octomap.id or self._whole_world:
            self._octomap = _Part(_OF_OCTOMAP, OctomapChange())
        joints = zip(state.joint_state.name, state.joint_state.position, strict=False)
        self.positions = {
            name: float(position) for name, position in itertools.islice(joints, _MOST_JOINTS) if np.isfinite(position)
        }

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene."""
        notes = [] if self._settings is None else self._settings.take_names(edit, frames)
        if self._replaces_attached:  # except those of ~/apply_objects, which MoveIt does not know
            edit.remove_all(attached=True, source=FROM_MOVEIT, but=_names(self._attached))
        for part in self._attached:
            notes += part.apply(edit, frames)
        if self._settings is not None:
            self._settings.take_rules(edit)
        if self._whole_world:
            kept = _names(self._objects)
            edit.remove_all(source=FROM_MOVEIT, but=kept if self._whole else kept | {SCENE})
        attaches = {part.problem.name for part in self._attached if part.problem.attaches}
        for part in self._objects:
            name, change, problem = part.problem.name, part.change, None
            if name in attaches and isinstance(change, ObjectChange) and change.operation == REMOVE:
                # move_group attaches an object and removes it from the world in different parts of the same message.
                if _link_of(edit, name) is not None:
                    continue
                problem = edit.problems.get(name)
            notes += part.apply(edit, frames)
            if problem is not None:  # it could not be attached
                edit.report(replace(problem, kind=ProblemKind.ALL, thing=None, source=FROM_MOVEIT))
        return notes + ([] if self._octomap is None else self._octomap.apply(edit, frames))


class _Settings:
    """The parts of a planning scene other than objects and octomap; raises `InputError` if one cannot be used."""

    def __init__(self, message: PlanningScene) -> None:
        for scale in message.link_scale:
            if not (np.isfinite(scale.scale) and scale.scale > 0.0):
                raise InputError(f"link_scale of '{scale.link_name}' = {scale.scale}: must be positive and finite")
        for padding in message.link_padding:
            if not (np.isfinite(padding.padding) and padding.padding >= 0.0):
                raise InputError(
                    f"link_padding of '{padding.link_name}' = {padding.padding}: must be at least 0 and finite (metres)"
                )
        self._message, self._fixed_frames = message, []
        for stamped in message.fixed_frame_transforms:
            child, parent = stamped.child_frame_id, stamped.header.frame_id
            self._fixed_frames.append(
                (child, parent, from_transform(stamped.transform, f"fixed_frame_transforms '{child}'"))
            )
        matrix = message.allowed_collision_matrix
        self._matrix = matrix_of(matrix) if not message.is_diff or len(matrix.entry_names) else None

    def take_names(self, edit: Edit, frames: Frames) -> list[Note]:
        """Apply the names, colours and frames that the scene defines."""
        message, robot = self._message, frames.robot.name
        if message.name or not message.is_diff:
            edit.name = message.name
        if not message.is_diff:
            edit.colours.clear()
        edit.colours |= {one.id: (one.color.r, one.color.g, one.color.b, one.color.a) for one in message.object_colors}
        for child, parent, pose in self._fixed_frames:
            try:
                frames.fix(child, parent, pose)
            except InputError:
                pass  # not used here; an error only if an object refers to it
        if message.robot_model_name not in ("", robot):
            return [f"the planning scene is for robot '{message.robot_model_name}'; this robot is '{robot}'"]
        return []

    def take_rules(self, edit: Edit) -> None:
        """Apply the matrix, paddings and scales."""
        if self._matrix is not None and self._matrix != edit.matrix_in_force():
            edit.set_matrix(self._matrix)
        if self._message.link_padding:
            paddings = dict(edit.padding.by_name)
            for one in self._message.link_padding:
                if one.padding != paddings.get(one.link_name, edit.padding.default):
                    paddings[one.link_name] = float(one.padding)
            edit.padding = replace(edit.padding, by_name=paddings)
        edit.scales |= {one.link_name: float(one.scale) for one in self._message.link_scale}


@dataclass(frozen=True)
class _Part:
    """A part of a planning scene, tried by itself: if it cannot be used, that is reported, and the rest is applied."""

    problem: Problem
    """Problem that remains if the part cannot be used, with the reason if it cannot be read."""
    change: Change | None = None
    """Its change; None if it cannot be read."""

    @classmethod
    def read(cls, problem: Problem, change: Callable[..., Change], *arguments: object) -> _Part:
        """Return the part with its change, or with the reason why there is none."""
        try:
            with refusals():
                return cls(problem, change(*arguments))
        except InputError as error:
            return cls(replace(problem, reason=str(error)))

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene."""
        problem = self.problem
        if self.change is not None:
            try:
                with refusals():
                    return self.change.apply(edit, frames)
            except InputError as error:
                problem = replace(problem, reason=str(error))
        edit.report(problem)
        return [problem]


def _names(parts: Iterable[_Part]) -> set[str]:
    return {part.problem.name for part in parts}


def _is_known(edit: Edit, name: str) -> bool:
    """Return whether an object of this name exists, with or without a pose."""
    return name in edit.objects or name in edit.problems


def _link_of(edit: Edit, name: str) -> str | None:
    """Return the link that carries an object; None if there is none, or the object has no pose."""
    return edit.object(name).link if name in edit.objects else None
