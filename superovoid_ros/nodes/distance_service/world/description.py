"""The robot of the node: read from parameters or topics, replaced when a new description comes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from rclpy.task import Future
from std_msgs.msg import String

from superovoid_ros.nodes.common.mistakes import InputError, reason_of, refusals
from superovoid_ros.nodes.common.packages import Packages
from superovoid_ros.nodes.common.parameters import Check, number, text, texts
from superovoid_ros.nodes.common.qos import LATCHED, listen
from superovoid_ros.nodes.distance_service.health.compiling import ENGINE
from superovoid_ros.nodes.distance_service.part import Part
from superovoid_ros.nodes.distance_service.world.model import Description, Model
from superovoid_ros.nodes.distance_service.world.reader import Task
from superovoid_ros.robot import MESHES, REPRESENTATIONS
from superovoid_ros.robot.limits import Limits

if TYPE_CHECKING:
    from superovoid_ros.nodes.distance_service.distance_service import DistanceService

Found = TypeVar("Found")

TOPICS = ("robot_description", "robot_description_semantic")
"""Topics, and the parameters of the same names."""


def _one_of(name: str, choices: tuple[str, ...]) -> Check:
    def check(value: object) -> None:
        if value not in choices:
            raise InputError(f"{name} = '{value}': must be one of {', '.join(choices)}")

    return check


@dataclass(frozen=True)
class _Read:
    """A robot that was read for a change of parameters, or why it could not be."""

    description: Description
    before: Model | None
    """The robot whose objects it has taken over."""
    model: Model | None
    problem: Exception | None

    @classmethod
    def of(cls, description: Description, before: Model | None, complete: Callable[[Model], Model]) -> _Read:
        try:
            with refusals():
                return cls(description, before, complete(Model.from_description(description)), None)
        except Exception as error:
            return cls(description, before, None, error)


class RobotSource(Part):
    """Knows the robot, or why there is none.

    A robot is never changed: a new description makes a new `Model`, as do objects around it (`world.py`), and whoever
    works with the one of before ends with it.
    """

    parameters = (
        text("robot_description", "", "URDF of the robot; empty: taken from topic robot_description"),
        text("robot_description_semantic", "", "SRDF of the robot; empty: taken from topic robot_description_semantic"),
        text(
            "representation",
            "mixed",
            "Which contact geometry of the URDF is used",
            f"one of {', '.join(REPRESENTATIONS)}",
            check=_one_of("representation", REPRESENTATIONS),
        ),
        text(
            "meshes",
            "hull",
            "What a mesh of a collision element is: its convex hull, its triangles, or left out with a warning",
            f"one of {', '.join(MESHES)}",
            check=_one_of("meshes", MESHES),
        ),
        # Not to be changed at run time: it says which files whoever sends a description can have opened.
        texts(
            "package_directories",
            [""],
            "Folders of packages whose meshes may be read, beside the installed packages",
            "each 'name=/folder'",
            check=lambda value: Packages(value),
            read_only=True,
        ),
        number(
            "tolerance",
            1e-9,
            1e-12,
            0.1,
            "Relative width wanted of a certified interval; pairs that miss it have status UNPROVEN",
        ),
    )

    def __init__(self) -> None:
        self._model: Model | None = None
        self._proposed: Model | None = None
        self._read: _Read | None = None  # aside, for the change of parameters that is being made
        self._problem = ""
        self._topic_text = dict.fromkeys(TOPICS, "")
        self.complete: Callable[[Model], Model] = lambda model: model
        """Adds to a model that has been read what belongs to it; called by the thread that reads."""

    def configure(self, node: DistanceService) -> None:
        """Listen to both topics."""
        for topic in TOPICS:
            listen(node, String, topic, self._taker(topic), LATCHED)

    def clean_up(self) -> None:
        """Forget robot and topics."""
        self._model = self._proposed = self._read = None
        self._problem = ""
        self._topic_text = dict.fromkeys(TOPICS, "")

    def model(self) -> Model:
        """Return the robot, for questions; `InputError` saying why there is none, or what it is not ready for."""
        model = self.known()
        self.node.kernels.require()
        return model

    def known(self) -> Model:
        """Return the robot, for changes of what is around it; `InputError` saying why there is none."""
        if self._model is None:
            raise InputError(self.node.kernels.missing or self._problem)
        return self._model

    @property
    def current(self) -> Model | None:
        """The robot; None where there is none."""
        return self._model

    @property
    def candidate(self) -> Model | None:
        """The robot as it would be after the change of parameters that is being checked."""
        return self._proposed or self._model

    @property
    def problem(self) -> str:
        """Why there is no robot; empty where there is one."""
        return self._problem

    def exchange(self, model: Model) -> None:
        """Take the same robot with another planning scene; the parts are not told."""
        self._model = model

    def check(self, new: Mapping[str, object]) -> None:
        """Read the robot that the new values make."""
        self._proposed = None
        if not new.keys() & {one.name for one in self.parameters}:
            return
        description = self._description(new)
        if description.urdf:
            self.node.kernels.require(ENGINE)
            read = self._read
            if read is None or read.description != description or read.before is not self._model:
                read = _Read.of(description, self._model, lambda model: model)
            if read.problem is not None:
                raise InputError(f"robot not usable: {reason_of(read.problem)}") from read.problem
            self._proposed = read.model

    def setting(self, new: Mapping[str, object], set_them: Callable[[], Found]) -> Future | None:
        """Have the robot read that new values make, and set them then.

        Parameters
        ----------
        new
            Parameters to be set together.
        set_them
            Sets them, by way of `check` and `apply`; called on the executor's thread once the robot is read.

        Returns
        -------
        Future or None
            Has what `set_them` returns; None where nothing is to be read, and nothing was done.
        """
        if not new.keys() & {one.name for one in self.parameters} or not self.node.kernels.is_done(ENGINE):
            return None
        try:
            urdf = self._description(new).urdf
        except Exception:  # of another type, which `check` refuses in its own words, as whatever is wrong here
            return None
        return self._setting(new, set_them) if urdf else None

    def _setting(self, new: Mapping[str, object], set_them: Callable[[], Found]) -> Future:
        future = Future(executor=self.node.executor)
        taken: dict[str, Description] = {}

        def prepare() -> None:
            taken["description"] = self._description(new)

        def work() -> _Read:
            return _Read.of(taken["description"], self._model, self.complete)

        def use(read: _Read | None, problem: Exception | None) -> bool:
            if problem is not None:  # it was dropped
                future.set_exception(problem)
                return True
            if read.before is not self._model or read.description != self._description(new):
                return False  # objects, paddings or topics have changed meanwhile
            self._read = read
            try:
                future.set_result(set_them())
            except Exception as error:
                future.set_exception(error)
            finally:
                self._read = None
            return True

        self.node.reader.do(Task(prepare, work, use))
        return future

    def apply(self, names: AbstractSet[str]) -> None:
        """Use the robot that `check` has read."""
        if names & {one.name for one in self.parameters}:
            proposed, self._proposed = self._proposed, None
            self._use(proposed, "" if proposed else self._nothing_received())

    def _description(self, new: Mapping[str, object] | None = None) -> Description:
        """Return what the robot is made from: parameters first, topics where those are empty."""
        new = new or {}

        def parameter(name: str) -> object:
            return new.get(name, self.node.value(name))

        urdf, srdf = (parameter(name).strip() or text for name, text in self._topic_text.items())
        packages = Packages(parameter("package_directories"))
        limits = replace(Limits(), bodies=parameter("max_bodies"), pairs=parameter("max_pairs"))
        return Description(
            urdf, srdf, parameter("representation"), parameter("tolerance"), parameter("meshes"), packages, limits
        )

    def _nothing_received(self) -> str:
        return (
            "no robot: parameter robot_description is empty and nothing came on topic "
            f"'{self.node.resolve_topic_name('robot_description')}': set the one, or publish the other as "
            "robot_state_publisher does"
        )

    def load(self) -> None:
        """Read the robot from what is known now; where that fails, remember why and answer so."""
        description = self._description()
        if not description.urdf:
            self._use(None, self._nothing_received())
            return
        if not self.node.kernels.is_done(ENGINE):
            self._use(None, "no robot: not read yet")
            self.node.kernels.when_ready(ENGINE, self.load)
            return
        try:
            self._use(Model.from_description(description), "")
        except Exception as error:
            self._use(None, f"no robot: {reason_of(error)}")
            self.node.log.error("robot", self._problem)
            self.node.statistics.message("robot_description", error)

    def _reading(self) -> Task[tuple[Model | None, Model | None]]:
        """The reading of what is known when its turn comes: the robot of before, and that."""
        taken: dict[str, Description] = {}

        def prepare() -> None:
            taken["description"] = self._description()
            if self._model is None:
                self._problem = "no robot yet: its description is being read"

        def work() -> tuple[Model | None, Model | None]:
            before, description = self._model, taken["description"]
            if not description.urdf:
                return before, None
            with refusals():
                return before, self.complete(Model.from_description(description))

        def use(found: tuple[Model | None, Model | None] | None, problem: Exception | None) -> bool:
            if problem is not None:
                self._use(None, f"no robot: {reason_of(problem)}")
                self.node.log.error("robot", self._problem)
                self.node.statistics.message("robot_description", problem)
                return True
            before, model = found
            if before is not self._model:
                return False  # objects or paddings have changed meanwhile
            self._use(model, "" if model else self._nothing_received())
            return True

        return Task(prepare, work, use)

    def _use(self, model: Model | None, problem: str) -> None:
        self._model, self._problem = model, problem
        self.node.kernels.forget()
        if model is not None:
            self.node.get_logger().info(model.describe())
            for warning in model.robot.warnings:
                self.node.log.warning("robot", warning)
        self.node.tell_model_changed()

    def _taker(self, topic: str) -> Callable[[String], None]:
        def take(message: String) -> None:
            if message.data == self._topic_text[topic]:
                return
            self._topic_text[topic] = message.data
            if not str(self.node.value(topic)).strip():
                self.node.reader.do(self._reading())

        return take
