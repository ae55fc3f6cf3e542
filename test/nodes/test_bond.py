# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bonds with a lifecycle manager: heartbeats while the node is active, and one that ends them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from lifecycle_msgs.msg import Transition

from superovoid_ros.nodes.distance_service.health import bond
from superovoid_ros.nodes.distance_service.health.bond import TOPIC, Bond, status_type

import arm
import lifecycle
import parts


class Status(SimpleNamespace):
    """A status as bond/msg/Status, for machines without the package."""

    def __init__(self, **fields):
        header = SimpleNamespace(stamp=None)
        super().__init__(header=header, instance_id="manager", heartbeat_timeout=4.0, heartbeat_period=0.1)
        self.__dict__.update(fields)


class Node(parts.FakeNode):
    """A node with the timer of its heartbeats."""

    timer = None

    def get_name(self):
        return "fake"

    def create_timer(self, period, callback, clock=None):
        self.timer = period, callback
        return object()

    def destroy_timer(self, _timer):
        self.timer = None


@pytest.fixture
def node(monkeypatch):
    """A node with an active part `Bond`, and a clock."""
    node = Node()
    node.seconds = 0.0
    monkeypatch.setattr(bond, "status_type", lambda: Status)
    monkeypatch.setattr(bond.time, "monotonic", lambda: node.seconds)
    node.part = Bond(parts.common(node))
    node.part.configure()
    node.part.activate()
    node.beats = node.sent[TOPIC]
    return node


def beat(node, **fields):
    node.part._take(Status(**{"id": "fake", "active": True, **fields}))


def test_a_manager_alone_gets_heartbeats_at_its_period(node):
    beat(node, id="other")
    beat(node, instance_id=node.part._instance)
    assert not node.beats and node.timer is None
    beat(node)
    beat(node)
    assert node.timer[0] == 0.1
    node.timer[1]()
    assert [(status.id, status.active) for status in node.beats] == [("fake", True)] * 2
    assert node.beats[0].instance_id == node.beats[1].instance_id != "manager"


def fall_silent(node):
    node.seconds = 5.0
    if node.timer:
        node.timer[1]()


@pytest.mark.parametrize(
    "end", [lambda node: beat(node, active=False), lambda node: node.part.deactivate(), fall_silent]
)
def test_a_bond_ends_with_one_status(node, end):
    beat(node)
    end(node)
    end(node)
    assert [status.active for status in node.beats] == [True, False] and node.timer is None


@pytest.mark.skipif(status_type() is None, reason="the package bond is not installed")
def test_a_bond_with_a_running_node(start_node, client):
    kind = status_type()
    start_node("distance_service", **arm.DESCRIPTIONS)
    heard = client.collect(kind, TOPIC, 100)
    publisher = client.publisher(kind, TOPIC, 100)

    def is_alive():
        publisher.publish(kind(id="distance_service", instance_id="manager", active=True, heartbeat_period=0.1))
        client.spin(0.1)
        return any(status.instance_id != "manager" and status.active for status in heard)

    assert client.wait(is_alive)
    lifecycle.change(client, "/distance_service", Transition.TRANSITION_DEACTIVATE)
    assert client.wait(lambda: any(not status.active for status in heard))
