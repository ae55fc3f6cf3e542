# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What ends a command from outside: Ctrl-C, SIGTERM and a terminal that is closed (SIGHUP), all in order."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType

_NUMBERS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Interrupted(KeyboardInterrupt):
    """The command was told to end; ``number`` is the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Interrupts:
    """Raises `Interrupted` in the main thread where a signal says that the command is to end; a context manager.

    An exception raised inside a destructor or a callback of C, as those of an import, is lost, and Python prints that;
    not that of a signal, here. What waits in a loop asks `check`.
    """

    def __init__(self) -> None:
        self._came: int | None = None
        self._before: dict[int, object] = {}
        self._hook = sys.unraisablehook

    def __enter__(self) -> Interrupts:
        self.heed()
        return self

    def heed(self) -> None:
        """Begin to raise; for a process that ends by itself, without leaving the context."""
        self._came = None
        if sys.unraisablehook != self._on_lost:
            self._hook, sys.unraisablehook = sys.unraisablehook, self._on_lost
        if threading.current_thread() is threading.main_thread():
            for number in _NUMBERS:
                before = signal.getsignal(number)
                # A job that a script starts in the background inherits an ignored Ctrl-C and is to end by it all the
                # same. What `nohup` started is to outlive its terminal.
                if number == signal.SIGINT or before != signal.SIG_IGN:
                    self._before[number] = before
                    signal.signal(number, self._on_signal)

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before if before is not None else signal.SIG_DFL)
        sys.unraisablehook = self._hook

    def _on_lost(self, lost: sys.UnraisableHookArgs) -> None:
        if not isinstance(lost.exc_value, Interrupted):
            self._hook(lost)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._came = number
        raise Interrupted(number)

    @property
    def came(self) -> int | None:
        """The last signal; None: none came."""
        return self._came

    def check(self) -> None:
        """Raise `Interrupted` if a signal came."""
        if self._came is not None:
            raise Interrupted(self._came)


def ignore() -> None:
    """Let no signal disturb the end of the process: on its way out the interpreter gives handlers back."""
    for number in _NUMBERS:
        signal.signal(number, signal.SIG_IGN)


INTERRUPTS = Interrupts()
"""Of the command that this process runs."""
