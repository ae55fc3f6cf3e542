# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Poses of frames from /tf and /tf_static: by tf2_ros if it is installed, otherwise by a small listener."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType

from geometry_msgs.msg import TransformStamped
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.time import Time

from superovoid_ros.nodes.common.conversions import from_transform, stamp_of, to_nanoseconds
from superovoid_ros.nodes.common.endpoints import Endpoints
from superovoid_ros.nodes.common.mistakes import InputError, check_name
from superovoid_ros.nodes.distance_service.robot_state.latest import MOST_NAMES, StampedTransform, TransformTree

Refused = Callable[[str, Exception], None]
"""Function that receives the topic of an invalid transform, and the reason."""


class Transforms(TransformTree):
    """Transforms received as messages."""

    def store(self, stamped: TransformStamped, *, static: bool, now: float = math.inf) -> None:
        """Store a transform of /tf or, if it is static, of /tf_static, unless it is old; `now` is the time, ns."""
        parent, child = stamped.header.frame_id.lstrip("/"), stamped.child_frame_id.lstrip("/")
        for frame in (parent, child):
            check_name(frame, "the name of a frame")
        what = f"transform from '{child}' to '{parent}'"
        if not parent or not child or parent == child:
            raise InputError(f"{what}: must name two different frames")
        stamp = stamp_of(stamped.header.stamp, what)
        pose = from_transform(stamped.transform, what)
        self.put([(child, (parent, pose))], None if static else stamp, now)


class BufferTransforms(Transforms):
    """Transforms stored by tf2_ros, which interpolates to the newest time at which it knows every link of a chain.

    If there is no such time, since a sender stopped or sends less than every ten seconds, the newest transform of each
    link is used, as in `TransformTree`; also in a `copy`.

    Parameters
    ----------
    tf2_ros
        The module.
    name
        Full name of the node.
    """

    def __init__(self, tf2_ros: ModuleType, name: str) -> None:
        super().__init__()
        self._failed = tf2_ros.TransformException
        self._buffer = tf2_ros.Buffer()
        self._sender = name
        self._frames: set[str] = set()

    def store(self, stamped: TransformStamped, *, static: bool, now: float = math.inf) -> None:
        """Store a transform in both."""
        new = {stamped.header.frame_id, stamped.child_frame_id} - self._frames
        if len(self._frames) + len(new) > MOST_NAMES:  # tf2 never drops the name of a frame
            raise InputError(f"transform of frame '{stamped.child_frame_id}': {MOST_NAMES} frames are known")
        super().store(stamped, static=static, now=now)  # tf2 stores infinite numbers, and ignores NaN without an error
        (self._buffer.set_transform_static if static else self._buffer.set_transform)(stamped, self._sender)
        self._frames |= new

    def lookup(self, target: str, source: str) -> StampedTransform:
        """Return the newest `target_from_source`; raise `InputError` if the frames are not connected."""
        try:
            stamped = self._buffer.lookup_transform(target, source, Time())
        except self._failed:
            return super().lookup(target, source)
        # tf2 returns stamp 0 for a chain of static transforms.
        stamp = to_nanoseconds(stamped.header.stamp)
        matrix = from_transform(stamped.transform, f"transform from '{source}' to '{target}'")
        return StampedTransform(matrix, (stamp,) if stamp else ())

    def forget_after(self, now: int) -> int:
        """Forget later transforms, and all in tf2, which would drop future ones as older than those stored."""
        self._buffer.clear()
        return super().forget_after(now)

    def copy(self) -> Transforms:
        """Return the present transforms; later ones do not change them."""
        found = Transforms()
        found.latest = super().copy().latest
        return found


def own_frames(name: str) -> str:
    """Return the prefix of the frames that a node, given by its full name, publishes for its markers."""
    return name.lstrip("/") + "/"


def transform_source(name: str) -> Transforms:
    """Return the store of transforms for this installation and a node, given by its full name."""
    try:
        import tf2_ros
    except ImportError:
        return Transforms()
    return BufferTransforms(tf2_ros, name)


def listen_to_transforms(
    endpoints: Endpoints, name: str, source: Transforms, refused: Refused, clock: Callable[[], float]
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
                source.store(stamped, static=static, now=now)
            except Exception as error:  # only one transform is invalid; the others are used
                refused(topic, error)

    # Same settings as tf2_ros.TransformListener, so that every broadcaster matches. That is not used itself, since its
    # quality of service cannot be overridden.
    endpoints.listen(TFMessage, "/tf", lambda message: take(message, "/tf", static=False), 100)
    latched = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)
    endpoints.listen(TFMessage, "/tf_static", lambda message: take(message, "/tf_static", static=True), latched)
