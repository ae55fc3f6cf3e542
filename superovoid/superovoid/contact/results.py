# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Results for one pair, and for many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from superovoid.contact.certificates import Certificate
from superovoid.contact.columns import RESULT
from superovoid.values.records import Result, ResultTable, Statistics
from superovoid.values.status import STATUSES, Status

FloatArray = NDArray[np.float64]
_POINT_A, _POINT_B, _NORMAL = (slice(first, first + 3) for first in (RESULT.point_a, RESULT.point_b, RESULT.normal))
_LATER: dict[str, Callable[[FloatArray], Any]] = {
    "point_a": lambda row: row[_POINT_A],
    "point_b": lambda row: row[_POINT_B],
    "normal": lambda row: row[_NORMAL],
    "statistics": lambda row: Statistics(iterations=int(row[RESULT.iterations])),
}


@dataclass(frozen=True, eq=False, repr=False)
class DistanceResult(Result):
    """Signed distance of two bodies with its proof."""

    distance: float
    """Signed distance, m: positive apart, negative minus the minimum translational distance."""
    lower: float
    """Proved lower bound of the signed distance, m."""
    upper: float
    """Proved upper bound of the signed distance, m."""
    point_a: FloatArray
    """Witness point on the surface of body A, shape (3,), world, m. With any status, the distance of the two points is
    in [lower, upper] if the bodies are apart. If they overlap, the difference of the points is distance times normal,
    to within the width of the interval (docs/explanation/numerics.md, section 2)."""
    point_b: FloatArray
    """Witness point on the surface of body B, shape (3,), world, m."""
    normal: FloatArray
    """Unit common normal from A to B, shape (3,), world."""
    status: Status
    statistics: Statistics
    """``iterations`` of Newton's method, or of the solver of other kinds."""
    certificate: Certificate | None = field(default=None, repr=False, kw_only=True)
    """The proof of the interval, for independent checks (docs/how_to/verify.md); None: not requested."""

    @classmethod
    def _from_row(cls, row: FloatArray) -> DistanceResult:
        """Return a result from a row of the engine, which must be its own.

        Vectors and statistics are made when they are first read: they would take a fifth of a call of `distance`.
        """
        distance, lower, upper, _, _, _, _, _, _, _, _, _, status, _ = row.tolist()
        result = object.__new__(cls)
        result.__dict__.update(distance=distance, lower=lower, upper=upper, status=STATUSES[int(status)], _row=row)
        return result

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            row = self.__dict__.get("_row")
            if row is None or name not in _LATER:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return self.__dict__.setdefault(name, _LATER[name](row))


@dataclass(frozen=True, eq=False, repr=False)
class DistanceResults(ResultTable):
    """`DistanceResult` as arrays, one row for each pair.

    ``results[0]`` is a row, ``results[:10]`` and ``results[results.certified & (results.distance < 0.01)]`` are fewer
    rows, and a loop goes over rows. Results are equal when all their arrays are, and have no hash.
    """

    distance: FloatArray
    lower: FloatArray
    upper: FloatArray
    point_a: FloatArray
    point_b: FloatArray
    normal: FloatArray
    status: NDArray[np.uint8]
    """The flags of `Status` as numbers; `status_words` has them in words."""
    statistics: Statistics
    """``iterations`` of each row."""

    PER_ROW: ClassVar[tuple[str, ...]] = (
        *("distance", "lower", "upper", "point_a", "point_b", "normal", "status", "statistics"),
    )
    """The fields with an entry for each row."""

    def _row(self, row: int) -> DistanceResult:
        return self._make_row(DistanceResult, row)

    @classmethod
    def from_rows(cls, rows: FloatArray) -> DistanceResults:
        """Wrap the result rows of the kernels."""
        return cls(
            rows[:, RESULT.distance],
            rows[:, RESULT.lower],
            rows[:, RESULT.upper],
            rows[:, _POINT_A],
            rows[:, _POINT_B],
            rows[:, _NORMAL],
            rows[:, RESULT.status].astype(np.uint8),
            Statistics(iterations=rows[:, RESULT.iterations].astype(np.int32)),
        )
