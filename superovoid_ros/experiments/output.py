"""What experiments share: a progress bar, a line about the machine, tables as CSV that say how they were made."""

from __future__ import annotations

import csv
import math
import os
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class OutputError(ValueError):
    """Results cannot be written where they were to go."""


def output_folder(path: Path) -> Path:
    """Make sure that results can be written, before minutes are spent on them.

    Raises
    ------
    OutputError
        If there is no such folder and it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"--output {path}: {error.strerror}") from error
    return path


def progress(console: Console | None) -> Progress:
    """A bar with counts and the time that is left; none without a console."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    return Progress(*columns, console=console, disable=console is None)


def processor() -> str:
    """Model of the processor, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def versions(packages: Iterable[str]) -> dict[str, str | None]:
    """Installed versions; None: not installed."""
    found: dict[str, str | None] = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def machine(packages: Sequence[str] = ("numpy", "numba")) -> str:
    """One line about this machine and the libraries that were measured."""
    installed = (f"{name} {number}" for name, number in versions(packages).items() if number)
    return ", ".join((processor(), f"{os.cpu_count()} cores", f"Python {platform.python_version()}", *installed))


def cell(value: float, form: str) -> str:
    """A number for a table; a dash for one that is not there (nan)."""
    return "–" if math.isnan(value) else format(value, form)


def column(name: str) -> Any:
    """Declare a field of a dataclass that has another name in a CSV file, its unit above all: ``median_ms``."""
    return field(metadata={"column": name})


def columns(kind: type) -> dict[str, str]:
    """Field -> name of the column, of a dataclass."""
    return {one.name: one.metadata.get("column", one.name) for one in fields(kind)}


def write_csv(path: Path, rows: Sequence[Any], *about: str) -> None:
    """Write dataclasses of one kind, a line each, below comments (`#`): the command, the machine.

    Parameters
    ----------
    path : Path
    rows : sequence of dataclass instances
        At least one.
    *about : str
        A line each.
    """
    with path.open("w", newline="", encoding="utf-8") as file:
        file.writelines(f"# {line}\n" for line in about)
        writer = csv.writer(file)
        names = columns(type(rows[0]))
        writer.writerow(names.values())
        writer.writerows([getattr(row, name) for name in names] for row in rows)


def leave(
    console: Console,
    folder: Path,
    name: str,
    rows: Sequence[Any],
    plot: Callable[[Path], None],
    about: Sequence[str],
    lines: Sequence[str] = (),
) -> int:
    """End an experiment: print what is to be said, write table and plot, say where they are.

    Parameters
    ----------
    console : Console
    folder : Path
    name : str
        Of the files, without ending.
    rows : sequence of dataclass instances
        The table.
    plot : callable
        Draws into the file it is given.
    about : sequence of str
        Command, seed and machine: printed, and comments of the table.
    lines : sequence of str
        Printed before.

    Returns
    -------
    int
        0, the exit code.
    """
    for line in (*lines, *about):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    csv_path, plot_path = folder / f"{name}.csv", folder / f"{name}.png"
    write_csv(csv_path, rows, *about)
    plot(plot_path)
    console.print(f"table: {csv_path}", soft_wrap=True)
    console.print(f"plot:  {plot_path}", soft_wrap=True)
    return 0
