# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid plan`: both hands to a grasp around an object."""

from __future__ import annotations

import argparse
import sys

from superovoid.cli import option_values, view
from superovoid_ros.commands.missing import needs_ros


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "plan",
        help="both hands to a grasp around an object, without unwanted contact",
        description="Find a grasp, plan the way there (OMPL), shorten it and keep a margin by gradients of distances; "
        "check it by independent means, print a table, write CSV and plots. Exit code 1 where that check fails.",
    )
    command.add_argument(
        "--seed",
        type=option_values.count(1, option_values.LARGEST_SEED),
        default=1,
        metavar="N",
        help="of the planner (default: 1)",
    )
    command.add_argument(
        "--time",
        type=option_values.number(most=86400.0, unit="seconds"),
        default=300.0,
        metavar="SECONDS",
        help="at most, of the planner (default: 300)",
    )
    option_values.add_output(command, "superovoid_plan", "folder for CSV and plots")
    command.add_argument(
        "--service", action="store_true", help="ask a distance service in a process of its own (needs ROS 2)"
    )
    command.add_argument(
        "--view", action="store_true", help="serve a page with the path and its distances afterwards; Ctrl-C ends it"
    )
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Plan both hands to a grasp around an object."""
    if arguments.view and not view.has_viser("plan --view"):
        return 1
    failures, options = (ValueError,), {}
    if arguments.service:
        # As in `demo`, before anything else.
        try:
            from superovoid_ros.tools.service_planner import FAILURES, planning_service
        except ModuleNotFoundError as error:
            print(needs_ros("plan --service", error), file=sys.stderr)
            return 1
        failures += FAILURES
        options["distances"] = lambda example: planning_service(example.problem, example.urdf, example.srdf)
    try:
        import ompl  # noqa: F401 (before the minute that all else takes)

        from superovoid.planning import PlanningError
        from superovoid_ros.icub import grasp_planning
    except ModuleNotFoundError as error:
        print(f"superovoid plan: no module {error.name!r}: pip install 'superovoid[plan]'", file=sys.stderr)
        return 1
    try:
        code = grasp_planning.main(arguments.seed, arguments.time, arguments.output, **options)
    except (PlanningError, *failures) as error:
        print(f"superovoid plan: {error}", file=sys.stderr)
        return 1
    # A path that the independent check refused is worth looking at, too; the exit code stays that of the check.
    if not arguments.view:
        return code
    return view.serve_recording(arguments.output / grasp_planning.STATES, "plan --view") or code
