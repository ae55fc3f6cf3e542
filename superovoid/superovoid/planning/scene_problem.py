# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A planning problem in a planning scene, with the scene's objects, attached objects, rules and paddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from superovoid.planning.problem import FloatArray, IntArray, PlanningProblem
from superovoid.robot import Robot
from superovoid.robot.kinematics import Positions
from superovoid.robot.planning_scene import PlanningScene
from superovoid.scene import Body


@dataclass(frozen=True, eq=False)
class SceneProblem(PlanningProblem):
    """Joints among the objects of a planning scene; `scene_problem` creates that of a group.

    For a group it checks the pairs that the joints can move, including links and attached objects of one hand among
    themselves: the same pairs as `check_state_validity` for the group. Without a group it checks the pairs that the
    joints can move relative to each other. Contact is unwanted for all of them, and the scene's padding of each pair is
    added to the clearance.
    """

    planning: PlanningScene = field(kw_only=True)
    group: str = field(default="", kw_only=True)

    @cached_property
    def bodies(self) -> tuple[Body, ...]:
        """All bodies of the scene."""
        return tuple(self.planning.scene.bodies)

    @cached_property
    def pairs(self) -> IntArray:
        """Checked pairs of the scene, shape (n, 2)."""
        if self.group:
            return pairs_of_group(self.planning, self.group)
        pairs = np.array(self.planning.scene.pairs, dtype=np.int64).reshape(-1, 2)
        return pairs[self.robot.relative_speeds(self.bodies, pairs)[:, self.columns].any(axis=1)]

    @cached_property
    def floors(self) -> FloatArray:
        """Distance that each of `pairs` must exceed, m."""
        return self.clearance + self.planning.paddings_of(*self.pairs.T)


def pairs_of_group(planning: PlanningScene, group: str) -> IntArray:
    """Return the pairs of bodies of a planning scene with at least one moved by a group, shape (n, 2).

    Raises
    ------
    ValueError
        If the group does not exist.
    """
    moved = set(planning.robot.links_moved_by(group))
    active = np.array(
        [
            body.link in moved and not planning.in_world(owner)
            for body, owner in zip(planning.scene.bodies, planning.owners, strict=True)
        ],
        dtype=bool,
    )
    pairs = np.array(planning.scene.pairs, dtype=np.int64).reshape(-1, 2)
    return pairs[active[pairs[:, 0]] | active[pairs[:, 1]]]


def ranges_without_limits(robot: Robot, positions: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, float]]:
    """Return ranges of those joints that have no limits: half a turn beyond the given positions of each, rad or m."""
    ranges = {}
    for joint, each in positions.items():
        lower, upper = robot.joint_limits[joint]
        if not np.isfinite([lower, upper]).all():
            ranges[joint] = max(lower, float(min(each)) - np.pi), min(upper, float(max(each)) + np.pi)
    return ranges


def scene_problem(
    planning: PlanningScene,
    group: str,
    positions: Positions,
    *,
    base_poses: Mapping[str, FloatArray] | None = None,
    clearance: float = 0.0,
    ranges: Mapping[str, tuple[float, float]] | None = None,
) -> SceneProblem:
    """Return the problem of moving a group from the robot's present state.

    Parameters
    ----------
    planning : PlanningScene
        The robot and its surroundings.
    group : str
        Name of a group of the SRDF.
    positions : mapping of str to float, or (joints,) array_like
        Positions of all independent joints, rad or m. A joint without limits may move half a turn in each direction.
    base_poses : mapping of str to array, optional
        root_from_link of the robot's floating bases.
    clearance : float
        Minimum distance of all pairs in addition to the scene's paddings, m.
    ranges : mapping of str to (float, float), optional
        Narrower limits of joints.

    Raises
    ------
    ValueError
        If the group does not exist, none of its joints can be planned, or a position is missing.
    """
    robot = planning.robot
    joints = robot.group(group).joints
    if not joints:
        raise ValueError(f"group '{group}' has no joint that can be planned")
    positions = robot.by_name(positions)
    missing = [joint for joint in robot.joint_names if joint not in positions]
    if missing:
        raise ValueError(f"positions: joint '{missing[0]}' is missing ({len(missing)} of {len(robot.joint_names)} are)")
    given = {**ranges_without_limits(robot, {joint: [positions[joint]] for joint in joints}), **(ranges or {})}
    return SceneProblem(
        robot,
        joints,
        dict(positions),
        dict(base_poses or {}),
        clearance=clearance,
        ranges=given,
        planning=planning,
        group=group,
    )
