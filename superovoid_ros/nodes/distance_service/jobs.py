# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Long work: it runs in threads, and its results are used on the executor's thread.

    submit (executor's thread) -> work (a thread) -> done (executor's thread) -> the next job of its kind

Jobs of a kind start in the order of submission. Each kind has its own threads, so that no job waits for one of another
kind. `READ` has one thread: robots, objects and rules are read one after another.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, TypeVar

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.task import Future

from superovoid.compiled.threads import processors
from superovoid_ros.nodes.common.endpoints import Failed
from superovoid_ros.nodes.common.mistakes import Code, InputError

Result = TypeVar("Result")

AT_ONCE = 2000
"""Largest number of pairs of bodies, times states, of a query that runs on the executor's thread."""
_MOST_WAITING = 1000  # waiting jobs of a kind; each stores its request


class Kind(Enum):
    """Kinds of jobs, with their descriptions in errors."""

    READ = "messages and requests to be read"
    QUERY = "long queries"
    INVERSE = "searches of inverse kinematics"
    PLAN = "plans"


QUERIES = frozenset((Kind.QUERY, Kind.INVERSE, Kind.PLAN))


@dataclass(eq=False)
class Job:
    """Work, and the use of its result."""

    kind: Kind
    work: Callable[[], Any]
    """Called in a thread; must not access the node."""
    done: Callable[[Any, Exception | None], bool | None]
    """Receives the result of the work, or its exception, on the executor's thread. Returns False to repeat the work."""
    size: int = 0
    """Size of the messages that it stores, bytes."""


def settle(future: Future, found: Any, problem: Exception | None) -> None:
    """Set the result of a future, or its exception if there is a problem."""
    if problem is None:
        future.set_result(found)
    else:
        future.set_exception(problem)


class Jobs:
    """The jobs of a node.

    Parameters
    ----------
    node
        The node whose executor calls `Job.done`.
    failed
        Receives exceptions of `Job.done`.

    Attributes
    ----------
    stop : threading.Event
        Set when the running queries are cancelled, so that their work ends. Later queries have another event.
    """

    def __init__(self, node: Node, failed: Failed) -> None:
        each = max(1, processors() - 1)
        self._failed = failed
        self._threads = {kind: 1 if kind is Kind.READ else each for kind in Kind}
        # In the order of submission: as many as there are threads run, the others wait.
        self._jobs: dict[Kind, list[Job]] = {kind: [] for kind in Kind}
        self._finished: deque[tuple[Job, Any, Exception | None]] = deque()
        self._pool = ThreadPoolExecutor(sum(self._threads.values()), thread_name_prefix="job")
        self._guard = node.create_guard_condition(self._use_finished, ReentrantCallbackGroup())
        self.stop = threading.Event()

    def count(self, kind: Kind) -> int:
        """Return the number of jobs of a kind that wait or run."""
        return len(self._jobs[kind])

    def size(self, kind: Kind) -> int:
        """Return the size of the messages that jobs of a kind store, bytes."""
        return sum(job.size for job in self._jobs[kind])

    def last_waiting(self, kind: Kind) -> Job | None:
        """Return the waiting job of a kind that would start last; None if none waits."""
        return self._jobs[kind][-1] if self.count(kind) > self._threads[kind] else None

    def submit(self, job: Job) -> None:
        """Submit a job; raise `InputError` if too many of its kind wait."""
        jobs, waiting = self._jobs[job.kind], self.count(job.kind) - self._threads[job.kind]
        if waiting >= _MOST_WAITING:
            raise InputError(f"busy: {waiting} {job.kind.value} are waiting, try again later", Code.BUSY)
        jobs.append(job)
        if waiting < 0:
            self._pool.submit(self._work, job)

    async def result(self, kind: Kind, work: Callable[[], Result]) -> Result:
        """Do work in a thread and return its result, for coroutines; `InputError` if too much waits or if cancelled."""
        future: Future[Result] = Future()
        self.submit(Job(kind, work, partial(settle, future)))
        return await future

    def cancel(self, kinds: Collection[Kind], reason: str) -> None:
        """Cancel the jobs of some kinds: `Job.done` receives an `InputError` with the reason."""
        if QUERIES & set(kinds):
            self.stop.set()
            self.stop = threading.Event()
        cancelled = [job for kind in kinds for job in self._jobs[kind]]
        for kind in kinds:
            self._jobs[kind].clear()  # results of running jobs are discarded
        for job in cancelled:
            self._deliver(job, None, InputError(reason, Code.CANCELLED))

    def close(self) -> None:
        """Start no more jobs, and discard all results."""
        self.stop.set()
        for jobs in self._jobs.values():
            jobs.clear()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _work(self, job: Job) -> None:
        """Do the work of a job in a thread."""
        try:
            found, problem = job.work(), None
        except Exception as error:
            found, problem = None, error
        self._finished.append((job, found, problem))
        with suppress(InvalidHandle):  # the node is destroyed
            self._guard.trigger()

    def _use_finished(self) -> None:
        """Use the results that threads have finished since the last call."""
        while self._finished:
            job, found, problem = self._finished.popleft()
            jobs, threads = self._jobs[job.kind], self._threads[job.kind]
            if job not in jobs:
                continue  # cancelled
            is_done = self._deliver(job, found, problem)
            if job not in jobs:
                continue  # cancelled meanwhile
            if is_done:
                jobs.remove(job)
                for following in jobs[threads - 1 : threads]:
                    self._pool.submit(self._work, following)
            else:
                self._pool.submit(self._work, job)

    def _deliver(self, job: Job, found: Any, problem: Exception | None) -> bool:
        try:
            return job.done(found, problem) is not False
        except Exception as error:
            self._failed(job.kind.value, error)
            return True
