# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A listener to the distances that the service publishes, which says where the robot's base links are."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np
from builtin_interfaces.msg import Time
from superovoid_interfaces.msg import DistanceArray
from tf2_msgs.msg import TFMessage

from superovoid_ros.nodes.common.caller import Caller
from superovoid_ros.nodes.common.conversions import to_nanoseconds, to_transform
from superovoid_ros.nodes.common.qos import LATCHED

_DEPTH = 1000  # answers that wait for this process


class DistanceListener(Caller):
    """Takes `distance_service/distances`, and notes when each answer came.

    Parameters
    ----------
    name, namespace
        Of its node; transforms are those of the namespace.
    base_poses : mapping of str to (4, 4) ndarray
        Poses of the base links in `world`, m. They are said once, as of frames that do not move.
    on_answer : callable
        Called with the time of arrival and the stamp of the joint states [ns], and the answer.
    """

    def __init__(
        self,
        name: str,
        namespace: str,
        base_poses: Mapping[str, np.ndarray],
        on_answer: Callable[[int, int, DistanceArray], None],
    ) -> None:
        super().__init__(name, namespace)
        poses = [to_transform("world", link, pose, Time()) for link, pose in base_poses.items()]
        self._frames = self.node.create_publisher(TFMessage, f"{namespace}/tf_static", LATCHED)
        self._frames.publish(TFMessage(transforms=poses))

        def take(message: DistanceArray) -> None:
            on_answer(time.time_ns(), to_nanoseconds(message.header.stamp), message)

        self.node.create_subscription(DistanceArray, "distance_service/distances", take, _DEPTH)
