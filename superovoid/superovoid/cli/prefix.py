# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid prefix`: print the folder of the C library."""

from __future__ import annotations

import argparse
from pathlib import Path

from superovoid.cli import option_values
from superovoid.output import REPORT

PREFIX = Path(__file__).parents[1] / "native"
"""Folder with include/superovoid.h, lib/libsuperovoid.so, and the files for CMake and pkg-config."""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "prefix",
        help="print the folder of the C library, for CMAKE_PREFIX_PATH",
        description="Print the folder of the C library: include/superovoid.h, lib/libsuperovoid.so, "
        "lib/cmake/superovoid and lib/pkgconfig. For CMake: -DCMAKE_PREFIX_PATH=$(superovoid prefix).",
        example="cmake -B build -DCMAKE_PREFIX_PATH=$(superovoid prefix)",
    )
    option_values.add_reporting(command)
    command.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """Print the folder."""
    REPORT.verdict(str(PREFIX), prefix=str(PREFIX))
    return 0
