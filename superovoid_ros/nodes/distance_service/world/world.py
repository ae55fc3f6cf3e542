# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Objects and rules at run time: what this node's services say becomes another model; `moveit_world.py` has MoveIt's.

    message -> change (`own_messages.py`) -> another planning scene -> another model (`building.py`) -> `current.py`

Messages that come together become one model. An object of a planning scene that cannot be used is refused, and the
others are applied, as in move_group; all else is applied as a whole or not at all. What is wrong ends in the answer or,
for topics, in the log. An object that a message brought and that could not be used is kept as missing; what messages
said that were lost is not known, and nothing is answered until a whole planning scene comes.
docs/moveit.md says how this compares with move_group.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rclpy.task import Future
from superovoid_interfaces.srv import ApplyObjects, GetPairRules, SetPairRules

from superovoid.robot.planning_scene import OCTOMAP
from superovoid.robot.planning_scene import PlanningScene as Planning
from superovoid.robot.rules import DEFAULT
from superovoid.robot.scene_objects import Problem
from superovoid_ros.nodes.common.mistakes import Code, InputError, listing, refusals, shortened
from superovoid_ros.nodes.common.parameters import switch, text
from superovoid_ros.nodes.distance_service.jobs import Job, Kind
from superovoid_ros.nodes.distance_service.part import Common, Part
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world import own_messages
from superovoid_ros.nodes.distance_service.world.building import (
    Outcome,
    PartlyRefusedError,
    apply_each,
    refusal_of,
)
from superovoid_ros.nodes.distance_service.world.changes import Change, SceneChange
from superovoid_ros.nodes.distance_service.world.current import CurrentModel, Diff, Standing
from superovoid_ros.nodes.distance_service.world.frames import Surroundings
from superovoid_ros.nodes.distance_service.world.given_in_frames import frames_of
from superovoid_ros.nodes.distance_service.world.model import Model

_MOST_LISTED = 10  # reasons in the diagnostics
_MOST_TOGETHER = 5_000  # requests that are read together
_MOST_ASKED = 1_000_000  # pairs in an answer about rules

INCOMPLETE = "incomplete_world"


def _check_incomplete(value: object) -> None:
    if value not in ("refuse", "warn"):
        raise InputError(f"{INCOMPLETE} = '{value}': must be refuse or warn")


Done = Callable[[Planning | None, Exception | None], None]
"""Hears the planning scene there is then, or why there is none; neither where the change waits for a robot."""


@dataclass(frozen=True)
class Request:
    """A message or a call that is to change something."""

    topic: str
    """Or service."""
    frame_ids: tuple[str, ...]
    """That it names."""
    read: Callable[[], Change]
    """Returns what it says; may take long."""
    done: Done
    missing: tuple[Problem, ...] = ()
    """What is missing if it is refused: of a message, whose sender hears of nothing."""
    waits: bool = False
    """Where there is no robot it waits for one; else it is refused then."""
    unheard: int | None = None
    """`Standing.unheard` when what it says was known to hold; None: when it comes."""


@dataclass
class Entry:
    """A request, and what is known of it."""

    request: Request
    unheard: int
    """`Standing.unheard` when what it says was known to hold."""
    surroundings: Surroundings | None = None
    """When it came."""
    change: Change | None = None
    """What it says, once it is read; None also if it cannot be, and nothing is missing without it."""
    problem: Exception | None = None
    """Why it cannot be read."""

    def read(self) -> None:
        """Read it, once."""
        if self.change is not None or self.problem is not None:
            return
        try:
            with refusals():
                self.change = self.request.read()
        except Exception as error:
            self.problem = error
            if self.request.missing:
                self.change = refusal_of(self.request.topic, self.request.missing, error)

    @property
    def diff(self) -> Diff | None:
        """What it says, once it is read; None: nothing."""
        if self.change is None:
            return None
        request = self.request
        return Diff(request.topic, self.change, request.frame_ids, request.missing, self.surroundings)


@dataclass(frozen=True)
class _Found:
    """What came of requests."""

    standing: Standing
    """That it was made of."""
    model: Model | None
    """None: there is no robot for it yet."""
    outcomes: Mapping[int, Outcome] = field(default_factory=dict)
    """Of the requests that could be read, by their place."""


class World(Part):
    """The objects around and on the robot, and the rules of its pairs.

    Topics are heard from `configure` on, like measurements, so that nothing is missed while the node is inactive or
    has no robot; services ask for an active node, and for a robot.
    """

    parameters = (
        text(
            INCOMPLETE,
            "refuse",
            "While not all that was said about objects could be read or has its place: questions are refused, or "
            "answered with a warning",
            "refuse or warn",
            check=_check_incomplete,
        ),
        switch(
            "require_scene",
            "Nothing is answered until a whole planning scene has come: for a node that is started again, and does not "
            "know what the one before was told",
            default=False,
            read_only=True,
        ),
    )

    def __init__(self, common: Common, current: CurrentModel, measurements: Measurements) -> None:
        super().__init__(common)
        self._current, self._measurements = current, measurements
        self._together: tuple[Job, list[Entry]] | None = None  # the last job, to which more may be added
        self._named: Counter[str] = Counter()  # frames of what is to be read, as often as they are named

    def configure(self) -> None:
        """Listen to MoveIt's topics and open the services."""
        standing = self._current.standing
        self._current.exchange(replace(standing, awaits_scene=bool(self.value("require_scene"))))
        self.endpoints.serve(ApplyObjects, "~/apply_objects", self._apply_objects)
        self.endpoints.serve(GetPairRules, "~/get_pair_rules", self._get_pair_rules)
        self.endpoints.serve(SetPairRules, "~/set_pair_rules", self._set_pair_rules)

    def facts(self) -> Mapping[str, object]:
        """Return the number of objects, for diagnostics."""
        standing = self._current.standing
        planning = standing.planning
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
            "could not be read": "; ".join(shortened(one.reason, 200) for one in unread[:_MOST_LISTED]) or "nothing",
            "joints assumed": ", ".join(self._measurements.assumed(standing.model and standing.model.robot)) or "none",
            "waiting for a robot": len(standing.waiting),
            "lost messages": standing.unheard,
        }

    # --- changes ---

    def _lose(self, count: int) -> None:
        """Note that what so many messages said is not known."""
        self._current.exchange(self._current.standing.with_lost(count))

    def _change(self, request: Request) -> None:
        """Apply a change, and tell."""
        unheard = self._current.standing.unheard if request.unheard is None else request.unheard
        self._do([Entry(request, unheard)])

    def _do(self, entries: list[Entry]) -> None:
        """Have requests read, with those that wait if these were the last; `InputError` if too many wait."""
        for entry in entries:
            self._named.update(entry.request.frame_ids)
        try:
            self._surround(entries)
            if self._together is not None and self._together[0] is self.jobs.last_waiting(Kind.READ):
                others = self._together[1]
                if len(others) + len(entries) > _MOST_TOGETHER:
                    raise InputError(
                        f"{len(others)} messages and requests wait to be read: send fewer, or later", Code.BUSY
                    )
                others += entries
                return
            job = Job(Kind.READ, lambda: self._work(entries), lambda *found: self._use(entries, *found))
            self.jobs.submit(job)
            self._together = job, entries
        except Exception:
            self._unname(entries)
            raise

    def _surround(self, entries: Sequence[Entry]) -> None:
        """Take down where frames and joints are; for what is read again they stay where they were when it came."""
        model = self._current.current
        # Objects that are to be attached may stand in frames that these messages do not name.
        frame_ids = {frame for entry in entries for frame in entry.request.frame_ids}
        frame_ids |= {*self._named, *(frames_of(model.planning) if model else ())}
        found = self._measurements.surroundings(model and model.robot, frame_ids)
        for entry in entries:
            is_first = entry.surroundings is None or entry.surroundings.robot is not found.robot
            entry.surroundings = found if is_first else entry.surroundings.with_frames_of(found)

    def _unname(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self._named.subtract(entry.request.frame_ids)
        self._named += Counter()  # without those that nothing names any more

    def _work(self, entries: Sequence[Entry]) -> _Found:
        """Return a model with all that these say."""
        for entry in entries:
            entry.read()
        standing = self._current.standing
        robot = standing.model and standing.model.robot
        if robot is None or any(entry.surroundings.robot is not robot for entry in entries):
            return _Found(standing, None)
        diffs = {index: entry.diff for index, entry in enumerate(entries) if entry.diff is not None}
        model, outcomes = apply_each(standing.model, list(diffs.values()))
        return _Found(standing, model, dict(zip(diffs, outcomes, strict=True)))

    def _use(self, entries: Sequence[Entry], found: _Found | None, problem: Exception | None) -> bool:
        """Exchange a model for that of now and tell who waits; false: it is not the successor of that of now."""
        if problem is None and (
            not self._current.standing.has_world_of(found.standing)
            or (found.model is None and found.standing.model is not None)
        ):
            self._surround(entries)
            return False
        self._unname(entries)
        try:
            if problem is not None:
                raise problem
            outcomes = self._wait(entries) if found.model is None else self._exchange(entries, found)
        except Exception as error:
            outcomes = [Outcome(problem=error)] * len(entries)
            if not isinstance(error, InputError):  # a mistake of the node
                self._lose(sum(entry.request.waits for entry in entries))
        for entry, outcome in zip(entries, outcomes, strict=True):
            for note in outcome.notes:
                self.log.warning("planning scene", note)
            wrong = entry.problem or outcome.problem
            if wrong is not None:
                entry.request.done(None, wrong)
            elif found.model is not None:
                entry.request.done(found.model.planning, None)
        return True

    def _exchange(self, entries: Sequence[Entry], found: _Found) -> list[Outcome]:
        standing = self._current.standing.with_model(found.model)
        outcomes = [found.outcomes.get(index, Outcome()) for index in range(len(entries))]
        for entry, outcome in zip(entries, outcomes, strict=True):
            if outcome.problem is None or isinstance(outcome.problem, PartlyRefusedError):
                standing = self._with_scene(standing, entry)
        self._current.exchange(standing)
        return outcomes

    def _with_scene(self, standing: Standing, entry: Entry) -> Standing:
        """Take over what only a planning scene says."""
        change = entry.change
        if isinstance(change, SceneChange):
            self._measurements.take_scene(change.positions)
            if change.leaves_nothing:
                return standing.with_whole_scene(entry.unheard)
        return standing

    def _wait(self, entries: Sequence[Entry]) -> list[Outcome]:
        """Keep changes until there is a robot."""
        standing, outcomes = self._current.standing, []
        for entry in entries:
            request, problem = entry.request, None
            try:
                if not request.waits:
                    self._current.model()  # raises
                if entry.change is not None:
                    standing = standing.with_waiting(replace(entry.diff, surroundings=None))
                    standing = self._with_scene(standing, entry)
            except InputError as error:
                problem = error
                standing = standing.with_lost(int(request.waits))
            outcomes.append(Outcome(problem=problem))
        self._current.exchange(standing)
        return outcomes

    def _changing(self, service: str, frame_ids: Sequence[str], read: Callable[[], Change]) -> Future:
        """Apply a change; the future has the planning scene, or why there is none."""
        future = Future()

        def done(planning: Planning | None, problem: Exception | None) -> None:
            if problem is None:
                future.set_result(planning)
            else:
                future.set_exception(problem)

        self._change(Request(service, tuple(frame_ids), read, done))
        return future

    # --- services ---

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
            lambda: own_messages.superovoid_changes(request.objects),
            lambda planning: f"{len(request.objects)} applied; objects: {listing(planning.objects)}",
        )

    def _get_pair_rules(self, request: GetPairRules.Request, response: GetPairRules.Response) -> GetPairRules.Response:
        def fill() -> str:
            planning = self._current.model().planning
            with refusals("request", code=Code.UNKNOWN_LINK):
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
            lambda: own_messages.rules_change(request),
            lambda planning: f"{len(planning.rules.runtime)} runtime rules",
        )


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
