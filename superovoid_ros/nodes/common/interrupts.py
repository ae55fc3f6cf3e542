# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What Ctrl-C and SIGTERM do to the process of a node. Imports nothing that takes time: see `start.py`."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

GRACE = 1.5
"""[s] What is under way at a signal has so long to end."""
ENDED_IN_START = "ended by a signal during the start"


class Interrupts:
    """Signals end a long start-up by an exception, and later by a mark that whoever spins looks at.

    A KeyboardInterrupt could be raised anywhere, a second one even inside the clean-up. So it is raised during start-up
    only, when nobody spins yet. The handlers of rclpy are not installed: their thread goes through the executors' guard
    conditions while the main thread, which the same signal has sent on its way out, frees them. Now and then that ends
    a process by a segmentation fault.

    Python runs a handler between two of its own steps, and what it raises is lost inside a destructor or a callback of
    C. For these cases, and for long calls of compiled functions, a thread that the signal wakes ends the process when
    `GRACE` is over.

    Attributes
    ----------
    starting : bool
        Whether a signal raises.
    came : bool
        Whether one came.
    wake : Callable[[], object]
        Called by that thread at a signal: ends the wait of whoever looks at `came`.
    over : threading.Event
        To be set when the process has done all that it has to.
    """

    def __init__(self) -> None:
        self.starting = False  # a signal in here raises nothing: nobody has this object yet
        self.came = False
        self.wake: Callable[[], object] = lambda: None
        self.over = threading.Event()
        self._woken, wakes = os.pipe()
        os.set_blocking(wakes, False)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        threading.Thread(target=self._watch, name="signals", daemon=True).start()
        self.starting = True

    def _on_signal(self, _signal: int, _frame: object) -> None:
        self.came = True
        if self.starting:
            self.starting = False
            raise KeyboardInterrupt

    def _watch(self) -> None:
        os.read(self._woken, 1)
        with suppress(Exception):  # what was to be woken is at its end already
            self.wake()
        if not self.over.wait(GRACE):
            end_at_once(0, ENDED_IN_START if self.starting else "ended by a signal in the midst of a long call")

    def ignore(self) -> None:
        """Let no further signal do anything: on its way out the interpreter gives handlers back to the system."""
        self.starting = False
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def end(self) -> None:
        """Let the interpreter end the process in its own time."""
        self.over.set()
        signal.set_wakeup_fd(-1)


_installed: Interrupts | None = None


def install() -> Interrupts:
    """Return the handler of signals of this process, installed by the first call."""
    global _installed
    if _installed is None or _installed.over.is_set():
        _installed = Interrupts()
    return _installed


def end_at_once(code: int, words: str) -> None:
    """End the process, whatever its threads are doing."""
    print(words, file=sys.stderr, flush=True)
    sys.stdout.flush()
    os._exit(code)
