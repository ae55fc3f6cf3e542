# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Threads for long calls: the thread that takes messages and answers short calls is never theirs.

    prepare (executor's thread) -> work (a thread of these, or at once where it is short) -> fill (executor's thread)

A call is long by what it asks for: states times pairs of bodies. What searches (inverse kinematics, plans) takes as
long as it is allowed to. So each kind has threads of its own: none waits for the end of another kind.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future as PoolFuture
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TypeVar

from rclpy.exceptions import InvalidHandle
from rclpy.task import Future

from superovoid.compiled.threads import processors
from superovoid_ros.nodes.common.mistakes import InputError
from superovoid_ros.nodes.distance_service.part import Common, Part

Result = TypeVar("Result")

AT_ONCE = 2000
"""Pairs of bodies, times states: up to so many are not worth the way to another thread and back."""
LONG, INVERSE, PLAN = "long_call", "inverse", "plan"
"""Kinds of work, each with threads of its own."""
_MOST_WAITING = 1000  # calls of a kind; each holds its request
_PATIENCE = 1.0  # s, for what is under way when the node is cleaned up


class Workers(Part):
    """Does what takes long in threads of its own, from `configure` on.

    Attributes
    ----------
    stop : threading.Event
        Set when the node is cleaned up: work that can, ends. What cannot goes on to its end, and nobody hears of it.
    """

    def __init__(self, common: Common) -> None:
        super().__init__(common)
        self._pools: dict[str, ThreadPoolExecutor] = {}
        self._under_way: dict[str, set[PoolFuture]] = {kind: set() for kind in (LONG, INVERSE, PLAN)}
        self.stop = threading.Event()

    def configure(self) -> None:
        """Make the threads, of each kind one fewer than there are processors."""
        count = max(1, processors() - 1)
        self._pools = {kind: ThreadPoolExecutor(count, thread_name_prefix=kind) for kind in self._under_way}
        self.stop = threading.Event()

    def clean_up(self) -> None:
        """End the calls in flight."""
        self.stop.set()
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
        wait(set().union(*self._under_way.values()), _PATIENCE)
        self._pools = {}

    async def answer_long(
        self, response: object, prepare: Callable[[], tuple[int, Callable[[], Result]]], fill: Callable[[Result], str]
    ) -> object:
        """Fill a response by work that may take long; for callbacks of services with a `ReentrantCallbackGroup`.

        Parameters
        ----------
        response
            As for `answer`.
        prepare
            Returns what the work costs, in pairs of bodies, and the work. The work touches nothing of the node: it may
            be done by another thread.
        fill
            As for `answer`, of what the work returned.
        """
        found = problem = None
        try:
            self.activity.require()
            found = await self.do(*prepare())
        except Exception as error:
            problem = error

        def finish() -> str:
            if problem is not None:
                raise problem
            return fill(found)

        return self.answer(response, finish)

    async def do(self, cost: int, work: Callable[[], Result]) -> Result:
        """Do what costs so many pairs of bodies, in a thread where that is long; `InputError` where too much waits."""
        return work() if cost <= AT_ONCE else await self.do_aside(LONG, work)

    async def do_aside(self, kind: str, work: Callable[[], Result]) -> Result:
        """Do work in a thread of its kind; `InputError` where too much of it waits."""
        waiting = len(self._under_way[kind])
        if waiting >= _MOST_WAITING:
            raise InputError(f"busy: {waiting} calls of this kind are waiting for their turn, ask again later")
        return await self._aside(kind, work)

    def _aside(self, kind: str, work: Callable[[], Result]) -> Future:
        """Do work in another thread; the future is done when it is."""
        executor, under_way = self.node.executor, self._under_way[kind]
        future = Future(executor=executor)

        def pass_on(done: PoolFuture) -> None:
            under_way.discard(done)
            # An executor that is shut down meanwhile cannot be woken: nobody waits for this answer any more.
            with suppress(InvalidHandle):
                if done.cancelled():
                    future.set_exception(InputError("the node was cleaned up before the call was begun"))
                elif done.exception() is not None:
                    future.set_exception(done.exception())
                else:
                    future.set_result(done.result())
                executor.wake()

        submitted = self._pools[kind].submit(work)
        under_way.add(submitted)
        submitted.add_done_callback(pass_on)
        return future
