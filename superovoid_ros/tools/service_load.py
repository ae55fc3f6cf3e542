# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Measure the distance service under load: client processes query distances of both hands of the iCub.

Latency is measured from the time at which a call was due. At a fixed rate the clients call on a schedule and do not
wait for responses, so that one late response adds to the latency of all calls due before it.
"""

from __future__ import annotations

import gc
import math
import multiprocessing
import os
import signal
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from threading import BrokenBarrierError

import numpy as np
from rich.table import Table

from superovoid.output import CsvRow, cell, column
from superovoid_ros.client.timed_calls import SERVICES, Report, States, TimedCaller
from superovoid_ros.motions.grasp_sweep import read_sweep
from superovoid_ros.tools.process.child import PATIENCE, late_error
from superovoid_ros.tools.process.service import distance_service

GIVE_UP = 30.0  # s without a response, after which a call counts as lost
_GROUPS = "left_fingers", "right_fingers"
_STATES = 64
_JOINT_NOISE = 0.1  # rad
_LEAD = 0.2  # s between an order and its first call, so that all clients receive the order in time


@dataclass(frozen=True)
class Row(CsvRow):
    """Measurement of one kind of call at one rate from a number of clients."""

    service: str
    kind: str
    clients: int
    rate: float = column("due_per_s")
    """Calls due per second, over all clients; inf: each client calls again as soon as it has a response."""
    calls: int
    errors: int
    """Number of refusals, and of requests whose last answer has other distances than that at rest."""
    lost: int
    """Number of calls without a response."""
    throughput: float = column("replies_per_s")
    median: float = column("median_ms")
    p99: float = column("p99_ms")
    worst: float = column("worst_ms")
    node_share: float = column("node_cores")
    """Processor time of the service per second."""
    client_share: float = column("clients_cores")
    """Processor time of all clients per second."""


def sweep_states() -> States:
    """Return states of the grasp sweep with random joint offsets."""
    _, sweep = read_sweep()
    rng = np.random.default_rng(0)
    frames = [sweep.frame(int(index)) for index in rng.integers(0, len(sweep), _STATES)]
    positions = np.array([list(frame.positions.values()) for frame in frames])
    positions += rng.uniform(-_JOINT_NOISE, _JOINT_NOISE, positions.shape)
    bases = {link: np.array([frame.base_poses[link] for frame in frames]) for link in frames[0].base_poses}
    return States(_GROUPS, list(sweep.positions), positions, bases)


def summary(kind: str, rate: float, start: float, reports: Sequence[Report], node_time: float) -> Row:
    """Summarize the reports of all clients; `start`: time of the first due call; `node_time`: processor time, s."""
    latencies = 1e3 * np.concatenate([report.latencies for report in reports])
    answered = latencies[~np.isnan(latencies)]
    median, p99, worst = np.quantile(answered, (0.5, 0.99, 1.0)).tolist() if len(answered) else 3 * [math.nan]
    span = max(max(report.last for report in reports) - start, 1e-9)
    return Row(
        SERVICES[kind][1],
        kind,
        len(reports),
        rate,
        calls=len(latencies),
        errors=sum(len(report.problems) for report in reports),
        lost=len(latencies) - len(answered),
        throughput=len(answered) / span,
        median=median,
        p99=p99,
        worst=worst,
        node_share=node_time / span,
        client_share=sum(report.processor for report in reports) / span,
    )


def table(rows: Sequence[Row]) -> Table:
    """Return the measurements as a table for printing."""
    result = Table(title="Calls of the distance service")
    forms = {"rate": "g", "throughput": ".0f", "node_share": ".2f", "client_share": ".2f"}
    forms |= dict.fromkeys(("median", "p99", "worst"), ".1f")
    for name in Row.columns():
        result.add_column(Row.heading(name), justify="left" if name in ("service", "kind") else "right")
    for row in rows:
        cells = {name: str(getattr(row, name)) for name in Row.columns()}
        cells |= {name: cell(getattr(row, name), form) for name, form in forms.items()}
        result.add_row(*(text if text != "inf" else "max" for text in cells.values()))
    return result


def _begin_client(ready: Barrier, *arguments: object) -> None:
    """Create the client of this process."""
    global _client
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    _client = TimedCaller(f"load_client_{os.getpid()}", *arguments)
    # A full garbage collection stops the client for 100 ms, which would count as latency of the service.
    gc.collect()
    gc.freeze()
    ready.wait()


def _follow(*order: object) -> Report:
    return _client.follow(*order)


class ServiceLoad:
    """A distance service with both hands in a separate ROS domain, and client processes; a context manager.

    `states_per_call` is the number of states in a call of the kind `many`. Raises `NodeError` if the node ends, or a
    client is late.
    """

    def __init__(self, clients: int, states_per_call: int = 8) -> None:
        with ExitStack() as stack:
            self._node, name, _ = stack.enter_context(distance_service("load", "icub_hands"))
            spawn = multiprocessing.get_context("spawn")  # a fork would copy the locks of the middleware's threads
            ready = spawn.Barrier(clients + 1)
            self._pool = stack.enter_context(
                spawn.Pool(clients, _begin_client, (ready, name, sweep_states(), states_per_call))
            )
            try:
                ready.wait(PATIENCE)
            except BrokenBarrierError:
                raise late_error("a client did not get its first answers") from None
            self._undo = stack.pop_all()

    def __enter__(self) -> ServiceLoad:
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def measure(self, kind: str, clients: int, rate: float, duration: float) -> tuple[Row, list[str]]:
        """Let clients make `rate` calls per second for `duration` s; return the measurement and lines about errors."""
        used = self._node.processor_time()
        interval = 0.0 if math.isinf(rate) else clients / rate
        start = time.monotonic() + _LEAD
        firsts = [start + number * interval / clients for number in range(clients)]
        # Each client process takes one order, since none begins before all have theirs.
        orders = [(kind, first, first + duration, interval, GIVE_UP) for first in firsts]
        reports = self._pool.starmap(_follow, orders, chunksize=1)
        self._node.check()
        used = self._node.processor_time() - used
        return summary(kind, rate, start, reports, used), [line for report in reports for line in report.problems]
