# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The latest measured value of every name: of joints and of frames. No messages."""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from superovoid_ros.nodes.common.mistakes import Code, InputError, listing, shorten

Value = TypeVar("Value")
Source = TypeVar("Source", bound="LatestValues")

MOST_NAMES = 10_000
RESTART = 1_000_000_000
"""Difference of stamps from which on an older one is accepted, ns: the sender's time has restarted, as for a recording
played in a loop or a reset clock. Otherwise another sender has been overtaken."""


class LatestValues(Generic[Value]):
    """The latest value of every name, and the stamp of its measurement.

    A value that is slightly older than the present one (`RESTART`) is ignored, unless the present one is stamped in the
    future. An equal stamp replaces: values of a sender that never changes its stamps are used in the order of arrival.
    If there are more than `MOST_NAMES`, the name without a new value for the longest time is dropped; static ones,
    which are sent once, stay.
    """

    def __init__(self) -> None:
        self.latest: dict[str, tuple[Value, int | None]] = {}
        """Value and stamp, ns (None: static), in the order of arrival."""
        self.received = 0
        """Number of stored messages."""
        self.lock = threading.Lock()
        """Held while a message is stored."""

    def put(self, values: Iterable[tuple[str, Value]], stamp: int | None, now: float = math.inf) -> None:
        """Store the values of one message, unless they are old; may be called from any thread.

        Parameters
        ----------
        values
            Pairs of name and value.
        stamp
            Time of their measurement, ns; None: they are static.
        now
            Current time, ns.

        Raises
        ------
        InputError
            If there are too many names.
        """
        with self.lock:
            self.received += 1
            for name, value in values:
                known = self.latest.pop(name, None)
                if known is None:
                    self._make_room(name)
                elif None not in (stamp, known[1]) and known[1] <= now and 0 < known[1] - stamp <= RESTART:
                    self.latest[name] = known
                    continue
                self.latest[name] = value, stamp

    def _make_room(self, name: str) -> None:
        if len(self.latest) >= MOST_NAMES:
            oldest = next((known for known, (_, stamp) in self.latest.items() if stamp is not None), None)
            if oldest is None:
                raise InputError(f"'{shorten(name, 80)}': {MOST_NAMES} names are known, the largest number")
            del self.latest[oldest]

    def forget_after(self, now: int) -> int:
        """Forget values measured after `now`, ns, and return their number."""
        with self.lock:
            later = [name for name, (_, stamp) in self.latest.items() if stamp is not None and stamp > now]
            for name in later:
                del self.latest[name]
        return len(later)

    def copy(self: Source) -> Source:
        """Return the present values; later ones do not change them."""
        found = copy.copy(self)
        with self.lock:
            found.latest = dict(self.latest)
        return found


class StampedTransform(NamedTuple):
    """A transform and the stamps of its measurements."""

    target_from_source: np.ndarray
    """Transform, m, shape (4, 4)."""
    stamps: tuple[int, ...] = ()
    """Stamps of the links in the chain that are not static, ns."""


class TransformTree(LatestValues[tuple[str, np.ndarray]]):
    """The newest transform of every frame to its parent: parent, and parent_from_frame, m, shape (4, 4).

    As in tf2, a frame has one parent: a transform from another parent replaces the earlier one.
    """

    def lookup(self, target: str, source: str) -> StampedTransform:
        """Return the newest `target_from_source`; raise `InputError` if the frames are not connected."""
        up_from_source = self._ancestors(source)
        up_from_target = self._ancestors(target)
        for common, (common_from_source, stamps_source) in up_from_source.items():
            if common in up_from_target:
                common_from_target, stamps_target = up_from_target[common]
                return StampedTransform(
                    np.linalg.inv(common_from_target) @ common_from_source, (*stamps_source, *stamps_target)
                )
        parents = {child: parent for child, ((parent, _), _) in self.copy().latest.items()}
        raise InputError(
            f"no transform from '{source}' to '{target}' on /tf or /tf_static; known frames: "
            f"{listing({*parents, *parents.values()})}",
            Code.NOT_MEASURED,
        )

    def lies_below(self, frame: str, above: str) -> bool:
        """Return whether `above` is an ancestor of a frame."""
        return above in self._ancestors(frame)

    def _ancestors(self, frame: str) -> dict[str, tuple[np.ndarray, list[int]]]:
        """Return (ancestor_from_frame, stamps between them) by ancestor, nearest first, with the frame itself."""
        matrix, stamps = np.eye(4), []
        ancestors = {frame: (matrix, stamps)}
        while (link := self.latest.get(frame)) is not None:
            (frame, parent_from_child), measured = link
            if frame in ancestors:
                raise InputError(f"the transforms on /tf form a loop through '{frame}'")
            matrix, stamps = parent_from_child @ matrix, stamps if measured is None else [*stamps, measured]
            ancestors[frame] = (matrix, stamps)
        return ancestors
