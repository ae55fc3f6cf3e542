# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Values of the command's options: each is checked when the command line is read, before anything starts."""

from __future__ import annotations

import argparse
import math
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

_SHOWN = 100  # characters of a value in an error
LARGEST_COUNT = 10**9
LARGEST_SEED = 2**32 - 1
"""what every generator of random numbers takes"""


def quoted(text: str) -> str:
    """Name a value in an error, a very long one by its beginning."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return value


def count(least: int = 1, most: int = LARGEST_COUNT) -> Callable[[str], int]:
    """Read an integer in [least, most]."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{quoted(text)}: must be an integer from {least} to {most}")
        return value

    return read


def number(least: float = 0.0, most: float = math.inf, *, above: bool = True, unit: str = "") -> Callable[[str], float]:
    """Read a finite number above `least`, or from it on, up to `most`."""
    span = f"more than {least:g}" if above else f"{least:g} or more"
    span += f", at most {most:g}" if math.isfinite(most) else ""

    def read(text: str) -> float:
        try:
            value = _finite(text)
        except ValueError:
            value = math.nan
        if not (least < value or (not above and least == value)) or value > most:
            raise argparse.ArgumentTypeError(f"{quoted(text)}: must be {span}{unit and ' '}{unit}")
        return value

    return read


def numbers(read: Callable[[str], float], most: int = 100) -> Callable[[str], list]:
    """Read several values with commas between them, each by `read`."""

    def read_all(text: str) -> list:
        parts = text.split(",")
        if len(parts) > most:
            raise argparse.ArgumentTypeError(f"{len(parts)} values: at most {most}")
        return [read(part.strip()) for part in parts]

    return read_all


seed = count(0, LARGEST_SEED)


_UNITS = {"mm": 1e-3, "cm": 1e-2, "m": 1.0}


def length(text: str) -> float:
    """Read a positive length with its unit, for example 2mm; metres."""
    for unit, metres in _UNITS.items():
        if text.endswith(unit):
            try:
                value = _finite(text.removesuffix(unit)) * metres
            except ValueError:
                break
            if 0.0 < value <= 10.0:
                return value
            break
    raise argparse.ArgumentTypeError(
        f"{quoted(text)}: must be a length with its unit, more than 0m, at most 10m, for example 2mm"
    )


def named(read: Callable[[str], int], example: str) -> Callable[[str], tuple[str, int]]:
    """Read NAME=VALUE, the value by `read`."""

    def read_both(text: str) -> tuple[str, int]:
        name, is_there, value = text.rpartition("=")
        if not name or not is_there:
            raise argparse.ArgumentTypeError(f"{quoted(text)}: must be NAME=VALUE, for example {example}")
        return name, read(value)

    return read_both


def add_packages(command: argparse.ArgumentParser) -> None:
    """Add the option that says where packages are which a URDF names."""
    command.add_argument(
        "--package",
        type=named_folder,
        action="append",
        default=[],
        metavar="NAME=DIR",
        help="folder of a package that the URDF names; may be repeated",
    )


def named_folder(text: str) -> tuple[str, str]:
    """Read NAME=DIR, of a folder that is there."""
    name, _, folder = text.partition("=")
    if not (name and folder):
        raise argparse.ArgumentTypeError(f"{quoted(text)}: must be NAME=DIR")
    try:
        is_folder = Path(folder).is_dir()
    except (OSError, ValueError):
        is_folder = False
    if not is_folder:
        raise argparse.ArgumentTypeError(f"{quoted(text)}: there is no folder {quoted(folder)}")
    return name, folder


def some_of(names: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    """Read names with commas between them, each one of some."""

    def read(text: str) -> tuple[str, ...]:
        chosen = tuple(part.strip() for part in text.split(","))
        if not set(chosen) <= set(names):
            raise argparse.ArgumentTypeError(f"{quoted(text)}: must be some of {', '.join(names)}, with commas between")
        return chosen

    return read


def frames(text: str) -> tuple[int, int]:
    """Read FIRST:LAST."""
    try:
        first, _, last = text.partition(":")
        span = int(first), int(last)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{quoted(text)}: must be FIRST:LAST, for example 20:60") from None
    if not 0 <= span[0] <= span[1]:
        raise argparse.ArgumentTypeError(f"{quoted(text)}: frames must be from 0 on, the first not after the last")
    return span


def _exists(path: Path) -> bool:
    """Whether there is something of that name; OSError or ValueError where there cannot be."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    return True


def output_folder(text: str) -> Path:
    """Read a folder that files can be written to, or that can be made; nothing is made yet."""
    path = Path(text)
    try:
        place = path.absolute()
        while not _exists(place):
            place = place.parent
        if not place.is_dir():
            raise NotADirectoryError(0, f"{place} is no folder")
        with tempfile.TemporaryFile(dir=place):
            pass
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise argparse.ArgumentTypeError(f"{quoted(text)}: cannot be written to: {reason}") from None
    return path


def folder_with(*files: str) -> Callable[[str], Path]:
    """Read a folder that holds files and that can be written to."""

    def read(text: str) -> Path:
        path = output_folder(text)
        for file in files:
            if not (path / file).is_file():
                raise argparse.ArgumentTypeError(f"{quoted(text)}: no file {path / file}")
        return path

    return read


def file(text: str) -> Path:
    """Read a file that can be read."""
    path = Path(text)
    try:
        with path.open("rb"):
            pass
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise argparse.ArgumentTypeError(f"{quoted(text)}: cannot be read: {reason}") from None
    return path


def output_file(text: str) -> Path:
    """Read a file that can be written; nothing is made yet."""
    path = Path(text)
    if not path.name:
        raise argparse.ArgumentTypeError(f"{quoted(text)}: must be the name of a file")
    output_folder(str(path.parent))
    try:
        is_folder = _exists(path) and path.is_dir()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise argparse.ArgumentTypeError(f"{quoted(text)}: cannot be written: {reason}") from None
    if is_folder:
        raise argparse.ArgumentTypeError(f"{quoted(text)}: is a folder, not a file")
    return path


def add_output(command: argparse.ArgumentParser, default: str, text: str = "folder for CSV and plot") -> None:
    """Add the option `--output`."""
    text += f" (default: {default})"
    command.add_argument("--output", type=output_folder, default=default, metavar="DIR", help=text)
