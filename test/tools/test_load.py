# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The distance service under load: short runs of `superovoid dev load`."""

from __future__ import annotations

import csv
import math
import signal
from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.task import Future
from superovoid_interfaces.msg import DistanceArray, PairDistance
from superovoid_interfaces.srv import GetDistances, GetMinDistance

from superovoid.cli import main
from superovoid_ros.client.timed_calls import SERVICES, Report, TimedCaller
from superovoid_ros.tools import service_load
from superovoid_ros.tools.service_load import ServiceLoad, summary

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def running_load(loopback_domain):
    """Yield the service and two clients."""
    with ServiceLoad(2) as load:
        yield load


@pytest.mark.parametrize(
    ("kind", "rate", "seconds", "calls"),
    [*((kind, 60.0, 1.0, 60) for kind in SERVICES), ("closest", 2000.0, 0.2, 400), ("closest", math.inf, 0.5, None)],
)
def test_calls_at_any_rate_are_answered_as_at_rest(running_load, kind, rate, seconds, calls):
    """A burst may be longer than usual queues."""
    row, errors = running_load.measure(kind, 2, rate, seconds)
    assert not errors
    assert (row.service, row.clients, row.lost) == (SERVICES[kind][1], 2, 0)
    assert row.calls == calls or (calls is None and row.calls > 2)
    assert 0.0 < row.median <= row.p99 <= row.worst
    assert row.node_share > 0.0 and row.client_share > 0.0


def test_an_unresponsive_service_loses_calls_and_answers_later_ones(running_load, monkeypatch):
    monkeypatch.setattr(service_load, "GIVE_UP", 0.5)
    running_load._node.process.send_signal(signal.SIGSTOP)
    try:
        for rate in (20.0, math.inf):
            row, errors = running_load.measure("closest", 2, rate, 0.4)
            assert not errors
            assert row.lost == row.calls == (8 if rate == 20.0 else 2)
    finally:
        running_load._node.process.send_signal(signal.SIGCONT)
    monkeypatch.undo()
    row, errors = running_load.measure("closest", 2, 20.0, 0.4)
    assert not errors
    assert (row.calls, row.lost) == (8, 0)


@pytest.mark.slow
def test_command_writes_what_it_measures(loopback_domain, tmp_path, capsys):
    options = "--clients 1 --rates 20,max --duration 0.5 --states 3 --output".split()
    assert main(["dev", "load", *options, str(tmp_path)]) == 0, capsys.readouterr()
    text = (tmp_path / "load.csv").read_text(encoding="utf-8").splitlines()
    assert text[0].startswith("# superovoid dev load --clients 1 --rates 20,max --duration 0.5 --kinds closest,near,")
    rows = list(csv.DictReader(text[2:]))
    assert [row["kind"] for row in rows[::2]] == list(SERVICES)
    assert {row["due_per_s"] for row in rows} == {"20.0", "inf"}
    assert all((row["errors"], row["lost"]) == ("0", "0") for row in rows)


@pytest.mark.parametrize(("distance", "problems"), [(0.1, 0), (0.2, 1), (math.nan, 1)])
@pytest.mark.parametrize("is_many", [False, True])
def test_an_answer_unlike_that_at_rest_is_a_problem(monkeypatch, is_many, distance, problems):
    def respond(distance):
        if is_many:
            return GetDistances.Response(success=True, distance=[distance])
        return GetMinDistance.Response(success=True, distances=DistanceArray(pairs=[PairDistance(distance=distance)]))

    call, caller = Future(), object.__new__(TimedCaller)
    monkeypatch.setattr(TimedCaller, "turn", lambda *_: call.set_result(respond(distance)))
    caller._calls = {"near": (SimpleNamespace(call_async=lambda _: call), [None], [respond(0.1)])}
    assert len(caller.follow("near", 0.0, 0.0, 1.0, 1.0).problems) == problems


def test_lost_calls_are_counted_and_excluded_from_the_latencies():
    reports = [Report([0.001, math.nan], 10.3, ["refused"], 0.1), Report([0.003, 0.002], 10.5, [], 0.2)]
    row = summary("near", 10.0, 10.0, reports, 0.1)
    assert (row.calls, row.lost, row.errors, row.clients) == (4, 1, 1, 2)
    assert (row.median, row.worst, row.throughput) == pytest.approx((2.0, 3.0, 6.0))
    assert (row.node_share, row.client_share) == pytest.approx((0.2, 0.6))


def test_a_service_without_answers_has_no_latency():
    row = summary("near", 10.0, 10.0, [Report([math.nan] * 3)], 0.1)
    assert (row.calls, row.lost) == (3, 3)
    assert np.isnan((row.median, row.p99, row.worst)).all()
