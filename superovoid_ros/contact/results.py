"""Answers for one pair, and for many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from superovoid_ros.contact import columns
from superovoid_ros.contact.status import STATUSES, Status, differentiable_rows

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class DistanceResult:
    """Signed distance of two bodies with what proves it."""

    distance: float
    """Signed distance, m: positive apart, negative minus the minimum translational distance."""
    lower: float
    """Proved lower bound of the signed distance, m."""
    upper: float
    """Proved upper bound of the signed distance, m."""
    point_a: FloatArray
    """Witness point on the surface of body A, shape (3,), world, m. With any status, the points are between `lower` and
    `upper` from each other where the bodies are apart, and distance times normal, to within the width of the interval,
    where they overlap; docs/numerics.md, section 4 says what else they promise."""
    point_b: FloatArray
    """Witness point on the surface of body B, shape (3,), world, m."""
    normal: FloatArray
    """Unit common normal from A to B, shape (3,), world."""
    status: Status
    iterations: int
    """Newton iterations spent."""

    @classmethod
    def _from_row(cls, row: FloatArray) -> DistanceResult:
        """Result from a row of the engine, in a third of the time that eight guarded assignments take."""
        distance, lower, upper, *_, status, iterations = row.tolist()
        result = object.__new__(cls)
        result.__dict__.update(
            distance=distance,
            lower=lower,
            upper=upper,
            point_a=row[columns.POINT_A : columns.POINT_A + 3],
            point_b=row[columns.POINT_B : columns.POINT_B + 3],
            normal=row[columns.NORMAL : columns.NORMAL + 3],
            status=STATUSES[int(status)],
            iterations=int(iterations),
        )
        return result


@dataclass(frozen=True)
class DistanceResults:
    """`DistanceResult` as arrays, one row a pair."""

    distance: FloatArray
    lower: FloatArray
    upper: FloatArray
    point_a: FloatArray
    point_b: FloatArray
    normal: FloatArray
    status: NDArray[np.uint8]
    iterations: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.distance)

    @property
    def differentiable(self) -> NDArray[np.bool_]:
        """`Status.differentiable` of each row: whether the gradients of a row are the derivative of its distance."""
        return differentiable_rows(self.status)

    def __getitem__(self, row: int) -> DistanceResult:
        return DistanceResult(
            float(self.distance[row]),
            float(self.lower[row]),
            float(self.upper[row]),
            self.point_a[row],
            self.point_b[row],
            self.normal[row],
            Status(int(self.status[row])),
            int(self.iterations[row]),
        )

    @classmethod
    def from_rows(cls, rows: FloatArray) -> DistanceResults:
        """Wrap the result rows of the kernels."""
        return cls(
            rows[:, columns.DISTANCE],
            rows[:, columns.LOWER],
            rows[:, columns.UPPER],
            rows[:, columns.POINT_A : columns.POINT_A + 3],
            rows[:, columns.POINT_B : columns.POINT_B + 3],
            rows[:, columns.NORMAL : columns.NORMAL + 3],
            rows[:, columns.STATUS].astype(np.uint8),
            rows[:, columns.ITERATIONS].astype(np.int32),
        )
