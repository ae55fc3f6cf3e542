# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid demo`: a motion through the services."""

from __future__ import annotations

import argparse
import sys

from superovoid.cli import option_values, view
from superovoid_ros.commands.missing import needs_ros


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "demo",
        help="the two-hands grasp sweep, or a bite, through the ROS 2 services",
        description="Start the distance service and the sweep player, follow the motion through the services, and "
        "print a table, a CSV file and a plot. The nodes are in a ROS domain of their own, on this machine only.",
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
        ("bite", "two molars that bite, instead of the hands"),
    ):
        moved.add_argument(f"--{name}", dest="motion", action="store_const", const=name, default="hands", help=text)
    command.add_argument(
        "--visible",
        type=option_values.number(most=1000.0, unit="frames a second"),
        nargs="?",
        const=20.0,
        metavar="HZ",
        help="for RViz and `ros2`: the nodes run in the ROS domain of this environment under their usual names, and so "
        "many frames are played a second (20)",
    )
    command.add_argument(
        "--view", action="store_true", help="serve a page with the motion and its distances afterwards; Ctrl-C ends it"
    )
    command.set_defaults(run=run, check=check)


def check(arguments: argparse.Namespace) -> str:
    """Return what is wrong with options of `demo` taken together; empty: nothing."""
    if arguments.motion == "bite" and arguments.representation:
        return "argument --representation: is about hands, and --bite plays none"
    if arguments.frames is not None:
        from superovoid_ros.motions.replays import REPLAYS

        last = REPLAYS[arguments.motion].frames() - 1
        if arguments.frames[1] > last:
            return f"argument --frames: {'{}:{}'.format(*arguments.frames)}: there are frames 0 to {last}"
    return ""


def run(arguments: argparse.Namespace) -> int:
    """Walk a motion through the services and report."""
    if arguments.view and not view.has_viser("demo --view"):
        return 1
    # ROS 2 is needed by this command only. Its wheels may restart Python once to set the library path, so they come
    # before any output.
    try:
        from superovoid_ros.tools.demo.walk import run_sweep
        from superovoid_ros.tools.process.child import NodeError
    except ModuleNotFoundError as error:
        print(needs_ros("demo", error), file=sys.stderr)
        return 1
    from rich.console import Console

    from superovoid.output import OutputError, output_folder, print_table, progress
    from superovoid_ros.motions.replays import REPLAYS
    from superovoid_ros.resources import share_directory
    from superovoid_ros.tools.demo import report

    console = Console()
    frames = None if arguments.frames is None else range(arguments.frames[0], arguments.frames[1] + 1)
    replay = REPLAYS[arguments.motion]
    representation = arguments.representation or "mixed"
    if arguments.visible:
        rviz = share_directory() / "config" / f"{replay.view}.rviz"
        console.print(f"in RViz: rviz2 -d {rviz}", soft_wrap=True)
    try:
        folder = output_folder(arguments.output)
        with progress(console) as bar:
            task = bar.add_task("starting nodes", total=None)

            def on_row(row: report.SweepRow, total: int) -> None:
                text = f"{row.distance * 1e3:8.2f} mm, {row.intersecting:2d} in contact"
                bar.update(task, completed=None, advance=1, total=total, description=text)

            rows = run_sweep(
                frames,
                *replay.links,
                motion=arguments.motion,
                representation=representation,
                visible=arguments.visible or 0.0,
                on_row=on_row,
            )
    except (NodeError, OutputError) as error:
        print(f"superovoid demo: {error}", file=sys.stderr)
        return 1
    for table in report.tables(rows, replay):
        print_table(console, table)
    csv_path, plot_path = folder / f"{replay.file}.csv", folder / f"{replay.file}.png"
    report.write_csv(rows, csv_path, report.Walked(arguments.motion, representation, *replay.links))
    report.plot(rows, plot_path, replay)
    console.print(f"frame by frame: {csv_path}", soft_wrap=True)
    console.print(f"plot:           {plot_path}", soft_wrap=True)
    return view.serve_recording(csv_path, "demo --view") if arguments.view else 0
