"""The latest measured position of every joint, collected from joint state messages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from superovoid_ros.nodes.errors import InputError, listing


class JointPositions:
    """Latest position and stamp of every joint heard of; several senders may each report a part.

    Parameters
    ----------
    topic
        Where they come from, for error messages.
    """

    def __init__(self, topic: str = "joint_states") -> None:
        self._topic = topic
        self._latest: dict[str, tuple[float, int]] = {}
        self._messages = 0

    def update(self, names: Sequence[str], positions: Sequence[float], stamp: int, now: int) -> None:
        """Take over one message.

        Parameters
        ----------
        names, positions
            Joint names and positions [rad] or [m]. No positions at all: a message about velocities or efforts
            only.
        stamp
            When they were measured, nanoseconds.
        now
            The time, nanoseconds. A position measured before the one that is known is not taken over (messages may
            overtake each other), unless the known one bears a time that is still to come.

        Raises
        ------
        InputError
            If the lengths differ; nothing is taken over.
        """
        if len(positions) == 0 and len(names) > 0:
            return
        if len(names) != len(positions):
            raise InputError(f"joint states: {len(names)} names, {len(positions)} positions: must be equally many")
        self._messages += 1
        for name, position in zip(names, positions, strict=True):
            known = self._latest[name][1] if name in self._latest else stamp
            if known <= stamp or known > now:
                self._latest[name] = (float(position), stamp)

    def forget_after(self, now: int) -> int:
        """Forget positions measured after `now` [ns], and return how many."""
        later = [name for name, (_, stamp) in self._latest.items() if stamp > now]
        for name in later:
            del self._latest[name]
        return len(later)

    def of(self, joints: Iterable[str]) -> tuple[dict[str, float], int | None]:
        """Return the latest positions of joints.

        Returns
        -------
        positions : dict
            Joint name -> position [rad] or [m].
        stamp : int or None
            Nanoseconds, of the oldest of them; None where no joint is asked for.

        Raises
        ------
        InputError
            If a joint was never heard of or its last position is not a finite number.
        """
        joints = tuple(joints)
        missing = [joint for joint in joints if joint not in self._latest]
        if missing:
            heard = f"{self._messages} messages received" if self._messages else "no message received yet"
            raise InputError(f"no position of joint {listing(missing)} on {self._topic} ({heard})")
        broken = [joint for joint in joints if not math.isfinite(self._latest[joint][0])]
        if broken:
            value = self._latest[broken[0]][0]
            raise InputError(f"position of joint {listing(broken)} on {self._topic} is {value}: must be finite")
        stamps = [self._latest[joint][1] for joint in joints]
        return {joint: self._latest[joint][0] for joint in joints}, min(stamps, default=None)
