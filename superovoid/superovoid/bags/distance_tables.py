# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Write the distances along a recorded run as a table (CSV or Parquet), with one row per pair and state."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

from superovoid.dataset.errors import missing_package_error
from superovoid.dataset.whole_files import open_atomically, remove_leftovers_of

KNOWN = "known"


class Row(NamedTuple):
    """Distance of a pair in a state; or an unknown state, or one without a pair within `max_distance`."""

    time_s: float
    """Time since the first joint states."""
    recorded_ns: int
    """Time of recording."""
    state: str
    """"known", or the reason why the state is unknown."""
    body_a: str
    """If empty, the row has no pair: the distances of all requested pairs lie in [lower_m, upper_m]."""
    body_b: str
    distance_m: float
    lower_m: float
    upper_m: float
    status: str


class TableWriter(Protocol):
    """Writer of rows."""

    def write(self, rows: Sequence[Row]) -> None:
        """Append rows to the table."""


@contextmanager
def table_at(path: Path) -> Iterator[TableWriter]:
    """Open a table for writing; the file appears, complete, when the block ends.

    The table is Parquet if the name ends with ``.parquet``, otherwise CSV.

    Raises
    ------
    DatasetError
        If the table is Parquet and the package pyarrow is missing.
    OSError
        If the table cannot be written.
    """
    remove_leftovers_of(path)
    with open_atomically(path) as file:
        writer = _Parquet(file) if path.suffix == ".parquet" else _Csv(file)
        try:
            yield writer
        finally:
            writer.close()


class _Csv:
    def __init__(self, file: BinaryIO) -> None:
        self._text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        self._writer = csv.writer(self._text)
        self._writer.writerow(Row._fields)

    def write(self, rows: Sequence[Row]) -> None:
        self._writer.writerows(rows)

    def close(self) -> None:
        self._text.detach()  # flushes; the caller closes the file


class _Parquet:
    def __init__(self, file: BinaryIO) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ModuleNotFoundError as error:
            raise missing_package_error(error) from None
        kinds = {"recorded_ns": pyarrow.uint64()}
        self._arrow: Any = pyarrow
        self._schema = pyarrow.schema(
            (name, kinds.get(name, pyarrow.float64() if name.endswith(("_s", "_m")) else pyarrow.string()))
            for name in Row._fields
        )
        self._writer = pyarrow.parquet.ParquetWriter(file, self._schema, compression="zstd")

    def write(self, rows: Sequence[Row]) -> None:
        if rows:
            columns = dict(zip(Row._fields, zip(*rows, strict=True), strict=True))
            self._writer.write_table(self._arrow.table(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()
