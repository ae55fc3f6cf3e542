# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid replay`: compute the distances of a recorded run, as messages in a bag and as a table."""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

from superovoid.cli import option_values
from superovoid.cli.view import document, node, robot_and_looks
from superovoid.output import REPORT

if TYPE_CHECKING:
    from superovoid.bags import ReplayQuery, ReplaySummary


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "replay",
        help="compute the distances of a recorded run (MCAP bag), as topics and as a table",
        description="Compute the proved distances of a robot in every state recorded in a bag, and write them as "
        "messages of type superovoid_interfaces/DistanceArray into a bag, and as a table. ROS is not needed. The exit "
        "code is 1 if the bag has no complete state.",
        example="superovoid replay run.mcap robot.urdf --max-distance 0.05 --output distances",
    )
    command.add_argument(
        "bag",
        type=_bag,
        metavar="BAG",
        help="NAME.mcap, or a folder with one such file: joint states, transforms of floating links",
    )
    command.add_argument(
        "urdf",
        nargs="?",
        type=document,
        metavar="URDF",
        help="a file, or package://NAME/... (default: robot_description of the bag)",
    )
    command.add_argument("--srdf", type=document, metavar="SRDF", help="groups and disabled pairs; needs a URDF")
    option_values.add_packages(command)
    option_values.add_meshes(command)
    command.add_argument("--topic", metavar="NAME", help="topic of the joint states (default: the only joint_states)")
    command.add_argument(
        "--rate",
        type=option_values.number(most=1e5, unit="Hz"),
        metavar="HZ",
        help="states per second (default: one per joint state message)",
    )
    command.add_argument(
        "--between",
        type=option_values.names,
        nargs=2,
        metavar="NAMES",
        help="only pairs between these links or groups (A,B C)",
    )
    command.add_argument(
        "--max-distance",
        type=option_values.number(above=False, most=1e4, unit="metres"),
        metavar="METRES",
        help="only pairs within this distance",
    )
    command.add_argument(
        "--closest",
        type=option_values.count(),
        metavar="N",
        help="number of pairs per state, closest first (default: 1; with --max-distance: all)",
    )
    command.add_argument("--threads", type=option_values.count(1, 1024), metavar="N", help="default: one per processor")
    option_values.add_output(command, ".", "folder for BAG_distances.mcap and BAG_distances.csv")
    command.add_argument("--parquet", action="store_true", help="write the table as Parquet instead of CSV")
    command.add_argument(
        "--all", action="store_true", dest="with_recording", help="also copy all recorded messages into the new bag"
    )
    command.add_argument(
        "--name",
        type=node,
        default="/distance_service",
        metavar="NAME",
        help="publish on topic NAME/distances (default: /distance_service, as the node does)",
    )
    option_values.add_reporting(command)
    command.set_defaults(run=run, check=check, extra="view")


def check(arguments: argparse.Namespace) -> str:
    """Return what is wrong with the combination of options; empty if nothing is."""
    if arguments.srdf is not None and arguments.urdf is None:
        return "argument --srdf: needs a URDF"
    return ""


def run(arguments: argparse.Namespace) -> int:
    """Compute the distances of a recorded run."""
    from superovoid.bags import replay
    from superovoid.output import output_folder, progress

    path = arguments.bag
    folder = output_folder(Path(arguments.output))
    robot = robot_and_looks(arguments.urdf, path, arguments)[0]
    outputs = {
        "table": folder / f"{path.stem}_distances.{'parquet' if arguments.parquet else 'csv'}",
        "bag": folder / f"{path.stem}_distances.mcap",
    }
    with progress() as bar:
        task = bar.add_task("states", total=None)
        did = replay(
            path,
            robot,
            _query(arguments),
            topic=arguments.topic or "",
            rate=arguments.rate,
            **outputs,
            name=arguments.name,
            with_recording=arguments.with_recording,
            threads=arguments.threads,
            progress=lambda count, at: bar.update(task, completed=count, description=f"states, {at:.1f} s"),
        )
    REPORT.verdict(_verdict(did), states=did.states, known=did.known, pairs=did.pairs, rows=did.rows, least=did.least)
    if did.first_unknown[1]:
        REPORT.line(f"first unknown state at {did.first_unknown[0]:.3f} s: {did.first_unknown[1]}")
    REPORT.detail(
        f"{did.states} states in {did.lasts:.3f} s, {did.known} known; {did.pairs} pairs, {did.rows} rows, "
        f"{did.seconds:.2f} s, {did.states / max(did.seconds, 1e-9):.4g} states/s"
    )
    REPORT.files(outputs.values())
    return 0 if did.known else 1


def _query(arguments: argparse.Namespace) -> ReplayQuery:
    from superovoid.bags import ReplayQuery

    return ReplayQuery(
        arguments.between and tuple(arguments.between),
        math.inf if arguments.max_distance is None else arguments.max_distance,
        1 if arguments.closest is None and arguments.max_distance is None else arguments.closest,
    )


def _verdict(did: ReplaySummary) -> str:
    """Return the line with the minimum distance of a run."""
    least = did.least
    if least is not None:
        return (
            f"minimum distance {1e3 * least.distance_m:.4g} mm, proved in [{1e3 * least.lower_m:.7g}, "
            f"{1e3 * least.upper_m:.7g}], at {least.time_s:.3f} s: {least.body_a} and {least.body_b}, {least.status}"
        )
    if did.known:
        return f"no pair within --max-distance in any of {did.known} known states"
    return f"none of {did.states} states is complete"


def _bag(text: str) -> Path:
    """Read a bag: a file, or a folder with a single one, as written by `ros2 bag record`."""
    files = sorted(Path(text).glob("*.mcap")) if os.path.isdir(text) else [text]
    if len(files) != 1:
        found = f"{len(files)} files NAME.mcap: choose one" if files else "no file NAME.mcap"
        raise argparse.ArgumentTypeError(f"{option_values.quote(text)}: is a folder with {found}")
    return option_values.file(str(files[0]))
