# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Read recordings from ROS 2 bags (MCAP): joint states and transforms of floating bases, per message or at a rate.

Messages are decoded with the definitions in the bag; ROS is not needed. Times are those of recording, and messages are
read in that order. A moment is unknown if a position was not recorded yet, or not for `STALE` seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from superovoid.robot import Robot
from superovoid.viewing.recording import FARTHEST, FRAMES_A_SECOND, Moment, Recording
from superovoid.viewing.recording_files import RecordingError

FloatArray = NDArray[np.float64]

STALE = 1.0
"""Maximum age of positions and transforms, s; older ones are unknown."""
MOST_MOMENTS = 20_000
"""Maximum number of shown moments."""
_JOINTS, _TEXT, _FRAMES = "sensor_msgs/msg/JointState", "std_msgs/msg/String", "tf2_msgs/msg/TFMessage"
_NUMBER, _HEADER = (float, int), {"header.stamp.sec": int, "header.stamp.nanosec": int}
_FIELDS: dict[str, dict[str, type | tuple[type, ...]]] = {
    _JOINTS: {**_HEADER, "name[]": str, "position[]": _NUMBER},
    _TEXT: {"data": str},
    _FRAMES: {
        **{f"transforms[].{name}": kind for name, kind in _HEADER.items()},
        "transforms[].header.frame_id": str,
        "transforms[].child_frame_id": str,
        **{f"transforms[].transform.translation.{axis}": _NUMBER for axis in "xyz"},
        **{f"transforms[].transform.rotation.{axis}": _NUMBER for axis in "xyzw"},
    },
}
"""Fields read from messages. A bag defines its own types, which may differ from those of ROS 2 with the same name."""
_MOST_RECORD = 256 * 2**20  # maximum size of a record of a bag, bytes
_STATIC = "/tf_static"


@dataclass(frozen=True)
class Descriptions:
    """The robot descriptions in a bag; empty if there are none."""

    urdf: str = ""
    srdf: str = ""


def read_descriptions(path: Path) -> Descriptions:
    """Return the last URDF and SRDF in a bag, from topics with the usual names, in any namespace.

    Raises
    ------
    RecordingError
        If the file is not a bag, or a module to read it is missing.
    """
    found = {"robot_description": "", "robot_description_semantic": ""}
    for topic, _, message in _messages(path, (_TEXT,)):
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
        Topic of the joint states; default: the only one whose name ends with ``joint_states``.
    rate : float
        Moments per second, Hz.

    Raises
    ------
    RecordingError
        If the file is not a bag, contains no joint states of the robot, or would have too many moments.
    """
    states = StatesOfBag(path, robot, topic=topic, rate=rate, most=MOST_MOMENTS)
    moments = [state.moment for state in states]
    notes = [
        f"{len(moments)} moments at {rate:g} Hz, from {states.messages} messages; the motion between moments is not "
        "checked."
    ]
    if states.senseless:
        notes.append(
            f"{states.senseless} values were ignored: not finite, beyond {FARTHEST:g}, or fewer positions than names."
        )
    return Recording(path.name, robot, moments, "time", "s", notes=notes)


@dataclass(frozen=True, eq=False)
class StateOfBag:
    """The known state of a robot at a time of a bag."""

    then: int
    """Time of recording, ns."""
    moment: Moment
    """Its place on the axis is the time since the first joint states, s."""
    stamp: int
    """The oldest stamp of the known values, ns; the time of recording if a header has none."""
    joint_age: float
    """Time since the oldest position was recorded, s; 0 if there is none."""
    base_age: float
    """Time since the oldest base pose was recorded, s, without static transforms; 0 if there is none."""


class StatesOfBag:
    """Iterate over the states of a robot in a bag while reading it; the bag may be larger than memory.

    Parameters
    ----------
    path, robot, topic
        As for `read_bag`.
    rate : float, optional
        States per second, Hz; default: one for each message of joint states.
    most : int
        Maximum number of states if a rate is given.

    Attributes
    ----------
    topic : str
        Topic of the joint states.
    messages, senseless : int
        Numbers of messages read and of values ignored.

    Raises
    ------
    RecordingError
        If the file is not a bag, or the topic cannot be determined. Iterating raises it if the file is damaged, names
        no joint of the robot, or would give too many states.
    """

    def __init__(
        self, path: Path, robot: Robot, *, topic: str = "", rate: float | None = None, most: int = 10**7
    ) -> None:
        self._path, self._robot, self._rate, self._most = path, robot, rate, most
        self.topic = _joint_topic(path, topic)
        self.messages = self.senseless = 0

    def __iter__(self) -> Iterator[StateOfBag]:
        known_state = _BagState(self._robot)
        begin = last = None
        given = self.messages = self.senseless = 0
        frames: list[tuple[int, str, Any]] = []  # since the last joint states
        kinds = (_JOINTS, _FRAMES) if self._robot.base_links else (_JOINTS,)
        for name, then, message in _messages(self._path, kinds):
            if hasattr(message, "transforms"):
                frames.append((then, name, message))
                continue
            if name != self.topic:
                continue
            begin, last = then if begin is None else begin, then
            for event in (*frames, (then, name, message)):
                for now in self._sample_times(begin, given, event[0]):
                    yield known_state.state(begin, now)
                    given += 1
                known_state.take(*event)
                self.messages += 1
                self.senseless = known_state.senseless
            frames.clear()
            if self._rate is None:
                yield known_state.state(begin, then)
        if begin is None or last is None:
            raise RecordingError(f"{self._path}: no joint states on {self.topic}")
        if not known_state.has_joints:
            raise RecordingError(f"{self._path}: the joint states name no joint of '{self._robot.name}'")
        for event in frames:
            if event[0] <= last:
                known_state.take(*event)
        for now in self._sample_times(begin, given, last + 1):
            yield known_state.state(begin, now)

    def _sample_times(self, begin: int, given: int, until: int) -> Iterator[int]:
        """Return the sample times before `until` at the given rate, ns, starting at number `given`."""
        if self._rate is None or until <= begin:
            return
        lasts = 1e-9 * (until - begin)
        if lasts * self._rate > self._most:
            raise RecordingError(
                f"{self._path}: {lasts:.0f} s at {self._rate:g} Hz are more than {self._most} moments: choose a lower "
                "--rate"
            )
        while (now := begin + round(1e9 * given / self._rate)) < until:
            yield now
            given += 1


def _joint_topic(path: Path, topic: str) -> str:
    """Return the topic of joint states; raise `RecordingError` if it is ambiguous or missing."""
    with _open(path) as (_, summary):
        counts = summary.statistics.channel_message_counts if summary.statistics is not None else None
        topics = {
            channel.topic
            for channel in summary.channels.values()
            if _kind_of(summary, channel) == _JOINTS
            and (channel.topic == topic or (not topic and channel.topic.rpartition("/")[2] == "joint_states"))
            and (counts is None or counts.get(channel.id, 0))
        }
    if len(topics) != 1:
        several = f"joint states on several topics, {', '.join(sorted(topics))}: choose one with --topic"
        none = f"no joint states on {topic or 'a topic joint_states'}"
        raise RecordingError(f"{path}: {several if topics else none}")
    return topics.pop()


@dataclass
class _BagState:
    """What is known about a robot at a time of the bag. Times are those of recording, ns."""

    robot: Robot
    positions: dict[str, tuple[int, int, float]] = field(default_factory=dict)
    """Time, stamp and position of independent joints."""
    bases: dict[str, tuple[float, int, FloatArray]] = field(default_factory=dict)
    """Time, stamp and root_from_link of floating links; the time of a static transform is infinite."""
    senseless: int = 0
    has_joints: bool = False
    """Whether a message named a joint of the robot, with any position."""
    refused: dict[str, str] = field(default_factory=dict)
    """Joints and links whose last value was rejected, and the value."""

    def take(self, then: int, topic: str, message: Any) -> None:
        """Process a message."""
        if hasattr(message, "transforms"):
            for one in message.transforms:
                self._take_frame(math.inf if topic == _STATIC else then, then, one)
            return
        names, positions = list(message.name), list(message.position)
        if len(names) != len(positions):
            self.senseless += 1
            self.has_joints |= not self.robot.joint_limits.keys().isdisjoint(names)
            return
        stamp = _stamp(message, then)
        values_of: dict[str, list[float]] = {}
        for name, position in zip(names, positions, strict=True):
            if name in self.robot.joint_limits:
                values_of.setdefault(name, []).append(float(position))
        for name, values in values_of.items():
            self.has_joints = True
            if not all(abs(value) <= FARTHEST for value in values):
                self._refuse(self.positions, name, f"joint {name} ({', '.join(f'{value:g}' for value in values)})")
            elif len(set(values)) > 1:
                several = " and ".join(f"{value:g}" for value in values)
                self._refuse(self.positions, name, f"joint {name} (in one message {several})")
            else:
                self.positions[name] = then, stamp, values[0]
                self.refused.pop(name, None)

    def _refuse(self, known: dict[str, Any], name: str, words: str) -> None:
        """Reject a value; the joint or link is unknown until the next valid one."""
        self.senseless += 1
        known.pop(name, None)
        self.refused[name] = words

    def _take_frame(self, when: float, then: int, one: Any) -> None:
        link = one.child_frame_id.lstrip("/")
        if link not in self.robot.base_links or one.header.frame_id.lstrip("/") != self.robot.root_link:
            return
        t, q = one.transform.translation, one.transform.rotation
        numbers = np.array([t.x, t.y, t.z, q.x, q.y, q.z, q.w], dtype=float)
        if not (np.abs(numbers) <= FARTHEST).all() or abs(np.linalg.norm(numbers[3:]) - 1.0) > 1e-3:
            listed = ", ".join(f"{number:g}" for number in numbers)
            self._refuse(self.bases, link, f"the pose of {link} in {self.robot.root_link} ({listed})")
            return
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = Rotation.from_quat(numbers[3:]).as_matrix(), numbers[:3]
        self.bases[link] = when, _stamp(one, then), pose
        self.refused.pop(link, None)

    def state(self, begin: int, now: int) -> StateOfBag:
        """Return the state at a time, in a recording that begins at `begin`."""
        positions = {name: position for name, (_, _, position) in self.positions.items()}
        bases = {link: pose for link, (_, _, pose) in self.bases.items()}
        robot = self.robot
        refused = [words for name, words in self.refused.items() if name in robot.joint_names + robot.base_links]
        missing = [f"joint {name}" for name in robot.joint_names if name not in positions and name not in self.refused]
        missing += [
            f"the pose of {link} in {robot.root_link}"
            for link in robot.base_links
            if link not in bases and link not in self.refused
        ]
        oldest = now - round(1e9 * STALE)
        old = [f"joint {name}" for name, (then, _, _) in self.positions.items() if then < oldest]
        old += [f"the pose of {link}" for link, (when, _, _) in self.bases.items() if when < oldest]
        words = [_list_names("invalid value", refused), _list_names("not recorded yet", missing)]
        words += [_list_names(f"not recorded for {STALE:g} s", old)]
        moving = [(when, stamp) for when, stamp, _ in self.bases.values() if when < math.inf]
        return StateOfBag(
            now,
            Moment(1e-9 * (now - begin), positions, bases, "; ".join(filter(None, words))),
            min((stamp for _, stamp in (*((then, s) for then, s, _ in self.positions.values()), *moving)), default=now),
            1e-9 * (now - min((then for then, _, _ in self.positions.values()), default=now)),
            1e-9 * (now - min((when for when, _ in moving), default=now)),
        )


def _stamp(message: Any, then: int) -> int:
    """Return the stamp of a message's header, ns; the time of recording if it is 0."""
    stamp = message.header.stamp
    return stamp.sec * 10**9 + stamp.nanosec or then


def _list_names(what: str, names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{what}: {', '.join(names[:3])}{more}" if names else ""


@contextmanager
def _open(path: Path) -> Iterator[tuple[Any, Any]]:
    """Open a bag: yield its reader and its summary. Any error in the file becomes a `RecordingError`."""
    try:
        import mcap_ros2.decoder  # noqa: F401 (reports a missing module before reading anything)
        from mcap.reader import SeekingReader
    except ModuleNotFoundError as error:
        raise RecordingError(f"{path}: no module {error.name!r}: pip install 'superovoid[view]'") from error
    try:
        file = path.open("rb")
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from error
    with file:
        # The file may come from anyone, and the reader raises many types of errors if it is damaged.
        try:
            reader = SeekingReader(file, True, record_size_limit=_MOST_RECORD)
            summary = reader.get_summary()
            if summary is None:
                raise ValueError("it has no summary, so the recording was interrupted (repair it with `mcap recover`)")
        except Exception as error:
            raise _read_error(path, error) from error
        yield reader, summary


def _read_error(path: Path, error: Exception) -> RecordingError:
    words = str(error) or type(error).__name__
    return RecordingError(f"{path}: cannot be read as a bag, must be a complete MCAP file: {words[:300]}")


def _kind_of(summary: Any, channel: Any) -> str:
    """Return the type of a channel's messages; empty if the bag does not define it."""
    schema = summary.schemas.get(channel.schema_id)
    return "" if schema is None else schema.name


def _messages(path: Path, kinds: tuple[str, ...]) -> Iterator[tuple[str, int, Any]]:
    """Yield topic, time of recording in ns, and content of the messages of some types, in order of time."""
    with _open(path) as (reader, summary):
        topics = [one.topic for one in summary.channels.values() if _kind_of(summary, one) in kinds]
        if not topics:
            return
        decoders: dict[int, Callable[[bytes], Any]] = {}
        for schema, channel, message in _raise_recording_errors(path, reader.iter_messages(topics=topics)):
            if schema is None or schema.name not in kinds:
                continue  # a topic may also contain messages of other types
            if channel.id not in decoders:
                decoders[channel.id] = _decoder(path, schema, channel)
            try:
                content = decoders[channel.id](message.data)
            except Exception as error:  # as in `_open`
                raise _decode_error(path, channel.topic, message.log_time, str(error)) from error
            lacking = next(
                (name for name, kind in _FIELDS[schema.name].items() if not _has_field(content, name, kind)), ""
            )
            if lacking:
                raise RecordingError(
                    f"{path}: topic {channel.topic}: the messages have the type name {schema.name}, but no field "
                    f"{lacking} as in ROS 2"
                )
            yield channel.topic, message.log_time, content


def _decoder(path: Path, schema: Any, channel: Any) -> Callable[[bytes], Any]:
    """Return a function that decodes the messages of a channel."""
    from mcap_ros2.decoder import DecoderFactory

    try:
        found: Callable[[bytes], Any] | None = DecoderFactory().decoder_for(channel.message_encoding, schema)
    except Exception as error:  # the definition is invalid
        raise _decode_error(path, channel.topic, None, str(error)) from error
    if found is None:
        raise RecordingError(
            f"{path}: topic {channel.topic}: {schema.name} is encoded as {channel.message_encoding!r} and defined by "
            f"{schema.encoding!r}; expected 'cdr' and 'ros2msg', as rosbag2 writes them"
        )
    return found


def _decode_error(path: Path, topic: str, then: int | None, words: str) -> RecordingError:
    where = "its definition" if then is None else f"the message recorded at {then} ns"
    return RecordingError(f"{path}: topic {topic}: {where} cannot be decoded: {words[:300]}")


def _has_field(value: Any, name: str, kind: type | tuple[type, ...]) -> bool:
    """Return whether a field exists and has a type. ``[]`` marks a sequence, whose first item is checked."""
    first, _, rest = name.partition(".")
    if first:
        many = first.endswith("[]")
        found: Any = getattr(value, first.removesuffix("[]"), None)
        if not many:
            return _has_field(found, rest, kind)
        if not hasattr(found, "__getitem__") or isinstance(found, str | bytes):
            return False
        return all(_has_field(one, rest, kind) for one in found[:1])
    return isinstance(value, kind)


def raw_messages(path: Path) -> Iterator[tuple[Any, Any, Any]]:
    """Yield schema, channel and undecoded message of everything in a bag, in order of time, as mcap objects.

    Raises
    ------
    RecordingError
        If it cannot be read.
    """
    with _open(path) as (reader, _):
        yield from _raise_recording_errors(path, reader.iter_messages())


def _raise_recording_errors(path: Path, messages: Iterator[Any]) -> Iterator[Any]:
    """Yield messages from a reader and turn its errors into `RecordingError`."""
    while True:
        try:
            message = next(messages)
        except StopIteration:
            return
        except Exception as error:
            raise _read_error(path, error) from error
        yield message
