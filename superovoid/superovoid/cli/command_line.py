# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

# PYTHON_ARGCOMPLETE_OK
"""The command line of `superovoid`: its commands, one module each, and their options."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any, NoReturn

from superovoid import __version__
from superovoid.cli import build_dataset, fit, plan, prefix, replay_bag, verify, view
from superovoid.extensions import COMMANDS, extensions

ELSEWHERE = {
    "superovoid_ros": (".", ("demo", "grasp", "node", "dev load", "dev fit-hands")),
    "superovoid_papers": (". ./superovoid_papers", ("experiment", "dev bench")),
}
"""Distributions that add commands: name -> folders to install (in the repository), and the names of the commands."""
EXIT_CODES = (
    "exit codes: 0 success; 1 a check failed or an answer is refuted; 2 invalid options or input, or a missing package"
)


class Command(argparse.ArgumentParser):
    """A parser whose help ends with an example and the exit codes, and whose errors suggest similar names."""

    def __init__(self, *args: Any, example: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.example = example
        # No option begins with a digit, so "-0.1,0,1" and "-2mm" are values too.
        self._negative_number_matcher = re.compile(r"-\.?\d")
        self.set_defaults(parser=self)

    def format_help(self) -> str:
        """Return the help, with the example and the exit codes."""
        example = f"\nexample:\n  {self.example}\n" if self.example else ""
        formatter = self._get_formatter()
        formatter.add_text(EXIT_CODES)
        # argparse indents the options by the command, without a check that the longest fits in the rest of the line.
        usage, blank, rest = super().format_help().partition("\n\n")
        if max(map(len, usage.splitlines())) > formatter._width:
            usage = re.sub(r"\n +", "\n" + " " * 8, usage)
        return f"{usage}{blank}{rest}{example}\n{formatter.format_help()}"

    def error(self, message: str) -> NoReturn:
        """Print an error without the usage, and end the process with code 2."""
        self.exit(2, f"{self.prog}: error: {message}; see `{self.prog} --help`\n")

    def reject_unknown(self, words: Sequence[str]) -> NoReturn:
        """Report options or arguments that the command does not have."""
        # The value of an unknown option is an unknown argument too: name only the options.
        names = [word.partition("=")[0] for word in words if word.startswith("-")] or list(words)
        similar = [option for name in names for option in _similar_names(name, self._option_string_actions)]
        self.error(f"unknown: {' '.join(names)}{_suggestion(similar)}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            similar = _suggestion(_similar_names(str(value), action.choices))
            names = ", ".join(map(str, action.choices))
            raise argparse.ArgumentError(action, f"unknown {value!r}{similar or f': must be one of {names}'}")


def _similar_names(word: str, names: Iterable[str]) -> list[str]:
    return get_close_matches(word, list(names), 1)


def _suggestion(names: Sequence[str]) -> str:
    return f", did you mean {', '.join(map(repr, names))}?" if names else ""


def parser() -> Command:
    """Build the command line."""
    top = Command(
        prog="superovoid",
        description="Compute signed distances between curved bodies, with proved intervals.",
        example="superovoid fit my_robot.urdf --tolerance 2mm",
        epilog="Exponents are read and printed in this order: the section's (across z), then the profile's (along z). "
        "Most software for superquadrics uses the opposite order.",
    )
    top.add_argument("--version", action="version", version=f"superovoid {__version__}")
    groups = {"": top.add_subparsers(metavar="COMMAND")}
    added = extensions(COMMANDS).values()
    for command in (view, verify, fit, plan, build_dataset, replay_bag, prefix, *added):
        if command not in for_developers(added):
            command.add(groups[""])
    dev = groups[""].add_parser(
        "dev",
        help="measure and check this software",
        description="Commands for developers of this software.",
        example="superovoid dev bench scale --frames 20",
    )
    groups["dev"] = dev.add_subparsers(metavar="COMMAND")
    for command in for_developers(added):
        command.add(groups["dev"])
    for distribution, (folder, names) in ELSEWHERE.items():
        words = f"needs the distribution {distribution}, which is not installed: pip install {folder} in a clone"
        for path in names:
            group, _, name = path.rpartition(" ")
            if name not in groups[group].choices:
                missing = groups[group].add_parser(
                    name, help=f"of {distribution}, which is not installed", add_help=False
                )
                missing.set_defaults(check=partial(_missing_distribution, words))
    return top


def for_developers(added: Iterable[Any]) -> list[Any]:
    """Return the modules whose commands belong to `superovoid dev`."""
    return [module for module in added if getattr(module, "FOR_DEVELOPERS", False)]


def _missing_distribution(words: str, _: argparse.Namespace) -> str:
    return words


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse a command line; call `run` of the result to run it. Invalid options end the process with code 2."""
    top = parser()
    try:
        import argcomplete
    except ModuleNotFoundError:
        pass
    else:
        argcomplete.autocomplete(top)
    words = list(sys.argv[1:] if arguments is None else arguments)
    chosen, unknown = top.parse_known_args(words)
    of: Command = chosen.parser
    if unknown and ("run" in chosen or "check" not in chosen):
        of.reject_unknown(unknown)
    problem = chosen.check(chosen) if "check" in chosen else "" if "run" in chosen else "a command is missing"
    if problem:
        of.error(problem)
    return chosen
