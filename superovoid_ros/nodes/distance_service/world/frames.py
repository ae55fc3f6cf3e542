"""Where frames are in the root link's frame, for objects that are given in them. No messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from superovoid_ros.nodes.common.mistakes import InputError, listing
from superovoid_ros.robot import Robot
from superovoid_ros.robot.planning_scene import Edit


@dataclass(frozen=True)
class Surroundings:
    """Where everything was at one moment, so that another thread can read what is given in these frames."""

    robot: Robot | None
    link_poses: Mapping[str, np.ndarray] | InputError
    """Poses of all links in some common frame, or why they are not known."""
    transforms: Mapping[str, np.ndarray | InputError]
    """root_from_frame, shape (4, 4), of frames that were asked for and are no links, or why it is not known."""
    prefix: str = ""
    """What the frames of the robot's links begin with on TF."""


class Frames:
    """Where frames are in the root link's frame. The state is asked for only where a frame needs it.

    Parameters
    ----------
    surroundings
        With a robot.
    edit
        Its objects as they are now.

    Attributes
    ----------
    fixed : dict
        Frames that a planning scene brings: frame -> root_from_frame, shape (4, 4).
    """

    def __init__(self, surroundings: Surroundings, edit: Edit) -> None:
        self._surroundings, self._edit = surroundings, edit
        self.fixed: dict[str, np.ndarray] = {}

    @property
    def robot(self) -> Robot:
        """Whose frames these are."""
        return self._surroundings.robot

    def link(self, link: str) -> np.ndarray:
        """Return root_from_link, shape (4, 4); `InputError` for an unknown link or an unknown state."""
        robot = self.robot
        if link == robot.root:
            return np.eye(4)
        if link not in robot.links:
            raise InputError(f"link '{link}' does not exist; links: {listing(robot.links)}")
        poses = _known(self._surroundings.link_poses)
        return np.linalg.inv(poses[robot.root]) @ poses[link]

    def object(self, name: str) -> np.ndarray:
        """Return root_from_object, shape (4, 4)."""
        thing = self._edit.object(name)
        return thing.pose if thing.link is None else self.link(thing.link) @ thing.pose

    def link_of(self, frame: str) -> str | None:
        """Return the link that a header's frame_id means, with or without prefix; None where it means none.

        A leading slash is dropped, as tf2 and MoveIt do; empty is the root link.
        """
        robot, frame = self.robot, frame.removeprefix("/")
        if not frame:
            return robot.root
        link = frame if frame in robot.links else frame.removeprefix(self._surroundings.prefix)
        return link if link in robot.links else None

    def lookup(self, frame: str, what: str) -> np.ndarray:
        """Return root_from_frame for a header's frame_id, shape (4, 4); `InputError` where nobody knows it."""
        robot, link = self.robot, self.link_of(frame)
        if link is not None:
            return self.link(link)
        frame = frame.removeprefix("/")
        if frame in self._edit.names:
            return self.object(frame)
        if frame in self.fixed:
            return self.fixed[frame]
        if frame in robot.fixed_frames:
            return self.link(robot.fixed_frames[frame])
        root = self._surroundings.prefix + robot.root
        unasked = InputError(f"no transform from '{frame}' to '{root}' was looked for when the message came")
        try:
            return _known(self._surroundings.transforms.get(frame, unasked))
        except InputError as error:
            raise InputError(f"{what}: frame_id '{frame}' is no link and no object, and {error}") from error


def _known(found: object) -> object:
    """Return what was found out; raise where it is why nothing was."""
    if isinstance(found, InputError):
        raise found
    return found
