# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The robot with its objects and rules, from parameters, topics and services of this node, and MoveIt's if installed.

    robot description -> robot -> planning scene with the objects and rules of the robot before
    message -> Diff, which waits (`current.py`) -> its change of an Edit (`own_changes.py`, `moveit_changes.py`), in a
    thread -> new planning scene and model -> new Snapshot, exchanged in one assignment (`current.py`)

Messages that arrive together lead to one model. As in move_group, an object of a planning scene that cannot be used is
refused and the others are applied; any other change is applied as a whole or not at all. Errors are in the response or,
for topics, in the log. An object of a message that could not be used is recorded as missing. The content of lost
messages is unknown, so requests are refused until a whole planning scene arrives. docs/explanation/moveit.md compares
this with move_group.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from rclpy.task import Future
from std_msgs.msg import String
from superovoid_interfaces.srv import ApplyObjects, GetPairRules, SetPairRules

from superovoid.robot.planning_scene import OCTOMAP
from superovoid.robot.planning_scene import PlanningScene as Planning
from superovoid.robot.rules import DEFAULT
from superovoid_ros.nodes.common.endpoints import LATCHED, TakenMessage
from superovoid_ros.nodes.common.mistakes import (
    Code,
    InputError,
    UnreadableError,
    listing,
    reason_of,
    refusals,
    shorten,
)
from superovoid_ros.nodes.common.parameters import choice, count, switch
from superovoid_ros.nodes.distance_service.jobs import Job, Kind, settle
from superovoid_ros.nodes.distance_service.part import Common, Part
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world.current import (
    MOST_BYTES,
    Change,
    CurrentModel,
    Diff,
    Snapshot,
    apply,
    model_of,
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
from superovoid_ros.nodes.distance_service.world.model import Model
from superovoid_ros.nodes.distance_service.world.own_changes import apply_rules, apply_superovoids

try:
    import moveit_msgs
except ModuleNotFoundError:
    moveit_msgs = None
if moveit_msgs is not None or TYPE_CHECKING:
    from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, PlanningScene, PlanningSceneWorld
    from moveit_msgs.srv import ApplyPlanningScene
    from std_srvs.srv import Empty

    from superovoid_ros.nodes.distance_service.world import moveit_changes

_MOST_LISTED = 10  # number of reasons in the diagnostics
_MOST_TOGETHER = 5_000  # number of requests read together
_MOST_RULE_PAIRS = 1_000_000  # number of pairs in a response about rules
_PERIOD = 0.02  # s between two models built only for messages of topics

INCOMPLETE = "incomplete_world"
Done: TypeAlias = Callable[[Planning | None, Exception | None], None]
"""Function that receives the planning scene with a change, or the error."""


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
)
"""Parameters of objects and rules."""


@dataclass(eq=False)
class _Reading(Job):
    """Job that reads the robot's description, or applies diffs; further diffs are added while it waits."""

    diffs: list[Diff] = field(default_factory=list)


class World(Part):
    """Part that reads the robot, the objects around and on it, and the rules for its pairs.

    Topics are received from `configure` on, like measurements, so that no message is missed while the node is inactive
    or has no robot; services need an active node and a robot.
    """

    parameters = (*OF_ROBOT, *OF_SCENE, *OF_WORLD)

    def __init__(self, common: Common, current: CurrentModel, measurements: Measurements) -> None:
        super().__init__(common)
        self._current, self._measurements = current, measurements
        self._made_from: Values = {}  # values of the present robot; empty: there is none
        self._topic_text = dict.fromkeys(TOPICS, "")
        self._built_at = -math.inf  # time.monotonic, s
        self.object_messages = 0
        """Number of messages of MoveIt about objects."""

    def configure(self) -> None:
        """Listen to topics and open the services."""
        for topic in TOPICS:
            self.endpoints.listen(String, topic, partial(self._take_description, topic), LATCHED)
        if self.value("require_scene"):
            self._current.exchange(replace(self._current.snapshot, replaced=-1))
        self.serve(ApplyObjects, "~/apply_objects", self._apply_objects)
        self.serve(GetPairRules, "~/get_pair_rules", self._get_pair_rules)
        self.serve(SetPairRules, "~/set_pair_rules", self._set_pair_rules)
        if moveit_msgs is None:
            return
        for kind, topic in (
            (CollisionObject, "collision_object"),
            (AttachedCollisionObject, "attached_collision_object"),
            (PlanningScene, "planning_scene"),
            (PlanningSceneWorld, "planning_scene_world"),
        ):
            self.endpoints.listen_to_every(kind, topic, partial(self._take, topic), must_wait=self._has_much_to_read)
        self.serve(ApplyPlanningScene, "apply_planning_scene", self._apply_planning_scene)
        self.serve(Empty, "clear_octomap", self._clear_octomap)

    def clean_up(self) -> None:
        """Discard robot and objects."""
        self._current.proposed, self._made_from = None, {}
        self._current.exchange(Snapshot())
        self._topic_text = dict.fromkeys(TOPICS, "")

    def facts(self) -> Mapping[str, object]:
        """Return the number of objects, for the diagnostics."""
        snapshot = self._current.snapshot
        planning = snapshot.planning
        objects = {} if planning is None else planning.objects
        attached = sum(thing.link is not None for thing in objects.values())
        problems = {} if planning is None else planning.problems
        unread = [problem for problem in problems.values() if problem.is_unread]
        cubes = len(objects[OCTOMAP].shapes) if OCTOMAP in objects else 0
        return {
            "objects": len(objects) - attached - (OCTOMAP in objects),
            "attached objects": attached,
            "octomap cubes": cubes,
            "objects without a place": sum(not problem.is_unread for problem in problems.values()),
            "unreadable objects": "; ".join(shorten(one.reason, 200) for one in unread[:_MOST_LISTED]) or "nothing",
            "assumed joints": ", ".join(self._measurements.assumed_positions(snapshot.model and snapshot.model.robot))
            or "none",
            "waiting to be read": self.jobs.count(Kind.READ),
            "waiting for a robot": len(snapshot.waiting),
            "lost messages": snapshot.lost_messages,
        }

    # --- robot ---

    @property
    def urdf(self) -> str:
        """URDF of the present robot; empty if there is none."""
        return str(self._made_from.get("robot_description", ""))

    def _values(self, new: Mapping[str, object] | None = None) -> Values:
        """Return the values of all parameters of the robot, with new ones in their place."""
        values = {one.name: (new or {}).get(one.name, self.value(one.name)) for one in (*OF_ROBOT, *OF_SCENE)}
        return values | {topic: str(values[topic]).strip() or text for topic, text in self._topic_text.items()}

    def check(self, new: Mapping[str, object]) -> None:
        """Build the model that results from new parameter values; raise `InputError` if they are invalid."""
        self._current.proposed, values = None, self._values(new)
        if new.keys() & ROBOT_NAMES and values["robot_description"]:
            snapshot = self._current.snapshot
            try:
                model = self._described(values, snapshot)
                built = model, _ = apply(model, snapshot.waiting, self._measurements.moment())
            except Exception as error:
                raise InputError(f"invalid robot: {reason_of(error)}") from error
            if model.missing_content and not (snapshot.model and snapshot.model.missing_content):
                raise InputError(f"invalid robot: {model.missing_content}")
            self._current.proposed = built
        model = self._current.candidate
        if model is not None:
            planning = model.planning
            counts = len(planning.owners), len(planning.objects), planning.scene.pair_count
            for name, found in zip(("max_bodies", "max_objects", "max_pairs"), counts, strict=True):
                if int(new.get(name, found)) < found:
                    raise InputError(f"{name} = {new[name]}: there are already {found}")

    def apply(self, names: AbstractSet[str]) -> None:
        """Use the model that `check` built, or apply new limits and paddings to the present model."""
        values, model = self._values(), self._current.snapshot.model
        if names & ROBOT_NAMES:
            proposed, self._current.proposed = self._current.proposed, None
            if proposed is None:
                self._use_no_robot(None)
            else:
                self._use_model(*proposed, values)
        elif names & SCENE_NAMES and model is not None:
            try:
                with refusals():
                    edit = model.planning.edit()
                    edit.limits, edit.padding = limits_and_padding(values, model.planning)
                    self._use_model(model_of(edit.commit()), [], values)
            except Exception as error:
                self._use_no_robot(error)
        elif names & SCENE_NAMES and values["robot_description"]:
            self.load()  # the robot may be within the new limits

    def _take_description(self, topic: str, message: String) -> None:
        if message.data != self._topic_text[topic]:
            self._topic_text[topic] = message.data
            if not str(self.value(topic)).strip():
                self.load()

    def load(self) -> None:
        """Read the robot in a thread, from the latest description when its turn comes.

        If this fails, answers give the reason. The robot is read again if objects, paddings or limits change in the
        meantime.
        """
        snapshot = self._current.snapshot
        if snapshot.model is None and self._values()["robot_description"]:
            words = "no robot yet: its description is being read"
            self._current.exchange(snapshot.without_model(words, Code.READING))
        try:
            self._begin([], is_described=True)
        except InputError as error:  # too many jobs wait
            self._use_no_robot(error)

    def _described(self, values: Values, snapshot: Snapshot) -> Model:
        """Read the robot, and return a model with the objects and rules of a snapshot, without waiting changes."""
        robot, kept = read_robot(values), snapshot.planning
        with refusals():
            limits, padding = limits_and_padding(values, kept)
            make = Planning if kept is None else kept.for_robot
            return Model(make(robot, rtol=float(values["rtol"]), limits=limits, padding=padding))

    def _use_model(self, model: Model, applied: Sequence[Diff], values: Values | None) -> None:
        """Use a model; if its robot is new, log its notes."""
        before, self._made_from = self._current.snapshot.model, self._made_from if values is None else values
        self._current.install(model, applied)
        if before is None or model.robot is not before.robot:
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
            self.log.error("robot", words)
            self.statistics.message("robot_description", problem)
        self._current.exchange(self._current.snapshot.without_model(words))

    # --- changes ---

    def lose(self, count: int) -> None:
        """Record that a number of messages were lost, so that their content is unknown."""
        self._current.exchange(self._current.snapshot.with_lost(count))

    def submit(self, diffs: list[Diff]) -> None:
        """Read and apply diffs, together with those that wait if these arrived last; `InputError` if too many wait."""
        if self._current.snapshot.model is not None:
            measured = self._measurements.moment()
            diffs = [replace(diff, measured=measured) for diff in diffs]
        last = self.jobs.last_waiting(Kind.READ)
        if not isinstance(last, _Reading):
            self._begin(diffs)
        elif len(last.diffs) + len(diffs) > _MOST_TOGETHER:
            words = f"{len(last.diffs)} messages and requests wait to be read: send fewer, or try again later"
            raise InputError(words, Code.BUSY)
        else:
            last.diffs += diffs
            last.size += _size(diffs)

    def _has_much_to_read(self) -> bool:
        """Return whether further messages must wait in the middleware: read ones need many times their size."""
        return self.jobs.size(Kind.READ) >= MOST_BYTES

    def _begin(self, diffs: list[Diff], *, is_described: bool = False) -> None:
        """Submit a job."""

        def done(use: Callable[[], bool] | None, problem: Exception | None) -> bool:
            if use is not None:
                return use()
            if not isinstance(problem, InputError):  # a bug of the node, not a clean-up
                self.lose(sum(diff.waits for diff in diffs))
            for diff in diffs:
                diff.done(replace(diff, error=problem), None)
            if is_described:
                self._use_no_robot(problem)
            return True

        self.jobs.submit(_Reading(Kind.READ, lambda: self._read(diffs, is_described), done, _size(diffs), diffs))

    def _read(self, diffs: list[Diff], is_described: bool) -> Callable[[], bool]:
        """Read the robot, if its description is new, and apply diffs, in a thread; return the use of the result."""
        if diffs and all(diff.waits for diff in diffs):  # streams on topics: pause between two models
            time.sleep(max(0.0, self._built_at + _PERIOD - time.monotonic()))
        self._built_at = time.monotonic()
        # Keep this order: parameters set after this line lead to another snapshot, or repeat this reading.
        snapshot = self._current.snapshot
        model, waiting, values, problem = snapshot.model, (), None, None
        if is_described:
            values = self._values()
            if not values["robot_description"]:
                model = None
            elif model is None or values != self._made_from:
                try:
                    model, waiting = self._described(values, snapshot), snapshot.waiting
                except Exception as error:
                    model, problem = None, error
        applied = diffs
        if model is not None:
            model, applied = apply(model, [*waiting, *diffs], self._measurements.moment())

        def use() -> bool:
            """Use the result; return False to read again, after changes of the model or of parameters."""
            if values is not None:
                ignored = dict.fromkeys(TOPICS)  # descriptions received in the meantime are read next
                if {**self._values(), **ignored} != {**values, **ignored}:
                    return False
            if not self._current.snapshot.has_world_of(snapshot):
                return False
            if model is not None:
                self._use_model(model, applied, values)
                return True
            if values is not None:
                self._use_no_robot(problem)
            self._wait(applied)
            return True

        return use

    def _wait(self, diffs: Sequence[Diff]) -> None:
        """Store changes until there is a robot."""
        snapshot = self._current.snapshot
        for diff in diffs:
            try:
                if not diff.waits:
                    self._current.model()  # raises
                snapshot = snapshot.with_waiting(diff)
            except InputError as error:
                snapshot = snapshot.with_lost(int(diff.waits))
                diff.done(replace(diff, error=error), None)
        self._current.exchange(snapshot)

    def change(self, service: str, change: Change, **more: Any) -> Future:
        """Apply a change; the result of the future is the planning scene, or the error."""
        future = Future()
        self.submit([self._diff(service, change, partial(settle, future), **more)])
        return future

    def _diff(
        self, topic: str, change: Change, done: Done, positions: Mapping[str, float] = MappingProxyType({}), **more: Any
    ) -> Diff:
        """Return a change; if it is applied, joints that are not measured have its positions, rad or m."""

        def on_done(diff: Diff, planning: Planning | None) -> None:
            for note in diff.notes:
                if isinstance(note, str):
                    self.log.warning("planning scene", note)
            if planning is not None and positions:
                self._measurements.take_scene(positions)
            done(planning, diff.problem)

        more.setdefault("lost_messages", self._current.snapshot.lost_messages)
        return Diff(topic, change, on_done, **more)

    def _of_scene(self, message: moveit_changes.Message) -> dict[str, Any]:
        """Return the fields of the diff by a message of MoveIt, to be read with the current parameters."""
        scene = moveit_changes.SceneMessage.from_message(message)
        self.object_messages += scene.is_about_objects
        options = [self.value(name) for name in ("open_meshes", "octomap_cubes", "max_objects")]
        return {
            "change": partial(moveit_changes.apply_scene, scene, *options),
            "missing": partial(scene.missing_without, options[-1]),
            "replaces_all": scene.replaces_all,
            "positions": scene.positions,
        }

    def take_whole(self, scene: PlanningScene, lost_messages: int) -> Future:
        """Apply a whole scene requested from another node when `Snapshot.lost_messages` was this; as `change`."""
        return self.change("planning_scene", lost_messages=lost_messages, **self._of_scene(scene))

    # --- topics ---

    def _take(self, topic: str, taken: Sequence[TakenMessage]) -> None:
        """Apply messages of a topic; unusable ones are logged, and their objects recorded as missing."""

        def on_done(_planning: Planning | None, problem: Exception | None) -> None:
            if problem is not None:
                # None of these objects is where its sender believes it to be.
                self.log.error(topic, f"a message on {topic} is refused: {reason_of(problem)}")
                self.statistics.message(topic, problem)

        def lose(number: int, error: Exception, counted: int = 1) -> None:
            self.lose(number)
            self.log.error(topic, f"lost {number} messages on {topic}: {reason_of(error)}")
            for _ in range(counted):
                self.statistics.message(topic, error)

        diffs = []
        for message, lost, size in taken:
            if lost:
                lose(lost, InputError("published faster than they were received"))
            if isinstance(message, UnreadableError):
                self.lose(1)
                self.log.error(topic, f"{topic}: lost an unreadable message: {message}")
                self.statistics.fault(is_read=False)
                continue
            try:
                diffs.append(self._diff(topic, done=on_done, size=size, waits=True, **self._of_scene(message)))
            except Exception as error:  # a bug of the node
                lose(1, error)
        try:
            if diffs:
                self.submit(diffs)
        except Exception as error:  # too many messages wait, or a bug of the node
            lose(len(diffs), error, len(diffs))

    # --- services ---

    async def _apply_planning_scene(
        self, request: ApplyPlanningScene.Request, response: ApplyPlanningScene.Response
    ) -> None:
        fields = self._of_scene(request.scene)
        await self.change("apply_planning_scene", **fields | {"missing": tuple})  # its client knows what is missing

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
        verdicts = [planning.rules.verdict(*pair) for pair in pairs]
        response.link_a, response.link_b = [a for a, _ in pairs], [b for _, b in pairs]
        response.checked = [verdict.checked for verdict in verdicts]
        response.rule = [verdict.rule for verdict in verdicts]
        response.reason = [verdict.words for verdict in verdicts]
        return f"{sum(response.checked)} of {len(pairs)} pairs are checked"

    async def _set_pair_rules(self, request: SetPairRules.Request, response: SetPairRules.Response) -> str:
        planning = await self.change("set_pair_rules", partial(apply_rules, request))
        return self._current.append_missing(f"{len(planning.rules.runtime)} runtime rules")


def _size(diffs: Sequence[Diff]) -> int:
    return sum(diff.size for diff in diffs)


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
        if named or (a != b and not (both_world and planning.rules.verdict(a, b).rule == DEFAULT)):
            pairs.setdefault(frozenset((a, b)), (a, b))
    return list(pairs.values())
