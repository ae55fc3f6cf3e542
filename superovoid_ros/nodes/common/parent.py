# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A process that was started by another of this package ends with it, however that one ended."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

VARIABLE = "SUPEROVOID_ENDS_WITH_STDIN"
"""Environment variable: the process is to end when its standard input ends, a pipe whose other end its parent holds."""
_GRACE = 10.0  # s, to end in order


def _watch(until_gone: Callable[[], object], number: int) -> None:
    def run() -> None:
        until_gone()
        os.kill(os.getpid(), number)
        time.sleep(_GRACE)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=run, name="parent", daemon=True).start()


def _read_to_end() -> None:
    try:
        while os.read(0, 4096):
            pass
    except OSError:  # no standard input at all
        pass


def end_with_parent() -> None:
    """Interrupt this node when the process that started it is gone, and end it by force where that does not help.

    Does nothing in a process that no other of this package started. To be called by the main thread once it can be
    interrupted.
    """
    if os.environ.pop(VARIABLE, None):
        _watch(_read_to_end, signal.SIGINT)


def start_helper(process: BaseProcess) -> None:
    """Start a process of multiprocessing whose target begins with `be_helper`."""
    # A Ctrl-C at the terminal reaches it too, and may come before it can ignore it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def be_helper() -> None:
    """Leave Ctrl-C to the process that started this one by `start_helper`, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    sentinel = multiprocessing.parent_process().sentinel
    _watch(lambda: wait([sentinel]), signal.SIGTERM)
