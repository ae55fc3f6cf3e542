# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The bite of two molars of Gonçalves et al. 2017, section 5.3: its frames from a few parameters.

The lower crown stands still. The upper one comes down along z by the same step every frame, presses in, and goes up
again. The crowns are eight superovoids each (``urdf/molars.urdf``). The paper's were fitted to an unpublished scan of a
jaw; these are drawn after the sizes of first molars, and touch in the frames in which the paper's do.

Metres.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from superovoid.robot import Robot
from superovoid_ros.motions.recorded import Frame, Motion
from superovoid_ros.resources import robot_documents, share_directory

FILE, ROBOT = "dental_bite.yaml", "molars"
LOWER, UPPER = "lower_molar", "upper_molar"


@dataclass(frozen=True)
class BiteFrame(Frame):
    """One frame; ``height`` of the upper crown's frame over the lower one's, m. Nothing floats: no base poses."""

    index: int
    height: float
    positions: Mapping[str, float]
    base_poses: Mapping[str, np.ndarray] = field(default_factory=dict)


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
        How far it moves from frame to frame, m.
    turn_frame : float
        When it is lowest, in frames; may be between two.
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
        return BiteFrame(index, height, {self.joint: height})


def shipped() -> tuple[Robot, DentalBite]:
    """Read the molars and the bite that come with this package.

    Returns
    -------
    robot : Robot
    bite : DentalBite
    """
    robot = Robot.from_urdf(robot_documents(ROBOT)[0])
    return robot, DentalBite.from_file(share_directory() / "config" / FILE)
