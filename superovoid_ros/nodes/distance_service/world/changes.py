# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What is to change about objects and rules, and how a planning scene is edited for it. No messages: `to_changes.py`.

A change is applied as a whole or not at all: where it raises, its edit is dropped.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Protocol, TypeAlias

import numpy as np

from superovoid.robot import Robot
from superovoid.robot.octomap import Octree
from superovoid.robot.planning_scene import OCTOMAP, Edit
from superovoid.robot.rules import AllowedCollisionMatrix
from superovoid.robot.scene_objects import MORE, Problem, ProblemKind
from superovoid.shapes import ConvexMesh, HalfSpace, Mesh, Shape, Superovoid
from superovoid_ros.nodes.common.mistakes import InputError, listing, refusals
from superovoid_ros.nodes.distance_service.world.frames import Frames

FROM_MOVEIT, FROM_SERVICE = "moveit", "superovoid"
"""Who brought an object: a whole planning scene replaces those of MoveIt's messages, and no others."""
SCENE = "<planning_scene>"
"""Stands for what a planning scene says beside objects (matrix, paddings, scales) where that could not be read. It goes
with the next whole scene, and not with objects."""
_SMALL = 1_000  # bytes, more or less, that anything takes


class Change(Protocol):
    """Something that is to change."""

    size: int
    """Bytes, more or less, that it holds."""

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene, and return what is worth a warning; raise where it makes no sense."""


Note: TypeAlias = str | Problem
"""What is worth a warning, or could not be used while the rest was applied."""


@dataclass(frozen=True)
class Refusal:
    """The change that is left of a message which cannot be used at all: its objects are not where they are to be."""

    problems: Sequence[Problem]

    @property
    def size(self) -> int:
        """Bytes, more or less."""
        return _size(self.problems)

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene."""
        for problem in self.problems:
            edit.report(problem)
        return []


class Operation(Enum):
    """What is to be done with an object."""

    ADD, REMOVE, APPEND, MOVE = range(4)


@dataclass(frozen=True, eq=False)
class Brought:
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
    """object_from_shape of an object that is moved, where they are given."""
    notes: tuple[str, ...] = ()
    """Worth a warning about the shapes."""
    subframes: Mapping[str, np.ndarray] = field(default_factory=dict)
    """object_from_subframe"""
    kind: tuple[str, str] = ("", "")
    """Data base and key of what the object is."""

    def placed(self, *, appended: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return object_from_shape, shape (n, 4, 4), and header_from_object.

        As in MoveIt the pose of a single shape is that of the object where the object itself has none, unless the shape
        is appended to an object that has its pose.
        """
        pose, poses = self.pose, self.poses
        if len(self.shapes) == 1 and not appended and not self.has_pose:
            pose, poses = poses[0], (np.eye(4),)
        return (np.array(poses) @ np.array(self.within) if self.within else np.array(poses)), pose

    @property
    def size(self) -> int:
        """Bytes, more or less."""
        meshes = [shape for shape in self.shapes if isinstance(shape, Mesh | ConvexMesh)]
        return _SMALL * (1 + len(self.shapes) + len(self.subframes)) + sum(
            200 * (len(one.vertices) + len(one.faces)) for one in meshes
        )


@dataclass(frozen=True, eq=False)
class ObjectChange:
    """An object of the world is added, appended to, moved or removed."""

    name: str
    """Empty: all, to be removed."""
    operation: Operation
    frame: str = ""
    brought: Brought = Brought()
    notes: tuple[str, ...] = ()
    """What in its message is left out."""

    @property
    def size(self) -> int:
        """Bytes, more or less."""
        return self.brought.size

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
            kind = (
                edit.object(name).kind if name in edit.objects else ("", "")
            )  # it stays where none is given, as in MoveIt
            edit.add(name, brought.shapes, poses, root_from_header @ pose, source=FROM_MOVEIT, given_in=given_in)
            edit.describe(name, brought.subframes, brought.kind if any(brought.kind) else kind)
        return [*self.notes, *brought.notes]

    def unusable(self, reason: str) -> Problem:
        """Return what keeps that this cannot be used."""
        kind = ProblemKind.NOTHING if self.operation is Operation.REMOVE else ProblemKind.ALL
        if self.operation is Operation.MOVE:
            kind = ProblemKind.PLACES if self.brought.moved else ProblemKind.POSE
        return Problem(self.name, kind, reason, source=FROM_MOVEIT)

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
class AttachedChange:
    """An object is attached to a link, added to, or given back to the world."""

    name: str
    """Empty: all, to be given back."""
    link: str
    """Empty: any, for one to be given back."""
    operation: Operation
    frame: str = ""
    touch_links: tuple[str, ...] = ()
    brought: Brought = Brought()

    @property
    def size(self) -> int:
        """Bytes, more or less."""
        return self.brought.size + _SMALL * len(self.touch_links)

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
            edit.attach(name, link, _in_link(frames, link, frames.object(name), what), self.touch_links)
            return []
        appended = self.operation is Operation.APPEND and there is not None and there.link is not None
        poses, pose = brought.placed(appended=appended)
        given = frames.link_of(self.frame)
        if given not in (link, None):
            with refusals(what):
                pose = frames.between(link, given) @ pose
        elif given is None:
            pose = _in_link(frames, link, frames.lookup(self.frame, what) @ pose, what)
        if not appended:
            edit.add(name, brought.shapes, poses, pose, link=link, touch_links=self.touch_links, source=FROM_MOVEIT)
            edit.describe(name, brought.subframes, brought.kind)
            return list(brought.notes)
        if not brought.has_pose:
            pose = there.pose if there.link == link else _in_link(frames, link, frames.object(name), what)
        # In this order: names that are wrong are told before anything has changed.
        edit.attach(name, link, pose, {*self.touch_links, *there.touch_links})
        edit.append(name, brought.shapes, poses)
        edit.describe(name, brought.subframes, brought.kind)
        return list(brought.notes)

    @property
    def attaches(self) -> bool:
        """Whether a link is to carry it."""
        return self.operation is not Operation.REMOVE

    def unusable(self, reason: str) -> Problem:
        """Return what keeps that this cannot be used."""
        kind = ProblemKind.PUT_DOWN if self.operation is Operation.REMOVE else ProblemKind.ALL
        return Problem(self.name, kind, reason, self.link, FROM_MOVEIT)

    def _needs_there(self, edit: Edit) -> bool:
        """Whether the object must be one that has its place: one that has none may be added anew."""
        return self.name in edit.objects or self.operation is not Operation.ADD or not self.brought.shapes


def _tried(change: ObjectChange | AttachedChange | OctomapChange | Problem, edit: Edit, frames: Frames) -> list[Note]:
    """Apply what is about one object; if it makes no sense that is reported, and the others go on."""
    problem = change
    if not isinstance(change, Problem):
        try:
            with refusals():
                return change.apply(edit, frames)
        except InputError as error:
            problem = change.unusable(str(error))
    edit.report(problem)
    return [problem]


@dataclass(frozen=True, eq=False)
class AttachedChanges:
    """The attached objects of a robot state."""

    whole: bool
    """Only these stay, of those that MoveIt brought."""
    changes: tuple[AttachedChange | Problem, ...] = ()

    @property
    def size(self) -> int:
        """Bytes, more or less."""
        return _size(self.changes)

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
class OctomapChange:
    """An octomap takes the place of the one before; an empty one removes it."""

    octree: Octree | None
    frame: str = ""
    pose: np.ndarray = field(default_factory=lambda: np.eye(4))
    """header_from_octree"""
    most_cubes: int = 0

    @property
    def size(self) -> int:
        """Bytes, more or less."""
        return _SMALL + (0 if self.octree is None else len(self.octree.data))

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene."""
        if self.octree is None:
            edit.remove_octomap()
        else:
            pose = frames.lookup(self.frame, "octomap") @ self.pose
            edit.set_octomap(self.octree, pose, self.most_cubes, frames.given_in(self.frame))
        return []

    def unusable(self, reason: str) -> Problem:
        """Return what keeps that this cannot be used."""
        return Problem(OCTOMAP, reason=reason, source=FROM_MOVEIT)


@dataclass(frozen=True, eq=False)
class SceneChange:
    """A planning scene, or a difference to one.

    An object, attached or not, or an octomap that cannot be used is refused, and all else is applied, as in MoveIt.
    Of a difference, what says no more than what holds already (matrix, paddings, octomap) changes nothing.
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
    """It replaces the objects of the world that MoveIt's messages have brought, also where it is no whole scene."""

    @property
    def leaves_nothing(self) -> bool:
        """Whether it replaces all that MoveIt's messages have brought, attached objects too."""
        return self.whole and self.attached.whole

    @property
    def size(self) -> int:
        """Bytes, more or less."""
        parts = (self.attached, *self.objects, *((self.octomap,) if self.octomap else ()))
        entries = 0 if self.matrix is None else len(self.matrix.entries) + len(self.matrix.defaults)
        names = len(self.colours) + len(self.fixed_frames) + len(self.paddings) + len(self.scales)
        return _SMALL * (1 + names) + 500 * entries + _size(parts)

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
            # move_group says so when it attaches an object: gone from the world, in another part of the same message.
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
                pass  # of no use here, and an error only where an object is given in it
        robot = frames.robot.name
        if self.robot not in ("", robot):
            return [f"the planning scene is one of robot '{self.robot}'; this one is '{robot}'"]
        return []


@dataclass(frozen=True, eq=False)
class SuperovoidChange:
    """A superovoid is added, moved or removed."""

    name: str
    """Empty: all, attached or not, to be removed."""
    operation: Operation
    link: str = ""
    """That carries it; empty: none."""
    frame: str = ""
    pose: np.ndarray = field(default_factory=lambda: np.eye(4))
    """header_from_object"""
    shape: Superovoid | None = None
    touch_links: tuple[str, ...] = ()
    """Besides the link that carries it, which it always may touch: MoveIt's objects may not."""

    @property
    def size(self) -> int:
        """Bytes, more or less."""
        return _SMALL * (2 + len(self.touch_links))

    @property
    def _touched(self) -> tuple[str, ...]:
        return (*self.touch_links, self.link) if self.link else ()

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene."""
        name, link, pose, what = self.name, self.link, self.pose, f"object '{self.name}'"
        if self.operation is Operation.REMOVE:
            if name:
                edit.remove(name)
            else:
                edit.remove_all(but={SCENE})
                edit.remove_all(attached=True, but={MORE})
            return []
        given_in = None
        if not link or frames.link_of(self.frame) != link:
            pose = frames.lookup(self.frame, what) @ pose
            if link:
                pose = _in_link(frames, link, pose, what)
            else:
                given_in = frames.given_in(self.frame)
        if self.operation is Operation.ADD:
            options = {"link": link or None, "touch_links": self._touched, "source": FROM_SERVICE}
            options["given_in"] = given_in
            edit.add(name, [self.shape], [np.eye(4)], pose, **options)
        elif link:
            edit.attach(name, link, pose, self._touched)
        else:
            edit.detach(name, pose, given_in)
        return []


@dataclass(frozen=True, eq=False)
class SuperovoidChanges:
    """Several of them, all or none."""

    changes: tuple[SuperovoidChange, ...]

    @property
    def size(self) -> int:
        """Bytes, more or less."""
        return sum(change.size for change in self.changes)

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene."""
        return [note for change in self.changes for note in change.apply(edit, frames)]


@dataclass(frozen=True, eq=False)
class RulesChange:
    """Rules of the run time."""

    pairs: Sequence[tuple[str, str, bool]]
    """Links, groups or objects (empty: any), and whether their pairs are to be checked."""
    reason: str = ""
    clear: bool = False
    """Those of before are forgotten."""

    @property
    def size(self) -> int:
        """Bytes, more or less."""
        return _SMALL * (1 + len(self.pairs))

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene."""
        if self.clear:
            edit.clear_runtime()
        for name_a, name_b, checked in self.pairs:
            sides = [_names_of(edit, frames.robot, name) for name in (name_a, name_b)]
            product = itertools.product(*sides)
            pairs = {frozenset(pair): pair for pair in product if pair[0] != pair[1] or pair[0] is None}
            if not pairs:
                raise InputError(f"request: '{name_a}' with '{name_b}': bodies on one link are never checked")
            for a, b in pairs.values():
                edit.set_runtime(a, b, checked, self.reason)
        return []


# --- parts ---


def _size(changes: Iterable[Change | Problem]) -> int:
    """Return how many bytes changes hold, more or less."""
    return sum(_SMALL + len(one.reason) if isinstance(one, Problem) else one.size for one in changes)


def _is_known(edit: Edit, name: str) -> bool:
    """Whether there is an object of a name, whether it has a place or not."""
    return name in edit.objects or name in edit.problems


def _in_link(frames: Frames, link: str, root_from_object: np.ndarray, what: str) -> np.ndarray:
    """Return link_from_object."""
    try:
        return np.linalg.inv(frames.link(link)) @ root_from_object
    except InputError as error:
        raise InputError(f"{what}: {error}") from error


def _check_no_plane(edit: Edit, name: str) -> None:
    if any(isinstance(shape, HalfSpace) for shape in edit.object(name).shapes):
        raise InputError(
            f"object '{name}': MOVE gives shapes new poses, and one of them is a plane: ADD it anew instead"
        )


def _detach(edit: Edit, frames: Frames, name: str, link: str) -> list[Note]:
    """Give one attached object, or all, back to the world where they are."""
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


def _names_of(edit: Edit, robot: Robot, name: str) -> tuple[str | None, ...]:
    """Return the links or objects that a name of a rule means; None is any."""
    if not name:
        return (None,)
    if name in edit.objects:
        return (name,)
    with refusals("request", f"objects: {listing(edit.objects)}"):
        return robot.links_of([name])
