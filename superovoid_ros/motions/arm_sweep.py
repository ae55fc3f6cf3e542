# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The two-hands grasp sweep, with the hands moved by the arms.

`superovoid_ros.motions.grasp_sweep` defines the pose of the right palm relative to the left one. The iCub's arms move
the palms to it in front of its chest: `follow` solves for the joint positions frame by frame, each frame starting from
the previous one (`superovoid.robot.reach`). The positions are stored in ``config/grasp_sweep_arms.yaml``. The command

    python -m superovoid_ros.motions.arm_sweep

writes this file and measures it: distance of the palms from those of the sweep, least distance of a joint to its
limits, longest step between frames, and the nearest links other than hand to hand.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from superovoid.robot import Robot
from superovoid.robot.reach import pose_errors, reach
from superovoid_ros.motions.grasp_sweep import GraspSweep, SweepFrame
from superovoid_ros.resources import read_yaml, robot_documents, share_directory

FILE = "grasp_sweep_arms.yaml"
COMMAND = "python -m superovoid_ros.motions.arm_sweep"
_FIGURES = ("touch_distance", "approach", "approach_frames", "rotate_frames", "end_angle", "lateral_offset")
_DIGITS = 15
"""Decimals of the written positions: their rounding moves a palm by less than 1e-14 m."""

COMFORTABLE = {
    "shoulder_pitch": -0.9,
    "shoulder_roll": 0.5,
    "shoulder_yaw": 0.4,
    "elbow": 1.4,
    "wrist_prosup": -0.5,
    "wrist_pitch": -0.4,
    "wrist_yaw": 0.1,
}
"""Preferred positions of both arms, hands raised in front of the chest. Fourteen joints reach a pose of six coordinates
in many ways; the solution nearest to this posture is used."""


@dataclass(frozen=True)
class ArmSweep:
    """The sweep defined by joint positions alone. ``len(sweep)`` frames, ``sweep.frame(i)``; iterable.

    Attributes
    ----------
    sweep : GraspSweep
        Poses of the palms and positions of the hands' joints.
    joints : tuple of str
        Joints of torso and arms.
    rows : array, shape (frames, joints)
        Positions of `joints` in each frame, rad.
    """

    sweep: GraspSweep
    joints: tuple[str, ...]
    rows: np.ndarray

    def __post_init__(self) -> None:
        if self.rows.shape != (len(self.sweep), len(self.joints)):
            raise ValueError(
                f"ArmSweep.rows: shape {self.rows.shape}: expected a row for each of {len(self.sweep)} frames and a "
                f"column for each of {len(self.joints)} joints"
            )
        if not np.isfinite(self.rows).all():
            raise ValueError("ArmSweep.rows: holds a number that is not finite")

    @classmethod
    def from_file(cls, path: Path | str, sweep: GraspSweep) -> ArmSweep:
        """Read a file such as ``config/grasp_sweep_arms.yaml``.

        Raises
        ------
        ValueError
            If the file is malformed or was written for a sweep other than `sweep`.
        """
        values = read_yaml(path)
        if not isinstance(values, Mapping) or not {"sweep", "joints", "frames"} <= values.keys():
            raise ValueError(f"{path}: expected a mapping with sweep, joints and frames")
        if not isinstance(values["sweep"], Mapping):
            raise ValueError(f"{path}: sweep = {values['sweep']!r}: expected a mapping of the sweep's figures")
        joints = values["joints"]
        if not isinstance(joints, list) or not all(isinstance(name, str) for name in joints):
            raise ValueError(f"{path}: joints = {joints!r}: expected a list of names")
        for name in _FIGURES:
            found, expected = values["sweep"].get(name), getattr(sweep, name)
            if found != expected:
                raise ValueError(
                    f"{path}: sweep.{name} = {found}, but this sweep has {expected}: the arms would move the "
                    f"hands elsewhere (to update the file: {COMMAND})"
                )
        try:
            rows = np.array(values["frames"], dtype=float)
            return cls(sweep, tuple(joints), rows)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from error

    def __len__(self) -> int:
        return len(self.sweep)

    def __iter__(self):
        return (self.frame(index) for index in range(len(self)))

    def frame(self, index: int) -> SweepFrame:
        """Return frame ``index``, counted from 0, with the positions of all joints and no base poses.

        Raises
        ------
        IndexError
            If there is no such frame.
        """
        of_hands = self.sweep.frame(index)
        positions = dict(zip(self.joints, self.rows[index].tolist(), strict=True)) | dict(of_hands.positions)
        return SweepFrame(index, of_hands.phase, of_hands.distance, of_hands.angle, positions, {})


def wanted_pose(sweep: GraspSweep, index: int) -> np.ndarray:
    """Return left_palm_from_right_palm in a frame of the sweep, shape (4, 4), m."""
    poses = sweep.frame(index).base_poses
    return np.linalg.inv(poses[sweep.left_palm]) @ poses[sweep.right_palm]


def follow(robot: Robot, sweep: GraspSweep) -> ArmSweep:
    """Compute the positions of the joints of torso and arms in every frame.

    The torso stays upright: it would move both hands in the same way.

    Parameters
    ----------
    robot : Robot
        The iCub's upper body.
    sweep : GraspSweep
        The sweep to follow.

    Returns
    -------
    ArmSweep

    Raises
    ------
    ValueError
        If a frame is out of reach.
    """
    of_hands = sweep.positions
    joints = tuple(name for name in robot.joint_names if name not in of_hands)
    arms = [name for name in joints if name.startswith(("l_", "r_"))]
    comfortable = {side + name: value for side in ("l_", "r_") for name, value in COMFORTABLE.items()}
    positions = {**dict.fromkeys(joints, 0.0), **of_hands, **comfortable}
    rows = np.empty((len(sweep), len(joints)))
    for index in range(len(sweep)):
        wanted = wanted_pose(sweep, index)
        reached = reach(robot, sweep.left_palm, sweep.right_palm, wanted, positions, arms, comfortable=comfortable)
        if max(reached.position_error, reached.angle_error) > 1e-9:
            raise ValueError(
                f"frame {index}: out of reach of the arms: {reached.position_error:.3g} m and "
                f"{reached.angle_error:.3g} rad are left"
            )
        positions |= reached.positions
        rows[index] = [round(positions[name], _DIGITS) for name in joints]
    return ArmSweep(sweep, joints, rows)


def write(arms: ArmSweep, path: Path) -> None:
    """Write the file that `ArmSweep.from_file` reads."""
    lines = [
        f"# Written by `{COMMAND}`; not edited by hand.",
        "#",
        "# Positions of the joints of torso and arms, rad, that have the palms where config/grasp_sweep.yaml has them:",
        "# one row a frame. `sweep` has the figures it was written for.",
        "sweep:",
        *(f"  {name}: {getattr(arms.sweep, name)!r}" for name in _FIGURES),
        f"joints: [{', '.join(arms.joints)}]",
        "frames:",
        *(f"- [{', '.join(_number(value) for value in row)}]" for row in arms.rows.tolist()),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _number(value: float) -> str:
    text = f"{value + 0.0:.{_DIGITS}f}".rstrip("0")
    return f"{text}0" if text.endswith(".") else text


def upper_body(representation: str = "mixed") -> Robot:
    """Read the model of the upper body in this package."""
    urdf, srdf = robot_documents("icub_upper_body")
    return Robot.from_urdf(urdf, srdf=srdf, representation=representation)


def read_sweep() -> ArmSweep:
    """Read the sweep by the arms in this package."""
    config = share_directory() / "config"
    return ArmSweep.from_file(config / FILE, GraspSweep.from_file(config / "grasp_sweep.yaml"))


@dataclass(frozen=True)
class Residuals:
    """Accuracy with which the arms follow the sweep: worst values over all frames."""

    position: float
    """Position error of a palm, m."""
    angle: float
    """Orientation error of a palm, rad."""
    limit: float
    """Least distance of a moving joint to its limits, rad; negative: beyond a limit."""
    limit_joint: str
    step: float
    """Largest change of a joint between two frames, rad."""


def measure(robot: Robot, arms: ArmSweep) -> Residuals:
    """Compare the palms with those of the sweep, and measure the motion of the joints."""
    position = angle = 0.0
    for frame in arms:
        wanted = wanted_pose(arms.sweep, frame.index)
        errors = pose_errors(robot, arms.sweep.left_palm, arms.sweep.right_palm, wanted, frame.positions)
        position, angle = max(position, errors[0]), max(angle, errors[1])
    lower, upper = np.array([robot.joint_limits[name] for name in arms.joints]).T
    room = np.minimum(arms.rows - lower, upper - arms.rows).min(axis=0)
    tightest = int(np.argmin(room))
    step = float(np.abs(np.diff(arms.rows, axis=0)).max()) if len(arms) > 1 else 0.0
    return Residuals(position, angle, float(room[tightest]), arms.joints[tightest], step)


def nearest_besides_hands(robot: Robot, arms: ArmSweep) -> tuple[float, int, str, str]:
    """Return the least distance, m, of allowed pairs other than hand to hand, over all frames; its frame and links."""
    scene = robot.scene()
    left, right = set(robot.groups["left_hand"]), set(robot.groups["right_hand"])
    links = [body.link for body in robot.bodies]
    pairs = np.array(
        [
            (i, j)
            for i, j in robot.body_pairs().tolist()
            if not any(links[i] in hands and links[j] in hands for hands in (left | right,))
        ]
    )
    best = (math.inf, -1, "", "")
    for frame in arms:
        scene.set_link_poses(robot.forward_kinematics(frame.positions))
        result = scene.query(pairs=pairs, max_results=1)
        if len(result) and result.distance[0] < best[0]:
            best = (float(result.distance[0]), frame.index, links[result.body_a[0]], links[result.body_b[0]])
    return best


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the file and print how well the arms follow the sweep."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--share", type=Path, help="folder with config and urdf (default: the package's)")
    parser.add_argument("--measure-only", action="store_true", help="write nothing")
    chosen = parser.parse_args(arguments)
    share = chosen.share or share_directory()
    sweep = GraspSweep.from_file(share / "config" / "grasp_sweep.yaml")
    # Without the SRDF, since its named states come from the file written here.
    urdf = (share / "urdf" / "icub_upper_body.urdf").read_text(encoding="utf-8")
    robot = Robot.from_urdf(urdf)
    path = share / "config" / FILE
    if not chosen.measure_only:
        write(follow(robot, sweep), path)
        print(path)
    arms = ArmSweep.from_file(path, sweep)
    found = measure(robot, arms)
    print(f"{len(arms)} frames: palms within {found.position:.1e} m and {found.angle:.1e} rad of the sweep's")
    print(f"least room to a limit {found.limit:.3f} rad ({found.limit_joint}), longest step {found.step:.4f} rad")
    srdf = share / "config" / "icub_upper_body.srdf"
    if srdf.is_file():
        robot = Robot.from_urdf(urdf, srdf=srdf.read_text(encoding="utf-8"))
        distance, frame, link_a, link_b = nearest_besides_hands(robot, arms)
        print(f"nearest besides hand to hand: {1e3 * distance:.1f} mm, {link_a} and {link_b}, frame {frame}")


if __name__ == "__main__":
    main()
