# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Points that bodies pass along a path, for markers and plots."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from superovoid.planning.problem import FloatArray, PlanningProblem


def densify(problem: PlanningProblem, path: ArrayLike, spacing: float) -> FloatArray:
    """Return states of a path no farther apart than a spacing, including its own states.

    Parameters
    ----------
    problem : PlanningProblem
        Problem of the path.
    path : array_like, shape (k, joints)
    spacing : float
        Spacing, m in the metric of `PlanningProblem.weights`: no point moves farther than a small multiple of it
        between neighbouring states.

    Returns
    -------
    array, shape (n, joints)
    """
    if not spacing > 0.0:
        raise ValueError(f"spacing = {spacing!r}: must be positive")
    path = problem.check_path(path)
    parts = []
    for first, last in pairwise(path):
        count = max(1, int(np.ceil(problem.length([first, last]) / spacing)))
        parts.append(first + np.arange(count)[:, None] / count * (last - first))
    return np.concatenate([*parts, path[-1:]])


def trail(
    problem: PlanningProblem, path: ArrayLike, links: Sequence[str], spacing: float = 0.005
) -> dict[str, FloatArray]:
    """Return the positions of links along a path.

    Parameters
    ----------
    problem : PlanningProblem
        Problem of the path.
    path : array_like, shape (k, joints)
    links : sequence of str
        Links and groups of the robot that carry bodies.
    spacing : float
        As in `densify`.

    Returns
    -------
    dict of str to array, shape (n, 3)
        For each link with a body, the centres of its first body at the states of `densify`, m, in the root frame.
    """
    names = problem.robot.links_of(links)
    first = {body.link: body for body in reversed(problem.robot.bodies)}
    missing = [name for name in names if name not in first]
    if missing:
        raise ValueError(f"links: '{missing[0]}' has no body")
    points: dict[str, list[FloatArray]] = {name: [] for name in names}
    for state in densify(problem, path, spacing):
        poses = problem.robot.forward_kinematics(problem.positions_at(state), problem.base_poses)
        for name in names:
            points[name].append((poses[name] @ first[name].link_from_body)[:3, 3])
    return {name: np.array(rows) for name, rows in points.items()}
