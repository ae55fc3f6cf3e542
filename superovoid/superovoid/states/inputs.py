# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Convert arguments that describe states: positions of joints, poses of bases, poses of a scene's links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.robot import Robot
from superovoid.robot.kinematics import Positions
from superovoid.scene import Scene
from superovoid.shapes.poses import as_pose, as_poses
from superovoid.values.checks import floats, shorten
from superovoid.values.poses import ORIGIN, PoseLike, PosesLike

FloatArray = NDArray[np.float64]


class LinkPoses:
    """Poses of a scene's links in states of a robot.

    Parameters
    ----------
    robot : Robot
    scene : Scene
        Its present links and poses are used.
    pairs : (n, 2) array_like of int, optional
        Only these of the scene's pairs, in either order.

    Raises
    ------
    ValueError
        If a pair is not one of the scene's, or a link that the robot does not have has no pose in the scene.
    TypeError
        If `robot` or `scene` is of another type.
    """

    def __init__(self, robot: Robot, scene: Scene, pairs: ArrayLike | None) -> None:
        for name, value, kind in (("robot", robot, Robot), ("scene", scene, Scene)):
            if not isinstance(value, kind):
                raise TypeError(f"{name}: must be of type {kind.__name__}, found {shorten(value)}")
        self._kinematics = robot._kinematics
        self.robot = robot
        self.tables = scene.tables(pairs)
        links, posed = self.tables.links, self.tables.posed
        self.row_of_link = self._kinematics.rows_of(links)
        is_carried = self.row_of_link >= 0
        self._carried = is_carried.nonzero()[0]  # links of the scene that belong to the robot
        if not (is_carried | posed).all():
            link = int((is_carried | posed).argmin())
            raise ValueError(
                f"scene: link {links[link]!r} is none of robot '{robot.name}' and has no pose yet: call set_link_pose()"
            )
        self._rows = self.row_of_link[self._carried]
        self.posed = np.ones(len(links), dtype=np.bool_)

    def inputs(
        self,
        positions: Positions,
        joint_names: Sequence[str] | None,
        base_poses: Mapping[str, PosesLike] | None,
        root_pose: PoseLike | None,
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return joint positions, poses of bases and pose of the root; `ValueError` names an invalid argument."""
        joints = joint_rows(self.robot, positions, joint_names)
        bases = pose_rows(self.robot, base_poses, len(joints))
        root = as_pose("root_pose", ORIGIN if root_pose is None else root_pose)
        return joints, bases, root

    def of_states(self, joints: FloatArray, bases: FloatArray, root: FloatArray) -> FloatArray:
        """Return the poses of the robot's links, shape (states, links, 4, 4)."""
        return self._kinematics.poses_of_states(joints, bases, root)

    def of_scene(self, poses: FloatArray) -> FloatArray:
        """Return the poses of the scene's links, in the order of the scene, from those of the robot's links."""
        carried = as_poses("poses of the robot's links", poses.take(self._rows, axis=1))
        if len(self._carried) == len(self.posed):
            return carried
        all_links = np.empty((len(poses), *self.tables.link_poses.shape))
        all_links[:] = self.tables.link_poses
        all_links[:, self._carried] = carried
        return all_links


def joint_rows(robot: Robot, positions: Positions, names: Sequence[str] | None) -> FloatArray:
    """Return the positions of the independent joints, in the robot's order, one row per state."""
    if isinstance(positions, Mapping):
        if names is not None:
            raise ValueError("joint_names: must not be given with a mapping of positions by name")
        positions = np.atleast_2d(robot.positions(positions))
    names = robot.joint_names if names is None else tuple(names)
    given = np.ascontiguousarray(floats("positions", positions))
    if given.ndim != 2 or given.shape[1] != len(names):
        raise ValueError(f"positions: must have shape (states, {len(names)}), a column a joint, found {given.shape}")
    if names != robot.joint_names:
        given = np.ascontiguousarray(given[:, _columns(robot, names)])
    if not np.isfinite(given).all():
        state, column = np.argwhere(~np.isfinite(given))[0]
        raise ValueError(
            f"positions: joint '{robot.joint_names[column]}' in state {state} = {given[state, column]}: must be finite"
        )
    return given


def _columns(robot: Robot, names: tuple[str, ...]) -> list[int]:
    """Return the columns of the independent joints in `names`."""
    column: dict[str, int] = {}
    for i, name in enumerate(names):
        if name in column:
            raise ValueError(f"joint_names: joint {name!r} is given twice")
        if name not in robot.joint_names and name not in robot.mimic:
            raise ValueError(
                f"joint_names: {name!r} is not a joint of '{robot.name}' (joints: {', '.join(robot.joint_names)})"
            )
        column[name] = i
    missing = [name for name in robot.joint_names if name not in column]
    if missing:
        raise ValueError(
            f"joint_names: joint '{missing[0]}' is missing ({len(missing)} of {len(robot.joint_names)} are)"
        )
    return [column[name] for name in robot.joint_names]


def pose_rows(robot: Robot, base_poses: Mapping[str, PosesLike] | None, states: int) -> FloatArray:
    """Return the poses of the base links, shape (states or 1, bases, 4, 4)."""
    given: Mapping[str, Any] = base_poses or {}
    for link in given:
        if link not in robot.base_links:
            raise ValueError(
                f"base_poses: link {link!r} of '{robot.name}' hangs on no floating joint; "
                f"links that do: {', '.join(robot.base_links) or 'none'}"
            )
    poses = []
    for link in robot.base_links:
        if link not in given:
            raise ValueError(
                f"base_poses: the pose of '{link}' is missing (its joint is floating: it comes from outside)"
            )
        pose = as_poses(f"base_poses[{link!r}]", given[link])
        if pose.shape not in ((4, 4), (states, 4, 4)):
            raise ValueError(f"base_poses[{link!r}]: must have shape (4, 4) or ({states}, 4, 4), found {pose.shape}")
        poses.append(pose.reshape(-1, 4, 4))
    if not poses:
        return np.empty((1, 0, 4, 4))
    rows = max(map(len, poses)) if states else 0
    together = np.empty((rows, len(poses), 4, 4))
    for i, pose in enumerate(poses):
        together[:, i] = pose[:rows]
    return together
