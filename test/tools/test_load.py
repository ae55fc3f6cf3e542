# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The distance service under load: short runs of `superovoid dev load`."""

from __future__ import annotations

import csv
import math
import signal

import numpy as np
import pytest

from superovoid.cli import main
from superovoid_ros.client.timed_calls import SERVICES, Report
from superovoid_ros.tools import service_load
from superovoid_ros.tools.service_load import ServiceLoad, differs, errors_of, summary

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def running_load(loopback_domain):
    """Yield the service and two clients."""
    with ServiceLoad(2) as load:
        yield load


@pytest.mark.parametrize("kind", SERVICES)
def test_calls_on_a_schedule_are_answered_like_the_library(running_load, kind):
    row, errors = running_load.measure(kind, 2, 60.0, 1.0)
    assert not errors
    assert (row.service, row.clients, row.calls, row.lost) == (SERVICES[kind][1], 2, 60, 0)
    assert 0.0 < row.median <= row.p99 <= row.worst
    assert row.node_share > 0.0 and row.client_share > 0.0


def test_clients_at_the_largest_rate_call_again_after_each_answer(running_load):
    row, errors = running_load.measure("closest", 2, math.inf, 0.5)
    assert not errors
    assert row.calls > 2 and row.lost == 0


def test_a_burst_beyond_the_usual_queue_loses_no_calls(running_load):
    row, errors = running_load.measure("closest", 2, 2000.0, 0.2)
    assert not errors
    assert (row.calls, row.lost) == (400, 0)


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


# --- Errors ---


def reply(**pairs):
    return {frozenset(names): distance for names, distance in pairs.items()}


LIBRARY = reply(ab=-0.001, ac=0.002, ad=1.0)


def test_replies_with_the_distances_of_the_library_do_not_differ():
    assert not differs("closest", reply(ab=-0.001), LIBRARY)
    assert not differs("near", reply(ab=-0.001, ac=0.002), LIBRARY)
    assert not differs("penetration", reply(ab=-0.001), LIBRARY)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("closest", reply()),
        ("closest", reply(ac=0.002)),
        ("closest", reply(ab=-0.0011)),
        ("closest", reply(ax=-0.001)),
        ("closest", reply(ab=-0.001, ac=0.002)),
        ("near", reply(ab=-0.001)),
        ("near", reply(ab=math.nan, ac=0.002)),
        ("many", reply(ab=-0.001, ac=0.002, ad=1.0)),
        ("penetration", reply()),
        ("penetration", reply(ab=-0.001, ac=0.002)),
    ],
)
def test_replies_with_other_pairs_or_distances_differ(kind, wrong):
    assert differs(kind, wrong, LIBRARY)


def test_refusals_wrong_states_and_missing_states_are_errors():
    replies = [([0], [reply(ab=-0.001)]), ([0, 0], [reply(ab=-0.001)]), ([0], [reply()])]
    errors = errors_of("closest", Report([], 0.0, ["not ready"], replies, 0.0), [LIBRARY])
    assert len(errors) == 3
    assert errors[0] == "closest: refused: not ready"


def test_lost_calls_are_counted_and_excluded_from_the_latencies():
    reports = [Report([0.001, math.nan], 10.3, [], [], 0.1), Report([0.003, 0.002], 10.5, [], [], 0.2)]
    row = summary("near", 10.0, 10.0, reports, 1, 0.1)
    assert (row.calls, row.lost, row.errors, row.clients) == (4, 1, 1, 2)
    assert (row.median, row.worst, row.throughput) == pytest.approx((2.0, 3.0, 6.0))
    assert (row.node_share, row.client_share) == pytest.approx((0.2, 0.6))


def test_a_service_without_answers_has_no_latency():
    row = summary("near", 10.0, 10.0, [Report([math.nan] * 3)], 0, 0.1)
    assert (row.calls, row.lost) == (3, 3)
    assert np.isnan((row.median, row.p99, row.worst)).all()
