# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Changes of objects and rules, read from MoveIt's messages (`changes.py`).

What is wrong with a message by itself is found when it is read; what is wrong with it for this robot and these objects,
when its change is applied.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeVar

import numpy as np
from geometry_msgs.msg import Pose
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, PlanningScene, PlanningSceneWorld, RobotState

from superovoid.robot.limits import MAXIMUM_NAME, Limits
from superovoid.robot.octomap import Octree
from superovoid.robot.planning_scene import OCTOMAP, Edit
from superovoid.robot.rules import AllowedCollisionMatrix
from superovoid.robot.scene_objects import MORE, Problem, ProblemKind
from superovoid.shapes import HalfSpace, Shape
from superovoid_ros.nodes.common.conversions import from_pose, from_transform
from superovoid_ros.nodes.common.mistakes import InputError, listing, refusals, shortened
from superovoid_ros.nodes.distance_service.world.changes import FROM_MOVEIT, SCENE, Change, Note, Operation, in_link
from superovoid_ros.nodes.distance_service.world.frames import Frames
from superovoid_ros.nodes.distance_service.world.objects import (
    has_shapes,
    matrix_of,
    octree_of,
    shape_poses_of,
    shapes_of,
    subframes_of,
)
from superovoid_ros.nodes.distance_service.world.own_changes import check_name

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
    """Return the change of a collision object."""
    name, operation, frame = message.id, _operation(message), message.header.frame_id
    what = f"object '{name}'"
    if name or operation is not Operation.REMOVE:
        check_name(name)
    if operation is Operation.REMOVE:
        return ObjectChange(name, operation, _problem_of(message))
    if operation is Operation.MOVE:
        pose, moved = from_pose(message.pose, f"{what}: pose"), tuple(shape_poses_of(message, what))
        left_out = (f"{what}: moved; the shapes in the message are not looked at",) if has_shapes(message) else ()
        brought = ObjectContents(pose=pose, moved=moved)
        return ObjectChange(name, operation, _problem_of(message), frame, brought, left_out)
    return ObjectChange(name, operation, _problem_of(message), frame, _brought(message, what, open_meshes))


def attached_change(message: AttachedCollisionObject, open_meshes: str = "hull") -> AttachedChange:
    """Return the change of an attached collision object."""
    thing, operation = message.object, _operation(message.object)
    name, link, what = thing.id, message.link_name, f"attached object '{thing.id}'"
    if operation is Operation.REMOVE:
        return AttachedChange(name, link, operation, _problem_of(message))
    if operation is Operation.MOVE:
        raise InputError(
            f"{what}: MOVE is for objects of the world (MoveIt knows no other either): ADD it at its new pose"
        )
    check_name(name)
    brings = operation is not Operation.ADD or has_shapes(thing)
    brought = _brought(thing, what, open_meshes) if brings else ObjectContents()
    problem, frame, touched = _problem_of(message), thing.header.frame_id, tuple(message.touch_links)
    return AttachedChange(name, link, operation, problem, frame, touched, brought)


def attached_changes(
    state: RobotState,
    *,
    whole: bool = False,
    read: Callable[[AttachedCollisionObject], AttachedChange | Problem] = attached_change,
) -> AttachedChanges:
    """Return the change of attached objects of a robot state: unless it is a difference, it replaces all of them.

    Parameters
    ----------
    state
        The state.
    whole
        True for the state of a whole scene; its own joints do not matter.
    read
        Of one of them.
    """
    measured = len(state.joint_state.name) or len(state.multi_dof_joint_state.joint_names)
    changes = tuple(map(read, state.attached_collision_objects))
    return AttachedChanges(bool(not state.is_diff and (whole or measured)), changes)


def scene_change(
    message: PlanningScene, most_cubes: int, open_meshes: str = "hull", most_objects: int = Limits().objects
) -> SceneChange:
    """Return the change of a planning scene, or of a difference to one.

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

    def attached(one: AttachedCollisionObject) -> AttachedChange | Problem:
        return _read(lambda one: attached_change(one, open_meshes), one, _problem_of(one))

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
        tuple(
            _read(lambda one: object_change(one, open_meshes), one, _problem_of(one))
            for one in message.world.collision_objects
        ),
        _read(lambda one: _octomap_change(one, most_cubes), message, OctomapChange.problem),
        _positions_of(message.robot_state),
    )


def world_change(message: PlanningSceneWorld, *options: object) -> SceneChange:
    """Return the change of a world, which replaces the last one; options as for `scene_change`."""
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


def _read(read: Callable[[Message], Read], message: Message, problem: Problem) -> Read | Problem:
    """Return what reads one object of a message, or the problem with it."""
    try:
        with refusals():
            return read(message)
    except InputError as error:
        return replace(problem, reason=str(error))


def _octomap_change(message: PlanningScene, most_cubes: int) -> OctomapChange | None:
    """Return what becomes of the octomap; None: it stays.

    As in MoveIt, a difference without octomap leaves the previous one. An empty octomap differs from none by its id.
    """
    octomap = message.world.octomap
    if len(octomap.octomap.data):
        pose = from_pose(octomap.origin, "octomap: origin")
        return OctomapChange(octree_of(octomap.octomap), octomap.header.frame_id, pose, most_cubes)
    return OctomapChange(None) if octomap.octomap.id or not message.is_diff else None


def is_about_objects(message: PlanningScene) -> bool:
    """Return whether a planning scene is about objects, apart from the octomap, which is often sent again."""
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


def _brought(message: CollisionObject, what: str, open_meshes: str) -> ObjectContents:
    shapes, poses, within, notes = shapes_of(message, what, open_meshes)
    pose = from_pose(message.pose, f"{what}: pose")
    return ObjectContents(
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


def _problem_of(message: CollisionObject | AttachedCollisionObject) -> Problem:
    """Return what is missing if a message about one object is refused; `ProblemKind.NOTHING` if nothing is."""
    kind = ProblemKind.ALL
    if isinstance(message, AttachedCollisionObject):
        if message.object.operation == CollisionObject.REMOVE:
            kind = ProblemKind.PUT_DOWN  # it would go on moving with its link
        return Problem(_kept(message.object.id), kind, link=_kept(message.link_name), source=FROM_MOVEIT)
    if message.operation == CollisionObject.REMOVE:
        kind = ProblemKind.NOTHING
    elif message.operation == CollisionObject.MOVE:
        of_shapes = (message.primitive_poses, message.mesh_poses, message.plane_poses)
        kind = ProblemKind.PLACES if any(len(poses) for poses in of_shapes) else ProblemKind.POSE
    return Problem(_kept(message.id), kind, source=FROM_MOVEIT)


def missing_without(
    message: CollisionObject | AttachedCollisionObject | PlanningScene, most_objects: int = Limits().objects
) -> list[Problem]:
    """Return what is missing if a message is refused.

    `MORE` stands for the objects of a planning scene that adds more than there may be.
    """
    if not isinstance(message, PlanningScene):
        return [_problem_of(message)]
    world, attached = message.world, message.robot_state.attached_collision_objects
    found = [Problem(MORE, link="", source=FROM_MOVEIT)]
    if _added(message) <= most_objects:
        found = [_problem_of(one) for one in (*attached, *world.collision_objects)]
        found = [problem for problem in found if problem.kind is not ProblemKind.NOTHING]
    if len(world.octomap.octomap.data):
        found.append(OctomapChange.problem)
    # A whole scene replaces matrix and octomap.
    settings = (message.allowed_collision_matrix.entry_names, message.link_padding, message.link_scale)
    if not found or not message.is_diff or any(len(entries) for entries in settings):
        found.append(Problem(SCENE, source=FROM_MOVEIT))
    return found


def _kept(name: str) -> str:
    return name if len(name) <= MAXIMUM_NAME else shortened(name, MAXIMUM_NAME - 60)


# --- changes ---


@dataclass(frozen=True, eq=False)
class ObjectContents:
    """The shapes and poses that a message brings for an object."""

    shapes: tuple[Shape, ...] = ()
    poses: tuple[np.ndarray, ...] = ()
    """object_from_shape as given, one each"""
    within: tuple[np.ndarray, ...] = ()
    """Of each: what turns the shape as given into the body here, as of a plane; empty if nothing turns any."""
    pose: np.ndarray = field(default_factory=lambda: np.eye(4))
    """header_from_object"""
    has_pose: bool = False
    """Whether the object's pose is given."""
    moved: tuple[np.ndarray, ...] = ()
    """object_from_shape of a moved object, if given."""
    notes: tuple[str, ...] = ()
    """Worth a warning about the shapes."""
    subframes: Mapping[str, np.ndarray] = field(default_factory=dict)
    """object_from_subframe"""
    kind: tuple[str, str] = ("", "")
    """Data base and key of what the object is."""

    def placed(self, *, appended: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return object_from_shape, shape (n, 4, 4), and header_from_object.

        As in MoveIt, the pose of a single shape becomes that of the object if the object itself has none, unless the
        shape is appended to an object with a pose.
        """
        pose, poses = self.pose, self.poses
        if len(self.shapes) == 1 and not appended and not self.has_pose:
            pose, poses = poses[0], (np.eye(4),)
        return (np.array(poses) @ np.array(self.within) if self.within else np.array(poses)), pose


@dataclass(frozen=True, eq=False)
class ObjectChange(Change):
    """An object of the world is added, appended to, moved or removed."""

    is_of_one_object: ClassVar[bool] = True

    name: str
    """Empty: all, to be removed."""
    operation: Operation
    problem: Problem
    """What is missing, but for the reason, if this cannot be applied."""
    frame: str = ""
    brought: ObjectContents = ObjectContents()
    notes: tuple[str, ...] = ()
    """What in its message is left out."""

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene."""
        name, operation, brought, what = self.name, self.operation, self.brought, f"object '{self.name}'"
        if operation is Operation.REMOVE:
            return self._remove(edit, what)
        if name in edit.objects and edit.object(name).link is not None:
            raise InputError(
                f"{what}: is attached to link '{edit.object(name).link}': detach it first, by REMOVE on "
                "attached_collision_object"
            )
        root_from_header = frames.lookup(self.frame, what)
        if operation is Operation.MOVE:
            if brought.moved and name in edit.objects:
                _check_no_plane(edit, name)
            edit.move(name, root_from_header @ brought.pose, brought.moved or None, frames.given_in(self.frame))
        elif operation is Operation.APPEND and _is_known(edit, name):
            edit.append(name, brought.shapes, brought.placed(appended=True)[0])
            edit.describe(name, brought.subframes, brought.kind)
        else:
            poses, pose = brought.placed()
            given_in = frames.given_in(self.frame)
            # Its kind stays if none is given, as in MoveIt.
            kind = edit.object(name).kind if name in edit.objects else ("", "")
            edit.add(name, brought.shapes, poses, root_from_header @ pose, source=FROM_MOVEIT, given_in=given_in)
            edit.describe(name, brought.subframes, brought.kind if any(brought.kind) else kind)
        return [*self.notes, *brought.notes]

    def _remove(self, edit: Edit, what: str) -> list[Note]:
        if not self.name:
            edit.remove_all(but={SCENE})
            return []
        if not _is_known(edit, self.name):
            return [f"{what}: to be removed, but does not exist (objects: {listing(edit.objects)})"]
        if self.name in edit.objects and edit.object(self.name).link is not None:
            return [f"{what}: not removed from the world: it is attached to link '{edit.object(self.name).link}'"]
        edit.remove(self.name)
        return []


@dataclass(frozen=True, eq=False)
class AttachedChange(Change):
    """An object is attached to a link, added to, or given back to the world."""

    is_of_one_object: ClassVar[bool] = True

    name: str
    """Empty: all, to be given back."""
    link: str
    """Empty: any, for one to be given back."""
    operation: Operation
    problem: Problem
    """As of `ObjectChange`."""
    frame: str = ""
    touch_links: tuple[str, ...] = ()
    brought: ObjectContents = ObjectContents()

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene."""
        name, link, brought, what = self.name, self.link, self.brought, f"attached object '{self.name}'"
        if self.operation is Operation.REMOVE:
            return _detach(edit, frames, name, link)
        there = edit.object(name) if _is_known(edit, name) and self._needs_there(edit) else None
        if self.operation is Operation.ADD and not brought.shapes:
            if there is None:
                raise InputError(
                    f"{what}: brings no shape, and no object of that name exists (objects: {listing(edit.objects)})"
                )
            edit.attach(name, link, in_link(frames, link, frames.object(name), what), self.touch_links)
            return []
        appended = self.operation is Operation.APPEND and there is not None and there.link is not None
        poses, pose = brought.placed(appended=appended)
        given = frames.link_of(self.frame)
        if given not in (link, None):
            with refusals(what):
                pose = frames.between(link, given) @ pose
        elif given is None:
            pose = in_link(frames, link, frames.lookup(self.frame, what) @ pose, what)
        if not appended:
            edit.add(name, brought.shapes, poses, pose, link=link, touch_links=self.touch_links, source=FROM_MOVEIT)
            edit.describe(name, brought.subframes, brought.kind)
            return list(brought.notes)
        if not brought.has_pose:
            pose = there.pose if there.link == link else in_link(frames, link, frames.object(name), what)
        # In this order: invalid names are refused before anything has changed.
        edit.attach(name, link, pose, {*self.touch_links, *there.touch_links})
        edit.append(name, brought.shapes, poses)
        edit.describe(name, brought.subframes, brought.kind)
        return list(brought.notes)

    @property
    def attaches(self) -> bool:
        """Whether a link is to carry it."""
        return self.operation is not Operation.REMOVE

    def _needs_there(self, edit: Edit) -> bool:
        """Whether the object must have a pose: one without a pose may be added again."""
        return self.name in edit.objects or self.operation is not Operation.ADD or not self.brought.shapes


@dataclass(frozen=True, eq=False)
class AttachedChanges(Change):
    """The attached objects of a robot state."""

    whole: bool
    """Whether all other objects from MoveIt's messages are removed."""
    changes: tuple[AttachedChange | Problem, ...] = ()

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene, or raise."""
        self._remove_others(edit)
        return [note for change in self.changes for note in change.apply(edit, frames)]

    def apply_each(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene; an object that makes no sense is refused, and the others are applied."""
        self._remove_others(edit)
        return [note for change in self.changes for note in _tried(change, edit, frames)]

    def _remove_others(self, edit: Edit) -> None:
        """Remove the others where only these stay, but those of ~/apply_objects, which MoveIt does not know of."""
        if self.whole:
            edit.remove_all(attached=True, source=FROM_MOVEIT, but={change.name for change in self.changes})

    def apply_for_question(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene for one question: what is removed is gone, not put down in the world.

        What is returned is a reason not to answer; that the hull of an open mesh is taken, which is larger, is none.
        """
        kept = []
        for change in self.changes:
            if change.operation is not Operation.REMOVE:
                kept.append(replace(change, brought=replace(change.brought, notes=())))
                continue
            for name in tuple(edit.objects):
                link = edit.object(name).link
                if link is not None and change.link in ("", link) and change.name in ("", name):
                    edit.remove(name)
        return AttachedChanges(self.whole, tuple(kept)).apply(edit, frames)


@dataclass(frozen=True, eq=False)
class OctomapChange(Change):
    """An octomap takes the place of the one before; an empty one removes it."""

    problem: ClassVar[Problem] = Problem(OCTOMAP, source=FROM_MOVEIT)

    octree: Octree | None
    frame: str = ""
    pose: np.ndarray = field(default_factory=lambda: np.eye(4))
    """header_from_octree"""
    most_cubes: int = 0

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene."""
        if self.octree is None:
            edit.remove_octomap()
        else:
            pose = frames.lookup(self.frame, "octomap") @ self.pose
            edit.set_octomap(self.octree, pose, self.most_cubes, frames.given_in(self.frame))
        return []


@dataclass(frozen=True, eq=False)
class SceneChange(Change):
    """A planning scene, or a difference to one.

    An object, attached or not, or an octomap that cannot be used is refused, and all else is applied, as in MoveIt.
    The parts of a difference that equal the present ones (matrix, paddings, octomap) change nothing.
    """

    whole: bool
    """It replaces what MoveIt's messages have brought."""
    name: str = ""
    robot: str = ""
    """Whose scene it is; empty: of any."""
    colours: Mapping[str, tuple[float, float, float, float]] = field(default_factory=dict)
    fixed_frames: Sequence[tuple[str, str, np.ndarray]] = ()
    """child, parent, parent_from_child"""
    attached: AttachedChanges = AttachedChanges(whole=False)
    matrix: AllowedCollisionMatrix | None = None
    """None: it stays as it is"""
    paddings: Mapping[str, float] = field(default_factory=dict)
    scales: Mapping[str, float] = field(default_factory=dict)
    objects: tuple[ObjectChange | Problem, ...] = ()
    octomap: OctomapChange | Problem | None = None
    positions: Mapping[str, float] = field(default_factory=dict)
    """Of joints [rad] or [m]: for those that nothing measures."""
    whole_world: bool = False
    """Whether it replaces the objects of the world from MoveIt's messages, even if it is no whole scene."""

    @property
    def replaces_all(self) -> bool:
        """Whether it replaces all that MoveIt's messages have brought, attached objects too."""
        return self.whole and self.attached.whole

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene."""
        notes = self._take_names(edit, frames)
        notes += self.attached.apply_each(edit, frames)
        if self.matrix is not None and self.matrix != edit.matrix_in_force():
            edit.set_matrix(self.matrix)
        paddings = dict(edit.padding.by_name)
        for name, padding in self.paddings.items():
            if padding != paddings.get(name, edit.padding.default):
                paddings[name] = padding
        edit.padding = replace(edit.padding, by_name=paddings)
        edit.scales |= self.scales
        if self.whole or self.whole_world:
            kept = {change.name for change in self.objects}
            edit.remove_all(source=FROM_MOVEIT, but=kept if self.whole else kept | {SCENE})
        attaches = {change.name for change in self.attached.changes if change.attaches}
        for change in self.objects:
            # move_group attaches an object with a REMOVE of the world in another part of the same message.
            name, removes = change.name, isinstance(change, ObjectChange) and change.operation is Operation.REMOVE
            if removes and name in edit.objects and edit.object(name).link is not None:
                continue
            problem = edit.problems.get(name) if removes and name in attaches else None
            notes += _tried(change, edit, frames)
            if problem is not None:  # it could not be attached
                edit.report(replace(problem, kind=ProblemKind.ALL, thing=None, source=FROM_MOVEIT))
        if self.octomap is not None:
            notes += _tried(self.octomap, edit, frames)
        return notes

    def _take_names(self, edit: Edit, frames: Frames) -> list[Note]:
        """Take over names, colours and the frames that a scene brings."""
        if self.name or self.whole:
            edit.name = self.name
        if self.whole:
            edit.colours.clear()
        edit.colours |= self.colours
        for child, parent, pose in self.fixed_frames:
            try:
                frames.fix(child, parent, pose)
            except InputError:
                pass  # not used here; an error only if an object is given in it
        robot = frames.robot.name
        if self.robot not in ("", robot):
            return [f"the planning scene is one of robot '{self.robot}'; this one is '{robot}'"]
        return []


def _tried(change: ObjectChange | AttachedChange | OctomapChange | Problem, edit: Edit, frames: Frames) -> list[Note]:
    """Apply the change of one object; an error is reported, and the other objects go on."""
    problem = change
    if not isinstance(change, Problem):
        try:
            with refusals():
                return change.apply(edit, frames)
        except InputError as error:
            problem = replace(change.problem, reason=str(error))
    edit.report(problem)
    return [problem]


def _is_known(edit: Edit, name: str) -> bool:
    """Whether there is an object of a name, whether it has a place or not."""
    return name in edit.objects or name in edit.problems


def _check_no_plane(edit: Edit, name: str) -> None:
    if any(isinstance(shape, HalfSpace) for shape in edit.object(name).shapes):
        raise InputError(
            f"object '{name}': MOVE gives shapes new poses, and one of them is a plane: ADD it anew instead"
        )


def _detach(edit: Edit, frames: Frames, name: str, link: str) -> list[Note]:
    """Return one attached object, or all, to the world at their present poses."""
    notes: list[Note] = []
    if not name:
        chosen = [other for other in edit.objects if edit.object(other).link is not None]
        chosen = [other for other in chosen if link in ("", edit.object(other).link)]
        nowhere = [other for other, problem in edit.problems.items() if problem.link is not None]
        notes = [f"attached object '{other}': has no place to be put down at: remove it" for other in nowhere]
    elif not _is_known(edit, name) or edit.object(name).link is None:
        return [f"attached object '{name}': to be detached, but nothing of that name is attached"]
    elif link not in ("", edit.object(name).link):
        raise InputError(
            f"attached object '{name}': is attached to link '{edit.object(name).link}', not '{link}': "
            "name that link, or none"
        )
    else:
        chosen = [name]
    for other in chosen:
        edit.detach(other, frames.object(other))
    return notes
