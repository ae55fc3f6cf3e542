# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The latest measured position and velocity of every joint, collected from joint state messages."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from superovoid_ros.nodes.common.mistakes import Code, InputError, check_name, listing
from superovoid_ros.nodes.distance_service.robot_state.latest import LatestValues


class JointPositions(LatestValues[tuple[float, float]]):
    """Latest position and velocity (NaN if not measured) of every known joint; several senders may each report a part.

    Joints of other robots are stored too, since the robot may be replaced.

    Parameters
    ----------
    topic
        Name of the topic, for error messages.
    steady
        Clock that returns monotonic time, s.
    """

    def __init__(self, topic: str = "joint_states", steady: Callable[[], float] = time.monotonic) -> None:
        super().__init__(steady)
        self._topic = topic
        self._messages = 0

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
        stamp, now
            Time of the measurement, and current time, ns.
        velocities
            Velocities, rad/s or m/s; ignored unless there is one for each name.

        Raises
        ------
        InputError
            If the lengths differ or a name is too long, then nothing is stored; or if too many joints are known.
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
        self.put(zip(names, zip(positions, velocities, strict=True), strict=True), stamp, now)

    def positions_of(
        self, joints: Iterable[str], otherwise: Mapping[str, float] = MappingProxyType({})
    ) -> tuple[dict[str, float], list[int]]:
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
        stamps : list of int
            Stamps of the measured positions, ns.

        Raises
        ------
        InputError
            If a joint was never measured and `otherwise` lacks it, or its last position is not finite.
        """
        positions, stamps, missing = {}, [], []
        with self._lock:
            for joint in joints:
                found = self._latest.get(joint)
                if found is not None:
                    positions[joint] = found[0][0]
                    stamps.append(found[1])
                elif joint in otherwise:
                    positions[joint] = otherwise[joint]
                else:
                    missing.append(joint)
        if missing:
            received = f"{self._messages} messages received" if self._messages else "no message received yet"
            raise InputError(
                f"no position of joint {listing(missing)} on {self._topic} ({received})", Code.NOT_MEASURED
            )
        if not all(map(math.isfinite, positions.values())):
            broken = {joint: position for joint, position in positions.items() if not math.isfinite(position)}
            raise InputError(
                f"position of joint {listing(broken)} on {self._topic} is {min(broken.items())[1]}: must be finite",
                Code.NOT_MEASURED,
            )
        return positions, stamps

    def velocities(self, joints: Sequence[str]) -> list[float]:
        """Return the latest velocities of joints, rad/s or m/s; raise `InputError` if one is unknown."""
        found = [self._latest[joint][0][1] if joint in self._latest else math.nan for joint in joints]
        missing = [joint for joint, velocity in zip(joints, found, strict=True) if not math.isfinite(velocity)]
        if missing:
            raise InputError(f"no velocity of joint {listing(missing)} on {self._topic}", Code.NOT_MEASURED)
        return found

    def unmeasured_joints(self, joints: Iterable[str]) -> list[str]:
        """Return the joints that were never measured."""
        return [joint for joint in joints if joint not in self._latest]
