# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Shared services of the distance service's parts, without the node and without ROS."""

from __future__ import annotations

from collections import Counter, deque
from types import SimpleNamespace

from builtin_interfaces.msg import Time
from rclpy.task import Future

from superovoid_ros.nodes.distance_service.jobs import Job, settle
from superovoid_ros.nodes.distance_service.part import Activity, Common, RequestCounts


class Lines:
    """A log that stores its lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.left_out = 0

    def __getattr__(self, _level: str):
        return lambda *words, **_: self.lines.append(words[-1])


class Subscription:
    """A queue of one topic, filled by the test; messages are numbered as by their publisher."""

    def __init__(self, callback, qos) -> None:
        self.qos_profile, self._callback, self.msg_type = qos, callback, None
        self._queue: deque = deque()
        self._numbers: Counter[bytes] = Counter()

    @property
    def handle(self) -> Subscription:
        return self

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def put(self, data: bytes, number: int | None = None, publisher: bytes = b"a") -> None:
        """Put a message into the queue; a full queue drops its oldest one."""
        self._numbers[publisher] = number = number or self._numbers[publisher] + 1
        self._queue.append((data, {"publication_sequence_number": number, "publisher_gid": {"data": publisher}}))
        while len(self._queue) > self.qos_profile.depth:
            self._queue.popleft()

    def take_message(self, _kind, _is_raw):
        return self._queue.popleft() if self._queue else None

    def spin(self) -> None:
        """Call the callback until the queue is empty."""
        while self._queue:
            self._callback(*self.take_message(None, True))

    def __call__(self, data: bytes, number: int | None = None, publisher: bytes = b"a") -> None:
        self.put(data, number, publisher)
        self.spin()


class Publisher:
    """A publisher that stores its messages; it has one subscriber at first."""

    def __init__(self, messages: list) -> None:
        self.publish, self.count = messages.append, 1

    def get_subscription_count(self) -> int:
        return self.count


class StepJobs:
    """Jobs of one thread, run step by step on request: first the work, then the use of its result."""

    def __init__(self) -> None:
        self.waiting, self.found = deque(), None

    def result(self, kind, work) -> Future:
        self.waiting.append(Job(kind, work))
        return self.waiting[-1].future

    def step(self) -> None:
        if not self.waiting:
            return
        job = self.waiting[0]
        if self.found is None:
            try:
                self.found = job.work(), None
            except Exception as error:
                self.found = None, error
            return
        found, self.found = self.found, None
        self.waiting.popleft()
        settle(job.future, *found)

    def finish(self) -> None:
        for _ in range(10_000):
            if not self.waiting:
                return
            self.step()
        raise AssertionError("the jobs do not end")


class FakeNode:
    """A node that opens nothing and stores services and subscriptions by name."""

    def __init__(self, executor: object = None) -> None:
        self.executor, self.logger, self.now = executor, Lines(), 0
        self.context = SimpleNamespace(ok=lambda: True)
        self.services: dict[str, object] = {}
        self.subscriptions: dict[str, object] = {}
        self.sent: dict[str, list] = {}

    def get_logger(self) -> Lines:
        return self.logger

    def get_clock(self):
        moment = SimpleNamespace(nanoseconds=self.now, to_msg=Time)
        return SimpleNamespace(now=lambda: moment)

    def get_fully_qualified_name(self) -> str:
        return "/fake"

    def resolve_topic_name(self, name: str) -> str:
        return f"/{name}"

    def create_service(self, _kind, name, callback, **_):
        self.services[name] = callback
        return object()

    def create_subscription(self, _kind, name, callback, qos, **_):
        self.subscriptions[name] = Subscription(callback, qos)
        return self.subscriptions[name]

    def create_timer(self, *_, **__):
        return object()

    def destroy_publisher(self, _entity):
        pass

    destroy_subscription = destroy_service = destroy_timer = destroy_publisher

    def create_publisher(self, _kind, name, *_, **__):
        messages = self.sent.setdefault(name, [])
        return Publisher(messages)


def common(node: object = None, is_active: bool = True, **values: object) -> Common:
    """Return the shared services of a part; `values` are its parameters."""
    node = node or FakeNode()
    activity = Activity("/fake")
    activity.state = "active" if is_active else "inactive"
    values = {name.replace("__", "."): value for name, value in values.items()}
    return Common(node, values.__getitem__, Lines(), RequestCounts(), activity, StepJobs())


def run(coroutine) -> object:
    """Return the result of a coroutine that must not wait."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("the coroutine waits")
