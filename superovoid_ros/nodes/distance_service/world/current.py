# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The model that questions are answered from, whole or not at all: exchanged in one assignment. No messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from superovoid.robot.planning_scene import PlanningScene, Problem
from superovoid_ros.nodes.common.mistakes import Code, InputError, reason_of, refusals
from superovoid_ros.nodes.distance_service.world.changes import Change, Refusal
from superovoid_ros.nodes.distance_service.world.frames import Surroundings
from superovoid_ros.nodes.distance_service.world.model import Model

MOST_WAITING, MOST_BYTES = 5_000, 16_000_000
"""Changes that wait for a robot, and the bytes of their messages together; what is read of a mesh takes several times
as many."""


Done: TypeAlias = Callable[[PlanningScene | None, Exception | None], None]
"""Hears the planning scene after a change, or why there is none; neither if the change waits for a robot."""


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
    def unheard_since(self) -> int:
        """Number of messages lost, or too many to wait, since the last whole planning scene."""
        return self.unheard - self.replaced

    @property
    def lacks_scene(self) -> str:
        """Why nothing is answered until a whole planning scene comes; empty if none is needed."""
        if self.unheard_since:
            lost = "1 message" if self.unheard_since == 1 else f"{self.unheard_since} messages"
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
    candidate : Model or None
        The model after the change of parameters under check; otherwise the present one.
    """

    def __init__(self, changed: Callable[[], None] = lambda: None, refuses: Callable[[], bool] = lambda: True) -> None:
        self._changed, self._refuses = changed, refuses
        self._snapshot = Snapshot()
        self._proposed: Model | None = None

    @property
    def snapshot(self) -> Snapshot:
        """The present snapshot."""
        return self._snapshot

    def model(self) -> Model:
        """Return the model; `InputError` if there is none, or if something is missing and requests are refused then."""
        snapshot = self._snapshot
        if snapshot.missing and self._refuses():
            raise InputError(snapshot.missing, Code.INCOMPLETE_WORLD)
        return self._known(snapshot)

    def known(self) -> Model:
        """Return the model for a report of what is known; its `PlanningScene.problems` list what is missing.

        `InputError` if they do not list every missing object.
        """
        snapshot = self._snapshot
        if snapshot.lacks_scene:
            return self.model()
        return self._known(snapshot)

    def _known(self, snapshot: Snapshot) -> Model:
        if snapshot.model is None:
            raise InputError(snapshot.problem, snapshot.code)
        return snapshot.model

    @property
    def current(self) -> Model | None:
        """The model, whole or not; None if there is none."""
        return self._snapshot.model

    @property
    def candidate(self) -> Model | None:
        """The model after the change of parameters under check; otherwise the present one."""
        return self._proposed or self._snapshot.model

    def propose(self, model: Model | None) -> None:
        """Let a model be the candidate; None: that of now."""
        self._proposed = model

    @property
    def problem(self) -> str:
        """Why nothing can be answered, for want of a model or of a part of it; empty if there is a whole one."""
        snapshot = self._snapshot
        if snapshot.model is None:
            return snapshot.problem
        return snapshot.missing if self._refuses() else ""

    @property
    def missing(self) -> str:
        """What is missing, whether questions are answered nevertheless or not; empty if nothing is."""
        return self._snapshot.missing

    def exchange(self, snapshot: Snapshot) -> None:
        """Exchange the snapshot in one assignment: other threads get the old model or the new one."""
        before, self._snapshot = self._snapshot, snapshot
        if snapshot.model is not before.model or bool(snapshot.lacks_scene) != bool(before.lacks_scene):
            self._changed()
