# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""States answered in blocks that threads share."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from superovoid.compiled.threads import share
from superovoid.values.checks import positive

BLOCK = 64  # states
MOST_WARM_STARTS = 1 << 14  # pairs that keep them from one state to the next

Memory = TypeVar("Memory")
Part = TypeVar("Part")


class Ends(NamedTuple):
    """What ends an answer before its last state."""

    time: float  # of the clock
    rows: float
    stop: threading.Event | None

    @classmethod
    def of(cls, deadline: float | None, rows: int | None, stop: threading.Event | None) -> Ends:
        """Make it for a call that begins; `ValueError` if the deadline is not a positive number of seconds."""
        end = math.inf if deadline is None else time.perf_counter() + positive("deadline", deadline, "seconds")
        return cls(end, math.inf if rows is None else rows, stop)

    def __call__(self, rows: int) -> bool:
        """Return whether the answer ends with this number of rows."""
        return (
            rows >= self.rows
            or (self.stop is not None and self.stop.is_set())
            or (self.time < math.inf and time.perf_counter() >= self.time)
        )


class Idle(list[Memory]):
    """Memory of finished calls, in which later ones work; a pickle or deep copy of it is empty."""

    def __reduce__(self) -> tuple[type[Idle[Memory]], tuple[()]]:
        return type(self), ()


def in_blocks(
    states: int,
    size: int,
    threads: int,
    idle: Idle[Memory],
    make: Callable[[], Memory],
    answer: Callable[[slice, Memory], Part],
    ended: Callable[[], bool],
) -> list[Part | None]:
    """Answer blocks of states, in turn, until all are done or something ends it.

    Parameters
    ----------
    states, size : int
        States in all, and of a block. Without states there is one block of none.
    threads : int
        To share the blocks among.
    idle : Idle
        Memory for the threads.
    make : callable
        Makes more of it.
    answer : callable
        Answers a block in some memory.
    ended : callable
        Whether to begin no further block. The first one always begins.

    Returns
    -------
    The answers in the order of the blocks; None for a block that has not begun.
    """
    starts = range(0, max(states, 1), size)
    parts: list[Part | None] = [None] * len(starts)

    def work(turns: Iterator[int]) -> None:
        try:
            memory = idle.pop()  # a single step of the interpreter, as appending is
        except IndexError:
            memory = make()
        for turn in turns:
            if turn and ended():
                break
            parts[turn] = answer(slice(starts[turn], min(starts[turn] + size, states)), memory)
        idle.append(memory)

    share(range(len(starts)), work, min(threads, len(starts)))
    return parts
