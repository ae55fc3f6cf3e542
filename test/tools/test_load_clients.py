# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A client of the load test judges what it was answered when its calls are over, and keeps no more than it must."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed (pip install '.[wheels]' brings it)")

from superovoid_ros.tools.load import clients
from superovoid_ros.tools.load.clients import Order


class Answers:
    """A caller whose calls are all answered, each by its number."""

    def __init__(self):
        self.is_over = False

    def make(self, calls, due, give_up, on_answer, on_sent):
        for number in range(len(due)):
            on_answer(number, f"answer {number}")
        self.is_over = True


@pytest.fixture
def client(monkeypatch):
    """A client without a node, and what it judged: question, answer, whether the calls were over."""
    found, judged = object.__new__(clients._Client), []
    found._caller = Answers()

    def judge_of(order, number):
        return lambda response, seen: judged.append((number, response, found._caller.is_over))

    monkeypatch.setattr(found, "_judge_of", judge_of)
    return found, judged


def test_answers_are_judged_in_their_order_when_all_calls_are_over(client):
    found, judged = client
    seen = found.obey(Order(0.0, 0.01, 5, first=20))
    assert judged == [(20 + k, f"answer {k}", True) for k in range(5)]
    assert (seen.latency > 0.0).all()


def test_no_answer_is_judged_while_other_clients_may_wait(client):
    found, judged = client
    before = []
    found.obey(Order(0.0, 0.01, 5), lambda: before.append(len(judged)))
    assert before == [0] and len(judged) == 5


def test_no_more_answers_than_a_bound_wait_for_their_judgement(client, monkeypatch):
    monkeypatch.setattr(clients, "_MOST_UNJUDGED", 3)
    found, judged = client
    found.obey(Order(0.0, 0.01, 5))
    assert [number for number, _, _ in judged] == list(range(5))
    assert [is_over for _, _, is_over in judged] == [False, False, True, True, True]
