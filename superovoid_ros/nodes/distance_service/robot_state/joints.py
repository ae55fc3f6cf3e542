# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The latest measured position and velocity of every joint, collected from joint state messages."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from superovoid_ros.nodes.common.mistakes import Code, InputError, check_name, listing

# Names of other robots are kept too, since this one may be replaced; those longest unheard of give way.
_NAMES_KEPT = 10_000

PATIENCE = 1.0
"""[s] For this time without newer measurements, older ones count as late; after it, the sender's time has restarted,
as with a recording played in a loop or a reset clock."""


class Newest:
    """Distinguishes new measurements from late ones by their stamps.

    Parameters
    ----------
    steady
        Returns the time in seconds; never set.
    """

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        self._steady = steady
        self._late_since: dict[str, float] = {}

    def takes(self, name: str, stamp: int, known: int | None) -> bool:
        """Return whether a measurement of `name`, made at `stamp` [ns], is to replace that of the stamp `known`.

        One of the same stamp does: a sender that never changes its stamps is believed in the order of arrival, and a
        message that comes twice changes nothing.
        """
        if known is not None and stamp < known:
            now = self._steady()
            if now - self._late_since.setdefault(name, now) <= PATIENCE:
                return False
        self.forget(name)
        return True

    def forget(self, name: str) -> None:
        """Drop what is kept about `name`."""
        self._late_since.pop(name, None)


class JointPositions:
    """Latest position, stamp and velocity of every known joint; several senders may each report a part.

    `update` and `of` are for any thread.

    Parameters
    ----------
    topic
        Where they come from, for error messages.
    steady
        Returns the time in seconds; never set.
    """

    def __init__(self, topic: str = "joint_states", steady: Callable[[], float] = time.monotonic) -> None:
        self._topic = topic
        self._latest: dict[str, tuple[float, int, float]] = {}
        """Position, stamp and velocity, which is NaN if it is not measured; the joint longest without news first."""
        self._newest = Newest(steady)
        self._messages = 0
        self._lock = threading.Lock()

    def update(
        self,
        names: Sequence[str],
        positions: Sequence[float],
        stamp: int,
        now: int,
        velocities: Sequence[float] = (),
    ) -> None:
        """Take over one message.

        Parameters
        ----------
        names, positions
            Joint names and positions [rad] or [m]. No positions at all: a message about velocities or efforts
            only.
        stamp
            When they were measured, nanoseconds.
        now
            The time, nanoseconds. A position older than the known one is ignored (messages may overtake each other),
            unless the known one has a stamp in the future, or only older ones have followed it for a while: then the
            time of their sender has restarted.
        velocities
            rad/s or m/s; if they are not as many as the names, none is measured.

        Raises
        ------
        InputError
            If the lengths differ, or a name is absurdly long; nothing is taken over.
        """
        if len(positions) == 0 and len(names) > 0:
            return
        if len(names) != len(positions):
            raise InputError(f"joint states: {len(names)} names, {len(positions)} positions: must be equally many")
        for name in names:
            check_name(name, "joint states: a name")
        self._messages += 1
        if len(velocities) != len(names):
            velocities = [math.nan] * len(names)
        with self._lock:
            for name, position, velocity in zip(names, positions, velocities, strict=True):
                known = self._latest.pop(name, None)
                past = known[1] if known is not None and known[1] <= now else None
                new = float(position), stamp, float(velocity)
                self._latest[name] = new if self._newest.takes(name, stamp, past) else known
            while len(self._latest) > _NAMES_KEPT:
                name = next(iter(self._latest))
                del self._latest[name]
                self._newest.forget(name)

    def forget_after(self, now: int) -> int:
        """Forget positions measured after `now` [ns], and return how many."""
        later = [name for name, (_, stamp, _) in self._latest.items() if stamp > now]
        for name in later:
            del self._latest[name]
        return len(later)

    def of(
        self, joints: Iterable[str], otherwise: Mapping[str, float] = MappingProxyType({})
    ) -> tuple[dict[str, float], int | None]:
        """Return the latest positions of joints.

        Parameters
        ----------
        joints
            Their names.
        otherwise
            Positions of joints that were never measured [rad] or [m].

        Returns
        -------
        positions : dict
            Joint name -> position [rad] or [m].
        stamp : int or None
            Nanoseconds, of the oldest measured position; None if there is none.

        Raises
        ------
        InputError
            If a joint was never measured, and `otherwise` has none, or its last position is not a finite number.
        """
        joints = tuple(joints)
        with self._lock:
            measured = {joint: self._latest[joint] for joint in joints if joint in self._latest}
        assumed = {joint: otherwise[joint] for joint in joints if joint not in measured and joint in otherwise}
        missing = [joint for joint in joints if joint not in measured and joint not in assumed]
        if missing:
            heard = f"{self._messages} messages received" if self._messages else "no message received yet"
            raise InputError(f"no position of joint {listing(missing)} on {self._topic} ({heard})", Code.NOT_MEASURED)
        positions = {joint: position for joint, (position, _, _) in measured.items()}
        broken = [joint for joint, position in positions.items() if not math.isfinite(position)]
        if broken:
            raise InputError(
                f"position of joint {listing(broken)} on {self._topic} is {positions[broken[0]]}: must be finite",
                Code.NOT_MEASURED,
            )
        return assumed | positions, min((stamp for _, stamp, _ in measured.values()), default=None)

    def velocities(self, joints: Sequence[str]) -> list[float]:
        """Return the latest velocities of joints [rad/s] or [m/s]; `InputError` if one is not known."""
        found = [self._latest[joint][2] if joint in self._latest else math.nan for joint in joints]
        missing = [joint for joint, velocity in zip(joints, found, strict=True) if not math.isfinite(velocity)]
        if missing:
            raise InputError(f"no velocity of joint {listing(missing)} on {self._topic}", Code.NOT_MEASURED)
        return found

    def unheard(self, joints: Iterable[str]) -> list[str]:
        """Return the joints that were never measured."""
        return [joint for joint in joints if joint not in self._latest]

    def newest(self, joints: Iterable[str]) -> int | None:
        """Return the newest stamp of measured joints, nanoseconds; None if there is none."""
        return max((self._latest[joint][1] for joint in joints if joint in self._latest), default=None)
