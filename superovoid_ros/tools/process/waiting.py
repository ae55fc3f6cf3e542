# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Waiting for a process as long as it lives and works, whatever time that takes on a slow or busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable

from superovoid.cli.interruption import INTERRUPTS
from superovoid_ros.tools.process.child import Child, NodeError

PATIENCE = 60.0
"""s, with an idle process, before it is an error"""
_WINDOW = 5.0  # s, over which is measured whether it works
_LEAST_SHARE = 0.05  # of a core: a node that only waits takes a hundredth
_LEAST_READ = 2**16  # bytes read from files
_DISCOVERY = (
    "processes of this machine do not find each other by DDS. A firewall, a container or "
    "FASTRTPS_DEFAULT_PROFILES_FILE may keep them apart; multicast or the loopback interface may be off "
    "(ip link show lo); /dev/shm may be full"
)
_PAUSE = 0.02  # s, between two looks
_LONGEST_LOOK = 0.5  # s that count between two looks: what is longer, this process itself did not run


class Watch:
    """Decides when waiting for a process is useless.

    Parameters
    ----------
    child
        The process that must act.
    patience
        s, as `PATIENCE`.
    cause
        Why a process that does nothing is waited for in vain, and what can be done.
    clock
        Seconds; for tests.
    """

    def __init__(
        self,
        child: Child,
        patience: float = PATIENCE,
        cause: str = _DISCOVERY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._child, self._patience, self._why, self._clock = child, patience, cause, clock
        self._idle = 0.0
        self._begin()

    def _begin(self) -> None:
        """Begin a window."""
        self._looked = self._clock()
        self._length = self._stopped = 0.0
        self._demand, self._read = self._child.demand(), self._child.bytes_read()

    def look(self, problem: str) -> None:
        """Look how the process does; to be called often while something is waited for.

        Parameters
        ----------
        problem
            What is missing, like "service /a did not appear".

        Raises
        ------
        NodeError
            If the process has ended, or has done nothing for long; with the cause, and what can be done.
        """
        self._child.check()
        now = self._clock()
        passed, self._looked = min(now - self._looked, _LONGEST_LOOK), now
        try:
            self._length += passed
            if self._child.is_stopped():
                self._stopped += passed
            if self._length >= _WINDOW:
                self._judge()
        except OSError:  # the process ends, or this system has no such files
            return
        if self._idle >= self._patience:
            raise NodeError(f"{problem}: {self._cause()}")

    def _judge(self) -> None:
        """End a window."""
        ran = max(self._length - self._stopped, 0.1 * self._length)
        works = (
            self._child.demand() - self._demand > _LEAST_SHARE * ran
            or self._child.bytes_read() - self._read > _LEAST_READ
        )
        is_stopped = self._stopped >= 0.99 * self._length
        self._idle = self._idle + self._length if is_stopped or not works else 0.0
        self._begin()

    def _cause(self) -> str:
        child = f"{self._child.name} (process {self._child.pid})"
        if self._child.is_stopped():
            return f"{child} is stopped; to let it go on: kill -CONT {self._child.pid}"
        return f"{child} is there, but has done nothing for {self._patience:.0f} s: {self._why}"


def wait_for(child: Child, condition: Callable[[], bool], problem: str, pause: float = _PAUSE) -> None:
    """Wait until a condition holds, while a process works; `NodeError` if it ends or is idle.

    Parameters
    ----------
    child
        The process that makes it true.
    condition
        RequestedState again and again.
    problem
        As of `Watch.look`.
    pause
        s, between two questions.
    """
    watch = Watch(child)
    while not condition():
        INTERRUPTS.check()
        watch.look(problem)
        time.sleep(pause)
