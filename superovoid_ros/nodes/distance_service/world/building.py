# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""From a description, the objects of before and the changes that wait to a whole model. No messages.

For any thread: nothing here touches the node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from superovoid_ros.nodes.common.mistakes import InputError, reason_of, refusals
from superovoid_ros.nodes.distance_service.world.changes import Change, Refused
from superovoid_ros.nodes.distance_service.world.current import Standing
from superovoid_ros.nodes.distance_service.world.frames import Frames, Surroundings
from superovoid_ros.nodes.distance_service.world.model import Model
from superovoid_ros.nodes.distance_service.world.refused import Refusal
from superovoid_ros.robot import Robot
from superovoid_ros.robot.limits import Limits
from superovoid_ros.robot.planning_scene import Padding, PlanningScene


@dataclass(frozen=True)
class Description:
    """What a model is made from, the objects apart."""

    urdf: str
    srdf: str
    """empty: none"""
    representation: str
    tolerance: float
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
    kept, tolerance = standing.planning, description.tolerance
    with refusals():
        if kept is None:
            edit = PlanningScene(robot, tolerance=tolerance, limits=description.limits).edit()
            edit.padding = description.padding
            planning = edit.commit()
        else:
            padding = replace(description.padding, by_name=kept.padding.by_name)
            planning = kept.for_robot(robot, tolerance=tolerance, limits=description.limits, padding=padding)
        model = Model(robot, tolerance, planning)
        try:
            then, notes = changed(model, [one.change for one in standing.waiting], surroundings)
            if not any(isinstance(note, Refused) for note in notes):
                return Built(then, notes)
        except Exception:  # of one of them: the others are good
            pass
        notes, problems = [], []
        for one in standing.waiting:
            try:
                model, more = changed(model, [one.change], surroundings)
            except Exception as error:
                problems.append((one.topic, error))
                if one.unread:
                    refusal = Refusal(one.unread, f"{one.topic}: {reason_of(error)}")
                    model, _ = changed(model, [refusal], surroundings)
            else:
                notes += (note for note in more if not isinstance(note, Refused))
                problem = partly_refused(more)
                if problem is not None:
                    problems.append((one.topic, problem))
    return Built(model, notes, problems)


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
    notes = []
    with refusals():
        if changes:
            edit = model.planning.edit()
            for change in changes:
                notes += change.apply(edit, Frames(surroundings, edit))
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
        planning = planning.for_robot(model.robot, tolerance=model.tolerance, limits=planning.limits)
    return model.with_planning(planning)
