# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The distance queries of a planner, as a protocol that this process or a service can implement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from superovoid.planning.problem import FloatArray, IntArray, PlanningProblem
from superovoid.scene import Scene
from superovoid.states import state_distances
from superovoid.states.verdicts import BELOW, CLEAR, SHORT, FloorQuery, FloorVerdicts
from superovoid.values.records import Record


@dataclass(frozen=True, eq=False, repr=False)
class Clearances(Record):
    """Pairs within a distance in many states, one row per pair and state, states ascending."""

    state: IntArray
    """Index of the queried state."""
    pair: IntArray
    """Index into `PlanningProblem.pairs`."""
    distance: FloatArray
    """Signed distance, m."""
    lower: FloatArray
    """Proved lower bound of the distance, m."""
    gradient: FloatArray | None
    """Derivatives with respect to the planned joints, shape (rows, joints), m/rad or m/m; None unless requested."""

    def rows(self, index: IntArray | NDArray[np.bool_]) -> Clearances:
        """Return a subset of the rows."""
        gradient = None if self.gradient is None else self.gradient[index]
        return Clearances(self.state[index], self.pair[index], self.distance[index], self.lower[index], gradient)

    def drop_far(self, max_distance: FloatArray, always: NDArray[np.bool_]) -> Clearances:
        """Drop rows proved farther than `max_distance` (states,) of their state, except those of pairs in `always`."""
        return self.rows((self.lower <= max_distance[self.state]) | always[self.pair])


class Validity(Protocol):
    """Answers distance queries for states of one `PlanningProblem`."""

    def clearances(self, states: FloatArray, max_distance: FloatArray, gradients: bool = False) -> Clearances:
        """Return the pairs within a distance in many states.

        Parameters
        ----------
        states : array, shape (s, joints)
        max_distance : array, shape (s,)
            m. Unreported pairs are proved farther apart than this.
        gradients : bool
            Whether to compute derivatives with respect to the joints.
        """
        ...


@runtime_checkable
class DecidingValidity(Validity, Protocol):
    """A `Validity` that can also answer yes/no queries without computing distances; implementing it is optional."""

    def verdicts(self, states: FloatArray, floors: FloatArray, spare: FloatArray) -> FloorVerdicts:
        """Return whether states keep the floors of all pairs, and exceed them by `spare`; see `verdicts_of`."""
        ...


def verdicts_of(validity: Validity, states: FloatArray, floors: FloatArray, spare: FloatArray) -> FloorVerdicts:
    """Return whether states keep the floors of all pairs, up to the first state that does not.

    Parameters
    ----------
    validity : Validity
        Answers the query; by its distances unless it implements `DecidingValidity`.
    states : array, shape (s, joints)
    floors, spare : array, shape (s, pairs)
        m. A state is `BELOW` if the distance of a pair is not proved to exceed its floor, `SHORT` if the distance of a
        pair is not proved to exceed its floor plus `spare`, and `CLEAR` otherwise.
    """
    if isinstance(validity, DecidingValidity):
        return validity.verdicts(states, floors, spare)
    needed = floors + spare
    needed[np.isnan(needed)] = np.inf  # a nan proves nothing, so ask for the pair at any distance
    found = validity.clearances(states, needed.max(axis=1, initial=0.0))
    verdicts, pairs = np.full(len(states), CLEAR, np.int8), np.full(len(states), -1)
    for lack, verdict in ((needed, SHORT), (floors, BELOW)):
        rows = ~(found.lower > lack[found.state, found.pair])  # true for NaN
        verdicts[found.state[rows]] = verdict
        pairs[found.state[rows][::-1]] = found.pair[rows][::-1]  # the nearest of each state
    below = np.flatnonzero(verdicts == BELOW)
    done = int(below[0]) + 1 if len(below) else len(states)
    return FloorVerdicts(verdicts[:done], pairs[:done])


class SceneValidity:
    """Answers distance queries by a scene in this process.

    Parameters
    ----------
    problem : PlanningProblem
        Problem with the robot, obstacles and pairs.
    """

    def __init__(self, problem: PlanningProblem) -> None:
        self._problem = problem
        self._scene = Scene(problem.bodies, problem.pairs)
        for body in problem.obstacles:
            self._scene.set_link_pose(body.link, np.eye(4))
        self._doubtful = doubtful_pairs(problem)
        # Pairs to query, each with whether to include them at any distance.
        self._queries: list[tuple[IntArray | None, bool]] = [(None, False)]
        if self._doubtful.any():
            self._queries = [(problem.pairs[~self._doubtful], False), (problem.pairs[self._doubtful], True)]
        # Verdicts need no list of doubtful pairs, because they rely only on proved bounds of non-convex bodies.
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
            for pairs, everything in self._queries
        ]
        columns = ("state", "body_a", "body_b", "distance", "lower", *(("gradients",) if gradients else ()))
        state, a, b, distance, lower, *by_joint = (
            np.concatenate([getattr(answer, name) for answer in answers]) for name in columns
        )
        gradient = by_joint[0][:, problem.columns] if gradients else None
        found = Clearances(state, problem.pair_of(a, b), distance, lower, gradient)
        kept = found.drop_far(max_distance, self._doubtful)
        return kept if len(answers) == 1 else kept.rows(np.argsort(kept.state, kind="stable"))

    def verdicts(self, states: FloatArray, floors: FloatArray, spare: FloatArray) -> FloorVerdicts:
        """See `verdicts_of`. Each pair is solved only until its verdict is decided."""
        positions, bases = self._problem.joint_positions(states), self._problem.base_poses
        return self._floors(positions, floors, floors + spare, base_poses=bases)


class NoContact:
    """Answers that no pair is near: for motions that may lead through contact."""

    def clearances(self, states: FloatArray, max_distance: FloatArray, gradients: bool = False) -> Clearances:
        """See `Validity`."""
        raise ValueError("NoContact has no distances")

    def verdicts(self, states: FloatArray, floors: FloatArray, spare: FloatArray) -> FloorVerdicts:
        """See `verdicts_of`."""
        return FloorVerdicts(np.full(len(states), CLEAR, np.int8), np.full(len(states), -1))


def doubtful_pairs(problem: PlanningProblem) -> NDArray[np.bool_]:
    """Return a mask of the pairs to query at any distance, shape (pairs,): those with a non-convex body.

    A scene leaves out pairs by their distance. For a non-convex body, the only proved lower bound is that of its convex
    hull, which may be much smaller.
    """
    non_convex = np.array([not body.shape.is_convex() for body in problem.bodies])
    return np.any(non_convex[problem.pairs], axis=1)
