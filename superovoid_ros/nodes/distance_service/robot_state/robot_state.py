# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The robot of the node: read from parameters or topics, and replaced if a new description arrives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TypeAlias

from std_msgs.msg import String

from superovoid.robot import Robot
from superovoid.robot.limits import MOST_PAIRS, Limits
from superovoid.robot.mesh_files import MESHES
from superovoid.robot.planning_scene import Padding
from superovoid.robot.urdf import REPRESENTATIONS
from superovoid_ros.nodes.common.endpoints import LATCHED
from superovoid_ros.nodes.common.mistakes import Code, InputError, reason_of
from superovoid_ros.nodes.common.packages import package_folders
from superovoid_ros.nodes.common.parameters import choice, count, number, switch, text
from superovoid_ros.nodes.distance_service.jobs import Job, Kind
from superovoid_ros.nodes.distance_service.part import Common, Part
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world.current import (
    CurrentModel,
    Description,
    Diff,
    Snapshot,
    build,
    replace_padding,
)
from superovoid_ros.nodes.distance_service.world.model import Model

TOPICS = ("robot_description", "robot_description_semantic")
"""Names of the topics, and of the parameters with the same content."""


OF_ROBOT = (
    text("robot_description", "", "URDF of the robot; empty: from topic robot_description"),
    text("robot_description_semantic", "", "SRDF of the robot; empty: from topic robot_description_semantic"),
    choice(
        "representation",
        "mixed",
        REPRESENTATIONS,
        "Contact geometry of the URDF to use",
    ),
    choice(
        "meshes",
        "hull",
        MESHES,
        "How to read a mesh of a collision element: as its convex hull; as its triangles, with an open mesh as its "
        "hull (triangles) or as a shell (shells); or not at all, with a warning",
    ),
    # Read-only, since it decides which files a sender of robot descriptions can have opened.
    text(
        "package_directories",
        [""],
        "Folders of packages whose meshes may be read, in addition to the installed packages",
        "each 'name=/folder'",
        check=package_folders,
        read_only=True,
    ),
    number(
        "rtol",
        1e-9,
        1e-12,
        0.1,
        "Largest width of a certified interval, relative to the largest semi-axis of the smaller body; wider "
        "intervals have status UNPROVEN",
    ),
    switch("strict", "Refuse a URDF and an SRDF that contradict each other; false: log a warning", default=False),
    text(
        "planning_frame",
        "",
        "Fixed frame of the world, in which TF places the robot and objects are at rest; empty: that of the SRDF's "
        "planar or floating virtual joint, or the root link if there is none",
    ),
)
"""Parameters that determine how the robot is read."""
OF_SCENE = (
    number("padding", 0.0, 0.0, 1e3, "[m] Padding of every link against objects, in check_state_validity"),
    number("safety_margin", 0.0, 0.0, 1e3, "[m] Clearance below which check_state_validity reports a contact"),
    switch("pad_self_collisions", "Pad links against each other too, not only against objects", default=False),
    count("max_bodies", Limits().bodies, 1, 1_000_000, "Largest number of bodies of robot and objects together"),
    count("max_objects", Limits().objects, 1, 100_000, "Largest number of objects, including attached objects"),
    count("max_pairs", Limits().pairs, 1, MOST_PAIRS, "Largest number of checked pairs of bodies"),
)
"""Parameters of the robot and its objects together."""


_Built: TypeAlias = tuple[Model, list[Diff]]
"""A model, and the diffs that waited for it."""
_Read: TypeAlias = tuple[Description, Snapshot, _Built | None, Exception | None]
"""The description, the snapshot whose objects are in the model, the model (None: no description), and an error."""


def _names(declared: tuple) -> frozenset[str]:
    return frozenset(one.name for one in declared)


class RobotState(Part):
    """Part that reads the robot, and builds the model from it and the present objects."""

    parameters = (*OF_ROBOT, *OF_SCENE)

    def __init__(self, common: Common, current: CurrentModel, measurements: Measurements) -> None:
        super().__init__(common)
        self._current, self._measurements = current, measurements
        self._proposed: _Built | None = None  # built by `check` from new parameter values
        self._made_from: Description | None = None  # description of the present model
        self._topic_text = dict.fromkeys(TOPICS, "")

    def configure(self) -> None:
        """Subscribe to descriptions."""
        for topic in TOPICS:
            self.endpoints.listen(String, topic, self._taker(topic), LATCHED)

    def clean_up(self) -> None:
        """Discard robot and objects."""
        self._proposed = self._made_from = self._current.proposed = None
        self._current.exchange(Snapshot())
        self._topic_text = dict.fromkeys(TOPICS, "")

    def facts(self) -> Mapping[str, object]:
        """Return the number of jobs that wait to be read, for the diagnostics."""
        return {"waiting to be read": self.jobs.count(Kind.READ)}

    @property
    def urdf(self) -> str:
        """URDF of the present robot; empty if there is none."""
        return "" if self._made_from is None else self._made_from.urdf

    # --- parameters ---

    def check(self, new: Mapping[str, object]) -> None:
        """Build the model that results from new parameter values; raise `InputError` if they are invalid."""
        self._proposed = self._current.proposed = None
        if new.keys() & _names(OF_ROBOT):
            self._check_robot(self._description(new))
        model = self._current.candidate
        if model is not None:
            planning = model.planning
            counts = len(planning.owners), len(planning.objects), planning.scene.pair_count
            for name, found in zip(("max_bodies", "max_objects", "max_pairs"), counts, strict=True):
                if int(new.get(name, found)) < found:
                    raise InputError(f"{name} = {new[name]}: there are already {found}")

    def _check_robot(self, description: Description) -> None:
        if not description.urdf:
            return
        snapshot = self._current.snapshot
        try:
            robot = description.read()
            built = self._build(robot, description, snapshot)
        except Exception as error:
            raise InputError(f"invalid robot: {reason_of(error)}") from error
        model, _ = built
        if model.missing_content and not (snapshot.model and snapshot.model.missing_content):
            raise InputError(f"invalid robot: {model.missing_content}")
        self._proposed, self._current.proposed = built, model

    def apply(self, names: AbstractSet[str]) -> None:
        """Use the model that `check` built, or apply new limits and paddings to the present model."""
        if names & _names(OF_ROBOT):
            proposed = self._proposed
            self._proposed = self._current.proposed = None
            self._install(proposed, self._description())
        elif names & _names(OF_SCENE):
            self._use_limits_and_paddings(self._description())

    def _use_limits_and_paddings(self, description: Description) -> None:
        snapshot = self._current.snapshot
        if snapshot.model is None:
            if description.urdf:  # it may be within the new limits
                self.load()
            return
        try:
            self._current.exchange(snapshot.with_model(replace_padding(snapshot.model, description)))
        except Exception as error:
            self._fail(error)
            return
        self._made_from = description

    def _description(self, new: Mapping[str, object] | None = None) -> Description:
        """Return the description of the robot: from parameters, or from topics if those are empty."""
        new = new or {}

        def parameter(name: str) -> object:
            return new.get(name, self.value(name))

        urdf, srdf = (parameter(name).strip() or text for name, text in self._topic_text.items())
        packages = package_folders(parameter("package_directories"))
        limits = Limits(**{name: parameter(f"max_{name}") for name in ("bodies", "objects", "pairs")})
        padding = Padding(
            default=float(parameter("padding")),
            margin=float(parameter("safety_margin")),
            self_too=bool(parameter("pad_self_collisions")),
        )
        representation, rtol, meshes = map(parameter, ("representation", "rtol", "meshes"))
        strict, frame = bool(parameter("strict")), str(parameter("planning_frame")).strip().removeprefix("/")
        return Description(urdf, srdf, representation, rtol, meshes, packages, limits, padding, strict, frame)

    # --- topics ---

    def _taker(self, topic: str) -> Callable[[String], None]:
        def take(message: String) -> None:
            if message.data == self._topic_text[topic]:
                return
            self._topic_text[topic] = message.data
            if not str(self.value(topic)).strip():
                self.load()

        return take

    def load(self) -> None:
        """Read the robot in a thread, from the latest description when its turn comes.

        If this fails, answers give the reason. The robot is read again if objects, paddings or limits change in the
        meantime.
        """

        def accept(found: _Read | None, problem: Exception | None) -> bool:
            if found is not None:
                description, snapshot, built, problem = found
                # Descriptions received in the meantime are read next.
                changed = replace(self._description(), urdf="", srdf="") != replace(description, urdf="", srdf="")
                if changed or not self._current.snapshot.has_world_of(snapshot):
                    self._announce()
                    return False
            if problem is not None:
                self._fail(problem)
            else:
                self._install(built, description)
            return True

        self._announce()
        try:
            self.jobs.submit(Job(Kind.READ, self._read, accept))
        except InputError as error:  # too many jobs wait
            self._fail(error)

    def _announce(self) -> None:
        """If there is no robot, let answers say that a description is being read."""
        snapshot, words = self._current.snapshot, "no robot yet: its description is being read"
        if snapshot.model is None and snapshot.problem != words and self._description().urdf:
            self._current.exchange(snapshot.without_model(words, Code.READING))

    def _read(self) -> _Read:
        """Read the robot and build the model; called in a thread."""
        # Keep this order: parameters set after this line lead to another snapshot, or repeat this reading.
        snapshot = self._current.snapshot
        description = self._description()
        if not description.urdf:
            return description, snapshot, None, None
        if snapshot.model is not None and description == self._made_from:
            return description, snapshot, (snapshot.model, []), None  # already read
        try:
            return description, snapshot, self._build(description.read(), description, snapshot), None
        except Exception as error:
            return description, snapshot, None, error

    def _build(self, robot: Robot, description: Description, snapshot: Snapshot) -> _Built:
        """Build a model with the waiting changes, at the present poses of frames and joints."""
        return build(robot, description, snapshot, self._measurements.copy())

    # --- use ---

    def _install(self, built: _Built | None, description: Description) -> None:
        """Use a model, or none, and log its notes."""
        snapshot = self._current.snapshot
        if built is None:
            self._made_from = None
            self._current.exchange(snapshot.without_model(self._nothing_received()))
            return
        model, waited = built
        self._made_from = description
        self._current.install(model, waited)
        if model is not snapshot.model:
            self.node.get_logger().info(model.describe())
            for warning in model.robot.warnings:
                self.log.warning("robot", warning)
            if model.missing_content:
                self.log.error("robot", model.missing_content)

    def _fail(self, problem: Exception) -> None:
        """Use no model, for a reason. Objects and rules are kept for the next robot."""
        self._made_from = None
        words = f"no robot: {reason_of(problem)}"
        self.log.error("robot", words)
        self.statistics.message("robot_description", problem)
        self._current.exchange(self._current.snapshot.without_model(words))

    def _nothing_received(self) -> str:
        return (
            "no robot: parameter robot_description is empty and nothing was received on topic "
            f"'{self.node.resolve_topic_name('robot_description')}': set the parameter, or publish the topic as "
            "robot_state_publisher does"
        )
