# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Recordings of this package's motions, from the tables that `superovoid demo` writes."""

from __future__ import annotations

from superovoid.robot import Robot
from superovoid.viewing.recording import Moment, Recording
from superovoid.viewing.recording_files import RecordingError, Table
from superovoid_ros.motions.replays import REPLAYS
from superovoid_ros.resources import robot_documents

MOTION_COLUMNS = ("motion", "representation", "links_a", "links_b", "frame", "distance_m")
"""Columns of the demo's table that the recording uses."""


def recognise(table: Table) -> Recording | None:
    """Return the recording of a demo's table; None if it is not such a table.

    Raises
    ------
    RecordingError
        If it is such a table but invalid.
    """
    if "motion" not in table.names:
        return None
    missing = [name for name in MOTION_COLUMNS if name not in table.names]
    if missing:
        raise RecordingError(
            f"{table.path}: no column {', '.join(missing)}, as the tables of `superovoid demo` have; "
            f"{table.columns_text()}"
        )
    at = {name: table.names.index(name) for name in MOTION_COLUMNS}
    first = table.rows[0][1]
    settings = {name: first[at[name]] for name in MOTION_COLUMNS[:4]}
    for row, line in table.rows:
        for name, value in settings.items():
            if line[at[name]] != value:
                raise RecordingError(
                    f"{table.path}: row {row}, column {name}: {line[at[name]][:40]!r} after {value[:40]!r}"
                )
    replay = REPLAYS.get(settings["motion"])
    if replay is None:
        raise RecordingError(
            f"{table.path}: column motion: {settings['motion'][:40]!r} must be one of {', '.join(sorted(REPLAYS))}"
        )
    urdf, srdf = robot_documents(replay.robot)
    try:
        robot = Robot.from_urdf(urdf, srdf=srdf or None, representation=settings["representation"])
        sides = tuple(settings[name].split() for name in ("links_a", "links_b"))
        for side in sides:
            robot.links_of(side)
    except ValueError as error:
        raise RecordingError(f"{table.path}: {error}") from error
    motion = replay.motion()
    moments: list[Moment] = []
    recorded: list[float] = []
    for row, line in table.rows:
        frame = table.number(row, "frame", line[at["frame"]])
        if frame != int(frame) or not 0 <= frame < len(motion):
            raise RecordingError(
                f"{table.path}: row {row}, column frame: {line[at['frame']][:40]!r} must be a frame from 0 to "
                f"{len(motion) - 1}"
            )
        played = motion.frame(int(frame))
        table.check_order(row, "frame", moments, frame)
        moments.append(Moment(frame, played.positions, played.base_poses))
        recorded.append(table.number(row, "distance_m", line[at["distance_m"]]))
    return Recording(replay.title, robot, moments, between=sides, recorded=recorded)
