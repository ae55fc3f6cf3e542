# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid node check`: find out why a running distance service cannot answer."""

from __future__ import annotations

import argparse

from superovoid.cli import option_values, view
from superovoid.output import REPORT
from superovoid_ros.commands import needs_ros


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "node",
        help="check a running distance service",
        description="Commands about a running distance service.",
        example="superovoid node check /distance_service",
    )
    check = command.add_subparsers(metavar="COMMAND").add_parser(
        "check",
        help="find out why a running distance service cannot answer, and how to fix it",
        description="Check a running distance service: its robot, joint states, transforms and objects, and "
        "one answer. The exit code is 1 if it cannot answer.",
        example="superovoid node check /distance_service",
    )
    check.add_argument(
        "node",
        nargs="?",
        type=view.node,
        default="/distance_service",
        metavar="NAME",
        help="name of the node (default: /distance_service)",
    )
    check.add_argument(
        "--timeout",
        type=option_values.number(most=3600.0, unit="seconds"),
        default=10.0,
        metavar="S",
        help="time limit for each of: finding the node, its diagnostics, an answer (default: 10)",
    )
    option_values.add_reporting(check)
    check.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check a running distance service; return 1 if it cannot answer."""
    try:
        from superovoid_ros.client.first_aid import check_service
    except ModuleNotFoundError as error:
        raise needs_ros(error) from None
    checks = check_service(arguments.node, arguments.timeout)
    can_answer = checks[-1].ok
    REPORT.verdict(
        f"{arguments.node} {'answers' if can_answer else 'cannot answer'}", node=arguments.node, checks=checks
    )
    width = max(len(check.name) for check in checks)
    for check in checks:
        REPORT.line(f"  {check.name:{width}}  {'ok' if check.ok else 'missing':7}  {check.found}")
        if check.remedy:
            REPORT.line(f"  {'':{width}}  {'':7}  -> {check.remedy}")
    return int(not can_answer)
