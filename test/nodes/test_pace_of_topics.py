# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Publishing leaves time to services and measurements, however long it takes."""

from types import SimpleNamespace

import pytest

from superovoid_ros.nodes.distance_service.answers import topics


@pytest.mark.parametrize(("seconds", "clearances"), [(0.12, False), (0.01, True)])
def test_half_of_the_time_is_left_and_no_topic_is_left_out(monkeypatch, seconds, clearances):
    clock, done = SimpleNamespace(now=0.0, used=0.0), []
    monkeypatch.setattr(topics.time, "monotonic", lambda: clock.now)
    monkeypatch.setattr(topics.time, "thread_time", lambda: clock.used)

    def work(what, seconds):
        clock.now, clock.used = clock.now + seconds, clock.used + seconds
        done.append(what)

    def distances():
        work("distances", seconds)

    def clearance():
        work("clearance", 0.006)

    pace = topics.Pace(distances, clearance)
    turn = 0.0
    while clock.now < 10.0:
        clock.now += 0.004
        if clearances:
            pace.act(clearance)
        if clock.now >= turn:
            turn += 0.05
            pace.act(distances)
    assert 0.45 < clock.used / clock.now <= 0.51
    if clearances:
        assert done.count("distances") == pytest.approx(200, rel=0.2) and done.count("clearance") > 200
