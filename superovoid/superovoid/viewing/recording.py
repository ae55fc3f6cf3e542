# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A recorded robot and its minimum distance at every moment. Plain values; this module reads no files.

==================  =================================================================================================
`Recording`         the robot, its states, their axis, and recorded distances
`ReplayModel`       a `RobotModel` in one of these states
`Track`             the proved minimum distance in each state
==================  =================================================================================================

A moment with an unknown state gives the reason. It is drawn as not decided, and its distance is NaN.
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
from superovoid.viewing.picture import Clearance, Picture, SceneQuery
from superovoid.viewing.robot_model import RobotModel

FloatArray = NDArray[np.float64]

FARTHEST = 1e15
"""Limit of positions and of places on the axis, s, m or rad: larger values lose precision in sums and differences."""
FRAMES_A_SECOND = 20.0
"""Playback rate of moments without a time, Hz."""


@dataclass(frozen=True, eq=False)
class Moment:
    """One state of a recording."""

    at: float
    """Place on the recording's axis."""
    positions: Mapping[str, float]
    """Positions of the independent joints, rad or m."""
    base_poses: Mapping[str, FloatArray] = field(default_factory=dict)
    """root_from_link (4, 4) of the links on floating joints."""
    unknown: str = ""
    """Why the state is unknown; empty if it is known."""


@dataclass(frozen=True, eq=False)
class Recording:
    """States of a robot, in order.

    Raises
    ------
    ValueError
        If there are no states, or their places on the axis decrease.
    """

    title: str
    robot: Robot
    moments: Sequence[Moment]
    axis: str = "frame"
    """What the axis measures: "frame", "time", "length of path"."""
    unit: str = ""
    """Unit of the axis: "s", "m"."""
    objects: Mapping[str, tuple[Shape, FloatArray]] = field(default_factory=dict)
    """Objects around the robot, and root_from_object (4, 4)."""
    between: tuple[Sequence[str], Sequence[str]] | None = None
    """Links, groups and objects whose distances are measured; None for all."""
    recorded: Sequence[float] | None = None
    """A distance for each moment from another source, m; NaN if there is none."""
    notes: Sequence[str] = ()
    """Notes for viewers."""

    def __post_init__(self) -> None:
        if not self.moments:
            raise ValueError(f"{self.title}: has no state")
        places = np.array([moment.at for moment in self.moments])
        if not (np.abs(places) <= FARTHEST).all() or (places[1:] < places[:-1]).any():
            raise ValueError(f"{self.title}: its states must be in order of {self.axis}")

    @property
    def places(self) -> FloatArray:
        """Places of the moments on the axis."""
        return np.array([moment.at for moment in self.moments])

    @property
    def seconds(self) -> FloatArray:
        """Playback time of each moment, s from the first."""
        if self.unit == "s":
            return self.places - self.places[0]
        return np.arange(len(self.moments)) / FRAMES_A_SECOND

    def words(self, index: int) -> str:
        """Return the place of a moment in words."""
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.axis} {self.moments[index].at:.6g}{unit}"


class ReplayModel(RobotModel):
    """A recorded robot in one of its states. Not thread-safe.

    Attributes
    ----------
    recording : Recording
    index : int
        Index of the shown moment.
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
        """Show another moment; if its state is unknown, show its known parts."""
        if not 0 <= index < len(self.recording.moments):
            raise ValueError(f"moment {index}: there are moments 0 to {len(self.recording.moments) - 1}")
        moment = self.recording.moments[index]
        self.set_positions(moment.positions)
        for link, pose in moment.base_poses.items():
            self.set_base(link, pose)
        self.index = index

    def blank_picture(self, reason: str = "not computed yet") -> Picture:
        """Return a picture of this moment without an answer."""
        return replace(super().blank_picture(reason), moment=self.index)

    def answer(self) -> Picture:
        """Compute the distances of this moment."""
        unknown = self.recording.moments[self.index].unknown
        return self.blank_picture(unknown) if unknown else replace(super().answer(), moment=self.index)

    def measure(self) -> Callable[[int], Clearance]:
        """Return a function that computes the minimum distance of a moment with the present objects and rules.

        The function may run in another thread.
        """
        query = SceneQuery(self.planning.scene.fork(), self.planning.owners, self.near)
        sides, missing = self._sides(), self._missing_text()

        def least_clearance(index: int) -> Clearance:
            moment = self.recording.moments[index]
            if moment.unknown:
                return Clearance(math.nan, math.nan, Meaning.UNKNOWN, moment.unknown)
            poses = self.robot.forward_kinematics(moment.positions, moment.base_poses)
            return query.least_clearance(poses, sides, missing)

        return least_clearance


@dataclass(frozen=True, eq=False)
class Track:
    """The minimum distance at each moment: proved in [lower, upper], m; NaN if unknown."""

    places: FloatArray
    lower: FloatArray
    upper: FloatArray
    meaning: NDArray[np.int64]
    """`Meaning` of each moment."""

    @classmethod
    def empty(cls, places: FloatArray) -> Track:
        """Return a track in which every distance is unknown."""
        count = len(places)
        nothing = np.full(count, math.nan)
        return cls(places, nothing, nothing.copy(), np.full(count, int(Meaning.UNKNOWN)))

    def put(self, index: int, found: Clearance) -> None:
        """Set the result of a moment."""
        self.lower[index], self.upper[index], self.meaning[index] = found.lower, found.upper, int(found.meaning)


def track_of(model: ReplayModel, on_moment: Callable[[int], None] = lambda index: None) -> Track:
    """Compute the minimum distance at every moment; call `on_moment` with the index of each finished one."""
    track, measure = Track.empty(model.recording.places), model.measure()
    for index in range(len(model.recording.moments)):
        track.put(index, measure(index))
        on_moment(index)
    return track
