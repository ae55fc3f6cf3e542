# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid dev load`: measure the distance service under load."""

from __future__ import annotations

import argparse
import math
from itertools import product

from superovoid.cli import option_values
from superovoid.output import REPORT
from superovoid_ros.commands import needs_ros

FOR_DEVELOPERS = True
_KINDS = ("closest", "near", "penetration", "many")


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "load",
        help="measure the distance service under load",
        description="Call a distance service about the two hands of the iCub from several client processes; print a "
        "table and write it as CSV. The exit code is 1 if an answer is lost, refused or not the one at rest.",
        example="superovoid dev load --clients 8 --rates 50,max",
    )
    command.add_argument(
        "--clients",
        type=option_values.numbers(option_values.count(1, 256)),
        default="1,4,16",
        metavar="N,..",
        help="numbers of client processes (default: 1,4,16)",
    )
    command.add_argument(
        "--rates",
        type=option_values.numbers(_rate),
        default="100,max",
        metavar="HZ,..",
        help="calls per second, of all clients; max: each client calls again after each answer (default: 100,max)",
    )
    command.add_argument(
        "--duration",
        type=option_values.number(most=86400.0, unit="seconds"),
        default=4.0,
        metavar="S",
        help="duration of each measurement (default: 4)",
    )
    command.add_argument(
        "--kinds",
        type=option_values.some_of(_KINDS),
        default=_KINDS,
        metavar="KIND,..",
        help="closest: the closest pair; near: all pairs within 10 mm; penetration: all overlapping pairs; many: all "
        "pairs within 10 mm in several states (default: all four)",
    )
    command.add_argument(
        "--states",
        type=option_values.count(1, 10_000),
        default=8,
        metavar="N",
        help="states in each call of kind many (default: 8)",
    )
    option_values.add_output(command, "superovoid_load", "folder for the CSV file")
    option_values.add_reporting(command)
    command.set_defaults(run=run)


def _rate(text: str) -> float:
    return math.inf if text == "max" else option_values.number(most=1e5, unit="calls a second, or max")(text)


def run(arguments: argparse.Namespace) -> int:
    """Measure the distance service under load."""
    try:
        from superovoid_ros.tools import service_load
    except ModuleNotFoundError as error:
        raise needs_ros(error) from None
    from superovoid.output import leave, machine, output_folder, print_table, progress

    rows, problems = [], []
    folder = output_folder(arguments.output)
    most = max(arguments.clients)
    measurements = list(product(arguments.kinds, arguments.clients, arguments.rates))
    with progress() as bar:
        task = bar.add_task(f"starting {most} clients", total=len(measurements))
        with service_load.ServiceLoad(most, arguments.states) as load:
            for kind, clients, rate in measurements:
                bar.update(task, description=f"{kind}, {clients} clients")
                row, errors = load.measure(kind, clients, rate, arguments.duration)
                rows.append(row)
                problems += errors
                bar.update(task, advance=1)
    bad = sum(bool(row.errors or row.lost) for row in rows)
    REPORT.verdict(f"{len(rows)} measurements, {bad} with lost, refused or other answers than at rest", failed=bad)
    console = REPORT.console()
    print_table(console, service_load.table(rows))
    lines = [f"error: {problem}" for problem in problems[:10]]
    leave(console, folder, {"load": rows}, {}, (_line(arguments), machine()), lines)
    return int(bad > 0)


def _line(arguments: argparse.Namespace) -> str:
    """Return the command line, including defaults."""
    rates = ",".join("max" if math.isinf(rate) else f"{rate:g}" for rate in arguments.rates)
    line = f"superovoid dev load --clients {','.join(map(str, arguments.clients))} --rates {rates}"
    return f"{line} --duration {arguments.duration:g} --kinds {','.join(arguments.kinds)} --states {arguments.states}"
