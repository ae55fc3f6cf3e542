# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What answers about many pairs share, whatever a row has: some of the rows, words, tables, a few printed lines."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.values.records import Record, plain, shortened, spread
from superovoid.values.status import Status, certified_rows, differentiable_rows, words_of

if TYPE_CHECKING:
    import pandas

FloatArray = NDArray[np.float64]
Which: TypeAlias = slice | NDArray[Any] | list[int] | list[bool]
"""Which rows: a slice, a mask of bools, or indices."""
Row_co = TypeVar("Row_co", covariant=True)
_PRINTED_ROWS = 5


class _OneRow(Protocol[Row_co]):
    """What has rows of a kind."""

    def _row(self, row: int) -> Row_co: ...


class ResultRows(Record):
    """Arrays with an entry a row; a dataclass of them says which (`PER_ROW`) and what one row is (`_row`)."""

    distance: FloatArray
    lower: FloatArray
    upper: FloatArray
    status: NDArray[np.uint8]

    PER_ROW: ClassVar[tuple[str, ...]]
    """The fields that have an entry a row."""

    @abstractmethod
    def _row(self, row: int) -> Record:
        """One row."""

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
    def __getitem__(self: _OneRow[Row_co], rows: int | np.integer) -> Row_co: ...

    @overload
    def __getitem__(self, rows: Which) -> Self: ...

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, slice):
            return self._select(rows)
        if not isinstance(rows, bool | np.bool_):
            try:
                return self._row(operator.index(rows))
            except TypeError:
                pass
        return self._select(self._indices(rows))

    def __iter__(self: _OneRow[Row_co]) -> Iterator[Row_co]:
        return (self._row(row) for row in range(len(self)))  # type: ignore[arg-type]

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

    def _values(self, names: Iterable[str], row: int) -> dict[str, Any]:
        """Fields of one row: numbers, vectors and a `Status`."""
        found = {name: getattr(self, name)[row] for name in names}
        found = {name: value.item() if isinstance(value, np.generic) else value for name, value in found.items()}
        return {**found, "status": Status(found["status"])}

    def _select(self, rows: slice | NDArray[Any]) -> Self:
        fewer = {name: getattr(self, name) for name in self.PER_ROW}
        return replace(self, **{name: values[rows] for name, values in fewer.items() if values is not None})  # type: ignore[type-var] # of a dataclass

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
            raise ImportError("to_dataframe() needs pandas: pip install 'superovoid[table]'") from error
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


class PairRows(ResultRows):
    """Rows that know the bodies of their pairs."""

    body_a: NDArray[np.int64]
    body_b: NDArray[np.int64]

    bodies: tuple[Any, ...]

    @abstractmethod
    def _text(self, what: str, index: int) -> str:
        """The ``name`` or ``link`` of one of `bodies`."""

    @property
    def _has_names(self) -> bool:
        """Whether there are names to the indices."""
        return bool(self.bodies)

    def _texts(self, what: str) -> NDArray[np.str_]:
        if len(self) and not self._has_names:
            raise ValueError("these results were made without bodies, so that they have indices only")
        return np.array([self._text(what, index) for index in range(len(self.bodies))], dtype=np.str_)

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

    def _names_of(self, row: int) -> dict[str, Any]:
        """Indices and names of the bodies of one row."""
        found: dict[str, Any] = {}
        for side in "ab":
            index = int(getattr(self, f"body_{side}")[row])
            found[f"body_{side}"] = index
            found |= {f"{what}_{side}": self._text(what, index) for what in ("name", "link")}
        return found

    def _labels(self) -> dict[str, NDArray[Any]]:
        if not self._has_names:
            return super()._labels()
        names = {name: getattr(self, name) for name in ("name_a", "name_b", "link_a", "link_b")}
        return {**names, **super()._labels()}

    def _row_label(self, row: int) -> str:
        if not self._has_names:
            return f"bodies {self.body_a[row]} and {self.body_b[row]}: "
        return " and ".join(self._text("name", int(each[row])) for each in (self.body_a, self.body_b)) + ": "
