# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Work that several threads share: each takes the next portion when it has done one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

import numpy as np

Result = TypeVar("Result")


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def workers(threads: int | None) -> int:
    """How many threads an argument asks for; `ValueError` where it is no number of threads."""
    if threads is None:
        return processors()
    if not isinstance(threads, int | np.integer) or isinstance(threads, bool) or threads < 1:
        raise ValueError(f"threads = {threads!r}: must be None or an integer of at least 1")
    return int(threads)


MOST_HELPERS = max(3, processors() - 1)  # more would wait for a core, and each takes up tens of MB of address space
_helpers: ThreadPoolExecutor | None = None
_guard = threading.Lock()


def _pool() -> ThreadPoolExecutor:
    """Return threads that wait for work. They stay: to start one takes as long as a hundred pairs of bodies."""
    global _helpers
    with _guard:
        if _helpers is None:
            _helpers = ThreadPoolExecutor(MOST_HELPERS, thread_name_prefix="superovoid")
        return _helpers


def _forget() -> None:
    """A forked process has none of its parent's threads."""
    global _helpers, _guard
    _helpers, _guard = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def share(work: Callable[[], Result], threads: int) -> list[Result]:
    """Run a function in this thread and in others beside it, which share its work; return all results.

    Parameters
    ----------
    work : callable
        Returns when nothing is left to do. It may run in fewer threads: never in more than `MOST_HELPERS` beside this
        one, and not in one that is still busy elsewhere when this thread has found nothing left.
    threads : int
        In how many threads, this one included.
    """
    if threads <= 1:
        return [work()]
    others = [_pool().submit(work) for _ in range(min(threads - 1, MOST_HELPERS))]
    try:
        own = work()
    finally:
        begun = [other for other in others if not other.cancel()]
        wait(begun)
    return [own, *(other.result() for other in begun)]
