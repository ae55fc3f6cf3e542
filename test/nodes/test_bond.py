# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bonds with a lifecycle manager: heartbeats while the node is active, and one that ends them."""

from types import SimpleNamespace

import pytest

from superovoid_ros.nodes.distance_service.health import bond

import arm
import parts

STATUS = {"instance_id": "manager", "heartbeat_timeout": 4.0, "heartbeat_period": 0.1, "id": "fake", "active": True}


def status(**fields):
    """Return a status as bond/msg/Status, for machines without the package."""
    return SimpleNamespace(**STATUS | fields, header=SimpleNamespace(stamp=None))


class Node(parts.FakeNode):
    """A node with the timer of its heartbeats, and an active part `Bond`."""

    timer, seconds = None, 0.0

    def get_name(self):
        return "fake"

    def create_timer(self, period, callback, clock=None):
        self.timer = period, callback
        return object()

    def destroy_timer(self, _timer):
        self.timer = None

    def beat(self, **fields):
        self.part._take(status(**fields))


@pytest.fixture
def node(monkeypatch):
    node = Node()
    monkeypatch.setattr(bond, "Status", status)
    monkeypatch.setattr(bond.time, "monotonic", lambda: node.seconds)
    node.part = bond.Bond(parts.common(node))
    node.part.configure()
    node.part.activate()
    node.beats = node.sent[bond.TOPIC]
    return node


def test_a_manager_alone_gets_heartbeats_at_its_period(node):
    node.beat(id="other")
    node.beat(instance_id=node.part._instance)
    assert not node.beats and node.timer is None
    node.beat()
    node.beat()
    assert node.timer[0] == 0.1
    node.timer[1]()
    assert [(one.id, one.active) for one in node.beats] == [("fake", True)] * 2
    assert node.beats[0].instance_id == node.beats[1].instance_id != "manager"


def fall_silent(node):
    node.seconds = 5.0
    if node.timer:
        node.timer[1]()


@pytest.mark.parametrize(
    "end", [lambda node: node.beat(active=False), fall_silent, lambda node: node.part.deactivate()]
)
def test_a_bond_ends_with_one_status(node, end):
    node.beat()
    end(node)
    end(node)
    assert [one.active for one in node.beats] == [True, False] and node.timer is None


@pytest.mark.skipif(bond.Status is None, reason="the package bond is not installed")
def test_a_bond_with_a_running_node(start_node, client):
    kind = bond.Status
    start_node("distance_service", **arm.DESCRIPTIONS)
    heard = client.collect(kind, bond.TOPIC, 100)
    publisher = client.publisher(kind, bond.TOPIC, 100)

    def is_alive():
        publisher.publish(kind(id="distance_service", instance_id="manager", active=True, heartbeat_period=0.1))
        client.spin(0.1)
        return any(one.instance_id != "manager" and one.active for one in heard)

    assert client.wait(is_alive)
    client.bring("inactive")
    assert client.wait(lambda: any(not one.active for one in heard))
