# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid node check`: what a running distance service lacks before it can answer."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from superovoid.cli import option_values, view
from superovoid_ros.commands.missing import needs_ros


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser("node", help="first aid for a running distance service")
    check = command.add_subparsers(metavar="COMMAND", required=True).add_parser(
        "check",
        help="what a running distance service lacks, and how to provide it",
        description="Check a running distance service: its state, its robot, joint states, transforms and objects, and "
        "one answer. Exit code 1 if it cannot answer. Example: superovoid node check /distance_service",
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
        help="how long to wait for the node, its diagnostics and its answer, each (default: 10)",
    )
    check.add_argument("--json", action="store_true", help="print JSON: a list of checks")
    check.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check a running distance service."""
    try:
        from superovoid_ros.nodes.clients.first_aid import check_service
    except ModuleNotFoundError as error:
        print(needs_ros("node check", error), file=sys.stderr)
        return 1
    checks = check_service(arguments.node, arguments.timeout)
    can_answer = checks[-1].ok
    if arguments.json:
        print(json.dumps([asdict(check) for check in checks], indent=2))
        return int(not can_answer)
    print(f"{arguments.node} {'answers' if can_answer else 'cannot answer'}")
    width = max(len(check.name) for check in checks)
    for check in checks:
        print(f"  {check.name:{width}}  {'ok' if check.ok else 'missing':7}  {check.found}")
        if check.remedy:
            print(f"  {'':{width}}  {'':7}  -> {check.remedy}")
    return int(not can_answer)
