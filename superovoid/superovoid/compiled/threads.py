# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Work shared by several threads: each takes the next portion when it has finished one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import takewhile
from typing import TypeVar

import numpy as np

Portion = TypeVar("Portion")
Result = TypeVar("Result")


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def workers(threads: int | None) -> int:
    """Return the number of threads for an argument; `ValueError` if it is not one."""
    if threads is None:
        return processors()
    if not isinstance(threads, int | np.integer) or isinstance(threads, bool) or threads < 1:
        raise ValueError(f"threads = {threads!r}: must be None or an integer of at least 1")
    return int(threads)


MOST_HELPERS = max(3, processors() - 1)  # more would wait for a core, and each takes tens of MB of address space
_helpers: ThreadPoolExecutor | None = None
_guard = threading.Lock()


def _pool() -> ThreadPoolExecutor:
    """Return waiting threads. They are kept, since starting one takes as long as a hundred pairs of bodies."""
    global _helpers
    with _guard:
        if _helpers is None:
            _helpers = ThreadPoolExecutor(MOST_HELPERS, thread_name_prefix="superovoid")
        return _helpers


def _ask(help_: Callable[[], Result], helpers: int) -> list[Future[Result]]:
    """Submit a task to helpers, as many as can be started."""
    global _helpers
    pool = _pool()
    asked: list[Future[Result]] = []
    try:
        for _ in range(helpers):
            asked.append(pool.submit(help_))
    except RuntimeError:  # no memory or no right for another thread, or the interpreter is about to end
        with _guard:
            if _helpers is pool:
                _helpers = None
        # Tasks that no thread has taken would stay forever. No result depends on them.
        pool.shutdown(wait=False, cancel_futures=True)
    return asked


def _forget() -> None:
    """Reset the pool, since a forked process has none of its parent's threads."""
    global _helpers, _guard
    _helpers, _guard = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def share(portions: Iterable[Portion], work: Callable[[Iterator[Portion]], Result], threads: int) -> list[Result]:
    """Run a function in this thread and in helpers, which take portions in turns; return all results.

    An exception in one of them, or from a signal handler, ends the work: the others finish their current portions, and
    the exception is raised.

    Parameters
    ----------
    portions : iterable
        Its iterator must take a single step of the interpreter for a portion, as that of a list or a range.
    work : callable
        Takes portions until there are none. It may run in fewer threads than `threads`: in at most `MOST_HELPERS`
        helpers, not in a helper that is busy until no portion is left, and in this thread alone if none can be started.
    threads : int
        Number of threads, including this one.
    """
    if threads <= 1:
        return [work(iter(portions))]
    ended = threading.Event()
    turns = takewhile(lambda _: not ended.is_set(), portions)

    def work_on() -> Result:
        try:
            return work(turns)
        except BaseException:
            ended.set()
            raise

    asked = _ask(work_on, min(threads - 1, MOST_HELPERS))
    try:
        results = [work_on()]
    finally:
        begun = _stop_helpers(asked, ended)
    return results + [each.result() for each in begun]


def _stop_helpers(asked: list[Future[Result]], ended: threading.Event) -> list[Future[Result]]:
    """Let no further helper begin; wait for those that have, and return them.

    An exception from a signal handler ends the work, and is raised after the last helper has stopped.
    """
    raised: BaseException | None = None
    while True:
        try:
            begun = [each for each in asked if not each.cancel()]
            wait(begun)
            break
        except BaseException as error:
            ended.set()
            raised = error
    if raised is not None:
        raise raised
    return begun
