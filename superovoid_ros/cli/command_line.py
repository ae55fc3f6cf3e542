# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command line of `superovoid`: its commands, each in a module of its own, and their options."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from superovoid_ros import __version__
from superovoid_ros.cli import bench, build_dataset, demo, experiment, fit_hands, load, plan, replay_bag, verify, view


def parser() -> argparse.ArgumentParser:
    """Build the command line."""
    top = argparse.ArgumentParser(
        prog="superovoid",
        description="Certified distances between superovoids.",
        epilog="Wherever exponents are given or printed, the first is that of the sections across z, the second that "
        "along z: the opposite of the usual order of superquadrics.",
    )
    top.add_argument("--version", action="version", version=f"superovoid {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    for command in (demo, load, bench, verify, experiment, plan, view, fit_hands, build_dataset, replay_bag):
        command.add(commands)
    return top


def name_of(chosen: argparse.Namespace) -> str:
    """Return the words that chose a command."""
    words = [getattr(chosen, level, None) for level in ("command", "subject", "experiment")]
    return " ".join(["superovoid", *filter(None, words)])


def read(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read a command line; `run` of the result runs it. What makes no sense ends the process with code 2."""
    top = parser()
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["fit"] and words[1:2] and words[1] not in ("robot", "hands", "-h", "--help"):
        words.insert(1, "robot")
    chosen, unknown = top.parse_known_args(words)
    name = name_of(chosen)
    if unknown:
        top.exit(2, f"{name}: error: unknown: {' '.join(unknown)}; `{name} --help` says what there is\n")
    if chosen.command is None:
        top.error("a command is missing; `superovoid --help` says which there are")
    problem = chosen.check(chosen) if "check" in chosen else ""
    if problem:
        top.exit(2, f"{name}: error: {problem}\n")
    return chosen
