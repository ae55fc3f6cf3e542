# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Output of commands: verdict, details, tables, JSON, progress; and CSV tables with the command that made them.

Commands print through `REPORT`: results to standard output, progress and warnings to standard error.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, field, fields, is_dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table


class OutputError(ValueError):
    """Results cannot be written to the output folder."""


def output_folder(path: Path) -> Path:
    """Create the output folder before a long computation, and return it.

    Raises
    ------
    OutputError
        If the folder does not exist and cannot be created.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"--output {path}: {error.strerror}") from error
    return path


class Report:
    """What the command of this process prints, selected by the options `--details`, `--quiet` and `--json`.

    Attributes
    ----------
    document : dict
        The results for `--json`.
    """

    def __init__(self) -> None:
        self._select(argparse.Namespace())

    def _select(self, options: argparse.Namespace) -> None:
        self.details, self.quiet, self.json = (getattr(options, name, False) for name in ("details", "quiet", "json"))
        self.document: dict[str, Any] = {}

    def run(self, options: argparse.Namespace) -> int:
        """Run a command with its report, print the document if JSON is requested, and return the exit code."""
        self._select(options)
        try:
            code: int = options.run(options)
            if self.json:
                json.dump(_plain({**self.document, "exit_code": code}), sys.stdout, indent=1)
                print()
            return code
        finally:
            self._select(argparse.Namespace())  # functions called after the command print as usual

    def verdict(self, words: str, **results: Any) -> None:
        """Print the line with the verdict, which comes first, and add it and the results to the document."""
        self.document.update(verdict=words, **results)
        self.line(words)

    def line(self, words: str) -> None:
        """Print a line."""
        if not (self.quiet or self.json):
            print(words, flush=True)

    def detail(self, words: str) -> None:
        """Print a line if details are requested."""
        if self.details:
            self.line(words)

    def files(self, paths: Iterable[Path]) -> None:
        """Print the paths of files that the command has written, and add them to the document."""
        for path in paths:
            self.document.setdefault("files", []).append(str(path))
            self.line(f"written: {path}")

    def table(self, table: Table) -> None:
        """Print a table if details are requested, and add it to the document."""
        if self.details:
            print_table(self.console(), table)
        else:
            self._add(table)

    def _add(self, table: Table) -> None:
        names = [str(column.header) for column in table.columns]
        rows = [
            dict(zip(names, cells, strict=True))
            for cells in zip(*(column.cells for column in table.columns), strict=True)
        ]
        self.document.setdefault("tables", []).append({"title": table.title and str(table.title), "rows": rows})

    def console(self) -> Console:
        """Return a console for standard output, silent if the options request that."""
        from rich.console import Console

        return Console(quiet=self.quiet or self.json)


def _plain(value: Any) -> Any:
    """Return a value in types of JSON, which has neither NaN nor infinities: they become null."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, str | int) else str(value)


REPORT = Report()
"""The report of the command that runs in this process."""


def progress() -> Progress:
    """Return a progress bar with counts and remaining time on standard error, which vanishes at its end.

    It is hidden if standard error is not a terminal, or with `--quiet`.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    return Progress(*columns, console=console, transient=True, disable=REPORT.quiet or not console.is_terminal)


def processor() -> str:
    """Return the model name of the processor, or its architecture if the system does not report a name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def versions(packages: Iterable[str]) -> dict[str, str | None]:
    """Return the installed version of each package, or None if it is not installed."""
    found: dict[str, str | None] = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def machine(packages: Sequence[str] = ("numpy", "numba")) -> str:
    """Return one line with this machine's processor and the installed versions of `packages`."""
    installed = (f"{name} {number}" for name, number in versions(packages).items() if number)
    return ", ".join((processor(), f"{os.cpu_count()} cores", f"Python {platform.python_version()}", *installed))


def print_table(console: Console, table: Table) -> None:
    """Print a table without truncating or wrapping its text.

    On a narrow terminal the table is split into parts, and each part repeats the first column. A file gets the table at
    full width, unless the environment variable COLUMNS sets a width.
    """
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table

    REPORT._add(table)
    cells = [[column.header, *column.cells] for column in table.columns]
    border, unlimited = 3, console.options.update(width=10_000)  # a border is a line and two spaces
    widths = [border + max(Measurement.get(console, unlimited, cell).maximum for cell in each) for each in cells]
    limit = console.width if console.is_terminal or "COLUMNS" in os.environ else 1 + sum(widths)
    parts = [[0]]
    for column in range(1, len(widths)):
        if len(parts[-1]) > 1 and 1 + sum(widths[k] for k in (*parts[-1], column)) > limit:
            parts.append([0])
        parts[-1].append(column)
    for part in parts:
        drawn = Table(title=table.title if part is parts[0] else None, title_justify="left")
        for column in part:
            drawn.add_column(cells[column][0], justify=table.columns[column].justify, no_wrap=True)
        for number, row in enumerate(table.rows, 1):
            drawn.add_row(*(cells[column][number] for column in part), end_section=row.end_section)
        width = max(limit, 1 + sum(widths[k] for k in part))  # do not truncate a cell wider than the terminal either
        if not console.quiet:
            Console(file=console.file, width=width, force_terminal=console.is_terminal).print(drawn)


def cell(value: float, form: str) -> str:
    """Format a number for a table; nan (missing) becomes a dash."""
    return "–" if math.isnan(value) else format(value, form)


UNITS = ("per_s", "m", "mm", "um", "s", "ms", "us", "rad", "deg", "kN", "bytes", "MiB", "cores")
"""Suffixes of the names of columns with a unit."""


def column(name: str) -> Any:
    """Declare a `CsvRow` field whose column has another name, usually to add the unit: ``median_ms``."""
    return field(metadata={"column": name})


def unitless(name: str = "") -> Any:
    """Declare a floating-point field of a `CsvRow` without a unit, such as a mean of counts or a fraction."""
    return field(metadata={"unitless": True} | ({"column": name} if name else {}))


class CsvRow:
    """Base of dataclasses whose instances are the rows of a CSV file.

    Strings, booleans and integers need no unit. The name of every other column ends with its unit (`UNITS`), unless the
    field is declared `unitless`.
    """

    @classmethod
    def columns(cls) -> dict[str, str]:
        """Return the column name of each field."""
        return {one.name: one.metadata.get("column", one.name) for one in fields(cls)}

    @classmethod
    def heading(cls, name: str) -> str:
        """Return the heading of a field in a table on the terminal: see `heading`."""
        return heading(cls.columns()[name])


def heading(name: str) -> str:
    """Return a column name in words, with a comma before the unit: ``error_median_m`` is "error median, m"."""
    for unit in UNITS:
        if name.endswith(f"_{unit}"):
            return f"{name.removesuffix(f'_{unit}').replace('_', ' ')}, {unit.replace('_', ' ')}"
    return name.replace("_", " ")


def write_csv(path: Path, rows: Sequence[CsvRow], *about: str) -> None:
    """Write rows of one class to a CSV file, below comment lines (`#`) such as the command and the machine.

    Parameters
    ----------
    path : Path
    rows : sequence of CsvRow
        At least one row.
    *about : str
        Comment lines.
    """
    names = type(rows[0]).columns()
    write_lines(path, names.values(), ([getattr(row, name) for name in names] for row in rows), *about)


def write_lines(path: Path, names: Iterable[str], lines: Iterable[Iterable[object]], *about: str) -> None:
    """Write a CSV file with the given column names, which follow the rules of `CsvRow`."""
    with path.open("w", newline="", encoding="utf-8") as file:
        file.writelines(f"# {line}\n" for line in about)
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(lines)


def leave(
    console: Console,
    folder: Path,
    tables: Mapping[str, Sequence[CsvRow]],
    plots: Mapping[str, Callable[[], Figure]],
    about: Sequence[str],
    lines: Sequence[str] = (),
) -> int:
    """End an experiment: print its summary, write tables, and plots as PNG, SVG and PDF, and print their paths.

    Parameters
    ----------
    console : Console
    folder : Path
    tables : mapping of str to sequence of CsvRow
        File name without extension, and rows.
    plots : mapping of str to callable
        File name without extension, and a function that draws the plot.
    about : sequence of str
        Command, seed and machine: printed, and written as comments of the tables.
    lines : sequence of str
        Lines to print before `about`.

    Returns
    -------
    int
        0, the exit code.
    """
    for line in (*lines, *about):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    REPORT.document.update(about=list(about), results=dict(tables))
    for name, rows in tables.items():
        path = folder / f"{name}.csv"
        write_csv(path, rows, *about)
        console.print(f"table: {path}", soft_wrap=True)
    for name, plot in plots.items():
        for path in save_figure(plot(), folder / name):
            console.print(f"plot:  {path}", soft_wrap=True)
    return 0


def save_figure(figure: Figure, stem: Path) -> list[Path]:
    """Write a figure to the files `stem` with the extensions png, svg and pdf, and return their paths."""
    import matplotlib

    undated = {"png": None, "svg": {"Date": None}, "pdf": {"CreationDate": None}}  # the same plot, the same bytes
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in undated]
    # Text stays text: it can be searched and edited.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": stem.name, "pdf.fonttype": 42}):
        for path, metadata in zip(paths, undated.values(), strict=True):
            figure.savefig(path, dpi=120, metadata=metadata)
    return paths
