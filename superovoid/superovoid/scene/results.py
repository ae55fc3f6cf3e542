# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Results of queries of a scene."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from superovoid.contact.results import DistanceResult, DistanceResults
from superovoid.scene.bodies import Body
from superovoid.values.records import PairTable, Statistics

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class PairResult(DistanceResult):
    """A row of a `SceneResult` or `StateDistances`: a `DistanceResult` with its bodies."""

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
    """Distances of pairs of a scene's bodies: the common fields of `SceneResult` and `StateDistances`.

    A row is a `PairResult`, or a `DistanceResult` if `bodies` is empty.
    """

    body_a: IntArray
    """Index of the first body of each row in `Scene.bodies`."""
    body_b: IntArray
    bodies: tuple[Body, ...] = field(default=(), repr=False, kw_only=True)
    """`Scene.bodies` at the time of the query; `name_a` and others need them."""

    PER_ROW: ClassVar[tuple[str, ...]] = (*DistanceResults.PER_ROW, "body_a", "body_b")

    def _text(self, what: str, index: int) -> str:
        return str(getattr(self.bodies[index], what))

    def _row(self, row: int) -> PairResult:
        if not self._has_names:
            return super()._row(row)  # type: ignore[return-value] # without names
        return self._make_row(PairResult, row, **self._names_of(row))


@dataclass(frozen=True, eq=False, repr=False)
class SceneResult(PairResults):
    """The solved pairs no farther than `max_distance`, closest (deepest) first.

    A subset of the rows keeps the counts of the query.
    """

    statistics: Statistics
    """``iterations`` of each row, and counts of pairs:

    * ``pairs``: pairs to check;
    * ``past_sphere``: of these, pairs whose bounding spheres are within `max_distance`. A scene with many pairs counts
      only those whose axis-aligned boxes are within it too, because it does not examine the others one by one. A query
      for its closest pairs counts those within a smaller distance, that of its last search;
    * ``past_obb``: of these, pairs whose oriented boxes are within `max_distance`;
    * ``bounded``: of these, pairs that bounds of their distances left out, to find the closest; 0 without
      `max_results`;
    * ``solved``: pairs solved by the engine: all in ``past_obb``, or with `max_results` those that may be among the
      closest;
    * ``intersecting``: solved pairs with a negative distance: all overlapping pairs within `max_distance`. With
      `max_results`, further overlapping pairs may exist, each less deep than those reported.
    """


def fields_of(rows: NDArray[np.float64], pairs: IntArray, count: int, counts: Iterable[Any]) -> dict[str, Any]:
    """Return the fields of a `PairResults`: rows of answers, bodies, number of pairs to check, and counts."""
    found = vars(DistanceResults.from_rows(rows))
    names = "past_sphere", "past_obb", "bounded", "solved", "intersecting"
    counted = dict(zip(names, counts, strict=True))
    statistics = Statistics(**vars(found["statistics"]), pairs=count, **counted)
    return {**found, "statistics": statistics, "body_a": pairs[:, 0], "body_b": pairs[:, 1]}
