"""Answers for one pair, and for many."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, SupportsIndex, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid_ros.contact import columns
from superovoid_ros.contact.records import Record, plain, shortened, spread
from superovoid_ros.contact.status import STATUSES, Status, certified_rows, differentiable_rows, words_of

if TYPE_CHECKING:
    import pandas

FloatArray = NDArray[np.float64]
Rows: TypeAlias = slice | NDArray[Any] | list[int] | list[bool]
"""Which rows: a slice, a mask of bools, or indices."""
_PRINTED_ROWS = 5


@dataclass(frozen=True, eq=False, repr=False)
class DistanceResult(Record):
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

    @property
    def certified(self) -> bool:
        """`Status.certified`: whether the interval is as narrow as was asked for."""
        return self.status.certified

    @property
    def differentiable(self) -> bool:
        """`Status.differentiable`: whether gradients are the derivative of the distance."""
        return self.status.differentiable

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


@dataclass(frozen=True, eq=False, repr=False)
class DistanceResults(Record):
    """`DistanceResult` as arrays, one row a pair.

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
    iterations: NDArray[np.int32]

    PER_ROW: ClassVar[tuple[str, ...]] = (
        *("distance", "lower", "upper", "point_a", "point_b", "normal", "status", "iterations"),
    )
    """The fields that have an entry a row."""

    def __len__(self) -> int:
        return len(self.distance)

    @property
    def certified(self) -> NDArray[np.bool_]:
        """`Status.certified` of each row: whether the interval is as narrow as was asked for."""
        return certified_rows(self.status)

    @property
    def differentiable(self) -> NDArray[np.bool_]:
        """`Status.differentiable` of each row: whether the gradients of a row are the derivative of its distance."""
        return differentiable_rows(self.status)

    @property
    def status_words(self) -> NDArray[np.str_]:
        """The status of each row in words: `CERTIFIED`, `UNPROVEN|DENT`."""
        return words_of(self.status)

    @overload
    def __getitem__(self, rows: SupportsIndex) -> DistanceResult: ...

    @overload
    def __getitem__(self, rows: Rows) -> Self: ...

    def __getitem__(self, rows: SupportsIndex | Rows) -> DistanceResult | Self:
        if isinstance(rows, slice):
            return self._select(rows)
        if not isinstance(rows, bool | np.bool_):
            try:
                return self._row(operator.index(rows))  # type: ignore[arg-type]
            except TypeError:
                pass
        return self._select(self._indices(rows))  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[DistanceResult]:
        return (self._row(row) for row in range(len(self)))

    def _indices(self, rows: ArrayLike) -> NDArray[Any]:
        """A mask or indices as an array that selects rows."""
        which = np.asarray(rows) if not isinstance(rows, tuple) else np.empty(())
        if which.size == 0 and which.ndim == 1:
            which = which.astype(np.bool_ if which.dtype == np.bool_ else np.int64)
        if which.ndim != 1 or which.dtype.kind not in "biu":
            raise IndexError("rows: must be an integer, a slice, a mask of bools or a sequence of integers")
        if which.dtype.kind == "b" and len(which) != len(self):
            raise IndexError(f"rows: a mask must have an entry a row, found {len(which)} for {len(self)} rows")
        return which

    def _row(self, row: int) -> DistanceResult:
        return DistanceResult(**self._fields_of(row))

    def _fields_of(self, row: int) -> dict[str, Any]:
        return {
            "distance": float(self.distance[row]),
            "lower": float(self.lower[row]),
            "upper": float(self.upper[row]),
            "point_a": self.point_a[row],
            "point_b": self.point_b[row],
            "normal": self.normal[row],
            "status": Status(int(self.status[row])),
            "iterations": int(self.iterations[row]),
        }

    def _select(self, rows: slice | NDArray[Any]) -> Self:
        fewer = {name: getattr(self, name) for name in self.PER_ROW}
        return replace(self, **{name: values[rows] for name, values in fewer.items() if values is not None})

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

    # -- for people and other programs ----------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain Python: numbers, lists with an entry a row, and words, such as `json` writes."""
        return {**super().to_dict(), **{name: plain(values) for name, values in self._labels().items()}}

    def to_dataframe(self) -> pandas.DataFrame:
        """A table with a row a pair and a column a number; the status in words.

        Raises
        ------
        ImportError
            If pandas is not installed, which this package does without.
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_dataframe() needs pandas: pip install 'superovoid_ros[table]'") from error
        return pandas.DataFrame(self._columns())

    def _labels(self) -> dict[str, NDArray[Any]]:
        """What has an entry a row and is derived: words and names."""
        return {"status": self.status_words}

    def _columns(self) -> dict[str, NDArray[Any]]:
        columns = dict(self._labels())
        for name in self.PER_ROW:
            values = getattr(self, name)
            if values is not None and name not in columns:
                columns |= spread(name, values)
        return columns

    def __repr__(self) -> str:
        return "\n".join([f"{type(self).__name__}({self._summary()})", *self._printed_rows()])

    def _summary(self) -> str:
        count = len(self)
        words = f"{count} pair{'' if count == 1 else 's'}"
        if count:
            words += f", {int(self.certified.sum())} certified, distances {shortened(float(self.distance.min()))} to "
            words += f"{shortened(float(self.distance.max()))} m"
        return words

    def _printed_rows(self) -> Iterator[str]:
        """The first rows."""
        for row in range(min(len(self), _PRINTED_ROWS)):
            interval = f"[{self.lower[row]:.9g}, {self.upper[row]:.9g}]"
            yield f"  {row}: {self._row_label(row)}{self.distance[row]:.9g} m in {interval}, {self.status_words[row]}"
        if len(self) > _PRINTED_ROWS:
            yield f"  ... and {len(self) - _PRINTED_ROWS} more"

    def _row_label(self, row: int) -> str:
        return ""
