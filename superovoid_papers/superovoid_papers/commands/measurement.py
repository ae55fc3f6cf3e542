# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Commands of one function `main` of a module of this package, with one option for each of its parameters."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from superovoid.cli import option_values

_MEANINGS = {
    "bodies": "largest number of bodies per link",
    "frames": "frames of each scene",
    "pairs": "pairs of each kind",
    "robots": "names, separated by commas",
    "rate": "iterations per second",
    "repeats": "repetitions of each query",
    "rounds": "repetitions of each pair",
    "seconds": "duration of the loop",
    "states": "states in each measurement",
    "threads": "number of threads; more than one distorts the times",
    "steps": "time steps of a contact",
    "seed": "seed of the random numbers",
    "output": "folder for CSV and plot",
}


def add_measurement(
    subjects: argparse._SubParsersAction, subject: str, module: str, text: str, **defaults: object
) -> None:
    """Add a command that calls `main` of a module of this package with one option for each of its parameters."""
    command = subjects.add_parser(subject, help=text, description=f"{text[0].upper()}{text[1:]}.")
    command.example = command.prog
    for name, default in defaults.items():
        text = f"{_MEANINGS[name]} (default: {default})"
        if isinstance(default, Path):
            kind, metavar, default = option_values.output_folder, "DIR", str(default)
        elif isinstance(default, tuple):
            kind, metavar = option_values.some_of(default), "NAME,..."
            text = f"{_MEANINGS[name]}: some of {', '.join(default)} (default: all)"
        else:
            kind, metavar = option_values.seed if name == "seed" else option_values.count(), "N"
        command.add_argument(f"--{name.replace('_', '-')}", type=kind, default=default, metavar=metavar, help=text)

    def run(arguments: argparse.Namespace) -> int:
        experiment = importlib.import_module(f"superovoid_papers.{module}")
        return experiment.main(**{name: getattr(arguments, name) for name in defaults})

    option_values.add_reporting(command)
    command.set_defaults(run=run, extra="superovoid_papers[bench]")
