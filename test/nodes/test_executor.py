# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The executor of the nodes: what has come together is taken together, and a mistake in it costs itself alone."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed (pip install '.[wheels]' brings it)")

import rclpy
from rclpy.context import Context
from std_msgs.msg import Int32
from std_srvs.srv import Trigger

from superovoid_ros.nodes.common.caller import Caller
from superovoid_ros.nodes.common.executor import GuardedExecutor

COUNT = 5


@pytest.fixture
def spun(loopback_domain):
    """A node of its own context with an executor that the test turns."""
    context = Context()
    context.init()
    executor = GuardedExecutor(context=context)
    node = rclpy.create_node("spun", context=context)
    executor.add_node(node)
    yield node, executor
    executor.shutdown()
    node.destroy_node()
    context.shutdown()


def turn_until(executor, condition):
    until = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < until
        executor.spin_once(timeout_sec=0.1)


def count_turns(executor, condition):
    turns = 0
    while not condition():
        executor.spin_once(timeout_sec=0.1)
        turns += 1
        assert turns < 100
    return turns


def test_messages_that_wait_are_taken_at_one_turn(spun):
    node, executor = spun
    found = []
    publisher = node.create_publisher(Int32, "numbers", 10)
    node.create_subscription(Int32, "numbers", found.append, 10)
    turn_until(executor, lambda: publisher.get_subscription_count() == 1)
    publisher.publish(Int32(data=-1))
    turn_until(executor, lambda: found)  # they know each other

    def turns_for_all():
        found.clear()
        for number in range(COUNT):
            publisher.publish(Int32(data=number))
        turns = count_turns(executor, lambda: len(found) == COUNT)
        assert [message.data for message in found] == list(range(COUNT))
        return turns

    # They may come one after the other, now and then.
    assert any(turns_for_all() < COUNT for _ in range(10))


def test_a_mistake_in_one_of_several_messages_costs_that_one_alone(spun):
    node, executor = spun
    found = []

    def take(message):
        if message.data == 2:
            raise ValueError("this one")
        found.append(message.data)

    publisher = node.create_publisher(Int32, "numbers", 10)
    node.create_subscription(Int32, "numbers", take, 10)
    turn_until(executor, lambda: publisher.get_subscription_count() == 1)
    publisher.publish(Int32(data=-1))
    turn_until(executor, lambda: found)
    for number in range(COUNT):
        publisher.publish(Int32(data=number))
    turn_until(executor, lambda: len(found) == COUNT)
    assert found == [-1, 0, 1, 3, 4]


def test_a_service_that_its_own_callback_closes_is_asked_no_more(spun):
    node, executor = spun
    asked = []

    def answer(request, response):
        asked.append(1)
        node.destroy_service(service)
        return response

    service = node.create_service(Trigger, "/spun/close", answer)
    with Caller("asker", global_arguments=False) as caller:
        client = caller.client(Trigger, "/spun/close")
        turn_until(executor, lambda: caller.wait(client.service_is_ready, 0.02))
        for _ in range(COUNT):
            client.call_async(Trigger.Request())
        turn_until(executor, lambda: asked)
        for _ in range(3):
            executor.spin_once(timeout_sec=0.05)
        assert asked == [1]
