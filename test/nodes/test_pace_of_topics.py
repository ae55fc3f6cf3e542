# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""When the topics of the distance service are published: a simulated machine, on which some turns come late."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from visualization_msgs.msg import MarkerArray

from superovoid_ros.nodes.distance_service.answers import topics
from superovoid_ros.nodes.distance_service.answers.topics import Topics

import parts

PERIOD = 0.05


class Machine(parts.FakeNode):
    """One thread, with timers as rclpy has them: on a schedule, and turns that are missed are missed."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.used = 0.0
        self.timers: dict[int, list] = {}
        self.publishers, self.matched = {}, {}

    def create_publisher(self, _kind, name, *_, event_callbacks, **__):
        if event_callbacks.matched:
            self.matched[name] = event_callbacks.matched
        self.publishers[name] = super().create_publisher(_kind, name)
        return self.publishers[name]

    def create_timer(self, period, callback, clock=None):
        self.timers[number := max(self.timers, default=0) + 1] = [self.now + period, period, callback]
        return number

    def destroy_timer(self, number):
        del self.timers[number]

    def work(self, seconds):
        self.now += seconds
        self.used += seconds

    def run(self, until):
        while (number := min(self.timers, key=self.timers.get)) and self.timers[number][0] < until:
            due, period, callback = self.timers[number]
            self.now = max(self.now, due)
            while self.timers[number][0] <= self.now:
                self.timers[number][0] += max(period, 1e-9)
            callback()


@pytest.fixture
def machine(monkeypatch):
    """A machine, and a function that makes topics whose publishing takes this long."""
    node = Machine()
    monkeypatch.setattr(topics.time, "monotonic", lambda: node.now)
    monkeypatch.setattr(topics.time, "thread_time", lambda: node.used)

    def published(seconds, clearance=0.0):
        moments, cleared = [], []
        found = Topics(parts.common(node, rate=1.0 / PERIOD), SimpleNamespace(model=lambda: None), SimpleNamespace())

        def publish(*_):
            node.work(seconds)
            moments.append(node.now)
            return MarkerArray()

        monkeypatch.setattr(found, "_publish_state", publish)
        monkeypatch.setattr(found, "_present_markers", lambda: None)
        monkeypatch.setattr(found, "_fill_clearance", lambda _: node.work(clearance))
        monkeypatch.setattr(found, "_send_clearance", lambda *_: cleared.append(node.now))
        found.configure()
        found.activate()
        return found, moments, cleared

    return node, published


def test_half_of_the_time_is_left_however_long_publishing_takes(machine):
    node, published = machine
    _, moments, _ = published(0.12)
    node.run(10.0)
    assert 0.45 < len(moments) * 0.12 / node.now <= 0.51


def test_clearances_leave_half_of_the_time_and_the_distances(machine):
    node, published = machine
    found, moments, cleared = published(0.01, clearance=0.006)
    node.create_timer(0.004, found._measurements.joints_changed)
    node.run(10.0)
    assert 0.4 < node.used / node.now <= 0.51
    assert len(moments) == pytest.approx(10.0 / PERIOD, rel=0.2) and len(cleared) > 200


def test_the_timer_runs_only_while_there_are_subscribers(machine):
    node, published = machine
    found, moments, _ = published(0.001)
    assert len(node.timers) == 1

    def subscribe(count):
        for publisher in node.publishers.values():
            publisher.count = count
        for matched in node.matched.values():
            matched(None)

    subscribe(0)
    assert not node.timers
    node.now = 4.0
    subscribe(1)
    subscribe(2)
    assert len(node.timers) == 1
    node.run(8.0)
    assert len(moments) == pytest.approx(4.0 / PERIOD, abs=2)
    subscribe(0)
    found.activity.is_active = False
    subscribe(1)
    assert not node.timers
