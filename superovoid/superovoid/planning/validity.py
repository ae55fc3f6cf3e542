# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a planner asks of distances: one protocol, so that a service can answer as well as this process."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from superovoid.planning.problem import FloatArray, IntArray, PlanningProblem
from superovoid.scene import Scene
from superovoid.shapes import Mesh, Shape, Superovoid, Torus
from superovoid.states import state_distances
from superovoid.states.verdicts import BELOW, CLEAR, SHORT, FloorQuery, FloorVerdicts
from superovoid.values.records import Record


@dataclass(frozen=True, eq=False, repr=False)
class Clearances(Record):
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

    def rows(self, index: IntArray | NDArray[np.bool_]) -> Clearances:
        """Some of the rows."""
        gradient = None if self.gradient is None else self.gradient[index]
        return Clearances(self.state[index], self.pair[index], self.distance[index], self.lower[index], gradient)

    def near(self, max_distance: FloatArray, always: NDArray[np.bool_]) -> Clearances:
        """Leave out rows proved farther than `max_distance` (states,) of their state, but of no pair `always`."""
        return self.rows((self.lower <= max_distance[self.state]) | always[self.pair])


class Validity(Protocol):
    """Answers for the states of one `PlanningProblem`."""

    def clearances(self, states: FloatArray, max_distance: FloatArray, gradients: bool = False) -> Clearances:
        """Near pairs of many states.

        Parameters
        ----------
        states : array, shape (s, joints)
        max_distance : array, shape (s,)
            m. A pair that is not reported is proved farther apart than this.
        gradients : bool
            Whether derivatives by the joints are wanted.
        """
        ...


@runtime_checkable
class Decides(Validity, Protocol):
    """What answers yes/no questions without the distances; nothing needs to."""

    def verdicts(self, states: FloatArray, floors: FloatArray, spare: FloatArray) -> FloorVerdicts:
        """Whether states keep the floors of all pairs, and what they have to spare; see `verdicts_of`."""
        ...


def verdicts_of(validity: Validity, states: FloatArray, floors: FloatArray, spare: FloatArray) -> FloorVerdicts:
    """Whether states keep the floors of all pairs, up to the first that does not.

    Parameters
    ----------
    validity : Validity
        Who answers; by its distances where it has no shorter way.
    states : array, shape (s, joints)
    floors, spare : array, shape (s, pairs)
        m. A state is `BELOW` where the distance of a pair is not proved to exceed its floor, `SHORT` where that of a
        pair does not exceed it by what is to be spared, else `CLEAR`.
    """
    if isinstance(validity, Decides):
        return validity.verdicts(states, floors, spare)
    needed = floors + spare
    found = validity.clearances(states, needed.max(axis=1, initial=0.0))
    verdicts, pairs = np.full(len(states), CLEAR, np.int8), np.full(len(states), -1)
    for lack, verdict in ((needed, SHORT), (floors, BELOW)):
        rows = ~(found.lower > lack[found.state, found.pair])  # of NaN no comparison holds
        verdicts[found.state[rows]] = verdict
        pairs[found.state[rows][::-1]] = found.pair[rows][::-1]  # the nearest of each state
    below = np.flatnonzero(verdicts == BELOW)
    done = int(below[0]) + 1 if len(below) else len(states)
    return FloorVerdicts(verdicts[:done], pairs[:done])


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
        for body in problem.obstacles:
            self._scene.set_link_pose(body.link, np.eye(4))
        self._doubtful = doubtful_pairs(problem)
        # Pairs that are asked for, each with whether it is however far they are.
        self._asked: list[tuple[IntArray | None, bool]] = [(None, False)]
        if self._doubtful.any():
            self._asked = [(problem.pairs[~self._doubtful], False), (problem.pairs[self._doubtful], True)]
        # Of no bound of a dented body more is believed than is proved: a verdict needs no list of doubtful pairs.
        self._floors = FloorQuery(problem.robot, self._scene, problem.pairs)

    def clearances(self, states: FloatArray, max_distance: FloatArray, gradients: bool = False) -> Clearances:
        """See `Validity`."""
        problem = self._problem
        positions, farthest = problem.joint_positions(states), float(np.max(max_distance, initial=0.0))
        answers = [
            state_distances(
                problem.robot,
                self._scene,
                positions,
                base_poses=problem.base_poses,
                pairs=pairs,
                max_distance=np.inf if everything else farthest,
                gradients=gradients,
            )
            for pairs, everything in self._asked
        ]
        columns = ("state", "body_a", "body_b", "distance", "lower", *(("gradients",) if gradients else ()))
        state, a, b, distance, lower, *by_joint = (
            np.concatenate([getattr(answer, name) for answer in answers]) for name in columns
        )
        gradient = by_joint[0][:, problem.columns] if gradients else None
        found = Clearances(state, problem.pair_of(a, b), distance, lower, gradient)
        kept = found.near(max_distance, self._doubtful)
        return kept if len(answers) == 1 else kept.rows(np.argsort(kept.state, kind="stable"))

    def verdicts(self, states: FloatArray, floors: FloatArray, spare: FloatArray) -> FloorVerdicts:
        """See `verdicts_of`: no pair is solved further than the question takes."""
        positions, bases = self._problem.joint_positions(states), self._problem.base_poses
        return self._floors(positions, floors, floors + spare, base_poses=bases)


class TimedValidity:
    """Passes calls on and takes down how long they take.

    Parameters
    ----------
    validity : Validity
        Who answers.
    """

    def __init__(self, validity: Validity) -> None:
        self._validity = validity
        self.calls: list[tuple[int, float]] = []
        """States and time, s, of each call so far."""

    def clearances(self, states: FloatArray, max_distance: FloatArray, gradients: bool = False) -> Clearances:
        """See `Validity`."""
        begin = time.perf_counter()
        found = self._validity.clearances(states, max_distance, gradients)
        self.calls.append((len(states), time.perf_counter() - begin))
        return found

    def verdicts(self, states: FloatArray, floors: FloatArray, spare: FloatArray) -> FloorVerdicts:
        """See `verdicts_of`."""
        begin = time.perf_counter()
        found = verdicts_of(self._validity, states, floors, spare)
        self.calls.append((len(found.verdicts), time.perf_counter() - begin))
        return found


def doubtful_pairs(problem: PlanningProblem) -> NDArray[np.bool_]:
    """Which pairs are to be asked for however far they are, shape (pairs,).

    A scene leaves pairs out by their distance. Of a body with a dent only the bound below it is proved, that of the
    hull: so where one of the two has a dent.
    """
    dented = np.array([not is_convex(body.shape) for body in problem.bodies])
    return np.any(dented[problem.pairs], axis=1)


def is_convex(shape: Shape) -> bool:
    """Whether a shape is its own convex hull: then the distance of a pair that is apart is proved."""
    if isinstance(shape, Superovoid):
        return bool(shape.convexity().convex)
    return not isinstance(shape, Torus) and (not isinstance(shape, Mesh) or shape.is_convex())
