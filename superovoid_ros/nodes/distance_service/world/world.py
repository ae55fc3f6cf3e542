# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Objects and rules at run time: what MoveIt's topics and this node's services say becomes another model.

    message -> change (`to_changes.py`) -> another planning scene -> another model (`building.py`) -> `current.py`

An object of a planning scene that cannot be used is refused, and the others are applied, as in move_group; all else is
applied as a whole or not at all. What is wrong ends in the answer or, for topics, in the log; an object that a message
brought and that could not be used is kept as missing. docs/moveit.md says how this compares with move_group.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, PlanningScene, PlanningSceneWorld
from moveit_msgs.srv import ApplyPlanningScene
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from superovoid_interfaces.srv import ApplyObjects, GetPairRules, SetPairRules

from superovoid_ros.nodes.common.mistakes import InputError, listing, reason_of, refusals, shortened
from superovoid_ros.nodes.common.parameters import count, text
from superovoid_ros.nodes.common.qos import listen, serve
from superovoid_ros.nodes.distance_service.part import Common, Part
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world import to_changes
from superovoid_ros.nodes.distance_service.world.building import PartlyRefusedError, changed, partly_refused
from superovoid_ros.nodes.distance_service.world.changes import Change, Refused, SceneChange
from superovoid_ros.nodes.distance_service.world.current import CurrentModel, Standing, Waiting
from superovoid_ros.nodes.distance_service.world.frames import Surroundings
from superovoid_ros.nodes.distance_service.world.given_in_frames import frames_of
from superovoid_ros.nodes.distance_service.world.model import Model
from superovoid_ros.nodes.distance_service.world.objects import OPEN_MESHES
from superovoid_ros.nodes.distance_service.world.reader import Reader, Task
from superovoid_ros.nodes.distance_service.world.refused import Refusal, Unread
from superovoid_ros.robot.planning_scene import OCTOMAP
from superovoid_ros.robot.planning_scene import PlanningScene as Planning
from superovoid_ros.robot.rules import DEFAULT

# As MoveIt's planning scene monitor, so that it and its clients find a listener that fits.
_RELIABLE = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
_MOST_LISTED = 10  # reasons in the diagnostics
_MOST_ASKED = 1_000_000  # pairs in an answer about rules

INCOMPLETE = "incomplete_world"


def _check_incomplete(value: object) -> None:
    if value not in ("refuse", "warn"):
        raise InputError(f"{INCOMPLETE} = '{value}': must be refuse or warn")


def _check_open_meshes(value: object) -> None:
    if value not in OPEN_MESHES:
        raise InputError(f"open_meshes = '{value}': must be {' or '.join(OPEN_MESHES)}")


Done = Callable[[Planning | None, Exception | None], None]
"""Hears the planning scene there is then, or why there is none; neither where the change waits for a robot."""


@dataclass(frozen=True)
class _Found:
    """What came of a change."""

    standing: Standing
    """That it was made of."""
    model: Model | None
    """None: there is no robot for it yet."""
    notes: Sequence[str]
    """Worth a warning."""
    problem: Exception | None = None
    """Why it could not be made, and the model has a word of that instead."""


@dataclass(frozen=True)
class _Request:
    """A message or a call that is to change something."""

    topic: str
    """Or service."""
    frame_ids: tuple[str, ...]
    """That it names."""
    read: Callable[[], Change]
    """Returns what it says; may take long."""
    done: Done
    unread: tuple[Unread, ...] = ()
    """What is missing where it is refused: of a message, whose sender hears of nothing."""
    waits: bool = False
    """Where there is no robot it waits for one; else it is refused then."""
    unheard: int | None = None
    """`Standing.unheard` when what it says was known to hold; None: when it comes."""


class World(Part):
    """The objects around and on the robot, and the rules of its pairs.

    Topics are heard from `configure` on, like measurements, so that nothing is missed while the node is inactive or
    has no robot; services ask for an active node, and for a robot.
    """

    parameters = (
        count("octomap_cubes", 20_000, 1, 1_000_000, "How many occupied cubes an octomap may have; more are refused"),
        text(
            "open_meshes",
            "hull",
            "What a mesh of an object is that does not close: its convex hull, with a warning, or a shell of triangles "
            "that has no inside",
            f"one of {', '.join(OPEN_MESHES)}",
            check=_check_open_meshes,
        ),
        text(
            INCOMPLETE,
            "refuse",
            "While not all that was said about objects could be read or has its place: questions are refused, or "
            "answered with a warning",
            "refuse or warn",
            check=_check_incomplete,
        ),
    )

    def __init__(self, common: Common, current: CurrentModel, reader: Reader, measurements: Measurements) -> None:
        super().__init__(common)
        self._current, self._reader, self._measurements = current, reader, measurements
        self._heard = 0
        self._named: Counter[str] = Counter()  # frames of what is to be read, as often as they are named

    def configure(self) -> None:
        """Listen to MoveIt's topics and open the services."""
        node = self.node
        # A group of their own, in which a call that waits for its turn keeps no other from being begun.
        group = ReentrantCallbackGroup()
        listen(node, CollisionObject, "collision_object", self._take_object, _RELIABLE)
        listen(node, AttachedCollisionObject, "attached_collision_object", self._take_attached, _RELIABLE)
        listen(node, PlanningScene, "planning_scene", self._take_scene, _RELIABLE)
        listen(node, PlanningSceneWorld, "planning_scene_world", self._take_world, _RELIABLE)
        serve(node, ApplyPlanningScene, "apply_planning_scene", self._apply_planning_scene, group)
        serve(node, ApplyObjects, "~/apply_objects", self._apply_objects, group)
        serve(node, GetPairRules, "~/get_pair_rules", self._get_pair_rules)
        serve(node, SetPairRules, "~/set_pair_rules", self._set_pair_rules, group)

    def facts(self) -> Mapping[str, object]:
        """Return the number of objects, for diagnostics."""
        standing = self._current.standing
        planning = standing.planning
        objects = {} if planning is None else planning.objects
        attached = sum(thing.link is not None for thing in objects.values())
        misfits = {} if planning is None else planning.misfits
        unread = [misfit for misfit in misfits.values() if misfit.is_unread]
        cubes = len(objects[OCTOMAP].shapes) if OCTOMAP in objects else 0
        return {
            "objects": len(objects) - attached - (OCTOMAP in objects),
            "attached objects": attached,
            "octomap cubes": cubes,
            "objects without a place": sum(not misfit.is_unread for misfit in misfits.values()),
            "could not be read": "; ".join(shortened(one.reason, 200) for one in unread[:_MOST_LISTED]) or "nothing",
            "joints assumed": ", ".join(self._measurements.assumed(standing.model and standing.model.robot)) or "none",
            "waiting for a robot": len(standing.waiting),
        }

    @property
    def heard(self) -> int:
        """How many messages about objects came by topics."""
        return self._heard

    # --- from topics ---

    def _take_object(self, message: CollisionObject) -> None:
        frame_ids, meshes = [message.header.frame_id], self._open_meshes
        self._take("collision_object", message, frame_ids, lambda: to_changes.object_change(message, meshes))

    def _take_attached(self, message: AttachedCollisionObject) -> None:
        frame_ids, meshes = [message.object.header.frame_id], self._open_meshes
        self._take("attached_collision_object", message, frame_ids, lambda: to_changes.attached_change(message, meshes))

    def _take_scene(self, message: PlanningScene) -> None:
        self._take("planning_scene", message, to_changes.frame_ids_of(message), self._reading(message))

    def _take_world(self, message: PlanningSceneWorld) -> None:
        scene = to_changes.scene_of_world(message)
        read = partial(to_changes.world_change, message, int(self.value("octomap_cubes")), self._open_meshes)
        self._take("planning_scene_world", scene, to_changes.frame_ids_of(scene), read)

    def take_whole(self, scene: PlanningScene, unheard: int, done: Callable[[Exception | None], None]) -> None:
        """Apply a whole planning scene that another node was asked for, and tell whether that could be.

        Parameters
        ----------
        scene
            The scene.
        unheard
            `Standing.unheard` when it was asked for.
        done
            Hears why it could not be applied; None: it was.
        """
        frame_ids, read = tuple(to_changes.frame_ids_of(scene)), self._reading(scene)
        unread = tuple(to_changes.unread_of(scene))
        request = _Request(
            "planning_scene", frame_ids, read, lambda _planning, problem: done(problem), unread, unheard=unheard
        )
        self._change(request)

    @property
    def _open_meshes(self) -> str:
        return str(self.value("open_meshes"))

    def _reading(self, scene: PlanningScene) -> Callable[[], Change]:
        """Return what reads a scene under the parameters of now."""
        return partial(to_changes.scene_change, scene, int(self.value("octomap_cubes")), self._open_meshes)

    def _take(
        self,
        topic: str,
        message: CollisionObject | AttachedCollisionObject | PlanningScene,
        frame_ids: Sequence[str],
        read: Callable[[], Change],
    ) -> None:
        """Apply a message of a topic; where that cannot be, say so in the log, and bear in mind what is missing."""

        def done(_planning: Planning | None, problem: Exception | None) -> None:
            if problem is not None:
                # Each of these is an object that is not where its sender believes it to be.
                what = "applied only a part of" if isinstance(problem, PartlyRefusedError) else "ignored"
                self.log.error(topic, f"{what} a message on {topic}: {reason_of(problem)}")
                self.statistics.message(topic, problem)

        self._heard += topic != "planning_scene" or to_changes.is_about_objects(message)
        try:
            unread = tuple(to_changes.unread_of(message))
            self._change(_Request(topic, tuple(frame_ids), read, done, unread, waits=True))
        except InputError as error:
            # Too much waits to be read: what is missing is not known any more.
            standing = self._current.standing
            self._current.exchange(replace(standing, unheard=standing.unheard + 1))
            done(None, error)

    # --- one change ---

    def _change(self, request: _Request) -> None:
        """Apply a change by the thread that reads, and tell; whatever is raised as a whole, nothing has changed.

        Frames and joints are where they are when the change comes.
        """
        change: list[Change] = []  # once it is read
        surroundings: list[Surroundings] = []
        unheard = self._current.standing.unheard if request.unheard is None else request.unheard

        def prepare() -> None:
            model = self._current.current
            # Objects that are to be attached may stand in frames that this message does not name.
            frame_ids = {*request.frame_ids, *self._named, *(frames_of(model.planning) if model else ())}
            found = self._measurements.surroundings(model and model.robot, frame_ids)
            # Of a message that is read again they are those of when it came.
            first = surroundings[0] if surroundings and surroundings[0].robot is found.robot else found
            surroundings[:] = [first.with_frames_of(found)]

        def work() -> _Found:
            problem = None
            if not change:
                try:
                    with refusals():
                        change.append(request.read())
                except Exception as error:
                    problem, change[:] = error, [_refused(request, error)]
            standing = self._current.standing
            if standing.model is None or standing.model.robot is not surroundings[0].robot:
                return _Found(standing, None, [], problem)
            try:
                return _Found(standing, *changed(standing.model, change, surroundings[0]), problem)
            except Exception as error:
                if not request.unread:
                    raise
                refused = [_refused(request, error)]
                return _Found(standing, *changed(standing.model, refused, surroundings[0]), error)

        problems: list[Exception] = []  # of what was read once, and is not read again

        def use(found: _Found | None, problem: Exception | None) -> bool:
            is_over = used(found, problem)
            if is_over:
                self._named.subtract(request.frame_ids)
                self._named += Counter()  # without those that nothing names any more
            return is_over

        def used(found: _Found | None, problem: Exception | None) -> bool:
            try:
                if problem is not None:
                    raise problem
                standing, model = found.standing, found.model
                if isinstance(change[0], Refusal) and found.problem is not None and not problems:
                    problems.append(found.problem)
                if self._current.standing is not standing or (model is None and standing.model is not None):
                    return False
                if isinstance(change[0], SceneChange):
                    self._measurements.take_scene(change[0].positions)
                if model is None:
                    self._wait(request, change[0])
                elif found.problem is None:
                    self._exchange(standing, model, change[0], unheard)
                else:
                    self._current.exchange(standing.with_model(model))
                problem = found.problem or next(iter(problems), None)
                if problem is not None:
                    raise problem
                if model is None:
                    return True
                for note in found.notes:
                    if not isinstance(note, Refused):
                        self.log.warning("planning scene", note)
                problem = partly_refused(found.notes)
                if problem is not None:
                    raise problem
            except Exception as error:
                request.done(None, error)
                return True
            request.done(model.planning, None)
            return True

        self._named.update(request.frame_ids)
        try:
            self._reader.do(Task(prepare, work, use))
        except InputError:
            self._named.subtract(request.frame_ids)
            raise

    def _exchange(self, standing: Standing, model: Model, change: Change, unheard: int) -> None:
        if isinstance(change, SceneChange) and change.leaves_nothing:
            standing = standing.with_whole_scene(unheard)
        self._current.exchange(standing.with_model(model))

    def _wait(self, request: _Request, change: Change) -> None:
        """Keep a change until there is a robot; `InputError` where it cannot be kept."""
        standing = self._current.standing
        if not request.waits:
            self._current.whole()  # raises
        try:
            waiting = Waiting(request.topic, request.frame_ids, change, request.unread)
            self._current.exchange(standing.with_waiting(waiting))
        except InputError:
            self._current.exchange(replace(standing, unheard=standing.unheard + 1))
            raise

    def _changing(self, service: str, frame_ids: Sequence[str], read: Callable[[], Change]) -> Future:
        """Apply a change; the future has the planning scene, or why there is none."""
        future = Future(executor=self.node.executor)

        def done(planning: Planning | None, problem: Exception | None) -> None:
            if problem is None:
                future.set_result(planning)
            else:
                future.set_exception(problem)

        self._change(_Request(service, tuple(frame_ids), read, done))
        return future

    # --- services ---

    async def _apply_planning_scene(
        self, request: ApplyPlanningScene.Request, response: ApplyPlanningScene.Response
    ) -> ApplyPlanningScene.Response:
        try:
            self.activity.require()
            scene = request.scene
            await self._changing("apply_planning_scene", to_changes.frame_ids_of(scene), self._reading(scene))
            response.success = True
            self.statistics.call("ApplyPlanningScene")
        except Exception as error:
            # The response has no room for words.
            done = "the rest is applied, not" if isinstance(error, PartlyRefusedError) else "nothing applied"
            self.log.error("apply_planning_scene", f"apply_planning_scene: {done}: {reason_of(error)}")
            self.statistics.call("ApplyPlanningScene", error)
            response.success = False
        return response

    async def _answer(
        self, response: object, frame_ids: Sequence[str], read: Callable[[], Change], words: Callable[[Planning], str]
    ) -> object:
        """Apply a change and answer with words about the planning scene there is then."""
        planning = problem = None
        try:
            self.activity.require()
            planning = await self._changing(type(response).__name__, frame_ids, read)
        except Exception as error:
            problem = error

        def fill() -> str:
            if problem is not None:
                raise problem
            missing = self._current.missing
            return words(planning) + (f"; {missing}" if missing else "")

        return self.answer(response, fill)

    async def _apply_objects(
        self, request: ApplyObjects.Request, response: ApplyObjects.Response
    ) -> ApplyObjects.Response:
        return await self._answer(
            response,
            [one.header.frame_id for one in request.objects],
            lambda: to_changes.superovoid_changes(request.objects),
            lambda planning: f"{len(request.objects)} applied; objects: {listing(planning.objects)}",
        )

    def _get_pair_rules(self, request: GetPairRules.Request, response: GetPairRules.Response) -> GetPairRules.Response:
        def fill() -> str:
            planning = self._current.whole().planning
            with refusals("request"):
                pairs = _asked_pairs(planning, request.links_a, request.links_b)
            verdicts = [planning.rules.why(*pair) for pair in pairs]
            response.link_a, response.link_b = [a for a, _ in pairs], [b for _, b in pairs]
            response.checked = [verdict.checked for verdict in verdicts]
            response.rule = [verdict.rule for verdict in verdicts]
            response.reason = [verdict.words for verdict in verdicts]
            return f"{sum(response.checked)} of {len(pairs)} pairs are checked"

        return self.answer(response, fill)

    async def _set_pair_rules(
        self, request: SetPairRules.Request, response: SetPairRules.Response
    ) -> SetPairRules.Response:
        return await self._answer(
            response,
            (),
            lambda: to_changes.rules_change(request),
            lambda planning: f"{len(planning.rules.runtime)} runtime rules",
        )


def _refused(request: _Request, error: Exception) -> Refusal:
    """Return what is left of a message that cannot be read; what a caller is told of is raised instead."""
    if not request.unread:
        raise error
    return Refusal(request.unread, f"{request.topic}: {reason_of(error)}")


def _asked_pairs(planning: Planning, names_a: Sequence[str], names_b: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of links and objects, each once, the first one of `names_a`.

    Where either side is any, two objects of the world are a pair only if a rule is about them, and nothing is paired
    with itself.
    """
    for name in (*names_a, *names_b):
        if name in planning.robot.links_without_geometry:
            raise InputError(f"link '{name}' has no contact geometry")
    sides = [planning.owners_of(names or None) for names in (names_a, names_b)]
    order = {owner: row for row, owner in enumerate(dict.fromkeys(planning.owners))}
    of_a, of_b = (sorted(side, key=order.__getitem__) for side in sides)
    if len(of_a) * len(of_b) > _MOST_ASKED:
        raise InputError(
            f"request: {len(of_a)} times {len(of_b)} pairs of links and objects, at most {_MOST_ASKED}: name fewer"
        )
    named = bool(names_a) and bool(names_b)
    pairs: dict[frozenset[str], tuple[str, str]] = {}
    for a, b in itertools.product(of_a, of_b):
        both_world = planning.in_world(a) and planning.in_world(b)
        if named or (a != b and not (both_world and planning.rules.why(a, b).rule == DEFAULT)):
            pairs.setdefault(frozenset((a, b)), (a, b))
    return list(pairs.values())
