# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Changes of objects and rules, read from messages, which edit a planning scene. No messages.

`own_changes.py` reads the messages of this package, `moveit_changes.py` those of MoveIt. A change is applied as a whole
or not at all: if it raises, its edit is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import ClassVar, TypeAlias

import numpy as np

from superovoid.robot.planning_scene import Edit
from superovoid.robot.scene_objects import Problem
from superovoid_ros.nodes.common.mistakes import InputError
from superovoid_ros.nodes.distance_service.world.frames import Frames

FROM_MOVEIT, FROM_SERVICE = "moveit", "superovoid"
"""Who brought an object: a whole planning scene replaces those of MoveIt's messages, and no others."""
SCENE = "<planning_scene>"
"""Name of the problem with an unreadable matrix, padding or scale of a planning scene. The next whole scene removes it;
objects do not."""

Note: TypeAlias = str | Problem
"""What is worth a warning, or could not be used while the rest was applied."""


class Operation(Enum):
    """An operation on an object."""

    ADD, REMOVE, APPEND, MOVE = range(4)


class Change:
    """A change of objects or rules."""

    is_of_one_object: ClassVar[bool] = False
    """Whether it leaves the edit as it was if it raises."""
    replaces_all = False
    """Whether it replaces all that MoveIt's messages have brought, attached objects too."""
    positions: Mapping[str, float] = MappingProxyType({})
    """Of joints [rad] or [m]: for those that nothing measures."""

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene, and return what is worth a warning; raise if it makes no sense."""
        raise NotImplementedError


@dataclass(frozen=True)
class Refusal(Change):
    """The change of an unusable message: its objects are not at their requested poses."""

    problems: Sequence[Problem]

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene."""
        for problem in self.problems:
            edit.report(problem)
        return []


def in_link(frames: Frames, link: str, root_from_object: np.ndarray, what: str) -> np.ndarray:
    """Return link_from_object."""
    try:
        return np.linalg.inv(frames.link(link)) @ root_from_object
    except InputError as error:
        raise InputError(f"{what}: {error}") from error
