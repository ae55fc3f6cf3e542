# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid grasp`: plan the motion of both hands to a grasp around an object."""

from __future__ import annotations

import argparse

from superovoid.cli import option_values, view


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "grasp",
        help="plan the iCub's hands to a grasp of an object, without unwanted contact",
        description="Find a grasp, plan a path to it (OMPL), shorten it and keep a margin by gradients of distances; "
        "check it independently, and write CSV and plots. The exit code is 1 if that check fails.",
        example="superovoid grasp --seed 2 --view",
    )
    option_values.add_search(command, 300.0)
    option_values.add_output(command, "superovoid_grasp", "folder for CSV and plots")
    command.add_argument(
        "--view", action="store_true", help="serve a page with the path and its distances afterwards; Ctrl-C ends it"
    )
    option_values.add_reporting(command)
    command.set_defaults(run=run, extra="plan")


def run(arguments: argparse.Namespace) -> int:
    """Plan the motion of both hands to a grasp around an object."""
    if arguments.view:
        view.require_viser()
    import ompl  # noqa: F401 (before the minute that all else takes)

    from superovoid_ros.icub import grasp_planning

    code = grasp_planning.main(arguments.seed, arguments.time, arguments.output)
    # A path that fails the independent check can be viewed too; the exit code remains that of the check.
    if not arguments.view:
        return code
    return view.serve_recording(arguments.output / grasp_planning.STATES) or code
