# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Write distances to a bag (MCAP), optionally together with a copy of the recording."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from superovoid import __version__
from superovoid.bags.distance_messages import DEFINITION, KIND
from superovoid.dataset.whole_files import open_atomically, remove_leftovers_of
from superovoid.viewing.recording_bags import raw_messages
from superovoid.viewing.recording_files import RecordingError


class DistanceBag:
    """Context manager that writes a bag; the file appears, complete, when the block ends.

    Parameters
    ----------
    path : Path
    topic : str
        Topic of the distances.
    recording : Path, optional
        Bag whose messages are all copied, each at its time.

    Raises
    ------
    RecordingError
        If the package mcap is missing, or the recording already uses the topic.
    OSError
        If the bag cannot be written.
    """

    def __init__(self, path: Path, topic: str, recording: Path | None = None) -> None:
        self._path, self._topic, self._recording = path, topic, recording
        self._copied: dict[int, int] = {}  # channel of the recording -> channel of this bag
        self._schemas: dict[int, int] = {}
        self._left: Iterator[Any] = iter(())
        self._next: Any = None
        self._count = 0

    def __enter__(self) -> Self:
        try:
            from mcap.writer import Writer
        except ModuleNotFoundError as error:
            raise RecordingError(f"{self._path}: no module {error.name!r}: pip install 'superovoid[view]'") from None
        remove_leftovers_of(self._path)
        with ExitStack() as stack:
            file = stack.enter_context(open_atomically(self._path))
            self._writer: Any = Writer(file)
            self._writer.start(profile="ros2", library=f"superovoid {__version__}")
            schema = self._writer.register_schema(KIND, "ros2msg", DEFINITION.encode())
            self._channel = self._writer.register_channel(self._topic, "cdr", schema)
            if self._recording is not None:
                self._left = raw_messages(self._recording)
                stack.callback(self._left.close)  # type: ignore[attr-defined] # a generator
                self._next = next(self._left, None)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> bool | None:
        try:
            if error[0] is None:
                self._copy_until(None)
                self._writer.finish()
        except BaseException as failure:
            self._stack.__exit__(type(failure), failure, failure.__traceback__)
            raise
        return self._stack.__exit__(*error)

    def write(self, then: int, content: bytes) -> None:
        """Write a message recorded at `then`, ns; times must not decrease from call to call."""
        self._copy_until(then)
        self._writer.add_message(self._channel, then, content, then, self._count)
        self._count += 1

    def _copy_until(self, then: int | None) -> None:
        """Copy the messages recorded up to a time, or all that remain if it is None."""
        while self._next is not None and (then is None or self._next[2].log_time <= then):
            schema, channel, message = self._next
            number = self._copied.get(channel.id)
            if number is None:
                number = self._copied[channel.id] = self._register(schema, channel)
            self._writer.add_message(number, message.log_time, message.data, message.publish_time, message.sequence)
            self._next = next(self._left, None)

    def _register(self, schema: Any, channel: Any) -> int:
        if channel.topic == self._topic:
            raise RecordingError(f"{self._recording}: already has a topic {self._topic}: choose another --name")
        kind = 0
        if schema is not None:
            if schema.id not in self._schemas:
                self._schemas[schema.id] = self._writer.register_schema(schema.name, schema.encoding, schema.data)
            kind = self._schemas[schema.id]
        return self._writer.register_channel(channel.topic, channel.message_encoding, kind, channel.metadata)
