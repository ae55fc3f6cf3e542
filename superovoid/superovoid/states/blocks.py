# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Answer states in blocks, which threads share."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import NamedTuple, TypeVar

from superovoid.compiled.threads import MOST_HELPERS, share
from superovoid.values.checks import positive

BLOCK = 64  # states in a block
_MOST_IDLE = MOST_HELPERS + 1  # memories, of up to ten megabytes; a call uses no more
MOST_WARM_STARTS = 1 << 14  # most pairs with a warm start from the previous state

Memory = TypeVar("Memory")
Part = TypeVar("Part")


class Ends(NamedTuple):
    """Conditions that end a call before its last state."""

    time: float  # reading of `time.perf_counter` at the deadline
    rows: float
    stop: threading.Event | None

    @classmethod
    def from_limits(cls, deadline: float | None, rows: int | None, stop: threading.Event | None) -> Ends:
        """Return the conditions of a new call; `ValueError` unless the deadline is a positive number of seconds."""
        end = math.inf if deadline is None else time.perf_counter() + positive("deadline", deadline, "seconds")
        return cls(end, math.inf if rows is None else rows, stop)

    def __call__(self, rows: int) -> bool:
        """Return whether the call ends, given the number of rows so far."""
        return (
            rows >= self.rows
            or (self.stop is not None and self.stop.is_set())
            or (self.time < math.inf and time.perf_counter() >= self.time)
        )


class IdleMemory(list[Memory]):
    """Memory of finished calls, for reuse by later calls; a pickle or deep copy of it is empty.

    Threads share it. It has no lock, because a fork could copy one that is held; each step of a method is atomic.
    """

    def __reduce__(self) -> tuple[type[IdleMemory[Memory]], tuple[()]]:
        return type(self), ()

    def take(self, suffices: Callable[[Memory], bool]) -> Memory | None:
        """Remove and return memory that suffices, preferably the last used one; None if there is none."""
        for _ in range(len(self)):
            try:
                memory = self.pop()
            except IndexError:
                break
            if suffices(memory):
                return memory
            self.insert(0, memory)
        return None

    def give(self, memory: Memory) -> None:
        """Keep memory, and discard what was used longest ago."""
        self.append(memory)
        del self[:-_MOST_IDLE]


def in_blocks(
    states: int,
    size: int,
    threads: int,
    idle: IdleMemory[Memory],
    suffices: Callable[[Memory], bool],
    make: Callable[[], Memory],
    answer: Callable[[slice, Memory], Part],
    ended: Callable[[], bool],
) -> list[Part]:
    """Answer blocks of states in order until all are done or `ended` returns true; return those before a missing one.

    Parameters
    ----------
    states, size : int
        Number of all states, and of the states of a block. Without states, one empty block is answered.
    threads : int
        Number of threads that share the blocks.
    idle : IdleMemory
        Memory for reuse.
    suffices : callable
        Returns whether the call can use such a memory.
    make : callable
        Returns new memory for a thread.
    answer : callable
        Answers the states of a slice; the second argument is the memory to use.
    ended : callable
        Returns true if no further block should begin. The first block always begins.

    Returns
    -------
    list
        Answers in the order of the blocks, up to one that has not begun.
    """
    starts = range(0, max(states, 1), size)
    parts: list[Part | None] = [None] * len(starts)

    def work(turns: Iterator[int]) -> None:
        spare = idle.take(suffices)
        memory = make() if spare is None else spare
        for turn in turns:
            if turn and ended():
                break
            parts[turn] = answer(slice(starts[turn], min(starts[turn] + size, states)), memory)
        idle.give(memory)

    share(range(len(starts)), work, min(threads, len(starts)))
    return list(takewhile(lambda part: part is not None, parts))  # type: ignore[arg-type]
