# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Long work: it runs in threads, and its results are used on the executor's thread.

    result (executor's thread) -> work (a thread) -> callbacks of a future (executor's thread)

Jobs of a kind start in the order of submission, as many at a time as there are processors less one, whatever runs of
other kinds. Their threads are daemons: the end of the process does not wait for a large mesh.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.task import Future

from superovoid.compiled.threads import processors
from superovoid_ros.nodes.common.mistakes import Code, InputError

Result = TypeVar("Result")

AT_ONCE = 2000
"""Largest number of pairs of bodies, times states, of a query that runs on the executor's thread."""
_MOST = 1000  # jobs of a kind; each stores its request


class Kind(Enum):
    """Kinds of jobs, with their descriptions in errors."""

    READ = "readings of messages"
    QUERY = "long queries"
    MOTION = "proofs of motions that controllers follow"
    INVERSE = "searches of inverse kinematics"
    PLAN = "plans"


QUERIES = frozenset((Kind.QUERY, Kind.MOTION, Kind.INVERSE, Kind.PLAN))


@dataclass(eq=False)
class Job:
    """Work, and the future of its result."""

    kind: Kind
    work: Callable[[], Any]
    """Called in a thread; must not access the node."""
    future: Future = field(default_factory=Future, init=False)
    is_started: bool = field(default=False, init=False)


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
        The node whose executor uses results.

    Attributes
    ----------
    stop : threading.Event
        Set when the running queries are cancelled, so that their work ends. Later queries have another event.
    """

    def __init__(self, node: Node) -> None:
        self._jobs: dict[Kind, list[Job]] = {kind: [] for kind in Kind}  # those that run, then those that wait
        self._finished: deque[tuple[Job, Any, Exception | None]] = deque()
        self._guard = node.create_guard_condition(self._use_finished, ReentrantCallbackGroup())
        self.stop = threading.Event()

    def count(self, kind: Kind) -> int:
        """Return the number of jobs of a kind that wait or run."""
        return len(self._jobs[kind])

    def result(self, kind: Kind, work: Callable[[], Result]) -> Future[Result]:
        """Do work in a thread, and return the future of its result; raise `InputError` if too much waits.

        The future, whose callbacks must not raise, has an `InputError` if the job is cancelled.
        """
        jobs = self._jobs[kind]
        if len(jobs) >= _MOST:
            raise InputError(f"busy: {len(jobs)} {kind.value} are waiting, try again later", Code.BUSY)
        job = Job(kind, work)
        jobs.append(job)
        self._start(kind)
        return job.future

    def _start(self, kind: Kind) -> None:
        """Start the first jobs of a kind."""
        for job in self._jobs[kind][: max(1, processors() - 1)]:
            if not job.is_started:
                threading.Thread(target=self._work, args=(job,), name=kind.name, daemon=True).start()
                job.is_started = True

    def cancel(self, kinds: Collection[Kind], reason: str) -> None:
        """Cancel the jobs of some kinds, for a reason."""
        if QUERIES & set(kinds):
            self.stop.set()
            self.stop = threading.Event()
        cancelled = [job for kind in kinds for job in self._jobs[kind]]
        for kind in kinds:
            self._jobs[kind].clear()  # results of running jobs are discarded
        for job in cancelled:
            job.future.set_exception(InputError(reason, Code.CANCELLED))

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
            if job in self._jobs[job.kind]:  # otherwise it was cancelled
                self._jobs[job.kind].remove(job)
                self._start(job.kind)
                settle(job.future, found, problem)
