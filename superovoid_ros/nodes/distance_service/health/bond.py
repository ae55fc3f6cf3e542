# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bond with a lifecycle manager, as in bond_core; only if the package `bond` is installed.

A manager publishes heartbeats on the topic `bond` with the name of a node as `id`. While the node is active, it replies
with its own heartbeats. If these stop, the manager knows that the node has ended or hangs.
"""

from __future__ import annotations

import time
import uuid
from typing import Any

try:
    from bond.msg import Status
except ModuleNotFoundError:
    Status = None

from superovoid_ros.nodes.distance_service.part import Common, Part

TOPIC = "bond"
_PERIODS = 0.05, 1.0  # s, shortest and longest period of the heartbeats


class Bond(Part):
    """Part that replies to the heartbeats of a lifecycle manager while the node is active."""

    def __init__(self, common: Common) -> None:
        super().__init__(common)
        self._publisher = self._timer = None
        self._instance = self._period = self._heard_until = None

    def configure(self) -> None:
        """Subscribe to the heartbeats of managers."""
        self._publisher = self.endpoints.advertise(Status, TOPIC, 5)
        self.endpoints.listen(Status, TOPIC, self._take, 30)

    def activate(self) -> None:
        """Allow a manager to start a bond."""
        self._instance = str(uuid.uuid4())

    def deactivate(self) -> None:
        """End the bond."""
        self._end()
        self._instance = None

    def clean_up(self) -> None:
        """Close the topic."""
        self._publisher = self._timer = None

    def _take(self, status: Any) -> None:
        """Handle a heartbeat of a manager, or the end of its bond."""
        is_ours = status.id == self.node.get_name() and status.instance_id != self._instance
        if not is_ours or self._instance is None:
            return
        if not status.active:
            self._end()
            return
        self._heard_until = time.monotonic() + max(_PERIODS[1], status.heartbeat_timeout)
        period = min(max(_PERIODS[0], status.heartbeat_period), _PERIODS[1])  # NaN becomes the shortest
        if self._timer is None or period != self._period:
            self.endpoints.stop(self._timer)
            self._period = period
            self._timer = self.endpoints.start_timer(period, self._beat)
            self._beat()

    def _beat(self) -> None:
        """Publish a heartbeat, unless the manager's heartbeats have stopped."""
        if time.monotonic() > self._heard_until:
            self._end()
        else:
            self._publish(is_active=True)

    def _end(self) -> None:
        """End the bond, if there is one, and notify the manager."""
        timer, self._timer = self._timer, None
        self.endpoints.stop(timer)
        if timer is not None:
            self._publish(is_active=False)

    def _publish(self, *, is_active: bool) -> None:
        status = Status(id=self.node.get_name(), instance_id=self._instance, active=is_active)
        status.header.stamp = self.node.get_clock().now().to_msg()
        status.heartbeat_period = self._period
        status.heartbeat_timeout = 4.0 * _PERIODS[1]  # the default of bond_core
        self._publisher.publish(status)
