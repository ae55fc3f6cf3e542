# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Counts and rates that the diagnostics tell, without a node."""

from __future__ import annotations

import numpy as np
import pytest

from superovoid_ros.nodes.common.mistakes import InputError
from superovoid_ros.nodes.distance_service.health.counting import Statistics
from superovoid_ros.nodes.distance_service.health.diagnostics import RateMeter


def test_mistakes_of_the_package_are_told_from_wrong_requests():
    statistics = Statistics()
    statistics.call("Ask", InputError("wrong"))
    for error in (ZeroDivisionError(), np.linalg.LinAlgError("Singular matrix"), ValueError("could not be broadcast")):
        statistics.call("Ask", error)
    statistics.message("tf", InputError("wrong"))
    statistics.message("tf", ValueError("could not be broadcast"))
    statistics.fault()
    statistics.fault(is_read=False)
    assert statistics.total.refused["Ask"] == 4
    assert statistics.total.refused_messages["tf"] == 2
    assert statistics.total.internal_errors == 5
    assert statistics.total.unreadable == 1


@pytest.mark.parametrize(("wanted", "step"), [(20.0, 1.0), (0.5, 1.0), (1000.0, 0.1)])
def test_rate_is_measured_once_enough_of_its_periods_have_passed(wanted, step):
    meter = RateMeter()
    rates = [meter.update(step * tick, int(wanted * step * tick), wanted) for tick in range(200)]
    measured = [rate for rate in rates if rate is not None]
    span = max(2.0, 5.0 / wanted)
    assert rates.index(measured[0]) * step == pytest.approx(span, abs=step)
    assert measured == pytest.approx([wanted] * len(measured), rel=0.25)
    assert measured[-1] == pytest.approx(wanted, rel=0.21)


def test_rate_follows_what_changes_and_begins_again_when_time_runs_backwards():
    meter = RateMeter()
    count = 0
    for tick in range(10):
        meter.update(float(tick), count, 10.0)
        count += 10
    for tick in range(10, 14):
        rate = meter.update(float(tick), count, 10.0)
    assert rate == 0.0
    assert meter.update(1.0, count, 10.0) is None
