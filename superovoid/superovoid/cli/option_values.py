# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Types of options for argparse: each checks a value when the command line is read, before anything starts."""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Value = TypeVar("Value")
Type = Callable[[str], Value]
LARGEST_SEED = 2**32 - 1  # of every generator of random numbers


def quoted(text: str) -> str:
    """Quote a value in an error, a very long one by its beginning."""
    return repr(text if len(text) <= 100 else f"{text[:100]}...")


def typed(expected: str, read: Type[Value], accepts: Callable[[Value], object] = lambda value: True) -> Type[Value]:
    """Make a type of a function that reads a value, and of a condition on the value.

    If the condition does not hold, or either raises ValueError or OSError, the error quotes the text and says what is
    `expected`.
    """

    def checked(text: str) -> Value:
        reason = ""
        try:
            value = read(text)
            if accepts(value):
                return value
        except OSError as error:
            reason = f": {error.strerror}"
        except ValueError:
            pass
        raise argparse.ArgumentTypeError(f"{quoted(text)}: {expected}{reason}")

    return checked


def count(least: int = 1, most: int = 10**9) -> Type[int]:
    """Return the type of integers in [least, most]."""
    return typed(f"must be an integer from {least} to {most}", int, lambda value: least <= value <= most)


seed = count(0, LARGEST_SEED)


def number(*, most: float, unit: str, above: bool = True) -> Type[float]:
    """Return the type of numbers above 0, or from 0 on, up to `most`."""
    expected = f"must be {'more than 0' if above else '0 or more'}, at most {most:g} {unit}"
    return typed(expected, float, lambda value: (0.0 < value if above else 0.0 <= value) and value <= most)


def _metres(text: str) -> float:
    figure = text.rstrip("cm")
    return float(figure) * {"mm": 1e-3, "cm": 1e-2, "m": 1.0}.get(text[len(figure) :], math.nan)


length = typed(
    "must be a length with its unit, more than 0m, at most 10m, for example 2mm", _metres, lambda m: 0.0 < m <= 10.0
)
frames = typed(
    "must be FIRST:LAST, for example 20:60, from 0 on, the first not after the last",
    lambda text: tuple(map(int, text.split(":"))),
    lambda ends: len(ends) == 2 and 0 <= ends[0] <= ends[1],
)


def names(text: str) -> tuple[str, ...]:
    """Read names with commas between them."""
    return tuple(part.strip() for part in text.split(","))


def numbers(read: Type[Value]) -> Type[tuple[Value, ...]]:
    """Return the type of numbers with commas between them."""
    return lambda text: tuple(map(read, names(text)))


def some_of(known: tuple[str, ...]) -> Type[tuple[str, ...]]:
    """Return the type of some of these names, with commas between them."""
    expected = f"must be some of {', '.join(known)}, with commas between"
    return typed(expected, names, lambda chosen: set(chosen) <= set(known))


def named(read: Type[Value], form: str) -> Type[tuple[str, Value]]:
    """Return the type of NAME=VALUE; `form` says how to write it."""

    def read_both(text: str) -> tuple[str, Value]:
        name, _, value = text.partition("=")
        if not (name and value):
            raise ValueError
        return name, read(value)

    return typed(f"must be {form}", read_both)


def _is_readable(path: Path) -> bool:
    with path.open("rb"):
        return True


def _existing(path: Path) -> Path:
    """Return the path, or the nearest folder above it that exists."""
    try:
        path.lstat()
    except FileNotFoundError:
        return _existing(path.parent)
    return path


def _is_writable(folder: Path) -> bool:
    """Whether files can be written to a folder, or to the one that it would be made in."""
    with tempfile.TemporaryFile(dir=_existing(folder)):
        return True


def _is_output(path: Path) -> bool:
    return path.name != "" and (_existing(path) != path or not path.is_dir()) and _is_writable(path.parent)


file = typed("cannot be read", Path, _is_readable)
folder = typed("there is no folder of this name", Path, Path.is_dir)
# Neither makes anything yet.
output_folder = typed("must be a folder that can be written to, or made", Path, _is_writable)
output_file = typed("must be a file that can be written, or made", Path, _is_output)


def add_packages(command: argparse.ArgumentParser) -> None:
    """Add the option `--package`, for the packages that a URDF names."""
    text = "folder of a package that the URDF names; may be repeated"
    read = named(folder, "NAME=DIR")
    command.add_argument("--package", type=read, action="append", default=[], metavar="NAME=DIR", help=text)


def add_output(command: argparse.ArgumentParser, default: str, text: str = "folder for CSV and plot") -> None:
    """Add the option `--output`."""
    text += f" (default: {default})"
    command.add_argument("--output", type=output_folder, default=default, metavar="DIR", help=text)
