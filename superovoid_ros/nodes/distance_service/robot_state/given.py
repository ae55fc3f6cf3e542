# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Joint positions that requests give, and the poses of links that follow from them. No messages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from superovoid.robot import Robot
from superovoid_ros.nodes.common.mistakes import InputError, listing, refusals


def joints_given(robot: Robot, names: Sequence[str], positions: Sequence[float]) -> dict[str, float]:
    """Return a request's joint positions by name; `InputError` for wrong lengths, names or numbers."""
    if len(names) != len(positions):
        raise InputError(f"request: {len(names)} joint_names, {len(positions)} joint_positions: must be equally many")
    given: dict[str, float] = {}
    for name, position in zip(names, positions, strict=True):
        if name in robot.mimic:
            leader = robot.mimic[name].joint
            raise InputError(f"request: joint '{name}' follows joint '{leader}': give that one's position")
        if name not in robot.joint_names:
            raise InputError(f"request: unknown joint '{name}'; joints: {listing(robot.joint_names)}")
        if name in given:
            raise InputError(f"request: joint '{name}' is given twice")
        if not math.isfinite(position):
            raise InputError(f"request: position of joint '{name}' = {position}: must be finite")
        given[name] = float(position)
    return given


def default_positions(robot: Robot) -> dict[str, float]:
    """Return the positions that move_group takes joints to have that nothing measures [rad] or [m].

    As `setToDefaultValues` of MoveIt: 0 if the limits have it, else the middle between them.
    """
    limits = robot.joint_limits.items()
    return {name: 0.0 if lower <= 0.0 <= upper else 0.5 * (lower + upper) for name, (lower, upper) in limits}


def poses_of_links(
    robot: Robot,
    positions: Mapping[str, float],
    base_poses: Mapping[str, np.ndarray],
    frame_from_root: np.ndarray | None,
) -> dict[str, np.ndarray]:
    """Return the pose of every link.

    Parameters
    ----------
    robot
        Whose links they are.
    positions
        Of all independent joints [rad] or [m].
    base_poses
        `root_from_link` of the links on floating joints, shape (4, 4).
    frame_from_root
        Pose of the root in the frame wanted, shape (4, 4); None: the root itself.

    Returns
    -------
    dict
        Link -> `frame_from_link`, shape (4, 4).
    """
    with refusals():
        poses = robot.forward_kinematics(positions, base_poses)
    if frame_from_root is None:
        return poses
    return {link: frame_from_root @ pose for link, pose in poses.items()}
