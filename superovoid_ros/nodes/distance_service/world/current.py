# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The model that questions are answered from, whole or not at all: exchanged in one assignment. No messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from superovoid.robot import Robot
from superovoid.robot.limits import Limits
from superovoid.robot.planning_scene import Edit, Padding, PlanningScene, Problem
from superovoid_ros.nodes.common.mistakes import Code, InputError, reason_of, refusals
from superovoid_ros.nodes.distance_service.world.frames import Frames, Surroundings
from superovoid_ros.nodes.distance_service.world.model import Model

MOST_WAITING, MOST_BYTES = 5_000, 16_000_000
"""Changes that wait for a robot, and the bytes of their messages together; what is read of a mesh takes several times
as many."""
FROM_MOVEIT, FROM_SERVICE = "moveit", "superovoid"
"""Who brought an object: a whole planning scene replaces those of MoveIt's messages, and no others."""
SCENE = "<planning_scene>"
"""Name of the problem with an unreadable matrix, padding or scale of a planning scene. The next whole scene removes it;
objects do not."""

Note: TypeAlias = str | Problem
"""What is worth a warning, or could not be used while the rest was applied."""
Done: TypeAlias = Callable[[PlanningScene | None, Exception | None], None]
"""Hears the planning scene after a change, or why there is none; neither if the change waits for a robot."""


class Change:
    """A change of objects or rules, applied as a whole or not at all: if it raises, its edit is dropped.

    What is wrong with a message by itself is found when its change is made; what is wrong with it for this robot and
    these objects, when the change is applied.
    """

    is_of_one_object = False
    """Whether it leaves the edit as it was if it raises."""
    replaces_all = False
    """Whether it replaces all that MoveIt's messages have brought, attached objects too."""
    positions: Mapping[str, float] = MappingProxyType({})
    """Of joints [rad] or [m]: for those that nothing measures."""

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene, and return what is worth a warning; raise if it makes no sense."""
        raise NotImplementedError


class Refusal(Change):
    """The change of an unusable message: its objects are not at their requested poses."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self._problems = problems

    def apply(self, edit: Edit, frames: Frames) -> list[Note]:
        """Edit a planning scene."""
        for problem in self._problems:
            edit.report(problem)
        return []


@dataclass(frozen=True, eq=False)
class Diff:
    """The content of a message or a call about objects and rules, from its arrival until it is applied."""

    topic: str
    """Or service, that it came by."""
    frame_ids: tuple[str, ...]
    """That it names."""
    read: Callable[[], Change] | None
    """Parses the message, which may take long; None after that."""
    done: Done = lambda planning, problem: None
    missing: Callable[[], Sequence[Problem]] = tuple
    """Returns the missing objects if a message is refused, because its sender gets no response."""
    size: int = 0
    """Bytes of the message."""
    waits: bool = False
    """If there is no robot: true to wait for one, false to be refused."""
    unheard: int = 0
    """`Snapshot.unheard` at the time of its arrival."""
    surroundings: Surroundings | None = None
    """When it came; None: as they are when there is a robot for it."""
    change: Change | None = None
    """Its content, once it is read; None also if it is unreadable and nothing is missing without it."""
    notes: tuple[str, ...] = ()
    """Worth a warning, once it is applied."""
    problem: Exception | None = None
    """Why it, or a part of it, could not be read or applied."""

    def parsed(self) -> Diff:
        """Return this with its change, or with the reason why there is none."""
        if self.read is None:
            return self
        try:
            with refusals():
                return replace(self, read=None, change=self.read())
        except Exception as error:
            return self.refused(error)

    def refused(self, error: Exception) -> Diff:
        """Return this with what is left of it if nothing of it can be used: it keeps what is missing."""
        reason = f"{self.topic}: {reason_of(error)}"
        problems = [replace(problem, reason=reason) for problem in self.missing()]
        return replace(self, read=None, change=Refusal(problems) if problems else None, problem=error)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The robot, objects, rules and waiting messages of one moment; immutable."""

    model: Model | None = None
    problem: str = ""
    """Why there is no model."""
    code: Code = Code.NO_ROBOT
    """The same for programs."""
    planning: PlanningScene | None = None
    """Objects and rules, of this model or of the last there was; None if there was none yet."""
    waiting: tuple[Diff, ...] = ()
    """Changes that came while there was no model; none while there is one."""
    waiting_bytes: int = 0
    """Of their messages together."""
    unheard: int = 0
    """Messages lost, or too many to wait: their content is missing until a whole planning scene comes."""
    replaced: int = 0
    """How many of them came before the last whole planning scene did."""
    awaits_scene: bool = False
    """Whether objects and rules are not known before a first whole planning scene comes."""

    def with_model(self, model: Model) -> Snapshot:
        """Return this with a model, which has all that waited."""
        return replace(self, model=model, problem="", planning=model.planning, waiting=(), waiting_bytes=0)

    def has_world_of(self, other: Snapshot) -> bool:
        """Return whether a model made from another snapshot can be made from this one: losses may differ."""
        return self.model is other.model and self.planning is other.planning and self.waiting is other.waiting

    def without_model(self, problem: str, code: Code = Code.NO_ROBOT) -> Snapshot:
        """Return this without a model, with its objects and rules for the next."""
        return replace(self, model=None, problem=problem, code=code)

    def with_whole_scene(self, unheard: int) -> Snapshot:
        """Return this after a whole planning scene was applied; `unheard` is that at the time of its request."""
        return replace(self, replaced=max(self.replaced, unheard), awaits_scene=False)

    def with_lost(self, count: int) -> Snapshot:
        """Return this after a number of messages were lost."""
        return replace(self, unheard=self.unheard + count)

    @property
    def lacks_scene(self) -> str:
        """Why nothing is answered until a whole planning scene comes; empty if none is needed."""
        since = self.unheard - self.replaced
        if since:
            lost = "1 message" if since == 1 else f"{since} messages"
            return (
                f"not ready: lost {lost} about objects: send a whole planning scene (is_diff: false, and "
                "robot_state.is_diff: false)"
            )
        if self.awaits_scene:
            return (
                "not ready: no whole planning scene has come yet (require_scene: true): send one (is_diff: false), or "
                "let planning_scene_service name a node that has one"
            )
        return ""

    def with_waiting(self, waiting: Diff) -> Snapshot:
        """Return this with one more diff that waits; `InputError` if too much does already."""
        count, size = len(self.waiting) + 1, self.waiting_bytes + waiting.size
        if count > MOST_WAITING or size > MOST_BYTES:
            raise InputError(
                f"{len(self.waiting)} messages wait for a robot, at most {MOST_WAITING} and {MOST_BYTES} bytes can: "
                "describe a robot, then send the whole planning scene"
            )
        return replace(self, waiting=(*self.waiting, waiting), waiting_bytes=size)

    @property
    def missing(self) -> str:
        """Why the model is incomplete; empty if it is complete, or if there is none."""
        if self.model is None:
            return ""
        return self.lacks_scene or self.model.missing


class CurrentModel:
    """The model of now, or why there is none.

    A model is never changed: a new description makes a new one, as do objects and rules. Work that has begun with the
    previous one ends with it.

    Parameters
    ----------
    changed
        Called after a new model replaced the former one, or messages about objects were lost.
    refuses
        Returns whether requests are refused while something is missing; otherwise the response has a warning.

    Attributes
    ----------
    snapshot : Snapshot
        That of now; set by `exchange` alone.
    proposed : Model or None
        The model after the change of parameters under check; None: that of now.
    """

    def __init__(self, changed: Callable[[], None] = lambda: None, refuses: Callable[[], bool] = lambda: True) -> None:
        self._changed, self._refuses = changed, refuses
        self.snapshot = Snapshot()
        self.proposed: Model | None = None

    def model(self) -> Model:
        """Return the model; `InputError` if there is none, or if something is missing and requests are refused then."""
        if self.missing and self._refuses():
            raise InputError(self.missing, Code.INCOMPLETE_WORLD)
        if self.snapshot.model is None:
            raise InputError(self.snapshot.problem, self.snapshot.code)
        return self.snapshot.model

    def known(self) -> Model:
        """Return the model for a report of what is known; its `PlanningScene.problems` list what is missing.

        `InputError` if they do not list every missing object.
        """
        snapshot = self.snapshot
        return self.model() if snapshot.lacks_scene or snapshot.model is None else snapshot.model

    @property
    def candidate(self) -> Model | None:
        """The model after the change of parameters under check; otherwise the present one."""
        return self.proposed or self.snapshot.model

    @property
    def problem(self) -> str:
        """Why nothing can be answered, for want of a model or of a part of it; empty if there is a whole one."""
        if self.snapshot.model is None:
            return self.snapshot.problem
        return self.missing if self._refuses() else ""

    @property
    def missing(self) -> str:
        """What is missing, whether questions are answered nevertheless or not; empty if nothing is."""
        return self.snapshot.missing

    def noted(self, words: str) -> str:
        """Return the text of an answer, with what is missing."""
        return "; ".join(filter(None, (words, self.missing)))

    def exchange(self, snapshot: Snapshot) -> None:
        """Exchange the snapshot in one assignment: other threads get the old model or the new one."""
        before, self.snapshot = self.snapshot, snapshot
        if snapshot.model is not before.model or bool(snapshot.lacks_scene) != bool(before.lacks_scene):
            self._changed()


# --- building; for any thread ---


@dataclass(frozen=True)
class Description:
    """What a model is made from, the objects apart."""

    urdf: str
    srdf: str
    """empty: none"""
    representation: str
    rtol: float
    meshes: str
    packages: Mapping[str, Path]
    limits: Limits
    """Of the planning scene."""
    padding: Padding
    """Of the planning scene; paddings by link name come from planning scenes only."""
    strict: bool = False
    planning_frame: str = ""
    """Frame of the world in which the robot moves; empty: the SRDF's."""

    def read(self) -> Robot:
        """Read the robot; `InputError` naming what is wrong with it."""
        with refusals():
            return Robot.from_urdf(
                self.urdf,
                srdf=self.srdf or None,
                representation=self.representation,
                package_directories=self.packages,
                meshes=self.meshes,
                strict=self.strict,
                with_root_joint=True,
                world_frame=self.planning_frame,
            )


@dataclass(frozen=True)
class BuiltModel:
    """A new model, with notes for the log."""

    model: Model
    notes: Sequence[str] = ()
    """Worth a warning."""
    problems: Sequence[tuple[str, Exception]] = field(default_factory=list)
    """Topic and what was wrong, of changes that waited and could not be made."""


def build(robot: Robot, description: Description, snapshot: Snapshot, surroundings: Surroundings) -> BuiltModel:
    """Return a robot with all objects, rules and paddings, and with the changes that waited for it.

    Parameters
    ----------
    robot, description
        The robot, and what it was read from.
    snapshot
        What is known now.
    surroundings
        Of this robot, with the frames of the changes that wait.

    Raises
    ------
    InputError
        If the robot alone is more than there may be.
    """
    kept, rtol = snapshot.planning, description.rtol
    with refusals():
        if kept is None:
            edit = PlanningScene(robot, rtol=rtol, limits=description.limits).edit()
            edit.padding = description.padding
            planning = edit.commit()
        else:
            padding = replace(description.padding, by_name=kept.padding.by_name)
            planning = kept.for_robot(robot, rtol=rtol, limits=description.limits, padding=padding)
        model = Model(robot, rtol, planning)
    waited = [replace(diff, surroundings=surroundings) for diff in snapshot.waiting]
    model, applied = apply_each(model, waited)
    notes = [note for diff in applied for note in diff.notes]
    return BuiltModel(model, notes, [(diff.topic, diff.problem) for diff in applied if diff.problem is not None])


class PartlyRefusedError(InputError):
    """Parts of a message could not be used; the rest was."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(f"the rest is applied, not: {'; '.join(map(str, problems))}")


def apply_each(model: Model, diffs: Sequence[Diff]) -> tuple[Model, list[Diff]]:
    """Return a model with all diffs applied that can be, in their order, and the diffs with what came of each.

    All together become one planning scene. An object that cannot be used is reported to it. If a diff of more than one
    object cannot be applied, each half of them is tried by itself.
    """
    try:
        return _applied(model, diffs)
    except Exception as error:
        if len(diffs) > 1:
            middle = len(diffs) // 2
            model, first = apply_each(model, diffs[:middle])
            model, second = apply_each(model, diffs[middle:])
            return model, first + second
        refused = diffs[0].refused(error)
        return _applied(model, [refused]) if refused.change is not None else (model, [refused])


def _applied(model: Model, diffs: Sequence[Diff]) -> tuple[Model, list[Diff]]:
    """Return a model with diffs applied, all or none, and the diffs with what came of each."""
    applied = []
    with refusals():
        edit = model.planning.edit()
        for diff in diffs:
            frames = Frames(diff.surroundings, edit)
            try:
                with refusals():
                    notes = [] if diff.change is None else diff.change.apply(edit, frames)
            except InputError as error:
                if not (diff.waits and diff.change.is_of_one_object):
                    raise
                diff = diff.refused(error)
                notes = diff.change.apply(edit, frames)
            problems = [note for note in notes if isinstance(note, Problem)]
            problem = PartlyRefusedError(problems) if problems else diff.problem
            words = tuple(note for note in notes if not isinstance(note, Problem))
            applied.append(replace(diff, notes=words, problem=problem))
        return settled(model, edit.commit()), applied


def repadded(model: Model, description: Description) -> Model:
    """Return a model under other limits and with other paddings; `InputError` if there is too much of it."""
    with refusals():
        edit = model.planning.edit()
        edit.limits, edit.padding = description.limits, replace(description.padding, by_name=edit.padding.by_name)
        return settled(model, edit.commit())


def settled(model: Model, planning: PlanningScene) -> Model:
    """Return a model with another planning scene, in which objects that had no place have one if they can."""
    if not all(problem.is_unread for problem in planning.problems.values()):
        planning = planning.for_robot(model.robot, rtol=model.rtol, limits=planning.limits)
    return model.with_planning(planning)
