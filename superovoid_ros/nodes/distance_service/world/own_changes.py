# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Changes of objects and rules by this package's messages."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from superovoid_interfaces.msg import SuperovoidObject
from superovoid_interfaces.srv import SetPairRules

from superovoid.robot import Robot
from superovoid.robot.planning_scene import OCTOMAP, Edit
from superovoid.robot.scene_objects import MORE
from superovoid.shapes import Superovoid
from superovoid.shapes.shape import check_length
from superovoid_ros.nodes.common.conversions import from_pose
from superovoid_ros.nodes.common.mistakes import InputError, listing, refusals
from superovoid_ros.nodes.distance_service.world.current_model import FROM_SERVICE, Note
from superovoid_ros.nodes.distance_service.world.frames import Frames


def apply_superovoids(messages: Sequence[SuperovoidObject], edit: Edit, frames: Frames) -> list[Note]:
    """Add, move and remove superovoids, in order: all or none."""
    for message in messages:
        operation, what = message.operation, f"object '{message.id}'"
        if operation not in (SuperovoidObject.ADD, SuperovoidObject.REMOVE, SuperovoidObject.MOVE):
            raise InputError(f"{what}: operation = {operation}: must be ADD (0), REMOVE (1) or MOVE (2)")
        if message.id or operation != SuperovoidObject.REMOVE:
            check_object_name(message.id)
        if operation != SuperovoidObject.REMOVE:
            _place(message, what, edit, frames)
        elif message.id:
            edit.remove(message.id)
        else:
            edit.remove_all()
            edit.remove_all(attached=True, but={MORE})
    return []


def _place(message: SuperovoidObject, what: str, edit: Edit, frames: Frames) -> None:
    """Add or move a superovoid."""
    name, link, pose = message.id, message.attach_link or None, from_pose(message.pose, f"{what}: pose")
    pose, outside_frame = frames.place(message.header.frame_id, pose, link, what)
    # Unlike MoveIt's objects, it may touch the link that carries it.
    touched = () if link is None else (*message.touch_links, link)
    if message.operation == SuperovoidObject.ADD:
        with refusals(what):
            for i, length in enumerate(message.size):
                check_length(f"size[{i}]", length)
            shape = Superovoid.from_goncalves(tuple(message.size), tuple(message.epsilon), tuple(message.taper))
        options = {"link": link, "touch_links": touched, "source": FROM_SERVICE, "outside_frame": outside_frame}
        edit.add(name, [shape], [np.eye(4)], pose, **options)
    elif link is not None:
        edit.attach(name, link, pose, touched)
    else:
        edit.detach(name, pose, outside_frame)


def apply_rules(request: SetPairRules.Request, edit: Edit, frames: Frames) -> list[Note]:
    """Add runtime rules, after removal of the previous ones if the request asks for that."""
    count, checked = len(request.links_a), list(request.checked)
    if len(request.links_b) != count:
        raise InputError(f"request: {count} links_a, {len(request.links_b)} links_b: must be the same number")
    if len(checked) not in (1, count):
        raise InputError(f"request: {len(checked)} values of checked for {count} pairs: must be 1, or 1 for each pair")
    if request.clear:
        edit.clear_runtime()
    checked *= count if len(checked) == 1 else 1
    for name_a, name_b, is_checked in zip(request.links_a, request.links_b, checked, strict=True):
        sides = [_names_of(edit, frames.robot, name) for name in (name_a, name_b)]
        product = itertools.product(*sides)
        pairs = {frozenset(pair): pair for pair in product if pair[0] != pair[1] or pair[0] is None}
        if not pairs:
            raise InputError(f"request: '{name_a}' with '{name_b}': bodies on one link are never checked")
        for a, b in pairs.values():
            edit.set_runtime(a, b, bool(is_checked), request.reason)
    return []


def _names_of(edit: Edit, robot: Robot, name: str) -> tuple[str | None, ...]:
    """Return the links or objects that a name in a rule means; None means any."""
    if not name:
        return (None,)
    if name in edit.objects:
        return (name,)
    with refusals("request", f"objects: {listing(edit.objects)}"):
        return robot.links_of([name])


def check_object_name(name: str) -> None:
    """Raise `InputError` for a name that no object may have."""
    if not name:
        raise InputError("object without id: set its id")
    if name in (OCTOMAP, MORE):
        raise InputError(f"object '{name}': the name is reserved, use another")
