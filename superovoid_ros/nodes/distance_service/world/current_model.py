# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The current model, from which requests are answered: replaced as a whole in one assignment. No messages."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from superovoid.robot.planning_scene import Edit, PlanningScene, Problem
from superovoid.robot.scene_objects import MORE
from superovoid_ros.nodes.common.mistakes import Code, InputError, drop_tracebacks, reason_of, refusals
from superovoid_ros.nodes.distance_service.robot_state.measured import Measured
from superovoid_ros.nodes.distance_service.world.frames import Frames
from superovoid_ros.nodes.distance_service.world.model import Model

FROM_MOVEIT, FROM_SERVICE = "moveit", "superovoid"
"""Source of an object: a whole planning scene replaces those of MoveIt's messages, and no others."""
LOST = Problem(MORE, links=frozenset(("",)), source=FROM_MOVEIT)
"""Problem with lost or refused messages, without its reason: any object or rule may be missing until a whole planning
scene with a whole robot state arrives."""

LONGEST = 1.0
"""Time after which the diffs not yet read are left for the next model, s."""

Note: TypeAlias = str | InputError
"""A warning, or an error because of which only the rest is applied."""
Change: TypeAlias = Callable[[Edit, Frames], list[Note]]
"""Edits a planning scene and returns notes; if it raises, its edit is discarded."""


@dataclass(frozen=True, eq=False)
class Diff:
    """A change of objects or rules by a message or request, from its arrival until it is applied."""

    topic: str
    """Topic or service of its arrival."""
    change: Change
    """Reads the message, which may take long, and applies it as a whole or not at all."""
    answer: Any = None
    """Future of a request: receives the planning scene with the change, or the problem; it is refused if there is no
    robot. None: a message of a topic. It waits for a robot, and if it is refused, its content is missing (`LOST`)."""
    again: Sequence[Diff] = ()
    """Diffs that were applied before, and that a whole scene may have undone: they are applied after it, in one model
    with it."""
    size: int = 0
    """Size of the message, bytes."""
    measured: Measured | None = None
    """Measurements at its arrival; None if there was no robot: those when it is applied."""
    arrived: float = field(default_factory=time.monotonic)
    """Value of `time.monotonic` at its arrival, s."""
    notes: Sequence[Note] = ()
    """Its notes, after it was applied."""
    error: Exception | None = None
    """Error because of which it could not be applied."""

    @property
    def problem(self) -> Exception | None:
        """Error because of which it, or a part of it, could not be applied."""
        refused = [str(note) for note in self.notes if isinstance(note, InputError)]
        return InputError(f"the rest is applied, not: {'; '.join(refused)}") if refused else self.error


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The robot, objects and rules of one moment; immutable."""

    model: Model | None = None
    problem: str = "no robot"
    """Reason why there is no model."""
    code: Code = Code.NO_ROBOT
    """Code of the reason."""
    planning: PlanningScene | None = None
    """Objects and rules of this model, or of the last one; None if there has been none."""
    world_id: int = field(default_factory=partial(secrets.randbits, 64))
    """Number of the world: another one if the world begins empty again."""

    def without_model(self, problem: str, code: Code = Code.NO_ROBOT) -> Snapshot:
        """Return the snapshot without a model; its objects and rules are kept for the next."""
        return replace(self, model=None, problem=problem, code=code)


class CurrentModel:
    """The current model, or the reason why there is none.

    Models are immutable: a new description, object or rule leads to a new model. Work that started with the previous
    model finishes with it.

    Parameters
    ----------
    changed
        Called after a new model, or none, replaced the previous one.
    refuses
        Returns whether requests are refused while something is missing; otherwise the response has a warning.

    Attributes
    ----------
    snapshot : Snapshot
        The current snapshot; set only by `exchange`.
    """

    def __init__(self, changed: Callable[[], None] = lambda: None, refuses: Callable[[], bool] = lambda: True) -> None:
        self._changed, self._refuses = changed, refuses
        self.snapshot = Snapshot()

    def model(self) -> Model:
        """Return the model; raise `InputError` if there is none, or if it is incomplete and requests are refused."""
        if self.missing_content and self._refuses():
            raise InputError(self.missing_content, Code.INCOMPLETE_WORLD)
        if self.snapshot.model is None:
            raise InputError(self.snapshot.problem, self.snapshot.code)
        return self.snapshot.model

    @property
    def problem(self) -> str:
        """Reason why requests are refused; empty if the model is complete."""
        if self.snapshot.model is None:
            return self.snapshot.problem
        return self.missing_content if self._refuses() else ""

    @property
    def missing_content(self) -> str:
        """Description of missing content, even if requests are answered nevertheless; empty if there is none."""
        return "" if self.snapshot.model is None else self.snapshot.model.missing_content

    def append_missing(self, words: str) -> str:
        """Return the message of a response, followed by a description of missing content."""
        return "; ".join(filter(None, (words, self.missing_content)))

    def exchange(self, snapshot: Snapshot) -> None:
        """Replace the snapshot in one assignment, so that other threads see the old model or the new one."""
        before, self.snapshot = self.snapshot, snapshot
        if snapshot.model is not before.model:
            self._changed()


# --- building, in any thread ---


def apply(model: Model, diffs: Sequence[Diff], now: Measured) -> tuple[Model, list[Diff]]:
    """Apply diffs to a model in order; return the new model, and the diffs read so far, with their results.

    All together become one planning scene, without the diffs that cannot be applied. After `LONGEST` the others are
    left for the next call, so that callers get responses, and a job can end. If the planning scene as a whole is
    invalid, two halves of the diffs are tried separately. `now` are the measurements for diffs without their own.
    """
    applied: list[Diff] = []
    try:
        edit, until = model.planning.edit(), time.monotonic() + LONGEST
        for diff in diffs:
            if applied and time.monotonic() >= until:
                break
            edit, done = _change(edit, diff, now, model)
            applied.append(done)
            for one in diff.again:
                edit, _ = _change(edit, one, now, model)
        if all(diff.answer and diff.error for diff in applied):
            return model, applied
        with refusals():
            return model_of(edit.commit()), applied
    except Exception as error:
        if len(applied) > 1:
            middle = len(applied) // 2
            model, first = apply(model, diffs[:middle], now)
            model, second = apply(model, diffs[len(first) : len(applied)], now)
            return model, first + second
        drop_tracebacks(error)
        if diffs[0].answer:
            return model, [replace(diffs[0], error=error)]
        edit = model.planning.edit()
        refused = _refuse(diffs[0], error, edit)
        return model_of(edit.commit()), [refused]


def _change(edit: Edit, diff: Diff, now: Measured, model: Model) -> tuple[Edit, Diff]:
    """Return the edit after a diff, and the diff with its result."""
    changed = edit.copy() if diff.answer else edit  # a refused request changes nothing
    try:
        with refusals():
            notes = diff.change(changed, Frames(diff.measured or now, model.robot, changed))
    except Exception as error:
        return edit, _refuse(diff, error, edit)
    for note in notes:
        drop_tracebacks(note)
    return changed, replace(diff, notes=notes) if notes else diff


def _refuse(diff: Diff, error: Exception, edit: Edit) -> Diff:
    """Return a diff with the error because of which it is not applied; record that the content is missing."""
    if diff.answer is None:
        edit.report(replace(LOST, reason=f"'{LOST.name}': {diff.topic}: {reason_of(error)}"))
    drop_tracebacks(error)
    return replace(diff, error=error)


def model_of(planning: PlanningScene) -> Model:
    """Return the model of a planning scene, in which objects without a place get one if possible."""
    if not all(problem.is_unread for problem in planning.problems.values()):
        planning = planning.for_robot(planning.robot)
    return Model(planning)
