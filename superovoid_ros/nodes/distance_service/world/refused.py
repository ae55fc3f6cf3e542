# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What could not be read of a message: the world is not known in full until it is removed, or sent in a form that can.

One that reads a message in parts calls `Edit.refuse` itself; a message that is refused as a whole becomes a `Refusal`.
No messages: `to_changes.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from superovoid.robot.planning_scene import Edit
from superovoid.robot.scene_objects import Doubt
from superovoid_ros.nodes.distance_service.world.changes import FROM_MOVEIT
from superovoid_ros.nodes.distance_service.world.frames import Frames


class Unread(NamedTuple):
    """Something that a message was about."""

    name: str
    link: str | None = None
    """That was to carry it, or to put it down."""
    doubt: Doubt = Doubt.ALL
    """What of it is missing."""


@dataclass(frozen=True)
class Refusal:
    """The change that is left of a message which could not be read: its objects are not where they are to be."""

    things: Sequence[Unread]
    reason: str

    @property
    def size(self) -> int:
        """Bytes, more or less."""
        return 1_000 * (1 + len(self.things))

    def apply(self, edit: Edit, frames: Frames) -> list[str]:
        """Edit a planning scene."""
        for thing in self.things:
            named = f"'{thing.name}'" in self.reason
            reason = self.reason if named else f"object '{thing.name}': {self.reason}"
            edit.refuse(thing.name, reason, link=thing.link, source=FROM_MOVEIT, doubt=thing.doubt)
        return []
