# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The nodes' programs. Signals are heeded before the imports begin, which take a second or more."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

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
        gc.freeze()  # a search for garbage that includes all modules stops every thread for 0.04 s
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


def _run(node: str) -> NoReturn:
    """Run a node and end the process with its exit code.

    All that the node has to do is done when `start` returns. What is left, the interpreter taking itself apart and the
    middleware's libraries their static objects while threads of theirs may still run, has ended a process by a
    segmentation fault now and then.
    """
    code = start(node)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # there is none, or nobody reads it any more
            stream.flush()
    os._exit(code)


def distance_service() -> NoReturn:
    """Run the node of this name."""
    _run("distance_service")


def path_trail() -> NoReturn:
    """Run the node of this name."""
    _run("path_trail")


def sweep_player() -> NoReturn:
    """Run the node of this name."""
    _run("sweep_player")
