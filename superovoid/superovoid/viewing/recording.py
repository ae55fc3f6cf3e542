# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A robot that was recorded, and its least distance moment by moment. Plain values; nothing here reads a file.

==================  =================================================================================================
`Recording`         the robot, its states, what they are counted by, what was recorded of distances
`ReplayModel`       a `RobotModel` that stands in one of these states
`Track`             the proved least distance in each of them
==================  =================================================================================================

A moment whose state is not known says why. It is drawn as not decided, and its distance is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from superovoid.robot import Robot
from superovoid.shapes import Shape
from superovoid.viewing.meanings import Meaning
from superovoid.viewing.picture import Asked, Clearance, Picture
from superovoid.viewing.robot_model import RobotModel

FloatArray = NDArray[np.float64]

FARTHEST = 1e15
"""Positions and places on the axis are within this, s, m or rad: sums and differences of larger ones say nothing."""
FRAMES_A_SECOND = 20.0
"""Speed at which moments are played that have no time of their own."""


@dataclass(frozen=True, eq=False)
class Moment:
    """One state of a recording."""

    at: float
    """Where it is on the recording's axis."""
    positions: Mapping[str, float]
    """Of the independent joints, rad or m."""
    base_poses: Mapping[str, FloatArray] = field(default_factory=dict)
    """root_from_link (4, 4) of the links whose pose comes from outside."""
    unknown: str = ""
    """Why the state is not known, in words; empty: it is."""


@dataclass(frozen=True, eq=False)
class Recording:
    """States of a robot, in order.

    Raises
    ------
    ValueError
        If there is none, or their places on the axis do not ascend.
    """

    title: str
    robot: Robot
    moments: Sequence[Moment]
    axis: str = "frame"
    """What the moments are counted by: "frame", "time", "length of path"."""
    unit: str = ""
    """Of that: "s", "m"."""
    objects: Mapping[str, tuple[Shape, FloatArray]] = field(default_factory=dict)
    """What stands around the robot, and root_from_object (4, 4)."""
    between: tuple[Sequence[str], Sequence[str]] | None = None
    """Links, groups and objects that its distances are about; None: all."""
    recorded: Sequence[float] | None = None
    """A distance of each moment as somebody else had it, m; NaN where there is none."""
    notes: Sequence[str] = ()
    """What those should know who look at it."""

    def __post_init__(self) -> None:
        if not self.moments:
            raise ValueError(f"{self.title}: has no state")
        places = np.array([moment.at for moment in self.moments])
        if not (np.abs(places) <= FARTHEST).all() or (places[1:] < places[:-1]).any():
            raise ValueError(f"{self.title}: its states must be in order of {self.axis}")

    @property
    def places(self) -> FloatArray:
        """Of the moments on the axis."""
        return np.array([moment.at for moment in self.moments])

    @property
    def seconds(self) -> FloatArray:
        """When each moment is played, s from the first one."""
        if self.unit == "s":
            return self.places - self.places[0]
        return np.arange(len(self.moments)) / FRAMES_A_SECOND

    def words(self, index: int) -> str:
        """Which moment it is."""
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.axis} {self.moments[index].at:.6g}{unit}"


class ReplayModel(RobotModel):
    """A recorded robot in one of its states. Not for several threads at once.

    Attributes
    ----------
    recording : Recording
    index : int
        The moment that is shown.
    """

    def __init__(self, recording: Recording, near: float | None = None) -> None:
        super().__init__(recording.robot, near)
        self.recording, self.index = recording, 0
        for name, (shape, pose) in recording.objects.items():
            self.add_object(name, shape, pose)
        if recording.between is not None:
            self.show_between(*recording.between)
        self.seek(next((i for i, moment in enumerate(recording.moments) if not moment.unknown), 0))
        self.seek(0)

    @property
    def title(self) -> str:
        """The name of the recording."""
        return self.recording.title

    def seek(self, index: int) -> None:
        """Show another moment; of one whose state is not known, what is known of it."""
        if not 0 <= index < len(self.recording.moments):
            raise ValueError(f"moment {index}: there are moments 0 to {len(self.recording.moments) - 1}")
        moment = self.recording.moments[index]
        self.set_positions(moment.positions)
        for link, pose in moment.base_poses.items():
            self.set_base(link, pose)
        self.index = index

    def unanswered(self, reason: str = "not asked yet") -> Picture:
        """The picture of this moment without an answer."""
        return replace(super().unanswered(reason), moment=self.index)

    def answer(self) -> Picture:
        """Ask for the distances of this moment."""
        unknown = self.recording.moments[self.index].unknown
        return self.unanswered(unknown) if unknown else replace(super().answer(), moment=self.index)

    def measure(self) -> Callable[[int], Clearance]:
        """What answers for the least distance of a moment, with the objects and rules of now; for another thread."""
        asked = Asked(self.planning.scene.fork(), self.planning.owners, self.near)
        sides, missing = self._sides(), self._missing()

        def least(index: int) -> Clearance:
            moment = self.recording.moments[index]
            if moment.unknown:
                return Clearance(math.nan, math.nan, Meaning.UNKNOWN, moment.unknown)
            poses = self.robot.forward_kinematics(moment.positions, moment.base_poses)
            return asked.least(poses, sides, missing)

        return least


@dataclass(frozen=True, eq=False)
class Track:
    """The least distance in each moment: proved in [lower, upper], m; NaN where it is not known."""

    places: FloatArray
    lower: FloatArray
    upper: FloatArray
    meaning: NDArray[np.int64]
    """`Meaning` of each."""

    @classmethod
    def empty(cls, places: FloatArray) -> Track:
        """One of which nothing is known yet."""
        count = len(places)
        nothing = np.full(count, math.nan)
        return cls(places, nothing, nothing.copy(), np.full(count, int(Meaning.UNKNOWN)))

    def put(self, index: int, found: Clearance) -> None:
        """Enter a moment."""
        self.lower[index], self.upper[index], self.meaning[index] = found.lower, found.upper, int(found.meaning)


def track_of(model: ReplayModel, on_moment: Callable[[int], None] = lambda index: None) -> Track:
    """The least distance in every moment of a recording; `on_moment` is called with each one that is done."""
    track, measure = Track.empty(model.recording.places), model.measure()
    for index in range(len(model.recording.moments)):
        track.put(index, measure(index))
        on_moment(index)
    return track
