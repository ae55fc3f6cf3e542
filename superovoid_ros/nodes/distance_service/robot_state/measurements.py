"""The measured state of the robot, from joint states and TF, and the state that a request describes."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from geometry_msgs.msg import TransformStamped
from rclpy.clock import JumpHandle, JumpThreshold
from rclpy.duration import Duration
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from superovoid_interfaces.msg import DistanceArray
from superovoid_interfaces.srv import GetDistances

from superovoid_ros.nodes.common.conversions import NANOSECONDS, from_transform, stamp_of, to_time
from superovoid_ros.nodes.common.mistakes import InputError, listing, reason_of
from superovoid_ros.nodes.common.parameters import number, text
from superovoid_ros.nodes.common.qos import listen
from superovoid_ros.nodes.distance_service.part import Common, Part
from superovoid_ros.nodes.distance_service.robot_state.given import joints_given, poses_of_links
from superovoid_ros.nodes.distance_service.robot_state.joints import JointPositions
from superovoid_ros.nodes.distance_service.robot_state.transforms import (
    StampedTransform,
    TransformSource,
    transform_source,
)
from superovoid_ros.nodes.distance_service.world.frames import Surroundings
from superovoid_ros.robot import Robot


@dataclass(frozen=True)
class State:
    """Poses of all links at one moment, and how fresh the measurements in it are."""

    frame: str
    link_poses: Mapping[str, np.ndarray]
    """link -> frame_from_link, shape (4, 4)"""
    joint_stamp: int | None
    """nanoseconds, of the oldest joint position from joint states; None where none was used"""
    transform_stamp: int | None
    """nanoseconds, of the oldest transform from TF; None where none was used, or static ones only"""
    newest_stamp: int | None
    """nanoseconds, of the newest of all these; None where there is none"""


@dataclass(frozen=True)
class Rest:
    """What was measured of many states that are given in part, and how fresh it is."""

    frame: str
    """of the answers"""
    joint_stamp: int | None
    """as in `State`"""
    transform_stamp: int | None
    """as in `State`"""
    newest_stamp: int | None
    """as in `State`"""
    positions: Mapping[str, float]
    """of the joints left out, rad or m"""
    base_poses: Mapping[str, np.ndarray]
    """root_from_link of the links left out, shape (4, 4)"""
    root_from_given: np.ndarray | None
    """pose of the frame in which poses are given, shape (4, 4); None: the root's own"""
    frame_from_root: np.ndarray | None
    """shape (4, 4); None: the frame is that of the root"""


class Measurements(Part):
    """Listens to joint states and transforms, and makes states of them; from `configure` on."""

    parameters = (
        text("frame", "", "Frame of all answers; empty: the root link of the robot. Another frame needs TF"),
        text("frame_prefix", "", "What the frames of the robot's links begin with on TF, as of robot_state_publisher"),
        number("stale_timeout", 1.0, 0.0, 1e6, "[s] A state older, or so far ahead, is stale; 0: never", least=1e-3),
    )

    def __init__(self, common: Common) -> None:
        super().__init__(common)
        self._joints = JointPositions()
        self._transforms: TransformSource | None = None
        self._jumps: JumpHandle | None = None

    def configure(self) -> None:
        """Begin to listen."""
        node = self.node
        self._joints = JointPositions(node.resolve_topic_name("joint_states"))
        self._transforms = transform_source(node, self._refuse)
        listen(node, JointState, "joint_states", self._take_joint_states, qos_profile_sensor_data)
        back = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True)
        self._jumps = node.get_clock().create_jump_callback(back, post_callback=lambda _jump: self._forget_future())

    def clean_up(self) -> None:
        """Forget what was measured."""
        self._joints = JointPositions()
        self._transforms = None
        if self._jumps is not None:
            self._jumps.unregister()
        self._jumps = None

    @property
    def joints(self) -> JointPositions:
        """The joint positions heard of."""
        return self._joints

    @property
    def transforms(self) -> TransformSource:
        """The frames that TF knows."""
        return self._transforms

    @property
    def prefix(self) -> str:
        """What the frames of the robot's links begin with on TF."""
        return str(self.value("frame_prefix"))

    def surroundings(
        self, robot: Robot | None, frame_ids: Iterable[str], link_poses: Mapping[str, np.ndarray] | None = None
    ) -> Surroundings:
        """Return where everything is now, for what is given in these frames, so that any thread can read it.

        Parameters
        ----------
        robot
            None: there is nothing that anything could be given in.
        frame_ids
            As headers name them.
        link_poses
            Of all links in some common frame; None: as measured.
        """
        prefix = self.prefix
        if robot is None:
            return Surroundings(None, {}, {}, prefix)
        poses: Mapping[str, np.ndarray] | InputError
        try:
            poses = self.state(robot).link_poses if link_poses is None else link_poses
        except InputError as error:
            poses = error
        links, root = set(robot.links), prefix + robot.root
        transforms: dict[str, np.ndarray | InputError] = {}
        for frame in {name.removeprefix("/") for name in frame_ids}:
            if frame and frame not in links and frame.removeprefix(prefix) not in links:
                try:
                    transforms[frame] = self._transforms.lookup(root, frame).target_from_source
                except InputError as error:
                    transforms[frame] = error
        return Surroundings(robot, poses, transforms, prefix)

    def state(
        self,
        robot: Robot,
        joint_names: Sequence[str] = (),
        joint_positions: Sequence[float] = (),
        base_poses: Sequence[TransformStamped] = (),
    ) -> State:
        """Return the measured state, with whatever a request gives in its place.

        Parameters
        ----------
        robot
            The robot.
        joint_names, joint_positions
            Joint positions [rad] or [m] that replace measured ones.
        base_poses
            Poses of links on floating joints that replace those of TF.

        Raises
        ------
        InputError
            If the request makes no sense, or something it leaves out was not measured.
        """
        given = joints_given(robot, joint_names, joint_positions)
        left_out = [joint for joint in robot.joint_names if joint not in given]
        measured, joint_stamp = self._joints.of(left_out)
        prefix = self.prefix
        root = prefix + robot.root
        poses, used = {}, []
        for stamped in base_poses:
            link, frame = stamped.child_frame_id, stamped.header.frame_id or root
            if link not in robot.base_links:
                link = link.removeprefix(prefix)
            if link not in robot.base_links:
                raise InputError(
                    f"request: base_poses names link '{link}', which hangs on no floating joint; "
                    f"links that do: {listing(robot.base_links)}"
                )
            if link in poses:
                raise InputError(f"request: base pose of link '{link}' is given twice")
            poses[link] = from_transform(stamped.transform, f"request: base pose of link '{link}'")
            if frame != root:
                root_from_frame = self._transforms.lookup(root, frame)
                poses[link] = root_from_frame.target_from_source @ poses[link]
                used.append(root_from_frame)
        for link in robot.base_links:
            if link not in poses:
                root_from_link = self._transforms.lookup(root, prefix + link)
                poses[link] = root_from_link.target_from_source
                used.append(root_from_link)
        frame, frame_from_root = str(self.value("frame")) or root, None
        if frame != root:
            transform = self._transforms.lookup(frame, root)
            frame_from_root = transform.target_from_source
            used.append(transform)
        link_poses = poses_of_links(robot, {**measured, **given}, poses, frame_from_root)
        return State(frame, link_poses, joint_stamp, *self._stamps(left_out, used))

    def _stamps(self, joints: Sequence[str], used: Sequence[StampedTransform]) -> tuple[int | None, int | None]:
        """Return the oldest stamp of transforms, and the newest of these and of joint positions."""
        oldest = min((one.stamp for one in used if one.stamp is not None), default=None)
        newest = [one.newest for one in used] + [self._joints.newest(joints)]
        return oldest, max((stamp for stamp in newest if stamp is not None), default=None)

    def rest(self, robot: Robot, joints: Container[str], links: Container[str], frame: str) -> Rest:
        """Return what a request about many states leaves out.

        Parameters
        ----------
        robot
            The robot.
        joints, links
            The joints, and links on floating joints, whose positions and poses are given.
        frame
            The frame in which poses are given; empty: the root link's.

        Raises
        ------
        InputError
            If something was not measured, or the frame is unknown.
        """
        left_out = [joint for joint in robot.joint_names if joint not in joints]
        positions, joint_stamp = self._joints.of(left_out)
        used: list[StampedTransform] = []

        def where(target: str, source: str) -> np.ndarray | None:
            """Return target_from_source, None for one and the same."""
            if source == target:
                return None
            found = self._transforms.lookup(target, source)
            used.append(found)
            return found.target_from_source

        prefix = self.prefix
        root = prefix + robot.root
        poses = {link: where(root, prefix + link) for link in robot.base_links if link not in links}
        root_from_given = where(root, frame or root)
        wanted = str(self.value("frame")) or root
        wanted_from_root = where(wanted, root)
        stamps = self._stamps(left_out, used)
        return Rest(wanted, joint_stamp, *stamps, positions, poses, root_from_given, wanted_from_root)

    def fill_freshness(self, message: DistanceArray | GetDistances.Response, state: State | Rest) -> str:
        """Write a state's frame, stamp and age into an answer about it; return why it is stale, if it is."""
        now = self._now()
        stamps = [stamp for stamp in (state.joint_stamp, state.transform_stamp) if stamp is not None]
        message.header.frame_id = state.frame
        message.header.stamp = to_time(min(stamps, default=now))
        if state.joint_stamp is not None:
            message.uses_joint_states = True
            message.joint_state_age = (now - state.joint_stamp) / NANOSECONDS
        if state.transform_stamp is not None:
            message.uses_transforms = True
            message.base_pose_age = (now - state.transform_stamp) / NANOSECONDS
        timeout = float(self.value("stale_timeout"))
        age, ahead = max(message.joint_state_age, message.base_pose_age), 0.0
        if state.newest_stamp is not None:
            ahead = (state.newest_stamp - now) / NANOSECONDS
        message.stale = 0.0 < timeout < max(age, ahead)
        if not message.stale:
            return ""
        return f"state is {age:.1f} s old" if age > timeout else f"state bears a time {ahead:.1f} s in the future"

    def _now(self) -> int:
        return self.node.get_clock().now().nanoseconds

    def _forget_future(self) -> None:
        """After a jump back in time, as of a simulation that begins again: forget what is not measured yet."""
        forgotten = self._joints.forget_after(self._now())
        if self._transforms is not None:
            forgotten += self._transforms.forget_after(self._now())
        if forgotten:
            self.node.get_logger().warning(
                f"time jumped back: {forgotten} joint positions and transforms of later are forgotten"
            )

    def _take_joint_states(self, message: JointState) -> None:
        try:
            stamp = stamp_of(message.header.stamp, "joint states") or self._now()
            self._joints.update(message.name, message.position, stamp, self._now())
        except InputError as error:
            self._refuse("joint_states", error)

    def _refuse(self, topic: str, error: Exception) -> None:
        self.log.error(topic, f"{topic}: ignored: {reason_of(error)}")
        self.statistics.message(topic, error)
