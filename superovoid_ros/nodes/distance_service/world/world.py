# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The robot with its objects and rules, from parameters, topics and services of this node, and MoveIt's if installed.

    robot description -> robot -> planning scene with the objects and rules of the robot before
    message, as bytes -> Diff, which waits in a list -> its change of an Edit (`own_changes.py`, `moveit_changes.py`),
    in a thread -> new planning scene and model -> new Snapshot, exchanged in one assignment (`current_model.py`)

Diffs that wait together lead to one model, or to several if they take longer than `current_model.LONGEST`. As in
move_group, an object of a planning scene that cannot be used is refused and the others are applied; any other change is
applied as a whole or not at all. Errors are in the response or, for topics, in the log. An object of a message that
could not be used is recorded as missing. If messages are lost, a diff in their place records that unknown objects are
missing. docs/explanation/moveit.md compares this with move_group.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from rclpy.task import Future
from std_msgs.msg import String
from superovoid_interfaces.srv import ApplyObjects, GetPairRules, SetPairRules

from superovoid.robot.planning_scene import OCTOMAP, Edit
from superovoid.robot.planning_scene import PlanningScene as Planning
from superovoid.robot.rules import DEFAULT
from superovoid_ros.nodes.common.endpoints import LATCHED, read
from superovoid_ros.nodes.common.mistakes import (
    Code,
    InputError,
    UnreadableError,
    listing,
    reason_of,
    refusals,
    shorten,
)
from superovoid_ros.nodes.common.parameters import choice, count, switch, text
from superovoid_ros.nodes.distance_service.jobs import Kind, settle
from superovoid_ros.nodes.distance_service.part import Common, Part
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world.current_model import (
    LOST,
    Change,
    CurrentModel,
    Diff,
    Note,
    Snapshot,
    apply,
)
from superovoid_ros.nodes.distance_service.world.description import (
    OF_ROBOT,
    OF_SCENE,
    ROBOT_NAMES,
    SCENE_NAMES,
    TOPICS,
    Values,
    limits_and_padding,
    read_robot,
)
from superovoid_ros.nodes.distance_service.world.frames import Frames
from superovoid_ros.nodes.distance_service.world.model import Model
from superovoid_ros.nodes.distance_service.world.own_changes import apply_rules, apply_superovoids

try:
    import moveit_msgs
except ModuleNotFoundError:
    moveit_msgs = None
if moveit_msgs is not None or TYPE_CHECKING:
    from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, PlanningScene, PlanningSceneWorld
    from moveit_msgs.srv import ApplyPlanningScene, GetPlanningScene
    from std_srvs.srv import Empty

    from superovoid_ros.nodes.distance_service.world import moveit_changes
    from superovoid_ros.nodes.distance_service.world.move_group import MoveGroupScene
    from superovoid_ros.nodes.distance_service.world.planning_scene_service import scene_message

_MOST_LISTED = 10  # number of reasons in the diagnostics
MOST_WAITING, MOST_BYTES = 5_000, 500_000_000
"""Largest number of messages and requests that wait, and of bytes of these messages together."""
_MOST_RULE_PAIRS = 1_000_000  # number of pairs in a response about rules
_MOST_OVERTAKEN = 3
_PERIOD = 0.02  # s between two models built only for messages of topics

INCOMPLETE = "incomplete_world"

OF_WORLD = (
    count(
        "octomap_cubes",
        20_000,
        1,
        1_000_000,
        "Largest number of occupied cubes of an octomap; larger octomaps are refused",
    ),
    choice(
        "open_meshes",
        "hull",
        ("hull", "shell"),
        "How to read an object's mesh that is not closed: as its convex hull, with a warning, or as a shell of "
        "triangles without an inside",
    ),
    choice(
        INCOMPLETE,
        "refuse",
        ("refuse", "warn"),
        "If an object is unreadable or has no pose: refuse requests, or answer them with a warning",
    ),
    switch(
        "require_scene",
        "Refuse requests until a full planning scene has been received: for a restarted node, which does not know"
        " the earlier objects",
        default=False,
        read_only=True,
    ),
    text(
        "planning_scene_service",
        "get_planning_scene",
        "Service of a move_group that returns the full planning scene; unused if it is a service of this node; "
        "empty: none. Not remapped",
        read_only=True,
    ),
)
"""Parameters of objects and rules."""


class _Reading(NamedTuple):
    """What a thread has read."""

    snapshot: Snapshot
    """The snapshot that it started with."""
    values: Values
    """The values of the robot's parameters."""
    model: Model | None
    applied: Sequence[Diff] = ()
    """The diffs in the model, with their results."""
    problem: Exception | None = None
    """Reason why there is no model; None: no description."""


class World(Part):
    """Part that reads the robot, the objects around and on it, and the rules for its pairs.

    Topics are received from `configure` on, like measurements, so that no message is missed while the node is inactive
    or has no robot; services need an active node and a robot.
    """

    parameters = (*OF_ROBOT, *OF_SCENE, *OF_WORLD)

    def __init__(self, common: Common, current: CurrentModel, measurements: Measurements) -> None:
        super().__init__(common)
        self._current, self._measurements = current, measurements
        self._pending: list[Diff] = []  # diffs that are not yet in the model, in the order of their arrival
        self._recorded: list[Diff] | None = None  # diffs since `record`
        self._is_reading = self._is_described = False  # whether a thread reads; whether a description is to be read
        self._made_from: Values = {}  # values of the present robot; empty: there is none
        self._topic_text = dict.fromkeys(TOPICS, "")
        self._built_at = -math.inf  # time.monotonic, s
        self.lost_messages = 0
        self._overtaken = 0  # readings of robots whose parameters were set in the meantime, one after the other
        self._move_group: MoveGroupScene | None = None

    def open(self) -> None:
        """Open the services."""
        self.serve(ApplyObjects, "~/apply_objects", self._apply_objects)
        self.serve(GetPairRules, "~/get_pair_rules", self._get_pair_rules)
        self.serve(SetPairRules, "~/set_pair_rules", self._set_pair_rules)
        if moveit_msgs is not None:
            self.serve(ApplyPlanningScene, "apply_planning_scene", self._apply_planning_scene)
            self.serve(GetPlanningScene, "get_planning_scene", self._get_planning_scene)
            self.serve(Empty, "clear_octomap", self._clear_octomap)

    def configure(self) -> None:
        """Listen to topics."""
        for topic in TOPICS:
            self.endpoints.listen(String, topic, partial(self._take_description, topic), LATCHED)
        if not self.parameter("robot_description"):
            topic = self.node.resolve_topic_name("robot_description")
            self.node.get_logger().info(f"waiting for a robot description on topic '{topic}'")
        if self.parameter("require_scene"):
            words = "no whole planning scene received yet (require_scene: true)"
            self._pending = [_of_unknown("require_scene", words)]
        if moveit_msgs is None:
            return
        for kind, topic in (
            (CollisionObject, "collision_object"),
            (AttachedCollisionObject, "attached_collision_object"),
            (PlanningScene, "planning_scene"),
            (PlanningSceneWorld, "planning_scene_world"),
        ):
            self.endpoints.listen_to_every(kind, topic, partial(self._take, topic, kind))
        name = str(self.parameter("planning_scene_service")).strip()
        try:
            name = name and self.node.resolve_service_name(name, only_expand=True)
        except RuntimeError as error:  # of rcl
            raise InputError(f"planning_scene_service = '{shorten(name, 200)}': {shorten(error)}") from None
        if name and name != self.node.resolve_service_name("get_planning_scene"):
            self._move_group = MoveGroupScene(self, name)

    def clean_up(self) -> None:
        """Discard robot and objects."""
        if self._move_group is not None:
            self._move_group.close()
        self._move_group = None
        self._made_from, self._topic_text = {}, dict.fromkeys(TOPICS, "")
        self.lost_messages = self._overtaken = 0
        self._pending = []
        self._current.exchange(Snapshot())

    def facts(self) -> Mapping[str, object]:
        """Return the number of objects, for the diagnostics."""
        snapshot = self._current.snapshot
        planning = snapshot.planning
        objects = {} if planning is None else planning.objects
        attached = sum(thing.link is not None for thing in objects.values())
        unread = self.unread
        cubes = len(objects[OCTOMAP].shapes) if OCTOMAP in objects else 0
        return {
            "objects": len(objects) - attached - (OCTOMAP in objects),
            "attached objects": attached,
            "octomap cubes": cubes,
            "objects without a place": 0 if planning is None else len(planning.problems) - len(unread),
            "unreadable objects": "; ".join(shorten(one, 200) for one in [*unread.values()][:_MOST_LISTED])
            or "nothing",
            "assumed joints": ", ".join(self._measurements.assumed_positions(snapshot.model and snapshot.model.robot))
            or "none",
            "waiting to be read": len(self._pending),
            "lost messages": self.lost_messages,
            "planning scene of another node": self._move_group.words if self._move_group else "not requested",
        }

    @property
    def has_robot(self) -> bool:
        """Whether there is a robot."""
        return self._current.snapshot.model is not None

    @property
    def unread_since(self) -> float:
        """Value of `time.monotonic` at the arrival of the oldest message that is not in the model, s; or infinite."""
        return self._pending[0].arrived if self._pending else math.inf

    @property
    def unread(self) -> dict[str, str]:
        """Names of unreadable objects, with the reasons."""
        planning = self._current.snapshot.planning
        problems = () if planning is None else planning.problems.values()
        return {one.name: one.reason for one in problems if one.is_unread}

    # --- robot ---

    @property
    def urdf(self) -> str:
        """URDF of the present robot; empty if there is none."""
        return str(self._made_from.get("robot_description", ""))

    def _values(self) -> Values:
        """Return the values of all parameters of the robot."""
        values = {one.name: self.parameter(one.name) for one in (*OF_ROBOT, *OF_SCENE)}
        return values | {topic: str(values[topic]).strip() or text for topic, text in self._topic_text.items()}

    def check(self, new: Mapping[str, object]) -> None:
        """Raise `InputError` if parameters of the robot are set faster than it can be read."""
        if new.keys() & ROBOT_NAMES and self._overtaken >= _MOST_OVERTAKEN:
            raise InputError("the robot is being read: set its parameters once it is there", Code.BUSY)

    def apply(self, names: AbstractSet[str]) -> None:
        """Read the robot, or apply new limits and paddings to the present model."""
        model = self._current.snapshot.model
        if names & SCENE_NAMES and not names & ROBOT_NAMES and model is not None:
            self._use_model(model, self._made_from)
        elif names & ROBOT_NAMES or (names & SCENE_NAMES and not self._is_reading):
            self.load()

    def _take_description(self, topic: str, message: String) -> None:
        if message.data != self._topic_text[topic]:
            self._topic_text[topic] = message.data
            if not str(self.parameter(topic)).strip():
                self._is_described = True
                self._start()

    def load(self) -> None:
        """Read the robot in a thread, from the latest description when its turn comes; refuse requests until then."""
        self._use_no_robot_yet()
        self._is_described = True
        self._start()

    def _described(self, values: Values, snapshot: Snapshot) -> Model:
        """Read the robot, and return a model with the objects and rules of a snapshot, without waiting changes."""
        robot, kept = read_robot(values), snapshot.planning
        with refusals():
            limits, padding = limits_and_padding(values, kept)
            make = Planning if kept is None else kept.for_robot
            return Model(make(robot, rtol=float(values["rtol"]), limits=limits, padding=padding))

    def _use_model(self, model: Model, values: Values) -> None:
        """Use a model with the present limits and paddings; if its robot is new, log its notes."""
        snapshot = self._current.snapshot
        present = {**values, **{name: self.parameter(name) for name in SCENE_NAMES}}
        if present != values:
            limits, padding = limits_and_padding(present, model.planning)
            try:
                with refusals():
                    model = Model(model.planning.with_limits(limits, padding))
            except InputError as error:  # the robot alone exceeds a limit
                self._current.exchange(replace(snapshot, planning=model.planning))
                self._use_no_robot(error)
                return
        self._overtaken = 0
        self._current.exchange(replace(snapshot, model=model, planning=model.planning))
        self._made_from = present
        if snapshot.model is None or model.robot is not snapshot.model.robot:
            self.node.get_logger().info(model.describe())
            for warning in model.robot.warnings:
                self.log.warning("robot", warning)
            if model.missing_content:
                self.log.error("robot", model.missing_content)

    def _use_no_robot(self, problem: Exception | None) -> None:
        """Use no model, for a reason (None: no description). Objects and rules are kept for the next robot."""
        self._made_from = {}
        if problem is None:
            words = (
                "no robot: parameter robot_description is empty and nothing was received on topic "
                f"'{self.node.resolve_topic_name('robot_description')}': set the parameter, or publish the topic as "
                "robot_state_publisher does"
            )
        else:
            words = f"no robot: {reason_of(problem)}"
            self.report_failure("robot_description", problem)
        self._current.exchange(self._current.snapshot.without_model(words))

    def _use_no_robot_yet(self) -> None:
        words = "no robot yet: its description is being read"
        self._current.exchange(self._current.snapshot.without_model(words, Code.READING))

    # --- changes ---

    def submit(self, diffs: list[Diff]) -> None:
        """Let diffs be read and applied, in order; raise `InputError` if too many wait."""
        if _is_full([*self._pending, *diffs]):
            waiting, most = len(self._pending), f"at most {MOST_WAITING}, of {MOST_BYTES} bytes"
            raise InputError(f"busy: {waiting} messages and requests wait ({most}), try again later", Code.BUSY)
        if self.has_robot:
            measured = self._measurements.moment()
            diffs = [replace(diff, measured=measured) for diff in diffs]
        self._append(diffs)
        self._start()

    def _append(self, diffs: list[Diff]) -> None:
        self._pending += diffs
        if self._recorded is not None:
            self._recorded = None if _is_full(self._recorded) else [*self._recorded, *diffs]

    def _lost(self, topic: str, count: int, words: str) -> Diff:
        """Log that messages were lost, and return the diff in their place."""
        self.lost_messages += count
        words = f"lost {count} message{'' if count == 1 else 's'} on {topic}: {words}"
        self.report_failure(topic, InputError(words))
        return _of_unknown(topic, words)

    def _start(self) -> None:
        """Read in a thread what is to be read, unless a thread does; without a robot to come, refuse the requests."""
        if self._is_reading:
            return
        if self._is_described or (self.has_robot and self._pending):
            if not self.has_robot:
                self._use_no_robot_yet()
            is_described, self._is_described, self._is_reading = self._is_described, False, True
            self.jobs.result(Kind.READ, partial(self._read, is_described)).add_done_callback(self._use)
        elif not self.has_robot:
            self._refuse_requests(InputError(self._current.snapshot.problem, self._current.snapshot.code))

    def _refuse_requests(self, problem: Exception) -> None:
        """Refuse the requests that wait."""
        requests = [diff for diff in self._pending if diff.answer]
        self._pending = [diff for diff in self._pending if diff.answer is None]
        for diff in requests:
            self._finish(diff, None, problem)

    def _read(self, is_described: bool) -> _Reading:
        """Read the robot, if its description may be new, and apply the diffs that wait, in a thread."""
        if not (is_described or any(diff.answer for diff in tuple(self._pending))):
            time.sleep(max(0.0, self._built_at + _PERIOD - time.monotonic()))  # streams on topics
        self._built_at = time.monotonic()
        # In this order, since the thread of the node sets the values after the model.
        made_from, snapshot, diffs = self._made_from, self._current.snapshot, tuple(self._pending)
        model = snapshot.model
        values = self._values() if is_described or model is None else made_from
        try:
            if not values.get("robot_description"):
                return _Reading(snapshot, values, None)
            if model is None or values != made_from:
                model = self._described(values, snapshot)
            return _Reading(snapshot, values, *apply(model, diffs, self._measurements.moment()))
        except Exception as error:
            return _Reading(snapshot, values, None, problem=error)

    def _use(self, future: Future) -> None:
        """Use the result of `_read`; never raises, since no caller would see the error."""
        self._is_reading = False
        try:
            if future.exception() is not None:  # the node is cleaned up or ends
                self._refuse_requests(future.exception())
            else:
                self._use_reading(future.result())
        except Exception as error:
            self.report_failure("reading of messages", error)

    def _use_reading(self, found: _Reading) -> None:
        """Use what was read, unless parameters of the robot were set in the meantime; then read again."""
        applied = ()
        snapshot = self._current.snapshot
        if snapshot.model is None and snapshot is not found.snapshot:
            self._is_described, self._overtaken = True, self._overtaken + 1
        elif found.model is None:
            self._overtaken = 0
            self._use_no_robot(found.problem)
            self._is_described |= self._values() != found.values
        else:
            applied = found.applied
            del self._pending[: len(applied)]
            self._use_model(found.model, found.values)
        self._start()
        for diff in applied:
            for note in diff.notes:
                if isinstance(note, str):
                    self.log.warning("planning scene", note)
            self._finish(diff, found.model.planning, diff.problem)

    def _finish(self, diff: Diff, planning: Planning | None, problem: Exception | None) -> None:
        """Respond to a request; log and count the problem of a message."""
        if diff.answer:
            settle(diff.answer, planning, problem)
        elif problem is not None:  # none of these objects is where its sender believes it to be
            self.lost_messages += isinstance(problem, UnreadableError)
            self.report_failure(diff.topic, problem)

    def change(self, service: str, change: Change, again: Sequence[Diff] = ()) -> Future:
        """Apply a change, and diffs again after it; the result of the future is the planning scene, or the error."""
        future = Future()
        self.submit([Diff(service, change, future, again)])
        return future

    # --- MoveIt's messages ---

    def _change_by(self, message: Callable[[], Any]) -> Change:
        """Return the change by a message that a function returns, with the current parameters."""
        options = [self.parameter(name) for name in ("open_meshes", "octomap_cubes", "max_objects")]
        return partial(moveit_changes.apply_message, message, *options)

    def record(self, is_on: bool = True) -> None:
        """Record the diffs that arrive from here on, for `take_whole`, or no longer."""
        self._recorded = [] if is_on else None

    def take_whole(self, scene: PlanningScene) -> Future:
        """Apply a whole scene requested from another node at the time of `record`, and again all diffs since then.

        They may be older than the scene, or newer. The result of the future is as of `change`.
        """
        recorded, self._recorded = self._recorded, None
        if recorded is None:
            raise InputError("too many messages about objects came during the request")
        return self.change("planning_scene", self._change_by(lambda: scene), recorded)

    def _take(self, topic: str, kind: type, taken: Sequence[tuple[bytes, int]]) -> None:
        """Apply messages of a topic; unusable ones are logged, and their objects recorded as missing."""
        diffs = []
        for data, lost in taken:
            if lost:
                diffs.append(self._lost(topic, lost, "published faster than they were received"))
            diffs.append(Diff(topic, self._change_by(partial(read, data, kind)), size=len(data)))
        try:
            self.submit(diffs)
        except InputError as error:
            refused = self._lost(topic, len(taken), str(error))
            if len(self._pending) <= MOST_WAITING:  # otherwise the last one says the same
                self._append([refused])
            self._start()

    # --- services ---

    async def _apply_planning_scene(
        self, request: ApplyPlanningScene.Request, response: ApplyPlanningScene.Response
    ) -> None:
        await self.change("apply_planning_scene", self._change_by(lambda: request.scene))

    def _get_planning_scene(self, request: GetPlanningScene.Request, response: GetPlanningScene.Response) -> None:
        """Fill a response, with the names of what is missing; its scene is empty if there is no robot."""
        model, components = self._current.snapshot.model or self._current.model(), int(request.components.components)
        now = self.node.get_clock().now().to_msg()
        response.scene = scene_message(model, components, self._measurements, now)

    async def _clear_octomap(self, request: Empty.Request, response: Empty.Response) -> None:
        await self.change("clear_octomap", moveit_changes.remove_octomap)

    async def _apply_objects(self, request: ApplyObjects.Request, response: ApplyObjects.Response) -> str:
        response.world_id = self._current.snapshot.world_id
        planning = await self.change("apply_objects", partial(apply_superovoids, request.objects))
        return self._current.append_missing(f"{len(request.objects)} applied; objects: {listing(planning.objects)}")

    def _get_pair_rules(self, request: GetPairRules.Request, response: GetPairRules.Response) -> str:
        planning = self._current.model().planning
        with refusals("request", code=Code.UNKNOWN_LINK):
            pairs = _requested_pairs(planning, request.links_a, request.links_b)
        decisions = [planning.rules.decide(*pair) for pair in pairs]
        response.link_a, response.link_b = [a for a, _ in pairs], [b for _, b in pairs]
        response.checked = [decision.checked for decision in decisions]
        response.rule = [decision.rule for decision in decisions]
        response.reason = [decision.words for decision in decisions]
        return f"{sum(response.checked)} of {len(pairs)} pairs are checked"

    async def _set_pair_rules(self, request: SetPairRules.Request, response: SetPairRules.Response) -> str:
        planning = await self.change("set_pair_rules", partial(apply_rules, request))
        return self._current.append_missing(f"{len(planning.rules.runtime)} runtime rules")


def _is_full(diffs: Sequence[Diff]) -> bool:
    """Return whether diffs are more than may wait."""
    return len(diffs) > MOST_WAITING or sum(diff.size for diff in diffs) > MOST_BYTES


def _of_unknown(topic: str, words: str) -> Diff:
    """Return a diff that records, with a reason, that unknown objects are missing until a whole scene comes."""

    def report(edit: Edit, _frames: Frames) -> list[Note]:
        edit.report(replace(LOST, reason=f"'{LOST.name}': {words}"))
        return []

    return Diff(topic, report)


def _requested_pairs(planning: Planning, names_a: Sequence[str], names_b: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of links and objects, each once, with one of `names_a` first.

    If either side is empty (any), two objects of the world form a pair only if a rule concerns them, and no link or
    object is paired with itself.
    """
    sides = [planning.owners_of(names or None) for names in (names_a, names_b)]
    of_a, of_b = ([owner for owner in dict.fromkeys(planning.owners) if owner in side] for side in sides)
    if len(of_a) * len(of_b) > _MOST_RULE_PAIRS:
        raise InputError(
            f"request: {len(of_a)} times {len(of_b)} pairs of links and objects: must be at most {_MOST_RULE_PAIRS}"
        )
    named = bool(names_a) and bool(names_b)
    pairs: dict[frozenset[str], tuple[str, str]] = {}
    for a, b in itertools.product(of_a, of_b):
        both_world = planning.in_world(a) and planning.in_world(b)
        if named or (a != b and not (both_world and planning.rules.decide(a, b).rule == DEFAULT)):
            pairs.setdefault(frozenset((a, b)), (a, b))
    return list(pairs.values())
