# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The bite of two molars of Gonçalves et al. 2017, section 5.3, generated from a few parameters.

The lower crown is fixed. The upper one moves down along z by the same step in every frame, penetrates the lower one,
and moves up again. Each crown consists of eight superovoids (``urdf/molars.urdf``). The paper's crowns were fitted to
an unpublished scan of a jaw; these have the sizes of first molars, and touch in the same frames as the paper's.

Lengths are in metres.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from superovoid.robot import Robot
from superovoid_ros.motions.recorded import JointFrame, Motion
from superovoid_ros.resources import robot_documents, share_directory

FILE, ROBOT = "dental_bite.yaml", "molars"
LOWER, UPPER = "lower_molar", "upper_molar"


@dataclass(frozen=True)
class BiteFrame(JointFrame):
    """One frame; ``height``: of the upper crown's frame above the lower one's, m."""

    height: float = field(kw_only=True)


@dataclass(frozen=True)
class DentalBite(Motion):
    """The bite. ``len(bite)`` frames, ``bite.frame(i)``; iterable.

    Attributes
    ----------
    joint : str
        The joint that moves the upper crown.
    frames : int
        Number of frames.
    start : float
        Height in frame 0, m.
    step : float
        Motion of the upper crown between two frames, m.
    turn_frame : float
        Frame at which the crown is lowest; may be a fraction.
    """

    joint: str
    frames: int
    start: float
    step: float
    turn_frame: float

    def __post_init__(self) -> None:
        self._check_counts("frames")
        self._check_numbers("start", "step", "turn_frame")
        if not isinstance(self.joint, str) or not self.joint:
            raise ValueError(f"DentalBite.joint = {self.joint!r}: must be the name of a joint")
        if not self.step > 0.0:
            raise ValueError(f"DentalBite.step = {self.step!r}: must be positive")

    def __len__(self) -> int:
        return self.frames

    def frame(self, index: int) -> BiteFrame:
        """Return frame ``index``, counted from 0.

        Raises
        ------
        IndexError
            If there is no such frame.
        """
        self._check_index(index)
        height = self.start - self.step * (self.turn_frame - abs(self.turn_frame - index))
        return BiteFrame(index, {self.joint: height}, height=height)


def read_bite() -> tuple[Robot, DentalBite]:
    """Read the molars and the bite in this package.

    Returns
    -------
    robot : Robot
    bite : DentalBite
    """
    robot = Robot.from_urdf(robot_documents(ROBOT)[0])
    return robot, DentalBite.from_file(share_directory() / "config" / FILE)
