# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""From a description, the objects of before and the changes that wait to a whole model. No messages.

For any thread: nothing here touches the node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from superovoid.robot import Robot
from superovoid.robot.limits import Limits
from superovoid.robot.planning_scene import Padding, PlanningScene
from superovoid_ros.nodes.common.mistakes import InputError, reason_of, refusals
from superovoid_ros.nodes.distance_service.world.changes import Change, Refused
from superovoid_ros.nodes.distance_service.world.current import Standing
from superovoid_ros.nodes.distance_service.world.frames import Frames, Surroundings
from superovoid_ros.nodes.distance_service.world.model import Model
from superovoid_ros.nodes.distance_service.world.refused import Refusal, Unread


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
    """Likewise; those by name are planning scenes' own."""
    strict: bool = False
    planning_frame: str = ""
    """Of the world, that the robot moves in; empty: as the SRDF says."""

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
class Built:
    """A model with all that was known, and what there is to say about that."""

    model: Model
    notes: Sequence[str] = ()
    """Worth a warning."""
    problems: Sequence[tuple[str, Exception]] = field(default_factory=list)
    """Topic and what was wrong, of changes that waited and could not be made."""


def build(robot: Robot, description: Description, standing: Standing, surroundings: Surroundings) -> Built:
    """Return a robot with all objects, rules and paddings, and with the changes that waited for it.

    Parameters
    ----------
    robot, description
        The robot, and what it was read from.
    standing
        What is known now.
    surroundings
        Of this robot, with the frames of the changes that wait.

    Raises
    ------
    InputError
        If the robot alone is more than there may be.
    """
    kept, rtol = standing.planning, description.rtol
    with refusals():
        if kept is None:
            edit = PlanningScene(robot, rtol=rtol, limits=description.limits).edit()
            edit.padding = description.padding
            planning = edit.commit()
        else:
            padding = replace(description.padding, by_name=kept.padding.by_name)
            planning = kept.for_robot(robot, rtol=rtol, limits=description.limits, padding=padding)
        model = Model(robot, rtol, planning)
    wanted = [Wanted(one.change, surroundings, one.topic, one.unread) for one in standing.waiting]
    model, outcomes = changed_by_each(model, wanted)
    notes = [note for one in outcomes for note in one.notes]
    problems = [
        (one.topic, outcome.problem)
        for one, outcome in zip(wanted, outcomes, strict=True)
        if outcome.problem is not None
    ]
    return Built(model, notes, problems)


@dataclass(frozen=True)
class Wanted:
    """A change that is to be made."""

    change: Change
    surroundings: Surroundings
    """When it came."""
    topic: str
    """Or service, by which it came."""
    unread: Sequence[Unread] = ()
    """What is missing if it cannot be made: of a message, whose sender hears of nothing."""


@dataclass(frozen=True)
class Outcome:
    """What came of a change."""

    notes: Sequence[str] = ()
    """Worth a warning."""
    problem: Exception | None = None
    """Why it, or a part of it, could not be made."""


def refusal_of(topic: str, unread: Sequence[Unread], problem: Exception) -> Refusal:
    """Return the change that keeps what is missing without a message of a topic."""
    return Refusal(unread, f"{topic}: {reason_of(problem)}")


def changed_by_each(model: Model, wanted: Sequence[Wanted]) -> tuple[Model, list[Outcome]]:
    """Return a model with all changes made that can be, in their order, and what came of each.

    Each is made as a whole or not at all. All together become one planning scene: of 1000 objects the last one takes
    15 ms alone, and all together 170 ms. If one of them cannot be made, each half is tried by itself.
    """
    try:
        if not wanted:
            return model, []
        model, notes = _changed(model, [(one.change, one.surroundings) for one in wanted])
        return model, [
            Outcome([note for note in some if not isinstance(note, Refused)], partly_refused(some)) for some in notes
        ]
    except Exception as error:
        if len(wanted) > 1:
            middle = len(wanted) // 2
            model, first = changed_by_each(model, wanted[:middle])
            model, second = changed_by_each(model, wanted[middle:])
            return model, first + second
        one = wanted[0]
        if one.unread:
            model, _ = changed(model, [refusal_of(one.topic, one.unread, error)], one.surroundings)
        return model, [Outcome(problem=error)]


class PartlyRefusedError(InputError):
    """Parts of a message could not be used; the rest was."""


def partly_refused(notes: Sequence[str]) -> PartlyRefusedError | None:
    """Return what `changed` notes of parts that could not be used as one error; None: all could be."""
    refused = [note for note in notes if isinstance(note, Refused)]
    return PartlyRefusedError("; ".join(refused)) if refused else None


def changed(model: Model, changes: Sequence[Change], surroundings: Surroundings) -> tuple[Model, list[str]]:
    """Return a model with changes made, all or none, and what is worth a warning.

    Raises
    ------
    InputError
        If a change makes no sense.
    """
    model, notes = _changed(model, [(change, surroundings) for change in changes])
    return model, [note for some in notes for note in some]


def _changed(model: Model, changes: Sequence[tuple[Change, Surroundings]]) -> tuple[Model, list[list[str]]]:
    """Return a model with changes made, all or none, and what is worth a warning about each."""
    notes = []
    with refusals():
        if changes:
            edit = model.planning.edit()
            for change, surroundings in changes:
                notes.append(change.apply(edit, Frames(surroundings, edit)))
            model = settled(model, edit.commit())
    return model, notes


def repadded(model: Model, description: Description) -> Model:
    """Return a model under other limits and with other paddings; `InputError` where there is too much of it."""
    with refusals():
        edit = model.planning.edit()
        edit.limits, edit.padding = description.limits, replace(description.padding, by_name=edit.padding.by_name)
        return settled(model, edit.commit())


def settled(model: Model, planning: PlanningScene) -> Model:
    """Return a model with another planning scene, in which objects that had no place have one if they can."""
    if not all(misfit.is_unread for misfit in planning.misfits.values()):
        planning = planning.for_robot(model.robot, rtol=model.rtol, limits=planning.limits)
    return model.with_planning(planning)
