# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Node `sweep_player`: replays a motion as joint states and transforms: the grasp sweep of the hands, or a bite.

It plays by itself at a set rate, or frame by frame when a client asks (parameter `paused`, service
`~/play_frame`). docs/reference/ros.md describes topics, services and parameters for users.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import yaml
from builtin_interfaces.msg import Time
from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_system_default
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import String, UInt32
from superovoid_interfaces.srv import PlayFrame
from tf2_msgs.msg import TFMessage

from superovoid_ros.motions.arm_sweep import FILE as ARMS_FILE
from superovoid_ros.motions.arm_sweep import ArmSweep
from superovoid_ros.motions.recorded import Motion
from superovoid_ros.motions.replays import REPLAYS, Replay
from superovoid_ros.nodes.common.conversions import NANOSECONDS, to_time, to_transform
from superovoid_ros.nodes.common.main import run
from superovoid_ros.nodes.common.mistakes import InputError
from superovoid_ros.nodes.common.parameters import require_values
from superovoid_ros.resources import share_directory

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)


class SweepPlayer(Node):
    """Publishes one frame of the motion after another."""

    def __init__(self) -> None:
        super().__init__("sweep_player")
        self._declare_parameters()
        require_values(self)
        self._sweep = self._load_sweep()
        self._first, self._last = self._range(
            self.get_parameter("start_frame").value, self.get_parameter("end_frame").value
        )
        self._frame = self._first
        self._finished = False
        self._own_clock = bool(self.get_parameter("publish_clock").value)
        self._simulated = 0  # nanoseconds of the clock that this node publishes

        self._joints_publisher = self.create_publisher(JointState, "joint_states", qos_profile_system_default)
        # Where the joints alone move everything, there is nobody to be told of poses.
        floats = bool(self._sweep.frame(0).base_poses)
        self._transforms_publisher = self.create_publisher(TFMessage, "/tf", 100) if floats else None
        self._frame_publisher = self.create_publisher(UInt32, "~/frame", LATCHED)
        self._clock_publisher = self.create_publisher(ClockMessage, "/clock", 10) if self._own_clock else None
        if self.get_parameter("publish_robot_description").value:
            self._publish_description("robot_description", "urdf_file")
            if self.get_parameter("srdf_file").value:
                self._publish_description("robot_description_semantic", "srdf_file")
        self.create_service(PlayFrame, "~/play_frame", self._play_frame)
        self.add_on_set_parameters_callback(self._check_parameters)
        self.add_post_set_parameters_callback(self._apply_parameters)
        self._timer = None
        self._restart_timer()
        self.get_logger().info(
            f"{self._replay.title}: frames {self._first} to {self._last} of {len(self._sweep)}, "
            + ("paused" if self.get_parameter("paused").value else f"{self._rate():g} frames a second")
        )

    # --- Parameters ---

    def _declare_parameters(self) -> None:
        share = share_directory()

        def fixed(name: str, default: object, description: str) -> None:
            descriptor = ParameterDescriptor(description=description, read_only=True)
            self.declare_parameter(name, default, descriptor)

        def switch(name: str, description: str) -> None:
            self.declare_parameter(name, False, ParameterDescriptor(description=description))

        def frame_number(name: str, default: int, low: int, description: str) -> None:
            bounds = [IntegerRange(from_value=low, to_value=2**31 - 1, step=1)]
            self.declare_parameter(name, default, ParameterDescriptor(description=description, integer_range=bounds))

        fixed("motion", "hands", "What is played: the hands, the hands moved by torso and arms, or the teeth")
        self._replay = self._chosen()
        fixed("config_file", str(share / "config" / self._replay.config), "YAML file with the motion's figures")
        fixed("arms_file", str(share / "config" / ARMS_FILE), "YAML file with the positions of torso and arms")
        fixed("root_frame", "world", "Frame that poses are published in: root link of the URDF")
        fixed("publish_clock", False, "Publish /clock: simulated time, one frame after another at the set rate")
        fixed(
            "publish_robot_description",
            False,
            "Publish URDF and SRDF, latched, where no robot_state_publisher does",
        )
        robot = self._replay.robot
        fixed("urdf_file", str(share / "urdf" / f"{robot}.urdf"), "URDF to publish")
        srdf = share / "config" / f"{robot}.srdf"
        fixed("srdf_file", str(srdf) if srdf.is_file() else "", "SRDF to publish; empty: none")
        self.declare_parameter(
            "rate",
            30.0,
            ParameterDescriptor(
                description="[Hz] Frames a second",
                floating_point_range=[FloatingPointRange(from_value=0.1, to_value=1000.0)],
            ),
        )
        switch("loop", "Begin again after the last frame; otherwise the last frame is held")
        switch("paused", "Publish nothing but what ~/play_frame asks for")
        frame_number("start_frame", 0, 0, "First frame to play")
        frame_number("end_frame", -1, -1, "Last frame to play; -1: the last there is")

    def _chosen(self) -> Replay:
        name = self.get_parameter("motion").value
        if name not in REPLAYS:
            raise InputError(f"motion = '{name}': must be one of {', '.join(REPLAYS)}")
        return REPLAYS[name]

    def _load_sweep(self) -> Motion | ArmSweep:
        parameter = "config_file"
        path = Path(self.get_parameter(parameter).value)
        try:
            motion = self._replay.kind.from_file(path)
            if not self._replay.by_arms:
                return motion
            parameter = "arms_file"
            path = Path(self.get_parameter(parameter).value)
            return ArmSweep.from_file(path, motion)
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise InputError(f"{parameter} = '{path}': {error}") from error

    def _range(self, start: int, end: int) -> tuple[int, int]:
        """Return the first and last frame to play, both in the sweep and in this order."""
        count = len(self._sweep)
        last = count - 1 if end == -1 else end
        if not 0 <= start <= last < count:
            raise InputError(f"start_frame = {start}, end_frame = {end}: must be in order and within 0 to {count - 1}")
        return start, last

    def _check_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        new = {parameter.name: parameter.value for parameter in parameters}
        start, end = (new.get(name, self.get_parameter(name).value) for name in ("start_frame", "end_frame"))
        rate = new.get("rate", self._rate())
        try:
            self._range(start, end)
            if not rate > 0.0:  # NaN is outside no range
                raise InputError(f"rate = {rate}: must be positive")
        except InputError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _apply_parameters(self, parameters: list[Parameter]) -> None:
        names = {parameter.name for parameter in parameters}
        if names & {"start_frame", "end_frame"}:
            self._first, self._last = self._range(
                self.get_parameter("start_frame").value, self.get_parameter("end_frame").value
            )
            self._frame, self._finished = self._first, False
        if names & {"rate", "paused"}:
            self._restart_timer()

    def _rate(self) -> float:
        return float(self.get_parameter("rate").value)

    # --- Playing ---

    def _restart_timer(self) -> None:
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None
        if not self.get_parameter("paused").value:
            # Paced by the machine's steady clock: the node's own may be the one that it drives.
            steady = Clock(clock_type=ClockType.STEADY_TIME)
            self._timer = self.create_timer(1.0 / self._rate(), self._play, clock=steady)

    def _play(self) -> None:
        """Publish the frame that is due."""
        self._publish_frame(self._frame)
        if self._frame < self._last:
            self._frame += 1
        elif self.get_parameter("loop").value:
            self._frame = self._first
        elif not self._finished:
            self._finished = True
            self.get_logger().info(f"finished, holding frame {self._last}")

    def _play_frame(self, request: PlayFrame.Request, response: PlayFrame.Response) -> PlayFrame.Response:
        response.frames = len(self._sweep)
        if request.frame >= len(self._sweep):
            response.message = f"request: frame = {request.frame}: must be in 0 to {len(self._sweep) - 1}"
            return response
        response.stamp = self._publish_frame(request.frame)
        self._frame, self._finished = request.frame, False
        response.success = True
        response.message = f"frame {request.frame} of {len(self._sweep)}"
        return response

    def _publish_frame(self, index: int) -> Time:
        """Publish joint states, transforms and number of one frame; return their stamp."""
        frame = self._sweep.frame(index)
        stamp = self._next_stamp()
        joints = JointState(name=list(frame.positions), position=[float(q) for q in frame.positions.values()])
        joints.header.stamp = stamp
        if self._transforms_publisher is not None:
            root = self.get_parameter("root_frame").value
            poses = [to_transform(root, link, pose, stamp) for link, pose in frame.base_poses.items()]
            self._transforms_publisher.publish(TFMessage(transforms=poses))
        self._joints_publisher.publish(joints)
        self._frame_publisher.publish(UInt32(data=index))
        return stamp

    def _next_stamp(self) -> Time:
        """Return the stamp of the next frame, having told it to everyone where this node makes the time."""
        if self._clock_publisher is None:
            return self.get_clock().now().to_msg()
        self._simulated += round(NANOSECONDS / self._rate())
        stamp = to_time(self._simulated)
        self._clock_publisher.publish(ClockMessage(clock=stamp))
        return stamp

    def _publish_description(self, topic: str, parameter: str) -> None:
        path = Path(self.get_parameter(parameter).value)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{parameter} = '{path}': {error}") from error
        self.create_publisher(String, topic, LATCHED).publish(String(data=text))


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until Ctrl-C."""
    return run(SweepPlayer, args)
