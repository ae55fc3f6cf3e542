# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The `superovoid` command. It handles signals before other imports, so this module imports as little as possible."""

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
        Exit code: 0 on success, 1 on failure, 2 (by SystemExit) if the options are invalid, 128 plus the signal number
        if a signal ended it.
    """
    with INTERRUPTS:
        return _run(arguments)


def _run(arguments: Sequence[str] | None = None) -> int:
    name, extra = "superovoid", ""
    try:
        from superovoid.cli import command_line

        INTERRUPTS.check()  # Python can lose the exception raised by a signal handler
        chosen = command_line.read(arguments)
        name, extra = command_line.name_of(chosen), getattr(chosen, "extra", "")
        return chosen.run(chosen)
    except Interrupted as error:
        return _report_interruption(name, error.number)
    except Exception as error:
        # A signal can surface as another exception: writing to a closed terminal fails, and interrupting the import of
        # an extension module raises ImportError.
        if INTERRUPTS.signal_number is not None:
            return _report_interruption(name, INTERRUPTS.signal_number)
        if isinstance(error, ModuleNotFoundError) and extra:
            print(f"{name}: no module {error.name!r}: pip install 'superovoid[{extra}]'", file=sys.stderr)
            return 1
        if not isinstance(error, OSError) or error.filename is None:
            raise
        print(f"{name}: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1


def _report_interruption(name: str, number: int) -> int:
    ignore()  # a second signal
    words = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
    try:
        print(f"{name}: {words}", file=sys.stderr)
    except OSError:
        pass  # the terminal was closed
    return 128 + number


def command() -> None:
    """Run `main` as a program and end the process."""
    INTERRUPTS.install()
    try:
        code = _run()
    finally:
        ignore()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            # The terminal was closed. Without this, the interpreter fails to flush too and changes the exit code.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)
