# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Poses of frames relative to the root link, for objects whose poses refer to them. No messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from superovoid.robot import Robot
from superovoid.robot.planning_scene import Edit, PlanningScene
from superovoid.robot.scene_objects import OutsideFrame, SceneObject, object_frame
from superovoid_ros.nodes.common.mistakes import Code, InputError, listing

if TYPE_CHECKING:
    from superovoid_ros.nodes.distance_service.robot_state.measurements import Moment

_NOT_TURNED = 1e-12  # rad; largest rotation of a half-space that counts as none, since a half-space is infinite


class Frames:
    """Poses of frames relative to the root link. The state is read only if a frame needs it.

    Parameters
    ----------
    measured
        Measurements at the time of the message.
    robot
        The robot to which the links belong.
    edit
        The planning scene with its present objects.
    link_poses
        Poses of all links in a common frame, m; None: as measured.
    """

    def __init__(
        self, measured: Moment, robot: Robot, edit: Edit, link_poses: Mapping[str, np.ndarray] | None = None
    ) -> None:
        self.robot, self._measured, self._edit, self._link_poses = robot, measured, edit, link_poses
        self._fixed: dict[str, tuple[np.ndarray, OutsideFrame | None]] = {}  # frames that a planning scene defines

    def with_links(self, link_poses: Mapping[str, np.ndarray]) -> Frames:
        """Return frames with other poses of the links, without the frames of a planning scene."""
        return Frames(self._measured, self.robot, self._edit, link_poses)

    def _pose(self, link: str) -> np.ndarray:
        """Return the pose of a link in the common frame of all links."""
        robot = self.robot
        if link not in robot.links:
            raise InputError(f"link '{link}' does not exist; links: {listing(robot.links)}", Code.UNKNOWN_LINK)
        poses = self._measured.link_poses(robot) if self._link_poses is None else self._link_poses
        if link not in poses:
            raise InputError(f"the pose of link '{robot.root_link}' in '{robot.root}' is unknown")
        return poses[link]

    def link(self, link: str) -> np.ndarray:
        """Return root_from_link, m, shape (4, 4); raise `InputError` if the link or its state is unknown."""
        return np.eye(4) if link == self.robot.root else self.transform_between(self.robot.root, link)

    def in_link(self, link: str, root_from_object: np.ndarray, what: str) -> np.ndarray:
        """Return link_from_object, m, shape (4, 4)."""
        try:
            return np.linalg.inv(self.link(link)) @ root_from_object
        except InputError as error:
            raise InputError(f"{what}: {error}", error.code) from error

    def transform_between(self, target: str, source: str) -> np.ndarray:
        """Return target_from_source of two links, m, shape (4, 4).

        Unless one of them is the robot's root, this does not need the robot's pose in the world.
        """
        source_pose = self._pose(source)
        return np.linalg.inv(self._pose(target)) @ source_pose

    def object(self, name: str) -> np.ndarray:
        """Return root_from_object, m, shape (4, 4)."""
        thing = self._edit.object(name)
        if thing.link is not None:
            return self.link(thing.link) @ thing.pose
        if thing.outside_frame is not None:
            self._measured.check_still(self.robot, [Place([thing])], Code.UNKNOWN_FRAME)
        return thing.pose

    def link_of(self, frame: str) -> str | None:
        """Return the link that a header's frame_id names, with or without prefix; None if it names no link.

        A leading slash is dropped, as in tf2 and MoveIt. An empty frame_id is the root link.
        """
        robot, frame = self.robot, frame.removeprefix("/")
        if not frame:
            return robot.root
        if frame in robot.links:
            return frame
        link = frame.removeprefix(self._measured.prefix)  # the frame of the world has no prefix
        return link if link in robot.links and not link == robot.root != robot.root_link else None

    def lookup(self, frame: str, what: str) -> np.ndarray:
        """Return root_from_frame for a header's frame_id, m, shape (4, 4); raise `InputError` for an unknown frame."""
        return self.locate(frame, what)[0]

    def locate(self, frame: str, what: str) -> tuple[np.ndarray, OutsideFrame | None]:
        """Return the result of `lookup`, and the frame outside the robot on which it depends; None if on none."""
        robot, link = self.robot, self.link_of(frame)
        if link is not None:
            return self.link(link), None
        frame = frame.removeprefix("/")
        found = object_frame(self._edit.objects, frame)
        if found is not None:
            thing, object_from_frame = found
            problem = self._edit.problems.get(thing.name)
            if problem is not None:
                raise InputError(
                    f"{what}: frame_id '{frame}' is an object that could not be used: {problem.reason}",
                    Code.UNKNOWN_FRAME,
                )
            return self.object(thing.name) @ object_from_frame, thing.outside_frame
        if frame in self._fixed:
            return self._fixed[frame]
        try:
            root_from_frame = self._measured.root_from(self.robot, frame)
        except InputError as error:
            if frame in robot.fixed_frames:
                return self.link(robot.fixed_frames[frame]), None
            raise InputError(
                f"{what}: frame_id '{frame}' is neither a link nor an object, and {error}", Code.UNKNOWN_FRAME
            ) from error
        is_outside = not self._measured.carries(robot, frame)
        outside = OutsideFrame(frame, root_from_frame) if is_outside else None
        return self.link(robot.fixed_frames[frame]) if frame in robot.fixed_frames else root_from_frame, outside

    def place(
        self, frame: str, pose: np.ndarray, link: str | None, what: str
    ) -> tuple[np.ndarray, OutsideFrame | None]:
        """Return the pose of an object in its link, or in the root if it has none, and the frame as of `locate`."""
        if link is None:
            root_from_frame, outside = self.locate(frame, what)
            return root_from_frame @ pose, outside
        given = self.link_of(frame)
        if given is None:
            return self.in_link(link, self.lookup(frame, what) @ pose, what), None
        try:
            return pose if given == link else self.transform_between(link, given) @ pose, None
        except InputError as error:
            raise InputError(f"{what}: {error}", error.code) from error

    def fix(self, child: str, parent: str, parent_from_child: np.ndarray) -> None:
        """Add a frame that a planning scene defines; raise `InputError` if its parent is unknown."""
        child = child.removeprefix("/")
        root_from_parent, outside = self.locate(parent, f"fixed_frame_transforms '{child}'")
        self._fixed.setdefault(child, (root_from_parent @ parent_from_child, outside))


# --- objects in frames that the robot does not carry ---


class Place:
    """Objects whose poses refer to one frame at one pose of it; a query checks all of them at once."""

    def __init__(self, things: Sequence[SceneObject]) -> None:
        self.frame, self._before = things[0].outside_frame
        self.names = [thing.name for thing in things]
        self._owners = np.repeat(np.arange(len(things)), [len(thing.shapes) for thing in things])
        self._spheres = np.concatenate([_spheres(thing) for thing in things])

    def farthest_object(self, root_from_frame: np.ndarray, tolerance: float) -> tuple[str, float] | None:
        """Return an object that a motion of the frame moves by more than `tolerance`, and a bound on its motion, m."""
        if np.array_equal(root_from_frame, self._before):
            return None
        motion = root_from_frame @ np.linalg.inv(self._before)
        turned = motion[:3, :3] - np.eye(3)
        moved = np.linalg.norm(self._spheres[:, :3] @ turned.T + motion[:3, 3], axis=1)
        # |R - 1| = 2 sin(angle / 2), and the Frobenius norm of R - 1 is sqrt(2) times that.
        turn = float(np.linalg.norm(turned)) / np.sqrt(2.0)
        if not turn < _NOT_TURNED:
            moved += turn * self._spheres[:, 3]
        beyond = np.flatnonzero(~(moved <= tolerance))
        return (self.names[self._owners[beyond[0]]], float(moved[beyond[0]])) if len(beyond) else None


# A scene and its objects are immutable, so the results are cached for their lifetime.
_places_of: WeakKeyDictionary[PlanningScene, list[Place]] = WeakKeyDictionary()
_spheres_of: WeakKeyDictionary[SceneObject, np.ndarray] = WeakKeyDictionary()


def places(planning: PlanningScene) -> list[Place]:
    """Return the objects of a scene in frames outside the robot, grouped by frame and its pose."""
    known = _places_of.get(planning)
    if known is None:
        together: dict[tuple[str, bytes], list[SceneObject]] = {}
        for thing in planning.objects.values():
            if thing.outside_frame is not None:
                frame, before = thing.outside_frame
                together.setdefault((frame, before.tobytes()), []).append(thing)
        known = _places_of[planning] = [Place(things) for things in together.values()]
    return known


def _spheres(thing: SceneObject) -> np.ndarray:
    """Return the centres and radii of spheres around the shapes of an object, in the root frame, m, shape (n, 4)."""
    found = _spheres_of.get(thing)
    if found is None:
        spheres = [shape.bounding_sphere() for shape in thing.shapes]
        found = np.array([(*sphere.centre, sphere.radius) for sphere in spheres]).reshape(-1, 4)
        poses = thing.pose @ thing.object_from_shape
        found[:, :3] = (poses[:, :3, :3] @ found[:, :3, None])[..., 0] + poses[:, :3, 3]
        _spheres_of[thing] = found
    return found
