# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Inverse kinematics: joint positions for desired poses of links relative to other links.

The method is damped least squares with the Jacobian of the robot.  One step is

    dq = J^T (J J^T + m^2 1)^-1 e + (1 - J^+ J)(c - q),

where J is the Jacobian of the relative poses, e their error, m the damping and c a comfortable posture.  The second
term moves the posture towards c without changing the poses.  Joints that the step would move past a limit are fixed at
the limit and removed from J, one at a time, until no joint is past a limit.  The result is the posture nearest to c
that the poses and the limits allow, so that along a smooth path of poses the posture changes smoothly.

Units: metres, radians.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from superovoid.robot.kinematics import Positions
from superovoid.robot.robot import Robot
from superovoid.shapes.poses import as_pose
from superovoid.values.poses import PosesLike, rotation_vectors_of

_DAMPING = 1e-3
"""Damping m per pose error: it vanishes with the error, so that the last steps are Newton steps."""
_LONGEST = 0.3
"""Longest step, rad (or m), for which the linear model is accurate enough; longer steps are scaled down."""


POSE, POSITION, ORIENTATION = slice(0, 6), slice(0, 3), slice(3, 6)
"""Parts of a pose that a target may specify: rows of the pose error."""


class Target(NamedTuple):
    """Desired pose of link b in the frame of link a, or a part of the pose."""

    link_a: str
    link_b: str
    wanted: np.ndarray
    """a_from_b, shape (4, 4)."""
    part: slice = POSE


@dataclass(frozen=True)
class ReachResult:
    """Result of `reach`."""

    positions: dict[str, float]
    """Positions of the joints that may move."""
    position_error: float
    """Distance of the origin of b from its desired position, m."""
    angle_error: float
    """Angle between the orientation of b and the desired one, rad."""
    iterations: int


def pose_errors(
    robot: Robot,
    link_a: str,
    link_b: str,
    wanted: np.ndarray,
    positions: Positions,
    base_poses: Mapping[str, PosesLike] | None = None,
) -> tuple[float, float]:
    """Return the position and angle errors of the pose of one link relative to another.

    Parameters
    ----------
    robot : Robot
    link_a, link_b : str
        Names of the links.
    wanted : array, shape (4, 4)
        Desired a_from_b.
    positions : mapping of str to float
        Positions of all joints of the robot, rad or m.
    base_poses : mapping of str to pose, optional
        As for `Robot.forward_kinematics`.

    Returns
    -------
    position : float
        Distance of the origin of b from its desired position, m.
    angle : float
        Angle of the rotation from the orientation of b to the desired one, rad.
    """
    poses = robot.forward_kinematics(positions, base_poses)
    a, b = poses[link_a], poses[link_b]
    missing = wanted[:3, :3].T @ a[:3, :3].T @ b[:3, :3]
    position = a[:3, :3].T @ (b[:3, 3] - a[:3, 3]) - wanted[:3, 3]
    return float(np.linalg.norm(position)), float(np.linalg.norm(rotation_vectors_of(missing)))


def reach(
    robot: Robot,
    link_a: str,
    link_b: str,
    wanted: np.ndarray,
    start: Positions,
    joints: Sequence[str],
    *,
    comfortable: Positions | None = None,
    atol: float = 1e-13,
    max_iterations: int = 400,
) -> ReachResult:
    """Find joint positions that bring one link to a desired pose relative to another.

    Parameters
    ----------
    robot : Robot
        A robot without floating joints.
    link_a, link_b : str
        Names of the links.
    wanted : array, shape (4, 4)
        Desired a_from_b.
    start : mapping of str to float, or (joints,) array_like
        Initial positions of all joints of the robot, rad or m.
    joints : sequence of str
        Joints that may move, within their limits.
    comfortable : mapping of str to float, or (joints,) array_like, optional
        Preferred positions of these joints; default: those of ``start``.
    atol : float
        The search ends when the pose error is at most this (m and rad) and the posture no longer changes.
    max_iterations : int
        Largest number of steps.

    Returns
    -------
    ReachResult
        The best result found. The caller must check its errors: an unreachable pose does not raise an error.

    Raises
    ------
    ValueError
        If a joint or link does not exist, a position is missing, or the pose is invalid.
    """
    return reach_all(
        robot,
        [Target(link_a, link_b, wanted)],
        start,
        joints,
        comfortable=comfortable,
        atol=atol,
        max_iterations=max_iterations,
    )


def reach_all(
    robot: Robot,
    targets: Sequence[Target],
    start: Positions,
    joints: Sequence[str],
    *,
    base_poses: Mapping[str, PosesLike] | None = None,
    limits: Mapping[str, Sequence[float]] | None = None,
    comfortable: Positions | None = None,
    atol: float = 1e-13,
    settle: bool = True,
    max_iterations: int = 400,
    stop: Callable[[], bool] | None = None,
) -> ReachResult:
    """Find joint positions that bring several links to desired poses, positions or orientations at once.

    Parameters
    ----------
    robot : Robot
    targets : sequence of Target
        Targets to reach together.
    start, joints, comfortable, atol, max_iterations
        As for `reach`.
    base_poses : mapping of str to pose, optional
        As for `Robot.forward_kinematics`.
    limits : mapping of str to (float, float), optional
        Lower and upper limits of the joints that may move, instead of the robot's; rad or m.
    settle : bool
        If true, iterate until the posture no longer changes; otherwise stop at the first posture that reaches all
        targets.
    stop : callable, optional
        Ends the iteration when it returns true.

    Returns
    -------
    ReachResult
        Its errors are the largest over all targets.

    Raises
    ------
    ValueError
        As for `reach`.
    """
    unknown = [name for name in joints if name not in robot.joint_names]
    if unknown or not joints:
        named = f"'{unknown[0]}' is not an independent joint of '{robot.name}'" if unknown else "must not be empty"
        raise ValueError(f"joints: {named} (joints: {', '.join(robot.joint_names)})")
    if not targets:
        raise ValueError("targets: is empty, expected at least one")
    checked = []
    for target in targets:
        checked.append(target._replace(wanted=as_pose("wanted", target.wanted)))
    columns = [robot.joint_names.index(name) for name in joints]
    limits = robot.joint_limits if limits is None else limits
    lower, upper = np.array([limits[name] for name in joints], dtype=float).T
    positions = robot.by_name(start)
    q = np.clip([positions[name] for name in joints], lower, upper)
    preferred = {} if comfortable is None else robot.by_name(comfortable)
    rest = q if comfortable is None else np.clip([preferred[name] for name in joints], lower, upper)
    best: tuple[float, np.ndarray] = (np.inf, q)
    taken = 0
    while taken < max_iterations and not (stop is not None and stop()):
        taken += 1
        positions.update(zip(joints, q.tolist(), strict=True))
        jacobian, error = _linearise(robot, checked, positions, base_poses)
        missed = float(np.abs(error).max())
        if missed < best[0]:
            best = (missed, q)
        if missed <= atol and not settle:
            break
        step = _step(jacobian[:, columns], error, q, rest, lower, upper)
        if missed <= atol and np.abs(step).max() <= 1e-9:
            break
        q = np.clip(q + step * min(1.0, _LONGEST / max(np.abs(step).max(), 1e-300)), lower, upper)
    else:
        q = best[1]
    positions.update(zip(joints, q.tolist(), strict=True))
    distance = angle = 0.0
    for a, b, wanted, part in checked:
        errors = pose_errors(robot, a, b, wanted, positions, base_poses)
        distance = max(distance, errors[0] if part != ORIENTATION else 0.0)
        angle = max(angle, errors[1] if part != POSITION else 0.0)
    return ReachResult({name: positions[name] for name in joints}, distance, angle, taken)


def _linearise(
    robot: Robot,
    targets: Sequence[Target],
    positions: Mapping[str, float],
    base_poses: Mapping[str, PosesLike] | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the Jacobian (rows, joints) of the relative poses, and the pose error (rows), in the root frame."""
    poses = robot.forward_kinematics(positions, base_poses)
    jacobians, errors = [], []
    for link_a, link_b, wanted, part in targets:
        a, b = poses[link_a], poses[link_b]
        point = b[:3, 3]
        jacobian = robot.jacobian(link_b, point, positions, base_poses)
        if link_a != robot.root:
            jacobian = jacobian - robot.jacobian(link_a, point, positions, base_poses)
        goal = a @ wanted
        turn = rotation_vectors_of(goal[:3, :3] @ b[:3, :3].T)
        jacobians.append(jacobian[part])
        errors.append(np.concatenate([goal[:3, 3] - point, turn])[part])
    return np.concatenate(jacobians), np.concatenate(errors)


def _step(
    jacobian: np.ndarray, error: np.ndarray, q: np.ndarray, rest: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """Return the change of the joint positions, with joints that reach a limit held there."""
    step = np.zeros_like(q)
    free = np.ones(len(q), dtype=bool)
    damping = (_DAMPING * min(1.0, float(np.linalg.norm(error)))) ** 2
    while free.any():
        part, missing = jacobian[:, free], error - jacobian[:, ~free] @ step[~free]
        inverse = part.T @ np.linalg.pinv(part @ part.T + damping * np.eye(len(error)), rcond=1e-12)
        pull = (rest - q)[free]
        step[free] = inverse @ missing + pull - inverse @ (part @ pull)
        past = free & ((q + step < lower) | (q + step > upper))
        if not past.any():
            break
        # Start with the joint farthest past its limit: once it is fixed, the others may stay within theirs.
        over = np.where(past, np.maximum(lower - q - step, q + step - upper), -np.inf)
        worst = int(np.argmax(over))
        step[worst] = (lower if q[worst] + step[worst] < lower[worst] else upper)[worst] - q[worst]
        free[worst] = False
    return step
