# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Joint states and TF, as they are received.

tf2_ros is not used: its buffer interpolates at the newest time at which all transforms of a chain are known, so one
slow sender makes a pose as old as that sender's last message; and it cannot be copied, which a message that is read
later needs (`Measurements.moment`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from functools import partial

import numpy as np
from geometry_msgs.msg import TransformStamped
from rclpy.clock import JumpHandle, JumpThreshold
from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from superovoid_interfaces.msg import Clearance, DistanceArray
from superovoid_interfaces.srv import GetDistances
from tf2_msgs.msg import TFMessage

from superovoid.robot import Robot
from superovoid_ros.nodes.common.conversions import NANOSECONDS, from_transform, stamp_of, to_time
from superovoid_ros.nodes.common.mistakes import Code, InputError, check_name, listing
from superovoid_ros.nodes.common.parameters import choice, number, text
from superovoid_ros.nodes.distance_service.part import Common, Part
from superovoid_ros.nodes.distance_service.robot_state.latest import TransformTree
from superovoid_ros.nodes.distance_service.robot_state.measured import UNMEASURED, Joints, Measured, States

# Messages wait until the node uses them: those of several fast senders must not displace those of a slow one.
JOINT_STATES = QoSProfile(depth=500, reliability=ReliabilityPolicy.BEST_EFFORT)
STATIC_TRANSFORMS = QoSProfile(
    depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE
)


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


def store_transform(tree: TransformTree, stamped: TransformStamped, *, static: bool, now: float = math.inf) -> None:
    """Store a transform of /tf or, if it is static, of /tf_static, unless it is old; `now` is the time, ns."""
    parent, child = stamped.header.frame_id.lstrip("/"), stamped.child_frame_id.lstrip("/")
    for frame in (parent, child):
        check_name(frame, "the name of a frame")
    what = f"transform from '{child}' to '{parent}'"
    if not parent or not child or parent == child:
        raise InputError(f"{what}: must name two different frames")
    stamp = stamp_of(stamped.header.stamp, what)
    pose = from_transform(stamped.transform, what)
    tree.put([(child, (parent, pose))], None if static else stamp, now)


def own_frames(name: str) -> str:
    """Return the prefix of the frames that a node, given by its full name, publishes for its markers."""
    return name.lstrip("/") + "/"


class Measurements(Part, Measured):
    """Part that receives joint states and transforms from `configure` on."""

    parameters = (
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
            "Requests that need a joint without a measurement: refuse them, or answer as move_group does, with 0 "
            "or, if that is outside its limits, their middle",
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
        Measured.__init__(self, common.parameter, Joints(), TransformTree())
        self._jumps: JumpHandle | None = None
        self._take_arrived: Callable[[], None] = lambda: None
        self.is_followed: Callable[[], bool] = lambda: False
        """Returns whether every message with joint states wakes the node."""
        self.joints_changed: Callable[[], None] = lambda: None
        """Called after messages with joint states that woke the node."""

    def configure(self) -> None:
        """Subscribe to joint states and transforms."""
        node = self.node
        self.topic = node.resolve_topic_name("joint_states")
        # With the settings of tf2_ros.TransformListener, so that every broadcaster matches.
        for topic, qos in (("/tf", 100), ("/tf_static", STATIC_TRANSFORMS)):
            self.endpoints.listen(TFMessage, topic, partial(self._take_transforms, topic), qos)
        self._take_arrived = self.endpoints.listen(
            JointState,
            "joint_states",
            self._take_joint_states,
            JOINT_STATES,
            wakes=lambda: self.is_followed(),
            changed=lambda: self.joints_changed(),
        )
        back = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True)
        self._jumps = node.get_clock().create_jump_callback(back, post_callback=lambda _jump: self._forget_future())

    def clean_up(self) -> None:
        """Discard all measurements."""
        Measured.__init__(self, self.parameter, Joints(), TransformTree())
        self._take_arrived = lambda: None
        if self._jumps is not None:
            self._jumps.unregister()
        self._jumps = None

    def positions(self, robot: Robot, names: Collection[str]) -> tuple[dict[str, float], list[int]]:
        """Return positions of joints, after taking the messages that have arrived."""
        if names and not self.is_followed():  # otherwise the executor takes each message
            self._take_arrived()
        return super().positions(robot, names)

    def moment(self) -> Measured:
        """Return what was measured until now, which later messages do not change; may be called from any thread."""
        if not self.is_followed():
            self._take_arrived()
        return Measured(self.parameter, self.joints.copy(), self.transforms.copy(), self.topic)

    def velocities(self, robot: Robot, state: States) -> np.ndarray:
        """Return the measured velocities of `Robot.joint_names`, rad/s or m/s.

        Raises
        ------
        InputError
            If a joint's velocity is not measured, or the robot has moving bases, whose velocities TF does not contain.
        """
        if robot.base_links and state.transform_stamp is not None:
            raise InputError(f"no velocity of {listing(robot.base_links)}: TF contains only poses", Code.NOT_MEASURED)
        names = robot.joint_names
        with self.joints.lock:
            found = {name: self.joints.latest[name][0][1] for name in names if name in self.joints.latest}
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
        stamps = (*state.joint_stamps, *state.transform_stamps)
        if not stamps:
            return ""
        timeout, now = float(self.parameter("stale_timeout")), self._clock_time()
        age, ahead = (now - min(stamps)) / NANOSECONDS, (max(stamps) - now) / NANOSECONDS
        if not 0.0 < timeout < max(age, ahead):
            return ""
        return f"state is {age:.1f} s old" if age > timeout else f"state is stamped {ahead:.1f} s in the future"

    def _clock_time(self) -> int:
        return self.node.get_clock().now().nanoseconds

    def _forget_future(self) -> None:
        """After a jump back in time, as at a restart of a simulation, forget measurements stamped in the future."""
        self._take_arrived()  # otherwise those not read yet would count as measured when time reaches their stamp
        forgotten = self.joints.forget_after(self._clock_time()) + self.transforms.forget_after(self._clock_time())
        if forgotten:
            self.node.get_logger().warning(
                f"time jumped back: {forgotten} later joint positions and transforms are dropped"
            )

    def _take_joint_states(self, message: JointState) -> None:
        try:
            store_joint_states(self.joints, message, self._clock_time())
        except InputError as error:
            self.report_failure("joint_states", error)

    def _take_transforms(self, topic: str, message: TFMessage) -> None:
        """Store the transforms of a message, unless this node publishes them itself."""
        own, now = own_frames(self.node.get_fully_qualified_name()), self._clock_time()
        if message.transforms and message.transforms[0].child_frame_id.startswith(own):
            return
        for stamped in message.transforms:
            try:
                store_transform(self.transforms, stamped, static=topic == "/tf_static", now=now)
            except Exception as error:  # only one transform is invalid; the others are used
                self.report_failure(topic, error)
