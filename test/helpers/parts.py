# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What parts of the distance service are made with, without the node and without ROS."""

from __future__ import annotations

from types import SimpleNamespace

from superovoid_ros.nodes.distance_service.health.counting import Statistics
from superovoid_ros.nodes.distance_service.part import Activity, Common


class Lines:
    """A log, whose lines are kept."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.left_out = 0

    def __getattr__(self, _level: str):
        return lambda *words, **_: self.lines.append(words[-1])


class FakeNode:
    """A node that opens nothing; services and subscriptions are kept by name."""

    def __init__(self, executor: object = None) -> None:
        self.executor, self.logger, self.now = executor, Lines(), 0
        self.services: dict[str, object] = {}
        self.subscriptions: dict[str, object] = {}
        self.sent: dict[str, list] = {}

    def get_logger(self) -> Lines:
        return self.logger

    def get_clock(self):
        moment = SimpleNamespace(nanoseconds=self.now, to_msg=lambda: None)
        return SimpleNamespace(now=lambda: moment)

    def get_fully_qualified_name(self) -> str:
        return "/fake"

    def resolve_topic_name(self, name: str) -> str:
        return f"/{name}"

    def create_service(self, _kind, name, callback, **_):
        self.services[name] = callback

    def create_subscription(self, _kind, name, callback, *_, **__):
        self.subscriptions[name] = callback

    def create_publisher(self, _kind, name, *_, **__):
        messages = self.sent.setdefault(name, [])
        return SimpleNamespace(publish=messages.append, get_subscription_count=lambda: 1)


def common(node: object = None, is_active: bool = True, **values: object) -> Common:
    """Return what a part is made with; `values` are its parameters."""
    node = node or FakeNode()
    activity = Activity("/fake")
    activity.is_active = is_active
    values = {name.replace("__", "."): value for name, value in values.items()}
    return Common(node, values.__getitem__, Lines(), Statistics(), activity)


def run(coroutine) -> object:
    """Return the answer of a callback that has nothing to wait for."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waits for something")
