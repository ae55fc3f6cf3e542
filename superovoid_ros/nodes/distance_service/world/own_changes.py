# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Changes of objects and rules from the messages of this package (`Change`), and back."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

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
from superovoid_ros.nodes.distance_service.world.current import FROM_SERVICE, SCENE, Change, Note
from superovoid_ros.nodes.distance_service.world.frames import Frames


class SuperovoidChanges(Change):
    """Superovoids are added, moved or removed, in order: all or none."""

    def __init__(self, messages: Sequence[SuperovoidObject]) -> None:
        self._changes = [_SuperovoidChange(message) for message in messages]

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene."""
        return [note for change in self._changes for note in change.apply(edit, frames)]


class _SuperovoidChange(Change):
    def __init__(self, message: SuperovoidObject) -> None:
        self._message, self._what = message, f"object '{message.id}'"
        operation = message.operation
        if operation not in (SuperovoidObject.ADD, SuperovoidObject.REMOVE, SuperovoidObject.MOVE):
            raise InputError(f"{self._what}: operation = {operation}: must be ADD (0), REMOVE (1) or MOVE (2)")
        if operation == SuperovoidObject.REMOVE:
            if message.id:
                check_name(message.id)
            return
        check_name(message.id)
        self._pose = from_pose(message.pose, f"{self._what}: pose")
        if operation == SuperovoidObject.ADD:
            self._shape = _superovoid_of(message, self._what)

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene."""
        name, link, operation = self._message.id, self._message.attach_link, self._message.operation
        if operation == SuperovoidObject.REMOVE:
            if name:
                edit.remove(name)
            else:
                edit.remove_all(but={SCENE})
                edit.remove_all(attached=True, but={MORE})
            return []
        frame, pose, given_in = self._message.header.frame_id, self._pose, None
        if not link or frames.link_of(frame) != link:
            pose = frames.lookup(frame, self._what) @ pose
            if link:
                pose = frames.in_link(link, pose, self._what)
            else:
                given_in = frames.given_in(frame)
        # It may touch the link that carries it, as MoveIt's objects may not.
        touched = (*self._message.touch_links, link) if link else ()
        if operation == SuperovoidObject.ADD:
            options = {"link": link or None, "touch_links": touched, "source": FROM_SERVICE, "given_in": given_in}
            edit.add(name, [self._shape], [np.eye(4)], pose, **options)
        elif link:
            edit.attach(name, link, pose, touched)
        else:
            edit.detach(name, pose, given_in)
        return []


class RulesChange(Change):
    """Rules of the run time are set, and those of before forgotten if the request says so."""

    def __init__(self, request: SetPairRules.Request) -> None:
        self._request, count = request, len(request.links_a)
        if len(request.links_b) != count:
            raise InputError(f"request: {count} links_a, {len(request.links_b)} links_b: must be equally many")
        if len(request.checked) not in (1, count):
            raise InputError(
                f"request: {len(request.checked)} values of checked for {count} pairs: give one, or one a pair"
            )
        self._checked = list(request.checked) * (count if len(request.checked) == 1 else 1)

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene."""
        request = self._request
        if request.clear:
            edit.clear_runtime()
        for name_a, name_b, checked in zip(request.links_a, request.links_b, self._checked, strict=True):
            sides = [_names_of(edit, frames.robot, name) for name in (name_a, name_b)]
            product = itertools.product(*sides)
            pairs = {frozenset(pair): pair for pair in product if pair[0] != pair[1] or pair[0] is None}
            if not pairs:
                raise InputError(f"request: '{name_a}' with '{name_b}': bodies on one link are never checked")
            for a, b in pairs.values():
                edit.set_runtime(a, b, bool(checked), request.reason)
        return []


def _names_of(edit: Edit, robot: Robot, name: str) -> tuple[str | None, ...]:
    """Return the links or objects that a name of a rule means; None is any."""
    if not name:
        return (None,)
    if name in edit.objects:
        return (name,)
    with refusals("request", f"objects: {listing(edit.objects)}"):
        return robot.links_of([name])


def _superovoid_of(message: SuperovoidObject, what: str) -> Superovoid:
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
