# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The state of a running distance service as pictures, for `superovoid view --node`.

Bodies and their poses come from its markers and the frames published with them, pairs from its topic `distances`. Its
services add, move and remove objects. This module computes no distances: values that the node does not publish, and old
values, are unknown.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from rcl_interfaces.srv import GetParameters
from rclpy.client import Client
from rclpy.parameter import parameter_value_to_python
from rclpy.task import Future
from superovoid_interfaces.msg import DistanceArray, PairDistance, SuperovoidObject
from superovoid_interfaces.srv import ApplyObjects, GetMinDistance, GetPairRules
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from superovoid.scene import Body
from superovoid.shapes import Superovoid
from superovoid.viewing.meanings import Meaning, meanings, status_words
from superovoid.viewing.picture import (
    MOST_PAIRS,
    NEAR,
    Clearance,
    DrawnPair,
    Picture,
    checked_near,
    extent_of,
    round_length,
)
from superovoid_ros.client.caller import Caller
from superovoid_ros.client.marker_bodies import MarkerBodies
from superovoid_ros.nodes.common.conversions import superovoid_object, to_pose
from superovoid_ros.nodes.common.endpoints import read
from superovoid_ros.nodes.common.mistakes import InputError, shorten

FloatArray = NDArray[np.float64]

_SILENCE, _PERIODS = 2.0, 5.0  # s, and periods of its rate, without a message after which everything is unknown
_POLL = 0.5  # s, between two rounds of requests
_AGAIN = 5.0  # s without a response after which a request is sent again
_PATIENCE = 10.0  # s, longest wait for the response to a blocking call
_DISCOVERY = 3.0  # s; a service may be discovered after the node's topics
_SETTLED = 0.6  # s without a new body after which all bodies are assumed to be known
_PARAMETERS = ("rate", "max_distance", "near_distance", "pairs")


class ShownService:
    """View of a running distance service. `close` closes its connection.

    Parameters
    ----------
    service : str
        Full name of the node, including its namespace.
    near : float, optional
        Distance up to which pairs are shown as near, m; default: the node's `near_distance`.

    Attributes
    ----------
    near : float
        Distance up to which pairs are shown as near, m.
    """

    def __init__(self, service: str = "/distance_service", near: float | None = None) -> None:
        self.title = service
        self._near = None if near is None else checked_near(near)
        self._lock = threading.Lock()
        self._bodies = MarkerBodies(service.strip("/") + "/")
        self._answer: DistanceArray | None = None
        self._answered_at = -math.inf
        self._refusal = ""
        self._values: dict[str, object] = {}
        self._calls: dict[Client, tuple[Future, float]] = {}
        self._news: list[Callable[[], None]] = []
        self._caller = Caller("superovoid_view")
        try:
            self._open(service)
        except BaseException:
            self._caller.close()
            raise
        self._caller.spin_aside()

    def _open(self, service: str) -> None:
        node = self._caller.node
        for kind, topic, take, depth in (
            (MarkerArray, f"{service}/markers", self._bodies.take_markers, 1000),
            (DistanceArray, f"{service}/distances", self._take_distances, 10),
            (TFMessage, "/tf", self._bodies.take_frames, 100),
        ):
            node.create_subscription(
                kind, topic, lambda data, kind=kind, take=take: self._receive(data, kind, take), depth, raw=True
            )

        client = self._caller.client
        self._ask_state = client(GetMinDistance, f"{service}/get_min_distance")
        self._ask_values = client(GetParameters, f"{service}/get_parameters")
        self._ask_rules = client(GetPairRules, f"{service}/get_pair_rules")
        self._apply = client(ApplyObjects, f"{service}/apply_objects")
        node.create_timer(_POLL, self._poll)

    def close(self) -> None:
        """Close the node and its thread."""
        self._news.clear()
        self._caller.close()

    def __enter__(self) -> ShownService:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def on_news(self, tell: Callable[[], None]) -> None:
        """Call `tell` from another thread whenever a message arrives."""
        self._news.append(tell)

    def wait(self, on_wait: Callable[[str], None], look: Callable[[], None] = lambda: None) -> None:
        """Wait until the bodies of the robot are known.

        Parameters
        ----------
        on_wait
            Called with a description of the awaited input, whenever it changes.
        look
            Called repeatedly; an exception raised by it ends the wait.
        """
        shown = ""
        while True:
            with self._lock:
                settled = self._bodies.has_all_frames() and time.monotonic() > self._bodies.changed_at + _SETTLED
            if settled and not self._is_silent():
                return
            waiting = "waiting for its bodies (published unless its parameter 'markers.opacity' is 0)"
            words = self._silence_reason() or waiting
            if words != shown:
                on_wait(words)
                shown = words
            look()
            time.sleep(0.05)

    # -- received messages --------------------------------------------------------------------------------------------

    def _receive(self, data: bytes, kind: type, take: Callable[[object], None]) -> None:
        try:
            message = read(data, kind)
            with self._lock:
                take(message)
        except InputError as error:
            if kind is MarkerArray:  # a body may be missing; on other topics the next message is complete
                self._bodies.trouble = shorten(f"one of its marker messages could not be read: {error}", 300)
        for tell in tuple(self._news):
            tell()

    def _take_distances(self, message: DistanceArray) -> None:
        self._answer, self._answered_at = message, time.monotonic()

    # -- requests -------------------------------------------------------------------------------------------------

    def _poll(self) -> None:
        """Request the parameters, and the reason if the node publishes no distances."""
        self._ask(self._ask_values, GetParameters.Request(names=list(_PARAMETERS)), self._take_values)
        if self._is_silent():
            self._ask(self._ask_state, GetMinDistance.Request(max_results=1), self._take_refusal)
        else:
            self._refusal = ""

    def _ask(self, client: Client, request: object, take: Callable[[object], None]) -> None:
        """Send a request unless one is pending or there is no server."""
        before, asked_at = self._calls.get(client, (None, -math.inf))
        if before is not None and not before.done():
            if time.monotonic() < asked_at + _AGAIN:
                return
            client.remove_pending_request(before)
        if not client.service_is_ready():
            return
        future = client.call_async(request)
        self._calls[client] = future, time.monotonic()

        def on_done(future: Future) -> None:
            answer = None if future.cancelled() else future.result()
            if answer is not None:
                with self._lock:
                    take(answer)

        future.add_done_callback(on_done)

    def _take_values(self, answer: GetParameters.Response) -> None:
        self._values = dict(zip(_PARAMETERS, map(parameter_value_to_python, answer.values), strict=False))

    def _take_refusal(self, answer: GetMinDistance.Response) -> None:
        self._refusal = "" if answer.success else answer.message

    def _is_silent(self) -> bool:
        rate = self._values.get("rate")
        period = 1.0 / rate if isinstance(rate, float) and rate > 0.0 else 0.0
        return time.monotonic() > self._answered_at + max(_SILENCE, _PERIODS * period)

    def _publishes(self) -> bool:
        return self._caller.node.count_publishers(f"{self.title}/distances") > 0

    def _silence_reason(self) -> str:
        """Return the reason why there is no answer; empty if there is one."""
        if not self._is_silent():
            return ""
        if not self._publishes():
            return f"node {self.title} does not exist, or is not active"
        if self._values.get("rate") == 0.0:
            return f"{self.title} publishes nothing: its parameter 'rate' is 0"
        if self._refusal:
            return f"{self.title}: {shorten(self._refusal, 300)}"
        ago = time.monotonic() - self._answered_at
        return f"{self.title} has published nothing" + (f" for {ago:.0f} s" if math.isfinite(ago) else " yet")

    def _call(self, client: Client, request: object) -> object:
        """Call a service and wait for the response; raise `ValueError` if the node refuses or is absent."""
        if not client.wait_for_service(_DISCOVERY):
            raise InputError(f"no service {client.srv_name}")
        try:
            answer = client.call(request, _PATIENCE)
        except TimeoutError:
            raise InputError(f"{client.srv_name} has not responded for {_PATIENCE:g} s") from None
        if not answer.success:
            raise InputError(answer.message)
        return answer

    # -- objects and rules ----------------------------------------------------------------------------------------

    @property
    def objects(self) -> Mapping[str, FloatArray]:
        """Objects of the world that can be moved by name: frame_from_object, shape (4, 4), m."""
        with self._lock:
            poses, bodies = self._link_poses(), self._bodies
            things = (bodies.bodies[number] for number in bodies.objects & bodies.bodies.keys())
            return {
                one.owner: poses[one.body.link] @ one.body.link_from_body for one in things if one.body.link in poses
            }

    def add_object(self, name: str, shape: Superovoid, pose: FloatArray) -> None:
        """Add a superovoid to the world; raise `ValueError` if the node refuses."""
        self._change(superovoid_object(Body(name, "", shape, pose)))

    def move_object(self, name: str, pose: FloatArray) -> None:
        """Move an object to a new pose; raise `ValueError` if the node refuses."""
        self._change(SuperovoidObject(id=name, operation=SuperovoidObject.MOVE, pose=to_pose(pose)))

    def remove_object(self, name: str) -> None:
        """Remove an object; raise `ValueError` if the node refuses."""
        if name:  # an empty name would remove all objects
            self._change(SuperovoidObject(id=name, operation=SuperovoidObject.REMOVE))

    def _change(self, thing: SuperovoidObject) -> None:
        if self._answer is None:
            raise InputError("the frame of the picture is not known yet")
        thing.header.frame_id = self._answer.header.frame_id
        self._call(self._apply, ApplyObjects.Request(objects=[thing]))

    def pair_rule(self, name_a: str, name_b: str) -> tuple[bool, str]:
        """Return whether two links or objects are checked against each other, and the reason."""
        answer = self._call(self._ask_rules, GetPairRules.Request(links_a=[name_a], links_b=[name_b]))
        if not answer.checked:
            return False, "there is no such pair"
        return bool(answer.checked[0]), answer.reason[0] or answer.rule[0]

    # -- the picture ----------------------------------------------------------------------------------------------

    @property
    def near(self) -> float:
        """Distance up to which pairs are near, m: the set value, or the node's, or about `NEAR` times the extent."""
        if self._near is not None:
            return self._near
        value, max_distance = self._values.get("near_distance") or 0.0, self._values.get("max_distance") or math.inf
        # As in the node's markers: nothing is known about pairs beyond `max_distance`.
        return min(value or round_length(NEAR * extent_of(self.box())), max_distance)

    def set_near(self, near: float) -> None:
        """Set the distance up to which pairs are shown as near, m."""
        self._near = checked_near(near)

    def box(self) -> tuple[FloatArray, FloatArray]:
        """Return the corners of a box around the bodies, m; of a unit box at the origin if there are none."""
        with self._lock:
            poses = self._link_poses()
            found = [
                (poses[one.body.link] @ one.body.link_from_body, one.body.shape.vertices)
                for one in self._bodies.bodies.values()
                if one.body.link in poses and len(one.body.shape.vertices)
            ]
        if not found:
            return np.full(3, -0.5), np.full(3, 0.5)
        corners = np.concatenate([vertices @ pose[:3, :3].T + pose[:3, 3] for pose, vertices in found])
        return corners.min(axis=0), corners.max(axis=0)

    def _link_poses(self) -> dict[str, FloatArray]:
        """Return root_from_link of the links whose poses are known in the frame of the answers."""
        return self._bodies.poses(None if self._answer is None else self._answer.header.frame_id)

    def blank_picture(self, reason: str = "nothing received yet") -> Picture:
        """Return a picture in which all distances are unknown."""
        with self._lock:
            poses, known = self._link_poses(), tuple(self._bodies.bodies.values())
        bodies = tuple(replace(one, meaning=Meaning.UNKNOWN) for one in known if one.body.link in poses)
        clearance = Clearance(math.nan, math.nan, Meaning.UNKNOWN, reason)
        return Picture(poses, bodies, (), 0, clearance, clearance, 0, ())

    def answer(self) -> Picture:
        """Return a picture of the node's last answer; everything is unknown if that is too old."""
        silent = self._silence_reason()
        if silent:
            return self.blank_picture(silent)
        near = self.near
        with self._lock:
            answer, poses, known = self._answer, self._link_poses(), tuple(self._bodies.bodies.values())
            missing, values = self._describe_missing(answer, poses), self._values
        max_distance = float(values.get("max_distance", math.nan)) or math.inf
        pairs = answer.pairs
        lower, upper = (np.array([getattr(pair, name) for pair in pairs]) for name in ("lower", "upper"))
        found = meanings(lower, upper, near)
        bodies = tuple(one for one in known if one.body.link in poses)
        rows = [row for row in range(len(pairs)) if row == 0 or found[row] >= Meaning.NEAR]
        drawn = tuple(_drawn_pair(pairs[row], Meaning(int(found[row]))) for row in rows[:MOST_PAIRS])
        if len(pairs):
            meaning = int(found.max())
            least = min(float(lower.min()), max_distance), float(upper.min())
        else:
            # Every pair is farther apart than `max_distance`.
            meaning, least = int(Meaning.APART if near <= max_distance else Meaning.NEAR), (max_distance, math.inf)
            if not answer.pairs_considered or not math.isfinite(max_distance):
                meaning, least, missing = Meaning.UNKNOWN, (math.nan, math.nan), missing or "no pair is checked"
        if missing:
            meaning = max(meaning, Meaning.UNKNOWN)
        clearance = Clearance(*least, Meaning(meaning), missing)
        return Picture(poses, bodies, drawn, len(rows), clearance, clearance, answer.pairs_considered, ())

    def _describe_missing(self, answer: DistanceArray, poses: Mapping[str, FloatArray]) -> str:
        """Describe what is missing in the answer, or makes it doubtful."""
        words = [self._bodies.incomplete.replace("\n", " ")] if self._bodies.incomplete else []
        if answer.stale:
            ages = (("joint states", answer.uses_joint_states, answer.joint_state_age),
                    ("transforms", answer.uses_transforms, answer.base_pose_age))  # fmt: skip
            old = ", ".join(f"{what} {age:.1f} s" for what, uses, age in ages if uses)
            words.append(f"measurements are too old: {old}")
        if not self._values:
            words.append("the node's parameters are not known yet")
        elif any(map(str.strip, self._values.get("pairs", ()))):
            words.append("only the pairs of its parameter 'pairs' are watched")
        lost = sorted({one.body.link for one in self._bodies.bodies.values()} - poses.keys())
        if lost:
            words.append(f"no frame {self._bodies.prefix}{lost[0]} on /tf in frame '{answer.header.frame_id}'")
        if self._bodies.trouble:
            words.append(self._bodies.trouble)
        return "; ".join(words)


def _drawn_pair(pair: PairDistance, meaning: Meaning) -> DrawnPair:
    """Return a pair of an answer as a drawn pair."""
    points = (np.array((one.x, one.y, one.z)) for one in (pair.point_a, pair.point_b, pair.normal))
    return DrawnPair(
        pair.body_a, pair.body_b, pair.link_a, pair.link_b, pair.distance, pair.lower, pair.upper, *points, meaning,
        status_words(pair.status),
    )  # fmt: skip
