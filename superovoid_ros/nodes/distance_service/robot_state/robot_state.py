# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The robot of the node: read from parameters or topics, and replaced if a new description arrives."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from typing import TypeAlias

from std_msgs.msg import String

from superovoid.robot import Robot
from superovoid.robot.limits import MOST_PAIRS, Limits
from superovoid.robot.mesh_files import MESHES
from superovoid.robot.planning_scene import Padding, PlanningScene
from superovoid.robot.urdf import REPRESENTATIONS
from superovoid_ros.nodes.common.endpoints import LATCHED
from superovoid_ros.nodes.common.mistakes import Code, InputError, reason_of, refusals
from superovoid_ros.nodes.common.packages import package_folders
from superovoid_ros.nodes.common.parameters import choice, count, number, switch, text
from superovoid_ros.nodes.distance_service.jobs import Job, Kind
from superovoid_ros.nodes.distance_service.part import Common, Part
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world.current import CurrentModel, Diff, Snapshot, apply, model_of
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


Values: TypeAlias = Mapping[str, object]
"""Values of all these parameters; the descriptions come from topics if their parameters are empty."""
_Built: TypeAlias = tuple[Model, list[Diff]]
"""A model, and the diffs that waited for it."""
_Read: TypeAlias = tuple[Values, Snapshot, _Built | None, Exception | None]
"""The values, the snapshot whose objects are in the model, the model (None: no description), and an error."""


def _names(declared: tuple) -> frozenset[str]:
    return frozenset(one.name for one in declared)


def read_robot(values: Values) -> Robot:
    """Return the robot; raise `InputError` with the error in its description."""
    with refusals():
        return Robot.from_urdf(
            values["robot_description"],
            srdf=values["robot_description_semantic"] or None,
            representation=values["representation"],
            package_directories=package_folders(values["package_directories"]),
            meshes=values["meshes"],
            strict=bool(values["strict"]),
            with_root_joint=True,
            world_frame=str(values["planning_frame"]).strip().removeprefix("/"),
        )


def _of_scene(values: Values, kept: PlanningScene | None) -> tuple[Limits, Padding]:
    """Return limits and paddings of a planning scene; paddings by name, which messages set, are those of `kept`."""
    padding = Padding(
        default=float(values["padding"]),
        margin=float(values["safety_margin"]),
        self_too=bool(values["pad_self_collisions"]),
        by_name={} if kept is None else kept.padding.by_name,
    )
    limits = Limits(**{name: values[f"max_{name}"] for name in ("bodies", "objects", "pairs")})
    return limits, padding


class RobotState(Part):
    """Part that reads the robot, and builds the model from it and the present objects."""

    parameters = (*OF_ROBOT, *OF_SCENE)

    def __init__(self, common: Common, current: CurrentModel, measurements: Measurements) -> None:
        super().__init__(common)
        self._current, self._measurements = current, measurements
        self._made_from: Values = {}  # values of the present model; empty: none
        self._topic_text = dict.fromkeys(TOPICS, "")

    def configure(self) -> None:
        """Subscribe to descriptions."""
        for topic in TOPICS:
            self.endpoints.listen(String, topic, partial(self._take, topic), LATCHED)

    def clean_up(self) -> None:
        """Discard robot and objects."""
        self._current.proposed, self._made_from = None, {}
        self._current.exchange(Snapshot())
        self._topic_text = dict.fromkeys(TOPICS, "")

    @property
    def urdf(self) -> str:
        """URDF of the present robot; empty if there is none."""
        return str(self._made_from.get("robot_description", ""))

    def _values(self, new: Mapping[str, object] | None = None) -> Values:
        """Return the values of all parameters, with new ones in their place."""
        values = {one.name: (new or {}).get(one.name, self.value(one.name)) for one in self.parameters}
        return values | {topic: str(values[topic]).strip() or text for topic, text in self._topic_text.items()}

    # --- parameters ---

    def check(self, new: Mapping[str, object]) -> None:
        """Build the model that results from new parameter values; raise `InputError` if they are invalid."""
        self._current.proposed, values = None, self._values(new)
        if new.keys() & _names(OF_ROBOT) and values["robot_description"]:
            snapshot = self._current.snapshot
            try:
                built = model, _ = self._build(values, snapshot)
            except Exception as error:
                raise InputError(f"invalid robot: {reason_of(error)}") from error
            if model.missing_content and not (snapshot.model and snapshot.model.missing_content):
                raise InputError(f"invalid robot: {model.missing_content}")
            self._current.proposed = built
        model = self._current.candidate
        if model is not None:
            planning = model.planning
            counts = len(planning.owners), len(planning.objects), planning.scene.pair_count
            for name, found in zip(("max_bodies", "max_objects", "max_pairs"), counts, strict=True):
                if int(new.get(name, found)) < found:
                    raise InputError(f"{name} = {new[name]}: there are already {found}")

    def apply(self, names: AbstractSet[str]) -> None:
        """Use the model that `check` built, or apply new limits and paddings to the present model."""
        values, model = self._values(), self._current.snapshot.model
        if names & _names(OF_ROBOT):
            proposed, self._current.proposed = self._current.proposed, None
            self._install(proposed, values)
        elif names & _names(OF_SCENE) and model is not None:
            try:
                with refusals():
                    edit = model.planning.edit()
                    edit.limits, edit.padding = _of_scene(values, model.planning)
                    self._current.install(model_of(edit.commit()), ())
                    self._made_from = values
            except Exception as error:
                self._fail(error)
        elif names & _names(OF_SCENE) and values["robot_description"]:
            self.load()  # the robot may be within the new limits

    # --- topics ---

    def _take(self, topic: str, message: String) -> None:
        if message.data != self._topic_text[topic]:
            self._topic_text[topic] = message.data
            if not str(self.value(topic)).strip():
                self.load()

    def load(self) -> None:
        """Read the robot in a thread, from the latest description when its turn comes.

        If this fails, answers give the reason. The robot is read again if objects, paddings or limits change in the
        meantime.
        """
        snapshot = self._current.snapshot
        if snapshot.model is None and self._values()["robot_description"]:
            words = "no robot yet: its description is being read"
            self._current.exchange(snapshot.without_model(words, Code.READING))
        try:
            self.jobs.submit(Job(Kind.READ, self._read, self._use))
        except InputError as error:  # too many jobs wait
            self._fail(error)

    def _read(self) -> _Read:
        """Read the robot and build the model; called in a thread."""
        # Keep this order: parameters set after this line lead to another snapshot, or repeat this reading.
        snapshot = self._current.snapshot
        values = self._values()
        if not values["robot_description"]:
            return values, snapshot, None, None
        if snapshot.model is not None and values == self._made_from:
            return values, snapshot, (snapshot.model, []), None  # already read
        try:
            return values, snapshot, self._build(values, snapshot), None
        except Exception as error:
            return values, snapshot, None, error

    def _build(self, values: Values, snapshot: Snapshot) -> _Built:
        """Read the robot, and build a model with all objects, rules and waiting changes of a snapshot."""
        robot, kept, rtol = read_robot(values), snapshot.planning, float(values["rtol"])
        with refusals():
            limits, padding = _of_scene(values, kept)
            make = PlanningScene if kept is None else kept.for_robot
            planning = make(robot, rtol=rtol, limits=limits, padding=padding)
        # Frames and joints of waiting changes count as they are now.
        return apply(Model(planning), snapshot.waiting, self._measurements.moment())

    def _use(self, found: _Read | None, problem: Exception | None) -> bool:
        """Use what was read; return False to read again."""
        if found is None:
            self._fail(problem)
            return True
        values, snapshot, built, problem = found
        # Descriptions received in the meantime are read next.
        ignored = dict.fromkeys(TOPICS)
        if {**self._values(), **ignored} != {**values, **ignored} or not self._current.snapshot.has_world_of(snapshot):
            return False
        if problem is not None:
            self._fail(problem)
        else:
            self._install(built, values)
        return True

    # --- use ---

    def _install(self, built: _Built | None, values: Values) -> None:
        """Use a model, or none, and log its notes."""
        snapshot = self._current.snapshot
        if built is None:
            self._made_from = {}
            self._current.exchange(snapshot.without_model(self._nothing_received()))
            return
        model, waited = built
        self._made_from = values
        self._current.install(model, waited)
        if model is not snapshot.model:
            self.node.get_logger().info(model.describe())
            for warning in model.robot.warnings:
                self.log.warning("robot", warning)
            if model.missing_content:
                self.log.error("robot", model.missing_content)

    def _fail(self, problem: Exception) -> None:
        """Use no model, for a reason. Objects and rules are kept for the next robot."""
        self._made_from = {}
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
