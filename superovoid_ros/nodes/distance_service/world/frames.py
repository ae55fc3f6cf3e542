# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Poses of frames relative to the root link, for objects whose poses refer to them. No messages."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from superovoid.robot import Robot
from superovoid.robot.planning_scene import Edit
from superovoid.robot.scene_objects import OutsideFrame, object_frame
from superovoid_ros.nodes.common.mistakes import Code, InputError, listing
from superovoid_ros.nodes.distance_service.robot_state.measured import Measured
from superovoid_ros.nodes.distance_service.robot_state.places import Place


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
        self, measured: Measured, robot: Robot, edit: Edit, link_poses: Mapping[str, np.ndarray] | None = None
    ) -> None:
        self.robot, self._measured, self._edit, self._link_poses = robot, measured, edit, link_poses

    def with_links(self, link_poses: Mapping[str, np.ndarray]) -> Frames:
        """Return frames with other poses of the links."""
        return Frames(self._measured, self.robot, self._edit, link_poses)

    def with_edit(self, edit: Edit) -> Frames:
        """Return frames with other objects."""
        return Frames(self._measured, self.robot, edit, self._link_poses)

    def _pose(self, link: str) -> np.ndarray:
        """Return the pose of a link in the common frame of all links."""
        robot = self.robot
        if link not in robot.links:
            raise InputError(f"link '{link}' does not exist; links: {listing(robot.links)}", Code.UNKNOWN_LINK)
        if self._link_poses is None:
            state = self._measured.states(robot)
            poses = state.root_poses(robot)
            # Otherwise the pose of the other links in the root is unknown.
            self._link_poses = {one: poses[one] for one in poses if one != robot.root or not state.unplaced}
        if link not in self._link_poses:
            raise InputError(f"the pose of link '{robot.root_link}' in '{robot.root}' is unknown")
        return self._link_poses[link]

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
