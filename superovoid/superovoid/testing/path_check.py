# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Check a planned path by means independent of the planner.

The poses of links come from urchin's forward kinematics, not from `superovoid.robot.kinematics`. Distances are bounded
by `superovoid.testing.independent`, not by the engine: a direction n with g(n) > 0 defines a plane between two bodies,
and their distance is at least g(n). The checker (`superovoid.checker`) does not handle robots.
"""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np
from urchin import URDF

from superovoid.planning.problem import FloatArray, PlanningProblem
from superovoid.shapes import Superovoid
from superovoid.testing import independent

_CHUNK = 20_000  # pairs per batch


@dataclass(frozen=True)
class PathCheck:
    """Bounds of the distances in each state."""

    bounds: FloatArray
    """Proved lower bound of the distance of each of the problem's pairs, capped at the reach; m, shape (states, pairs).
    Negative if no plane between the bodies was found."""
    bounded: int
    """Number of pairs and states that bounding spheres did not decide."""

    def clear(self, problem: PlanningProblem) -> bool:
        """Return whether all states keep the clearance of unwanted pairs, and no wanted pair overlaps."""
        return bool((self.bounds > problem.floors).all())


def link_poses(urdf: str, problem: PlanningProblem, states: FloatArray) -> dict[str, FloatArray]:
    """Return root_from_link of all links in all states by urchin, shape (states, 4, 4) each."""
    document = ET.fromstring(urdf.encode())
    for link in document.findall("link"):
        for child in list(link):
            link.remove(child)  # otherwise urchin would open the meshes

    class Document(io.BytesIO):
        name = "robot.urdf"

    robot = URDF.load(Document(ET.tostring(document)), lazy_load_meshes=True)
    positions = [problem.positions_at(state) for state in states]
    moving = {joint.name for joint in robot.actuated_joints}
    columns = {name: np.array([row[name] for row in positions]) for name in positions[0] if name in moving}
    return robot.link_fk_batch(cfgs=columns, use_names=True)


def check_path(urdf: str, problem: PlanningProblem, states: FloatArray, reach: float = 0.02) -> PathCheck:
    """Bound the distances of all pairs in all states.

    Parameters
    ----------
    urdf : str
        The document from which the problem's robot was read.
    problem : PlanningProblem
        Pairs and obstacles; all bodies must be convex superovoids. Its robot must have no floating bases.
    states : array, shape (n, joints)
        States to check.
    reach : float
        Distances beyond this are not resolved, m.

    Raises
    ------
    ValueError
        If a body is not a convex superovoid, or a base floats.
    """
    strange = [body for body in problem.bodies if not isinstance(body.shape, Superovoid)]
    if not strange:
        # One call for all bodies, because each of its thousands of steps costs as much for one body as for all.
        concavities = independent.concavity(_rows([body.shape for body in problem.bodies])) > 0.0
        strange = [body for body, concavity in zip(problem.bodies, concavities.tolist(), strict=True) if concavity]
    if strange:
        shape = strange[0].shape
        raise ValueError(f"body {strange[0].name!r}: must be a convex superovoid, found {shape!r}")
    if problem.base_poses:
        raise ValueError("problem.base_poses: must be empty, because floating bases are not supported")
    poses = link_poses(urdf, problem, states)
    count = len(states)
    world = np.stack(
        [
            poses[body.link] @ body.link_from_body
            if body.link in poses
            else np.broadcast_to(body.link_from_body, (count, 4, 4))
            for body in problem.bodies
        ],
        axis=1,
    )
    rows = _rows([body.shape for body in problem.bodies])
    # A ball around the origin that contains the body: each coordinate is at most its axis times (1 + taper).
    balls = np.linalg.norm(rows[:, :3] * (1.0 + np.abs(rows[:, [5, 6, 6]]) * [1.0, 1.0, 0.0]), axis=1)
    a, b = problem.pairs.T
    centres = world[..., :3, 3]
    gap = np.linalg.norm(centres[:, b] - centres[:, a], axis=2) - balls[a] - balls[b]
    bounds = np.full(gap.shape, reach)
    state, pair = np.nonzero(gap < reach)
    for first in range(0, len(state), _CHUNK):
        s, p = state[first : first + _CHUNK], pair[first : first + _CHUNK]
        pose = np.stack([world[s, a[p]], world[s, b[p]]])
        batch = independent.Batch(
            np.stack([rows[a[p]], rows[b[p]]]), pose[..., :3, :3], pose[..., :3, 3], np.ones(len(s), dtype=bool)
        )
        line = batch.position[1] - batch.position[0]
        line[np.linalg.norm(line, axis=1) < 1e-9] = (0.0, 0.0, 1.0)
        # A few steps settle most pairs; only those still near are iterated to convergence.
        g, n = independent.ascend(batch, line, 8)
        near = g < 0.25 * reach
        if near.any():
            g[near], _ = independent.ascend(batch.take(near), n[near], 60)
        bounds[s, p] = np.minimum(g, reach)
    return PathCheck(bounds, len(state))


def _rows(shapes: list[Superovoid]) -> FloatArray:
    return np.array(
        [[*shape.semi_axes, shape.section_exponent, shape.profile_exponent, *shape.taper] for shape in shapes]
    )
