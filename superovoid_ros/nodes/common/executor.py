# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""An executor that no message, request or mistake in a callback ends.

What rclpy raises for a message that it cannot read, or a callback for whatever reason, leaves the executor of rclpy:
the process ends with it. And of an entity whose message could not be taken, rclpy never takes another one. Here it is
said and counted, and the node goes on with the next message.

rclpy makes a new set of all that it waits for each time, which takes longer than many an answer: half a millisecond for
the distance service. It does so after each message, and once more because what was done for the message wakes it. Here
it is woken by other threads only, and what has come together is taken together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, TypeAlias

from rclpy.context import Context
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor, await_or_execute
from rclpy.service import Service
from rclpy.subscription import Subscription

from superovoid_ros.nodes.common.mistakes import CannotStartError, UnreadableError, reason_of, shortened, trace
from superovoid_ros.nodes.common.throttle import Log

if TYPE_CHECKING:
    from rclpy.node import Node

Call: TypeAlias = Callable[[], Coroutine[None, None, None]]
"""What runs the callback of something that was taken."""
_TOGETHER = 8
"""Messages of a topic, or requests of a service, that are taken before another entity has its turn."""


class GuardedExecutor(SingleThreadedExecutor):
    """Runs the callbacks of one node in the thread that spins it."""

    _log: Log | None = None

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__(context=context)
        self._spinning = 0
        trigger = self._guard.trigger

        def wake() -> None:
            # The thread that spins looks for work anyway before it waits again.
            if threading.get_ident() != self._spinning:
                trigger()

        self._guard.trigger = wake

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Wait for something and run its callback."""
        self._spinning = threading.get_ident()
        try:
            super().spin_once(timeout_sec)
        finally:
            self._spinning = 0

    def _make_handler(self, entity: object, node: Node, take_from_wait_list: Callable[..., Call | None]) -> object:
        """Return rclpy's handler of something that is ready, with a guard around taking it and around its callback."""

        def taken(take: Callable[..., Call | None]) -> Call | None:
            try:
                return take(entity)
            except Exception as error:
                self._pass_over(node, entity, error, is_read=False)
                return None

        async def run(call: Call) -> None:
            try:
                await call()
            except InvalidHandle:
                pass  # its service was closed meanwhile: there is nobody to answer any more
            except UnreadableError as error:
                self._pass_over(node, entity, error, is_read=False)
            except Exception as error:
                self._pass_over(node, entity, error, is_read=True)

        def take(entity: object) -> Call | None:
            first = taken(take_from_wait_list)
            if first is None:
                return None

            async def run_all() -> None:
                await run(first)
                again = _AGAIN.get(type(entity))
                for _ in range(_TOGETHER - 1 if again else 0):
                    call = taken(again)
                    if call is None:
                        return
                    await run(call)

            return run_all

        return super()._make_handler(entity, node, take)

    def _pass_over(self, node: Node, entity: object, error: Exception, *, is_read: bool) -> None:
        """Say and count that something went wrong; raise it where the node is to end anyway."""
        if isinstance(error, ExternalShutdownException | CannotStartError) or not self.context.ok():
            raise error
        self._log = self._log or Log(node)
        what = str(getattr(entity, "topic_name", "") or getattr(entity, "srv_name", "") or type(entity).__name__)
        if is_read:
            self._log.error(what, f"{what}: {reason_of(error)}")
        else:
            is_told = isinstance(error, UnreadableError)
            if not is_told:
                trace(error)
            words = error if is_told else shortened(repr(error), 300)
            self._log.error(what, f"{what}: what arrived cannot be read and is ignored: {words}")
        statistics = getattr(node, "statistics", None)
        if statistics is not None:
            statistics.fault(is_read)

    def tell(self, error: Exception) -> None:
        """Say and count what was raised besides, as by a task that a thread has given to the executor."""
        for node in self.get_nodes():
            self._pass_over(node, node, error, is_read=True)


def _message(subscription: Subscription) -> Call | None:
    """Take the next message of a topic, as rclpy does; None where there is none."""
    try:
        with subscription.handle:
            found = subscription.handle.take_message(subscription.msg_type, subscription.raw)
    except InvalidHandle:  # closed meanwhile
        return None
    if found is None:
        return None
    is_plain = subscription._callback_type is Subscription.CallbackType.MessageOnly

    async def run() -> None:
        await await_or_execute(subscription.callback, *found[: 1 if is_plain else 2])

    return run


def _request(service: Service) -> Call | None:
    """Take the next request of a service, as rclpy does; None where there is none."""
    try:
        with service.handle:
            request, header = service.handle.service_take_request(service.srv_type.Request)
    except InvalidHandle:  # closed meanwhile
        return None
    if header is None:
        return None

    async def run() -> None:
        response = await await_or_execute(service.callback, request, service.srv_type.Response())
        service.send_response(response, header)

    return run


_AGAIN: dict[type, Callable[..., Call | None]] = {Subscription: _message, Service: _request}
