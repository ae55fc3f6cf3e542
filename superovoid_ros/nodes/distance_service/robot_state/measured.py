# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The state of the robot: from measurements and, in their place, values in requests. No messages."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from superovoid.robot import Robot
from superovoid.robot.planning_scene import PlanningScene
from superovoid_ros.nodes.common.mistakes import Code, InputError, listing, refusals
from superovoid_ros.nodes.distance_service.robot_state.latest import LatestValues, StampedTransform, TransformTree
from superovoid_ros.nodes.distance_service.robot_state.places import Place, places

UNMEASURED = "unmeasured_joints"


@dataclass(frozen=True, kw_only=True)
class States:
    """States of a robot, one row each, composed of measurements and the values in a request."""

    positions: np.ndarray
    """Positions of `Robot.joint_names`, rad or m, shape (states, joints)."""
    base_poses: Mapping[str, np.ndarray]
    """Pose root_from_link of each link on a floating joint, m, shape (4, 4) or (states, 4, 4)."""
    frame: str
    """Frame of the answers: of the root, on TF."""
    joint_stamps: Sequence[int]
    """Stamps of the positions from joint states, ns."""
    transform_stamps: Sequence[int]
    """Stamps of the transforms from TF that are not static, ns."""
    unplaced: str = ""
    """Reason why the pose of the robot in the world is unknown; empty if it is known. If unknown, poses in the frame of
    the robot's root are invalid, and `frame` is that of its root link."""

    @property
    def joint_stamp(self) -> int | None:
        """Stamp of the oldest position from joint states, ns; None if none was used."""
        return min(self.joint_stamps, default=None)

    @property
    def transform_stamp(self) -> int | None:
        """Stamp of the oldest transform from TF, ns; None if none was used, or only static ones."""
        return min(self.transform_stamps, default=None)

    @property
    def oldest_stamp(self) -> int | None:
        """Stamp of the oldest measurement, ns; None if there is none."""
        return min((*self.joint_stamps, *self.transform_stamps), default=None)

    def root_poses(self, robot: Robot) -> Mapping[str, np.ndarray]:
        """Return root_from_link of each link in the first state; root_link_from_link if the robot is `unplaced`."""
        positions = dict(zip(robot.joint_names, self.positions[0].tolist(), strict=True))
        bases = {link: pose if pose.ndim == 2 else pose[0] for link, pose in self.base_poses.items()}
        with refusals():
            return robot.forward_kinematics(positions, bases)


@dataclass(frozen=True)
class StateValues:
    """The values of states in a request, which replace measurements; names and numbers are already checked."""

    joint_names: Sequence[str] = ()
    positions: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    """Positions of `joint_names`, rad or m, shape (states, joint_names)."""
    base_poses: Mapping[str, tuple[str, np.ndarray]] = field(default_factory=dict)
    """For each link: the parent frame, and frame_from_link, m, shape (4, 4) or (states, 4, 4)."""

    @property
    def states(self) -> int:
        """Number of states."""
        rows = [len(pose) for _, pose in self.base_poses.values() if pose.ndim == 3]
        return len(self.positions) or max(rows, default=1)


_NOTHING = StateValues()


def read_values(
    robot: Robot,
    names: Sequence[str],
    rows: np.ndarray,
    base_poses: Mapping[str, tuple[str, np.ndarray]] = MappingProxyType({}),
) -> StateValues:
    """Return the values of states in a request; raise `InputError` for invalid names or numbers of joints.

    Parameters
    ----------
    robot
        The robot.
    names, rows
        Joints, and their positions, rad or m, shape (states, joints).
    base_poses
        As in `StateValues`.
    """
    for i, name in enumerate(names):
        if name in robot.mimic:
            leader = robot.mimic[name].joint
            raise InputError(f"request: joint '{name}' mimics joint '{leader}': set the position of that joint")
        if name not in robot.joint_names:
            raise InputError(f"request: unknown joint '{name}'; joints: {listing(robot.joint_names)}")
        if name in names[:i]:
            raise InputError(f"request: joint '{name}' occurs twice")
    if not np.isfinite(rows).all():
        state, joint = np.argwhere(~np.isfinite(rows))[0]
        where = f" in state {state}" if len(rows) > 1 else ""
        raise InputError(f"request: position of joint '{names[joint]}'{where} = {rows[state, joint]}: must be finite")
    return StateValues(tuple(names), rows, base_poses)


Joints: TypeAlias = LatestValues[tuple[float, float]]
"""Position, rad or m, and velocity, rad/s or m/s (NaN if not measured), of every joint."""


@dataclass(eq=False)
class Measured:
    """Joint positions and transforms, and the states that follow from them."""

    parameter: Callable[[str], object]
    """Returns the value of a parameter of `Measurements`."""
    joints: Joints
    """Joints of other robots too, since the robot may be replaced."""
    transforms: TransformTree
    topic: str = "joint_states"
    """Name of the topic of joint states, for errors."""

    def positions(self, robot: Robot, names: Collection[str]) -> tuple[dict[str, float], list[int]]:
        """Return the latest positions of joints, with assumed ones if the parameter allows them.

        Returns
        -------
        positions : dict
            Positions by joint, rad or m.
        stamps : list of int
            Stamps of the measured positions, ns.

        Raises
        ------
        InputError
            If a joint was never measured and has no assumed position, or its last position is not finite.
        """
        with self.joints.lock:
            measured = {name: self.joints.latest[name] for name in names if name in self.joints.latest}
        assumed = self._default_positions(robot)
        positions = {name: assumed[name] for name in names if name in assumed}
        positions |= {name: position for name, ((position, _), _) in measured.items()}
        missing = [name for name in names if name not in positions]
        if missing:
            count = self.joints.received
            received = f"{count} messages received" if count else "no message received yet"
            raise InputError(f"no position of joint {listing(missing)} on {self.topic} ({received})", Code.NOT_MEASURED)
        broken = [name for name in measured if not math.isfinite(positions[name])]
        if broken:
            raise InputError(
                f"position of joint {listing(broken)} on {self.topic} is {positions[broken[0]]}: must be finite",
                Code.NOT_MEASURED,
            )
        return positions, [stamp for _, stamp in measured.values()]

    def assumed_positions(self, robot: Robot | None) -> dict[str, float]:
        """Return the assumed positions of unmeasured joints, for diagnostics."""
        found = {} if robot is None else self._default_positions(robot)
        measured = self.joints.copy().latest
        return {name: position for name, position in found.items() if name not in measured}

    def _default_positions(self, robot: Robot) -> dict[str, float]:
        if self.parameter(UNMEASURED) != "default":
            return {}
        # As MoveIt's `setToDefaultValues`: 0 if it is within the limits, else their middle.
        limits = robot.joint_limits.items()
        return {name: 0.0 if lower <= 0.0 <= upper else 0.5 * (lower + upper) for name, (lower, upper) in limits}

    @property
    def prefix(self) -> str:
        """Prefix of the frames of the robot's links on TF."""
        return str(self.parameter("frame_prefix"))

    def frame_of(self, robot: Robot, link: str) -> str:
        """Return the name of a link's frame on TF; the frame of the world in which the robot moves has no prefix."""
        return link if link == robot.root != robot.root_link else self.prefix + link

    def base_pose(self, robot: Robot, link: str) -> StampedTransform:
        """Return the pose of a base link, according to TF: of the root link in the root, of others in the root link.

        Raises
        ------
        InputError
            If TF lacks it, unless it is that of the root link and a parameter replaces it by the joint's default.
        """
        parent = robot.root if link == robot.root_link else robot.root_link
        target, source = self.frame_of(robot, parent), self.frame_of(robot, link)
        try:
            return self.transforms.lookup(target, source)
        except InputError as error:
            if link != robot.root_link:
                raise
            if self.parameter("unknown_root_pose") == "identity":
                return StampedTransform(np.eye(4))
            raise InputError(
                f"not ready: the pose of the robot's root link '{source}' in '{target}' is unknown: {error} "
                "(virtual joint of the SRDF, or planning_frame; unknown_root_pose: identity uses the default pose)",
                Code.INCOMPLETE_WORLD,
            ) from error

    def root_from(self, robot: Robot, frame: str) -> np.ndarray:
        """Return root_from_frame of a frame on TF, m, shape (4, 4); raise `InputError` if TF lacks it."""
        return self.transforms.lookup(self.frame_of(robot, robot.root), frame).target_from_source

    def carries(self, robot: Robot, frame: str) -> bool:
        """Return whether, according to TF, a robot carries a frame."""
        return self.transforms.lies_below(frame, self.prefix + robot.root_link)

    def require_world(self, planning: PlanningScene, pairs: np.ndarray | None, unplaced: str) -> None:
        """Raise `InputError` if pairs involve objects of the world whose pose is unknown; `unplaced` as in `States`."""
        if planning.concerns_world(pairs):
            _require_placed(unplaced)
            self.check_still(planning.robot, places(planning))

    def check_still(self, robot: Robot, places: Iterable[Place], code: Code = Code.INCOMPLETE_WORLD) -> None:
        """Raise `InputError` if TF has moved an object by more than `frame_tolerance` since it was placed."""
        begin = "not ready: " if code is Code.INCOMPLETE_WORLD else ""
        root, tolerance = self.frame_of(robot, robot.root), float(self.parameter("frame_tolerance"))
        for place in places:
            words = f"{begin}object '{place.name}' was placed in frame '{place.frame}'"
            try:
                moved = place.largest_motion(self.root_from(robot, place.frame))
            except InputError as error:
                raise InputError(f"{words}, and {error}", code) from error
            if not moved <= tolerance:
                raise InputError(
                    f"{words}, which TF moved relative to '{root}' since then, points of the objects there by up to "
                    f"{moved:.3g} m (frame_tolerance: {tolerance:g} m): send them again, or set planning_frame to a "
                    f"frame of the world, like '{place.frame}'",
                    code,
                )

    def states(self, robot: Robot, given: StateValues = _NOTHING) -> States:
        """Return the measured state, with the values of a request in place of measurements.

        Parameters
        ----------
        robot
            The robot.
        given
            Values in the request. Default: none.

        Raises
        ------
        InputError
            If a value that the request leaves out was not measured, or a frame is unknown.
        """
        column = {name: number for number, name in enumerate(given.joint_names)}
        left_out = [joint for joint in robot.joint_names if joint not in column]
        measured, joint_stamps = self.positions(robot, left_out)
        poses, stamps, unplaced = self._base_poses(robot, given.base_poses)
        if column and tuple(given.joint_names) == robot.joint_names:
            positions = given.positions
        else:
            positions = np.empty((given.states, len(robot.joint_names)))
            for number, name in enumerate(robot.joint_names):
                positions[:, number] = given.positions[:, column[name]] if name in column else measured[name]
        return States(
            frame=self.frame_of(robot, robot.root_link if unplaced else robot.root),
            joint_stamps=joint_stamps,
            transform_stamps=stamps,
            unplaced=unplaced,
            positions=positions,
            base_poses=poses,
        )

    def placed_states(
        self, planning: PlanningScene, given: StateValues = _NOTHING, pairs: np.ndarray | None = None
    ) -> States:
        """Return `states`; raise `InputError` also if pairs (None: all) involve objects whose pose is unknown."""
        states = self.states(planning.robot, given)
        self.require_world(planning, pairs, states.unplaced)
        return states

    def _base_poses(
        self, robot: Robot, given: Mapping[str, tuple[str, np.ndarray]]
    ) -> tuple[dict[str, np.ndarray], list[int], str]:
        """Return the poses of all base links, the stamps of the transforms used, and `States.unplaced`.

        If a request moves the root link, other links on it keep their measured pose relative to it.
        """
        poses: dict[str, np.ndarray] = {}
        stamps: list[int] = []
        unplaced, own = "", self.frame_of(robot, robot.root)
        for link in sorted(robot.base_links, key=lambda link: link != robot.root_link):
            above = poses.get(robot.root_link, np.eye(4))
            if link not in given:
                try:
                    found = self.base_pose(robot, link)
                except InputError as error:
                    if link != robot.root_link:
                        raise
                    unplaced, found = str(error), StampedTransform(np.eye(4))
                poses[link] = above @ found.target_from_source
                stamps += found.stamps
                continue
            frame, pose = given[link]
            if link != robot.root_link and frame == self.prefix + robot.root_link:
                poses[link] = above @ pose
                continue
            _require_placed(unplaced)
            if frame not in ("", own):
                found = self.transforms.lookup(own, frame)
                stamps += found.stamps
                pose = found.target_from_source @ pose
            poses[link] = pose
        return poses, stamps, unplaced


def _require_placed(unplaced: str) -> None:
    if unplaced:
        raise InputError(unplaced, Code.INCOMPLETE_WORLD)
