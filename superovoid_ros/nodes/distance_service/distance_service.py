# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Node `distance_service`: distances and penetration depths of a robot, as services, topics and markers.

ros2 run superovoid_ros distance_service --ros-args -p near_distance:=0.2 -r joint_states:=/robot/joint_states

It is a managed node (rclpy.lifecycle) made of parts, see `part.py`. Data flow: robot description, and messages about
objects and rules -> `Model` (`world.py`), replaced as a whole (`current_model.py`); joint states, TF and
requests -> `States` (`measurements.py`); scene query -> messages (`distances.py`, `topics.py`). docs/reference/ros.md
documents topics, services, parameters, states and errors for users.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from rcl_interfaces.msg import SetParametersResult
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter

from superovoid_ros.nodes.common.main import run
from superovoid_ros.nodes.common.mistakes import InputError, reason_of
from superovoid_ros.nodes.common.parameters import Parameters, switch
from superovoid_ros.nodes.common.throttle import Log
from superovoid_ros.nodes.distance_service.jobs import QUERIES, Jobs, Kind
from superovoid_ros.nodes.distance_service.part import Activity, Common, Part, RequestCounts

if TYPE_CHECKING:
    from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
    from superovoid_ros.nodes.distance_service.world.world import World

try:
    import moveit_msgs
except ModuleNotFoundError:
    moveit_msgs = None

AUTOSTART = switch(
    "autostart",
    "Configure and activate the node when it starts; false: a lifecycle manager does this",
    read_only=True,
)
PLANNING = switch(
    "planning",
    "Serve compute_fk, compute_ik, get_urdf, plan_kinematic_path, compute_cartesian_path, move_action and "
    "execute_trajectory; false: the node needs less memory and starts faster",
    read_only=True,
)
NO_MOVEIT = (
    "moveit_msgs is not installed: MoveIt's objects and planning scenes are not received, and there are no services "
    "check_state_validity, compute_fk, compute_ik, plan_kinematic_path, get_planning_scene and apply_planning_scene, "
    "and no actions "
    "(without ROS 2: pip install ./superovoid_interfaces/compat/moveit)"
)


class DistanceService(LifecycleNode):
    """Node that answers distance queries about a robot, and publishes distances and markers at a set rate.

    The node creates its parts and passes to each the parts that it uses. No part accesses others through the node.

    Attributes
    ----------
    common : Common
        Shared services passed to every part.
    current : CurrentModel
        The robot with the objects around it, or the reason why there is none.
    statistics : RequestCounts
        Counts of requests and answers, for the diagnostics.
    parts : tuple of Part
        All parts, in the order of their configuration.
    """

    def __init__(self) -> None:
        super().__init__("distance_service")
        self.statistics = RequestCounts()
        self._activity = Activity(self.get_fully_qualified_name())
        self._jobs = Jobs(self)
        self._parameters_declared = Parameters(self)
        self._parameters_declared.declare((AUTOSTART, PLANNING))
        self.common = Common(
            self, self._parameters_declared.value, Log(self), self.statistics, self._activity, self._jobs
        )
        self._make_parts()
        self._problem = ""

        self._parameters_declared.declare(declared for part in self.parts for declared in part.parameters)
        for part in self.parts:
            part.open()
        self.add_on_set_parameters_callback(self._check_parameters)
        self.add_post_set_parameters_callback(self._apply_parameters)
        if self.common.parameter("autostart"):
            for trigger in (self.trigger_configure, self.trigger_activate):
                if trigger() != TransitionCallbackReturn.SUCCESS:
                    raise InputError(self._problem)

    def _make_parts(self) -> None:
        """Import and create the parts."""
        # Imported here, because these imports take most of the start-up time, and other processes discover this node
        # in it. If they discover it while it opens its services, Fast DDS often loses these services for three seconds.
        from superovoid_ros.nodes.distance_service.answers.distances import DistanceServices
        from superovoid_ros.nodes.distance_service.answers.topics import Topics
        from superovoid_ros.nodes.distance_service.health.diagnostics import Diagnostics
        from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
        from superovoid_ros.nodes.distance_service.world.current_model import CurrentModel
        from superovoid_ros.nodes.distance_service.world.world import INCOMPLETE, World

        self.current = CurrentModel(
            lambda: self._let_all(lambda part: part.model_changed()),
            lambda: self.common.parameter(INCOMPLETE) == "refuse",
        )
        measurements = Measurements(self.common)
        common = self.common, self.current, measurements
        self._world, topics = World(*common), Topics(*common)
        if moveit_msgs is None:
            self.get_logger().warning(NO_MOVEIT)
        of_moveit = [] if moveit_msgs is None else self._parts_of_moveit(measurements, self._world)
        self.parts: tuple[Part, ...] = (
            measurements,
            self._world,
            *of_moveit,
            DistanceServices(*common),
            topics,
            Diagnostics(*common, topics, self._facts),
        )

    def _parts_of_moveit(self, measurements: Measurements, world: World) -> list[Part]:
        """Create the parts that use MoveIt's messages and, with the parameter `planning`, those that move the robot."""
        from superovoid_ros.nodes.distance_service.answers.state_validity import ValidityServices

        common = self.common, self.current, measurements
        parts = [ValidityServices(*common)]
        if self.common.parameter("planning"):
            from superovoid_ros.nodes.distance_service.answers.motion_plans import PlanningServices
            from superovoid_ros.nodes.distance_service.answers.motions import MotionActions

            plans = PlanningServices(*common, lambda: world.urdf)
            parts += [plans, MotionActions(*common, plans, lambda: world.unread_since)]
        return parts

    def report_failure(self, what: str, error: Exception) -> None:
        """Log and count an exception raised by a callback."""
        self.common.report_failure(what, error)

    def _facts(self) -> dict[str, object]:
        """Return the facts of all parts for the diagnostics."""
        return {name: fact for part in self.parts for name, fact in part.facts().items()}

    # --- Parameters ---

    def _check_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        """Accept or refuse new values, all together, before any takes effect; a refusal gives the reason."""
        try:
            self._parameters_declared.check(parameters)
            new = {parameter.name: parameter.value for parameter in parameters}
            for part in self.parts:
                part.check(new)
        except Exception as error:
            if not isinstance(error, InputError):
                self.statistics.fault()
            return SetParametersResult(successful=False, reason=reason_of(error))
        return SetParametersResult(successful=True)

    def _apply_parameters(self, parameters: list[Parameter]) -> None:
        """Apply accepted values."""
        if self._activity.state != "unconfigured":
            names = frozenset(parameter.name for parameter in parameters)
            self._let_all(lambda part: part.apply(names))

    def _let_all(self, act: Callable[[Part], object], parts: Iterable[Part] | None = None) -> None:
        """Call `act` with parts (default: all); a bug in one part stops neither the others nor the node."""
        for part in self.parts if parts is None else parts:
            try:
                act(part)
            except Exception as error:
                self.report_failure(type(part).__name__, error)

    # --- Lifecycle ---

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Read the robot and subscribe to topics."""
        return self._transition("configure", self._configure, undo=self._clean_up)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start to answer requests and to publish."""
        return self._transition("activate", self._activate, undo=self._deactivate)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop answering and publishing; measurements are still received."""
        self._deactivate()
        return TransitionCallbackReturn.SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Close all topics, and discard robot and measurements.

        The same before the end of the node and after a failed transition, so that the node can be configured again.
        """
        self._clean_up()
        return TransitionCallbackReturn.SUCCESS

    on_error = on_cleanup

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Clean up for the last time."""
        result = self.on_cleanup(state)
        self._activity.state = "finalized"
        return result

    def _transition(self, name: str, act: Callable[[], None], undo: Callable[[], None]) -> TransitionCallbackReturn:
        """Run a transition; log the error that prevents it, which rclpy would not log.

        Invalid input refuses the transition, and the node stays in its state. Any other error leads to `on_error`.
        """
        try:
            act()
        except Exception as error:
            self._problem = f"cannot {name}: {reason_of(error)}"
            self.common.log.error(name, self._problem)
            if not isinstance(error, InputError):
                self.statistics.fault()
                return TransitionCallbackReturn.ERROR
            undo()
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    def _configure(self) -> None:
        for part in self.parts:
            part.configure()
        self._activity.state = "inactive"
        self._world.load()

    def _activate(self) -> None:
        self._activity.state = "active"
        for part in self.parts:
            part.activate()

    def _deactivate(self) -> None:
        self._activity.state = "inactive"
        self._jobs.cancel(QUERIES, "the node was deactivated before it could respond")
        self._let_all(lambda part: part.deactivate(), reversed(self.parts))

    def _clean_up(self) -> None:
        if self._activity.is_active:
            self._deactivate()
        self._activity.state = "unconfigured"
        self._jobs.cancel(Kind, "the node was cleaned up before it could respond")
        self._let_all(lambda part: part.clean_up(), reversed(self.parts))
        self._let_all(lambda part: part.endpoints.close())

    def end(self) -> bool:
        """Deactivate the node before its end and refuse waiting calls; return True once all clients have their results.

        Called repeatedly until then.
        """
        if self._activity.is_active:
            self._deactivate()
        self._jobs.cancel(Kind, "the node ended before it could respond")
        return all(part.is_done() for part in self.parts)

    def destroy_node(self) -> None:
        """Close everything, and destroy the node."""
        self._clean_up()
        super().destroy_node()


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until Ctrl-C."""
    return run(DistanceService, args)
