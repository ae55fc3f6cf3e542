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
from superovoid.robot.planning_scene import Padding, PlanningScene, Problem
from superovoid_ros.nodes.common.mistakes import InputError, refusals
from superovoid_ros.nodes.distance_service.world.current import Diff, Snapshot
from superovoid_ros.nodes.distance_service.world.frames import Frames, Surroundings
from superovoid_ros.nodes.distance_service.world.model import Model


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
            problems = [str(note) for note in notes if isinstance(note, Problem)]
            problem = PartlyRefusedError("; ".join(problems)) if problems else diff.problem
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
