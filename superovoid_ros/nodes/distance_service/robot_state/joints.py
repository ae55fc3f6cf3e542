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

# Joints of other robots are stored too, since the robot may be replaced; the joints longest without a measurement are
# dropped first.
_NAMES_KEPT = 10_000

PATIENCE = 1.0
"""Time without newer measurements after which older stamps are accepted, s: the sender's time has restarted, as for a
recording played in a loop or a reset clock."""


class StampFilter:
    """Filter that distinguishes new measurements from late ones by their stamps.

    Parameters
    ----------
    steady
        Clock that returns monotonic time, s.
    """

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        self._steady = steady
        self._late_since: dict[str, float] = {}

    def takes(self, name: str, stamp: int, known: int | None) -> bool:
        """Return whether a measurement of `name` with `stamp` replaces the one with stamp `known`, ns.

        An equal stamp replaces: measurements of a sender that never changes its stamps are used in the order of
        arrival, and a repeated message changes nothing.
        """
        if known is not None and stamp < known:
            now = self._steady()
            if now - self._late_since.setdefault(name, now) <= PATIENCE:
                return False
        self.forget(name)
        return True

    def forget(self, name: str) -> None:
        """Forget the late measurements of `name`."""
        self._late_since.pop(name, None)


class JointPositions:
    """Latest position, stamp and velocity of every known joint; several senders may each report a part.

    `update` and `of` may be called from any thread.

    Parameters
    ----------
    topic
        Name of the topic, for error messages.
    steady
        Clock that returns monotonic time, s.
    """

    def __init__(self, topic: str = "joint_states", steady: Callable[[], float] = time.monotonic) -> None:
        self._topic = topic
        self._latest: dict[str, tuple[float, int, float]] = {}
        """Position, stamp and velocity (NaN if not measured); ordered by the last update, oldest first."""
        self._newest = StampFilter(steady)
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
        """Store the measurements of one message.

        Parameters
        ----------
        names, positions
            Joint names and positions, rad or m. A message without positions (velocities or efforts only) is ignored.
        stamp
            Time of the measurement, ns.
        now
            Current time, ns. A position older than the stored one is ignored (messages may overtake each other), unless
            the stored stamp is in the future, or only older positions have arrived for a while: then the sender's time
            has restarted.
        velocities
            Velocities, rad/s or m/s; ignored unless there is one for each name.

        Raises
        ------
        InputError
            If the lengths differ or a name is too long; then nothing is stored.
        """
        if len(positions) == 0 and len(names) > 0:
            return
        if len(names) != len(positions):
            raise InputError(f"joint states: {len(names)} names, {len(positions)} positions: must be the same number")
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
        """Forget positions measured after `now`, ns, and return their number."""
        later = [name for name, (_, stamp, _) in self._latest.items() if stamp > now]
        for name in later:
            del self._latest[name]
        return len(later)

    def positions_of(
        self, joints: Iterable[str], otherwise: Mapping[str, float] = MappingProxyType({})
    ) -> tuple[dict[str, float], int | None]:
        """Return the latest positions of joints.

        Parameters
        ----------
        joints
            Names of the joints.
        otherwise
            Positions of joints that were never measured, rad or m.

        Returns
        -------
        positions : dict
            Positions by joint, rad or m.
        stamp : int or None
            Stamp of the oldest measured position, ns; None if there is none.

        Raises
        ------
        InputError
            If a joint was never measured and `otherwise` lacks it, or its last position is not finite.
        """
        joints = tuple(joints)
        with self._lock:
            measured = {joint: self._latest[joint] for joint in joints if joint in self._latest}
        assumed = {joint: otherwise[joint] for joint in joints if joint not in measured and joint in otherwise}
        missing = [joint for joint in joints if joint not in measured and joint not in assumed]
        if missing:
            received = f"{self._messages} messages received" if self._messages else "no message received yet"
            raise InputError(
                f"no position of joint {listing(missing)} on {self._topic} ({received})", Code.NOT_MEASURED
            )
        positions = {joint: position for joint, (position, _, _) in measured.items()}
        broken = [joint for joint, position in positions.items() if not math.isfinite(position)]
        if broken:
            raise InputError(
                f"position of joint {listing(broken)} on {self._topic} is {positions[broken[0]]}: must be finite",
                Code.NOT_MEASURED,
            )
        return assumed | positions, min((stamp for _, stamp, _ in measured.values()), default=None)

    def velocities(self, joints: Sequence[str]) -> list[float]:
        """Return the latest velocities of joints, rad/s or m/s; raise `InputError` if one is unknown."""
        found = [self._latest[joint][2] if joint in self._latest else math.nan for joint in joints]
        missing = [joint for joint, velocity in zip(joints, found, strict=True) if not math.isfinite(velocity)]
        if missing:
            raise InputError(f"no velocity of joint {listing(missing)} on {self._topic}", Code.NOT_MEASURED)
        return found

    def unmeasured_joints(self, joints: Iterable[str]) -> list[str]:
        """Return the joints that were never measured."""
        return [joint for joint in joints if joint not in self._latest]

    def newest_stamp(self, joints: Iterable[str]) -> int | None:
        """Return the newest stamp of measured joints, ns; None if there is none."""
        return max((self._latest[joint][1] for joint in joints if joint in self._latest), default=None)
