# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""From this package's messages to changes of objects and rules (`changes.py`), and back."""

from __future__ import annotations

from collections.abc import Sequence

from superovoid_interfaces.msg import SuperovoidObject
from superovoid_interfaces.srv import SetPairRules

from superovoid.robot.planning_scene import OCTOMAP
from superovoid.scene import Body
from superovoid.shapes import Superovoid
from superovoid.shapes.shape import check_length
from superovoid_ros.nodes.common.conversions import from_pose, to_pose
from superovoid_ros.nodes.common.mistakes import InputError, refusals
from superovoid_ros.nodes.distance_service.world.changes import (
    Operation,
    RulesChange,
    SuperovoidChange,
    SuperovoidChanges,
)

_OPERATIONS_OF_SUPEROVOIDS = {
    SuperovoidObject.ADD: Operation.ADD,
    SuperovoidObject.REMOVE: Operation.REMOVE,
    SuperovoidObject.MOVE: Operation.MOVE,
}


def superovoid_changes(messages: Sequence[SuperovoidObject]) -> SuperovoidChanges:
    """Return what superovoid objects say, in their order."""
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
    """Return what a request about rules says."""
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
    """Return the message that adds a body to the world of a service, its link standing where the robot's root does.

    `InputError` for a body that is no superovoid.
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
