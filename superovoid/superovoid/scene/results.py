# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a query of a scene answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from superovoid.contact.results import DistanceResult, DistanceResults
from superovoid.scene.bodies import Body
from superovoid.values.records import PairTable, Statistics

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class PairResult(DistanceResult):
    """A row of a `SceneResult` or `StateDistances`: a `DistanceResult` that knows its bodies."""

    body_a: int
    """Index of the first body in `Scene.bodies`."""
    body_b: int
    name_a: str
    """Name of the first body."""
    name_b: str
    link_a: str
    """Link of the first body."""
    link_b: str


@dataclass(frozen=True, eq=False, repr=False)
class PairResults(PairTable, DistanceResults):
    """Distances of pairs of a scene's bodies: what `SceneResult` and `StateDistances` have in common.

    A row is a `PairResult`; where there are no `bodies`, a `DistanceResult`.
    """

    body_a: IntArray
    """Index of the first body of each row in `Scene.bodies`."""
    body_b: IntArray
    bodies: tuple[Body, ...] = field(default=(), repr=False, kw_only=True)
    """`Scene.bodies` when the question was asked; `name_a` and the others need them."""

    PER_ROW: ClassVar[tuple[str, ...]] = (*DistanceResults.PER_ROW, "body_a", "body_b")

    def _text(self, what: str, index: int) -> str:
        return str(getattr(self.bodies[index], what))

    def _row(self, row: int) -> PairResult:
        if not self._has_names:
            return super()._row(row)  # type: ignore[return-value] # as the class says
        return self._made(PairResult, row, **self._names_of(row))


@dataclass(frozen=True, eq=False, repr=False)
class SceneResult(PairResults):
    """The solved pairs no farther than `max_distance`, closest (deepest) first.

    A part of the rows keeps the counts of the query.
    """

    statistics: Statistics
    """``iterations`` of each row, and counts of pairs:

    * ``pairs``: those that were to be checked;
    * ``past_sphere``: of these, pairs whose bounding spheres are within `max_distance`. In a scene of many pairs, only
      those count whose boxes along the axes of the world are within it too: others are never examined one by one. A
      query for the closest pairs of such a scene has a `max_distance` of its own, no larger than the one asked for;
    * ``past_obb``: of these, pairs whose oriented boxes are within `max_distance`;
    * ``bounded``: of these, pairs whose distances were bounded by support points, to find the closest; 0 without
      `max_results`;
    * ``solved``: pairs given to the engine: all that are past the boxes, with `max_results` only those that could be
      among the closest;
    * ``intersecting``: solved pairs with a negative distance: all pairs within `max_distance` that overlap; with
      `max_results` there may be more, each less deep than those reported.
    """
