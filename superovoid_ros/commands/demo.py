# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid demo`: distances along a motion, from a distance service."""

from __future__ import annotations

import argparse

from superovoid.cli import option_values, view
from superovoid.output import REPORT
from superovoid_ros.commands import needs_ros


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "demo",
        help="replay the two-hands grasp sweep, or a bite, through the ROS 2 services",
        description="Start the distance service, query the distances in all frames of a motion, and write a CSV file "
        "and a plot. The node uses a separate ROS domain, on this machine only.",
        example="superovoid demo --frames 20:60 --view",
    )
    option_values.add_output(command, "superovoid_demo")
    command.add_argument(
        "--frames", type=option_values.frames, metavar="FIRST:LAST", help="only these frames (default: all)"
    )
    command.add_argument(
        "--representation",
        choices=("superellipsoids", "superovoids", "mixed"),
        help="contact geometry of the hands (default: mixed)",
    )
    moved = command.add_mutually_exclusive_group()
    for name, text in (
        ("arms", "let the iCub's arms move the hands"),
        ("bite", "play the bite of two molars instead of the hands"),
    ):
        moved.add_argument(f"--{name}", dest="motion", action="store_const", const=name, default="hands", help=text)
    command.add_argument(
        "--view", action="store_true", help="serve a page with the motion and its distances afterwards; Ctrl-C ends it"
    )
    option_values.add_reporting(command)
    command.set_defaults(run=run, check=check)


def check(arguments: argparse.Namespace) -> str:
    """Return the error in a combination of options; empty if it is valid."""
    if arguments.motion == "bite" and arguments.representation:
        return "argument --representation: applies to hands; omit it with --bite"
    if arguments.frames is not None:
        from superovoid_ros.motions.replays import REPLAYS

        last = REPLAYS[arguments.motion].frames() - 1
        if arguments.frames[1] > last:
            return f"argument --frames: {'{}:{}'.format(*arguments.frames)}: must be within 0 to {last}"
    return ""


def run(arguments: argparse.Namespace) -> int:
    """Play a motion through the services and report the results."""
    if arguments.view:
        view.require_viser()
    # Only this command needs ROS 2. Its wheels may restart Python once to set the library path, so import them before
    # any output.
    try:
        from superovoid_ros.tools import replay_report
    except ModuleNotFoundError as error:
        raise needs_ros(error) from None
    from superovoid.output import output_folder, progress, write_csv
    from superovoid_ros.motions.replays import REPLAYS

    replay = REPLAYS[arguments.motion]
    first, last = arguments.frames or (0, replay.frames() - 1)
    folder = output_folder(arguments.output)
    with progress() as bar:
        bar.add_task(f"{last - first + 1} frames", total=None)
        frames = range(first, last + 1)
        rows = replay_report.replay_rows(arguments.motion, frames, arguments.representation or "mixed")
    least = min(rows, key=lambda row: row.distance)
    touching = sum(row.intersecting > 0 for row in rows)
    REPORT.verdict(
        f"{len(rows)} frames; minimum distance {1e3 * least.distance:.2f} mm; contact in {touching} frames",
        frames=len(rows),
        minimum_distance_m=least.distance,
        frames_with_contact=touching,
    )
    REPORT.table(replay_report.table(rows, replay))
    csv_path, plot_path = folder / f"{replay.file}.csv", folder / f"{replay.file}.png"
    write_csv(csv_path, rows)
    replay_report.plot(rows, plot_path, replay)
    REPORT.files([csv_path, plot_path])
    return view.serve_recording(csv_path) if arguments.view else 0
