# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A driver of joints: sends their positions with any stamp, in any order."""

from __future__ import annotations

from collections.abc import Sequence

from sensor_msgs.msg import JointState

from superovoid_ros.nodes.common.caller import Caller
from superovoid_ros.nodes.common.conversions import to_time


class JointSender(Caller):
    """Publishes on `joint_states`.

    Parameters
    ----------
    name, namespace
        Of its node.
    joints
        Names of the joints; positions are in their order.
    """

    def __init__(self, name: str, namespace: str, joints: Sequence[str]) -> None:
        super().__init__(name, namespace)
        self._joints = list(joints)
        self._publisher = self.node.create_publisher(JointState, "joint_states", 100)

    def is_heard(self) -> bool:
        """Whether somebody listens."""
        return self._publisher.get_subscription_count() > 0

    def now(self) -> int:
        """Return the time as stamps have it [ns]."""
        return self.node.get_clock().now().nanoseconds

    def send(self, positions: Sequence[float], stamp: int) -> None:
        """Send positions [rad or m], measured at `stamp` [ns]."""
        message = JointState(name=self._joints, position=list(positions))
        message.header.stamp = to_time(stamp)
        self._publisher.publish(message)
