# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Calls that change nothing: a first answer that the middleware lost is asked for again."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed (pip install '.[wheels]' brings it)")

from rclpy.task import Future

from superovoid_ros.nodes.common import caller
from superovoid_ros.nodes.common.caller import Caller


class LossyClient:
    """A client of a service that loses some answers."""

    def __init__(self, *lost):
        self.lost, self.asked, self.removed = lost, 0, 0

    def call_async(self, request):
        self.asked += 1
        future = Future()
        if self.asked not in self.lost:
            future.set_result(f"answer {self.asked} to {request}")
        return future

    def remove_pending_request(self, future):
        self.removed += 1


@pytest.fixture
def calling_node(loopback_domain, monkeypatch):
    monkeypatch.setattr(caller, "_FIRST_PATIENCE", 0.05)
    monkeypatch.setattr(caller, "_LATER_PATIENCE", 0.2)
    with Caller("asking") as asking:
        yield asking


def test_a_first_call_whose_answer_was_lost_is_made_again(calling_node):
    client = LossyClient(1, 2)
    assert calling_node.ask(client, "this") == "answer 3 to this"
    assert client.removed == 3  # of those that were lost, and of that which has its answer


def test_a_later_call_is_repeated_after_a_longer_wait(calling_node):
    client = LossyClient(2, 3)
    assert calling_node.ask(client, "this") == "answer 1 to this"
    with pytest.raises(TimeoutError, match=r"no answer after 0\.1 s"):
        calling_node.ask(client, "that", timeout=0.1)
    assert client.asked == client.removed == 2


def test_the_answer_to_an_earlier_call_counts_too(calling_node):
    """A first answer that takes long is not lost."""
    client, calls = LossyClient(*range(99)), []
    call_async = client.call_async
    client.call_async = lambda request: calls.append(call_async(request)) or calls[-1]

    def look():
        if len(calls) == 3:
            calls[0].set_result("late")

    assert calling_node.ask(client, "this", each_turn=look) == "late"
    assert client.removed == 3


def test_calls_of_a_process_that_has_ended_end(calling_node):
    def look():
        raise RuntimeError("it has ended")

    with pytest.raises(RuntimeError, match="it has ended"):
        calling_node.ask(LossyClient(*range(9)), "this", each_turn=look)
