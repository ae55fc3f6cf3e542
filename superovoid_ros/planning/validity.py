"""What a planner asks of distances: one protocol, so that a service can answer as well as this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from superovoid_ros.planning.problem import FloatArray, IntArray, PlanningProblem
from superovoid_ros.scene import Scene
from superovoid_ros.shapes import Mesh, Shape, Superovoid, Torus


@dataclass(frozen=True)
class Clearances:
    """Pairs near each other in many states, one row a pair and state, states ascending."""

    state: IntArray
    """Which of the states asked for."""
    pair: IntArray
    """Which of `PlanningProblem.pairs`."""
    distance: FloatArray
    """Signed distance, m."""
    lower: FloatArray
    """Proved lower bound of it, m."""
    gradient: FloatArray | None
    """By the planned joints, shape (rows, joints), m/rad or m/m; None unless asked for."""


class Validity(Protocol):
    """Answers for the states of one `PlanningProblem`."""

    def clearances(self, states: FloatArray, cutoff: FloatArray, gradients: bool = False) -> Clearances:
        """Near pairs of many states.

        Parameters
        ----------
        states : array, shape (s, joints)
        cutoff : array, shape (s,)
            m. A pair that is not reported is proved farther apart than this.
        gradients : bool
            Whether derivatives by the joints are wanted.
        """
        ...


class SceneValidity:
    """The answers of a scene in this process.

    Parameters
    ----------
    problem : PlanningProblem
        Whose robot, obstacles and pairs they are.
    """

    def __init__(self, problem: PlanningProblem) -> None:
        self._problem = problem
        self._scene = Scene(problem.bodies, problem.pairs)
        self._still = {body.link: np.eye(4) for body in problem.obstacles}
        count = len(problem.bodies)
        self._row = np.full(count * count, -1, dtype=np.int64)
        a, b = problem.pairs.T
        self._row[a * count + b] = self._row[b * count + a] = np.arange(len(a))
        # A scene leaves pairs out by their distance. Of a body with a dent only the bound below it is proved (that of
        # the hull), so pairs of such bodies are asked for however far they are.
        dented = np.array([not is_convex(body.shape) for body in problem.bodies])
        doubtful = dented[problem.pairs].any(axis=1)
        self._sure, self._doubtful = problem.pairs[~doubtful], problem.pairs[doubtful]

    def clearances(self, states: FloatArray, cutoff: FloatArray, gradients: bool = False) -> Clearances:
        """See `Validity`."""
        found = [[np.empty(0, dtype=int), np.empty(0), np.empty(0), np.empty((0, len(self._problem.joints)))]]
        rows = []
        for state, reach in zip(states, cutoff, strict=True):
            rows.append(0)
            for answer in self._at(state, float(reach), gradients):
                found.append(answer)
                rows[-1] += len(answer[0])
        pair, distance, lower, gradient = (np.concatenate(parts) for parts in zip(*found, strict=True))
        index = np.repeat(np.arange(len(rows)), rows)
        return Clearances(index, pair, distance, lower, gradient if gradients else None)

    def _at(self, state: FloatArray, reach: float, gradients: bool):
        problem = self._problem
        positions = problem.positions_at(state)
        poses = problem.robot.forward_kinematics(positions, problem.base_poses)
        self._scene.set_link_poses({**poses, **self._still})
        asked = [(reach, self._sure)] if len(self._doubtful) else [(reach, None)]
        if len(self._doubtful):
            asked.append((np.inf, self._doubtful))
        for cutoff, pairs in asked:
            result = self._scene.query(cutoff=cutoff, pairs=pairs)
            by_joint = np.empty((len(result), len(problem.joints)))
            if gradients:
                robot = problem.robot
                rates = robot.distance_gradients(result, positions, problem.base_poses, bodies=problem.bodies)
                by_joint = rates.by_joint[:, problem.columns]
            row = self._row[result.body_a * len(problem.bodies) + result.body_b]
            yield row, result.distance, result.lower, by_joint


def is_convex(shape: Shape) -> bool:
    """Whether a shape is its own convex hull: then the distance of a pair that is apart is proved."""
    if isinstance(shape, Superovoid):
        return bool(shape.convexity().convex)
    return not isinstance(shape, Torus) and (not isinstance(shape, Mesh) or shape.is_convex())
