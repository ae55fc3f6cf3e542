# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Distances in many states: rows of all states, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from superovoid.scene import SceneResult
from superovoid.scene.results import PairResults
from superovoid.values.records import StateTable, Statistics

IntArray = NDArray[np.int64]


FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class StateDistances(StateTable, PairResults):
    """Distances in many states, one row a pair; the rows of a state are sorted by ascending distance.

    The rows of state s are ``first[s]`` to ``first[s + 1] - 1``. Points and normals are in the world, which is the root
    frame of the robot unless `root_pose` is given. A subset of the rows, such as ``found[found.distance < 0.01]``,
    covers the same states; its rows must be in the order of the states.
    """

    statistics: Statistics
    """As `SceneResult.statistics`: ``iterations`` of each row; ``pairs``, one number; ``past_sphere``, ``past_obb``,
    ``bounded``, ``solved`` and ``intersecting`` of each state, shape (states,)."""
    first: IntArray
    """First row of each state, and the number of rows, shape (states + 1,)."""
    done: int
    """Number of states answered, always the first ones; fewer than given if the deadline, `stop` or `max_rows` ended
    the call. Later states have no rows."""
    joint_names: tuple[str, ...]
    """The columns of `gradients`: `Robot.joint_names`."""
    base_links: tuple[str, ...]
    """The second axis of `base_gradients`: `Robot.base_links`."""
    gradients: FloatArray | None
    """Derivatives of the distances by the joints, shape (rows, joints), m/rad or m/m; followers (mimic joints) are part
    of their master's column. None unless requested. They are those at the points and the normal of the row: if
    `differentiable` is false, it is one contact of several, or not proved to be the minimum."""
    base_gradients: FloatArray | None
    """Derivatives by the twist (linear; angular) of each base link about the origin of its frame, in the axes of the
    root frame, shape (rows, bases, 6), m/m and m/rad. None unless requested."""

    PER_ROW: ClassVar[tuple[str, ...]] = (*PairResults.PER_ROW, "gradients", "base_gradients")

    JOINTS: ClassVar[str] = "joint_names"

    def _summary(self) -> str:
        return f"{self.done} of {self.states} states answered, {super()._summary()}"

    def of_state(self, state: int) -> SceneResult:
        """Return the answer in one state, as `Scene.query` returns it.

        Raises
        ------
        IndexError
            If that state was not answered.
        """
        if not 0 <= state < self.done:
            raise IndexError(f"state {state}: {self.done} states were answered")
        rows = slice(self.first[state], self.first[state + 1])
        found = {name: getattr(self, name)[rows] for name in PairResults.PER_ROW}
        counts = {name: value for name, value in vars(found["statistics"]).items() if name not in Statistics.PER_ROW}
        of_state = {name: value if name == "pairs" else int(value[state]) for name, value in counts.items()}
        found["statistics"] = Statistics(**{**vars(found["statistics"]), **of_state})
        return SceneResult(**found, bodies=self.bodies)
