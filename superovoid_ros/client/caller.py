# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A node with which programs and tests call services and wait for the responses in their own thread."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from rclpy.client import Client
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from superovoid_ros.nodes.common.endpoints import SERVICE
from superovoid_ros.nodes.common.shared_memory import make_room

_FIRST_PATIENCE = 10.0  # s without the first response of a service, after which the call is repeated
_LATER_PATIENCE = 30.0  # s without a later response: long searches should not be repeated
_TRIES = 3  # calls within the time limit before the first response
_TURN = 0.02  # s


class Caller:
    """A node in its own context, whose executor spins while a caller waits.

    Parameters
    ----------
    name
        Name of the node; the command line of this process does not apply to it.

    Attributes
    ----------
    node : rclpy.node.Node
    context : rclpy.context.Context
    executor : SingleThreadedExecutor
    """

    def __init__(self, name: str) -> None:
        self._clients: dict[str, Client] = {}
        self._heard: set[Client] = set()
        self._thread: threading.Thread | None = None
        self.context = Context()
        make_room()
        self.context.init()
        try:
            self.node = Node(name, context=self.context, use_global_arguments=False)
        except BaseException:
            self.context.try_shutdown()
            raise
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Destroy the node and shut down its context."""
        if self._thread is not None:
            self.context.try_shutdown()  # ends the thread's spinning
        self.executor.shutdown()
        if self._thread is not None:
            self._thread.join()
        self.node.destroy_node()
        self.context.try_shutdown()

    def spin_aside(self) -> None:
        """Spin the executor in a thread until `close`; no other thread may spin it."""
        self._thread = threading.Thread(target=self._spin, name=self.node.get_name(), daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        try:
            self.executor.spin()
        except ExternalShutdownException:
            pass

    def turn(self, seconds: float = _TURN) -> None:
        """Run the callbacks that are due, or wait up to `seconds` for one."""
        self.executor.spin_once(timeout_sec=seconds)

    def wait(self, condition: Callable[[], bool], timeout: float = math.inf) -> bool:
        """Spin until a condition, checked before each turn, holds; return False if it does not hold in time (s)."""
        until = time.monotonic() + timeout
        while not condition():
            left = until - time.monotonic()
            if left <= 0.0:
                return False
            self.turn(min(left, _TURN))
        return True

    def client(self, kind: type, service: str) -> Client:
        """Return the client of a service, created at the first call."""
        if service not in self._clients:
            self._clients[service] = self.node.create_client(kind, service, qos_profile=SERVICE)
        return self._clients[service]

    def ask(self, client: Client, request: object, timeout: float = math.inf) -> object:
        """Call a service without side effects and return the response, as the function `ask` does."""
        return ask(client, request, timeout, self._heard, lambda arrived, limit: self.wait(arrived.is_set, limit))


def ask(
    client: Client,
    request: object,
    timeout: float,
    heard: set[Client],
    wait: Callable[[threading.Event, float], object],
) -> object:
    """Call a service without side effects and return the response; raise `TimeoutError` if none comes in time.

    The middleware loses the response of a service that has not discovered the client yet: a new service, or one
    reopened since its last response. So the call is repeated, each time after twice the wait; the first response
    counts.

    Parameters
    ----------
    client, request
        The client of the service, and the request.
    timeout
        Time limit, s.
    heard
        Clients to which their services have responded; this function adds and removes the client.
    wait
        Waits, at most for a number of seconds, until an event is set.
    """
    until = time.monotonic() + timeout
    patience = _LATER_PATIENCE if client in heard else min(_FIRST_PATIENCE, timeout / _TRIES)
    arrived, calls = threading.Event(), []
    try:
        while not arrived.is_set() and (left := until - time.monotonic()) > 0.0:
            calls.append(client.call_async(request))
            calls[-1].add_done_callback(lambda _: arrived.set())
            wait(arrived, min(left, patience))
            patience *= 2.0
    finally:
        for call in calls:
            client.remove_pending_request(call)
    answer = next((call.result() for call in calls if call.done()), None)
    if answer is None:
        heard.discard(client)
        raise TimeoutError(f"no answer after {timeout:g} s")
    heard.add(client)
    return answer
