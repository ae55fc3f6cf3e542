# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Records, which are results that compare by value, and tables with one row per pair.

`Columns` converts rows to the tables of other libraries, and `Table` also selects them. `ResultTable` adds status words
and printing, `PairTable` the names of the bodies, and `StateTable` the robot state of each row.
"""

from __future__ import annotations

import importlib
import math
import operator
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum, IntEnum
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from superovoid.values import html
from superovoid.values.checks import are_equal, shorten
from superovoid.values.status import Status, certified_rows, differentiable_rows, words_of

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Which: TypeAlias = slice | NDArray[Any] | list[int] | list[bool]
"""Selection of rows: a slice, a boolean mask, or indices."""
Row = TypeVar("Row", bound="Record")
Row_co = TypeVar("Row_co", covariant=True)
_PRINTED_NUMBERS, _PRINTED_ROWS = 16, html.MOST_ROWS


class Statistics(SimpleNamespace):
    """Counters of the work done for a result, as attributes.

    They are for profiling only: no code depends on them, and their names may change between versions.
    """

    PER_ROW: ClassVar[frozenset[str]] = frozenset({"iterations", "solves", "supports"})
    """Counters with one entry per row of a table; all others count for the whole result, or per state."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"statistics.{name}: cannot be assigned")

    def __eq__(self, other: object) -> bool:
        return are_equal(vars(self), vars(other)) if isinstance(other, Statistics) else NotImplemented

    def __repr__(self) -> str:
        return f"Statistics({', '.join(f'{name}={short_repr(value)}' for name, value in vars(self).items())})"

    def __getitem__(self, rows: Any) -> Statistics:
        """Select rows: an index returns the per-row counters of that row, a slice or a mask returns all counters."""
        per_row = {name: value[rows] for name, value in vars(self).items() if name in self.PER_ROW}
        if isinstance(rows, int | np.integer):
            return Statistics(**{name: value.item() for name, value in per_row.items()})
        return Statistics(**{**vars(self), **per_row})


class Record:
    """Base of frozen dataclasses of numbers and arrays.

    Two records of one class are equal if all their fields are. A record has no hash, because a dictionary would compare
    long arrays.
    """

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return all(are_equal(getattr(self, each.name), getattr(other, each.name)) for each in fields(self))  # type: ignore[arg-type] # a dataclass

    def __repr__(self) -> str:
        shown = (f"{name}={short_repr(value)}" for name, value in self._printed_fields().items())
        return f"{type(self).__name__}({', '.join(shown)})"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as numbers, lists and strings, which `json` can write."""
        return _to_plain(self._printed_fields())

    def _repr_html_(self) -> str:
        """Return the fields as a table, for a notebook."""
        return html.table(type(self).__name__, (), [(n, _cell(v)) for n, v in self._printed_fields().items()])

    def _printed_fields(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self) if each.repr}  # type: ignore[arg-type] # a dataclass


def _to_plain(value: Any) -> Any:
    """Return a value as numbers, lists and strings."""
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, Statistics):
        value = vars(value)
    if isinstance(value, Mapping):
        return {key: _to_plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        values = map(_to_plain, value)
        return tuple(values) if isinstance(value, tuple) else list(values)
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _to_plain(getattr(value, each.name)) for each in fields(value)}
    return value


def selection(name: str, index: Any, count: int) -> int | slice | NDArray[Any]:
    """Return what selects one or several of `count` rows, as an index of numpy.

    Raises
    ------
    IndexError
        If it is neither an integer, a slice, a mask nor a sequence of integers; a tuple is none of these.
    """
    if isinstance(index, slice):
        return index
    if not isinstance(index, bool | np.bool_):
        try:
            return operator.index(index)
        except TypeError:
            pass
    which = np.asarray(index) if not isinstance(index, tuple) else np.empty(())
    if which.shape == (0,) and which.dtype != np.bool_:
        which = which.astype(np.int64)
    if which.ndim != 1 or which.dtype.kind not in "biu":
        raise IndexError(
            f"{name}: must be an integer, a slice, a mask of bools or a sequence of integers, found {shorten(index)}"
        )
    if which.dtype.kind == "b" and len(which) != count:
        raise IndexError(f"{name}: a mask must have one entry per row, found {len(which)} for {count} rows")
    return which


def short_repr(value: Any) -> str:
    """Return a short representation of a value."""
    if isinstance(value, np.ndarray):
        if value.size > _PRINTED_NUMBERS:
            return f"<{value.dtype} array of shape {value.shape}>"
        return np.array2string(value, precision=6, separator=", ", suppress_small=True).replace("\n", "")
    if isinstance(value, Enum):
        return str(value)
    return f"{value:.10g}" if isinstance(value, float) else repr(value)


def _package(name: str, purpose: str) -> Any:
    """Import a package that the extra `table` installs."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{purpose} needs {name}: pip install 'superovoid[table]'") from error


class Result(Record):
    """A signed distance with its status."""

    status: Status

    @property
    def certified(self) -> bool:
        """`Status.certified`: whether the interval meets the requested tolerance."""
        return self.status.certified

    @property
    def differentiable(self) -> bool:
        """`Status.differentiable`: whether the gradients are the derivative of the distance."""
        return self.status.differentiable


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else short_repr(value)


class _UniformTable(Protocol[Row_co]):
    """A table whose rows are of one class."""

    def _row(self, row: int) -> Row_co: ...


class Columns(Record):
    """A record of arrays with one entry per row, which become the columns of tables of other libraries."""

    PER_ROW: ClassVar[tuple[str, ...]]
    """Names of the fields with one entry per row."""
    ENUMS: ClassVar[Mapping[str, type[IntEnum]]] = {}
    """Enumerations, with numbers from 0 on, of which fields have the numbers."""

    def __len__(self) -> int:
        return len(getattr(self, self.PER_ROW[0]))

    def to_columns(self) -> dict[str, NDArray[Any]]:
        """Return a column of one entry per row for each number, by name: three for a vector; a status is in words."""
        columns = self._labels()
        for name in self.PER_ROW:
            if name not in columns:
                columns |= self._columns(name)
        return columns

    def to_pandas(self) -> pandas.DataFrame:
        """Return `to_columns` as a data frame of pandas.

        Raises
        ------
        ImportError
            If pandas, an optional dependency, is not installed.
        """
        return _package("pandas", "to_pandas()").DataFrame(self.to_columns())

    def to_polars(self) -> polars.DataFrame:
        """Return `to_columns` as a data frame of polars.

        Raises
        ------
        ImportError
            If polars, an optional dependency, is not installed.
        """
        return _package("polars", "to_polars()").DataFrame(self.to_columns())

    def to_arrow(self) -> pyarrow.Table:
        """Return `to_columns` as a table of Apache Arrow.

        Raises
        ------
        ImportError
            If pyarrow, an optional dependency, is not installed.
        """
        return _package("pyarrow", "to_arrow()").table(self.to_columns())

    def _first_columns(self, rows: int) -> dict[str, NDArray[Any]]:
        """Return `to_columns` of the first rows."""
        return {name: each[:rows] for name, each in self.to_columns().items()}

    def _labels(self) -> dict[str, NDArray[Any]]:
        """Return the text columns derived from the fields: status words and names."""
        return {name: np.array([str(each) for each in kind])[getattr(self, name)] for name, kind in self.ENUMS.items()}

    def _columns(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the columns of one field, three for a vector."""
        values = getattr(self, name)
        if isinstance(values, Statistics):
            return {counter: each for counter, each in vars(values).items() if counter in Statistics.PER_ROW}
        if isinstance(values, Table):
            return {f"{name}_{column}": each for column, each in values.to_columns().items()}
        if values.ndim == 1:
            return {name: np.ascontiguousarray(values)}
        return {f"{name}_{axis}": np.ascontiguousarray(values[:, i]) for i, axis in enumerate("xyz")}

    def _repr_html_(self) -> str:
        columns = self._first_columns(_PRINTED_ROWS)
        rows = zip(*(map(_cell, each.tolist()) for each in columns.values()), strict=True)
        left = len(self) - _PRINTED_ROWS
        numbered = ([str(i), *row] for i, row in enumerate(rows))
        more = f"and {left} more" if left > 0 else ""
        return html.table(f"{type(self).__name__}({self._summary()})", ["", *columns], numbered, more)

    def _summary(self) -> str:
        return f"{len(self)} row{'' if len(self) == 1 else 's'}"


class Table(Columns):
    """A record of arrays with one entry per row, and its rows as records."""

    @abstractmethod
    def _row(self, row: int) -> Record:
        """Return one row."""

    def _make_row(self, kind: type[Row], row: int, **converted: Any) -> Row:
        """Return a row as a record of class `kind`: the fields it shares with the table, and `converted`."""
        values = {each.name: getattr(self, each.name)[row] for each in fields(kind) if each.name in self.PER_ROW}  # type: ignore[arg-type] # a dataclass
        values = {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
        values |= {name: each(values[name]) for name, each in self.ENUMS.items()}
        return kind(**{**values, **converted})

    def __iter__(self: _UniformTable[Row_co]) -> Iterator[Row_co]:
        return (self._row(row) for row in range(len(self)))  # type: ignore[arg-type]

    @overload
    def __getitem__(self: _UniformTable[Row_co], rows: int | np.integer) -> Row_co: ...

    @overload
    def __getitem__(self, rows: Which) -> Self: ...

    def __getitem__(self, rows: Any) -> Any:
        which = selection("rows", rows, len(self))
        return self._row(which) if isinstance(which, int) else self._select(which)

    def _select(self, rows: slice | NDArray[Any]) -> Self:
        values = {name: getattr(self, name) for name in self.PER_ROW}
        fewer = {name: each[rows] for name, each in values.items() if each is not None}
        return replace(self, **fewer)  # type: ignore[type-var] # a dataclass

    def _first_columns(self, rows: int) -> dict[str, NDArray[Any]]:
        return self[:rows].to_columns()

    def _summary(self) -> str:
        return f"{len(self)} pair{'' if len(self) == 1 else 's'}"


class ResultTable(Table):
    """Signed distances, one row per pair."""

    distance: FloatArray
    lower: FloatArray
    upper: FloatArray
    status: NDArray[np.uint8]

    @property
    def certified(self) -> NDArray[np.bool_]:
        """`Status.certified` of each row: whether the interval meets the requested tolerance."""
        return certified_rows(self.status)

    @property
    def differentiable(self) -> NDArray[np.bool_]:
        """`Status.differentiable` of each row: whether its gradients are the derivative of its distance."""
        return differentiable_rows(self.status)

    @property
    def status_words(self) -> NDArray[np.str_]:
        """Status of each row in words: `CERTIFIED`, `UNPROVEN|NON_CONVEX`."""
        return words_of(self.status)

    def _make_row(self, kind: type[Row], row: int, **converted: Any) -> Row:
        return super()._make_row(kind, row, status=Status(int(self.status[row])), **converted)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as numbers, lists with one entry per row, and strings, which `json` can write."""
        return {**super().to_dict(), **_to_plain(self._labels())}

    def _labels(self) -> dict[str, NDArray[Any]]:
        return {"status": self.status_words}

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__}({self._summary()})"]
        for row in range(min(len(self), _PRINTED_ROWS)):
            interval = f"[{self.lower[row]:.9g}, {self.upper[row]:.9g}]"
            words = Status(int(self.status[row]))
            lines.append(f"  {row}: {self._row_label(row)}{self.distance[row]:.9g} m in {interval}, {words}")
        if len(self) > _PRINTED_ROWS:
            lines.append(f"  ... and {len(self) - _PRINTED_ROWS} more")
        return "\n".join(lines)

    def _summary(self) -> str:
        words = super()._summary()
        if len(self):
            words += f", {int(self.certified.sum())} certified, distances {self.distance.min():.10g} to "
            words += f"{self.distance.max():.10g} m"
        return words

    def _row_label(self, row: int) -> str:
        return ""


class PairTable(ResultTable):
    """Signed distances of pairs of known bodies."""

    body_a: IntArray
    body_b: IntArray
    bodies: tuple[Any, ...]

    @abstractmethod
    def _text(self, what: str, index: int) -> str:
        """Return the ``name`` or ``link`` of one of `bodies`."""

    @property
    def _has_names(self) -> bool:
        return bool(self.bodies)

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
        if len(self) and not self._has_names:
            raise ValueError("bodies: empty, so that these results have indices of bodies but no names or links")
        return np.array([self._text(what, index) for index in range(len(self.bodies))], dtype=np.str_)

    def _names_of(self, row: int) -> dict[str, str]:
        """Return the names and links of the bodies of one row."""
        sides = {"a": self.body_a[row], "b": self.body_b[row]}
        return {f"{what}_{side}": self._text(what, int(i)) for side, i in sides.items() for what in ("name", "link")}

    def _labels(self) -> dict[str, NDArray[Any]]:
        names = ("name_a", "name_b", "link_a", "link_b") if self._has_names else ()
        return {**{name: getattr(self, name) for name in names}, **super()._labels()}

    def _row_label(self, row: int) -> str:
        if not self._has_names:
            return f"bodies {self.body_a[row]} and {self.body_b[row]}: "
        return "{name_a} and {name_b}: ".format(**self._names_of(row))


class StateTable(PairTable):
    """Signed distances in many states; the rows of state s are ``first[s]`` to ``first[s + 1] - 1``."""

    first: IntArray
    done: int
    gradients: FloatArray | None

    JOINTS: ClassVar[str]
    """The field with the names of the columns of `gradients`."""

    @property
    def states(self) -> int:
        """Number of states."""
        return len(self.first) - 1

    @property
    def state(self) -> IntArray:
        """Index of the state of each row, shape (rows,)."""
        return np.repeat(np.arange(self.states), np.diff(self.first))

    @property
    def closest(self) -> FloatArray:
        """Smallest distance of each state, m, shape (states,).

        It is inf if no pair is within `max_distance`, and nan if the state was not evaluated.
        """
        least = np.full(self.states, math.nan)
        least[: self.done] = math.inf
        # The first row of a state need not be the closest: a selection by indices may have changed the order.
        np.minimum.at(least, self.state, self.distance)
        return least

    def _select(self, rows: slice | NDArray[Any]) -> Self:
        state = self.state[rows]
        if (state[1:] < state[:-1]).any():
            raise IndexError("rows: must be in the order of the states; of_state() returns the rows of one state")
        first = np.concatenate([[0], np.bincount(state, minlength=self.states).cumsum()])
        return replace(super()._select(rows), first=first)  # type: ignore[type-var] # a dataclass

    def _labels(self) -> dict[str, NDArray[Any]]:
        return {"state": self.state, **super()._labels()}

    def _columns(self, name: str) -> dict[str, NDArray[Any]]:
        if name == "gradients" and self.gradients is not None:
            return {f"d_{joint}": self.gradients[:, i] for i, joint in enumerate(getattr(self, self.JOINTS))}
        return {} if name in ("gradients", "base_gradients") else super()._columns(name)

    def _row_label(self, row: int) -> str:
        return f"state {self.state[row]}, {super()._row_label(row)}"
