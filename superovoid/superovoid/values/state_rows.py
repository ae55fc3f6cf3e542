# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What answers in many states share: the rows of all states, one after the other."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from superovoid.values.rows import PairRows

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class StateRows(PairRows):
    """Rows of pairs in many states; the rows of state s are ``first[s]`` to ``first[s + 1] - 1``."""

    first: IntArray
    done: int
    gradients: FloatArray | None

    JOINTS: ClassVar[str]
    """The field with the names of the columns of `gradients`."""

    @property
    def states(self) -> int:
        """States that the rows speak of."""
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
        if some.any():
            # Not the first row of each: who takes rows by indices may have turned their order within a state.
            least[some] = np.minimum.reduceat(self.distance, self.first[:-1][some])
        return least

    def _select(self, rows: slice | NDArray[Any]) -> Self:
        state = self.state[rows]
        if (state[1:] < state[:-1]).any():
            raise IndexError("rows: must be in the order of the states; of_state() gives the rows of one state")
        fewer = super()._select(rows)
        first = np.concatenate([[0], np.bincount(state, minlength=self.states).cumsum()])
        return replace(fewer, first=first)  # type: ignore[type-var] # of a dataclass

    def _labels(self) -> dict[str, NDArray[Any]]:
        return {"state": self.state, **super()._labels()}

    def _columns(self) -> dict[str, NDArray[Any]]:
        columns = super()._columns()
        for name in [each for each in columns if each.startswith(("gradients_", "base_gradients_"))]:
            del columns[name]
        if self.gradients is not None:
            columns |= {f"d_{joint}": self.gradients[:, i] for i, joint in enumerate(getattr(self, self.JOINTS))}
        return columns

    def _row_label(self, row: int) -> str:
        return f"state {self.state[row]}, {super()._row_label(row)}"
