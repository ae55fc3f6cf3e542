# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The `superovoid` command. It handles signals before other imports, so this module imports as little as possible."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from superovoid.cli.interruption import INTERRUPTS, Interruption, ignore


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns
    -------
    int
        Exit code: 0 on success, 1 if a check failed, 2 if input is invalid or a package is missing (by SystemExit if an
        option is invalid), 128 plus the signal number if a signal ended it.
    """
    with INTERRUPTS:
        return _run(arguments)


def _run(arguments: Sequence[str] | None = None) -> int:
    name, extra = "superovoid", ""
    try:
        from superovoid.cli import command_line
        from superovoid.output import REPORT

        INTERRUPTS.check()  # Python can lose the exception raised by a signal handler
        chosen = command_line.parse(arguments)
        name, extra = chosen.parser.prog, getattr(chosen, "extra", "")
        return REPORT.run(chosen)
    except Interruption as error:
        return _report_interruption(name, error.number)
    except Exception as error:
        # A signal can surface as another exception: writing to a closed terminal fails, and interrupting the import of
        # an extension module raises ImportError.
        if INTERRUPTS.signal_number is not None:
            return _report_interruption(name, INTERRUPTS.signal_number)
        code, words = _explain(error, extra)
        if not code:
            raise
        print(f"{name}: {words}", file=sys.stderr)
        return code


def _explain(error: Exception, extra: str) -> tuple[int, str]:
    """Return the exit code and the message of an error that the command reports; code 0 if the error is a bug."""
    if isinstance(error, ModuleNotFoundError) and extra:
        distribution = extra if "[" in extra else f"superovoid[{extra}]"
        return 2, f"no module {error.name!r}: pip install '{distribution}'"
    if isinstance(error, OSError) and error.filename is not None:
        return 2, f"{error.filename}: {error.strerror}"
    from superovoid.values.checks import is_refusal

    is_ours = type(error).__module__.startswith("superovoid")
    if isinstance(error, ValueError | IndexError) and (is_ours or is_refusal(error)):
        return 2, str(error)
    return int(is_ours), str(error)


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
