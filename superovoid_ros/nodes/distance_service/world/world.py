# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Objects and rules at run time, from the services of this node and, if they are installed, from MoveIt's messages.

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
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from rclpy.task import Future
from superovoid_interfaces.srv import ApplyObjects, GetPairRules, SetPairRules

from superovoid.robot.planning_scene import OCTOMAP
from superovoid.robot.planning_scene import PlanningScene as Planning
from superovoid.robot.rules import DEFAULT
from superovoid_ros.nodes.common.endpoints import TakenMessage
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
    Change,
    CurrentModel,
    Diff,
    Snapshot,
    apply,
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


@dataclass(eq=False)
class _Reading(Job):
    """Job that applies diffs; others are added while it waits."""

    diffs: list[Diff] = field(default_factory=list)


class World(Part):
    """Part with the objects around and on the robot, and the rules for its pairs.

    Topics are received from `configure` on, like measurements, so that no message is missed while the node is inactive
    or has no robot; services need an active node and a robot.
    """

    parameters = (
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

    def __init__(self, common: Common, current: CurrentModel, measurements: Measurements) -> None:
        super().__init__(common)
        self._current, self._measurements = current, measurements
        self._built_at = -math.inf  # time.monotonic, s
        self.object_messages = 0
        """Number of messages about objects received on topics."""

    def configure(self) -> None:
        """Listen to MoveIt's topics and open the services."""
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
            self.endpoints.listen_to_every(kind, topic, partial(self._take, topic))
        self.serve(ApplyPlanningScene, "apply_planning_scene", self._apply_planning_scene)
        self.serve(Empty, "clear_octomap", self._clear_octomap)

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
            work, done = lambda: self._apply(diffs), lambda found, problem: self._install(diffs, found, problem)
            self.jobs.submit(_Reading(Kind.READ, work, done, diffs))
            return
        if len(last.diffs) + len(diffs) > _MOST_TOGETHER:
            words = f"{len(last.diffs)} messages and requests wait to be read: send fewer, or try again later"
            raise InputError(words, Code.BUSY)
        last.diffs += diffs

    def _apply(self, diffs: list[Diff]) -> tuple[Snapshot, Model | None, list[Diff]]:
        """Return the current snapshot, the model with all diffs (None: there is no robot), and their results."""
        if all(diff.waits for diff in diffs):  # streams on topics: pause between two models
            time.sleep(max(0.0, self._built_at + _PERIOD - time.monotonic()))
        self._built_at = time.monotonic()
        snapshot = self._current.snapshot
        if snapshot.model is None:
            return snapshot, None, diffs
        return snapshot, *apply(snapshot.model, diffs, self._measurements.moment())

    def _install(
        self, diffs: list[Diff], found: tuple[Snapshot, Model | None, list[Diff]] | None, problem: Exception | None
    ) -> bool:
        """Use the model; return False if it is not a successor of the current model."""
        if found is None:
            if not isinstance(problem, InputError):  # a bug of the node
                self.lose(sum(diff.waits for diff in diffs))
            for diff in diffs:
                diff.done(replace(diff, problem=problem), None)
            return True
        snapshot, model, applied = found
        if not self._current.snapshot.has_world_of(snapshot):
            return False
        if model is not None:
            self._current.install(model, applied)
        else:
            self._wait(diffs)
        return True

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
                diff.done(replace(diff, problem=error), None)
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
                self.log.warning("planning scene", note)
            if planning is not None and positions:
                self._measurements.take_scene(positions)
            done(planning, diff.problem)

        more.setdefault("lost_messages", self._current.snapshot.lost_messages)
        return Diff(topic, change, on_done, **more)

    def _of_scene(self, scene: moveit_changes.SceneMessage) -> dict[str, Any]:
        """Return the fields of the diff by a planning scene, to be read with the current parameters."""
        options = [self.value(name) for name in ("open_meshes", "octomap_cubes", "max_objects")]
        return {
            "change": partial(moveit_changes.apply_scene, scene, *options),
            "missing": partial(scene.missing_without, options[-1]),
            "replaces_all": scene.replaces_all,
            "positions": scene.positions,
        }

    # --- topics ---

    def take_whole(self, scene: PlanningScene, lost_messages: int, done: Callable[[Exception | None], None]) -> None:
        """Apply a whole planning scene requested from another node.

        Parameters
        ----------
        scene
            The scene.
        lost_messages
            `Snapshot.lost_messages` at the time of the request.
        done
            Receives the error because of which it could not be applied, or None.
        """
        fields = self._of_scene(moveit_changes.SceneMessage.from_message(scene))
        on_done = lambda _planning, problem: done(problem)  # noqa: E731
        self.submit([self._diff("planning_scene", done=on_done, lost_messages=lost_messages, **fields)])

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
                scene = moveit_changes.SceneMessage.from_message(message)
                self.object_messages += scene.is_about_objects
                diffs.append(self._diff(topic, done=on_done, size=size, waits=True, **self._of_scene(scene)))
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
        fields = self._of_scene(moveit_changes.SceneMessage.from_message(request.scene))
        await self.change("apply_planning_scene", **fields | {"missing": tuple})  # its client knows what is missing

    async def _clear_octomap(self, request: Empty.Request, response: Empty.Response) -> None:
        await self.change("clear_octomap", moveit_changes.remove_octomap)

    async def _apply_objects(self, request: ApplyObjects.Request, response: ApplyObjects.Response) -> str:
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
