# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Actions `move_action` and `execute_trajectory`, with the names, types and codes of move_group's.

    goal -> plan or trajectory, proved (`motion_plans.py`) -> goals of the controllers (`controllers.py`) -> results

Controllers follow one motion at a time. A new goal that moves the robot stops the previous motion and waits for its
end.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Time
from control_msgs.action import FollowJointTrajectory
from moveit_msgs.action import ExecuteTrajectory, MoveGroup
from moveit_msgs.msg import (
    CollisionObject,
    MotionPlanRequest,
    MoveItErrorCodes,
    PlanningScene,
    RobotState,
    RobotTrajectory,
)
from rclpy.action import ActionClient
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from std_msgs.msg import String

from superovoid.planning.timing import Trajectory
from superovoid_ros.nodes.common.endpoints import Endpoints
from superovoid_ros.nodes.common.mistakes import InputError, listing, reason_of
from superovoid_ros.nodes.common.parameters import text
from superovoid_ros.nodes.distance_service.answers.controllers import (
    Controller,
    ExecutionLimits,
    check_grippers,
    read_controllers,
    read_execution_limits,
    read_trajectory,
    shares_of,
)
from superovoid_ros.nodes.distance_service.answers.error_codes import CodedError, code_of, success
from superovoid_ros.nodes.distance_service.answers.motion_plans import MotionPlans
from superovoid_ros.nodes.distance_service.answers.proved_motions import ProvedMotion, motion_of
from superovoid_ros.nodes.distance_service.answers.requested_states import RequestedState
from superovoid_ros.nodes.distance_service.answers.searches import INVALIDATED, Searches
from superovoid_ros.nodes.distance_service.part import Common
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world.current_model import CurrentModel

EVENT = "trajectory_execution_event"
_LOOK = 0.1  # s between two checks of the measured state during a motion
_END = 5.0  # s, time limit for stopped controllers to end
_FAILED = MoveItErrorCodes.CONTROL_FAILED


@dataclass(eq=False)
class Motion:
    """A goal of an action, from its acceptance to its end."""

    handle: ServerGoalHandle
    feedback: type
    """Type of the action's feedback."""
    endpoints: Endpoints
    """Endpoints that run timers."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Set if planning should end."""
    over: Future = field(default_factory=Future)
    """Done once the goal has its result."""
    problem: CodedError | None = None
    """Reason why the motion was stopped."""
    proof: ProvedMotion | None = None
    """Motion that controllers should follow."""
    proved: RequestedState | None = None
    """State in which the rest of the motion was last proved, or is being proved."""
    is_being_proved: bool = False
    """Whether that proof is under way."""
    look: Callable[[], None] = lambda: None
    """Stops the motion if it takes too long, or if its rest is not proved in the present world."""
    _unended: dict[str, ActionClient] = field(default_factory=dict)  # controllers that have, or will have, a goal
    _goals: dict[str, Any] = field(default_factory=dict)  # goals of controllers that follow their trajectory
    _followed: Future = field(default_factory=Future)
    _patience: float = math.inf  # value of `time.monotonic` until which stopped controllers may end

    def close(self, succeeded: bool) -> None:
        """End the goal; its status is cancelled if the client has cancelled it."""
        if succeeded:
            self.handle.succeed()
        elif self.handle.is_cancel_requested:
            self.handle.canceled()
        else:
            self.handle.abort()
        self.over.set_result(None)

    def require(self) -> None:
        """Raise the reason why the motion was stopped, if it was."""
        if self.handle.is_cancel_requested:
            self.end(MoveItErrorCodes.PREEMPTED, "the goal was cancelled")
        if self.problem is not None:
            raise self.problem

    def tell(self, state: str) -> None:
        """Publish the state of the goal as feedback."""
        self.handle.publish_feedback(self.feedback(state=state))

    def end(self, code: int, words: str) -> None:
        """Stop planning and all controllers, even those that accept their goals later; only the first reason counts."""
        if self.problem is None:
            self.problem, self._patience = CodedError(code, words), time.monotonic() + _END
        self.stop.set()
        for goal in self._goals.values():
            goal.cancel_goal_async()

    async def follow(self, shares: list[tuple[str, ActionClient, object]]) -> None:
        """Let controllers follow their goals until all have ended; raise the reason if one fails.

        The feedback is MONITOR once all have accepted.

        Parameters
        ----------
        shares
            For each controller: its name, the client of its action, and its goal.
        """
        self._unended = {name: client for name, client, _ in shares}
        timer = self.endpoints.start_timer(_LOOK, self._check_controllers)
        try:
            for name, client, goal in shares:
                client.send_goal_async(goal).add_done_callback(partial(self._take_goal, name))
            await self._followed
        finally:
            self.endpoints.stop(timer)
        self.require()

    def _check_controllers(self) -> None:
        for name, client in list(self._unended.items()):
            if not client.server_is_ready():
                self._end_share(name, "is gone: its action has no server")
        if self.problem is None:
            self.look()
        elif time.monotonic() > self._patience and not self._followed.done():
            words = f"{self.problem}; controllers did not end after {_END:g} s"
            self.problem = CodedError(self.problem.moveit_code, words)
            self._followed.set_result(None)

    def _take_goal(self, name: str, future: Future) -> None:
        goal = future.result()
        if goal is None or not goal.accepted:
            self._end_share(name, "refused its goal")
            return
        self._goals[name] = goal
        goal.get_result_async().add_done_callback(partial(self._take_result, name))
        if self.problem is not None:
            goal.cancel_goal_async()
        elif self._goals.keys() >= self._unended.keys():
            self.tell("MONITOR")

    def _take_result(self, name: str, future: Future) -> None:
        del self._goals[name]
        response, words = future.result(), ""
        result = getattr(response, "result", None)
        if response is None or response.status != GoalStatus.STATUS_SUCCEEDED:
            words = getattr(result, "error_string", "") or f"its goal ended with status {response and response.status}"
        elif getattr(result, "error_code", 0) != FollowJointTrajectory.Result.SUCCESSFUL:
            words = result.error_string or str(result.error_code)
        self._end_share(name, words and f"did not follow: {words}")

    def _end_share(self, name: str, words: str) -> None:
        """Stop waiting for a controller; if `words` describe its failure, stop the others."""
        was_awaited = self._unended.pop(name, None) is not None
        if words and was_awaited:
            self.end(_FAILED, f"controller '{name}' {words}")
        if not self._unended and not self._followed.done():
            self._followed.set_result(None)


class Motions(Searches):
    """Part that plans motions and lets controllers follow them."""

    parameters = (
        text(
            "controllers",
            "",
            "Path of a moveit_controllers.yaml in MoveIt's format: its controllers "
            "(moveit_simple_controller_manager) execute proved motions within its limits (trajectory_execution); "
            "empty: motions are planned but not executed. Read when the node is configured",
            check=lambda path: (read_controllers(str(path)), read_execution_limits(str(path))),
        ),
    )

    def __init__(self, common: Common, current: CurrentModel, measurements: Measurements, plans: MotionPlans) -> None:
        super().__init__(common, current, measurements)
        self._plans = plans
        self._controllers: tuple[Controller, ...] = ()
        self._limits = ExecutionLimits()
        # Open after `clean_up` too: controllers that follow or later accept a goal must be stopped.
        self._clients: dict[Controller, ActionClient] = {}
        self._lasting = Endpoints(common.node, common.report_failure)
        self._motions: list[Motion] = []
        self._motion: Motion | None = None  # the motion that controllers follow, or will follow

    def open(self) -> None:
        """Open the actions."""
        self.endpoints.act(MoveGroup, "move_action", self._move, self._cancel)
        self.endpoints.act(ExecuteTrajectory, "execute_trajectory", self._execute, self._cancel)

    def configure(self) -> None:
        """Open clients of the controllers."""
        path = str(self.parameter("controllers"))
        self._controllers, self._limits = read_controllers(path), read_execution_limits(path)
        for one in self._controllers:
            if one not in self._clients:
                # ROS remaps services and topics but not actions, so the name is resolved as that of a service.
                action, group = self.node.resolve_service_name(one.action), ReentrantCallbackGroup()
                self._clients[one] = ActionClient(self.node, one.kind, action, callback_group=group)
        self.endpoints.listen(String, EVENT, self._take_event, 100)

    def deactivate(self) -> None:
        """Stop all motions."""
        for motion in self._motions:
            motion.end(MoveItErrorCodes.PREEMPTED, "the node was deactivated")

    def is_done(self) -> bool:
        """Return whether every call has its response, and every goal its result."""
        return super().is_done() and not self._motions

    def clean_up(self) -> None:
        """Discard the controllers; a motion goes on until they have stopped."""
        self._controllers = ()

    def model_changed(self) -> None:
        """Prove the rest of the present motion again."""
        if self._motion is not None and self._motion.problem is None:
            self._motion.look()

    def _cancel(self, handle: ServerGoalHandle) -> None:
        for motion in self._motions:
            if motion.handle == handle:
                motion.end(MoveItErrorCodes.PREEMPTED, "the goal was cancelled")

    def _take_event(self, message: String) -> None:
        """Stop the motion when a MoveIt client requests it."""
        if message.data != "stop":
            self.log.warning(EVENT, f"{EVENT}: '{message.data}' is ignored: must be 'stop'")
        elif self._motion is not None:
            self._motion.end(MoveItErrorCodes.PREEMPTED, f"stopped by {EVENT}")

    async def _move(self, handle: ServerGoalHandle) -> MoveGroup.Result:
        goal, options = handle.request, handle.request.planning_options

        async def act(motion: Motion, result: MoveGroup.Result) -> MoveItErrorCodes:
            scene = options.planning_scene_diff
            nothing = PlanningScene(is_diff=scene.is_diff, robot_state=RobotState(is_diff=scene.robot_state.is_diff))
            if scene != nothing:
                words = "planning_options.planning_scene_diff: is not supported, must be empty (apply_planning_scene)"
                raise CodedError(MoveItErrorCodes.FAILURE, words)
            if not options.plan_only:
                self._begin_where_measured(goal.request)
            motion.tell("PLANNING")
            answer, motion.proof = await self._plans.plan(goal.request, motion.stop)
            result.planning_time = answer.planning_time
            motion.require()
            result.trajectory_start, result.planned_trajectory = answer.trajectory_start, answer.trajectory
            if not options.plan_only:
                await self._follow(motion, answer.trajectory, self._controllers)
            return answer.error_code

        return await self._carry_out("move_action", MoveGroup, handle, act, moves=not options.plan_only)

    async def _execute(self, handle: ServerGoalHandle) -> ExecuteTrajectory.Result:
        goal = handle.request

        async def act(motion: Motion, result: ExecuteTrajectory.Result) -> MoveItErrorCodes:
            by_name = {one.name: one for one in self._controllers}
            unknown = [name for name in goal.controller_names if name not in by_name]
            if unknown:
                raise CodedError(_FAILED, f"controller '{unknown[0]}' is unknown; known: {listing(by_name)}")
            named = tuple(by_name[name] for name in goal.controller_names)
            await self._follow(motion, goal.trajectory, named or self._controllers)
            return success()

        return await self._carry_out("execute_trajectory", ExecuteTrajectory, handle, act, moves=True)

    async def _carry_out(
        self,
        name: str,
        action: type,
        handle: ServerGoalHandle,
        act: Callable[[Motion, Any], Awaitable[MoveItErrorCodes]],
        *,
        moves: bool,
    ) -> Any:
        """If the goal `moves` the robot, stop the previous motion; act, and end the goal with its result."""
        motion, result = Motion(handle, action.Feedback, self._lasting), action.Result()
        self._motions.append(motion)
        before, self._motion = self._motion, motion if moves else self._motion
        try:
            if moves and before is not None:
                before.end(MoveItErrorCodes.PREEMPTED, "replaced by another goal")
                await before.over
            motion.require()
            self.activity.require()
            code = await act(motion, result)
            motion.require()
            self.statistics.call(action.__name__)
        except Exception as error:
            code = code_of(motion.problem or error)
            self.statistics.call(action.__name__, error)
            self.log.warning(name, f"{name}: {code.message}")
        motion.tell("IDLE")
        result.error_code = code
        if self._motion is motion:
            self._motion = None
        self._motions.remove(motion)
        motion.close(code.val == MoveItErrorCodes.SUCCESS)
        return result

    def _begin_where_measured(self, request: MotionPlanRequest) -> None:
        """As in move_group, ignore the start state of a motion that is executed; refuse it if it attaches others."""
        planning = self._current.model().planning
        for one in (one.object for one in request.start_state.attached_collision_objects):
            if one.operation != CollisionObject.REMOVE and not planning.is_attached(one.id):
                words = f"start_state: object '{one.id}' is not attached, but the motion begins at the measured state"
                raise CodedError(MoveItErrorCodes.INVALID_ROBOT_STATE, f"{words} (apply_planning_scene)")
        request.start_state = RobotState(is_diff=True)

    async def _follow(self, motion: Motion, trajectory: RobotTrajectory, controllers: Sequence[Controller]) -> None:
        """Prove a trajectory in the present world, and let controllers follow it; raise the reason if this fails."""
        joints = trajectory.joint_trajectory
        if len(trajectory.multi_dof_joint_trajectory.points):
            raise CodedError(_FAILED, "multi_dof_joint_trajectory: is not supported, must be empty")
        if not len(joints.points):
            return
        if joints.header.stamp != Time():  # controllers would skip points of the past
            words = "trajectory: header.stamp: must be 0, since the motion begins when it is executed"
            raise CodedError(MoveItErrorCodes.INVALID_MOTION_PLAN, words)
        given = read_trajectory(joints)
        proof = motion.proof = motion.proof or motion_of(given, self.state_of(RobotState(is_diff=True)))
        robot = proof.state.robot
        self._check_start(given)
        if not controllers:
            raise CodedError(_FAILED, "there are no controllers: set the parameter controllers")
        goals = shares_of(joints, controllers, robot.mimic)
        check_grippers(proof.trajectory, [one for one, _ in goals])
        shares = [(one.name, self._clients[one], goal) for one, goal in goals]
        for name, client, _ in shares:
            if not client.server_is_ready():
                raise CodedError(_FAILED, f"controller '{name}': its action has no server")
        first = given.points(slice(1))

        def refutation(now: RequestedState) -> str:
            # A plan begins at the state of its request, from which the robot may have moved.
            return proof.refutation(now) or motion_of(first, now).refutation(now)

        words, motion.proved, _ = await self.prove(refutation, proof)
        if words:
            raise CodedError(MoveItErrorCodes.INVALID_MOTION_PLAN, f"the trajectory is not proved: {words}")
        motion.require()
        self._check_start(given)
        began, limit = self._clock_time(), self._limits.seconds(given.duration)

        def look() -> None:
            after = self._clock_time() - began
            if after < 0.0:
                motion.end(INVALIDATED, "time has jumped back during the motion")
            elif after > limit:
                motion.end(MoveItErrorCodes.TIMED_OUT, f"controllers did not end after {limit:.3g} s")
            elif not motion.is_being_proved:
                motion.is_being_proved = True
                self.node.executor.create_task(self._prove_rest(motion, after))

        motion.look = look
        await motion.follow(shares)

    async def _prove_rest(self, motion: Motion, after: float) -> None:
        """If the world or measured state has changed, prove the rest of a motion again; stop it if this fails.

        `after` is the time since the start of the motion, s.
        """
        try:
            words, motion.proved, _ = await self.prove(
                lambda now: motion.proof.refutation(now, after), motion.proof, motion.proved, most=1
            )
            if words:
                raise InputError(words)
        except Exception as error:
            motion.end(INVALIDATED, f"the world has changed during the motion: {reason_of(error)}")
        motion.is_being_proved = False

    def state_of(self, *request: Any, **options: Any) -> RequestedState:
        """Return the state of a request; raise `CodedError` also if its measurements are stale."""
        now = super().state_of(*request, **options)
        if now.stale and self._limits.allowed_start_tolerance:
            raise CodedError(_FAILED, f"the positions of the joints are unknown: {now.stale} (stale_timeout)")
        return now

    def _check_start(self, trajectory: Trajectory) -> None:
        """Raise `CodedError` if a joint is too far from the start of a trajectory."""
        now = self.state_of(RobotState(is_diff=True))
        for name, position in zip(trajectory.joints, trajectory.positions[0].tolist(), strict=True):
            measured = now.robot.position_of(name, now.positions) if name in now.robot.joints else None
            if measured is not None:
                self._limits.check_start(name, measured, position)

    def _clock_time(self) -> float:
        return 1e-9 * self.node.get_clock().now().nanoseconds
