# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A client node of a test: calls services and waits for messages."""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.task import Future

from superovoid_ros.client.caller import Caller

# Answers and starts of nodes take no time on an idle machine, but longer on a busy one.
ANSWER_TIMEOUT = 120.0  # s
# Services by the beginning of their names: repeating a call with a lost answer does no harm.
_REPEATABLE = ("Get", "List", "Describe", "SetParameters", "SetPairRules", "ApplyObjects", "PlayFrame")


class ClientWithTimeout(Caller):
    """A client node whose waits have a time-out."""

    def wait(self, condition: Callable[[], bool], timeout: float = ANSWER_TIMEOUT) -> bool:
        """Handle messages until `condition` holds; return False after the time-out."""
        return super().wait(condition, timeout)

    def spin(self, seconds: float) -> None:
        """Handle messages for `seconds`."""
        self.wait(lambda: False, seconds)

    def answer(self, future: Future) -> object:
        """Wait for a future and return its result."""
        assert self.wait(future.done), "no answer"
        return future.result()

    def wait_for_silence(self, messages: list, seconds: float = 0.3) -> None:
        """Wait until no message arrives for `seconds`, and discard the messages that were still on their way."""
        until = time.monotonic() + ANSWER_TIMEOUT
        count = -1
        while len(messages) != count:
            assert time.monotonic() < until, "messages keep arriving"
            count = len(messages)
            self.spin(seconds)
        messages.clear()

    def call(self, kind: type, service: str, timeout: float = ANSWER_TIMEOUT, **request: object) -> object:
        """Call a service and return its response; repeat a repeatable call if the response is lost."""
        client = self.client(kind, service)
        assert self.wait(client.service_is_ready), f"no service {service}"
        if kind.__name__.startswith(_REPEATABLE):
            return self.ask(client, kind.Request(**request), timeout)
        future = client.call_async(kind.Request(**request))
        assert self.wait(future.done, timeout), f"no response from {service}"
        return future.result()

    def call_until(self, accept: Callable[[object], bool], kind: type, service: str, **request: object) -> object:
        """Call a service until `accept` accepts its response, since an earlier message may still be on its way."""
        until = time.monotonic() + ANSWER_TIMEOUT
        while True:
            response = self.call(kind, service, **request)
            if accept(response):
                return response
            assert time.monotonic() < until, f"{service} still answers: {response}"
            self.spin(0.02)
