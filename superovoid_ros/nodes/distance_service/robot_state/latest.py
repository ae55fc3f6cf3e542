# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The latest measured value of every name: of joints and of frames. No messages."""

from __future__ import annotations

import copy
import math
import threading
import time
from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from superovoid_ros.nodes.common.mistakes import Code, InputError, listing, shorten

Value = TypeVar("Value")
Source = TypeVar("Source", bound="LatestValues")

MOST_NAMES = 10_000
KEPT = 60.0
"""Time for which a name without new values is kept if other names need its space, s."""
PATIENCE = 1.0
"""Time without newer measurements after which older stamps are accepted, s: the sender's time has restarted, as for a
recording played in a loop or a reset clock."""


class LatestValues(Generic[Value]):
    """The latest value of every name, and the stamp of its measurement.

    The value with the newest stamp counts, not the last to arrive. A stamp in the future counts only until another
    value arrives. An equal stamp replaces: values of a sender that never changes its stamps are used in the order of
    arrival.

    At most `MOST_NAMES` are known at a time. If more arrive, names whose last value is older than `KEPT` are dropped
    (except static ones, which are sent once); if this does not free space, a new name is refused.

    Parameters
    ----------
    steady
        Clock that returns monotonic time, s.
    """

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        self.latest: dict[str, tuple[Value, int | None]] = {}
        """Value and stamp, ns (None: static)."""
        self.received = 0
        """Number of stored messages."""
        self._came: dict[str, float] = {}
        """Times of the last values of names that are not static, oldest first."""
        self._late_since: dict[str, float] = {}
        self._steady = steady
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
            came = self._steady()
            for name, value in values:
                known = self.latest.get(name)
                if known is None:
                    self._make_room(name, came)
                self._came.pop(name, None)
                if stamp is not None:
                    self._came[name] = came
                    if known is not None and known[1] is not None and stamp < known[1] <= now:
                        if came - self._late_since.setdefault(name, came) <= PATIENCE:
                            continue
                self._late_since.pop(name, None)
                self.latest[name] = value, stamp

    def _make_room(self, name: str, now: float) -> None:
        while len(self.latest) >= MOST_NAMES:
            oldest = next(iter(self._came), None)
            if oldest is None or now - self._came[oldest] < KEPT:
                raise InputError(f"'{shorten(name, 80)}': {MOST_NAMES} names are known, the largest number")
            self._forget(oldest)

    def _forget(self, name: str) -> None:
        del self.latest[name]
        self._came.pop(name, None)
        self._late_since.pop(name, None)

    def forget_after(self, now: int) -> int:
        """Forget values measured after `now`, ns, and return their number."""
        with self.lock:
            later = [name for name, (_, stamp) in self.latest.items() if stamp is not None and stamp > now]
            for name in later:
                self._forget(name)
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
