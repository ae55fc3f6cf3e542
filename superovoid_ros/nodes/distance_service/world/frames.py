# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Poses of frames in the root link's frame, for objects given in them. No messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from superovoid.robot import Robot
from superovoid.robot.planning_scene import Edit
from superovoid.robot.scene_objects import GivenIn, SceneObject, object_frame
from superovoid_ros.nodes.common.mistakes import Code, InputError, listing
from superovoid_ros.nodes.distance_service.world.given_in_frames import moved_by


@dataclass(frozen=True)
class Surroundings:
    """Where everything was at one moment, so that another thread can read what is given in these frames."""

    robot: Robot | None
    link_poses: Mapping[str, np.ndarray] | InputError
    """Poses of all links in some common frame, or why they are not known."""
    transforms: Mapping[str, np.ndarray | InputError]
    """root_from_frame, shape (4, 4), of requested frames other than links, or the reason why it is unknown."""
    prefix: str = ""
    """What the frames of the robot's links begin with on TF."""
    outside: frozenset[str] = frozenset()
    """Of those frames: the ones that the robot does not carry, which may move against its root."""
    tolerance: float = 0.0
    """By which they may have moved an object since it came, m."""

    def with_frames_of(self, later: Surroundings) -> Surroundings:
        """Return these with frames requested later only."""
        new = later.transforms.keys() - self.transforms.keys()
        if not new:
            return self
        transforms = {**later.transforms, **self.transforms}
        return replace(self, transforms=transforms, outside=self.outside | (later.outside & new))


def is_link(robot: Robot, frame: str, prefix: str) -> bool:
    """Whether a frame is that of a link, with or without prefix."""
    return link_named(robot, frame, prefix) is not None


def link_named(robot: Robot, frame: str, prefix: str) -> str | None:
    """Return the link that a frame is that of; None if it is none. The frame of the world has no prefix."""
    if frame in robot.links:
        return frame
    link = frame.removeprefix(prefix)
    return link if link in robot.links and not link == robot.root != robot.root_link else None


class Frames:
    """Poses of frames in the root link's frame. The state is read only if a frame needs it.

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
        self._fixed_in: dict[str, GivenIn | None] = {}

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
            raise InputError(f"link '{link}' does not exist; links: {listing(robot.links)}", Code.UNKNOWN_LINK)
        poses = _known(self._surroundings.link_poses)
        if robot.root not in poses:
            raise InputError(f"where link '{robot.root_link}' is in '{robot.root}' is not known")
        return np.linalg.inv(poses[robot.root]) @ poses[link]

    def between(self, target: str, source: str) -> np.ndarray:
        """Return target_from_source of two links, shape (4, 4); wherever the robot is in the world."""
        robot = self.robot
        if robot.root in (target, source):
            return np.linalg.inv(self.link(target)) @ self.link(source)
        for link in (target, source):
            if link not in robot.links:
                raise InputError(f"link '{link}' does not exist; links: {listing(robot.links)}", Code.UNKNOWN_LINK)
        poses = _known(self._surroundings.link_poses)
        return np.linalg.inv(poses[target]) @ poses[source]

    def object(self, name: str) -> np.ndarray:
        """Return root_from_object, shape (4, 4)."""
        thing = self._edit.object(name)
        if thing.link is not None:
            return self.link(thing.link) @ thing.pose
        self._check_still(thing)
        return thing.pose

    def _check_still(self, thing: SceneObject) -> None:
        """Raise `InputError` if TF has moved an object of the world since its arrival."""
        if thing.given_in is None:
            return
        frame, tolerance = thing.given_in.frame, self._surroundings.tolerance
        unasked = InputError("no transform was looked for")
        try:
            moved = moved_by(thing, _known(self._surroundings.transforms.get(frame, unasked)))
        except InputError as error:
            raise InputError(
                f"object '{thing.name}' stands in frame '{frame}', and {error}", Code.UNKNOWN_FRAME
            ) from error
        if not moved <= tolerance:
            raise InputError(
                f"object '{thing.name}' stands in frame '{frame}', which TF has moved since it came, the object by "
                f"{moved:.3g} m (frame_tolerance: {tolerance:g} m): send it anew",
                Code.UNKNOWN_FRAME,
            )

    def link_of(self, frame: str) -> str | None:
        """Return the link that a header's frame_id means, with or without prefix; None if it means none.

        A leading slash is dropped, as tf2 and MoveIt do; empty is the root link.
        """
        robot, frame = self.robot, frame.removeprefix("/")
        if not frame:
            return robot.root
        return link_named(robot, frame, self._surroundings.prefix)

    def lookup(self, frame: str, what: str) -> np.ndarray:
        """Return root_from_frame for a header's frame_id, shape (4, 4); `InputError` for an unknown frame."""
        robot, link = self.robot, self.link_of(frame)
        if link is not None:
            return self.link(link)
        frame = frame.removeprefix("/")
        found = object_frame(self._edit.objects, frame)
        if found is not None:
            problem = self._edit.problems.get(found[0].name)
            if problem is not None:
                raise InputError(
                    f"{what}: frame_id '{frame}' is that of an object that is not known: {problem.reason}",
                    Code.UNKNOWN_FRAME,
                )
            return self.object(found[0].name) @ found[1]
        if frame in self.fixed:
            return self.fixed[frame]
        if frame in robot.fixed_frames:
            return self.link(robot.fixed_frames[frame])
        root = robot.root if robot.root != robot.root_link else self._surroundings.prefix + robot.root
        unasked = InputError(f"no transform from '{frame}' to '{root}' was looked for when the message came")
        try:
            return _known(self._surroundings.transforms.get(frame, unasked))
        except InputError as error:
            raise InputError(
                f"{what}: frame_id '{frame}' is no link and no object, and {error}", Code.UNKNOWN_FRAME
            ) from error

    def given_in(self, frame: str) -> GivenIn | None:
        """Return the frame outside the robot for a header's frame_id, and its pose; None if there is none."""
        if self.link_of(frame) is not None:
            return None
        frame = frame.removeprefix("/")
        found = object_frame(self._edit.objects, frame)
        if found is not None:
            return found[0].given_in
        if frame in self.fixed:
            return self._fixed_in.get(frame)
        if frame not in self._surroundings.outside:
            return None
        return GivenIn(frame, self._surroundings.transforms[frame])

    def fix(self, child: str, parent: str, parent_from_child: np.ndarray) -> None:
        """Add a frame of a planning scene; `InputError` if its parent is unknown."""
        child = child.removeprefix("/")
        pose = self.lookup(parent, f"fixed_frame_transforms '{child}'") @ parent_from_child
        if child not in self.fixed:
            self.fixed[child], self._fixed_in[child] = pose, self.given_in(parent)


def _known(found: object) -> object:
    """Return a result; raise it if it is an error."""
    if isinstance(found, InputError):
        raise found
    return found
