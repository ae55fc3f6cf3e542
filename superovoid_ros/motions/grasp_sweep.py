# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The two-hands grasp sweep of Gonçalves et al. 2017, section 5.2, generated from a few parameters.

The left hand is fixed at the origin of the world. The right one faces it, palm to palm, and approaches until the thumb
tips touch. Then it turns about its wrist, so that its fingers swing through the fingers of the left hand:

    left_palm_from_right_palm(D, theta) = Trans(0, lateral_offset, D) RotY(-theta) RotX(pi).

Lengths are in metres, angles in radians.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from superovoid.robot import Robot
from superovoid_ros.motions.recorded import Frame, Motion
from superovoid_ros.resources import robot_documents, share_directory


@dataclass(frozen=True)
class SweepFrame(Frame):
    """One frame: joint states and transforms.

    ``phase`` is "approach" or "rotate"; ``base_poses`` are world_from_link of both palms, shape (4, 4), m.
    """

    index: int
    phase: str
    distance: float
    angle: float
    positions: Mapping[str, float]
    base_poses: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class GraspSweep(Motion):
    """The sweep. ``len(sweep)`` frames, ``sweep.frame(i)``; iterable.

    Attributes
    ----------
    positions : mapping of str to float
        Positions of the joints of both hands, the same in every frame, rad.
    touch_distance : float
        Distance of the palms when the thumb tips touch, m.
    approach : float
        Length of the approach, m.
    approach_frames, rotate_frames : int
        Frames of both phases.
    end_angle : float
        Angle of the last frame, rad.
    lateral_offset : float
        Offset of the right palm along y of the left, m.
    left_palm, right_palm : str
        Names of the palm links.
    """

    positions: Mapping[str, float]
    touch_distance: float
    approach: float
    approach_frames: int
    rotate_frames: int
    end_angle: float
    lateral_offset: float = 0.0
    left_palm: str = "left_palm"
    right_palm: str = "right_palm"

    def __post_init__(self) -> None:
        self._check_counts("approach_frames", "rotate_frames")
        self._check_numbers("touch_distance", "approach", "end_angle", "lateral_offset")
        if not isinstance(self.positions, Mapping):
            raise ValueError(f"GraspSweep.positions = {self.positions!r}: must map joint names to positions")
        for name, value in self.positions.items():
            self._check_number(f"positions[{name!r}]", value)

    def __len__(self) -> int:
        return self.approach_frames + self.rotate_frames

    def frame(self, index: int) -> SweepFrame:
        """Return frame ``index``, counted from 0.

        Raises
        ------
        IndexError
            If there is no such frame.
        """
        self._check_index(index)
        if index < self.approach_frames:
            left = 1.0 - index / max(self.approach_frames - 1, 1)
            phase, distance, angle = "approach", self.touch_distance + self.approach * left, 0.0
        else:
            # The rotation starts one step after the last frame of the approach, which shows the angle 0.
            step = index - self.approach_frames + 1
            phase, distance, angle = "rotate", self.touch_distance, self.end_angle * step / self.rotate_frames
        base_poses = {self.left_palm: np.eye(4), self.right_palm: self._right_palm(distance, angle)}
        return SweepFrame(index, phase, distance, angle, self.positions, base_poses)

    def _right_palm(self, distance: float, angle: float) -> np.ndarray:
        c, s = math.cos(angle), math.sin(angle)
        # RotY(-angle) RotX(pi), written out.
        return np.array(
            [
                [c, 0.0, s, 0.0],
                [0.0, -1.0, 0.0, self.lateral_offset],
                [s, 0.0, -c, distance],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )


@dataclass(frozen=True)
class SweepCounts:
    """Counts over the whole sweep; ``first`` and ``last`` are the frames with contact (None if there are none)."""

    pairs: int
    past_sphere: int
    past_obb: int
    intersecting: int
    distinct: int
    most: int
    first: int | None
    last: int | None
    deepest: float


def count_contacts(robot: Robot, sweep: GraspSweep, links_a: Sequence[str], links_b: Sequence[str]) -> SweepCounts:
    """Query all frames and count the pairs that pass each stage.

    Parameters
    ----------
    robot : Robot
        The hands.
    sweep : GraspSweep
        The sweep.
    links_a, links_b : sequence of str
        Links and groups on either side of the pairs, as for `Robot.body_pairs`.

    Returns
    -------
    SweepCounts
        ``past_sphere`` and ``past_obb``: pairs whose bounding volumes overlap; ``intersecting``: pairs that overlap;
        ``distinct``: different pairs among these; ``most``: overlapping pairs in one frame; ``deepest``: the largest
        penetration depth, m.
    """
    scene = robot.scene()
    wanted = robot.body_pairs(links_a, links_b)
    pairs = past_sphere = past_obb = intersecting = most = 0
    deepest = 0.0
    frames, distinct = [], set()
    for frame in sweep:
        scene.set_link_poses(robot.forward_kinematics(frame.positions, frame.base_poses))
        result = scene.query(pairs=wanted, overlapping_only=True)
        counts = result.statistics
        pairs += counts.pairs
        past_sphere += counts.past_sphere
        past_obb += counts.past_obb
        intersecting += counts.intersecting
        if counts.intersecting:
            frames.append(frame.index)
            distinct.update(zip(result.body_a.tolist(), result.body_b.tolist(), strict=True))
            most = max(most, counts.intersecting)
            deepest = max(deepest, -float(result.distance[0]))
    first, last = (frames[0], frames[-1]) if frames else (None, None)
    return SweepCounts(pairs, past_sphere, past_obb, intersecting, len(distinct), most, first, last, deepest)


def read_sweep(representation: str = "mixed") -> tuple[Robot, GraspSweep]:
    """Read the hands and the sweep in this package.

    Parameters
    ----------
    representation : str
        Contact geometry of the hands.

    Returns
    -------
    robot : Robot
    sweep : GraspSweep
    """
    urdf, srdf = robot_documents("icub_hands")
    robot = Robot.from_urdf(urdf, srdf=srdf, representation=representation)
    return robot, GraspSweep.from_file(share_directory() / "config" / "grasp_sweep.yaml")


def main() -> None:
    """Print the counts for the hands and sweep in this package, in all three representations."""
    print("representation   links    pairs  spheres   OBBs  intersecting  distinct  most  first  last  deepest")
    for representation in ("superellipsoids", "superovoids", "mixed"):
        robot, sweep = read_sweep(representation)
        for part in ("fingers", "hand"):
            counts = count_contacts(robot, sweep, [f"left_{part}"], [f"right_{part}"])
            print(
                f"{representation:16s} {part:8s} {counts.pairs:5d} {counts.past_sphere:8d} {counts.past_obb:6d} "
                f"{counts.intersecting:13d} {counts.distinct:9d} {counts.most:5d} {counts.first!s:>6s} "
                f"{counts.last!s:>5s} {1e3 * counts.deepest:5.2f} mm"
            )


if __name__ == "__main__":
    main()
