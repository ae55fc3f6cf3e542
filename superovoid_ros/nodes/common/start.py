# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The nodes' programs. Signals are heeded before the imports begin, which take a second or more."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from superovoid_ros.nodes.common.interrupts import ENDED_IN_START, install


def start(node: str, args: Sequence[str] | None = None) -> int:
    """Run a node and return its exit code.

    Parameters
    ----------
    node
        Name of its package in `nodes`, whose module of the same name has a function `main(args)`.
    args
        Command line without the program's name; None: `sys.argv`.
    """
    interrupts = install()
    try:
        if interrupts.came:
            raise KeyboardInterrupt
        main = import_module(f"superovoid_ros.nodes.{node}.{node}").main
        if interrupts.came:  # and was lost on its way
            raise KeyboardInterrupt
    except BaseException:
        if not interrupts.came:  # else what a signal has broken off
            raise
        interrupts.ignore()
        print(ENDED_IN_START, file=sys.stderr)
        interrupts.end()
        return 0
    return main(args)


def distance_service() -> int:
    """Run the node of this name."""
    return start("distance_service")


def path_trail() -> int:
    """Run the node of this name."""
    return start("path_trail")


def sweep_player() -> int:
    """Run the node of this name."""
    return start("sweep_player")
