# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The motions that come with this package, to be played to a distance service, one entry a motion in `REPLAYS`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from superovoid_ros.motions import dental_bite
from superovoid_ros.motions.arm_sweep import FILE, ArmSweep
from superovoid_ros.motions.dental_bite import DentalBite
from superovoid_ros.motions.grasp_sweep import GraspSweep
from superovoid_ros.motions.recorded import Motion
from superovoid_ros.resources import share_directory


@dataclass(frozen=True)
class Replay:
    """A robot and how it moves."""

    title: str
    file: str
    """Of what is written about it: CSV and plot, without ending."""
    robot: str
    """``urdf/ROBOT.urdf`` and ``config/ROBOT.srdf``, if there is such a file."""
    kind: type[Motion]
    config: str
    """File in ``config/`` that `kind` reads."""
    links: tuple[tuple[str, ...], tuple[str, ...]]
    """Links or groups of a query, those of one side against those of the other."""
    pairs: int
    """Number of these pairs in all frames: figures for others are not comparable."""
    subject: str
    """What the closest pair is a pair of."""
    view: str
    """``config/VIEW.rviz``"""
    by_arms: bool = False
    """Whether torso and arms move it, by the positions of `arm_sweep.FILE`."""
    published: Mapping[str, int] = field(default_factory=dict)
    """Figures to compare with, by their names in the table of the demo; they are about."""

    def frames(self) -> int:
        """How many frames the motion has that comes with this package."""
        return len(self.kind.from_file(share_directory() / "config" / self.config))

    def motion(self) -> Motion | ArmSweep:
        """The motion that comes with this package, frame by frame."""
        config = share_directory() / "config"
        motion = self.kind.from_file(config / self.config)
        if self.by_arms and isinstance(motion, GraspSweep):
            return ArmSweep.from_file(config / FILE, motion)
        return motion


# Counts published with the sweep, for superovoids fitted without regard to convexity; ours are refitted.
_HANDS = {"pairs": 94374, "intersecting": 1541, "first contact, frame": 30, "last contact, frame": 204}
_FINGERS = (("left_fingers",), ("right_fingers",))
# The paper's figures of its bite.
_BITE = {"frames": 181, "first contact, frame": 47, "last contact, frame": 111}

REPLAYS = {
    "hands": Replay(
        "Two-hands grasp sweep", "grasp_sweep", "icub_hands", GraspSweep, "grasp_sweep.yaml", _FINGERS,
        94374, "finger links", "grasp_sweep", published=_HANDS,
    ),
    "arms": Replay(
        "Two-hands grasp sweep by the arms", "grasp_sweep", "icub_upper_body", GraspSweep, "grasp_sweep.yaml", _FINGERS,
        94374, "finger links", "grasp_sweep_arms", by_arms=True, published=_HANDS,
    ),
    "bite": Replay(
        "Dental bite", "dental_bite", dental_bite.ROBOT, DentalBite, dental_bite.FILE,
        ((dental_bite.LOWER,), (dental_bite.UPPER,)), 11584, "surfaces", "dental_bite", published=_BITE,
    ),
}  # fmt: skip
"""Name, as the parameter `motion` of sweep_player has it -> what is played."""
