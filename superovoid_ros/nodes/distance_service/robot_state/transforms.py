# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Poses of frames from /tf and /tf_static.

tf2_ros is not used: its buffer interpolates at the newest time at which all transforms of a chain are known, so one
slow sender makes a pose as old as that sender's last message; and it cannot be copied, which a message that is read
later needs (`Moment`).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from geometry_msgs.msg import TransformStamped
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from superovoid_ros.nodes.common.conversions import from_transform, stamp_of
from superovoid_ros.nodes.common.endpoints import Endpoints
from superovoid_ros.nodes.common.mistakes import InputError, check_name
from superovoid_ros.nodes.distance_service.robot_state.latest import TransformTree

Refused = Callable[[str, Exception], None]
"""Function that receives the topic of an invalid transform, and the reason."""


def store_transform(tree: TransformTree, stamped: TransformStamped, *, static: bool, now: float = math.inf) -> None:
    """Store a transform of /tf or, if it is static, of /tf_static, unless it is old; `now` is the time, ns."""
    parent, child = stamped.header.frame_id.lstrip("/"), stamped.child_frame_id.lstrip("/")
    for frame in (parent, child):
        check_name(frame, "the name of a frame")
    what = f"transform from '{child}' to '{parent}'"
    if not parent or not child or parent == child:
        raise InputError(f"{what}: must name two different frames")
    stamp = stamp_of(stamped.header.stamp, what)
    pose = from_transform(stamped.transform, what)
    tree.put([(child, (parent, pose))], None if static else stamp, now)


def own_frames(name: str) -> str:
    """Return the prefix of the frames that a node, given by its full name, publishes for its markers."""
    return name.lstrip("/") + "/"


def listen_to_transforms(
    endpoints: Endpoints, name: str, tree: TransformTree, refused: Refused, clock: Callable[[], float]
) -> None:
    """Store the transforms on /tf and /tf_static, except those that the node `name` publishes itself.

    `clock` returns the current time, ns.
    """
    from tf2_msgs.msg import TFMessage

    own = own_frames(name)

    def take(message: TFMessage, topic: str, *, static: bool) -> None:
        if message.transforms and message.transforms[0].child_frame_id.startswith(own):
            return
        now = clock()
        for stamped in message.transforms:
            try:
                store_transform(tree, stamped, static=static, now=now)
            except Exception as error:  # only one transform is invalid; the others are used
                refused(topic, error)

    # Same settings as tf2_ros.TransformListener, so that every broadcaster matches.
    endpoints.listen(TFMessage, "/tf", lambda message: take(message, "/tf", static=False), 100)
    latched = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)
    endpoints.listen(TFMessage, "/tf_static", lambda message: take(message, "/tf_static", static=True), latched)
