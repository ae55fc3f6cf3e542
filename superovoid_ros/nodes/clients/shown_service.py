# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pictures of the state of a running distance service, for `superovoid view --node`.

Bodies and their places are those of its markers and of the frames that come with them; pairs are those of its topic
`distances`. Objects are added, moved and removed by its services. Nothing is computed here: values that the
node does not publish, and old values, are unknown.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import GetParameters
from rclpy.client import Client
from rclpy.task import Future
from std_msgs.msg import Header
from superovoid_interfaces.msg import DistanceArray, PairDistance, SuperovoidObject
from superovoid_interfaces.srv import ApplyObjects, GetMinDistance, GetPairRules
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

try:
    from moveit_msgs.msg import PlanningSceneComponents
    from moveit_msgs.srv import GetPlanningScene
except ModuleNotFoundError:
    GetPlanningScene = None  # links and objects cannot be distinguished: no object has a handle

from superovoid.robot.planning_scene import OCTOMAP
from superovoid.shapes import Superovoid
from superovoid.viewing.meanings import Meaning, meanings, status_words
from superovoid.viewing.picture import (
    MOST_PAIRS,
    NEAR,
    Clearance,
    DrawnBody,
    DrawnPair,
    Picture,
    checked_near,
    extent_of,
    round_length,
)
from superovoid_ros.nodes.clients.heard_bodies import HeardBodies, HeardBody
from superovoid_ros.nodes.common.caller import Caller
from superovoid_ros.nodes.common.conversions import from_pose, to_pose
from superovoid_ros.nodes.common.endpoints import SERVICE, read
from superovoid_ros.nodes.common.mistakes import InputError, shortened

FloatArray = NDArray[np.float64]

_SILENCE, _PERIODS = 2.0, 5.0  # s, and periods of its rate, without a word after which nothing is known
_POLL = 0.5  # s, between two rounds of requests
_AGAIN = 5.0  # s, after which a question without an answer is asked again
_PATIENCE = 10.0  # s, for a response in a blocking call
_LOOK = 0.02  # s, between two looks for a service
_SETTLED = 0.6  # s without a new body, after which all are taken to be there
_PARAMETERS = ("rate", "max_distance", "near_distance", "pairs")


class ShownService:
    """A running distance service. `close` leaves the network.

    Parameters
    ----------
    service : str
        Name of the node, its namespace included.
    near : float, optional
        Pairs at most this far apart are shown as near, m; default: the node's `near_distance`.

    Attributes
    ----------
    near : float
    """

    def __init__(self, service: str = "/distance_service", near: float | None = None) -> None:
        self.title = service
        self._near = None if near is None else checked_near(near)
        self._prefix = service.strip("/") + "/"
        self._lock = threading.Lock()
        self._heard = HeardBodies(self._prefix)
        self._said: DistanceArray | None = None
        self._said_at = -math.inf
        self._refusal = ""
        self._values: dict[str, object] = {}
        self._links: frozenset[str] = frozenset()
        self._moveit_objects: Mapping[str, FloatArray] = {}
        self._links_asked, self._clearings_asked = -math.inf, -1
        self._calls: dict[Client, tuple[Future, float]] = {}
        self._news: list[Callable[[], None]] = []
        self._caller = Caller("superovoid_view", global_arguments=False)
        try:
            self._open(service)
        except BaseException:
            self._caller.close()
            raise
        self._caller.spin_aside()

    def _open(self, service: str) -> None:
        node, space = self._caller.node, service.rpartition("/")[0]
        for kind, topic, take, depth in (
            (MarkerArray, f"{service}/markers", self._heard.take_markers, 1000),
            (DistanceArray, f"{service}/distances", self._take_distances, 10),
            (TFMessage, "/tf", self._heard.take_frames, 100),
        ):
            node.create_subscription(
                kind, topic, lambda data, kind=kind, take=take: self._hear(data, kind, take), depth, raw=True
            )

        def client(kind: type, name: str) -> Client:
            return node.create_client(kind, name, qos_profile=SERVICE)

        self._ask_state = client(GetMinDistance, f"{service}/get_min_distance")
        self._ask_values = client(GetParameters, f"{service}/get_parameters")
        self._ask_rules = client(GetPairRules, f"{service}/get_pair_rules")
        self._apply = client(ApplyObjects, f"{service}/apply_objects")
        self._ask_scene = GetPlanningScene and client(GetPlanningScene, f"{space}/get_planning_scene")
        node.create_timer(_POLL, self._poll)

    def close(self) -> None:
        """Leave the network."""
        self._news.clear()
        self._caller.close()

    def __enter__(self) -> ShownService:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def on_news(self, tell: Callable[[], None]) -> None:
        """Have something called, from another thread, when there is something new."""
        self._news.append(tell)

    def wait(self, on_wait: Callable[[str], None], look: Callable[[], None] = lambda: None) -> None:
        """Wait until the bodies of the robot are known.

        Parameters
        ----------
        on_wait
            Called with the awaited thing, whenever it changes.
        look
            Called again and again; what it raises ends the waiting.
        """
        told = ""
        while True:
            with self._lock:
                settled = self._heard.placed() and time.monotonic() > self._heard.changed_at + _SETTLED
            if settled and not self._silent():
                return
            words = self._why_silent() or "waiting for its bodies (drawn where its parameter 'markers.bodies' is true)"
            if words != told:
                on_wait(words)
                told = words
            look()
            time.sleep(0.05)

    # -- received messages --------------------------------------------------------------------------------------------

    def _hear(self, data: bytes, kind: type, take: Callable[[object], None]) -> None:
        try:
            message = read(data, kind)
            with self._lock:
                take(message)
        except InputError as error:
            if kind is MarkerArray:  # a body may be missing; of the other topics the next message has all
                self._heard.trouble = shortened(f"a message of its markers that cannot be read: {error}", 300)
        for tell in tuple(self._news):
            tell()

    def _take_distances(self, message: DistanceArray) -> None:
        self._said, self._said_at = message, time.monotonic()

    # -- what is asked --------------------------------------------------------------------------------------------

    def _poll(self) -> None:
        """Request parameters, the robot's links, and the reason for missing topics."""
        self._ask(self._ask_values, GetParameters.Request(names=list(_PARAMETERS)), self._take_values)
        if self._silent():
            self._ask(self._ask_state, GetMinDistance.Request(max_results=1), self._take_refusal)
        else:
            self._refusal = ""
        clearings = self._heard.clearings
        is_due = clearings != self._clearings_asked or time.monotonic() > self._links_asked + _AGAIN
        if self._ask_scene is not None and is_due:
            part = PlanningSceneComponents.LINK_PADDING_AND_SCALING | PlanningSceneComponents.WORLD_OBJECT_GEOMETRY
            request = GetPlanningScene.Request(components=PlanningSceneComponents(components=part))
            if self._ask(self._ask_scene, request, self._take_scene):
                self._clearings_asked, self._links_asked = clearings, time.monotonic()

    def _ask(self, client: Client, request: object, take: Callable[[object], None]) -> bool:
        """Send a request, unless one is pending or there is no server; return whether it was sent."""
        before, asked = self._calls.get(client, (None, -math.inf))
        if before is not None and not before.done():
            if time.monotonic() < asked + _AGAIN:
                return False
            client.remove_pending_request(before)
        if not client.service_is_ready():
            return False
        future = client.call_async(request)
        self._calls[client] = future, time.monotonic()

        def done(future: Future) -> None:
            answer = None if future.cancelled() else future.result()
            if answer is not None:
                with self._lock:
                    take(answer)

        future.add_done_callback(done)
        return True

    def _take_values(self, answer: GetParameters.Response) -> None:
        kinds = {ParameterType.PARAMETER_DOUBLE: "double_value", ParameterType.PARAMETER_STRING_ARRAY:
                 "string_array_value"}  # fmt: skip
        self._values = {
            name: getattr(value, kinds[value.type])
            for name, value in zip(_PARAMETERS, answer.values, strict=False)
            if value.type in kinds
        }

    def _take_refusal(self, answer: GetMinDistance.Response) -> None:
        self._refusal = "" if answer.success else answer.message

    def _take_scene(self, answer: GetPlanningScene.Response) -> None:
        self._links = frozenset(one.link_name for one in answer.scene.link_scale)  # all with bodies
        found = {}
        for thing in answer.scene.world.collision_objects:
            if self._said is not None and thing.header.frame_id == self._said.header.frame_id:
                try:
                    found[thing.id] = from_pose(thing.pose, f"object '{shortened(thing.id, 80)}'")
                except InputError:
                    pass  # it has no handle
        self._moveit_objects = found

    def _silent(self) -> bool:
        rate = self._values.get("rate")
        period = 1.0 / rate if isinstance(rate, float) and rate > 0.0 else 0.0
        return time.monotonic() > self._said_at + max(_SILENCE, _PERIODS * period)

    def _publishes(self) -> bool:
        return self._caller.node.count_publishers(f"{self.title}/distances") > 0

    def _why_silent(self) -> str:
        """Why there is no answer, in words; empty: there is."""
        if not self._silent():
            return ""
        if not self._publishes():
            return f"there is no node {self.title}, or it is not active"
        if self._values.get("rate") == 0.0:
            return f"{self.title} publishes nothing: its parameter 'rate' is 0"
        if self._refusal:
            return f"{self.title}: {shortened(self._refusal, 300)}"
        ago = time.monotonic() - self._said_at
        return f"{self.title} has said nothing" + (f" for {ago:.0f} s" if math.isfinite(ago) else " yet")

    def _call(self, client: Client, request: object) -> object:
        """Call and wait for the response; `ValueError` with the reason if the node refuses or is absent."""
        until = time.monotonic() + _PATIENCE
        while not client.service_is_ready():
            # What a node offers is found name by name: a service may be found after the answers that it publishes.
            if not self._publishes() or time.monotonic() >= until:
                raise InputError(f"no service {client.srv_name}")
            time.sleep(_LOOK)
        done = threading.Event()
        future = client.call_async(request)
        future.add_done_callback(lambda _: done.set())
        if not done.wait(_PATIENCE):
            client.remove_pending_request(future)
            raise InputError(f"{client.srv_name} has not answered for {_PATIENCE:g} s")
        answer = future.result()
        if not answer.success:
            raise InputError(answer.message)
        return answer

    # -- objects and rules ----------------------------------------------------------------------------------------

    @property
    def objects(self) -> Mapping[str, FloatArray]:
        """Objects of the world that can be moved by name, frame_from_object (4, 4), m.

        MoveIt's are those of `get_planning_scene`. A superovoid is none of these, and stands where its body is.
        """
        with self._lock:
            poses = self._poses_said()
            if not self._links:
                return {}
            found = {}
            for heard in self._heard.all():
                root = None if self._said is None else self._said.header.frame_id
                if heard.owner in self._links or heard.owner == OCTOMAP or heard.body.link != root:
                    continue  # of the robot, or in its hand
                pose = poses[root] @ heard.body.link_from_body if root in poses else None
                pose = self._moveit_objects.get(heard.owner, pose)
                if pose is not None:
                    found[heard.owner] = pose
            return found

    def add_object(self, name: str, shape: Superovoid, pose: FloatArray) -> None:
        """Add a superovoid to the world; `ValueError` if the node refuses."""
        size, epsilon, taper = (
            tuple(map(float, values))
            for values in (shape.semi_axes, (shape.section_exponent, shape.profile_exponent), shape.taper)
        )
        self._change(SuperovoidObject.ADD, name, pose, size=size, epsilon=epsilon, taper=taper)

    def move_object(self, name: str, pose: FloatArray) -> None:
        """Put an object somewhere else; `ValueError` if the node refuses."""
        self._change(SuperovoidObject.MOVE, name, pose)

    def remove_object(self, name: str) -> None:
        """Remove an object; `ValueError` if the node refuses."""
        if name:  # without one all are meant
            self._change(SuperovoidObject.REMOVE, name, np.eye(4))

    def _change(self, operation: int, name: str, pose: FloatArray, **shape: tuple[float, ...]) -> None:
        if self._said is None:
            raise InputError("the frame of the picture is not known yet")
        thing = SuperovoidObject(
            header=Header(frame_id=self._said.header.frame_id),
            id=name,
            operation=operation,
            pose=to_pose(pose),
            **shape,
        )
        self._call(self._apply, ApplyObjects.Request(objects=[thing]))

    def why(self, name_a: str, name_b: str) -> tuple[bool, str]:
        """Whether two links or objects are checked against each other, and why, in words."""
        answer = self._call(self._ask_rules, GetPairRules.Request(links_a=[name_a], links_b=[name_b]))
        if not answer.checked:
            return False, "there is no such pair"
        return bool(answer.checked[0]), answer.reason[0] or answer.rule[0]

    # -- the picture ----------------------------------------------------------------------------------------------

    @property
    def near(self) -> float:
        """Distance up to which pairs are near, m: the set one, else the node's, else about `NEAR` of the extent."""
        if self._near is not None:
            return self._near
        value, max_distance = self._values.get("near_distance") or 0.0, self._values.get("max_distance") or math.inf
        # As the markers have it: of what is beyond `max_distance` nothing more is known.
        return min(value or round_length(NEAR * extent_of(self.box())), max_distance)

    def set_near(self, near: float) -> None:
        """Show pairs at most this far apart, m."""
        self._near = checked_near(near)

    def box(self) -> tuple[FloatArray, FloatArray]:
        """Corners of a box around the bodies, m; around the origin if there are none."""
        with self._lock:
            poses = self._poses_said()
            found = [
                (poses[heard.body.link] @ heard.body.link_from_body, heard.body.shape.vertices)
                for heard in self._heard.all()
                if heard.body.link in poses and len(heard.body.shape.vertices)
            ]
        if not found:
            return np.full(3, -0.5), np.full(3, 0.5)
        corners = np.concatenate([vertices @ pose[:3, :3].T + pose[:3, 3] for pose, vertices in found])
        return corners.min(axis=0), corners.max(axis=0)

    def _poses_said(self) -> dict[str, FloatArray]:
        """Of the links in the frame of the answers."""
        return self._heard.poses(None if self._said is None else self._said.header.frame_id)

    def unanswered(self, reason: str = "not heard yet") -> Picture:
        """The picture without an answer: nothing is known."""
        with self._lock:
            poses, heard = self._poses_said(), self._heard.all()
        bodies = tuple(DrawnBody(one.body, one.owner, Meaning.UNKNOWN) for one in heard if one.body.link in poses)
        clearance = Clearance(math.nan, math.nan, Meaning.UNKNOWN, reason)
        return Picture(poses, bodies, (), 0, clearance, clearance, 0, ())

    def answer(self) -> Picture:
        """The last answer of the node; nothing is known if it is too old."""
        silent = self._why_silent()
        if silent:
            return self.unanswered(silent)
        near = self.near
        with self._lock:
            said, poses, heard = self._said, self._poses_said(), self._heard.all()
            missing = self._missing(said, poses)
        max_distance = float(self._values.get("max_distance", math.nan)) or math.inf
        pairs = said.pairs
        lower, upper = (np.array([getattr(pair, name) for pair in pairs]) for name in ("lower", "upper"))
        found = meanings(lower, upper, near)
        worst: dict[str, int] = {}
        for pair, meaning in zip(pairs, found.tolist(), strict=True):
            for name in (pair.body_a, pair.body_b):
                worst[name] = max(worst.get(name, Meaning.UNCHECKED), meaning)
        # A body without a pair in the answer is farther than `max_distance` from all that it is checked with.
        far = Meaning.APART if near <= max_distance else Meaning.NEAR if max_distance > 0.0 else Meaning.UNKNOWN
        bodies = tuple(
            DrawnBody(one.body, one.owner, self._meaning(one, worst.get(one.body.name), far))
            for one in heard
            if one.body.link in poses
        )
        rows = [row for row in range(len(pairs)) if row == 0 or found[row] >= Meaning.NEAR]
        drawn = tuple(_drawn(pairs[row], Meaning(int(found[row]))) for row in rows[:MOST_PAIRS])
        if len(pairs):
            meaning = int(found.max())
            least = min(float(lower.min()), max_distance), float(upper.min())
        else:
            meaning, least = int(far), (max_distance, math.inf)
            if not said.pairs_considered or not math.isfinite(max_distance):
                meaning, least, missing = Meaning.UNKNOWN, (math.nan, math.nan), missing or "no pair is checked"
        if missing:
            meaning = max(meaning, Meaning.UNKNOWN)
        clearance = Clearance(*least, Meaning(meaning), missing)
        return Picture(poses, bodies, drawn, len(rows), clearance, clearance, said.pairs_considered, ())

    @staticmethod
    def _meaning(heard: HeardBody, worst: int | None, far: Meaning) -> Meaning:
        """The meaning of a body: from its pairs in the answer, otherwise from the colour of its marker."""
        if heard.meaning in (Meaning.UNCHECKED, Meaning.UNKNOWN):
            return Meaning(max(worst or 0, heard.meaning))
        return far if worst is None else Meaning(max(worst, far))

    def _missing(self, said: DistanceArray, poses: Mapping[str, FloatArray]) -> str:
        """What is not part of the answer, or makes it doubtful, in words."""
        words = [self._heard.incomplete.replace("\n", " ")] if self._heard.incomplete else []
        if said.stale:
            ages = (("joint states", said.uses_joint_states, said.joint_state_age),
                    ("transforms", said.uses_transforms, said.base_pose_age))  # fmt: skip
            old = ", ".join(f"{what} {age:.1f} s" for what, uses, age in ages if uses)
            words.append(f"what was measured is too old: {old}")
        if not self._values:
            words.append("the node's parameters are not known yet")
        elif any(map(str.strip, self._values.get("pairs", ()))):
            words.append("only the pairs of its parameter 'pairs' are watched")
        lost = sorted({one.body.link for one in self._heard.bodies.values()} - poses.keys())
        if lost:
            words.append(f"no frame {self._prefix}{lost[0]} on /tf in frame '{said.header.frame_id}'")
        if self._heard.trouble:
            words.append(self._heard.trouble)
        return "; ".join(words)


def _drawn(pair: PairDistance, meaning: Meaning) -> DrawnPair:
    """A pair of an answer, to be drawn."""
    points = (np.array((one.x, one.y, one.z)) for one in (pair.point_a, pair.point_b, pair.normal))
    return DrawnPair(
        pair.body_a, pair.body_b, pair.link_a, pair.link_b, pair.distance, pair.lower, pair.upper, *points, meaning,
        status_words(pair.status),
    )  # fmt: skip
