# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A client that makes its calls at times laid down in advance, and waits for no answer before the next one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rclpy.client import Client
from rclpy.task import Future

from superovoid_ros.nodes.common.caller import Caller

_LOOK = 0.05  # s, between two looks which calls are given up


@dataclass(frozen=True)
class Call:
    """A call of a service."""

    service: str
    """its name, relative to the client's namespace"""
    kind: type
    request: object


class TimedCaller(Caller):
    """Makes calls when they are due.

    Parameters
    ----------
    name, namespace
        Of its node.
    calls
        The services of these are waited for, as long as it takes.
    """

    def __init__(self, name: str, namespace: str, calls: Iterable[Call]) -> None:
        super().__init__(name, namespace)
        for kind, service in dict.fromkeys((call.kind, call.service) for call in calls):
            self.wait(self.client(kind, service).service_is_ready)

    def ask_now(self, call: Call) -> object:
        """Make a call now and return the answer; again where none comes, as from a service that knows no client yet."""
        return self.ask(self.client(call.kind, call.service), call.request)

    def make(
        self,
        calls: Callable[[int], Call],
        due: Sequence[float],
        give_up: float,
        on_answer: Callable[[int, object], None],
        on_sent: Callable[[int], None] = lambda number: None,
    ) -> None:
        """Make calls, and wait until each is answered or given up.

        Parameters
        ----------
        calls
            Returns the call of a number.
        due
            When each is due, in this order (time.monotonic, s).
        give_up
            s from then on after which an answer is not waited for any more.
        on_answer
            Called with the number and the answer, when that comes.
        on_sent
            Called with the number of each call that was sent.
        """
        waiting: dict[Future, tuple[int, Client]] = {}

        def receive(future: Future) -> None:
            if future in waiting and not future.cancelled():
                number, _ = waiting.pop(future)
                on_answer(number, future.result())

        sent = 0
        while sent < len(due) or waiting:
            now = time.monotonic()
            if sent < len(due) and due[sent] <= now:
                call = calls(sent)
                client = self.client(call.kind, call.service)
                future = client.call_async(call.request)
                waiting[future] = sent, client
                future.add_done_callback(receive)
                on_sent(sent)
                sent += 1
                continue
            for future, (number, client) in list(waiting.items()):
                if now < due[number] + give_up:
                    break
                client.remove_pending_request(future)
                del waiting[future]
            left = due[sent] - now if sent < len(due) else _LOOK
            self.executor.spin_once(timeout_sec=min(max(left, 0.0), _LOOK))
