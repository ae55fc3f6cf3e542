"""What a query of a scene answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from superovoid_ros.contact.results import DistanceResult, DistanceResults
from superovoid_ros.scene.bodies import Body

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
class PairResults(DistanceResults):
    """Distances of pairs of a scene's bodies: what `SceneResult` and `StateDistances` have in common."""

    body_a: IntArray
    """Index of the first body of each row in `Scene.bodies`."""
    body_b: IntArray
    bodies: tuple[Body, ...] = field(default=(), repr=False, kw_only=True)
    """`Scene.bodies` when the question was asked; `name_a` and the others need them."""

    PER_ROW: ClassVar[tuple[str, ...]] = (*DistanceResults.PER_ROW, "body_a", "body_b")

    @property
    def name_a(self) -> NDArray[np.str_]:
        """Name of the first body of each row."""
        return self._texts("name")[self.body_a]

    @property
    def name_b(self) -> NDArray[np.str_]:
        """Name of the second body of each row."""
        return self._texts("name")[self.body_b]

    @property
    def link_a(self) -> NDArray[np.str_]:
        """Link of the first body of each row."""
        return self._texts("link")[self.body_a]

    @property
    def link_b(self) -> NDArray[np.str_]:
        """Link of the second body of each row."""
        return self._texts("link")[self.body_b]

    def _texts(self, what: str) -> NDArray[np.str_]:
        if len(self) and not self.bodies:
            raise ValueError("these results were made without bodies, so that they have indices only")
        return np.array([getattr(body, what) for body in self.bodies], dtype=np.str_)

    def _row(self, row: int) -> DistanceResult:
        return PairResult(**self._fields_of(row)) if self.bodies else super()._row(row)

    def _fields_of(self, row: int) -> dict[str, Any]:
        found = super()._fields_of(row)
        if self.bodies:
            for side in "ab":
                index = int(getattr(self, f"body_{side}")[row])
                body = self.bodies[index]
                found |= {f"body_{side}": index, f"name_{side}": body.name, f"link_{side}": body.link}
        return found

    def _labels(self) -> dict[str, NDArray[Any]]:
        if not self.bodies:
            return super()._labels()
        names = {name: getattr(self, name) for name in ("name_a", "name_b", "link_a", "link_b")}
        return {**names, **super()._labels()}

    def _row_label(self, row: int) -> str:
        if not self.bodies:
            return f"bodies {self.body_a[row]} and {self.body_b[row]}: "
        return f"{self.bodies[self.body_a[row]].name} and {self.bodies[self.body_b[row]].name}: "


@dataclass(frozen=True, eq=False, repr=False)
class SceneResult(PairResults):
    """The solved pairs no farther than the cut-off, closest (deepest) first, and what was culled.

    A part of the rows keeps the counts, which are those of the query.
    """

    pairs: int
    """Pairs that were to be checked."""
    past_sphere: int
    """Of these, pairs whose bounding spheres are within the cut-off. In a scene of many pairs those are not counted
    whose boxes along the axes of the world are not: they were never looked at one by one. A query for the closest pairs
    of such a scene has a cut-off of its own, no larger than the one asked for."""
    past_obb: int
    """Of these, pairs whose oriented boxes are within the cut-off."""
    solved: int
    """Pairs given to the engine: all that are past the boxes, with `max_results` only those that could be among the
    closest."""
    intersecting: int
    """Solved pairs with a negative distance: all pairs within the cut-off that overlap; with `max_results` there may be
    more, each less deep than those reported."""
