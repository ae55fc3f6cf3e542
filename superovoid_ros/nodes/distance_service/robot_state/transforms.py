# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Poses of frames from /tf and /tf_static: by tf2_ros if it is installed, otherwise by a small listener."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TypeAlias

import numpy as np
from geometry_msgs.msg import TransformStamped
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.time import Time

from superovoid_ros.nodes.common.conversions import from_transform, stamp_of, to_nanoseconds
from superovoid_ros.nodes.common.endpoints import Endpoints
from superovoid_ros.nodes.common.mistakes import Code, InputError, check_name, listing
from superovoid_ros.nodes.distance_service.robot_state.joints import StampFilter

Refused = Callable[[str, Exception], None]
"""Function that receives the topic of an invalid transform, and the reason."""

MOST_FRAMES = 10_000
KEPT = 60.0
"""Time for which a frame without new transforms is kept if other frames need its space, s."""


@dataclass(frozen=True)
class StampedTransform:
    """A transform and the stamps of its measurements."""

    target_from_source: np.ndarray
    """Transform, m, shape (4, 4)."""
    stamp: int | None
    """Stamp of the oldest link in the chain, ns; None if every link is static."""
    newest: int | None = None
    """Stamp of the newest link in the chain, ns; None if every link is static."""


class TransformTree:
    """The newest transform of every frame to its parent.

    As in tf2, a frame has one parent: a transform from another parent replaces the earlier one. Transforms older than
    the newest are dropped.

    At most `MOST_FRAMES` frames are known at a time. If more arrive, frames whose last transform is older than `KEPT`
    are dropped (except static ones, which are published once); if this does not free space, a new frame is refused.

    Parameters
    ----------
    steady
        Clock that returns monotonic time, s.
    """

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        self._parents: dict[str, tuple[str, np.ndarray, int | None]] = {}
        self._came: dict[str, float] = {}
        """Times of the last transform of frames that are not static, oldest first."""
        self._steady = steady
        self._newest = StampFilter(steady)

    def set(self, parent: str, child: str, parent_from_child: np.ndarray, stamp: int | None) -> None:
        """Store a transform, m, shape (4, 4), measured at `stamp`, ns (None: static), unless it is old."""
        _check_frames(parent, child)
        if child not in self._parents:
            self._make_room(child)
        self._came.pop(child, None)
        if stamp is not None:
            self._came[child] = self._steady()
        known = self._parents[child][2] if child in self._parents else None
        if stamp is None or self._newest.takes(child, stamp, known):
            self._parents[child] = (parent, parent_from_child, stamp)

    def _make_room(self, child: str) -> None:
        while len(self._parents) >= MOST_FRAMES:
            frame = next(iter(self._came), None)
            if frame is None or self._steady() - self._came[frame] < KEPT:
                raise InputError(f"transform of frame '{child}': {MOST_FRAMES} frames are known, the largest number")
            self._forget(frame)

    def _forget(self, frame: str) -> None:
        del self._parents[frame]
        self._came.pop(frame, None)
        self._newest.forget(frame)

    def lookup(self, target: str, source: str) -> StampedTransform:
        """Return the newest `target_from_source`; raise `InputError` if the frames are not connected."""
        up_from_source = self._ancestors(source)
        up_from_target = self._ancestors(target)
        for common, (common_from_source, stamps_source) in up_from_source.items():
            if common in up_from_target:
                common_from_target, stamps_target = up_from_target[common]
                matrix = np.linalg.inv(common_from_target) @ common_from_source
                stamps = [*stamps_source, *stamps_target]
                return StampedTransform(matrix, min(stamps, default=None), max(stamps, default=None))
        known = _names({child: parent for child, (parent, _, _) in dict(self._parents).items()})
        raise InputError(
            f"no transform from '{source}' to '{target}' on /tf or /tf_static; known frames: {known}", Code.NOT_MEASURED
        )

    def lies_below(self, frame: str, above: str) -> bool:
        """Return whether `above` is an ancestor of a frame."""
        return above in self._ancestors(frame)

    def forget_after(self, now: int) -> int:
        """Forget transforms measured after `now`, ns, and return their number."""
        later = [child for child, (_, _, stamp) in self._parents.items() if stamp is not None and stamp > now]
        for child in later:
            self._forget(child)
        return len(later)

    def _ancestors(self, frame: str) -> dict[str, tuple[np.ndarray, list[int]]]:
        """Return (ancestor_from_frame, stamps between them) by ancestor, nearest first, with the frame itself."""
        matrix, stamps = np.eye(4), []
        ancestors = {frame: (matrix, stamps)}
        while (link := self._parents.get(frame)) is not None:
            frame, parent_from_child, measured = link
            if frame in ancestors:
                raise InputError(f"the transforms on /tf form a loop through '{frame}'")
            matrix, stamps = parent_from_child @ matrix, stamps if measured is None else [*stamps, measured]
            ancestors[frame] = (matrix, stamps)
        return ancestors

    def store(self, stamped: TransformStamped, *, static: bool) -> None:
        """Store a transform of /tf or, if it is static, of /tf_static."""
        parent, child = stamped.header.frame_id.lstrip("/"), stamped.child_frame_id.lstrip("/")
        what = f"transform from '{child}' to '{parent}'"
        stamp = stamp_of(stamped.header.stamp, what)
        self.set(parent, child, from_transform(stamped.transform, what), None if static else stamp)


class BufferTransforms:
    """Transforms stored by tf2_ros.

    Parameters
    ----------
    tf2_ros
        The module.
    name
        Full name of the node.
    """

    def __init__(self, tf2_ros: ModuleType, name: str) -> None:
        self._tf2_ros = tf2_ros
        self._buffer = tf2_ros.Buffer()
        self._sender = name
        self._frames: set[str] = set()

    def store(self, stamped: TransformStamped, *, static: bool) -> None:
        """Store a transform of /tf or, if it is static, of /tf_static."""
        parent, child = stamped.header.frame_id, stamped.child_frame_id
        _check_frames(parent, child)
        what = f"transform from '{child}' to '{parent}'"
        stamp_of(stamped.header.stamp, what)
        from_transform(stamped.transform, what)  # tf2 stores infinite numbers, and ignores NaN without an error
        new = {parent, child} - self._frames
        if len(self._frames) + len(new) > MOST_FRAMES:  # tf2 never drops the name of a frame
            raise InputError(f"transform of frame '{child}': {MOST_FRAMES} frames are known, the largest number")
        (self._buffer.set_transform_static if static else self._buffer.set_transform)(stamped, self._sender)
        self._frames |= new

    def lookup(self, target: str, source: str) -> StampedTransform:
        """Return the newest `target_from_source`; raise `InputError` if the frames are not connected.

        tf2 looks for a time at which it knows every link of the chain. If there is none, since a sender stopped or
        sends less than every ten seconds, the result combines the newest transform of each link, as in `TransformTree`.
        """
        try:
            try:
                return self._newest_transform(target, source)
            except self._tf2_ros.ExtrapolationException:
                return self._newest_of_each(target, source)
        except self._tf2_ros.TransformException as error:
            reason, known = str(error).strip(), _names(self._parents())
            raise InputError(
                f"no transform from '{source}' to '{target}': {reason}; known frames: {known}", Code.NOT_MEASURED
            ) from error

    def _newest_transform(self, target: str, source: str) -> StampedTransform:
        """Return `target_from_source` at the newest time that all links between the frames have in common."""
        stamped = self._buffer.lookup_transform(target, source, Time())
        # tf2 returns stamp 0 for a chain of static transforms.
        stamp = to_nanoseconds(stamped.header.stamp) or None
        matrix = from_transform(stamped.transform, f"transform from '{source}' to '{target}'")
        return StampedTransform(matrix, stamp, stamp)

    def _newest_of_each(self, target: str, source: str) -> StampedTransform:
        """Return `target_from_source` from the newest transform of every link between the frames."""
        tree, parents = TransformTree(), self._parents()
        for frame in (target, source):
            while frame in parents:
                parent = parents.pop(frame)
                link = self._newest_transform(parent, frame)
                tree.set(parent, frame, link.target_from_source, link.stamp)
                frame = parent
        return tree.lookup(target, source)

    def _parents(self) -> dict[str, str]:
        """Return the parent of every frame with a known transform; tf2 provides this only as text."""
        found = re.findall(r"^Frame (.+) exists with parent (.+)\.$", self._buffer.all_frames_as_string(), re.MULTILINE)
        return {frame: parent for frame, parent in found if parent != "NO_PARENT"}

    def lies_below(self, frame: str, above: str) -> bool:
        """Return whether `above` is an ancestor of a frame."""
        parents = self._parents()
        while frame != above and frame in parents:
            frame = parents.pop(frame)
        return frame == above

    def forget_after(self, now: int) -> int:
        """Forget all transforms except static ones: tf2 would drop future ones as older than those stored."""
        before = len(self._parents())
        self._buffer.clear()
        return before - len(self._parents())


TransformSource: TypeAlias = TransformTree | BufferTransforms


def own_frames(name: str) -> str:
    """Return the prefix of the frames that a node, given by its full name, publishes for its markers."""
    return name.lstrip("/") + "/"


def _check_frames(parent: str, child: str) -> None:
    for frame in (parent, child):
        check_name(frame, "the name of a frame")
    if not parent or not child or parent == child:
        raise InputError(f"transform from '{child}' to '{parent}': must name two different frames")


def transform_source(name: str) -> TransformSource:
    """Return the store of transforms for this installation and a node, given by its full name."""
    try:
        import tf2_ros
    except ImportError:
        return TransformTree()
    return BufferTransforms(tf2_ros, name)


def listen_to_transforms(endpoints: Endpoints, name: str, source: TransformSource, refused: Refused) -> None:
    """Store the transforms on /tf and /tf_static, except those that the node `name` publishes itself."""
    from tf2_msgs.msg import TFMessage

    own = own_frames(name)

    def take(message: TFMessage, topic: str, *, static: bool) -> None:
        if message.transforms and message.transforms[0].child_frame_id.startswith(own):
            return
        for stamped in message.transforms:
            try:
                source.store(stamped, static=static)
            except Exception as error:  # only one transform is invalid; the others are used
                refused(topic, error)

    # Same settings as tf2_ros.TransformListener, so that every broadcaster matches. That is not used itself, since its
    # quality of service cannot be overridden.
    endpoints.listen(TFMessage, "/tf", lambda message: take(message, "/tf", static=False), 100)
    latched = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)
    endpoints.listen(TFMessage, "/tf_static", lambda message: take(message, "/tf_static", static=True), latched)


def _names(parents: Mapping[str, str]) -> str:
    """Return the names of all frames in a tree, for an error message."""
    return listing({*parents, *parents.values()})
