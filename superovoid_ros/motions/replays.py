# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Motions in this package that can be played to a distance service: one entry for each in `REPLAYS`."""

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
    """A robot and its motion."""

    title: str
    file: str
    """Name of the CSV and plot files, without extension."""
    robot: str
    """Name of ``urdf/ROBOT.urdf`` and, if it exists, ``config/ROBOT.srdf``."""
    kind: type[Motion]
    config: str
    """File in ``config/`` that `kind` reads."""
    links: tuple[tuple[str, ...], tuple[str, ...]]
    """Links or groups on either side of the queried pairs."""
    subject: str
    """Description of the bodies in the closest pair."""
    view: str
    """Name of ``config/VIEW.rviz``."""
    by_arms: bool = False
    """If true, torso and arms move the robot, with the positions in `arm_sweep.FILE`."""
    published: Mapping[str, int] = field(default_factory=dict)
    """Published approximate counts, by their names in the demo's table."""

    def frames(self) -> int:
        """Number of frames of the motion."""
        return len(self.kind.from_file(share_directory() / "config" / self.config))

    def motion(self) -> Motion | ArmSweep:
        """Read the motion from this package."""
        config = share_directory() / "config"
        motion = self.kind.from_file(config / self.config)
        if self.by_arms and isinstance(motion, GraspSweep):
            return ArmSweep.from_file(config / FILE, motion)
        return motion


# Published with the sweep, for superovoids fitted without regard to convexity; this package's fits are convex.
_HANDS = {"intersecting": 1541, "first contact, frame": 30, "last contact, frame": 204}
_FINGERS = (("left_fingers",), ("right_fingers",))
# Published in the paper about the bite.
_BITE = {"frames": 181, "first contact, frame": 47, "last contact, frame": 111}

REPLAYS = {
    "hands": Replay(
        "Two-hands grasp sweep", "grasp_sweep", "icub_hands", GraspSweep, "grasp_sweep.yaml", _FINGERS,
        "finger links", "grasp_sweep", published=_HANDS,
    ),
    "arms": Replay(
        "Two-hands grasp sweep by the arms", "grasp_sweep", "icub_upper_body", GraspSweep, "grasp_sweep.yaml", _FINGERS,
        "finger links", "grasp_sweep_arms", by_arms=True, published=_HANDS,
    ),
    "bite": Replay(
        "Dental bite", "dental_bite", dental_bite.ROBOT, DentalBite, dental_bite.FILE,
        ((dental_bite.LOWER,), (dental_bite.UPPER,)), "surfaces", "dental_bite", published=_BITE,
    ),
}  # fmt: skip
"""Motions by name, as in the parameter `motion` of sweep_player."""
