# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command line of `superovoid`: its commands, one module each, and their options."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from superovoid import __version__
from superovoid.cli import build_dataset, fit, prefix, replay_bag, verify, view
from superovoid.extensions import COMMANDS, extensions

ELSEWHERE = {
    "superovoid_ros": (".", ("demo", "load", "plan")),
    "superovoid_papers": (". ./superovoid_papers", ("bench", "experiment")),
}
"""Distributions that add commands: name -> folders to install (in the repository), and the names of the commands."""


def parser() -> argparse.ArgumentParser:
    """Build the command line."""
    top = argparse.ArgumentParser(
        prog="superovoid",
        description="Certified distances between superovoids.",
        epilog="All exponents are given and printed in this order: first that of the sections across z, then that "
        "along z, the opposite of the usual order of superquadrics.",
    )
    top.add_argument("--version", action="version", version=f"superovoid {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    for command in (view, verify, fit, build_dataset, replay_bag, prefix, *extensions(COMMANDS).values()):
        command.add(commands)
    for distribution, (folder, names) in ELSEWHERE.items():
        words = f"needs the distribution {distribution}, which is not installed: pip install {folder} in a clone"
        for name in names:
            if name not in commands.choices:
                missing = commands.add_parser(name, help=f"of {distribution}, which is not installed", add_help=False)
                missing.set_defaults(check=partial(_missing_distribution, words))
    return top


def _missing_distribution(words: str, _: argparse.Namespace) -> str:
    return words


def name_of(chosen: argparse.Namespace) -> str:
    """Return the chosen command and subcommands, separated by spaces."""
    words = [getattr(chosen, level, None) for level in ("command", "subject", "experiment")]
    return " ".join(["superovoid", *filter(None, words)])


def read(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse a command line; call `run` of the result to run it. Invalid options end the process with code 2."""
    top = parser()
    words = list(sys.argv[1:] if arguments is None else arguments)
    chosen, unknown = top.parse_known_args(words)
    name = name_of(chosen)
    if unknown and ("run" in chosen or chosen.command is None):
        top.exit(2, f"{name}: error: unknown: {' '.join(unknown)}; see `{name} --help`\n")
    if chosen.command is None:
        top.error("a command is missing; see `superovoid --help`")
    problem = chosen.check(chosen) if "check" in chosen else ""
    if problem:
        top.exit(2, f"{name}: error: {problem}\n")
    return chosen
