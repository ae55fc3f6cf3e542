"""The measured state of the robot, from joint states and TF, and the state that a request describes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from geometry_msgs.msg import TransformStamped
from rclpy.qos import qos_profile_sensor_data
from rclpy.qos_overriding_options import QoSOverridingOptions
from sensor_msgs.msg import JointState
from superovoid_interfaces.msg import DistanceArray

from superovoid_ros.nodes.conversions import NANOSECONDS, from_transform, to_nanoseconds, to_time
from superovoid_ros.nodes.errors import LOG_PERIOD, InputError, listing
from superovoid_ros.nodes.joints import JointPositions
from superovoid_ros.nodes.model import Model
from superovoid_ros.nodes.parameters import number, text
from superovoid_ros.nodes.part import Part
from superovoid_ros.nodes.transforms import TransformSource, transform_source

if TYPE_CHECKING:
    from superovoid_ros.nodes.distance_service import DistanceService


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


class Measurements(Part):
    """Listens to joint states and transforms, and makes states of them; from `configure` on."""

    parameters = (
        text("frame", "", "Frame of all answers; empty: the root link of the robot. Another frame needs TF"),
        number("stale_timeout", 1.0, 0.0, 1e6, "[s] A state older than this is reported as stale; 0: never"),
    )

    def __init__(self) -> None:
        self._joints = JointPositions()
        self._transforms: TransformSource | None = None

    def configure(self, node: DistanceService) -> None:
        """Begin to listen."""
        self._transforms = transform_source(node)
        node.create_subscription(
            JointState,
            "joint_states",
            self._take_joint_states,
            qos_profile_sensor_data,
            qos_overriding_options=QoSOverridingOptions.with_default_policies(),
        )

    def clean_up(self) -> None:
        """Forget what was measured."""
        self._joints = JointPositions()
        self._transforms = None

    @property
    def joints(self) -> JointPositions:
        """The joint positions heard of."""
        return self._joints

    @property
    def transforms(self) -> TransformSource:
        """The frames that TF knows."""
        return self._transforms

    def state(
        self,
        model: Model,
        joint_names: Sequence[str] = (),
        joint_positions: Sequence[float] = (),
        base_poses: Sequence[TransformStamped] = (),
    ) -> State:
        """Return the measured state, with whatever a request gives in its place.

        Parameters
        ----------
        model
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
        robot = model.robot
        given = model.check_joints(joint_names, joint_positions)
        measured, joint_stamp = self._joints.of(joint for joint in robot.joint_names if joint not in given)
        poses, transform_stamps = {}, []
        for stamped in base_poses:
            link, frame = stamped.child_frame_id, stamped.header.frame_id or robot.root
            if link not in robot.base_links:
                raise InputError(
                    f"request: base_poses names link '{link}', which hangs on no floating joint; "
                    f"links that do: {listing(robot.base_links)}"
                )
            if link in poses:
                raise InputError(f"request: base pose of link '{link}' is given twice")
            poses[link] = from_transform(stamped.transform, f"request: base pose of link '{link}'")
            if frame != robot.root:
                root_from_frame = self._transforms.lookup(robot.root, frame)
                poses[link] = root_from_frame.target_from_source @ poses[link]
                transform_stamps.append(root_from_frame.stamp)
        for link in robot.base_links:
            if link not in poses:
                root_from_link = self._transforms.lookup(robot.root, link)
                poses[link] = root_from_link.target_from_source
                transform_stamps.append(root_from_link.stamp)
        frame, frame_from_root = str(self.node.value("frame")) or robot.root, None
        if frame != robot.root:
            transform = self._transforms.lookup(frame, robot.root)
            frame_from_root = transform.target_from_source
            transform_stamps.append(transform.stamp)
        stamps = [stamp for stamp in transform_stamps if stamp is not None]
        return State(
            frame,
            model.complete(given, measured, poses, frame_from_root),
            joint_stamp,
            min(stamps, default=None),
        )

    def fill_freshness(self, message: DistanceArray, state: State) -> None:
        """Write a state's frame, stamp and age into an answer about it."""
        now = self.node.get_clock().now().nanoseconds
        stamps = [stamp for stamp in (state.joint_stamp, state.transform_stamp) if stamp is not None]
        message.header.frame_id = state.frame
        message.header.stamp = to_time(min(stamps, default=now))
        if state.joint_stamp is not None:
            message.uses_joint_states = True
            message.joint_state_age = (now - state.joint_stamp) / NANOSECONDS
        if state.transform_stamp is not None:
            message.uses_transforms = True
            message.base_pose_age = (now - state.transform_stamp) / NANOSECONDS
        timeout = float(self.node.value("stale_timeout"))
        message.stale = 0.0 < timeout < max(message.joint_state_age, message.base_pose_age)

    def _take_joint_states(self, message: JointState) -> None:
        stamp = to_nanoseconds(message.header.stamp) or self.node.get_clock().now().nanoseconds
        try:
            self._joints.update(message.name, message.position, stamp)
        except InputError as error:
            self.node.get_logger().error(f"ignored: {error}", throttle_duration_sec=LOG_PERIOD)
