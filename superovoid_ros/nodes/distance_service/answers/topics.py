# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Topics `~/distances` and `~/markers` at a set rate, `~/clearance` and `~/min_distance` after every joint state."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet

import numpy as np
from rclpy.publisher import Publisher
from std_msgs.msg import Float64
from superovoid_interfaces.msg import Clearance, DistanceArray, PairDistance
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from superovoid.contact import Status
from superovoid.robot.planning_scene import OCTOMAP
from superovoid_ros.nodes.common.conversions import NANOSECONDS, to_time
from superovoid_ros.nodes.common.mistakes import LOG_PERIOD, Code, InputError, code_of, reason_of
from superovoid_ros.nodes.common.parameters import number, text
from superovoid_ros.nodes.distance_service.answers.approach import Approach
from superovoid_ros.nodes.distance_service.answers.distances import closest_pairs_query, message_of
from superovoid_ros.nodes.distance_service.answers.markers import SceneMarkers
from superovoid_ros.nodes.distance_service.part import Common, Part
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements, own_frames
from superovoid_ros.nodes.distance_service.world.current_model import CurrentModel
from superovoid_ros.nodes.distance_service.world.description import ROBOT_NAMES
from superovoid_ros.nodes.distance_service.world.model import Model, Selection, split_pair

_SLACK = 0.05  # s by which a late publication does not delay the next one


class Pace:
    """Acts when that is due; leaves at least half of this thread's processor time to services and measurements.

    What is not done for lack of time stays due. Time of other processes does not count, since services could not use
    it.

    Parameters
    ----------
    *actions
        The actions; what is due together is done in this order.
    """

    def __init__(self, *actions: Callable[[], None]) -> None:
        self._actions, self._idle_until = actions, 0.0
        self._due: set[Callable[[], None]] = set()

    def act(self, *due: Callable[[], None]) -> None:
        """Do what is due."""
        self._due.update(due)
        for action in self._actions:
            if action in self._due and time.monotonic() >= self._idle_until:
                self._due.discard(action)
                began, used = time.monotonic(), time.thread_time()
                action()
                self._idle_until = max(self._idle_until, began - _SLACK) + 2.0 * (time.thread_time() - used)


def _check_pairs(entries: object) -> None:
    for entry in filter(str.strip, entries):
        split_pair(entry)


def _unknown_clearance() -> Clearance:
    """Return a message in which every number is NaN."""
    message = Clearance(lower=math.nan, closing_speed=math.nan, time_to_contact=math.nan)
    closest = message.closest
    closest.distance = closest.lower = closest.upper = math.nan
    for vector in (closest.point_a, closest.point_b, closest.normal):
        vector.x = vector.y = vector.z = math.nan
    return message


def _subscriptions(*publishers: Publisher) -> int:
    return sum(publisher.get_subscription_count() for publisher in publishers)


class Topics(Part):
    """Part that publishes distances, markers and the clearance of the measured state while the node is active.

    Attributes
    ----------
    published : int
        Number of publications of distances or markers.
    problem : str
        Reason why the last publication failed; empty if it did not.
    """

    parameters = (
        number(
            "rate",
            20.0,
            0.0,
            1000.0,
            "[Hz] Rate of ~/distances and ~/markers, and of ~/clearance and ~/min_distance if no joint states "
            "arrive; 0: never",
            least=0.01,
        ),
        number("max_distance", 0.05, 0.0, 1e6, "[m] Largest distance of the pairs in ~/distances; 0: no limit"),
        number(
            "near_distance",
            0.0,
            0.0,
            1e3,
            "[m] Largest distance of pairs drawn as near; 0: a fraction of the scene's extent",
        ),
        text(
            "pairs",
            [""],
            "Pairs on the topics, each as two names of links or groups; empty: all allowed pairs",
            "entries like 'left_hand right_hand'",
            check=_check_pairs,
        ),
        number("markers.opacity", 0.6, 0.0, 1.0, "Opacity of the bodies in ~/markers; 0: they are not drawn"),
    )

    def __init__(self, common: Common, current: CurrentModel, measurements: Measurements) -> None:
        super().__init__(common)
        self._current, self._measurements = current, measurements
        self._watched: Selection | None = None
        self._begin_markers()
        self._approach: Approach | None = None
        self._is_measured = False  # whether joint states have arrived since the timer's last callback
        self._timer = None  # runs only while there are subscribers
        self._pace = Pace(self._publish_distances, self._publish_clearance)
        self._spare: list[PairDistance] = []
        self.published = 0
        self.problem = ""

    @property
    def listeners(self) -> int:
        """Number of subscriptions to distances and markers."""
        return _subscriptions(self._distances_publisher, self._markers_publisher)

    @property
    def _clearance_listeners(self) -> int:
        return _subscriptions(self._clearance_publisher, self._min_distance_publisher)

    def configure(self) -> None:
        """Advertise the topics."""
        advertise = self.endpoints.advertise
        self._distances_publisher = advertise(DistanceArray, "~/distances", 10, self._update_timer)
        self._markers_publisher = advertise(MarkerArray, "~/markers", 10, self._resend_markers)
        self._clearance_publisher = advertise(Clearance, "~/clearance", 10, self._update_timer)
        self._min_distance_publisher = advertise(Float64, "~/min_distance", 10, self._update_timer)
        self._frames_publisher = advertise(TFMessage, "/tf", 100)
        self._framed = 0

    def activate(self) -> None:
        """Start publishing; subscribers receive all markers again."""
        self._begin_markers()
        self._measurements.joints_changed = self._take_joint_states
        self._measurements.is_followed = lambda: self._clearance_listeners > 0
        self._update_timer()

    def deactivate(self) -> None:
        """Stop publishing. Publish an unknown clearance last, because displays keep the last message."""
        self._stop_timer()
        self._measurements.joints_changed, self._measurements.is_followed = lambda: None, lambda: False
        try:
            self.activity.require()
        except InputError as error:
            self._send_clearance(_unknown_clearance(), error)

    def _stop_timer(self) -> None:
        self.endpoints.stop(self._timer)
        self._timer = None

    def clean_up(self) -> None:
        """Discard the markers."""
        self._watched = self._approach = None
        self._begin_markers()

    def _begin_markers(self) -> None:
        self._markers = SceneMarkers(own_frames(self.node.get_fully_qualified_name()))
        self._is_outdated = True  # whether the markers are of an earlier model or opacity

    def check(self, new: Mapping[str, object]) -> None:
        """Check that the present robot has the pairs; a new one is read later."""
        model = self._current.snapshot.model
        if "pairs" in new and model is not None and not new.keys() & ROBOT_NAMES:
            try:
                model.watch(new["pairs"])
            except Exception as error:
                raise InputError(f"pairs: {reason_of(error)}") from error

    def apply(self, names: AbstractSet[str]) -> None:
        """Apply the new pairs, opacity or rate."""
        if "pairs" in names:
            self._load_watched()
        if "markers.opacity" in names:
            self._resend_markers()
            self._is_outdated = True
        if "rate" in names:
            self._stop_timer()
            self._update_timer()

    def model_changed(self) -> None:
        """Find the watched pairs on the new robot, and draw it."""
        self._is_outdated = True
        self._load_watched()

    def _load_watched(self) -> None:
        """Find the pairs of the parameter `pairs` on the current robot."""
        self._watched = self._approach = None
        model = self._current.snapshot.model
        if model is None:
            return
        try:
            self._watched = model.watch(self.parameter("pairs"))
        except Exception as error:
            reason = reason_of(error)
            self.log.error("pairs", f"pairs does not fit this robot, all pairs are watched: {reason}")

    def _update_timer(self) -> None:
        """Run the timer while the node is active and has subscribers."""
        rate, subscriptions = float(self.parameter("rate")), self.listeners + self._clearance_listeners
        if not (rate > 0.0 and self.activity.is_active and subscriptions):
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.endpoints.start_timer(1.0 / rate, self._take_turn, steady=False)

    def _take_joint_states(self) -> None:
        self._is_measured = True
        self._pace.act(self._publish_clearance)

    def _take_turn(self) -> None:
        """Publish distances and markers of the measured state, and the clearance if no joint states arrived."""
        self._pace.act(self._publish_distances, *(() if self._is_measured else (self._publish_clearance,)))
        self._is_measured = False

    def _publish_distances(self) -> None:
        wanted = self._distances_publisher.get_subscription_count() > 0
        drawn = self._markers_publisher.get_subscription_count() > 0
        if not (wanted or drawn):
            return
        self.problem, markers, update = "", None, MarkerArray()
        try:
            markers = self._present_markers() if drawn else None
            update = self._publish_state(self._current.model(), wanted, markers)
            self.published += 1
        except Exception as error:
            self.problem = self._log_problem(error)
            if markers is not None:  # displays would keep showing the last answer
                update = markers.markers_without_answer()
        if update.markers:
            self._markers_publisher.publish(update)

    def _log_problem(self, error: Exception) -> str:
        """Log the error that prevented a publication, and return the text."""
        if not self.node.context.ok():  # shut down while publishing
            raise error
        if not isinstance(error, InputError):
            self.statistics.fault()
        words = f"nothing published: {reason_of(error)}"
        self.node.get_logger().warning(words, throttle_duration_sec=LOG_PERIOD)
        return words

    def _present_markers(self) -> SceneMarkers | None:
        """Return the markers of the present model; None if there is none."""
        model = self._current.snapshot.model
        if model is None:
            return None
        if self._is_outdated:
            frame = self._measurements.frame_of(model.robot, model.robot.root_link)
            cubes = model.planning.bodies_of(OCTOMAP)
            watched = np.unique((self._watched or model.select((), ())).pairs)
            opacity, planning = float(self.parameter("markers.opacity")), model.planning
            objects = {name: thing.pose for name, thing in planning.objects.items() if thing.link is None}
            self._markers.set_bodies(model.scene.bodies, planning.owners, opacity, objects, frame, cubes, watched)
            self._is_outdated = False
        self._markers.missing = self._current.missing_content
        return self._markers

    def _publish_state(self, model: Model, wanted: bool, markers: SceneMarkers | None) -> MarkerArray:
        """Publish the distances of the measured state; return the changed markers."""
        state = self._measurements.placed_states(model.planning)  # all objects are drawn
        selection = self._watched or model.select((), ())
        max_distance = float(self.parameter("max_distance")) or np.inf
        query = closest_pairs_query(model, selection, state, max_distance=max_distance)
        result = query.run_once()
        message = message_of(query, result, self._spare)
        self.statistics.uncertified += message.unproven
        self._measurements.fill_freshness(message, state)
        if wanted:
            self._distances_publisher.publish(message)
        if markers is None:
            return MarkerArray()
        link_poses, now = state.root_poses(model.robot), self.node.get_clock().now().nanoseconds
        if now > self._framed or now < self._framed - NANOSECONDS:  # tf2 warns about a repeated stamp
            self._framed = now
            transforms = markers.transforms(state.frame, link_poses, to_time(now))
            if transforms:
                self._frames_publisher.publish(TFMessage(transforms=transforms))
        return markers.update(state.frame, link_poses, result, float(self.parameter("near_distance")), max_distance)

    def _publish_clearance(self) -> None:
        """Publish the clearance of the measured state if there are subscribers."""
        if not self._clearance_listeners:
            return
        message = _unknown_clearance()
        try:
            self._fill_clearance(message)
        except Exception as error:
            self._log_problem(error)
            self._send_clearance(_unknown_clearance(), error)
        else:
            self._send_clearance(message)

    def _fill_clearance(self, message: Clearance) -> None:
        """Fill in the clearance of the measured state; raise `InputError` if it is unknown."""
        model, measurements = self._current.model(), self._measurements
        selection = self._watched or model.select((), ())
        state = measurements.placed_states(model.planning, pairs=selection.pairs)
        stale = measurements.fill_freshness(message, state)
        if stale:
            raise InputError(f"stale: {stale}", Code.NOT_MEASURED)
        query = closest_pairs_query(model, selection, state)
        result = query.run_once()
        closest, notes = result[:1], [self._current.missing_content]
        message.closest = message_of(query, closest).pairs[0]
        message.lower = float(result.lower.min())
        message.pairs_considered, message.solve_time = len(selection.pairs), query.solve_time
        self.statistics.uncertified += int(np.count_nonzero(result.status & Status.UNPROVEN))
        try:
            velocities = measurements.velocities(model.robot, state)
        except InputError as error:
            notes.append(str(error))
        else:
            if self._approach is None:
                self._approach = Approach(model)
            message.time_to_contact = self._approach.seconds(result, state.positions[0], velocities)
            if closest.differentiable[0]:
                message.closing_speed = self._approach.closing_speed(closest, state, velocities)
            else:
                notes.append("no closing speed: the closest pair has several closest points, or is not certified")
        message.message = "; ".join(filter(None, notes))

    def _send_clearance(self, message: Clearance, problem: Exception | None = None) -> None:
        """Publish a clearance, or the reason why it is unknown."""
        if problem is not None:
            message.header.stamp = to_time(self.node.get_clock().now().nanoseconds)
            message.error_code.value, message.message = int(code_of(problem)), reason_of(problem)
        self._clearance_publisher.publish(message)
        # A single number cannot report an incomplete world.
        self._min_distance_publisher.publish(Float64(data=math.nan if self._current.missing_content else message.lower))

    def _resend_markers(self) -> None:
        """Send all markers at the next publication, because the number of subscribers changed."""
        self._markers.resend()
        self._update_timer()
