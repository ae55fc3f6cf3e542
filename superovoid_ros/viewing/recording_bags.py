# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Recordings from bags of ROS 2 (MCAP): joint states, and transforms of floating bases, sampled at an even pace.

Messages are decoded by the definitions that are in the bag; ROS is not needed. A position that was not recorded yet, or
not for `STALE` seconds, leaves the moment unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from superovoid_ros.robot import Robot
from superovoid_ros.viewing.recording import FRAMES_A_SECOND, Moment, Recording
from superovoid_ros.viewing.recording_files import RecordingError

FloatArray = NDArray[np.float64]

STALE = 1.0
"""Age beyond which a position or a transform says nothing about now, s."""
MOST_MOMENTS = 20_000
_JOINTS, _TEXT, _FRAMES = "sensor_msgs/msg/JointState", "std_msgs/msg/String", "tf2_msgs/msg/TFMessage"
_MOST_RECORD = 256 * 2**20  # bytes of one record of a bag
_STATIC = "/tf_static"


@dataclass(frozen=True)
class Descriptions:
    """What a bag says of its robot; empty: nothing."""

    urdf: str = ""
    srdf: str = ""


def read_descriptions(path: Path) -> Descriptions:
    """The last URDF and SRDF of a bag, on topics that end with their usual names.

    Raises
    ------
    RecordingError
        If the file is no bag, or what reads it is missing.
    """
    found = {"robot_description": "", "robot_description_semantic": ""}
    for topic, _, message in _messages(path, _TEXT):
        name = topic.rpartition("/")[2]
        if name in found:
            found[name] = message.data
    return Descriptions(*found.values())


def read_bag(path: Path, robot: Robot, *, topic: str = "", rate: float = FRAMES_A_SECOND) -> Recording:
    """Read the motion of a robot from a bag.

    Parameters
    ----------
    path : Path
    robot : Robot
    topic : str
        Of the joint states; default: the only one whose name ends with ``joint_states``.
    rate : float
        Moments a second, Hz.

    Raises
    ------
    RecordingError
        If the file is no bag, nothing of the robot is in it, or it would be too many moments.
    """
    heard = _Heard(robot)
    events: list[tuple[int, str, Any]] = []
    topics: set[str] = set()
    for name, then, message in _messages(path, _JOINTS):
        if name == topic or (not topic and name.rpartition("/")[2] == "joint_states"):
            topics.add(name)
            events.append((then, name, message))
    if len(topics) != 1:
        several = f"joint states on several topics, {', '.join(sorted(topics))}: choose one with --topic"
        none = f"no joint states on {topic or 'a topic joint_states'}"
        raise RecordingError(f"{path}: {several if topics else none}")
    if robot.base_links:
        events += [(then, name, message) for name, then, message in _messages(path, _FRAMES)]
    events.sort(key=lambda event: event[0])
    begin = min(then for then, name, _ in events if name in topics)
    # From there on, in seconds: the time since 1970 has no digits left for nanoseconds.
    lasts = 1e-9 * (max(then for then, name, _ in events if name in topics) - begin)
    count = math.floor(lasts * rate + 1e-9) + 1
    if count > MOST_MOMENTS:
        raise RecordingError(
            f"{path}: {lasts:.0f} s at {rate:g} Hz are {count} moments, and at most {MOST_MOMENTS} are shown: "
            "choose a lower --rate"
        )
    moments, at = [], 0
    for index in range(count):
        now = index / rate
        while at < len(events) and 1e-9 * (events[at][0] - begin) <= now + 1e-9:
            then, name, message = events[at]
            heard.take(1e-9 * (then - begin), name, message)
            at += 1
        moments.append(heard.moment(now))
    if not heard.positions:
        raise RecordingError(f"{path}: the joint states name no joint of '{robot.name}'")
    notes = [f"{count} moments at {rate:g} Hz, of {len(events)} messages; nothing is said of what lies between them."]
    if heard.senseless:
        notes.append(f"{heard.senseless} values were left out: not finite, or fewer positions than names.")
    return Recording(path.name, robot, moments, "time", "s", notes=notes)


@dataclass
class _Heard:
    """What is known of a robot at a time of the bag."""

    robot: Robot
    positions: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Of independent joints: when, s, and where."""
    bases: dict[str, tuple[float, FloatArray]] = field(default_factory=dict)
    """root_from_link of floating links; when, infinite for a static transform."""
    senseless: int = 0

    def take(self, seconds: float, topic: str, message: Any) -> None:
        """Take a message in."""
        if hasattr(message, "transforms"):
            for one in message.transforms:
                self._take_frame(math.inf if topic == _STATIC else seconds, one)
            return
        names, positions = list(message.name), list(message.position)
        if len(names) != len(positions):
            self.senseless += 1
            return
        for name, position in zip(names, positions, strict=True):
            if name in self.robot.joint_limits:
                if math.isfinite(position):
                    self.positions[name] = seconds, float(position)
                else:
                    self.senseless += 1
                    self.positions.pop(name, None)

    def _take_frame(self, seconds: float, one: Any) -> None:
        link = one.child_frame_id.lstrip("/")
        if link not in self.robot.base_links or one.header.frame_id.lstrip("/") != self.robot.root_link:
            return
        t, q = one.transform.translation, one.transform.rotation
        numbers = np.array([t.x, t.y, t.z, q.x, q.y, q.z, q.w], dtype=float)
        if not np.isfinite(numbers).all() or abs(np.linalg.norm(numbers[3:]) - 1.0) > 1e-3:
            self.senseless += 1
            self.bases.pop(link, None)
            return
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = Rotation.from_quat(numbers[3:]).as_matrix(), numbers[:3]
        self.bases[link] = seconds, pose

    def moment(self, now: float) -> Moment:
        """What is known now."""
        positions = {name: position for name, (_, position) in self.positions.items()}
        bases = {link: pose for link, (_, pose) in self.bases.items()}
        robot = self.robot
        missing = [f"joint {name}" for name in robot.joint_names if name not in positions]
        missing += [f"the pose of {link} in {robot.root_link}" for link in robot.base_links if link not in bases]
        old = [f"joint {name}" for name, (then, _) in self.positions.items() if now - then > STALE + 1e-9]
        old += [f"the pose of {link}" for link, (then, _) in self.bases.items() if now - then > STALE + 1e-9]
        words = [_listed("not recorded up to here", missing), _listed(f"not recorded for {STALE:g} s", old)]
        return Moment(now, positions, bases, "; ".join(filter(None, words)))


def _listed(what: str, names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{what}: {', '.join(names[:3])}{more}" if names else ""


def _messages(path: Path, kind: str) -> Iterator[tuple[str, int, Any]]:
    """Topic, time of recording in nanoseconds, and content of the messages of a type, in order of time."""
    try:
        from mcap.reader import SeekingReader
        from mcap_ros2.decoder import DecoderFactory
    except ModuleNotFoundError as error:
        raise RecordingError(f"{path}: no module {error.name!r}: pip install 'superovoid_ros[view]'") from error
    try:
        file = path.open("rb")
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from error
    with file:
        messages = None
        while True:
            # The file is anybody's, and what its reader raises for a damaged one has many types.
            try:
                if messages is None:
                    reader = SeekingReader(file, True, [DecoderFactory()], record_size_limit=_MOST_RECORD)
                    summary = reader.get_summary()
                    if summary is None:
                        raise ValueError("it has no summary: the recording was broken off (`mcap recover` mends it)")
                    wanted = {one.id for one in summary.schemas.values() if one.name == kind}
                    topics = [one.topic for one in summary.channels.values() if one.schema_id in wanted]
                    if not topics:
                        return
                    messages = reader.iter_decoded_messages(topics=topics)
                schema, channel, message, content = next(messages)
            except StopIteration:
                return
            except Exception as error:
                words = str(error) or type(error).__name__
                raise RecordingError(f"{path}: cannot be read as a bag (MCAP): {words[:300]}") from error
            if schema is not None and schema.name == kind:
                yield channel.topic, message.log_time, content
