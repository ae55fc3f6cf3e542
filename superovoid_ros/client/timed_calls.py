# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Client that calls the distance service on a schedule, or as fast as it responds, and records every response."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.task import Future
from superovoid_interfaces.srv import GetDistances, GetMinDistance, GetPenetration

from superovoid_ros.client.caller import Caller
from superovoid_ros.client.requests import request_of
from superovoid_ros.nodes.common.conversions import to_transforms

MAX_DISTANCE = 0.01
"""Largest distance in the responses to calls of the kinds `near` and `many`, m."""
SERVICES = {
    "closest": (GetMinDistance, "get_min_distance", {"max_results": 1}),
    "near": (GetMinDistance, "get_min_distance", {"max_distance": MAX_DISTANCE}),
    "penetration": (GetPenetration, "get_penetration", {}),
    "many": (GetDistances, "get_distances", {"max_distance": MAX_DISTANCE}),
}
"""For each kind of call: type of the service, its name, and fields of the request."""
_DISCOVERY = 60.0  # s


class States(NamedTuple):
    """States of a robot, and the groups of links between which distances are requested."""

    groups: tuple[str, str]
    joint_names: list[str]
    positions: np.ndarray
    """Joint positions, rad or m, shape (states, joints)."""
    base_poses: dict[str, np.ndarray]
    """Pose root_from_link of each base, m, shape (states, 4, 4)."""


@dataclass
class Report:
    """Recorded results of one client."""

    latencies: list[float] = field(default_factory=list)
    """Latency of each call from the time at which it was due, s; nan: no response."""
    last: float = 0.0
    """Time of the last response (time.monotonic, s)."""
    problems: list[str] = field(default_factory=list)
    """A line for each refusal, and for each request whose last answer has other distances than that at rest."""
    processor: float = 0.0
    """Processor time of the client, s."""


def _request(kind: str, states: States, chosen: list[int]) -> object:
    service, _, limits = SERVICES[kind]
    links_a, links_b = ([group] for group in states.groups)
    fields = {"links_a": links_a, "links_b": links_b, "joint_names": states.joint_names, **limits}
    bases = {link: poses[chosen] for link, poses in states.base_poses.items()}
    if service is GetDistances:
        return request_of(states.positions[chosen], base_poses=bases, **fields)
    poses = to_transforms("world", list(bases), np.concatenate(list(bases.values())), Time())
    return service.Request(joint_positions=states.positions[chosen[0]].tolist(), base_poses=poses, **fields)


def _distances_of(response: object) -> list[float]:
    if isinstance(response, GetDistances.Response):
        return list(response.distance)
    return [pair.distance for pair in response.distances.pairs]


class TimedCaller(Caller):
    """Client that calls the services of the node `service` (full name) with each state in turn.

    `states_per_call` is the number of states in a call of the kind `many`. Raises `TimeoutError` if a service does not
    appear or does not answer.
    """

    def __init__(self, name: str, service: str, states: States, states_per_call: int) -> None:
        super().__init__(name)
        self._calls = {}
        total = len(states.positions)
        for kind, (of_kind, service_name, _) in SERVICES.items():
            client = self.client(of_kind, f"{service}/{service_name}")
            if not self.wait(client.service_is_ready, _DISCOVERY):
                raise TimeoutError(f"no service {client.srv_name} after {_DISCOVERY:g} s")
            size = states_per_call if kind == "many" else 1
            chosen = [[(first + k) % total for k in range(size)] for first in range(total)]
            requests = [_request(kind, states, numbers) for numbers in chosen]
            answers = [self.ask(client, request, _DISCOVERY) for request in requests]
            self._calls[kind] = client, requests, answers

    def follow(self, kind: str, start: float, end: float, interval: float, give_up: float) -> Report:
        """Make calls of one kind from `start` to `end` (time.monotonic, s), and wait for the responses.

        Calls are due every `interval` seconds; 0: each after the response to the previous one. A call
        without a response after `give_up` seconds is lost.
        """
        client, requests, at_rest = self._calls[kind]
        report, began = Report(), time.process_time()
        waiting: set[Future] = set()
        last: dict[int, object] = {}

        def receive(future: Future, number: int, due: float) -> None:
            waiting.discard(future)
            report.last, response = time.monotonic(), future.result()
            report.latencies[number] = report.last - due
            if response.success:
                last[number % len(requests)] = response
            else:
                report.problems.append(f"{kind}: refused: {response.message}")

        def wait_for_responses() -> None:
            self.wait(lambda: not waiting, give_up)
            for future in waiting:
                client.remove_pending_request(future)
            waiting.clear()

        for number in range(max(1, round((end - start) / interval))) if interval else itertools.count():
            due = start + number * interval if interval else max(start, time.monotonic())
            if not interval and due >= end:
                break
            self.turn(0.0)  # also if the client is late
            self.wait(lambda: False, due - time.monotonic())
            report.latencies.append(math.nan)
            waiting.add(future := client.call_async(requests[number % len(requests)]))
            future.add_done_callback(partial(receive, number=number, due=due))
            if not interval:
                wait_for_responses()
        wait_for_responses()
        report.processor = time.process_time() - began
        unlike = [i for i, response in last.items() if _distances_of(response) != _distances_of(at_rest[i])]
        report.problems += [f"{kind}: the answer to request {i} differs from that at rest" for i in unlike]
        return report
