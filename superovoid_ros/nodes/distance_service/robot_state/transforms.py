# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Poses of frames from /tf and /tf_static.

tf2_ros is not used: its buffer interpolates at the newest time at which all transforms of a chain are known, so one
slow sender makes a pose as old as that sender's last message; and it cannot be copied, which a message that is read
later needs (`Moment`).
"""

from __future__ import annotations

import math

from geometry_msgs.msg import TransformStamped

from superovoid_ros.nodes.common.conversions import from_transform, stamp_of
from superovoid_ros.nodes.common.mistakes import InputError, check_name
from superovoid_ros.nodes.distance_service.robot_state.latest import TransformTree


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
