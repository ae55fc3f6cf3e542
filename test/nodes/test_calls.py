# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Calls one after the other: an answer that the middleware lost is asked for again."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed (pip install '.[wheels]' brings it)")

from superovoid_ros.nodes.clients.recorded_service import Calls


class LossyCaller:
    """A caller whose first answers are lost; it is its only client too."""

    def __init__(self, lost):
        self.lost, self.asked, self.removed = lost, [], []

    def client(self, kind, name):
        return self

    def wait(self, condition, each_turn):
        assert condition()

    def service_is_ready(self):
        return True

    def call_async(self, request):
        self.asked.append(request)
        return len(self.asked)

    def answer(self, future, timeout):
        if future <= self.lost:
            raise TimeoutError
        return f"answer {future}"

    def remove_pending_request(self, future):
        self.removed.append(future)


def test_a_call_whose_answer_was_lost_is_made_again():
    caller, looks = LossyCaller(lost=2), []
    assert Calls(caller, "/service", lambda: looks.append(1)).answer("request") == "answer 3"
    assert caller.asked == ["request"] * 3 and caller.removed == [1, 2] and len(looks) == 2


def test_calls_of_a_process_that_has_ended_end():
    def look():
        raise RuntimeError("it has ended")

    with pytest.raises(RuntimeError, match="it has ended"):
        Calls(LossyCaller(lost=9), "/service", look).answer("request")
