# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A stand-in for `get_distances` that does nothing but answer what was recorded; and who calls either, and how long."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.process import BaseProcess

import rclpy
from rclpy.client import Client
from rclpy.node import Node
from superovoid_interfaces.srv import GetDistances

from superovoid_ros.nodes.common.caller import Caller
from superovoid_ros.nodes.common.parent import be_helper, start_helper
from superovoid_ros.nodes.common.process import run
from superovoid_ros.nodes.common.qos import SERVICE


def serve_recorded(name: str, answers: Sequence[GetDistances.Response]) -> None:
    """Answer calls of a service with these answers, in turn, until the process is told to end."""
    turns = itertools.cycle(answers)

    be_helper()

    def create_node() -> Node:
        node = rclpy.create_node(f"recorded_{os.getpid()}")
        node.create_service(GetDistances, name, lambda _request, _response: next(turns), qos_profile=SERVICE)
        return node

    run(create_node)


@contextmanager
def recorded_service(name: str, answers: Sequence[GetDistances.Response]) -> Iterator[BaseProcess]:
    """`serve_recorded` in a process of its own."""
    spawn = multiprocessing.get_context("spawn")  # a fork would take the middleware's threads' locks along
    process = spawn.Process(target=serve_recorded, args=(name, answers), daemon=True)
    start_helper(process)
    try:
        yield process
    finally:
        process.terminate()
        process.join()


class Calls:
    """Calls of a service of the type `get_distances`, one after the other.

    Parameters
    ----------
    caller
        Who calls.
    name
        The service's full name.
    look
        Called again and again while the service or its answer is waited for; raises where that is of no use any more.
    """

    def __init__(self, caller: Caller, name: str, look: Callable[[], None]) -> None:
        self._caller, self._look = caller, look
        self._client: Client = caller.client(GetDistances, name)
        caller.wait(self._client.service_is_ready, each_turn=look)

    def answer(self, request: GetDistances.Request) -> GetDistances.Response:
        """Make a call and return the answer."""
        return self._caller.ask(self._client, request, each_turn=self._look)

    def seconds(self, request: GetDistances.Request) -> float:
        """Return how long a call takes."""
        started = time.perf_counter()
        self.answer(request)
        return time.perf_counter() - started
