# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Recordings from CSV files: those that `superovoid demo` and `superovoid plan` write, and paths of any robot.

A path has a column for each independent joint, ``NAME_rad`` or ``NAME_m``, and one state a line. The demo's table names
a motion of this package and its frames instead.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from superovoid_ros.icub import grasp_problem
from superovoid_ros.motions.replays import REPLAYS
from superovoid_ros.resources import share_directory
from superovoid_ros.robot import Robot
from superovoid_ros.viewing.recording import FARTHEST, Moment, Recording

MOTION_COLUMNS = ("motion", "representation", "links_a", "links_b", "frame", "distance_m")
"""What is read of the demo's table."""
_AXES = {"time_s": ("time", "s"), "along_m": ("length of path", "m")}
_MOST_BYTES, _MOST_ROWS = 512 * 2**20, 200_000


class RecordingError(ValueError):
    """A file is no recording that can be shown. Names the file and says what was expected."""


def read_csv(path: Path, robot: Robot | None = None) -> Recording:
    """Read a recording from a CSV file.

    Parameters
    ----------
    path : Path
    robot : Robot, optional
        That moved; without one, a motion of this package, or the path of its planning example.

    Raises
    ------
    RecordingError
        If the file cannot be read, or is no recording of that robot.
    """
    names, rows = _table(path)
    if robot is not None:
        return _path(path, names, rows, robot)
    if "motion" in names:
        return _motion(path, names, rows)
    example = grasp_problem.shipped()
    if set(grasp_problem.joint_columns(example.problem)) <= set(names):
        (egg,) = example.problem.obstacles
        robot = Robot.from_urdf(example.urdf, srdf=example.srdf)
        return _path(path, names, rows, robot, {egg.name: (egg.shape, egg.link_from_body)})
    raise RecordingError(
        f"{path}: no robot is given, and its columns are neither those of `superovoid demo` "
        f"({', '.join(MOTION_COLUMNS)}) nor the joints of `superovoid plan`: {_found(names)}"
    )


def _table(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Names of the columns, and the lines with their numbers."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise RecordingError(f"{path}: is larger than {_MOST_BYTES // 2**20} MiB")
        with path.open(newline="", encoding="utf-8-sig") as file:  # tables of spreadsheets begin with a mark
            reader = csv.reader((line for line in file if not line.startswith("#")), skipinitialspace=True)
            lines = []
            for number, line in enumerate(reader, start=1):
                if line:
                    lines.append((number, line))
                if len(lines) > _MOST_ROWS + 1:
                    raise RecordingError(f"{path}: has more than {_MOST_ROWS} rows: leave some out")
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise RecordingError(f"{path}: is no CSV file in UTF-8: {error}") from error
    if len(lines) < 2:
        raise RecordingError(f"{path}: has no line below the names of its columns")
    names = lines[0][1]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise RecordingError(f"{path}: two columns have one name, {twice[:40]!r}")
    for number, line in lines[1:]:
        if len(line) != len(names):
            raise RecordingError(f"{path}: row {number} has {len(line)} values, and there are {len(names)} columns")
    return names, lines[1:]


def _number(path: Path, row: int, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise RecordingError(f"{path}: row {row}, column {name}: {text[:40]!r} must be a finite number")
    if abs(value) > FARTHEST:
        raise RecordingError(f"{path}: row {row}, column {name}: {text[:40]!r} must be within {FARTHEST:g}")
    return value


def _found(names: Sequence[str]) -> str:
    """Which columns there are, in a few words."""
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"found {', '.join(name[:40] for name in names[:8])}{more}"


def _in_order(path: Path, row: int, name: str, moments: Sequence[Moment], place: float) -> None:
    if moments and place < moments[-1].at:
        raise RecordingError(
            f"{path}: row {row}, column {name}: {place:.9g} after {moments[-1].at:.9g}: the rows must be in order of it"
        )


def _path(
    path: Path,
    names: Sequence[str],
    rows: Sequence[tuple[int, Sequence[str]]],
    robot: Robot,
    objects: Mapping | None = None,
) -> Recording:
    """States by the positions of joints."""
    if robot.base_links:
        raise RecordingError(
            f"{path}: '{robot.name}' has links whose pose comes from outside ({', '.join(robot.base_links)}), and a "
            "path says the positions of joints only"
        )
    columns = {joint: f"{joint}_{_unit(robot, joint)}" for joint in robot.joint_names}
    missing = [column for column in columns.values() if column not in names]
    if missing:
        raise RecordingError(
            f"{path}: no column {', '.join(missing[:5])}{', ...' if len(missing) > 5 else ''}: a path of "
            f"'{robot.name}' has one for each independent joint; {_found(names)}"
        )
    places = next((name for name in _AXES if name in names), None)
    axis, unit = _AXES[places] if places else ("state", "")
    where = {name: names.index(name) for name in (*columns.values(), *([places] if places else ()))}
    moments: list[Moment] = []
    for index, (row, line) in enumerate(rows):
        values = {name: _number(path, row, name, line[at]) for name, at in where.items()}
        positions = {joint: values[column] for joint, column in columns.items()}
        place = values[places] if places else float(index)
        _in_order(path, row, places or "", moments, place)
        moments.append(Moment(place, positions))
    return Recording(path.name, robot, moments, axis, unit, objects or {})


def _unit(robot: Robot, joint: str) -> str:
    return "m" if robot.joints[joint].kind == "prismatic" else "rad"


def _motion(path: Path, names: Sequence[str], rows: Sequence[tuple[int, Sequence[str]]]) -> Recording:
    """Frames of a motion of this package."""
    missing = [name for name in MOTION_COLUMNS if name not in names]
    if missing:
        raise RecordingError(
            f"{path}: no column {', '.join(missing)}, as the tables of `superovoid demo` have; {_found(names)}"
        )
    at = {name: names.index(name) for name in MOTION_COLUMNS}
    first = rows[0][1]
    said = {name: first[at[name]] for name in MOTION_COLUMNS[:4]}
    for row, line in rows:
        for name, value in said.items():
            if line[at[name]] != value:
                raise RecordingError(f"{path}: row {row}, column {name}: {line[at[name]][:40]!r} after {value[:40]!r}")
    replay = REPLAYS.get(said["motion"])
    if replay is None:
        raise RecordingError(
            f"{path}: column motion: {said['motion'][:40]!r} must be one of {', '.join(sorted(REPLAYS))}"
        )
    share = share_directory()
    rules = share / "config" / f"{replay.robot}.srdf"
    try:
        robot = Robot.from_urdf(
            (share / "urdf" / f"{replay.robot}.urdf").read_text(encoding="utf-8"),
            srdf=rules.read_text(encoding="utf-8") if rules.is_file() else None,
            representation=said["representation"],
        )
        sides = tuple(said[name].split() for name in ("links_a", "links_b"))
        for side in sides:
            robot.links_of(side)
    except ValueError as error:
        raise RecordingError(f"{path}: {error}") from error
    motion = replay.motion()
    moments: list[Moment] = []
    recorded: list[float] = []
    for row, line in rows:
        frame = _number(path, row, "frame", line[at["frame"]])
        if frame != int(frame) or not 0 <= frame < len(motion):
            raise RecordingError(
                f"{path}: row {row}, column frame: {line[at['frame']][:40]!r} must be a frame from 0 to "
                f"{len(motion) - 1}"
            )
        played = motion.frame(int(frame))
        _in_order(path, row, "frame", moments, frame)
        moments.append(Moment(frame, played.positions, played.base_poses))
        recorded.append(_number(path, row, "distance_m", line[at["distance_m"]]))
    return Recording(replay.title, robot, moments, between=sides, recorded=recorded)
