# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The measured state of the robot, from joint states and TF, and states described by requests."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from rclpy.clock import JumpHandle, JumpThreshold
from rclpy.duration import Duration
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from superovoid_interfaces.msg import Clearance, DistanceArray
from superovoid_interfaces.srv import GetDistances

from superovoid.robot import Robot
from superovoid.robot.planning_scene import PlanningScene
from superovoid.robot.scene_objects import object_frame
from superovoid_ros.nodes.common.conversions import NANOSECONDS, stamp_of, to_time
from superovoid_ros.nodes.common.mistakes import Code, InputError, check_name, listing, reason_of, refusals
from superovoid_ros.nodes.common.parameters import choice, number, text
from superovoid_ros.nodes.distance_service.part import Common, Part
from superovoid_ros.nodes.distance_service.robot_state.latest import LatestValues
from superovoid_ros.nodes.distance_service.robot_state.transforms import (
    StampedTransform,
    TransformTree,
    listen_to_transforms,
    transform_source,
)
from superovoid_ros.nodes.distance_service.world.frames import Place, places

UNMEASURED = "unmeasured_joints"
# Messages wait until the node uses them: those of several fast senders must not displace those of a slow one.
JOINT_STATES = QoSProfile(depth=500, reliability=ReliabilityPolicy.BEST_EFFORT)
_MOST_OF_SCENES = 10_000  # joints, including those of other robots


@dataclass(frozen=True, kw_only=True)
class States:
    """States of a robot, one row each, composed of measurements and the values in a request."""

    positions: np.ndarray
    """Positions of `Robot.joint_names`, rad or m, shape (states, joints)."""
    base_poses: Mapping[str, np.ndarray]
    """Pose root_from_link of each link on a floating joint, m, shape (4, 4) or (states, 4, 4)."""
    frame_from_root: np.ndarray | None
    """Transform from the root to `frame`, m, shape (4, 4); None: `frame` is that of the root."""
    frame: str
    """Frame of the answers."""
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

    @property
    def newest_stamp(self) -> int | None:
        """Stamp of the newest measurement, ns; None if there is none."""
        return max((*self.joint_stamps, *self.transform_stamps), default=None)

    def root_poses(self, robot: Robot) -> Mapping[str, np.ndarray]:
        """Return root_from_link of each link in the first state; root_link_from_link if the robot is `unplaced`."""
        positions = dict(zip(robot.joint_names, self.positions[0].tolist(), strict=True))
        bases = {link: pose if pose.ndim == 2 else pose[0] for link, pose in self.base_poses.items()}
        with refusals():
            return robot.forward_kinematics(positions, bases)

    def link_poses(self, robot: Robot) -> Mapping[str, np.ndarray]:
        """Return frame_from_link of each link in the first state."""
        poses = self.root_poses(robot)
        if self.frame_from_root is None:
            return poses
        return {link: self.frame_from_root @ pose for link, pose in poses.items()}


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


def store_joint_states(joints: Joints, message: JointState, now: int) -> None:
    """Store the measurements of a message; one without positions (velocities or efforts only) is ignored.

    `now` is the current time, ns, which is the stamp of a message without one. Raise `InputError` if the lengths differ
    or a name is too long, then nothing is stored; or if too many joints are known.
    """
    names, positions, velocities = message.name, message.position, message.velocity
    if len(positions) == 0 and len(names) > 0:
        return
    if len(names) != len(positions):
        raise InputError(f"joint states: {len(names)} names, {len(positions)} positions: must be the same number")
    for name in names:
        check_name(name, "joint states: a name")
    if len(velocities) != len(names):
        velocities = [math.nan] * len(names)
    stamp = stamp_of(message.header.stamp, "joint states") or now
    joints.put(zip(names, zip(positions, velocities, strict=True), strict=True), stamp, now)


@dataclass(eq=False)
class Measured:
    """Joint positions and transforms, and the states that follow from them."""

    value: Callable[[str], object]
    """Returns the value of a parameter of `Measurements`."""
    joints: Joints
    """Joints of other robots too, since the robot may be replaced."""
    transforms: TransformTree
    of_scenes: Mapping[str, float]
    """Joint positions of planning scenes, for joints that are not measured, rad or m."""
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
        return {name: position for name, position in found.items() if name not in self.joints.latest}

    def _default_positions(self, robot: Robot) -> dict[str, float]:
        if self.value(UNMEASURED) != "default":
            return {}
        of_scenes = {name: self.of_scenes[name] for name in robot.joint_names if name in self.of_scenes}
        # Otherwise as MoveIt's `setToDefaultValues`: 0 if it is within the limits, else their middle.
        limits = robot.joint_limits.items()
        middles = {name: 0.0 if lower <= 0.0 <= upper else 0.5 * (lower + upper) for name, (lower, upper) in limits}
        return middles | of_scenes

    @property
    def prefix(self) -> str:
        """Prefix of the frames of the robot's links on TF."""
        return str(self.value("frame_prefix"))

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
            if self.value("unknown_root_pose") == "identity":
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
        root, tolerance = self.frame_of(robot, robot.root), float(self.value("frame_tolerance"))
        for place in places:
            try:
                moved = place.farthest_object(self.root_from(robot, place.frame), tolerance)
            except InputError as error:
                raise InputError(
                    f"{begin}object '{place.names[0]}' was placed in frame '{place.frame}', and {error}", code
                ) from error
            if moved is not None:
                raise InputError(
                    f"{begin}object '{moved[0]}' was placed in frame '{place.frame}', which TF moved relative to "
                    f"'{root}' since then, the object by {moved[1]:.3g} m (frame_tolerance: {tolerance:g} m): send it "
                    f"again, or set planning_frame to a frame of the world, like '{place.frame}'",
                    code,
                )

    def states(self, robot: Robot, given: StateValues = _NOTHING, planning: PlanningScene | None = None) -> States:
        """Return the measured state, with the values of a request in place of measurements.

        Parameters
        ----------
        robot
            The robot.
        given
            Values in the request. Default: none.
        planning
            Planning scene whose objects and their subframes are also valid frames, at their measured poses.

        Raises
        ------
        InputError
            If a value that the request leaves out was not measured, or a frame is unknown.
        """
        column = {name: number for number, name in enumerate(given.joint_names)}
        left_out = [joint for joint in robot.joint_names if joint not in column]
        measured, joint_stamps = self.positions(robot, left_out)
        poses, stamps, unplaced = self._base_poses(robot, given.base_poses, planning)
        own = self.frame_of(robot, robot.root_link if unplaced else robot.root)
        frame, frame_from_root = str(self.value("frame")) or own, None
        if frame != own:
            transform = self.transforms.lookup(frame, own)
            frame_from_root = transform.target_from_source
            stamps += transform.stamps
        if column and tuple(given.joint_names) == robot.joint_names:
            positions = given.positions
        else:
            positions = np.empty((given.states, len(robot.joint_names)))
            for number, name in enumerate(robot.joint_names):
                positions[:, number] = given.positions[:, column[name]] if name in column else measured[name]
        return States(
            frame=frame,
            joint_stamps=joint_stamps,
            transform_stamps=stamps,
            unplaced=unplaced,
            positions=positions,
            base_poses=poses,
            frame_from_root=frame_from_root,
        )

    def placed_states(
        self, planning: PlanningScene, given: StateValues = _NOTHING, pairs: np.ndarray | None = None
    ) -> States:
        """Return `states`; raise `InputError` also if pairs (None: all) involve objects whose pose is unknown."""
        states = self.states(planning.robot, given, planning)
        self.require_world(planning, pairs, states.unplaced)
        return states

    def _base_poses(
        self, robot: Robot, given: Mapping[str, tuple[str, np.ndarray]], planning: PlanningScene | None
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
                found = self._of_object(robot, frame, planning) or self.transforms.lookup(own, frame)
                stamps += found.stamps
                pose = found.target_from_source @ pose
            poses[link] = pose
        return poses, stamps, unplaced

    def _of_object(self, robot: Robot, frame: str, planning: PlanningScene | None) -> StampedTransform | None:
        """Return root_from_frame of an object or its subframe, as measured; None if the frame is neither."""
        found = planning and object_frame(planning.objects, frame)
        if found is None:
            return None
        thing, object_from_frame = found
        pose = thing.pose @ object_from_frame
        if thing.link is None:
            self.check_still(planning.robot, places(planning))
            return StampedTransform(pose)
        state = self.states(robot)
        _require_placed(state.unplaced)
        return StampedTransform(
            state.root_poses(robot)[thing.link] @ pose, (*state.joint_stamps, *state.transform_stamps)
        )


@dataclass(eq=False)
class Moment(Measured):
    """The measurements of one moment; later ones do not change them."""

    _link_poses: dict[Robot, Mapping[str, np.ndarray]] = field(default_factory=dict)

    def link_poses(self, robot: Robot) -> Mapping[str, np.ndarray]:
        """Return the poses of all links in a common frame, m; raise `InputError` if they are unknown."""
        if robot not in self._link_poses:
            state = self.states(robot)
            poses = self._link_poses[robot] = dict(state.root_poses(robot))
            if state.unplaced:  # the pose of the other links in the root is unknown
                del poses[robot.root]
        return self._link_poses[robot]


class Measurements(Part, Measured):
    """Part that receives joint states and transforms from `configure` on."""

    parameters = (
        text("frame", "", "Frame of all answers; empty: the root link of the robot. Any other frame needs TF"),
        text("frame_prefix", "", "Prefix of the frames of the robot's links on TF, as in robot_state_publisher"),
        choice(
            "unknown_root_pose",
            "refuse",
            ("refuse", "identity"),
            "If no transform gives the pose of a robot with a planar or floating virtual joint: refuse requests that"
            " concern objects in the world, or use the joint's default pose (identity)",
        ),
        number(
            "frame_tolerance",
            0.001,
            0.0,
            1e6,
            "[m] Largest motion of a point of an object, by TF, since the object was received; beyond it the node is"
            " not ready",
        ),
        choice(
            UNMEASURED,
            "refuse",
            ("refuse", "default"),
            "Requests that need a joint without a measurement: refuse them, or answer as move_group does, with the "
            "position of the last planning scene, otherwise with 0 or the middle of the limits",
        ),
        number(
            "stale_timeout",
            1.0,
            0.0,
            1e6,
            "[s] A state is stale if it is older than this, or farther in the future; 0: never",
            least=1e-3,
        ),
    )

    def __init__(self, common: Common) -> None:
        Part.__init__(self, common)
        Measured.__init__(self, common.value, Joints(), TransformTree(), {})
        self._jumps: JumpHandle | None = None
        self._take_arrived: Callable[[], None] = lambda: None
        self.is_followed = False
        """If true, every message with joint states wakes the node."""
        self.joints_changed: Callable[[], None] = lambda: None
        """Called after messages with joint states that woke the node."""

    def configure(self) -> None:
        """Subscribe to joint states and transforms."""
        node = self.node
        self.topic = node.resolve_topic_name("joint_states")
        name = node.get_fully_qualified_name()
        self.transforms = transform_source(name)
        listen_to_transforms(self.endpoints, name, self.transforms, self._refuse, self._clock_time)
        self._take_arrived = self.endpoints.listen(
            JointState,
            "joint_states",
            self._take_joint_states,
            JOINT_STATES,
            wakes=lambda: self.is_followed,
            changed=lambda: self.joints_changed(),
        )
        back = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True)
        self._jumps = node.get_clock().create_jump_callback(back, post_callback=lambda _jump: self._forget_future())

    def clean_up(self) -> None:
        """Discard all measurements."""
        Measured.__init__(self, self.value, Joints(), TransformTree(), {})
        self._take_arrived = lambda: None
        if self._jumps is not None:
            self._jumps.unregister()
        self._jumps = None

    def positions(self, robot: Robot, names: Collection[str]) -> tuple[dict[str, float], list[int]]:
        """Return positions of joints, after taking the messages that have arrived."""
        if names and not self.is_followed:  # otherwise the executor takes each message
            self._take_arrived()
        return super().positions(robot, names)

    def moment(self) -> Moment:
        """Return what was measured until now; may be called from any thread."""
        if not self.is_followed:
            self._take_arrived()
        return Moment(self.value, self.joints.copy(), self.transforms.copy(), self.of_scenes, self.topic)

    def take_scene(self, positions: Mapping[str, float]) -> None:
        """Store the joint positions of a planning scene, for joints that are not measured."""
        kept = {name: position for name, position in self.of_scenes.items() if name not in positions}
        newest = [*kept.items(), *positions.items()][-_MOST_OF_SCENES:]
        self.of_scenes = dict(newest)

    def velocities(self, robot: Robot, state: States) -> np.ndarray:
        """Return the measured velocities of `Robot.joint_names`, rad/s or m/s.

        Raises
        ------
        InputError
            If a joint's velocity is not measured, or the robot has moving bases, whose velocities TF does not contain.
        """
        if robot.base_links and state.transform_stamp is not None:
            raise InputError(f"no velocity of {listing(robot.base_links)}: TF contains only poses", Code.NOT_MEASURED)
        latest, names = self.joints.latest, robot.joint_names
        found = {name: latest[name][0][1] for name in names if name in latest}
        missing = [name for name in names if not math.isfinite(found.get(name, math.nan))]
        if missing:
            raise InputError(f"no velocity of joint {listing(missing)} on {self.topic}", Code.NOT_MEASURED)
        return np.array(list(found.values()))

    def fill_freshness(self, message: DistanceArray | Clearance | GetDistances.Response, state: States) -> str:
        """Write a state's frame, stamp and age into a response; return why the state is stale, or an empty string."""
        now, stamp = self._clock_time(), state.oldest_stamp
        message.header.frame_id = state.frame
        message.header.stamp = to_time(now if stamp is None else stamp)
        if state.joint_stamp is not None:
            message.uses_joint_states = True
            message.joint_state_age = (now - state.joint_stamp) / NANOSECONDS
        if state.transform_stamp is not None:
            message.uses_transforms = True
            message.base_pose_age = (now - state.transform_stamp) / NANOSECONDS
        words = self.stale_reason(state)
        message.stale = bool(words)
        return words

    def stale_reason(self, state: States) -> str:
        """Return why the measured part of a state is stale; empty if it is not, or if nothing of it is measured."""
        if state.newest_stamp is None:
            return ""
        timeout, now, oldest = float(self.value("stale_timeout")), self._clock_time(), state.oldest_stamp
        age = 0.0 if oldest is None else (now - oldest) / NANOSECONDS
        ahead = (state.newest_stamp - now) / NANOSECONDS
        if not 0.0 < timeout < max(age, ahead):
            return ""
        return f"state is {age:.1f} s old" if age > timeout else f"state is stamped {ahead:.1f} s in the future"

    def _clock_time(self) -> int:
        return self.node.get_clock().now().nanoseconds

    def _forget_future(self) -> None:
        """After a jump back in time, as at a restart of a simulation, forget measurements stamped in the future."""
        forgotten = self.joints.forget_after(self._clock_time()) + self.transforms.forget_after(self._clock_time())
        if forgotten:
            self.node.get_logger().warning(
                f"time jumped back: {forgotten} later joint positions and transforms are dropped"
            )

    def _take_joint_states(self, message: JointState) -> None:
        try:
            store_joint_states(self.joints, message, self._clock_time())
        except InputError as error:
            self._refuse("joint_states", error)

    def _refuse(self, topic: str, error: Exception) -> None:
        self.log.error(topic, f"{topic}: ignored: {reason_of(error)}")
        self.statistics.message(topic, error)


def _require_placed(unplaced: str) -> None:
    if unplaced:
        raise InputError(unplaced, Code.INCOMPLETE_WORLD)
