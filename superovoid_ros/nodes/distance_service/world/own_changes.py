# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Changes of objects and rules, read from the messages of this package (`changes.py`), and back."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from superovoid_interfaces.msg import SuperovoidObject
from superovoid_interfaces.srv import SetPairRules

from superovoid.robot import Robot
from superovoid.robot.planning_scene import OCTOMAP, Edit
from superovoid.robot.scene_objects import MORE
from superovoid.scene import Body
from superovoid.shapes import Superovoid
from superovoid.shapes.shape import check_length
from superovoid_ros.nodes.common.conversions import from_pose, to_pose
from superovoid_ros.nodes.common.mistakes import InputError, listing, refusals
from superovoid_ros.nodes.distance_service.world.changes import FROM_SERVICE, SCENE, Change, Note, Operation, in_link
from superovoid_ros.nodes.distance_service.world.frames import Frames

_OPERATIONS_OF_SUPEROVOIDS = {
    SuperovoidObject.ADD: Operation.ADD,
    SuperovoidObject.REMOVE: Operation.REMOVE,
    SuperovoidObject.MOVE: Operation.MOVE,
}


def superovoid_changes(messages: Sequence[SuperovoidObject]) -> SuperovoidChanges:
    """Return the changes of superovoid objects, in order."""
    return SuperovoidChanges(tuple(map(_superovoid_change, messages)))


def _superovoid_change(message: SuperovoidObject) -> SuperovoidChange:
    name, what = message.id, f"object '{message.id}'"
    if message.operation not in _OPERATIONS_OF_SUPEROVOIDS:
        raise InputError(f"{what}: operation = {message.operation}: must be ADD (0), REMOVE (1) or MOVE (2)")
    operation = _OPERATIONS_OF_SUPEROVOIDS[message.operation]
    if name or operation is not Operation.REMOVE:
        check_name(name)
    if operation is Operation.REMOVE:
        return SuperovoidChange(name, operation)
    return SuperovoidChange(
        name,
        operation,
        message.attach_link,
        message.header.frame_id,
        from_pose(message.pose, f"{what}: pose"),
        superovoid_of(message, what) if operation is Operation.ADD else None,
        tuple(message.touch_links),
    )


def rules_change(request: SetPairRules.Request) -> RulesChange:
    """Return the change of a request about rules."""
    count = len(request.links_a)
    if len(request.links_b) != count:
        raise InputError(f"request: {count} links_a, {len(request.links_b)} links_b: must be equally many")
    if len(request.checked) not in (1, count):
        raise InputError(
            f"request: {len(request.checked)} values of checked for {count} pairs: give one, or one a pair"
        )
    checked = list(request.checked) * count if len(request.checked) == 1 else request.checked
    pairs = [(a, b, bool(value)) for a, b, value in zip(request.links_a, request.links_b, checked, strict=True)]
    return RulesChange(pairs, request.reason, request.clear)


def superovoid_of(message: SuperovoidObject, what: str) -> Superovoid:
    """Return the shape of a superovoid object."""
    with refusals(what):
        for i, length in enumerate(message.size):
            check_length(f"size[{i}]", length)
        return Superovoid.from_goncalves(tuple(message.size), tuple(message.epsilon), tuple(message.taper))


def superovoid_object(body: Body) -> SuperovoidObject:
    """Return the message that adds a body to the world of a service, with its link at the robot's root.

    `InputError` for a body other than a superovoid.
    """
    if not isinstance(body.shape, Superovoid):
        raise InputError(f"object '{body.name}': must be a superovoid, found {body.shape!r}")
    shape = body.shape
    return SuperovoidObject(
        id=body.name,
        pose=to_pose(body.link_from_body),
        size=list(shape.semi_axes),
        epsilon=[shape.section_exponent, shape.profile_exponent],
        taper=list(shape.taper),
    )


def check_name(name: str) -> None:
    """Raise `InputError` for a name that no object may have."""
    if not name:
        raise InputError("object without id: give it one")
    if name == OCTOMAP:
        raise InputError(
            f"object '{OCTOMAP}': the name is MoveIt's own for its octomap, which planning scenes bring and remove: "
            "take another"
        )


# --- changes ---


@dataclass(frozen=True, eq=False)
class SuperovoidChange(Change):
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
                pose = in_link(frames, link, pose, what)
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
class SuperovoidChanges(Change):
    """Several of them, all or none."""

    changes: tuple[SuperovoidChange, ...]

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene."""
        return [note for change in self.changes for note in change.apply(edit, frames)]


@dataclass(frozen=True, eq=False)
class RulesChange(Change):
    """Rules of the run time."""

    pairs: Sequence[tuple[str, str, bool]]
    """Links, groups or objects (empty: any), and whether to check their pairs."""
    reason: str = ""
    clear: bool = False
    """Those of before are forgotten."""

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


def _names_of(edit: Edit, robot: Robot, name: str) -> tuple[str | None, ...]:
    """Return the links or objects that a name of a rule means; None is any."""
    if not name:
        return (None,)
    if name in edit.objects:
        return (name,)
    with refusals("request", f"objects: {listing(edit.objects)}"):
        return robot.links_of([name])
