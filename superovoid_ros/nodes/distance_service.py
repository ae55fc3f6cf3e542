"""Node `distance_service`: minimum distances and penetrations of a robot, as services, topic and markers.

The way of the data: robot description -> `Model`; joint states, TF and requests -> `State`; scene query ->
messages. docs/ros.md describes topics, services, parameters and errors for users.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from geometry_msgs.msg import TransformStamped
from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    ParameterType,
    SetParametersResult,
)
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from rclpy.qos_overriding_options import QoSOverridingOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from superovoid_interfaces.msg import DistanceArray
from superovoid_interfaces.srv import GetMinDistance, GetPenetration
from visualization_msgs.msg import MarkerArray

from superovoid_ros.nodes.conversions import (
    NANOSECONDS,
    fill_pairs,
    from_transform,
    to_nanoseconds,
    to_time,
)
from superovoid_ros.nodes.errors import InputError, listing, reason_of
from superovoid_ros.nodes.joints import JointPositions
from superovoid_ros.nodes.markers import MarkerOptions, SceneMarkers
from superovoid_ros.nodes.model import Description, Model, Selection, split_pair, warm_up
from superovoid_ros.nodes.process import run
from superovoid_ros.nodes.transforms import transform_source
from superovoid_ros.robot import REPRESENTATIONS
from superovoid_ros.scene import Scene, SceneResult

MODEL_PARAMETERS = {"robot_description", "robot_description_semantic", "representation", "tolerance"}
# A message that repeats (no joint states, no transform) is logged at most this often [s].
LOG_PERIOD = 5.0
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)


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


class DistanceService(Node):
    """Answers distance questions about a robot, and publishes distances and markers at a set rate."""

    def __init__(self) -> None:
        super().__init__("distance_service")
        self._model: Model | None = None
        self._model_problem = ""
        self._proposed_model: Model | None = None
        self._topic_text = {"robot_description": "", "robot_description_semantic": ""}
        self._joints = JointPositions()
        self._watched: Selection | None = None
        self._markers: SceneMarkers | None = None
        self._timer = None
        self._idle_until = 0.0

        self._declare_parameters()
        # Before anybody can ask: the very first start compiles for a while, and no caller is to wait for that.
        self.get_logger().debug(f"engine ready after {warm_up():.1f} s")
        self.add_on_set_parameters_callback(self._check_parameters)
        self.add_post_set_parameters_callback(self._apply_parameters)

        self._distances_publisher = self.create_publisher(DistanceArray, "~/distances", 10)
        self._markers_publisher = self.create_publisher(
            MarkerArray,
            "~/markers",
            10,
            event_callbacks=PublisherEventCallbacks(matched=lambda _status: self._resend_markers()),
        )
        self._transforms = transform_source(self)
        for topic in self._topic_text:
            self.create_subscription(String, topic, self._description_callback(topic), LATCHED)
        self.create_subscription(
            JointState,
            "joint_states",
            self._take_joint_states,
            qos_profile_sensor_data,
            qos_overriding_options=QoSOverridingOptions.with_default_policies(),
        )
        self._load_model()
        self.create_service(GetMinDistance, "~/get_min_distance", self._get_min_distance)
        self.create_service(GetPenetration, "~/get_penetration", self._get_penetration)
        self._restart_timer()

    # --- Parameters ---

    def _declare_parameters(self) -> None:
        """Declare every parameter with its description and, for numbers, its range."""

        def text(name: str, default: str, description: str, constraints: str = "") -> None:
            descriptor = ParameterDescriptor(description=description, additional_constraints=constraints)
            self.declare_parameter(name, default, descriptor)

        def number(name: str, default: float, low: float, high: float, description: str) -> None:
            bounds = [FloatingPointRange(from_value=low, to_value=high)]
            descriptor = ParameterDescriptor(description=description, floating_point_range=bounds)
            self.declare_parameter(name, default, descriptor)

        def switch(name: str, description: str) -> None:
            self.declare_parameter(name, True, ParameterDescriptor(description=description))

        text("robot_description", "", "URDF of the robot; empty: taken from topic robot_description")
        text(
            "robot_description_semantic",
            "",
            "SRDF of the robot; empty: taken from topic robot_description_semantic",
        )
        text(
            "representation",
            "mixed",
            "Which contact geometry of the URDF is used",
            f"one of {', '.join(REPRESENTATIONS)}",
        )
        text("frame", "", "Frame of all answers; empty: the root link of the robot. Another frame needs TF")
        number("rate", 20.0, 0.0, 1000.0, "[Hz] How often ~/distances and ~/markers are published; 0: never")
        number("cutoff", 0.05, 0.0, 1e6, "[m] Pairs farther apart are left out of ~/distances; 0: none is")
        number("near_distance", 0.005, 0.0, 1e3, "[m] Pairs at most this far apart are drawn as near")
        number(
            "tolerance",
            1e-9,
            1e-12,
            0.1,
            "Relative width wanted of a certified interval; pairs that miss it have status UNPROVEN",
        )
        number("stale_timeout", 1.0, 0.0, 1e6, "[s] A state older than this is reported as stale; 0: never")
        self.declare_parameter(
            "pairs",
            [""],
            ParameterDescriptor(
                type=ParameterType.PARAMETER_STRING_ARRAY,
                description="Pairs that ~/distances and ~/markers watch, each two names of links or groups; "
                "empty: every allowed pair",
                additional_constraints="entries like 'left_hand right_hand'",
            ),
        )
        switch("markers.bodies", "Draw the bodies")
        switch("markers.points", "Draw the closest points")
        switch("markers.segments", "Draw the segments between closest points")
        switch("markers.normals", "Draw the normals at the closest points")
        switch("markers.text", "Write the distances")
        number("markers.opacity", 0.6, 0.0, 1.0, "Opacity of the bodies")
        number("markers.size", 0.002, 1e-5, 10.0, "[m] Diameter of a closest point; the rest in proportion")
        self.declare_parameter(
            "markers.resolution",
            12,
            ParameterDescriptor(
                description="Facets round a body",
                integer_range=[IntegerRange(from_value=4, to_value=128, step=1)],
            ),
        )
        verdict = self._check_values(list(self.get_parameters_by_prefix("").values()))
        if verdict:
            raise InputError(verdict)

    def _check_values(self, parameters: Sequence[Parameter]) -> str:
        """Return what is wrong with values that their ranges do not catch; empty: nothing."""
        for parameter in parameters:
            name, value = parameter.name, parameter.value
            # NaN is outside no range.
            if isinstance(value, float) and not np.isfinite(value):
                return f"{name} = {value}: must be finite"
            if name == "representation" and value not in REPRESENTATIONS:
                return f"representation = '{value}': must be one of {', '.join(REPRESENTATIONS)}"
            if name == "pairs":
                try:
                    for entry in filter(str.strip, value):
                        split_pair(entry)
                except InputError as error:
                    return str(error)
        return ""

    def _check_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        """Accept or refuse new values before they take effect; a refusal says why."""
        self._proposed_model = None
        reason = self._check_values(parameters)
        new = {parameter.name: parameter.value for parameter in parameters}
        if not reason and new.keys() & MODEL_PARAMETERS:
            description = self._description(new)
            if description.urdf:
                try:
                    self._proposed_model = Model.from_description(description)
                except Exception as error:
                    reason = f"robot not usable: {reason_of(error)}"
        model = self._proposed_model or self._model
        if not reason and "pairs" in new and model is not None:
            try:
                model.watch(new["pairs"])
            except Exception as error:
                reason = f"pairs: {reason_of(error)}"
        return SetParametersResult(successful=not reason, reason=reason)

    def _apply_parameters(self, parameters: list[Parameter]) -> None:
        """Let accepted values take effect."""
        names = {parameter.name for parameter in parameters}
        if names & MODEL_PARAMETERS:
            self._use_model(self._proposed_model, "" if self._proposed_model else self._nothing_received())
            self._proposed_model = None
        if "pairs" in names:
            self._load_watched()
        if any(name.startswith("markers.") for name in names):
            self._markers = None
        if "rate" in names:
            self._restart_timer()

    def _value(self, name: str) -> object:
        return self.get_parameter(name).value

    # --- Robot ---

    def _description(self, new: Mapping[str, object] | None = None) -> Description:
        """Return what the robot is made from: parameters first, topics where those are empty."""
        new = new or {}

        def parameter(name: str) -> object:
            return new.get(name, self._value(name))

        urdf, srdf = (parameter(name).strip() or text for name, text in self._topic_text.items())
        return Description(urdf, srdf, parameter("representation"), parameter("tolerance"))

    def _nothing_received(self) -> str:
        return (
            "no robot: parameter robot_description is empty and nothing came on topic "
            f"'{self.resolve_topic_name('robot_description')}'"
        )

    def _load_model(self) -> None:
        """Read the robot from what is known now; where that fails, remember why and answer so."""
        description = self._description()
        if not description.urdf:
            self._use_model(None, self._nothing_received())
            return
        try:
            self._use_model(Model.from_description(description), "")
        except Exception as error:
            self._use_model(None, f"no robot: {reason_of(error)}")
            self.get_logger().error(self._model_problem)

    def _use_model(self, model: Model | None, problem: str) -> None:
        self._model, self._model_problem = model, problem
        self._markers = None
        if model is None:
            return
        self.get_logger().info(model.describe())
        for warning in model.robot.warnings:
            self.get_logger().warning(warning)
        self._load_watched()

    def _load_watched(self) -> None:
        """Turn the parameter `pairs` into pairs of the current robot."""
        self._watched = None
        if self._model is None:
            return
        try:
            self._watched = self._model.watch(self._value("pairs"))
        except Exception as error:
            reason = reason_of(error)
            self.get_logger().error(f"pairs does not fit this robot, every pair is watched: {reason}")

    def _description_callback(self, topic: str) -> Callable[[String], None]:
        def take(message: String) -> None:
            if message.data == self._topic_text[topic]:
                return
            self._topic_text[topic] = message.data
            if not str(self._value(topic)).strip():
                self._load_model()

        return take

    def _robot_model(self) -> Model:
        if self._model is None:
            raise InputError(self._model_problem)
        return self._model

    # --- State ---

    def _take_joint_states(self, message: JointState) -> None:
        stamp = to_nanoseconds(message.header.stamp) or self.get_clock().now().nanoseconds
        try:
            self._joints.update(message.name, message.position, stamp)
        except InputError as error:
            self.get_logger().error(f"ignored: {error}", throttle_duration_sec=LOG_PERIOD)

    def _state(
        self,
        model: Model,
        joint_names: Sequence[str] = (),
        joint_positions: Sequence[float] = (),
        base_poses: Sequence[TransformStamped] = (),
    ) -> State:
        """Return the measured state, with whatever a request gives in its place."""
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
        frame, frame_from_root = str(self._value("frame")) or robot.root, None
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

    # --- Answers ---

    def _query(
        self, scene: Scene, state: State, selection: Selection, **limits: object
    ) -> tuple[DistanceArray, SceneResult]:
        """Ask the scene about a state, and return the answer as a message and as arrays."""
        message = DistanceArray()
        started = time.perf_counter()
        scene.set_link_poses(state.link_poses)
        result = scene.query(pairs=selection.pairs, **limits)
        message.solve_time = time.perf_counter() - started
        fill_pairs(message, scene, result, selection.links_a, selection.links_b)
        self._fill_freshness(message, state)
        return message, result

    def _fill_freshness(self, message: DistanceArray, state: State) -> None:
        now = self.get_clock().now().nanoseconds
        stamps = [stamp for stamp in (state.joint_stamp, state.transform_stamp) if stamp is not None]
        message.header.frame_id = state.frame
        message.header.stamp = to_time(min(stamps, default=now))
        if state.joint_stamp is not None:
            message.uses_joint_states = True
            message.joint_state_age = (now - state.joint_stamp) / NANOSECONDS
        if state.transform_stamp is not None:
            message.uses_transforms = True
            message.base_pose_age = (now - state.transform_stamp) / NANOSECONDS
        timeout = float(self._value("stale_timeout"))
        message.stale = 0.0 < timeout < max(message.joint_state_age, message.base_pose_age)

    def _answer(
        self,
        request: GetMinDistance.Request | GetPenetration.Request,
        response: GetMinDistance.Response | GetPenetration.Response,
        limits: Callable[[], dict[str, object]],
    ) -> GetMinDistance.Response | GetPenetration.Response:
        """Fill a response; whatever is wrong with the request or the state ends in its message."""
        try:
            chosen_limits = limits()
            model = self._robot_model()
            selection = model.select(request.links_a, request.links_b)
            state = self._state(model, request.joint_names, request.joint_positions, request.base_poses)
            is_live = not request.joint_names and not request.base_poses
            scene = model.live if is_live else model.hypothetical
            response.distances, _ = self._query(scene, state, selection, **chosen_limits)
            response.success = True
            response.message = self._summary(response.distances)
        except Exception as error:
            response.success, response.message = False, reason_of(error)
        return response

    def _get_min_distance(
        self, request: GetMinDistance.Request, response: GetMinDistance.Response
    ) -> GetMinDistance.Response:
        def limits() -> dict[str, object]:
            # Of NaN no comparison holds.
            if not request.max_distance >= 0.0:
                raise InputError(f"request: max_distance = {request.max_distance}: must be positive, or 0 for no limit")
            cutoff = request.max_distance or np.inf
            return {"cutoff": cutoff, "max_results": request.max_results or None}

        return self._answer(request, response, limits)

    def _get_penetration(
        self, request: GetPenetration.Request, response: GetPenetration.Response
    ) -> GetPenetration.Response:
        return self._answer(
            request, response, lambda: {"overlapping_only": True, "max_results": request.max_results or None}
        )

    def _summary(self, distances: DistanceArray) -> str:
        """Return words for an answer, the state's age first where it matters."""
        notes = []
        if distances.stale:
            age = max(distances.joint_state_age, distances.base_pose_age)
            notes.append(f"state is {age:.1f} s old")
        if distances.unproven:
            notes.append(f"{distances.unproven} pairs with status UNPROVEN")
        found = len(distances.pairs)
        considered = distances.pairs_considered
        notes.append(f"{found} of {considered} pairs" if found else f"none of {considered} pairs within the limits")
        return "; ".join(notes)

    # --- Topics ---

    def _restart_timer(self) -> None:
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None
        rate = float(self._value("rate"))
        if rate > 0.0:
            self._timer = self.create_timer(1.0 / rate, self._publish)

    def _publish(self) -> None:
        """Publish distances and markers of the measured state, to whoever listens."""
        wanted = self._distances_publisher.get_subscription_count() > 0
        drawn = self._markers_publisher.get_subscription_count() > 0
        started = time.monotonic()
        if not (wanted or drawn) or started < self._idle_until:
            return
        try:
            self._publish_state(self._robot_model(), wanted, drawn)
        except Exception as error:
            if not self.context.ok():  # told to end while publishing
                raise
            self.get_logger().warning(f"nothing published: {reason_of(error)}", throttle_duration_sec=LOG_PERIOD)
        # At least half of the time belongs to services and measurements, however high the rate is set.
        now = time.monotonic()
        self._idle_until = now + (now - started)

    def _publish_state(self, model: Model, wanted: bool, drawn: bool) -> None:
        state = self._state(model)
        selection = self._watched or model.select((), ())
        cutoff = float(self._value("cutoff")) or np.inf
        message, result = self._query(model.live, state, selection, cutoff=cutoff)
        if message.stale:
            self.get_logger().warning(
                f"stale: joint states are {message.joint_state_age:.1f} s old, "
                f"transforms {message.base_pose_age:.1f} s",
                throttle_duration_sec=LOG_PERIOD,
            )
        if wanted:
            self._distances_publisher.publish(message)
        if drawn:
            if self._markers is None:
                self._markers = SceneMarkers(model.live.bodies, self._marker_options())
            near_distance = float(self._value("near_distance"))
            update = self._markers.update(state.frame, state.link_poses, result, near_distance)
            if update.markers:
                self._markers_publisher.publish(update)

    def _marker_options(self) -> MarkerOptions:
        names = MarkerOptions.__dataclass_fields__
        return MarkerOptions(**{name: self._value(f"markers.{name}") for name in names})

    def _resend_markers(self) -> None:
        if self._markers is not None:
            self._markers.resend()


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until Ctrl-C."""
    return run(DistanceService, args)


if __name__ == "__main__":
    raise SystemExit(main())
