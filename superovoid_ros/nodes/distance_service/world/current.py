# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The current model, from which requests are answered: replaced as a whole in one assignment. No messages."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from superovoid.robot.planning_scene import Edit, PlanningScene, Problem
from superovoid_ros.nodes.common.mistakes import Code, InputError, reason_of, refusals
from superovoid_ros.nodes.distance_service.robot_state.measured import Moment
from superovoid_ros.nodes.distance_service.world.frames import Frames
from superovoid_ros.nodes.distance_service.world.model import Model

MOST_WAITING, MOST_BYTES = 5_000, 16_000_000
"""Largest number of changes that wait for a robot, and of bytes of their messages together."""
FROM_MOVEIT, FROM_SERVICE = "moveit", "superovoid"
"""Source of an object: a whole planning scene replaces those of MoveIt's messages, and no others."""
SCENE = "<planning_scene>"
"""Name of the problem with an unreadable matrix, padding or scale in a planning scene. The next whole scene removes it;
objects do not."""

Note: TypeAlias = str | Problem
"""A warning, or a part that could not be used although the rest was applied."""
Change: TypeAlias = Callable[[Edit, Frames], list[Note]]
"""Edits a planning scene and returns warnings; if it raises, its edit is discarded."""


@dataclass(frozen=True, eq=False)
class Diff:
    """A change of objects or rules by a message or request, from its arrival until it is applied."""

    topic: str
    """Topic or service of its arrival."""
    change: Change
    """Reads the message, which may take long, and applies it as a whole or not at all."""
    done: Callable[[Diff, PlanningScene | None], None]
    """Receives the diff with its result, and the planning scene; None if it was not applied."""
    missing: Callable[[], Sequence[Problem]] = tuple
    """Returns the objects that are missing if it is refused, since its sender gets no response."""
    replaces_all: bool = False
    """If true, it replaces everything from MoveIt's messages, including attached objects."""
    size: int = 0
    """Size of the message, bytes."""
    waits: bool = False
    """If true, it waits while there is no robot; otherwise it is refused."""
    lost_messages: int = 0
    """`Snapshot.lost_messages` at its arrival."""
    measured: Moment | None = None
    """Measurements at its arrival; None if there was no robot: those when it is applied."""
    notes: Sequence[Note] = ()
    """Its warnings, and the parts of it that could not be used, after it was applied."""
    error: Exception | None = None
    """Error because of which it could not be applied."""

    @property
    def problem(self) -> Exception | None:
        """Error because of which it, or a part of it, could not be applied."""
        refused = [str(note) for note in self.notes if isinstance(note, Problem)]
        return InputError(f"the rest is applied, not: {'; '.join(refused)}") if refused else self.error


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The robot, objects, rules and waiting messages of one moment; immutable."""

    model: Model | None = None
    problem: str = ""
    """Reason why there is no model."""
    code: Code = Code.NO_ROBOT
    """Code of the reason."""
    planning: PlanningScene | None = None
    """Objects and rules of this model, or of the last one; None if there has been none."""
    waiting: tuple[Diff, ...] = ()
    """Changes that wait for a robot; none if there is a model."""
    lost_messages: int = 0
    """Number of messages that were lost or could not wait; their content is missing until a whole planning scene
    arrives."""
    replaced: int = 0
    """Number of them before the last whole planning scene; -1: there was none, and objects are unknown without one."""
    world_id: int = field(default_factory=partial(secrets.randbits, 64))
    """Number of the world: another one if the world begins empty again."""

    def with_model(self, model: Model, applied: Sequence[Diff] = ()) -> Snapshot:
        """Return the snapshot with a model, which includes all waiting changes and those of `applied`."""
        whole = [diff.lost_messages for diff in applied if diff.replaces_all and diff.error is None]
        return replace(
            self,
            model=model,
            problem="",
            planning=model.planning,
            waiting=(),
            replaced=max((self.replaced, *whole)),
        )

    def has_world_of(self, other: Snapshot) -> bool:
        """Return whether a model built from another snapshot fits this one; lost messages may differ."""
        return self.model is other.model and self.planning is other.planning and self.waiting is other.waiting

    def without_model(self, problem: str, code: Code = Code.NO_ROBOT) -> Snapshot:
        """Return the snapshot without a model; its objects and rules are kept for the next."""
        return replace(self, model=None, problem=problem, code=code)

    def with_lost(self, count: int) -> Snapshot:
        """Return the snapshot after a number of messages were lost."""
        return replace(self, lost_messages=self.lost_messages + count)

    @property
    def lacks_scene(self) -> str:
        """Reason why requests are refused until a whole planning scene arrives; empty if none is needed."""
        if self.replaced < 0:
            return (
                "not ready: no whole planning scene received yet (require_scene: true): send one (is_diff: false), or "
                "set planning_scene_service to the service of a node that has one"
            )
        since = self.lost_messages - self.replaced
        if not since:
            return ""
        return (
            f"not ready: lost {since} message{'' if since == 1 else 's'} about objects: send a whole planning scene "
            "(is_diff: false, and robot_state.is_diff: false)"
        )

    def with_waiting(self, waiting: Diff) -> Snapshot:
        """Return the snapshot with one more waiting diff; raise `InputError` if too many wait."""
        together = (*self.waiting, waiting)
        if len(together) > MOST_WAITING or sum(diff.size for diff in together) > MOST_BYTES:
            raise InputError(
                f"{len(self.waiting)} messages wait for a robot, at most {MOST_WAITING} and {MOST_BYTES} bytes: "
                "send a robot description, then a whole planning scene"
            )
        return replace(self, waiting=together)

    @property
    def missing_content(self) -> str:
        """Reason why the model is incomplete; empty if it is complete, or if there is none."""
        if self.model is None:
            return ""
        return self.lacks_scene or self.model.missing_content


class CurrentModel:
    """The current model, or the reason why there is none.

    Models are immutable: a new description, object or rule leads to a new model. Work that started with the previous
    model finishes with it.

    Parameters
    ----------
    changed
        Called after a new model replaced the previous one, or after messages about objects were lost.
    refuses
        Returns whether requests are refused while something is missing; otherwise the response has a warning.

    Attributes
    ----------
    snapshot : Snapshot
        The current snapshot; set only by `exchange`.
    proposed : (Model, list of Diff) or None
        The model with the parameter values under check, and the diffs that waited for it; None: the current one.
    """

    def __init__(self, changed: Callable[[], None] = lambda: None, refuses: Callable[[], bool] = lambda: True) -> None:
        self._changed, self._refuses = changed, refuses
        self.snapshot = Snapshot()
        self.proposed: tuple[Model, list[Diff]] | None = None

    def model(self) -> Model:
        """Return the model; raise `InputError` if there is none, or if it is incomplete and requests are refused."""
        if self.missing_content and self._refuses():
            raise InputError(self.missing_content, Code.INCOMPLETE_WORLD)
        if self.snapshot.model is None:
            raise InputError(self.snapshot.problem, self.snapshot.code)
        return self.snapshot.model

    def model_to_report(self) -> Model:
        """Return the model for a report of what is known; its `PlanningScene.problems` list what is missing.

        Raise `InputError` if they do not list every missing object.
        """
        snapshot = self.snapshot
        return self.model() if snapshot.lacks_scene or snapshot.model is None else snapshot.model

    @property
    def candidate(self) -> Model | None:
        """The model with the parameter values under check, or the current one."""
        return self.snapshot.model if self.proposed is None else self.proposed[0]

    @property
    def problem(self) -> str:
        """Reason why requests are refused; empty if the model is complete."""
        if self.snapshot.model is None:
            return self.snapshot.problem
        return self.missing_content if self._refuses() else ""

    @property
    def missing_content(self) -> str:
        """Description of missing content, even if requests are answered nevertheless; empty if there is none."""
        return self.snapshot.missing_content

    def append_missing(self, words: str) -> str:
        """Return the message of a response, followed by a description of missing content."""
        return "; ".join(filter(None, (words, self.missing_content)))

    def install(self, model: Model, applied: Sequence[Diff]) -> None:
        """Use a model, and tell the senders of the diffs in it."""
        self.exchange(self.snapshot.with_model(model, applied))
        for diff in applied:
            diff.done(diff, model.planning if diff.error is None else None)

    def exchange(self, snapshot: Snapshot) -> None:
        """Replace the snapshot in one assignment, so that other threads see the old model or the new one."""
        before, self.snapshot = self.snapshot, snapshot
        if snapshot.model is not before.model or bool(snapshot.lacks_scene) != bool(before.lacks_scene):
            self._changed()


# --- building, in any thread ---


def apply(model: Model, diffs: Sequence[Diff], now: Moment) -> tuple[Model, list[Diff]]:
    """Apply diffs to a model in order; return the new model, and the diffs with their results.

    All together become one planning scene. An object that cannot be used is recorded in its diff. If a diff cannot be
    applied, the two halves of the diffs are tried separately. `now` are the measurements for diffs without their own.
    """
    if not diffs:
        return model, []
    applied = []
    try:
        with refusals():
            edit = model.planning.edit()
            for diff in diffs:
                notes = diff.change(edit, Frames(diff.measured or now, model.robot, edit))
                applied.append(replace(diff, notes=notes) if notes else diff)
            return model_of(edit.commit()), applied
    except Exception as error:
        if len(diffs) > 1:
            middle = len(diffs) // 2
            model, first = apply(model, diffs[:middle], now)
            model, second = apply(model, diffs[middle:], now)
            return model, first + second
        (refused,) = diffs
        missing, edit = refused.missing(), model.planning.edit()
        for problem in missing:
            edit.report(replace(problem, reason=f"{refused.topic}: {reason_of(error)}"))
        return model_of(edit.commit()) if missing else model, [replace(refused, error=error)]


def model_of(planning: PlanningScene) -> Model:
    """Return the model of a planning scene, in which objects without a place get one if possible."""
    if not all(problem.is_unread for problem in planning.problems.values()):
        planning = planning.for_robot(planning.robot)
    return Model(planning)
