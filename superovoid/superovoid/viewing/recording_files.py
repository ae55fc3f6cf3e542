# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Read recordings from CSV files: the path of a robot, and tables that other installed distributions recognise.

A path has a column ``NAME_rad`` or ``NAME_m`` for each independent joint, and one state per line.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from superovoid.extensions import RECORDINGS, extensions
from superovoid.robot import Robot
from superovoid.viewing.recording import FARTHEST, Moment, Recording

AXES = {"time_s": ("time", "s"), "along_m": ("length of path", "m")}
"""Columns with the place of a state, and their names and units on the page."""
_MOST_BYTES, _MOST_ROWS = 512 * 2**20, 200_000


class RecordingError(ValueError):
    """The file is not a recording that can be shown. Names the file and what was expected."""


def read_csv(path: Path, robot: Robot | None = None) -> Recording:
    """Read a recording from a CSV file.

    Parameters
    ----------
    path : Path
    robot : Robot, optional
        The robot that moved; if omitted, the table must be of a kind that names its robot, as from `superovoid demo`.

    Raises
    ------
    RecordingError
        If the file cannot be read, or is not a recording of that robot.
    """
    table = read_table(path)
    if robot is not None:
        return path_of(table, robot)
    for recognise in extensions(RECORDINGS).values():
        recording = recognise(table)
        if recording is not None:
            return recording
    raise RecordingError(
        f"{path}: no robot is given, and no installed package recognises its columns (superovoid_ros: those of "
        f"`superovoid demo` and `superovoid grasp`): {table.columns_text()}"
    )


@dataclass(frozen=True)
class Table:
    """The lines of a CSV file."""

    path: Path
    names: list[str]
    """Names of the columns."""
    rows: list[tuple[int, list[str]]]
    """Line numbers, and the values of each line, as many as names."""

    def columns_text(self) -> str:
        """Return a short text that lists the columns."""
        more = f" and {len(self.names) - 8} more" if len(self.names) > 8 else ""
        return f"found {', '.join(name[:40] for name in self.names[:8])}{more}"

    def number(self, row: int, name: str, text: str) -> float:
        """Read a number.

        Raises
        ------
        RecordingError
            If it is not a number, or too large to be shown.
        """
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise RecordingError(f"{self.path}: row {row}, column {name}: {text[:40]!r} must be a finite number")
        if abs(value) > FARTHEST:
            raise RecordingError(f"{self.path}: row {row}, column {name}: {text[:40]!r} must be within {FARTHEST:g}")
        return value

    def check_order(self, row: int, name: str, moments: Sequence[Moment], place: float) -> None:
        """Raise `RecordingError` if a row's place on the axis is before that of the last moment."""
        if moments and place < moments[-1].at:
            raise RecordingError(
                f"{self.path}: row {row}, column {name}: {place:.9g} after {moments[-1].at:.9g}: the values of this "
                "column must not decrease"
            )


def read_table(path: Path) -> Table:
    """Read the lines of a CSV file; raise `RecordingError` if it has none, or lines of different lengths."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise RecordingError(f"{path}: is larger than {_MOST_BYTES // 2**20} MiB")
        with path.open(newline="", encoding="utf-8-sig") as file:  # spreadsheets write a byte order mark
            reader = csv.reader((line for line in file if not line.startswith("#")), skipinitialspace=True)
            lines = []
            for number, line in enumerate(reader, start=1):
                if line:
                    lines.append((number, line))
                if len(lines) > _MOST_ROWS + 1:
                    raise RecordingError(f"{path}: has more than {_MOST_ROWS} rows")
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise RecordingError(f"{path}: is not a CSV file in UTF-8: {error}") from error
    if len(lines) < 2:
        raise RecordingError(f"{path}: has no line below the column names")
    names = lines[0][1]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise RecordingError(f"{path}: two columns have the same name, {twice[:40]!r}")
    for number, line in lines[1:]:
        if len(line) != len(names):
            raise RecordingError(f"{path}: row {number} has {len(line)} values; expected {len(names)}, one per column")
    return Table(path, names, lines[1:])


def path_of(table: Table, robot: Robot, objects: Mapping | None = None) -> Recording:
    """Return the recording of a path of joint positions; raise `RecordingError` if a column is missing or wrong."""
    path = table.path
    if robot.base_links:
        raise RecordingError(
            f"{path}: '{robot.name}' has links on floating joints ({', '.join(robot.base_links)}), and a path contains "
            "only joint positions"
        )
    columns = {joint: f"{joint}_{_unit(robot, joint)}" for joint in robot.joint_names}
    missing = [column for column in columns.values() if column not in table.names]
    if missing:
        raise RecordingError(
            f"{path}: no column {', '.join(missing[:5])}{', ...' if len(missing) > 5 else ''}: a path of "
            f"'{robot.name}' has one for each independent joint; {table.columns_text()}"
        )
    places = next((name for name in AXES if name in table.names), None)
    axis, unit = AXES[places] if places else ("state", "")
    where = {name: table.names.index(name) for name in (*columns.values(), *([places] if places else ()))}
    moments: list[Moment] = []
    for index, (row, line) in enumerate(table.rows):
        values = {name: table.number(row, name, line[at]) for name, at in where.items()}
        positions = {joint: values[column] for joint, column in columns.items()}
        place = values[places] if places else float(index)
        table.check_order(row, places or "", moments, place)
        moments.append(Moment(place, positions))
    return Recording(path.name, robot, moments, axis, unit, objects or {})


def _unit(robot: Robot, joint: str) -> str:
    return "m" if robot.joints[joint].kind == "prismatic" else "rad"
