# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The `superovoid` command. Signals are heeded before the imports begin, so this module imports next to nothing."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from superovoid.cli.interruption import INTERRUPTS, Interrupted, ignore


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns
    -------
    int
        Exit code: 0 where all went well, 1 where it failed, 2 (by SystemExit) where an option makes no sense, 128 and
        the number of the signal that ended it.
    """
    with INTERRUPTS:
        return _run(arguments)


def _run(arguments: Sequence[str] | None = None) -> int:
    name, extra = "superovoid", ""
    try:
        from superovoid.cli import command_line

        INTERRUPTS.check()  # what a handler raises can be lost
        chosen = command_line.read(arguments)
        name, extra = command_line.name_of(chosen), getattr(chosen, "extra", "")
        return chosen.run(chosen)
    except Interrupted as error:
        return _interrupted(name, error.number)
    except Exception as error:
        # What a signal breaks off may fail in words of its own: a terminal that was closed cannot be written to, and
        # an extension module whose import was broken off is an ImportError.
        if INTERRUPTS.came is not None:
            return _interrupted(name, INTERRUPTS.came)
        if isinstance(error, ModuleNotFoundError) and extra:
            print(f"{name}: no module {error.name!r}: pip install 'superovoid[{extra}]'", file=sys.stderr)
            return 1
        if not isinstance(error, OSError) or error.filename is None:
            raise
        print(f"{name}: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1


def _interrupted(name: str, number: int) -> int:
    ignore()  # a second signal
    words = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
    try:
        print(f"{name}: {words}", file=sys.stderr)
    except OSError:
        pass  # a terminal that was closed
    return 128 + number


def command() -> None:
    """Run the command as a program: `main`, and end the process."""
    INTERRUPTS.heed()
    try:
        code = _run()
    finally:
        ignore()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            # A terminal that was closed: the interpreter would fail at this too, with an exit code of its own.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)
