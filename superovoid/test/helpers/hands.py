# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Two iCub hands in a grasp sweep, and two molars in a bite: URDFs of this repository, states from test/data."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from superovoid.robot import Robot

ROOT = Path(__file__).resolve().parents[3]
URDF, SRDF = ROOT / "urdf" / "icub_hands.urdf", ROOT / "config" / "icub_hands.srdf"
UPPER_BODY_URDF, UPPER_BODY_SRDF = ROOT / "urdf" / "icub_upper_body.urdf", ROOT / "config" / "icub_upper_body.srdf"
MOLARS_URDF = ROOT / "urdf" / "molars.urdf"
STATES = Path(__file__).parents[1] / "data" / "motions.npz"


@dataclass(frozen=True)
class Frame:
    """A state of a robot."""

    positions: dict[str, float]
    base_poses: dict[str, np.ndarray]


class Sweep:
    """Frames of a motion that the package superovoid_ros can play."""

    def __init__(self, name: str) -> None:
        with np.load(STATES) as file:
            self._joints, self._positions = file[f"{name}_joints"].tolist(), file[f"{name}_positions"]
            self._links, self._poses = file[f"{name}_links"].tolist(), file[f"{name}_poses"]

    def __len__(self) -> int:
        return len(self._positions)

    def frame(self, index: int) -> Frame:
        """Return the state of a frame."""
        positions = dict(zip(self._joints, self._positions[index].tolist(), strict=True))
        return Frame(positions, dict(zip(self._links, self._poses[index], strict=True)))


def grasp_sweep() -> Sweep:
    """Return the sweep of the two hands."""
    return Sweep("hands")


def bite() -> tuple[Robot, Sweep]:
    """Return the molars and their motion."""
    return Robot.load(MOLARS_URDF), Sweep("bite")


def hands() -> Robot:
    """Return the two hands."""
    return Robot.load(URDF, srdf=SRDF)
