# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Commands of one function `main` of a module of this package, with one option for each of its parameters."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from superovoid.cli import option_values

_MEANINGS = {
    "bodies": "bodies of each link, at most",
    "frames": "frames of each scene",
    "pairs": "pairs of each kind",
    "robots": "names with commas between",
    "rate": "turns a second",
    "repeats": "runs of each question",
    "rounds": "times each pair is asked",
    "seconds": "of the loop",
    "states": "states of each row, or of each robot",
    "threads": "chunks at a time; more than one disturbs times",
    "steps": "time steps of a contact",
    "seed": "of what is drawn at random",
    "output": "folder for what is written",
}


def add_measurement(
    subjects: argparse._SubParsersAction, subject: str, module: str, text: str, **defaults: object
) -> None:
    """Add a command that calls `main` of a module of this package with one option for each of its parameters."""
    command = subjects.add_parser(subject, help=text, description=f"{text[0].upper()}{text[1:]}.")
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
        from superovoid.output import OutputError

        experiment = importlib.import_module(f"superovoid_papers.{module}")
        try:
            return experiment.main(**{name: getattr(arguments, name) for name in defaults})
        except OutputError as error:
            print(f"superovoid: {error}", file=sys.stderr)
            return 1

    command.set_defaults(run=run)
