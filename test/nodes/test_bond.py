# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Heartbeats for a lifecycle manager: while the node is active, and one that ends the bond."""

from types import SimpleNamespace

import pytest

from superovoid_ros.nodes.distance_service.health import diagnostics

import arm
import parts


class Node(parts.FakeNode):
    """A node with timers."""

    def create_timer(self, period, callback, clock=None):
        self.timer = period, callback
        return object()

    def get_name(self):
        return "fake"


def test_an_active_node_sends_heartbeats_until_one_that_ends_the_bond(monkeypatch):
    monkeypatch.setattr(diagnostics, "Status", lambda **fields: SimpleNamespace(**fields, header=SimpleNamespace()))
    node = Node()
    health = diagnostics.Diagnostics(parts.common(node, diagnostics__period=0.0), None, None, None)
    health.configure()
    beats = node.sent[diagnostics.BOND]
    for _ in range(2):
        health.activate()
        period, beat = node.timer
        beat(), beat()
        health.deactivate(), health.deactivate()
    assert [(one.id, one.active) for one in beats] == [("fake", active) for active in (True, True, False) * 2]
    assert len({one.instance_id for one in beats[:3]}) == len({one.instance_id for one in beats[3:]}) == 1
    assert beats[0].instance_id != beats[3].instance_id
    assert all(one.heartbeat_period == period < 0.25 * one.heartbeat_timeout for one in beats)


@pytest.mark.skipif(diagnostics.Status is None, reason="the package bond is not installed")
def test_a_bond_with_a_running_node(start_node, client):
    heard = client.collect(diagnostics.Status, diagnostics.BOND, 100)
    start_node("distance_service", **arm.DESCRIPTIONS)
    assert client.wait(lambda: any(one.active for one in heard))
    client.bring("inactive")
    assert client.wait(lambda: any(not one.active for one in heard))
