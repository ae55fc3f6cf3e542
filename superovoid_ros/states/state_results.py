"""Distances in many states: rows of all states, one after the other."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from superovoid_ros.scene import SceneResult
from superovoid_ros.scene.scene_results import PairResults

IntArray = NDArray[np.int64]


FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class StateDistances(PairResults):
    """Answers in many states, one row a pair; the rows of a state are sorted by ascending distance.

    The rows of state s are ``first[s]`` to ``first[s + 1] - 1``. Points and normals are in the world, which is the root
    frame of the robot unless `root_pose` says otherwise. A part of the rows, as ``found[found.distance < 0.01]`` gives
    it, is an answer about the same states; its rows must be in the order of the states.
    """

    first: IntArray
    """Where the rows of each state begin, and the end, shape (states + 1,)."""
    done: int
    """States that were answered, always the first ones; fewer than were asked about where the deadline, `stop` or
    `max_rows` came first. States behind have no rows."""
    pairs: int
    """Pairs that were to be checked in each state."""
    past_sphere: IntArray
    """Of these, pairs whose bounding spheres are within the cut-off, shape (states,)."""
    past_obb: IntArray
    """Of these, pairs whose oriented boxes are within the cut-off, shape (states,)."""
    solved: IntArray
    """Pairs given to the engine, shape (states,)."""
    intersecting: IntArray
    """Solved pairs with a negative distance, shape (states,)."""
    joint_names: tuple[str, ...]
    """The columns of `gradients`: `Robot.joint_names`."""
    base_links: tuple[str, ...]
    """The second axis of `base_gradients`: `Robot.base_links`."""
    gradients: FloatArray | None
    """Derivatives of the distances by the joints, shape (rows, joints), m/rad or m/m; followers (mimic joints) are part
    of their master's column. None where they were not asked for. They are those of the points and the normal of the
    row: where `differentiable` is false, of one contact of several or of one not proved the best."""
    base_gradients: FloatArray | None
    """Derivatives by the twist (linear; angular) of each base link about the origin of its frame, in the axes of the
    root frame, shape (rows, bases, 6), m/m and m/rad. None where they were not asked for."""

    PER_ROW: ClassVar[tuple[str, ...]] = (*PairResults.PER_ROW, "gradients", "base_gradients")

    @property
    def states(self) -> int:
        """States that were asked about."""
        return len(self.first) - 1

    @property
    def state(self) -> IntArray:
        """The state that each row belongs to, shape (rows,)."""
        return np.repeat(np.arange(self.states), np.diff(self.first))

    @property
    def closest(self) -> FloatArray:
        """Least distance of each state, m, shape (states,).

        It is inf where no pair is within the cut-off, and nan where the state was not answered.
        """
        least = np.full(self.states, math.nan)
        least[: self.done] = math.inf
        some = self.first[1:] > self.first[:-1]
        least[some] = self.distance[self.first[:-1][some]]
        return least

    def _select(self, rows: slice | NDArray[Any]) -> Self:
        state = self.state[rows]
        if (state[1:] < state[:-1]).any():
            raise IndexError("rows: must be in the order of the states; of_state() gives the rows of one state")
        fewer = super()._select(rows)
        first = np.concatenate([[0], np.bincount(state, minlength=self.states).cumsum()])
        return replace(fewer, first=first)

    def _labels(self) -> dict[str, NDArray[Any]]:
        return {"state": self.state, **super()._labels()}

    def _columns(self) -> dict[str, NDArray[Any]]:
        columns = super()._columns()
        for name in [each for each in columns if each.startswith(("gradients_", "base_gradients_"))]:
            del columns[name]
        if self.gradients is not None:
            columns |= {f"d_{joint}": self.gradients[:, i] for i, joint in enumerate(self.joint_names)}
        return columns

    def _summary(self) -> str:
        return f"{self.done} of {self.states} states answered, {super()._summary()}"

    def _row_label(self, row: int) -> str:
        return f"state {self.state[row]}, {super()._row_label(row)}"

    def of_state(self, state: int) -> SceneResult:
        """The answer of one state as `Scene.query` gives it.

        Raises
        ------
        IndexError
            If that state was not answered.
        """
        if not 0 <= state < self.done:
            raise IndexError(f"state {state}: {self.done} states were answered")
        rows = slice(self.first[state], self.first[state + 1])
        return SceneResult(
            **{name: getattr(self, name)[rows] for name in PairResults.PER_ROW},
            bodies=self.bodies,
            pairs=self.pairs,
            past_sphere=int(self.past_sphere[state]),
            past_obb=int(self.past_obb[state]),
            solved=int(self.solved[state]),
            intersecting=int(self.intersecting[state]),
        )
