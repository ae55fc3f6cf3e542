# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The executor of the nodes: what has come together is taken together, and a mistake in it costs itself alone."""

from __future__ import annotations

import threading
import time

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed (pip install '.[wheels]' brings it)")

import rclpy
from rclpy.context import Context
from std_msgs.msg import Int32
from std_srvs.srv import Trigger

from superovoid_ros.nodes.common.caller import Caller
from superovoid_ros.nodes.common.executor import GuardedExecutor
from superovoid_ros.nodes.common.qos import SERVICE

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


def test_requests_that_wait_are_answered_at_one_turn(spun):
    node, executor = spun

    def answer(request, response):
        response.success = True
        return response

    node.create_service(Trigger, "/spun/ask", answer)
    with Caller("asker", global_arguments=False) as caller:
        client = caller.client(Trigger, "/spun/ask")
        turn_until(executor, lambda: caller.wait(client.service_is_ready, 0.02))
        first = client.call_async(Trigger.Request())
        turn_until(executor, lambda: caller.wait(first.done, 0.02))

        def turns_for_all():
            calls = [client.call_async(Trigger.Request()) for _ in range(COUNT)]
            turns = count_turns(executor, lambda: caller.wait(lambda: all(call.done() for call in calls), 0.5))
            assert all(call.result().success for call in calls)
            return turns

        assert any(turns_for_all() < COUNT for _ in range(10))


def test_what_another_thread_gives_it_to_do_wakes_it(spun):
    _, executor = spun
    done = []
    threading.Timer(0.3, executor.create_task, [lambda: done.append(1)]).start()
    started = time.monotonic()
    while not done:
        executor.spin_once(timeout_sec=60.0)
    assert time.monotonic() - started < 50.0  # not the whole time-out


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


def test_a_client_gets_its_answers_among_those_to_others(spun):
    """Every client of a service receives the answers to all of them."""
    node, executor = spun

    def answer(request, response):
        response.success = True
        return response

    node.create_service(Trigger, "/spun/all", answer, qos_profile=SERVICE)
    with Caller("busy", global_arguments=False) as busy, Caller("idle", global_arguments=False) as idle:
        clients = [caller.client(Trigger, "/spun/all") for caller in (busy, idle)]
        for caller, client in zip((busy, idle), clients, strict=True):
            turn_until(executor, lambda caller=caller, client=client: caller.wait(client.service_is_ready, 0.02))
            first = client.call_async(Trigger.Request())
            turn_until(executor, lambda caller=caller, first=first: caller.wait(first.done, 0.02))
        many = [clients[0].call_async(Trigger.Request()) for _ in range(40)]
        one = clients[1].call_async(Trigger.Request())
        many += [clients[0].call_async(Trigger.Request()) for _ in range(40)]
        turn_until(executor, lambda: busy.wait(lambda: all(call.done() for call in many), 0.02))
        # Only now does it look, with 80 answers to the other one there beside its own.
        turn_until(executor, lambda: idle.wait(one.done, 0.05))
        assert all(call.result().success for call in (*many, one))
