# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Actions `move_action` and `execute_trajectory`, with the names, types and codes of move_group's.

    goal -> plan (`motion_plans.py`) -> trajectory, proved -> goals of controllers (`controllers.py`) -> results

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

import numpy as np
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Time
from control_msgs.action import FollowJointTrajectory, GripperCommand
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
from superovoid_ros.nodes.common.mistakes import InputError, drop_tracebacks, listing, reason_of
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
from superovoid_ros.nodes.distance_service.answers.motion_plans import PlanningServices
from superovoid_ros.nodes.distance_service.answers.requested_states import RequestedState
from superovoid_ros.nodes.distance_service.answers.searches import INVALIDATED, ProvedMotion, Searches, motion_of
from superovoid_ros.nodes.distance_service.jobs import Kind
from superovoid_ros.nodes.distance_service.part import Common
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world.current_model import CurrentModel

EVENT = "trajectory_execution_event"
_LOOK = 0.1  # s between two checks of the measured state during a motion
_STEP = 0.01  # s between the states of a motion with which the measured state is compared
_END = 5.0  # s, time limit for controllers to accept their goals, and for stopped ones to end
_LONGEST = 2.0  # s, after which a motion stops that is not proved in a changed world
_FAILED = MoveItErrorCodes.CONTROL_FAILED


class Share:
    """The part of a motion that one controller follows.

    Parameters
    ----------
    name, client, goal
        Name of the controller, client of its action, and its goal, which is sent at once.
    wake
        Called when the controller has responded.
    """

    def __init__(self, name: str, client: ActionClient, goal: object, wake: Callable[[Future], None]) -> None:
        self.name, self._client, self._wake = name, client, wake
        self._sent = self._response = client.send_goal_async(goal)
        self._sent.add_done_callback(wake)
        self.is_accepted, self._until = False, time.monotonic() + _END

    def end_reason(self) -> str | None:
        """Look at the controller; return why it has ended: empty if it has followed its goal, None if it goes on."""
        if not self._response.done():
            if not self._client.server_is_ready():
                words = "is gone: its action has no server"
            elif not self.is_accepted and time.monotonic() > self._until:  # perhaps killed
                words = f"has not accepted its goal after {_END:g} s"
            else:
                return None
            self.cancel()  # a controller may lack a part of its action only, or accept late
            return words
        response, words = self._response.result(), ""
        if not self.is_accepted:
            if response is None or not response.accepted:
                return "refused its goal"
            self.is_accepted = True
            self._response = response.get_result_async()
            self._response.add_done_callback(self._wake)
            return None
        result = getattr(response, "result", None)
        if response is None or response.status != GoalStatus.STATUS_SUCCEEDED:
            words = getattr(result, "error_string", "") or f"its goal ended with status {response and response.status}"
        elif getattr(result, "error_code", 0) != FollowJointTrajectory.Result.SUCCESSFUL:
            words = result.error_string or str(result.error_code)
        return words and f"did not follow: {words}"

    def cancel(self) -> None:
        """Stop the controller, even if it accepts its goal later."""

        def stop(sent: Future) -> None:
            if sent.result() is not None and sent.result().accepted:
                sent.result().cancel_goal_async()

        self._sent.add_done_callback(stop)


@dataclass(eq=False)
class MotionGoal:
    """A goal of an action, from its acceptance to its end."""

    handle: ServerGoalHandle
    feedback: type
    """Type of the action's feedback."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Set if planning should end."""
    over: Future = field(default_factory=Future)
    """Done once the goal has its result."""
    news: Future = field(default_factory=Future)
    """Done if the coroutine that watches the motion should look at it."""
    shares: list[Share] = field(default_factory=list)
    """Those whose controllers have not ended."""
    problem: CodedError | None = None
    """Reason why the motion was stopped."""
    until: float = math.inf
    """Value of `time.monotonic` until which stopped controllers may end, s."""
    proof: ProvedMotion | None = None
    """Motion that controllers follow."""
    proved: RequestedState | None = None
    """State in which the rest of the motion was last proved."""
    watched: list[str] = field(default_factory=list)
    """Joints that controllers move at the speed of the motion."""
    reached: float = 0.0
    """Time of the first state of the motion at which the robot may be, s; it only grows."""
    unproved: float = math.inf
    """Value of `time.monotonic` since which there may be a world other than that of the last proof, s."""
    changed: float = math.inf
    """Value of `time.monotonic` since which there may be a world other than that of the present proof, s."""

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

    def wake(self, *_: object) -> None:
        """Let the coroutine that watches the motion look at it."""
        if not self.news.done():
            self.news.set_result(None)

    def end(self, code: int, words: str) -> None:
        """Stop planning and all controllers, even those that accept their goals later; only the first reason counts."""
        if self.problem is None:
            self.problem, self.until = CodedError(code, words), time.monotonic() + _END
        self.stop.set()
        for share in self.shares:
            share.cancel()


class MotionActions(Searches):
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

    def __init__(
        self,
        common: Common,
        current: CurrentModel,
        measurements: Measurements,
        plans: PlanningServices,
        unread_since: Callable[[], float],
    ) -> None:
        super().__init__(common, current, measurements)
        self._plans, self._unread_since = plans, unread_since
        self._controllers: tuple[Controller, ...] = ()
        self._limits = ExecutionLimits()
        # Open after `clean_up` too: controllers that follow or later accept a goal must be stopped.
        self._clients: dict[Controller, ActionClient] = {}
        self._lasting = Endpoints(common.node, common.report_failure)
        self._motions: list[MotionGoal] = []
        self._motion: MotionGoal | None = None  # the motion that controllers follow, or will follow

    def open(self) -> None:
        """Open the actions."""
        for action, name, act in (
            (MoveGroup, "move_action", self._move),
            (ExecuteTrajectory, "execute_trajectory", self._execute),
        ):
            self.endpoints.act(action, name, partial(self._carry_out, action, name, act), self._cancel)

    def configure(self) -> None:
        """Open clients of the controllers."""
        path = str(self.parameter("controllers"))
        self._controllers, self._limits = read_controllers(path), read_execution_limits(path)
        if not self._motions:  # their controllers may not have stopped yet
            for one in self._clients.keys() - set(self._controllers):
                self._clients.pop(one).destroy()
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
        if self._motion is not None:
            self._motion.changed = min(self._motion.changed, time.monotonic())
            self._motion.wake()

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

    async def _carry_out(
        self,
        action: type,
        name: str,
        act: Callable[[MotionGoal, Any, Any], Awaitable[MoveItErrorCodes]],
        handle: ServerGoalHandle,
    ) -> Any:
        """If a goal moves the robot, stop the previous motion; act, and end the goal with its result."""
        motion, result = MotionGoal(handle, action.Feedback), action.Result()
        self._motions.append(motion)
        try:
            self.activity.require()
            if not (action is MoveGroup and handle.request.planning_options.plan_only):
                before, self._motion = self._motion, motion
                if before is not None:
                    before.end(MoveItErrorCodes.PREEMPTED, "replaced by another goal")
                    await before.over
            motion.require()
            self.activity.require()
            code = await act(motion, handle.request, result)
            motion.require()
            self.statistics.call(action.__name__)
        except Exception as error:
            code = code_of(motion.problem or error)
            motion.end(code.val, code.message)  # controllers must not go on after a bug of this node
            self.statistics.call(action.__name__, error)
            self.log.warning(name, f"{name}: {code.message}")
            for one in (error, motion.problem):
                drop_tracebacks(one)
        motion.tell("IDLE")
        result.error_code = code
        if self._motion is motion:
            self._motion = None
        self._motions.remove(motion)
        motion.close(code.val == MoveItErrorCodes.SUCCESS)
        return result

    async def _move(self, motion: MotionGoal, goal: MoveGroup.Goal, result: MoveGroup.Result) -> MoveItErrorCodes:
        options = goal.planning_options
        scene = options.planning_scene_diff
        if scene != PlanningScene(is_diff=scene.is_diff, robot_state=RobotState(is_diff=scene.robot_state.is_diff)):
            words = "planning_options.planning_scene_diff: is not supported, must be empty (apply_planning_scene)"
            raise CodedError(MoveItErrorCodes.FAILURE, words)
        if not options.plan_only:
            self._begin_where_measured(goal.request)
        motion.tell("PLANNING")
        answer = await self._plans.plan(goal.request, motion.stop)
        result.planning_time = answer.planning_time
        motion.require()
        result.trajectory_start, result.planned_trajectory = answer.trajectory_start, answer.trajectory
        if not options.plan_only:
            await self._follow(motion, answer.trajectory, self._controllers)
        return answer.error_code

    async def _execute(self, motion: MotionGoal, goal: ExecuteTrajectory.Goal, _result: object) -> MoveItErrorCodes:
        by_name = {one.name: one for one in self._controllers}
        unknown = [name for name in goal.controller_names if name not in by_name]
        if unknown:
            raise CodedError(_FAILED, f"controller '{unknown[0]}' is unknown; known: {listing(by_name)}")
        named = tuple(by_name[name] for name in goal.controller_names)
        await self._follow(motion, goal.trajectory, named or self._controllers)
        return success()

    def _begin_where_measured(self, request: MotionPlanRequest) -> None:
        """As in move_group, ignore the start state of a motion that is executed; refuse it if it attaches others."""
        planning = self._current.model().planning
        for one in (one.object for one in request.start_state.attached_collision_objects):
            if one.operation != CollisionObject.REMOVE and not planning.is_attached(one.id):
                words = f"start_state: object '{one.id}' is not attached, but the motion begins at the measured state"
                raise CodedError(MoveItErrorCodes.INVALID_ROBOT_STATE, f"{words} (apply_planning_scene)")
        request.start_state = RobotState(is_diff=True)

    async def _follow(self, motion: MotionGoal, trajectory: RobotTrajectory, controllers: Sequence[Controller]) -> None:
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
        proof = motion.proof = motion_of(given, self.measured_state())
        self._check_start(given)
        if not controllers:
            raise CodedError(_FAILED, "there are no controllers: set the parameter controllers")
        goals = shares_of(joints, controllers, proof.state.robot.mimic)
        check_grippers(proof.trajectory, [one for one, _ in goals])
        for one, _ in goals:
            if not self._clients[one].server_is_ready():
                raise CodedError(_FAILED, f"controller '{one.name}': its action has no server")
        at_own_speed = {joint for one, _ in goals if one.kind is GripperCommand for joint in one.joints}
        motion.watched = [joint for joint in proof.trajectory.joints if joint not in at_own_speed]
        timer = self._lasting.start_timer(_LOOK, motion.wake)
        try:
            await self._wait_for_messages(motion)
            # The robot may have moved since its state was looked up.
            words, motion.proved, _ = await self.prove(lambda now: motion_of(given, now).refutation(now), proof)
            if words:
                raise CodedError(MoveItErrorCodes.INVALID_MOTION_PLAN, f"the trajectory is not proved: {words}")
            motion.require()
            self._check_start(given)
            for one, goal in goals:
                motion.shares.append(Share(one.name, self._clients[one], goal, motion.wake))
            await self._watch(motion, self._limits.seconds(given.duration))
            await self._reach_end(motion)
        finally:
            self._lasting.stop(timer)

    async def _wait_for_messages(self, motion: MotionGoal) -> None:
        """Wait until the messages about the world that came before are read; raise `CodedError` if this takes long."""
        began = time.monotonic()
        while self._unread_since() < began:
            if time.monotonic() > began + _LONGEST:
                words = f"messages about the world are not read after {_LONGEST:g} s"
                raise CodedError(INVALIDATED, f"the trajectory is not proved: {words}")
            await motion.news
            motion.news = Future()
            motion.require()

    def _off_path(self, motion: MotionGoal, after: float) -> str:
        """Return which joint is at no state of a motion up to a time, s (infinite: not at its end), or nothing.

        The search begins at the state at which the robot may have been before.
        """
        joints, trajectory = motion.watched, motion.proof.trajectory
        if not (joints and self._limits.allowed_path_tolerance):
            return ""
        try:
            self.require_robot_of(motion.proof.state)
            now = self.measured_state()
        except InputError as error:
            return str(error) if after == math.inf else ""  # the proof of the rest stops the motion
        columns, end = [trajectory.joints.index(joint) for joint in joints], min(after, trajectory.duration)
        times = np.append(np.arange(motion.reached if after < math.inf else end, end, _STEP), end)
        off = trajectory.evaluate(times)[:, columns] - [now.positions[joint] for joint in joints]
        turns = np.rint(off / (2.0 * np.pi)) * [now.robot.joints[joint].kind == "continuous" for joint in joints]
        ways = np.abs(off - 2.0 * np.pi * turns)
        near = np.flatnonzero((ways <= self._limits.allowed_path_tolerance).all(axis=1))
        motion.reached = max(motion.reached, times[near[0]]) if len(near) else motion.reached
        return self._limits.off_path(dict(zip(joints, ways[np.argmin(ways.max(axis=1))].tolist(), strict=True)))

    async def _reach_end(self, motion: MotionGoal) -> None:
        """Wait until the measured state is at the end of a motion, whose controllers have ended."""
        until = time.monotonic() + _END
        while (words := self._off_path(motion, math.inf)) and time.monotonic() < until:
            await motion.news
            motion.news = Future()
            motion.require()
        if words:
            raise CodedError(_FAILED, f"the controllers have ended, but {words}")

    async def _watch(self, motion: MotionGoal, limit: float) -> None:
        """Watch a motion until its controllers have ended; stop it if one fails, it is not proved, or after `limit`, s.

        The feedback is MONITOR once all controllers have accepted.
        """
        began, is_told, rest = self._clock_time(), False, None
        while motion.shares and time.monotonic() <= motion.until:
            await motion.news
            motion.news, after = Future(), self._clock_time() - began
            motion.changed = min(motion.changed, self._unread_since())
            for share in tuple(motion.shares):
                words = share.end_reason()
                if words is not None:
                    motion.shares.remove(share)
                if words:
                    motion.end(_FAILED, f"controller '{share.name}' {words}")
            if motion.problem is not None:
                continue
            if not is_told and all(share.is_accepted for share in motion.shares):
                is_told = True
                motion.tell("MONITOR")
            if after < 0.0:
                motion.end(INVALIDATED, "time has jumped back during the motion")
            elif after > limit:
                motion.end(MoveItErrorCodes.TIMED_OUT, f"controllers did not end after {limit:.3g} s")
            elif time.monotonic() - min(motion.unproved, motion.changed) > _LONGEST:
                words = f"the world has changed during the motion: its rest is not proved after {_LONGEST:g} s"
                motion.end(INVALIDATED, words)
            elif words := self._off_path(motion, after + _LOOK):
                motion.end(_FAILED, f"the robot has left its trajectory: {words}")
            if motion.problem is None and (rest is None or rest.done()):  # controllers may fail during a proof
                motion.unproved, motion.changed = min(motion.unproved, motion.changed, time.monotonic()), math.inf
                rest = self.node.executor.create_task(self._prove_rest, motion, after)
        if motion.shares:
            words = f"{motion.problem}; controllers did not end after {_END:g} s"
            motion.problem = CodedError(motion.problem.moveit_code, words)
        motion.require()

    async def _prove_rest(self, motion: MotionGoal, after: float) -> None:
        """If the world or measured state has changed, prove the rest of a motion again; stop it if this fails.

        `after` is the time since the start of the motion, s.
        """
        try:
            words, motion.proved, _ = await self.prove(
                lambda now: motion.proof.refutation(now, after), motion.proof, motion.proved, 1, Kind.MOTION
            )
            if words:
                raise InputError(words)
        except Exception as error:
            motion.end(INVALIDATED, f"the world has changed during the motion: {reason_of(error)}")
        else:
            motion.unproved = math.inf

    def state_without_objects(self, *request: Any) -> RequestedState:
        """Do as `RequestedStates`; raise `CodedError` also if the measurements are stale."""
        now = super().state_without_objects(*request)
        if now.stale and self._limits.allowed_start_tolerance:
            raise CodedError(_FAILED, f"the positions of the joints are unknown: {now.stale} (stale_timeout)")
        return now

    def _check_start(self, trajectory: Trajectory) -> None:
        """Raise `CodedError` if a joint is too far from the start of a trajectory."""
        now = self.measured_state()
        for name, position in zip(trajectory.joints, trajectory.positions[0].tolist(), strict=True):
            measured = now.robot.position_of(name, now.positions) if name in now.robot.joints else None
            if measured is not None:
                self._limits.check_start(name, measured, position)

    def _clock_time(self) -> float:
        return 1e-9 * self.node.get_clock().now().nanoseconds
