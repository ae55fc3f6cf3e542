# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""End a command cleanly on Ctrl-C, SIGTERM or a closed terminal (SIGHUP)."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType

_NUMBERS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Interruption(KeyboardInterrupt):
    """A signal ended the command; ``number`` is the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Interrupts:
    """Context manager that raises `Interruption` in the main thread when a signal ends the command.

    Python loses and prints an exception raised inside a destructor or a C callback, such as those of an import. Here it
    does not print `Interruption`; loops that wait must call `check`.
    """

    def __init__(self) -> None:
        self._signal_number: int | None = None
        self._handlers: dict[int, object] = {}
        self._hook = sys.unraisablehook

    def __enter__(self) -> Interrupts:
        self.install()
        return self

    def install(self) -> None:
        """Install the handlers; call this directly in a process that never leaves the context."""
        self._signal_number = None
        if sys.unraisablehook != self._on_lost:
            self._hook, sys.unraisablehook = sys.unraisablehook, self._on_lost
        if threading.current_thread() is threading.main_thread():
            for number in _NUMBERS:
                before = signal.getsignal(number)
                # A script's background job inherits an ignored SIGINT, but must still end on it. A process started by
                # `nohup` must outlive its terminal.
                if number == signal.SIGINT or before != signal.SIG_IGN:
                    self._handlers[number] = before
                    signal.signal(number, self._on_signal)

    def __exit__(self, *_: object) -> None:
        for number, before in self._handlers.items():
            signal.signal(number, before if before is not None else signal.SIG_DFL)
        sys.unraisablehook = self._hook

    def _on_lost(self, lost: sys.UnraisableHookArgs) -> None:
        if not isinstance(lost.exc_value, Interruption):
            self._hook(lost)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._signal_number = number
        raise Interruption(number)

    @property
    def signal_number(self) -> int | None:
        """The last signal; None if there was none."""
        return self._signal_number

    def check(self) -> None:
        """Raise `Interruption` if a signal arrived."""
        if self._signal_number is not None:
            raise Interruption(self._signal_number)


def ignore() -> None:
    """Ignore all signals while the process ends, because the interpreter restores the default handlers at exit."""
    for number in _NUMBERS:
        signal.signal(number, signal.SIG_IGN)


INTERRUPTS = Interrupts()
"""The handlers of the command that runs in this process."""
