# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The node that programs and tests call services with."""

from __future__ import annotations

import time

import pytest
from rclpy.task import Future
from std_srvs.srv import Trigger

from superovoid_ros.nodes.common.caller import Caller


class EndedError(Exception):
    pass


@pytest.fixture
def caller(loopback_domain):
    with Caller("test_caller", global_arguments=False) as caller:
        yield caller


def test_a_service_of_another_node_is_called_and_its_answer_waited_for(caller):
    def answer(request, response):
        response.message = "well"
        return response

    with Caller("test_answerer", global_arguments=False) as other:
        other.node.create_service(Trigger, "/test_caller/ask", answer)
        client = caller.client(Trigger, "/test_caller/ask")
        assert caller.client(Trigger, "/test_caller/ask") is client
        assert caller.wait(client.service_is_ready, 60.0)
        future = client.call_async(Trigger.Request())
        assert other.wait(lambda: caller.wait(future.done, 0.02), 60.0)
        assert caller.answer(future).message == "well"


def test_what_does_not_come_in_time_is_said(caller):
    started = time.monotonic()
    assert not caller.wait(lambda: False, 0.05)
    with pytest.raises(TimeoutError, match=r"after 0\.05 s"):
        caller.answer(Future(), 0.05)
    assert time.monotonic() - started >= 0.1


def test_waiting_ends_with_the_process_that_is_waited_for(loopback_domain):
    def look():
        raise EndedError

    with Caller("test_caller", look=look, global_arguments=False) as caller:
        for waiting in (lambda: caller.wait(lambda: False), lambda: caller.answer(Future()), caller.turn):
            with pytest.raises(EndedError):
                waiting()
