# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Objects and rules at run time, from the services of this node and, if they are installed, from MoveIt's messages.

    message -> Diff (`current.py`) -> its change (`own_changes.py`, `moveit_changes.py`), in a thread -> new planning
    scene and model -> new Snapshot, exchanged in one assignment (`current.py`)

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
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

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
    Done,
    PartlyRefusedError,
    Snapshot,
    apply,
)
from superovoid_ros.nodes.distance_service.world.frames import frames_of
from superovoid_ros.nodes.distance_service.world.model import Model
from superovoid_ros.nodes.distance_service.world.own_changes import RulesChange, SuperovoidChanges

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

_Applied: TypeAlias = tuple[Snapshot, Model | None, list[Diff]]
"""Result of applying diffs: the snapshot from which the model was built, the model (None: there is no robot yet), and
the diffs."""


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
        self._queued: list[tuple[Job, list[Diff]]] = []  # in the order of their jobs
        self._built_at = -math.inf  # time.monotonic, s
        self.object_messages = 0
        """Number of messages about objects received on topics."""

    def configure(self) -> None:
        """Listen to MoveIt's topics and open the services."""
        snapshot = self._current.snapshot
        self._current.exchange(replace(snapshot, awaits_scene=bool(self.value("require_scene"))))
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
            "waiting for a robot": len(snapshot.waiting),
            "lost messages": snapshot.lost_messages,
        }

    # --- changes ---

    def lose(self, count: int) -> None:
        """Record that a number of messages were lost, so that their content is unknown."""
        self._current.exchange(self._current.snapshot.with_lost(count))

    def submit(self, diffs: list[Diff]) -> None:
        """Read and apply diffs, together with those that wait if these arrived last; `InputError` if too many wait."""
        self._surround(diffs)
        if self._queued and self._queued[-1][0] is self.jobs.last_waiting(Kind.READ):
            others = self._queued[-1][1]
            if len(others) + len(diffs) > _MOST_TOGETHER:
                words = f"{len(others)} messages and requests wait to be read: send fewer, or try again later"
                raise InputError(words, Code.BUSY)
            others += diffs
            return
        job = Job(Kind.READ, lambda: self._work(diffs), lambda *found: self._install(diffs, *found))
        self.jobs.submit(job)
        self._queued.append((job, diffs))

    def _surround(self, diffs: list[Diff]) -> None:
        """Record the poses of frames and joints; a message that is read again keeps the poses at its arrival."""
        model = self._current.snapshot.model
        # Objects to attach may be in frames that these messages do not name.
        before = itertools.chain(diffs, *(queued for _, queued in self._queued))
        frame_ids = {frame for diff in before for frame in diff.frame_ids} | frames_of(model and model.planning)
        found = self._measurements.surroundings(model and model.robot, frame_ids)
        for index, diff in enumerate(diffs):
            is_first = diff.surroundings is None or diff.surroundings.robot is not found.robot
            diffs[index] = replace(diff, surroundings=found if is_first else diff.surroundings.with_frames_of(found))

    def _work(self, diffs: list[Diff]) -> _Applied:
        """Build a model with all diffs. For streams of messages on topics, pause between two models."""
        if all(diff.waits for diff in diffs):
            time.sleep(max(0.0, self._built_at + _PERIOD - time.monotonic()))
        self._built_at = time.monotonic()
        diffs[:] = [diff.parse() for diff in diffs]
        snapshot = self._current.snapshot
        robot = snapshot.model and snapshot.model.robot
        if robot is None or any(diff.surroundings.robot is not robot for diff in diffs):
            return snapshot, None, diffs
        return snapshot, *apply(snapshot.model, diffs)

    def _install(self, diffs: list[Diff], found: _Applied | None, problem: Exception | None) -> bool:
        """Install the model and notify waiting calls; return False if it is not a successor of the current model."""
        snapshot, model, applied = found or (self._current.snapshot, None, diffs)
        if problem is None and (
            not self._current.snapshot.has_world_of(snapshot) or (model is None and snapshot.model is not None)
        ):
            self._surround(diffs)
            return False
        self._queued = [queued for queued in self._queued if queued[1] is not diffs]
        try:
            if problem is not None:
                raise problem
            if model is None:
                applied = self._wait(applied)
            else:
                snapshot = self._current.snapshot.with_model(model)
                for diff in applied:
                    if diff.problem is None or isinstance(diff.problem, PartlyRefusedError):
                        snapshot = self._with_scene(snapshot, diff)
                self._current.exchange(snapshot)
        except Exception as error:
            applied = [replace(diff, problem=diff.problem or error) for diff in applied]
            if not isinstance(error, InputError):  # a bug of the node
                self.lose(sum(diff.waits for diff in diffs))
        for diff in applied:
            for note in diff.notes:
                self.log.warning("planning scene", note)
            if diff.problem is not None:
                diff.done(None, diff.problem)
            elif model is not None:
                diff.done(model.planning, None)
        return True

    def _with_scene(self, snapshot: Snapshot, diff: Diff) -> Snapshot:
        """Apply the parts of a diff that concern the whole scene: assumed joint positions, and the end of a loss."""
        if diff.change is not None:
            self._measurements.take_scene(diff.change.positions)
            if diff.change.replaces_all:
                return snapshot.with_whole_scene(diff.lost_messages)
        return snapshot

    def _wait(self, diffs: Sequence[Diff]) -> list[Diff]:
        """Store changes until there is a robot."""
        snapshot, ended = self._current.snapshot, []
        for diff in diffs:
            try:
                if not diff.waits:
                    self._current.model()  # raises
                if diff.change is not None:
                    missing = tuple(diff.missing())  # drops the message itself
                    kept = replace(diff, surroundings=None, problem=None, missing=lambda missing=missing: missing)
                    snapshot = self._with_scene(snapshot.with_waiting(kept), diff)
            except InputError as error:
                snapshot = snapshot.with_lost(int(diff.waits))
                diff = replace(diff, problem=diff.problem or error)
            ended.append(diff)
        self._current.exchange(snapshot)
        return ended

    def change(self, service: str, frame_ids: Sequence[str], read: Callable[[], Change]) -> Future:
        """Apply a change; the result of the future is the planning scene, or the error."""
        future, lost_messages = Future(), self._current.snapshot.lost_messages
        self.submit([Diff(service, tuple(frame_ids), read, partial(settle, future), lost_messages=lost_messages)])
        return future

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
        applied = lambda _planning, problem: done(problem)  # noqa: E731
        message = moveit_changes.SceneMessage.from_message(scene)
        self.submit([self._diff("planning_scene", message, applied, lost_messages=lost_messages)])

    def _diff(self, topic: str, scene: moveit_changes.SceneMessage, done: Done, **more: object) -> Diff:
        """Return a message of a topic as a diff, to be read with the current parameters."""
        options = self._options()
        read = partial(moveit_changes.SceneChange, scene, options)
        return Diff(topic, tuple(scene.frame_ids), read, done, partial(scene.missing_without, options.objects), **more)

    def _options(self) -> moveit_changes.Options:
        return moveit_changes.Options(*map(self.value, ("open_meshes", "octomap_cubes", "max_objects")))

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
                lost_messages = self._current.snapshot.lost_messages
                diffs.append(self._diff(topic, scene, on_done, size=size, waits=True, lost_messages=lost_messages))
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
        scene = moveit_changes.SceneMessage.from_message(request.scene)
        read = partial(moveit_changes.SceneChange, scene, self._options())
        await self.change("apply_planning_scene", scene.frame_ids, read)

    async def _clear_octomap(self, request: Empty.Request, response: Empty.Response) -> None:
        await self.change("clear_octomap", (), moveit_changes.OctomapChange)

    async def _apply_objects(self, request: ApplyObjects.Request, response: ApplyObjects.Response) -> str:
        frame_ids = [one.header.frame_id for one in request.objects]
        planning = await self.change("apply_objects", frame_ids, lambda: SuperovoidChanges(request.objects))
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
        planning = await self.change("set_pair_rules", (), lambda: RulesChange(request))
        return self._current.append_missing(f"{len(planning.rules.runtime)} runtime rules")


def _requested_pairs(planning: Planning, names_a: Sequence[str], names_b: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of links and objects, each once, with one of `names_a` first.

    If either side is empty (any), two objects of the world form a pair only if a rule concerns them, and no link or
    object is paired with itself.
    """
    for name in (*names_a, *names_b):
        if name in planning.robot.links_without_geometry:
            raise InputError(f"link '{name}' has no contact geometry")
    sides = [planning.owners_of(names or None) for names in (names_a, names_b)]
    order = {owner: row for row, owner in enumerate(dict.fromkeys(planning.owners))}
    of_a, of_b = (sorted(side, key=order.__getitem__) for side in sides)
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
