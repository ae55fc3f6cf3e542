# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Option types for argparse. Each checks its value when the command line is parsed, before any work starts."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from superovoid.values.lengths import metres

Value = TypeVar("Value")
Type = Callable[[str], Value]
LARGEST_SEED = 2**32 - 1  # largest seed that every random generator accepts


def quote(text: str) -> str:
    """Quote a value for an error message, truncating long ones."""
    return repr(text if len(text) <= 100 else f"{text[:100]}...")


def option_type(
    expected: str, read: Type[Value], accepts: Callable[[Value], object] = lambda value: True
) -> Type[Value]:
    """Make an option type from a function that reads a value and a condition on the value.

    If the condition is false, or either function raises ValueError or OSError, the error quotes the text and states
    what is `expected`.
    """

    def check(text: str) -> Value:
        reason = ""
        try:
            value = read(text)
            if accepts(value):
                return value
        except OSError as error:
            reason = f": {error.strerror}"
        except ValueError:
            pass
        raise argparse.ArgumentTypeError(f"{quote(text)}: {expected}{reason}")

    return check


def count(least: int = 1, most: int = 10**9) -> Type[int]:
    """Return an option type for integers in [least, most]."""
    return option_type(f"must be an integer from {least} to {most}", int, lambda value: least <= value <= most)


seed = count(0, LARGEST_SEED)


def number(*, most: float, unit: str, above: bool = True) -> Type[float]:
    """Return an option type for numbers above 0 (at least 0 if not `above`), up to `most`."""
    expected = f"must be {'more than 0' if above else '0 or more'}, at most {most:g} {unit}"
    return option_type(expected, float, lambda value: (0.0 < value if above else 0.0 <= value) and value <= most)


def _tolerance(text: str) -> str:
    from superovoid.fitting.verdicts import Tolerance

    return str(Tolerance.read(text))


length = option_type(
    "must be a length with its unit, more than 0m, at most 10m, for example 2mm", metres, lambda m: 0.0 < m <= 10.0
)
tolerance = option_type(
    "must be a length with its unit, or a share of the link's diagonal, for example 2mm or 1%",
    _tolerance,
    lambda text: 0.0 < float(text.split()[0]) <= (100.0 if text.endswith("%") else 1e4),
)
"""A tolerance of a fit, in the form of `superovoid.fitting.verdicts.Tolerance`."""
frames = option_type(
    "must be FIRST:LAST, for example 20:60, from 0 on, the first not after the last",
    lambda text: tuple(map(int, text.split(":"))),
    lambda ends: len(ends) == 2 and 0 <= ends[0] <= ends[1],
)


def names(text: str) -> tuple[str, ...]:
    """Read names separated by commas."""
    return tuple(part.strip() for part in text.split(","))


def numbers(read: Type[Value]) -> Type[tuple[Value, ...]]:
    """Return an option type for numbers separated by commas."""
    return lambda text: tuple(map(read, names(text)))


def some_of(known: tuple[str, ...], or_else: str | None = None) -> Type[tuple[str, ...]]:
    """Return an option type for a subset of these names, separated by commas, or else one name alone."""
    expected = f"must be some of {', '.join(known)}, separated by commas" + (f", or {or_else}" if or_else else "")
    return option_type(expected, names, lambda chosen: chosen == (or_else,) or set(chosen) <= set(known))


def assignment_type(read: Type[Value], form: str) -> Type[tuple[str, Value]]:
    """Return an option type for NAME=VALUE; `form` describes how to write it."""

    def read_both(text: str) -> tuple[str, Value]:
        name, _, value = text.partition("=")
        if not (name and value):
            raise ValueError
        return name, read(value)

    return option_type(f"must be {form}", read_both)


def assignments_type(read: Type[Value], form: str) -> Type[dict[str, Value]]:
    """Return an option type for NAME=VALUE,...; `form` describes how to write it."""
    read_one = assignment_type(read, form)
    return lambda text: _by_name((name.strip(), value) for name, value in map(read_one, names(text)))


def _by_name(assignments: Iterable[tuple[str, Value]]) -> dict[str, Value]:
    """Return the values by name; `ArgumentTypeError` if a name occurs twice."""
    found: dict[str, Value] = {}
    for name, value in assignments:
        if name in found:
            raise argparse.ArgumentTypeError(f"{quote(name)}: occurs twice, must be unique")
        found[name] = value
    return found


class AddAssignment(argparse.Action):
    """Action of an option NAME=VALUE that may be repeated: it stores the values by name."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: object = None
    ) -> None:
        """Add an assignment to those of the options before it."""
        given = getattr(namespace, self.dest) or {}
        try:
            setattr(namespace, self.dest, _by_name([*given.items(), values]))
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentError(self, str(error)) from None


def _is_readable(path: Path) -> bool:
    with path.open("rb"):
        return True


def _existing_ancestor(path: Path) -> Path:
    """Return the path, or the nearest folder above it that exists."""
    try:
        path.lstat()
    except FileNotFoundError:
        return _existing_ancestor(path.parent)
    return path


def _is_writable(folder: Path) -> bool:
    """Return whether files can be written to a folder, or to the folder in which it would be created."""
    with tempfile.TemporaryFile(dir=_existing_ancestor(folder)):
        return True


def _is_output(path: Path) -> bool:
    return path.name != "" and (_existing_ancestor(path) != path or not path.is_dir()) and _is_writable(path.parent)


file = option_type("cannot be read", Path, _is_readable)
folder = option_type("must be an existing folder", Path, Path.is_dir)
# Neither type creates anything.
output_folder = option_type("must be a writable folder, or one that can be created", Path, _is_writable)
output_file = option_type("must be a writable file, or one that can be created", Path, _is_output)


def add_packages(command: argparse.ArgumentParser) -> None:
    """Add the option `--package`, for the packages that a URDF refers to."""
    text = "folder of a package that the URDF refers to; may be repeated"
    read = assignment_type(folder, "NAME=DIR")
    command.add_argument("--package", type=read, action=AddAssignment, default={}, metavar="NAME=DIR", help=text)


def add_meshes(command: argparse._ActionsContainer, default: str | None = "hull") -> None:
    """Add the option `--meshes`, as `superovoid.Robot.load` has it."""
    text = "how meshes of collision elements are read (default: hull)"
    command.add_argument("--meshes", choices=("hull", "triangles", "shells", "ignore"), default=default, help=text)


def add_search(command: argparse.ArgumentParser, seconds: float) -> None:
    """Add the options `--seed` and `--time` of a planner, with a default of its time limit."""
    seed = count(1, LARGEST_SEED)
    command.add_argument("--seed", type=seed, default=1, metavar="N", help="seed of the planner (default: 1)")
    text = f"time limit of the planner (default: {seconds:g})"
    limit = number(most=86400.0, unit="seconds")
    command.add_argument("--time", type=limit, default=seconds, metavar="SECONDS", help=text)


def add_reporting(command: argparse.ArgumentParser) -> None:
    """Add the options that select what is printed; see `superovoid.output.Report`."""
    group = command.add_argument_group("output")
    one = group.add_mutually_exclusive_group()
    one.add_argument("--details", action="store_true", help="print tables and details too")
    one.add_argument("--quiet", action="store_true", help="print errors only; the exit code has the verdict")
    one.add_argument("--json", action="store_true", help="print one JSON document on standard output")


def add_output(command: argparse.ArgumentParser, default: str, text: str = "folder for CSV and plot") -> None:
    """Add the option `--output`."""
    text += f" (default: {default})"
    command.add_argument("--output", type=output_folder, default=default, metavar="DIR", help=text)
