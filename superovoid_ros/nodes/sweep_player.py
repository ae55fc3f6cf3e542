# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Node `sweep_player`: replays a motion of this package, or one in a CSV file, as joint states and transforms.

ros2 run superovoid_ros sweep_player --ros-args -p motion_file:=path.csv -p rate:=50.0

It plays at the rate of its parameter, or one frame for each call of `~/play_frame` (parameter `paused`).
docs/reference/ros.md documents topics, services and parameters for users.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from builtin_interfaces.msg import Time
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import qos_profile_system_default
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import String, UInt32
from superovoid_interfaces.srv import PlayFrame
from tf2_msgs.msg import TFMessage

from superovoid_ros.motions.joint_table import JointTable
from superovoid_ros.motions.recorded import Motion
from superovoid_ros.motions.replays import REPLAYS
from superovoid_ros.nodes.common.conversions import NANOSECONDS, to_time, to_transform
from superovoid_ros.nodes.common.endpoints import LATCHED
from superovoid_ros.nodes.common.main import run
from superovoid_ros.nodes.common.mistakes import InputError, refusals
from superovoid_ros.nodes.common.parameters import Parameters, choice, number, switch, text
from superovoid_ros.resources import robot_documents


class SweepPlayer(Node):
    """Node that publishes the frames of a motion one after another."""

    def __init__(self) -> None:
        super().__init__("sweep_player")
        self._declared = Parameters(self)
        self._declare_parameters()
        self._sweep, title, documents = self._motion()
        self._frame = 0
        self._finished = False
        self._own_clock = bool(self._declared.value("publish_clock"))
        self._simulated = 0  # time on /clock if this node publishes it, ns

        self._joints_publisher = self.create_publisher(JointState, "joint_states", qos_profile_system_default)
        # If the joints alone move everything, no poses are published.
        floats = bool(self._sweep.frame(0).base_poses)
        self._transforms_publisher = self.create_publisher(TFMessage, "/tf", 100) if floats else None
        self._frame_publisher = self.create_publisher(UInt32, "~/frame", LATCHED)
        self._clock_publisher = self.create_publisher(ClockMessage, "/clock", 10) if self._own_clock else None
        if self._declared.value("publish_robot_description"):
            topics = ("robot_description", "robot_description_semantic")
            for topic, document in zip(topics, documents, strict=True):
                if document:
                    self.create_publisher(String, topic, LATCHED).publish(String(data=document))
        self.create_service(PlayFrame, "~/play_frame", self._play_frame)
        self.add_on_set_parameters_callback(self._check_parameters)
        self.add_post_set_parameters_callback(self._apply_parameters)
        self._timer = None
        self._restart_timer()
        self.get_logger().info(
            f"{title}: {len(self._sweep)} frames, "
            + ("paused" if self._declared.value("paused") else f"{self._rate():g} frames a second")
        )

    # --- Parameters ---

    def _declare_parameters(self) -> None:
        motions = "Motion to play: the hands, the hands moved by torso and arms, or the teeth"
        file = "CSV file of a motion to play instead: columns JOINT_rad or JOINT_m, a row for each frame"
        description = "Publish URDF and SRDF, latched, for systems without a robot_state_publisher"
        clock = "Publish /clock: simulated time, one frame after another at the set rate"
        self._declared.declare(
            (
                choice("motion", "hands", tuple(REPLAYS), motions, read_only=True),
                text("motion_file", "", file, read_only=True),
                switch("publish_clock", clock, default=False, read_only=True),
                switch("publish_robot_description", description, default=False, read_only=True),
                number("rate", 30.0, 0.1, 1000.0, "[Hz] Frames per second"),
                switch("loop", "Begin again after the last frame; false: hold the last frame", default=False),
                switch("paused", "Publish only the frames that ~/play_frame requests", default=False),
            )
        )

    def _motion(self) -> tuple[Motion, str, tuple[str, str]]:
        """Return the motion, its title, and URDF and SRDF of its robot; raise `InputError` if it cannot be read."""
        path = Path(self._declared.value("motion_file"))
        if path.name:
            if self._declared.value("publish_robot_description"):
                raise InputError("publish_robot_description: must be false with motion_file, which names no robot")
            with refusals("motion_file"):
                return JointTable.from_file(path), path.name, ("", "")
        replay = REPLAYS[self._declared.value("motion")]
        return replay.motion(), replay.title, robot_documents(replay.robot)

    def _check_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        try:
            self._declared.check(parameters)
        except InputError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _apply_parameters(self, parameters: list[Parameter]) -> None:
        if {parameter.name for parameter in parameters} & {"rate", "paused"}:
            self._restart_timer()

    def _rate(self) -> float:
        return float(self._declared.value("rate"))

    # --- Playing ---

    def _restart_timer(self) -> None:
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None
        if not self._declared.value("paused"):
            # Use the machine's steady clock, since this node may drive the ROS clock itself.
            steady = Clock(clock_type=ClockType.STEADY_TIME)
            self._timer = self.create_timer(1.0 / self._rate(), self._play, clock=steady)

    def _play(self) -> None:
        """Publish the next frame."""
        self._publish_frame(self._frame)
        last = len(self._sweep) - 1
        if self._frame < last:
            self._frame += 1
        elif self._declared.value("loop"):
            self._frame = 0
        elif not self._finished:
            self._finished = True
            self.get_logger().info(f"finished, holding frame {last}")

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
        """Publish joint states, transforms and index of one frame; return their stamp."""
        frame = self._sweep.frame(index)
        stamp = self._next_stamp()
        joints = JointState(name=list(frame.positions), position=[float(q) for q in frame.positions.values()])
        joints.header.stamp = stamp
        if self._transforms_publisher is not None:
            poses = [to_transform("world", link, pose, stamp) for link, pose in frame.base_poses.items()]
            self._transforms_publisher.publish(TFMessage(transforms=poses))
        self._joints_publisher.publish(joints)
        self._frame_publisher.publish(UInt32(data=index))
        return stamp

    def _next_stamp(self) -> Time:
        """Return the stamp of the next frame; publish it on /clock if this node provides the clock."""
        if self._clock_publisher is None:
            return self.get_clock().now().to_msg()
        self._simulated += round(NANOSECONDS / self._rate())
        stamp = to_time(self._simulated)
        self._clock_publisher.publish(ClockMessage(clock=stamp))
        return stamp


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until Ctrl-C."""
    return run(SweepPlayer, args)


if __name__ == "__main__":
    raise SystemExit(main())
