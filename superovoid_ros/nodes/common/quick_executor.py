# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""An executor of one thread that spends little of it on waiting.

rclpy makes a new set of all that it waits for each time, and all lists beside it: 0.2 ms for the distance service,
longer than it takes to read a request or to write an answer. It does so after each message, and once more because what
was done for the message wakes it. Here the set is kept, the executor is woken by other threads only, and what has come
together is taken together.

Every client of a service receives the answers to all of them, and rclpy wakes for each. It cannot tell one that is for
another from none at all, so a client looks several times before it waits again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Coroutine, Generator, Iterable
from typing import Any, TypeAlias

from rclpy.client import Client
from rclpy.context import Context
from rclpy.exceptions import InvalidHandle
from rclpy.executors import (
    ConditionReachedException,
    ExternalShutdownException,
    ShutdownException,
    SingleThreadedExecutor,
    TimeoutException,
    TimeoutObject,
    await_or_execute,
)
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.waitable import NumberOfEntities

Call: TypeAlias = Callable[[], Coroutine[None, None, None]]
"""What runs the callback of something that was taken."""
Take: TypeAlias = Callable[..., Call | None]
"""What takes something of an entity, None where there is nothing."""
TOGETHER = 8
"""Messages of a topic, or requests of a service, that are taken before another entity has its turn."""
_LOOKS = 8  # of a client, in a row and in vain, that has been woken by an answer to another one
_KINDS = ("subscription", "timer", "client", "service")


class QuickExecutor(SingleThreadedExecutor):
    """Runs callbacks in the thread that spins it; used like rclpy's executor of one thread."""

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__(context=context)
        self._spinning = 0
        self._kept_set: tuple[tuple[int, ...], Any] | None = None
        trigger = self._guard.trigger

        def wake() -> None:
            # The thread that spins looks for work anyway before it waits again.
            if threading.get_ident() != self._spinning:
                trigger()

        self._guard.trigger = wake
        # As they are in Kilted and Jazzy; else waiting is left to rclpy.
        self._is_known = isinstance(getattr(self, "_tasks", None), list) and hasattr(self, "_sigint_gc")

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Wait for something and run its callback."""
        self._spinning = threading.get_ident()
        try:
            super().spin_once(timeout_sec)
        finally:
            self._spinning = 0

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        """Stop, as rclpy's executor does."""
        is_done = super().shutdown(timeout_sec)
        self._kept_set = None
        return is_done

    # --- Taking ---

    def _make_handler(self, entity: object, node: Node, take_from_wait_list: Take) -> object:
        """Return rclpy's handler of something that is ready, which takes all that has come together."""
        take_first = self._responses if isinstance(entity, Client) else take_from_wait_list
        again = _AGAIN.get(type(entity))

        def take(entity: object) -> Call | None:
            first = self._taken(take_first, entity, node)
            if first is None:
                return None

            async def run_all() -> None:
                await self._run(first, entity, node)
                for _ in range(TOGETHER - 1 if again else 0):
                    call = self._taken(again, entity, node)
                    if call is None:
                        return
                    await self._run(call, entity, node)

            return run_all

        return super()._make_handler(entity, node, take)

    def _taken(self, take: Take, entity: object, node: Node) -> Call | None:
        """Take something of an entity."""
        return take(entity)

    async def _run(self, call: Call, entity: object, node: Node) -> None:
        """Run the callback of what was taken."""
        await call()

    def _responses(self, client: Client) -> Call | None:
        """Take the answers that have come for a client, and those to others."""
        found = []
        left = 1
        try:
            with client.handle:
                for _ in range(TOGETHER * _LOOKS):
                    header, response = client.handle.take_response(client.srv_type.Response)
                    if header is not None:
                        found.append((header.request_id.sequence_number, response))
                    elif not found and left == 1:
                        left = _LOOKS  # what woke it was an answer to another one: there may be more of them
                    else:
                        left -= 1
                    if not left:
                        break
        except InvalidHandle:  # closed meanwhile
            pass

        async def run() -> None:
            for number, response in found:
                try:
                    future = client.get_pending_request(number)
                except KeyError:  # given up meanwhile
                    continue
                future._set_executor(self)
                future.set_result(response)

        return run

    # --- Waiting ---

    def _wait_for_ready_callbacks(
        self,
        timeout_sec: float | TimeoutObject | None = None,
        nodes: list[Node] | None = None,
        condition: Callable[[], bool] = lambda: False,
    ) -> Generator[tuple[Any, Any, Any], None, None]:
        """Yield handlers of what is ready, as rclpy does, with its exceptions."""
        if not self._is_known:
            yield from super()._wait_for_ready_callbacks(timeout_sec, nodes, condition)
            return
        seconds = timeout_sec.timeout if isinstance(timeout_sec, TimeoutObject) else timeout_sec
        until = None if seconds is None or seconds < 0.0 else time.monotonic() + seconds
        has_worked = False
        while not has_worked and not self._is_shutdown and not condition():
            of_these = self.get_nodes() if nodes is None else nodes
            with self._tasks_lock:
                tasks = list(self._tasks)
            for task, entity, node in tasks:
                if not task.executing() and not task.done() and (node is None or node in of_these):
                    has_worked = True
                    yield task, entity, node
            if tasks:
                with self._tasks_lock:
                    self._tasks = [one for one in self._tasks if not (one[0].done() or one[0].cancelled())]
            left = -1 if until is None else max(0, round(1e9 * (until - time.monotonic())))
            for take, entity, node in self._wait(of_these, left):
                group = entity.callback_group
                if group is not None and group.can_execute(entity):
                    has_worked = True
                    yield self._make_handler(entity, node, take), entity, node
            if until is not None and not has_worked and time.monotonic() >= until:
                raise TimeoutException
        if self._is_shutdown:
            raise ShutdownException
        if condition():
            raise ConditionReachedException

    def _wait(self, nodes: Iterable[Node], nanoseconds: int) -> list[tuple[Take, Any, Node]]:
        """Wait for so long, -1: for ever; return what is ready, in the order in which it has its turn."""
        kinds: dict[str, list[tuple[Any, Node]]] = {kind: [] for kind in _KINDS}
        guards: list[tuple[Any, Node | None]] = [(one, None) for one in (self._guard, self._sigint_gc) if one]
        waitables: list[tuple[Any, Node]] = []
        for node in nodes:
            for kind, entities in (
                *zip(_KINDS, _entities(node), strict=True),
                ("", node.waitables),
                ("g", node.guards),
            ):
                chosen = [
                    (one, node)
                    for one in entities
                    if not one._executor_event and (group := one.callback_group) is not None and group.can_execute(one)
                ]
                (waitables if not kind else guards if kind == "g" else kinds[kind]).extend(chosen)
        entered: list[Any] = []

        def entering(handle: Any) -> bool:
            try:
                handle.__enter__()
            except InvalidHandle:  # closed meanwhile
                return False
            entered.append(handle)
            return True

        try:
            context = self._context.handle
            if context is None:
                raise ExternalShutdownException
            entering(context)
            for kind in _KINDS:
                kinds[kind] = [one for one in kinds[kind] if entering(one[0].handle)]
            for guard, node in guards:
                if node is not None and guard._executor_triggered:
                    guard.trigger()  # triggered and not handled yet
            guards = [one for one in guards if entering(one[0].handle)]
            waitables = [one for one in waitables if entering(one[0])]
            wait_set = self._set_for(kinds, guards, waitables)
            wait_set.wait(nanoseconds)
            if self._is_shutdown:
                raise ShutdownException
            if not self._context.ok():
                raise ExternalShutdownException
            triggered = set(wait_set.get_ready_entities("guard_condition"))
            for guard, _ in guards:
                if guard.handle.pointer in triggered:
                    guard._executor_triggered = True
            ready: list[tuple[Take, Any, Node]] = [
                (self._take_waitable, one, node) for one, node in waitables if one.is_ready(wait_set)
            ]
            for kind, take in (("timer", self._take_timer), ("subscription", self._take_subscription)):
                ready += self._ready(wait_set, kind, kinds[kind], take)
            ready += [
                (self._take_guard_condition, guard, node)
                for guard, node in guards
                if node is not None and guard._executor_triggered
            ]
            for kind, take in (("client", self._take_client), ("service", self._take_service)):
                ready += self._ready(wait_set, kind, kinds[kind], take)
        finally:
            for handle in reversed(entered):
                handle.__exit__(None, None, None)
        return ready

    def _ready(
        self, wait_set: Any, kind: str, entities: list[tuple[Any, Node]], take: Take
    ) -> list[tuple[Take, Any, Node]]:
        pointers = wait_set.get_ready_entities(kind)
        if not pointers:
            return []
        return [(take, entity, node) for entity, node in entities if entity.handle.pointer in pointers]

    def _set_for(self, kinds: dict[str, list[Any]], guards: list[Any], waitables: list[Any]) -> Any:
        """Return the set of what is to be waited for, made anew where it does not fit."""
        subscriptions, timers, clients, services = (kinds[kind] for kind in _KINDS)
        count = NumberOfEntities(len(subscriptions), len(guards), len(timers), len(clients), len(services))
        for waitable, _ in waitables:
            count += waitable.get_num_entities()
        sizes = (
            count.num_subscriptions,
            count.num_guard_conditions,
            count.num_timers,
            count.num_clients,
            count.num_services,
            count.num_events,
        )
        if self._kept_set is None or self._kept_set[0] != sizes:
            self._kept_set = sizes, rclpy_implementation.WaitSet(*sizes, self._context.handle)
        wait_set = self._kept_set[1]
        wait_set.clear_entities()
        for entities, add in (
            (subscriptions, wait_set.add_subscription),
            (clients, wait_set.add_client),
            (services, wait_set.add_service),
            (timers, wait_set.add_timer),
            (guards, wait_set.add_guard_condition),
        ):
            for entity, _ in entities:
                add(entity.handle)
        for waitable, _ in waitables:
            waitable.add_to_wait_set(wait_set)
        return wait_set


def _entities(node: Node) -> tuple[Iterable[Any], ...]:
    """Return what a node has, in the order of `_KINDS`."""
    return node.subscriptions, node.timers, node.clients, node.services


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


_AGAIN: dict[type, Take] = {Subscription: _message, Service: _request}
