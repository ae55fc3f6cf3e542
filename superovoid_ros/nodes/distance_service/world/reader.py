# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""One thread that reads what others send and that may take long: descriptions, meshes, octomaps, planning scenes.

    prepare (executor's thread) -> work (the reader's) -> use (executor's thread) -> the next one's work

Everything goes through it in the order in which it came. The node goes on with what it has until a complete successor
is exchanged for it in `use`.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from superovoid_ros.nodes.common.mistakes import InputError, reason_of
from superovoid_ros.nodes.distance_service.part import Common, Part

Found = TypeVar("Found")

_PATIENCE = 1.0  # s, for what is being read when the node is cleaned up
_LOOK = 0.1  # s
_MOST_WAITING = 1_000


@dataclass
class Task(Generic[Found]):
    """Something to be read.

    Its functions touch the node in `prepare` and `use` only, which are called on the executor's thread.
    """

    prepare: Callable[[], None]
    """Takes down what the work needs of the node, at once when the task comes, and before it is repeated."""
    work: Callable[[], Found]
    use: Callable[[Found | None, Exception | None], bool]
    """Takes what the work returned, or what it raised; false: the node has changed meanwhile, repeat it."""
    join: Callable[[object], bool] = lambda _batch: False
    """Adds this, once prepared, to the `batch` of the last task that waits, if it can; returns whether it did."""
    batch: object = None
    """What other tasks may add themselves to, before the work begins."""


class Reader(Part):
    """Does tasks one after the other. Without an executor, during the start, at once."""

    def __init__(self, common: Common) -> None:
        super().__init__(common)
        self._waiting: deque[Task] = deque()  # the first is being done
        self._change = threading.Condition()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def clean_up(self) -> None:
        """Drop what waits; what is being read is waited for a little, and nobody hears of it."""
        self._stop.set()
        with self._change:
            dropped = list(self._waiting)
            self._waiting.clear()
            self._change.notify_all()
        thread = self._thread
        # What comes next is read by another thread: the one of now has its own word that it is to stop.
        self._waiting, self._change, self._stop = deque(), threading.Condition(), threading.Event()
        self._thread = None
        for task in dropped:
            self._used(task, None, InputError("the node was cleaned up before this was read"))
        if thread is not None:
            thread.join(_PATIENCE)

    def facts(self) -> dict[str, object]:
        """Return how much waits to be read, for diagnostics."""
        return {"waiting to be read": len(self._waiting)}

    def do(self, task: Task) -> None:
        """Have a task done; `InputError` where too many wait."""
        if self.node.executor is None:
            self.do_at_once(task)
            return
        with self._change:
            if len(self._waiting) >= _MOST_WAITING:
                raise InputError(f"{len(self._waiting)} messages and requests wait to be read: send fewer, or later")
            task.prepare()
            # The first one is being done.
            if len(self._waiting) > 1 and task.join(self._waiting[-1].batch):
                return
            self._waiting.append(task)
            self._change.notify_all()
        if self._thread is None:
            arguments = self._waiting, self._change, self._stop
            self._thread = threading.Thread(target=self._run, args=arguments, name="reader")
            self._thread.start()

    def do_at_once(self, task: Task) -> None:
        """Have a task done on this thread, the executor's."""
        while True:
            task.prepare()
            try:
                found, problem = task.work(), None
            except Exception as error:
                found, problem = None, error
            if self._used(task, found, problem):
                return

    def _run(self, waiting: deque[Task], change: threading.Condition, stop: threading.Event) -> None:
        """Do tasks until `stop` is set."""
        while True:
            with change:
                while not waiting and not stop.is_set():
                    change.wait()
                if stop.is_set():
                    return
                task = waiting[0]
            try:
                found, problem = task.work(), None
            except Exception as error:
                found, problem = None, error
            self._hand_over(task, found, problem, waiting, change, stop)

    def _hand_over(
        self,
        task: Task,
        found: object,
        problem: Exception | None,
        waiting: deque[Task],
        change: threading.Condition,
        stop: threading.Event,
    ) -> None:
        """Have the executor's thread use what was found, and wait until it has."""
        over = threading.Event()

        def use() -> None:
            try:
                # Whoever set `stop` has told the task that it is dropped.
                if stop.is_set():
                    return
                if self._used(task, found, problem):
                    with change:
                        if waiting and waiting[0] is task:
                            waiting.popleft()
                else:
                    task.prepare()
            finally:
                over.set()
                executor.wake()  # for who awaits what was found: else it would hear of it when something else comes

        executor = self.node.executor
        if executor is None:
            return
        executor.create_task(use)
        while not over.wait(_LOOK) and not stop.is_set():
            pass

    def _used(self, task: Task, found: object, problem: Exception | None) -> bool:
        """Let a task use what was found; a mistake in that is one of the node, and ends the task."""
        try:
            return task.use(found, problem)
        except Exception as error:
            self.log.error("reading", f"reading: {reason_of(error)}")
            self.statistics.fault()
            return True
