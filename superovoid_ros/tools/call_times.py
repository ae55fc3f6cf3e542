# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Times of calls of `~/get_distances` over DDS on this machine: a thousand states in one, and one beside an empty call.

Run ``python -m superovoid_ros.tools.call_times``; it prints the table of docs/planning.md. All times are of the wall
clock. A thousand states go from arrays to arrays, by `DistanceClient`. An empty call is one of a service of the same
type in a process of its own, which answers each request with what the distance service answered to it: both ways the
messages are the same, and nothing is done in between. Calls about one state and empty ones are made in turns, by one
plain client.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

import numpy as np
from numpy.typing import NDArray

from superovoid.output import machine
from superovoid_papers.benchmarks.many_states import CUTOFF, hands, regimes
from superovoid_ros.client import DistanceClient, Question
from superovoid_ros.nodes.clients.recorded_service import Calls, recorded_service
from superovoid_ros.nodes.common.caller import Caller
from superovoid_ros.tools.load.measures import GROUPS
from superovoid_ros.tools.process.child import Child, HelperProcess, hands_service
from superovoid_ros.tools.process.network import own_network
from superovoid_ros.tools.process.waiting import Watch
from superovoid_ros.tools.service_planner import when_ready

_TIMEOUT = 600.0  # s, of a call of a thousand states
_WHOLE, _SINGLE = 7, 600  # calls of either kind that are timed
_DIFFERENT = 20  # states that single calls are about, in turn


def calls_of(caller: Caller, name: str, server: Child) -> Calls:
    """Return what calls a service, once the process that has it is ready."""
    watch = Watch(server)
    return Calls(caller, name, lambda: watch.look(f"service {name} did not appear"))


def seconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def single_calls(caller: Caller, service: Calls, requests: Sequence[object], name: str) -> NDArray[np.float64]:
    """Median times of calls about one state and of empty ones, s."""
    answers = [service.answer(request) for request in requests]
    with recorded_service(name, answers) as process:
        both = service, calls_of(caller, name, HelperProcess("recorded service", process))
        times = [[calls.seconds(requests[i % len(requests)]) for calls in both] for i in range(_SINGLE)]
    return np.median(times, axis=0)


def main() -> None:
    """Print the table."""
    robot = hands()
    with ExitStack() as stack:
        namespace = stack.enter_context(own_network("call_times"))
        node = hands_service(namespace)
        stack.callback(node.stop)
        distances = stack.enter_context(DistanceClient(service=f"{namespace}/distance_service", timeout=_TIMEOUT))
        caller = stack.enter_context(Caller(f"call_times_{os.getpid()}"))
        service = calls_of(caller, f"{namespace}/distance_service/get_distances", node)
        distances.wait()
        print(machine())
        print("| states | 1,000 in one call, s | one, ms | empty, ms | ratio |")
        print("|---|---|---|---|---|")
        for number, (name, positions, bases) in enumerate(regimes(robot)):
            options = {
                "joint_names": robot.joint_names,
                "links_a": [GROUPS[0]],
                "links_b": [GROUPS[1]],
                "max_distance": CUTOFF,
            }
            many = {**options, "positions": positions, "base_poses": bases}
            when_ready(node, lambda: distances.distances(**many))  # noqa: B023
            whole = np.median([seconds(lambda: distances.distances(**many)) for _ in range(_WHOLE)])  # noqa: B023
            requests = list(Question(**many, batch=1).requests()[:: len(positions) // _DIFFERENT])
            one, empty = single_calls(caller, service, requests, f"{namespace}/empty_{number}")
            print(f"| {name} | {whole:.3f} | {1e3 * one:.3f} | {1e3 * empty:.3f} | {one / empty:.2f} |", flush=True)


if __name__ == "__main__":
    main()
