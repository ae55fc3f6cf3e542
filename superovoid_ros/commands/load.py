# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid load`: the distance service under load and faults."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from superovoid.cli import option_values
from superovoid_ros.commands.missing import needs_ros

if TYPE_CHECKING:
    from rich.console import Console

_SOAK_RATE = 40.0


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "load",
        help="the distance service under load and faults",
        description="Start the distance service and clients as processes, let them ask at rising rates, then kill "
        "and confuse them; print tables, write CSV and a plot; exit code 1 where a call is lost or an answer wrong.",
    )
    command.add_argument(
        "--clients",
        type=option_values.numbers(option_values.count(1, 256)),
        default="1,4,16",
        metavar="N,..",
        help="clients at once (default: 1,4,16)",
    )
    rate = option_values.number(most=1e5, unit="calls a second")
    command.add_argument(
        "--rates",
        type=option_values.numbers(rate),
        default="20,50,100,200,400",
        metavar="HZ,..",
        help="calls a second, of all clients (default: 20,50,100,200,400)",
    )
    command.add_argument(
        "--duration",
        type=option_values.number(most=86400.0, unit="seconds"),
        default=4.0,
        metavar="S",
        help="of each step (default: 4)",
    )
    command.add_argument(
        "--soak",
        type=option_values.number(most=2.6e6, above=False, unit="seconds"),
        default=0.0,
        metavar="S",
        help="length of a run that watches memory (default: none)",
    )
    command.add_argument("--soak-rate", type=rate, metavar="HZ", help=f"calls a second in it (default: {_SOAK_RATE:g})")
    command.add_argument(
        "--stream",
        type=option_values.number(most=2000.0, unit="joint states a second"),
        metavar="HZ",
        help="nothing of that: send joint states at this rate for --duration, and say how old the distances are that "
        "the node publishes",
    )
    command.add_argument("--no-faults", action="store_true", help="load only")
    command.add_argument(
        "--seed", type=option_values.seed, default=0, metavar="N", help="of the states asked about (default: 0)"
    )
    option_values.add_output(command, "superovoid_load")
    command.set_defaults(run=run, check=check)


def check(arguments: argparse.Namespace) -> str:
    """Return what is wrong with options of `load` taken together; empty: nothing."""
    if arguments.soak_rate is not None and not arguments.soak:
        return "argument --soak-rate: is about a long run, and --soak asks for none"
    return ""


def run(arguments: argparse.Namespace) -> int:
    """Put the distance service under load and faults and report."""
    try:
        from superovoid_ros.tools.load.run import run as run_load
        from superovoid_ros.tools.process.child import NodeError
    except ModuleNotFoundError as error:
        print(needs_ros("load", error), file=sys.stderr)
        return 1
    from rich.console import Console

    from superovoid.output import OutputError, leave, machine, output_folder, print_table
    from superovoid_ros.tools.load import measures as experiment

    console = Console()
    try:
        folder = output_folder(arguments.output)
        if arguments.stream is not None:
            return _stream(console, folder, arguments)
        results = run_load(
            arguments.clients,
            arguments.rates,
            arguments.duration,
            faults=not arguments.no_faults,
            soak=arguments.soak,
            soak_rate=arguments.soak_rate or _SOAK_RATE,
            seed=arguments.seed,
            report=lambda text: console.print(text, highlight=False),
        )
    except (NodeError, OutputError) as error:
        print(f"superovoid load: {error}", file=sys.stderr)
        return 1
    print_table(console, experiment.table(results.steps))
    if results.findings:
        print_table(console, experiment.findings_table(results.findings))
    lines = [f"wrong: {problem}" for problem in results.problems[:10]]
    tables = {"load": results.steps}
    if results.memory is not None:
        tables["load_memory"] = results.memory.rows()
        lines.append(f"memory of the node: {results.memory}")
    plots = {"load": lambda path: experiment.plot(results.steps, path, results.memory)}
    leave(console, folder, tables, plots, (_line(arguments), machine()), lines)
    return 0 if results.is_well else 1


def _stream(console: Console, folder: Path, arguments: argparse.Namespace) -> int:
    """Measure the way from joint states to the topic and report."""
    from superovoid.output import leave, machine, print_table
    from superovoid_ros.tools.load import stream

    rate, duration = arguments.stream, arguments.duration
    row = stream.measure(rate, duration, lambda text: console.print(text, highlight=False))
    print_table(console, stream.table(row))
    about = f"superovoid load --stream {rate:g} --duration {duration:g}", machine()
    leave(console, folder, {"load_stream": [row]}, {}, about, [])
    return 0 if row.answers and not (row.wrong or row.back) else 1


def _line(arguments: argparse.Namespace) -> str:
    """Return the command that was given, defaults included."""
    numbers = ",".join(map(str, arguments.clients)), ",".join(f"{rate:g}" for rate in arguments.rates)
    line = "superovoid load --clients {} --rates {}".format(*numbers)
    line += f" --duration {arguments.duration:g} --seed {arguments.seed}"
    if arguments.soak:
        line += f" --soak {arguments.soak:g} --soak-rate {arguments.soak_rate or _SOAK_RATE:g}"
    return line + (" --no-faults" if arguments.no_faults else "")
